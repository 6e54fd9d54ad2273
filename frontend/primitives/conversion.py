"""Changes of dtype and of representation, and identities that transformations treat specially."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import dtypes
from ..core.avals import ShapedArray, get_aval, tangent_dtype
from ..core.eager import from_numpy, quietly, to_numpy
from ..core.primitive import Primitive, Sample, absent
from ..core.rules import Zero, instantiate, linear_jvp, unary_transpose, zero_jvp
from ..core.trace import Tracer
from ..transforms.jet import conversion
from ..transforms.recompute import pins
from .arithmetic import BF16, C64, F16, F32
from .declare import (
    FLOAT,
    batch_elementwise,
    check_dtype,
    elementwise,
    front,
    has_no_tangent,
    hidden,
)

# --- convert_element_type ------------------------------------------------------------------


def _convert_abstract(
    x: ShapedArray, *, new_dtype: Any, weak_type: bool, sharding: Any
) -> ShapedArray:
    if dtypes.is_extended(x.dtype) and x.dtype != new_dtype:
        raise ValueError(
            f"Cannot convert_element_type from {dtypes.dtype_name(x.dtype)} to "
            f"{dtypes.dtype_name(new_dtype)}"
        )
    return ShapedArray(x.shape, new_dtype, weak_type)


def convert(x: np.ndarray, dtype: Any) -> np.ndarray:
    """Conversion with JAX's rules: float to integer truncates, saturates, and takes NaN to 0."""
    if x.dtype == dtype:
        return x
    if dtypes.is_bool(dtype):
        return x != 0
    if dtypes.is_complex(x.dtype) and not dtypes.is_complex(dtype):
        x = x.real
    if dtypes.is_float(x.dtype) and dtypes.is_integer(dtype):
        info = dtypes.iinfo(dtype)
        wide = np.trunc(x.astype(np.float64))
        lo, hi = float(info.min), float(info.max)
        # above 2^53 the limits are not representable: compare, then choose the exact limit
        inside = (wide > lo) & (wide < hi)
        kind = np.int64 if info.min < 0 else np.uint64
        whole = np.where(inside, wide, 0).astype(kind)
        whole = np.where(wide >= hi, kind(info.max), whole)
        whole = np.where(wide <= lo, kind(info.min), whole)
        return whole.astype(dtype)
    if dtypes.is_integer(x.dtype) and dtypes.is_integer(dtype) and dtype.itemsize == 1:
        # through int64: 4-bit types keep the low bits
        return x.astype(np.int64).astype(dtype)
    if dtypes.is_float(dtype) and dtype.itemsize < 4 and x.dtype.kind in "iu":
        return (
            x.astype(np.float32).astype(dtype)
            if x.dtype.itemsize < 4
            else x.astype(np.float64).astype(np.float32).astype(dtype)
        )
    return x.astype(dtype)


def _convert_reference(
    x: np.ndarray, *, new_dtype: Any, weak_type: bool, sharding: Any
) -> np.ndarray:
    return convert(x, new_dtype)


def _convert_jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict) -> Any:
    (x,), (t,) = primals, tangents
    out = primitive.bind(x, **params)
    if type(t) is Zero or tangent_dtype(params["new_dtype"]) == dtypes.float0:
        return out, Zero.of(out)
    return out, primitive.bind(t, **params)


def _convert_transpose(
    ct: Any, aval: ShapedArray, *, new_dtype: Any, weak_type: bool, sharding: Any
) -> Any:
    return convert_element_type_p.bind(
        ct, new_dtype=aval.dtype, weak_type=aval.weak_type, sharding=None
    )


