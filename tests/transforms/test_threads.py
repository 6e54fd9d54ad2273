"""Compiled functions, transformations, configuration and arrays used from many threads at once."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lingon
import lingon.numpy as lnp
from lingon import lax

N = 8
X = np.linspace(-1, 1, 64, dtype=np.float32).reshape(8, 8)


def together(f: Callable[[int], Any], n: int = N) -> list[Any]:
    """The results of `f(i)` for each of n threads that start at the same moment."""
    results: list[Any] = [None] * n
    errors: list[BaseException] = []
    barrier = threading.Barrier(n)

    def run(i: int) -> None:
        try:
            barrier.wait(30)
            results[i] = f(i)
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=run, args=(i,), daemon=True) for i in range(n)]
    for t in threads:
        t.start()
    for t in threads:
        t.join(120)
        assert not t.is_alive(), "a thread hangs"
    if errors:
        raise errors[0]
    return results


def test_one_compiled_function() -> None:
    f = lingon.jit(lambda x, y: lnp.tanh(x @ y) + lnp.sum(x))
    x = lnp.asarray(X)
    expected = np.asarray(f(x, x * 0.5))

    def work(i: int) -> bool:
        return all(np.array_equal(f(x, x * 0.5), expected) for _ in range(50))

    assert all(together(work))


def test_first_calls_of_one_function() -> None:
    """All threads trace and compile at once; all get the right result."""
    f = lingon.jit(lambda x: lnp.sin(x) * 3 + lnp.cumsum(x, 1))
    want = np.sin(X) * 3 + np.cumsum(X, 1)
    for r in together(lambda i: f(X)):
        np.testing.assert_allclose(r, want, rtol=1e-5, atol=1e-5)
    assert f._cache_size() == 1


def test_signatures_in_turns() -> None:
    f = lingon.jit(lambda x, n: x * n, static_argnums=1)

    def work(i: int) -> bool:
        ok = True
        for k in range(30):
            n = (i + k) % 5
            x = np.full((n + 1,), i, np.float32)
            ok = ok and np.array_equal(f(x, n), x * n)
        return ok

    assert all(together(work))


def test_functions_of_ones_own() -> None:
    def work(i: int) -> float:
        f = lingon.jit(lambda x: x * (i + 2.5) + i)
        return float(f(2.0))

    assert together(work) == [2 * (i + 2.5) + i for i in range(N)]


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "grad": lambda x: lingon.grad(lambda v: lnp.sum(lnp.sin(v) ** 2))(x),
    "vmap": lambda x: lingon.vmap(lambda v: lnp.sort(v) * 2)(x),
    "vmap with a name": lambda x: lingon.vmap(lambda v: v - lax.pmean(v, "i"), axis_name="i")(x),
    "jvp": lambda x: lingon.jvp(lnp.exp, (x,), (x,))[1],
    "hessian": lambda x: lingon.hessian(lambda v: lnp.sum(v**3))(x[0]),
    "jit of grad": lambda x: lingon.jit(lingon.grad(lambda v: lnp.sum(v**4)))(x),
    "jaxpr": lambda x: str(lingon.make_jaxpr(lambda v: lnp.dot(v, v) + 1)(x)),
    "random": lambda x: lingon.random.normal(lingon.random.key(3), (5,)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_transformations(name: str) -> None:
    f, x = PROGRAMS[name], lnp.asarray(X)
    want = f(x)
    for r in together(lambda i: f(x)):
        assert r == want if isinstance(want, str) else np.array_equal(r, want)


def test_different_transformations_at_once() -> None:
    programs, x = list(PROGRAMS.values()), lnp.asarray(X)
    want = [f(x) for f in programs]

    def work(i: int) -> bool:
        for _ in range(3):
            r, w = programs[i % len(programs)](x), want[i % len(programs)]
            if not (r == w if isinstance(w, str) else np.array_equal(r, w)):
                return False
        return True

    assert all(together(work))


def test_tracing_state_is_per_thread() -> None:
    """While one thread traces, another computes on arrays eagerly."""
    tracing, done = threading.Event(), threading.Event()
    seen: list[Any] = []

    def f(x: Any) -> Any:
        tracing.set()
        assert done.wait(60)
        return x * 2

    def eager() -> None:
        assert tracing.wait(60)
        try:
            y = lnp.ones(3) + 1
            seen.append(float(y.sum()))
            seen.append(float(lingon.jit(lambda v: v + 1)(1.0)))
        finally:
            done.set()

    other = threading.Thread(target=eager, daemon=True)
    other.start()
    assert lingon.jit(f)(3.0) == 6.0
    other.join(60)
    assert seen == [6.0, 2.0]


def test_tracers_of_another_thread_are_refused_after_their_trace() -> None:
    kept: list[Any] = []
    lingon.jit(lambda x: kept.append(x) or x)(1.0)

    def work(i: int) -> str:
        try:
            kept[0] + 1
        except lingon.errors.UnexpectedTracerError:
            return "refused"
        return "accepted"

    assert together(work, 2) == ["refused"] * 2


def test_config_contexts_are_per_thread() -> None:
    f = lingon.jit(lambda x: x + 1)

    def work(i: int) -> list[str]:
        names = []
        for _ in range(20):
            if i % 2:
                with lingon.enable_x64(True):
                    names.append(str(f(np.float64(1)).dtype))
                    names.append(str(lnp.arange(3).dtype))
            else:
                names.append(str(f(np.float64(1)).dtype))
                names.append(str(lnp.arange(3).dtype))
        return names

    for i, names in enumerate(together(work)):
        assert names == (["float64", "int64"] if i % 2 else ["float32", "int32"]) * 20


def test_disable_jit_is_per_thread() -> None:
    runs = [0] * N

    def work(i: int) -> None:
        def f(x: Any) -> Any:
            runs[i] += 1
            return x + i

        j = lingon.jit(f)
        if i % 2:
            with lingon.disable_jit():
                for _ in range(5):
                    j(1.0)
        else:
            for _ in range(5):
                j(1.0)

    together(work)
    assert runs == [5 if i % 2 else 1 for i in range(N)]


def test_global_options_reach_all_threads() -> None:
    before = lingon.config.jax_numpy_rank_promotion
    lingon.config.update("jax_numpy_rank_promotion", "raise")
    try:

        def work(i: int) -> bool:
            try:
                lnp.ones((2, 3)) + lnp.ones(3)
            except ValueError:
                return True
            return False

        assert all(together(work, 4))
    finally:
        lingon.config.update("jax_numpy_rank_promotion", before)


def test_arrays_are_shared() -> None:
    x = lnp.arange(1000.0)

    def work(i: int) -> bool:
        y = x
        for k in range(100):
            y = y.at[k].add(1.0) if k % 10 == i else y + 0
        host = np.asarray(x)
        return bool((host == np.arange(1000)).all()) and float(y.sum()) == 499500 + (
            10 if i < 10 else 0
        )

    assert all(together(work))


def test_deleting_while_others_read() -> None:
    """Every reader gets the values or the error of a deleted array, and nothing crashes."""
    for _ in range(20):
        x = lnp.arange(100.0)

        def work(i: int, x: Any = x) -> bool:
            if i == 0:
                x.delete()
                return True
            try:
                return float((x + 1).sum()) == 5050.0
            except RuntimeError as e:
                return "deleted" in str(e)

        assert all(together(work, 4))


def test_clearing_caches_while_others_call() -> None:
    f = lingon.jit(lambda x: x * 2 + 1)

    def work(i: int) -> bool:
        if i == 0:
            for _ in range(10):
                lingon.clear_caches()
                f.clear_cache()
            return True
        return all(float(f(float(k))) == 2.0 * k + 1 for k in range(30))

    assert all(together(work, 4))


def test_exceptions_stay_in_their_thread() -> None:
    def work(i: int) -> str:
        @lingon.jit
        def f(x: Any) -> Any:
            if i % 2:
                raise KeyError(i)
            return x + i

        try:
            return str(float(f(1.0)))
        except KeyError as e:
            return f"KeyError {e.args[0]}"

    assert together(work) == [f"KeyError {i}" if i % 2 else str(1.0 + i) for i in range(N)]


def test_leaving_a_failed_trace() -> None:
    """After an exception inside a traced function the thread computes as before."""

    @lingon.jit
    def bad(x: Any) -> Any:
        raise ValueError("no")

    for transform in (lingon.jit, lingon.vmap, lingon.grad):
        with pytest.raises(ValueError, match="no"):
            transform(lambda x: bad(x))(lnp.ones(2))
        assert float((lnp.ones(2) + 1).sum()) == 4.0
        with pytest.raises(NameError):
            lax.axis_index("i")
