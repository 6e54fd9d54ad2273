"""The identity with a name, which policies of `checkpoint` refer to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core.primitive import Primitive, Sample
from .declare import ANY, elementwise_abstract, evaluate_elements


def _jvp(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict
) -> Any:
    """The tangent has no name: names are for values that may be saved."""
    return primitive.bind(primals[0], **params), tangents[0]


def _batch(
    primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
) -> Any:
    return primitive.bind(args[0], **params), dims[0]


def _transpose(primitive: Primitive, ct: Any, args: Sequence[Any], params: dict) -> list[Any]:
    return [ct]


name_p: Primitive = Primitive(
    "name",
    abstract=elementwise_abstract("name", (ANY,)),
    reference=lambda x, *, name: x,
    evaluate=evaluate_elements,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    samples=lambda: [
        Sample(x, name="y", grad=dt != np.int32)
        for x, dt in [(((3, 4), np.float32), np.float32), (((), np.int32), np.int32)]
    ],
)

__all__ = ["name_p"]
