"""scan and map: loops whose number of steps is known when they are traced."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

from ..core import config, errors, pytree
from ..core.avals import ShapedArray, get_aval
from ..core.eager import as_array
from ..core.interpreter import eval_jaxpr
from ..core.jaxpr import ClosedJaxpr
from ..core.trace import Tracer
from ..primitives.scan import scan_p, steps
from ..primitives.scan_autodiff import chosen, merged, parts, permuted
from ..transforms.batching import Axis, batch_jaxpr
from ..transforms.vmap import vmap
from .control_flow_util import Traced, check_carry, check_leaves, leaf_paths, trace, trace_carry
from .indexing import index_in_dim, slice_in_dim
from .structure import concatenate, expand_dims, reshape, slice

__all__ = ["map", "scan"]


def scan(
    f: Callable[[Any, Any], tuple[Any, Any]],
    init: Any,
    xs: Any = None,
    length: int | None = None,
    reverse: bool = False,
    unroll: int | bool = 1,
    _split_transpose: bool = False,
) -> tuple[Any, Any]:
    """Run `carry, y = f(carry, x)` along the leading axis of `xs`, and stack the `y`s.

    Args:
      f: called with the carry (a pytree of the structure, shapes and dtypes of `init`) and a slice
        `x` of `xs`; returns the new carry and `y`, any pytree of arrays. It is traced once.
      init: the first carry. Weakly typed leaves take the dtype that the loop gives them.
      xs: pytree of arrays with equal leading axes, or None for a loop without inputs.
      length: the number of steps, an int; needed where `xs` has no leaves.
      reverse: go from the end of `xs` to its start (`ys` keep the order of `xs`).
      unroll: how many steps the compiled loop does at a time; True for all.
      _split_transpose: a hint for the derivative, which has no effect on results.

    Returns the last carry and the stacked `y`s, as a pair of the kind that `f` returns.

    Raises TypeError where `f` does not return a pair or its carry has another structure or type
    than `init`, ValueError for lengths that do not fit, ConcretizationTypeError for a traced length.
    """
    if not callable(f):
        raise TypeError("lax.scan: f argument should be a callable.")
    xs_flat, xs_tree = pytree.tree_flatten(xs)
    init_flat, init_tree = pytree.tree_flatten(init)
    check_leaves(init_flat)
    n = _length("scan", xs_flat, xs_tree, length)
    times = _unroll(unroll, n)
    reverse = bool(reverse)
    if config.disable_jit.value:
        return _scan_in_python(f, init, init_tree, xs_flat, xs_tree, n, reverse)
    in_tree = pytree.tree_structure(((init, xs), {}))
    slices = [_slice_aval(x) for x in xs_flat]

    def check(traced: Traced, carry: list[Any]) -> None:
        out = traced.out_tree.children()
        if len(out) != 2:
            what = pytree.tree_unflatten(traced.out_tree, [str(a) for a in traced.out_avals])
            raise TypeError(f"scan body output must be a pair, got {what}.")
        k = out[0].num_leaves
        check_carry("scan body function", "c", init_tree, carry, out[0], traced.out_avals[:k])

    traced, init_flat, _ = trace_carry(f, in_tree, [], init_flat, slices, init_tree, "scan", check)
    carry, ys = _bind(
        traced.hoisted, traced.consts, init_flat, xs_flat, n, reverse=reverse, unroll=times
    )
    return pytree.tree_unflatten(traced.out_tree, [*carry, *ys])


# --- arguments -----------------------------------------------------------------------------


def _length(who: str, xs: Sequence[Any], tree: Any, length: Any) -> int:
    """The number of steps. Raises where the leading axes and `length` do not agree."""
    avals = check_leaves(xs)
    for i, a in enumerate(avals):
        if not a.shape:
            where = _paths(tree, len(xs), [i])[0]
            raise ValueError(
                f"{who} got value with no leading axis to scan over: {xs[i]}{where}. All leaves of "
                "xs must have a leading axis."
            )
    sizes = [a.shape[0] for a in avals]
    if length is not None:
        if isinstance(length, Tracer) and length._concrete() is None:
            raise errors.ConcretizationTypeError(
                length,
                f"The `length` argument to `{who}` expects a concrete `int` value. For scan-like "
                "iteration with a dynamic length, use `while_loop` or `fori_loop`.",
            )
        n = int(length)
        if n < 0 and not sizes:
            raise ValueError(f"{who} got `length` argument of {n}, which must not be negative.")
        if any(s != n for s in sizes):
            wrong = [i for i, s in enumerate(sizes) if s != n]
            raise ValueError(
                f"{who} got `length` argument of {n} which disagrees with leading axis sizes "
                f"{sizes}{_each(tree, sizes, wrong)}."
            )
        return n
    if not sizes:
        raise ValueError(f"{who} got no values to scan over and `length` not provided.")
    if len(set(sizes)) > 1:
        raise ValueError(
            f"{who} got values with different leading axis sizes: {', '.join(map_str(sizes))}"
            f"{_each(tree, sizes, range(len(sizes)))}."
        )
    return sizes[0]


def map_str(items: Sequence[Any]) -> list[str]:
    return [str(x) for x in items]


def _paths(tree: Any, n: int, which: Sequence[int]) -> list[str]:
    paths = leaf_paths(tree)
    return [f" at xs{paths[i]}" if paths[i] else "" for i in which]


def _each(tree: Any, sizes: Sequence[int], which: Sequence[int]) -> str:
    """` (xs['a']: 3, xs['b']: 4)`: the sizes with the paths of their leaves."""
    paths = leaf_paths(tree)
    shown = [f"xs{paths[i]}: {sizes[i]}" for i in which]
    more = "" if len(shown) <= 8 else ", ..."
    return f" ({', '.join(shown[:8])}{more})"


def _unroll(unroll: Any, length: int) -> int:
    """How many steps at a time. Raises ValueError for a negative number, TypeError for no int."""
    if isinstance(unroll, bool):
        return max(length, 1) if unroll else 1
    try:
        n = operator.index(unroll)
    except TypeError:
        raise TypeError(
            f"`unroll` must be a `bool` or a non-negative `int`, got {unroll!r}."
        ) from None
    if n < 0:
        raise ValueError("`unroll` must be a `bool` or a non-negative `int`.")
    return n


def _slice_aval(x: Any) -> ShapedArray:
    a = get_aval(x)
    return a.update(shape=a.shape[1:])


# --- the loop ------------------------------------------------------------------------------


def _bind(
    body: ClosedJaxpr,
    consts: Sequence[Any],
    init: Sequence[Any],
    xs: Sequence[Any],
    length: int,
    *,
    reverse: bool = False,
    unroll: int = 1,
) -> tuple[list[Any], list[Any]]:
    """Bind the primitive; what the body only passes on does not go through the loop.

    A carry that never changes becomes a constant, and outputs that are inputs are these inputs.
    """
    nc, nk = len(consts), len(init)
    inner, fixed, source = body.derived(
        ("without passed on", nc, nk), lambda: _without_passed_on(body, nc, nk)
    )
    moved, kept = chosen(init, fixed), chosen(init, fixed, False)
    outs: list[Any] = []
    if inner.jaxpr.outvars or inner.effects:
        outs = scan_p.bind(
            *moved,
            *consts,
            *kept,
            *xs,
            reverse=reverse,
            length=length,
            jaxpr=inner,
            num_consts=len(moved) + nc,
            num_carry=len(kept),
            unroll=unroll,
        )
    carry, ys = parts(outs, len(kept))
    rest = iter(ys)
    return merged(fixed, moved, carry), [
        next(rest) if s is None else as_operand(xs[s]) for s in source
    ]


def as_operand(x: Any) -> Any:
    """An array for a result that is an operand; tracers as they are."""
    return x if isinstance(x, Tracer) else as_array(x)


def _without_passed_on(
    body: ClosedJaxpr, nc: int, nk: int
) -> tuple[ClosedJaxpr, list[bool], list[int | None]]:
    """The body without what it passes on, which carries these are, and which input each y is."""
    consts, carry, xs = parts(body.jaxpr.invars, nc, nk)
    carry_out, ys = parts(body.jaxpr.outvars, nk)
    fixed = [a is b for a, b in zip(carry, carry_out, strict=True)]
    place = {v: i for i, v in enumerate(xs)}
    source = [place.get(a) if hasattr(a, "count") else None for a in ys]
    invars = [*chosen(carry, fixed), *consts, *chosen(carry, fixed, False), *xs]
    outvars = [
        *chosen(carry_out, fixed, False),
        *[a for a, s in zip(ys, source, strict=True) if s is None],
    ]
    if len(outvars) == len(body.jaxpr.outvars):
        return body, fixed, source
    return permuted(body, invars, outvars), fixed, source


def _scan_in_python(
    f: Callable, init: Any, init_tree: Any, xs: Sequence[Any], xs_tree: Any, n: int, reverse: bool
) -> tuple[Any, Any]:
    """The loop as Python runs it, under `disable_jit`."""
    if n == 0:
        raise ValueError(
            "zero-length scan is not supported in disable_jit() mode because the output type is "
            "unknown."
        )
    carry, rows, out_tree = init, [], None
    for i in steps(n, reverse):
        x = pytree.tree_unflatten(xs_tree, [index_in_dim(x, i, keepdims=False) for x in xs])
        out = f(carry, x)
        if not isinstance(out, (tuple, list)) or len(out) != 2:
            raise TypeError(f"scan body output must be a pair, got {out}.")
        carry, y = out
        tree = pytree.tree_structure(carry)
        if tree != init_tree:
            check_carry("scan body function", "c", init_tree, [], tree, [])
        leaves, out_tree = pytree.tree_flatten(y)
        rows.append(leaves)
    if reverse:
        rows.reverse()
    columns = [
        concatenate([expand_dims(as_operand(v), (0,)) for v in column], 0)
        for column in zip(*rows, strict=True)
    ]
    return carry, pytree.tree_unflatten(out_tree, columns)


# --- map -----------------------------------------------------------------------------------


def map(f: Callable[[Any], Any], xs: Any, *, batch_size: int | None = None) -> Any:
    """Apply `f` to each slice of `xs` along the leading axis, one after the other, and stack.

    Args:
      f: function of one pytree; its result is a pytree of arrays.
      xs: pytree of arrays with equal leading axes.
      batch_size: how many slices are computed together, as by `vmap`.

    Raises TypeError unless `f` is callable, ValueError for leading axes that differ.
    """
    if not callable(f):
        raise TypeError(f"lax.map: f argument should be a callable, got {f!r}")
    flat, tree = pytree.tree_flatten(xs)
    n = _length("scan", flat, tree, None)
    if batch_size is not None:
        batch_size = operator.index(batch_size)
        if batch_size < 0:
            raise TypeError(f"lax.map: batch_size must be positive, got {batch_size}")
    if config.disable_jit.value:
        return _map_in_python(f, flat, tree, n, batch_size)
    in_tree = pytree.treedef_tuple((pytree.treedef_tuple((tree,)), pytree.tree_structure({})))
    traced = trace(f, in_tree, [_slice_aval(x) for x in flat], "map")
    body, consts = traced.hoisted, traced.consts
    if not batch_size:
        _, ys = _bind(body, consts, [], flat, n)
        return pytree.tree_unflatten(traced.out_tree, ys)
    count, rest = divmod(n, batch_size)
    dims = (None,) * len(consts) + (0,) * len(flat)

    def batch(size: int) -> ClosedJaxpr:
        return batch_jaxpr(body, Axis(size), dims, True)[0]

    ys: list[Any] = []
    if count:
        whole = [_rows(x, 0, n - rest) if rest else x for x in flat]
        rows = [reshape(x, (count, batch_size, *get_aval(x).shape[1:])) for x in whole]
    tail = [_rows(x, n - rest, n) for x in flat] if rest and count else flat
    if count:
        _, ys = _bind(batch(batch_size), consts, [], rows, count)
    last: list[Any] = []
    if rest or not count:
        step = batch(rest)
        last = eval_jaxpr(step.jaxpr, step.consts, *consts, *tail)
    outs = []
    for i in range(traced.out_tree.num_leaves):
        pieces = [reshape(ys[i], (n - rest, *get_aval(ys[i]).shape[2:]))] if count else []
        pieces += last[i : i + 1]
        outs.append(pieces[0] if len(pieces) == 1 else concatenate(pieces, 0))
    return pytree.tree_unflatten(traced.out_tree, outs)


def _rows(x: Any, start: int, stop: int) -> Any:
    shape = get_aval(x).shape
    return slice(x, (start, *(0,) * (len(shape) - 1)), (stop, *shape[1:]))


def _map_in_python(
    f: Callable, flat: Sequence[Any], tree: Any, n: int, batch_size: int | None
) -> Any:
    """The slices (or batches of them) one after the other in Python, under `disable_jit`."""
    step = batch_size or 1
    run = vmap(f) if batch_size else f
    pieces, out_tree = [], None
    for i in range(0, n, step):
        if batch_size:
            x = [slice_in_dim(v, i, min(i + step, n)) for v in flat]
        else:
            x = [index_in_dim(v, i, keepdims=False) for v in flat]
        leaves, out_tree = pytree.tree_flatten(run(pytree.tree_unflatten(tree, x)))
        pieces.append(leaves if batch_size else [expand_dims(as_operand(v), (0,)) for v in leaves])
    if out_tree is None:
        raise ValueError(
            "map over no elements is not supported in disable_jit() mode because the output type "
            "is unknown."
        )
    outs = [concatenate(column, 0) for column in zip(*pieces, strict=True)]
    return pytree.tree_unflatten(out_tree, outs)
