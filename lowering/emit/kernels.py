"""Calls of the runtime's library kernels, shared by the emitters that use them."""

from __future__ import annotations

from collections.abc import Sequence

from .types import ElementType
from .values import Value

__all__ = ["kernel_call", "kernel_type"]


def kernel_call(
    ctx,
    kernel: str,
    inputs: Sequence[Value],
    results: Sequence[tuple[tuple[int, ...], ElementType]],
    config: Sequence[int],
    side_effects: bool = False,
    parallel: Sequence[Sequence[int]] = (),
    calls_back: bool = False,
) -> list[Value]:
    """One ``lingon.kernel_call``: results are (shape, element type) pairs, made by the kernel.

    With `side_effects` it is never removed, repeated or moved across another such call.
    `parallel`: for each loop in which it may be cut the dimension of every operand, or -1.
    `calls_back`: it can call a function for the parts of its result that are done.
    """
    names = [ctx.tensor(v) for v in inputs]
    outs = [ctx.new(ctx.empty(shape, t.storage), shape, t) for shape, t in results]
    in_types = ", ".join([v.tensor_type for v in inputs])
    out_types = ", ".join([v.tensor_type for v in outs])
    codes = ", ".join([str(v.type.code) for v in [*inputs, *outs]])
    cuts = ", ".join([f"array<i64: {', '.join(map(str, dims))}>" for dims in parallel])
    cuts = f", lingon.parallel = [{cuts}]" if cuts else ""
    if calls_back:
        cuts += ", lingon.calls_back"
    name = ctx.name()
    prefix = name if len(outs) == 1 else f"{name}:{len(outs)}"
    ctx.raw(
        f'{prefix} = lingon.kernel_call "{kernel}" '
        + (f"ins({', '.join(names)} : {in_types}) " if names else "")
        + f"outs({', '.join([v.name for v in outs])} : {out_types}) "
        f"{{config = array<i64: {', '.join([str(int(c)) for c in config])}>, "
        f"dtypes = array<i32: {codes}>{', side_effects' if side_effects else ''}{cuts}}} "
        f"-> {out_types}"
    )
    if len(outs) == 1:
        return [ctx.new(name, outs[0].shape, outs[0].type)]
    return [ctx.new(f"{name}#{i}", v.shape, v.type) for i, v in enumerate(outs)]


def kernel_type(t: ElementType) -> str:
    """The dtype that kernels compute `t` in: itself, but for 4-bit integers and 8-bit floats."""
    if t.float8 is not None:
        return "float32"
    return {"int4": "int8", "uint4": "uint8"}.get(t.name, t.name)
