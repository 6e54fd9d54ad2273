"""What the tests of effects share: both libraries, captured output."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import checkify as jax_checkify
from jax.experimental import io_callback as jax_io_callback

import lingon
import lingon.experimental.checkify
import lingon.lax
import lingon.numpy
import lingon.random

JAX = SimpleNamespace(
    jax=jax,
    jnp=jnp,
    lax=jax.lax,
    random=jax.random,
    checkify=jax_checkify,
    io_callback=jax_io_callback,
)
OURS = SimpleNamespace(
    jax=lingon,
    jnp=lingon.numpy,
    lax=lingon.lax,
    random=lingon.random,
    checkify=lingon.experimental.checkify,
    io_callback=lingon.experimental.io_callback,
)


@pytest.fixture
def ours() -> Any:
    return OURS


@pytest.fixture
def theirs() -> Any:
    return JAX


@pytest.fixture
def both(capfd: pytest.CaptureFixture) -> Callable[[Callable[[Any], Any]], tuple[str, str]]:
    """Runs a program with both libraries: what each has printed."""

    def run(program: Callable[[Any], Any]) -> tuple[str, str]:
        texts = []
        for m in (OURS, JAX):
            capfd.readouterr()
            program(m)
            m.jax.effects_barrier()
            texts.append(capfd.readouterr().out)
        return texts[0], texts[1]

    return run
