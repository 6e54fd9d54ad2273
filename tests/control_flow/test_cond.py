"""cond and switch under every transformation, beside jax."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from both import OURS, assert_leaf, same
from cond_programs import PROGRAMS, X, Y
from scan_programs import floats, scalar

import lingon
from lingon.frontend.core.interpreter import eval_closed

NAMES = sorted(PROGRAMS)
INDICES = [0, 1, 5, -2]
all_programs = pytest.mark.parametrize("name", NAMES)
all_indices = pytest.mark.parametrize("i", INDICES[:2])


@pytest.mark.parametrize("i", INDICES)
@all_programs
def test_values(name: str, i: int) -> None:
    make, args = PROGRAMS[name]
    same(lambda m: m.jax.jit(make(m))(i, *args))
    if i in (0, 1):
        same(lambda m: make(m)(i, *args))


@all_indices
@all_programs
def test_interpreter(name: str, i: int) -> None:
    """What the jaxpr means by the primitives' references is what the compiled program does."""
    make, args = PROGRAMS[name]
    closed = lingon.make_jaxpr(make(OURS))(i, *args)
    with lingon.disable_jit():
        interpreted = eval_closed(closed, i, *args)
    compiled = lingon.tree_util.tree_leaves(lingon.jit(make(OURS))(i, *args))
    for a, b in zip(interpreted, compiled, strict=True):
        assert_leaf(np.asarray(a), np.asarray(b), name, 1e-5, False)


@all_indices
@all_programs
def test_without_jit(name: str, i: int) -> None:
    make, args = PROGRAMS[name]

    def program(m: Any) -> Any:
        with m.jax.disable_jit():
            f = make(m)
            return f(i, *args), m.jax.grad(scalar(m, lambda *a: f(i, *a)), (0, 1))(*args)

    same(program, tol=1e-4, weak=False)


@all_indices
@all_programs
def test_jvp(name: str, i: int) -> None:
    make, args = PROGRAMS[name]
    tangents = tuple(np.cos(a) for a in args)

    def program(m: Any) -> Any:
        f = lambda *a: floats(m, make(m)(i, *a))
        g = lambda a, t: m.jax.jvp(f, a, t)
        return (m.jax.jit(g) if i else g)(args, tangents)

    same(program, tol=1e-4)


@pytest.mark.parametrize("i,which", [(0, (0,)), (1, (1,)), (1, (0, 1))])
@all_programs
def test_grad(name: str, i: int, which: tuple[int, ...]) -> None:
    make, args = PROGRAMS[name]
    same(lambda m: m.jax.grad(scalar(m, lambda *a: make(m)(i, *a)), which)(*args), tol=1e-4)


@all_programs
def test_grad_compiled(name: str) -> None:
    """With an index that is an argument of the compiled program."""
    make, args = PROGRAMS[name]

    def program(m: Any) -> Any:
        g = m.jax.jit(lambda i, *a: m.jax.grad(scalar(m, lambda *b: make(m)(i, *b)), (0, 1))(*a))
        return g(0, *args), g(1, *args)

    same(program, tol=1e-4)


@all_indices
@pytest.mark.parametrize("name", ["two", "three", "nested", "jitted", "scanned", "loops"])
def test_second_derivatives(name: str, i: int) -> None:
    make, args = PROGRAMS[name]

    def program(m: Any) -> Any:
        f = scalar(m, lambda *a: make(m)(i, *a))
        return m.jax.jit(m.jax.jacrev(m.jax.grad(f)) if i else m.jax.hessian(f))(*args)

    same(program, tol=2e-3)


AXES: list[Any] = [(None, 0, None), (None, -1, 0)]
PREDICATE_AXES: list[Any] = [(0, 0, 0), (0, None, None), (0, 1, None)]


def spread(x: Any, axis: int | None) -> Any:
    if axis is None:
        return x
    if np.ndim(x) == 0:
        return np.asarray([x, 1 - x, 7], np.int32)
    return np.stack([x, 0.5 * x, -x], axis=axis)


@pytest.mark.parametrize("axes", [*AXES, *PREDICATE_AXES], ids=str)
@all_programs
def test_vmap(name: str, axes: Any) -> None:
    make, args = PROGRAMS[name]
    ins = [spread(a, d) for a, d in zip((1, *args), axes, strict=True)]

    def program(m: Any) -> Any:
        return m.jax.jit(m.jax.vmap(make(m), in_axes=axes))(*ins)

    same(program, tol=1e-4)


@pytest.mark.parametrize("axes", [(None, 0, None), (0, None, 0)], ids=str)
@pytest.mark.parametrize("name", ["two", "trees", "constant", "nested", "masked"])
def test_vmap_without_jit(name: str, axes: Any) -> None:
    make, args = PROGRAMS[name]
    ins = [spread(a, d) for a, d in zip((1, *args), axes, strict=True)]
    same(lambda m: m.jax.vmap(make(m), in_axes=axes)(*ins), tol=1e-4)


