"""Loads the programs of `examples/` twice: with lingon, and with jax in its place."""

from __future__ import annotations

import re
from pathlib import Path
from types import ModuleType
from typing import Any

import jax
import numpy as np

FOLDER = Path(__file__).parents[2] / "examples"


def load(name: str, library: str) -> ModuleType:
    """The module of an example that imports `library`, "lingon" or "jax"."""
    source = (FOLDER / f"{name}.py").read_text()
    if library != "lingon":
        source = re.sub(
            r"^(import|from) lingon\b", rf"\1 {library}", source, flags=re.MULTILINE
        ).replace(f"import {library} as {library}", f"import {library}")
    module = ModuleType(f"{name}_with_{library}")
    exec(compile(source, str(FOLDER / f"{name}.py"), "exec"), module.__dict__)
    return module


class Example:
    """An example with both libraries; `agree` runs a function of it with both."""

    def __init__(self, name: str):
        self.ours, self.theirs = load(name, "lingon"), load(name, "jax")

    def agree(self, program: Any, tol: float = 1e-4) -> Any:
        """Run `program(module)` with both, compare all results, and return ours as NumPy arrays.

        Floats agree within `tol` of the largest magnitude of their array.
        """
        a = [np.asarray(x) for x in jax.tree.leaves(program(self.ours))]
        b = [np.asarray(x) for x in jax.tree.leaves(program(self.theirs))]
        assert len(a) == len(b)
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            assert (x.shape, x.dtype) == (y.shape, y.dtype), f"result {i}"
            scale = float(np.max(np.abs(y), initial=1e-30))
            np.testing.assert_allclose(x, y, rtol=tol, atol=tol * scale, err_msg=f"result {i}")
        return a
