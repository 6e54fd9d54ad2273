"""Dynamic slices, gather and scatter against jax."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from emit_oracle import DTYPES, check, dtype, emitted, normal, run
from jax import lax

MODES = ("clip", "fill", "promise_in_bounds")


def array(shape, name="float32", seed=0):
    random = np.random.default_rng(seed)
    if name == "bool":
        return random.random(shape) > 0.5
    return np.asarray(random.integers(0, 8, shape)).astype(dtype(name))


@pytest.mark.parametrize("start", [(-5, 0), (1, 2), (0, 100), (-(2**31), 2**31 - 1)])
def test_dynamic_slices_are_moved_inside(start):
    x = array((6, 7))
    i, j = (np.int32(s) for s in start)
    check(lambda x, i, j: lax.dynamic_slice(x, (i, j), (2, 3)), x, i, j)
    check(lambda x, u, i, j: lax.dynamic_update_slice(x, u, (i, j)), x, array((2, 3), seed=1), i, j)


@pytest.mark.parametrize("name", ["int8", "uint8", "int16", "uint32", "int64", "uint64"])
def test_index_dtypes(name):
    x = array((300,))
    info = np.iinfo(name)
    # jax cuts 64-bit indices of gather to 32 bits, so only those that survive that are compared.
    low, high = max(info.min, -(2**31)), min(info.max, 2**31 - 1)
    dims = lax.GatherDimensionNumbers((1,), (), (0,))
    for value in (low, high, 3):
        i = np.array(value, name)
        if value >= 0:  # jax itself wraps negative indices by adding the length in their dtype
            check(lambda x, i: lax.dynamic_slice_p.bind(x, i, slice_sizes=(7,)), x, i)
        for mode in MODES:
            check(lambda x, i, m=mode: lax.gather(x, i, dims, (4,), mode=m), x, i.reshape(1, 1))


@pytest.mark.parametrize("value", [2**63 - 1, -(2**63), 2**32, 2**32 + 1])
def test_wide_indices_stay_out_of_bounds(value):
    dims = lax.GatherDimensionNumbers((1,), (), (0,))
    i = np.array([[value]], np.int64)
    x = array((9,))
    (filled,) = run(lambda x, i: lax.gather(x, i, dims, (4,), mode="fill"), x, i)
    assert np.isnan(filled).all()
    (clipped,) = run(lambda x, i: lax.gather(x, i, dims, (4,), mode="clip"), x, i)
    assert (clipped == (x[:4] if value < 0 else x[5:])).all()


def test_slice_of_a_scalar_and_whole_updates():
    x = array((4, 3))
    check(lambda x: lax.dynamic_slice(x, (), ()), np.float32(3))
    check(lambda x, u: lax.dynamic_update_slice(x, u, (1, 2)), x, array((4, 3), seed=1))
    check(lambda x, u: lax.dynamic_update_slice(x, u, (1, 2)), x, np.zeros((0, 3), np.float32))


@pytest.mark.parametrize("name", DTYPES)
def test_gather_dtypes_and_fill(name):
    x = array((5, 4), name)
    i = np.array([[0], [4], [7], [-1]], np.int32)
    dims = lax.GatherDimensionNumbers((1,), (0,), (0,))
    for mode in MODES:
        check(lambda x, i, m=mode: lax.gather(x, i, dims, (1, 4), mode=m), x, i)
    check(lambda x, i: lax.gather(x, i, dims, (1, 3), mode="fill", fill_value=1), x, i)


def random_gather(seed, unbatched=False):
    """Random gather problem: operand, indices, dimension numbers, slice sizes."""
    random = np.random.default_rng(seed)
    rank = random.integers(1, 5)
    shape = random.integers(1, 6, rank)
    order = random.permutation(rank)
    batching = [] if unbatched else sorted(order[: random.integers(0, min(rank, 2))].tolist())
    others = [d for d in range(rank) if d not in batching]
    starts = random.permutation(others)[: random.integers(0, len(others) + 1)].tolist()
    sizes = np.array([random.integers(1, s + 1) for s in shape])
    sizes[batching] = 1
    collapsed = sorted(d for d in others if sizes[d] == 1 and random.random() < 0.7)
    extra = random.integers(1, 4, random.integers(0, 3)).tolist()
    batch = [*extra, *[int(shape[d]) for d in batching]]
    where = random.permutation(len(batch))
    placed = [batch[k] for k in where]
    indices_batching = [
        int(np.flatnonzero(where == len(extra) + k)[0]) for k in range(len(batching))
    ]
    window = len(others) - len(collapsed)
    out_rank = len(placed) + window
    offset = sorted(random.permutation(out_rank)[:window].tolist())
    indices = random.integers(-2, 7, (*placed, len(starts)))
    return (
        shape.tolist(), indices.astype(np.int32), sizes.tolist(), tuple(offset), tuple(collapsed),
        tuple(starts), tuple(batching), tuple(indices_batching),
    )  # fmt: skip


@pytest.mark.parametrize("seed", range(40))
def test_gather_in_general(seed):
    shape, indices, sizes, offset, collapsed, starts, batching, along = random_gather(seed)
    dims = lax.GatherDimensionNumbers(offset, collapsed, starts, batching, along)
    mode = MODES[seed % 3]
    x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    check(lambda x, i: lax.gather(x, i, dims, tuple(sizes), mode=mode), x, indices)


@pytest.mark.parametrize("seed", range(40))
@pytest.mark.parametrize("op", ["scatter", "scatter_add", "scatter_mul", "scatter_min"])
def test_scatter_in_general(seed, op):
    shape, indices, sizes, offset, collapsed, starts, batching, along = random_gather(
        seed, unbatched=op == "scatter"
    )
    # Which of several updates of one element wins is open; and of several index vectors without
    # components XLA takes but one where the window has one element.
    if op == "scatter" or not starts:
        rows = [slice(None) if k in along else slice(0, 1) for k in range(indices.ndim - 1)]
        indices = indices[tuple(rows)]
    dims = lax.GatherDimensionNumbers(offset, collapsed, starts, batching, along)
    x = np.asarray(np.random.default_rng(seed).integers(1, 4, shape), np.float32)
    out = jax.eval_shape(lambda x, i: lax.gather(x, i, dims, tuple(sizes)), x, indices)
    updates = np.asarray(np.random.default_rng(seed).integers(1, 3, out.shape), np.float32)
    numbers = lax.ScatterDimensionNumbers(offset, collapsed, starts, batching, along)
    fn = getattr(lax, op)
    for mode in MODES:
        check(lambda x, i, u, m=mode: fn(x, i, u, numbers, mode=m), x, indices, updates)


@pytest.mark.parametrize("name", [n for n in DTYPES if n != "bool" and "int4" not in n])
def test_scatter_dtypes(name):
    x, u = array((6,), name), array((8,), name, 1)
    i = np.array([0, 1, 1, 5, 9, -1, 2, 1], np.int32)
    check(lambda x, u: x.at[i].add(u), x, u)
    check(lambda x, u: x.at[i].mul(u), x, u)
    check(lambda x, u: x.at[i[:2]].set(u[:2]), x, u)
    if "complex" not in name:
        check(lambda x, u: x.at[i].max(u), x, u)
        check(lambda x, u: x.at[i].min(u), x, u)
        check(lambda x, u: x.at[i].subtract(u), x, u)


def test_scatter_of_booleans():
    check(
        lambda x, u: x.at[np.array([0, 7, 3])].set(u), array((5,), "bool"), array((3,), "bool", 1)
    )


def test_scatter_apply_is_repeated_at_equal_indices():
    x = array((6, 3))
    i = np.array([1, 1, 4, 9], np.int32)
    check(lambda x, i: x.at[i].apply(lambda v: v * 2 + 1), x, i)
    check(lambda x, i: x.at[i, 1].apply(lambda v: v * 2 + 1), x, i)


def test_nans_and_extremes():
    x = np.array([1, np.nan, 3], np.float32)
    u = np.array([np.nan, 1, np.nan], np.float32)
    check(lambda x, u: x.at[np.arange(3)].max(u), x, u)


@pytest.mark.parametrize("name", ["float32", "int8"])
def test_numpy_style_indexing(name):
    x, i, j = array((4, 5, 6), name), np.array([[0, 3], [-1, 2]]), np.array([1, -2])
    check(lambda x, i: x[i], x, i)
    check(lambda x, i, j: x[:, i, j], x, i, j)
    check(lambda x, i, j: x[i, :, j], x, i, j)
    check(lambda x, i: jnp.take(x, i, axis=1, mode="wrap"), x, i)
    check(lambda x, i: jnp.take_along_axis(x, i, 1), x, np.zeros((4, 2, 6), np.int32))
    check(lambda x, i: x.at[i, 1:3].set(7), x, i)
    check(lambda x, j: x.at[:, j].set(x[:, :2] * 2), x, j)
    check(lambda x, i: jax.vmap(lambda a, k: a[k])(x, i), x, np.array([0, 1, 4, 9]))
    check(lambda x, i: jax.vmap(lambda a, k: a.at[k].mul(3))(x, i), x, np.array([0, 1, 4, 9]))


def test_gradient_of_indexing_accumulates():
    x, i = array((50, 8)), np.random.default_rng(0).integers(0, 50, (200,))
    check(lambda x, i: jax.grad(lambda x: (x[i] * jnp.arange(8.0)).sum())(x), x, i, rtol=1e-6)


def test_empty_indices_and_updates():
    x = array((4, 3))
    check(lambda x, i: x[i], x, np.zeros((0,), np.int32))
    check(lambda x, i: x.at[i].add(1), x, np.zeros((0,), np.int32))


def test_gather_fuses_with_its_consumers():
    text = emitted(lambda x, i: jnp.sin(x[i]) + 1, array((40, 30)), np.array([1, 2, 3]))
    assert text.count("linalg.generic") == 2  # the indices made non-negative, then all else


@pytest.mark.parametrize("name", ["float32", "float64", "bfloat16", "int8", "uint16", "int64"])
def test_scatters_of_extremes(name):
    """Ties, zeros of both signs, NaN in old and new values, indices that occur again and again."""
    rng = np.random.default_rng(0)
    values = (
        [0, 1, 3, 3, 2, 100] if name[0] in "ui" else [0.0, -0.0, 1, np.nan, -np.inf, np.inf, -2]
    )
    x, u = (np.asarray(rng.choice(values, n), dtype(name)) for n in (20, 200))
    i = rng.integers(-25, 25, 200).astype(np.int32)
    check(lambda x, i, u: (x.at[i].max(u), x.at[i].min(u), x.at[i].min(x[0])), x, i, u)
    check(lambda x, i, u: x.at[i].max(u, mode="clip"), x, i, u)
    # Indices in order are another loop.
    i = np.sort(i % 20)
    check(
        lambda x, i, u: (
            x.at[i].max(u, indices_are_sorted=True),
            x.at[i].min(u, indices_are_sorted=True),
        ),
        x, i, u,
    )  # fmt: skip


def test_scatters_of_lazy_values():
    """Updates and indices that are broadcasts or indices along a dimension are never written."""
    x, i = normal("float32", (30,)), np.arange(-35, 35, dtype=np.int32)
    y = normal("float32", (30, 4))
    check(
        lambda x, i: (x.at[i].add(1.0), x.at[:5].set(x[0]), x.at[jnp.arange(30)[::-1]].add(x)), x, i
    )
    check(lambda x, i: x.at[i].add(jnp.arange(70, dtype=np.float32)), x, i)
    check(lambda y, i: (y.at[i, 2].add(1.0), y.at[i[:, None], i[None, :4]].add(2.0)), y, i)
    check(lambda x, i: jax.ops.segment_sum(jnp.ones(70), i, 7), x, i)
    text = emitted(lambda i: jax.ops.segment_sum(jnp.ones(70), i, 7), i)
    assert "tensor.empty() : tensor<70" not in text
