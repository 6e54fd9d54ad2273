"""Mistakes in conditionals and loops: jax's types of errors, and what the messages say."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both import fails

import lingon

X = np.ones(3, np.float32)


def cases(*rows: tuple) -> Any:
    return pytest.mark.parametrize("program,words", [(r[0], r[1:]) for r in rows])


def cond(pred: Any, *rest: Any, **options: Any) -> Callable:
    return lambda m: m.lax.cond(pred, *rest, **options)


def while_loop(go: Any, body: Any, init: Any) -> Callable:
    return lambda m: m.lax.while_loop(go, body, init)


def fori(*args: Any, **options: Any) -> Callable:
    return lambda m: m.lax.fori_loop(*args, **options)


def switch(*args: Any) -> Callable:
    return lambda m: m.lax.switch(*args)


def same(x: Any) -> Any:
    return x


def below_three(x: Any) -> Any:
    return x < 3


@cases(
    (cond(X, same, same, X), "Pred must be a scalar", "shape (3,)"),
    (cond("a", same, same, X), "Pred must be a scalar", "str"),
    (cond([True], same, same, X), "Pred must be a scalar", "list"),
    (cond(None, same, same, X), "cond predicate is None"),
    (cond(1j, same, same, X), "boolean or number", "complex64"),
    (cond(True, 1, 2, X), "true_fun and false_fun", "callable"),
    (cond(True, same, 2, X), "callable"),
    (cond(True, None, None, X), "callable"),
    (cond(True), "true_fun"),
    (cond(True, same, same, "a"), "'a'", "not a valid JAX type"),
    (cond(True, same, same, X, operand=X), "operand"),
    (cond(True, lambda x, y: x, same, X), "missing 1 required positional argument"),
    (cond(True, lambda x: "a", lambda x: "a", X), "str", "cond"),
    (switch(0, [], X), "Empty branch sequence"),
    (switch(0.0, [same], X), "must be an integer", "float32"),
    (switch(True, [same, same], X), "must be an integer", "bool"),
    (switch("a", [same, same], X), "must be an integer", "a"),
    (switch(np.arange(3), [same, same], X), "must be scalar", "(3,)"),
    (switch(0, [same, 3], X), "sequence of callables"),
    (switch(0, same, X), "not iterable"),
)
def test_arguments_of_conditionals(program: Callable, words: tuple) -> None:
    fails(program, *words)


@cases(
    (
        cond(True, lambda x: (x, x), lambda x: [x, x], X),
        "must have the same pytree structure",
        "true_fun output is a <class 'tuple'> but false_fun output is a <class 'list'>",
        "test_conditional_errors.py",
    ),
    (
        cond(True, lambda x: {"a": x, "b": (x, x)}, lambda x: {"a": x, "b": (x, [x])}, X),
        "output at path ['b'][1]",
        "their Python types differ",
    ),
    (
        cond(True, lambda x: {"a": x, "b": x}, lambda x: {"a": x, "c": x}, X),
        "'b'",
        "'c'",
    ),
    (cond(True, lambda x: (x, x), same, X), "tuple", "leaf"),
    (cond(True, lambda x: (x, None), lambda x: (x, x), X), "path [1]", "None"),
    (
        cond(True, lambda x: (x, x), lambda x: (x[:2], x.astype(int)), X),
        "equal output types",
        "path [0] has type float32[3]",
        "float32[2], so the shapes do not match",
        "path [1] has type float32[3]",
        "int32[3], so the dtypes do not match",
        "Revise true_fun and/or false_fun",
    ),
    (cond(True, same, lambda x: 1, X), "the dtypes do not match, and the shapes do not match"),
    (switch(0, [same, same, lambda x: (x,)], X), "branch 0", "same pytree structure"),
    (switch(0, [same, same, lambda x: x[:2]], X), "branch 0", "float32[2]", "shapes"),
)
def test_branches_that_differ(program: Callable, words: tuple) -> None:
    fails(program, *words)


def test_functions_for_platforms_that_differ() -> None:
    """Eagerly jax asks the platform's own function only."""
    program = lambda m: m.lax.platform_dependent(X, cpu=same, default=lambda x: x[:2])
    fails(program, "equal output types", "the function for cpu", theirs="TypeError")
    fails(lambda m: m.jax.jit(lambda: program(m))(), "equal output types", theirs="TypeError")


