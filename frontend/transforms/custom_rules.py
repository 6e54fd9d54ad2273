"""custom_jvp, custom_vjp and closure_convert: functions whose derivative the user gives."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import dtypes, pytree
from ..core.avals import ShapedArray, get_aval
from ..core.interpreter import eval_jaxpr, jaxpr_as_fun
from ..core.jaxpr import ClosedJaxpr, JaxprEqn, axis_names
from ..core.primitive import Primitive, absent
from ..core.rules import Zero, instantiate, is_undefined
from ..core.staging import trace_to_jaxpr
from ..core.trace import Tracer, state
from .api_util import (
    FlatFun,
    as_index_tuple,
    as_name_tuple,
    check_callable,
    debug_info,
    fun_name,
    fun_where,
)
from .batching import batch_flat, move_batch_axis, moves
from .checked_rules import checkify_custom_jvp, checkify_custom_vjp
from .jit import hoist_tracers
from .transpose import backward_pass


class SymbolicZero:
    """A tangent or cotangent known to be zero, as custom rules with symbolic zeros see it."""

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)
    size = property(lambda self: self.aval.size)

    @staticmethod
    def from_primal_value(val: Any) -> SymbolicZero:
        """The zero in the tangent space of a value."""
        return SymbolicZero(get_aval(val).at_least_vspace())

    def __repr__(self) -> str:
        return "SymbolicZero"


class CustomVJPPrimal:
    """An argument of a fwd rule with symbolic zeros: its value, and whether it is perturbed."""

    def __init__(self, value: Any, perturbed: bool):
        self.value, self.perturbed = value, perturbed

    def __repr__(self) -> str:
        return f"CustomVJPPrimal(value={self.value!r}, perturbed={self.perturbed})"

    def __eq__(self, other: Any) -> bool:
        return type(other) is CustomVJPPrimal and (
            (self.value, self.perturbed) == (other.value, other.perturbed)
        )

    __hash__ = None  # type: ignore[assignment]


pytree.register_pytree_node(
    CustomVJPPrimal,
    lambda p: ((p.value,), p.perturbed),
    lambda perturbed, children: CustomVJPPrimal(children[0], perturbed),
)


def custom_vjp_primal_tree_values(tree: Any) -> Any:
    """The values of a pytree of `CustomVJPPrimal`s, as a fwd rule with symbolic zeros gets it.

    Raises TypeError for leaves that are none.
    """

    def value(leaf: Any) -> Any:
        if type(leaf) is not CustomVJPPrimal:
            raise TypeError(f"unexpected leaf type {type(leaf)}")
        return leaf.value

    return pytree.tree_map(value, tree, is_leaf=lambda x: type(x) is CustomVJPPrimal)


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """The zero in the tangent space of `val`: an array (float0 for integers and booleans), or a
    `SymbolicZero` if `symbolic_zeros`."""
    if symbolic_zeros:
        return SymbolicZero.from_primal_value(val)
    return _instantiate_user(Zero.of(val))


def _run(call: Any) -> Callable[..., list[Any]]:
    return jaxpr_as_fun(call) if isinstance(call, ClosedJaxpr) else call


def _evaluate(primitive: Primitive, args: Sequence[Any], params: dict) -> list[Any]:
    return _run(params["call_jaxpr"])(*args)


def _abstract(*avals: Any, call_jaxpr: ClosedJaxpr, **_: Any) -> list[Any]:
    return call_jaxpr.out_avals


def _reference(*args: Any, call_jaxpr: ClosedJaxpr, **_: Any) -> list[Any]:
    from ..core.eager import to_numpy

    return [to_numpy(o) for o in eval_jaxpr(call_jaxpr.jaxpr, call_jaxpr.consts, *args)]


def _stage(primitive: Primitive, trace: Any, args: Sequence[Any], params: dict) -> list[Any]:
    """Trace the function; values of enclosing traces that it closes over become operands."""
    if isinstance(params["call_jaxpr"], ClosedJaxpr):
        return trace.default_process(primitive, args, params)
    call = params["call_jaxpr"]
    avals = [get_aval(a) for a in args]
    jaxpr, consts = trace_to_jaxpr(call, avals, debug_info(primitive.name, params["fun"]))
    closed, hoisted = hoist_tracers(jaxpr, consts)
    new = {**params, "call_jaxpr": closed, "num_consts": params["num_consts"] + len(hoisted)}
    return trace.default_process(primitive, [*hoisted, *args], new)


def _effects(call_jaxpr: Any, **_: Any) -> frozenset:
    return call_jaxpr.effects if isinstance(call_jaxpr, ClosedJaxpr) else frozenset()


def _transpose(
    primitive: Primitive, cts: Sequence[Any], args: Sequence[Any], params: dict
) -> list[Any]:
    closed = params["call_jaxpr"]
    linear = [is_undefined(a) for a in args]
    known = [a for a in args if not is_undefined(a)]
    outs = iter(backward_pass(closed.jaxpr, closed.consts, linear, known, cts))
    return [next(outs) if lin else None for lin in linear]


def _no_closed_over_tangents(params: dict, tangents: Sequence[Any]) -> None:
    for t in tangents[: params["num_consts"]]:
        if type(t) is not Zero:
            from ..core.errors import UnexpectedTracerError

            raise UnexpectedTracerError(
                f"Detected differentiation of a function with a custom rule, "
                f"{fun_name(params['fun'])}, with respect to a value that it closes over. Custom "
                "derivative rules do not support that: pass the value as an argument."
            )


class _Named:
    """A rule that has, and prints under, the name of the user's rule."""

    def __init__(self, f: Callable, user: Any):
        self.f, self.__name__ = f, fun_name(user)

    def __call__(self, *args: Any) -> Any:
        return self.f(*args)


