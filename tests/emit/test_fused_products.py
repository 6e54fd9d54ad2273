"""Products of the rows of products: the matrix between them is never whole."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import lingon
import lingon.numpy as lnp


def attention(lib, np_, masked):
    def f(q, k, v):
        scores = np_.einsum("bid,bjd->bij", q, k) / 4.0
        if masked:
            size = scores.shape[-2:]
            scores = np_.where(np_.tril(np_.ones(size, bool)), scores, -1e30)
        return np_.einsum("bij,bjd->bid", lib.nn.softmax(scores, axis=-1), v)

    return f


def operands(batch, rows, depth, seed=0):
    random = np.random.default_rng(seed)
    return [random.standard_normal((batch, rows, depth)).astype(np.float32) for _ in range(3)]


# 1031 is prime: the last block is smaller
@pytest.mark.parametrize("batch,rows", [(2, 768), (1, 1031)])
@pytest.mark.parametrize("masked", [False, True])
def test_attention_and_its_gradient(batch, rows, masked):
    args = operands(batch, rows, 16)
    ours, theirs = attention(lingon, lnp, masked), attention(jax, jnp, masked)
    np.testing.assert_allclose(
        lingon.jit(ours)(*args), jax.jit(theirs)(*args), rtol=2e-5, atol=2e-6
    )
    got = lingon.jit(lingon.grad(lambda *a: lnp.sum(ours(*a) ** 2), argnums=(0, 1, 2)))(*args)
    want = jax.jit(jax.grad(lambda *a: jnp.sum(theirs(*a) ** 2), argnums=(0, 1, 2)))(*args)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=2e-5)


def test_the_scores_are_no_temporary():
    args = operands(2, 1024, 16)
    compiled = lingon.jit(attention(lingon, lnp, False)).lower(*args).compile()
    scores = 2 * 1024 * 1024 * 4
    assert compiled.memory_analysis().temp_size_in_bytes < scores / 8


def test_results_that_are_used_besides():
    random = np.random.default_rng(1)
    a, b, c = (
        random.standard_normal(shape).astype(np.float32) / 8
        for shape in [(1500, 64), (64, 700), (700, 32)]
    )

    def f(np_):
        def chain(a, b, c):
            middle = np_.tanh(a @ b)
            out = middle @ c
            return out, np_.sum(middle, axis=0), np_.max(out, axis=1), middle

        return chain

    for got, want in zip(lingon.jit(f(lnp))(a, b, c), jax.jit(f(jnp))(a, b, c), strict=True):
        np.testing.assert_allclose(got, want, rtol=2e-4, atol=2e-4)


def test_attention_runs_on_all_threads():
    """A block's scores and probabilities are one buffer, on the stack of its thread."""
    args = operands(8, 512, 64)
    lowered = lingon.jit(attention(lingon, lnp, False)).lower(*args)
    assert "lingon_rt_parallel_for" in lowered.compile().as_text("loops")
    assert not [r for r in lowered.why() if r.kind == "serial loop"]
    assert lowered.compile().memory_analysis().temp_size_in_bytes < 1 << 18
