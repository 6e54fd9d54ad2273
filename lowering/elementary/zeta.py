"""The Hurwitz zeta function and polygamma. In f64; a loop sums the first terms."""

from __future__ import annotations

import math

from .builder import INF, NAN, Builder, Value
from .gamma import digamma_, narrow, wide, widen
from .power import powf_
from .stirling import bernoulli

_FACTORIALS = 171  # the factorials that f64 holds
_TERMS = 12


def _hurwitz(b: Builder, w: Builder, s: Value, q: Value, active: Value) -> Value:
    """The sum of (q+k)^-s for s > 1, q > 0, by the Euler-Maclaurin formula (DLMF 25.11.7).

    Terms are added up to q + k >= 10 + s, where the formula converges fast for every s, or until
    they no longer count. Where not active, any number.
    """
    epsilon = 2.0**-56 if b.float == "f64" else 2.0**-32
    s, q = w.select(active, s, 2.0), w.select(active, q, 20.0)
    end = s + 10.0

    def more(at: Value, term: Value, total: Value) -> Value:
        return w.both(at < end, term > total * epsilon)

    def step(at: Value, term: Value, total: Value) -> tuple[Value, ...]:
        term = powf_(w, at, -s)
        return at + 1.0, term, total + term

    at, _, total = w.repeat_while(more, step, (q, w.const(1.0), w.const(0.0)))
    reached = at >= end
    at = w.select(reached, at, end)
    inverse = 1.0 / at
    numbers = bernoulli(2 * _TERMS)
    # sum of B_2j/(2j)! s (s+1) ... (s+2j-2) / at^(2j-1), innermost last
    bracket = w.const(0.0)
    for j in range(_TERMS, 0, -1):
        c = float(numbers[2 * j] / math.factorial(2 * j))
        factor = (s + float(2 * j - 2)) * inverse
        if j > 1:
            factor = factor * ((s + float(2 * j - 3)) * inverse)
        bracket = (bracket + c) * factor
    power = powf_(w, at, -s)
    tail = w.fma(power, bracket + 0.5, power * at / (s - 1.0))
    return w.select(reached, total + tail, total)


def _zeta(b: Builder, w: Builder, s: Value, q: Value) -> Value:
    """zeta(s, q) for all arguments, in f64.

    A negative q is q = -m + f: the terms below zero are (-1)^s (k - f)^-s, k = 1 ... m, whose sum
    is zeta(s, 1-f) - zeta(s, 1-q).
    """
    finite = w.both(s < INF, w.abs(q) < INF)
    valid = w.both(finite, s > 1.0)
    negative = w.both(valid, q < 0.0)
    magnitude = w.select(negative, -q, 1.5)
    g = magnitude - w.floor(magnitude)  # 1 - f
    pole = w.both(q <= 0.0, w.floor(q).eq(q))
    above = w.both(negative, g > 0.0)
    ordinary = above | w.both(valid, q > 0.0)
    head = _hurwitz(b, w, s, w.select(above, 1.0 - g, q), ordinary)
    mirrored = _hurwitz(b, w, s, g, above)
    rest = _hurwitz(b, w, s, magnitude + 1.0, above)
    half = s * 0.5
    even = w.floor(half).eq(half)
    whole = w.floor(s).eq(s)
    # for odd s the first two nearly cancel where f is near 1/2
    both_sides = w.select(even, (head + mirrored) - rest, (head - mirrored) + rest)
    result = w.select(above, both_sides, head)
    bad = w.both(negative, whole ^ w.constant(True, "i1")) | (valid ^ w.constant(True, "i1"))
    result = w.select(bad | q.isnan(), NAN, result)
    result = w.select(pole, w.select(w.both(even, w.abs(s) < INF), INF, NAN), result)
    return w.select(s.eq(1.0), INF, result)


def zeta_(b: Builder, s: Value, q: Value) -> Value:
    """The Hurwitz zeta function: NaN for s < 1, infinite for s = 1.

    For q <= 0: infinite or NaN at integers (s even or not), NaN elsewhere unless s is an integer.
    """
    w = wide(b)
    return narrow(b, _zeta(b, w, widen(b, w, s), widen(b, w, q)))


def _factorials() -> list[float]:
    return [float(math.factorial(n)) for n in range(_FACTORIALS)]


def polygamma_(b: Builder, m: Value, x: Value) -> Value:
    """The m-th derivative of digamma, (-1)^(m+1) m! zeta(m+1, x) (DLMF 5.15, 25.11.12).

    NaN unless m is a whole number and not negative.
    """
    w = wide(b)
    m, x = widen(b, w, m), widen(b, w, x)
    inside = w.both(m >= 0.0, m < float(_FACTORIALS))
    _, index = w.round_to_int(w.select(inside, m, 0.0))
    factorial = w.load("lingon_factorials", _factorials, index)
    factorial = w.select(m >= float(_FACTORIALS), INF, factorial)
    half = m * 0.5
    even = w.floor(half).eq(half)
    result = factorial * _zeta(b, w, m + 1.0, x)
    result = w.select(even, -result, result)
    result = w.select(m.eq(0.0), digamma_(w, x), result)
    whole = w.both(m >= 0.0, w.floor(m).eq(m))
    return narrow(b, w.select(whole, result, NAN))
