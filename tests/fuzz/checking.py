"""Compiled code against the NumPy interpreter, with an estimate of what rounding may change.

The interpreter runs a second time and more with every floating-point result perturbed by some
units in the last place. Where these runs differ from one another, the program itself turns rounding
into large differences (it compares, sorts, cancels, takes floors), and nothing is asked of the
compiled code there beyond that.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import ml_dtypes
import numpy as np

import lingon
from lingon.frontend.core import dtypes
from lingon.frontend.core.interpreter import eval_jaxpr
from lingon.frontend.core.jaxpr import ClosedJaxpr
from lingon.frontend.core.trace import Trace, set_trace
from lingon.frontend.transforms.jit import program_of

NOISE_ULPS = 8
TOLERANCE_ULPS = 64
SPREAD = 16


class Interpretation(Trace):
    """Runs every primitive through its reference; perturbs what it gives."""

    def __init__(self, seed: int | None):
        self.rng = None if seed is None else np.random.default_rng(seed)

    def process_primitive(self, primitive: Any, args: Sequence[Any], params: dict) -> Any:
        out = primitive.evaluate(args, params)
        if self.rng is None:
            return out
        return [self.noisy(o) for o in out] if primitive.multiple_results else self.noisy(out)

    def noisy(self, x: Any) -> Any:
        if dtypes.is_extended(x.dtype) or not dtypes.is_inexact(x.dtype) or x.size == 0:
            return x
        eps = float(ml_dtypes.finfo(x.dtype).eps)
        a = np.asarray(x)
        wide = a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)
        factor = 1 + NOISE_ULPS * eps * self.rng.uniform(-1, 1, a.shape)
        with np.errstate(all="ignore"):
            return lingon.numpy.asarray((wide * factor).astype(a.dtype))


def interpret(
    closed: ClosedJaxpr, args: Sequence[Any], seed: int | None = None
) -> list[np.ndarray]:
    """The program's results by the references; with a seed, perturbed."""
    with lingon.disable_jit(), set_trace(Interpretation(seed)):
        return [np.asarray(o) for o in eval_jaxpr(closed.jaxpr, closed.consts, *args)]


def compiled(closed: ClosedJaxpr, args: Sequence[Any]) -> list[np.ndarray]:
    """The program's results by machine code."""
    return [np.asarray(o) for o in program_of(closed, "random_program")(args)]


def _wide(x: np.ndarray) -> np.ndarray:
    if x.dtype == bool or x.dtype.kind in "iu":
        return x.astype(np.float64)
    return x.astype(np.complex128 if x.dtype.kind == "c" else np.float64)


def unexplained(
    got: np.ndarray, expected: np.ndarray, perturbed: Sequence[np.ndarray]
) -> np.ndarray:
    """Where `got` differs from `expected` by more than rounding explains, as a mask."""
    x, y = _wide(got), _wide(expected)
    noisy = [_wide(p) for p in perturbed]
    with np.errstate(all="ignore"):
        inexact = dtypes.is_inexact(got.dtype)
        eps = float(ml_dtypes.finfo(got.dtype).eps) if inexact else 0.0
        finite = np.isfinite(y)
        scale = np.max(np.abs(y[finite]), initial=float(np.finfo(np.float32).tiny))
        spread = np.zeros(y.shape)
        unsure = np.zeros(y.shape, bool)
        for p in noisy:
            unsure |= np.isfinite(p) != finite
            spread = np.fmax(spread, np.abs(p - y))
        allowed = TOLERANCE_ULPS * eps * np.abs(y) + 4 * eps * scale + SPREAD * spread
        same = (x == y) | (np.isnan(x) & np.isnan(y)) | (np.abs(x - y) <= allowed)
    return ~same & ~unsure


def differences(got: Sequence[np.ndarray], closed: ClosedJaxpr, args: Sequence[Any]) -> list[str]:
    """What the compiled results have wrong; an empty list if nothing."""
    expected = interpret(closed, args)
    for i, (a, b) in enumerate(zip(got, expected, strict=True)):
        if (a.shape, a.dtype) != (b.shape, b.dtype):
            return [f"result {i} is {a.dtype}{a.shape}, not {b.dtype}{b.shape}"]
    if all(not unexplained(a, b, []).any() for a, b in zip(got, expected, strict=True)):
        return []
    runs: list[list[np.ndarray]] = []
    for count in (4, 32):  # more of them before anything is called wrong
        runs += [interpret(closed, args, seed) for seed in range(len(runs), count)]
        wrong = []
        for i, (a, b) in enumerate(zip(got, expected, strict=True)):
            mask = unexplained(a, b, [r[i] for r in runs])
            if mask.any():
                wrong.append(
                    f"result {i} ({a.dtype}{a.shape}): {a[mask][:4]} where {b[mask][:4]} is expected"
                )
        if not wrong:
            return []
    return wrong
