"""The regularized incomplete gamma functions and their derivative by the parameter. In f64.

Q is 1 - P. P is a power series where x is below a, Q a continued fraction above; where both are
slow, for large a near x, a uniform asymptotic expansion. The two loops end by convergence.
"""

from __future__ import annotations

import functools
from fractions import Fraction
from typing import NamedTuple

from .builder import INF, NAN, Builder, Value
from .coefficients import coefficients
from .error_function import erfc_
from .exponential import exp_, expm1_, log1p_, log_
from .gamma import digamma_, lgamma_, narrow, wide, widen
from .stirling import LARGE, excess, stirling_series

TWO_PI = float.fromhex("0x1.921fb54442d18p+2")
# the expansion is used for a above the first and |x/a - 1| below the second
_UNIFORM_A = 60.0
_UNIFORM_MU = 0.4
_ORDERS = 9  # powers of 1/a
_MAX_STEPS = 2000.0


@functools.cache
def _uniform_coefficients() -> tuple[tuple[float, ...], ...]:
    """Taylor coefficients by eta of c_0, c_1, ... of the uniform expansion (DLMF 8.12.9-8.12.11).

    With eta^2/2 = mu - log(1 + mu), mu as a power series in eta follows from mu mu' = eta (1 + mu).
    c_0 = 1/mu - 1/eta and c_k = c_(k-1)'/eta + (-1)^k g_k/mu, where the constant g_k, a coefficient
    of Stirling's series, is what cancels the pole at 0.
    """
    count = 26 + 2 * _ORDERS
    # mu = eta (m_0 + m_1 eta + ...)
    m = [Fraction(1)]
    for n in range(1, count):
        # the coefficient of eta^(n+1)
        known = sum(m[i] * m[n - i] * (n - i + 1) for i in range(1, n))
        m.append((m[n - 1] - known) / (n + 2))
    inverse = [Fraction(1)]  # eta/mu
    for n in range(1, count):
        inverse.append(-sum((m[i] * inverse[n - i] for i in range(1, n + 1)), Fraction(0)))
    c = inverse[1:]
    rows = [c]
    for _ in range(1, _ORDERS):
        pole = -c[1]
        c = [(n + 2) * c[n + 2] + pole * inverse[n + 1] for n in range(len(c) - 2)]
        rows.append(c)
    # |eta| < 0.48: what later terms add is below the last place of the sum
    kept = []
    for k, row in enumerate(rows):
        scale = _UNIFORM_A**-k
        last = max(n for n, v in enumerate(row) if abs(v) * scale * 0.48**n > 1e-18)
        kept.append(tuple(float(v) for v in row[: last + 1]))
    return tuple(kept)


class _Case(NamedTuple):
    """Arguments, with harmless ones in place of the special, and which method they get."""

    a: Value
    x: Value
    log_x: Value
    mu: Value
    excess: Value  # of mu
    uniform: Value
    series: Value
    fraction: Value


def _case(w: Builder, a: Value, x: Value) -> _Case:
    ordinary = w.both(w.both(a > 0.0, a < INF), w.both(x > 0.0, x < INF))
    a, x = w.select(ordinary, a, 1.0), w.select(ordinary, x, 1.0)
    log_x = log_(w, x)
    large = a >= LARGE
    # x/a does not overflow for large a
    ratio = x / w.select(large, a, 1.0)
    mu = (x - a) / w.select(large, a, 1.0)
    near = w.abs(mu) < _UNIFORM_MU
    uniform = w.both(a >= _UNIFORM_A, near)
    below = (x <= 1.0) | (x <= a + 0.5)
    not_uniform = uniform ^ w.constant(True, "i1")
    series = w.both(not_uniform, below)
    fraction = w.both(not_uniform, below ^ w.constant(True, "i1"))
    return _Case(a, x, log_x, mu, excess(w, mu, log_(w, ratio)), uniform, series, fraction)