def test_platforms_without_a_function() -> None:
    for program in (
        lambda m: m.lax.platform_dependent(X, cuda=m.jnp.sin),
        lambda m: m.jax.jit(lambda x: m.lax.platform_dependent(x, cuda=m.jnp.sin))(X),
        lambda m: m.lax.platform_dependent(X),
    ):
        fails(program, "cpu", "no default")


@cases(
    (while_loop(3, same, 3), "cond_fun", "callable"),
    (while_loop(below_three, None, 3), "body_fun", "callable"),
    (while_loop(below_three, same, "a"), "'a'", "not a valid JAX type"),
    (while_loop(lambda s: s[0] < 3, same, (1, {"a": "a"})), "'a'", "not a valid JAX type"),
    (while_loop(below_three, lambda s: s + 1, X), "boolean scalar", "bool[3]"),
    (while_loop(same, lambda s: s - 1, 3), "boolean scalar", "int32[]"),
    (while_loop(lambda s: s * 1.0, same, 3), "boolean scalar", "float32[]"),
    (while_loop(lambda s: (s < 3,), same, 3), "boolean scalar", "pytree"),
    (while_loop(lambda s: None, same, 3), "boolean scalar", "None"),
    (while_loop(lambda s: "a", same, 3), "str", "while_cond"),
    (while_loop(below_three, lambda s: "a", 1), "str", "while_body"),
    (while_loop(lambda s: s and True, same, 1), "boolean conversion", "while_cond"),
)
def test_arguments_of_loops(program: Callable, words: tuple) -> None:
    fails(program, *words)


@cases(
    (
        while_loop(lambda s: s[0] < 3, lambda s: [s[0], s[1]], (0, X)),
        "same pytree structure",
        "The input carry s is a <class 'tuple'>",
        "<class 'list'>",
    ),
    (
        while_loop(lambda s: s["a"] < 3, lambda s: {"a": s["a"], "b": (s["b"],)}, {"a": 0, "b": X}),
        "carry component s['b']",
        "tuple",
    ),
    (while_loop(lambda s: s[0] < 3, lambda s: (s[0],), (0, X)), "length 2", "length 1"),
    (
        while_loop(
            lambda c: c["i"] < 3,
            lambda c: {"i": c["i"] + 1, "x": c["x"][:2], "y": c["y"].astype(int)},
            {"i": 0, "x": X, "y": X},
        ),
        "must have equal types",
        "component c['x'] has type float32[3]",
        "float32[2], so the shapes do not match",
        "component c['y'] has type float32[3]",
        "int32[3], so the dtypes do not match",
        "astype",
    ),
    (
        while_loop(lambda s: s.sum() < 3, lambda s: s[:2], X),
        "The input carry s has type float32[3]",
    ),
    (while_loop(lambda s: s[0] < 3, lambda s: (s[0] + 1, 1), (0, X[0])), "s[1]", "int32[]"),
    (fori(0, 3, lambda i, x: x[:2], X), "float32[3]", "float32[2]", "shapes"),
    (fori(0, 3, lambda i, x: (x, x), X), "same pytree structure", "tuple"),
    (lambda m: m.jax.jit(lambda n: fori(0, n, lambda i, x: x[:2], X)(m))(3), "float32[2]", "val"),
)
def test_carries_that_change(program: Callable, words: tuple) -> None:
    fails(program, *words)


