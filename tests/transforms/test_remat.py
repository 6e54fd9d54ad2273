"""checkpoint, its policies and names against jax: values, jaxprs, what is saved, errors."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest
from both import JAX, OURS, fails, same
from jax.ad_checkpoint import print_saved_residuals as jax_print_saved_residuals

import lingon
import lingon.ad_checkpoint
import lingon.frontend.transforms.remat as remat

X = np.linspace(-0.5, 0.5, 9, dtype=np.float32).reshape(3, 3)
N = np.arange(9, dtype=np.int32).reshape(3, 3)

Program = Callable[[Any], Any]


def name(m: Any, x: Any, label: str) -> Any:
    library = jax if m is JAX else lingon
    return library.ad_checkpoint.checkpoint_name(x, label)


def text(jaxpr: Any) -> str:
    """A jaxpr's text without line breaks and memory addresses."""
    s = re.sub(r"0x[0-9a-fX]+", "0x", str(jaxpr))
    # which of the policies are functions and which are objects is not the same
    s = re.sub(r"policy=.*? prevent_cse", "policy prevent_cse", s.replace("\n", " "))
    return re.sub(r"[\s;]+", " ", s).replace("[ ", "[").replace(" ]", "]")


def same_jaxpr(program: Program, *args: Any) -> None:
    """`program(m)` is a function; its jaxprs are the same with both libraries."""
    a, b = (text(m.jax.make_jaxpr(program(m))(*args)) for m in (OURS, JAX))
    assert a == b


def sines(m: Any) -> Callable:
    return lambda x, y: m.jnp.sin(m.jnp.sin(x)) * y


def products(m: Any) -> Callable:
    return lambda w, x: m.jnp.sin(m.jnp.sin(x @ w) @ w).sum()


def named(m: Any) -> Callable:
    def f(x: Any) -> Any:
        y = name(m, m.jnp.sin(x), "a")
        z = name(m, m.jnp.sin(y), "b")
        return m.jnp.sin(m.jnp.sin(z))

    return f


def batched(m: Any) -> Callable:
    return lambda x: m.jnp.sin(m.jnp.einsum("bij,bjk->bik", m.jnp.sin(x), x)).sum()


def inner_jit(m: Any) -> Callable:
    def f(x: Any, n: Any) -> Any:
        y = m.jax.jit(lambda x: m.jnp.dot(m.jnp.sin(x), x))(x)
        z = m.jax.jit(lambda n: n * n + 1)(n)
        return (m.jnp.sin(y) * z).sum()

    return f


POLICIES: dict[str, Callable[[Any], Any]] = {
    "none": lambda p: None,
    "everything": lambda p: p.everything_saveable,
    "nothing": lambda p: p.nothing_saveable,
    "dots": lambda p: p.dots_saveable,
    "checkpoint_dots": lambda p: p.checkpoint_dots,
    "no batch": lambda p: p.dots_with_no_batch_dims_saveable,
    "checkpoint_dots_no_batch": lambda p: p.checkpoint_dots_with_no_batch_dims,
    "only a": lambda p: p.save_only_these_names("a"),
    "only a, b": lambda p: p.save_only_these_names("a", "b"),
    "any but a": lambda p: p.save_any_names_but_these("a"),
    "anything except a": lambda p: p.save_anything_except_these_names("a"),
    "both": lambda p: p.save_from_both_policies(p.dots_saveable, p.save_only_these_names("b")),
}

