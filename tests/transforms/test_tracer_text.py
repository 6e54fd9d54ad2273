"""What a print of a traced value shows: as in jax."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import jax
import numpy as np
import pytest

import lingon

Case = Callable[[ModuleType, Callable[[Any], Any]], Any]

CASES: dict[str, Case] = {
    "jit": lambda lib, f: lib.jit(f)(1),
    "make_jaxpr": lambda lib, f: lib.make_jaxpr(f)(np.ones((2, 3), np.float32)),
    "vmap": lambda lib, f: lib.vmap(f, in_axes=1)(np.ones((2, 3), np.float32)),
    "vmap of keys": lambda lib, f: lib.vmap(lambda k: f(1.0) and f(k))(
        lib.random.split(lib.random.key(0))
    ),
    "nested vmap": lambda lib, f: lib.vmap(lib.vmap(f))(np.ones((2, 3), np.float32)),
    "grad": lambda lib, f: lib.grad(f)(1.0),
    "vjp": lambda lib, f: lib.vjp(f, lib.numpy.arange(2.0)),
    "linearize": lambda lib, f: lib.linearize(f, 1.0),
    "jvp": lambda lib, f: lib.jvp(f, (lib.numpy.arange(2.0),), (lib.numpy.ones(2),)),
    "jacfwd": lambda lib, f: lib.jacfwd(f)(lib.numpy.arange(2.0)),
    "jit of vmap": lambda lib, f: lib.jit(lib.vmap(f))(np.ones(3, np.float32)),
    "jit of grad": lambda lib, f: lib.jit(lib.grad(f))(1.0),
    "vmap of grad": lambda lib, f: lib.vmap(lib.grad(f))(np.ones(3, np.float32)),
    "hessian": lambda lib, f: lib.hessian(f)(1.0),
}


@pytest.mark.parametrize("name", CASES)
def test_texts_of_tracers(name: str) -> None:
    def seen(lib: ModuleType) -> list[str]:
        texts: list[str] = []

        def f(x: Any) -> Any:
            texts.extend([str(x), repr(x), f"{x}"])
            return x

        CASES[name](lib, f)
        return texts

    ours = seen(lingon)
    assert ours == seen(jax)
    assert any("Tracer(" in text for text in ours)
