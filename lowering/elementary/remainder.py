"""fmod (exact), nextafter."""

from __future__ import annotations

from .builder import INF, Builder, Value

# quotient bits per step
_STEP_F32 = 28
_STEP_F64 = 48


def _fmod_f32(b: Builder, x: Value, y: Value) -> Value:
    """x mod y for x, y >= 0, in f64, where every step is exact."""
    r, y = b.to_f64(x), b.to_f64(y)
    inverse = 1.0 / y
    for j in range(9, -1, -1):
        # |r| < 2^29 y 2^(28 j): a quotient of 29 bits, possibly off by one at ties
        shift = 2.0 ** (_STEP_F32 * j)
        q = b.round_even(r * (inverse * (1.0 / shift)))
        r = b.fma(-q, y * shift, r)
    return b.to_f32(b.select(r < 0.0, r + y, r))


def _fmod_f64(b: Builder, x: Value, y: Value) -> Value:
    """x mod y for x, y >= 0 by long division of the significands, 48 bits a step, each exact."""

    def split(v: Value) -> tuple[Value, Value]:
        """Significand in [1, 2) and exponent of v > 0."""
        tiny = v < 2.0**-1022
        v = b.select(tiny, v * 2.0**54, v)
        bits = b.bits(v)
        e = (bits >> 52) - b.select(tiny, b.iconst(1023 + 54), b.iconst(1023))
        return b.from_bits((bits & ((1 << 52) - 1)) | (1023 << 52)), e

    mx, ex = split(x)
    my, ey = split(y)
    distance = ex - ey
    less = distance < 0
    distance = b.select(less, 0, distance)
    inverse = 1.0 / my

    def reduce(r: Value) -> Value:
        return b.fma(-b.round_even(r * inverse), my, r)

    def step(r: Value, left: Value) -> tuple[Value, Value]:
        shift = b.select(left < _STEP_F64, left, _STEP_F64)
        return reduce(r * b.power_of_two(shift)), left - shift

    # quotients below 2 need no step; all at once would take 44
    r, _ = b.repeat_while(lambda r, left: left > 0, step, (reduce(mx), distance))
    r = b.select(r < 0.0, r + my, r)
    return b.select(less, x, b.scale(r, ey))


def fmod_(b: Builder, x: Value, y: Value) -> Value:
    """C's fmod: exact, with the sign of x; NaN for infinite x or y = 0."""
    ax, ay = b.abs(x), b.abs(y)
    usable = b.both(b.both(ax > 0.0, ax < INF), b.both(ay > 0.0, ay < INF))
    reduce = {"f32": _fmod_f32, "f64": _fmod_f64}[b.float]
    result = reduce(b, b.select(usable, ax, 1.0), b.select(usable, ay, 1.0))
    result = b.copysign(result, x)
    # x = 0 or y infinite: x; else invalid
    through = b.both(ax < INF, ay > 0.0)
    other = b.select(through, x, b.const(float("nan")))
    other = b.select(x.isnan() | y.isnan(), x + y, other)
    return b.select(usable, result, other)


def nextafter_(b: Builder, x: Value, y: Value) -> Value:
    """The float after x in the direction of y; y itself if they are equal."""
    bits = b.bits(x)
    up = y > x
    positive = x > 0.0
    step = b.select(
        up,
        b.select(positive, b.iconst(1), b.iconst(-1)),
        b.select(positive, b.iconst(-1), b.iconst(1)),
    )
    moved = b.from_bits(bits + step)
    smallest = b.from_bits((b.bits(y) & (-1 << (b.width - 1))) | 1)
    result = b.select(x.eq(0.0), smallest, moved)
    result = b.select(x.eq(y), y, result)
    return b.select(x.isnan() | y.isnan(), x + y, result)
