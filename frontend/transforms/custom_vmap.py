"""custom_vmap: functions whose vectorized form the user gives."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from ..core import eager, pytree
from ..core.avals import get_aval
from ..core.interpreter import eval_jaxpr
from ..core.jaxpr import ClosedJaxpr
from ..core.primitive import Primitive, absent
from ..core.rules import Zero, instantiate
from ..core.staging import trace_to_jaxpr
from .api_util import FlatFun, check_callable, check_results, debug_info, fun_name
from .batching import moves
from .custom_rules import resolve_kwargs
from .jvp import jvp_flat, jvp_jaxpr
from .linearize import not_reverse_differentiable
from .partial_eval import dce_closed

# A rule, flat: (axis size, which arguments are batched, arguments with the batch axis in front)
# -> (results with the batch axis in front, which of them are batched).
FlatRule = Callable[[int, Sequence[bool], Sequence[Any]], tuple[list[Any], list[bool]]]


class custom_vmap:
    """A function with a rule of its own for vmap.

    Give the rule with `def_vmap(rule)`: `rule(axis_size, in_batched, *args)` gets, for each
    argument, a pytree of bools that says which leaves have a batch axis (always the leading one),
    and returns the outputs and a pytree of bools for them. Reverse-mode differentiation needs a
    custom_vjp around it.
    """

    def __init__(self, fun: Callable[..., Any]):
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.vmap_rule: Callable | None = None

    def def_vmap(self, vmap_rule: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
        """Set the rule; returns it."""
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self.vmap_rule is None:
            raise AttributeError(
                f"No batching rule defined for custom_vmap function {fun_name(self.fun)} using "
                "def_vmap."
            )
        check_callable(self.fun)
        args = resolve_kwargs(self.fun, args, kwargs)
        leaves, in_tree = pytree.tree_flatten((args, {}))
        for x in leaves:
            try:
                get_aval(x)
            except TypeError:
                raise TypeError(
                    f"Argument {x!r} of type {type(x)} to {fun_name(self.fun)}, which has a rule "
                    "for vmap, is not a valid JAX type"
                ) from None
        flat = FlatFun(self.fun, in_tree)

        def checked(*xs: Any) -> list[Any]:
            outs = flat(*xs)
            check_results(self.fun, "custom_vmap", outs, flat.out_tree)
            return outs

        jaxpr, consts = trace_to_jaxpr(
            checked, [get_aval(x) for x in leaves], debug_info("custom_vmap", self.fun, in_tree)
        )
        call = ClosedJaxpr(jaxpr.replace(constvars=[], invars=[*jaxpr.constvars, *jaxpr.invars]))
        args_tree = pytree.tree_structure(tuple(args))
        outs = custom_vmap_call_p.bind(
            *consts,
            *leaves,
            call=call,
            rule=_Rule(self.vmap_rule, len(consts), args_tree, flat.out_tree),
            in_tree=pytree.tree_structure(([0] * len(consts), tuple(args))),
            out_tree=flat.out_tree,
        )
        return pytree.tree_unflatten(flat.out_tree, outs)


class _Rule:
    """The user's rule on flat lists, with its results checked."""

    def __init__(self, rule: Callable, num_consts: int, in_tree: Any, out_tree: Any):
        self.rule, self.n, self.in_tree, self.out_tree = rule, num_consts, in_tree, out_tree
        self.__name__ = fun_name(rule)

    def __call__(
        self, size: int, batched: Sequence[bool], args: Sequence[Any]
    ) -> tuple[list[Any], list[bool]]:
        if any(batched[: self.n]):
            raise ValueError(
                f"The function with the vmap rule {self.__name__} closes over a value that is "
                "batched. A rule for vmap gets only arguments: pass the value as one."
            )
        unflatten = functools.partial(pytree.tree_unflatten, self.in_tree)
        in_batched = list(unflatten(list(batched[self.n :])))
        result = self.rule(size, in_batched, *unflatten(list(args[self.n :])))
        out, out_batched = result
        outs, out_tree = pytree.tree_flatten(out)
        flags, flags_tree = pytree.tree_flatten(out_batched)
        if out_tree != flags_tree:
            raise ValueError(
                "structure of output value and output batching specification returned by custom "
                f"vmap rule ({self.__name__}) do not match.\nOutput values: {out_tree}\nBatching "
                f"spec: {flags_tree}"
            )
        if out_tree != self.out_tree:
            raise ValueError(
                f"structure of output returned by custom vmap rule ({self.__name__}) does not "
                f"match that of original custom-vmapped function.\nOriginal output: "
                f"{self.out_tree}\nRule output: {out_tree}"
            )
        return outs, flags


