"""Choosing elements by conditions: where, select, clip, choose, extract, compress, piecewise."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...runtime import ArrayImpl
from .. import lax
from ..core import dtypes
from ..core.trace import eval_trace, state
from ..transforms.eager_functions import eager_function
from ..transforms.jit import library_jit
from .util import (
    asarray,
    aval_of,
    broadcast_shapes,
    broadcast_to,
    check_arraylike,
    convert,
    promote_dtypes,
    rank0,
    shape_of,
)


@eager_function(numbers="floats")
def where(
    condition: Any,
    x: Any = None,
    y: Any = None,
    /,
    *,
    size: int | None = None,
    fill_value: Any = None,
) -> Any:
    """Elements of `x` where `condition` holds, of `y` elsewhere; all three broadcast.

    With `condition` alone: its `nonzero`, for which `size` gives a static length (padded with
    `fill_value`). Raises TypeError where only one of `x` and `y` is given.
    """
    if x is None and y is None:
        check_arraylike("where", condition)
        from .searching import nonzero

        return nonzero(condition, size=size, fill_value=fill_value)
    check_arraylike("where", condition, x, y)
    if size is not None or fill_value is not None:
        raise ValueError(
            "size and fill_value arguments cannot be used in three-term where function."
        )
    return _where(condition, x, y)


@library_jit
def _where(condition: Any, x: Any, y: Any) -> Any:
    condition = condition if type(condition) is ArrayImpl else asarray(condition)
    if not dtypes.is_bool(condition.dtype):
        condition = lax.ne(condition, rank0(0, condition.dtype))
    x, y = promote_dtypes(x, y)
    if state.trace is eval_trace and type(x) is type(y) is type(condition) is ArrayImpl:
        c, a, b = condition._numpy(), x._numpy(), y._numpy()
        if c.shape == a.shape or not a.shape or not c.shape:
            if c.shape == b.shape or not b.shape or not c.shape:
                if a.shape == b.shape or not a.shape or not b.shape:
                    return ArrayImpl.from_numpy(np.asarray(np.where(c, a, b)), x.weak_type)
    shape = broadcast_shapes(shape_of(condition), shape_of(x), shape_of(y))
    if shape_of(condition) not in ((), shape):
        condition = broadcast_to(condition, shape)
    x, y = broadcast_to(x, shape), broadcast_to(y, shape)
    if 0 in shape:
        return x
    return lax.select_n(condition, y, x)


@eager_function
def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """For each element the choice of the first condition that holds, or the default.

    Raises ValueError where the lists differ in length or are empty.
    """
    if len(condlist) != len(choicelist):
        raise ValueError(
            f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})"
        )
    if not condlist:
        raise ValueError("condlist must be non-empty")
    check_arraylike("select", *condlist, *choicelist, default)
    for c in condlist:
        if not dtypes.is_bool(aval_of(c).dtype):
            raise TypeError(
                f"select: conditions must be boolean, got {dtypes.dtype_name(aval_of(c).dtype)}"
            )
    *choices, out = promote_dtypes(*choicelist, default)
    for c, v in zip(reversed(list(condlist)), reversed(choices), strict=True):
        out = where(c, v, out)
    return out


@eager_function(numbers="floats")
@library_jit
def clip(arr: Any = None, /, min: Any = None, max: Any = None) -> Any:
    """Elements limited to [min, max]; either limit may be missing. NaN limits give NaN."""
    if arr is None:
        raise ValueError("No input was provided to the clip function.")
    check_arraylike("clip", arr)
    for name, v in (("min", min), ("max", max)):
        if v is not None and dtypes.is_complex(aval_of(v).dtype):
            raise ValueError(
                f"Clip received a complex value for {name}; complex numbers have no order."
            )
    if dtypes.is_complex(aval_of(arr).dtype):
        raise ValueError(
            "Clip received a complex value either through the input or the min/max keywords."
        )
    from .ufuncs import maximum, minimum

    out = asarray(arr)
    if min is not None:
        out = maximum(min, out)
    if max is not None:
        out = minimum(max, out)
    return out


@eager_function
def choose(a: Any, choices: Any, out: None = None, mode: str = "raise") -> Any:
    """Elements of the arrays in `choices` that the indices `a` name.

    `mode` is 'wrap' or 'clip'; 'raise' needs concrete indices and raises ValueError out of bounds.
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.choose is not supported.")
    from .creation import arange, array
    from .manipulation import stack

    check_arraylike("choose", a, *choices)
    a = asarray(a)
    if not (dtypes.is_integer(a.dtype) or dtypes.is_bool(a.dtype)):
        raise ValueError("`a` array must be integer typed")
    n = len(choices)
    if mode == "raise":
        from ..core.errors import ConcretizationTypeError
        from ..core.trace import Tracer

        if isinstance(a, Tracer):
            raise ConcretizationTypeError(
                a,
                "The error occurred because jnp.choose was jit-compiled with mode='raise'. Use mode='wrap' or mode='clip' instead.",
            )
        v = np.asarray(a)
        if ((v < 0) | (v >= n)).any():
            raise ValueError("invalid entry in choice array")
    elif mode == "wrap":
        a = a % n
    elif mode == "clip":
        a = clip(a, 0, n - 1)
    else:
        raise ValueError(f"mode={mode!r} not understood. Must be 'raise', 'wrap', or 'clip'")
    shape = broadcast_shapes(shape_of(a), *(shape_of(c) for c in choices))
    cases = [broadcast_to(c, shape) for c in promote_dtypes(*choices)]
    index = broadcast_to(convert(a, np.dtype(np.int32)), shape)
    grids = tuple(
        arange(s).reshape((1,) * i + (s,) + (1,) * (len(shape) - i - 1))
        for i, s in enumerate(shape)
    )
    return stack(cases)[(index, *grids)] if shape else array(stack(cases))[index]


