"""Emission of primitives that run Python: calls of the library kernel `callback`.

The code knows a Python function by its number in the program (`ModuleText.callbacks`); the
program owns the functions. Operands and results without elements are not passed: they say nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import runtime
from .registry import emits
from .types import buffer_form, element_type
from .values import EMPTY, Value

__all__: list[str] = []


@emits("debug_callback", "debug_print", "pure_callback", "io_callback")
def _callback(ctx, eqn, *operands):
    info = eqn.source_info
    file = getattr(info, "file", None)
    where = "" if file is None else f"{file}:{info.line}"
    function = eqn.primitive.host(eqn.params, where)
    outs = [_made(ctx, v.aval) for v in eqn.outvars]
    number = len(ctx.callbacks)
    ctx.callbacks.append(_adapted(function, operands, outs))

    inputs = [v for v in operands if v.kind != EMPTY]
    outputs = [v for v in outs if v.kind != EMPTY]
    names = [ctx.tensor(v) for v in inputs]
    text = 'lingon.kernel_call "callback"'
    if inputs:
        text += f" ins({', '.join(names)} : {', '.join([v.tensor_type for v in inputs])})"
    types = ", ".join([v.tensor_type for v in outputs])
    if outputs:
        text += f" outs({', '.join([v.name for v in outputs])} : {types})"
    codes = ", ".join([str(v.type.code) for v in [*inputs, *outputs]])
    dtypes = f"array<i32: {codes}>" if codes else "array<i32>"
    effects = ", side_effects" if eqn.effects else ""
    text += f" {{config = array<i64: {number}, {len(inputs)}>, dtypes = {dtypes}{effects}}}"
    if not outputs:
        ctx.raw(text)
        return outs
    name = ctx.name()
    prefix = name if len(outputs) == 1 else f"{name}:{len(outputs)}"
    ctx.raw(f"{prefix} = {text} -> {types}")
    for i, v in enumerate(outputs):
        v.name = name if len(outputs) == 1 else f"{name}#{i}"
    return outs


def _made(ctx, aval) -> Value:
    t = element_type(aval.dtype)
    shape = tuple(aval.shape)
    if 0 in shape:
        return Value(shape, t, EMPTY)
    return ctx.new(ctx.empty(shape, t.storage), shape, t)


def _adapted(
    function: Callable[..., Sequence[Any]], operands: Sequence[Value], outs: Sequence[Value]
) -> Callable[..., list[Any]]:
    """`function` for the arrays that the code passes: with those that are empty, and with the
    words of typed keys, which the code has in one integer."""
    ins = [(v.kind == EMPTY, v.shape, v.type) for v in operands]
    kept = [(v.kind != EMPTY, v.type) for v in outs]
    if not any(empty or buffer_form((), t)[0] for empty, _, t in ins) and all(k for k, _ in kept):
        return function

    def call(*arrays: Any) -> list[Any]:
        it = iter(arrays)
        full = []
        for empty, shape, t in ins:
            form, dtype = buffer_form(shape, t)
            if empty:
                full.append(runtime.from_numpy(np.zeros(form, dtype)))
            elif form != shape:
                words = next(it)._numpy().reshape((*shape, 1)).view(dtype)
                full.append(runtime.from_numpy(words.reshape(form)))
            else:
                full.append(next(it))
        results = function(*full)
        return [r for r, (keep, _) in zip(results, kept, strict=True) if keep]

    return call