def _log_gamma_1p(w: Builder, a: Value) -> Value:
    """log gamma(1 + a) for a > 0, to full relative accuracy for small a."""
    small = a <= 0.5
    t = w.select(small, a, 0.0)
    near = w.fma(t, w.horner(t, coefficients("LGAMMA_F64")), -log1p_(w, t))
    return w.select(small, near, lgamma_(w, a + 1.0))


def _density(w: Builder, case: _Case, log_gamma: Value) -> Value:
    """x^a e^-x / gamma(a + 1), given log gamma(a + 1)."""
    a, large = case.a, case.a >= LARGE
    far = w.select(large, a, LARGE)
    by_stirling = w.fma(-a, case.excess, -stirling_series(w, far))
    direct = w.fma(a, case.log_x, -case.x) - log_gamma
    scale = w.select(large, w.sqrt(far * TWO_PI), 1.0)
    return exp_(w, w.select(large, by_stirling, direct)) / scale


def _epsilon(b: Builder) -> float:
    """Relative size of a term that ends a loop."""
    return 2.0**-54 if b.float == "f64" else 2.0**-32


def _series(b: Builder, w: Builder, case: _Case) -> Value:
    """P / density: the sum of x^n / ((a+1) ... (a+n)) (DLMF 8.11.4); 1 outside its region."""
    epsilon = _epsilon(b)

    def step(n: Value, term: Value, total: Value) -> tuple[Value, ...]:
        term = term * (case.x / n)
        return n + 1.0, term, total + term

    start = (case.a + 1.0, w.const(1.0), w.const(1.0))
    return w.repeat_while(
        lambda n, term, total: w.both(case.series, term > total * epsilon), step, start
    )[2]


def _fraction(b: Builder, w: Builder, case: _Case) -> Value:
    """Q / (a density): the continued fraction with numerators n (a - n), denominators x - a + 1 + 2n.

    DLMF 8.9.2 contracted; evaluated by its differences (Steed's method).
    """
    epsilon = _epsilon(b)
    base = (case.x - case.a) + 1.0

    def step(n: Value, d: Value, change: Value, total: Value) -> tuple[Value, ...]:
        numerator = n * (case.a - n)
        new = 1.0 / w.fma(numerator, d, w.fma(n, 2.0, base))
        change = -(change * (numerator * d * new))
        return n + 1.0, new, change, total + change

    def more(n: Value, d: Value, change: Value, total: Value) -> Value:
        unfinished = w.both(w.abs(change) > total * epsilon, n < _MAX_STEPS)
        return w.both(case.fraction, unfinished)

    first = 1.0 / w.select(case.fraction, base, 1.0)
    return w.repeat_while(more, step, (w.const(1.0), first, first, first))[3]


def _uniform_sum(w: Builder, eta: Value, inverse_a: Value) -> Value:
    """The sum of c_k(eta) a^-k."""
    return w.horner(inverse_a, [w.horner(eta, row) for row in _uniform_coefficients()])


def _uniform_parts(w: Builder, case: _Case) -> tuple[Value, Value, Value]:
    """a and eta, replaced by harmless ones elsewhere, and a eta^2/2."""
    a = w.select(case.uniform, case.a, _UNIFORM_A)
    half_square = w.select(case.uniform, case.excess, 0.0)
    eta = w.copysign(w.sqrt(half_square * 2.0), case.mu)
    return a, eta, a * half_square


def _uniform(w: Builder, case: _Case, lower: bool) -> Value:
    """P or Q by DLMF 8.12.3-8.12.8: erfc(-+eta sqrt(a/2))/2 -+ R."""
    a, eta, exponent = _uniform_parts(w, case)
    y = w.copysign(w.sqrt(exponent), case.mu)
    rest = exp_(w, -exponent) / w.sqrt(a * TWO_PI) * _uniform_sum(w, eta, 1.0 / a)
    return erfc_(w, -y) * 0.5 - rest if lower else erfc_(w, y) * 0.5 + rest


def _invalid(w: Builder, a: Value, x: Value) -> Value:
    bad = (a < 0.0) | (x < 0.0) | w.both(a.eq(0.0), x.eq(0.0))
    return bad | a.isnan() | x.isnan()


