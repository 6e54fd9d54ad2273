"""Loops whose number of iterations the program finds out: while_loop, fori_loop, and while_loop
with a bound, which can be differentiated in reverse."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ...runtime import ArrayImpl
from ..core import config, dtypes, errors, pytree
from ..core.avals import ShapedArray, get_aval
from ..core.jaxpr import ClosedJaxpr, Var
from ..core.tracebacks import boundary
from ..primitives.while_loop import bind_while, while_p
from .control_flow_util import (
    Traced,
    adapted,
    check_carry,
    check_leaves,
    is_array_like,
    trace,
    trace_carry,
)
from .conversion import asarray, convert_weakly
from .elementwise import add, lt
from .scanning import scan

T = TypeVar("T")

__all__ = ["fori_loop", "while_loop"]


@boundary
def while_loop(cond_fun: Callable[[T], Any], body_fun: Callable[[T], T], init_val: T) -> T:
    """Apply `body_fun` as long as `cond_fun` holds: `while cond_fun(val): val = body_fun(val)`.

    Args:
      cond_fun: function of the carry that returns a boolean scalar.
      body_fun: function of the carry to the next carry, of the same structure, shapes and dtypes.
      init_val: the first carry, a pytree of arrays. Weakly typed leaves take the dtype that the
        loop gives them.

    Forward-mode differentiation works; reverse mode needs a bound (`bounded_while_loop`,
    `fori_loop` with static limits). Under `vmap` each element stops by itself.

    Raises TypeError for functions that cannot be called, a predicate that is no boolean scalar, and
    a body whose carry has another structure or type than its input.
    """
    if not (callable(body_fun) and callable(cond_fun)):
        raise TypeError("lax.while_loop: body_fun and cond_fun arguments should be callable.")
    if config.disable_jit.value:
        try:
            return _while_in_python(cond_fun, body_fun, init_val)
        except errors.ConcretizationTypeError:
            # under a transformation that hides the values, such as vmap
            pass
    init, tree = pytree.tree_flatten(init_val)
    check_leaves(init)
    loop = trace_loop(cond_fun, body_fun, init, tree, "while_loop")
    return pytree.tree_unflatten(tree, loop.run())


def _while_in_python(cond_fun: Callable, body_fun: Callable, val: Any) -> Any:
    val = pytree.tree_map(asarray, val)
    while bool(cond_fun(val)):
        val = body_fun(val)
    return val


class _Loop:
    """A while loop traced: its functions, and the first carry in its final types."""

    __slots__ = ("body", "cond", "init")

    def __init__(self, cond: Traced, body: Traced, init: list[Any]):
        self.cond, self.body, self.init = cond, body, init

    def run(self) -> list[Any]:
        """Bind the loop; carries that never change are constants of its body."""
        cond, body = self.cond.hoisted, self.body.hoisted
        m, n = len(self.cond.consts), len(self.body.consts)
        cond, body, fixed = body.derived(
            ("unchanged carries", m, n, id(cond)), lambda: (*_fix_carries(cond, m, body, n), cond)
        )[:3]
        outs = iter(
            bind_while(
                while_p,
                cond,
                self.cond.consts,
                body,
                [*[x for x, f in zip(self.init, fixed, strict=True) if f], *self.body.consts],
                [x for x, f in zip(self.init, fixed, strict=True) if not f],
            )
        )
        return [asarray(x) if f else next(outs) for x, f in zip(self.init, fixed, strict=True)]


def _fix_carries(
    cond: ClosedJaxpr, m: int, body: ClosedJaxpr, n: int
) -> tuple[ClosedJaxpr, ClosedJaxpr, list[bool]]:
    """Make carries that the body returns as they are, and the predicate does not read, leading
    constants of the body; which carries they are."""
    invars, carry = body.jaxpr.invars, body.jaxpr.invars[n:]
    read = {a for e in cond.eqns for a in e.invars if type(a) is Var}
    read |= {a for a in cond.jaxpr.outvars if type(a) is Var}
    fixed = [
        a is v and c not in read
        for a, v, c in zip(body.jaxpr.outvars, carry, cond.jaxpr.invars[m:], strict=True)
    ]
    if not any(fixed):
        return cond, body, fixed

    def moving(items: Sequence[Any]) -> list[Any]:
        return [x for x, f in zip(items, fixed, strict=True) if not f]

    lead = [v for v, f in zip(carry, fixed, strict=True) if f]
    body = body.replace(
        jaxpr=body.jaxpr.replace(
            invars=[*lead, *invars[:n], *moving(carry)], outvars=moving(body.jaxpr.outvars)
        )
    )
    test = cond.jaxpr.invars
    cond = cond.replace(jaxpr=cond.jaxpr.replace(invars=[*test[:m], *moving(test[m:])]))
    return cond, body, fixed


def trace_loop(
    cond_fun: Callable, body_fun: Callable, init: list[Any], tree: Any, who: str, name: str = ""
) -> _Loop:
    """Trace predicate and body, until the types of weakly typed carries are found, and check."""
    in_tree = pytree.treedef_tuple([pytree.treedef_tuple([tree]), pytree.tree_structure({})])

    def test(avals: Sequence[ShapedArray]) -> Traced:
        traced = trace(cond_fun, in_tree, avals, "while_cond")
        if not pytree.treedef_is_leaf(traced.out_tree) or len(traced.out_avals) != 1:
            raise TypeError(
                f"cond_fun must return a boolean scalar, but got pytree {traced.out_tree}."
            )
        (aval,) = traced.out_avals
        if aval.shape or not dtypes.is_bool(aval.dtype):
            raise TypeError(
                f"cond_fun must return a boolean scalar, but got output type(s) [{aval!r}]."
            )
        return traced

    carry_name = name or _argument_name(body_fun)

    def check(traced: Traced, carry: list[ShapedArray]) -> None:
        check_carry(
            f"{who} body function", carry_name, tree, carry, traced.out_tree, traced.out_avals
        )

    cond = test([get_aval(x) for x in init])
    body, start, avals = trace_carry(body_fun, in_tree, [], init, [], tree, "while_body", check)
    if avals != cond.jaxpr.in_avals:
        cond = test(avals)
    return _Loop(cond, body, start)


def _argument_name(f: Callable) -> str:
    """What a function calls its first argument."""
    from ..transforms.api_util import signature_of

    sig = signature_of(f)
    names = list(sig.parameters) if sig is not None else []
    return names[0] if names else "carry"


# --- fori_loop -----------------------------------------------------------------------------


@boundary
def fori_loop(
    lower: Any,
    upper: Any,
    body_fun: Callable[[Any, Any], Any],
    init_val: Any,
    *,
    unroll: int | bool | None = None,
) -> Any:
    """`val = body_fun(i, val)` for i from `lower` to `upper - 1`.

    Args:
      lower, upper: integer scalars. Where both are known when the loop is traced it becomes a
        `scan`, which reverse-mode differentiation can go through; else a `while_loop`.
      body_fun: function of the index and the carry to the next carry, of the same structure, shapes
        and dtypes.
      init_val: the first carry, a pytree of arrays.
      unroll: how many iterations the compiled loop does at a time, True for all; only where the
        limits are known (ValueError otherwise).

    Raises TypeError for limits of different dtypes, and for a carry that changes its structure or
    types.
    """
    if not callable(body_fun):
        raise TypeError("lax.fori_loop: body_fun argument should be callable.")
    lower, upper = _limits(lower, upper)
    known = _is_known(lower) and _is_known(upper)
    if config.disable_jit.value and known:
        for i in range(int(lower), int(upper)):
            init_val = body_fun(i, init_val)
        return init_val
    if known:
        first = int(lower)
        n = max(int(upper) - first, 0)
        (_, out), _ = scan(
            adapted(body_fun, _scan_step),
            (first, init_val),
            None,
            length=n,
            unroll=1 if unroll is None else unroll,
        )
        return out
    if unroll is not None and unroll is not False and unroll != 1:
        raise ValueError(
            "Can only use `unroll` in `fori_loop` if the loop bounds are statically known."
        )
    init, tree = pytree.tree_flatten((lower, upper, init_val))
    check_leaves(init)
    loop = trace_loop(
        _below_limit, adapted(body_fun, _while_step), init, tree, "fori_loop", "(i, upper, val)"
    )
    _, _, out = pytree.tree_unflatten(tree, loop.run())
    return out


def _next(i: Any) -> Any:
    aval: Any = get_aval(i)
    if aval.weak_type:
        return add(i, 1.0 if dtypes.is_inexact(aval.dtype) else 1)
    return add(i, np.ones((), aval.dtype)[()])


def _scan_step(body_fun: Callable, carry: Any, x: Any) -> Any:
    i, val = carry
    return (_next(i), body_fun(i, val)), None


def _while_step(body_fun: Callable, carry: Any) -> Any:
    i, upper, val = carry
    return _next(i), upper, body_fun(i, val)


def _below_limit(carry: Any) -> Any:
    i, upper, _ = carry
    return lt(i, upper)


def _is_known(x: Any) -> bool:
    return isinstance(x, (bool, int, float, np.generic, np.ndarray, ArrayImpl))


def _limits(lower: Any, upper: Any) -> tuple[Any, Any]:
    """The limits in one dtype. Raises TypeError where they are no scalars, or do not fit."""
    for name, x in (("lower", lower), ("upper", upper)):
        if not is_array_like(x):
            raise TypeError(
                f"fori_loop: {name} must be an integer scalar, got {x!r} of type {type(x)}"
            )
        aval: Any = get_aval(x)
        if aval.shape:
            raise TypeError(f"fori_loop: {name} must be a scalar, got shape {aval.shape}")
    a: Any = get_aval(lower)
    b: Any = get_aval(upper)
    if a.dtype == b.dtype:
        return lower, upper
    if dtypes.is_signed(a.dtype) and dtypes.is_signed(b.dtype) and a.weak_type != b.weak_type:
        if a.weak_type:
            return _as(lower, b.dtype), upper
        return lower, _as(upper, a.dtype)
    raise TypeError(
        "lower and upper arguments to fori_loop must have equal types, got "
        f"{dtypes.dtype_name(a.dtype)} and {dtypes.dtype_name(b.dtype)}"
    )


def _as(x: Any, dtype: Any) -> Any:
    return np.asarray(x, dtype)[()] if _is_known(x) else convert_weakly(x, dtype, False)
