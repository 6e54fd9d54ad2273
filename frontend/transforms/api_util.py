"""What the transformations' user-facing functions share: flattening, names, static arguments."""

from __future__ import annotations

import functools
import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..core import pytree
from ..core.avals import get_aval
from ..core.staging import DebugInfo
from ..core.tracebacks import boundary


class NotGiven:
    """Stands for an argument that is not given."""

    def __repr__(self) -> str:
        return "UnspecifiedValue"


UNSPECIFIED: Any = NotGiven()


def check_callable(f: Any) -> None:
    """Raises TypeError unless `f` is callable (and is no generator function)."""
    if not callable(f):
        raise TypeError(f"Expected a callable value, got {f}")
    if inspect.isgeneratorfunction(f):
        raise TypeError(f"Expected a function, got a generator function: {f}")


def wraps(fun: Any) -> Callable[[Any], Any]:
    """Like `functools.wraps` for a transformed function, without copying `fun`'s attributes.

    A transformed function is not what its argument was: what is attached to the argument, such as
    the stage methods of a jitted function, does not hold for it.
    """

    def decorate(f: Any) -> Any:
        g = boundary(f)
        functools.update_wrapper(g, fun, updated=())
        return g

    return decorate


def fun_name(f: Any) -> str:
    """Name of a function for messages and jaxprs."""
    while isinstance(f, functools.partial):
        f = f.func
    return getattr(f, "__name__", None) or type(f).__name__


def fun_where(f: Any) -> str:
    """`file:line` of a function's definition, or the empty string."""
    f = inspect.unwrap(f) if callable(f) else f
    while isinstance(f, functools.partial):
        f = f.func
    code = getattr(f, "__code__", None)
    return f"{code.co_filename}:{code.co_firstlineno}" if code is not None else ""


def signature_of(f: Any) -> inspect.Signature | None:
    """The signature of `f`, or None where Python cannot tell."""
    try:
        return inspect.signature(f)
    except (ValueError, TypeError):
        return None


def argument_names(f: Any, args_tree: Any) -> list[str]:
    """For each leaf of `(args, kwargs)`, how the user would write it: `x`, `params['w'][0]`."""
    sig = signature_of(f)
    names: list[str] = []
    variadic: str | None = None
    if sig is not None:
        for p in sig.parameters.values():
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
                names.append(p.name)
            elif p.kind is p.VAR_POSITIONAL:
                variadic = p.name
    dummy = pytree.tree_unflatten(args_tree, [object()] * args_tree.num_leaves)
    out = []
    for path, _ in pytree.tree_flatten_with_path(dummy)[0]:
        which, key, rest = path[0], path[1], path[2:]
        if which.idx == 0:
            i = key.idx
            if i < len(names):
                root = names[i]
            else:
                root = f"{variadic or 'args'}[{i - len(names) if variadic else i}]"
        else:
            root = key.key
        out.append(f"{root}{pytree.keystr(rest)}")
    return out


def debug_info(traced_for: str, f: Any, args_tree: Any = None) -> DebugInfo:
    """Debug info of a function; argument names are found only if a message needs them."""
    return _LazyDebugInfo(traced_for, f, args_tree)


class _LazyDebugInfo(DebugInfo):
    __slots__ = ("_f", "_names", "_tree")

    def __init__(self, traced_for: str, f: Any, args_tree: Any):
        self._f, self._tree = f, args_tree
        self._names: list[str] | None = None
        self.traced_for = traced_for
        self.result_paths = None

    @property
    def function(self) -> str:  # type: ignore[override]
        return fun_name(self._f)

    @property
    def where(self) -> str:  # type: ignore[override]
        return fun_where(self._f)

    @property
    def arg_names(self) -> Sequence[str] | None:  # type: ignore[override]
        if self._names is None and self._tree is not None:
            self._names = argument_names(self._f, self._tree)
        return self._names


class FlatFun:
    """A function of leaves to leaves, made from `f` and the tree of its `(args, kwargs)`.

    `out_tree` is known after a call. With `has_aux`, `f` returns `(out, aux)`: the leaves of
    both are returned, and `out_tree` and `aux_tree` tell them apart.
    """

    __slots__ = ("aux_tree", "f", "has_aux", "in_tree", "out_tree", "who")

    def __init__(self, f: Callable[..., Any], in_tree: Any, has_aux: bool = False, who: str = ""):
        self.f, self.in_tree, self.has_aux, self.who = f, in_tree, has_aux, who
        self.out_tree: Any = None
        self.aux_tree: Any = None

    def __call__(self, *leaves: Any) -> list[Any]:
        args, kwargs = pytree.tree_unflatten(self.in_tree, leaves)
        out = self.f(*args, **kwargs)
        if not self.has_aux:
            flat, self.out_tree = pytree.tree_flatten(out)
            return flat
        if not isinstance(out, (tuple, list)) or len(out) != 2:
            length = f" of length {len(out)}" if isinstance(out, (tuple, list)) else ""
            raise TypeError(
                "expected function with aux output to return a two-element tuple, but "
                f"{fun_name(self.f)} returned a value of type {type(out)}{length}"
            )
        flat, self.out_tree = pytree.tree_flatten(out[0])
        aux, self.aux_tree = pytree.tree_flatten(out[1])
        return [*flat, *aux]


