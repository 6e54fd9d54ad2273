"""What scan, map and associative_scan say about arguments and bodies that do not fit."""

from __future__ import annotations

import re
from typing import Any

import jax
import numpy as np
import pytest
from both import OURS, fails, same

import lingon

ONES = np.ones(3, np.float32)


def carry_pair(m: Any, f: Any, init: Any = 0, **kw: Any) -> Any:
    return m.lax.scan(f, init, ONES, **kw)


def test_body_is_no_function() -> None:
    fails(lambda m: m.lax.scan(3, 0, ONES), "f argument should be a callable")
    fails(lambda m: m.lax.map(3, ONES), "callable")
    fails(lambda m: m.lax.associative_scan(3, ONES), "fn argument should be callable")


def test_lengths() -> None:
    keep = lambda c, x: (c, x)
    fails(lambda m: m.lax.scan(keep, 0), "no values to scan over", "`length` not provided")
    fails(lambda m: m.lax.scan(keep, 0, ONES, length=4), "argument of 4", "[3]", "xs: 3")
    fails(lambda m: m.lax.scan(keep, 0, ONES, length=-1), "-1", "[3]")
    fails(lambda m: m.lax.scan(keep, 0, None, length="a"))
    fails(lambda m: m.lax.map(lambda x: x, ()), "no values to scan over")
    fails(lambda m: m.lax.scan(keep, 0, None, length=-2), "-2", "negative", theirs=ValueError)


def test_leading_axes() -> None:
    keep = lambda c, x: (c, x)
    xs = (ONES, {"a": np.ones(4), "b": np.ones((4, 2))})
    error = fails(lambda m: m.lax.scan(keep, 0, xs), "different leading axis sizes: 3, 4, 4")
    for part in ("xs[0]: 3", "xs[1]['a']: 4", "xs[1]['b']: 4"):
        assert part in str(error)
    fails(lambda m: m.lax.scan(keep, 0, 3.0), "no leading axis to scan over: 3.0")
    fails(lambda m: m.lax.scan(keep, 0, [ONES, 3], length=3), "no leading axis", "xs[1]")
    fails(lambda m: m.lax.map(lambda x: x, (ONES, np.ones(4))), "3, 4")
    fails(lambda m: m.lax.map(lambda x: x, (ONES, np.ones(4)), batch_size=2), theirs=ValueError)


def test_traced_length() -> None:
    keep = lambda c, x: (c, x)
    fails(
        lambda m: m.jax.jit(lambda n: m.lax.scan(keep, 0, None, length=n))(3),
        "`length` argument to `scan` expects a concrete `int`",
        "while_loop",
        "argument n",
    )
    same(lambda m: m.jax.jvp(lambda x: m.lax.scan(keep, x, None, length=2)[0], (1.0,), (1.0,)))


def test_options() -> None:
    fails(lambda m: carry_pair(m, lambda c, x: (c, x), unroll=-1), "`unroll`", "non-negative")
    fails(lambda m: carry_pair(m, lambda c, x: (c, x), unroll="a"))
    fails(
        lambda m: m.jax.jit(lambda r: carry_pair(m, lambda c, x: (c, x), reverse=r))(True),
        theirs=TypeError,
    )
    fails(lambda m: m.lax.map(lambda x: x, ONES, batch_size=-1), "batch_size", theirs=TypeError)
    fails(lambda m: m.lax.map(lambda x: x, ONES, batch_size=1.5), theirs=TypeError)


def test_arguments_that_are_no_arrays() -> None:
    fails(lambda m: carry_pair(m, lambda c, x: (c, x), "hi"), "'hi'", "not a valid JAX type")
    fails(lambda m: m.lax.scan(lambda c, x: (c, x), 0, ["hi"]), "'hi'", "not a valid JAX type")


def test_body_results() -> None:
    fails(lambda m: carry_pair(m, lambda c, x: c), "must be a pair", "int32[]")
    fails(lambda m: carry_pair(m, lambda c, x: (c, x, x)), "must be a pair", "float32[]")
    fails(lambda m: carry_pair(m, lambda c, x: None), "must be a pair")
    fails(lambda m: carry_pair(m, lambda c, x: (c, "x")), "<class 'str'>", "[1]", "scan")


