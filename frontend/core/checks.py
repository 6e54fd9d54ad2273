"""Run-time errors as values: what can fail where, and the state that says what did.

An `Error` is a pytree of arrays: whether something failed, the number of the failed check, and the
arrays that its message shows. The checks themselves (`Site`) are static, part of the structure.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import pytree, source_info
from .avals import ShapedArray, get_aval
from .effects import Effect


class JaxException(Exception):
    """Base of the errors that a checked program can report."""


class FailedCheckError(JaxException):
    """A `check` did not hold."""


class NaNError(JaxException):
    """A floating-point operation gave a NaN."""


class DivisionByZeroError(JaxException):
    """Something was divided by zero."""


class OOBError(JaxException):
    """An index was out of bounds."""


class BatchedError(JaxException):
    """Errors of several elements of a mapped axis."""


class JaxRuntimeError(ValueError):
    """What `Error.throw` raises."""


user_checks = frozenset({FailedCheckError})
nan_checks = frozenset({NaNError})
index_checks = frozenset({OOBError})
div_checks = frozenset({DivisionByZeroError})
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = automatic_checks | user_checks

#: Shapes and dtypes of the arrays that a message shows.
Key = tuple[tuple[tuple[int, ...], str], ...]

_numbers = itertools.count()
_sites: weakref.WeakValueDictionary[Any, Site] = weakref.WeakValueDictionary()
_sites_lock = threading.Lock()


class Site:
    """A place in the user's program where something is checked.

    `text` is a format string for arrays of the types `key`, in the structure `tree` of
    `(args, kwargs)`.
    """

    __slots__ = ("__weakref__", "code", "key", "kind", "suffix", "text", "tree", "where")

    def __init__(self, kind: type, where: Any, text: str, key: Key, tree: Any, suffix: str):
        self.kind, self.where, self.text, self.tree = kind, where, text, tree
        self.key, self.suffix = key, suffix
        self.code = next(_numbers) & 0x7FFFFFFF

    def exception(self, leaves: Sequence[Any]) -> JaxException:
        """The exception with its message, for concrete arrays."""
        args, kwargs = pytree.tree_unflatten(self.tree, leaves)
        return self.kind(self.text.format(*args, **kwargs) + self.suffix)

    def __repr__(self) -> str:
        return f"Site({self.kind.__name__}, {self.text!r}, {self.where})"


_no_arrays = pytree.tree_flatten(((), {}))[1]


def site_of(
    kind: type, text: str, leaves: Sequence[Any] = (), tree: Any = _no_arrays, suffix: str = ""
) -> Site:
    """The site of a check at the user's line that is running; one object for equal ones."""
    where = source_info.current()
    key = tuple([(a.shape, str(a.dtype)) for a in map(get_aval, leaves)])
    known = (kind, where.code, where.lasti, text, key, tree, suffix)
    with _sites_lock:
        site = _sites.get(known)
        if site is None:
            site = _sites[known] = Site(kind, where, text, key, tree, suffix)
    return site


def literal_text(text: str) -> str:
    """Text as a format string that gives it."""
    return text.replace("{", "{{").replace("}", "}}")


class Structure:
    """The static part of an Error: whether anything can have failed, the sites, the payloads."""

    __slots__ = ("keys", "sites")

    def __init__(self, keys: Sequence[Key] = (), sites: dict[int, Site] | None = None):
        self.keys = tuple(keys)
        self.sites = sites or {}

    @property
    def shape(self) -> tuple[bool, tuple[Key, ...]]:
        """What decides which arrays there are."""
        return bool(self.sites), self.keys

    def avals(self) -> list[Any]:
        """The types of the arrays."""
        if not self.sites:
            return []
        first = [ShapedArray((), np.bool_), ShapedArray((), np.int32)]
        return [*first, *[ShapedArray(s, d) for k in self.keys for s, d in k]]

    def build(self, leaves: Sequence[Any]) -> Error:
        """The error that consists of these arrays."""
        if not self.sites:
            return Error()
        it = iter(leaves[2:])
        payload = {k: [next(it) for _ in k] for k in self.keys}
        return Error(leaves[0], leaves[1], payload, self.sites)

    def union(self, *others: Structure) -> Structure:
        """The structure of errors of either kind."""
        keys = dict.fromkeys(self.keys)
        sites = dict(self.sites)
        for o in others:
            keys.update(dict.fromkeys(o.keys))
            sites.update(o.sites)
        return Structure(sorted(keys), sites)

    def __eq__(self, other: Any) -> bool:
        return type(other) is Structure and (self.keys, self.sites) == (other.keys, other.sites)

    def __hash__(self) -> int:
        return hash((self.keys, frozenset(self.sites)))

    def __repr__(self) -> str:
        return f"Structure({len(self.sites)} checks)"


