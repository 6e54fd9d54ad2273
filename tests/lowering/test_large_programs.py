"""Programs of many equations: what is repeated is compiled once, and no function gets huge.

Times are not tested; these counts are what they depend on.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import lingon
import lingon.numpy as jnp


def steps(n: int) -> Any:
    def f(x: Any, w: Any) -> Any:
        for _ in range(n):
            x = jnp.tanh(x @ w) + x
        return x

    return f


def arguments() -> tuple:
    x = jnp.linspace(-1.0, 1.0, 8 * 64).reshape(8, 64)
    return x, jnp.linspace(-0.01, 0.01, 64 * 64).reshape(64, 64)


def test_unrolled_steps_share_their_code() -> None:
    lowered = lingon.jit(steps(40)).lower(*arguments())
    text = lowered.as_text("loops")
    assert text.count("lingon.kernel_call") == 1
    names = re.findall(r"func.func private @(\w+)", text)
    assert len([n for n in names if not n.startswith("lingon_")]) <= 3, names
    assert len(re.findall(r"call @main_kernel\w*\(", text)) == 1
    small = len(lingon.jit(steps(20)).lower(*arguments()).as_text("asm"))
    assert len(lowered.as_text("asm")) < 1.1 * small


def test_values_of_unrolled_steps() -> None:
    x, w = arguments()
    want, weights = np.asarray(x, np.float64), np.asarray(w, np.float64)
    for _ in range(40):
        want = np.tanh(want @ weights) + want
    np.testing.assert_allclose(lingon.jit(steps(40))(x, w), want, rtol=1e-5)


def test_layers_with_parameters_of_their_own() -> None:
    def layers(x: Any, ws: Any) -> Any:
        for w, b in ws:
            x = jnp.maximum(x @ w + b, 0.1 * x)
        return jnp.sum(x)

    x, w = arguments()
    ws = [(w * (1 + 0.01 * i), 0.1 * jnp.linspace(-1.0, 1.0, 64)) for i in range(20)]
    value, grads = lingon.jit(lingon.value_and_grad(layers, argnums=1))(x, ws)
    eager, expected = lingon.value_and_grad(layers, argnums=1)(x, ws)
    np.testing.assert_allclose(value, eager, rtol=2e-5)
    for (a, b), (c, d) in zip(grads, expected, strict=True):
        np.testing.assert_allclose(a, c, rtol=2e-4, atol=1e-4)
        np.testing.assert_allclose(b, d, rtol=2e-4, atol=1e-4)


@pytest.mark.parametrize("n, inlined", [(5, True), (100, False)])
def test_long_scalar_code_calls_elementary_functions(n: int, inlined: bool) -> None:
    def f(x: Any) -> Any:
        for _ in range(n):
            x = x * 1.01 + jnp.sin(x)
        return x

    jitted = lingon.jit(f)
    text = jitted.lower(0.5).as_text("llvm-opt")
    assert ("call" in text and "@lingon_sin_f32(" in text) is not inlined
    want = np.float64(0.5)
    for _ in range(n):
        want = want * 1.01 + np.sin(want)
    np.testing.assert_allclose(jitted(0.5), want, rtol=1e-4)
