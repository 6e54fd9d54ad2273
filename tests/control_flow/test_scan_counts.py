"""What scan costs, in numbers that do not depend on the machine: traces, compilations, equations,
stored values."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from scan_programs import XS, C, W, line

import lingon
import lingon.numpy as jnp
from lingon import lax
from lingon.frontend.core.jaxpr import subjaxprs


class Counted:
    """A body that counts how often it is called."""

    def __init__(self, body: Callable):
        self.count = 0

        def counted(*args: Any) -> Any:
            self.count += 1
            return body(*args)

        self.body = counted


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of the programs that are compiled during a test."""
    from lingon.frontend.transforms import programs

    names: list[str] = []
    original = programs.Program.__init__

    def record(self: Any, closed: Any, name: str, *args: Any, **kw: Any) -> None:
        names.append(name)
        original(self, closed, name, *args, **kw)

    monkeypatch.setattr(programs.Program, "__init__", record)
    return names


def test_traced_once_for_each_signature() -> None:
    c = Counted(lambda c, x: (c + x, c))
    for _ in range(3):
        lax.scan(c.body, C, XS)
    assert c.count == 1
    lax.scan(c.body, C, XS[:2])
    lingon.jit(lambda xs: lax.scan(c.body, C, xs))(XS)
    assert c.count == 1, "neither the length nor where it is called matter"
    lax.scan(c.body, C.astype(np.int32), XS.astype(np.int32))
    assert c.count == 2


def test_transformations_do_not_trace_again() -> None:
    c = Counted(lambda c, x: (jnp.sin(c) + x, c * x))
    f = lambda a, xs: jnp.sum(lax.scan(c.body, a, xs)[1])
    f(C, XS)
    lingon.grad(f)(C, XS)
    lingon.hessian(f)(C, XS)
    lingon.vmap(f, in_axes=(0, None))(W, XS)
    assert c.count == 1


def test_weakly_typed_carry_is_traced_twice() -> None:
    c = Counted(lambda c, x: (c + x, None))
    lax.scan(c.body, 0, XS[:, 0])
    lax.scan(c.body, 0, XS[:, 0])
    assert c.count == 2


def test_nested_bodies_are_traced_once() -> None:
    inner = Counted(lambda c, x: (c * x, c))
    outer = Counted(lambda c, row: lax.scan(inner.body, c, row))
    f = lambda c, xs: jnp.sum(lax.scan(outer.body, c, xs)[0])
    lingon.jit(lingon.grad(f))(C[0], XS)
    assert (inner.count, outer.count) == (1, 1)


def test_body_without_jit_runs_in_every_step() -> None:
    c = Counted(lambda c, x: (c + x, c))
    with lingon.disable_jit():
        lax.scan(c.body, C, XS)
    assert c.count == len(XS)


def test_map_traces_once() -> None:
    c = Counted(lambda x: x * 2.0)
    for _ in range(2):
        lax.map(c.body, XS)
        lax.map(c.body, XS, batch_size=2)
    assert c.count == 1


def test_eager_calls_are_compiled_once(compiled: list[str]) -> None:
    body = lambda c, x: (jnp.sin(c) + x, c)
    for _ in range(3):
        lax.scan(body, C, XS)
    assert compiled == ["scan"]
    f = lambda c, xs: jnp.sum(lax.scan(body, c, xs)[1])
    lingon.grad(f)(C, XS)
    before = len(compiled)
    for _ in range(3):
        lingon.grad(f)(C, XS)
    assert len(compiled) == before == 3, "the loop, its known part, and the loop backwards"


def test_eager_call_that_closes_over_arrays_is_compiled_once(compiled: list[str]) -> None:
    """The values of arrays that a body closes over are no part of the program."""
    for k in range(3):
        w = jnp.asarray(W * k)
        lax.scan(lambda c, x: (c @ w + x, None), C, XS)
    assert compiled.count("scan") == 1


def test_traces_die_with_the_body() -> None:
    body = Counted(lambda c, x: (c + x, None)).body
    lax.scan(body, C, XS)
    ref = weakref.ref(body)
    del body
    gc.collect()
    assert ref() is None


# --- residuals -----------------------------------------------------------------------------


def scans(jaxpr: Any) -> Iterator[Any]:
    """The scan equations of a jaxpr, at any depth."""
    for eqn in jaxpr.eqns:
        if eqn.primitive.name == "scan":
            yield eqn
        for sub in subjaxprs(eqn.params):
            yield from scans(sub)


