"""Functions of the library, called outside of any transformation.

Such a call is looked up by the runtime (`runtime/eager.cpp`). One that has been made a few times
runs as a plan of all its primitives (`frontend/plans`), which computes what they compute one by
one, to the last bit. One on large arrays is compiled, from its first call on. Functions that
cannot be traced, since they need the values of their arguments, stay as they are.
"""

from __future__ import annotations

import enum
import functools
import math
from collections.abc import Callable
from typing import Any

from ...runtime import LARGE_SIZE, ArrayImpl, EagerFunction, set_identity_type
from ..core import config, dtypes, pytree
from ..core.avals import get_aval
from ..core.jaxpr import ClosedJaxpr, subjaxprs
from ..core.staging import trace_to_jaxpr
from ..core.trace import Tracer, state
from ..core.warn import refused

set_identity_type(enum.EnumMeta)

_NUMBERS = frozenset((bool, int, float))


class _Arguments:
    """The arguments of a call with their operands taken out, in the runtime's order."""

    def __init__(self, args: tuple, kwargs: dict, leaves: tuple):
        self.left = list(reversed(leaves))
        self.operands: list[Any] = []
        self.args = [self.split(a, True) for a in args]
        self.kwargs = {k: self.split(v, True) for k, v in kwargs.items()}
        assert not self.left, "operands that the arguments do not have"

    def split(self, x: Any, top: bool = False) -> Any:
        """A function of the operands' values that gives the argument, or the argument itself."""
        if self.left:
            leaf = self.left[-1]
            if (x is leaf and (top or type(x) not in _NUMBERS)) or (
                type(x) is not ArrayImpl and getattr(x, "_base_array", None) is leaf
            ):
                self.left.pop()
                self.operands.append(x)
                return _Operand(len(self.operands) - 1)
        if type(x) in (tuple, list):
            return type(x)([self.split(i) for i in x])
        if type(x) is slice:
            return slice(self.split(x.start), self.split(x.stop), self.split(x.step))
        return x

    def fill(self, values: tuple) -> tuple[list[Any], dict]:
        return [_filled(a, values) for a in self.args], {
            k: _filled(v, values) for k, v in self.kwargs.items()
        }


class _Operand:
    __slots__ = ("position",)

    def __init__(self, position: int):
        self.position = position


def _filled(x: Any, values: tuple) -> Any:
    if type(x) is _Operand:
        return values[x.position]
    if type(x) in (tuple, list):
        return type(x)([_filled(i, values) for i in x])
    if type(x) is slice:
        return slice(_filled(x.start, values), _filled(x.stop, values), _filled(x.step, values))
    return x


def _largest(jaxpr: Any) -> int:
    """The size of the largest value in a jaxpr."""
    sizes = [math.prod(v.aval.shape) for v in (*jaxpr.constvars, *jaxpr.invars)]
    for eqn in jaxpr.eqns:
        sizes += [math.prod(getattr(v.aval, "shape", ())) for v in eqn.outvars]
        sizes += [_largest(sub) for sub in subjaxprs(eqn.params)]
    return max(sizes, default=0)


def _wrapper(aval: Any) -> Callable[[Any], Any] | None:
    return aval.dtype.wrap if dtypes.is_extended(aval.dtype) else None


def _no_plan(closed: ClosedJaxpr) -> Any:
    return None


#: Makes the plan of a closed jaxpr, or None; set by frontend/plans.
plan_of: Callable[[ClosedJaxpr], Any] = _no_plan


def _program(fun: Callable[..., Any], args: tuple, kwargs: dict, leaves: tuple, large: bool) -> Any:
    """See EagerFunction."""
    from .jit import hoist_tracers
    from .programs import program_of

    if config.disable_jit.value or config.debug_nans.value or config.debug_infs.value:
        return None
    if state.axis_env or config.no_tracing.value or config.check_tracer_leaks.value:
        return None
    given = _Arguments(args, kwargs, leaves)
    avals = [get_aval(x) for x in given.operands]
    tree: list[Any] = []

    def flat(*values: Any) -> list[Any]:
        a, k = given.fill(values)
        outs, out_tree = pytree.tree_flatten(fun(*a, **k))
        tree.append(out_tree)
        for o in outs:
            if not isinstance(o, (Tracer, ArrayImpl)):
                raise TypeError("a result that is no array")
        return outs

    try:
        with refused():  # what warns does so at every call
            jaxpr, consts = trace_to_jaxpr(flat, avals)
    except Exception:
        return None
    closed, hoisted = hoist_tracers(jaxpr, consts)
    if hoisted or jaxpr.effects:
        return None
    wrappers: Any = tuple([_wrapper(a) for a in closed.out_avals])
    if not any(wrappers):
        wrappers = None
    if large and _largest(jaxpr) > LARGE_SIZE:
        try:
            program = program_of(closed, getattr(fun, "__name__", "function"))
        except NotImplementedError:
            return None  # an operation that runs eagerly only
        executable = getattr(program.compiled, "executable", None)
        if executable is None or any(a.dtype == dtypes.float0 for a in closed.out_avals):
            return None
        return executable, tree[-1], program.kept, wrappers
    plan = plan_of(closed)
    return None if plan is None else (plan, tree[-1], tuple(range(len(avals))), wrappers)


def eager_function(fun: Any = None, *, numbers: bool | str = False, sizes: bool = False) -> Any:
    """A function of the library that is fast when it is called with arrays.

    With `numbers`, Python numbers among the arguments are operands: a call with another number is
    not another call to the runtime. That is for functions which treat a number as the array of it.
    With "floats" that holds for floats. With `sizes`, integers may be sizes of results, so that a call with a large one is compiled.
    """
    if fun is None:
        return functools.partial(eager_function, numbers=numbers, sizes=sizes)
    kinds = 2 if numbers == "floats" else int(bool(numbers))
    made = EagerFunction(fun, functools.partial(_program, fun), kinds, sizes)
    functools.update_wrapper(made, fun)
    return made


__all__ = ["eager_function"]
