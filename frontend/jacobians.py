"""Jacobians and Hessians: the columns or rows of a derivative, all at once.

The standard basis of the inputs (or outputs) is pushed through the derivative by vmap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from .core import dtypes, pytree
from .core.avals import get_aval
from .core.primitive import registry
from .lax import reshape, split
from .numpy.creation import zeros
from .numpy.dtype_functions import result_type
from .numpy.matrices import eye
from .transforms.api_util import check_callable, wraps
from .transforms.autodiff import check_input, check_output, check_values, jvp, select_args, vjp
from .transforms.batching import Axis, batch_flat, move_batch_axis


def _pieces(x: Any, axis: int, leaves: Sequence[Any]) -> list[Any]:
    """Split an axis into a piece for each leaf, of the leaf's shape."""
    axis %= x.ndim
    shapes = [get_aval(v).shape for v in leaves]  # type: ignore[attr-defined]
    sizes = [get_aval(v).size for v in leaves]  # type: ignore[attr-defined]
    out = []
    for part, shape in zip(split(x, sizes, axis), shapes, strict=True):
        want = (*x.shape[:axis], *shape, *x.shape[axis + 1 :])
        out.append(part if part.shape == want else reshape(part, want))
    return out


def _basis(leaves: Sequence[Any]) -> tuple[list[Any], int]:
    """For each leaf, an array (n, *shape) of its part of the standard basis of all of them."""
    avals = [get_aval(x) for x in leaves]
    n = sum(a.size for a in avals)  # type: ignore[attr-defined]
    vectors = eye(n, dtype=result_type(*leaves) if leaves else None)
    convert = registry["convert_element_type"]
    return [
        convert.bind(p, new_dtype=a.dtype, weak_type=a.weak_type, sharding=None)  # type: ignore[attr-defined]
        for p, a in zip(_pieces(vectors, 1, leaves), avals, strict=True)
    ], n


def _of_leaves(
    fun: Callable, args: tuple, kwargs: dict, nums: Sequence[int], single: bool, tree: Any
) -> Callable[..., Any]:
    """`fun` as a function of the leaves of the arguments that are differentiated."""

    def f(*leaves: Any) -> Any:
        new = pytree.tree_unflatten(tree, leaves)
        full = list(args)
        for i, v in zip(nums, [new] if single else new, strict=True):
            full[i] = v
        return fun(*full, **kwargs)

    return f


