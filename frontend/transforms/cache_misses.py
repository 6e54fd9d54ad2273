"""explain_cache_misses: says why a jitted function is traced again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..core import config, pytree, source_info
from ..core.log import log
from .api_util import argument_names, fun_name, fun_where

#: Where functions that were traced under this option are defined.
_seen: dict[str, int] = {}


def explain(
    fun: Callable[..., Any], full: Callable[..., Any], key: Any, known: Sequence[Any]
) -> None:
    """Log how the signature `key` of a call differs from the most similar one of `known`.

    `fun` is the user's function, `full` the one with static arguments filled in.
    """
    where = fun_where(fun) or "an unknown place"
    name = fun_name(fun)
    lines = [f"TRACING CACHE MISS at {source_info.current().summary() or 'an unknown place'}:"]
    if not known:
        lines += ["  never seen function:", f"    {name} id={id(fun)} defined at {where}"]
        if _seen.get(where, id(fun)) != id(fun):
            lines += [
                "  but seen another function defined on the same line; maybe the function is",
                "  being re-defined repeatedly, preventing caching?",
            ]
    else:
        # of those that differ in as few parts, the latest
        closest = max(enumerate(known), key=lambda ik: (_likeness(key, ik[1]), ik[0]))[1]
        lines += [
            f"  for {name} defined at {where}",
            "  all previously seen cache keys differ. For the closest previous key:",
            *[f"  {text}" for text in differences(full, key, closest)],
        ]
    if len(_seen) > 4096:
        _seen.clear()
    _seen[where] = id(fun)
    log.warning("\n".join(lines))


def _likeness(a: Any, b: Any) -> tuple[int, int]:
    """How many parts two signatures have in common, and how many types of arguments."""
    parts = sum(x == y for x, y in zip(a, b, strict=True))
    types = sum(x == y for x, y in zip(a[1], b[1], strict=False))
    return parts, types


def differences(full: Callable[..., Any], now: Any, before: Any) -> list[str]:
    """The differences of two signatures in words, a line each."""
    tree, avals, _, statics, static_names, options, axes = now
    tree0, avals0, count0, statics0, static_names0, options0, axes0 = before
    out: list[str] = []
    if tree != tree0:
        out += ["different input pytree:", *[f"* {t}" for t in _trees(tree, tree0)]]
    elif avals != avals0:
        out.append("different input types:")
        for name, a, b in zip(argument_names(full, tree), avals, avals0, strict=True):
            if a != b:
                out.append(f"* at {name}, now {_aval(a, b)} and before {_aval(b, a)}")
    fixed = [
        *_pairs("argument", dict(statics), dict(statics0)),
        *_pairs("argument", dict(static_names), dict(static_names0)),
    ]
    if fixed:
        out += ["different values of static arguments:", *fixed]
    if options != options0:
        names = config.trace_key_names()
        out.append("different tracing context:")
        for n, a, b in zip(names, options, options0, strict=True):
            if a != b:
                out.append(f"* {n}, now {a!r} and before {b!r}")
    if axes != axes0:
        out.append(f"different named axes: now {dict(axes)} and before {dict(axes0)}")
    if not out:
        out.append(f"different number of positional arguments: now {now[2]} and before {count0}")
    return out


def _aval(a: Any, other: Any) -> str:
    text = a.str_short() if hasattr(a, "str_short") else str(a)
    if getattr(a, "weak_type", False) != getattr(other, "weak_type", False):
        text += f"{{weak_type={a.weak_type}}}"
    return text


def _pairs(what: str, now: dict, before: dict) -> list[str]:
    out = []
    for k in [*now, *[k for k in before if k not in now]]:
        if k not in before:
            out.append(f"* {what} {k}, now {now[k].value!r} and before not given")
        elif k not in now:
            out.append(f"* {what} {k}, now not given and before {before[k].value!r}")
        elif now[k] != before[k]:
            out.append(f"* {what} {k}, now {now[k].value!r} and before {before[k].value!r}")
    return out


def _paths(tree: Any) -> Iterable[str]:
    dummy = pytree.tree_unflatten(tree, [0] * tree.num_leaves)
    for path, _ in pytree.tree_flatten_with_path(dummy)[0]:
        kind = "args" if path[0].idx == 0 else "kwargs"
        yield kind + pytree.keystr(path[1:])


def _trees(now: Any, before: Any) -> list[str]:
    a, b = list(_paths(now)), list(_paths(before))
    more = [p for p in a if p not in b]
    less = [p for p in b if p not in a]
    out = []
    if more:
        out.append(f"now with {', '.join(more)}")
    if less:
        out.append(f"now without {', '.join(less)}")
    return out or [f"now {now} and before {before}"]