def _params_text(*names: str) -> Callable[[JaxprEqn], dict]:
    def text(eqn: JaxprEqn) -> dict:
        shown = {n: eqn.params[n] for n in names}
        return {n: fun_name(v) if n in _rule_names else v for n, v in shown.items()}

    return text


class _AnyName:
    """The axis names that a function may use whose body is not known yet.

    None, the name of an anonymous axis, is among them: it may close over mapped values.
    """

    def __contains__(self, name: Any) -> bool:
        return True


def _axis_names(params: dict) -> Any:
    call = params["call_jaxpr"]
    return axis_names(call) if isinstance(call, ClosedJaxpr) else _AnyName()


def _structure(params: dict) -> dict:
    """Compiled, only the function itself is left."""
    return {"call_jaxpr": params["call_jaxpr"]}


_rule_names = frozenset({"jvp", "fwd", "bwd"})


# --- custom_jvp ----------------------------------------------------------------------------


def _custom_jvp_jvp(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict
) -> Any:
    _no_closed_over_tangents(params, tangents)
    n = params["num_consts"]
    return params["jvp"](primals[n:], tangents[n:], params["symbolic_zeros"])


def _custom_jvp_batch(
    primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
) -> Any:
    call, jvp, n = _run(params["call_jaxpr"]), params["jvp"], params["num_consts"]
    symbolic = params["symbolic_zeros"]

    def to_front(outs: Sequence[Any], ds: Sequence[Any]) -> list[Any]:
        return [move_batch_axis(axis.size, d, 0, o) for o, d in zip(outs, ds, strict=True)]

    def batched_call(*xs: Any) -> list[Any]:
        return to_front(*batch_flat(call, axis, xs, dims))

    def batched_jvp(primals: Sequence[Any], tangents: Sequence[Any], symbolic_zeros: bool) -> Any:
        live = [type(t) is not Zero for t in tangents]
        split: list[int] = []

        def run(*xs: Any) -> list[Any]:
            ps = xs[: len(primals)]
            it = iter(xs[len(primals) :])
            ts = [next(it) if nz else Zero.of(p) for p, nz in zip(ps, live, strict=True)]
            outs, touts = jvp(ps, ts, symbolic)
            split[:] = [len(outs)]
            return [*outs, *map(instantiate, touts)]

        ins = [*primals, *[t for t, nz in zip(tangents, live, strict=True) if nz]]
        inner = dims[n:]
        ds = [*inner, *[d for d, nz in zip(inner, live, strict=True) if nz]]
        outs = to_front(*batch_flat(run, axis, ins, ds))
        return outs[: split[0]], outs[split[0] :]

    new = {**params, "call_jaxpr": batched_call, "jvp": _Named(batched_jvp, jvp)}
    outs = custom_jvp_call_p.bind(*args, **new)
    return outs, [0] * len(outs)


