"""What is computed from the rows of a product runs inside of its kernel, on the rows that are done."""

import numpy as np
import pytest

import lingon as jax
import lingon.numpy as jnp
from lingon import nn

RNG = np.random.default_rng(0)


def _arrays(*shapes, dtype=np.float32):
    return [jnp.asarray((RNG.standard_normal(s) / 4).astype(dtype)) for s in shapes]


def _loops_text(f, *xs):
    return jax.jit(f).lower(*xs).compile().as_text("loops")


FUNCTIONS = {
    "bias": lambda x, w, b: x @ w + b,
    "relu": lambda x, w, b: nn.relu(x @ w + b),
    "tanh": lambda x, w, b: jnp.tanh(x @ w + b),
    "softmax": lambda x, w, b: nn.softmax(x @ w + b),
    "two results": lambda x, w, b: (x @ w, jnp.exp(x @ w + b)),
    "sums of rows": lambda x, w, b: jnp.sum(jnp.cos(x @ w + b), axis=-1),
}


@pytest.mark.parametrize("name", ["bias", "relu", "tanh", "softmax", "two results", "sums of rows"])
@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ((256, 64, 128), np.float32),
        ((1001, 70, 130), np.float32),
        ((300, 65, 257), np.float64),
        ((12, 512, 640), np.float32),
        ((1024, 300, 1040), np.float32),
        ((4000, 300, 400), np.float32),
        ((700, 0, 96), np.float32),
    ],
)
@pytest.mark.parametrize("threads", [1, 2])
def test_values(name, shape, dtype, threads):
    from lingon import runtime

    m, k, n = shape
    jax.config.update("jax_enable_x64", dtype == np.float64)
    before = runtime.num_threads()
    try:
        runtime.set_num_threads(threads)
        x, w, b = _arrays((m, k), (k, n), (n,), dtype=dtype)
        f = FUNCTIONS[name]
        given = jax.jit(f)(x, w, b)
        with jax.disable_jit():
            wanted = f(x, w, b)
    finally:
        runtime.set_num_threads(before)
        jax.config.update("jax_enable_x64", False)
    tolerance = 1e-5 if dtype == np.float32 else 1e-12
    for a, e in zip(jax.tree.leaves(given), jax.tree.leaves(wanted), strict=True):
        np.testing.assert_allclose(np.asarray(a), np.asarray(e), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("name", ["bias", "tanh", "softmax"])
def test_kernel_calls_the_loop(name):
    x, w, b = _arrays((256, 128), (128, 512), (512,))
    text = _loops_text(FUNCTIONS[name], x, w, b)
    assert "call @lingon_rt_parallel_for" not in text
    assert "memref<256xi8>" in text  # the function's iterations: rows
    # The product lies in the result: no temporary of its size.
    assert (
        jax.jit(FUNCTIONS[name]).lower(x, w, b).compile().memory_analysis().temp_size_in_bytes
        < 16384
    )


@pytest.mark.parametrize(
    "f",
    [
        lambda x, w, b: jnp.tanh((x @ w).T + 1),  # columns
        lambda x, w, b: jnp.tanh((x @ w)[::-1] + b),  # other rows
        lambda x, w, b: jnp.tanh(x @ w + (x @ w)[0]),  # a row for all
    ],
)
def test_loops_over_other_parts_run_behind(f):
    x, w, b = _arrays((256, 128), (128, 512), (512,))
    assert "memref<256xi8>" not in _loops_text(f, x, w, b)
    with jax.disable_jit():
        wanted = f(x, w, b)
    np.testing.assert_allclose(jax.jit(f)(x, w, b), wanted, rtol=1e-5, atol=1e-5)


def test_operands_are_not_overwritten_while_they_are_needed():
    """The loop's result takes the buffer of an operand, or its memory."""

    def f(x, w, b):
        y = jnp.sin(x)
        z = jnp.tanh(y @ w + b)  # may lie where y was
        return jnp.cos(z @ w) + b

    x, w, b = _arrays((512, 256), (256, 256), (256,))
    with jax.disable_jit():
        wanted = f(x, w, b)
    np.testing.assert_allclose(jax.jit(f)(x, w, b), wanted, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(
        jax.jit(f, donate_argnums=0)(jnp.array(x), w, b), wanted, rtol=1e-5, atol=1e-5
    )


def test_batches_and_narrow_types():
    x, w, b = _arrays((16, 96, 64), (16, 64, 128), (16, 96, 128))
    f = lambda x, w, b: nn.relu(x @ w + b)
    np.testing.assert_allclose(
        jax.jit(f)(x, w, b), np.maximum(np.asarray(x) @ np.asarray(w) + np.asarray(b), 0),
        rtol=1e-5, atol=1e-5,
    )  # fmt: skip
    x, w = _arrays((500, 128), (128, 200), dtype=jnp.bfloat16)
    g = lambda x, w: jnp.tanh(jax.lax.dot(x, w, preferred_element_type=jnp.float32))
    wanted = np.tanh(np.asarray(x, np.float32) @ np.asarray(w, np.float32))
    np.testing.assert_allclose(jax.jit(g)(x, w), wanted, rtol=1e-3, atol=1e-3)


def test_a_gradient_step():
    def step(w, x, y):
        loss = lambda w: jnp.mean((nn.relu(x @ w) - y) ** 2)
        return w - 0.1 * jax.grad(loss)(w)

    w, x, y = _arrays((128, 256), (512, 128), (512, 256))
    with jax.disable_jit():
        wanted = step(w, x, y)
    np.testing.assert_allclose(jax.jit(step)(w, x, y), wanted, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(
        jax.jit(step, donate_argnums=0)(jnp.array(w), x, y), wanted, rtol=1e-5, atol=1e-6
    )
