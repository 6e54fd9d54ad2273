"""Plans: programs as lists of calls of C functions, for what is too small to be compiled.

The rules, one for each primitive or kind of primitive, are in the files of this folder by family,
as those of emission are in `lowering/emit`; a primitive without a rule runs its NumPy reference as
one step of the plan. A value must not depend on whether a function runs by primitives or as one
plan, not in its last bit: a rule gives the bits of the reference, or is listed below as one that
does not, and then serves the primitive alone from its first call on.

The files are imported when the first plan is made.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
from collections.abc import Sequence
from typing import Any

from ..core import eager
from ..core.jaxpr import ClosedJaxpr
from ..core.primitive import Primitive
from ..transforms import eager_functions


@functools.cache
def _builder() -> Any:
    for info in pkgutil.iter_modules(__path__):
        importlib.import_module(f".{info.name}", __name__)
    return importlib.import_module(".builder", __name__)


def plan_of(closed: ClosedJaxpr) -> Any:
    """The plan of a closed jaxpr, or None where there can be none."""
    return _builder().plan_of(closed)


def plan_of_primitive(primitive: Primitive, avals: Sequence[Any], out: Any, params: dict) -> Any:
    """The plan of one primitive, or None where its reference does as well."""
    return _builder().plan_of_primitive(primitive, avals, out, params)


eager.plan_of_primitive = plan_of_primitive
eager.inexact_plans = frozenset(("dot_general", "reduce_sum", "reduce_prod"))
eager.inexact_complex_plans = frozenset(("mul", "square", "integer_pow"))
eager_functions.plan_of = plan_of

__all__ = ["plan_of", "plan_of_primitive"]