custom_jvp_call_p = Primitive(
    "custom_jvp_call",
    multiple_results=True,
    abstract=_abstract,
    reference=_reference,
    evaluate=_evaluate,
    stage=_stage,
    jvp=_custom_jvp_jvp,
    transpose=_transpose,
    batch=_custom_jvp_batch,
    checkify=checkify_custom_jvp,
    effects=_effects,
    axis_names=_axis_names,
    params_text=_params_text("name", "call_jaxpr", "jvp", "symbolic_zeros"),
    structure=_structure,
)


def resolve_kwargs(fun: Callable, args: tuple, kwargs: dict) -> tuple:
    """All arguments by position, defaults filled in. Raises TypeError if keywords remain."""
    if isinstance(fun, functools.partial):
        # Partial keywords stay keywords for Python, but are positions for custom rules.
        base = inspect.signature(fun.func)
        bound = base.bind(*fun.args, *args, **{**(fun.keywords or {}), **kwargs})
        bound.apply_defaults()
        if bound.kwargs:
            raise TypeError(
                f"keyword arguments {sorted(bound.kwargs)} could not be resolved to positions"
            )
        return bound.args[len(fun.args) :]
    bound = inspect.signature(fun).bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(
            f"keyword arguments {sorted(bound.kwargs)} could not be resolved to positions"
        )
    return bound.args


def _nondiff(fun: Callable, argnums: Any, argnames: Any) -> tuple[int, ...]:
    nums = set(as_index_tuple(argnums, "nondiff_argnums"))
    names = as_name_tuple(argnames, "nondiff_argnames")
    if names:
        params = list(inspect.signature(fun).parameters)
        for n in names:
            if n not in params:
                raise ValueError(f"nondiff_argnames has {n!r}, which {fun_name(fun)} does not take")
            nums.add(params.index(n))
    return tuple(sorted(nums))


class custom_jvp:
    """A function with a custom forward-mode rule (from which reverse mode follows).

    Give the rule with `defjvp(f)`, where `f(primals, tangents)` returns (out, tangent out), or
    with `defjvps(f0, f1, ...)`, one `f(t, out, *primals)` for each argument. Arguments in
    `nondiff_argnums` are passed to the rule before the primals.
    """

    def __init__(
        self,
        fun: Callable,
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ):
        check_callable(fun)
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = _nondiff(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable | None = None
        self.symbolic_zeros = False

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def defjvp(self, jvp: Callable, symbolic_zeros: bool = False) -> Callable:
        """Set the rule `jvp(*nondiff, primals, tangents) -> (out, tangent out)`; returns it."""
        check_callable(jvp)
        self.jvp, self.symbolic_zeros = jvp, symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable | None) -> None:
        """Set one rule `f(t, out, *primals)` per argument; None stands for a zero derivative."""
        if self.nondiff_argnums:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        def jvp(primals: Any, tangents: Any) -> Any:
            out = self(*primals)
            terms = [
                f(t, out, *primals) for f, t in zip(jvps, tangents, strict=True) if f is not None
            ]
            if not terms:
                return out, pytree.tree_map(lambda p: instantiate(Zero.of(p)), out)
            add = functools.partial(pytree.tree_map, lambda x, y: x + y)
            return out, functools.reduce(add, terms)

        self.defjvp(jvp)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.jvp is None:
            raise AttributeError(
                f"No JVP defined for custom_jvp function {fun_name(self.fun)} using defjvp."
            )
        args = resolve_kwargs(self.fun, args, kwargs)
        n = len(args)
        nondiff = tuple(i % n if i < 0 else i for i in self.nondiff_argnums)
        if any(i >= n for i in nondiff):
            raise IndexError(
                f"nondiff_argnums {self.nondiff_argnums} are out of range for {n} arguments"
            )
        static = [args[i] for i in nondiff]
        dynamic = [a for i, a in enumerate(args) if i not in nondiff]
        for x in pytree.tree_leaves(dynamic):
            _check_jax_type(x, self.fun)

        def f(*xs: Any) -> Any:
            it, fixed = iter(xs), dict(zip(nondiff, static, strict=True))
            return self.fun(*[fixed[i] if i in fixed else next(it) for i in range(n)])

        leaves, in_tree = pytree.tree_flatten((tuple(dynamic), {}))
        flat = FlatFun(f, in_tree)
        rule = _FlatJVP(self, static, in_tree, flat)
        outs = custom_jvp_call_p.bind(
            *leaves,
            call_jaxpr=flat,
            jvp=rule,
            symbolic_zeros=self.symbolic_zeros,
            name=fun_name(self.fun),
            num_consts=0,
            fun=self.fun,
        )
        return pytree.tree_unflatten(
            flat.out_tree if flat.out_tree is not None else rule.out_tree, outs
        )


