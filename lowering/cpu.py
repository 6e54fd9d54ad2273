"""LLVM for the CPU: from a module of the llvm dialect to optimised IR, assembly and object code."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator

from .. import dialect
from .errors import CompilationError
from .llvm_c import ASSEMBLY, OBJECT, check, libmlir_path, llvm, take_message
from .loader import ENTRY_SYMBOL
from .pipelines import Pipeline
from .target_machine import Target, emitter, host_target, target_machine

# Names that MLIR's lowering of memref.alloc and memref.dealloc calls -> what the runtime provides.
RUNTIME_NAMES = {
    "_mlir_memref_to_llvm_alloc": "lingon_rt_alloc",
    "_mlir_memref_to_llvm_free": "lingon_rt_free",
    "malloc": "lingon_rt_alloc",
    "free": "lingon_rt_free",
}
_INTERNAL_LINKAGE = 8
_RETURN_STATUS = 2
_MAX_INLINED = 4
_MAX_PARAMETERS = 128  # of what is inlined, unless it only passes them on
# Loops call fewer elementary functions (emit.context.MAX_GROUP_COST): only long scalar code has more.
_MAX_INLINED_IN_BLOCK = 48
_FUNCTION_INDEX = 0xFFFFFFFF
_VECTORIZED = b"lingon-vectorized"  # lingon-vectorize left no loop to LLVM


class LlvmModule:
    """An LLVM IR module in a context of its own; freed with this object."""

    def __init__(self, context: int, module: int) -> None:
        self._context: int | None = context
        self.module = module

    @classmethod
    def parse(cls, text: str) -> LlvmModule:
        """Read LLVM IR text. Raises CompilationError with LLVM's message on bad text."""
        lib = llvm()
        context = lib.LLVMContextCreate()
        data = text.encode()
        buffer = lib.LLVMCreateMemoryBufferWithMemoryRangeCopy(data, len(data), b"llvm")
        module = ctypes.c_void_p()
        message = ctypes.c_void_p()
        if lib.LLVMParseIRInContext(context, buffer, ctypes.byref(module), ctypes.byref(message)):
            reason = take_message(message.value)
            lib.LLVMContextDispose(context)
            raise CompilationError(reason, stage="llvm", step="parse", ir=text)
        result = cls(context, module.value or 0)
        result.verify("parse")
        return result

    @classmethod
    def from_mlir(cls, operation: object) -> LlvmModule:
        """Translate a module of the llvm dialect (an mlir.ir.Operation) directly."""
        lib = llvm()
        context = lib.LLVMContextCreate()
        module = _mlir_translate(operation, context)
        if not module:
            lib.LLVMContextDispose(context)
            raise CompilationError("MLIR could not translate the module to LLVM IR", stage="llvm")
        return cls(context, module)

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        """Free the module and its context."""
        if self._context is not None:
            lib = llvm()
            lib.LLVMDisposeModule(self.module)
            lib.LLVMContextDispose(self._context)
            self._context = None

    def text(self) -> str:
        """The module as LLVM IR text."""
        return take_message(llvm().LLVMPrintModuleToString(self.module))

    def verify(self, step: str) -> None:
        """Raise CompilationError if the module is not well-formed."""
        message = ctypes.c_void_p()
        failed = llvm().LLVMVerifyModule(self.module, _RETURN_STATUS, ctypes.byref(message))
        reason = take_message(message.value)
        if failed:
            raise CompilationError(reason, stage="llvm", step=step, ir=self.text())

    def functions(self) -> Iterator[tuple[str, int]]:
        """(name, handle) of every function, declared or defined."""
        lib = llvm()
        length = ctypes.c_size_t()
        function = lib.LLVMGetFirstFunction(self.module)
        while function:
            following = lib.LLVMGetNextFunction(function)
            yield lib.LLVMGetValueName2(function, ctypes.byref(length)).decode(), function
            function = following

    def imports(self) -> list[str]:
        """Names of the functions that the module calls and does not define."""
        lib = llvm()
        return sorted(
            name
            for name, function in self.functions()
            if lib.LLVMIsDeclaration(function) and not name.startswith("llvm.")
        )

    def prepare(self, target: Target) -> None:
        """Give a freshly translated module its target, runtime names and linkage."""
        lib = llvm()
        lib.LLVMSetTarget(self.module, target.triple.encode())
        with target_machine(target, 2) as machine:
            layout = lib.LLVMCreateTargetDataLayout(machine)
            lib.LLVMSetModuleDataLayout(self.module, layout)
            lib.LLVMDisposeTargetData(layout)
        nounwind = _enum_attribute(self._context, b"nounwind")
        for name, function in list(self.functions()):
            if lib.LLVMIsDeclaration(function):
                if name in RUNTIME_NAMES:
                    function = self._rename(function, RUNTIME_NAMES[name])
                    if RUNTIME_NAMES[name] == "lingon_rt_alloc":
                        noalias = _enum_attribute(self._context, b"noalias")
                        lib.LLVMAddAttributeAtIndex(function, 0, noalias)
                elif not lib.LLVMGetFirstUse(function):
                    lib.LLVMDeleteFunction(function)
                continue
            lib.LLVMAddAttributeAtIndex(function, _FUNCTION_INDEX, nounwind)
            if name != ENTRY_SYMBOL:
                lib.LLVMSetLinkage(function, _INTERNAL_LINKAGE)
        self._inline_small()
        self._leave_calls()

    def _leave_calls(self) -> None:
        """Keep the calls of functions that would be inlined in blocks that have very many of them.

        Code generation takes a time that grows with the square of the longest block.
        """
        lib = llvm()
        kind = lib.LLVMGetEnumAttributeKindForName(b"alwaysinline", len(b"alwaysinline"))
        calls: dict[int, list[int]] = {}
        for _, function in self.functions():
            if not lib.LLVMGetEnumAttributeAtIndex(function, _FUNCTION_INDEX, kind):
                continue
            use = lib.LLVMGetFirstUse(function)
            while use:
                user = lib.LLVMGetUser(use)
                if lib.LLVMIsACallInst(user):
                    calls.setdefault(lib.LLVMGetInstructionParent(user), []).append(user)
                use = lib.LLVMGetNextUse(use)
        never = _enum_attribute(self._context, b"noinline")
        for block in calls.values():
            if len(block) > _MAX_INLINED_IN_BLOCK:
                for call in block:
                    lib.LLVMAddCallSiteAttribute(call, _FUNCTION_INDEX, never)

    def _inline_small(self) -> None:
        """Mark functions that one place calls for inlining, if they are few.

        Each function costs code generation a millisecond; but inlining many into one function
        makes the sets of pointers known not to alias grow with their product.
        """
        lib = llvm()
        forget_aliasing = dialect.library().lingon_forget_aliasing
        once = [
            function
            for name, function in self.functions()
            if name != ENTRY_SYMBOL
            and not lib.LLVMIsDeclaration(function)
            and _called_once(function)
            and (lib.LLVMCountParams(function) <= _MAX_PARAMETERS or forget_aliasing(function))
        ]
        if len(once) > _MAX_INLINED:
            return
        always = _enum_attribute(self._context, b"alwaysinline")
        for function in once:
            lib.LLVMAddAttributeAtIndex(function, _FUNCTION_INDEX, always)

    def _rename(self, function: int, name: str) -> int:
        """Give `function` this name, or replace it by the function that has it already."""
        lib = llvm()
        other = lib.LLVMGetNamedFunction(self.module, name.encode())
        if other:
            lib.LLVMReplaceAllUsesWith(function, other)
            lib.LLVMDeleteFunction(function)
            return other
        lib.LLVMSetValueName2(function, name.encode(), len(name))
        return function

    def needed_of(self, pipeline: Pipeline) -> Pipeline:
        """The pipeline with only those of LLVM's passes that this module needs."""
        lib = llvm()
        entry = lib.LLVMGetNamedFunction(self.module, ENTRY_SYMBOL.encode())
        if entry and lib.LLVMGetStringAttributeAtIndex(
            entry, _FUNCTION_INDEX, _VECTORIZED, len(_VECTORIZED)
        ):
            return pipeline.without_scalar_loops()
        return pipeline

    def optimize(self, pipeline: Pipeline, target: Target) -> None:
        """Run the pipeline's LLVM passes in place."""
        self.run_passes(pipeline.llvm_passes, target, pipeline.codegen_level)

    def run_passes(self, passes: str, target: Target, codegen_level: int = 2) -> None:
        """Run `passes`, in the notation of LLVM's `opt -passes`, in place."""
        lib = llvm()
        options = lib.LLVMCreatePassBuilderOptions()
        try:
            with target_machine(target, codegen_level) as machine:
                error = lib.LLVMRunPasses(self.module, passes.encode(), machine, options)
                check(error, "LLVM passes", stage="llvm-opt", step=passes)
        finally:
            lib.LLVMDisposePassBuilderOptions(options)

    def assembly(self, pipeline: Pipeline, target: Target) -> str:
        """Assembly text for `target`. Consumes the module: code generation changes it."""
        return self._emit(pipeline, target, ASSEMBLY).decode()

    def object_code(self, pipeline: Pipeline, target: Target) -> bytes:
        """Relocatable object code for `target`. Consumes the module."""
        return self._emit(pipeline, target, OBJECT)

    def _emit(self, pipeline: Pipeline, target: Target, kind: int) -> bytes:
        code = ctypes.c_void_p()
        with emitter(target, pipeline.codegen_level, kind) as lent:
            size = dialect.library().lingon_emitter_run(lent, self.module, ctypes.byref(code))
            return ctypes.string_at(code.value or 0, size)


