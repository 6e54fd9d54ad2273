"""Differentiation as users call it: grad, vjp, jvp, linearize, Jacobians, Hessians."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import dtypes, errors, pytree
from ..core.avals import get_aval
from ..core.rules import Zero, instantiate
from ..core.staging import trace_to_jaxpr
from ..core.tracebacks import boundary
from ..tree_util import Partial
from .api_util import FlatFun, check_callable, debug_info, fun_name, fun_where, wraps
from .fused import fuse
from .jvp import jvp_flat
from .linearize import Linearized, linearize_flat
from .transpose import backward_pass


def check_values(leaves: Sequence[Any]) -> None:
    for x in leaves:
        try:
            get_aval(x)
        except TypeError:
            raise TypeError(f"Argument '{x}' of type {type(x)} is not a valid JAX type.") from None


def _zero_tangent(aval: Any) -> Any:
    """The value of a symbolic zero, for the user: float0 arrays for integers."""
    if aval.dtype == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    return instantiate(Zero(aval))


def _instantiate(t: Any) -> Any:
    return _zero_tangent(t.aval) if type(t) is Zero else t


def select_args(
    args: tuple, argnums: int | Sequence[int], who: str
) -> tuple[tuple[int, ...], bool]:
    single = isinstance(argnums, (int, np.integer))
    nums = (int(argnums),) if single else tuple(argnums)  # type: ignore[arg-type]
    for n in nums:
        if -len(args) <= n < len(args):
            continue
        if n >= 0 and who in ("grad", "value_and_grad"):
            raise TypeError(
                f"differentiating with respect to argnums={argnums} requires at least "
                f"{max(nums) + 1} positional arguments to be passed by the caller, but got only "
                f"{len(args)} positional arguments."
            )
        raise ValueError(
            f"{who} with argnums={argnums}: positions must be at least -len(args) and less than "
            f"len(args), but got {n} for {len(args)} positional arguments"
        )
    return tuple(n % len(args) for n in nums), single


def check_input(name: str, holomorphic: bool, allow_int: bool, x: Any) -> None:
    dt = getattr(get_aval(x), "dtype", None)
    if holomorphic:
        if not dtypes.is_complex(dt):
            raise TypeError(
                f"{name} with holomorphic=True requires inputs with complex dtype, but got "
                f"{dtypes.dtype_name(dt)}."
            )
    if dtypes.is_extended(dt) or dtypes.is_integer(dt) or dtypes.is_bool(dt):
        if not allow_int:
            raise TypeError(
                f"{name} requires real- or complex-valued inputs (input dtype that is a sub-dtype "
                f"of np.inexact), but got {dtypes.dtype_name(dt)}. If you want to use Boolean- or "
                "integer-valued inputs, use vjp or set allow_int to True."
            )
    elif not dtypes.is_inexact(dt):
        raise TypeError(
            f"{name} requires numerical-valued inputs (input dtype that is a sub-dtype of np.bool_ "
            f"or np.number), but got {dtypes.dtype_name(dt)}."
        )


def check_output(name: str, holomorphic: bool, x: Any) -> None:
    dt = get_aval(x).dtype
    if dtypes.is_extended(dt):
        raise TypeError(f"{name} with output element type {dtypes.dtype_name(dt)}")
    if holomorphic:
        if not dtypes.is_complex(dt):
            raise TypeError(
                f"{name} with holomorphic=True requires outputs with complex dtype, but got "
                f"{dtypes.dtype_name(dt)}."
            )
    elif dtypes.is_complex(dt):
        raise TypeError(
            f"{name} requires real-valued outputs (output dtype that is a sub-dtype of "
            f"np.floating), but got {dtypes.dtype_name(dt)}. For holomorphic differentiation, pass "
            "holomorphic=True. For differentiation of non-holomorphic functions involving complex "
            "outputs, use jax.vjp directly."
        )
    elif not dtypes.is_float(dt):
        raise TypeError(
            f"{name} requires real-valued outputs (output dtype that is a sub-dtype of "
            f"np.floating), but got {dtypes.dtype_name(dt)}. For differentiation of functions with "
            "integer outputs, use jax.vjp directly."
        )


def _check_scalar(out_tree: Any, outs: Sequence[Any]) -> None:
    msg = "Gradient only defined for scalar-output functions. Output "
    if not outs or not pytree.treedef_is_leaf(out_tree):
        raise TypeError(f"{msg}was {pytree.tree_unflatten(out_tree, outs)}.")
    try:
        aval = get_aval(outs[0])
    except TypeError:
        raise TypeError(f"{msg}was {outs[0]!r}, of type {type(outs[0])}.") from None
    if aval.shape != ():
        raise TypeError(f"{msg}had shape: {aval.shape}.")


def _check_outputs_valid(f: Any, outs: Sequence[Any], traced_for: str) -> None:
    for o in outs:
        try:
            get_aval(o)
        except TypeError:
            raise TypeError(
                f"function {fun_name(f)} at {fun_where(f)} traced for {traced_for} returned a value "
                f"of type {type(o)}, which is not a valid JAX type"
            ) from None


class _Aux:
    """Auxiliary outputs of a differentiated function: they leave the trace as primal values."""


def _linearize(
    f: Callable[..., Any],
    in_tree: Any,
    leaves: Sequence[Any],
    active: Sequence[bool],
    has_aux: bool,
    who: str,
) -> tuple[list[Any], Any, Linearized, Any]:
    """(flat outputs, output tree, linear map, aux or None) of `f` at flat arguments."""
    flat = FlatFun(f, in_tree, has_aux, who)
    aux_leaves: list[Any] = []

    def run(*xs: Any) -> list[Any]:
        outs = flat(*xs)
        n = flat.out_tree.num_leaves
        _check_outputs_valid(f, outs[:n], who)
        aux_leaves[:] = outs[n:]
        return outs[:n]

    outs, lin = linearize_flat(run, leaves, active, debug_info(who, f, in_tree))
    aux = None
    if has_aux:
        aux = pytree.tree_unflatten(flat.aux_tree, [_lower_aux(a) for a in aux_leaves])
    return outs, flat.out_tree, lin, aux


def _lower_aux(x: Any) -> Any:
    """Auxiliary values computed from differentiated ones keep only their primal value."""
    from .jvp import JVPTracer

    while type(x) is JVPTracer and not x._trace.alive:
        x = x.primal
    return x


def value_and_grad(
    fun: Callable,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable[..., tuple[Any, Any]]:
    """A function that evaluates both `fun` and its gradient.

    `fun` must return a real scalar (with `has_aux`, a pair of it and auxiliary data); the gradient
    has the structure of the argument (or of the tuple of arguments) that `argnums` names. Raises
    TypeError for outputs that are not scalar and inputs that are not inexact (see `allow_int`,
    `holomorphic`).
    """
    check_callable(fun)
    f = _value_and_grad("value_and_grad", fun, argnums, has_aux, holomorphic, allow_int)
    return fuse(fun, f, ("value_and_grad", _hashable(argnums), has_aux, holomorphic, allow_int))


def _value_and_grad(
    who: str, fun: Callable, argnums: Any, has_aux: bool, holomorphic: bool, allow_int: bool
) -> Callable[..., tuple[Any, Any]]:
    @wraps(fun)
    def value_and_grad_f(*args: Any, **kwargs: Any) -> Any:
        nums, single = select_args(args, argnums, who)
        leaves, in_tree = pytree.tree_flatten((args, kwargs))
        per_arg = [pytree.tree_flatten(a) for a in args]
        active = [False] * len(leaves)
        starts, position = [], 0
        for i, (ls, _) in enumerate(per_arg):
            starts.append(position)
            if i in nums:
                active[position : position + len(ls)] = [True] * len(ls)
            position += len(ls)
        for x, a in zip(leaves, active, strict=True):
            if a:
                check_values([x])
                check_input(who, holomorphic, allow_int, x)
        outs, out_tree, lin, aux = _linearize(fun, in_tree, leaves, active, has_aux, who)
        _check_scalar(out_tree, outs)
        check_output(who, holomorphic, outs[0])
        aval = get_aval(outs[0])
        one = _one_like(aval)
        cts = iter(lin.transpose([one]))
        by_leaf = [next(cts) if a else None for a in active]
        grads = []
        for i in nums:
            ls, tree = per_arg[i]
            got = by_leaf[starts[i] : starts[i] + len(ls)]
            grads.append(pytree.tree_unflatten(tree, [_instantiate(g) for g in got]))
        value = outs[0]
        g = grads[0] if single else tuple(grads)
        return ((value, aux), g) if has_aux else (value, g)

    return value_and_grad_f


def _hashable(argnums: Any) -> Any:
    return tuple(argnums) if isinstance(argnums, list) else argnums


def _one_like(aval: Any) -> Any:
    from ..core.eager import from_numpy

    return from_numpy(np.ones((), aval.dtype), aval)


def grad(
    fun: Callable,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
    reduce_axes: Sequence[Any] = (),
) -> Callable:
    """A function that evaluates the gradient of `fun`.

    See `value_and_grad`, which also returns the value. With `has_aux`, returns (gradient, aux).
    """
    check_callable(fun)
    f = _value_and_grad("grad", fun, argnums, has_aux, holomorphic, allow_int)

    @wraps(fun)
    def grad_f(*args: Any, **kwargs: Any) -> Any:
        value, g = f(*args, **kwargs)
        return (g, value[1]) if has_aux else g

    return fuse(fun, grad_f, ("grad", _hashable(argnums), has_aux, holomorphic, allow_int))


@boundary
def jvp(fun: Callable, primals: Any, tangents: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """Values of `fun` at `primals` and its directional derivatives along `tangents`.

    Both are tuples or lists, of one structure, shapes and tangent dtypes (float0 for integers).
    Returns (primals out, tangents out), with `has_aux` also the auxiliary data. Raises TypeError
    or ValueError where primals and tangents do not match.
    """
    check_callable(fun)
    if not isinstance(primals, (tuple, list)) or not isinstance(tangents, (tuple, list)):
        raise TypeError(
            "primal and tangent arguments to jax.jvp must be tuples or lists; found "
            f"{type(primals).__name__} and {type(tangents).__name__}."
        )
    ps, tree = pytree.tree_flatten(primals)
    ts, t_tree = pytree.tree_flatten(tangents)
    if tree != t_tree:
        raise TypeError(
            "primal and tangent arguments to jax.jvp must have the same tree structure; primals "
            f"have tree structure {tree} whereas tangents have tree structure {t_tree}."
        )
    check_values([*ps, *ts])
    for p, t in zip(ps, ts, strict=True):
        pa, ta = get_aval(p), get_aval(t)
        want = pa.at_least_vspace().dtype
        if ta.dtype != want:
            raise TypeError(
                "primal and tangent arguments to jax.jvp do not match; dtypes must be equal, or "
                "in case of int/bool primal dtype the tangent dtype must be float0. Got primal "
                f"dtype {dtypes.dtype_name(pa.dtype)} and so expected tangent dtype "
                f"{dtypes.dtype_name(want)}, but got tangent dtype {dtypes.dtype_name(ta.dtype)} "
                "instead."
            )
        if pa.shape != ta.shape:
            raise ValueError(
                "jvp called with different primal and tangent shapes; Got primal shape "
                f"{pa.shape} and tangent shape as {ta.shape}"
            )
    args_tree = pytree.tree_structure((tuple(primals), {}))
    flat = FlatFun(fun, args_tree, has_aux)
    aux_leaves: list[Any] = []

    def run(*xs: Any) -> list[Any]:
        outs = flat(*xs)
        n = flat.out_tree.num_leaves
        _check_outputs_valid(fun, outs[:n], "jvp")
        aux_leaves[:] = outs[n:]
        return outs[:n]

    ts = [
        Zero.of(p) if get_aval(t).dtype == dtypes.float0 else t for p, t in zip(ps, ts, strict=True)
    ]
    outs, touts = jvp_flat(run, ps, ts)
    out = (
        pytree.tree_unflatten(flat.out_tree, outs),
        pytree.tree_unflatten(flat.out_tree, [_instantiate(t) for t in touts]),
    )
    if has_aux:
        return (*out, pytree.tree_unflatten(flat.aux_tree, [_lower_aux(a) for a in aux_leaves]))
    return out


class VJP:
    """The pullback that `vjp` returns: cotangents of the outputs to cotangents of the arguments.

    It is a pytree whose leaves are the residuals, so that transformed functions may return it.
    """

    def __init__(
        self,
        lin: Linearized,
        in_tree: Any,
        out_tree: Any,
        active: Sequence[bool],
        in_avals: Any,
        fun: Any,
    ):
        self._lin, self.in_tree, self.out_tree = lin, in_tree, out_tree
        self._active, self._in_avals, self._fun = active, in_avals, fun

    def __call__(self, ct: Any) -> Any:
        leaves, tree = pytree.tree_flatten(ct)
        if tree != self.out_tree:
            raise ValueError(
                "unexpected tree structure.\n\nThe argument to a VJP function returned by `jax.vjp` "
                "must match the pytree structure of the differentiated function "
                f"{fun_name(self._fun)} at {fun_where(self._fun)}.\n\nExpected {self.out_tree}, got "
                f"{tree}."
            )
        for c, primal in zip(leaves, self._lin.primal_avals, strict=True):
            check_values([c])
            aval, want = get_aval(c), primal.at_least_vspace()
            # of an output that has no derivative, any cotangent is ignored
            if aval.shape != want.shape or want.dtype not in (aval.dtype, dtypes.float0):
                raise ValueError(
                    "unexpected JAX type (e.g. shape/dtype) for argument to VJP function: got "
                    f"{aval.str_short(long=True)}, but expected {want.str_short(long=True)} "
                    "because the corresponding output of the differentiated function had JAX type "
                    f"{primal.str_short(long=True)}"
                )
        cts = iter(self._lin.transpose(leaves))
        out = [
            _instantiate(next(cts)) if a else _zero_tangent(v.at_least_vspace())
            for a, v in zip(self._active, self._in_avals, strict=True)
        ]
        return pytree.tree_unflatten(self.in_tree, out)

    def __repr__(self) -> str:
        return f"VJP(in_tree={self.in_tree}, out_tree={self.out_tree})"

    def _at(self, residuals: list[Any]) -> VJP:
        return VJP(
            self._lin.at(residuals),
            self.in_tree,
            self.out_tree,
            self._active,
            self._in_avals,
            self._fun,
        )


class _Map:
    """A linear function without its residuals; equal only to itself."""

    __slots__ = ("call", "name")

    def __init__(self, name: str, call: Callable[..., Any]):
        self.name, self.call = name, call

    def __call__(self, residuals: list[Any], *args: Any) -> Any:
        return self.call(residuals, *args)

    def __repr__(self) -> str:
        return self.name


pytree.register_pytree_node(
    VJP,
    lambda v: (tuple(v._lin.residuals), _Map("VJP", v._at)),
    lambda make, residuals: make(list(residuals)),
)


@boundary
def vjp(fun: Callable, *primals: Any, has_aux: bool = False, reduce_axes: Any = ()) -> Any:
    """Values of `fun` at `primals`, and the function from output to input cotangents.

    Returns (primals out, vjp function), with `has_aux` also the auxiliary data. The vjp function
    takes a cotangent of the output's structure, shapes and dtypes and returns a tuple with one
    entry for each primal (float0 for integers).
    """
    check_callable(fun)
    leaves, in_tree = pytree.tree_flatten(primals)
    check_values(leaves)
    avals = [get_aval(x) for x in leaves]
    active = [a.at_least_vspace().dtype != dtypes.float0 for a in avals]
    args_tree = pytree.tree_structure((primals, {}))
    outs, out_tree, lin, aux = _linearize(fun, args_tree, leaves, active, has_aux, "vjp")
    pull = VJP(lin, in_tree, out_tree, active, avals, fun)
    out = pytree.tree_unflatten(out_tree, outs)
    return (out, pull, aux) if has_aux else (out, pull)


@boundary
def linearize(fun: Callable, *primals: Any, has_aux: bool = False) -> Any:
    """Values of `fun` at `primals`, and its linear map of tangents at that point.

    The map evaluates only what depends on the tangents; it takes tangents of the primals'
    structure, shapes and dtypes. With `has_aux`, also returns the auxiliary data.
    """
    check_callable(fun)
    leaves, in_tree = pytree.tree_flatten(primals)
    check_values(leaves)
    avals = [get_aval(x) for x in leaves]
    active = [a.at_least_vspace().dtype != dtypes.float0 for a in avals]
    args_tree = pytree.tree_structure((primals, {}))
    outs, out_tree, lin, aux = _linearize(fun, args_tree, leaves, active, has_aux, "linearize")

    def f_jvp(residuals: list[Any], *tangents: Any) -> Any:
        ts, tree = pytree.tree_flatten(tangents)
        if tree != in_tree:
            raise TypeError(f"expected {in_tree}, got {tree}")
        for p, t in zip(avals, ts, strict=True):
            want, got = p.at_least_vspace(), get_aval(t)
            if want.shape != got.shape or want.dtype != got.dtype:
                raise ValueError(
                    "linearized function called on tangent values inconsistent with the original "
                    f"primal values:\nGot tangent aval {got} for primal aval {p} but expected {want}."
                )
        touts = lin.at(residuals).apply([t for t, a in zip(ts, active, strict=True) if a])
        return pytree.tree_unflatten(out_tree, [_instantiate(t) for t in touts])

    out = pytree.tree_unflatten(out_tree, outs)
    linear = Partial(_Map("f_jvp", f_jvp), lin.residuals)
    return (out, linear, aux) if has_aux else (out, linear)


@boundary
def linear_transpose(fun: Callable, *primals: Any, reduce_axes: Any = ()) -> Callable:
    """The transpose of a function that is promised to be linear.

    `primals` are arrays or `ShapeDtypeStruct`s of the arguments; the result maps a cotangent of
    the output to a tuple of cotangents. Raises NotImplementedError where a primitive has no
    transpose, TypeError for dtypes that do not fit.
    """
    check_callable(fun)
    from .abstract import aval_of_struct

    leaves, in_tree = pytree.tree_flatten(primals)
    avals: list[Any] = [aval_of_struct(x) for x in leaves]
    flat = FlatFun(fun, pytree.tree_structure((primals, {})))
    jaxpr, consts = trace_to_jaxpr(flat, avals, debug_info("linear_transpose", fun))
    out_tree = flat.out_tree
    out_avals: list[Any] = [a.aval for a in jaxpr.outvars]
    for a in (*avals, *out_avals):
        if dtypes.is_bool(a.dtype) or dtypes.is_extended(a.dtype):
            raise TypeError(
                "linear_transpose only supports [float or complex -> float or complex], and "
                f"integer -> integer functions, but got {dtypes.dtype_name(a.dtype)}."
            )
    ins, outs = ({dtypes.is_inexact(a.dtype) for a in avals_} for avals_ in (avals, out_avals))
    if len(ins | outs) > 1:
        names = [[dtypes.dtype_name(a.dtype) for a in avals_] for avals_ in (avals, out_avals)]
        raise TypeError(
            "linear_transpose only supports [float or complex] -> [float or complex], and integer "
            f"-> integer functions, but got {names[0]} -> {names[1]}."
        )

    def transposed(constants: list[Any], ct: Any) -> tuple:
        cts, tree = pytree.tree_flatten(ct)
        if tree != out_tree:
            raise TypeError(
                f"cotangent tree does not match function output, expected {out_tree} but got {tree}"
            )
        for c, want in zip(cts, out_avals, strict=True):
            got = get_aval(c)
            if got.shape != want.shape or got.dtype != want.dtype:
                raise TypeError(
                    f"cotangent type does not match function output, expected {want} but got {got}"
                )
        outs = backward_pass(jaxpr, constants, [True] * len(avals), None, cts)
        return pytree.tree_unflatten(in_tree, [_instantiate(o) for o in outs])

    return Partial(_Map("transposed", transposed), consts)


__all__ = [
    "errors",
    "grad",
    "jvp",
    "linear_transpose",
    "linearize",
    "value_and_grad",
    "vjp",
]