def equations(jaxpr: Any) -> int:
    """How many equations there are, at any depth."""
    inner = (equations(sub) for eqn in jaxpr.eqns for sub in subjaxprs(eqn.params))
    return len(jaxpr.eqns) + sum(inner)


def loops_of_gradient(f: Callable, *args: Any, argnums: Any = (0, 1)) -> tuple[Any, Any]:
    """The scan forwards and the scan backwards of a gradient's jaxpr."""
    forward, backward = scans(lingon.make_jaxpr(lingon.grad(f, argnums=argnums))(*args).jaxpr)
    assert backward.params["reverse"] is not forward.params["reverse"]
    return forward, backward


def stacked(eqn: Any) -> list[tuple[int, ...]]:
    """Shapes of what a scan stores in every step."""
    return [v.aval.shape for v in eqn.outvars[eqn.params["num_carry"] :]]


def names(eqn: Any) -> list[str]:
    return [e.primitive.name for e in eqn.params["jaxpr"].eqns]


def test_residuals_are_stored_once() -> None:
    """sin(c w) + x stores the carry and the cosine, nothing else."""

    def f(w: Any, xs: Any) -> Any:
        return jnp.sum(lax.scan(lambda c, x: (jnp.sin(c @ w) + x, None), jnp.ones(3), xs)[0])

    forward, backward = loops_of_gradient(f, W, XS)
    assert stacked(forward) == [(5, 3), (5, 3)]
    assert backward.params["num_consts"] == 1, "w"


def test_inputs_are_not_stored_again() -> None:
    def f(w: Any, xs: Any) -> Any:
        return jnp.sum(lax.scan(lambda c, x: (c * x * w, None), C, xs)[0])

    forward, backward = loops_of_gradient(f, C, XS)
    # c and c * x: x and w are operands of the loop backwards
    assert len(stacked(forward)) == 2
    assert any(a.aval.shape == (5, 3) and a in forward.invars for a in backward.invars)


def test_outputs_are_not_stored_again() -> None:
    def f(w: Any, xs: Any) -> Any:
        c, ys = lax.scan(lambda c, x: (c * x, c), w, xs)
        return jnp.sum(c) + jnp.sum(ys)

    forward, _ = loops_of_gradient(f, C, XS)
    assert stacked(forward) == [(5, 3)]


def test_invariants_are_hoisted() -> None:
    """What depends on closed-over values alone is computed once, and kept once."""

    def f(w: Any, xs: Any) -> Any:
        body = lambda c, x: (c * jnp.exp(w @ w.T)[0] * x, None)
        return jnp.sum(lax.scan(body, jnp.ones(3), xs)[0])

    forward, backward = loops_of_gradient(f, W, XS)
    assert "exp" not in names(forward) + names(backward)
    assert "dot_general" not in names(forward)
    assert all(s == (5, 3) for s in stacked(forward))


def test_free_operations_are_recomputed() -> None:
    """Broadcasts, iotas, reshapes and conversions are neither stored nor hoisted."""

    def f(w: Any, xs: Any) -> Any:
        def body(c: Any, x: Any) -> Any:
            wide = jnp.broadcast_to(x[0] > 0, (100, 3)).astype(jnp.float32)
            ramp = jnp.arange(300.0).reshape(100, 3)
            return c + jnp.sum(jnp.sin(c) * wide * ramp, 0), None

        return jnp.sum(lax.scan(body, w, xs)[0])

    forward, backward = loops_of_gradient(f, C, XS, argnums=0)
    assert max(int(np.prod(s[1:])) for s in stacked(forward)) <= 3
    assert all(a.aval.size < 300 for a in forward.invars + backward.invars)


def test_free_operations_are_a_property_of_the_primitive() -> None:
    from lingon.frontend.core.primitive import registry

    free = {n for n, p in registry.items() if p.free}
    assert {"broadcast_in_dim", "iota", "reshape", "convert_element_type"} <= free
    assert not free & {"add", "exp", "dot_general", "transpose", "scan", "gather"}


def test_integer_loop_counter_needs_no_loop_of_its_own() -> None:
    def f(w: Any) -> Any:
        def body(carry: Any, _: Any) -> Any:
            i, c = carry
            return (i + 1, c * w), None

        return lax.scan(body, (0, 1.0), None, length=4)[0][1]

    forward, backward = scans(lingon.make_jaxpr(lingon.grad(f))(2.0).jaxpr)
    assert stacked(forward) == [(4,)], "the float carry alone"
    assert backward.params["num_carry"] == 2


