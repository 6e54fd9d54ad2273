"""Functions whose arguments and results are buffers, and calls of those that the program repeats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .registry import emits
from .types import ElementType, element_type, memref_type
from .values import ARGUMENT, EMPTY, IOTA, SCALAR, SPLAT, VIEW, Value

__all__ = ["buffer_type", "store_results"]


def buffer_type(shape: tuple[int, ...], t: ElementType) -> str:
    """Type of a buffer of the function. MLIR cannot lower a zero behind other dimensions, so
    buffers without elements are flat; nothing reads them."""
    return memref_type((0,) if 0 in shape else shape, t.storage)


def store_results(ctx, results: Sequence[Value]) -> list[str]:
    """Writes the values to the buffers ``%out0`` and so on; returns those as arguments."""
    signature = []
    for position, value in enumerate(results):
        out = f"%out{position}"
        type = buffer_type(value.shape, value.type)
        signature.append(f"{out}: {type}")
        if value.kind == EMPTY:
            continue
        if value.kind == SCALAR or value.scalar is not None:
            stored = ctx.scalars().store(ctx.scalar(value), value.type)
            ctx.raw(f"memref.store {stored}, {out}[] : {type}")
        else:
            tensor = ctx.tensor(value)
            ctx.raw(
                f"bufferization.materialize_in_destination {tensor} in restrict writable {out} "
                f": ({value.tensor_type}, {type}) -> ()"
            )
    return signature


class _Passed:
    """How a value is handed to a function.

    `form` is all that the function has to know of it, `name` and `type` are what the call passes (no
    name: nothing), and ``receive(ctx, argument)`` is the value inside. What is cheaper than a tensor
    stays so.
    """

    __slots__ = ("form", "name", "receive", "type")

    def __init__(self, ctx, value: Value):
        shape, t = value.shape, value.type
        self.name = self.type = ""
        kind = EMPTY if 0 in shape else value.kind if shape else SCALAR
        about: Any = None
        if kind in (EMPTY, IOTA):
            about = value.dims if kind == IOTA else None
            self.receive = lambda _, __: _made(shape, t, kind, dims=about)
        elif kind in (SCALAR, SPLAT):
            self.name = value.name if kind == SPLAT else ctx.scalar(value)
            self.type = t.register
            self.receive = lambda _, name: _made(shape, t, kind, name)
        elif kind == VIEW:
            base = value.base
            about = (base.shape, value.dims)
            self.name, self.type = ctx.tensor(base), base.tensor_type
            base_shape, dims = about
            self.receive = lambda inner, name: inner.view(
                Value(base_shape, t, ARGUMENT, name), shape, dims
            )
        else:
            kind = ARGUMENT
            self.name, self.type = ctx.tensor(value), value.tensor_type
            self.receive = lambda _, name: Value(shape, t, ARGUMENT, name)
        self.form = (kind, shape, t.name, about)

    @property
    def argument_type(self) -> str:
        """Type of the function's argument."""
        return self.type.replace("tensor<", "memref<", 1)


def _made(shape: tuple[int, ...], t: ElementType, kind: int, name: str = "", dims: Any = None):
    value = Value(shape, t, kind, name)
    value.dims = dims
    return value


@emits("repeated")
def _repeated(ctx, eqn, *operands):
    """A call of a function that computes `body`, which is written once for each form of operands."""
    passed = [_Passed(ctx, v) for v in operands]
    key = (eqn.params["key"], *[p.form for p in passed])
    callee = ctx.functions.get(key)
    if callee is None:
        callee = ctx.functions[key] = f"repeated{len(ctx.functions)}"
        ctx.definitions[callee] = _function(ctx, callee, eqn.params["body"], passed)
    results = [Value(tuple(v.aval.shape), element_type(v.aval.dtype), EMPTY) for v in eqn.outvars]
    made = [v for v in results if 0 not in v.shape]
    given = [p for p in passed if p.name]
    outs = [ctx.empty(v.shape, v.type.storage) for v in made]
    types = ", ".join([v.tensor_type for v in made])
    ins = ""
    if given:
        ins = f" ins({', '.join([p.name for p in given])} : {', '.join([p.type for p in given])})"
    name = ctx.name()
    count = f":{len(made)}" if len(made) > 1 else ""
    effects = " {side_effects}" if "side_effects" in ctx.definitions[callee] else ""
    ctx.raw(
        f"{name}{count} = lingon.call @{callee}{ins} outs({', '.join(outs)} : {types}){effects}"
        f" -> {types}"
    )
    names = iter([name] if len(made) == 1 else [f"{name}#{k}" for k in range(len(made))])
    return [v if 0 in v.shape else ctx.new(next(names), v.shape, v.type) for v in results]


def _function(ctx, name: str, body: Any, passed: Sequence[_Passed]) -> str:
    inner = ctx.nested()
    signature, arguments = [], []
    for p in passed:
        argument = f"%arg{len(signature)}"
        if p.name:
            signature.append(f"{argument}: {p.argument_type}")
        arguments.append(p.receive(inner, argument))
    results = inner.run(body, arguments, top=True)
    signature += store_results(inner, [v for v in results if 0 not in v.shape])
    ctx.collectives = inner.collectives
    lines = [*inner.entry, *inner.lines]
    return "\n".join([f"func.func @{name}({', '.join(signature)}) {{", *lines, "return\n}"])