class Error:
    """Whether a check failed, and which: `get()` the message or None, `throw()` raises it.

    A pytree, so that jitted and mapped functions can return it; over mapped axes it holds what
    failed for each element.
    """

    __slots__ = ("_code", "_payload", "_pred", "_sites")

    def __init__(
        self,
        pred: Any = None,
        code: Any = None,
        payload: dict[Key, list[Any]] | None = None,
        sites: dict[int, Site] | None = None,
    ):
        self._pred, self._code = pred, code
        self._payload: dict[Key, list[Any]] = payload or {}
        self._sites: dict[int, Site] = sites or {}

    @property
    def structure(self) -> Structure:
        return Structure(sorted(self._payload), self._sites)

    @property
    def leaves(self) -> list[Any]:
        """The arrays in the order of the structure."""
        if not self._sites:
            return []
        return [self._pred, self._code, *[x for k in sorted(self._payload) for x in self._payload[k]]]  # fmt: skip

    def _at(self, index: tuple[int, ...]) -> JaxException | None:
        if not np.asarray(self._pred)[index]:
            return None
        site = self._sites[int(np.asarray(self._code)[index])]
        return site.exception([np.asarray(x)[index] for x in self._payload[site.key]])

    def get_exception(self) -> JaxException | None:
        """The exception of the first check that failed, or None."""
        if self._pred is None:
            return None
        shape = np.shape(self._pred)
        if not shape:
            return self._at(())
        found = [(i, self._at(i)) for i in np.ndindex(*shape)]
        lines = [
            f"at mapped index {', '.join(map(str, i))}: {e}" for i, e in found if e is not None
        ]
        return BatchedError("\n".join(lines)) if lines else None

    def get(self) -> str | None:
        """The message of the first check that failed, or None."""
        e = self.get_exception()
        return None if e is None else str(e)

    def throw(self) -> None:
        """Raise JaxRuntimeError (a ValueError) if a check failed; it says where."""
        e = self.get_exception()
        if e is not None:
            raise JaxRuntimeError(f"{e}{self._places()}") from e

    def _places(self) -> str:
        pred, code = np.asarray(self._pred), np.asarray(self._code)
        places = {self._sites[int(c)].where.summary(): None for c in code[pred]}
        text = ", ".join(p for p in places if p)
        return f"\nThe check is at {text}." if text else ""

    def __str__(self) -> str:
        return f"Error({self.get()})"

    def __repr__(self) -> str:
        return f"Error({self._pred!r}, {self._code!r}, {list(self._sites.values())!r})"


pytree.register_pytree_node(
    Error, lambda e: (tuple(e.leaves), e.structure), lambda structure, xs: structure.build(xs)
)

init_error = Error()


class ErrorEffect(Effect):
    """An equation may find that a check fails."""

    __slots__ = ("error_type",)

    def __init__(self, error_type: type):
        self.error_type = error_type

    def __eq__(self, other: Any) -> bool:
        return type(other) is ErrorEffect and other.error_type is self.error_type

    def __hash__(self) -> int:
        return hash(self.error_type)

    def __str__(self) -> str:
        return f"ErrorEffect(error_type={self.error_type})"
