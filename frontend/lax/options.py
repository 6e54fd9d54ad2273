"""Enumerations and small records that lax functions take as options."""

from __future__ import annotations

import enum
from typing import Any

from ..core import config
from ..primitives.dot import DotAlgorithmPreset, Precision

__all__ = [
    "AccuracyMode",
    "DotAlgorithm",
    "DotAlgorithmPreset",
    "Precision",
    "RoundingMethod",
    "Tolerance",
    "check_accuracy",
    "check_precision",
]


class RoundingMethod(enum.IntEnum):
    """Where `round` takes numbers halfway between two whole ones."""

    AWAY_FROM_ZERO = 0
    TO_NEAREST_EVEN = 1


class AccuracyMode(enum.Enum):
    """How accurate an elementary function is to be; ours have one accuracy, the documented one."""

    HIGHEST = 1
    DEFAULT = 2


class Tolerance:
    """Error bounds asked of an elementary function."""

    def __init__(self, atol: float = 0.0, rtol: float = 0.0, ulps: int = 0):
        if atol < 0.0 or rtol < 0.0 or ulps < 0.0:
            raise ValueError(
                f"Tolerances must be nonnegative, got atol={atol}, rtol={rtol}, ulps={ulps}"
            )
        self.atol, self.rtol, self.ulps = atol, rtol, ulps

    def __eq__(self, other: Any) -> bool:
        return type(other) is Tolerance and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _key(self) -> tuple:
        return self.atol, self.rtol, self.ulps


class DotAlgorithm:
    """An algorithm of a contraction, by the dtypes of its parts."""

    def __init__(
        self,
        lhs_precision_type: Any,
        rhs_precision_type: Any,
        accumulation_type: Any,
        lhs_component_count: int = 1,
        rhs_component_count: int = 1,
        num_primitive_operations: int = 1,
        allow_imprecise_accumulation: bool = False,
    ):
        self.lhs_precision_type, self.rhs_precision_type = lhs_precision_type, rhs_precision_type
        self.accumulation_type = accumulation_type
        self.lhs_component_count, self.rhs_component_count = (
            lhs_component_count,
            rhs_component_count,
        )
        self.num_primitive_operations = num_primitive_operations
        self.allow_imprecise_accumulation = allow_imprecise_accumulation


def check_accuracy(accuracy: Any) -> Any:
    """Check the `accuracy` option of elementary functions."""
    if accuracy is None or isinstance(accuracy, (AccuracyMode, Tolerance)):
        return accuracy
    raise NotImplementedError(f"Accuracy {accuracy} not supported")


_precision_names = {
    "highest": Precision.HIGHEST,
    "float32": Precision.HIGHEST,
    "high": Precision.HIGH,
    "bfloat16_3x": Precision.HIGH,
    "tensorfloat32": Precision.HIGH,
    "default": Precision.DEFAULT,
    "bfloat16": Precision.DEFAULT,
    "fastest": Precision.DEFAULT,
    None: Precision.DEFAULT,
}


def check_precision(precision: Any) -> Any:
    """The canonical form of a contraction's `precision`: None, a pair of `Precision`, an algorithm.

    None stands for the option `jax_default_matmul_precision`. Raises ValueError for anything else.
    """
    if precision is None:
        precision = config.default_matmul_precision.value
    if precision is None or isinstance(precision, (DotAlgorithm, DotAlgorithmPreset)):
        return precision
    if isinstance(precision, Precision):
        return precision, precision
    if isinstance(precision, str):
        if precision.lower() in _precision_names:
            p = _precision_names[precision.lower()]
            return p, p
        if precision in DotAlgorithmPreset.__members__:
            return DotAlgorithmPreset[precision]
    if isinstance(precision, (tuple, list)) and len(precision) == 2:
        pair = tuple(
            p
            if isinstance(p, Precision)
            else _precision_names.get(p if p is None else str(p).lower())
            for p in precision
        )
        if None not in pair:
            return pair
    raise ValueError(
        "Precision argument must be one of:\n- None,\n"
        f"- a string in {list(_precision_names)},\n- a lax.Precision value,\n"
        "- a tuple of two lax.Precision values or strings,\n"
        "- a lax.DotAlgorithmPreset or the name of one of these presets, or\n"
        f"- a lax.DotAlgorithm value;\nbut got {precision}."
    )
