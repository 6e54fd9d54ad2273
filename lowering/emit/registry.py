"""Tables from primitive names to emission rules, filled by the modules of this package."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Sequence
from typing import Any

__all__ = [
    "emits",
    "elementwise",
    "EMITTERS",
    "ELEMENTWISE",
    "GATHERS",
    "KERNELS",
    "LOOPING",
    "READS",
    "PARTS",
    "UPDATES",
    "VIEWS",
    "Rule",
    "load_rules",
]

EMITTERS: dict[str, Callable[..., Any]] = {}
ELEMENTWISE: dict[str, Rule] = {}
LOOPING: set[str] = set()
GATHERS: set[str] = set()
KERNELS: set[str] = set()
UPDATES: set[str] = set()
VIEWS: set[str] = set()
PARTS: set[str] = set()
READS: dict[str, Sequence[str]] = {}


class Rule:
    """How an elementwise primitive computes one element.

    `by_kind` maps the kind of the operands (``f`` float, ``i`` signed, ``u`` unsigned, ``b`` bool,
    ``c`` complex) to an MLIR op name or to a function ``(b, t, *operands, **params) -> SSA name``,
    with `b` a ScalarBuilder and `t` the ElementType of the operands. Narrow floats are widened
    before and the result is rounded after. A `raw` rule is one function
    ``(b, in_types, out_type, operands, params)`` that sees register values as they are; it comes
    first for equations, and reductions look into `by_kind`.
    """

    __slots__ = ("by_kind", "raw")

    def __init__(self, by_kind=None, raw=None):
        self.by_kind = by_kind
        self.raw = raw


def emits(
    *names: str,
    loops: bool = False,
    fuses: bool = False,
    gathers: bool = False,
    updates: bool = False,
    views: bool = False,
    parts: bool = False,
    reads: Sequence[str] | None = None,
) -> Callable[[Callable], Callable]:
    """Registers ``fn(ctx, eqn, *operands: Value) -> Value | sequence of Value`` for primitives.

    `loops`: it writes a loop or a kernel of its own, whose operands and results are in memory; with
    `fuses`, elementwise operations join that loop. `gathers`: it reads its operands at other places than it writes, so that these are in
    memory. `updates`: its result is its first operand with a
    part of it changed, in place where nothing else reads that.
    `views`: its result is its operand in another form, which costs nothing to make again.
    `parts`: its result is a part of its operand, which is read where it is. `reads`
    are the parameters that what it writes depends on, where these are not all.
    """

    def register(fn: Callable) -> Callable:
        for name in names:
            _check_new(name)
            EMITTERS[name] = fn
            if loops:
                LOOPING.add(name)
                if not fuses:
                    KERNELS.add(name)
            if gathers:
                GATHERS.add(name)
            if updates:
                UPDATES.add(name)
            if views:
                VIEWS.add(name)
            if parts:
                PARTS.add(name)
            if reads is not None:
                READS[name] = reads
        return fn

    return register


def elementwise(name: str, *, raw=None, **by_kind) -> None:
    """Adds one row of the elementwise table. See `Rule`.

    Keys of `by_kind` may name several kinds at once: ``elementwise("and", iub="arith.andi")``.
    """
    _check_new(name)
    kinds = {kind: rule for kinds, rule in by_kind.items() for kind in kinds}
    ELEMENTWISE[name] = Rule(kinds, raw)


def _check_new(name: str) -> None:
    if name in EMITTERS or name in ELEMENTWISE:
        raise ValueError(f"primitive {name!r} already has an emission rule")


_loaded = False


def load_rules() -> None:
    """Imports every module of this package once, so that all rules are registered."""
    global _loaded
    if not _loaded:
        package = __name__.rpartition(".")[0]
        for found in pkgutil.iter_modules(importlib.import_module(package).__path__):
            importlib.import_module(f"{package}.{found.name}")
        _loaded = True
