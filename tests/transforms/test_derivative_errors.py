"""Mistakes in calls of grad, jvp, vjp, linearize, Jacobians: type and cause as in jax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both import JAX, OURS, Failed, fails, run

V = np.array([0.5, -1.5, 2.0], np.float32)


def f(x: Any, *rest: Any) -> Any:
    return x


def arr(m: Any, *shape: int, dtype: Any = np.float32) -> Any:
    return m.jnp.ones(shape, dtype)


GRADS = ("grad", "value_and_grad")

# Where the text is that of jax, up to the names of types and of the library.
SAME_TEXT: dict[str, Callable[[Any], Any]] = {}
for g in GRADS:
    SAME_TEXT |= {
        f"{g}, vector": lambda m, g=g: getattr(m.jax, g)(f)(arr(m, 3)),
        f"{g}, matrix": lambda m, g=g: getattr(m.jax, g)(f)(arr(m, 3, 1)),
        f"{g}, one element": lambda m, g=g: getattr(m.jax, g)(f)(arr(m, 1)),
        f"{g}, integer input": lambda m, g=g: getattr(m.jax, g)(f)(3),
        f"{g}, bool input": lambda m, g=g: getattr(m.jax, g)(f)(True),
        f"{g}, unsigned input": lambda m, g=g: getattr(m.jax, g)(f)(np.uint8(1)),
        f"{g}, integer array": lambda m, g=g: getattr(m.jax, g)(f)(arr(m, 3, dtype=np.int32)),
        f"{g}, integer in a tree": lambda m, g=g: getattr(m.jax, g)(lambda d: d["x"])(
            {"x": 1.0, "n": 2}
        ),
        f"{g}, integer output": lambda m, g=g: getattr(m.jax, g)(lambda x: m.jnp.int32(x))(1.0),
        f"{g}, bool output": lambda m, g=g: getattr(m.jax, g)(lambda x: x > 0)(1.0),
        f"{g}, Python integer output": lambda m, g=g: getattr(m.jax, g)(lambda x: 3)(1.0),
        f"{g}, complex output": lambda m, g=g: getattr(m.jax, g)(lambda x: x * 1j)(1.0),
        f"{g}, complex output of complex": lambda m, g=g: getattr(m.jax, g)(f)(1j),
        f"{g}, holomorphic of real": lambda m, g=g: getattr(m.jax, g)(f, holomorphic=True)(1.0),
        f"{g}, holomorphic real output": lambda m, g=g: getattr(m.jax, g)(
            lambda x: m.jnp.real(x), holomorphic=True
        )(1j),
        f"{g}, string": lambda m, g=g: getattr(m.jax, g)(f)("a"),
        f"{g}, None": lambda m, g=g: getattr(m.jax, g)(lambda x: None)(1.0),
        f"{g}, tuple": lambda m, g=g: getattr(m.jax, g)(lambda x: (2.0, 3.0))(1.0),
        f"{g}, argnums too large": lambda m, g=g: getattr(m.jax, g)(f, argnums=2)(1.0, 2.0),
        f"{g}, argnums tuple too large": lambda m, g=g: getattr(m.jax, g)(f, argnums=(0, 3))(
            1.0, 2.0
        ),
        f"{g}, no argument": lambda m, g=g: getattr(m.jax, g)(f)(),
        f"{g}, no function": lambda m, g=g: getattr(m.jax, g)(1.0),
    }
SAME_TEXT |= {
    "jacrev, integer input": lambda m: m.jax.jacrev(f)(3),
    "jacrev, integer output": lambda m: m.jax.jacrev(lambda x: m.jnp.int32(x))(1.0),
    "jacrev, complex output": lambda m: m.jax.jacrev(lambda x: x * 1j)(1.0),
    "jacrev, holomorphic of real": lambda m: m.jax.jacrev(f, holomorphic=True)(1.0),
    "jacfwd, integer input": lambda m: m.jax.jacfwd(f)(3),
    "jacfwd, complex input": lambda m: m.jax.jacfwd(f)(1j),
    "jacfwd, holomorphic of real": lambda m: m.jax.jacfwd(f, holomorphic=True)(1.0),
    "jacfwd, holomorphic real output": lambda m: m.jax.jacfwd(lambda x: m.jnp.real(x), holomorphic=True)(1j),
    "hessian, integer input": lambda m: m.jax.hessian(f)(3),
    "jvp, scalars": lambda m: m.jax.jvp(f, 1.0, 1.0),
    "jvp, dtype": lambda m: m.jax.jvp(f, (1.0,), (1,)),
    "jvp, tangent of an integer": lambda m: m.jax.jvp(f, (1,), (1,)),
    "jvp, complex tangent": lambda m: m.jax.jvp(f, (1.0,), (1j,)),
    "jvp, shape": lambda m: m.jax.jvp(f, (1.0,), (arr(m, 3),)),
    "jvp, no function": lambda m: m.jax.jvp(3, (1.0,), (1.0,)),
    "vjp, no function": lambda m: m.jax.vjp(3, 1.0),
    "linearize, no function": lambda m: m.jax.linearize(3, 1.0),
    "linearize, string": lambda m: m.jax.linearize(f, "a"),
}  # fmt: skip

# Where jax has another text, or one that depends on how it is built.
SAME_TYPE: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "grad, text output": (lambda m: m.jax.grad(lambda x: "a")(1.0), ("str",)),
    "grad, dictionary": (lambda m: m.jax.grad(lambda x: {"a": x})(1.0), ("scalar-output",)),
    "grad, object": (lambda m: m.jax.grad(lambda x: object())(1.0), ("object",)),
    "grad, key": (lambda m: m.jax.grad(f)(m.random.key(0)), ("key",)),
    "grad, key output": (lambda m: m.jax.grad(lambda x: m.random.key(0))(1.0), ("key",)),
    "grad, negative argnums": (lambda m: m.jax.grad(f, argnums=-3)(1.0, 2.0), ("-3",)),
    "grad, argnums text": (lambda m: m.jax.grad(f, argnums="a")(1.0), ()),
    "grad, aux no pair": (lambda m: m.jax.grad(f, has_aux=True)(1.0), ("aux",)),
    "grad, aux of three": (lambda m: m.jax.grad(lambda x: (x, x, x), has_aux=True)(1.0), ("aux",)),
    "grad, aux a dictionary": (
        lambda m: m.jax.grad(lambda x: {"a": x, "b": x}, has_aux=True)(1.0),
        ("aux", "dict"),
    ),
    "grad, aux but not scalar": (
        lambda m: m.jax.grad(lambda x: (x, 1), has_aux=True)(arr(m, 3)),
        ("scalar-output", "(3,)"),
    ),
    "value_and_grad, aux no pair": (lambda m: m.jax.value_and_grad(f, has_aux=True)(1.0), ("aux",)),
    "vjp, aux no pair": (lambda m: m.jax.vjp(f, 1.0, has_aux=True), ()),
    "jvp, aux no pair": (lambda m: m.jax.jvp(f, (1.0,), (1.0,), has_aux=True), ()),
    "linearize, aux no pair": (lambda m: m.jax.linearize(f, 1.0, has_aux=True), ()),
    "jacfwd, aux no pair": (lambda m: m.jax.jacfwd(f, has_aux=True)(1.0), ()),
    "jacrev, aux no pair": (lambda m: m.jax.jacrev(f, has_aux=True)(1.0), ()),
    "jvp, structures": (lambda m: m.jax.jvp(f, (1.0,), (1.0, 1.0)), ("tree structure",)),
    "jvp, text output": (lambda m: m.jax.jvp(lambda x: "a", (1.0,), (1.0,)), ("str",)),
    "vjp, text output": (lambda m: m.jax.vjp(lambda x: "a", 1.0), ("str",)),
    "vjp, cotangent shape": (lambda m: m.jax.vjp(f, 1.0)[1](arr(m, 3)), ("float32[3]", "float32[]")),
    "vjp, cotangent dtype": (lambda m: m.jax.vjp(f, 1.0)[1](1), ("int32", "float32")),
    "vjp, cotangent complex": (lambda m: m.jax.vjp(f, 1.0)[1](1j), ("complex64",)),
    "vjp, cotangent structure": (lambda m: m.jax.vjp(f, 1.0)[1]((1.0,)), ("tree structure",)),
    "vjp, cotangent text": (lambda m: m.jax.vjp(f, 1.0)[1]("a"), ()),
    "vjp, two cotangents": (lambda m: m.jax.vjp(f, 1.0)[1](1.0, 1.0), ()),
    "linearize, tangent shape": (lambda m: m.jax.linearize(f, 1.0)[1](arr(m, 3)), ("float32[3]",)),
    "linearize, tangent dtype": (lambda m: m.jax.linearize(f, 1.0)[1](1), ("int32",)),
    "linearize, tangent structure": (lambda m: m.jax.linearize(f, 1.0)[1](1.0, 1.0), ()),
    "linear_transpose, cotangent": (lambda m: m.jax.linear_transpose(f, 1.0)(arr(m, 3)), ("float32[3]",)),
    "linear_transpose, structure": (lambda m: m.jax.linear_transpose(f, 1.0)((1.0,)), ("tree",)),
    "linear_transpose, of bool": (lambda m: m.jax.linear_transpose(f, True), ("bool",)),
    "linear_transpose, float to int": (
        lambda m: m.jax.linear_transpose(lambda x: m.jnp.int32(x), 1.0)(1),
        ("linear_transpose",),
    ),
    "jacfwd, argnums": (lambda m: m.jax.jacfwd(f, 2)(1.0), ("argnums=2",)),
    "jacrev, argnums": (lambda m: m.jax.jacrev(f, 2)(1.0), ("argnums=2",)),
    "jacfwd, string": (lambda m: m.jax.jacfwd(f)("a"), ("'a'",)),
    "jacrev, string": (lambda m: m.jax.jacrev(f)("a"), ("'a'",)),
    "jacrev, string output": (lambda m: m.jax.jacrev(lambda x: "a")(1.0), ()),
    "float conversion": (lambda m: m.jax.grad(lambda x: np.sin(x))(1.0), ()),
    "float() in jit of grad": (lambda m: m.jax.jit(m.jax.grad(lambda x: float(x) * x))(1.0), ()),
    "branch in jit of grad": (lambda m: m.jax.jit(m.jax.grad(lambda x: x if x > 0 else -x))(1.0), ()),
    "item assignment": (lambda m: m.jax.grad(lambda x: x.__setitem__(0, 1.0))(arr(m, 3)), ()),
    "custom rule without rule": (lambda m: m.jax.grad(m.jax.custom_jvp(f))(1.0), ("defjvp",)),
    "custom_vjp without rules": (lambda m: m.jax.grad(m.jax.custom_vjp(f))(1.0), ("defvjp",)),
    "while_loop": (
        lambda m: m.jax.grad(lambda x: m.lax.while_loop(lambda c: c < 10, lambda c: c * 2, x))(1.0),
        ("Reverse-mode",),
    ),
}  # fmt: skip


def plain(message: str) -> str:
    """The first paragraph, without what differs on purpose: value_and_grad calls itself so."""
    s = " ".join(message.split("\n\n")[0].split()).replace("[('float0', 'V')]", "float0")
    s = s.replace("value_and_grad", "grad").replace("float0.Got", "float0. Got")
    return s.replace("shapes;Got", "shapes; Got").rstrip(".")


@pytest.mark.parametrize("case", SAME_TEXT)
def test_text(case: str) -> None:
    program = SAME_TEXT[case]
    error = fails(program)
    theirs = run(program, JAX)
    assert isinstance(theirs, Failed)
    assert plain(str(error)) == plain(str(theirs.error))


@pytest.mark.parametrize("case", SAME_TYPE)
def test_type(case: str) -> None:
    program, words = SAME_TYPE[case]
    fails(program, *words)


def test_argument_that_is_no_array() -> None:
    """jax raises an internal kind of TypeError."""
    fails(lambda m: m.jax.vjp(f, "a"), "'a'", "not a valid JAX type", theirs=TypeError)


def test_leaked_value() -> None:
    def program(m: Any) -> Any:
        kept = []
        m.jax.grad(lambda x: (kept.append(x * 2), x * x)[1])(1.0)
        return m.jax.jit(lambda y: kept[0] + y)(1.0)

    fails(program)


def test_errors_leave_no_trace_behind() -> None:
    """After a mistake, eager operations are eager again."""
    m = OURS
    for program in (*SAME_TEXT.values(), *[p for p, _ in SAME_TYPE.values()]):
        assert isinstance(run(program, m), Failed)
        assert float(m.jnp.asarray(1.0) + 1) == 2.0
