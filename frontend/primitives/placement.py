"""Where values are: moving them to devices, and what programs say about their shardings."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

from ...runtime import ArrayImpl
from ..core import eager, placement
from ..core.avals import ShapedArray
from ..core.devices import Sharding
from ..core.mesh import NamedSharding, PartitionSpec
from ..core.primitive import Primitive
from ..core.rules import Zero, instantiate, linear_jvp, unary_transpose


class ArrayCopySemantics(enum.IntEnum):
    """What `device_put` may do with its argument's memory."""

    REUSE_INPUT = 0
    ALWAYS_COPY = 1
    DONATE_INPUT = 2

    def __repr__(self) -> str:
        return f"ArrayCopySemantics.{self.name}"


def _moved(x: Any, where: Any, semantics: ArrayCopySemantics) -> Any:
    base = getattr(x, "_base_array", None)
    if base is not None:
        return x.dtype.wrap(_moved(base, where, semantics))
    if type(x) is not ArrayImpl:
        x = eager.as_array(x)
        if type(x) is not ArrayImpl:
            return x
    if semantics == ArrayCopySemantics.ALWAYS_COPY:
        copied = ArrayImpl.from_numpy(x._numpy(), x.weak_type, copy=True)
        where = placement.sharding_of_array(x) if where is None and x._committed else where
        return copied if where is None else placement.place(copied, where)
    return x if where is None else placement.place(x, where)


def _evaluate(primitive: Primitive, args: Sequence[Any], params: dict) -> list[Any]:
    return [
        _moved(x, d, s)
        for x, d, s in zip(args, params["devices"], params["copy_semantics"], strict=True)
    ]


def _transpose(
    primitive: Primitive, cts: Sequence[Any], args: Sequence[Any], params: dict
) -> list[Any]:
    out = list(cts)
    some = [i for i, c in enumerate(cts) if type(c) is not Zero]
    if some:
        moved = device_put_p.bind(
            *[cts[i] for i in some],
            devices=tuple(params["srcs"][i] for i in some),
            srcs=tuple(params["devices"][i] for i in some),
            copy_semantics=(ArrayCopySemantics.ALWAYS_COPY,) * len(some),
        )
        for i, m in zip(some, moved, strict=True):
            out[i] = m
    return out


def _jvp(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict
) -> Any:
    return linear_jvp(primitive, primals, list(map(instantiate, tangents)), params)


def _batch(
    primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
) -> Any:
    return primitive.bind(*args, **params), list(dims)


device_put_p = Primitive(
    "device_put",
    multiple_results=True,
    abstract=lambda *avals, **_: list(avals),
    reference=lambda *xs, **_: list(xs),
    evaluate=_evaluate,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
)


def constrained(sharding: Sharding, unconstrained: frozenset[int]) -> Sharding:
    """The sharding to be reached; dimensions that are free are left whole."""
    if not isinstance(sharding, NamedSharding):
        return sharding
    entries = [None if p is PartitionSpec.UNCONSTRAINED else p for p in sharding.spec]
    return sharding.update(spec=PartitionSpec(*entries))


def _constraint_abstract(x: ShapedArray, *, sharding: Sharding, **_: Any) -> ShapedArray:
    constrained(sharding, frozenset()).shard_shape(x.shape)
    return x


def _constraint_evaluate(primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
    (x,) = args
    _constraint_abstract(eager.get_aval(x), **params)
    where = constrained(params["sharding"], params["unconstrained_dims"])
    return _moved(x, where, ArrayCopySemantics.REUSE_INPUT)


def _constraint_batch(
    primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
) -> Any:
    ((x,), (d,)) = args, dims
    s = params["sharding"]
    if isinstance(s, NamedSharding):
        entries = [*s.spec, *[None] * (np.ndim(x) - 1 - len(s.spec))]
        entries.insert(d, PartitionSpec.UNCONSTRAINED)
        s = s.update(spec=PartitionSpec(*entries))
    free = frozenset({i + (i >= d) for i in params["unconstrained_dims"]} | {d})
    return primitive.bind(x, **{**params, "sharding": s, "unconstrained_dims": free}), d


sharding_constraint_p: Primitive = Primitive(
    "sharding_constraint",
    abstract=_constraint_abstract,
    reference=lambda x, **_: x,
    evaluate=_constraint_evaluate,
    jvp=linear_jvp,
    transpose=unary_transpose(lambda ct, aval, **params: sharding_constraint_p.bind(ct, **params)),
    batch=_constraint_batch,
)


def _spec(where: Any) -> Any:
    return constrained(where, frozenset()).spec if isinstance(where, NamedSharding) else None


def _named_mesh(*shardings: Any) -> Any:
    for s in shardings:
        if isinstance(s, NamedSharding):
            return s.mesh
    return None


sharding_constraint_p.mesh_of = lambda params: _named_mesh(params["sharding"])
sharding_constraint_p.wants = lambda params: [_spec(params["sharding"])]
device_put_p.wants = lambda params: [_spec(d) for d in params["devices"]]
device_put_p.mesh_of = lambda params: _named_mesh(*params["devices"])

__all__ = ["ArrayCopySemantics", "constrained", "device_put_p", "sharding_constraint_p"]