def compile_object(module: LlvmModule, pipeline: Pipeline, target: Target | None = None) -> bytes:
    """Optimise a prepared module and generate its object code."""
    target = target or host_target()
    module.optimize(pipeline, target)
    return module.object_code(pipeline, target)


def _called_once(function: int) -> bool:
    lib = llvm()
    use = lib.LLVMGetFirstUse(function)
    if not use or lib.LLVMGetNextUse(use):
        return False
    user = lib.LLVMGetUser(use)
    return bool(lib.LLVMIsACallInst(user)) and lib.LLVMGetCalledValue(user) == function


def _enum_attribute(context: int | None, name: bytes, value: int = 0) -> int:
    lib = llvm()
    kind = lib.LLVMGetEnumAttributeKindForName(name, len(name))
    return lib.LLVMCreateEnumAttribute(context, kind, value)


class _MlirOperation(ctypes.Structure):
    _fields_ = [("pointer", ctypes.c_void_p)]


_translate_function = None


def _mlir_translate(operation: object, context: int) -> int | None:
    global _translate_function
    if _translate_function is None:
        function = ctypes.CDLL(libmlir_path()).mlirTranslateModuleToLLVMIR
        function.restype = ctypes.c_void_p
        function.argtypes = (_MlirOperation, ctypes.c_void_p)
        _translate_function = function
    get_pointer = ctypes.pythonapi.PyCapsule_GetPointer
    get_pointer.restype = ctypes.c_void_p
    get_pointer.argtypes = (ctypes.py_object, ctypes.c_char_p)
    pointer = get_pointer(operation._CAPIPtr, b"mlir.ir.Operation._CAPIPtr")  # type: ignore[attr-defined]
    return _translate_function(_MlirOperation(pointer), context)
