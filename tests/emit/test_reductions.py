"""Reductions against jax."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from emit_oracle import COMPLEX, DTYPES, FLOATS, check, dtype, emitted, normal
from jax import lax

SHAPES = (
    ((5, 7), (1,)), ((5, 7), (0,)), ((5, 7), (0, 1)), ((2, 3, 4), (0, 2)), ((0, 3), (0,)),
    ((3, 0), (0,)), ((1, 4), (0,)), ((6,), (0,)), ((3,), ()), ((4, 3, 1), (2,)),
)  # fmt: skip
TOLERANCE = {
    "float16": 4e-3, "bfloat16": 2e-2, "float32": 1e-5, "float64": 1e-13, "complex64": 2e-4,
    "complex128": 1e-12,
}  # fmt: skip


def reduction(name: str, axes):
    extra = {"out_sharding": None} if name == "sum" else {}
    primitive = getattr(lax, f"reduce_{name}_p")
    return lambda x: primitive.bind(x, axes=axes, **extra)


@pytest.mark.parametrize("name", DTYPES)
def test_all_shapes(name):
    operations = ["sum", "prod", "max", "min"]
    if name == "bool":
        operations = ["and", "or", "max", "min"]
    elif name in COMPLEX:
        operations = ["sum", "prod"]
    elif name not in FLOATS and "int4" not in name:
        operations += ["and", "or", "xor"]
    tolerance = TOLERANCE.get(name, 0.0)
    arrays = [normal(name, shape) for shape, _ in SHAPES]

    def every(*arrays):
        return [
            reduction(op, axes)(x)
            for op in operations
            for x, (_, axes) in zip(arrays, SHAPES, strict=True)
        ]

    check(every, *arrays, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", FLOATS)
def test_nan_infinity_and_signed_zero(name):
    x = np.array([[1, np.nan, 2], [-0.0, 0, -0.0], [np.inf, -np.inf, 3], [np.nan] * 3], dtype(name))
    check(lambda x: [f(x, axis=1) for f in (jnp.max, jnp.min, jnp.sum, jnp.prod)], x)


def test_narrow_sums_are_accumulated_in_f32():
    check(reduction("sum", (0,)), np.ones(1000, dtype("bfloat16")))


@pytest.mark.parametrize("name", [d for d in DTYPES if d not in COMPLEX and "int4" not in d])
def test_arg_extremes(name):
    arrays = [normal(name, n) for n in ((5, 7), (6,), (3, 1), (2, 3, 4))]

    def every(*arrays):
        return [
            f(x, axis, index)
            for x in arrays
            for f in (lax.argmax, lax.argmin)
            for axis in range(x.ndim)
            for index in ("int32", "uint8")
        ]

    check(every, *arrays)
    if name in FLOATS:
        nan, inf = np.nan, np.inf
        rows = [
            [1, nan, 2, nan],
            [-0.0, 0, -0.0, 0],
            [inf, -inf, 3, inf],
            [nan] * 4,
            [-inf] * 4,
            [inf] * 4,
        ]
        x = np.array(rows, dtype(name))
        check(lambda x: (lax.argmax(x, 1, "int32"), lax.argmin(x, 1, "int32")), x)
        many = np.tile(x, (20, 1))
        check(lambda x: (lax.argmax(x, 1, "int32"), lax.argmin(x, 1, "int32")), many)


@pytest.mark.parametrize("name", [n for n in DTYPES if n not in COMPLEX])
def test_argmax_of_few(name):
    """Along a short dimension of a large array, wherever that dimension is."""
    arrays = [normal(name, s) for s in ((7, 80), (9, 2, 30), (20, 5, 12))]
    for axis, x in enumerate(arrays):
        np.moveaxis(x, axis, 0)[:2] = 1  # the first of equal ones is found
    check(
        lambda *arrays: [
            f(x, axis, "int32") for axis, x in enumerate(arrays) for f in (lax.argmax, lax.argmin)
        ],
        *arrays,
    )


def test_argmax_of_few_is_one_loop():
    x = normal("float32", (100, 8))
    text = emitted(lambda x: lax.argmax(x + 1, 1, "int32"), x)
    assert text.count("linalg.generic") == 2


def test_generic_reduce():
    x = normal("float32", (8, 10))
    index = np.broadcast_to(np.arange(10, dtype=np.int32), (8, 10))

    def larger(a, b):
        keep = a[0] >= b[0]
        return jnp.where(keep, a[0], b[0]), jnp.where(keep, a[1], b[1])

    check(lambda x: lax.reduce(x, np.float32(3), jnp.maximum, (0,)), x)
    check(lambda x: lax.reduce(x > 0, False, lambda a, b: a ^ b, (0, 1)), x)
    check(
        lambda x, i: lax.reduce((x, i), (np.float32(-np.inf), np.int32(0)), larger, (1,)), x, index
    )
    check(
        lambda x: lax.reduce(x, np.array(1, x.dtype), lambda a, b: a + b, (0,)),
        normal("bfloat16", (4, 3)),
    )


def test_compositions():
    x = normal("float32", (8, 100))
    check(lambda x: jax.nn.softmax(x), x, rtol=1e-5)
    check(lambda x: (jnp.var(x, 0), jax.nn.logsumexp(x, 0)), x, rtol=1e-5)
    check(lambda x: (lambda y: (y.sum(1), y))(jnp.exp(x) * 2), x, rtol=1e-5)


def test_only_reader_takes_the_elementwise_body_in():
    text = emitted(lambda x: (jnp.exp(x) * 2).sum(1), normal("float32", (8, 100)))
    assert text.count("linalg.generic") == 1


def test_reductions_whose_inputs_lack_dimensions():
    x, i = np.arange(6, dtype=np.float32), np.array([1, 3, 2])
    for axes in (0, 1, (0, 1)):
        check(lambda x, i, a=axes: jnp.sin(x.reshape(3, 2)[i]).sum(a), x, i, rtol=1e-5)
        check(lambda x, a=axes: jnp.exp(jnp.broadcast_to(x[:, None], (6, 5))).sum(a), x, rtol=1e-5)
        check(lambda x, a=axes: (jnp.arange(30.0).reshape(6, 5) * 2).max(a) + x[0], x)
    check(lambda x: (jnp.arange(1000) * 2).sum() + x, x)


def test_reductions_of_one_element_that_are_broadcast():
    x, c = normal("float32", (1, 1)), np.arange(3, dtype=np.float32)[:, None]
    check(lambda x: jnp.broadcast_to(x.sum(0, keepdims=True) * 0.5, (3, 1, 1)), x)
    check(lambda x: jnp.broadcast_to((x @ x) * 0.05, (3, 1)), x, rtol=1e-6)
    check(lambda x, c: (x.max(0, keepdims=True) * 0.5 + c, (x.sum(1) * 0.5) * c), x, c)


def test_reductions_read_by_updates():
    x = normal("float32", (8, 8))

    def normalized(x):
        y = (x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 0.1)
        s = y.at[jnp.array([0, 5, 2])].max(1)
        z = lax.dynamic_update_slice(x, x[4:5] + 1, (0, 0))
        return jnp.sum(jnp.where(z > 0, z, y), axis=1), s

    def rolled(c, x):
        v = jnp.argmin(x, axis=0)
        return c.astype(jnp.float16)[jnp.abs(v % 5)], jnp.roll(v, -1, axis=0)

    check(normalized, x, rtol=1e-5, atol=1e-5)
    check(rolled, x[0, :5], x)
