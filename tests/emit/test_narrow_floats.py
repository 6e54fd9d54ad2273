"""bf16 and f16 on CPUs with and without instructions for them: jit equals eager."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import lingon as jax
import lingon.numpy as jnp
from tests.emit.emit_oracle import cpu_features

features = cpu_features(
    "", "-avx512fp16,-avx512bf16", "-avx512f", "-avx512f,-avx2", "-avx512f,-avx2,-f16c"
)
PROGRAMS = {
    "exp": jnp.exp,
    "two functions": lambda a: jnp.tanh(jnp.sin(a)),
    "rows": lambda a: jnp.broadcast_to(a, (5, *a.shape)),
    "choice": lambda a: jnp.where(a > 0, a, 0).T,
    "sum": lambda a: a.sum(),
    "maximum": lambda a: a.max(0),
    "parts": lambda a: jnp.concatenate([a[::-1], jnp.roll(a, 1) * 2]),
    "loop": lambda a: jax.lax.fori_loop(0, 3, lambda i, c: c * 0.5 + a, a),
    "scan": lambda a: jax.lax.scan(lambda c, v: (c + 1, v), a[0], a)[1],
    "there and back": lambda a: a.astype(jnp.int32).astype(a.dtype),
}


@pytest.mark.parametrize("shape", [(1,), (5,), (7, 9), (64, 64)], ids=str)
@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_programs(features: str, name: str, shape: tuple[int, ...]) -> None:
    x = jnp.asarray(np.random.default_rng(0).normal(size=shape) * 2).astype(name)
    for program, f in PROGRAMS.items():
        compiled, eager = jax.jit(f)(x), f(x)
        assert compiled.dtype == eager.dtype
        np.testing.assert_allclose(
            np.asarray(compiled).astype(np.float64),
            np.asarray(eager).astype(np.float64),
            rtol=2e-2, atol=2e-2, err_msg=program,
        )  # fmt: skip


@pytest.mark.parametrize("wide", ["float32", "float64"])
@pytest.mark.parametrize("name", ["bfloat16", "float16"])
def test_roundings(features: str, name: str, wide: str) -> None:
    """To the nearest, ties to even, once: also from f64, with every kind of special value."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=20_000) * 10.0 ** rng.uniform(-9, 6, 20_000)
    edges = [np.inf, -np.inf, np.nan, 0.0, -0.0, 65504.0, 65519.99, 65520.0, 2.0**-24, 2.0**-25]
    ties = [
        1 + 2.0**-11,
        1 + 2.0**-11 + 2.0**-40,
        1 + 2.0**-8,
        1 + 2.0**-8 + 2.0**-40,
        2.0**-25 * 1.0000001,
    ]
    x = np.concatenate([x, edges, ties]).astype(wide)
    narrow = np.dtype(np.float16 if name == "float16" else ml_dtypes.bfloat16)
    with np.errstate(over="ignore"), jax.enable_x64(True):
        expected = x.astype(narrow)
        if name == "bfloat16" and wide == "float64":  # ml_dtypes rounds to f32 first
            expected = None
        got = np.asarray(jax.jit(lambda a: a.astype(name))(x))
        back = np.asarray(jax.jit(lambda a: a.astype(wide))(got))
    if expected is not None:
        same = (got.view(np.uint16) == expected.view(np.uint16)) | (np.isnan(x) & np.isnan(got))
        assert same.all()
    np.testing.assert_array_equal(back, got.astype(wide))


@pytest.mark.parametrize("name", ["bfloat16", "float16", "int8", "uint16"])
def test_one_element_behind_the_vectors(features: str, name: str) -> None:
    """It is written, and nothing behind it."""

    def f(x: jax.Array) -> jax.Array:
        x = x + x.astype("float32").astype(x.dtype) // 2
        return x.at[0].max(x[-1])

    for columns in (17, 18, 33, 65, 129):
        x = jnp.asarray(np.random.default_rng(columns).integers(0, 50, (7, columns))).astype(name)
        np.testing.assert_array_equal(jax.jit(f)(x), f(x))
