"""Donation: results in the buffers of donated arguments, deletion, warnings and errors."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as xnp
import numpy as np
import pytest

import lingon
import lingon.numpy as jnp
from lingon import lax, runtime


def owned(*shape: int, dtype: Any = np.float32, scale: float = 1.0) -> Any:
    """An array whose buffer is the runtime's own."""
    size = int(np.prod(shape))
    values = (np.arange(size) * scale).reshape(shape).astype(dtype)
    return runtime.from_numpy(values, copy=True)


def address(x: Any) -> int:
    return x.unsafe_buffer_pointer()


def aliases(f: Any, *args: Any) -> tuple:
    """Pairs (input, output) that share memory in the compiled program."""
    return f.lower(*args).compile().runtime_executable().aliases


def copies(f: Any, x: Any, *rest: Any) -> int:
    """How often a whole buffer of x's type is copied."""
    dims = "".join(f"{n}x" for n in x.shape)
    text = f.lower(x, *rest).as_text("loops")
    return len(re.findall(rf"memref\.copy .* : memref<{dims}f32> to", text))


# --- in place ----------------------------------------------------------------------------------


def adam(p: Any, m: Any, v: Any, g: Any) -> Any:
    m = 0.9 * m + 0.1 * g
    v = 0.99 * v + 0.01 * g * g
    return p - 0.01 * m / (jnp.sqrt(v) + 1e-8), m, v


def softmax_rows(x: Any) -> Any:
    e = jnp.exp(x - jnp.max(x, axis=1, keepdims=True))
    return e / jnp.sum(e, axis=1, keepdims=True)


def swap_then_use(a: Any, b: Any) -> Any:
    return b + 1, a * 2