def igamma_(b: Builder, a: Value, x: Value) -> Value:
    """P(a, x): NaN for negative a or x and for a = x = 0; 1 for a = 0 < x."""
    w = wide(b)
    a, x = widen(b, w, a), widen(b, w, x)
    case = _case(w, a, x)
    density = _density(w, case, _log_gamma_1p(w, case.a))
    below = density * _series(b, w, case)
    below = w.select(below > 1.0, 1.0, below)  # by rounding
    above = 1.0 - density * case.a * _fraction(b, w, case)
    result = w.select(case.uniform, _uniform(w, case, True), w.select(case.series, below, above))
    result = w.select(x.eq(0.0) | a.eq(INF), 0.0, result)
    result = w.select(a.eq(0.0) | x.eq(INF), 1.0, result)
    return narrow(b, w.select(_invalid(w, a, x), NAN, result))


def _small_parameter(b: Builder, w: Builder, case: _Case, log_gamma: Value, active: Value) -> Value:
    """Q for small a and x <= 1, from the alternating series of P (DLMF 8.7.1), with 1 taken out.

    P = x^a/gamma(a+1) (1 + a s) with s the sum of (-x)^k/(k! (a+k)), k >= 1.
    """
    epsilon = _epsilon(b)

    def step(k: Value, power: Value, term: Value, total: Value) -> tuple[Value, ...]:
        power = -(power * (case.x / k))
        term = power / (case.a + k)
        return k + 1.0, power, term, total + term

    one, zero = w.const(1.0), w.const(0.0)
    total = w.repeat_while(
        lambda k, power, term, total: w.both(active, w.abs(term) > w.abs(total) * epsilon),
        step,
        (one, one, one, zero),
    )[3]
    inside = w.select(active, w.fma(case.a, case.log_x, -log_gamma), 0.0)
    return -(expm1_(w, inside) + exp_(w, inside) * (case.a * total))


def igammac_(b: Builder, a: Value, x: Value) -> Value:
    """Q(a, x) = 1 - P(a, x), accurate where it is small."""
    w = wide(b)
    a, x = widen(b, w, a), widen(b, w, x)
    case = _case(w, a, x)
    log_gamma = _log_gamma_1p(w, case.a)
    density = _density(w, case, log_gamma)
    small = w.both(case.series, case.a < 0.5)
    below = 1.0 - density * _series(b, w, case)  # not near 0, see `small`
    below = w.select(small, _small_parameter(b, w, case, log_gamma, small), below)
    above = density * case.a * _fraction(b, w, case)
    result = w.select(case.uniform, _uniform(w, case, False), w.select(case.series, below, above))
    result = w.select(x.eq(0.0) | a.eq(INF), 1.0, result)
    result = w.select(a.eq(0.0) | x.eq(INF), 0.0, result)
    return narrow(b, w.select(_invalid(w, a, x), NAN, result))


def _series_slope(b: Builder, w: Builder, case: _Case) -> tuple[Value, Value]:
    """The sum of `_series` and its derivative by a."""
    epsilon = _epsilon(b)

    def step(n: Value, term: Value, total: Value, slope: Value, sloped: Value) -> tuple[Value, ...]:
        inverse = 1.0 / n
        ratio = case.x * inverse
        term = term * ratio
        slope = w.fma(slope, ratio, -(term * inverse))
        return n + 1.0, term, total + term, slope, sloped + slope

    def more(n: Value, term: Value, total: Value, slope: Value, sloped: Value) -> Value:
        unfinished = (term > total * epsilon) | (slope < sloped * epsilon)
        return w.both(case.series, unfinished)

    one, zero = w.const(1.0), w.const(0.0)
    _, _, total, _, sloped = w.repeat_while(more, step, (case.a + 1.0, one, one, zero, zero))
    return total, sloped