def test_carry_types() -> None:
    error = fails(
        lambda m: carry_pair(
            m,
            lambda c, x: ({"a": m.jnp.ones(3), "b": c["b"] * m.jnp.int8(2)}, x),
            {"a": 1.0, "b": np.int32(3)},
        ),
        "scan body function carry input and carry output must have equal types",
        "carry component c['a'] has type float32[]",
        "float32[3]",
        "the shapes do not match",
        "Revise the function so that all output types match",
    )
    assert "c['b']" not in str(error)
    fails(
        lambda m: carry_pair(m, lambda c, x: (c + x, None), np.int32(1)),
        "carry c has type int32[]",
        "float32[]",
        "the dtypes do not match",
    )
    error = fails(lambda m: carry_pair(m, lambda c, x: (c + x, None), np.int32(1)))
    assert re.search(r"astype\(int32\).*dtype float32", str(error))


def test_carry_structures() -> None:
    fails(
        lambda m: carry_pair(m, lambda c, x: ((c, c), x)),
        "same pytree structure",
        "input carry c",
        "tuple",
    )
    fails(
        lambda m: carry_pair(m, lambda c, x: ({"a": 1}, x), {"a": 1, "b": 2}),
        "same pytree structure",
        "'b'",
    )
    fails(
        lambda m: carry_pair(m, lambda c, x: ([c[0], (1, 2, 3)], x), [0, (1, 2)]),
        "c[1]",
        "length",
    )
    fails(lambda m: carry_pair(m, lambda c, x: (None, x), 1), "same pytree structure")


def test_leaks() -> None:
    """A value of the body that is kept raises where it is used."""

    def program(m: Any) -> Any:
        kept = []

        def body(c: Any, x: Any) -> Any:
            kept.append(c)
            return c + x, None

        m.lax.scan(body, 0.0, ONES)
        return kept[0] + 1

    fails(program, "scan")


def test_python_control_flow() -> None:
    fails(lambda m: carry_pair(m, lambda c, x: (c if x > 0 else -c, x)), "bool")
    fails(lambda m: carry_pair(m, lambda c, x: (float(x), x)), "float")
    fails(lambda m: carry_pair(m, lambda c, x: (np.sin(x), x)), "__array__")


def test_without_jit() -> None:
    def program(f: Any, *args: Any) -> Any:
        def run(m: Any) -> Any:
            with m.jax.disable_jit():
                return m.lax.scan(f, *args)

        return run

    keep = lambda c, x: (c, x)
    fails(program(keep, 0, np.ones((0, 3))), "zero-length scan", "disable_jit")
    fails(program(lambda c, x: c, 0, ONES), theirs=TypeError)
    with lingon.disable_jit(), pytest.raises(ValueError, match="no elements"):
        lingon.lax.map(lambda x: x, np.ones((0, 3)))


def test_associative_scan() -> None:
    add = lambda a, b: a + b
    fails(lambda m: m.lax.associative_scan(add, ONES, axis=2), "axis 2", "dimension 1")
    fails(lambda m: m.lax.associative_scan(add, np.float32(3)), "axis 0", "dimension 0")
    fails(lambda m: m.lax.associative_scan(add, ()))
    fails(lambda m: m.lax.associative_scan(add, (ONES, np.ones(4))), "(3,), (4,)")
    fails(lambda m: m.lax.associative_scan(lambda a, b: a[0], (ONES, ONES)), theirs=ValueError)
    fails(lambda m: m.lax.associative_scan(add, [3, 4]), theirs=ValueError)
    fails(lambda m: m.lax.associative_scan(add, ONES, axis=1.5))
    fails(
        lambda m: m.lax.associative_scan(lambda a, b: a.astype("float16"), np.ones(5)),
        "float16",
    )


def test_gradients_of_what_has_none() -> None:
    fails(lambda m: m.jax.grad(lambda n: m.lax.scan(lambda c, _: (c + n, 0), 0, None, 3)[0])(2))
    fails(
        lambda m: m.jax.grad(lambda x: m.lax.scan(lambda c, _: (c * x, 0), ONES, None, 3)[0])(2.0)
    )


def test_signatures() -> None:
    """Argument names and defaults are jax's."""
    import inspect

    for name in ("scan", "map", "associative_scan"):
        ours = inspect.signature(getattr(OURS.lax, name))
        theirs = inspect.signature(getattr(jax.lax, name))
        assert list(ours.parameters) == list(theirs.parameters), name
        for p, q in zip(ours.parameters.values(), theirs.parameters.values(), strict=True):
            assert (p.kind, p.default) == (q.kind, q.default), f"{name}: {p}"
