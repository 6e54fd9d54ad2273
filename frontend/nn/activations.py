"""Activation functions."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import lax
from ..numpy import float_parts as s
from ..numpy import manipulation, selection
from ..numpy import ufuncs as u
from ..numpy.creation import fill_scalar
from ..numpy.util import asarray, aval_of, check_arraylike, promote_args_inexact
from ..transforms.custom_rules import custom_jvp
from ..transforms.eager_functions import eager_function
from ..transforms.jit import library_jit


def identity(x: Any) -> Any:
    """The input itself."""
    check_arraylike("identity", x)
    return asarray(x)


@custom_jvp
@library_jit
def relu(x: Any) -> Any:
    """max(x, 0); its derivative at 0 is 0."""
    return u.maximum(x, 0)


relu.defjvps(
    lambda g, ans, x: lax.select(
        lax.gt(x, fill_scalar(0, aval_of(x).dtype)), g, lax.full_like(g, 0)
    )
)
relu = eager_function(relu)


@library_jit
def squareplus(x: Any, b: Any = 4) -> Any:
    """(x + sqrt(x^2 + b)) / 2."""
    check_arraylike("squareplus", x, b)
    y = u.add(x, u.sqrt(u.add(u.square(x), b)))
    return u.divide(y, 2)


@library_jit
def softplus(x: Any) -> Any:
    """log(1 + exp(x))."""
    return s.logaddexp(x, 0)


@library_jit
def sparse_plus(x: Any) -> Any:
    """0 below -1, x above 1, (x + 1)^2 / 4 between."""
    x = asarray(x)
    return selection.where(x <= -1.0, 0.0, selection.where(x >= 1.0, x, (x + 1.0) ** 2 / 4))


@library_jit
def soft_sign(x: Any) -> Any:
    """x / (1 + |x|)."""
    x = asarray(x)
    return x / (u.abs(x) + 1)


@library_jit
def sigmoid(x: Any) -> Any:
    """1 / (1 + exp(-x))."""
    (x,) = promote_args_inexact("sigmoid", x)
    return lax.logistic(x)


@library_jit
def sparse_sigmoid(x: Any) -> Any:
    """0 below -1, 1 above 1, linear between."""
    return 0.5 * selection.clip(asarray(x) + 1.0, 0.0, 2.0)


@library_jit
def silu(x: Any) -> Any:
    """x * sigmoid(x)."""
    x = asarray(x)
    return x * sigmoid(x)


swish = silu


@library_jit
def mish(x: Any) -> Any:
    """x * tanh(softplus(x))."""
    x = asarray(x)
    return x * u.tanh(softplus(x))


@library_jit
def log_sigmoid(x: Any) -> Any:
    """log(sigmoid(x))."""
    check_arraylike("log_sigmoid", x)
    return -softplus(-asarray(x))


@library_jit
def elu(x: Any, alpha: Any = 1.0) -> Any:
    """x above 0, alpha * (exp(x) - 1) below."""
    x = asarray(x)
    safe = selection.where(x > 0, 0.0, x)
    return selection.where(x > 0, x, alpha * u.expm1(safe))


@library_jit
def leaky_relu(x: Any, negative_slope: Any = 1e-2) -> Any:
    """x above 0, negative_slope * x below."""
    x = asarray(x)
    return selection.where(x >= 0, x, negative_slope * x)


@library_jit
def hard_tanh(x: Any) -> Any:
    """x limited to [-1, 1]."""
    x = asarray(x)
    return selection.where(x > 1, 1, selection.where(x < -1, -1, x))


@library_jit
def celu(x: Any, alpha: Any = 1.0) -> Any:
    """x above 0, alpha * (exp(x / alpha) - 1) below."""
    return u.maximum(x, 0.0) + alpha * u.expm1(u.minimum(x, 0.0) / alpha)


@library_jit
def selu(x: Any) -> Any:
    """Scaled ELU, whose constants keep mean and variance (Klambauer et al., 2017)."""
    return 1.0507009873554804934193349852946 * elu(x, 1.6732632423543772848170429916717)


@library_jit(static_argnames=("approximate",))
def gelu(x: Any, approximate: bool = True) -> Any:
    """x times the normal distribution function, exactly or by a tanh (Hendrycks, Gimpel, 2016)."""
    (x,) = promote_args_inexact("gelu", x)
    if approximate:
        root = fill_scalar(np.sqrt(2 / np.pi), x.dtype)
        cdf = 0.5 * (1.0 + u.tanh(root * (x + 0.044715 * (x**3))))
        return x * cdf
    root = fill_scalar(np.sqrt(0.5), x.dtype)
    return 0.5 * x * lax.erfc(-x * root)


@library_jit(static_argnames=("axis",))
def glu(x: Any, axis: int = -1) -> Any:
    """The first half along an axis times the sigmoid of the second half."""
    check_arraylike("glu", x)
    x = asarray(x)
    n = x.shape[axis]
    if n % 2:
        raise ValueError(f"glu: axis {axis} must be of even size, got {n}")
    a, b = manipulation.split(x, 2, axis)
    return a * sigmoid(b)


@library_jit
def relu6(x: Any) -> Any:
    """x limited to [0, 6]."""
    return u.minimum(u.maximum(x, 0), 6.0)


@library_jit
def hard_sigmoid(x: Any) -> Any:
    """relu6(x + 3) / 6."""
    return relu6(asarray(x) + 3.0) / 6.0


@library_jit
def hard_silu(x: Any) -> Any:
    """x * hard_sigmoid(x)."""
    x = asarray(x)
    return x * hard_sigmoid(x)


hard_swish = hard_silu


@eager_function
def tanh(x: Any, /) -> Any:
    """Hyperbolic tangent."""
    return u.tanh(x)  # type: ignore[attr-defined]


@library_jit
def log1mexp(x: Any) -> Any:
    """log(1 - exp(-x)) for positive x, precise at both ends (Maechler, 2012)."""
    (x,) = promote_args_inexact("log1mexp", x)
    c = u.log(fill_scalar(2.0, x.dtype))
    return selection.where(x < c, u.log(-u.expm1(-x)), u.log1p(-u.exp(-x)))


__all__ = [
    "celu", "elu", "gelu", "glu", "hard_sigmoid", "hard_silu", "hard_swish", "hard_tanh", "identity",
    "leaky_relu", "log1mexp", "log_sigmoid", "mish", "relu", "relu6", "selu", "sigmoid", "silu",
    "soft_sign", "softplus", "sparse_plus", "sparse_sigmoid", "squareplus", "swish", "tanh",
]  # fmt: skip
