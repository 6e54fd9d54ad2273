"""Pseudo-random numbers from explicit keys; the streams are JAX's, bit for bit."""

from lingon.frontend.random.keys import (
    PRNGKey,
    bits,
    clone,
    fold_in,
    key,
    key_data,
    key_impl,
    split,
    wrap_key_data,
)
from lingon.frontend.random.samplers import (
    bernoulli,
    cauchy,
    exponential,
    gumbel,
    laplace,
    logistic,
    normal,
    rademacher,
    randint,
    truncated_normal,
    uniform,
)
from lingon.frontend.random.selection import categorical, choice, permutation

__all__ = [
    "PRNGKey",
    "bernoulli",
    "bits",
    "categorical",
    "cauchy",
    "choice",
    "clone",
    "exponential",
    "fold_in",
    "gumbel",
    "key",
    "key_data",
    "key_impl",
    "laplace",
    "logistic",
    "normal",
    "permutation",
    "rademacher",
    "randint",
    "split",
    "truncated_normal",
    "uniform",
    "wrap_key_data",
]