@pytest.mark.parametrize("axes", [(None, 0, 0), (0, 0, None)], ids=str)
@all_programs
def test_vmap_of_grad(name: str, axes: Any) -> None:
    make, args = PROGRAMS[name]
    ins = [spread(a, d) for a, d in zip((0, *args), axes, strict=True)]

    def program(m: Any) -> Any:
        g = lambda i, *a: m.jax.grad(scalar(m, lambda *b: make(m)(i, *b)), (0, 1))(*a)
        return m.jax.jit(m.jax.vmap(g, in_axes=axes))(*ins)

    same(program, tol=1e-4)


@pytest.mark.parametrize("axes", [(None, 0, 0), (0, 0, None)], ids=str)
@all_programs
def test_grad_of_vmap(name: str, axes: Any) -> None:
    make, args = PROGRAMS[name]
    i, *ins = [spread(a, d) for a, d in zip((0, *args), axes, strict=True)]

    def program(m: Any) -> Any:
        f = lambda *a: m.jax.vmap(make(m), in_axes=axes)(i, *a)
        return m.jax.jit(m.jax.grad(scalar(m, f), (0, 1)))(*ins)

    same(program, tol=1e-4)


def test_nested_vmap() -> None:
    """The predicate and the operands are batched by different axes."""
    p = np.asarray([True, False])

    def program(m: Any) -> Any:
        f = lambda p, x: m.lax.cond(p, lambda x: x * 2, lambda x: m.jnp.cos(x), x)
        inner = m.jax.vmap(f, in_axes=(None, 0))
        outer = m.jax.vmap(m.jax.vmap(f, in_axes=(0, None)), in_axes=(None, 0))
        return m.jax.vmap(inner, in_axes=(0, None))(p, X), outer(p, X)

    same(program)


def test_collective_in_a_branch() -> None:
    def program(m: Any) -> Any:
        def f(p: Any, x: Any) -> Any:
            return m.lax.cond(p, lambda x: m.lax.psum(x, "i"), lambda x: x, x)

        mapped = lambda d: m.jax.vmap(f, in_axes=(d, 0), axis_name="i")
        return mapped(None)(True, X), mapped(0)(X > 0, X)

    same(program)


# --- predicates, operands, results ---------------------------------------------------------


@pytest.mark.parametrize(
    "pred",
    [True, False, 0, 3, -1, 0.0, 0.5, np.bool_(True), np.uint8(0), np.float32(2), float("nan")],
)
def test_predicates(pred: Any) -> None:
    def program(m: Any) -> Any:
        f = lambda p: m.lax.cond(p, lambda: 1, lambda: 2)
        return f(pred), m.jax.jit(f)(pred), f(m.jnp.asarray(pred))

    same(program)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32"])
def test_indices(dtype: str) -> None:
    def program(m: Any) -> Any:
        f = lambda i: m.lax.switch(i, [lambda: 0, lambda: 1, lambda: 2])
        small, large = np.iinfo(dtype).min, np.iinfo(dtype).max
        values = [np.asarray(v, dtype) for v in (0, 1, 2, 3, small, large)]
        return [f(v) for v in values], [m.jax.jit(f)(v) for v in values]

    same(program)


def test_weak_types() -> None:
    """Results take their weak types from the branch of index 0."""

    def program(m: Any) -> Any:
        x = m.jnp.float32(2)
        f = lambda p: [
            m.lax.cond(p, lambda: 1.0, lambda: x),
            m.lax.cond(p, lambda: x, lambda: 1.0),
            m.lax.cond(p, lambda: 2.0, lambda: 1.0),
            m.lax.switch(1 * p, [lambda: 1.0, lambda: x, lambda: x]),
        ]
        return f(True), m.jax.jit(f)(True)

    same(program)


@pytest.mark.parametrize(
    "dtype", ["int8", "uint8", "int32", "bool", "float16", "bfloat16", "complex64"]
)
def test_dtypes(dtype: str) -> None:
    def program(m: Any) -> Any:
        x = m.jnp.asarray([0, 1, 1], dtype)
        f = lambda p, x: m.lax.cond(p, lambda x: x[::-1], lambda x: m.jnp.roll(x, 1), x)
        p = np.asarray([True, False, True])
        both = m.jnp.stack([x, x[::-1], x])
        return f(True, x), m.jax.jit(f)(False, x), m.jax.vmap(f)(p, both)

    same(program)


def test_keys() -> None:
    """Typed keys as operands and results."""

    def program(m: Any) -> Any:
        k = m.random.key(3)
        f = lambda p, k: m.lax.cond(p, lambda k: m.random.fold_in(k, 1), lambda k: k, k)
        keys = m.random.split(k, 2)
        p = np.asarray([True, False])
        data = m.random.key_data
        return data(f(True, k)), data(m.jax.jit(f)(False, k)), data(m.jax.vmap(f)(p, keys))

    same(program)


def test_no_elements() -> None:
    e = np.zeros((0, 3), np.float32)

    def program(m: Any) -> Any:
        f = lambda p, x: m.lax.cond(p, lambda x: x * 2, lambda x: x + 1, x)
        g = lambda x: m.jnp.sum(f(True, x))
        return f(True, e), m.jax.jit(f)(False, e), m.jax.grad(g)(e)

    same(program)


