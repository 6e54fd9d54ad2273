"""Conditionals: cond, switch, and the choice by platform."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ..core import config, dtypes, pytree
from ..core.avals import get_aval
from ..core.devices import default_backend
from ..core.jaxpr import ClosedJaxpr, Literal
from ..core.trace import Tracer
from ..core.tracebacks import boundary
from ..primitives.comparison import clamp_p, ne_p
from ..primitives.cond import cond_p
from ..primitives.conversion import convert
from ..primitives.platform import platform_index_p
from .control_flow_util import (
    check_leaves,
    check_same_outputs,
    is_array_like,
    join_consts,
    trace,
)
from .conversion import asarray, convert_weakly

_T = TypeVar("_T")
_none = object()
_scalars = (bool, int, float, complex, np.generic)

__all__ = ["cond", "platform_dependent", "switch"]


@boundary
def cond(
    pred: Any,
    true_fun: Callable,
    false_fun: Callable,
    *operands: Any,
    operand: Any = _none,
) -> Any:
    """`true_fun(*operands)` if `pred` holds, else `false_fun(*operands)`.

    Args:
      pred: scalar of a boolean or real type; numbers count as true unless they are zero.
      true_fun, false_fun: functions of the operands that return pytrees of the same structure,
        shapes and dtypes. Both are traced, one of them runs.
      operands: pytrees of arrays. They may also be closed over.
      operand: one operand by keyword, the older form; so is
        `cond(pred, true_operand, true_fun, false_operand, false_fun)`.

    Under `vmap` with a batched predicate both functions run and their results are selected from.

    Raises TypeError for functions that cannot be called, a predicate that is no scalar of such a
    type, and for results that differ in structure or types.
    """
    if not callable(true_fun) and len(operands) == 2 and callable(false_fun):
        if callable(operands[1]):
            return _with_two_operands(pred, true_fun, false_fun, *operands)
    if not (callable(true_fun) and callable(false_fun)):
        raise TypeError("lax.cond: true_fun and false_fun arguments should be callable.")
    operands = _operands(operands, operand)
    _check_predicate(pred)
    if config.disable_jit.value and not isinstance(pred, Tracer):
        return (true_fun if _truth(pred) else false_fun)(*operands)
    index = _index_of_predicate(pred)
    names = ("true_fun", "false_fun")
    return _choose("cond", index, (true_fun, false_fun), names, operands, (1, 0))


def _with_two_operands(pred: Any, x: Any, true_fun: Any, y: Any, false_fun: Any) -> Any:
    return cond(pred, lambda x, _: true_fun(x), lambda _, y: false_fun(y), x, y)


def _operands(operands: tuple, operand: Any) -> tuple:
    if operand is _none:
        return operands
    if operands:
        raise TypeError(
            "if 'operand' keyword is passed then no positional operands can be passed, got "
            f"operand={operand!r} and positional operands {operands!r}"
        )
    return (operand,)


def _check_predicate(pred: Any) -> None:
    if pred is None:
        raise TypeError("cond predicate is None")
    if isinstance(pred, (list, tuple, dict)) or not is_array_like(pred):
        raise TypeError(f"Pred must be a scalar, got {pred} of type {type(pred)}")
    aval: Any = get_aval(pred)
    if aval.shape:
        raise TypeError(f"Pred must be a scalar, got {pred} of shape {aval.shape}.")
    if not (dtypes.is_bool(aval.dtype) or dtypes.is_integer(aval.dtype)) and not dtypes.is_float(
        aval.dtype
    ):
        name = dtypes.dtype_name(aval.dtype)
        raise TypeError(f"Pred type must be either boolean or number, got {name}.")


def _truth(pred: Any) -> bool:
    return bool(np.asarray(pred))


def _index_of_predicate(pred: Any) -> Any:
    """The int32 index of the branch: 0 where the predicate is false, 1 where it is true."""
    if isinstance(pred, _scalars):
        return np.int32(_truth(pred))
    aval: Any = get_aval(pred)
    if not dtypes.is_bool(aval.dtype):
        pred = ne_p.bind(pred, np.zeros((), aval.dtype)[()])
    return convert(pred, np.dtype(np.int32))


@boundary
def switch(index: Any, branches: Sequence[Callable], *operands: Any, operand: Any = _none) -> Any:
    """`branches[index](*operands)`, the index being clamped to the branches there are.

    Args:
      index: integer scalar.
      branches: functions of the operands that return pytrees of the same structure, shapes and
        dtypes. All are traced, one of them runs.
      operands, operand: as for `cond`.

    Raises TypeError for branches that cannot be called, an index that is no integer scalar, and for
    results that differ in structure or types; ValueError where there are no branches.
    """
    branches = list(branches)
    if not all(map(callable, branches)):
        raise TypeError("lax.switch: branches argument should be a sequence of callables.")
    operands = _operands(operands, operand)
    if not is_array_like(index):
        raise TypeError(f"Index type must be an integer, got {index}.")
    aval: Any = get_aval(index)
    if aval.shape:
        raise TypeError(f"Branch index must be scalar, got {index} of shape {aval.shape}.")
    if not dtypes.is_integer(aval.dtype):
        name = dtypes.dtype_name(aval.dtype)
        raise TypeError(f"Index type must be an integer, got {index} as {name}")
    if not branches:
        raise ValueError("Empty branch sequence")
    if len(branches) == 1:
        return branches[0](*operands)
    last = len(branches) - 1
    if config.disable_jit.value and not isinstance(index, Tracer):
        return branches[min(max(int(index), 0), last)](*operands)
    if isinstance(index, _scalars):
        index = np.asarray(index, aval.dtype).astype(np.int32)[()]
    else:
        index = convert_weakly(index, np.dtype(np.int32), False)
    index = clamp_p.bind(np.int32(0), index, np.int32(last))
    names = [f"branch {i}" for i in range(len(branches))]
    return _choose("switch", index, branches, names, operands, range(len(branches)))


def _choose(
    who: str,
    index: Any,
    functions: Sequence[Callable],
    names: Sequence[str],
    operands: tuple,
    order: Sequence[int],
    **params: Any,
) -> Any:
    """Trace the functions, check that they fit, and bind; `order` lists the branches by index."""
    leaves, tree = pytree.tree_flatten((operands, {}))
    avals = check_leaves(leaves)
    traced = [trace(f, tree, avals, who) for f in functions]
    check_same_outputs(who, names, traced)
    jaxprs, consts = join_consts(traced)
    branches = tuple([jaxprs[i] for i in order])
    args = [*consts, *leaves]
    branches, forwarded = _forward(branches)
    made = iter(cond_p.bind(index, *args, branches=branches, **params))
    outs = [next(made) if k is None else asarray(args[k]) for k in forwarded]
    return pytree.tree_unflatten(traced[0].out_tree, outs)


def _forward(branches: tuple[ClosedJaxpr, ...]) -> tuple[tuple[ClosedJaxpr, ...], list[int | None]]:
    """Take results that are the same operand in all branches out of them; for each result the
    number of that operand, or None."""

    def make() -> Any:
        places: list[int | None] = []
        numbers = [{v: i for i, v in enumerate(b.jaxpr.invars)} for b in branches]
        for column in zip(*[b.jaxpr.outvars for b in branches], strict=True):
            found = {
                None if type(a) is Literal else n.get(a)
                for a, n in zip(column, numbers, strict=True)
            }
            k = found.pop()
            places.append(None if found else k)
        if all(k is None for k in places):
            return branches, places
        done: dict[int, ClosedJaxpr] = {}
        for b in branches:
            kept = [a for a, k in zip(b.jaxpr.outvars, places, strict=True) if k is None]
            if id(b) not in done:
                done[id(b)] = b.replace(jaxpr=b.jaxpr.replace(outvars=kept))
        return tuple([done[id(b)] for b in branches]), places

    # the branches are kept with the answer, so that their ids stay theirs
    key = ("forwarded", *map(id, branches))
    return branches[0].derived(key, lambda: (make(), branches[1:]))[0]


@boundary
def platform_dependent(
    *args: Any, default: Callable[..., _T] | None = None, **per_platform: Callable[..., _T]
) -> _T:
    """`per_platform[platform](*args)` for the platform that the program is compiled for.

    Args:
      args: pytrees of arrays.
      default: what to call on platforms that are not named.
      per_platform: functions by the name of a platform: `cpu`, `cuda`, `rocm`, `tpu`.

    All functions are traced and must return the same structure and types (TypeError otherwise);
    only the platform's own is compiled. NotImplementedError where there is none for it.
    """
    functions = [*per_platform.values(), *([] if default is None else [default])]
    if not all(map(callable, functions)):
        raise TypeError("lax.platform_dependent: its functions should be callable.")
    platforms = (*[(name,) for name in per_platform], *([] if default is None else [None]))
    if not functions:
        raise NotImplementedError(
            f"platform_dependent has no function for platform {default_backend()}, and no default"
        )
    index = platform_index_p.bind(platforms=platforms)
    names = [f"the function for {p[0] if p else 'other platforms'}" for p in platforms]
    order = range(len(functions))
    return _choose(
        "platform_dependent", index, functions, names, args, order, branches_platforms=platforms
    )