class _JvpRule:
    """The rule of the derivative: the derivative of the rule.

    Its arguments are the primals and those tangents that `nonzero` marks.
    """

    def __init__(self, rule: FlatRule, nonzero: Sequence[bool], nonzero_out: Sequence[bool]):
        self.rule, self.nonzero, self.nonzero_out = rule, nonzero, nonzero_out
        self.__name__ = f"jvp_of_{getattr(rule, '__name__', 'rule')}"

    def __call__(
        self, size: int, batched: Sequence[bool], args: Sequence[Any]
    ) -> tuple[list[Any], list[bool]]:
        n = len(self.nonzero)
        primals, given = list(args[:n]), iter(zip(args[n:], batched[n:], strict=True))
        flags, tangents = list(batched[:n]), []
        for i, nz in enumerate(self.nonzero):
            if not nz:
                tangents.append(Zero.of(primals[i]))
                continue
            t, t_batched = next(given)
            # a value and its tangent have the same axes
            if t_batched and not flags[i]:
                primals[i], flags[i] = moves.broadcast(primals[i], size, 0), True
            elif flags[i] and not t_batched:
                t = moves.broadcast(t, size, 0)
            tangents.append(t)
        out_flags: list[bool] = []

        def run(*xs: Any) -> list[Any]:
            outs, out_flags[:] = self.rule(size, flags, xs)
            return outs

        outs, touts = jvp_flat(run, primals, tangents)
        kept = [instantiate(t) for t, nz in zip(touts, self.nonzero_out, strict=True) if nz]
        return [*outs, *kept], [
            *out_flags,
            *[f for f, nz in zip(out_flags, self.nonzero_out, strict=True) if nz],
        ]


class _DceRule:
    """The rule where only some of the outputs are wanted."""

    def __init__(self, rule: FlatRule, used: Sequence[bool]):
        self.rule, self.used = rule, used
        self.__name__ = getattr(rule, "__name__", "rule")

    def __call__(
        self, size: int, batched: Sequence[bool], args: Sequence[Any]
    ) -> tuple[list[Any], list[bool]]:
        outs, flags = self.rule(size, batched, args)
        return (
            [o for o, u in zip(outs, self.used, strict=True) if u],
            [f for f, u in zip(flags, self.used, strict=True) if u],
        )


# --- the primitive -------------------------------------------------------------------------


def _abstract(*avals: Any, call: ClosedJaxpr, **_: Any) -> list[Any]:
    return call.out_avals


def _evaluate(primitive: Primitive, args: Sequence[Any], params: dict) -> list[Any]:
    return eval_jaxpr(params["call"].jaxpr, params["call"].consts, *args)


def _reference(*args: Any, call: ClosedJaxpr, **_: Any) -> list[Any]:
    return [eager.to_numpy(o) for o in eval_jaxpr(call.jaxpr, call.consts, *args)]


def _jvp(
    primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any], params: dict
) -> Any:
    nonzero = tuple(type(t) is not Zero for t in tangents)
    call, nonzero_out = jvp_jaxpr(params["call"], nonzero)
    in_tree, out_tree = params["in_tree"], params["out_tree"]
    outs = custom_vmap_call_p.bind(
        *primals,
        *[t for t in tangents if type(t) is not Zero],
        call=call,
        rule=_JvpRule(params["rule"], nonzero, tuple(nonzero_out)),
        in_tree=_pair(in_tree),
        out_tree=_pair(out_tree),
    )
    n = len(nonzero_out)
    it = iter(outs[n:])
    return outs[:n], [
        next(it) if nz else Zero.of(o) for o, nz in zip(outs[:n], nonzero_out, strict=True)
    ]


def _pair(tree: Any) -> Any:
    example = pytree.tree_unflatten(tree, [0] * tree.num_leaves)
    return pytree.tree_structure((example, example))


def _batch(
    primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
) -> Any:
    batched = [d is not None for d in dims]
    moved = [
        x if d is None or d == 0 else moves.moveaxis(x, d, 0)
        for x, d in zip(args, dims, strict=True)
    ]
    outs, flags = params["rule"](axis.size, batched, moved)
    return outs, [0 if f else None for f in flags]


def _partial_eval(primitive: Primitive, trace: Any, args: Sequence[Any], params: dict) -> Any:
    raise not_reverse_differentiable()


def _dce(eqn: Any, used: Sequence[bool]) -> Any:
    call, _ = dce_closed(eqn.params["call"], tuple(used))
    if not call.jaxpr.outvars and not call.effects:
        return None
    if all(used):
        return eqn
    outs = [a for a, u in zip(eqn.params["call"].jaxpr.outvars, used, strict=True) if u]
    whole = eqn.params["call"]
    return eqn.replace(
        outvars=[v for v, u in zip(eqn.outvars, used, strict=True) if u],
        params={
            **eqn.params,
            "call": whole.replace(jaxpr=whole.jaxpr.replace(outvars=outs)),
            "rule": _DceRule(eqn.params["rule"], list(used)),
            "out_tree": pytree.tree_structure([0] * len(outs)),
        },
    )


def _params_text(eqn: Any) -> dict:
    rule = eqn.params["rule"]
    return {**eqn.params, "rule": getattr(rule, "__name__", rule)}


custom_vmap_call_p = Primitive(
    "custom_vmap_call",
    multiple_results=True,
    abstract=_abstract,
    reference=_reference,
    evaluate=_evaluate,
    jvp=_jvp,
    transpose=absent("a function with a rule for vmap has no rule for reverse mode"),
    batch=_batch,
    partial_eval=_partial_eval,
    dce=_dce,
    effects=lambda call, **_: call.effects,
    params_text=_params_text,
)

__all__ = ["custom_vmap", "custom_vmap_call_p"]