@cases(
    (fori(0, 3, None, X), "body_fun", "callable"),
    (fori(0, np.float32(3), lambda i, x: x, 1), "equal types", "int32", "float32"),
    (fori(np.int8(0), np.int32(3), lambda i, x: x, 1), "equal types", "int8", "int32"),
    (fori(np.arange(3), 3, lambda i, x: x, 1), "scalar"),
    (fori("a", 3, lambda i, x: x, 1), "a"),
    (fori(0, 3.5, lambda i, x: x, 1), "equal types"),
    (fori(0, 3, lambda i, x: x, 1, unroll=-1), "unroll"),
    (fori(0, 3, lambda i, x: x, 1, unroll="a"), "unroll"),
    (
        lambda m: m.jax.jit(lambda n: fori(0, n, lambda i, x: x, 1, unroll=2)(m))(3),
        "unroll",
        "statically known",
    ),
)
def test_arguments_of_fori_loop(program: Callable, words: tuple) -> None:
    fails(program, *words)


def test_values_that_leak_out_of_a_branch() -> None:
    def program(m: Any) -> Any:
        kept = []

        def keep(x: Any) -> Any:
            kept.append(x)
            return x

        m.lax.cond(True, keep, same, X)
        return kept[0] + 1

    fails(program, "keep", "escape")


def test_python_control_flow_in_a_branch() -> None:
    fails(
        cond(True, lambda x: x if x > 0 else -x, same, 1.0),
        "boolean conversion",
        "depends on the value of the argument x",
    )


@cases(
    (lambda m: m.lax.custom_linear_solve(same, X, lambda mv, b: (b, b)), "solve()", "must match b"),
    (lambda m: m.lax.custom_linear_solve(same, X, lambda mv, b: b[:2]), "(2,)", "(3,)"),
    (lambda m: m.lax.custom_linear_solve(lambda v: v[:2], X, lambda mv, b: b), "matvec()"),
    (
        lambda m: m.lax.custom_linear_solve(same, X, lambda mv, b: b, lambda mv, b: b[:2]),
        "transpose_solve()",
    ),
    (lambda m: m.lax.custom_linear_solve(same, X, lambda mv, b: b, has_aux=True), "has_aux"),
    (lambda m: m.lax.custom_linear_solve(1, X, lambda mv, b: b), "callable"),
    (
        lambda m: m.jax.grad(lambda x: m.lax.custom_linear_solve(same, x, lambda mv, b: b).sum())(
            X
        ),
        "transpose_solve required",
    ),
    (
        lambda m: m.lax.custom_root(lambda x: (x, x), X, lambda f, x: x, lambda g, y: y),
        "f() output pytree structure must match initial_guess",
    ),
    (
        lambda m: m.lax.custom_root(same, {"a": X}, lambda f, x: {"b": x["a"]}, lambda g, y: y),
        "solve() output pytree structure must match initial_guess",
    ),
    (
        lambda m: m.lax.custom_root(same, X, lambda f, x: x, lambda g, y: y, has_aux=True),
        "has_aux",
    ),
    (lambda m: m.lax.custom_root(1, X, lambda f, x: x, lambda g, y: y), "callable"),
)
def test_custom_solves(program: Callable, words: tuple) -> None:
    fails(program, *words)


def test_bounds() -> None:
    loop = lingon.lax.bounded_while_loop
    with pytest.raises(ValueError, match="must not be negative, got -1"):
        loop(below_three, same, 0, -1)
    with pytest.raises(TypeError, match=r"max_trip_count must be an int, got 1\.5"):
        loop(below_three, same, 0, 1.5)
    with pytest.raises(TypeError, match="callable"):
        loop(below_three, None, 0, 3)
    with pytest.raises(lingon.errors.ConcretizationTypeError, match="max_trip_count"):
        lingon.jit(lambda n: loop(below_three, same, 0, n))(3)
    with pytest.raises(TypeError, match="bounded_while_loop body function carry input"):
        loop(lambda c: c[0] < 3, lambda c: c[0], (0, 1), 3)
