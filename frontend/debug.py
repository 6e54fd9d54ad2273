"""debug.print, debug.callback, debug.log: looking at values while programs run."""

from __future__ import annotations

import functools
import logging
import string
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .core import pytree
from .core.avals import is_valid_value
from .core.devices import Sharding
from .core.effects import debug_effect, ordered_debug_effect
from .core.source_info import is_user_code
from .primitives.callbacks import PrintFormatter, debug_callback_p, debug_print_p
from .primitives.inspect_sharding import inspect_sharding_p
from .sharding_text import sharding_text

log_name = __name__


def split_static(leaves: Sequence[Any]) -> tuple[list[Any], dict[int, Any]]:
    """The leaves that are arrays or numbers, and the others by their positions."""
    dynamic = []
    static = {}
    for i, x in enumerate(leaves):
        if is_valid_value(x):
            dynamic.append(x)
        else:
            static[i] = x
    return dynamic, static


def debug_callback(
    callback: Callable[..., None] | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    **kwargs: Any,
) -> Callable[..., None] | None:
    """Call a Python function with the values of `args` and `kwargs` when the program runs.

    The call is never removed. Programs on one device run their callbacks in the program's order;
    `ordered=True` promises it. vmap calls once for each element, derivatives call with the values
    and not with the tangents. `partitioned` has no effect on one device. Leaves of the arguments
    that are no arrays are passed as they are. Without `callback`, returns a decorator-like function
    that takes it.

    Raises TypeError if `callback` is not callable. What the callback raises ends the program with
    a JaxRuntimeError whose cause it is; outside of programs it is raised as it is.
    """

    def _debug_callback(callback: Callable[..., None], *args: Any, **kwargs: Any) -> None:
        if not callable(callback):
            raise TypeError(
                "first argument to jax.debug.callback must be callable, but got an object of type "
                f"{type(callback)}"
            )
        leaves, in_tree = pytree.tree_flatten((args, kwargs))
        dynamic, static = split_static(leaves)

        def _flat_callback(*arrays: Any) -> None:
            it = iter(arrays)
            full = [static[i] if i in static else next(it) for i in range(len(leaves))]
            args_, kwargs_ = pytree.tree_unflatten(in_tree, full)
            callback(*args_, **kwargs_)

        debug_callback_p.bind(
            *dynamic,
            callback=_flat_callback,
            effect=ordered_debug_effect if ordered else debug_effect,
            partitioned=partitioned,
        )

    if callback is None:
        return _debug_callback
    _debug_callback(callback, *args, **kwargs)
    return None


class LogTarget:
    """Where `debug.log` writes: a logger, with the user's source line."""

    def __init__(self) -> None:
        frame: Any = sys._getframe(2)
        while frame is not None and not is_user_code(frame.f_code):
            frame = frame.f_back
        self.file = frame.f_code.co_filename if frame is not None else "<unknown>"
        self.line = frame.f_lineno if frame is not None else 0
        self.function = frame.f_code.co_name if frame is not None else "<unknown>"

    def emit(self, text: str) -> None:
        logger = logging.getLogger(log_name)
        if logger.isEnabledFor(logging.INFO):
            logger.handle(
                logger.makeRecord(
                    log_name, logging.INFO, self.file, self.line, text, (), None, self.function
                )
            )

    def __repr__(self) -> str:
        return f'<LogRecord: {log_name}, {logging.INFO}, {self.file}, {self.line}, "">'


def debug_print(
    fmt: str | None = None,
    *args: Any,
    ordered: bool = False,
    partitioned: bool = False,
    skip_format_check: bool = False,
    _use_logging: bool = False,
    **kwargs: Any,
) -> Callable[..., None] | None:
    """Print `fmt.format(*args, **kwargs)` with the arguments' values when the program runs.

    Arrays are formatted as NumPy prints them, with the print options that hold where the call is
    traced. Leaves that are no arrays are formatted as they are. Order, vmap and derivatives are
    those of `debug.callback`. Without `fmt`, returns a function that takes it.

    Raises TypeError if `fmt` is no string, ValueError for arguments that it does not use (unless
    `skip_format_check`), IndexError and KeyError for arguments that it asks for and that are not
    given.
    """

    def _debug_print(fmt: str, *args: Any, **kwargs: Any) -> None:
        if not isinstance(fmt, str):
            t = type(fmt)
            module = "" if t.__module__ == "builtins" else t.__module__ + "."
            raise TypeError(f"expected str, got {module}{t.__name__}")
        placeholders = any(field is not None for _, field, _, _ in string.Formatter().parse(fmt))
        if not skip_format_check:
            # fields like {x.shape} and {x:.2f} are checked when the value is there
            PrintFormatter().vformat(_fields_only(fmt), args, kwargs)
        leaves, in_tree = pytree.tree_flatten((args, kwargs))
        dynamic, static = split_static(leaves)
        debug_print_p.bind(
            *dynamic,
            fmt=fmt,
            ordered=ordered,
            partitioned=partitioned,
            in_tree=in_tree,
            static_args=tuple(static.items()),
            np_printoptions=tuple(np.get_printoptions().items()),
            has_placeholders=placeholders,
            logging_record=LogTarget() if _use_logging else None,
        )

    if fmt is None:
        return _debug_print
    _debug_print(fmt, *args, **kwargs)
    return None


def _fields_only(fmt: str) -> str:
    """The format string's fields by which argument they take, without attributes and formats."""
    out = []
    for _, field, spec, _ in string.Formatter().parse(fmt):
        if field is None:
            continue
        first = field
        for c in ".[":
            first = first.split(c, 1)[0]
        out.append("{" + first + "!s}")
        if spec and "{" in spec:
            out.append(_fields_only(spec))
    return "".join(out)


def inspect_array_sharding(value: Any, *, callback: Callable[[Sharding], None]) -> None:
    """Call `callback(sharding)` with the sharding of each array in the pytree `value`.

    It is called as soon as the sharding is known: at once for arrays, while a jitted function is
    compiled for values in it. It is not called again when the compiled function runs. Values
    of programs on one device have a SingleDeviceSharding. Raises AttributeError for concrete values
    that are no arrays of ours.
    """
    for x in pytree.tree_leaves(value):
        inspect_sharding_p.bind(x, callback=callback)


def visualize_sharding(
    shape: Sequence[int],
    sharding: Sharding,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map: Any = None,
) -> None:
    """Print which devices have which parts of an array of one or two dimensions.

    The table is plain text, of characters for lines; `use_color` and `color_map` have no effect.
    It has the array's proportions, times `scale`. Columns have between `min_width` and `max_width`
    characters, and more where the devices' numbers need them.

    Raises ValueError for other numbers of dimensions, and for a shape that cannot be cut so.
    """
    print(sharding_text(shape, sharding, scale, min_width, max_width))


def visualize_array_sharding(arr: Any, **kwargs: Any) -> None:
    """Print which devices have which parts of an array, as soon as it is known.

    See `inspect_array_sharding` and `visualize_sharding`, which takes the options.
    """
    shape = np.shape(arr)
    if len(shape) not in (1, 2):
        raise ValueError("`visualize_sharding` only works for shapes with 1 and 2 dimensions.")

    def show(sharding: Sharding) -> None:
        visualize_sharding(shape, sharding, **kwargs)

    inspect_array_sharding(arr, callback=show)


debug_log = functools.partial(debug_print, _use_logging=True)

__all__ = [
    "debug_callback",
    "debug_log",
    "debug_print",
    "inspect_array_sharding",
    "visualize_array_sharding",
    "visualize_sharding",
]
