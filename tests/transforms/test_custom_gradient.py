"""custom_gradient, linear_call and the helpers of custom_derivatives against jax."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.custom_derivatives
import numpy as np
import pytest
from both import JAX, OURS, fails, same

import lingon
import lingon.custom_derivatives
import lingon.numpy as lnp

V = np.array([0.5, -1.5, 2.0], np.float32)

Program = Callable[[Any], Any]


def cd(m: Any) -> Any:
    return (jax if m is JAX else lingon).custom_derivatives


def gradient(m: Any, f: Callable) -> Any:
    return m.jax.custom_gradient(f)


def square(m: Any) -> Any:
    return gradient(m, lambda x: (x**2, lambda g: (g * x,)))


def bare(m: Any) -> Any:
    return gradient(m, lambda x: (m.jnp.sin(x), lambda g: g * m.jnp.cos(x) * 3))


def product(m: Any) -> Any:
    return gradient(m, lambda x, y: (x * y, lambda g: (g * 10.0, g * x)))


def tree(m: Any) -> Any:
    return gradient(m, lambda x: ({"a": x * 2, "b": x}, lambda g: g["a"] * 3 + g["b"]))


def dictionary(m: Any) -> Any:
    return gradient(m, lambda d: (d["a"] * 1.0, lambda g: ({"a": g * 5, "b": g},)))


def intermediate(m: Any) -> Any:
    def f(x: Any) -> Any:
        y = m.jnp.sin(x)
        return y, lambda g: (g * m.jnp.cos(x) * y,)

    return gradient(m, f)


GRADIENTS: dict[str, Program] = {
    "value": lambda m: square(m)(3.0),
    "grad": lambda m: m.jax.grad(square(m))(3.0),
    "grad of grad": lambda m: m.jax.grad(m.jax.grad(square(m)))(3.0),
    "bare result": lambda m: m.jax.grad(bare(m))(3.0),
    "two arguments": lambda m: m.jax.grad(product(m), (0, 1))(3.0, 4.0),
    "integer argument": lambda m: m.jax.grad(lambda x: product(m)(x, 2))(3.0),
    "pytree": lambda m: m.jax.grad(lambda x: tree(m)(x)["a"])(2.0),
    "pytree, both": lambda m: m.jax.grad(lambda x: sum(tree(m)(x).values()))(2.0),
    "dictionary": lambda m: m.jax.grad(dictionary(m))({"a": 1.0, "b": 2.0}),
    "vmap of grad": lambda m: m.jax.vmap(m.jax.grad(intermediate(m)))(m.jnp.asarray(V)),
    "grad of vmap": lambda m: m.jax.grad(lambda x: m.jax.vmap(intermediate(m))(x).sum())(m.jnp.asarray(V)),
    "jit of grad": lambda m: m.jax.jit(m.jax.grad(intermediate(m)))(2.0),
    "grad of jit": lambda m: m.jax.grad(m.jax.jit(intermediate(m)))(2.0),
    "vjp": lambda m: m.jax.vjp(square(m), 3.0)[1](2.0),
    "jacrev": lambda m: m.jax.jacrev(intermediate(m))(m.jnp.asarray(V)),
    "none": lambda m: m.jax.grad(gradient(m, lambda x: (x * 1.0, lambda g: None)))(1.0),
    "none of two": lambda m: m.jax.grad(gradient(m, lambda x, y: (x * 1.0, lambda g: (None, g))), (0, 1))(1.0, 2.0),
    "captured": lambda m: m.jax.jit(lambda z: m.jax.grad(gradient(m, lambda x: (x * z, lambda g: (g * z * z,))))(2.0))(3.0),
    "integer output": lambda m: m.jax.grad(lambda x: gradient(m, lambda x: ((x, 3), lambda g: (g[0] * 2,)))(x)[0])(1.0),
}  # fmt: skip


@pytest.mark.parametrize("case", GRADIENTS)
def test_custom_gradient(case: str) -> None:
    same(GRADIENTS[case])


def test_custom_gradient_jaxpr() -> None:
    texts = [
        str(m.jax.make_jaxpr(f)(3.0))
        for m in (OURS, JAX)
        for f in (square(m), m.jax.grad(square(m)))
    ]
    assert texts[:2] == texts[2:]


GRADIENT_ERRORS: dict[str, tuple[Program, tuple[str, ...]]] = {
    "no pair": (lambda m: gradient(m, lambda x: x)(1.0), ()),
    "pullback no function": (lambda m: m.jax.grad(gradient(m, lambda x: (x * 1.0, 3)))(1.0), ("callable",)),
    "too few cotangents": (lambda m: m.jax.grad(gradient(m, lambda x, y: (x * y, lambda g: (g,))))(1.0, 2.0), ("tuple of length equal",)),
    "shape": (lambda m: m.jax.grad(gradient(m, lambda x: (x * 1.0, lambda g: m.jnp.ones(3))))(1.0), ("float32[3]", "shapes do not match")),
    "jvp": (lambda m: m.jax.jvp(square(m), (1.0,), (1.0,)), ("forward-mode", "custom_vjp")),
    "keyword": (lambda m: m.jax.grad(gradient(m, lambda x, y: (x, lambda g: (g, g))))(1.0, y=2.0), ("positions",)),
    "no function": (lambda m: gradient(m, 3)(1.0), ("callable",)),
    "captured": (lambda m: m.jax.grad(lambda z: gradient(m, lambda x: (x * z, lambda g: (g * z,)))(2.0))(3.0), ()),
}  # fmt: skip


@pytest.mark.parametrize("case", GRADIENT_ERRORS)
def test_custom_gradient_error(case: str) -> None:
    program, words = GRADIENT_ERRORS[case]
    fails(program, *words)


# --- linear_call ----------------------------------------------------------------------------


def quotient(m: Any) -> Callable:
    """Its transpose has a factor of its own, which shows that it is used."""
    return lambda r, x: cd(m).linear_call(lambda r, x: x / r, lambda r, t: 7 * t / r, r, x)


def pair(m: Any) -> Callable:
    return lambda r, x: cd(m).linear_call(
        lambda r, x: (x["a"], {"c": x["b"] * r}),
        lambda r, t: {"a": t[0] * 5, "b": t[1]["c"] * r},
        r,
        x,
    )


LINEAR: dict[str, Program] = {
    "call": lambda m: quotient(m)(2.0, 3.0),
    "jit": lambda m: m.jax.jit(quotient(m))(2.0, 3.0),
    "jvp": lambda m: m.jax.jvp(partial(quotient(m), 2.0), (3.0,), (4.0,)),
    "grad": lambda m: m.jax.grad(quotient(m), 1)(2.0, 3.0),
    "grad of jit": lambda m: m.jax.grad(m.jax.jit(quotient(m)), 1)(2.0, 3.0),
    "jit of grad": lambda m: m.jax.jit(m.jax.grad(quotient(m), 1))(2.0, 3.0),
    "second": lambda m: m.jax.grad(m.jax.grad(lambda x: quotient(m)(2.0, x) ** 2))(3.0),
    "transpose": lambda m: m.jax.linear_transpose(partial(quotient(m), 2.0), 3.0)(1.0),
    "transpose twice": lambda m: m.jax.linear_transpose(lambda y: m.jax.linear_transpose(partial(quotient(m), 2.0), 3.0)(y)[0], 3.0)(1.0),
    "pytrees": lambda m: pair(m)(2.0, {"a": 3.0, "b": 4.0}),
    "pytrees, grad": lambda m: m.jax.grad(lambda x: sum((lambda o: (o[0], o[1]["c"]))(pair(m)(2.0, x))))({"a": 3.0, "b": 4.0}),
    "pytrees, one output": lambda m: m.jax.grad(lambda x: pair(m)(2.0, x)[0])({"a": 3.0, "b": 4.0}),
    "captured": lambda m: m.jax.jit(m.jax.grad(lambda x, y: cd(m).linear_call(lambda r, x: x * y, lambda r, c: c * y * 2, (), x)))(2.0, 3.0),
    "no residuals": lambda m: m.jax.grad(lambda x: cd(m).linear_call(lambda _, x: x, lambda _, t: t * 7, (), x))(1.0),
}  # fmt: skip


@pytest.mark.parametrize("case", LINEAR)
def test_linear_call(case: str) -> None:
    same(LINEAR[case])


def test_linear_call_under_vmap() -> None:
    f, r = quotient(OURS), np.array([1.0, 2.0, 4.0], np.float32)
    np.testing.assert_allclose(lingon.vmap(f)(r, V), V / r, rtol=1e-6)
    np.testing.assert_allclose(lingon.vmap(f, (None, 0))(2.0, V), V / 2, rtol=1e-6)
    np.testing.assert_allclose(lingon.vmap(f, (0, None))(r, 3.0), 3 / r, rtol=1e-6)
    grad = lingon.grad(f, 1)
    np.testing.assert_allclose(lingon.vmap(grad)(r, V), 7 / r, rtol=1e-6)
    total = lingon.grad(lambda x: lingon.vmap(f, (0, None))(r, x).sum())
    np.testing.assert_allclose(total(3.0), np.sum(7 / r), rtol=1e-6)
    total = lingon.grad(lambda x: lingon.vmap(f, (None, 0))(2.0, x).sum())
    np.testing.assert_allclose(total(V), np.full(3, 3.5), rtol=1e-6)


def test_linear_call_jaxpr() -> None:
    def text(m: Any, f: Callable) -> str:
        s = re.sub(r"transpose_thunk=<.*? at 0x\w*>", "", str(m.jax.make_jaxpr(f)(2.0, 3.0)))
        return re.sub(r"\s+", " ", s)

    for make in (quotient, lambda m: m.jax.grad(quotient(m), 1)):
        assert text(OURS, make(OURS)) == text(JAX, make(JAX))


LINEAR_ERRORS: dict[str, tuple[Program, tuple[str, ...]]] = {
    "structure": (lambda m: m.jax.grad(lambda x: cd(m).linear_call(lambda r, x: x / r, lambda r, t: (t, t), 2.0, x))(3.0), ("structure",)),
    "type": (lambda m: m.jax.grad(lambda x: cd(m).linear_call(lambda r, x: x / r, lambda r, t: m.jnp.ones(3), 2.0, x))(3.0), ("float32[3]",)),
    "no function": (lambda m: cd(m).linear_call(3, lambda r, t: t, 2.0, 3.0), ("callable",)),
    "no transpose": (lambda m: cd(m).linear_call(lambda r, x: x, 3, 2.0, 3.0), ("callable",)),
    "no array": (lambda m: cd(m).linear_call(lambda r, x: x, lambda r, x: x, "a", 3.0), ("'a'",)),
}  # fmt: skip


@pytest.mark.parametrize("case", LINEAR_ERRORS)
def test_linear_call_error(case: str) -> None:
    program, words = LINEAR_ERRORS[case]
    fails(program, *words)


def test_linear_call_derivative_of_residuals() -> None:
    """jax fails with an assertion."""
    words = ("linear_call cannot be differentiated", "residual")
    fails(lambda m: m.jax.grad(quotient(m), 0)(2.0, 3.0), *words, theirs=NotImplementedError)
    fails(
        lambda m: m.jax.grad(lambda y: cd(m).linear_call(lambda r, x: x * y, lambda r, c: c, (), 2.0))(3.0),
        "closes over",
        theirs=NotImplementedError,
    )  # fmt: skip


# --- symbolic zeros -------------------------------------------------------------------------


def _kind(x: Any) -> Any:
    if type(x).__name__ == "SymbolicZero":
        return "zero", tuple(x.shape), str(np.dtype(x.dtype)), x.ndim, x.size
    if type(x).__name__ == "CustomVJPPrimal":
        return "primal", x.perturbed
    return "value"


def jvp_with_zeros(m: Any, seen: list) -> Any:
    f = m.jax.custom_jvp(lambda x, y, n: x * y)

    def rule(primals: Any, tangents: Any) -> Any:
        seen.append([_kind(t) for t in tangents])
        x, y, _ = primals
        tx, ty, _ = tangents
        zero = cd(m).SymbolicZero
        terms = [a * b for a, b in ((tx, y), (x, ty)) if type(a) is not zero and type(b) is not zero]  # fmt: skip
        if not terms:
            return x * y, zero(m.jax.typeof(x * y))
        return x * y, sum(terms[1:], terms[0])

    f.defjvp(rule, symbolic_zeros=True)
    return f


def vjp_with_zeros(m: Any, seen: list) -> Any:
    f = m.jax.custom_vjp(lambda x, y, n: (x * y, x))

    def fwd(x: Any, y: Any, n: Any) -> Any:
        seen.append([_kind(v) for v in (x, y, n)])
        values = cd(m).custom_vjp_primal_tree_values((x, y))
        return (values[0] * values[1], values[0]), values

    def bwd(res: Any, cts: Any) -> Any:
        seen.append([_kind(c) for c in cts])
        first = cts[0] if _kind(cts[0]) == "value" else 0.0
        return res[1] * first, None, None

    f.defvjp(fwd, bwd, symbolic_zeros=True)
    return f


ZEROS: dict[str, Callable[[Any, list], Any]] = {
    "jvp": lambda m, s: m.jax.jvp(lambda x: jvp_with_zeros(m, s)(x, 3.0, 2), (2.0,), (1.0,)),
    "jvp, all": lambda m, s: m.jax.jvp(lambda x, y: jvp_with_zeros(m, s)(x, y, 2), (2.0, 3.0), (1.0, 1.0)),
    "jvp, grad": lambda m, s: m.jax.grad(lambda x: jvp_with_zeros(m, s)(x, 3.0, 2))(2.0),
    "jvp, jit of grad": lambda m, s: m.jax.jit(m.jax.grad(lambda x: jvp_with_zeros(m, s)(x, 3.0, 2)))(2.0),
    "jvp, vmap of grad": lambda m, s: m.jax.vmap(m.jax.grad(lambda x: jvp_with_zeros(m, s)(x, 3.0, 2)))(m.jnp.asarray(V)),
    "jvp, integers only": lambda m, s: m.jax.grad(lambda x: x * jvp_with_zeros(m, s)(2.0, 3.0, m.jnp.int32(x)))(2.0),
    "vjp": lambda m, s: m.jax.grad(lambda x: vjp_with_zeros(m, s)(x, 3.0, 2)[0])(2.0),
    "vjp, jit": lambda m, s: m.jax.jit(m.jax.grad(lambda x: vjp_with_zeros(m, s)(x, 3.0, 2)[0]))(2.0),
    "vjp, vmap": lambda m, s: m.jax.vmap(m.jax.grad(lambda x: vjp_with_zeros(m, s)(x, 3.0, 2)[0]))(m.jnp.asarray(V)),
    "vjp, both": lambda m, s: m.jax.grad(lambda x, y: sum(vjp_with_zeros(m, s)(x, y, 2)), (0, 1))(2.0, 3.0),
    "vjp, other output": lambda m, s: m.jax.grad(lambda x: vjp_with_zeros(m, s)(x, 3.0, 2)[1])(2.0),
}  # fmt: skip


@pytest.mark.parametrize("case", ZEROS)
def test_symbolic_zeros(case: str) -> None:
    seen: dict[str, list] = {"jax": [], "lingon": []}
    same(lambda m: ZEROS[case](m, seen[m.name]))
    assert seen["lingon"] == seen["jax"]


def test_zero_from_primal() -> None:
    for x in (3.0, 3, True, np.ones(3, np.float32), np.ones(2, np.complex64)):
        same(lambda m, x=x: cd(m).zero_from_primal(x), weak=False)
        ours, theirs = (cd(m).zero_from_primal(x, symbolic_zeros=True) for m in (OURS, JAX))
        assert _kind(ours) == _kind(theirs) and repr(ours) == repr(theirs)
        made = [cd(m).SymbolicZero.from_primal_value(x) for m in (OURS, JAX)]
        assert _kind(made[0]) == _kind(made[1])


def test_values_of_primals() -> None:
    primal = cd(OURS).CustomVJPPrimal
    assert cd(OURS).custom_vjp_primal_tree_values({"a": primal(1.0, True)}) == {"a": 1.0}
    assert repr(primal(1.0, True)) == "CustomVJPPrimal(value=1.0, perturbed=True)"
    fails(lambda m: cd(m).custom_vjp_primal_tree_values({"a": 1.0}), "leaf", "float")


def test_public_names() -> None:
    theirs = {n for n in dir(jax.custom_derivatives) if not n.startswith("_")} - {"remat_opt_p"}
    assert theirs <= set(dir(lingon.custom_derivatives))
    assert set(dir(cd(OURS))) >= set(lingon.custom_derivatives.__all__)
    for name in ("custom_vmap", "sequential_vmap"):
        assert name in dir(jax.custom_batching) and hasattr(lingon.custom_batching, name)


def test_transpose_of_linear_call_closes_over_traced_values() -> None:
    """It may be asked for when the function around has been traced to its end."""
    from lingon.custom_derivatives import linear_call

    def f(x: Any, z: Any) -> Any:
        y = lnp.sin(z)
        return lnp.sum(linear_call(lambda r, v: v * 2, lambda r, ct: ct * y * r, x[0], x))

    x, z = np.arange(1, 4, dtype=np.float32), np.array([0.3, -1, 2], np.float32)
    want = np.sin(z)
    for g in (f, lingon.jit(f), lingon.checkpoint(f), lingon.jit(lingon.jit(f))):
        np.testing.assert_allclose(lingon.grad(g)(x, z), want, rtol=1e-6)
        np.testing.assert_allclose(lingon.jit(lingon.grad(g))(x, z), want, rtol=1e-6)
        many = lingon.vmap(lingon.grad(g))(np.stack([x, x]), np.stack([z, 2 * z]))
        np.testing.assert_allclose(many, np.sin([z, 2 * z]), rtol=1e-6)
        # the function's result does not depend on what only its transpose reads
        np.testing.assert_array_equal(lingon.grad(g, 1)(x, z), np.zeros(3))

    def same(x: Any) -> Any:
        y = lnp.sin(x)
        return lnp.sum(linear_call(lambda r, v: v * 2, lambda r, ct: ct * y, (), x))

    for g in (same, lingon.jit(same)):
        np.testing.assert_allclose(lingon.grad(g)(x), np.sin(x), rtol=1e-6)


def test_failing_transpose_of_linear_call_fails_where_it_is_asked_for() -> None:
    from lingon.custom_derivatives import linear_call

    def transpose(r: Any, ct: Any) -> Any:
        raise KeyError("no transpose")

    def f(x: Any) -> Any:
        return linear_call(lambda r, v: v * 2, transpose, (), x)

    assert f(2.0) == 4 and lingon.jit(f)(2.0) == 4
    assert lingon.jvp(f, (2.0,), (1.0,))[1] == 2
    for g in (f, lingon.jit(f)):
        with pytest.raises(KeyError, match="no transpose"):
            lingon.grad(g)(2.0)
