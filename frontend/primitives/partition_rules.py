"""How primitives run on parts of their operands. See partition.py for the form of a rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core.avals import get_aval
from ..core.jaxpr import ClosedJaxpr
from ..core.mesh import NamedSharding
from ..transforms import custom_rules, remat
from . import cumulative, dot, reductions, slicing, sorting, structure
from .collectives import pmax_p, pmin_p, psum_p
from .declare import ops
from .partition import Cuts, Part, cuts_of, recut, whole
from .placement import constrained

Rule = Callable[[Part, Any, list[Any], list[Cuts], dict], Any]


def _shape(x: Any) -> tuple[int, ...]:
    return get_aval(x).shape


def _single(out: Any, cuts: Cuts) -> Any:
    return [out], [cuts]


def _gathered(part: Part, p: Any, x: Any, cuts: Cuts, axes: Sequence[int]) -> tuple[Any, Cuts]:
    """A value whole along some axes."""
    want = tuple(() if d in axes else c for d, c in enumerate(cuts))
    if want != cuts:
        part.note(p, f"it works along dimension {', '.join(map(str, axes))}, which is cut")
    return recut(x, cuts, want), want


# --- moving dimensions -------------------------------------------------------------------------


def _broadcast(part: Part, p: Any, args: list[Any], cuts: list[Cuts], params: dict) -> Any:
    (x,), (c,) = args, cuts
    if not any(c):
        return None
    dims, shape = params["broadcast_dimensions"], list(params["shape"])
    out: list[tuple] = [()] * len(shape)
    for i, d in enumerate(dims):
        if c[i]:
            shape[d], out[d] = _shape(x)[i], c[i]
    return _single(p.bind(x, **{**params, "shape": tuple(shape)}), tuple(out))


def _transpose(part: Part, p: Any, args: list[Any], cuts: list[Cuts], params: dict) -> Any:
    (x,), (c,) = args, cuts
    return _single(p.bind(x, **params), tuple(c[i] for i in params["permutation"]))


def _squeeze(part: Part, p: Any, args: list[Any], cuts: list[Cuts], params: dict) -> Any:
    (x,), (c,) = args, cuts
    gone = params["dimensions"]
    return _single(p.bind(x, **params), tuple(a for d, a in enumerate(c) if d not in gone))


def _reshape(part: Part, p: Any, args: list[Any], cuts: list[Cuts], params: dict) -> Any:
    """A cut dimension stays cut where it is the first one of those that it is made of, or becomes,
    and its parts are whole multiples of the others."""
    (x,), (c,) = args, cuts
    if not any(c) or params["dimensions"] is not None:
        return None
    new = params["new_sizes"]
    full = tuple(n * part.count(a) for n, a in zip(_shape(x), c, strict=True))
    out: list[tuple] = [()] * len(new)
    i = j = 0
    while i < len(full) and j < len(new):
        left, right, a, b = i + 1, j + 1, full[i], new[j]
        while a != b:
            if a < b:
                if left == len(full):
                    return None
                a *= full[left]
                left += 1
            else:
                if right == len(new):
                    return None
                b *= new[right]
                right += 1
        if any(c[i + 1 : left]):
            return None
        if c[i]:
            if new[j] % part.count(c[i]):
                return None
            out[j] = c[i]
        i, j = left, right
    if any(c[i:]):
        return None
    sizes = tuple(n // part.count(a) for n, a in zip(new, out, strict=True))
    return _single(p.bind(x, **{**params, "new_sizes": sizes}), tuple(out))


# --- along some axes ---------------------------------------------------------------------------


def _along(axes_of_params: Callable[[dict], Sequence[int]]) -> Rule:
    """For primitives that work along some axes, and on everything else in parallel: their operands
    and results have one rank."""

    def rule(part: Part, p: Any, args: list[Any], cuts: list[Cuts], params: dict) -> Any:
        axes = axes_of_params(params)
        moved = part.aligned(args, cuts)
        if moved is None:
            return None
        args, c = moved
        pairs = [_gathered(part, p, x, c, axes) for x in args]
        out = p.bind(*[x for x, _ in pairs], **params)
        kept = pairs[0][1]
        return (out, [kept] * len(out)) if p.multiple_results else _single(out, kept)

    return rule


def _arg_extreme(part: Part, p: Any, args: list[Any], cuts: list[Cuts], params: dict) -> Any:
    x, c = _gathered(part, p, args[0], cuts[0], params["axes"])
    kept = tuple(a for d, a in enumerate(c) if d not in params["axes"])
    return _single(p.bind(x, **params), kept)


def _slice(part: Part, p: Any, args: list[Any], cuts: list[Cuts], params: dict) -> Any:
    (x,), (c,) = args, cuts
    full = tuple(n * part.count(a) for n, a in zip(_shape(x), c, strict=True))
    strides = params["strides"] or (1,) * len(full)
    taken = [
        d
        for d, (lo, hi, n, s) in enumerate(
            zip(params["start_indices"], params["limit_indices"], full, strides, strict=True)
        )
        if (lo, hi, s) != (0, n, 1)
    ]
    x, c = _gathered(part, p, x, c, taken)
    limits = tuple(
        n if d not in taken else hi
        for d, (n, hi) in enumerate(zip(_shape(x), params["limit_indices"], strict=True))
    )
    return _single(p.bind(x, **{**params, "limit_indices": limits}), c)


def _concatenate(part: Part, p: Any, args: list[Any], cuts: list[Cuts], params: dict) -> Any:
    axis = params["dimension"]
    pairs = [_gathered(part, p, x, c, [axis]) for x, c in zip(args, cuts, strict=True)]
    best = max((c for _, c in pairs), key=lambda c: sum(map(len, c)))
    if not any(best):
        return None
    return _single(p.bind(*[recut(x, c, best) for x, c in pairs], **params), best)


def _pad(part: Part, p: Any, args: list[Any], cuts: list[Cuts], params: dict) -> Any:
    padded = [d for d, config in enumerate(params["padding_config"]) if tuple(config) != (0, 0, 0)]
    x, c = _gathered(part, p, args[0], cuts[0], padded)
    return _single(p.bind(x, args[1], **params), c)


# --- reductions --------------------------------------------------------------------------------


def _reduction(collective: Any) -> Rule:
    """Each device reduces its parts; what was cut is reduced over the devices."""

    def rule(part: Part, p: Any, args: list[Any], cuts: list[Cuts], params: dict) -> Any:
        (x,), (c,) = args, cuts
        axes = params["axes"]
        names = tuple(n for d in axes for n in c[d])
        if names and (collective is None or _is_bool(x)):
            x, c = _gathered(part, p, x, c, axes)
            names = ()
        out = p.bind(x, **params)
        if names:
            out = collective.bind(out, axes=names, axis_index_groups=None)
        return _single(out, tuple(a for d, a in enumerate(c) if d not in axes))

    return rule


def _is_bool(x: Any) -> bool:
    return get_aval(x).dtype == np.bool_


def _dot(part: Part, p: Any, args: list[Any], cuts: list[Cuts], params: dict) -> Any:
    """Batch dimensions are cut alike, free ones as they are; contracted ones that are cut alike
    are summed over the devices."""
    (x, y), (a, b) = args, cuts
    (xc, yc), (xb, yb) = params["dimension_numbers"]
    want_a, want_b = list(a), list(b)
    for i, j in zip(xb, yb, strict=True):
        want_a[i] = want_b[j] = a[i] or b[j]
    for i, j in zip(xc, yc, strict=True):
        want_a[i] = want_b[j] = a[i] or b[j]
    used: set[Any] = set()
    summed = tuple(n for i in xc for n in want_a[i])
    for n in [*summed, *[n for i in xb for n in want_a[i]]]:
        if n in used:
            return None
        used.add(n)
    x_free = [i for i in range(len(a)) if i not in (*xc, *xb)]
    y_free = [j for j in range(len(b)) if j not in (*yc, *yb)]
    for want, free in ((want_a, x_free), (want_b, y_free)):
        for d in free:
            if any(n in used for n in want[d]):
                want[d] = ()
            used.update(want[d])
    out = p.bind(recut(x, a, tuple(want_a)), recut(y, b, tuple(want_b)), **params)
    if summed:
        out = psum_p.bind(out, axes=summed, axis_index_groups=None)
    cut = [want_a[i] for i in (*xb, *x_free)] + [want_b[j] for j in y_free]
    return _single(out, tuple(cut))


# --- what programs say about shardings ---------------------------------------------------------


def _to(part: Part, x: Any, c: Cuts, where: Any) -> tuple[Any, Cuts]:
    if not isinstance(where, NamedSharding):
        return x, c
    if where.mesh.shape_tuple != part.mesh.shape_tuple:
        return recut(x, c, whole(len(c))), whole(len(c))
    want = cuts_of(where.spec, len(c))
    return recut(x, c, want), want


def _constraint(part: Part, p: Any, args: list[Any], cuts: list[Cuts], params: dict) -> Any:
    where = constrained(params["sharding"], params["unconstrained_dims"])
    x, c = _to(part, args[0], cuts[0], where)
    return [x], [c]


def _device_put(part: Part, p: Any, args: list[Any], cuts: list[Cuts], params: dict) -> Any:
    pairs = [_to(part, x, c, d) for x, c, d in zip(args, cuts, params["devices"], strict=True)]
    return [x for x, _ in pairs], [c for _, c in pairs]


# --- calls -------------------------------------------------------------------------------------


def _call(param: str) -> Rule:
    """For primitives that, compiled, run the jaxpr in a parameter on their operands."""

    def rule(part: Part, p: Any, args: list[Any], cuts: list[Cuts], params: dict) -> Any:
        body = params[param]
        closed = body if isinstance(body, ClosedJaxpr) else ClosedJaxpr(body, ())
        return part.run(closed.jaxpr, closed.consts, args, cuts)

    return rule


RULES: dict[str, Rule] = {
    "broadcast_in_dim": _broadcast,
    "transpose": _transpose,
    "squeeze": _squeeze,
    "reshape": _reshape,
    "slice": _slice,
    "concatenate": _concatenate,
    "pad": _pad,
    "select_n": _along(lambda params: ()),
    "clamp": _along(lambda params: ()),
    "rev": _along(lambda params: params["dimensions"]),
    "sort": _along(lambda params: [params["dimension"]]),
    "cumsum": _along(lambda params: [params["axis"]]),
    "cumprod": _along(lambda params: [params["axis"]]),
    "cummax": _along(lambda params: [params["axis"]]),
    "cummin": _along(lambda params: [params["axis"]]),
    "argmax": _arg_extreme,
    "argmin": _arg_extreme,
    "reduce_sum": _reduction(psum_p),
    "reduce_max": _reduction(pmax_p),
    "reduce_min": _reduction(pmin_p),
    "reduce_prod": _reduction(None),
    "reduce_and": _reduction(None),
    "reduce_or": _reduction(None),
    "reduce_xor": _reduction(None),
    "dot_general": _dot,
    "custom_jvp_call": _call("call_jaxpr"),
    "custom_vjp_call": _call("call_jaxpr"),
    "remat2": _call("jaxpr"),
    "sharding_constraint": _constraint,
    "device_put": _device_put,
}


#: They declare the primitives that have rules here.
_DECLARE = (custom_rules, remat, cumulative, dot, reductions, slicing, sorting, structure)


def _register() -> None:
    for name, rule in RULES.items():
        ops[name].partition = rule


_register()

__all__ = ["RULES"]