# --- values and jaxprs ----------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("function", "args"),
    [(sines, (X, X)), (products, (X, X)), (named, (X,)), (batched, (np.stack([X, X]),)), (inner_jit, (X, N))],
    ids=lambda x: getattr(x, "__name__", ""),
)  # fmt: skip
def test_gradient(function: Callable, args: tuple, policy: str) -> None:
    def program(m: Any) -> Any:
        f = m.jax.checkpoint(function(m), policy=POLICIES[policy](m.jax.checkpoint_policies))
        total = lambda *a: m.jnp.sum(f(*a))
        arrays = [m.jnp.asarray(a) for a in args]
        grad = m.jax.grad(total)
        return f(*arrays), grad(*arrays), m.jax.jit(grad)(*arrays)

    same(program)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("function", "args"),
    [
        (sines, (1.0, 2.0)),
        (named, (1.0,)),
        (products, (X, X)),
        (batched, (np.stack([X, X]),)),
        (inner_jit, (X, N)),
    ],
    ids=lambda x: getattr(x, "__name__", ""),
)
def test_jaxpr_of_gradient(function: Callable, args: tuple, policy: str) -> None:
    def checkpointed(m: Any) -> Callable:
        return m.jax.checkpoint(function(m), policy=POLICIES[policy](m.jax.checkpoint_policies))

    if function is inner_jit and policy in ("everything", "anything except a"):
        pytest.skip("jax leaves calls of functions without equations in the jaxpr")
    same_jaxpr(lambda m: m.jax.grad(checkpointed(m)), *args)


CHECKPOINT_JAXPRS: dict[str, tuple[Program, tuple]] = {
    "call": (lambda m: m.jax.checkpoint(sines(m)), (1.0, 2.0)),
    "two arguments": (lambda m: m.jax.grad(m.jax.checkpoint(sines(m)), (0, 1)), (1.0, 2.0)),
    "no cse": (lambda m: m.jax.grad(m.jax.checkpoint(sines(m), prevent_cse=False)), (1.0, 2.0)),
    "cse of one": (lambda m: m.jax.grad(m.jax.checkpoint(sines(m), prevent_cse=(True, False))), (1.0, 2.0)),
    "jvp": (lambda m: lambda x, t: m.jax.jvp(m.jax.checkpoint(sines(m)), (x, 2.0), (t, 1.0)), (1.0, 2.0)),
    "vmap": (lambda m: m.jax.vmap(m.jax.checkpoint(sines(m))), (X, X)),
    "linearize": (lambda m: lambda x, t: m.jax.linearize(m.jax.checkpoint(sines(m)), x, 2.0)[1](t, t), (1.0, 2.0)),
    "of jit": (lambda m: m.jax.grad(m.jax.jit(m.jax.checkpoint(sines(m)))), (1.0, 2.0)),
    "captured": (lambda m: lambda x, y: m.jax.checkpoint(lambda x: (m.jnp.sin(x) * y).sum())(x), (X, X)),
    "captured constant": (lambda m: m.jax.grad(m.jax.checkpoint(lambda x: (m.jnp.sin(x) * m.jnp.asarray(X)).sum())), (X,)),
    "nested": (lambda m: m.jax.grad(m.jax.checkpoint(lambda x: m.jnp.sin(m.jax.checkpoint(lambda x: m.jnp.sin(m.jnp.sin(x)))(x)))), (1.0,)),
    "name": (lambda m: lambda x: name(m, {"a": x}, "n"), (1.0,)),
    "vmap of name": (lambda m: m.jax.vmap(named(m)), (X,)),
    "jvp of name": (lambda m: lambda x, t: m.jax.jvp(named(m), (x,), (t,)), (1.0, 2.0)),
    "custom rule": (lambda m: m.jax.grad(m.jax.checkpoint(lambda x: m.nn.relu(m.jnp.sin(x)))), (1.0,)),
}  # fmt: skip


@pytest.mark.parametrize("case", CHECKPOINT_JAXPRS)
def test_jaxpr(case: str) -> None:
    program, args = CHECKPOINT_JAXPRS[case]
    same_jaxpr(program, *args)


