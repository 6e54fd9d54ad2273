"""Memory and caches stay bounded however often and with however many functions one calls."""

from __future__ import annotations

import gc
import os
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import lingon
import lingon.numpy as lnp
from lingon.runtime import pool_stats

PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096
STATM = Path("/proc/self/statm")
needs_proc = pytest.mark.skipif(not STATM.exists(), reason="needs /proc")


def resident() -> int:
    """Bytes of this process that are in memory."""
    gc.collect()
    return int(STATM.read_text().split()[1]) * PAGE


def growth(work: Any, warm_up: int = 1) -> int:
    """By how much the process grows from one run of `work` to the next."""
    for _ in range(warm_up):
        work()
    before = resident()
    work()
    return resident() - before


@needs_proc
@pytest.mark.parametrize("size", [3, 100_000])
def test_calls_of_a_jitted_function(size: int) -> None:
    f = lingon.jit(lambda x, y: (lnp.sin(x) * y, lnp.sum(x)))
    x, y = lnp.ones(size), lnp.ones(size)
    n = 10_000 if size < 1000 else 500

    def work() -> None:
        for _ in range(n):
            f(x, y)

    assert growth(work) < 2 << 20


@needs_proc
def test_calls_with_trees_keywords_and_python_numbers() -> None:
    f = lingon.jit(lambda t, *, k: {"a": t["x"] + k, "b": [t["y"][0]] * 2})

    def work() -> None:
        for i in range(10_000):
            f({"x": float(i), "y": (i,)}, k=2.5)

    assert growth(work) < 2 << 20
    assert f._cache_size() == 1


@needs_proc
def test_eager_operations() -> None:
    x = lnp.arange(16.0).reshape(4, 4)

    def work() -> None:
        for i in range(1000):
            ((x + i) @ x).sum() * x[i % 4].at[1].set(2.0)

    assert growth(work) < 2 << 20


@needs_proc
@pytest.mark.parametrize("name", ["grad", "vmap", "jit of grad", "linearize", "jaxpr"])
def test_transformations(name: str) -> None:
    def loss(w: Any) -> Any:
        return lnp.sum(lnp.tanh(w) ** 2)

    step = lingon.jit(lingon.grad(loss))
    x = lnp.ones((4, 4))
    work = {
        "grad": lambda: lingon.grad(loss)(x),
        "vmap": lambda: lingon.vmap(loss)(x),
        "jit of grad": lambda: step(x),
        "linearize": lambda: lingon.linearize(loss, x)[1](x),
        "jaxpr": lambda: lingon.make_jaxpr(loss)(x),
    }[name]

    def many() -> None:
        for _ in range(300):
            work()

    assert growth(many) < 3 << 20


@needs_proc
def test_errors_keep_nothing() -> None:
    """A failed trace frees its tracers and arrays."""
    big = lnp.ones(250_000)

    @lingon.jit
    def f(x: Any) -> Any:
        y = x + big
        raise ValueError(y)

    def work() -> None:
        for _ in range(100):
            with pytest.raises(ValueError):
                f(big)

    assert growth(work) < 8 << 20


def test_arrays_are_freed() -> None:
    f = lingon.jit(lambda x: x * 2)
    f(lnp.ones(1000))
    gc.collect()
    before = len(lingon.live_arrays())
    used = pool_stats()["live_bytes"]
    for _ in range(100):
        f(lnp.ones(1000))
    gc.collect()
    assert len(lingon.live_arrays()) <= before
    assert pool_stats()["live_bytes"] <= used


def test_signatures_of_one_function_are_bounded() -> None:
    """10,000 static values: 4096 traces are kept, the newest among them."""
    n = [0]

    def f(x: Any, k: int) -> Any:
        n[0] += 1
        return x

    j = lingon.jit(f, static_argnums=1)
    for k in range(10_000):
        j.trace(1.0, k)
    assert n[0] == 10_000 and j._cache_size() == 4096
    j.trace(1.0, 9_999)
    assert n[0] == 10_000
    j.trace(1.0, 0)
    assert n[0] == 10_001 and j._cache_size() == 4096


def test_many_signatures_compute_and_stay_bounded() -> None:
    """Equal programs are compiled once, so that a thousand static values are cheap."""
    j = lingon.jit(lambda x, k: x + 1, static_argnums=1)
    for k in range(1000):
        assert j(1.0, k) == 2.0
    assert j._cache_size() <= 4096


@needs_proc
def test_two_thousand_functions() -> None:
    """Jitted lambdas that nothing refers to are freed with their programs."""

    def work() -> None:
        for _ in range(1000):
            assert lingon.jit(lambda x: x * 2 + 1)(2.0) == 5.0

    assert growth(work) < 16 << 20


@needs_proc
def test_different_programs_that_are_dropped() -> None:
    count = iter(range(10**6))

    def work() -> None:
        for _ in range(100):
            c = float(next(count))
            assert lingon.jit(lambda x, c=c: lnp.sum(x * c))(np.ones(3, np.float32)) == 3 * c

    assert growth(work) < 16 << 20


def test_programs_are_freed_with_their_functions() -> None:
    class Marked:
        def __call__(self, x: Any) -> Any:
            return x + 3

    function = Marked()
    jitted = lingon.jit(function)
    assert jitted(1.0) == 4.0
    lowered = jitted.lower(1.0)
    refs = [weakref.ref(v) for v in (function, jitted._jit, lowered._program)]
    del function, jitted, lowered
    gc.collect()
    assert [r() for r in refs] == [None] * len(refs)


def test_captured_arrays_are_freed_with_the_function() -> None:
    def make() -> tuple[Any, weakref.ref]:
        big = lnp.arange(50_000.0) * 1
        return lingon.jit(lambda i: big[i]), weakref.ref(big)

    f, ref = make()
    assert f(3) == 3.0 and ref() is not None
    del f
    gc.collect()
    assert ref() is None


def test_static_arguments_are_freed_with_the_cache() -> None:
    class Key:
        pass

    f = lingon.jit(lambda x, k: x, static_argnums=1)
    key = Key()
    f(1.0, key)
    ref = weakref.ref(key)
    del key
    gc.collect()
    f.clear_cache()
    gc.collect()
    assert ref() is None


def test_clear_caches_frees_programs() -> None:
    f = lingon.jit(lambda x: x * 5)
    f(1.0)
    assert f._cache_size() == 1
    lingon.clear_caches()
    assert f._cache_size() == 0
    assert f(1.0) == 5.0


@needs_proc
def test_constants_of_traces_are_not_kept_twice() -> None:
    """A captured array is one buffer, not one for each trace."""
    big = lnp.asarray(np.ones(2_000_000, np.float32))

    def f(x: Any, k: int) -> Any:
        return lnp.sum(big) * x

    j = lingon.jit(f, static_argnums=1)
    j(1.0, 0)

    def work() -> None:
        for k in range(10):
            j(1.0, k)

    assert growth(work, warm_up=0) < 12 << 20
