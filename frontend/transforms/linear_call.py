"""linear_call: a linear function whose transpose the user gives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core import eager, pytree
from ..core.avals import get_aval
from ..core.interpreter import eval_jaxpr
from ..core.jaxpr import ClosedJaxpr, Var
from ..core.primitive import Primitive
from ..core.rules import Zero, instantiate, is_undefined
from ..core.staging import trace_to_jaxpr
from ..core.trace import Tracer
from .api_util import FlatFun, check_callable, check_results, debug_info, fun_name
from .batching import Axis, batch_jaxpr, move_batch_axis
from .partial_eval import dce_closed


class _Traced:
    """A function of (residuals, linear arguments) as a jaxpr whose leading inputs are the values
    that it closes over."""

    def __init__(self, fun: Callable, who: str, trees: tuple[Any, Any], avals: Sequence[Any]):
        flat = FlatFun(fun, pytree.tree_structure(_example(trees)))

        def checked(*xs: Any) -> list[Any]:
            outs = flat(*xs)
            check_results(fun, who, outs, flat.out_tree)
            return outs

        jaxpr, self.consts = trace_to_jaxpr(checked, avals, debug_info(who, fun))
        self.closed = ClosedJaxpr(
            jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars])
        )
        self.out_tree = flat.out_tree


def _example(trees: tuple[Any, Any]) -> tuple[tuple, dict]:
    res, lin = (pytree.tree_unflatten(t, [0] * t.num_leaves) for t in trees)
    return ((res, lin), {})


# A side of a linear call: a jaxpr of (values that it closes over, residuals, linear arguments)
# and those values.
Side = tuple[ClosedJaxpr, list[Any]]


def _with_residuals(traced: _Traced, num_res: int, moved: Sequence[bool]) -> Side:
    """Those values that a function closes over for which `moved` holds become residual arguments,
    behind the `num_res` that there are."""
    consts: list[Var] = []
    args: list[Var] = []
    ins = traced.closed.jaxpr.invars
    for v, m in zip(ins, moved, strict=False):
        (args if m else consts).append(v)
    rest = ins[len(moved) :]
    invars = [*consts, *rest[:num_res], *args, *rest[num_res:]]
    values = [c for c, m in zip(traced.consts, moved, strict=True) if not m]
    closed = traced.closed
    return closed.replace(jaxpr=closed.jaxpr.replace(invars=invars)), values


def linear_call(
    fun: Callable, fun_transpose: Callable, residual_args: Any, linear_args: Any
) -> Any:
    """`fun(residual_args, linear_args)`, a linear function of `linear_args`, with its transpose.

    `fun_transpose(residual_args, ct)` maps a cotangent of the output to one of `linear_args`, of
    their structure, shapes and dtypes; transposed twice, it is `fun` again. Values that it closes
    over and that are being traced become residual arguments. Transposing raises TypeError or
    ValueError where its output does not fit.
    """
    check_callable(fun)
    check_callable(fun_transpose)
    res, res_tree = pytree.tree_flatten(residual_args)
    lin, lin_tree = pytree.tree_flatten(linear_args)
    for x in (*res, *lin):
        try:
            get_aval(x)
        except TypeError:
            raise TypeError(f"Argument '{x}' of type {type(x)} is not a valid JAX type") from None
    res_avals, lin_avals = [get_aval(x) for x in res], [get_aval(x) for x in lin]
    callee = _Traced(fun, "linear_call", (res_tree, lin_tree), [*res_avals, *lin_avals])
    out_avals = callee.closed.out_avals

    def traced() -> _Traced:
        t = _Traced(
            fun_transpose,
            "linear_call",
            (res_tree, callee.out_tree),
            [*res_avals, *[a.at_least_vspace() for a in out_avals]],
        )
        if t.out_tree != lin_tree:
            raise TypeError(
                "transpose output pytree structure must match that of linear inputs, got output "
                f"structure {t.out_tree} and input structure {lin_tree}."
            )
        for got, want in zip(t.closed.out_avals, lin_avals, strict=True):
            if not got.same_type(want.at_least_vspace()):
                raise ValueError(
                    f"Expected cotangent type {want.str_short(long=True)} but got "
                    f"{got.str_short(long=True)} from {fun_name(fun_transpose)}, the transpose "
                    f"that linear_call was given for {fun_name(fun)}"
                )
        return t

    # The transpose is traced now: what it closes over may be gone later.
    try:
        t = traced()
    except Exception:
        # A transpose that fails matters only to those who transpose, who see why it does.
        extra: list[Any] = []

        def transpose() -> Side:
            failing = traced()
            return failing.closed, failing.consts
    else:
        extra = [c for c in t.consts if isinstance(c, Tracer)]
        side = _with_residuals(t, len(res), [isinstance(c, Tracer) for c in t.consts])

        def transpose() -> Side:
            return side

    n = len(callee.consts) + len(res)
    closed = callee.closed
    if extra:
        ins = closed.jaxpr.invars
        more = [Var(get_aval(c)) for c in extra]
        closed = closed.replace(jaxpr=closed.jaxpr.replace(invars=[*ins[:n], *more, *ins[n:]]))
    outs = linear_call_p.bind(
        *callee.consts,
        *res,
        *extra,
        *lin,
        callee=closed,
        transpose_thunk=transpose,
        num_callee_consts=len(callee.consts),
        num_res=len(res) + len(extra),
    )
    return pytree.tree_unflatten(callee.out_tree, outs)


# --- the primitive -------------------------------------------------------------------------


def _abstract(*avals: Any, callee: ClosedJaxpr, **_: Any) -> list[Any]:
    return callee.out_avals


def _evaluate(primitive: Primitive, args: Sequence[Any], params: dict) -> list[Any]:
    return eval_jaxpr(params["callee"].jaxpr, params["callee"].consts, *args)


def _reference(*args: Any, callee: ClosedJaxpr, **_: Any) -> list[Any]:
    return [eager.to_numpy(o) for o in eval_jaxpr(callee.jaxpr, callee.consts, *args)]


def _num_fixed(params: dict) -> int:
    return params["num_callee_consts"] + params["num_res"]


def _jvp(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict
) -> Any:
    n = _num_fixed(params)
    callee = params["callee"]
    read = dce_closed(callee, (True,) * len(callee.out_avals))[1]
    for i, (t, r) in enumerate(zip(tangents[:n], read[:n], strict=True)):
        # what only the transpose reads does not change the result
        if type(t) is not Zero and r:
            what = (
                "a value that the function closes over"
                if i < n - params["num_res"]
                else ("its residual arguments")
            )
            raise NotImplementedError(
                f"linear_call cannot be differentiated with respect to {what}: it is linear, and "
                "has a transpose, in its linear arguments only"
            )
    outs = linear_call_p.bind(*primals, **params)
    if all(type(t) is Zero for t in tangents[n:]):
        return outs, [Zero.of(o) for o in outs]
    return outs, linear_call_p.bind(*primals[:n], *map(instantiate, tangents[n:]), **params)


def _transpose(
    primitive: Primitive, cts: Sequence[Any], args: Sequence[Any], params: dict
) -> list[Any]:
    n, consts = _num_fixed(params), params["num_callee_consts"]
    if any(is_undefined(a) for a in args[:n]):
        raise NotImplementedError("linear_call is not linear in its residual arguments")
    if all(type(c) is Zero for c in cts):
        return [None] * n + [Zero(a.aval) if is_undefined(a) else None for a in args[n:]]
    callee, values = params["transpose_thunk"]()
    back = params["callee"], list(args[:consts])
    outs = linear_call_p.bind(
        *values,
        *args[consts:n],
        *map(instantiate, cts),
        callee=callee,
        transpose_thunk=lambda: back,
        num_callee_consts=len(values),
        num_res=params["num_res"],
    )
    return [None] * n + [
        o if is_undefined(a) else None for a, o in zip(args[n:], outs, strict=True)
    ]


def _batch(
    primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
) -> Any:
    """Both functions are batched; linear arguments and results all get the axis, in front."""
    n, consts, num_res = _num_fixed(params), params["num_callee_consts"], params["num_res"]
    size = axis.size
    lin = [move_batch_axis(size, d, 0, x) for x, d in zip(args[n:], dims[n:], strict=True)]
    callee, _ = batch_jaxpr(params["callee"], axis, (*dims[:n], *[0] * len(lin)), True)
    res_dims = dims[consts:n]

    def transpose() -> Side:
        closed, values = params["transpose_thunk"]()
        num_ct = len(closed.in_avals) - len(values) - num_res
        inner = Axis(size, axis.name)
        # values that the transpose closes over belong to the function's surroundings
        made, _ = batch_jaxpr(
            closed, inner, (*[None] * len(values), *res_dims, *[0] * num_ct), True
        )
        return made, values

    outs = linear_call_p.bind(
        *args[:n],
        *lin,
        callee=callee,
        transpose_thunk=transpose,
        num_callee_consts=consts,
        num_res=num_res,
    )
    return outs, [0] * len(outs)


def _dce(eqn: Any, used: Sequence[bool]) -> Any:
    """Unused results are kept, since the transpose gives cotangents for all."""
    if not any(used) and not dce_closed(eqn.params["callee"], tuple(used))[0].effects:
        return None
    return eqn


linear_call_p = Primitive(
    "linear_call",
    multiple_results=True,
    abstract=_abstract,
    reference=_reference,
    evaluate=_evaluate,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    dce=_dce,
    effects=lambda callee, **_: callee.effects,
)

__all__ = ["linear_call", "linear_call_p"]
