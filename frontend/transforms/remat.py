"""checkpoint: a call whose intermediate values are computed again when it is differentiated."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..core import eager, errors, pytree
from ..core.avals import get_aval
from ..core.config import trace_key
from ..core.interpreter import eval_jaxpr
from ..core.jaxpr import ClosedJaxpr, JaxprEqn
from ..core.primitive import Primitive
from ..core.rules import Zero, is_undefined
from ..core.staging import trace_to_closed, trace_to_jaxpr
from ..core.trace import set_trace, state
from .api_util import (
    FlatFun,
    as_name_tuple,
    check_callable,
    check_results,
    debug_info,
    resolve_argnums,
    wraps,
)
from .batching import batch_jaxpr
from .checkify import checkify_call
from .jet import jet_call
from .jvp import jvp_jaxpr
from .partial_eval import dce_closed, partial_eval_jaxpr
from .recompute import Policy, split_call, split_jaxpr
from .transpose import backward_pass

# --- the primitive -------------------------------------------------------------------------


def _abstract(*avals: Any, jaxpr: Any, **_: Any) -> list[Any]:
    return jaxpr.out_avals


def _evaluate(primitive: Primitive, args: Sequence[Any], params: dict) -> list[Any]:
    return eval_jaxpr(params["jaxpr"].jaxpr, params["jaxpr"].consts, *args)


def _reference(*args: Any, jaxpr: ClosedJaxpr, **_: Any) -> list[Any]:
    return [eager.to_numpy(o) for o in eval_jaxpr(jaxpr.jaxpr, jaxpr.consts, *args)]


def _flags(prevent_cse: Any, n: int) -> list[bool]:
    return [prevent_cse] * n if isinstance(prevent_cse, bool) else list(prevent_cse)


def _pack(flags: Sequence[bool], before: Any) -> Any:
    return before if isinstance(before, bool) else tuple(flags)


def _jvp(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict
) -> Any:
    nonzero = tuple(type(t) is not Zero for t in tangents)
    jaxpr, nonzero_out = jvp_jaxpr(params["jaxpr"], nonzero)
    cse = params["prevent_cse"]
    flags = _flags(cse, len(primals))
    flags += [f for f, nz in zip(flags, nonzero, strict=True) if nz]
    args = [*primals, *[t for t in tangents if type(t) is not Zero]]
    outs = remat_p.bind(*args, **{**params, "jaxpr": jaxpr, "prevent_cse": _pack(flags, cse)})
    n = len(nonzero_out)
    it = iter(outs[n:])
    return outs[:n], [
        next(it) if nz else Zero.of(o) for o, nz in zip(outs[:n], nonzero_out, strict=True)
    ]


def _partial_eval(primitive: Primitive, trace: Any, args: Sequence[Any], params: dict) -> list[Any]:
    """What is known is computed now, as if there were no checkpoint; only what the policy allows
    is kept for the staged part, which has the rest of the function."""
    unknown = tuple(trace.is_unknown(a) for a in args)
    parts = split_jaxpr(params["jaxpr"], unknown, params["policy"])
    with set_trace(trace.parent):
        now = eval_jaxpr(
            parts.known.jaxpr,
            parts.known.consts,
            *[a for a, u in zip(args, unknown, strict=True) if not u],
        )
    staged_out: list[Any] = []
    if any(parts.unknown_out):
        cse = params["prevent_cse"]
        flags = [True] * len(parts.residuals)
        flags += [f for f, u in zip(_flags(cse, len(args)), parts.used_inputs, strict=True) if u]
        new = {
            **params,
            "jaxpr": parts.staged,
            "differentiated": True,
            "prevent_cse": _pack(flags, cse),
        }
        rest = [now[i] for i in parts.residuals]
        rest += [a for a, u in zip(args, parts.used_inputs, strict=True) if u]
        with set_trace(trace.staging):
            staged_out = remat_p.bind(*rest, **new)
    known, staged = iter(now), iter(staged_out)
    return [next(staged) if u else next(known) for u in parts.unknown_out]


def _transpose(
    primitive: Primitive, cts: Sequence[Any], args: Sequence[Any], params: dict
) -> list[Any]:
    linear = tuple(is_undefined(a) for a in args)
    nonzero = tuple(type(c) is not Zero for c in cts)
    jaxpr, used, nonzero_out = _transposed(params["jaxpr"], linear, nonzero)
    cse = params["prevent_cse"]
    flags = _flags(cse, len(args))
    ins = [a for a in args if not is_undefined(a)] + [c for c in cts if type(c) is not Zero]
    in_flags = [f for f, lin in zip(flags, linear, strict=True) if not lin]
    in_flags += [True] * (len(ins) - len(in_flags))
    new = {
        **params,
        "jaxpr": jaxpr,
        "prevent_cse": _pack([f for f, u in zip(in_flags, used, strict=True) if u], cse),
    }
    outs = iter(remat_p.bind(*[x for x, u in zip(ins, used, strict=True) if u], **new))
    nz = iter(nonzero_out)
    return [
        (next(outs) if next(nz) else Zero(a.aval)) if lin else None
        for a, lin in zip(args, linear, strict=True)
    ]


def _transposed(
    closed: ClosedJaxpr, linear: tuple[bool, ...], nonzero: tuple[bool, ...]
) -> tuple[ClosedJaxpr, list[bool], list[bool]]:
    """Recomputation forwards, then the linear part backwards.

    Returns the jaxpr `(*known inputs, *nonzero cotangents) -> nonzero cotangents` without the
    inputs that it does not read, which inputs it reads, and which linear inputs have a cotangent.
    """

    def make() -> tuple[ClosedJaxpr, list[bool], list[bool]]:
        parts = partial_eval_jaxpr(closed, linear)
        n = linear.count(False)
        nonzero_out: list[bool] = []

        def f(*xs: Any) -> list[Any]:
            known, it = xs[:n], iter(xs[n:])
            cts = [
                next(it) if nz else Zero(a) for a, nz in zip(closed.out_avals, nonzero, strict=True)
            ]
            values = {"in": known, "out": eval_jaxpr(parts.known.jaxpr, parts.known.consts, *known)}
            residuals = [values[kind][i] for kind, i in parts.residuals]
            outs = backward_pass(
                parts.staged.jaxpr,
                parts.staged.consts,
                [False] * len(residuals) + [True] * linear.count(True),
                residuals,
                [c for c, u in zip(cts, parts.unknown_out, strict=True) if u],
            )
            nonzero_out[:] = [type(o) is not Zero for o in outs]
            return [o for o in outs if type(o) is not Zero]

        avals = [a for a, lin in zip(closed.in_avals, linear, strict=True) if not lin]
        avals += [a for a, nz in zip(closed.out_avals, nonzero, strict=True) if nz]
        full = trace_to_closed(f, avals, closed.jaxpr.debug_info)
        jaxpr, used = dce_closed(full, (True,) * len(full.jaxpr.outvars))
        return jaxpr, used, nonzero_out

    return closed.derived(("remat_transpose", linear, nonzero), make)


def _batch(
    primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
) -> Any:
    jaxpr, out_dims = batch_jaxpr(params["jaxpr"], axis, tuple(dims))
    return remat_p.bind(*args, **{**params, "jaxpr": jaxpr}), out_dims


def _dce(eqn: JaxprEqn, used: Sequence[bool]) -> JaxprEqn | None:
    jaxpr, used_in = dce_closed(eqn.params["jaxpr"], tuple(used))
    if not jaxpr.jaxpr.outvars and not jaxpr.effects:
        return None
    cse = eqn.params["prevent_cse"]
    flags = [f for f, u in zip(_flags(cse, len(eqn.invars)), used_in, strict=True) if u]
    return eqn.replace(
        invars=[a for a, u in zip(eqn.invars, used_in, strict=True) if u],
        outvars=[v for v, u in zip(eqn.outvars, used, strict=True) if u],
        params={**eqn.params, "jaxpr": jaxpr, "prevent_cse": _pack(flags, cse)},
    )


def _axis_names(params: dict) -> tuple:
    def make() -> tuple:
        names: set[Any] = set()
        for e in params["jaxpr"].eqns:
            if e.primitive.axis_names is not None:
                names.update(e.primitive.axis_names(e.params))
        return tuple(names)

    return params["jaxpr"].derived("axis_names", make)


def _split_params(params: dict, jaxpr: ClosedJaxpr, n: int, staged: bool) -> dict:
    cse = params["prevent_cse"]
    return {
        **params,
        "jaxpr": jaxpr,
        "differentiated": params["differentiated"] or staged,
        "prevent_cse": cse if isinstance(cse, bool) else (True,) * n,
    }


#: Its parameter `jaxpr` is closed; captured arrays are operands. `differentiated` marks a call
#: that recomputes, which is kept apart from what it repeats where `prevent_cse` says so.
def _more_operands(params: dict, n: int) -> dict:
    """The parameters with `n` operands more in front."""
    cse = params["prevent_cse"]
    return params if isinstance(cse, bool) else {**params, "prevent_cse": (True,) * n + tuple(cse)}


remat_p = Primitive(
    "remat2",
    multiple_results=True,
    abstract=_abstract,
    reference=_reference,
    evaluate=_evaluate,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    partial_eval=_partial_eval,
    split=split_call("jaxpr", _split_params),
    jet=jet_call("jaxpr", lambda params, jaxpr, n: _split_params(params, jaxpr, n, False)),
    dce=_dce,
    checkify=checkify_call("jaxpr", _more_operands),
    axis_names=_axis_names,
    effects=lambda jaxpr, **_: jaxpr.effects,
)


# --- checkpoint ----------------------------------------------------------------------------


class _NotGiven:
    def __repr__(self) -> str:
        return "Deprecated"


_not_given: Any = _NotGiven()
_TIP = (
    "\n\nConsider using the `static_argnums` parameter for `jax.remat` or `jax.checkpoint`, which "
    "makes arguments known while the function is traced."
)


def checkpoint(
    fun: Callable,
    *,
    prevent_cse: bool | Sequence[bool] = True,
    policy: Policy | None = None,
    static_argnums: int | tuple[int, ...] = (),
    static_argnames: str | Iterable[str] = (),
    concrete: Any = _not_given,
) -> Callable:
    """`fun`, but when it is differentiated, its intermediate values are not kept: they are
    computed again from its arguments in the backward pass.

    Args:
      prevent_cse: keep the recomputation apart from the first computation in compiled programs
        (a bool, or a pytree prefix of the positional arguments with bools).
      policy: one of `checkpoint_policies`: which intermediate values may be kept.
      static_argnums, static_argnames: arguments that are not traced.

    Raises TypeError for a `prevent_cse` that is no bool, ValueError for `static_argnums` out of
    range, NotImplementedError where the former option `concrete` is given.
    """
    if concrete is not _not_given:
        raise NotImplementedError(
            "The `concrete` option to `jax.checkpoint` was removed; use `static_argnums` instead."
        )
    if not isinstance(prevent_cse, (bool, tuple, list)):
        raise TypeError(f"prevent_cse must be a bool or tuple of bools, got {type(prevent_cse)=}")
    if isinstance(prevent_cse, list):
        prevent_cse = tuple(prevent_cse)
    static = (static_argnums,) if isinstance(static_argnums, int) else tuple(static_argnums)
    static_names = as_name_tuple(static_argnames, "static_argnames")
    traced: dict[Any, tuple[ClosedJaxpr, Any]] = {}

    @wraps(fun)
    def fun_remat(*args: Any, **kwargs: Any) -> Any:
        check_callable(fun)
        nums = _static_positions(static, len(args)) + _named_positions(fun, static_names, len(args))
        fixed = {i: args[i] for i in nums}
        fixed_kw = {k: v for k, v in kwargs.items() if k in static_names}
        dynamic = tuple(a for i, a in enumerate(args) if i not in fixed)
        leaves, in_tree = pytree.tree_flatten(
            (dynamic, {k: v for k, v in kwargs.items() if k not in fixed_kw})
        )
        for x in leaves:
            _check_value(x)
        avals = tuple(get_aval(x) for x in leaves)
        key: Any = (
            in_tree,
            avals,
            tuple((i, type(v), v) for i, v in fixed.items()),
            tuple((k, type(v), v) for k, v in fixed_kw.items()),
            state.axis_env,
            trace_key(),
        )
        try:
            found = traced.get(key)
        except TypeError:
            key = found = None
        consts: list[Any] = []
        if found is None:
            closed, consts, out_tree = _trace(fun, fixed, fixed_kw, in_tree, avals, len(args))
            if not consts and key is not None:
                if len(traced) >= 256:
                    traced.pop(next(iter(traced)))
                traced[key] = closed, out_tree
        else:
            closed, out_tree = found
        cse: Any = prevent_cse
        if not isinstance(cse, bool):
            flags = _prefix(cse, dynamic)
            cse = (True,) * len(consts) + tuple(flags)
            cse += (True,) * (len(consts) + len(leaves) - len(cse))
        outs = remat_p.bind(
            *consts,
            *leaves,
            jaxpr=closed,
            prevent_cse=cse,
            differentiated=False,
            policy=policy,
        )
        return pytree.tree_unflatten(out_tree, outs)

    return fun_remat


def _prefix(flags: Any, args: tuple) -> list[bool]:
    out = pytree.broadcast_prefix(flags, args)
    for f in out:
        if not isinstance(f, bool):
            raise TypeError(f"prevent_cse must be a bool or tuple of bools, got {flags!r}")
    return out


def _check_value(x: Any) -> None:
    try:
        get_aval(x)
    except TypeError:
        raise TypeError(f"Argument '{x}' of type {type(x)} is not a valid JAX type") from None


def _named_positions(fun: Callable, names: Sequence[str], n: int) -> list[int]:
    """The positions below n of the arguments that `names` has."""
    if not names:
        return []
    return [i for i in resolve_argnums(fun, None, names, "static")[0] if i < n]


def _static_positions(static: tuple, n: int) -> list[int]:
    for i in static:
        if not -n <= i < n:
            raise ValueError(
                "the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only take "
                "integer values greater than or equal to `-len(args)` and less than `len(args)`, "
                f"but got {static}, while `len(args)` = {n}"
            )
    return sorted({i % n for i in static})


def _trace(
    fun: Callable, fixed: dict, fixed_kw: dict, in_tree: Any, avals: Sequence[Any], n: int
) -> tuple[ClosedJaxpr, list[Any], Any]:
    """The function's jaxpr, with the arrays that it captures as leading inputs, their values, and
    the output tree."""

    def f(*dynamic: Any, **kwargs: Any) -> Any:
        it = iter(dynamic)
        args = [fixed[i] if i in fixed else next(it) for i in range(n)]
        return fun(*args, **kwargs, **fixed_kw)

    if fixed or fixed_kw:
        f = wraps(fun)(f)
    else:
        f = fun
    flat = FlatFun(f, in_tree)

    def checked(*leaves: Any) -> list[Any]:
        outs = flat(*leaves)
        check_results(fun, "checkpoint / remat", outs, flat.out_tree)
        return outs

    try:
        jaxpr, consts = trace_to_jaxpr(
            checked, avals, debug_info("checkpoint / remat", fun, in_tree)
        )
    except errors.ConcretizationTypeError as e:
        if _TIP not in str(e):
            e.args = (str(e) + _TIP,)
        raise
    closed = ClosedJaxpr(jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars]))
    return closed, consts, flat.out_tree


def remat(
    fun: Callable,
    *,
    prevent_cse: bool = True,
    policy: Policy | None = None,
    static_argnums: int | tuple[int, ...] = (),
    concrete: Any = _not_given,
) -> Callable:
    """Another name of `checkpoint`."""
    return checkpoint(
        fun,
        prevent_cse=prevent_cse,
        policy=policy,
        static_argnums=static_argnums,
        concrete=concrete,
    )


__all__ = ["checkpoint", "remat", "remat_p"]
