"""Ahead-of-time stages of a jitted function: traced, lowered, compiled."""

from __future__ import annotations

from typing import Any

from ... import lowering
from ..core import pytree
from ..core.avals import get_aval
from .abstract import ShapeDtypeStruct, abstract_args, struct_of
from .jit import Call, Jitted, TracedProgram
from .programs import Program, program_of


class ArgInfo:
    """Shape, dtype and donation of one flat argument."""

    __slots__ = ("_aval", "donated")

    def __init__(self, aval: Any, donated: bool):
        self._aval, self.donated = aval, donated

    @property
    def shape(self) -> tuple[int, ...]:
        return self._aval.shape

    @property
    def dtype(self) -> Any:
        return self._aval.dtype

    def __repr__(self) -> str:
        return f"ArgInfo(_aval={self._aval!r}, donated={self.donated})"


class _Stage:
    def __init__(self, jitted: Jitted, program: TracedProgram, donated: tuple[bool, ...]):
        self._jitted, self._program, self._donated = jitted, program, donated

    @property
    def in_tree(self) -> Any:
        """Tree of `(args, kwargs)` without static arguments."""
        return self._program.in_tree

    @property
    def out_tree(self) -> Any:
        return self._program.out_tree

    @property
    def in_avals(self) -> Any:
        """Avals of the arguments, as `(args, kwargs)`."""
        return pytree.tree_unflatten(self.in_tree, list(self._program.in_avals))

    @property
    def args_info(self) -> Any:
        infos = [ArgInfo(a, d) for a, d in zip(self._program.in_avals, self._donated, strict=True)]
        return pytree.tree_unflatten(self.in_tree, infos)

    @property
    def donate_argnums(self) -> tuple[int, ...]:
        return tuple(i for i, d in enumerate(self._donated) if d)

    @property
    def out_info(self) -> Any:
        """Pytree of ShapeDtypeStructs of the outputs."""
        outs = [struct_of(a) for a in self._program.closed.out_avals]
        return pytree.tree_unflatten(self.out_tree, outs)


class Traced(_Stage):
    """A function traced for given arguments."""

    @property
    def jaxpr(self) -> Any:
        return self._program.closed

    @property
    def fun_name(self) -> str:
        return self._jitted.info.name

    @property
    def out_avals(self) -> Any:
        return tuple(self._program.closed.out_avals)

    def lower(self, **_: Any) -> Lowered:
        """Lower to MLIR."""
        return Lowered(self._jitted, self._program, self._donated)


class Lowered(_Stage):
    """A function lowered to MLIR for given arguments."""

    def _compiled(self) -> Program:
        n = len(self._program.hoisted)
        info = self._jitted.info
        return program_of(
            self._program.closed, info.name, (False,) * n + self._donated, info.keep_unused
        )

    def compile(self, compiler_options: dict[str, Any] | None = None) -> Compiled:
        """Compile to machine code."""
        if compiler_options:
            raise NotImplementedError(f"unknown compiler options: {sorted(compiler_options)}")
        return Compiled(self._jitted, self._program, self._donated, self._compiled())

    def as_text(
        self, dialect: str | None = None, *, stage: str = "linalg", debug_info: bool = False
    ) -> str:
        """The program's text at a stage (see `stages`); `dialect` is another name for `stage`."""
        return self._text(dialect or stage)

    def _text(self, stage: str) -> str:
        if stage == "jaxpr":
            return str(self._program.closed)
        return self._compiled().compiled.stage_text(stage)

    @property
    def stages(self) -> dict[str, str]:
        """All stages' texts by name, from the jaxpr to the assembly."""
        return {s.name: self._text(s.name) for s in lowering.STAGES}

    def compiler_ir(self, dialect: str | None = None) -> str:
        """The text of a stage; MLIR on tensors by default."""
        return self._text(dialect or "linalg")

    def cost_analysis(self) -> dict[str, float]:
        """Floating-point operations and bytes accessed."""
        return self._compiled().compiled.cost_analysis()


class Compiled(_Stage):
    """A compiled function, callable with arguments of the signature it was compiled for."""

    def __init__(
        self, jitted: Jitted, program: TracedProgram, donated: tuple[bool, ...], compiled: Program
    ):
        super().__init__(jitted, program, donated)
        self._compiled = compiled

    def as_text(self, stage: str = "asm") -> str:
        """The program's text at a stage; assembly by default."""
        if stage == "jaxpr":
            return str(self._program.closed)
        return self._compiled.compiled.stage_text(stage)

    @property
    def stages(self) -> dict[str, str]:
        """All stages' texts by name, from the jaxpr to the assembly."""
        return {s.name: self.as_text(s.name) for s in lowering.STAGES}

    def cost_analysis(self) -> dict[str, float]:
        """Floating-point operations and bytes accessed."""
        return self._compiled.compiled.cost_analysis()

    def memory_analysis(self) -> Any:
        """Sizes in bytes of arguments, outputs, temporaries and code."""
        return self._compiled.compiled.memory_analysis()

    def runtime_executable(self) -> Any:
        return self._compiled.compiled

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        leaves, tree = pytree.tree_flatten((args, kwargs))
        if tree != self.in_tree:
            raise TypeError(
                "Function compiled with input pytree does not match the input pytree it was called "
                f"with: compiled for {self.in_tree}, called with {tree}"
            )
        for i, (x, want) in enumerate(zip(leaves, self._program.in_avals, strict=True)):
            got = get_aval(x)
            if not want.same_type(got):
                path = pytree.keystr(pytree.tree_flatten_with_path((args, kwargs))[0][i][0])
                raise TypeError(
                    "Argument types differ from the types for which this computation was compiled. "
                    f"At {path}: compiled for {want.str_short(long=True)}, called with "
                    f"{got.str_short(long=True)}"
                )
        from .jit import jit_p

        info = self._jitted.info
        outs = jit_p.bind(
            *self._program.hoisted,
            *leaves,
            jaxpr=self._program.closed,
            name=info.name,
            donated_invars=(False,) * len(self._program.hoisted) + self._donated,
            keep_unused=info.keep_unused,
            inline=False,
        )
        return pytree.tree_unflatten(self.out_tree, outs)

    call = __call__


def attach(wrapped: Any, jitted: Jitted) -> None:
    """Give a jitted function its stage methods."""

    def trace(*args: Any, **kwargs: Any) -> Traced:
        """Trace for arguments that may be arrays or ShapeDtypeStructs."""
        a, k = abstract_args(args, kwargs)
        call = Call(jitted.info, a, k)
        return Traced(jitted, jitted.traced(call), call.donated(jitted.info))

    def lower(*args: Any, **kwargs: Any) -> Lowered:
        """Trace and lower for arguments that may be arrays or ShapeDtypeStructs."""
        return trace(*args, **kwargs).lower()

    def eval_shape(*args: Any, **kwargs: Any) -> Any:
        """Shapes and dtypes of the result for arguments that may be ShapeDtypeStructs."""
        return trace(*args, **kwargs).out_info

    def clear_cache() -> None:
        """Forget this function's traced and compiled programs."""
        jitted.cache.clear()
        wrapped.clear_fast_cache()

    wrapped.trace, wrapped.lower, wrapped.eval_shape = trace, lower, eval_shape
    wrapped.clear_cache = clear_cache
    wrapped._cache_size = lambda: len(jitted.cache)


__all__ = ["ArgInfo", "Compiled", "Lowered", "ShapeDtypeStruct", "Traced", "attach"]
