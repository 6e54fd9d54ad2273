"""Keys of equations by what they compute: jaxprs traced at different times from the same code are
equal, so that a loop whose body is a fresh lambda in every call is compiled once.

The identity of variables and jaxprs does not count; literals do, bit by bit, and so do the places in
the source, which messages about the compiled program name.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .avals import AbstractValue
from .jaxpr import ClosedJaxpr, Jaxpr, Literal
from .primitive import Primitive


class Unkeyed(Exception):
    """A parameter has no key: an array, or an object that cannot be hashed."""


class StructureKey:
    """A nested tuple whose hash is computed once."""

    __slots__ = ("_hash", "parts")

    def __init__(self, parts: tuple):
        self.parts = parts
        self._hash = hash(parts)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: Any) -> bool:
        return self is other or (
            type(other) is StructureKey and self._hash == other._hash and self.parts == other.parts
        )


def equation_key(primitive: Primitive, params: dict) -> tuple:
    """Key of a primitive with its parameters. Raises Unkeyed."""
    if primitive.structure is not None:
        params = primitive.structure(params)
    return (primitive, *[(k, _param(v)) for k, v in sorted(params.items())])


def _param(v: Any) -> Any:
    t = type(v)
    if t is ClosedJaxpr:
        return _closed(v)
    if t is Jaxpr:
        return _jaxpr(v)
    if isinstance(v, (tuple, list)):
        return (t, *map(_param, v))
    if t is dict:
        return (t, *[(k, _param(x)) for k, x in v.items()])
    if t in (float, complex):
        # 0.0 and -0.0 are equal, and so are 1 and 1.0
        return (t, repr(v))
    try:
        hash(v)
    except TypeError:
        raise Unkeyed(f"{t} is not hashable") from None
    return (t, v)


def _closed(closed: ClosedJaxpr) -> StructureKey:
    """Key of a closed jaxpr, remembered with it; its constants count by identity."""
    key = closed.cache.get("structure")
    if key is None:
        if closed.consts:
            raise Unkeyed("the jaxpr holds arrays")
        key = closed.cache["structure"] = _jaxpr(closed.jaxpr)
    return key


def _jaxpr(jaxpr: Jaxpr) -> StructureKey:
    numbers: dict[Any, int] = {}
    for v in (*jaxpr.constvars, *jaxpr.invars):
        numbers[v] = len(numbers)

    def atom(a: Any) -> Any:
        return (a.aval, _literal(a.val)) if type(a) is Literal else numbers[a]

    eqns = []
    for e in jaxpr.eqns:
        ins = tuple(map(atom, e.invars))
        for v in e.outvars:
            numbers[v] = len(numbers)
        outs = tuple(v.aval for v in e.outvars)
        info = e.source_info
        place = None if info is None else (info.code, info.lasti, info.name_stack)
        eqns.append((equation_key(e.primitive, e.params), ins, outs, place))
    avals: tuple[AbstractValue, ...] = tuple(v.aval for v in (*jaxpr.constvars, *jaxpr.invars))
    outvars = tuple(map(atom, jaxpr.outvars))
    return StructureKey((len(jaxpr.constvars), avals, tuple(eqns), outvars))


def _literal(x: Any) -> Any:
    base = getattr(x, "_base_array", x)
    a = np.asarray(base)
    return a.dtype, a.tobytes()


__all__ = ["StructureKey", "Unkeyed", "equation_key"]
