"""custom_gradient: a function that returns its value together with its pullback."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..core import dtypes, pytree
from ..core.avals import get_aval
from ..core.interpreter import eval_jaxpr
from ..core.jaxpr import Jaxpr
from ..core.staging import trace_to_jaxpr
from .api_util import FlatFun, check_callable, debug_info
from .custom_rules import custom_vjp


class _Pullback:
    """A traced pullback: a pytree whose leaves are the values that it closes over."""

    def __init__(self, jaxpr: Jaxpr, trees: tuple[Any, Any], live: tuple[bool, ...], consts: Any):
        self.jaxpr, self.trees, self.live, self.consts = jaxpr, trees, live, consts

    def __call__(self, cts: Any) -> Any:
        leaves = pytree.tree_leaves(cts)
        used = [c for c, f in zip(leaves, self.live, strict=True) if f]
        outs = eval_jaxpr(self.jaxpr, self.consts, *used)
        return pytree.tree_unflatten(self.trees[1], outs)


class _Static:
    """What of a pullback is no array; equal only to itself."""

    def __init__(self, pull: _Pullback):
        self.jaxpr, self.trees, self.live = pull.jaxpr, pull.trees, pull.live

    def at(self, consts: list[Any]) -> _Pullback:
        return _Pullback(self.jaxpr, self.trees, self.live, consts)


pytree.register_pytree_node(
    _Pullback,
    lambda p: (tuple(p.consts), _Static(p)),
    lambda static, consts: static.at(list(consts)),
)


def custom_gradient(fun: Callable) -> custom_vjp:
    """A function with a pullback that it computes itself.

    `fun(*args)` returns (output, pullback): `pullback(ct)` maps a cotangent of the output to the
    tuple of cotangents of the arguments (or to the only one). The pullback may close over values
    that `fun` computes; it is linear in `ct`. Forward-mode differentiation raises TypeError, as
    for custom_vjp.
    """

    def wrapped_fun(*args: Any, **kwargs: Any) -> Any:
        out, _ = fun(*args, **kwargs)
        return out

    def fwd(*args: Any, **kwargs: Any) -> Any:
        out, rule = fun(*args, **kwargs)
        leaves, out_tree = pytree.tree_flatten(out)
        avals = [get_aval(x).at_least_vspace() for x in leaves]
        live = tuple(a.dtype != dtypes.float0 for a in avals)
        check_callable(rule)

        def pull(*cts: Any) -> Any:
            it = iter(cts)
            full = [next(it) if f else _float0(a) for a, f in zip(avals, live, strict=True)]
            got = rule(pytree.tree_unflatten(out_tree, full))
            return got if isinstance(got, tuple) else (got,)

        used = [a for a, f in zip(avals, live, strict=True) if f]
        flat = FlatFun(pull, pytree.tree_structure((tuple(used), {})))
        jaxpr, consts = trace_to_jaxpr(flat, used, debug_info("custom_gradient", rule))
        return out, _Pullback(jaxpr, (out_tree, flat.out_tree), live, consts)

    def bwd(pullback: _Pullback, cts: Any) -> Any:
        return pullback(cts)

    f = custom_vjp(wrapped_fun)
    f.defvjp(fwd, bwd)
    return f


def _float0(aval: Any) -> Any:
    return np.zeros(aval.shape, dtypes.float0)


__all__ = ["custom_gradient"]