def _convert_samples() -> list[Sample]:
    out = []
    targets = (F32, BF16, F16, np.int32, np.int8, np.uint8, np.uint32, np.bool_, C64, np.int16)
    wide = np.array([0.0, -0.0, 1.9, -1.9, 300.0, -5.0, 3e10, -3e10, np.inf, -np.inf, np.nan], F32)
    for t in targets:
        p: dict[str, Any] = {"new_dtype": np.dtype(t), "weak_type": False, "sharding": None}
        out += [Sample(((3, 4), s), **p) for s in targets]
        out += [Sample(((), F32), **p), Sample(((0,), F32), **p), Sample(wide, grad=False, **p)]
        out.append(
            Sample(np.array([-(2**31), 2**31 - 1, 255, 256, -129], np.int32), grad=False, **p)
        )
    for t in (*dtypes.float8_types, dtypes.int4, dtypes.uint4):
        p = {"new_dtype": np.dtype(t), "weak_type": False, "sharding": None}
        out.append(Sample(((7,), F32), grad=False, **p))
    out.append(Sample(((3,), F32), new_dtype=np.dtype(F32), weak_type=True, sharding=None))
    return out


def _convert_stage(primitive: Primitive, trace: Any, args: Any, params: dict) -> Any:
    """No equation for a conversion to what the value is, nor for one of a known scalar."""
    (x,) = args
    aval = get_aval(x)
    out = primitive.abstract_eval(aval, **params)
    if isinstance(x, Tracer):
        if aval == out:
            return x
    elif not out.shape and not dtypes.is_extended(out.dtype) and out.dtype != dtypes.float0:
        return from_numpy(quietly(primitive.reference, (to_numpy(x),), params), out)
    return trace.default_process(primitive, args, params)


def _convert_jet(primitive: Primitive, primals: Any, series: Any, params: dict) -> Any:
    out = primitive.bind(*primals, **params)
    if not dtypes.is_inexact(params["new_dtype"]):
        return out, None
    return out, [primitive.bind(c, **params) for c in series[0]]


_convert_jet.discrete = True  # type: ignore[attr-defined]  # integers that become floats

convert_element_type_p: Primitive = Primitive(
    "convert_element_type",
    free=True,
    abstract=_convert_abstract,
    reference=_convert_reference,
    jvp=_convert_jvp,
    jet=_convert_jet,
    transpose=unary_transpose(_convert_transpose),
    batch=batch_elementwise,
    samples=_convert_samples,
    stage=_convert_stage,
    params_text=hidden(sharding=None),
)

# --- bitcast_convert_type ------------------------------------------------------------------


def bit_width(dtype: Any) -> int:
    """Number of bits of one element."""
    if dtype in (dtypes.int4, dtypes.uint4):
        return 4
    return 8 * dtype.itemsize


