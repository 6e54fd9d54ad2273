"""jit of one function, made several times, traces it once, as in jax."""

from __future__ import annotations

import functools
import gc
import pickle
import weakref
from types import ModuleType
from typing import Any

import jax
import pytest

import lingon

BOTH = pytest.mark.parametrize("lib", [lingon, jax], ids=["lingon", "jax"])


def counted() -> tuple[Any, list[Any]]:
    traces: list[Any] = []

    def f(x: Any, flag: bool = False) -> Any:
        traces.append(flag)
        return x * 2 + flag

    return f, traces


@BOTH
def test_one_function_is_traced_once(lib: ModuleType) -> None:
    f, traces = counted()
    assert [float(lib.jit(f)(float(i))) for i in range(4)] == [0.0, 2.0, 4.0, 6.0]
    assert len(traces) == 1
    lib.jit(f)(1)  # another signature
    assert len(traces) == 2
    lib.jit(f).lower(3.0)
    assert len(traces) == 2


@BOTH
def test_options_other_than_static_ones_do_not_matter(lib: ModuleType) -> None:
    f, traces = counted()
    for options in ({}, {"inline": True}, {"keep_unused": True}, {"donate_argnums": 0}):
        assert lib.jit(f, **options)(1.0) == 2.0
    assert len(traces) == 1
    static = [lib.jit(f, static_argnums=1) for _ in range(2)]
    assert [float(s(1.0, flag)) for s in static for flag in (True, False)] == [3.0, 2.0, 3.0, 2.0]
    assert traces[1:] == [True, False]


@BOTH
def test_functions_that_look_alike_are_told_apart(lib: ModuleType) -> None:
    def make(k: float) -> Any:
        def f(x: Any) -> Any:
            return x * k

        return f

    assert [float(lib.jit(make(k))(3.0)) for k in (1.0, 2.0)] == [3.0, 6.0]
    f = make(4.0)
    assert lib.jit(f)(1.0) == 4.0

    @functools.wraps(f)  # has the attributes of f
    def wrapper(x: Any) -> Any:
        return f(x) + 1

    assert lib.jit(wrapper)(1.0) == 5.0
    assert lib.jit(f)(1.0) == 4.0


def test_what_a_function_closes_over_is_not_kept_where_it_is_traced() -> None:
    def outer(y: Any) -> Any:
        def f(x: Any) -> Any:
            return x * y

        return lingon.jit(f)(2.0) + lingon.jit(f)(3.0)

    assert lingon.grad(outer)(1.0) == 5.0
    assert lingon.jit(lingon.grad(outer))(1.0) == 5.0


def test_clear_cache_forgets_it_for_all() -> None:
    f, traces = counted()
    a, b = lingon.jit(f), lingon.jit(f)
    a(1.0), a(1.0), b(1.0)
    assert (len(traces), a._cache_size(), b._cache_size()) == (1, 1, 1)
    b.clear_cache()
    assert a._cache_size() == 0
    a(1.0)
    assert len(traces) == 2
    lingon.clear_caches()
    b(1.0)
    assert len(traces) == 3


def test_functions_die_with_their_programs() -> None:
    def make() -> Any:
        def f(x: Any) -> Any:
            return lingon.numpy.sin(x) if x.ndim else f(x[None])[0]

        return f

    f = make()
    assert lingon.jit(f)(0.0) == 0.0
    alive = weakref.ref(f)
    del f
    gc.collect()
    assert alive() is None


def test_functions_can_still_be_pickled_by_value() -> None:
    f, traces = counted()
    assert lingon.jit(f)(1.0) == 2.0
    attributes = pickle.loads(pickle.dumps(f.__dict__))  # what such picklers do
    assert all(value == {} for value in attributes.values())
    f.__dict__.clear()
    f.__dict__.update(attributes)
    assert lingon.jit(f)(1.0) == 2.0
    assert len(traces) == 2


@BOTH
def test_one_partial_is_traced_once(lib: ModuleType) -> None:
    f, traces = counted()
    first, second = functools.partial(f, flag=True), functools.partial(f, flag=False)
    assert [float(lib.jit(p)(3.0)) for p in (first, first, second, second)] == [7.0, 7.0, 6.0, 6.0]
    assert traces == [True, False]
