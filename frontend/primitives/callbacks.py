"""Primitives that run Python in the midst of a program.

debug_callback, debug_print, pure_callback, io_callback. What they run gets new arrays, which it may
keep. Exceptions end the program; see `host_errors`.
"""

from __future__ import annotations

import string
from collections.abc import Callable, Container, Sequence
from typing import Any

import numpy as np

from ...runtime import ArrayImpl
from ..core import dtypes, eager, pytree
from ..core.avals import ShapedArray, get_aval
from ..core.effects import debug_effect, io_effect, ordered_debug_effect, ordered_io_effect
from ..core.errors import JaxRuntimeError
from ..core.primitive import Primitive, absent
from ..core.staging import trace_to_closed
from ..transforms.batching import batched, move_batch_axis, unbatched
from .structure import broadcast_in_dim_p, squeeze_p

NO_REFERENCE = absent("runs the user's Python code, which has no second form")


class FlatCallback:
    """The user's function as one of flat arrays to flat results."""

    def __init__(self, callback_func: Callable[..., Any], in_tree: Any):
        self.callback_func, self.in_tree = callback_func, in_tree

    def __call__(self, *flat: Any) -> list[Any]:
        args, kwargs = pytree.tree_unflatten(self.in_tree, flat)
        return pytree.tree_leaves(self.callback_func(*args, **kwargs))

    def __eq__(self, other: Any) -> bool:
        return (
            type(other) is FlatCallback
            and self.callback_func == other.callback_func
            and self.in_tree == other.in_tree
        )

    def __hash__(self) -> int:
        return hash((self.callback_func, self.in_tree))

    def __repr__(self) -> str:
        return f"_FlatCallback(callback_func={self.callback_func}, in_tree={self.in_tree})"


# --- running -------------------------------------------------------------------------------


def host_errors(name: str, call: Callable[..., Any], where: str) -> Callable[..., Any]:
    """`call` with its exceptions as the JaxRuntimeError that comes out of the program.

    The user's exception is its cause. SystemExit and KeyboardInterrupt stay what they are.
    """

    def run(*arrays: Any) -> Any:
        try:
            return call(*arrays)
        except Exception as e:
            at = f" at {where}" if where else ""
            raise JaxRuntimeError(
                f"INTERNAL: CpuCallback error calling callback: {type(e).__name__}: {e}\n"
                f"It was raised by the callback of {name}{at}; see the exception that caused this."
            ) from e

    return run


def checked_results(name: str, results: Sequence[Any], avals: Sequence[ShapedArray]) -> list[Any]:
    """What a callback returned, as arrays of the promised avals.

    Raises TypeError for another number of results, and for other shapes or dtypes.
    """
    if len(results) != len(avals):
        raise TypeError(
            f"the callback of {name} returned {len(results)} arrays where result_shape_dtypes has "
            f"{len(avals)}"
        )
    out = []
    for i, (r, aval) in enumerate(zip(results, avals, strict=True)):
        a = np.asarray(r)
        dtype = dtypes.canonicalize_dtype(a.dtype) if dtypes.is_array_dtype(a.dtype) else a.dtype
        if a.shape != aval.shape or dtype != aval.dtype:
            raise TypeError(
                f"the callback of {name} returned {a.dtype}[{','.join(map(str, a.shape))}] as "
                f"result {i} where result_shape_dtypes has {aval.str_short(long=True)}"
            )
        if type(r) is ArrayImpl and r.dtype == aval.dtype:
            out.append(r)
        else:
            # The callback may go on to change what it returned.
            out.append(ArrayImpl.from_numpy(np.array(a, aval.dtype), False))
    return out


def arrays_of(args: Sequence[Any]) -> list[Any]:
    """Concrete arguments as plain arrays; keys as the integers that they consist of."""
    made = [eager.as_array(a) for a in args]
    return [getattr(a, "_base_array", a) for a in made]


