"""What an array is during emission: a tensor, or something cheaper that can become one."""

from __future__ import annotations

from collections.abc import Callable

from .types import ElementType, tensor_type

__all__ = ["Value", "TENSOR", "SCALAR", "SPLAT", "GROUP", "VIEW", "IOTA", "EMPTY", "ARGUMENT"]

TENSOR = 0  # `name` is an SSA tensor of storage type
SCALAR = 1  # rank 0; `name` is an SSA scalar of register type
SPLAT = 2  # rank > 0, every element is the SSA scalar `name` (register type)
GROUP = 3  # result `name` (register type) of the body of the still open `group`
VIEW = 4  # `base` (a Value) read through `dims`: base dimension -> own dimension, or None for 0
IOTA = 5  # element = index along own dimension `dims`
EMPTY = 6  # no elements
ARGUMENT = 7  # memref argument `name` that nothing has read yet


class Value:
    """One array of the program. Its kind may change as it is materialised; its contents never do.

    `uses` counts the readers still to be emitted, `outputs` how often it is a result of the
    function; `permuted` maps permutations to functions that make the value with its dimensions
    permuted as cheaply as the value itself; `scalar` caches the extracted element of a rank-0 tensor, and `literal` is the Python
    value of a rank-0 or splat constant, if it is one. `parts` are the axis and the tensors that the value
    is a concatenation of, for readers that can take them one by one. `again` makes the register of a
    group's result anew, in a group of its own, where that costs less than to store and load it.
    """

    __slots__ = (
        "again",
        "base",
        "dims",
        "group",
        "kind",
        "literal",
        "name",
        "outputs",
        "parts",
        "permuted",
        "scalar",
        "shape",
        "type",
        "uses",
        "writable",
    )  # fmt: skip

    def __init__(self, shape: tuple[int, ...], type: ElementType, kind: int, name: str = ""):
        self.shape = shape
        self.type = type
        self.kind = kind
        self.name = name
        self.uses = 0
        self.outputs = 0
        self.permuted: dict[tuple[int, ...], Callable[[], Value]] | None = None
        self.parts: tuple[int, list[Value]] | None = None
        self.group = None
        self.again: Callable[[], Value] | None = None
        self.base: Value | None = None
        self.dims: tuple[int | None, ...] | int | None = None
        self.scalar: str | None = None
        self.literal = None
        self.writable = False  # an argument whose buffer may be overwritten

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    @property
    def tensor_type(self) -> str:
        """Text of the tensor type the value has once materialised."""
        return tensor_type(self.shape, self.type.storage)

    def __repr__(self) -> str:
        kinds = ["TENSOR", "SCALAR", "SPLAT", "GROUP", "VIEW", "IOTA", "EMPTY", "ARGUMENT"]
        return f"Value({self.type.name}{list(self.shape)} {kinds[self.kind]} {self.name})"
