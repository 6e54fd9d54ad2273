"""Jaxprs by structure: a body that is traced anew, from a function made anew, is found again.

Two jaxprs of one structure are the same program from the same source lines, and share what has been
derived from one of them: compiled code above all.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

import numpy as np

from . import dtypes
from .bounded_cache import BoundedCache
from .config import trace_key
from .jaxpr import ClosedJaxpr, Jaxpr, Literal
from .trace import state


class _NoFingerprint(Exception):
    """Something in a jaxpr cannot be compared."""


def fingerprint(closed: ClosedJaxpr) -> Hashable | None:
    """A key that is equal for jaxprs of one structure; None where there is none.

    A jaxpr that holds arrays, or parameters that cannot be hashed, has no key.
    """
    if closed.consts:
        return None
    try:
        key = _jaxpr(closed.jaxpr)
        hash(key)
    except (_NoFingerprint, TypeError):
        return None
    return key


def _jaxpr(jaxpr: Jaxpr) -> tuple:
    number: dict[Any, int] = {}

    def atom(a: Any) -> Any:
        return _literal(a) if isinstance(a, Literal) else number[a]

    def bind(v: Any) -> Any:
        number[v] = len(number)
        return v.aval

    inputs = tuple([bind(v) for v in (*jaxpr.constvars, *jaxpr.invars)])
    eqns = []
    for e in jaxpr.eqns:
        ins = tuple([atom(a) for a in e.invars])
        params = tuple([(k, _value(v)) for k, v in e.params.items()])
        where = e.source_info
        place = None if where is None else (where.code, where.lasti, where.name_stack)
        eqns.append((e.primitive.name, ins, params, tuple(map(bind, e.outvars)), place))
    return (len(jaxpr.constvars), inputs, tuple(eqns), tuple([atom(a) for a in jaxpr.outvars]))


def _literal(a: Literal) -> tuple:
    dt: Any = getattr(a.aval, "dtype", None)
    if dt is None or dtypes.is_extended(dt) or dt == dtypes.float0:
        raise _NoFingerprint
    return (type(a.val), a.aval, np.asarray(a.val).astype(dt).tobytes())


def _value(v: Any) -> Hashable:
    if isinstance(v, ClosedJaxpr):
        if v.consts:
            raise _NoFingerprint
        return ("closed", _jaxpr(v.jaxpr))
    if isinstance(v, Jaxpr):
        return ("jaxpr", _jaxpr(v))
    if isinstance(v, (tuple, list)):
        return (type(v), tuple([_value(x) for x in v]))
    if isinstance(v, (float, complex, np.generic)):
        return (type(v), repr(v))  # 0.0 is not -0.0, and NaN is NaN
    return (type(v), v)


_known: BoundedCache[ClosedJaxpr] = BoundedCache(512)


def canonical(closed: ClosedJaxpr) -> ClosedJaxpr:
    """The first jaxpr seen of the structure of `closed`, or `closed` itself."""
    key = fingerprint(closed)
    if key is None:
        return closed
    key = (key, state.axis_env, trace_key())
    known = _known.get(key)
    return _known.put(key, closed) if known is None else known


def forget() -> None:
    """Forget all jaxprs."""
    _known.clear()
