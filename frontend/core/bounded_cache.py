"""A mapping that forgets its oldest entries."""

from __future__ import annotations

from collections.abc import Hashable
from typing import Generic, TypeVar

V = TypeVar("V")


class BoundedCache(Generic[V]):
    """At most `limit` values by hashable keys; what was stored first goes first.

    Reading is a dict's `get`. Threads may use one cache at once: each operation is complete by
    itself, and of two values stored under one key the later one stays.

    Raises:
        ValueError: `limit` is not positive.
    """

    __slots__ = ("_items", "get", "limit")

    def __init__(self, limit: int) -> None:
        if limit < 1:
            raise ValueError(f"limit must be positive, got {limit}")
        self.limit = limit
        self._items: dict[Hashable, V] = {}
        self.get = self._items.get

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._items

    def put(self, key: Hashable, value: V) -> V:
        """Store `value` and return it. Raises TypeError for an unhashable key."""
        items = self._items
        items[key] = value
        while len(items) > self.limit:
            try:
                items.pop(next(iter(items)), None)
            except (RuntimeError, StopIteration):  # another thread was at it
                continue
        return value

    def keys(self) -> list[Hashable]:
        """The keys, the one stored last at the end."""
        return list(self._items)

    def clear(self) -> None:
        """Forget everything."""
        self._items.clear()

    def __repr__(self) -> str:
        return f"BoundedCache({len(self)} of {self.limit})"


__all__ = ["BoundedCache"]