PROGRAMS: dict[str, Program] = {
    "second derivative": lambda m: m.jax.grad(m.jax.grad(m.jax.checkpoint(lambda x: m.jnp.sin(m.jnp.sin(x)))))(1.0),
    "third derivative": lambda m: m.jax.grad(m.jax.grad(m.jax.grad(m.jax.checkpoint(lambda x: m.jnp.exp(m.jnp.sin(x))))))(1.0),
    "hessian": lambda m: m.jax.hessian(m.jax.checkpoint(lambda x: (m.jnp.sin(x) @ m.jnp.asarray(X) @ x)))(m.jnp.ones(3)),
    "jacrev of jacfwd": lambda m: m.jax.jacrev(m.jax.jacfwd(m.jax.checkpoint(lambda x: m.jnp.sin(m.jnp.sin(x)))))(m.jnp.ones(2)),
    "vmap of grad": lambda m: m.jax.vmap(m.jax.grad(m.jax.checkpoint(sines(m))))(m.jnp.asarray(X[0]), m.jnp.asarray(X[1])),
    "grad of vmap": lambda m: m.jax.grad(lambda x: m.jax.vmap(m.jax.checkpoint(sines(m)), (0, None))(x, 2.0).sum())(m.jnp.asarray(X[0])),
    "jit inside and outside": lambda m: m.jax.jit(m.jax.grad(m.jax.checkpoint(m.jax.jit(lambda x: m.jnp.sin(m.jnp.sin(x)).sum()))))(m.jnp.asarray(X)),
    "recursive": lambda m: m.jax.grad(m.jax.checkpoint(lambda x: m.jax.checkpoint(lambda y: m.jnp.sin(m.jnp.sin(y)))(m.jnp.sin(x)) * x))(1.0),
    "pytrees": lambda m: m.jax.grad(m.jax.checkpoint(lambda d, *a, k: m.jnp.sin(d["a"]) * a[0][1] * k))({"a": 1.0}, (2.0, 3.0), k=4.0),
    "no differentiated path": lambda m: m.jax.grad(lambda x: m.jax.checkpoint(lambda a, b: (m.jnp.sin(a), m.jnp.cos(b)))(x, 2.0)[1])(1.0),
    "integer output": lambda m: m.jax.grad(lambda x: m.jax.checkpoint(lambda a: (m.jnp.sin(a), m.jnp.arange(3)))(x)[0])(1.0),
    "unused output": lambda m: m.jax.grad(lambda x: m.jax.checkpoint(lambda a: (m.jnp.sin(a), m.jnp.exp(a)))(x)[0])(1.0),
    "output is input": lambda m: m.jax.grad(lambda x: sum(m.jax.checkpoint(lambda a: (a, m.jnp.sin(a), 2.0))(x)))(1.0),
    "static argument": lambda m: m.jax.grad(m.jax.checkpoint(lambda x, y: m.jnp.sin(x) if y else -x, static_argnums=1))(1.0, True),
    "negative static argument": lambda m: m.jax.checkpoint(lambda x, y: x if y else -x, static_argnums=-1)(1.0, False),
    "unhashable static argument": lambda m: m.jax.checkpoint(lambda x, y: x * y[0], static_argnums=1)(1.0, [2]),
    "custom_vjp inside": lambda m: m.jax.grad(m.jax.checkpoint(lambda x: m.jnp.sin(_doubling(m)(m.jnp.sin(x)))))(1.0),
    "custom_vjp inside, saved": lambda m: m.jax.grad(m.jax.checkpoint(lambda x: m.jnp.sin(_doubling(m)(m.jnp.sin(x))), policy=m.jax.checkpoint_policies.everything_saveable))(1.0),
    "linear_transpose": lambda m: m.jax.linear_transpose(m.jax.checkpoint(lambda x: 2 * x), 1.0)(1.0),
    "relu": lambda m: m.jax.grad(m.jax.checkpoint(lambda x: m.nn.relu(m.nn.softmax(x) - 0.3).sum()))(m.jnp.asarray(X)),
    "policy as function": lambda m: m.jax.grad(m.jax.checkpoint(sines(m), policy=lambda prim, *_, **__: str(prim) == "sin"))(1.0, 2.0),
    "policy with enums": lambda m: m.jax.grad(m.jax.checkpoint(sines(m), policy=_enum_policy(m)))(1.0, 2.0),
    "name as remat": lambda m: m.jax.grad(m.jax.remat(sines(m)))(1.0, 2.0),
    "bfloat16": lambda m: m.jax.grad(m.jax.checkpoint(lambda x: m.jnp.exp(m.jnp.sin(x)).sum(), policy=m.jax.checkpoint_policies.everything_saveable))(m.jnp.asarray(X).astype(m.jnp.bfloat16)),
    "complex": lambda m: m.jax.grad(m.jax.checkpoint(lambda x: m.jnp.exp(m.jnp.sin(x)), policy=m.jax.checkpoint_policies.everything_saveable), holomorphic=True)(1 + 2j),
}  # fmt: skip


