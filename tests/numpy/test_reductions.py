"""Reductions, NaN reductions, order statistics and cumulative functions against jax."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from jax_oracle import check
from numpy_data import ALL, BF16, BOOL, C64, F16, F32, I8, I32, U8, array, product, sample, special

import lingon.numpy as lnp

PLAIN = "sum prod max min amax amin all any mean var std ptp count_nonzero".split()
NAN = "nansum nanprod nanmax nanmin nanmean nanvar nanstd".split()
ARG = "argmax argmin nanargmax nanargmin".split()
CUMULATIVE = "cumsum cumprod nancumsum nancumprod".split()
ORDER = "median nanmedian".split()
QUANTILES = "quantile percentile nanquantile nanpercentile".split()

SHAPES = ((2, 3), (4,), (), (2, 0, 3), (1, 1), (2, 3, 4))


def _f(name: str) -> tuple:
    return getattr(jnp, name), getattr(lnp, name)


def _with_nans(shape: tuple, dtype: np.dtype, *key: object) -> np.ndarray:
    x = array(shape, dtype, "nan", *key)
    if x.dtype.kind in "fcV" and x.size > 1:
        x.reshape(-1)[:: max(x.size // 2, 1)] = np.nan
    return x


@pytest.mark.parametrize("name", [*PLAIN, *NAN])
def test_reductions(name: str, full: bool) -> None:
    f, g = _f(name)
    check(f, g, _with_nans((2, 3), F32, name), axis=1)
    cases = product(ALL, SHAPES, (None, 0, -1, (0, 1)), (False, True))
    for dt, shape, axis, keepdims in sample(cases, 3, full, name):
        check(f, g, _with_nans(shape, dt, name), axis=axis, keepdims=keepdims, jit=full)


@pytest.mark.parametrize("name", [*PLAIN, *NAN])
def test_special_values(name: str, full: bool) -> None:
    f, g = _f(name)
    for dt in sample((F32, I8, U8, BOOL), 2, full, name):
        check(f, g, special(dt)[:6], jaxpr=False, jit=full)


@pytest.mark.parametrize("name", ["sum", "prod", "mean", "var", "std", "nansum", "nanmean"])
def test_dtype_argument(name: str, full: bool) -> None:
    f, g = _f(name)
    outs = (F32, F16, C64) if name in ("var", "std") else (F32, F16, I32, C64)
    for dt, out in sample(product((F32, BF16, I8, BOOL), outs), 3, full, name):
        check(f, g, array((2, 3), dt, name), dtype=out, jit=full)


@pytest.mark.parametrize("name", [*PLAIN[:-2], *NAN])
def test_where_and_initial(name: str, full: bool) -> None:
    f, g = _f(name)
    x, mask = _with_nans((2, 3), F32, name), array((2, 3), BOOL, name)
    with_initial = name in (
        "sum",
        "prod",
        "max",
        "min",
        "amax",
        "amin",
        "nansum",
        "nanmax",
        "nanmin",
    )
    if with_initial:
        check(f, g, x, axis=0, initial=1.0, where=mask)
        check(f, g, array((2, 3), I32), initial=2, jit=full)
    check(f, g, x, axis=1, where=mask, jit=full)
    check(f, g, x, where=mask[:, :1], jit=full)


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_degrees_of_freedom(name: str, full: bool) -> None:
    f, g = _f(name)
    for ddof in (1, 3, 5):
        check(f, g, array((3,), F32, name), ddof=ddof, jit=full)
    check(f, g, array((3,), C64, name), jit=full)
    if not name.startswith("nan"):
        check(f, g, array((3,), F32, name), correction=1, jit=full)
        check(f, g, array((3,), F32, name), ddof=1, correction=1)


@pytest.mark.parametrize("name", ARG)
def test_arg_reductions(name: str, full: bool) -> None:
    f, g = _f(name)
    check(f, g, _with_nans((2, 3), F32, name))
    cases = product(ALL, SHAPES, (None, 0, -1), (None, True))
    for dt, shape, axis, keepdims in sample(cases, 2, full, name):
        check(f, g, _with_nans(shape, dt, name), axis=axis, keepdims=keepdims, jit=full)


@pytest.mark.parametrize("name", CUMULATIVE)
def test_cumulative(name: str, full: bool) -> None:
    f, g = _f(name)
    check(f, g, _with_nans((2, 3), F32, name))
    for dt, shape, axis in sample(product(ALL, SHAPES, (None, 0, -1)), 4, full, name):
        check(f, g, _with_nans(shape, dt, name), axis=axis, jit=full)
    check(f, g, array((3,), I8, name), dtype=F32, jit=full)


@pytest.mark.parametrize("name", ["cumulative_sum", "cumulative_prod"])
def test_cumulative_of_the_array_api(name: str, full: bool) -> None:
    f, g = _f(name)
    for dt, first in product((F32, I8), (False, True)):
        check(f, g, array((4,), dt, name), include_initial=first, jit=full)
    check(f, g, array((2, 3), F32), axis=1, jit=full)
    check(f, g, array((2, 3), F32))


@pytest.mark.parametrize("name", ORDER)
def test_medians(name: str, full: bool) -> None:
    f, g = _f(name)
    check(f, g, array((5,), F32, name))
    cases = product((F32, F16, BF16, I32), ((2, 3), (4,), (2, 3, 4)), (None, 0, -1), (False, True))
    for dt, shape, axis, keepdims in sample(cases, 2, full, name):
        same = dt == F32 and not (keepdims and name.startswith("nan"))
        x = _with_nans(shape, dt, name)
        check(f, g, x, axis=axis, keepdims=keepdims, jaxpr=same, jit=full)


@pytest.mark.parametrize("name", QUANTILES)
def test_quantiles(name: str, full: bool) -> None:
    f, g = _f(name)
    scale = 100.0 if name.endswith("percentile") else 1.0
    qs = (0.3 * scale, np.array([0.0, 0.25, 1.0], F32) * np.float32(scale))
    methods = ("linear", "lower", "higher", "midpoint", "nearest")
    cases = product(
        (F32, BF16, I32), ((2, 3), (5,)), qs, (None, 0, (0, -1)), methods, (False, True)
    )
    for dt, shape, q, axis, method, keepdims in sample(cases, 2, full, name):
        if isinstance(axis, tuple) and len(shape) == 1:
            axis = 0
        x = _with_nans(shape, dt, name)
        # jax converts q at another place for 16-bit floats, and keeps axes of NaN counts
        same = dt == F32 and not (keepdims and name.startswith("nan"))
        check(f, g, x, q, axis=axis, method=method, keepdims=keepdims, jaxpr=same, jit=full)
    check(f, g, array((3,), F32), 0.5 * scale, method="other")
    check(f, g, array((3,), C64), 0.5 * scale)


def test_average(full: bool) -> None:
    f, g = _f("average")
    x = array((2, 3), F32)
    check(f, g, x)
    check(f, g, x, axis=0, weights=array((2,), F32, "w", low=1))
    check(f, g, x, weights=array((2, 3), F32, "w", low=1), returned=True, jit=full)
    check(f, g, array((2, 3), I32), axis=1, returned=True, keepdims=True, jit=full)
    check(f, g, x, weights=array((2,), F32))
    check(f, g, x, axis=0, weights=array((3,), F32))


@pytest.mark.parametrize("name", [*PLAIN, *NAN, *ARG, *CUMULATIVE])
def test_errors(name: str) -> None:
    f, g = _f(name)
    x = array((2, 3), F32)
    check(f, g, x, axis=2)
    check(f, g, "a")
    check(f, g, [1.0, 2.0])
    if name != "count_nonzero":
        check(f, g, x, out=1)
    if name not in CUMULATIVE and name not in ARG:
        check(f, g, x, axis=(0, 0))


@pytest.mark.parametrize(
    "name", [*PLAIN, *NAN, *ARG, *CUMULATIVE, *ORDER, "average", "trace", "sort"]
)
@pytest.mark.parametrize("value", [1.0, 3])
@pytest.mark.parametrize("shape", [(), (2, 2)])
def test_weak_types(name: str, value: float, shape: tuple) -> None:
    """A reduction of weakly typed values is strongly typed; what keeps the shape may be weak."""
    if shape == () and name in ("trace", "sort"):
        return
    f, g = _f(name)
    theirs, ours = f(jnp.full(shape, value)), g(lnp.full(shape, value))
    assert (ours.dtype, ours.weak_type) == (theirs.dtype, theirs.weak_type)
