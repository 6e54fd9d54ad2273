"""Plans of products and of sorting: library kernels."""

from __future__ import annotations

from typing import Any

from ...runtime import prepare_kernels
from .builder import Builder, NoPlan, View, plans

_KERNEL = (
    "float32 float64 int8 int16 int32 int64 uint8 uint16 uint32 uint64 complex64 complex128".split()
)


@plans("dot_general")
def _dot_general(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    lhs, rhs = ins
    dtype = outs[0].dtype
    if lhs.dtype != dtype or rhs.dtype != dtype or dtype.name not in _KERNEL:
        raise NoPlan("operands of several dtypes")
    (lc, rc), (lb, rb) = params["dimension_numbers"]
    out = b.new(outs[0].shape, dtype)
    if 0 in lhs.shape or 0 in rhs.shape:
        b.fill(out, 0)
        return out
    lf = [d for d in range(lhs.ndim) if d not in (*lc, *lb)]
    rf = [d for d in range(rhs.ndim) if d not in (*rc, *rb)]
    prepare_kernels(["dot_general"])
    b.kernel("dot_general", [lhs, rhs, out], [len(lb), len(lc), *lb, *rb, *lc, *rc, *lf, *rf])
    return out


@plans("sort")
def _sort(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> list[View]:
    for v in ins:
        if v.dtype.kind not in "iuf" or (v.dtype.kind == "f" and v.dtype.itemsize < 4):
            raise NoPlan(f"elements of {v.dtype}")
    made = [b.new(a.shape, v.dtype) for a, v in zip(outs, ins, strict=True)]
    if made[0].size:
        b.kernel("sort", [*ins, *made], [params["dimension"], params["num_keys"]])
    return made


__all__: list[str] = []
