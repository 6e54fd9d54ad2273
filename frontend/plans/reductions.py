"""Plans of reductions, cumulative operations and positions of extrema."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...runtime import has_ufunc_loop
from .builder import Builder, NoPlan, View, plans
from .structure import _permuted


def _reduce(ufunc: np.ufunc, start: Any) -> Any:
    def rule(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
        """A loop over the axes in order, the innermost last, that accumulates in the result."""
        (x,), dtype = ins, outs[0].dtype
        if dtype.kind not in "biufc" or (dtype.kind == "f" and dtype.itemsize < 4):
            raise NoPlan(f"elements of {dtype}")
        if not has_ufunc_loop(ufunc, [dtype] * 3):
            raise NoPlan(f"{ufunc} of {dtype}")
        x = b.dense(x)
        out = b.new(outs[0].shape, dtype)
        b.fill(out, start(dtype))
        if 0 in x.shape:
            return out
        axes = params["axes"]
        kept = [i for i in range(x.ndim) if i not in axes]
        order = [*kept, *sorted(axes)]
        source = _permuted(x, order)
        strides = (*out.strides, *[0] * len(axes))
        target = View(out.buffer, dtype, source.shape, strides, out.offset)
        b.loop(ufunc, [target, source, target], [dtype] * 3)
        return out

    return rule


def _limit(which: int) -> Any:
    def start(dtype: Any) -> Any:
        if dtype.kind == "b":
            return bool(which)
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            return info.max if which else info.min
        if dtype.kind == "c":
            raise NoPlan("extrema of complex numbers")
        return np.inf if which else -np.inf

    return start


plans("reduce_sum")(_reduce(np.add, lambda d: 0))
plans("reduce_prod")(_reduce(np.multiply, lambda d: 1))
plans("reduce_max")(_reduce(np.maximum, _limit(0)))
plans("reduce_min")(_reduce(np.minimum, _limit(1)))
plans("reduce_and")(_reduce(np.bitwise_and, lambda d: True if d.kind == "b" else ~d.type(0)))
plans("reduce_or")(_reduce(np.bitwise_or, lambda d: d.type(0)))
plans("reduce_xor")(_reduce(np.bitwise_xor, lambda d: d.type(0)))


def _arg(name: str) -> None:
    @plans(name)
    def rule(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
        (x,), (axis,) = ins, params["axes"]
        dtype = outs[0].dtype
        known = ("float32", "float64", "int32", "int64", "uint32", "uint8", "bool")
        if x.dtype.name not in known or dtype.name not in ("int32", "int64"):
            raise NoPlan(f"elements of {x.dtype}")
        x = b.dense(x)
        out = b.new(outs[0].shape, dtype)
        if out.size:
            outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
            b.move(
                f"{name}_{x.dtype.name}", [x, out], [outer, x.shape[axis], inner, dtype.itemsize]
            )
        return out


_arg("argmax")
_arg("argmin")


#: What runtime/plan_moves.cpp has a function for.
_RUNNING = {
    *[("add", d) for d in ("float32", "float64", "int32", "int64")],
    *[("multiply", d) for d in ("float32", "float64", "int32")],
}


def _cumulative(name: str, ufunc: np.ufunc) -> None:
    @plans(name)
    def rule(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
        (x,), axis, dtype = ins, params["axis"], outs[0].dtype
        if dtype.kind not in "iuf" or (dtype.kind == "f" and dtype.itemsize < 4):
            raise NoPlan(f"elements of {dtype}")
        x = b.dense(x)
        n = x.shape[axis] if x.shape else 0
        out = b.new(x.shape, dtype)
        if out.size == 0:
            return out
        if (ufunc.__name__, dtype.name) in _RUNNING:
            outer, inner = math.prod(x.shape[:axis]), math.prod(x.shape[axis + 1 :])
            name = f"running_{ufunc.__name__}_{dtype.name}"
            b.move(name, [x, out], [outer, n, inner, params["reverse"]])
            return out
        order = [*[i for i in range(x.ndim) if i != axis], axis]
        step = -1 if params["reverse"] else 1

        def line(v: View, start: int, count: int) -> View:
            v = _permuted(v, order)
            at = n - 1 - start if step < 0 else start
            shape = (*v.shape[:-1], count)
            strides = (*v.strides[:-1], v.strides[-1] * step)
            return View(v.buffer, dtype, shape, strides, v.offset + at * v.strides[-1])

        b.copy(line(x, 0, 1), line(out, 0, 1))
        if n > 1:
            b.loop(
                ufunc,
                [line(out, 0, n - 1), line(x, 1, n - 1), line(out, 1, n - 1)],
                [dtype] * 3,
            )
        return out


_cumulative("cumsum", np.add)
_cumulative("cumprod", np.multiply)
_cumulative("cummax", np.maximum)
_cumulative("cummin", np.minimum)

__all__: list[str] = []