def jacfwd(
    fun: Callable,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable:
    """The Jacobian of `fun`, column by column in forward mode.

    Returns a pytree of the output's structure whose leaves are pytrees of the argument's
    structure; a leaf has the output's shape followed by the input's. With `has_aux`, returns
    (Jacobian, aux). Raises TypeError for inputs that are not real (complex with `holomorphic`).
    """
    check_callable(fun)

    @wraps(fun)
    def jac(*args: Any, **kwargs: Any) -> Any:
        nums, single = select_args(args, argnums, "jacfwd")
        picked = [args[i] for i in nums]
        leaves, tree = pytree.tree_flatten(picked[0] if single else tuple(picked))
        for x in leaves:
            check_values([x])
            _check_input(holomorphic, x)
        of_leaves = _of_leaves(fun, args, kwargs, nums, single, tree)
        basis, n = _basis(leaves)
        out_tree: Any = None
        aux: Any = None
        out_dtypes: list[Any] = []

        def push(*tangents: Any) -> list[Any]:
            nonlocal out_tree, aux
            result = jvp(of_leaves, tuple(leaves), tangents, has_aux=has_aux)
            values = pytree.tree_leaves(result[0])
            for p in values:
                _check_output(holomorphic, p)
            out_dtypes[:] = [get_aval(p).dtype for p in values]  # type: ignore[attr-defined]
            outs, out_tree = pytree.tree_flatten(result[1])
            if has_aux:
                aux = result[2]
            return outs

        outs, dims = batch_flat(push, Axis(n), basis, [0] * len(basis))
        columns = [move_batch_axis(n, d, _last(o, d), o) for o, d in zip(outs, dims, strict=True)]
        columns = [_number_zeros(c, d) for c, d in zip(columns, out_dtypes, strict=True)]
        parts = [pytree.tree_unflatten(tree, _pieces(c, -1, leaves)) for c in columns]
        result = pytree.tree_unflatten(out_tree, parts)
        return (result, aux) if has_aux else result

    return jac


def _number_zeros(x: Any, dtype: Any) -> Any:
    """Derivatives of integers as zeros of their dtype."""
    aval: Any = get_aval(x)
    return zeros(aval.shape, dtype) if aval.dtype == dtypes.float0 else x


def _last(x: Any, dim: int | None) -> int:
    return len(get_aval(x).shape) - (dim is not None)  # type: ignore[attr-defined]


def _check_input(holomorphic: bool, x: Any) -> None:
    dt = get_aval(x).dtype  # type: ignore[attr-defined]
    if holomorphic:
        if not dtypes.is_complex(dt):
            raise TypeError(
                "jacfwd with holomorphic=True requires inputs with complex dtype, but got "
                f"{dtypes.dtype_name(dt)}."
            )
    elif not dtypes.is_float(dt):
        raise TypeError(
            "jacfwd requires real-valued inputs (input dtype that is a sub-dtype of np.floating), "
            f"but got {dtypes.dtype_name(dt)}. For holomorphic differentiation, pass "
            "holomorphic=True. For differentiation of non-holomorphic functions involving complex "
            "inputs or integer inputs, use jax.jvp directly."
        )


def _check_output(holomorphic: bool, x: Any) -> None:
    dt = get_aval(x).dtype  # type: ignore[attr-defined]
    if holomorphic and not dtypes.is_complex(dt):
        raise TypeError(
            "jacfwd with holomorphic=True requires outputs with complex dtype, but got "
            f"{dtypes.dtype_name(dt)}."
        )


def jacrev(
    fun: Callable,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
    allow_int: bool = False,
) -> Callable:
    """The Jacobian of `fun`, row by row in reverse mode.

    The result's structure is that of `jacfwd`. With `allow_int`, the derivatives for integer inputs
    are zeros of their dtype.
    """
    check_callable(fun)

    @wraps(fun)
    def jac(*args: Any, **kwargs: Any) -> Any:
        nums, single = select_args(args, argnums, "jacrev")
        picked = [args[i] for i in nums]
        leaves, tree = pytree.tree_flatten(picked[0] if single else tuple(picked))
        for x in leaves:
            check_values([x])
            check_input("jacrev", holomorphic, allow_int, x)
        of_leaves = _of_leaves(fun, args, kwargs, nums, single, tree)
        out, pull, *aux = vjp(of_leaves, *leaves, has_aux=has_aux)
        out_leaves, out_tree = pytree.tree_flatten(out)
        for o in out_leaves:
            check_output("jacrev", holomorphic, o)
        basis, n = _basis(out_leaves)

        def pull_flat(*cts: Any) -> list[Any]:
            return list(pull(pytree.tree_unflatten(out_tree, cts)))

        rows, dims = batch_flat(pull_flat, Axis(n), basis, [0] * len(basis))
        per_input = [
            _pieces(
                _number_zeros(move_batch_axis(n, d, 0, r), get_aval(x).dtype),  # type: ignore[attr-defined]
                0,
                out_leaves,
            )
            for r, d, x in zip(rows, dims, leaves, strict=True)
        ]
        jacobian = pytree.tree_unflatten(
            out_tree,
            [
                pytree.tree_unflatten(tree, [parts[k] for parts in per_input])
                for k in range(len(out_leaves))
            ],
        )
        return (jacobian, aux[0]) if has_aux else jacobian

    return jac


def hessian(
    fun: Callable,
    argnums: int | Sequence[int] = 0,
    has_aux: bool = False,
    holomorphic: bool = False,
) -> Callable:
    """The Hessian of `fun`: `jacfwd` of `jacrev`."""
    return jacfwd(
        jacrev(fun, argnums, has_aux=has_aux, holomorphic=holomorphic),
        argnums,
        has_aux=has_aux,
        holomorphic=holomorphic,
    )
