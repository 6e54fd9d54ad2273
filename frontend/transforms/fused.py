"""Transformations of jitted functions, run as programs of their own.

`grad(jit(f))`, called with arrays and outside of any other transformation, is one program: what
`jit(grad(jit(f)))` would be. So a call costs what a call of a jitted function costs, instead of
the rules of its transformations in Python. Everything else takes the plain way: calls inside of
other transformations, arguments that are no arrays, and whatever raises an error.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Hashable
from typing import Any

from ...runtime import JitDispatch
from ..core import config, pytree
from ..core.avals import NotAnArrayError, get_aval
from ..core.bounded_cache import BoundedCache
from ..core.trace import eval_trace, state
from .api_util import wraps
from .jit import Call, JitInfo, Jitted

_MAX_FORMS = 64  # transformations of one jitted function that are kept

_ATTRIBUTE = "_lingon_fused"  # of functions made by `fuse`: the function itself, what it runs


class _Fused(Jitted):
    """A transformation of a jitted function; `info.fun` is the plain way to compute it."""

    def miss(self, args: tuple, kwargs: dict) -> tuple[Any, Any]:
        """See `Jitted.miss`."""
        plain = self.info.fun
        if (
            config.debug_nans.value
            or config.debug_infs.value
            or not _all_arrays(args, kwargs, self)
        ):
            return plain(*args, **kwargs), None
        if state.trace is not eval_trace:
            return plain(*args, **kwargs), None
        if not config.disable_jit.value and not self._traces(args, kwargs):
            # The transformation raises it again, in its own words and frames.
            return plain(*args, **kwargs), None
        return super().miss(args, kwargs)

    def _traces(self, args: tuple, kwargs: dict) -> bool:
        try:
            self.traced(Call(self.info, args, kwargs))
        except Exception:
            return False
        return True


def _all_arrays(args: tuple, kwargs: dict, jitted: Jitted) -> bool:
    info = jitted.info
    dynamic = [a for i, a in enumerate(args) if i not in info.static_argnums]
    named = [a for k, a in kwargs.items() if k not in info.static_argnames]
    try:
        for x in pytree.tree_leaves((dynamic, named)):
            get_aval(x)
    except (NotAnArrayError, TypeError, ValueError, OverflowError):
        return False
    return True


def fused_form(fun: Any) -> Jitted | None:
    """What a function that `fuse` made runs, None for any other one."""
    owner, form = getattr(fun, _ATTRIBUTE, (None, None))
    # A wrapper of it may have got a copy of its attributes.
    return form if owner is not None and owner() is fun else None


def _jitted(fun: Any) -> Jitted | None:
    """The jitted function behind `fun`, if it can be transformed as one program."""
    jitted = getattr(fun, "_jit", None) if type(fun) is JitDispatch else None
    if jitted is None:
        return fused_form(fun)
    info = getattr(jitted, "info", None)
    if type(jitted) is not Jitted or type(info) is not JitInfo:
        return None
    if info.donate_argnums or info.donate_argnames or info.compiler_options or info.keep_unused:
        return None
    if any(i < 0 for i in info.static_argnums):
        return None
    return jitted


def fuse(fun: Callable[..., Any], plain: Callable[..., Any], key: Hashable) -> Callable[..., Any]:
    """`plain`, a transformation of `fun` with the same arguments, as one program if `fun` is jitted.

    `key` tells apart the transformations of one function: what is done and with which options.
    """
    jitted = _jitted(fun)
    if jitted is None:
        return plain
    try:
        # With the function: they refer to each other, and live as long.
        forms: BoundedCache[Any] = jitted.__dict__.setdefault("forms", BoundedCache(_MAX_FORMS))
        dispatch = forms.get(key)
    except TypeError:  # unhashable options, such as dicts of axes
        return plain
    if dispatch is None:
        info = jitted.info
        own = JitInfo(
            plain,
            static_argnums=info.static_argnums,
            static_argnames=info.static_argnames,
            donate_argnums=None,
            donate_argnames=None,
            keep_unused=False,
            inline=False,
        )
        made = _Fused(own)
        dispatch = JitDispatch(made.miss, plain, own.static_argnums, own.static_argnames)
        dispatch._jit = made
        forms.put(key, dispatch)
    program: Any = dispatch

    @wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        if state.trace is eval_trace:
            return program(*args, **kwargs)
        return plain(*args, **kwargs)

    setattr(call, _ATTRIBUTE, (weakref.ref(call), program._jit))
    return call


__all__ = ["fuse"]
