"""Contractions against jax."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from emit_oracle import DTYPES, check, dtype, emitted, run, trace
from jax import lax

from lingon import runtime
from lingon.lowering import compile_jaxpr

RTOL = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-5, "float64": 1e-12, "complex64": 2e-5}


def array(shape, name="float32", seed=0):
    random = np.random.default_rng(seed)
    if name == "bool":
        return random.random(shape) > 0.6
    t = dtype(name)
    if t.kind == "c":
        return (random.standard_normal(shape) + 1j * random.standard_normal(shape)).astype(t)
    if t.kind in "iu" or "int4" in name:
        return random.integers(0, 7, shape).astype(t)
    return random.standard_normal(shape).astype(t)


def tolerance(name, depth):
    return {"rtol": RTOL.get(name, 1e-12), "atol": RTOL.get(name, 1e-12) * max(depth, 1) ** 0.5}


@pytest.mark.parametrize("name", [d for d in DTYPES if "int4" not in d])
@pytest.mark.parametrize(
    "m,n,k",
    [(2, 3, 2), (8, 9, 10), (33, 17, 40), (1, 40, 30), (40, 1, 30), (5, 6, 600), (9, 20, 1)],
)
def test_matrix_product(name, m, n, k):
    check(lambda a, b: a @ b, array((m, k), name), array((k, n), name, 1), **tolerance(name, k))


@pytest.mark.parametrize("name", ["int4", "uint4"])
def test_4_bit_integers_are_summed_in_32_bits(name):
    a, b = array((9, 12), name), array((12, 10), name, 1)
    dims = (((1,), (0,)), ((), ()))
    (ours,) = run(lambda a, b: lax.dot_general(a, b, dims, preferred_element_type=jnp.int32), a, b)
    np.testing.assert_array_equal(ours, a.astype(np.int32) @ b.astype(np.int32))


@pytest.mark.parametrize(
    "lhs,rhs,result",
    [
        ("int8", "int8", "int32"), ("uint8", "uint8", "uint32"), ("bfloat16", "bfloat16", "float32"),
        ("float16", "float16", "float32"), ("int8", "int8", "float32"), ("float32", "float32", "float64"),
        ("int16", "int16", "int64"), ("float32", "complex64", "complex64"), ("bfloat16", "float32", "float32"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("size", [3, 30])
def test_preferred_element_type(lhs, rhs, result, size):
    a, b = array((size, size), lhs), array((size, size), rhs, 1)
    dims = (((1,), (0,)), ((), ()))
    check(
        lambda a, b: lax.dot_general(a, b, dims, preferred_element_type=result),
        a, b, **tolerance("float32", size),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(60))
def test_dot_general_in_general(seed):
    random = np.random.default_rng(seed)
    counts = random.integers(0, 3, 4)
    largest = 4 if counts.sum() > 4 else 12
    sizes = {
        f"{role}{i}": int(random.integers(1, largest + 1))
        for role, count in zip("bkmn", counts, strict=True)
        for i in range(count)
    }
    lhs = [s for s in sizes if s[0] in "bkm"]
    rhs = [s for s in sizes if s[0] in "bkn"]
    random.shuffle(lhs)
    random.shuffle(rhs)
    shared = [[s for s in sizes if s[0] == role] for role in "kb"]
    dims = tuple(
        (tuple(lhs.index(s) for s in names), tuple(rhs.index(s) for s in names)) for names in shared
    )
    name = ["float32", "float64", "int32", "bfloat16", "complex64"][seed % 5]
    a, b = array([sizes[s] for s in lhs], name), array([sizes[s] for s in rhs], name, 1)
    depth = int(np.prod([sizes[s] for s in shared[0]]))
    check(lambda a, b: lax.dot_general(a, b, dims), a, b, **tolerance(name, depth))


@pytest.mark.parametrize("name", ["float32", "complex64", "int16"])
def test_transposes_are_read_through_strides(name):
    a, b = array((4, 20, 30), name), array((4, 50, 20), name, 1)

    def product(a, b):
        return jnp.matmul(a.transpose(0, 2, 1), b.transpose(0, 2, 1))

    check(product, a, b, **tolerance(name, 20))
    program = compile_jaxpr(trace(product, a, b), name="test")
    assert "linalg.transpose" not in program.stage_text("fused")


@pytest.mark.parametrize("size", [0, 2, 20])
def test_empty_contraction_is_zero(size):
    check(lambda a, b: a @ b, array((size, 0)), array((0, size)))
    check(lambda a, b: a @ b, array((0, 3)), array((3, size)))


@pytest.mark.parametrize("size", [3, 20])
@pytest.mark.parametrize("columns", [1, 2, 20])
def test_nan_and_infinity_propagate(size, columns):
    a, b = array((size, size)), array((size, columns), seed=1)
    a[0, 0], a[1, 1], b[2, 0] = np.nan, np.inf, -np.inf
    check(lambda a, b: a @ b, a, b, **tolerance("float32", size))


def test_small_products_fuse_with_their_consumers_and_large_ones_are_kernel_calls():
    small = emitted(lambda a, b: jnp.sin(a @ b), array((3, 3)), array((3, 3)))
    assert "kernel_call" not in small
    assert "kernel_call" in emitted(lambda a, b: a @ b, array((30, 30)), array((30, 30)))


def test_products_of_single_terms_are_multiplications():
    """Outer products: they fuse, as any other multiplication."""
    x, y = array((40, 1)), array((1, 50))
    text = emitted(lambda x, y: jnp.sin(x @ y) + x, x, y)
    assert "kernel_call" not in text
    assert text.count("linalg.generic") == 1
    check(lambda x, y: x @ y, x, y)
    check(lambda x, y: x.T[0][:, None, None] * 2 @ (y + 1), x, y)
    check(lambda x, y: jnp.vecdot(x, y.T[:40]), x, y)
    check(lambda x, y: jnp.einsum("bik,bkj->jbi", x.reshape(4, 10, 1), y.reshape(5, 10)[:4, None]), x, y)  # fmt: skip
    check(lambda x: jnp.outer(x, x), x)


def test_scalars():
    check(lambda a, b: lax.dot_general(a, b, (((), ()), ((), ()))), np.float32(3), np.float32(2))
    check(lambda a, b: a @ b, array((3,)), array((3,), seed=1), **tolerance("float32", 3))
    check(lambda a, b: a @ b, array((300000,)), array((300000,), seed=1), rtol=1e-3, atol=0.1)


def test_results_do_not_depend_on_the_number_of_threads():
    a, b = array((700, 400)), array((400, 300), seed=1)
    before = runtime.num_threads()
    results = []
    try:
        for threads in (1, 2, 3, 5):
            runtime.set_num_threads(threads)
            results.append(run(lambda a, b: (a @ b, a[0] @ b, (a * a).ravel() @ a.ravel()), a, b))
    finally:
        runtime.set_num_threads(before)
    for other in results[1:]:
        for x, y in zip(results[0], other, strict=True):
            assert (x == y).all()
