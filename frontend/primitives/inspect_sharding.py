"""inspect_sharding: tells a Python function how a value is laid out, when that is known.

That is at once for arrays, and while the program around is compiled otherwise: on several devices
when it is partitioned, on one when it is lowered.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...runtime import default_device_id
from ..core.devices import sharding_of
from ..core.effects import debug_effect
from ..core.mesh import NamedSharding
from ..core.primitive import Primitive, absent
from .partition import Cuts, Part, spec_of


def _evaluate(primitive: Primitive, args: Sequence[Any], params: dict) -> list[Any]:
    (x,) = args
    params["callback"](x.sharding)
    return []


def _jvp(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict
) -> Any:
    return primitive.bind(*primals, **params), []


def _batch(
    primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
) -> Any:
    """The batch's sharding is shown."""
    primitive.bind(*args, **params)
    return [], []


def _partition(part: Part, p: Any, args: list[Any], cuts: list[Cuts], params: dict) -> Any:
    params["callback"](NamedSharding(part.mesh, spec_of(cuts[0])))
    return [], []


def _host(params: dict, where: str) -> Callable[[], None]:
    return lambda: params["callback"](sharding_of(default_device_id()))


#: Calls `callback(sharding)`.
inspect_sharding_p = Primitive(
    "inspect_sharding",
    multiple_results=True,
    abstract=lambda *avals, **_: [],
    reference=absent("there is no sharding where there are no devices"),
    evaluate=_evaluate,
    jvp=_jvp,
    transpose=absent("has no results, so nothing is ever transposed to it"),
    batch=_batch,
    effects=lambda **_: frozenset({debug_effect}),
    host=_host,
)
inspect_sharding_p.partition = _partition

__all__ = ["inspect_sharding_p"]