def _bitcast_abstract(x: ShapedArray, *, new_dtype: Any) -> ShapedArray:
    old, new = x.dtype, new_dtype
    odd = [d for d in (old, new) if dtypes.is_bool(d) or dtypes.is_complex(d)]
    if odd and old != new:
        raise TypeError(
            "lax.bitcast_convert_type does not support bool or complex values unless the operand "
            f"and destination types match. Got operand dtype={dtypes.dtype_name(old)}, "
            f"new_dtype={new!r}. Consider using the arr.view() method instead."
        )
    a, b = bit_width(old), bit_width(new)
    if a == b:
        return ShapedArray(x.shape, new)
    if a > b:
        return ShapedArray((*x.shape, a // b), new)
    if not x.shape or x.shape[-1] * a != b:
        last = x.shape[-1] if x.shape else 1
        raise ValueError(
            f"Attempting to convert array of shape {x.shape} from {dtypes.dtype_name(old)} of size "
            f"{a} bits to {dtypes.dtype_name(new)} of size {b}, bits but {last} * {a} != {b}"
        )
    return ShapedArray(x.shape[:-1], new)


def _nibbles(x: np.ndarray) -> np.ndarray:
    """Bytes as pairs of 4-bit values, the low one first."""
    b = np.asarray(x, order="C").view(np.uint8)
    return np.stack([b & 15, b >> 4], axis=-1)


def _bitcast_reference(x: np.ndarray, *, new_dtype: Any) -> np.ndarray:
    old = x.dtype
    if old == new_dtype:
        return x
    x = np.asarray(x, order="C")
    a, b = bit_width(old), bit_width(new_dtype)
    if a == 4 and b == 4:
        return (x.astype(np.int8).view(np.uint8) & 15).astype(np.int64).astype(new_dtype)
    if b == 4:
        low = _nibbles(x.reshape(*x.shape, 1)).reshape(*x.shape, a // 4)
        signed = (
            np.where(low > 7, low.astype(np.int64) - 16, low) if new_dtype == dtypes.int4 else low
        )
        return signed.astype(new_dtype)
    if a == 4:
        n = x.astype(np.int64) & 15
        pairs = n.reshape(*n.shape[:-1], -1, 2)
        whole = (pairs[..., 0] | (pairs[..., 1] << 4)).astype(np.uint8)
        return np.asarray(whole, order="C").view(new_dtype)[..., 0]
    if a == b:
        return x.view(new_dtype)
    if a > b:
        return x.reshape(*x.shape, 1).view(new_dtype)
    return x.view(new_dtype)[..., 0]


def _bitcast_batch(primitive: Any, axis: Any, args: Any, dims: Any, params: dict) -> Any:
    """In place, unless the batch axis is where an axis of parts has to go."""
    (x,), (d,) = args, dims
    old: Any = get_aval(x)
    if bit_width(old.dtype) < bit_width(params["new_dtype"]) and d == len(old.shape) - 1:
        x, d = front(x, d), 0
    return primitive.bind(x, **params), d


bitcast_convert_type_p: Primitive = Primitive(
    "bitcast_convert_type",
    free=True,
    abstract=_bitcast_abstract,
    reference=_bitcast_reference,
    jvp=zero_jvp,
    transpose=absent("it is not linear"),
    batch=_bitcast_batch,
    samples=lambda: [
        Sample((s, np.dtype(a)), new_dtype=np.dtype(b), grad=False)
        for s, a, b in [
            ((3, 4), F32, np.int32),
            ((3,), np.uint32, F32),
            ((3,), BF16, np.int16),
            ((3,), F32, np.uint8),
            ((3, 2), BF16, F32),
            ((3, 4), np.uint8, np.int32),
            ((), F32, np.uint16),
            ((0,), F32, np.int32),
            ((3,), C64, C64),
        ]
    ],
)

# --- reduce_precision ----------------------------------------------------------------------


def _reduce_precision_abstract(
    x: ShapedArray, *, exponent_bits: int, mantissa_bits: int
) -> ShapedArray:
    check_dtype("reduce_precision", FLOAT, x.dtype)
    if exponent_bits < 1:
        raise ValueError(f"reduce_precision: exponent_bits must be positive; got {exponent_bits}")
    if mantissa_bits < 0:
        raise ValueError(
            f"reduce_precision: mantissa_bits must be non-negative; got {mantissa_bits}"
        )
    return x


def _reduce_precision_reference(
    x: np.ndarray, *, exponent_bits: int, mantissa_bits: int
) -> np.ndarray:
    """Round to nearest even in the mantissa; what the exponent cannot hold becomes inf or 0."""
    info = dtypes.finfo(x.dtype)
    own_mantissa, own_exponent = info.nmant, info.iexp
    if mantissa_bits >= own_mantissa and exponent_bits >= own_exponent:
        return x
    bits_t = np.dtype(f"u{x.dtype.itemsize}")
    one = bits_t.type(1)
    bits = np.asarray(x, order="C").view(bits_t)
    width = 8 * x.dtype.itemsize
    sign = bits & (one << bits_t.type(width - 1))
    mag = bits ^ sign
    inf = bits_t.type(((1 << own_exponent) - 1) << own_mantissa)
    nan = mag > inf
    out = mag
    if mantissa_bits < own_mantissa:
        drop = bits_t.type(own_mantissa - mantissa_bits)
        half = (one << (drop - one)) - one
        out = out + half + ((out >> drop) & one)
        out = (out >> drop) << drop
    if exponent_bits < own_exponent:
        bias, reduced = (1 << (own_exponent - 1)) - 1, (1 << (exponent_bits - 1)) - 1
        largest, least = bias + reduced, bias - reduced
        exponent = out >> bits_t.type(own_mantissa)
        out = np.where(exponent > largest, inf, out)
        out = np.where(exponent <= least, bits_t.type(0), out)
    out = np.where(nan, mag, out)
    return (out | sign).astype(bits_t).view(x.dtype)


reduce_precision_p: Primitive = Primitive(
    "reduce_precision",
    abstract=_reduce_precision_abstract,
    reference=_reduce_precision_reference,
    jvp=linear_jvp,
    transpose=unary_transpose(lambda ct, aval, **params: reduce_precision_p.bind(ct, **params)),
    batch=batch_elementwise,
    samples=lambda: [
        Sample(x, exponent_bits=e, mantissa_bits=m, grad=False)
        for e, m in [(5, 10), (8, 7), (4, 3), (8, 23), (11, 52), (2, 0)]
        for x in [
            ((3, 4), F32),
            ((), F32),
            ((5,), BF16),
            ((5,), F16),
            np.array(
                [1e-8, 7e4, 1.1, np.nan, np.inf, 6e-5, 6e-8, 65519.0, 65520.0, -0.0, 1e-40, 3.4e38],
                F32,
            ),
        ]
    ],
)


def _own_precision(aval: Any) -> tuple[Primitive, dict]:
    info = dtypes.finfo(aval.dtype)
    return reduce_precision_p, {"exponent_bits": info.iexp, "mantissa_bits": info.nmant}


pins.operation = _own_precision
conversion.convert = lambda x, dtype: convert_element_type_p.bind(
    x, new_dtype=dtype, weak_type=bool(get_aval(x).weak_type), sharding=None
)

# --- identities ----------------------------------------------------------------------------

stop_gradient_p: Primitive = elementwise(
    "stop_gradient",
    (("integer", "floating", "complexfloating", "bool", "key"),),
    lambda x: x,
    jvp=zero_jvp,
    # in linear programs it masks what does not take part: see the batching of cond
    transpose=unary_transpose(lambda ct, aval: Zero(aval)),
    samples=lambda: [
        Sample((s, d), grad=False)  # its derivative is not that of its values
        for s in ((3, 4), (), (0,))
        for d in (F32, BF16, C64, np.int32, np.bool_)
    ],
)


def _barrier_batch(primitive: Any, axis: Any, args: Any, dims: Any, params: dict) -> Any:
    return primitive.bind(*args, **params), list(dims)


def _barrier_transpose(primitive: Any, cts: Any, args: Any, params: dict) -> Any:
    return primitive.bind(*map(instantiate, cts), **params)


def _barrier_jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict) -> Any:
    out = primitive.bind(*primals)
    real = [i for i, t in enumerate(tangents) if not has_no_tangent(t)]
    moved = primitive.bind(*[instantiate(tangents[i]) for i in real])
    touts: list[Any] = [Zero.of(o) for o in out]
    for i, t in zip(real, moved, strict=True):
        touts[i] = t
    return out, touts


optimization_barrier_p: Primitive = Primitive(
    "optimization_barrier",
    abstract=lambda *avals: list(avals),
    reference=lambda *xs: list(xs),
    jvp=_barrier_jvp,
    transpose=_barrier_transpose,
    batch=_barrier_batch,
    multiple_results=True,
    samples=lambda: [Sample(((3,), F32), ((), np.int32)), Sample(((2, 2), F32), ((0,), F32))],
)