def _doubling(m: Any) -> Callable:
    f = m.jax.custom_vjp(lambda x: x * 2)
    f.defvjp(lambda x: (x * 2, m.jnp.cos(x)), lambda res, ct: (ct * res,))
    return f


def _enum_policy(m: Any) -> Callable:
    library = (jax if m is JAX else lingon).ad_checkpoint

    def policy(prim: Any, *_: Any, **__: Any) -> Any:
        return library.Saveable if str(prim) == "sin" else library.Recompute

    return policy


@pytest.mark.parametrize("case", PROGRAMS)
def test_program(case: str) -> None:
    same(PROGRAMS[case])


# --- what is saved --------------------------------------------------------------------------


def residual_lines(m: Any, capsys: Any, f: Any, *args: Any, **kwargs: Any) -> list[str]:
    show = jax_print_saved_residuals if m is JAX else lingon.ad_checkpoint.print_saved_residuals
    capsys.readouterr()
    show(f, *args, **kwargs)
    return sorted(capsys.readouterr().out.splitlines())


RESIDUALS: dict[str, tuple[Program, tuple]] = {
    "no checkpoint": (sines, (1.0, 2.0)),
    "checkpoint": (lambda m: m.jax.checkpoint(sines(m)), (1.0, 2.0)),
    "name": (named, (1.0,)),
    **{
        f"named, {p}": (
            lambda m, p=p: m.jax.checkpoint(named(m), policy=POLICIES[p](m.jax.checkpoint_policies)),
            (1.0,),
        )
        for p in POLICIES
    },
    **{
        f"products, {p}": (
            lambda m, p=p: m.jax.checkpoint(products(m), policy=POLICIES[p](m.jax.checkpoint_policies)),
            (X, X),
        )
        for p in POLICIES
    },
    **{
        f"batched products, {p}": (
            lambda m, p=p: m.jax.checkpoint(batched(m), policy=POLICIES[p](m.jax.checkpoint_policies)),
            (np.stack([X, X]),),
        )
        for p in ("dots", "no batch")
    },
    "square": (lambda m: lambda x: x * x, (X,)),
    "relu": (lambda m: lambda x: m.nn.relu(x), (X,)),
    "where": (lambda m: lambda x: m.jnp.where(x > 0, x * x, 0.0), (X,)),
    "constant": (lambda m: lambda x: m.jnp.sin(x @ m.jnp.asarray(X)), (X,)),
    "integer": (lambda m: lambda x, n: x * n, (X, 2)),
    "identity": (lambda m: lambda x: x, (X,)),
    "jit with products": (
        lambda m: m.jax.checkpoint(lambda w, x: m.jax.jit(products(m))(w, x), policy=m.jax.checkpoint_policies.dots_saveable),
        (X, X),
    ),
    "nested": (
        lambda m: m.jax.checkpoint(
            lambda x: m.jnp.sin(m.jax.checkpoint(lambda x: m.jnp.sin(m.jnp.sin(x)))(x)),
            policy=m.jax.checkpoint_policies.everything_saveable,
        ),
        (1.0,),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", RESIDUALS)
def test_residuals(case: str, capsys: Any) -> None:
    program, args = RESIDUALS[case]
    assert residual_lines(OURS, capsys, program(OURS), *args) == residual_lines(
        JAX, capsys, program(JAX), *args
    )


def scanned(m: Any) -> Callable:
    def body(c: Any, _: Any) -> Any:
        c = name(m, m.jnp.sin(c @ m.jnp.asarray(X)), "a")
        return m.jnp.sin(c), c

    return lambda x: m.lax.scan(body, x, None, length=4)[0].sum()


def scanned_with_inputs(m: Any) -> Callable:
    def body(c: Any, x: Any) -> Any:
        (a, n), w = c, m.jnp.asarray(X)
        a = m.jnp.sin(name(m, a @ w, "a") * x)
        return (a, n + 1), (m.jnp.cos(a), n)

    return lambda x: sum(m.jnp.sum(y) for y in m.lax.scan(body, (x, 0), m.jnp.asarray(X))[1])


def chosen(m: Any) -> Callable:
    w = m.jnp.asarray(X)

    def yes(x: Any) -> Any:
        return m.jnp.sin(name(m, x @ w, "a")).sum()

    return lambda x: m.lax.cond(x[0] < 0, yes, lambda x: m.jnp.cos(m.jnp.sin(x)).sum(), x)


def looped(m: Any) -> Callable:
    """A loop that is not differentiated, beside what is."""

    def f(x: Any) -> Any:
        n = m.lax.while_loop(lambda n: n < 3.0, lambda n: n + 1, m.lax.stop_gradient(x[0]))
        return (m.jnp.sin(name(m, m.jnp.sin(x), "a")) * n).sum()

    return f


CONTROL_FLOW = {f.__name__: f for f in (scanned, scanned_with_inputs, chosen, looped)}


@pytest.mark.parametrize("policy", ["none", "everything", "dots", "only a"])
@pytest.mark.parametrize("function", CONTROL_FLOW)
def test_control_flow(function: str, policy: str, capsys: Any) -> None:
    """Policies hold inside of loops and branches."""

    def checkpointed(m: Any) -> Callable:
        f = CONTROL_FLOW[function](m)
        return m.jax.checkpoint(f, policy=POLICIES[policy](m.jax.checkpoint_policies))

    def program(m: Any) -> Any:
        f, x = checkpointed(m), m.jnp.asarray(X[0])
        g = m.jax.grad(f)
        return f(x), g(x), m.jax.jit(g)(x), m.jax.vmap(g)(m.jnp.asarray(X))

    same(program, tol=1e-4)
    ours, theirs = (
        [line.split(" ")[0] for line in residual_lines(m, capsys, checkpointed(m), X[0])]
        for m in (OURS, JAX)
    )
    # where the loop's own values are kept, jax has copies of a constant or an index
    assert sorted(set(ours)) == sorted(set(theirs))


def test_second_derivatives_through_checkpointed_loops() -> None:
    def program(m: Any) -> Any:
        x = m.jnp.asarray(X[0])
        inner = m.jax.checkpoint(lambda c, _: (m.jnp.sin(m.jnp.sin(c) @ m.jnp.asarray(X)), None))
        f = lambda x: m.lax.scan(inner, x, None, length=3)[0].sum()
        policy = m.jax.checkpoint_policies.dots_saveable
        both = m.jax.checkpoint(f, policy=policy)
        return m.jax.hessian(f)(x), m.jax.hessian(both)(x), m.jax.jacrev(m.jax.grad(both))(x)

    same(program, tol=1e-4)


def test_residuals_of_arguments_in_pytrees(capsys: Any) -> None:
    def program(m: Any) -> Callable:
        return lambda d, *a, k: m.jnp.sin(d["a"]) * m.jnp.cos(a[0]) * k

    args, kwargs = ({"a": 1.0}, 3.0), {"k": np.ones(3, np.float32)}
    assert residual_lines(OURS, capsys, program(OURS), *args, **kwargs) == residual_lines(
        JAX, capsys, program(JAX), *args, **kwargs
    )


def _chain(x: Any) -> Any:
    for _ in range(3):
        x = lingon.checkpoint(lambda x: lingon.numpy.sin(lingon.numpy.sin(x @ W) @ W), policy=None)(
            x
        )
    return x.sum()


def _plain_chain(x: Any) -> Any:
    for _ in range(6):
        x = lingon.numpy.sin(x @ W)
    return x.sum()


W = lingon.numpy.asarray(np.eye(64, dtype=np.float32) / 2)


def _compiled(f: Callable) -> Any:
    return lingon.jit(lingon.value_and_grad(f)).lower(W).compile()


def test_memory_shrinks() -> None:
    """A checkpointed chain keeps a value for two layers where the plain one keeps two."""
    kept = len(lingon.ad_checkpoint.saved_residuals(_plain_chain, W))
    kept_less = len(lingon.ad_checkpoint.saved_residuals(_chain, W))
    assert kept_less < kept
    plain = _compiled(_plain_chain).memory_analysis()
    small = _compiled(_chain).memory_analysis()
    assert small.temp_size_in_bytes < 0.7 * plain.temp_size_in_bytes


def test_recomputation_is_not_undone() -> None:
    """Compiled, the sines are computed twice, but not where CSE is allowed."""

    def sines_in(f: Callable) -> int:
        return _compiled(f).as_text("fused").count("math.sin")

    def f(x: Any) -> Any:
        return lingon.numpy.sin(lingon.numpy.sin(x) @ W).sum()

    assert sines_in(lingon.checkpoint(f)) == 1 + sines_in(lingon.checkpoint(f, prevent_cse=False))
    assert sines_in(lingon.checkpoint(f, prevent_cse=False)) == sines_in(f)


def test_optimization_barrier() -> None:
    def f(x: Any) -> Any:
        return lingon.numpy.sin(x), lingon.numpy.sin(lingon.lax.optimization_barrier(x))

    text = lingon.jit(f).lower(W).compile().as_text("fused")
    assert text.count("math.sin") == 2
    a, b = lingon.jit(f)(W)
    np.testing.assert_array_equal(a, b)


# --- the Python side ------------------------------------------------------------------------


def test_traced_once() -> None:
    calls = []

    def f(x: Any) -> Any:
        calls.append(x)
        return lingon.numpy.sin(x)

    g = lingon.checkpoint(f)
    for _ in range(3):
        g(1.0)
        lingon.grad(g)(1.0)
    assert len(calls) == 1
    g(np.ones(3, np.float32))
    assert len(calls) == 2


def test_captured_tracers_are_not_remembered() -> None:
    @lingon.jit
    def f(x: Any) -> Any:
        g = lingon.checkpoint(lambda y: lingon.numpy.sin(y) * x)
        return g(1.0) + g(2.0) + lingon.grad(g)(3.0)

    x = 2.0
    np.testing.assert_allclose(f(x), x * (np.sin(1) + np.sin(2) + np.cos(3)), rtol=1e-6)


def test_static_arguments_by_name() -> None:
    def f(x: Any, y: bool, *, z: bool = False) -> Any:
        return x if y and not z else -x

    g = lingon.checkpoint(f, static_argnames=("y", "z"))
    assert (g(1.0, y=True), g(1.0, y=True, z=True), g(1.0, True)) == (1.0, -1.0, 1.0)
    assert lingon.grad(g)(1.0, y=True, z=True) == -1.0


def test_names_and_policies_print_as_in_jax() -> None:
    for p in ("dots", "no batch", "only a", "any but a"):
        ours, theirs = (POLICIES[p](m.jax.checkpoint_policies) for m in (OURS, JAX))
        assert repr(ours) == repr(theirs)
    assert remat.checkpoint(np.sin).__name__ == "sin"
    offload = lingon.ad_checkpoint.Offloadable("device", "pinned_host")
    assert repr(offload) == repr(jax.ad_checkpoint.Offloadable("device", "pinned_host"))


def test_policies_are_equal_by_what_they_say() -> None:
    p = lingon.checkpoint_policies
    assert p.save_only_these_names("a", "b") == p.save_only_these_names("b", "a")
    assert p.save_only_these_names("a") != p.save_any_names_but_these("a")
    assert len({p.save_only_these_names("a"), p.save_only_these_names("a")}) == 1
    both = [p.save_from_both_policies(p.dots_saveable, p.nothing_saveable) for _ in range(2)]
    assert both[0] == both[1] and hash(both[0]) == hash(both[1])


def test_offloading_policies_save_in_the_one_memory() -> None:
    p = lingon.checkpoint_policies
    f = named(OURS)
    by_name = p.save_and_offload_only_these_names(
        names_which_can_be_saved=["a"],
        names_which_can_be_offloaded=["b"],
        offload_src="device",
        offload_dst="pinned_host",
    )
    kept = lingon.ad_checkpoint.saved_residuals(lingon.checkpoint(f, policy=by_name), 1.0)
    assert [s.split(" from ")[0] for _, s in kept] == ["from the argument x", "named 'a'", "named 'b'"]  # fmt: skip
    same(lambda m: m.jax.grad(named(m))(1.0))
    np.testing.assert_allclose(
        lingon.grad(lingon.checkpoint(f, policy=by_name))(1.0), lingon.grad(f)(1.0), rtol=1e-6
    )
    dots = p.offload_dot_with_no_batch_dims("device", "pinned_host")
    kept = lingon.ad_checkpoint.saved_residuals(
        lingon.checkpoint(products(OURS), policy=dots), X, X
    )
    assert len(kept) == 4


# --- errors ---------------------------------------------------------------------------------

ERRORS: dict[str, tuple[Program, tuple[str, ...]]] = {
    "concrete": (lambda m: m.jax.checkpoint(lambda x: x, concrete=True), ("`concrete`", "static_argnums")),
    "remat concrete": (lambda m: m.jax.remat(lambda x: x, concrete=False), ("`concrete`",)),
    "policy not callable": (lambda m: m.jax.grad(m.jax.checkpoint(m.jnp.sin, policy=3))(1.0), ("callable",)),
    "policy returns 3": (
        lambda m: m.jax.grad(m.jax.checkpoint(lambda x: m.jnp.sin(x), policy=lambda *a, **k: 3))(1.0),
        ("Got 3 of type <class 'int'>", "ad_checkpoint.Saveable"),
    ),
    "output no array": (lambda m: m.jax.checkpoint(lambda x: "a")(1.0), ("checkpoint / remat", "<class 'str'>")),
    "argument no array": (lambda m: m.jax.checkpoint(lambda x: x)("a"), ("Argument 'a' of type <class 'str'>",)),
    "static out of range": (
        lambda m: m.jax.checkpoint(lambda x, y: x, static_argnums=(5,))(1.0, 2),
        ("static_argnums", "(5,)", "`len(args)` = 2"),
    ),
    "static no int": (lambda m: m.jax.checkpoint(lambda x, y: x, static_argnums="a")(1.0, 2), ()),
    "branch": (
        lambda m: m.jax.checkpoint(lambda x, y: x if y else -x)(1.0, True),
        ("checkpoint / remat", "argument y", "`static_argnums` parameter for `jax.remat`"),
    ),
    "name of no array": (lambda m: name(m, "a", "b"), ("name", "<class 'str'>")),
    "names in both": (
        lambda m: m.jax.checkpoint_policies.save_and_offload_only_these_names(
            names_which_can_be_saved=["a"],
            names_which_can_be_offloaded=["a"],
            offload_src="device",
            offload_dst="pinned_host",
        ),
        ("intersection={'a'}",),
    ),
    "prevent_cse": (lambda m: m.jax.checkpoint(lambda x: x, prevent_cse=3), ("prevent_cse", "bool")),
    "prevent_cse of the wrong length": (lambda m: m.jax.checkpoint(lambda x: x, prevent_cse=(True, True))(1.0), ()),
    "no function": (lambda m: m.jax.checkpoint(3)(1.0), ()),
    "residuals of no array": (
        lambda m: (jax if m is JAX else lingon).ad_checkpoint.print_saved_residuals(lambda x: x, "a"),
        ("<class 'str'>",),
    ),
    "residuals of an output that is no array": (
        lambda m: (jax if m is JAX else lingon).ad_checkpoint.print_saved_residuals(lambda x: "a", 1.0),
        ("<class 'str'>",),
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", ERRORS)
def test_error(case: str) -> None:
    program, words = ERRORS[case]
    fails(program, *words)
