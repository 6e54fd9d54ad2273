"""Closed jaxpr -> text of one MLIR module with one public function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .context import EmitContext
from .functions import buffer_type, store_results
from .registry import load_rules
from .types import ElementType, buffer_form, element_type
from .values import ARGUMENT, EMPTY, Value

__all__ = ["EmittedModule", "emit_module", "INLINE_CONSTANT_SIZE"]

INLINE_CONSTANT_SIZE = 16  # constants of more elements become inputs


class EmittedModule(NamedTuple):
    """The module's text and the order of the function's buffers.

    The function takes one memref for each of `const_inputs` (positions in ``closed.consts``), then
    one for each of the jaxpr's inputs, then one for each output. Its code calls the Python
    functions `callbacks` by their positions.
    """

    text: str
    name: str
    const_inputs: tuple[int, ...]
    in_types: tuple[tuple[tuple[int, ...], np.dtype], ...]  # constants included
    out_types: tuple[tuple[tuple[int, ...], np.dtype], ...]
    callbacks: tuple[Callable, ...] = ()


def emit_module(
    closed: Any,
    *,
    name: str = "main",
    donated: Sequence[bool] = (),
    options: Mapping[str, Any] | None = None,
    locations: bool = True,
) -> EmittedModule:
    """Emits a closed jaxpr as linalg on tensors.

    `donated` says for each input whether the function may overwrite its buffer. `options` is for
    emitters: `threefry_partitionable` (default True) chooses between two streams. Without
    `locations` the text has no source lines, and is written faster. Raises NotImplementedError,
    naming the primitive and the user's line, for what cannot be compiled.
    """
    load_rules()
    ctx = EmitContext(options, locations=locations)
    jaxpr = closed.jaxpr
    arguments: list[Value] = []
    signature: list[str] = []
    in_types: list[tuple[tuple[int, ...], np.dtype]] = []
    const_inputs: list[int] = []

    def argument(shape: tuple[int, ...], t: ElementType, donate: bool = False) -> Value:
        text = f"%arg{len(in_types)}"
        mark = " {lingon.donated}" if donate else ""
        signature.append(f"{text}: {buffer_type(shape, t)}{mark}")
        in_types.append(buffer_form(shape, t))
        value = Value(shape, t, EMPTY if 0 in shape else ARGUMENT, text)
        value.writable = donate
        return value

    for position, (const, variable) in enumerate(zip(closed.consts, jaxpr.constvars, strict=True)):
        aval = variable.aval
        if np.size(const) <= INLINE_CONSTANT_SIZE:
            arguments.append(ctx.constant(const, aval))
        else:
            const_inputs.append(position)
            arguments.append(argument(tuple(aval.shape), element_type(aval.dtype)))
    flags = tuple(donated) or (False,) * len(jaxpr.invars)
    for variable, donate in zip(jaxpr.invars, flags, strict=True):
        aval = variable.aval
        arguments.append(argument(tuple(aval.shape), element_type(aval.dtype), donate))

    results = ctx.run(jaxpr, arguments, top=True)
    out_types = [buffer_form(v.shape, v.type) for v in results]
    signature += store_results(ctx, results)
    text = [f"{alias} = affine_map<{map}>" for map, alias in ctx.maps.items()]
    for number, (file, line, column, names) in enumerate(ctx.locations):
        place = f'"{_quoted(file)}":{line}:{column}'
        if names:
            place = f'"{_quoted("/".join(names))}"({place})'
        text.append(f"#loc{number} = loc({place})")
    for function, types in ctx.declared.items():
        text.append(f"func.func private @{function}{types}")
    text += ctx.definitions.values()
    text.append(f"func.func @{name}({', '.join(signature)}) {{")
    text += ctx.entry
    text += ctx.lines
    text.append("return\n}\n")
    return EmittedModule(
        "\n".join(text),
        name,
        tuple(const_inputs),
        tuple(in_types),
        tuple(out_types),
        tuple(ctx.callbacks),
    )


def _quoted(text: str) -> str:
    """Text for between the quotes of a string attribute."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
