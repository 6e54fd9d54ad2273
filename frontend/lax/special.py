"""Special functions, for real floating-point arrays."""

from __future__ import annotations

from typing import Any

from ..primitives.arithmetic import add_p, div_p, mul, neg_p, sub_p
from ..primitives.declare import full_like
from ..primitives.special import (
    bessel_i0e_p,
    bessel_i1e_p,
    digamma_p,
    erf_inv_p,
    erf_p,
    erfc_p,
    igamma_grad_a_p,
    igamma_p,
    igammac_p,
    lgamma_p,
    polygamma_p,
    regularized_incomplete_beta_p,
    zeta_p,
)
from ..primitives.transcendental import exp_p, log_p
from ..transforms.eager_functions import eager_function


@eager_function
def erf(x: Any) -> Any:
    """Error function."""
    return erf_p.bind(x)


@eager_function
def erfc(x: Any) -> Any:
    """1 - erf(x), precise for large `x`."""
    return erfc_p.bind(x)


@eager_function
def erf_inv(x: Any) -> Any:
    """Inverse of the error function."""
    return erf_inv_p.bind(x)


@eager_function
def lgamma(x: Any) -> Any:
    """Logarithm of the absolute value of the gamma function."""
    return lgamma_p.bind(x)


@eager_function
def digamma(x: Any) -> Any:
    """Derivative of `lgamma`; NaN at zero and negative integers."""
    return digamma_p.bind(x)


@eager_function
def polygamma(m: Any, x: Any) -> Any:
    """The m-th derivative of `digamma` (a float with a whole value)."""
    return polygamma_p.bind(m, x)


@eager_function
def zeta(x: Any, q: Any) -> Any:
    """Hurwitz zeta function: the sum of (k + q)^-x over k >= 0."""
    return zeta_p.bind(x, q)


@eager_function
def igamma(a: Any, x: Any) -> Any:
    """Regularized lower incomplete gamma function."""
    return igamma_p.bind(a, x)


@eager_function
def igammac(a: Any, x: Any) -> Any:
    """Regularized upper incomplete gamma function."""
    return igammac_p.bind(a, x)


@eager_function
def igamma_grad_a(a: Any, x: Any) -> Any:
    """Derivative of `igamma` by `a`."""
    return igamma_grad_a_p.bind(a, x)


@eager_function
def random_gamma_grad(*args: Any) -> Any:
    """Derivative by `a` of a sample `x` of the gamma distribution: `random_gamma_grad(a, x)`."""
    a, x = args
    one = full_like(a, 1)
    exponent = add_p.bind(neg_p.bind(x), mul(sub_p.bind(a, one), log_p.bind(x, accuracy=None)))
    density = exp_p.bind(sub_p.bind(exponent, lgamma_p.bind(a)), accuracy=None)
    return neg_p.bind(div_p.bind(igamma_grad_a_p.bind(a, x), density))


@eager_function
def betainc(a: Any, b: Any, x: Any) -> Any:
    """Regularized incomplete beta function."""
    return regularized_incomplete_beta_p.bind(a, b, x)


@eager_function
def bessel_i0e(x: Any) -> Any:
    """e^-|x| times the modified Bessel function of order 0."""
    return bessel_i0e_p.bind(x)


@eager_function
def bessel_i1e(x: Any) -> Any:
    """e^-|x| times the modified Bessel function of order 1."""
    return bessel_i1e_p.bind(x)


__all__ = [
    "bessel_i0e",
    "bessel_i1e",
    "betainc",
    "digamma",
    "erf",
    "erf_inv",
    "erfc",
    "igamma",
    "igamma_grad_a",
    "igammac",
    "lgamma",
    "polygamma",
    "random_gamma_grad",
    "zeta",
]