IN_PLACE: dict[str, tuple[Callable[..., Any], list[Any], tuple[int, ...], int]] = {
    # function, argument shapes, donated arguments, how many of them become results
    "element update": (lambda x: x.at[0].set(1.0), [(1000,)], (0,), 1),
    "scatter": (lambda x: x.at[jnp.array([3, 5, 3])].add(2.0), [(1000,)], (0,), 1),
    "rows": (lambda x, r: x.at[2].set(r), [(8, 16), (16,)], (0,), 1),
    "slice update": (lambda x, u: lax.dynamic_update_slice(x, u, (3,)), [(64,), (8,)], (0,), 1),
    "elementwise": (lambda x: jnp.sin(x) * 2 + 1, [(33, 7)], (0,), 1),
    "two donated, one result": (lambda x, y: x * y, [(33, 7), (33, 7)], (0, 1), 1),
    "identity": (lambda x: x, [(33,)], (0,), 1),
    "scalar": (lambda x: x + 1, [()], (0,), 1),
    "adam": (adam, [(40, 30)] * 4, (0, 1, 2), 3),
    "softmax": (softmax_rows, [(16, 50)], (0,), 1),
    "update after arithmetic": (lambda x: (x * 2).at[1].set(0.0), [(100,)], (0,), 1),
    "crosswise": (swap_then_use, [(100,), (100,)], (0, 1), 2),
    "by column": (lambda x, c: x + c[:, None], [(9, 11), (9,)], (0,), 1),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_results_are_made_in_donated_buffers(name: str) -> None:
    f, shapes, donated, count = IN_PLACE[name]
    want = lingon.jit(f)(*[owned(*s, scale=0.01) for s in shapes])
    jitted = lingon.jit(f, donate_argnums=donated)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(2):  # through Python, then through the call path of the runtime
            args = [owned(*s, scale=0.01) for s in shapes]
            addresses = {address(args[i]) for i in donated}
            got = jitted(*args)
            results = lingon.tree_util.tree_leaves(got)
            assert len(addresses & {address(r) for r in results}) == count
            for w, g in zip(lingon.tree_util.tree_leaves(want), results, strict=True):
                np.testing.assert_array_equal(g, w)
            assert sum(args[i].is_deleted() for i in donated) == count
            assert not any(a.is_deleted() for i, a in enumerate(args) if i not in donated)
        args = [owned(*s) for s in shapes]
        assert copies(jitted, *args) == 0


NOT_IN_PLACE: dict[str, tuple[Callable[..., Any], list[Any]]] = {
    "transposed": (lambda x: x.T, [(20, 20)]),
    "reversed": (lambda x: x[::-1], [(50,)]),
    "rolled": (lambda x: jnp.roll(x, 1), [(50,)]),
    "neighbours": (lambda x: x.at[1:].add(x[:-1]), [(50,)]),
    "plus its transpose": (lambda x: x + x.T, [(20, 20)]),
    "product": (lambda x: x @ x, [(20, 20)]),
    "sorted": (lambda x: jnp.sort(x), [(50,)]),
    "cumulative": (lambda x: jnp.cumsum(x), [(50,)]),
    "gathered": (lambda x: x[jnp.arange(50)[::-1]] + x, [(50,)]),
    "mean taken off columns": (lambda x: x - jnp.mean(x, axis=0, keepdims=True), [(20, 30)]),
    "both orders": (lambda x: (x + 1, x * 2), [(50,)]),
    "read by a later result": (lambda x: (x + 1, jnp.cumsum(x)), [(50,)]),
}


@pytest.mark.parametrize("name", NOT_IN_PLACE)
def test_results_are_right_where_the_buffer_is_still_needed(name: str) -> None:
    f, shapes = NOT_IN_PLACE[name]
    args = [owned(*s, scale=0.25) for s in shapes]
    want = lingon.tree_util.tree_leaves(lingon.jit(f)(*args))
    jitted = lingon.jit(f, donate_argnums=0)
    for _ in range(2):
        args = [owned(*s, scale=0.25) for s in shapes]
        got = lingon.tree_util.tree_leaves(jitted(*args))
        for w, g in zip(want, got, strict=True):
            np.testing.assert_array_equal(g, w)
        assert args[0].is_deleted()


def test_an_update_of_a_large_array_allocates_nothing() -> None:
    f = lingon.jit(lambda x, i: x.at[i].set(1.0), donate_argnums=0)
    x = f(owned(1_000_000), 0)
    assert aliases(f, x, 0) == ((0, 0),)
    x = f(x, 1)
    before = runtime.pool_stats()["live_bytes"]
    where = address(x)
    for i in range(50):
        x = f(x, i)
    assert address(x) == where
    assert runtime.pool_stats()["live_bytes"] - before < 4096
    np.testing.assert_array_equal(x[:51], [*[1.0] * 50, 50.0])


def test_a_training_step_allocates_nothing() -> None:
    def update(params: Any, grads: Any) -> Any:
        return {k: adam(*params[k], grads[k]) for k in params}

    f = lingon.jit(update, donate_argnums=0)
    shapes = {"a": (300, 200), "b": (200,), "c": (200, 10)}
    params = {k: tuple(owned(*s, scale=1e-3) for _ in range(3)) for k, s in shapes.items()}
    grads = {k: owned(*s, scale=1e-3) for k, s in shapes.items()}
    params = f(params, grads)
    params = f(params, grads)
    where = [address(x) for x in lingon.tree_util.tree_leaves(params)]
    before = runtime.pool_stats()
    for _ in range(10):
        params = f(params, grads)
    after = runtime.pool_stats()
    assert sorted(where) == sorted(address(x) for x in lingon.tree_util.tree_leaves(params))
    assert after["live_bytes"] == before["live_bytes"]


def test_memory_analysis_counts_what_is_shared() -> None:
    f = lingon.jit(lambda x, y: (x + 1, y.sum()), donate_argnums=0)
    analysis = f.lower(owned(100), owned(7)).compile().memory_analysis()
    assert analysis.alias_size_in_bytes == 400


# --- buffers that others see -------------------------------------------------------------------


def test_buffers_that_others_see_are_not_overwritten() -> None:
    f = lingon.jit(lambda x: x.at[0].set(-1.0) + 1, donate_argnums=0)
    f(owned(4))
    want = [0.0, 2, 3, 4]
    source = np.arange(4, dtype=np.float32)
    x = jnp.asarray(source)
    np.testing.assert_array_equal(f(x), want)
    np.testing.assert_array_equal(source, [0, 1, 2, 3])
    assert x.is_deleted()
    for export in (np.asarray, memoryview, np.from_dlpack, lambda x: x._alias(shape=(2, 2))):
        x = owned(4)
        seen = export(x)
        np.testing.assert_array_equal(f(x), want)
        np.testing.assert_array_equal(np.asarray(seen).reshape(-1), [0, 1, 2, 3])
        assert x.is_deleted()
    np.testing.assert_array_equal(f(source), want)
    np.testing.assert_array_equal(source, [0, 1, 2, 3])


def test_constants_of_a_program_may_be_donated_to_another_one() -> None:
    c = owned(100)
    g = lingon.jit(lambda x: x + c)
    x = owned(100)
    np.testing.assert_array_equal(g(x), 2 * np.arange(100))
    lingon.jit(lambda c: c * 0, donate_argnums=0)(c)
    np.testing.assert_array_equal(g(x), 2 * np.arange(100))


def test_a_view_that_is_gone_does_not_hinder() -> None:
    f = lingon.jit(lambda x: x + 1, donate_argnums=0)
    f(owned(4))
    x = owned(4)
    assert np.asarray(x).sum() == 6 and repr(x)
    where = address(x)
    assert address(f(x)) == where


# --- beside jax --------------------------------------------------------------------------------


def outcome(m: Any, np_: Any, f: Callable[..., Any], make: Callable[[Any], list], **options: Any):
    """(deleted flags, warnings' first lines, error) of one call, in either library."""
    args = make(np_)
    leaves = m.tree_util.tree_leaves(args)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            m.jit(f(np_), **options)(*args)
            error = None
        except Exception as e:
            kind = type(e).__name__
            text = re.sub(r", replica 0, partition 0|INVALID_ARGUMENT: ", "", str(e))
            error = (kind, text)
    lines = [str(w.message).splitlines()[0] for w in caught if w.category is UserWarning]
    return [x.is_deleted() for x in leaves], lines, error


def shared_pair(n: Any) -> list:
    x = n.ones(4)
    return [x, x]


CASES: dict[str, tuple[Callable[[Any], Callable[..., Any]], Callable[[Any], list], dict]] = {
    "used": (lambda n: lambda x: x + 1, lambda n: [n.ones(3)], {"donate_argnums": 0}),
    "no result of the size": (
        lambda n: lambda x: x.sum(),
        lambda n: [n.ones(3)],
        {"donate_argnums": 0},
    ),
    "one of two": (
        lambda n: lambda x, y: x + y,
        lambda n: [n.ones(3), n.ones(3)],
        {"donate_argnums": (0, 1)},
    ),
    "other dtype, same size": (
        lambda n: lambda x: x.astype(n.int32),
        lambda n: [n.ones(3)],
        {"donate_argnums": 0},
    ),
    "reshaped": (
        lambda n: lambda x: x.reshape(3, 2),
        lambda n: [n.ones((2, 3))],
        {"donate_argnums": 0},
    ),
    "several left over": (
        lambda n: lambda a, b, c: b + c.sum() + a.sum(),
        lambda n: [n.ones(3), n.ones(3, n.int32), n.ones((2, 2))],
        {"donate_argnums": (0, 1, 2)},
    ),
    "not read": (
        lambda n: lambda x, y: x * 2,
        lambda n: [n.ones(3), n.ones(3)],
        {"donate_argnums": 1},
    ),
    "not read but kept": (
        lambda n: lambda x, y: x * 2,
        lambda n: [n.ones(3), n.ones(3)],
        {"donate_argnums": 1, "keep_unused": True},
    ),
    "tree": (
        lambda n: lambda d, e: {k: v + e for k, v in d.items()},
        lambda n: [{"a": n.ones(2), "b": n.ones(3)}, n.ones(())],
        {"donate_argnums": 0},
    ),
    "by name": (
        lambda n: lambda p, q: (p + 1, q + 1),
        lambda n: [n.ones(2), n.ones(3)],
        {"donate_argnames": "q"},
    ),
    "negative": (
        lambda n: lambda p, q: (p + 1, q + 1),
        lambda n: [n.ones(2), n.ones(3)],
        {"donate_argnums": -1},
    ),
    "beside a static argument": (
        lambda n: lambda k, p, q: (p + k, q + k),
        lambda n: [3, n.ones(2), n.ones(3)],
        {"donate_argnums": 2, "static_argnums": 0},
    ),
    "no elements": (lambda n: lambda x: x[:0], lambda n: [n.ones((0, 4))], {"donate_argnums": 0}),
    "donated, then used": (lambda n: lambda x, y: x + y, shared_pair, {"donate_argnums": 0}),
    "used, then donated": (lambda n: lambda x, y: x + y, shared_pair, {"donate_argnums": 1}),
    "donated twice": (
        lambda n: lambda x, y: (x + y, x * y),
        shared_pair,
        {"donate_argnums": (0, 1)},
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_beside_jax(name: str) -> None:
    f, make, options = CASES[name]
    if "static_argnums" in options:
        flags = []
        for m, n in ((lingon, jnp), (jax, xnp)):
            args = make(n)
            m.jit(f(n), **options)(*args)
            flags.append([a.is_deleted() for a in args[1:]])
        assert flags[0] == flags[1] == [False, True]
        return
    ours, theirs = outcome(lingon, jnp, f, make, **options), outcome(jax, xnp, f, make, **options)
    assert ours == theirs


@pytest.mark.parametrize("m, n", [(lingon, jnp), (jax, xnp)], ids=["lingon", "jax"])
def test_calls_inside_of_programs_and_transformations(m: Any, n: Any) -> None:
    h = m.jit(lambda x: x * 2, donate_argnums=0)
    x = n.ones(2)
    m.jit(lambda x: h(x) + x)(x)
    assert not x.is_deleted()
    m.vmap(h)(x)
    assert x.is_deleted()
    x = n.ones(2)
    m.jvp(h, (x,), (x + 0,))
    assert x.is_deleted()
    x = n.ones(2)
    assert (m.grad(lambda x: h(x).sum())(x) == 2).all() and x.is_deleted()
    x = n.ones(2)
    with m.disable_jit():
        h(x)
    assert not x.is_deleted()


def test_grad_keeps_what_the_pullback_reads() -> None:
    h = lingon.jit(lambda x: x * x, donate_argnums=0)
    x = owned(3)
    y, pullback = lingon.vjp(h, x)
    np.testing.assert_array_equal(y, [0, 1, 4])
    np.testing.assert_array_equal(pullback(jnp.ones(3))[0], [0, 2, 4])


def test_uses_of_a_donated_array() -> None:
    x = owned(3)
    f = lingon.jit(lambda x: x + 1, donate_argnums=0)
    f(x)
    assert (x.shape, x.dtype, x.is_deleted()) == ((3,), np.float32, True)
    for use in (
        lambda: x + 1,
        lambda: repr(x),
        lambda: np.asarray(x),
        lambda: f(x),
        lambda: lingon.jit(lambda x: x)(x),
        lambda: x[0],
        lambda: x.tolist(),
        lambda: x.block_until_ready(),
        lambda: lingon.grad(lambda x: x.sum())(x),
    ):
        with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float32\[3\]\."):
            use()


def test_options_are_checked() -> None:
    with pytest.raises(ValueError, match="donate_argnums"):
        lingon.jit(lambda q: q, donate_argnums=3)
    with pytest.raises(ValueError, match=r"invalid argnames \{'z'\} in donate_argnames"):
        lingon.jit(lambda q: q, donate_argnames="z")
    with pytest.raises(ValueError, match=r"cannot intersect.*'q'"):
        lingon.jit(lambda q: q, donate_argnums=0, static_argnums=0)
    with pytest.raises(ValueError, match=r"cannot intersect.*'q'"):
        lingon.jit(lambda q: q, donate_argnames="q", static_argnames="q")
    with pytest.raises(TypeError, match="donate_argnums"):
        lingon.jit(lambda q: q, donate_argnums="a")


def test_warned_once_when_compiled() -> None:
    f = lingon.jit(lambda x: x.sum(), donate_argnums=0)
    with pytest.warns(UserWarning, match=r"Some donated buffers were not usable: float32\[3\]\."):
        f(owned(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(owned(3))
    with pytest.warns(UserWarning, match=r"bfloat16\[2,3\]"):
        f.lower(lingon.ShapeDtypeStruct((2, 3), jnp.bfloat16)).compile()
