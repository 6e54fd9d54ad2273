"""Functions stay within the worst errors that docs/accuracy.md states; compiled code agrees."""

from __future__ import annotations

import importlib.util
import pathlib
import re
import sys

import numpy as np
import pytest

from lingon.lowering import elementary
from lingon.lowering.elementary.compiled import compile_loop

ROOT = pathlib.Path(__file__).resolve().parents[2]
_spec = importlib.util.spec_from_file_location("measure_ulp", ROOT / "tools" / "measure_ulp.py")
assert _spec is not None and _spec.loader is not None
measure_ulp = importlib.util.module_from_spec(_spec)
sys.modules["measure_ulp"] = measure_ulp
_spec.loader.exec_module(measure_ulp)

CASES = [(name, t) for name in measure_ulp.measured() for t in elementary.FLOAT_TYPES]


def stated() -> dict[tuple[str, str], tuple[float, float | None]]:
    """(function, float type) -> worst ulp, absolute error near zeros in eps, from the document."""
    bounds = {}
    text = (ROOT / "docs" / "accuracy.md").read_text()
    table = text.split(measure_ulp.BEGIN)[1].split(measure_ulp.END)[0]
    for line in table.splitlines():
        match = re.fullmatch(r"\| `(\w+)` \| (.*) \| .* \| (.*) \| .* \|", line)
        if not match:
            continue
        for float_type, cell in (("f32", match[2]), ("f64", match[3])):
            numbers = re.fullmatch(r"([\d.]+|inf)(?: \(near zeros ([\d.]+) eps\))?", cell)
            assert numbers, cell
            near = float(numbers[2]) if numbers[2] else None
            bounds[match[1], float_type] = float(numbers[1]), near
    return bounds


def test_document_lists_every_function_with_finite_errors() -> None:
    bounds = stated()
    assert set(bounds) == set(CASES)
    assert all(np.isfinite(worst) for worst, _ in bounds.values())
    # samplers take what their samples were defined with, not the best there is
    called = [worst for (name, _), (worst, _) in bounds.items() if not name.startswith("sampler_")]
    assert max(called) <= 8.0


@pytest.mark.parametrize(("name", "float_type"), CASES)
def test_sampled_error_is_within_the_stated_one(name: str, float_type: str) -> None:
    slow = name in measure_ulp.UNARY and measure_ulp.UNARY[name].exact is not None
    count = 1500 if slow and float_type == "f64" else 60_000
    result = measure_ulp.measure(name, float_type, count, measure_ulp.compiled, seed=7)
    worst, near = stated()[name, float_type]
    # the table holds the worst of a large sample, not a proven bound
    assert result.worst <= worst + 0.03, result
    if near is not None:
        assert result.absolute <= near + 0.03, result


@pytest.mark.parametrize(("name", "float_type"), CASES)
def test_numpy_evaluation_equals_compiled_code_bit_for_bit(name: str, float_type: str) -> None:
    count = 3000
    if name in measure_ulp.BINARY:
        arrays = measure_ulp.binary_samples(name, float_type, count, seed=3)
    else:
        arrays = (measure_ulp.unary_samples(name, float_type, count, seed=3),)
    by_numpy = elementary.evaluate(name, *arrays)
    by_machine = measure_ulp.compiled(name, *arrays)
    assert by_numpy.dtype == by_machine.dtype == arrays[0].dtype
    both_nan = np.isnan(by_numpy) & np.isnan(by_machine)
    integers = f"i{by_numpy.itemsize}"
    same = (by_numpy.view(integers) == by_machine.view(integers)) | both_nan
    at = int(np.argmin(same))
    assert same.all(), ([a[at] for a in arrays], by_numpy[at], by_machine[at])


@pytest.mark.parametrize(("name", "float_type"), CASES)
def test_compiled_loop_is_vectorised_and_calls_nothing(name: str, float_type: str) -> None:
    loop = compile_loop(name, float_type)
    assert loop.calls == []
    if (name, float_type) == ("fmod", "f64"):
        return  # long division: a loop
    assert re.search(r"%[yz]mm|\bv\d+\.", loop.assembly), "no vector registers"