def _check_jax_type(x: Any, fun: Any) -> None:
    try:
        get_aval(x)
    except TypeError:
        raise TypeError(
            f"Argument {x!r} of type {type(x)} to {fun_name(fun)}, which has a custom derivative "
            "rule, is not a valid JAX type; name it in nondiff_argnums if it is not to be "
            "differentiated."
        ) from None


class _FlatJVP:
    """The user's jvp rule on flat lists, with its results checked."""

    def __init__(self, owner: custom_jvp, static: list[Any], in_tree: Any, flat: FlatFun):
        self.owner, self.static, self.in_tree, self.flat = owner, static, in_tree, flat
        self.rule = owner.jvp
        self.out_tree: Any = None
        self.__name__ = fun_name(self.rule)

    def __call__(
        self, primals: Sequence[Any], tangents: Sequence[Any], symbolic_zeros: bool
    ) -> Any:
        name, rule = fun_name(self.owner.fun), self.rule
        if symbolic_zeros:
            ts = [SymbolicZero(t.aval) if type(t) is Zero else t for t in tangents]
        else:
            ts = [_instantiate_user(t) for t in tangents]
        ps, _ = pytree.tree_unflatten(self.in_tree, primals)
        tts, _ = pytree.tree_unflatten(self.in_tree, ts)
        out = rule(*self.static, ps, tts)  # type: ignore[misc]
        if not isinstance(out, (tuple, list)) or len(out) != 2:
            raise TypeError(
                f"Custom JVP rule {fun_name(rule)} for function {name} must produce a pair (list or "
                f"tuple of length two) representing primal and tangent outputs, but got {out}."
            )
        outs, out_tree = pytree.tree_flatten(out[0])
        touts, t_tree = pytree.tree_flatten(out[1])
        if out_tree != t_tree:
            raise TypeError(
                f"Custom JVP rule {fun_name(rule)} for function {name} must produce primal and "
                f"tangent outputs with equal container (pytree) structures, but got {out_tree} and "
                f"{t_tree} respectively."
            )
        expected = self.flat.out_tree
        if expected is not None and expected != out_tree:
            raise TypeError(
                f"Custom JVP rule {fun_name(rule)} for function {name} must produce a pair (list or "
                "tuple of length two) where the first element represents the primal output (equal "
                f"in structure to the output of {name}), but the structures are {out_tree} and {expected}."
            )
        self.out_tree = out_tree
        result = []
        for p, t in zip(outs, touts, strict=True):
            if isinstance(t, SymbolicZero):
                result.append(Zero(t.aval))
                continue
            want, got = get_aval(p).at_least_vspace(), get_aval(t)
            if want.shape != got.shape or want.dtype != got.dtype:
                raise TypeError(
                    "Custom JVP rule must produce primal and tangent outputs with corresponding "
                    f"shapes and dtypes. Expected {want.str_short(long=True)} (tangent type of "
                    f"{get_aval(p).str_short(long=True)}) but got {got.str_short(long=True)}."
                )
            result.append(Zero(want) if want.dtype == dtypes.float0 else t)
        return outs, result


def _instantiate_user(t: Any) -> Any:
    if type(t) is Zero and t.aval.dtype == dtypes.float0:
        return np.zeros(t.aval.shape, dtypes.float0)
    return instantiate(t)


