"""Errors of traced code: their types are jax's, their messages name the user's line and a way out."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
import textwrap
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from both import JAX, OURS, Failed, fails, run, same

import lingon
import lingon.numpy as lnp

V = np.array([0.5, -1.5, 2.0], np.float32)
N = np.array([0, 2, 1], np.int32)
M = np.arange(6, dtype=np.float32).reshape(3, 2)


def line_of(f: Callable, text: str) -> int:
    """The line number in this file at which `text` stands in the source of `f`."""
    lines, first = inspect.getsourcelines(f)
    return next(first + i for i, s in enumerate(lines) if s.rstrip().endswith(text))


# --- values that are not known while tracing --------------------------------------------------

UNKNOWN: dict[str, tuple[Callable[[Any], Callable], Any]] = {
    "if": (lambda m: lambda x: x if x > 0 else -x, 1.0),
    "while": (lambda m: lambda x: _while(x), 1.0),
    "and": (lambda m: lambda x: x and 1, 1.0),
    "not": (lambda m: lambda x: not x, True),
    "assert": (lambda m: lambda x: _assert(x), 1.0),
    "bool()": (lambda m: lambda x: bool(x), True),
    "in": (lambda m: lambda x: x in [1, 2], 1),
    "max of Python": (lambda m: lambda x: max(x, 2.0), 1.0),
    "sorted": (lambda m: lambda x: sorted(x), V),
    "all of Python": (lambda m: lambda x: all(x > 0), V),
    "chained comparison": (lambda m: lambda x: 0 < x < 2, 1.0),
    "int()": (lambda m: lambda x: int(x), 1),
    "float()": (lambda m: lambda x: float(x), 1.0),
    "complex()": (lambda m: lambda x: complex(x), 1.0),
    "round to int": (lambda m: lambda x: x.item(), 1.0),
    "tolist": (lambda m: lambda x: x.tolist(), V),
    "np.asarray": (lambda m: lambda x: np.asarray(x), V),
    "np.sin": (lambda m: lambda x: np.sin(x), V),
    "np.zeros of the shape": (lambda m: lambda x: np.zeros(x), 3),
    "jnp.zeros of the shape": (lambda m: lambda x: m.jnp.zeros(x), 3),
    "list index": (lambda m: lambda x: [1, 2, 3][x], 1),
    "numpy index": (lambda m: lambda x: np.arange(3)[x], 1),
    "range": (lambda m: lambda x: list(range(x)), 3),
    "repetition": (lambda m: lambda x: [1] * x, 3),
    "slice bound": (lambda m: lambda x: m.jnp.arange(5)[:x], 3),
    "arange": (lambda m: lambda x: m.jnp.arange(x), 3),
    "linspace": (lambda m: lambda x: m.jnp.linspace(0, 1, x), 3),
    "reshape": (lambda m: lambda x: m.jnp.arange(6).reshape(x, -1), 3),
    "axis": (lambda m: lambda x: m.jnp.sum(V, axis=x), 0),
    "repeat": (lambda m: lambda x: m.jnp.repeat(V, x), N),
    "boolean mask": (lambda m: lambda x: x[x > 0], V),
    "nonzero": (lambda m: lambda x: m.jnp.nonzero(x), V),
    "where of one argument": (lambda m: lambda x: m.jnp.where(x > 0), V),
    "unique": (lambda m: lambda x: m.jnp.unique(x), V),
    "one_hot": (lambda m: lambda x: m.nn.one_hot(N, x), 3),
    "eye": (lambda m: lambda x: m.jnp.eye(x), 3),
    "tile": (lambda m: lambda x: m.jnp.tile(V, x), 2),
    "hash": (lambda m: lambda x: {x: 1}, 1),
    "set": (lambda m: lambda x: {x}, 1),
    "hex": (lambda m: lambda x: hex(x), 1),
    "iteration over a scalar": (lambda m: lambda x: list(x), 1.0),
    "len of a scalar": (lambda m: lambda x: len(x), 1.0),
    "item assignment": (lambda m: lambda x: x.__setitem__(0, 1.0), V),
    "item deletion": (lambda m: lambda x: _delete(x), V),
    "random split": (lambda m: lambda n: m.random.split(m.random.key(0), n), 3),
    "attribute": (lambda m: lambda x: x.nothing, V),
    "call": (lambda m: lambda x: x(1), V),
    "pickle": (lambda m: lambda x: __import__("pickle").dumps(x), V),
    "math": (lambda m: lambda x: __import__("math").sin(x), 1.0),
    "numpy as an operand": (lambda m: lambda x: np.float32(2) if x.sum() > 1 else 1, V),
    "format with a spec": (lambda m: lambda x: f"{x:.3f}", 1.0),
    "% formatting": (lambda m: lambda x: "%d" % x, 1),  # noqa: UP031
    "delete the buffer": (lambda m: lambda x: x.delete(), V),
}  # fmt: skip


def _while(x: Any) -> Any:
    while x < 10:
        x = x * 2
    return x


def _delete(x: Any) -> Any:
    del x[0]


def _assert(x: Any) -> Any:
    assert x > 0
    return x


@pytest.mark.parametrize("transform", ["jit", "vmap", "make_jaxpr", "jit of vmap"])
@pytest.mark.parametrize("name", UNKNOWN)
def test_unknown_values(name: str, transform: str) -> None:
    make, x = UNKNOWN[name]

    def program(m: Any) -> Any:
        f = make(m)
        if "vmap" in transform:
            f = m.jax.vmap(f)
        if "jit" in transform:
            f = m.jax.jit(f)
        arg = np.stack([np.asarray(x)] * 2) if "vmap" in transform else x
        return (m.jax.make_jaxpr(f) if transform == "make_jaxpr" else f)(arg)

    if isinstance(run(program, JAX), Failed):
        # of these jax's errors are of types that depend on the place where it noticed
        odd = name in ("item deletion", "random split")
        fails(program, theirs=TypeError if odd else None)
    else:
        assert not isinstance(r := run(program, OURS), Failed), r


LINES: dict[str, tuple[Callable, Any, tuple[str, ...]]] = {
    "if": (lambda x: x if x > 0 else -x, 1.0, ("argument x", "jnp.where", "static_argnums")),
    "int()": (lambda x: int(x), 1, ("astype(int)", "argument x")),
    "np.sin": (lambda x: np.sin(x), V, ("jax.numpy", "argument x")),
    "range": (lambda x: list(range(x)), 3, ("__index__", "static_argnums")),
    "mask": (lambda x: x[x > 0], V, ("boolean", "jnp.where", "float32[3]" and "bool[3]")),
    "shape": (lambda x: lnp.zeros(x), 3, ("argument x", "(JitTracer(~int32[]),)", "static_argnums")),
    "shape with a traced part": (lambda x: lnp.broadcast_to(1.0, (x, 2)), 3, ("argument x", ", 2)")),
    "broadcasting": (lambda x: x + M, V, ("(3,)", "(3, 2)")),
    "dtype": (lambda x: lingon.lax.add(x, N), V, ("float32", "int32")),
    "dot": (lambda x: lnp.dot(x, M.T), V, ("(3,)", "(2, 3)")),
    "axis": (lambda x: lnp.sum(x, axis=2), V, ("axis 2", "1")),
    "reshape": (lambda x: x.reshape(2, 2), V, ("(3,)", "(2, 2)")),
    "assignment": (lambda x: x.__setitem__(0, 1), V, (".at[", "immutable")),
    "float index": (lambda x: x[1.5], V, ("1.5" and "float",)),
    "too many indices": (lambda x: x[0, 1], V, ("2", "1")),
    "concatenate": (lambda x: lnp.concatenate([x, M]), V, ("(3,)", "(3, 2)")),
}  # fmt: skip


@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])
@pytest.mark.parametrize("name", LINES)
def test_the_users_line_is_shown(name: str, jitted: bool) -> None:
    """The innermost frame that the user sees is his own line, and nothing of lingon's."""
    f, x, words = LINES[name]
    unknown = name in ("if", "int()", "np.sin", "range", "mask") or name.startswith("shape")
    if unknown and not jitted:
        return
    with pytest.raises(Exception) as e:
        (lingon.jit(f) if jitted else f)(x if jitted else lnp.asarray(x))
    for w in words:
        assert w in str(e.value), f"{w!r} is not in: {e.value}"
    here = [s for s in traceback.extract_tb(e.value.__traceback__) if s.filename == __file__]
    assert here and here[-1].lineno == f.__code__.co_firstlineno
    if jitted:  # the outermost of lingon's own functions is where the others were taken out
        frames = traceback.extract_tb(e.value.__traceback__)
        assert sum("/frontend/" in s.filename for s in frames) <= 1


