"""The lax functions against jax's: signatures, jaxprs, values and weak types of single calls."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from oracle import text, values, weak

import lingon
import lingon.lax

X = np.arange(12, dtype=np.float32).reshape(3, 4)
V = np.array([1.0, -2.0, 3.0], np.float32)
I = np.array([3, 1, 2], np.int32)  # noqa: E741
B = np.array([True, False, True])
C = np.array([1 + 2j, -1j, 0.5], np.complex64)
ONE = np.ones((1, 3, 1), np.float32)

BEYOND_JAX = {"bounded_while_loop"}
FUNCTIONS = sorted(n for n in lingon.lax.__all__ if inspect.isfunction(getattr(lingon.lax, n)))


def _default(value: Any) -> str:
    """A default as text; one that only marks an argument as missing has none."""
    return "missing" if type(value) is object else str(value)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_signature(name: str) -> None:
    """Names, kinds and defaults of the parameters are jax's."""
    theirs = getattr(jax.lax, name, None)
    if theirs is None:
        assert name in BEYOND_JAX, f"jax.lax has no {name}"
        return
    a = inspect.signature(getattr(lingon.lax, name)).parameters.values()
    b = inspect.signature(theirs).parameters.values()
    positional = inspect.Parameter.VAR_POSITIONAL
    if any(p.kind is positional for p in b) and name == "random_gamma_grad":
        return
    assert [(p.name, p.kind) for p in a] == [(p.name, p.kind) for p in b]
    for p, q in zip(a, b, strict=True):
        assert _default(p.default) == _default(q.default), p.name