def test_older_forms() -> None:
    def program(m: Any) -> Any:
        sin, cos = m.jnp.sin, m.jnp.cos
        return [
            m.lax.cond(True, X, sin, Y, cos),
            m.lax.cond(False, X, sin, Y, cos),
            m.lax.cond(True, sin, cos, operand=X),
            m.lax.cond(pred=False, true_fun=sin, false_fun=cos, operand=X),
            m.lax.cond(True, lambda x: 1.0, lambda x: 2.0, operand=None),
            m.lax.switch(1, (sin, cos), operand=X),
            m.lax.switch(0, [sin], X),
        ]

    same(program)


def test_results_that_are_operands() -> None:
    def program(m: Any) -> Any:
        def f(p: Any, x: Any, y: Any) -> Any:
            return m.lax.cond(p, lambda x, y: (x, y, x), lambda x, y: (x, x, y), x, y)

        return f(True, X, Y), m.jax.jit(f)(False, X, Y), m.jax.vmap(f)(X > 0, X, Y)

    same(program)


def test_branches_may_be_one_function() -> None:
    same(lambda m: m.lax.cond(True, m.jnp.sin, m.jnp.sin, X))
    same(lambda m: m.jax.grad(lambda x: m.lax.switch(2, [m.jnp.sin] * 3, x))(0.5))


def test_double_precision() -> None:
    def program(m: Any) -> Any:
        with m.jax.enable_x64(True):
            f = lambda i, x: m.lax.switch(i, [m.jnp.sin, m.jnp.cos], x)
            return f(np.int64(2**40), 0.5), m.jax.grad(f, argnums=1)(0, m.jnp.float64(0.5))

    same(program, tol=1e-13)


def test_large_branches_reuse_no_buffers_wrongly() -> None:
    """Branches that make, and that pass on, arrays that are used again afterwards."""
    x = np.linspace(0, 1, 300 * 200, dtype=np.float32).reshape(300, 200)

    def program(m: Any) -> Any:
        def f(p: Any, x: Any) -> Any:
            y, z = m.lax.cond(p, lambda x: (x, x + 1), lambda x: (x * 2, x), x)
            w = m.lax.cond(p, lambda: y @ z.T, lambda: z @ x.T)
            return x, y, z, w

        return m.jax.jit(f)(True, x), m.jax.jit(f)(False, x)

    same(program, tol=1e-4)


# --- platforms -----------------------------------------------------------------------------


def test_platform_dependent() -> None:
    def program(m: Any) -> Any:
        sin, cos = m.jnp.sin, m.jnp.cos
        f = lambda x: m.lax.platform_dependent(x, cuda=cos, cpu=sin)
        g = lambda x: m.lax.platform_dependent(x, cuda=sin, default=cos)
        return f(X), g(X), m.jax.jit(f)(X), m.jax.jit(g)(X), m.jax.grad(g)(0.5), m.jax.vmap(f)(X)

    same(program)


# --- how often it is traced and compiled ---------------------------------------------------


def test_traced_once() -> None:
    """A branch is traced once for each signature, whatever its index, and however often."""
    count = [0]

    def branch(x: Any) -> Any:
        count[0] += 1
        return x * 2

    for p in (True, False, True):
        lingon.lax.cond(p, branch, lingon.numpy.sin, X)
    assert count == [1]
    lingon.lax.cond(True, branch, lingon.numpy.sin, 1.0)
    assert count == [2]
    f = lingon.jit(lambda p, x: lingon.lax.cond(p, branch, lambda y: y + x, x))
    f(True, X), f(False, X)
    assert count == [2]
    lingon.grad(lambda x: lingon.lax.cond(True, branch, lingon.numpy.sin, x))(1.0)
    assert count == [2]


def test_closures_are_watched() -> None:
    """A function whose closed-over values change is traced again; jax keeps the old values."""
    scale = 2.0
    table = {"a": [1.0]}

    def branch(x: Any) -> Any:
        return x * scale + table["a"][0]

    f = lambda: float(lingon.lax.cond(True, branch, lambda x: x, 1.0))
    assert f() == 3.0
    scale = 3.0
    assert f() == 4.0
    table["a"][0] = 5.0
    assert f() == 8.0


def test_compiled_once(caplog: pytest.LogCaptureFixture) -> None:
    """Eager calls with functions made anew in every call share one program."""
    x = np.linspace(0.1, 0.7, 11, dtype=np.float32)
    with lingon.log_compiles(), caplog.at_level("WARNING", logger="lingon"):
        for k in range(5):
            y = lingon.lax.cond(k % 2 == 0, lambda x: x * 2 + 1, lambda x: lingon.numpy.sin(x), x)
            lingon.grad(lambda x: lingon.lax.cond(k % 2 == 0, lambda v: v * x, lambda v: v, x))(0.5)
    compiled = [r for r in caplog.records if "Compiling jit(cond)" in r.getMessage()]
    assert 1 <= len(compiled) <= 4, [r.getMessage() for r in compiled]
    assert y.shape == (11,)
