"""checkify: run-time checks of compiled programs, with errors as values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .core import pytree
from .core.array import Array
from .core.checks import Error, FailedCheckError, init_error, site_of, user_checks
from .core.interpreter import eval_jaxpr
from .core.staging import trace_to_jaxpr
from .core.trace import current_trace, set_trace
from .primitives.checks import check_p, one_element
from .primitives.declare import ops
from .transforms.api_util import (
    FlatFun,
    check_arguments,
    check_callable,
    check_results,
    debug_info,
    wraps,
)
from .transforms.checkify import CheckifyTrace


def checkify(f: Callable[..., Any], errors: frozenset = user_checks) -> Callable[..., Any]:
    """`f` with its checks as values: a function that returns `(error, f(...))`.

    `error` is an `Error`: `error.get()` is the message of the first check that failed, or None, and
    `error.throw()` raises it. The program goes on after a failed check.

    Args:
      f: a function of pytrees of arrays; jit, grad, vmap, cond, while_loop, scan inside of it and
        outside are fine. vmap of a while_loop whose predicate is mapped has to be outside.
      errors: what is looked for: `user_checks` (calls of `check`), `nan_checks`, `div_checks`,
        `index_checks`, and their unions `float_checks`, `automatic_checks`, `all_checks`.

    Raises TypeError if `f` is not callable, returns what is no array, or `errors` is no set.
    """
    check_callable(f)
    enabled = frozenset(errors)

    @wraps(f)
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        leaves, in_tree = pytree.tree_flatten((args, kwargs))
        avals = check_arguments(f, leaves, in_tree)
        flat = FlatFun(f, in_tree)

        def run(*xs: Any) -> list[Any]:
            outs = flat(*xs)
            check_results(f, "checkify", outs, flat.out_tree)
            return outs

        jaxpr, consts = trace_to_jaxpr(run, avals, debug_info("checkify", f, in_tree))
        trace = CheckifyTrace(current_trace(), enabled)
        try:
            with set_trace(trace):
                outs = eval_jaxpr(jaxpr, consts, *leaves)
        finally:
            trace.alive = False
        return trace.error, pytree.tree_unflatten(flat.out_tree, outs)

    return checked


def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Check that the boolean scalar `pred` holds.

    Under `checkify` a failure becomes part of the error value. On concrete values it raises
    JaxRuntimeError (a ValueError) at once; a program with a check that was not functionalised by
    `checkify` does not compile (ValueError), unless `debug=True`, which leaves the check out.

    `msg` is formatted with the arrays in `fmt_args` and `fmt_kwargs` as by `str.format`. Raises
    TypeError if `pred` is no boolean scalar or the others are no arrays.
    """
    shape, dtype = np.shape(pred), getattr(pred, "dtype", None)
    if not (isinstance(pred, bool) or (shape == () and dtype == np.dtype(bool))):
        raise TypeError(f"check takes a scalar pred as argument, got {pred}")
    leaves, tree = pytree.tree_flatten((fmt_args, fmt_kwargs))
    for x in leaves:
        if not isinstance(x, (Array, np.ndarray, np.generic)):
            raise TypeError(
                "Formatting arguments to checkify.check need to be PyTrees of arrays, but got "
                f"{x!r} of type {type(x)}."
            )
    site = site_of(FailedCheckError, msg, leaves, tree, " (`check` failed)")
    failed = np.bool_(not pred) if isinstance(pred, bool) else ops["not"].bind(pred)
    error = Error(failed, np.int32(site.code), {site.key: leaves}, {site.code: site})
    check_p.bind(*error.leaves, err_tree=error.structure, debug=debug)


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """A `check` that is only done under `checkify` and left out otherwise."""
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


def check_error(error: Error) -> None:
    """Raise the exception of an error value, if it holds one.

    Under `checkify`, the error becomes part of the error of the function around. Raises TypeError
    if `error` is no `Error`.
    """
    if not isinstance(error, Error):
        raise TypeError(f"check_error takes an Error as argument, got type {type(error)} instead.")
    if error._pred is None:
        return
    leaves = error.leaves
    for _ in np.shape(error._pred):
        size = np.shape(leaves[0])[0]
        leaves = one_element(_Sized(size), leaves, [0] * len(leaves))
    check_p.bind(*leaves, err_tree=error.structure, debug=False)


class _Sized:
    def __init__(self, size: int):
        self.size = size


__all__ = ["check", "check_error", "checkify", "debug_check", "init_error"]
