"""Products of bfloat16 and 8-bit integers, by each unit of the CPU that multiplies them.

A process uses one unit, the best one or what LINGON_MATRIX_UNIT asks for, so each is tested in a process of its own.
"""

from __future__ import annotations

import os
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
from test_kernels import call

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
UNITS = {"none": 0, "dot": 1, "tiles": 2}
SHAPES = [
    (32, 32, 64), (48, 40, 100), (33, 65, 31), (100, 200, 300), (17, 500, 47), (128, 128, 2100),
    (300, 20, 64), (64, 64, 64),
]  # fmt: skip


def unit() -> int:
    made = np.full((1,), -1, np.int64)
    call("matrix_unit", [made], [])
    return int(made[0])


def check(lhs, rhs, turned, out_dtype) -> None:
    """lhs: m x k, rhs: k x n, each transposed in memory where `turned` says so."""
    a = np.ascontiguousarray(lhs.T).T if turned[0] else lhs
    b = np.ascontiguousarray(rhs.T).T if turned[1] else rhs
    out = np.empty((lhs.shape[0], rhs.shape[1]), out_dtype)
    call("dot_general", [a, b, out], [0, 1, 1, 0, 0, 1])
    if out_dtype.kind in "iu":
        wanted = (lhs.astype(np.int64) @ rhs.astype(np.int64)).astype(out_dtype)
        np.testing.assert_array_equal(out, wanted)
        return
    wanted = lhs.astype(np.float64) @ rhs.astype(np.float64)
    scale = np.abs(lhs.astype(np.float64)) @ np.abs(rhs.astype(np.float64))
    assert np.all(np.abs(out - wanted) <= 1e-6 * scale * np.sqrt(lhs.shape[1])), np.max(
        np.abs(out - wanted) / scale
    )


def check_all() -> None:
    random = np.random.default_rng(3)
    for m, n, k in SHAPES:
        for turned in ((0, 0), (1, 0), (0, 1), (1, 1)):
            a = random.standard_normal((m, k)).astype(BFLOAT16)
            b = random.standard_normal((k, n)).astype(BFLOAT16)
            check(a, b, turned, np.dtype(np.float32))
            for dtype, wide in (("int8", "int32"), ("uint8", "uint32")):
                info = np.iinfo(dtype)
                a = random.integers(info.min, info.max + 1, (m, k)).astype(dtype)
                b = random.integers(info.min, info.max + 1, (k, n)).astype(dtype)
                check(a, b, turned, np.dtype(wide))
                check(a, b, turned, np.dtype(dtype))


def check_special() -> None:
    """NaN and infinity come through, in their rows and columns and nowhere else."""
    a, b = np.ones((64, 64), BFLOAT16), np.ones((64, 64), BFLOAT16)
    a[3, 5], a[7, 60], b[9, 11] = np.nan, np.inf, -np.inf
    out = np.empty((64, 64), np.float32)
    call("dot_general", [a, b, out], [0, 1, 1, 0, 0, 1])
    with np.errstate(invalid="ignore"):
        wanted = a.astype(np.float32) @ b.astype(np.float32)
    np.testing.assert_array_equal(out, wanted)


@pytest.mark.parametrize("name", UNITS)
def test_unit(name):
    if unit() < UNITS[name]:
        pytest.skip(f"this machine has no {name!r}")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); import test_narrow_products as t; "
        f"assert t.unit() == {UNITS[name]}, t.unit(); t.check_all(); t.check_special()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, os.path.dirname(__file__)],
        env={**os.environ, "LINGON_MATRIX_UNIT": name},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
