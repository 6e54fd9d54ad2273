"""The interface of the elementary-function library."""

from __future__ import annotations

import re
import subprocess
import sys

import numpy as np
import pytest

from lingon.lowering import elementary
from lingon.lowering.elementary.builder import NumpyBuilder, TextBuilder, Value, fma_f32, fma_f64


def test_names_are_the_definitions_of_the_whole_text() -> None:
    text = elementary.library_text()
    defined = re.findall(r"func\.func private @(\w+)\(", text)
    assert tuple(sorted(defined)) == elementary.names()
    assert len(set(defined)) == len(defined)


def test_text_of_one_function_holds_only_it() -> None:
    text = elementary.library_text(["lingon_exp_f32"])
    assert re.findall(r"func\.func private @(\w+)", text) == ["lingon_exp_f32"]
    assert "alwaysinline" in text
    assert "fastmath" not in text


def test_tables_come_once_with_the_functions_that_read_them() -> None:
    text = elementary.library_text(["lingon_sin_f64", "lingon_cos_f64"])
    assert text.count("llvm.mlir.global private constant @lingon_two_over_pi") == 1


def test_unknown_names_raise() -> None:
    with pytest.raises(KeyError, match="lingon_nothing_f32"):
        elementary.library_text(["lingon_nothing_f32"])
    with pytest.raises(KeyError, match="sin"):
        elementary.library_text(["sin"])


def test_evaluate_rejects_other_dtypes_and_counts() -> None:
    with pytest.raises(TypeError, match="int64"):
        elementary.evaluate("exp", np.arange(3))
    with pytest.raises(TypeError, match=r"float32.*float64"):
        elementary.evaluate("powf", np.float32(1), np.float64(1))
    with pytest.raises(TypeError, match="takes 2 arguments, got 1"):
        elementary.evaluate("powf", np.float32(1))


def test_import_loads_neither_mlir_nor_numpy() -> None:
    code = (
        "import sys, importlib.util as u\n"
        f"s = u.spec_from_file_location('e', {elementary.__file__!r})\n"
        "m = u.module_from_spec(s); s.loader.exec_module(m)\n"
        "assert m.names()\n"
        "bad = {'mlir', 'numpy', 'llvmlite'} & set(sys.modules)\n"
        "assert not bad, bad\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_builder_refuses_mixed_types() -> None:
    b = TextBuilder("f32")
    x = Value(b, "f32", "%x")
    with pytest.raises(TypeError, match="f32 and f64"):
        _ = x + b.to_f64(x)


def test_equal_operations_are_written_once() -> None:
    b = TextBuilder("f32")
    x = Value(b, "f32", "%x")
    assert (x * 2.0).data == (x * 2.0).data
    assert len(b.lines) == 2  # the constant and the product


def test_fma_emulation_rounds_once() -> None:
    rng = np.random.default_rng(0)
    from fractions import Fraction

    for dtype, fma in ((np.float32, fma_f32), (np.float64, fma_f64)):
        n = 4000
        x = rng.normal(size=n).astype(dtype)
        y = rng.normal(size=n).astype(dtype)
        # cancellation, ties, and widely different sizes
        z = np.concatenate(
            [
                -(x[: n // 4] * y[: n // 4]),
                rng.normal(size=n // 4).astype(dtype),
                (rng.normal(size=n // 4) * 2.0**-20).astype(dtype),
                (rng.normal(size=n - 3 * (n // 4)) * 2.0**30).astype(dtype),
            ]
        ).astype(dtype)
        got = fma(x, y, z)
        bits = 24 if dtype == np.float32 else 53
        for a, b, c, r in zip(x.tolist(), y.tolist(), z.tolist(), got.tolist()):
            exact = Fraction(a) * Fraction(b) + Fraction(c)
            assert r == _nearest(exact, bits), (a, b, c)


def _nearest(value, bits: int) -> float:
    """A Fraction rounded to `bits` significant bits, ties to even."""
    from fractions import Fraction

    if value == 0:
        return 0.0
    sign, value = (-1, -value) if value < 0 else (1, value)
    exponent = value.numerator.bit_length() - value.denominator.bit_length() - bits
    while value / Fraction(2) ** exponent >= 2**bits:
        exponent += 1
    while value / Fraction(2) ** exponent < 2 ** (bits - 1):
        exponent -= 1
    return sign * float(round(value / Fraction(2) ** exponent)) * 2.0**exponent


@pytest.mark.parametrize("float_type", elementary.FLOAT_TYPES)
def test_round_to_int(float_type: str) -> None:
    b = NumpyBuilder(float_type)
    x = np.array([0, 0.5, 1.5, -0.5, -2.5, 100.25, -7.75], b.dtypes[float_type])
    whole, integer = b.round_to_int(Value(b, float_type, x))
    assert whole.data.tolist() == np.rint(x).tolist()
    assert integer.data.tolist() == np.rint(x).astype(int).tolist()