def check_results(f: Any, traced_for: str, outs: Iterable[Any], out_tree: Any = None) -> None:
    """Raises TypeError where a function returned something that is no array."""
    outs = list(outs)
    for i, o in enumerate(outs):
        try:
            get_aval(o)
        except TypeError:
            path = ""
            if out_tree is not None and out_tree.num_leaves == len(outs):
                tree = pytree.tree_unflatten(out_tree, range(len(outs)))
                path = pytree.keystr(pytree.tree_flatten_with_path(tree)[0][i][0])
            where = fun_where(f)
            at = f" at output component {path}" if path else ""
            raise TypeError(
                f"function {fun_name(f)}{' at ' + where if where else ''} traced for {traced_for} "
                f"returned a value of type {type(o)}{at}, which is not a valid JAX type"
            ) from None


def check_arguments(
    f: Any, leaves: Sequence[Any], in_tree: Any, purpose: str = "a jit-wrapped function"
) -> list[Any]:
    """The avals of flat arguments. Raises TypeError naming the path of one that is no array."""
    avals = []
    for i, x in enumerate(leaves):
        try:
            avals.append(get_aval(x))
        except OverflowError:
            raise
        except TypeError as e:
            if "is not a valid JAX type" not in str(e) and "not a valid array dtype" not in str(e):
                raise
            names = argument_names(f, in_tree)
            raise TypeError(
                f"Error interpreting argument to {f} as an abstract array. The problematic value "
                f"is of type {type(x)} and was passed to the function at path {names[i]}.\n"
                f"This typically means that {purpose} was called with a non-array argument, "
                "and this argument was not marked as static using the static_argnums or "
                "static_argnames parameters of jax.jit."
            ) from None
    return avals


def as_index_tuple(x: Any, what: str) -> tuple[int, ...]:
    """An int or a sequence of ints, as a tuple. Raises TypeError otherwise."""
    if x is None:
        return ()
    try:
        return (operator.index(x),)
    except TypeError:
        pass
    try:
        return tuple(operator.index(i) for i in x)
    except TypeError:
        raise TypeError(f"{what} must be an int or a sequence of ints, got {x!r}") from None


def as_name_tuple(x: Any, what: str) -> tuple[str, ...]:
    """A string or an iterable of strings, as a tuple. Raises TypeError otherwise."""
    if x is None:
        return ()
    if isinstance(x, str):
        return (x,)
    names = tuple(x)
    for n in names:
        if not isinstance(n, str):
            raise TypeError(f"{what} must be a string or an iterable of strings, got {n!r}")
    return names


def resolve_argnums(
    f: Any, argnums: Any, argnames: Any, kind: str
) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Complete `{kind}_argnums` and `{kind}_argnames` by each other through f's signature.

    Raises ValueError for positions or names that the function does not have.
    """
    nums = as_index_tuple(argnums, f"{kind}_argnums")
    names = as_name_tuple(argnames, f"{kind}_argnames")
    if not nums and not names:
        return nums, names
    sig = signature_of(f)
    if sig is None:
        return nums, names
    params = list(sig.parameters.values())
    positional = [p for p in params if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in params)
    keywords = {p.name for p in params if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    any_keyword = any(p.kind is p.VAR_KEYWORD for p in params)
    n = len(positional)
    if not variadic:
        for i in nums:
            if not -n <= i < n:
                raise ValueError(
                    f"Jitted function has {kind}_argnums={nums}, but only accepts {n} positional "
                    "arguments."
                )
    if kind == "donate":
        nums = tuple(i for i in nums if i >= 0)  # as in JAX, a negative one names nothing
    bad = set(names) - keywords
    if bad and not any_keyword:
        raise ValueError(
            f"Jitted function has invalid argnames {bad} in {kind}_argnames. Function does not "
            "take these args."
        )
    if argnums is not None and argnames is None:
        names = tuple(
            positional[i].name
            for i in nums
            if -n <= i < n and positional[i].kind is not positional[i].POSITIONAL_ONLY
        )
    elif argnames is not None and argnums is None:
        nums = tuple(i for i, p in enumerate(positional) if p.name in names)
    return tuple(i % n if -n <= i < 0 and not variadic else i for i in nums), names


class Hashed:
    """A static argument as part of a cache key: equal if the values are equal and of one type."""

    __slots__ = ("hash", "value")

    def __init__(self, value: Any):
        self.value = value
        try:
            self.hash = hash((type(value), value))
        except TypeError as e:
            raise ValueError(
                "Non-hashable static arguments are not supported. An error occurred while trying "
                f"to hash an object of type {type(value)}, {value}. The error was:\nTypeError: {e}\n"
            ) from None

    def __hash__(self) -> int:
        return self.hash

    def __eq__(self, other: Any) -> bool:
        return type(self.value) is type(other.value) and self.value == other.value
