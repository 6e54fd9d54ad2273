"""sin, cos, tan, exact for every finite argument.

x is reduced to x = (q + f) pi/2 with |f| below 0.516 by multiplying with the bits of 2/pi that matter
for its exponent (Payne and Hanek's idea: higher bits only add multiples of 4). For f32 this is f64
arithmetic and the bits are chosen by selects, for f64 they are loaded from a table.
"""

from __future__ import annotations

import functools

from .builder import BIAS, Builder, Value
from .coefficients import coefficients

PI_2 = float.fromhex("0x1.921fb54442d18p+0")
PI_2_LOW = float.fromhex("0x1.1a62633145c07p-54")
# floor(2/pi * 2^1280)
_FRACTION = 1280
TWO_OVER_PI = int(
    "a2f9836e4e441529fc2757d1f534ddc0db6295993c439041fe5163abdebbc561"
    "b7246e3a424dd2e006492eea09d1921cfe1deb1cb129a73ee88235f52ebb4484"
    "e99c7026b45f7e413991d639835339f49c845f8bbdf9283b1ff897ffde05980f"
    "ef2f118b5a0a6d1f6d367ecf27cb09b74f463f669e5fea2d7527bac7ebe5f17b"
    "3d0739f78a5292ea6bfb5fb11f8d5d0856033046fc7b6babf0cfbc209af4361d",
    16,
)


def _two_over_pi(high: int, low: int, shift: int = 0) -> float:
    """The bits of 2/pi with weights below 2^high and down to 2^low, times 2^shift."""
    part = (TWO_OVER_PI % (1 << max(_FRACTION + high, 0))) >> (_FRACTION + low)
    return float(part) * 2.0 ** (low + shift)


# -- f32: all in f64

_BUCKET = 22  # exponents per set of constants


@functools.cache
def _f32_constants() -> list[tuple[float, float]]:
    # for 2^e <= |x| < 2^(e+22), x is a multiple of 2^(e-23): multiples of 4 are left out of the
    # product with the first part, what is left of it after rounding to integers has 53 bits, and
    # the product with the second part is below 1/64
    result = []
    for e in range(0, 128, _BUCKET):
        top, low = 25 - e, -28 - e
        result.append((_two_over_pi(top, low), _two_over_pi(low, low - 53)))
    return result


def _reduce_f32(b: Builder, x: Value) -> tuple[Value, Value]:
    """(f64 part of a quadrant within 0.516, quadrant as i64) of an f64 that holds an f32."""
    size = b.abs(x)
    sets = _f32_constants()
    chosen: list[Value] = [b.constant(c, "f64") for c in sets[0]]
    for i, constants in enumerate(sets[1:], 1):
        beyond = size >= 2.0 ** (_BUCKET * i)
        chosen = [b.select(beyond, c, old) for c, old in zip(constants, chosen)]
    whole, quadrant = b.round_to_int(x, chosen[0])
    fraction = b.fma(x, chosen[0], -whole)  # exact
    return b.fma(x, chosen[1], fraction), quadrant


def _sin_cos_fast(b: Builder, f: Value) -> tuple[Value, Value]:
    """sin and cos of f pi/2, |f| <= 0.516, to f32's needs."""
    square = f * f
    sine = f * b.horner(square, coefficients("SIN_FAST"))
    cosine = b.fma(square, b.horner(square, coefficients("COS_FAST")), 1.0)
    return sine, cosine


# -- f64

_TABLE = "lingon_two_over_pi"
_STEP = 16  # exponents per row


