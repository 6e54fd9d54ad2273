"""Shapes without values: ShapeDtypeStruct, eval_shape, make_jaxpr."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ..core import dtypes, pytree
from ..core.avals import ShapedArray, aval_of_type, get_aval
from ..core.trace import extend_axis_env
from ..core.tracebacks import boundary
from .api_util import as_index_tuple, check_callable, wraps
from .jit import Call, JitInfo, make_closed_jaxpr


class ShapeDtypeStruct:
    """Shape and dtype of an array that need not exist."""

    __slots__ = ("dtype", "shape", "sharding", "weak_type")

    def __init__(
        self,
        shape: Sequence[int],
        dtype: Any,
        *,
        sharding: Any = None,
        weak_type: bool = False,
        vma: Any = None,
    ):
        if dtype is None:
            raise ValueError("ShapeDtypeStruct: dtype must be specified.")
        self.shape = tuple(shape)
        self.dtype = dtype if dtypes.is_extended(dtype) else np.dtype(dtype)
        self.sharding, self.weak_type = sharding, weak_type

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return int(np.prod(self.shape, dtype=np.int64))

    def __len__(self) -> int:
        if not self.shape:
            raise TypeError("len() of unsized object")
        return self.shape[0]

    def __repr__(self) -> str:
        weak = ", weak_type=True" if self.weak_type else ""
        return f"ShapeDtypeStruct(shape={self.shape}, dtype={dtypes.dtype_name(self.dtype)}{weak})"

    def update(self, **changes: Any) -> ShapeDtypeStruct:
        """A copy with some attributes replaced."""
        v = {k: changes.get(k, getattr(self, k)) for k in self.__slots__}
        return ShapeDtypeStruct(
            v["shape"], v["dtype"], sharding=v["sharding"], weak_type=v["weak_type"]
        )

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ShapeDtypeStruct) and (
            (self.shape, self.dtype, self.weak_type) == (other.shape, other.dtype, other.weak_type)
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype, self.weak_type))


def aval_of_struct(x: Any) -> ShapedArray:
    """The aval of a value, or of anything that has `shape` and `dtype`."""
    if type(x) in aval_of_type:
        return get_aval(x)
    if hasattr(x, "shape") and hasattr(x, "dtype"):
        return ShapedArray(
            x.shape, dtypes.canonicalize_dtype(x.dtype), getattr(x, "weak_type", False)
        )
    return get_aval(x)


aval_of_type[ShapeDtypeStruct] = lambda x: ShapedArray(
    x.shape, dtypes.canonicalize_dtype(x.dtype), x.weak_type
)


def struct_of(aval: Any) -> ShapeDtypeStruct:
    return ShapeDtypeStruct(aval.shape, aval.dtype, weak_type=aval.weak_type)


class _Shaped:
    """A leaf that only has an aval, made from any object with shape and dtype."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval


aval_of_type[_Shaped] = lambda x: x.aval


def abstract_args(args: tuple, kwargs: dict) -> tuple[tuple, dict]:
    """Replace leaves that have shape and dtype but are no arrays by stand-ins."""

    def leaf(x: Any) -> Any:
        if type(x) not in aval_of_type and hasattr(x, "shape") and hasattr(x, "dtype"):
            return _Shaped(aval_of_struct(x))
        return x

    return pytree.tree_map(leaf, (args, kwargs))


def make_jaxpr(
    fun: Callable,
    static_argnums: int | Sequence[int] = (),
    axis_env: Sequence[tuple[Any, int]] | None = None,
    return_shape: bool = False,
) -> Callable:
    """A function that returns the jaxpr of `fun` for given arguments.

    Arguments may be arrays or `ShapeDtypeStruct`s. With `return_shape`, returns (jaxpr, pytree of
    ShapeDtypeStructs of the outputs). `axis_env` brings named axes into scope.
    """
    check_callable(fun)
    as_index_tuple(static_argnums, "static_argnums")

    @wraps(fun)
    def make_jaxpr_f(*args: Any, **kwargs: Any) -> Any:
        info = JitInfo(
            fun,
            static_argnums=static_argnums,
            static_argnames=(),
            donate_argnums=None,
            donate_argnames=None,
            keep_unused=True,
            inline=False,
        )
        with extend_axis_env(axis_env or ()):
            a, k = abstract_args(args, kwargs)
            call = Call(info, a, k)
            closed, out_tree = make_closed_jaxpr(call.function(info), call)
        if return_shape:
            return closed, pytree.tree_unflatten(out_tree, [struct_of(v) for v in closed.out_avals])
        return closed

    make_jaxpr_f.__name__ = f"make_jaxpr({getattr(fun, '__name__', 'fun')})"
    return make_jaxpr_f


@boundary
def eval_shape(fun: Callable, *args: Any, **kwargs: Any) -> Any:
    """The shapes and dtypes of `fun(*args, **kwargs)` as ShapeDtypeStructs, without computing.

    Arguments are arrays or anything with `shape` and `dtype`.
    """
    return make_jaxpr(fun, return_shape=True)(*args, **kwargs)[1]