def test_message_of_a_branch() -> None:
    def f(x: Any, y: Any) -> Any:
        z = x * 2
        if z > 1:  # the branch
            return z
        return y

    with pytest.raises(lingon.errors.TracerBoolConversionError) as e:
        lingon.jit(f)(1.0, 2.0)
    text = str(e.value)
    assert "bool[]" in text and f"{__file__}:{f.__code__.co_firstlineno}" in text
    assert f"{__file__}:{line_of(test_message_of_a_branch, '# the branch')}" in text
    assert "argument x" in text and " y" not in text.split("argument x")[1]
    assert e.traceback[-1].lineno + 1 == line_of(test_message_of_a_branch, "# the branch")


# --- tracers that get out -----------------------------------------------------------------------


def _leak(m: Any, transform: Callable, use: Callable[[Any], Any]) -> Any:
    kept = []

    def f(x: Any) -> Any:
        kept.append(x * 2)
        return m.jnp.sum(x)

    transform(f)(m.jnp.asarray(V))
    return use(kept[0])


TRANSFORMS: dict[str, Callable[[Any], Callable]] = {
    "jit": lambda m: m.jax.jit,
    "vmap": lambda m: m.jax.vmap,
    "make_jaxpr": lambda m: m.jax.make_jaxpr,
    "eval_shape": lambda m: lambda f: lambda x: m.jax.eval_shape(f, x),
    "grad of jit": lambda m: lambda f: m.jax.grad(m.jax.jit(f)),
    "jit of grad": lambda m: lambda f: m.jax.jit(m.jax.grad(f)),
}
USES: dict[str, Callable[[Any], Callable]] = {
    "operator": lambda m: lambda t: t + 1,
    "function": lambda m: lambda t: m.jnp.sin(t),
    "in another jit": lambda m: lambda t: m.jax.jit(lambda x: x + t)(1.0),
    "argument of jit": lambda m: lambda t: m.jax.jit(lambda x: x + 1)(t),
    "in grad": lambda m: lambda t: m.jax.grad(lambda x: m.jnp.sum(x * t))(1.0),
    "in vmap": lambda m: lambda t: m.jax.vmap(lambda x: x + t)(V),
    "list of it": lambda m: lambda t: m.jnp.array([t, t]),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("transform", TRANSFORMS)
def test_leaked_tracers(transform: str, use: str) -> None:
    fails(
        lambda m: _leak(m, TRANSFORMS[transform](m), USES[use](m)), theirs="UnexpectedTracerError"
    )


@pytest.mark.parametrize(
    "what", [bool, int, float, np.asarray, len, repr, str], ids=lambda f: f.__name__
)
def test_conversions_of_leaked_tracers(what: Callable) -> None:
    def program(m: Any) -> Any:
        r = _leak(m, m.jax.jit, lambda t: what(t[0] if what in (bool, int, float) else t))
        return r if isinstance(r, int) else 0

    if isinstance(run(program, JAX), Failed):
        fails(program)
    else:
        same(program)


def test_message_of_a_leak() -> None:
    kept = []

    @lingon.jit
    def saves(x: Any) -> Any:
        kept.append(x * 2)  # the leak
        return x

    saves(1.0)
    with pytest.raises(lingon.errors.UnexpectedTracerError) as e:
        kept[0] + 1
    text = str(e.value)
    assert "saves" in text and "float32[]" in text
    assert f"{__file__}:{line_of(test_message_of_a_leak, '# the leak')}" in text


CHECKED: dict[str, Callable[[Any], Any]] = {
    "jit": lambda m: _leak(m, m.jax.jit, lambda t: 0),
    "vmap": lambda m: _leak(m, m.jax.vmap, lambda t: 0),
    "grad": lambda m: _leak(m, m.jax.grad, lambda t: 0),
    "no leak": lambda m: float(m.jax.grad(m.jax.jit(lambda x: m.jnp.sum(x * x)))(m.jnp.asarray(V))[0]),
    "inner value kept for a while": lambda m: float(m.jax.jit(lambda x: [x * i for i in range(3)][2])(2.0)),
}  # fmt: skip


@pytest.mark.parametrize("name", CHECKED)
def test_checking_leaks(name: str) -> None:
    def program(m: Any) -> Any:
        with m.jax.checking_leaks():
            return CHECKED[name](m)

    if isinstance(run(program, JAX), Failed):
        fails(program, "eaked")
    else:
        same(program)


# --- errors of library functions ---------------------------------------------------------------

LIBRARY: dict[str, tuple] = {
    "add": (lambda m: m.jnp.add(V, M), "(3,)", "(3, 2)"),
    "operator": (lambda m: m.jnp.asarray(V) + M, "(3,)", "(3, 2)"),
    "matmul": (lambda m: m.jnp.matmul(M, M), "(3, 2)"),
    "matmul of a scalar": (lambda m: m.jnp.matmul(M, 2.0),),
    "dot": (lambda m: m.jnp.dot(V, M.T), "(3,)", "(2, 3)"),
    "einsum": (lambda m: m.jnp.einsum("ij,jk->ik", M, M),),
    "einsum text": (lambda m: m.jnp.einsum("ij->ik", M),),
    "concatenate": (lambda m: m.jnp.concatenate([V, M]),),
    "concatenate nothing": (lambda m: m.jnp.concatenate([]),),
    "concatenate one array": (lambda m: m.jnp.concatenate(m.jnp.asarray(V)[0]),),
    "stack": (lambda m: m.jnp.stack([V, M]),),
    "reshape": (lambda m: m.jnp.asarray(V).reshape(2, 2), "(3,)", "(2, 2)"),
    "reshape of -1": (lambda m: m.jnp.asarray(M).reshape(-1, 4),),
    "two -1": (lambda m: m.jnp.asarray(M).reshape(-1, -1),),
    "transpose": (lambda m: m.jnp.transpose(M, (0, 0)),),
    "sum axis": (lambda m: m.jnp.sum(M, axis=2), "2"),
    "repeated axis": (lambda m: m.jnp.sum(M, axis=(0, 0)),),
    "argmax axis": (lambda m: m.jnp.argmax(V, 1),),
    "max of empty": (lambda m: m.jnp.max(m.jnp.zeros((0,))),),
    "string": (lambda m: m.jnp.sin("a"), "str"),
    "list": (lambda m: m.jnp.sin([1.0, 2.0]), "list"),
    "None": (lambda m: m.jnp.add(V, None), "None"),
    "list operand": (lambda m: m.jnp.asarray(V) * [1.0, 2.0, 3.0],),
    "string operand": (lambda m: m.jnp.asarray(V) + "a",),
    "out": (lambda m: m.jnp.sum(V, out=V), "out"),
    "bad dtype": (lambda m: m.jnp.zeros(3, dtype="foo"), "foo"),
    "string dtype": (lambda m: m.jnp.zeros(3, dtype=str),),
    "negative shape": (lambda m: m.jnp.zeros(-1), "-1"),
    "float shape": (lambda m: m.jnp.zeros(1.5), "1.5"),
    "ragged": (lambda m: m.jnp.array([[1, 2], [3]]),),
    "array of strings": (lambda m: m.jnp.array(["a"]),),
    "float index": (lambda m: m.jnp.asarray(V)[0.5], "float"),
    "string index": (lambda m: m.jnp.asarray(V)["a"],),
    "list index": (lambda m: m.jnp.asarray(V)[[0, 1]], "sequence"),
    "too many indices": (lambda m: m.jnp.asarray(V)[0, 0],),
    "two ellipses": (lambda m: m.jnp.asarray(M)[..., ...],),
    "mask shape": (lambda m: m.jnp.asarray(V)[np.array([True, False])],),
    "static index out of bounds": (lambda m: m.jnp.asarray(V)[7:9][0],),
    "assignment": (lambda m: m.jnp.asarray(V).__setitem__(0, 1), "immutable", ".at["),
    "at value shape": (lambda m: m.jnp.asarray(V).at[:2].set(V), "(2,)" and "(3,)"),
    "at mode": (lambda m: m.jnp.asarray(V).at[0].set(1.0, mode="foo"), "foo"),
    "at without method": (lambda m: m.jnp.asarray(V).at[0].foo(1.0), "foo"),
    "scalar conversion": (lambda m: float(m.jnp.asarray(V)),),
    "int of vector": (lambda m: int(m.jnp.asarray(V)),),
    "truth of vector": (lambda m: bool(m.jnp.asarray(V)), "ambiguous"),
    "truth of empty": (lambda m: bool(m.jnp.zeros(0)), "empty" and "size"),
    "float as index": (lambda m: [1, 2][m.jnp.float32(1)],),
    "vector as index": (lambda m: [1, 2][m.jnp.array([1])],),
    "hash": (lambda m: hash(m.jnp.asarray(V)), "unhashable"),
    "lax dtypes": (lambda m: m.lax.add(V, N), "float32", "int32"),
    "lax shapes": (lambda m: m.lax.mul(V, V[:2]), "(3,)", "(2,)"),
    "lax sin of int": (lambda m: m.lax.sin(N), "int32"),
    "lax slice": (lambda m: m.lax.slice(V, (0,), (5,)),),
    "lax pad": (lambda m: m.lax.pad(V, np.int32(0), [(0, 0, 0)]),),
    "lax concatenate": (lambda m: m.lax.concatenate([V, M], 0),),
    "lax broadcast_in_dim": (lambda m: m.lax.broadcast_in_dim(V, (2, 2), (0,)),),
    "lax dot_general": (lambda m: m.lax.dot_general(M, M, (((1,), (0,)), ((), ()))),),
    "lax dynamic_slice": (lambda m: m.lax.dynamic_slice(V, (0,), (5,)),),
    "lax select": (lambda m: m.lax.select(V > 0, V, M),),
    "lax clamp": (lambda m: m.lax.clamp(V[:2], V, V),),
    "lax top_k": (lambda m: m.lax.top_k(V, 5),),
    "lax iota": (lambda m: m.lax.iota("int32", -1),),
    "random key": (lambda m: m.random.normal(3.0, (2,)),),
    "random dtype": (lambda m: m.random.normal(m.random.key(0), (2,), "int32"), "int32"),
    "clip types": (lambda m: m.jnp.clip(V, 1j, 2),),
    "integer power": (lambda m: m.lax.integer_pow(V, 1.5),),
    "split": (lambda m: m.jnp.split(V, 2),),
    "squeeze": (lambda m: m.jnp.squeeze(M, 0),),
    "take mode": (lambda m: m.jnp.take(V, N, mode="foo"), "foo"),
    "unexpected argument": (lambda m: m.jnp.sum(V, foo=1), "foo"),
    "softmax axis": (lambda m: m.nn.softmax(V, axis=3),),
    "shift of floats": (lambda m: m.jnp.left_shift(V, 1), "float32"),
    "invert floats": (lambda m: ~m.jnp.asarray(V),),
    "bool minus bool": (lambda m: m.jnp.subtract(V > 0, V > 0),),
    "negative bool": (lambda m: -(m.jnp.asarray(V) > 0),),
    "large integer": (lambda m: m.jnp.add(N, 2**40),),
}  # fmt: skip


@pytest.mark.parametrize("name", LIBRARY)
def test_library_errors(name: str) -> None:
    program, *words = LIBRARY[name]
    if isinstance(run(program, JAX), Failed):
        fails(program, *words)
    else:
        assert not isinstance(r := run(program, OURS), Failed), r


CLEARER: dict[str, tuple] = {
    # where jax's error comes from deep inside its compiler, or is of an odd type
    "lax reshape": (lambda m: m.lax.reshape(m.jnp.asarray(V), (2,)), TypeError, "(2,)", "(3,)"),
    "random shape": (lambda m: m.random.normal(m.random.key(0), (-1,)), ValueError, "-1"),
    "bits of complex": (
        lambda m: m.lax.bitcast_convert_type(V, np.complex64), TypeError, "complex64", "float32",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CLEARER)
def test_clearer_errors(name: str) -> None:
    program, kind, *words = CLEARER[name]
    assert isinstance(run(program, JAX), Failed)
    fails(program, *words, theirs=kind)


# --- known values inside traced functions --------------------------------------------------------


def _known(m: Any) -> Callable:
    def f(x: Any) -> Any:
        with m.jax.ensure_compile_time_eval():
            n = int(m.jnp.sum(m.jnp.arange(4)))
            y = x * n
        return m.jnp.sum(y * x)

    return f


@pytest.mark.parametrize("transform", ["jit", "grad", "jit of grad", "value"])
def test_compile_time_evaluation(transform: str) -> None:
    def program(m: Any) -> Any:
        f = _known(m)
        if "grad" in transform:
            f = m.jax.grad(f)
        return (m.jax.jit(f) if "jit" in transform else f)(m.jnp.asarray(V))

    same(program)


KNOWN: dict[str, Callable[[Any, Any], Any]] = {
    "if": lambda m, x: x[0] if x[0] > 0 else -x[0],
    "int": lambda m, x: x[int(x[2])],
    "index": lambda m, x: x[0] * [1.0, 2.0][(x[2] > 0).astype(int)],
    "index of a bool": lambda m, x: x[0] * [1.0, 2.0][x[2] > 0],
    "any": lambda m, x: x[0] if bool(m.jnp.any(x < 0)) else x[1],
    "mask": lambda m, x: x[x > 0].sum(),
    "nonzero": lambda m, x: x[m.jnp.nonzero(x)[0]].sum(),
    "arange": lambda m, x: x[0] * m.jnp.arange(x[2]).sum(),
    "item": lambda m, x: x[0] * x[1].item(),
    "float": lambda m, x: x[0] * float(x[1]),
    "complex": lambda m, x: x[0] * complex(x[1]).real,
    "np.asarray": lambda m, x: x[0] * np.asarray(x)[1],
    "np.sin": lambda m, x: x[0] * np.sin(x)[1],
    "tolist": lambda m, x: x[0] * x.tolist()[1],
    "float without gradient": lambda m, x: x[0] * float(m.lax.stop_gradient(x)[1]),
    "array without gradient": lambda m, x: x[0] * np.asarray(m.lax.stop_gradient(x))[1],
    "format": lambda m, x: x[0] * len(f"{x[0]:.3f}"),
    "math": lambda m, x: x[0] * __import__("math").sin(x[1]),
    "round": lambda m, x: x[0] * round(x[1]),
}
WITHOUT_VALUE = (
    "addressable_data addressable_shards block_until_ready committed copy_to_host_async delete device "
    "devices global_shards is_deleted is_fully_addressable is_fully_replicated is_ready itemsize "
    "nbytes on_device_size_in_bytes sharding tobytes unsafe_buffer_pointer __dlpack__ nothing"
).split()


@pytest.mark.parametrize("name", KNOWN)
def test_values_under_grad_are_known(name: str) -> None:
    """Python may look at values that are differentiated, but not get a gradient's part out."""

    def program(m: Any) -> Any:
        return m.jax.grad(lambda x: KNOWN[name](m, x))(m.jnp.asarray(V))

    if isinstance(run(program, JAX), Failed):
        fails(program)
    else:
        same(program)


@pytest.mark.parametrize("transform", ["jit", "grad", "vmap"])
@pytest.mark.parametrize("name", WITHOUT_VALUE)
def test_attributes_of_traced_values(name: str, transform: str) -> None:
    def program(m: Any) -> Any:
        def f(x: Any) -> Any:
            a = getattr(x, name)
            return x.sum() * (a() if callable(a) else a)

        return getattr(m.jax, transform)(f)(m.jnp.asarray(V))

    if isinstance(run(program, JAX), Failed):
        fails(program)
    else:
        same(program)


# --- tracebacks --------------------------------------------------------------------------------

SCRIPT = """
import lingon as jax, lingon.numpy as jnp

@jax.jit
def inner(x):
    return x + jnp.ones(7)      # the fault

def outer(x):
    return jax.grad(lambda v: jnp.sum(inner(v)))(x)

outer(jnp.ones(3))
"""


@pytest.mark.parametrize(
    "mode", ["auto", "off", "remove_frames", "tracebackhide", "quiet_remove_frames"]
)
def test_traceback_filtering(mode: str, tmp_path: Path) -> None:
    script = tmp_path / "script.py"
    script.write_text(textwrap.dedent(SCRIPT))
    r = subprocess.run(
        [sys.executable, str(script)],
        capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "JAX_TRACEBACK_FILTERING": mode},
    )  # fmt: skip
    assert r.returncode == 1
    frames = re.findall(r'File "([^"]+)", line (\d+)', r.stderr)
    own = [f for f, _ in frames if "/frontend/" in f]
    user = [int(n) for f, n in frames if f == str(script)]
    assert user[-1] == 6 and user[0] == 11
    assert "(3,)" in r.stderr and "(7,)" in r.stderr
    if mode == "off":
        assert own
    elif mode != "tracebackhide":
        assert len(own) <= 1  # where the others were taken out
    assert ("JAX_TRACEBACK_FILTERING" in r.stderr) == (mode in ("auto", "remove_frames"))