@functools.cache
def _f64_table() -> tuple[float, ...]:
    """Rows of four f64: 2/pi * 2^(16 j) modulo 2^54 in 53-bit pieces."""
    rows: list[float] = []
    for j in range(1024 // _STEP):
        shift = _STEP * j
        for piece in range(4):
            high = 54 - 53 * piece
            rows.append(_two_over_pi(high - shift, high - 53 - shift, shift))
    return tuple(rows)


def _two_sum(a: Value, b: Value) -> tuple[Value, Value]:
    total = a + b
    virtual = total - a
    return total, (a - (total - virtual)) + (b - virtual)


def _reduce_f64(b: Builder, x: Value) -> tuple[Value, Value, Value]:
    """(angle, its low part, quadrant as i64 of which only the low two bits count)."""
    exponent = (b.bits(x).shift_right_logical(52) & 0x7FF) - BIAS["f64"]
    zero = b.constant(0, "i64")
    row = b.select(exponent < zero, zero, exponent) >> 4
    # infinities and NaN read a row within the table too
    row = b.select(row > 63, 63, row)
    scaled = b.from_bits(b.bits(x) - (row << 56))
    index = row << 2
    pieces = [b.load(_TABLE, _f64_table, index + i if i else index) for i in range(4)]

    def modulo4(v: Value) -> Value:
        return b.fma(b.round_even(v * 0.25), -4.0, v)

    p0 = scaled * pieces[0]
    e0 = b.fma(scaled, pieces[0], -p0)
    p1 = scaled * pieces[1]
    e1 = b.fma(scaled, pieces[1], -p1)
    p2 = scaled * pieces[2]
    e2 = b.fma(scaled, pieces[2], -p2)
    # multiples of 2^-51 below 4 in size: the sum is exact
    start = modulo4(p0) + modulo4(e0)
    total, t0 = _two_sum(start, modulo4(p1))
    whole, quadrant = b.round_to_int(total)
    f = total - whole
    f, t1 = _two_sum(f, p2)
    f, t2 = _two_sum(f, e1)
    f, t3 = _two_sum(f, t0)
    low = t1 + t2 + t3 + b.fma(scaled, pieces[3], e2)
    angle = f * PI_2
    error = b.fma(f, PI_2, -angle)
    rest = b.fma(f, PI_2_LOW, b.fma(low, PI_2, error))
    high = angle + rest
    return high, (angle - high) + rest, quadrant


def _sin_cos_f64(b: Builder, r: Value, low: Value) -> tuple[Value, Value, Value, Value]:
    """sin(r + low) as high and low part, cos likewise, |r| <= pi/4."""
    square = r * r
    half = square * 0.5
    q = b.horner(square, coefficients("SIN_F64"))
    sine_tail = b.fma(square * r, q, b.fma(-half, low, low))
    cosine_head = 1.0 - half
    # what 1 - half lost, and the rounding error of the square
    lost = b.fma(b.fma(r, r, -square), -0.5, (1.0 - cosine_head) - half)
    q = b.horner(square, coefficients("COS_F64"))
    cosine_tail = b.fma(square * square, q, lost - r * low)
    return r, sine_tail, cosine_head, cosine_tail


def _sign(b: Builder, value: Value, quadrant: Value) -> Value:
    """-value if bit 1 of the i64 quadrant is set."""
    if value.type == "f32":
        return b.from_bits(b.bits(value) ^ (b.narrow(quadrant << 30) & -0x80000000))
    return b.from_bits(b.bits(value) ^ ((quadrant & 2) << 62))


def _sine(b: Builder, x: Value, shift: int) -> Value:
    if b.float == "f32":
        f, quadrant = _reduce_f32(b, b.to_f64(x))
        if shift:
            quadrant = quadrant + shift
        sine, cosine = _sin_cos_fast(b, f)
        value = b.select((quadrant & 1).eq(0), sine, cosine)
        return b.to_f32(_sign(b, value, quadrant))
    r, low, quadrant = _reduce_f64(b, x)
    if shift:
        quadrant = quadrant + shift
    sh, sl, ch, cl = _sin_cos_f64(b, r, low)
    even = (quadrant & 1).eq(0)
    value = b.select(even, sh, ch) + b.select(even, sl, cl)
    return _sign(b, value, quadrant)


def sin_(b: Builder, x: Value) -> Value:
    result = _sine(b, x, 0)
    return _ends(b, x, result, x) if b.float == "f64" else result


def cos_(b: Builder, x: Value) -> Value:
    result = _sine(b, x, 1)
    return _ends(b, x, result, b.const(1.0)) if b.float == "f64" else result


def _ends(b: Builder, x: Value, result: Value, tiny: Value) -> Value:
    """`result`, but `tiny` for tiny |x| (keeps -0 and subnormals) and NaN for those not finite."""
    size = b.abs(x)
    result = b.select(size < 2.0**-27, tiny, result)
    return b.select(size < float("inf"), result, x - x)


def tan_(b: Builder, x: Value) -> Value:
    if b.float == "f32":
        f, quadrant = _reduce_f32(b, b.to_f64(x))
        sine, cosine = _sin_cos_fast(b, f)
        even = (quadrant & 1).eq(0)
        return b.to_f32(b.select(even, sine, -cosine) / b.select(even, cosine, sine))
    r, low, quadrant = _reduce_f64(b, x)
    sh, sl, ch, cl = _sin_cos_f64(b, r, low)
    even = (quadrant & 1).eq(0)
    top, top_low = b.select(even, sh, -ch), b.select(even, sl, -cl)
    bottom, bottom_low = b.select(even, ch, sh), b.select(even, cl, sl)
    denominator = bottom + bottom_low
    denominator_low = (bottom - denominator) + bottom_low
    numerator = top + top_low
    numerator_low = (top - numerator) + top_low
    inverse = 1.0 / denominator
    quotient = numerator * inverse
    rest = b.fma(-quotient, denominator, numerator) + b.fma(
        -quotient, denominator_low, numerator_low
    )
    result = b.fma(rest, inverse, quotient)
    return _ends(b, x, result, x)