# (name, function of the lax module and arrays, arrays)
Call = tuple[str, Callable[..., Any], tuple]
CALLS: list[Call] = [
    ("scalar float", lambda lax, x: lax.add(x, 2.0), (X,)),
    ("scalar int", lambda lax, x: lax.mul(x, 3), (I,)),
    ("scalar left", lambda lax, x: lax.sub(1.0, x), (X,)),
    ("numpy scalar", lambda lax, x: lax.add(x, np.float32(2)), (X,)),
    ("numpy double", lambda lax, x: lax.add(x, np.float64(2)), (X,)),
    ("two scalars", lambda lax: lax.add(1, 2), ()),
    ("weak floats", lambda lax: lax.max(1.0, 2.0), ()),
    ("size one", lambda lax, x, y: lax.add(x, y), (X, X[:, :1])),
    ("out_dtype", lambda lax, x: lax.mul(x, x, out_dtype=np.dtype("float32")), (X,)),
    ("pow int", lambda lax, x: lax.pow(x, 2), (X,)),
    ("pow ints", lambda lax, x, y: lax.pow(x, y), (V, I)),
    ("pow weak", lambda lax: lax.pow(2.0, 3), ()),
    ("integer_pow", lambda lax, x: lax.integer_pow(x, 3), (X,)),
    ("reciprocal", lambda lax, x: lax.reciprocal(x), (V,)),
    ("round even", lambda lax, x: lax.round(x, lax.RoundingMethod.TO_NEAREST_EVEN), (V,)),
    ("conj real", lambda lax, x: lax.conj(x), (V,)),
    ("complex scalar", lambda lax, x: lax.complex(x, 0.0), (V,)),
    ("bitwise", lambda lax, x: lax.bitwise_not(lax.bitwise_xor(x, 3)), (I,)),
    ("select", lambda lax, p, x: lax.select(p, x, lax.neg(x)), (B, V)),
    ("select scalar", lambda lax, x: lax.select(True, x, x), (V,)),
    ("select_n", lambda lax, w, x: lax.select_n(w, x, x, x, x), (I, V)),
    ("clamp", lambda lax, x: lax.clamp(0.0, x, 1.0), (V,)),
    ("clamp complex", lambda lax, x: lax.clamp(-1j, x, 1 + 0j), (C,)),
    ("convert", lambda lax, x: lax.convert_element_type(x, np.int32), (V,)),
    ("convert same", lambda lax, x: lax.convert_element_type(x, np.float32), (V,)),
    ("convert python type", lambda lax, x: lax.convert_element_type(x, float), (I,)),
    ("convert scalar", lambda lax: lax.convert_element_type(3.7, np.int32), ()),
    ("convert scalar wraps", lambda lax: lax.convert_element_type(300, np.uint8), ()),
    ("bitcast", lambda lax, x: lax.bitcast_convert_type(x, np.int32), (V,)),
    ("reduce_precision", lambda lax, x: lax.reduce_precision(x, 5, 2), (V,)),
    ("stop_gradient", lambda lax, x: lax.stop_gradient(x), (V,)),
    ("barrier", lambda lax, x: lax.optimization_barrier((x, x))[0], (V,)),
    ("full", lambda lax: lax.full((2, 3), 1.5), ()),
    ("full int", lambda lax: lax.full(3, 2), ()),
    ("full dtype", lambda lax: lax.full((2,), 2, np.float32), ()),
    ("full traced", lambda lax, x: lax.full((2,), x), (np.float32(3),)),
    ("full convert", lambda lax, x: lax.full((2,), x, np.int32), (np.float32(3),)),
    ("full scalar", lambda lax, x: lax.full((), x), (np.float32(3),)),
    ("full_like", lambda lax, x: lax.full_like(x, 2), (X,)),
    ("full_like dtype", lambda lax, x: lax.full_like(x, 2, np.int32, (2,)), (X,)),
    ("iota", lambda lax: lax.iota(np.int32, 4), ()),
    ("broadcasted_iota", lambda lax: lax.broadcasted_iota(np.float32, (2, 3), 1), ()),
    ("broadcast", lambda lax, x: lax.broadcast(x, (2,)), (X,)),
    ("broadcast nothing", lambda lax, x: lax.broadcast(x, ()), (X,)),
    ("broadcast_in_dim", lambda lax, x: lax.broadcast_in_dim(x, (2, 3), (1,)), (V,)),
    ("broadcast same", lambda lax, x: lax.broadcast_in_dim(x, (3,), (0,)), (V,)),
    ("broadcast_to_rank", lambda lax, x: lax.broadcast_to_rank(x, 4), (X,)),
    ("broadcast_like", lambda lax, x, y: lax.broadcast_like(x, y), (X[0], X)),
    ("reshape", lambda lax, x: lax.reshape(x, (4, 3)), (X,)),
    ("reshape int", lambda lax, x: lax.reshape(x, 12), (X,)),
    ("reshape same", lambda lax, x: lax.reshape(x, (3, 4)), (X,)),
    ("reshape dims", lambda lax, x: lax.reshape(x, (12,), (1, 0)), (X,)),
    ("reshape dims same", lambda lax, x: lax.reshape(x, (3, 4), (0, 1)), (X,)),
    ("transpose", lambda lax, x: lax.transpose(x, np.array([1, 0])), (X,)),
    ("transpose same", lambda lax, x: lax.transpose(x, (0, 1)), (X,)),
    ("squeeze", lambda lax, x: lax.squeeze(x, (-1,)), (ONE,)),
    ("squeeze none", lambda lax, x: lax.squeeze(x, ()), (ONE,)),
    ("expand_dims", lambda lax, x: lax.expand_dims(x, (0, -1)), (X,)),
    ("collapse", lambda lax, x: lax.collapse(x, 0, 2), (ONE,)),
    ("collapse negative", lambda lax, x: lax.collapse(x, -2), (ONE,)),
    ("slice", lambda lax, x: lax.slice(x, (0, 1), (3, 4), (2, 1)), (X,)),
    ("slice no strides", lambda lax, x: lax.slice(x, (0, 1), (2, 3)), (X,)),
    ("slice_in_dim", lambda lax, x: lax.slice_in_dim(x, 1, -1, axis=1), (X,)),
    ("index_in_dim", lambda lax, x: lax.index_in_dim(x, -1, 1, keepdims=False), (X,)),
    ("concatenate", lambda lax, x: lax.concatenate([x, x], 1), (X,)),
    ("concatenate one", lambda lax, x: lax.concatenate([x], 0), (X,)),
    ("stack", lambda lax, x: lax.stack([x, x], -1), (X,)),
    ("unstack", lambda lax, x: lax.unstack(x, -1)[1], (X,)),
    ("split", lambda lax, x: lax.split(x, (1, 3), -1)[1], (X,)),
    ("tile", lambda lax, x: lax.tile(x, (2, 1)), (X,)),
    ("pad", lambda lax, x: lax.pad(x, 0.0, ((1, 0, 1), (-1, 2, 0))), (X,)),
    ("rev", lambda lax, x: lax.rev(x, (1,)), (X,)),
    ("reduce_sum", lambda lax, x: lax.reduce_sum(x, [1, 0]), (X,)),
    ("reduce_max", lambda lax, x: lax.reduce_max(x, axes=(np.int64(0),)), (X,)),
    ("reduce_and", lambda lax, x: lax.reduce_and(x, (0,)), (B,)),
    ("argmax", lambda lax, x: lax.argmax(x, 1, np.int32), (X,)),
    ("cumsum", lambda lax, x: lax.cumsum(x), (X,)),
    ("cumprod reverse", lambda lax, x: lax.cumprod(x, 1, reverse=True), (X,)),
    ("reduce add", lambda lax, x: lax.reduce(x, 0.0, lax.add, (0,)), (X,)),
    ("reduce int init", lambda lax, x: lax.reduce(x, 0, lax.add, (0,)), (X,)),
    ("reduce max", lambda lax, x: lax.reduce(x, -np.inf, lax.max, (1,)), (X,)),
    ("reduce min int", lambda lax, x: lax.reduce(x, 2**31 - 1, lax.min, (0,)), (I,)),
    ("reduce mul", lambda lax, x: lax.reduce(x, 1, lax.mul, (0,)), (I,)),
    ("reduce or", lambda lax, x: lax.reduce(x, False, lax.bitwise_or, (0,)), (B,)),
    ("reduce and int", lambda lax, x: lax.reduce(x, -1, lax.bitwise_and, (0,)), (I,)),
    ("dot", lambda lax, x, y: lax.dot(x, y), (X, X.T)),
    ("dot vector", lambda lax, x, y: lax.dot(x, y), (X, X[0])),
    ("dot ints", lambda lax, x: lax.dot_general(x, x, ((0, 0), ((), ()))), (V,)),
    ("dot precision", lambda lax, x, y: lax.dot(x, y, precision="highest"), (X, X.T)),
    ("dot precisions", lambda lax, x, y: lax.dot(x, y, precision=("high", "default")), (X, X.T)),
    ("dot algorithm", lambda lax, x, y: lax.dot(x, y, precision="F32_F32_F32"), (X, X.T)),
    ("dot type", lambda lax, x, y: lax.dot(x, y, preferred_element_type=np.float32), (I, I)),
    ("dot weak", lambda lax: lax.dot_general(2.0, 3.0, (((), ()), ((), ()))), ()),
    ("batch_matmul", lambda lax, x, y: lax.batch_matmul(x, y), (X[None], X.T[None])),
    ("real", lambda lax, x: lax.real(x), (C,)),
]


