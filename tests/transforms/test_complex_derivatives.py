"""Complex derivatives by jax's convention: jvp, vjp, grad, Jacobians of all complex functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both import fails, same

rng = np.random.default_rng(3)


def draw(*shape: int) -> np.ndarray:
    return (rng.uniform(-1, 1, shape) + 1j * rng.uniform(-1, 1, shape)).astype(np.complex64)


X = draw(2, 3) + np.complex64(1.5)
Y = draw(2, 3) + np.complex64(2j)
Z = (draw(2, 3) / 2).astype(np.complex64)
R = rng.uniform(0.5, 1.5, (2, 3)).astype(np.float32)
SQUARE = draw(3, 3) + 3 * np.eye(3, dtype=np.complex64)

# Functions of complex arrays, with arguments away from branch cuts and poles.
HOLOMORPHIC: dict[str, tuple[Callable[[Any], Callable], tuple]] = {
    **{
        name: (lambda m, name=name: getattr(m.jnp, name), (X,))
        for name in (
            "exp", "exp2", "expm1", "log", "log1p", "log2", "log10", "sqrt", "square", "reciprocal", "sin", "cos",
            "tan", "sinh", "cosh", "tanh", "arcsin", "arccos", "arctan", "arcsinh", "arccosh",
        )
    },
    "arctanh": (lambda m: m.jnp.arctanh, (Z,)),
    "rsqrt": (lambda m: m.lax.rsqrt, (X,)),
    "logistic": (lambda m: m.lax.logistic, (X,)),
    "neg": (lambda m: lambda x: -x, (X,)),
    "cube": (lambda m: lambda x: x**3, (X,)),
    "negative power": (lambda m: lambda x: x**-2, (X,)),
    "add": (lambda m: lambda x, y: x + y, (X, Y)),
    "sub": (lambda m: lambda x, y: x - y, (X, Y)),
    "mul": (lambda m: lambda x, y: x * y, (X, Y)),
    "div": (lambda m: lambda x, y: x / y, (X, Y)),
    "pow": (lambda m: lambda x, y: x**y, (X, Y)),
    "broadcast": (lambda m: lambda x, y: x * y[0], (X, Y)),
    "sum": (lambda m: lambda x: x.sum(0), (X,)),
    "prod": (lambda m: lambda x: x.prod(1), (X,)),
    "mean": (lambda m: m.jnp.mean, (X,)),
    "cumsum": (lambda m: lambda x: m.jnp.cumsum(x, 1), (X,)),
    "cumprod": (lambda m: lambda x: m.jnp.cumprod(x, 1), (X,)),
    "dot": (lambda m: lambda x, y: x @ y.T, (X, Y)),
    "einsum": (lambda m: lambda x, y: m.jnp.einsum("ij,kj->ik", x, y), (X, Y)),
    "transpose": (lambda m: lambda x: x.T, (X,)),
    "reshape": (lambda m: lambda x: x.reshape(3, 2), (X,)),
    "flip": (lambda m: lambda x: x[::-1, ::2], (X,)),
    "gather": (lambda m: lambda x: x[m.jnp.array([1, 0, 1])], (X,)),
    "set": (lambda m: lambda x, y: x.at[0].set(y[1]), (X, Y)),
    "add at": (lambda m: lambda x, y: x.at[m.jnp.array([0, 0])].add(y), (X, Y)),
    "where": (lambda m: lambda x, y: m.jnp.where(m.jnp.asarray(R) > 1, x, y), (X, Y)),
    "concatenate": (lambda m: lambda x, y: m.jnp.concatenate([x, y], 1), (X, Y)),
    "pad": (lambda m: lambda x: m.jnp.pad(x, 1), (X,)),
    "dynamic_slice": (lambda m: lambda x: m.lax.dynamic_slice(x, (1, 0), (1, 2)), (X,)),
    "polynomial": (lambda m: lambda x: m.jnp.polyval(m.jnp.array([1j, 2.0, 3.0]), x), (X,)),
    "jit": (lambda m: m.jax.jit(lambda x: m.jnp.sin(x) * x), (X,)),
    "checkpoint": (lambda m: m.jax.checkpoint(lambda x: m.jnp.sin(m.jnp.sin(x)) * x), (X,)),
    "scan": (lambda m: lambda x: m.lax.scan(lambda c, r: (c * r, m.jnp.sin(c)), x[0], x)[1], (X,)),
    "cond": (lambda m: lambda x: m.lax.cond(m.jnp.real(x[0, 0]) > 0, m.jnp.sin, m.jnp.cos, x), (X,)),
}  # fmt: skip

# Between real and complex numbers, or with conjugates: no complex derivative in the strict sense.
OTHERS: dict[str, tuple[Callable[[Any], Callable], tuple]] = {
    "real": (lambda m: m.jnp.real, (X,)),
    "imag": (lambda m: m.jnp.imag, (X,)),
    "conj": (lambda m: m.jnp.conj, (X,)),
    "abs": (lambda m: m.jnp.abs, (X,)),
    "abs squared": (lambda m: lambda x: m.jnp.abs(x) ** 2, (X,)),
    "angle": (lambda m: m.jnp.angle, (X,)),
    "sign": (lambda m: m.jnp.sign, (X,)),
    "complex": (lambda m: lambda x, y: m.lax.complex(x, y), (R, R[::-1])),
    "to complex": (lambda m: lambda x: x.astype(m.jnp.complex64) * 2j, (R,)),
    "real times complex": (lambda m: lambda x, y: x * y, (R, X)),
    "real to a complex power": (lambda m: lambda x, y: x**y, (R, X)),
    "vdot": (lambda m: m.jnp.vdot, (X, Y)),
    "var": (lambda m: m.jnp.var, (X,)),
    "polar": (lambda m: lambda r, t: r * m.jnp.exp(1j * t), (R, R[::-1])),
    "mixture": (lambda m: lambda x: m.jnp.conj(x) * m.jnp.sin(x) + m.jnp.real(x), (X,)),
}

ALL = {**HOLOMORPHIC, **OTHERS}


def arrays(m: Any, args: tuple) -> list[Any]:
    return [m.jnp.asarray(a) for a in args]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """The sweeps are sampled; with --full they have all cases."""
    sweeps = {"holomorphic": (HOLOMORPHIC, 6), "loss_of": (ALL, 8), "pushed": (ALL, 24)}
    for name, (table, count) in sweeps.items():
        if name in metafunc.fixturenames:
            cases = list(table)
            if not metafunc.config.getoption("--full"):
                chosen = np.random.default_rng(11).choice(cases, count, replace=False)
                cases = sorted(chosen.tolist())
            metafunc.parametrize(name, cases)


@pytest.mark.sampled(14)
def test_jvp_and_vjp(pushed: str) -> None:
    make, args = ALL[pushed]
    tangents = [draw(*a.shape).astype(a.dtype) if a.dtype.kind == "c" else R for a in args]

    def program(m: Any) -> Any:
        f, xs, ts = make(m), arrays(m, args), arrays(m, tuple(tangents))
        out, tangent = m.jax.jvp(f, tuple(xs), tuple(ts))
        pulled = m.jax.vjp(f, *xs)[1]
        scale = (1.5 - 0.5j) if m.jnp.iscomplexobj(out) else 1.5
        ct = (m.jnp.cos(m.jnp.arange(out.size)).reshape(out.shape) * scale).astype(out.dtype)
        return out, tangent, pulled(ct), m.jax.linearize(f, *xs)[1](*ts)

    same(program, tol=2e-4)


def test_holomorphic(holomorphic: str) -> None:
    make, args = HOLOMORPHIC[holomorphic]

    def program(m: Any) -> Any:
        f, xs = make(m), arrays(m, args)
        total = lambda *a: m.jnp.sum(f(*a))
        return (
            m.jax.grad(total, holomorphic=True)(*xs),
            m.jax.jit(m.jax.grad(total, holomorphic=True))(*xs),
            m.jax.jacfwd(f, holomorphic=True)(*xs),
            m.jax.jacrev(f, holomorphic=True)(*xs),
        )

    same(program, tol=3e-4)


def test_real_loss(loss_of: str) -> None:
    """The gradient of a real function of complex arguments is jax's, conjugated to the steepest
    ascent."""
    make, args = ALL[loss_of]

    def program(m: Any) -> Any:
        f, xs = make(m), arrays(m, args)

        def loss(*a: Any) -> Any:
            out = f(*a)
            return m.jnp.sum(m.jnp.real(out) ** 2 + 3 * m.jnp.imag(out) * m.jnp.real(out))

        nums = tuple(range(len(xs)))
        return m.jax.grad(loss, nums)(*xs), m.jax.jit(m.jax.grad(loss, nums))(*xs)

    same(program, tol=5e-4)


PROGRAMS: dict[str, Callable[[Any], Any]] = {
    "second": lambda m: m.jax.grad(m.jax.grad(lambda z: m.jnp.sin(z) * z, holomorphic=True), holomorphic=True)(1 + 2j),
    "third": lambda m: m.jax.grad(m.jax.grad(m.jax.grad(m.jnp.exp, holomorphic=True), holomorphic=True), holomorphic=True)(0.5 + 1j),
    "hessian": lambda m: m.jax.hessian(lambda z: m.jnp.sum(m.jnp.sin(z) * z[::-1]), holomorphic=True)(m.jnp.asarray(X[0])),
    "hessian of a real loss": lambda m: m.jax.jacfwd(lambda x: m.jax.grad(lambda y: m.jnp.sum(m.jnp.abs(m.jnp.exp(1j * y)) + m.jnp.real(m.jnp.exp((1 + 1j) * y))))(x))(m.jnp.asarray(R[0])),
    "vmap of grad": lambda m: m.jax.vmap(m.jax.grad(lambda z: m.jnp.abs(m.jnp.sin(z))))(m.jnp.asarray(X[0])),
    "grad of vmap": lambda m: m.jax.grad(lambda z: m.jax.vmap(lambda w: m.jnp.abs(w * w))(z).sum())(m.jnp.asarray(X[0])),
    "tree": lambda m: m.jax.grad(lambda d: m.jnp.abs(d["z"] * d["r"]))({"z": 1 + 2j, "r": 3.0}),
    "jacrev of two arguments": lambda m: m.jax.jacrev(lambda z, w: z * w, (0, 1), holomorphic=True)(m.jnp.asarray(X[0]), m.jnp.asarray(Y[0])),
    "jacrev with aux": lambda m: m.jax.jacrev(lambda z: (z * z, m.jnp.real(z)), holomorphic=True, has_aux=True)(m.jnp.asarray(X[0])),
    "Cauchy-Riemann": lambda m: m.jax.jacfwd(lambda v: m.jnp.stack([m.jnp.real(m.jnp.exp(m.lax.complex(v[0], v[1]))), m.jnp.imag(m.jnp.exp(m.lax.complex(v[0], v[1])))]))(m.jnp.array([0.3, 0.4])),
    "weak complex": lambda m: m.jax.grad(lambda z: m.jnp.real(z * z))(1 + 2j),
    "linear_transpose": lambda m: m.jax.linear_transpose(lambda z: z * (2 + 1j), 1j)(1 + 1j),
    "real part transposed": lambda m: m.jax.linear_transpose(m.jnp.real, 1j)(1.0),
    "custom_jvp": lambda m: m.jax.grad(_custom(m), holomorphic=True)(1 + 2j),
    "integer and complex": lambda m: m.jax.vjp(lambda z, n: z * n, 1 + 2j, 3)[1](1j)[0],
    "complex128 argument": lambda m: m.jax.grad(lambda z: m.jnp.abs(z))(np.complex128(3 + 4j)),
}  # fmt: skip


def _custom(m: Any) -> Callable:
    f = m.jax.custom_jvp(lambda z: m.jnp.sin(z))
    f.defjvp(lambda p, t: (f(*p), m.jnp.conj(p[0]) * t[0]))
    return f


@pytest.mark.parametrize("case", PROGRAMS)
@pytest.mark.sampled(11)
def test_program(case: str) -> None:
    same(PROGRAMS[case], tol=2e-4)


ERRORS: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "grad": (lambda m: m.jax.grad(lambda z: z * z)(1j), ("complex64", "holomorphic=True")),
    "holomorphic of real": (lambda m: m.jax.grad(lambda x: x * 1j, holomorphic=True)(1.0), ("float32",)),
    "holomorphic to real": (lambda m: m.jax.grad(m.jnp.abs, holomorphic=True)(1j), ("float32",)),
    "jacfwd": (lambda m: m.jax.jacfwd(lambda z: z)(1j), ("complex64",)),
    "jacrev": (lambda m: m.jax.jacrev(lambda z: z)(1j), ("complex64",)),
    "hessian": (lambda m: m.jax.hessian(lambda z: z)(1j), ("complex64",)),
    "real cotangent": (lambda m: m.jax.vjp(lambda z: z, 1j)[1](1.0), ("float32", "complex64")),
    "real tangent": (lambda m: m.jax.jvp(lambda z: z, (1j,), (1.0,)), ("float32", "complex64")),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_error(case: str) -> None:
    program, words = ERRORS[case]
    fails(program, *words)
