"""Tracing, lowering and compiling ahead of time beside jax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both import JAX, OURS, Failed, fails, run, same
from jax_oracle import jaxpr_text

import lingon
import lingon.numpy as lnp

V = np.array([0.5, -1.5, 2.0], np.float32)
STAGES = [
    "jaxpr",
    "linalg",
    "fused",
    "bufferized",
    "loops",
    "llvm-dialect",
    "llvm",
    "llvm-opt",
    "asm",
]


def jitted(m: Any, **options: Any) -> Any:
    return m.jax.jit(lambda x, y=2.0: {"a": x * y, "b": (x.sum(),)}, **options)


def static(m: Any) -> Any:
    return m.jax.jit(lambda x, k: x * k, static_argnums=1)


TEXTS: dict[str, Callable[[Any], Any]] = {
    "traced": lambda m: jaxpr_text(jitted(m).trace(V).jaxpr),
    "traced out_info": lambda m: jitted(m).trace(V).out_info,
    "traced name": lambda m: m.jax.jit(m.jnp.sin).trace(V).fun_name,
    "in_tree": lambda m: jitted(m).lower(V, y=3.0).in_tree,
    "out_tree": lambda m: jitted(m).lower(V).out_tree,
    "args_info": lambda m: jitted(m).lower(V, y=3.0).args_info,
    "donated": lambda m: jitted(m, donate_argnums=0).lower(V, 3.0).args_info,
    "donate_argnums": lambda m: jitted(m, donate_argnums=0).lower(V, 3.0).donate_argnums,
    "in_avals": lambda m: jitted(m).lower(V, y=3.0).in_avals,
    "out_info": lambda m: jitted(m).lower(V).out_info,
    "static": lambda m: static(m).lower(V, 3).in_tree,
    "compiled in_tree": lambda m: jitted(m).lower(V).compile().in_tree,
    "compiled out_tree": lambda m: jitted(m).lower(V).compile().out_tree,
    "compiled in_avals": lambda m: jitted(m).lower(V).compile().in_avals,
    "compiled args_info": lambda m: jitted(m).lower(V).compile().args_info,
    "none": lambda m: m.jax.jit(lambda x: (x, None)).lower({"k": 1}).out_tree,
}  # fmt: skip


@pytest.mark.parametrize("name", TEXTS)
def test_what_stages_know(name: str) -> None:
    assert str(TEXTS[name](OURS)) == str(TEXTS[name](JAX))


CALLS: dict[str, Callable[[Any], Any]] = {
    "call": lambda m: jitted(m).lower(V).compile()(V),
    "keyword": lambda m: jitted(m).lower(V, y=1.0).compile()(V, y=5.0),
    "structs": lambda m: jitted(m).lower(m.jax.ShapeDtypeStruct((3,), np.float32)).compile()(V),
    "from trace": lambda m: jitted(m).trace(V).lower().compile()(V),
    "static": lambda m: static(m).lower(V, 3).compile()(V),
    "weak and strong": lambda m: m.jax.jit(lambda x: x * 2).lower(1.0).compile()(m.jnp.float32(1)),
    "strong and weak": lambda m: m.jax.jit(lambda x: x * 2).lower(m.jnp.float32(1)).compile()(1.0),
    "numpy 64": lambda m: jitted(m).lower(V).compile()(V.astype(np.float64)),
    "inside jit": lambda m: m.jax.jit(lambda x: x + jitted(m).lower(x).compile()(V)["a"])(V),
    "no arguments": lambda m: m.jax.jit(lambda: m.jnp.arange(3)).lower().compile()(),
    "unused": lambda m: m.jax.jit(lambda x, y: x).lower(V, 1).compile()(V, 2),
    "other shape": lambda m: jitted(m).lower(V).compile()(V[:2]),
    "other dtype": lambda m: jitted(m).lower(V).compile()(V.astype(int)),
    "other tree": lambda m: jitted(m).lower(V).compile()([V]),
    "too many": lambda m: jitted(m).lower(V).compile()(V, 2.0),
    "position for keyword": lambda m: jitted(m).lower(V, y=2.0).compile()(V, 2.0),
    "static given": lambda m: static(m).lower(V, 3).compile()(V, 3),
    "string": lambda m: jitted(m).lower(V).compile()("a"),
    "lowering a string": lambda m: jitted(m).lower("a"),
    "under grad": lambda m: m.jax.grad(lambda x: jitted(m).lower(V).compile()(x)["a"].sum())(V),
    "under jit": lambda m: m.jax.jit(lambda x: jitted(m).lower(V).compile()(x)["a"])(V),
    "under vmap": lambda m: m.jax.vmap(lambda x: jitted(m).lower(V).compile()(x)["a"])(V[None]),
    "deleted": lambda m: _deleted(m),
    "unknown option": lambda m: jitted(m).lower(V).compile({"foo": 1}),
    "unknown option of jit": lambda m: jitted(m, compiler_options={"foo": 1})(V),
    "unknown dialect": lambda m: jitted(m).lower(V).as_text("foo"),
    "unknown ir": lambda m: jitted(m).lower(V).compiler_ir("foo"),
    "error in the function": lambda m: m.jax.jit(lambda x: x + np.ones(7)).lower(V),
}  # fmt: skip


def _deleted(m: Any) -> Any:
    x = m.jnp.ones(3)
    x.delete()
    return jitted(m).lower(V).compile()(x)


@pytest.mark.parametrize("name", CALLS)
def test_calls(name: str) -> None:
    if isinstance(run(CALLS[name], JAX), Failed):
        fails(CALLS[name])
    else:
        same(CALLS[name])


def test_messages_of_calls() -> None:
    compiled = jitted(OURS).lower(V).compile()
    with pytest.raises(TypeError, match=r"float32\[3\].*float32\[2\]"):
        compiled(V[:2])
    assert isinstance(jitted(OURS), lingon.stages.Wrapped)
    assert isinstance(compiled, lingon.stages.Compiled)


def test_stage_texts() -> None:
    lowered = jitted(OURS).lower(V)
    compiled = lowered.compile()
    assert list(lowered.stages) == STAGES == list(compiled.stages)
    assert lowered.stages == compiled.stages
    signs = {
        "jaxpr": "lambda ;", "linalg": "linalg.", "bufferized": "memref", "loops": "memref.store", "llvm-dialect": "llvm.func",
        "llvm": "define ", "llvm-opt": "define ", "asm": "ret",
    }  # fmt: skip
    for stage, sign in signs.items():
        assert sign in lowered.as_text(stage) == compiled.as_text(stage), stage
    assert lowered.as_text() == lowered.as_text("linalg")
    with pytest.raises(ValueError, match=r"foo.*linalg"):
        compiled.as_text("foo")


def test_analyses() -> None:
    f = lingon.jit(lambda x, y: (x @ y, lnp.exp(x)))
    x = np.ones((16, 32), np.float32)
    lowered = f.lower(x, x.T.copy())
    cost = lowered.cost_analysis()
    assert cost["flops"] >= 2 * 16 * 32 * 16 and cost["bytes accessed"] > 0
    memory = lowered.compile().memory_analysis()
    assert memory.argument_size_in_bytes == 2 * x.nbytes
    assert memory.output_size_in_bytes == 16 * 16 * 4 + x.nbytes
    assert memory.generated_code_size_in_bytes > 0 and memory.temp_size_in_bytes >= 0


def test_nothing_runs_before_the_call() -> None:
    seen = []

    def f(x: Any) -> Any:
        seen.append("traced")
        return x * 2

    j = lingon.jit(f)
    lowered = j.lower(lingon.ShapeDtypeStruct((1000, 1000), np.float32))
    assert seen == ["traced"] and j._cache_size() == 1
    compiled = lowered.compile()
    assert compiled(lnp.ones((1000, 1000)))[0, 0] == 2.0
    j(lnp.ones((1000, 1000)))
    assert seen == ["traced"]


PRODUCTS = [
    ("bij,bjk->bik", (5, 16, 32), (5, 32, 8), 5 * 16 * 32 * 8), ("ijk,kjl->il", (7, 9, 20), (20, 9, 3), 7 * 9 * 20 * 3),
    ("ki,kj->ij", (30, 20), (30, 10), 30 * 20 * 10), ("i,i->", (400,), (400,), 400), ("ij,j->i", (2, 3), (3,), 6),
]  # fmt: skip


@pytest.mark.parametrize(("subscripts", "a", "b", "products"), PRODUCTS)
def test_operations_of_matrix_products(
    subscripts: str, a: tuple[int, ...], b: tuple[int, ...], products: int
) -> None:
    """Library kernels and loops count alike: a multiplication and an addition for each product."""
    f = lingon.jit(lambda x, y: lnp.einsum(subscripts, x, y))
    cost = f.lower(np.ones(a, np.float32), np.ones(b, np.float32)).cost_analysis()
    assert products < cost["flops"] <= 2 * products
    if products > 64:
        complex_cost = f.lower(np.ones(a, np.complex64), np.ones(b, np.complex64)).cost_analysis()
        assert complex_cost["flops"] == 8 * products
