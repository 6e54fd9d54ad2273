"""How often jit traces and compiles beside jax; make_jaxpr and eval_shape."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both import OURS, Failed, run, same
from jax_oracle import jaxpr_text

import lingon
import lingon.numpy as lnp
from lingon import lowering

V = np.array([0.5, -1.5, 2.0], np.float32)


class Counted:
    """A function that counts how often its Python code runs."""

    def __init__(self, f: Callable):
        self.f, self.n = f, 0
        functools.update_wrapper(self, f)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.n += 1
        return self.f(*args, **kwargs)


def counts(m: Any, f: Callable, calls: list[Callable], **options: Any) -> list[int]:
    """Traces so far after each of the calls, which get the jitted function."""
    counted = Counted(f)
    jitted = m.jax.jit(counted, **options)
    result = []
    for call in calls:
        call(jitted)
        result.append(counted.n)
    return result


#: What is called in order; the counts of traces are compared with jax's.
CALLS: dict[str, tuple[dict, list[Callable[[Any, Any], Any]]]] = {
    "the same": ({}, [lambda m, f: f(V), lambda m, f: f(V), lambda m, f: f(V * 2)]),
    "array and numpy": ({}, [lambda m, f: f(V), lambda m, f: f(m.jnp.asarray(V))]),
    "shapes": ({}, [lambda m, f: f(V), lambda m, f: f(V[:2]), lambda m, f: f(V), lambda m, f: f(V[None])]),
    "dtypes": (
        {},
        [lambda m, f: f(V), lambda m, f: f(V.astype(np.float16)), lambda m, f: f(V.astype(np.int32))],
    ),
    "64 bits are 32": ({}, [lambda m, f: f(V), lambda m, f: f(V.astype(np.float64))]),
    "weak types": (
        {},
        [
            lambda m, f: f(1.0), lambda m, f: f(2.0), lambda m, f: f(np.float32(1)),
            lambda m, f: f(m.jnp.float32(1)), lambda m, f: f(m.jnp.asarray(1.0)), lambda m, f: f(1),
            lambda m, f: f(True), lambda m, f: f(1j),
        ],
    ),
    "structure": (
        {},
        [
            lambda m, f: f({"a": 1.0}), lambda m, f: f({"b": 1.0}), lambda m, f: f([1.0]),
            lambda m, f: f((1.0,)), lambda m, f: f({"a": 2.0}), lambda m, f: f({"a": None}),
        ],
    ),
    "dict order": ({}, [lambda m, f: f({"a": 1.0, "b": 2}), lambda m, f: f({"b": 2, "a": 1.0})]),
    "keywords": (
        {},
        [
            lambda m, f: f(x=1.0, y=2.0), lambda m, f: f(y=2.0, x=1.0), lambda m, f: f(1.0, y=2.0),
            lambda m, f: f(1.0, 2.0),
        ],
    ),
    "statics": (
        {"static_argnums": 1},
        [
            lambda m, f: f(1.0, 2), lambda m, f: f(1.0, 2), lambda m, f: f(1.0, 3), lambda m, f: f(1.0, 2),
            lambda m, f: f(1.0, "a"), lambda m, f: f(1.0, (1, 2)), lambda m, f: f(1.0, (1, 2)),
            lambda m, f: f(1.0, 2.0), lambda m, f: f(1.0, True), lambda m, f: f(1.0, 1),
        ],
    ),
    "static functions": (
        {"static_argnums": 1},
        [lambda m, f: f(1.0, len), lambda m, f: f(1.0, len), lambda m, f: f(1.0, abs)],
    ),
    "static names": (
        {"static_argnames": "y"},
        [lambda m, f: f(1.0, y=2), lambda m, f: f(1.0, y=2), lambda m, f: f(1.0, y=3)],
    ),
    "x64": ({}, [lambda m, f: f(V), lambda m, f: _x64(m, f, V), lambda m, f: f(V), lambda m, f: _x64(m, f, V)]),
    "x64 of scalars": ({}, [lambda m, f: f(1.0), lambda m, f: _x64(m, f, 1.0), lambda m, f: f(1.0)]),
    "promotion": (
        {},
        [lambda m, f: f(V), lambda m, f: _with(m.jax.numpy_dtype_promotion("strict"), f), lambda m, f: f(V)],
    ),
    "matmul precision": (
        {},
        [
            lambda m, f: f(V), lambda m, f: _with(m.jax.default_matmul_precision("highest"), f),
            lambda m, f: f(V), lambda m, f: _with(m.jax.default_matmul_precision("highest"), f),
        ],
    ),
    "rank promotion": (
        {}, [lambda m, f: f(V), lambda m, f: _with(m.jax.numpy_rank_promotion("raise"), f), lambda m, f: f(V)],
    ),
    "clear_cache": ({}, [lambda m, f: f(V), lambda m, f: f.clear_cache(), lambda m, f: f(V)]),
    "clear_caches": ({}, [lambda m, f: f(V), lambda m, f: m.jax.clear_caches(), lambda m, f: f(V)]),
    "under grad": (
        {},
        [
            lambda m, f: f(1.0), lambda m, f: m.jax.grad(f)(1.0), lambda m, f: m.jax.grad(f)(2.0), lambda m, f: f(1.0),
        ],
    ),
    "under jit": (
        {}, [lambda m, f: f(V), lambda m, f: m.jax.jit(lambda x: f(x) + f(x))(V), lambda m, f: f(V)],
    ),
    "under vmap": (
        {},
        [
            lambda m, f: m.jax.vmap(f)(V), lambda m, f: m.jax.vmap(f)(V * 2),
            lambda m, f: f(np.float32(1)), lambda m, f: m.jax.vmap(f)(V[:2]),
        ],
    ),
    "lowering": ({}, [lambda m, f: f.lower(V), lambda m, f: f(V), lambda m, f: f.lower(V).compile()]),
    "eval_shape": ({}, [lambda m, f: f.eval_shape(V), lambda m, f: f(V), lambda m, f: f.trace(V)]),
    "shape structs": (
        {}, [lambda m, f: f.lower(m.jax.ShapeDtypeStruct((3,), np.float32)), lambda m, f: f(V)],
    ),
}  # fmt: skip


def _x64(m: Any, f: Any, x: Any) -> None:
    with m.jax.enable_x64(True):
        f(x)


def _with(context: Any, f: Any) -> None:
    with context:
        f(V)


@pytest.mark.parametrize("name", CALLS)
def test_counts_of_traces(name: str) -> None:
    options, calls = CALLS[name]

    def program(m: Any) -> Any:
        return counts(
            m, lambda x, y=1.0: x, [functools.partial(lambda c, f: c(m, f), c) for c in calls], **options
        )  # fmt: skip

    same(program)


def test_called_twice_compiles_once(monkeypatch: pytest.MonkeyPatch) -> None:
    names = []
    compile_lowered = lowering.LoweredProgram.compile

    def counted(self: Any) -> Any:
        names.append(self.name)
        return compile_lowered(self)

    monkeypatch.setattr(lowering.LoweredProgram, "compile", counted)

    def sine_of_sum(x: Any, y: Any) -> Any:
        return lnp.sin(x + y)

    f = lingon.jit(sine_of_sum)
    first, second = f(1.0, 2.0), f(1.5, 2.0)
    assert names == ["sine_of_sum"]
    np.testing.assert_allclose([first, second], np.sin([3.0, 3.5]), rtol=1e-6)
    f.lower(1.0, 2.0).compile()
    assert names == ["sine_of_sum"]


def test_cache_size() -> None:
    same(lambda m: _sizes(m, m.jax.jit(lambda x: x * 2)))


def _sizes(m: Any, f: Any) -> list[int]:
    sizes = [f._cache_size()]
    for x in (V, V, V[:2], 1.0):
        f(x)
        sizes.append(f._cache_size())
    f.clear_cache()
    return [*sizes, f._cache_size()]


def test_static_objects() -> None:
    """Objects that are equal but not the same share a trace; a mutated one keeps its trace."""

    class Key:
        def __init__(self, k: int):
            self.k = k

        def __hash__(self) -> int:
            return hash(self.k)

        def __eq__(self, other: Any) -> bool:
            return isinstance(other, Key) and self.k == other.k

    def program(m: Any) -> Any:
        return counts(
            m,
            lambda x, k: x * k.k,
            [lambda f, k=k: f(1.0, Key(k)) for k in (1, 1, 2, 1)],
            static_argnums=1,
        )

    same(program)

    class Plain:
        k = 2.0

    def mutated(m: Any) -> Any:
        o = Plain()
        f = m.jax.jit(lambda x, o: x * o.k, static_argnums=1)
        first = f(1.0, o)
        o.k = 5.0
        return first, f(1.0, o), f(1.0, Plain())

    same(mutated)


JAXPRS: dict[str, Callable] = {
    "nested": lambda m: m.jax.make_jaxpr(m.jax.jit(lambda x: m.jax.jit(m.jnp.sin)(x) + 1))(V),
    "inline": lambda m: m.jax.make_jaxpr(lambda x: m.jax.jit(lambda y: y * 2, inline=True)(x))(V),
    "keep_unused": lambda m: m.jax.make_jaxpr(m.jax.jit(lambda x, y: x, keep_unused=True))(V, V),
    "donated": lambda m: m.jax.make_jaxpr(m.jax.jit(lambda x, y: x, donate_argnums=1))(V, V),
    "shared": lambda m: m.jax.make_jaxpr(
        lambda x: (lambda f: f(x) + f(x * 2))(m.jax.jit(lambda y: y * 3))
    )(V),
    "static": lambda m: m.jax.make_jaxpr(lambda x, n: x * n, static_argnums=1)(V, 3),
    "negative static": lambda m: m.jax.make_jaxpr(lambda x, n: x * n, static_argnums=(-1,))(V, 3),
    "axis_env": lambda m: m.jax.make_jaxpr(
        lambda x: m.lax.psum(x, "i"), axis_env=[("i", 4)]
    )(V),
    "closure": lambda m: m.jax.make_jaxpr(lambda x: x + V)(1.0),
    "unused outputs": lambda m: m.jax.make_jaxpr(lambda x: (m.jnp.sin(x), x)[1])(V),
    "literals": lambda m: m.jax.make_jaxpr(lambda x: (x + 1, 2.0, x * np.float32(3)))(V),
    "return_shape": lambda m: str(
        m.jax.make_jaxpr(lambda x: {"a": x, "b": [1, x > 0]}, return_shape=True)(V)[1]
    ),
    "structs": lambda m: m.jax.make_jaxpr(lambda x: x @ x.T)(
        m.jax.ShapeDtypeStruct((2, 3), np.float32)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", JAXPRS)
def test_jaxprs(name: str) -> None:
    same(lambda m: jaxpr_text(JAXPRS[name](m)))


SHAPES: dict[str, Callable] = {
    "tree": lambda m: m.jax.eval_shape(lambda x: {"a": x, "b": (x[0], 1, True)}, V),
    "weak": lambda m: m.jax.eval_shape(lambda x: x * 2, 1.0),
    "keywords": lambda m: m.jax.eval_shape(lambda x, *, y: x @ y, np.ones((2, 3)), y=np.ones((3, 4))),
    "structs": lambda m: m.jax.eval_shape(m.jnp.sum, m.jax.ShapeDtypeStruct((2, 3), np.int8)),
    "of jit": lambda m: m.jax.jit(lambda x: (x, None)).eval_shape(V),
    "statics": lambda m: m.jax.jit(lambda x, n: [x] * n, static_argnums=1).eval_shape(V, 2),
    "key": lambda m: m.jax.eval_shape(m.random.key, 0),
}  # fmt: skip


@pytest.mark.parametrize("name", SHAPES)
def test_eval_shape(name: str) -> None:
    same(lambda m: str(SHAPES[name](m)))


def test_eval_shape_computes_nothing() -> None:
    out = lingon.eval_shape(
        lambda x: lnp.outer(x, x), lingon.ShapeDtypeStruct((10**6,), np.float32)
    )
    assert out.shape == (10**6, 10**6)
    failed = run(lambda m: m.jax.eval_shape(lambda x: x.nothing, V), OURS)
    assert isinstance(failed, Failed) and failed.is_a("AttributeError")
