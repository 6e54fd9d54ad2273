"""Reductions and contractions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import dtypes, pytree
from ..core.avals import ShapedArray, get_aval
from ..core.eager import to_numpy
from ..core.jaxpr import ClosedJaxpr, Literal
from ..core.staging import trace_to_closed
from ..core.trace import Tracer
from ..primitives.dot import dot_general_p
from ..primitives.reductions import (
    argmax_p,
    argmin_p,
    limits,
    reduce_and_p,
    reduce_max_p,
    reduce_min_p,
    reduce_or_p,
    reduce_p,
    reduce_prod_p,
    reduce_sum_p,
    reduce_xor_p,
)
from ..transforms.eager_functions import eager_function
from .conversion import convert_weakly
from .options import check_precision
from .structure import indices, shape_of


@eager_function
def reduce_sum(operand: Any, axes: Sequence[int], *, out_sharding: Any = None) -> Any:
    """Sum over axes. Raises ValueError for axes that do not exist or are repeated."""
    return reduce_sum_p.bind(operand, axes=indices(axes), out_sharding=None)


@eager_function
def reduce_prod(operand: Any, axes: Sequence[int]) -> Any:
    """Product over axes."""
    return reduce_prod_p.bind(operand, axes=indices(axes))


@eager_function
def reduce_max(operand: Any, axes: Sequence[int]) -> Any:
    """Maximum over axes; of no elements: the least value of the dtype."""
    return reduce_max_p.bind(operand, axes=indices(axes))


@eager_function
def reduce_min(operand: Any, axes: Sequence[int]) -> Any:
    """Minimum over axes; of no elements: the greatest value of the dtype."""
    return reduce_min_p.bind(operand, axes=indices(axes))


@eager_function
def reduce_and(operand: Any, axes: Sequence[int]) -> Any:
    """Bitwise AND over axes of integers or booleans."""
    return reduce_and_p.bind(operand, axes=indices(axes))


@eager_function
def reduce_or(operand: Any, axes: Sequence[int]) -> Any:
    """Bitwise OR over axes of integers or booleans."""
    return reduce_or_p.bind(operand, axes=indices(axes))


@eager_function
def reduce_xor(operand: Any, axes: Sequence[int]) -> Any:
    """Bitwise XOR over axes of integers or booleans."""
    return reduce_xor_p.bind(operand, axes=indices(axes))


@eager_function
def argmax(operand: Any, axis: int, index_dtype: Any) -> Any:
    """Index of the first maximum (or NaN) along an axis.

    Raises ValueError for an axis that does not exist or is empty, TypeError for a wrong dtype.
    """
    return _arg(argmax_p, operand, axis, index_dtype)


@eager_function
def argmin(operand: Any, axis: int, index_dtype: Any) -> Any:
    """Index of the first minimum (or NaN) along an axis."""
    return _arg(argmin_p, operand, axis, index_dtype)


def _arg(primitive: Any, operand: Any, axis: int, index_dtype: Any) -> Any:
    if index_dtype is None:
        raise ValueError("dtype must be specified.")
    dt = dtypes.check_user_dtype(index_dtype, "index_dtype")
    return primitive.bind(operand, axes=(operator.index(axis),), index_dtype=dt)


# --- generic reduce ------------------------------------------------------------------------

_monoids: dict[str, tuple[Any, Callable[[Any], Any]]] = {
    "add": (reduce_sum_p, lambda d: 0),
    "mul": (reduce_prod_p, lambda d: 1),
    "max": (reduce_max_p, lambda d: limits(d)[0]),
    "min": (reduce_min_p, lambda d: limits(d)[1]),
    "and": (reduce_and_p, lambda d: True if dtypes.is_bool(d) else ~np.zeros((), d)),
    "or": (reduce_or_p, lambda d: 0),
    "xor": (reduce_xor_p, lambda d: 0),
}


def _monoid(jaxpr: ClosedJaxpr, init: Any, dtype: Any) -> Any:
    """The reduction primitive that computes this reduction, if there is one.

    The computation must be one equation on both arguments, and the initial value its neutral one.
    """
    eqns, (out,) = jaxpr.jaxpr.eqns, jaxpr.jaxpr.outvars
    if len(eqns) != 1 or isinstance(init, Tracer) or dtypes.is_extended(dtype):
        return None
    (eqn,) = eqns
    found = _monoids.get(eqn.primitive.name)
    if found is None or eqn.outvars != [out] or isinstance(out, Literal):
        return None
    if eqn.invars not in (jaxpr.jaxpr.invars, jaxpr.jaxpr.invars[::-1]):
        return None
    primitive, neutral = found
    same = to_numpy(init) == np.asarray(neutral(dtype)).astype(dtype)
    return primitive if bool(same) else None


def reduce(
    operands: Any,
    init_values: Any,
    computation: Callable[[Any, Any], Any],
    dimensions: Sequence[int],
    out_sharding: Any = None,
) -> Any:
    """Reduce pytrees of arrays of one shape over axes with any associative function of scalars.

    `init_values` is a pytree of the same structure of scalars neutral to `computation`, which may
    be applied in any order. Raises ValueError for other structures or shapes, TypeError where the
    computation returns other dtypes.
    """
    flat, tree = pytree.tree_flatten(operands)
    inits, init_tree = pytree.tree_flatten(init_values)
    if tree != init_tree:
        raise ValueError(
            f"Operands must have the same tree structure as init_values: {tree} vs. {init_tree}"
        )
    if not flat:
        raise ValueError("reduce requires at least one operand")
    avals: list[Any] = [get_aval(x) for x in flat]
    for init in inits:
        if shape_of(init):
            raise ValueError(
                f"reduce found non-scalar initial value: {[shape_of(i) for i in inits]}"
            )
    dims = indices(dimensions)
    n = len(flat)

    def scalar(*args: Any) -> list[Any]:
        out = computation(
            pytree.tree_unflatten(tree, args[:n]), pytree.tree_unflatten(tree, args[n:])
        )
        leaves, out_tree = pytree.tree_flatten(out)
        if out_tree != tree:
            raise ValueError(
                f"reduce: the computation returned the tree structure {out_tree}, "
                f"operands have {tree}"
            )
        return leaves

    element = [ShapedArray((), a.dtype, a.weak_type) for a in avals]
    inits = [convert_weakly(i, a.dtype, a.weak_type) for i, a in zip(inits, avals, strict=True)]
    jaxpr = trace_to_closed(scalar, element * 2)
    if any(isinstance(c, Tracer) for c in jaxpr.consts):
        raise NotImplementedError("Reduction computations can't close over traced values.")
    if n == 1:
        primitive = _monoid(jaxpr, inits[0], avals[0].dtype)
        if primitive is not None:
            more = {"out_sharding": None} if primitive is reduce_sum_p else {}
            return pytree.tree_unflatten(tree, [primitive.bind(flat[0], axes=dims, **more)])
    out = reduce_p.bind(*flat, *inits, computation=computation, jaxpr=jaxpr, dimensions=dims)
    return pytree.tree_unflatten(tree, out)


# --- contraction ---------------------------------------------------------------------------


def _axes(v: Any) -> tuple[int, ...]:
    return (operator.index(v),) if isinstance(v, (int, np.integer)) else indices(v)


def _element_type(t: Any) -> Any:
    return None if t is None else dtypes.check_user_dtype(t, "preferred_element_type")


@eager_function
def dot_general(
    lhs: Any,
    rhs: Any,
    dimension_numbers: Any,
    precision: Any = None,
    preferred_element_type: Any = None,
    *,
    out_sharding: Any = None,
) -> Any:
    """Sum of products over contracting axes, for each index of the batch axes.

    `dimension_numbers` is `((lhs_contracting, rhs_contracting), (lhs_batch, rhs_batch))`. The
    result's axes are the batch axes, the other axes of `lhs`, the other axes of `rhs`; its dtype
    is `preferred_element_type` if given. Raises TypeError where axes or sizes do not fit.
    """
    (lc, rc), (lb, rb) = dimension_numbers
    return dot_general_p.bind(
        lhs,
        rhs,
        dimension_numbers=((_axes(lc), _axes(rc)), (_axes(lb), _axes(rb))),
        precision=check_precision(precision),
        preferred_element_type=_element_type(preferred_element_type),
        out_sharding=None,
    )


@eager_function
def dot(
    lhs: Any,
    rhs: Any,
    *,
    dimension_numbers: Any = None,
    precision: Any = None,
    preferred_element_type: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Matrix and vector products, or any contraction if `dimension_numbers` are given.

    Raises ValueError for operands that are not matrices or vectors that fit.
    """
    if dimension_numbers is None:
        a, b = shape_of(lhs), shape_of(rhs)
        if not (1 <= len(a) <= 2 and 1 <= len(b) <= 2 and a[-1] == b[0]):
            raise ValueError(
                "jax.lax.dot: dimension_numbers must be specified when not performing simple "
                "un-batched matrix-matrix, matrix-vector, or vector-vector products; got "
                f"lhs_shape={a} rhs_shape={b}"
            )
        return dot_general_p.bind(
            lhs,
            rhs,
            dimension_numbers=(((len(a) - 1,), (0,)), ((), ())),
            precision=check_precision(precision),
            preferred_element_type=_element_type(preferred_element_type),
            out_sharding=None,
        )
    return dot_general(lhs, rhs, dimension_numbers, precision, preferred_element_type)


@eager_function
def batch_matmul(lhs: Any, rhs: Any, precision: Any = None) -> Any:
    """Matrix products of the last two axes for each index of the leading ones, which are equal."""
    a, b = len(shape_of(lhs)), len(shape_of(rhs))
    if min(a, b) < 2:
        raise ValueError(f"Arguments to batch_matmul must be at least 2D, got {a}, {b}")
    if a != b:
        raise ValueError(f"Arguments to batch_matmul must have same ndim, got {a}, {b}")
    batch = tuple(range(a - 2))
    return dot_general(lhs, rhs, (((a - 1,), (a - 2,)), (batch, batch)), precision=precision)


__all__ = [
    "argmax",
    "argmin",
    "batch_matmul",
    "dot",
    "dot_general",
    "reduce",
    "reduce_and",
    "reduce_max",
    "reduce_min",
    "reduce_or",
    "reduce_prod",
    "reduce_sum",
    "reduce_xor",
]