def test_no_cotangents_of_zero() -> None:
    """Outputs that the result does not depend on cost nothing backwards."""

    def f(w: Any, xs: Any) -> Any:
        body = lambda c, x: ((c[0] * w, c[1] * jnp.sin(x)), (jnp.cos(c[1]), x * x))
        return jnp.sum(lax.scan(body, (jnp.ones(3), jnp.ones(3)), xs)[0][0])

    _, backward = loops_of_gradient(f, C, XS)
    assert backward.params["num_carry"] == 2, "the sum for w and one carry"
    assert names(backward).count("mul") == 2


@pytest.mark.parametrize("order", ["first", "second"])
def test_equations_are_linear_in_the_number_of_carries(order: str) -> None:
    """Twice as many carries, twice as many equations: at 60 scalar carries as at 15."""

    def program(n: int) -> int:
        def f(w: Any) -> Any:
            def body(carry: Any, x: Any) -> Any:
                return [jnp.sin(c) * w + x for c in carry], None

            return sum(lax.scan(body, [1.0 * w] * n, jnp.ones(4))[0])

        g = lingon.grad(f) if order == "first" else lingon.grad(lingon.grad(f))
        return equations(lingon.make_jaxpr(g)(0.5).jaxpr)

    a, b, c = program(15), program(30), program(60)
    assert c - b <= 2.1 * (b - a), (a, b, c)
    assert c < 4.3 * a, (a, b, c)


def test_many_carries_that_reach_each_other_slowly() -> None:
    """A chain of carries: tangents reach one more in every round of the fixpoint."""
    n = 40

    def f(x: Any) -> Any:
        def body(carry: Any, _: Any) -> Any:
            return [carry[0] * 1.1, *[jnp.sin(c) for c in carry[:-1]]], None

        return lax.scan(body, [x] + [jnp.float32(0.0)] * (n - 1), None, length=50)[0][-1]

    closed = lingon.make_jaxpr(lingon.grad(f))(0.3)
    assert equations(closed.jaxpr) < 12 * n
    h = 1e-2
    slope = (float(f(0.3 + h)) - float(f(0.3 - h))) / (2 * h)
    np.testing.assert_allclose(float(lingon.grad(f)(0.3)), slope, rtol=2e-2)


# --- dead code -----------------------------------------------------------------------------


def test_dead_results_are_removed() -> None:
    """Outputs nobody reads, and carries that only feed themselves, go away."""
    from lingon.frontend.transforms.partial_eval import dce_jaxpr

    def f(xs: Any) -> Any:
        def body(carry: Any, x: Any) -> Any:
            a, b, c = carry
            return (a + x, b * a, jnp.sin(c)), (jnp.cos(b), x * c)

        return lax.scan(body, (jnp.zeros(3), jnp.ones(3), jnp.ones(3)), xs)

    closed = lingon.make_jaxpr(f)(XS)
    for used, carries, outputs, body in [
        ([True, False, False, False, False], 1, 0, ["add"]),
        ([False, True, False, False, False], 2, 0, ["add", "mul"]),
        ([False, False, False, True, False], 2, 1, ["add", "mul", "cos"]),
        ([False, False, True, False, False], 1, 0, ["sin"]),
    ]:
        jaxpr, _ = dce_jaxpr(closed.jaxpr, used)
        (eqn,) = scans(jaxpr)
        assert eqn.params["num_carry"] == carries
        assert len(eqn.outvars) == carries + outputs
        assert names(eqn) == body
    jaxpr, _ = dce_jaxpr(closed.jaxpr, [False] * 5)
    assert not list(scans(jaxpr))


def test_inputs_that_are_not_read_are_removed() -> None:
    from lingon.frontend.transforms.partial_eval import dce_jaxpr

    f = lambda w, xs, zs: lax.scan(lambda c, x: (c + x[0], x[1] @ w), C, (xs, zs))
    closed = lingon.make_jaxpr(f)(W, XS, line(5, 3))
    jaxpr, read = dce_jaxpr(closed.jaxpr, [True, False])
    assert read == [False, True, False]
    (eqn,) = scans(jaxpr)
    assert eqn.params["num_consts"] == 0 and len(eqn.invars) == 2
