"""Emission of primitives that run Python: calls of the library kernels `callback`, which passes
arrays and takes arrays, and `buffer_callback`, which passes memory.

The code knows a Python function by its number in the program (`ModuleText.callbacks`); the
program owns the functions. Operands and results without elements are not passed: they say nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ... import runtime
from .registry import emits
from .types import buffer_form, element_type
from .values import EMPTY, Value

__all__: list[str] = []


@emits("debug_callback", "debug_print", "pure_callback", "io_callback")
def _callback(ctx, eqn, *operands):
    outs = [_made(ctx, v.aval) for v in eqn.outvars]
    function = _adapted(_host(eqn), operands, outs)
    return _called(ctx, eqn, "callback", function, operands, outs)


@emits("buffer_callback")
def _buffer_callback(ctx, eqn, *operands):
    outs = [_made(ctx, v.aval) for v in eqn.outvars]
    # An input that becomes an output is the output's memory.
    aliases = dict(eqn.params["input_output_aliases"])
    for i, o in aliases.items():
        if outs[o].kind != EMPTY:
            outs[o] = ctx.new(ctx.tensor(operands[i]), outs[o].shape, outs[o].type)
    passed = [v for i, v in enumerate(operands) if i not in aliases]
    function = _on_memory(_host(eqn), operands, outs, aliases)
    return _called(ctx, eqn, "buffer_callback", function, passed, outs, bool(aliases))


@emits("inspect_sharding")
def _inspect_sharding(ctx, eqn, *operands):
    """Nothing is left of it when the program runs."""
    _host(eqn)()
    return []


def _host(eqn) -> Callable[..., Any]:
    """The primitive's Python function, which knows the user's line."""
    info = eqn.source_info
    file = getattr(info, "file", None)
    return eqn.primitive.host(eqn.params, "" if file is None else f"{file}:{info.line}")


def _called(
    ctx,
    eqn,
    kernel: str,
    function: Callable[..., Any],
    operands: Sequence[Value],
    outs: list[Value],
    reads_outputs: bool = False,
) -> list[Value]:
    """Call a function of the program; `outs` become its results."""
    number = len(ctx.callbacks)
    ctx.callbacks.append(function)
    inputs = [v for v in operands if v.kind != EMPTY]
    outputs = [v for v in outs if v.kind != EMPTY]
    names = [ctx.tensor(v) for v in inputs]
    text = f'lingon.kernel_call "{kernel}"'
    if inputs:
        text += f" ins({', '.join(names)} : {', '.join([v.tensor_type for v in inputs])})"
    types = ", ".join([v.tensor_type for v in outputs])
    if outputs:
        text += f" outs({', '.join([v.name for v in outputs])} : {types})"
    codes = ", ".join([str(v.type.code) for v in [*inputs, *outputs]])
    dtypes = f"array<i32: {codes}>" if codes else "array<i32>"
    flags = ", reads_outputs" if reads_outputs else ""
    flags += ", side_effects" if eqn.effects else ""
    text += f" {{config = array<i64: {number}, {len(inputs)}>, dtypes = {dtypes}{flags}}}"
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


def _on_memory(
    function: Callable[..., Any],
    operands: Sequence[Value],
    outs: Sequence[Value],
    aliases: Mapping[int, int],
) -> Callable[..., None]:
    """`function` for the memory that the code passes, in bytes: of the operands that become no
    output, then of the outputs, without those that are empty."""
    forms = [(v.kind == EMPTY, *buffer_form(v.shape, v.type)) for v in (*operands, *outs)]
    n = len(operands)

    def arrays(*views: memoryview) -> tuple[list[np.ndarray], list[np.ndarray]]:
        it = iter(views)
        made: list[Any] = []
        for i, (empty, shape, dtype) in enumerate(forms):
            if i in aliases:
                made.append(None)
            elif empty:
                made.append(np.empty(shape, dtype))
            else:
                made.append(np.frombuffer(next(it), dtype).reshape(shape))
        for i, o in aliases.items():
            made[i] = made[n + o]
        return made[:n], made[n:]

    return lambda *views: function(views, arrays)
