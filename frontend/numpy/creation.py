"""Making arrays: from values, filled, ranges, grids, diagonals."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...runtime import ArrayImpl
from ..core import dtypes
from ..core.avals import canonical_shape
from ..core.devices import Device, Sharding
from ..core.errors import ConcretizationTypeError
from ..core.primitive import registry
from ..core.trace import Tracer, eval_trace, state
from ..primitives.placement import ArrayCopySemantics, device_put_p
from ..transforms.eager_functions import eager_function
from ..transforms.jit import library_jit
from .util import asarray as _plain
from .util import aval_of, broadcast_to, canonical_axis, check_arraylike, convert, scalar


def _check_device(device: Any, out_sharding: Any = None) -> None:
    for d in (device, out_sharding):
        if d is not None and not isinstance(d, (Device, Sharding)):
            raise TypeError(f"device must be a Device or a sharding, got {d!r}")


def placed(f: Callable[..., Any]) -> Callable[..., Any]:
    """Give a function that makes an array its arguments `device` and `out_sharding`: the result is
    put there."""

    @functools.wraps(f)
    def call(*args: Any, **kwargs: Any) -> Any:
        where = kwargs.get("device")
        if where is None:
            where = kwargs.get("out_sharding")
        out = f(*args, **kwargs)
        if where is None:
            return out
        (moved,) = device_put_p.bind(
            out,
            devices=(where,),
            srcs=(None,),
            copy_semantics=(ArrayCopySemantics.REUSE_INPUT,),
        )
        return moved

    return call


def _dtype(dtype: Any, default: Any = None) -> Any:
    """A user's dtype argument, canonical; the default where it is None."""
    return default if dtype is None else dtypes.check_user_dtype(dtype)


def fill(shape: Sequence[int], value: Any) -> Any:
    """A scalar array or tracer repeated to a shape."""
    shape = tuple(shape)
    if state.trace is eval_trace and type(value) is ArrayImpl:
        return ArrayImpl.from_numpy(np.full(shape, value._numpy()), value.weak_type)
    if not shape:
        return value
    return registry["broadcast_in_dim"].bind(
        value, shape=shape, broadcast_dimensions=(), sharding=None
    )


def _scalar(value: Any, dtype: Any, weak_type: bool = False) -> ArrayImpl:
    return ArrayImpl.from_numpy(np.asarray(value, dtype=dtype), weak_type)


# --- from values ---------------------------------------------------------------------------


def _leaves(x: Any) -> list[Any]:
    if isinstance(x, (list, tuple)):
        return [leaf for e in x for leaf in _leaves(e)]
    return [x]


def _invalid(x: Any) -> TypeError:
    dt = np.asarray(x).dtype
    return TypeError(
        f"Value {x!r} with dtype {dt} is not a valid JAX array type. Only arrays of numeric types "
        "are supported by JAX."
    )


def _python_dtype(leaves: Sequence[Any]) -> tuple[Any, bool]:
    """Dtype of an array made of these elements, by lattice promotion of their types."""
    entries = []
    for leaf in leaves:
        if isinstance(leaf, int) and not isinstance(leaf, (bool, np.generic)):
            entries.append((dtypes.python_scalar_dtype(int), True))
        else:
            aval = aval_of(leaf)
            entries.append((aval.dtype, aval.weak_type))
    return dtypes.promote(tuple(dict.fromkeys(entries)))


def _int_check(leaves: Sequence[Any], dt: Any) -> None:
    if not dtypes.is_integer(dt):
        return
    info = dtypes.iinfo(dt)
    for v in leaves:
        if isinstance(v, int) and not info.min <= v <= info.max:
            raise OverflowError(f"Python int {v} too large to convert to {dtypes.dtype_name(dt)}")