def _evaluate_raising(primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
    """Eagerly, the exception of a debugging callback is raised as it is."""
    primitive.host_call(params)(*arrays_of(args))  # type: ignore[attr-defined]
    return []


def _evaluate(primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
    assert primitive.host is not None
    outs = primitive.host(params, "")(*arrays_of(args))
    # Weak types are those of the result's spec, that is: none.
    return outs


# --- rules ---------------------------------------------------------------------------------


def _no_results(*avals: Any, **_: Any) -> list[Any]:
    return []


def _debug_jvp(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict
) -> Any:
    """Debugging sees the values, not the tangents."""
    return primitive.bind(*primals, **params), []


def element(x: Any, dim: int, i: int) -> Any:
    """Element i of an array along a dimension, as two primitives."""
    from .slicing import slice_p

    shape = np.shape(x)
    start = [0] * len(shape)
    limit = list(shape)
    start[dim], limit[dim] = i, i + 1
    part = slice_p.bind(
        x, start_indices=tuple(start), limit_indices=tuple(limit), strides=(1,) * len(shape)
    )
    return squeeze_p.bind(part, dimensions=(dim,))


def _debug_batch(
    primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
) -> Any:
    """One call for each element, in order."""
    for i in range(axis.size):
        ins = [a if d is None else element(a, d, i) for a, d in zip(args, dims, strict=True)]
        primitive.bind(*ins, **params)
    return [], []


def in_turn(
    primitive: Primitive,
    axis: Any,
    args: Sequence[Any],
    dims: Sequence[Any],
    params: dict,
    unroll: int,
) -> Any:
    """The primitive for each element of the batch axis, one after the other."""
    from .scan import scan_p

    consts = [a for a, d in zip(args, dims, strict=True) if d is None]
    mapped = [
        move_batch_axis(axis.size, d, 0, a)
        for a, d in zip(args, dims, strict=True)
        if d is not None
    ]

    def body(*xs: Any) -> list[Any]:
        fixed, element = iter(xs[: len(consts)]), iter(xs[len(consts) :])
        ins = [next(fixed) if d is None else next(element) for d in dims]
        return primitive.bind(*ins, **params)

    avals = [get_aval(a) for a in consts]
    avals += [unbatched(get_aval(a), 0) for a in mapped]
    outs = scan_p.bind(
        *consts,
        *mapped,
        jaxpr=trace_to_closed(body, avals),
        length=axis.size,
        num_consts=len(consts),
        num_carry=0,
        reverse=False,
        unroll=unroll,
    )
    return outs, [0] * len(outs)


# --- debug_callback ------------------------------------------------------------------------


class HostPrimitive(Primitive):
    """A primitive that only runs Python; `host_call(params)` is what it runs."""

    host_call: Callable[[dict], Callable[..., Any]]


def _raising_host(name: str, call: Callable[[dict], Callable[..., Any]]) -> Any:
    def host(params: dict, where: str) -> Callable[..., Any]:
        f = call(params)

        def run(*arrays: Any) -> tuple:
            f(*arrays)
            return ()

        return host_errors(name, run, where)

    return host


def _debug_primitive(
    name: str, call: Callable[[dict], Callable[..., Any]], effects: Callable[..., frozenset]
) -> HostPrimitive:
    primitive = HostPrimitive(
        name,
        multiple_results=True,
        abstract=_no_results,
        reference=NO_REFERENCE,
        evaluate=_evaluate_raising,
        jvp=_debug_jvp,
        transpose=absent("has no results, so nothing is ever transposed to it"),
        batch=_debug_batch,
        effects=effects,
        host=_raising_host(name, call),
    )
    primitive.host_call = call
    return primitive


#: Calls `callback(*arrays)`. `effect` is Debug or OrderedDebug.
debug_callback_p = _debug_primitive(
    "debug_callback",
    lambda params: params["callback"],
    lambda *, effect, **_: frozenset({effect}),
)

# --- debug_print ---------------------------------------------------------------------------


class PrintFormatter(string.Formatter):
    """Formats like `str.format`, and objects to arguments that are not used."""

    def check_unused_args(self, used: Any, args: Sequence[Any], kwargs: Any) -> None:
        unused = [a for i, a in enumerate(args) if i not in used]
        if unused:
            raise ValueError(f"Unused positional arguments to `jax.debug.print`: {unused}")
        names = [k for k in kwargs if k not in used]
        if names:
            raise ValueError(
                f"Unused keyword arguments to `jax.debug.print`: {names}. You may be passing an "
                'f-string (i.e, `f"{x}"`) into `jax.debug.print` and instead should pass in a '
                "regular string."
            )


def _print_call(params: dict) -> Callable[..., Any]:
    fmt, static = params["fmt"], dict(params["static_args"])
    in_tree, options = params["in_tree"], dict(params["np_printoptions"])
    record = params["logging_record"]
    options.pop("override_repr", None)

    def call(*arrays: Any) -> None:
        it = iter(arrays)
        leaves = [static[i] if i in static else next(it) for i in range(in_tree.num_leaves)]
        args, kwargs = pytree.tree_unflatten(in_tree, leaves)
        with np.printoptions(**options):
            text = fmt.format(*args, **kwargs)
        if record is None:
            print(text)
        else:
            record.emit(text)

    return call


#: Prints `fmt` formatted with the arrays and the static leaves `static_args` of `in_tree`.
debug_print_p = _debug_primitive(
    "debug_print",
    _print_call,
    lambda *, ordered, **_: frozenset({ordered_debug_effect if ordered else debug_effect}),
)

# --- pure_callback -------------------------------------------------------------------------


def _result_avals(*avals: Any, result_avals: tuple, **_: Any) -> list[Any]:
    return list(result_avals)


def _result_host(name: str) -> Any:
    def host(params: dict, where: str) -> Callable[..., Any]:
        f, avals = params["callback"], params["result_avals"]
        return host_errors(name, lambda *arrays: checked_results(name, f(*arrays), avals), where)

    return host


VMAP_METHODS = (
    "sequential",
    "sequential_unrolled",
    "expand_dims",
    "broadcast_all",
    "legacy_vectorized",
)


def _pure_jvp(*_: Any) -> Any:
    raise ValueError(
        "Pure callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while "
        "taking gradients."
    )


def _grown(x: Any, size: int) -> Any:
    """An unbatched value with a leading axis, repeated along it."""
    shape = np.shape(x)
    return broadcast_in_dim_p.bind(
        x,
        shape=(size, *shape),
        broadcast_dimensions=tuple(range(1, len(shape) + 1)),
        sharding=None,
    )


def batch_by_method(
    primitive: Primitive,
    axis: Any,
    args: Sequence[Any],
    dims: Sequence[Any],
    params: dict,
    full: Container[int] = (),
) -> Any:
    """The batch rule of callbacks with a `vmap_method`; arguments in `full` get the whole axis."""
    method = params["vmap_method"]
    if method not in VMAP_METHODS:
        raise NotImplementedError(
            f"vmap is only supported for the {primitive.name} primitive when vmap_method is one of "
            "'sequential', 'sequential_unrolled', 'expand_dims', 'broadcast_all', or "
            f"'legacy_vectorized'. Got vmap_method={method!r}."
        )
    if method.startswith("sequential"):
        unroll = axis.size if method == "sequential_unrolled" else 1
        return in_turn(primitive, axis, args, dims, params, unroll)
    ins = []
    for i, (a, d) in enumerate(zip(args, dims, strict=True)):
        if d is not None:
            ins.append(move_batch_axis(axis.size, d, 0, a))
        elif i in full:
            ins.append(_grown(a, axis.size))
        elif method == "legacy_vectorized":
            ins.append(a)
        else:
            ins.append(_grown(a, axis.size if method == "broadcast_all" else 1))
    avals = tuple(batched(a, 0, axis.size) for a in params["result_avals"])
    outs = primitive.bind(*ins, **{**params, "result_avals": avals})
    return outs, [0] * len(outs)


#: `callback(*arrays)` gives arrays of `result_avals`; may be removed, repeated or left out.
pure_callback_p = Primitive(
    "pure_callback",
    multiple_results=True,
    abstract=_result_avals,
    reference=NO_REFERENCE,
    evaluate=_evaluate,
    jvp=_pure_jvp,
    transpose=absent("callbacks are not linear"),
    batch=batch_by_method,
    host=_result_host("pure_callback"),
)

# --- io_callback ---------------------------------------------------------------------------


def _io_jvp(*_: Any) -> Any:
    raise ValueError("IO callbacks do not support JVP.")


def _io_transpose(*_: Any) -> Any:
    raise ValueError("IO callbacks do not support transpose.")


def _io_batch(
    primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
) -> Any:
    if params["ordered"]:
        raise ValueError("Cannot `vmap` ordered IO callback.")
    return in_turn(primitive, axis, args, dims, params, 1)


#: `callback(*arrays)` gives arrays of `result_avals`; runs exactly as often as the program says.
io_callback_p = Primitive(
    "io_callback",
    multiple_results=True,
    abstract=_result_avals,
    reference=NO_REFERENCE,
    evaluate=_evaluate,
    jvp=_io_jvp,
    transpose=_io_transpose,
    batch=_io_batch,
    effects=lambda *, ordered, **_: frozenset({ordered_io_effect if ordered else io_effect}),
    host=_result_host("io_callback"),
)


__all__ = [
    "VMAP_METHODS",
    "FlatCallback",
    "PrintFormatter",
    "debug_callback_p",
    "debug_print_p",
    "io_callback_p",
    "pure_callback_p",
]