@eager_function
def extract(condition: Any, arr: Any, *, size: int | None = None, fill_value: Any = 0) -> Any:
    """The elements of the flattened `arr` where the flattened condition holds."""
    from .manipulation import ravel

    return compress(ravel(condition), ravel(arr), size=size, fill_value=fill_value)


@eager_function
def compress(
    condition: Any,
    a: Any,
    axis: int | None = None,
    *,
    size: int | None = None,
    fill_value: Any = 0,
    out: None = None,
) -> Any:
    """The slices of `a` along `axis` (of the flattened array) where a rank-1 condition holds.

    With a static `size` the result is padded with `fill_value`, and the condition may be traced.
    """
    if out is not None:
        raise NotImplementedError("The 'out' argument to jnp.compress is not supported.")
    check_arraylike("compress", condition, a)
    from .manipulation import moveaxis, ravel
    from .searching import nonzero

    c, a = asarray(condition), asarray(a)
    if c.ndim != 1:
        raise ValueError("condition must be a 1D array")
    if axis is None:
        axis, a = 0, ravel(a)
    a = moveaxis(a, axis, 0)
    n = min(c.shape[0], a.shape[0])
    if c.shape[0] > n and size is None and np.asarray(c)[n:].any():
        raise ValueError("condition contains entries that are out of bounds")
    c, a = c[:n], a[:n]
    (index,) = nonzero(c, size=size, fill_value=n)
    picked = a.at[index].get(mode="fill", fill_value=fill_value)
    return moveaxis(picked, 0, axis)


def piecewise(x: Any, condlist: Any, funclist: Any, *args: Any, **kw: Any) -> Any:
    """Apply for each element the function (or constant) of the first condition that holds.

    `funclist` may have one entry more than `condlist`, the default.
    """
    check_arraylike("piecewise", x)
    x = asarray(x)
    conds = (
        [asarray(c) for c in condlist]
        if isinstance(condlist, (list, tuple))
        else [asarray(condlist)]
    )
    if len(conds) == 1 and conds[0].ndim > x.ndim:
        conds = list(conds[0])
    nc, nf = len(conds), len(funclist)
    if nf == nc + 1:
        funcs = [funclist[-1], *funclist[:-1]]
    elif nf == nc:
        funcs = [0, *funclist]
    else:
        raise ValueError(
            f"with {nc} condition(s), either {nc} or {nc + 1} functions are expected; got {nf}"
        )

    def value(f: Any) -> Any:
        return convert(asarray(f(x, *args, **kw) if callable(f) else f), x.dtype)

    out = broadcast_to(value(funcs[0]), x.shape)
    taken: Any = None
    for c, f in zip(conds, funcs[1:], strict=True):
        here = broadcast_to(c, x.shape)
        if taken is not None:
            here = lax.bitwise_and(here, lax.bitwise_not(taken))
        out = where(here, value(f), out)
        taken = (
            broadcast_to(c, x.shape)
            if taken is None
            else lax.bitwise_or(taken, broadcast_to(c, x.shape))
        )
    return out


__all__ = ["choose", "clip", "compress", "extract", "piecewise", "select", "where"]
