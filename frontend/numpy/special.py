"""Elementwise functions with derivative rules of their own."""

from __future__ import annotations

from typing import Any

from .. import lax
from ..core import dtypes
from ..transforms.custom_rules import custom_jvp
from .util import broadcast_shapes, broadcast_to, promote_args_inexact, shape_of


def _like(x1: Any, x2: Any) -> tuple[Any, Any]:
    shape = broadcast_shapes(shape_of(x1), shape_of(x2))
    return broadcast_to(x1, shape), broadcast_to(x2, shape)


def logaddexp(x1: Any, x2: Any, /) -> Any:
    """log(exp(x1) + exp(x2)), without overflow."""
    return _logaddexp(*promote_args_inexact("logaddexp", x1, x2))


@custom_jvp
def _logaddexp(x1: Any, x2: Any) -> Any:
    if dtypes.is_complex(x1.dtype):
        raise NotImplementedError("logaddexp of complex numbers")
    top, delta = lax.max(x1, x2), lax.sub(x1, x2)
    # infinities of one sign have no difference; their sum is right
    same = lax.ne(delta, delta)
    return lax.select(same, lax.add(x1, x2), lax.add(top, lax.log1p(lax.exp(lax.neg(lax.abs(delta))))))


@_logaddexp.defjvp
def _logaddexp_jvp(primals: Any, tangents: Any) -> Any:
    x1, x2 = primals
    t1, t2 = tangents
    x1, x2 = _like(x1, x2)
    t1, t2 = _like(t1, t2)
    out = _logaddexp(x1, x2)
    w1, w2 = lax.exp(_safe_sub(x1, out)), lax.exp(_safe_sub(x2, out))
    return out, lax.add(lax.mul(t1, w1), lax.mul(t2, w2))


def _safe_sub(x: Any, y: Any) -> Any:
    """x - y, with 0 for equal infinities."""
    return lax.select(lax.eq(x, y), lax.full_like(x, 0), lax.sub(x, y))


_logaddexp.__name__ = "logaddexp"

__all__ = ["logaddexp"]
