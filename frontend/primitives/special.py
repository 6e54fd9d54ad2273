"""Special functions: error functions, gamma and beta families, Bessel functions, zeta.

References come from SciPy, which is imported when one of them is first evaluated.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import dtypes
from ..core.avals import get_aval
from ..core.primitive import Primitive, Sample, absent
from ..core.rules import Zero, operand_jvps
from .arithmetic import BF16, F16, F32, add_p, mul, neg_p, select, sub_p, unary_samples
from .checks import nan_check
from .declare import FLOAT, const, elementwise, full_like, ops

add, sub, neg = add_p.bind, sub_p.bind, neg_p.bind


def _exp(x: Any) -> Any:
    return ops["exp"].bind(x, accuracy=None)


def _log(x: Any) -> Any:
    return ops["log"].bind(x, accuracy=None)


def _square(x: Any) -> Any:
    return ops["square"].bind(x)


def scipy_function(name: str) -> Callable[..., Any]:
    """`scipy.special.<name>`, imported at the first call."""

    def call(*args: Any) -> Any:
        from scipy import special

        return getattr(special, name)(*args)

    return call


def _unary(
    name: str,
    ref: Callable[..., Any],
    tangent: Callable[..., Any],
    low: float = -2.0,
    high: float = 2.0,
    special: bool = True,
) -> Primitive:
    return elementwise(
        name,
        (FLOAT,),
        ref,
        jvp=operand_jvps(tangent),
        transpose=absent("it is not linear"),
        samples=unary_samples(F32, BF16, F16, low=low, high=high, special=special),
        checkify=nan_check,
    )


# --- error functions -------------------------------------------------------------------------


def _gaussian(t: Any, x: Any, factor: float) -> Any:
    """factor e^(-x^2) t."""
    return mul(const(x, factor), mul(t, _exp(neg(_square(x)))))


_TWO_OVER_SQRT_PI = 2.0 / np.sqrt(np.pi)
erf_p: Primitive = _unary(
    "erf", scipy_function("erf"), lambda t, out, x: _gaussian(t, x, _TWO_OVER_SQRT_PI)
)
erfc_p: Primitive = _unary(
    "erfc", scipy_function("erfc"), lambda t, out, x: _gaussian(t, x, -_TWO_OVER_SQRT_PI)
)
erf_inv_p: Primitive = _unary(
    "erf_inv",
    lambda x: np.where(x == 0, x, scipy_function("erfinv")(x)),
    lambda t, out, x: mul(const(x, np.sqrt(np.pi) / 2.0), mul(t, _exp(_square(out)))),
    low=-0.9,
    high=0.9,
)

# --- gamma family ----------------------------------------------------------------------------


def _digamma_reference(x: np.ndarray) -> np.ndarray:
    out = scipy_function("psi")(x)
    return np.where((x <= 0) & (np.floor(x) == x), x.dtype.type(np.nan), out)


lgamma_p: Primitive = _unary(
    "lgamma",
    lambda x: np.where(np.isinf(x), x.dtype.type(np.inf), scipy_function("gammaln")(x)),
    lambda t, out, x: mul(t, digamma_p.bind(x)),
    low=0.5,
    high=4.0,
)
digamma_p: Primitive = _unary(
    "digamma",
    _digamma_reference,
    lambda t, out, x: mul(t, polygamma_p.bind(const(x, 1), x)),
    low=0.5,
    high=4.0,
)


def _binary_samples(low: float, high: float) -> list[Sample]:
    forms = [((3, 4), (3, 4)), ((), ()), ((0,), (0,)), ((5,), ())]
    return [Sample((a, d), (b, d), low=low, high=high) for a, b in forms for d in (F32, BF16, F16)]


def _polygamma_reference(m: np.ndarray, x: np.ndarray) -> np.ndarray:
    """psi^(m)(x) = (-1)^(m+1) m! zeta(m+1, x); digamma for m = 0; NaN for other m."""
    from scipy import special

    m, x = np.broadcast_arrays(m.astype(np.float64), x.astype(np.float64))
    whole = (m >= 0) & (np.floor(m) == m)
    sign = np.where(m % 2 == 0, -1.0, 1.0)
    higher = sign * special.gamma(m + 1) * special.zeta(m + 1, x)
    return np.where(whole, np.where(m == 0, _digamma_reference(x), higher), np.nan)


def _last_operand_jvp(f: Callable[..., Any], message: str) -> Any:
    """A rule for functions differentiable only in their last operand."""

    def jvp(primitive: Primitive, primals: Any, tangents: Any, params: dict) -> Any:
        if any(type(t) is not Zero for t in tangents[:-1]):
            raise ValueError(message)
        out = primitive.bind(*primals, **params)
        t = tangents[-1]
        return out, Zero.of(out) if type(t) is Zero else f(t, out, *primals)

    return jvp


polygamma_p: Primitive = elementwise(
    "polygamma",
    (FLOAT, FLOAT),
    _polygamma_reference,
    checkify=nan_check,
    jvp=_last_operand_jvp(
        lambda t, out, m, x: mul(t, polygamma_p.bind(add(m, const(m, 1)), x)),
        "polygamma gradient with respect to m is not supported",
    ),
    transpose=absent("it is not linear"),
    samples=lambda: [
        Sample(np.array(m, F32), ((4,), F32), low=0.5, high=4.0) for m in (0.0, 1.0, 2.0, 3.0)
    ],
)

zeta_p: Primitive = elementwise(
    "zeta",
    (FLOAT, FLOAT),
    scipy_function("zeta"),
    checkify=nan_check,
    jvp=absent("it has no derivative rule"),
    transpose=absent("it is not linear"),
    samples=lambda: _binary_samples(1.5, 4.0),
)


def _igamma_density(a: Any, x: Any) -> Any:
    """x^(a-1) e^-x / Gamma(a), the derivative of igamma by x."""
    exponent = add(neg(x), mul(sub(a, full_like(a, 1)), _log(x)))
    return _exp(sub(exponent, lgamma_p.bind(a)))


def _invalid_gamma(a: np.ndarray, x: np.ndarray, out: np.ndarray) -> np.ndarray:
    bad = (x < 0) | (a < 0) | ((a == 0) & (x == 0))
    return np.where(bad | np.isnan(a) | np.isnan(x), np.nan, out)


igamma_p: Primitive = elementwise(
    "igamma",
    (FLOAT, FLOAT),
    lambda a, x: _invalid_gamma(a, x, scipy_function("gammainc")(a, x)),
    checkify=nan_check,
    jvp=operand_jvps(
        lambda t, out, a, x: mul(t, igamma_grad_a_p.bind(a, x)),
        lambda t, out, a, x: mul(t, _igamma_density(a, x)),
    ),
    transpose=absent("it is not linear"),
    samples=lambda: _binary_samples(0.5, 4.0),
)

igammac_p: Primitive = elementwise(
    "igammac",
    (FLOAT, FLOAT),
    lambda a, x: _invalid_gamma(a, x, scipy_function("gammaincc")(a, x)),
    checkify=nan_check,
    jvp=operand_jvps(
        lambda t, out, a, x: neg(mul(t, igamma_grad_a_p.bind(a, x))),
        lambda t, out, a, x: neg(mul(t, _igamma_density(a, x))),
    ),
    transpose=absent("it is not linear"),
    samples=lambda: _binary_samples(0.5, 4.0),
)


def _igamma_grad_a_reference(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """d/da P(a, x), by integration over t of d/da of the density up to x.

    With t = x u^(1/a) the integral over u in [0, 1] has the smooth integrand
    x^a e^(-t) (log t - psi(a)) / Gamma(a + 1); the logarithm at 0 is tamed by u = v^4.
    """
    from scipy import special

    a, x = np.broadcast_arrays(a.astype(np.float64), x.astype(np.float64))
    nodes, weights = np.polynomial.legendre.leggauss(200)
    v, w = (nodes + 1) / 2, weights / 2
    u, du = v**4, 4 * v**3 * w
    aa, xx = a[..., None], x[..., None]
    t = xx * u ** (1 / aa)
    scale = aa * np.log(xx) - special.gammaln(aa + 1)
    out = np.sum(du * np.exp(scale - t) * (np.log(t) - special.psi(aa)), axis=-1)
    out = np.where(x == 0, 0.0, np.where(np.isinf(x), 0.0, out))
    return _invalid_gamma(a, x, np.where((a == 0) | np.isinf(a) & (x > 0), np.nan, out))


igamma_grad_a_p: Primitive = elementwise(
    "igamma_grad_a",
    (FLOAT, FLOAT),
    _igamma_grad_a_reference,
    checkify=nan_check,
    jvp=absent("it has no derivative rule"),
    transpose=absent("it is not linear"),
    samples=lambda: _binary_samples(0.5, 4.0),
)

# --- beta ------------------------------------------------------------------------------------


def _betainc_tangent(t: Any, out: Any, a: Any, b: Any, x: Any) -> Any:
    """x^(a-1) (1-x)^(b-1) / B(a, b) t."""
    one = const(x, 1)
    log1p = ops["log1p"].bind(neg(x), accuracy=None)
    log_beta = sub(add(lgamma_p.bind(a), lgamma_p.bind(b)), lgamma_p.bind(add(a, b)))
    powers = add(mul(sub(b, one), log1p), mul(sub(a, one), _log(x)))
    return mul(_exp(sub(powers, log_beta)), t)


regularized_incomplete_beta_p: Primitive = elementwise(
    "regularized_incomplete_beta",
    (FLOAT, FLOAT, FLOAT),
    scipy_function("betainc"),
    checkify=nan_check,
    jvp=_last_operand_jvp(
        _betainc_tangent, "Betainc gradient with respect to a and b not supported."
    ),
    transpose=absent("it is not linear"),
    samples=lambda: [
        Sample((s, F32), (s, F32), (s, F32), low=0.1, high=0.9) for s in [(3, 4), (), (0,)]
    ],
)

# --- Bessel ----------------------------------------------------------------------------------

bessel_i0e_p: Primitive = _unary(
    "bessel_i0e",
    scipy_function("i0e"),
    lambda t, out, x: mul(t, sub(bessel_i1e_p.bind(x), mul(ops["sign"].bind(x), out))),
)


def _bessel_i1e_tangent(t: Any, out: Any, x: Any) -> Any:
    """i0e(x) - i1e(x) (sign(x) + 1/x), which is 1/2 at zero."""
    dt: Any = get_aval(x).dtype  # type: ignore[attr-defined]
    eps = const(x, dtypes.finfo(dt).eps)
    nonzero = ops["gt"].bind(ops["abs"].bind(x), eps)
    safe = select(nonzero, x, full_like(x, dtypes.finfo(dt).eps))
    order_0, sign = ops["bessel_i0e"].bind(safe), ops["sign"].bind(safe)
    slope = sub(order_0, mul(out, add(sign, ops["integer_pow"].bind(safe, y=-1))))
    return mul(t, select(nonzero, slope, full_like(x, 0.5)))


bessel_i1e_p: Primitive = _unary(
    "bessel_i1e",
    lambda x: np.where(x == 0, x, scipy_function("i1e")(x)),
    _bessel_i1e_tangent,
)