@placed
def array(
    object: Any,
    dtype: Any = None,
    *args: Any,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """An array from a number, a (nested) sequence, a NumPy array, or anything that becomes one.

    The dtype is found by promotion of the elements' types unless given; Python numbers alone give
    weakly typed arrays of rank 0. Raises TypeError for elements that are no numbers, ValueError
    for ragged nesting, OverflowError for integers that do not fit.
    """
    if args:
        raise TypeError(
            f"jnp.array takes 2 positional arguments, got {2 + len(args)}; pass copy, order and "
            "ndmin by name"
        )
    _check_device(device, out_sharding)
    if order is not None and order != "K":
        raise NotImplementedError(f"Only order='K' is implemented, got order={order!r}")
    if object is None:
        raise ValueError("None is not a valid value for jnp.array")
    dt = _dtype(dtype)
    if hasattr(object, "__jax_array__"):
        object = object.__jax_array__()
    if hasattr(object, "_base_array"):
        out = object
    elif isinstance(object, (ArrayImpl, Tracer)):
        if (dt is not None and dt != object.dtype) or (dt is not None and object.weak_type):
            out = convert(object, dt)
        elif copy:
            out = registry["copy"].bind(object)
        else:
            out = object
    elif isinstance(object, (bool, int, float, complex)) and not isinstance(object, np.generic):
        weak = dt is None and not isinstance(object, bool)
        want = dtypes.python_scalar_dtype(_python_kind(object)) if dt is None else dt
        _int_check([object], want)
        out = ArrayImpl.from_numpy(_element(object, want), weak)
    elif isinstance(object, (np.ndarray, np.generic)):
        out = _from_numpy(object, dt)
    elif isinstance(object, (list, tuple, range)):
        out = _from_sequence(list(object) if isinstance(object, range) else object, dt)
    elif isinstance(object, (str, bytes)):
        if dt is not None:
            np.array(object).astype(dt)
        raise _invalid(object)
    else:
        out = _from_other(object, dt, copy)
    rank = len(np.shape(out))
    if ndmin > rank:
        out = registry["reshape"].bind(
            out,
            new_sizes=(1,) * (ndmin - rank) + tuple(np.shape(out)),
            dimensions=None,
            sharding=None,
        )
    return out


def _python_kind(x: Any) -> type:
    return next(t for t in (bool, int, float, complex) if isinstance(x, t))


def _element(x: Any, dt: Any) -> np.ndarray:
    if isinstance(x, complex) and not dtypes.is_complex(dt):
        raise TypeError(f"can't convert complex to {dtypes.dtype_name(dt)}")
    return (
        np.array(x).astype(dt)
        if not isinstance(x, int) or isinstance(x, bool)
        else np.array(x, dtype=dt if dt.kind in "biufc" else np.int64).astype(dt)
    )


def _from_numpy(x: Any, dt: Any) -> Any:
    if x.dtype == dtypes.float0:
        return np.array(x)
    if not dtypes.is_array_dtype(x.dtype):
        native = x.dtype.newbyteorder("=")
        if dt is not None and native != x.dtype and dtypes.is_array_dtype(native):
            return _from_numpy(x.astype(native), dt)
        if x.dtype.kind == "O":
            return _from_sequence(x.tolist(), dt) if x.ndim else array(x.item(), dt)
        raise _invalid(x)
    want = dtypes.canonicalize_dtype(x.dtype) if dt is None else dt
    with np.errstate(all="ignore"):
        return ArrayImpl.from_numpy(np.array(x, dtype=want, order="C"), False)


def _from_sequence(x: Any, dt: Any) -> Any:
    leaves = _leaves(x)
    if any(v is None for v in leaves):
        raise ValueError("None is not a valid value for jnp.array")
    if not any(isinstance(v, (ArrayImpl, Tracer)) or hasattr(v, "__jax_array__") for v in leaves):
        try:
            a = np.array(x)
        except ValueError as e:
            raise ValueError(str(e)) from None
        if not leaves or (a.size == 0 and not any(isinstance(v, np.ndarray) for v in leaves)):
            return _from_numpy(a.astype(dtypes.default_float() if dt is None else dt), dt)
        if a.dtype.kind in "OUSMm" and a.dtype not in dtypes._category:
            if dt is not None:
                a.astype(dt)
            for v in leaves:
                if isinstance(v, int):
                    continue
                if not dtypes.is_array_dtype(np.asarray(v).dtype):
                    raise _invalid(v)
        want = _python_dtype(leaves)[0] if dt is None else dt
        if a.dtype.kind in "iuO" and dtypes.is_integer(want):
            info = dtypes.iinfo(want)
            if a.size and (int(a.min()) < info.min or int(a.max()) > info.max):
                bad = next(v for v in np.ravel(a).tolist() if not info.min <= v <= info.max)
                raise OverflowError(
                    f"Python integer {bad} out of bounds for {dtypes.dtype_name(want)}"
                )
        with np.errstate(all="ignore"):
            return ArrayImpl.from_numpy(np.array(a, order="C").astype(want), False)
    want = _python_dtype(leaves)[0] if dt is None else dt

    def build(e: Any) -> Any:
        if isinstance(e, (list, tuple)):
            parts = [build(v) for v in e]
            if not parts:
                return ArrayImpl.from_numpy(np.zeros((0,), want), False)
            shapes = {tuple(np.shape(p)) for p in parts}
            if len(shapes) > 1:
                raise ValueError(
                    "All input arrays must have the same shape: setting an array element with a "
                    f"sequence of shapes {sorted(shapes)}"
                )
            rows = [
                registry["broadcast_in_dim"].bind(
                    p,
                    shape=(1, *np.shape(p)),
                    broadcast_dimensions=tuple(range(1, len(np.shape(p)) + 1)),
                    sharding=None,
                )
                for p in parts
            ]
            return registry["concatenate"].bind(*rows, dimension=0)
        return convert(e.__jax_array__() if hasattr(e, "__jax_array__") else e, want)

    return build(x)


def _from_other(x: Any, dt: Any, copy: bool) -> Any:
    if hasattr(x, "__array__"):
        return _from_numpy(np.asarray(x), dt)
    if hasattr(x, "__dlpack__"):
        out = from_dlpack(x)
        return out if dt is None else convert(out, dt)
    try:
        view = memoryview(x)
    except TypeError:
        raise _invalid(x) from None
    return _from_numpy(np.asarray(view), dt)


@placed
def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Like `array`, without a copy where `a` is an array already.

    Raises ValueError where `copy=False` cannot be kept.
    """
    if copy is False and not isinstance(a, (ArrayImpl, Tracer)):
        raise ValueError(
            "jnp.asarray: copy=False, but a copy is needed to make an array of this value"
        )
    return array(
        a, dtype=dtype, copy=bool(copy), order=order, device=device, out_sharding=out_sharding
    )


@placed
def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Any:
    """An array that shares the memory of an object with `__dlpack__`, such as a torch tensor."""
    from ...runtime import from_dlpack as runtime_from_dlpack

    _check_device(device)
    if isinstance(x, ArrayImpl):
        return registry["copy"].bind(x) if copy else x
    if not hasattr(x, "__dlpack__"):
        raise TypeError(
            "The array passed to from_dlpack must have __dlpack__ and __dlpack_device__ methods, "
            f"got {type(x)}"
        )
    out = runtime_from_dlpack(x)
    return registry["copy"].bind(out) if copy else out


def frombuffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> Any:
    """A rank-1 array from the bytes of a buffer."""
    return array(
        np.frombuffer(
            buffer, dtype=np.dtype(dtypes.check_user_dtype(dtype)), count=count, offset=offset
        )
    )


def copy(a: Any, order: str | None = None) -> Any:
    """A copy of an array."""
    check_arraylike("copy", a)
    return array(a, copy=True, order=order)


# --- filled --------------------------------------------------------------------------------


def _shape(shape: Any) -> tuple[int, ...]:
    out = canonical_shape(shape)
    if any(d < 0 for d in out):
        raise TypeError(
            f"broadcast_in_dim shape must have every element be nonnegative, got {out}."
        )
    return out


@placed
def full(
    shape: Any, fill_value: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Any:
    """An array of a shape filled with a value (which may be an array that broadcasts to it)."""
    _check_device(device, out_sharding)
    check_arraylike("full", fill_value)
    if dtype is not None and type(fill_value) is int:
        # large Python integers are no error where the dtype can hold them
        fill_value = scalar(fill_value, _dtype(dtype, None))
    aval = aval_of(fill_value)
    dt = _dtype(dtype, aval.dtype)
    weak = dtype is None and aval.weak_type
    if aval.shape == ():
        return fill(_shape(shape), convert(fill_value, dt, weak))
    return broadcast_to(convert(fill_value, dt, weak), _shape(shape))


@placed
def zeros(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """An array of zeros (float by default)."""
    _check_device(device, out_sharding)
    dt = _dtype(dtype, dtypes.default_float())
    if dt == dtypes.float0:
        return np.zeros(shape, dtypes.float0)
    return fill(_shape(shape), _scalar(0, dt))


@placed
def ones(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """An array of ones (float by default)."""
    _check_device(device, out_sharding)
    return fill(_shape(shape), _scalar(1, _dtype(dtype, dtypes.default_float())))


@placed
def empty(shape: Any, dtype: Any = None, *, device: Any = None, out_sharding: Any = None) -> Any:
    """An array of zeros: immutable arrays have no use for arbitrary contents."""
    return zeros(shape, dtype, device=device, out_sharding=out_sharding)


def _like(a: Any, dtype: Any, shape: Any, who: str) -> tuple[tuple[int, ...], Any, bool]:
    if hasattr(a, "shape") and hasattr(a, "dtype"):
        s, d, weak = tuple(a.shape), a.dtype, getattr(a, "weak_type", False)
        d = dtypes.canonicalize_dtype(d)
    else:
        check_arraylike(who, a)
        aval = aval_of(a)
        s, d, weak = aval.shape, aval.dtype, aval.weak_type
    return (s if shape is None else _shape(shape)), _dtype(dtype, d), weak and dtype is None


@eager_function
@placed
def zeros_like(
    a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Any:
    """Zeros of the shape and dtype of `a` (or of those given)."""
    _check_device(device, out_sharding)
    s, d, weak = _like(a, dtype, shape, "zeros_like")
    return fill(s, _scalar(0, d, weak))


@eager_function
@placed
def ones_like(
    a: Any, dtype: Any = None, shape: Any = None, *, device: Any = None, out_sharding: Any = None
) -> Any:
    """Ones of the shape and dtype of `a` (or of those given)."""
    _check_device(device, out_sharding)
    s, d, weak = _like(a, dtype, shape, "ones_like")
    return fill(s, _scalar(1, d, weak))


@placed
def empty_like(prototype: Any, dtype: Any = None, shape: Any = None, *, device: Any = None) -> Any:
    """Zeros of the shape and dtype of `prototype` (or of those given)."""
    return zeros_like(prototype, dtype, shape, device=device)


@eager_function
@placed
def full_like(
    a: Any,
    fill_value: Any,
    dtype: Any = None,
    shape: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """A value repeated to the shape and dtype of `a` (or of those given)."""
    _check_device(device, out_sharding)
    s, d, weak = _like(a, dtype, shape, "full_like")
    check_arraylike("full_like", fill_value)
    if aval_of(fill_value).shape == ():
        return fill(s, convert(fill_value, d, weak))
    return broadcast_to(convert(fill_value, d, weak), s)


# --- ranges --------------------------------------------------------------------------------


def _concrete(x: Any, who: str, name: str) -> Any:
    if isinstance(x, Tracer):
        value = x._concrete()
        if value is None:
            raise ConcretizationTypeError(x, f"It arose in the {who} argument '{name}'")
        return value
    return x


def iota(n: int, dtype: Any) -> Any:
    """0, 1, ..., n-1."""
    return registry["iota"].bind(dtype=dtype, shape=(n,), dimension=0, sharding=None)


@eager_function(sizes=True)
@placed
def arange(
    start: Any,
    stop: Any = None,
    step: Any = None,
    dtype: Any = None,
    *,
    device: Any = None,
    out_sharding: Any = None,
) -> Any:
    """Evenly spaced values in [start, stop) with a given step, as `numpy.arange`.

    All arguments must be known when traced. Raises ConcretizationTypeError for traced values.
    """
    _check_device(device, out_sharding)
    want = _dtype(dtype)
    for name, v in (("start", start), ("stop", stop), ("step", step)):
        if v is not None:
            check_arraylike("arange", v)
            if np.ndim(v) != 0:
                raise ValueError(
                    f"jax.numpy.arange: argument '{name}' must be a scalar, got shape {np.shape(v)}"
                )
    if stop is None:
        start = _concrete(start, "jnp.arange", "stop")
    else:
        start = _concrete(start, "jnp.arange", "start")
        stop = _concrete(stop, "jnp.arange", "stop")
    step = None if step is None else _concrete(step, "jnp.arange", "step")
    if want is None:
        given = [v for v in (start, stop, step) if v is not None]
        entries = tuple((aval_of(v).dtype, aval_of(v).weak_type) for v in given)
        want = dtypes.promote(entries)[0]
        if dtypes.is_bool(want):
            want = dtypes.default_int()
    values = [
        None if v is None else (v if isinstance(v, (int, float, complex)) else np.asarray(v).item())
        for v in (start, stop, step)
    ]
    lo, hi, by = values
    if hi is None:
        lo, hi = 0, lo
    by = 1 if by is None else by
    if by == 0:
        raise ZeroDivisionError("jax.numpy.arange: step must not be zero")
    if isinstance(lo, complex) or isinstance(hi, complex) or isinstance(by, complex):
        return array(np.arange(lo, hi, by, dtype=want))
    count = max(math.ceil((hi - lo) / by), 0)
    if lo == 0 and by == 1 and isinstance(by, int) and isinstance(lo, int):
        return iota(count, want)
    if state.trace is eval_trace and (dtypes.is_integer(want)):
        return ArrayImpl.from_numpy((lo + by * np.arange(count)).astype(want), False)
    line = iota(count, want)
    scaled = line if by == 1 else registry["mul"].bind(fill_scalar(by, want), line)
    return registry["add"].bind(fill_scalar(lo, want), scaled)


def fill_scalar(value: Any, dtype: Any) -> ArrayImpl:
    """A rank-0 array of a dtype."""
    return ArrayImpl.from_numpy(np.asarray(value).astype(dtype), False)


@library_jit(static_argnames=("num", "endpoint", "dtype", "axis"))
def _linspace(start: Any, stop: Any, num: int, endpoint: bool, dtype: Any, axis: int) -> Any:
    from . import ufuncs as u

    dt, _ = dtypes.promote(tuple((aval_of(v).dtype, aval_of(v).weak_type) for v in (start, stop)))
    out_dtype = dtypes.to_inexact(dt) if dtype is None else dtype
    compute = dtypes.to_inexact(dtypes.promote(((dt, False), (out_dtype, False)))[0])
    start, stop = convert(start, compute), convert(stop, compute)
    shape = np.broadcast_shapes(aval_of(start).shape, aval_of(stop).shape)
    start, stop = broadcast_to(start, shape), broadcast_to(stop, shape)
    div = num - 1 if endpoint else num
    real = dtypes.to_real(compute)
    if num > 1:
        line = iota(div, real)
        t = registry["div"].bind(line, fill_scalar(div, real))
        t = (
            registry["reshape"].bind(
                t, new_sizes=(div,) + (1,) * len(shape), dimensions=None, sharding=None
            )
            if shape
            else t
        )
        t = convert(t, compute)

        def lead(v):
            return registry["reshape"].bind(
                v, new_sizes=(1, *shape), dimensions=None, sharding=None
            )

        out = u.add(
            u.multiply(lead(start), u.subtract(fill_scalar(1, compute), t)),
            u.multiply(lead(stop), t),
        )
        if endpoint:
            last = registry["broadcast_in_dim"].bind(
                stop,
                shape=(1, *shape),
                broadcast_dimensions=tuple(range(1, len(shape) + 1)),
                sharding=None,
            )
            out = registry["concatenate"].bind(out, last, dimension=0)
    elif num == 1:
        out = registry["reshape"].bind(start, new_sizes=(1, *shape), dimensions=None, sharding=None)
    else:
        out = zeros((0, *shape), compute)
    if dtypes.is_integer(out_dtype) and not dtypes.is_integer(compute):
        out = registry["floor"].bind(out)
    if axis != 0:
        order = list(range(1, len(shape) + 1))
        order.insert(canonical_axis(axis, len(shape) + 1), 0)
        out = registry["transpose"].bind(out, permutation=tuple(order))
    return convert(out, out_dtype)


@eager_function(numbers="floats", sizes=True)
@placed
def linspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    retstep: bool = False,
    dtype: Any = None,
    axis: int = 0,
    *,
    device: Any = None,
) -> Any:
    """`num` evenly spaced values from `start` to `stop` (included if `endpoint`), along `axis`.

    With `retstep`, also returns the spacing. Raises ValueError for a negative `num`.
    """
    _check_device(device)
    num = operator.index(_concrete(num, "jnp.linspace", "num"))
    if num < 0:
        raise ValueError(f"Number of samples, {num}, must be non-negative.")
    check_arraylike("linspace", start, stop)
    dt = _dtype(dtype)
    out = _linspace(
        start, stop, num=num, endpoint=bool(endpoint), dtype=dt, axis=operator.index(axis)
    )
    if not retstep:
        return out
    from . import ufuncs as u

    div = num - 1 if endpoint else num
    step = (
        full((), np.nan, aval_of(out).dtype)
        if div <= 0
        else u.true_divide(u.subtract(stop, start), div)
    )
    return out, convert(
        step, aval_of(out).dtype if dtypes.is_inexact(aval_of(out).dtype) else aval_of(step).dtype
    )


@eager_function(sizes=True)
def logspace(
    start: Any,
    stop: Any,
    num: int = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
    axis: int = 0,
) -> Any:
    """Values evenly spaced on a log scale: `base ** linspace(start, stop, num)`."""
    from . import ufuncs as u

    check_arraylike("logspace", start, stop)
    dt = _dtype(dtype)
    lin = linspace(start, stop, num, endpoint=endpoint, axis=axis)
    out = u.power(base, lin)
    return out if dt is None else convert(out, dt)


@eager_function(sizes=True)
def geomspace(
    start: Any, stop: Any, num: int = 50, endpoint: bool = True, dtype: Any = None, axis: int = 0
) -> Any:
    """Values in geometric progression from `start` to `stop`."""
    from . import ufuncs as u

    check_arraylike("geomspace", start, stop)
    dt, _ = dtypes.promote(tuple((aval_of(v).dtype, aval_of(v).weak_type) for v in (start, stop)))
    out_dtype = dtypes.to_inexact(dt) if dtype is None else _dtype(dtype)
    compute = dtypes.to_inexact(dtypes.promote(((dt, False), (out_dtype, False)))[0])
    start, stop = convert(_plain(start), compute), convert(_plain(stop), compute)
    sign = u.sign(start)
    res = u.multiply(
        sign,
        logspace(
            u.log10(u.divide(start, sign)),
            u.log10(u.divide(stop, sign)),
            num,
            endpoint=endpoint,
            base=10.0,
            axis=0,
        ),
    )
    if axis != 0:
        from .manipulation import moveaxis

        res = moveaxis(res, 0, axis)
    return convert(res, out_dtype)


__all__ = [
    "arange",
    "array",
    "asarray",
    "copy",
    "empty",
    "empty_like",
    "frombuffer",
    "from_dlpack",
    "full",
    "full_like",
    "geomspace",
    "linspace",
    "logspace",
    "ones",
    "ones_like",
    "zeros",
    "zeros_like",
]