@pytest.mark.parametrize("call", CALLS, ids=[c[0] for c in CALLS])
def test_call(call: Call) -> None:
    """The value, weak type and jaxpr of one call."""
    _, f, args = call
    ours, theirs = f(lingon.lax, *args), f(jax.lax, *map(jax.numpy.asarray, args))
    a, b = values(ours), values(theirs)
    assert a.dtype == b.dtype and a.shape == b.shape
    np.testing.assert_allclose(a.astype(b.dtype), b, rtol=1e-6)
    assert weak(ours) == theirs.aval.weak_type
    ours_text = text(lingon.make_jaxpr(lambda *xs: f(lingon.lax, *xs))(*args))
    assert ours_text == text(jax.make_jaxpr(lambda *xs: f(jax.lax, *xs))(*args))


@pytest.mark.parametrize("init", [0.0, 1.0])
def test_reduce_by_any_function(init: float) -> None:
    """reduce with a function that is no known monoid, alone and on pytrees."""

    def f(lax: Any, x: Any) -> Any:
        both = lambda a, b: {"s": lax.add(a["s"], b["s"]), "p": lax.mul(a["p"], b["p"])}
        out = lax.reduce({"s": x, "p": x}, {"s": init, "p": init}, both, (1,))
        return lax.add(out["s"], out["p"])

    np.testing.assert_allclose(values(f(lingon.lax, X)), values(f(jax.lax, X)), rtol=1e-6)
    ours = lingon.jvp(lambda x: f(lingon.lax, x), (X,), (X,))[1]
    theirs = jax.jvp(lambda x: f(jax.lax, x), (X,), (X,))[1]
    np.testing.assert_allclose(values(ours), values(theirs), rtol=1e-5)
    batched = np.stack([X, X + 1])
    ours = lingon.vmap(lambda x: f(lingon.lax, x))(batched)
    theirs = jax.vmap(lambda x: f(jax.lax, x))(batched)
    np.testing.assert_allclose(values(ours), values(theirs), rtol=1e-6)


def test_reduce_closing_over_a_traced_value() -> None:
    def f(x: Any, y: Any) -> Any:
        lax = lingon.lax
        return lax.reduce(x, 1.0, lambda a, b: lax.mul(lax.mul(a, b), y), (0,))

    with pytest.raises(NotImplementedError, match="close over"):
        lingon.make_jaxpr(f)(V, np.float32(2))


def test_primitives_by_name() -> None:
    """Primitives are attributes, as in jax."""
    assert lingon.lax.add_p.name == "add"
    with pytest.raises(AttributeError, match="no attribute 'foo_p'"):
        lingon.lax.foo_p


def test_broadcast_shapes() -> None:
    for shapes in [((2, 3), (1, 3), ()), ((0, 1), (1, 5)), ((),), ((4,), (3, 1))]:
        assert lingon.lax.broadcast_shapes(*shapes) == jax.lax.broadcast_shapes(*shapes)


def test_random_gamma_grad() -> None:
    a = np.array([0.3, 1.0, 2.5, 7.0], np.float32)
    x = np.array([0.1, 2.0, 1.5, 9.0], np.float32)
    ours, theirs = lingon.lax.random_gamma_grad(a, x), jax.lax.random_gamma_grad(a, x)
    np.testing.assert_allclose(values(ours), values(theirs), rtol=1e-4)


def test_complex_to_real_warns() -> None:
    with pytest.warns(np.exceptions.ComplexWarning, match="discards the imaginary part"):
        lingon.lax.convert_element_type(C, np.float32)