def _fraction_slope(b: Builder, w: Builder, case: _Case) -> tuple[Value, Value]:
    """The continued fraction of `_fraction` and its derivative by a."""
    epsilon = _epsilon(b)
    base = (case.x - case.a) + 1.0

    def step(
        n: Value, d: Value, dd: Value, change: Value, sloped_change: Value, h: Value, dh: Value
    ) -> tuple[Value, ...]:
        numerator = n * (case.a - n)
        new = 1.0 / w.fma(numerator, d, w.fma(n, 2.0, base))
        # the derivatives of numerator and denominator are n and -1
        product = w.fma(numerator, dd, n * d)
        new_dd = -(new * new) * (product - 1.0)
        factor = -(numerator * d * new)
        sloped_factor = -(product * new + numerator * d * new_dd)
        sloped_change = w.fma(change, sloped_factor, sloped_change * factor)
        change = change * factor
        return n + 1.0, new, new_dd, change, sloped_change, h + change, dh + sloped_change

    def more(
        n: Value, d: Value, dd: Value, change: Value, sloped_change: Value, h: Value, dh: Value
    ) -> Value:
        unfinished = w.abs(change) > h * epsilon
        unfinished = unfinished | (w.abs(sloped_change) > w.abs(dh) * epsilon)
        return w.both(case.fraction, w.both(unfinished, n < _MAX_STEPS))

    first = 1.0 / w.select(case.fraction, base, 1.0)
    slope = first * first
    state = w.repeat_while(more, step, (w.const(1.0), first, slope, first, slope, first, slope))
    return state[5], state[6]


def _uniform_slope(w: Builder, case: _Case) -> Value:
    """dP/da by differentiating the expansion of `_uniform`.

    At fixed x the derivative of a eta^2/2 is -log(x/a), so that of eta is -(rho + eta/2)/a with
    rho = log(x/a)/eta, and that of erfc(-eta sqrt(a/2))/2 is -rho e^(-a eta^2/2)/sqrt(2 pi a).
    """
    a, eta, exponent = _uniform_parts(w, case)
    log = log1p_(w, w.select(case.uniform, case.mu, 0.0))
    at_center = eta.eq(0.0)
    rho = w.select(at_center, 1.0, log / w.select(at_center, 1.0, eta))
    inverse = 1.0 / a
    rows = _uniform_coefficients()
    by_eta = [w.horner(eta, [n * c for n, c in enumerate(row)][1:]) for row in rows]
    by_a = [-float(k) * w.horner(eta, row) for k, row in enumerate(rows)]
    total = _uniform_sum(w, eta, inverse) * (log - inverse * 0.5)
    moved = w.horner(inverse, by_eta) * (-(rho + eta * 0.5)) + w.horner(inverse, by_a)
    bracket = rho + w.fma(moved, inverse, total)
    return -(exp_(w, -exponent) / w.sqrt(a * TWO_PI) * bracket)


def igamma_grad_a_(b: Builder, a: Value, x: Value) -> Value:
    """The derivative of P(a, x) by a: NaN unless a > 0 and x >= 0; 0 at x = 0 and x = infinity.

    No sum in it cancels: below a + 1/2 all terms of dP/da are negative, above all of dQ/da positive.
    """
    w = wide(b)
    a, x = widen(b, w, a), widen(b, w, x)
    case = _case(w, a, x)
    density = _density(w, case, _log_gamma_1p(w, case.a))
    log_ratio = case.log_x - digamma_(w, case.a + 1.0)
    total, sloped = _series_slope(b, w, case)
    below = density * w.fma(total, log_ratio, sloped)
    h, dh = _fraction_slope(b, w, case)
    above = -(density * w.fma(case.a, dh, h * w.fma(case.a, log_ratio, 1.0)))
    result = w.select(case.uniform, _uniform_slope(w, case), w.select(case.series, below, above))
    result = w.select(a.eq(INF), NAN, w.select(x.eq(INF), 0.0, result))
    result = w.select(x.eq(0.0), 0.0, result)
    return narrow(b, w.select(_invalid(w, a, x) | (a <= 0.0), NAN, result))
