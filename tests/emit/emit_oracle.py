"""Runs jaxprs traced by jax through our compiler, and compares with what jax computes."""

from __future__ import annotations

import jax
import ml_dtypes
import numpy as np
import pytest

import lingon
from lingon import runtime
from lingon.lowering import compile_jaxpr, target_machine
from lingon.lowering.emit import emit_module

FLOATS = ("float16", "bfloat16", "float32", "float64")
FLOAT8 = (
    "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz", "float8_e5m2fnuz",
    "float8_e3m4", "float8_e4m3",
)  # fmt: skip
SIGNED = ("int4", "int8", "int16", "int32", "int64")
UNSIGNED = ("uint4", "uint8", "uint16", "uint32", "uint64")
COMPLEX = ("complex64", "complex128")
DTYPES = (*FLOATS, *SIGNED, *UNSIGNED, "bool", *COMPLEX)

# The smallest steps of rounding, as relative tolerances: one in the last place.
ONE_ULP = {"float16": 1e-3, "bfloat16": 8e-3, "float32": 1.2e-7, "float64": 2.3e-16}


def cpu_features(*lists: str):
    """A fixture that runs a test with each of these changes to the features of the CPU, for code that
    is compiled in the test. Elsewhere than on x86-64 with the first one alone."""
    x86 = target_machine.default_triple().startswith("x86_64")

    @pytest.fixture(params=lists if x86 else lists[:1], ids=lambda p: p or "all")
    def features(request, monkeypatch):
        monkeypatch.setenv("LINGON_CPU_FEATURES", request.param)
        target_machine.host_target.cache_clear()
        lingon.clear_caches()
        yield request.param
        target_machine.host_target.cache_clear()
        lingon.clear_caches()

    return features


def dtype(name: str) -> np.dtype:
    """NumPy dtype by name, ml_dtypes' ones included."""
    return np.dtype(getattr(ml_dtypes, name, name))


def trace(fn, *args):
    """Closed jaxpr of `fn` by jax."""
    return jax.make_jaxpr(fn)(*args)


def emitted(fn, *args) -> str:
    """Text of the emitted module."""
    return emit_module(trace(fn, *args)).text


def run(fn, *args) -> list[np.ndarray]:
    """Results of `fn` compiled by us, flattened."""
    closed = trace(fn, *args)
    program = compile_jaxpr(closed, name="test")
    inputs = [
        runtime.from_numpy(np.ascontiguousarray(np.asarray(a, v.aval.dtype)).reshape(v.aval.shape))
        for a, v in zip(jax.tree_util.tree_leaves(args), closed.jaxpr.invars, strict=True)
    ]
    return [np.array(r._numpy()) for r in program.execute(inputs)]


def check(fn, *args, rtol=0.0, atol=0.0) -> None:
    """Our results equal jax's: bit for bit (signs of zero too, NaN equals NaN) or to `rtol`."""
    expected = [np.asarray(r) for r in jax.tree_util.tree_leaves(jax.jit(fn)(*args))]
    compare(run(fn, *args), expected, rtol, atol)


def compare(results, expected, rtol=0.0, atol=0.0) -> None:
    """As `check`, for arrays."""
    assert len(results) == len(expected)
    for position, (ours, theirs) in enumerate(zip(results, expected, strict=True)):
        assert ours.shape == theirs.shape
        assert ours.dtype == theirs.dtype
        if ours.dtype.kind in "iub" or "int4" in ours.dtype.name:
            np.testing.assert_array_equal(ours.astype(np.int64), theirs.astype(np.int64))
            continue
        parts = [(ours, theirs)]
        if ours.dtype.kind == "c":
            parts = [(ours.real, theirs.real), (ours.imag, theirs.imag)]
        for x, y in parts:
            x, y = x.astype(np.float64), y.astype(np.float64)
            with np.errstate(invalid="ignore"):
                close = np.abs(x - y) <= rtol * np.abs(y) + atol
            same = (np.isnan(x) & np.isnan(y)) | ((x == y) & (np.signbit(x) == np.signbit(y)))
            bad = ~(same | (close & (rtol + atol > 0)))
            assert not bad.any(), (
                f"result {position} ({ours.dtype}): {bad.sum()} of {bad.size} differ, "
                f"first at {np.argwhere(bad)[0].tolist()}: {x[bad][:4]} instead of {y[bad][:4]}"
            )


def samples(name: str, seed: int = 0, pairs: bool = True) -> np.ndarray:
    """Corner values of a dtype, each with each over two seeds, and random ones.

    No f32 or f64 denormals: XLA flushes them to zero.
    """
    random = np.random.default_rng(seed)
    t = dtype(name)
    if name == "bool":
        return random.random(64) > 0.5
    if name in SIGNED + UNSIGNED:
        info = ml_dtypes.iinfo(t)
        low, high = int(info.min), int(info.max)
        corners = [v for v in (0, 1, 2, 3, 5, 7, high, high - 1, low, low + 1, -1, -2) if v >= low]
        values = [
            int(v) for v in random.integers(low, high, 100, dtype=_integer(name), endpoint=True)
        ]
        wide = np.uint64 if name == "uint64" else np.int64
        return np.array([*_crossed(corners, seed), *values], dtype=wide).astype(t)
    corners = [
        0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, 3.0, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e30,
        -1e30, 65504.0, 1e300, 0.1, 10.0, 100.0, -100.0, 1 / 3, 0.49999997, 8388609.0, 4194303.5,
    ]  # fmt: skip
    values = random.standard_normal(100) * 10.0 ** random.integers(-3, 3, 100)
    x = np.concatenate([_crossed(corners, seed), values])
    if name in COMPLEX:
        x = x + 1j * random.permutation(x)
    with np.errstate(over="ignore", invalid="ignore"):
        return x.astype(t)


def _integer(name: str):
    return np.uint64 if name == "uint64" else np.int64


def _crossed(corners: list, seed: int) -> list:
    n = len(corners)
    return [corners[k // n if seed == 0 else k % n] for k in range(n * n)]


def normal(name: str, shape: tuple[int, ...], seed: int = 0) -> np.ndarray:
    """Moderate values of a dtype."""
    random = np.random.default_rng(seed)
    if name == "bool":
        return np.asarray(random.random(shape) > 0.5)
    if name in SIGNED + UNSIGNED:
        low = 0 if name in UNSIGNED else -7
        return np.asarray(random.integers(low, 8, shape)).astype(dtype(name))
    x = np.asarray(random.standard_normal(shape))
    if name in COMPLEX:
        x = x + 1j * random.standard_normal(shape)
    return x.astype(dtype(name))