# --- custom_vjp ----------------------------------------------------------------------------


def _lin_error() -> TypeError:
    return TypeError(
        "can't apply forward-mode autodiff (jvp) to a custom_vjp function. It has only a reverse "
        "rule; use custom_jvp to give a rule for both modes."
    )


def _lin_evaluate(primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
    raise _lin_error()


def _lin_abstract(*avals: Any, out_avals: Sequence[Any], **_: Any) -> list[Any]:
    return [a.at_least_vspace() for a in out_avals]


def _lin_transpose(
    primitive: Primitive, cts: Sequence[Any], args: Sequence[Any], params: dict
) -> list[Any]:
    n = params["num_res"]
    residuals, rest = args[:n], args[n:]
    if params["symbolic_zeros"]:
        cs = [SymbolicZero(c.aval) if type(c) is Zero else c for c in cts]
    else:
        cs = [_instantiate_user(c) for c in cts]
    outs = params["bwd"](residuals, cs)
    return [None] * n + [(o if is_undefined(a) else None) for a, o in zip(rest, outs, strict=True)]


def _lin_batch(
    primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
) -> Any:
    n, size = params["num_res"], axis.size
    args = [
        *args[:n],
        *[move_batch_axis(size, d, 0, t) for t, d in zip(args[n:], dims[n:], strict=True)],
    ]
    res_dims = list(dims[:n])
    bwd = params["bwd"]

    def batched_bwd(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        return _batched_bwd(bwd, axis, residuals, res_dims, cts, [0] * (len(args) - n))

    avals = [ShapedArray((size, *a.shape), a.dtype, a.weak_type) for a in params["out_avals"]]
    outs = custom_lin_p.bind(*args, **{**params, "bwd": batched_bwd, "out_avals": tuple(avals)})
    return outs, [0] * len(outs)


custom_lin_p = Primitive(
    "custom_lin",
    multiple_results=True,
    abstract=_lin_abstract,
    reference=absent("it stands for a tangent that only reverse mode can compute"),
    evaluate=_lin_evaluate,
    jvp=absent("it is already linear and only transposed"),
    transpose=_lin_transpose,
    batch=_lin_batch,
    forbidden=_lin_error,
)


def _custom_vjp_jvp(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict
) -> Any:
    _no_closed_over_tangents(params, tangents)
    n = params["num_consts"]
    primals, tangents = primals[n:], tangents[n:]
    perturbed = [type(t) is not Zero for t in tangents]
    outs, residuals = params["fwd"](primals, perturbed)
    avals = tuple(get_aval(o) for o in outs)
    touts = custom_lin_p.bind(
        *residuals,
        *map(instantiate, tangents),
        num_res=len(residuals),
        bwd=params["bwd"],
        out_avals=avals,
        symbolic_zeros=params["symbolic_zeros"],
    )
    touts = [
        Zero(a.at_least_vspace()) if a.at_least_vspace().dtype == dtypes.float0 else t
        for a, t in zip(avals, touts, strict=True)
    ]
    return outs, touts


def _batched_bwd(
    bwd: Callable,
    axis: Any,
    residuals: Sequence[Any],
    res_dims: Sequence[Any],
    cts: Sequence[Any],
    in_dims: Sequence[Any],
) -> list[Any]:
    """Run a bwd rule over the batch axis; cotangents of unbatched inputs are summed over it."""
    n = len(residuals)
    zeros = [isinstance(c, (Zero, SymbolicZero)) for c in cts]
    which: list[Any] = []

    def run(*xs: Any) -> list[Any]:
        it = iter(xs[n:])
        cs = [
            SymbolicZero(ShapedArray(c.aval.shape[1:], c.aval.dtype)) if z else next(it)
            for c, z in zip(cts, zeros, strict=True)
        ]
        outs = bwd(xs[:n], cs)
        which[:] = [o if type(o) is Zero else None for o in outs]
        return [o for o in outs if type(o) is not Zero]

    live = [c for c, z in zip(cts, zeros, strict=True) if not z]
    outs, dims = batch_flat(run, axis, [*residuals, *live], [*res_dims, *[0] * len(live)])
    it = iter(zip(outs, dims, strict=True))
    result: list[Any] = []
    for zero, d_in in zip(which, in_dims, strict=True):
        if zero is not None:
            aval = zero.aval
            shape = (
                aval.shape if d_in is None else (*aval.shape[:d_in], axis.size, *aval.shape[d_in:])
            )
            result.append(Zero(ShapedArray(shape, aval.dtype)))
            continue
        o, d = next(it)
        if d_in is not None:
            result.append(move_batch_axis(axis.size, d, d_in, o))
        else:
            result.append(moves.sum(move_batch_axis(axis.size, d, 0, o), 0))
    return result


def _custom_vjp_batch(
    primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
) -> Any:
    call, fwd, bwd = _run(params["call_jaxpr"]), params["fwd"], params["bwd"]
    n = params["num_consts"]
    inner_dims = list(dims[n:])
    res_dims: list[Any] = []

    def to_front(outs: Sequence[Any], ds: Sequence[Any]) -> list[Any]:
        return [move_batch_axis(axis.size, d, 0, o) for o, d in zip(outs, ds, strict=True)]

    def batched_call(*xs: Any) -> list[Any]:
        return to_front(*batch_flat(call, axis, xs, dims))

    def batched_fwd(primals: Sequence[Any], perturbed: Sequence[bool]) -> Any:
        split: list[int] = []

        def run(*xs: Any) -> list[Any]:
            outs, residuals = fwd(xs, perturbed)
            split[:] = [len(outs)]
            return [*outs, *residuals]

        outs, ds = batch_flat(run, axis, primals, inner_dims)
        k = split[0]
        res_dims[:] = ds[k:]
        return to_front(outs[:k], ds[:k]), outs[k:]

    def batched_bwd(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        return _batched_bwd(bwd, axis, residuals, res_dims, cts, inner_dims)

    new = {
        **params,
        "call_jaxpr": batched_call,
        "fwd": _Named(batched_fwd, fwd),
        "bwd": _Named(batched_bwd, bwd),
    }
    outs = custom_vjp_call_p.bind(*args, **new)
    return outs, [0] * len(outs)


custom_vjp_call_p = Primitive(
    "custom_vjp_call",
    multiple_results=True,
    abstract=_abstract,
    reference=_reference,
    evaluate=_evaluate,
    stage=_stage,
    jvp=_custom_vjp_jvp,
    transpose=_transpose,
    batch=_custom_vjp_batch,
    checkify=checkify_custom_vjp,
    effects=_effects,
    axis_names=_axis_names,
    params_text=_params_text("name", "bwd", "call_jaxpr", "fwd", "symbolic_zeros"),
    structure=_structure,
)


class custom_vjp:
    """A function with a custom reverse-mode rule.

    `defvjp(fwd, bwd)`: `fwd` takes the function's arguments and returns (out, residuals); `bwd`
    takes the `nondiff_argnums` arguments, the residuals and the output's cotangent and returns a
    tuple with one cotangent (or None for zero) per differentiable argument.
    """

    def __init__(
        self,
        fun: Callable,
        nondiff_argnums: Sequence[int] = (),
        nondiff_argnames: Sequence[str] = (),
    ):
        check_callable(fun)
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = _nondiff(fun, nondiff_argnums, nondiff_argnames)
        self.fwd: Callable | None = None
        self.bwd: Callable | None = None
        self.symbolic_zeros = False

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def defvjp(
        self,
        fwd: Callable,
        bwd: Callable,
        symbolic_zeros: bool = False,
        optimize_remat: bool = False,
    ) -> None:
        """Set the forward and backward rules."""
        check_callable(fwd)
        check_callable(bwd)
        self.fwd, self.bwd, self.symbolic_zeros = fwd, bwd, symbolic_zeros

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.fwd is None or self.bwd is None:
            raise AttributeError(
                f"No VJP defined for custom_vjp function {fun_name(self.fun)} using defvjp."
            )
        args = resolve_kwargs(self.fun, args, kwargs)
        n = len(args)
        nondiff = tuple(i % n if i < 0 else i for i in self.nondiff_argnums)
        if any(i >= n for i in nondiff):
            raise IndexError(
                f"nondiff_argnums {self.nondiff_argnums} are out of range for {n} arguments"
            )
        static = [args[i] for i in nondiff]
        for s in pytree.tree_leaves(static):
            if isinstance(s, Tracer):
                from ..core.errors import UnexpectedTracerError

                raise UnexpectedTracerError(
                    f"Found a traced value in a nondiff_argnums argument of {fun_name(self.fun)}. "
                    "For custom_vjp such arguments must not be traced; pass it as a "
                    "differentiable argument and return None as its cotangent."
                )
        dynamic = [a for i, a in enumerate(args) if i not in nondiff]
        for x in pytree.tree_leaves(dynamic):
            _check_jax_type(x, self.fun)

        def place(f: Callable) -> Callable:
            def run(*xs: Any) -> Any:
                it, fixed = iter(xs), dict(zip(nondiff, static, strict=True))
                return f(*[fixed[i] if i in fixed else next(it) for i in range(n)])

            return run

        leaves, in_tree = pytree.tree_flatten((tuple(dynamic), {}))
        flat = FlatFun(place(self.fun), in_tree)
        rules = _FlatVJP(
            self, static, place(self.fwd), in_tree, [get_aval(x) for x in leaves], flat
        )
        outs = custom_vjp_call_p.bind(
            *leaves,
            call_jaxpr=flat,
            fwd=_Named(rules.fwd, self.fwd),
            bwd=_Named(rules.bwd, self.bwd),
            symbolic_zeros=self.symbolic_zeros,
            name=fun_name(self.fun),
            num_consts=0,
            fun=self.fun,
        )
        tree = flat.out_tree if flat.out_tree is not None else rules.out_tree
        return pytree.tree_unflatten(tree, outs)


class _FlatVJP:
    """The user's fwd and bwd rules on flat lists, with their results checked."""

    def __init__(
        self,
        owner: custom_vjp,
        static: list[Any],
        fwd: Callable,
        in_tree: Any,
        avals: list[Any],
        flat: FlatFun,
    ):
        self.owner, self.static, self.user_fwd = owner, static, fwd
        self.in_tree, self.avals, self.flat = in_tree, avals, flat
        self.out_tree: Any = None
        self.res_tree: Any = None

    def fwd(self, primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list[Any], list[Any]]:
        owner = self.owner
        if owner.symbolic_zeros:
            primals = [CustomVJPPrimal(p, b) for p, b in zip(primals, perturbed, strict=True)]
            args, _ = _unflatten_objects(self.in_tree, primals)
        else:
            args, _ = pytree.tree_unflatten(self.in_tree, primals)
        out = self.user_fwd(*args)
        name = fun_name(owner.fun)
        if not isinstance(out, (tuple, list)) or len(out) != 2:
            rule = fun_name(owner.fwd)
            raise TypeError(
                f"Custom VJP fwd rule {rule} for function {name} must produce a pair (list or tuple "
                "of length two) where the first element represents the primal output (equal to "
                f"those of the custom_vjp-decorated function {name}) and the second element "
                "represents residuals (i.e. values stored from the forward pass for use on the "
                f"backward pass), but instead of a pair the fwd rule {rule} produced {out}."
            )
        outs, self.out_tree = pytree.tree_flatten(out[0])
        if self.flat.out_tree is not None and self.flat.out_tree != self.out_tree:
            raise TypeError(
                f"Custom VJP fwd rule {fun_name(owner.fwd)} for function {name} must produce a pair "
                "where the first element represents the primal output (equal in structure to the "
                f"output of {name}), but the structures are {self.out_tree} and {self.flat.out_tree}."
            )
        residuals, self.res_tree = pytree.tree_flatten(out[1])
        return outs, residuals

    def bwd(self, residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        owner = self.owner
        res = pytree.tree_unflatten(self.res_tree, residuals)
        ct = pytree.tree_unflatten(self.out_tree, cts)
        out = owner.bwd(*self.static, res, ct)  # type: ignore[misc]
        args, _ = pytree.tree_unflatten(self.in_tree, range(len(self.avals)))
        if isinstance(out, list) and len(out) == len(args):
            out = tuple(out)
        if not isinstance(out, tuple) or len(out) != len(args):
            raise TypeError(
                "Custom VJP bwd rule must produce an output with the same container (pytree) "
                "structure as the args tuple of the primal function, and in particular must "
                "produce a tuple of length equal to the number of arguments to the primal "
                f"function, but got bwd output structure {pytree.tree_structure(out)} for primal "
                f"input structure {pytree.tree_structure(args)}."
            )
        flat: list[Any] = []
        for o, a in zip(out, args, strict=True):
            flat += _match_cotangents(o, a, self.avals)
        result = []
        for i, (c, aval) in enumerate(zip(flat, self.avals, strict=True)):
            want = aval.at_least_vspace()
            if c is None or want.dtype == dtypes.float0 or isinstance(c, SymbolicZero):
                result.append(Zero(want))
                continue
            got = get_aval(c)
            if got.shape != want.shape:
                names = pytree.keystr(pytree.tree_flatten_with_path(args)[0][i][0])
                raise ValueError(
                    "Custom VJP bwd rule must produce an output with the same type as the args "
                    f"tuple of the primal function, but at output{names} the bwd rule produced an "
                    f"output of type {got.str_short(long=True)} corresponding to an input of type "
                    f"{aval.str_short(long=True)}, so the shapes do not match"
                )
            result.append(c)
        return result


def _unflatten_objects(tree: Any, leaves: Sequence[Any]) -> Any:
    return pytree.tree_unflatten(tree, leaves)


def _match_cotangents(out: Any, arg_indices: Any, avals: Sequence[Any]) -> list[Any]:
    """Leaves of a bwd result for one argument; None stands for zeros of a whole subtree."""
    want = pytree.tree_structure(arg_indices)
    if out is None:
        return [None] * want.num_leaves
    leaves, tree = pytree.tree_flatten(
        out, is_leaf=lambda x: x is None or isinstance(x, SymbolicZero)
    )
    if tree == want:
        return leaves
    try:
        return pytree.broadcast_prefix(out, arg_indices, is_leaf=lambda x: x is None)
    except ValueError:
        raise TypeError(
            "Custom VJP bwd rule must produce an output with the same container (pytree) structure "
            "as the args tuple of the primal function, and in particular must produce a tuple of "
            "length equal to the number of arguments to the primal function, but got bwd output "
            f"structure {tree} for primal input structure {want}."
        ) from None


def closure_convert(fun: Callable, *example_args: Any) -> tuple[Callable, list[Any]]:
    """Make the traced values that `fun` closes over explicit arguments.

    Returns (converted, hoisted): `converted(*args, *hoisted)` equals `fun(*args)`, and the
    hoisted values may be differentiated through a custom rule.
    """
    leaves, in_tree = pytree.tree_flatten((example_args, {}))
    flat = FlatFun(fun, in_tree)
    jaxpr, consts = trace_to_jaxpr(
        flat, [get_aval(x) for x in leaves], debug_info("closure_convert", fun)
    )
    hoist = [isinstance(c, Tracer) and dtypes.is_inexact(get_aval(c).dtype) for c in consts]
    hoisted = [c for c, h in zip(consts, hoist, strict=True) if h]
    rest = [c for c, h in zip(consts, hoist, strict=True) if not h]
    n, out_tree = len(hoisted), flat.out_tree

    def converted(*args_hconsts: Any) -> Any:
        args = args_hconsts[: len(args_hconsts) - n]
        extra = iter(args_hconsts[len(args_hconsts) - n :])
        known = iter(rest)
        ls, tree = pytree.tree_flatten((args, {}))
        if tree != in_tree:
            raise TypeError(
                f"the converted function takes arguments of structure {in_tree}, got {tree}"
            )
        values = [next(extra) if h else next(known) for h in hoist]
        return pytree.tree_unflatten(out_tree, eval_jaxpr(jaxpr, values, *ls))

    return converted, hoisted


__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_jvp",
    "custom_jvp_call_p",
    "custom_vjp",
    "custom_vjp_call_p",
    "custom_vjp_primal_tree_values",
    "fun_where",
    "state",
    "zero_from_primal",
]
