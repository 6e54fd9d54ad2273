"""What the backward pass of a function keeps, and where it comes from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .core import dtypes, pytree
from .core.jaxpr import Jaxpr, JaxprEqn, Literal
from .core.staging import trace_to_jaxpr
from .primitives.naming import name_p
from .transforms.api_util import FlatFun, argument_names, check_arguments, debug_info
from .transforms.autodiff import check_values
from .transforms.linearize import linearize_flat


def saved_residuals(f: Callable, *args: Any, **kwargs: Any) -> list[tuple[Any, str]]:
    """The values that `jax.vjp(f, *args, **kwargs)` keeps, as pairs (aval, where it comes from).

    Nothing is computed. Raises TypeError for arguments or results that are no arrays.
    """
    leaves, in_tree = pytree.tree_flatten((args, kwargs))
    avals = check_arguments(f, leaves, in_tree)
    debug = debug_info("saved_residuals", f, in_tree)
    active = [a.at_least_vspace().dtype != dtypes.float0 for a in avals]
    flat = FlatFun(f, in_tree)

    def checked(*xs: Any) -> list[Any]:
        outs = flat(*xs)
        check_values(outs)
        return outs

    def residuals(*xs: Any) -> list[Any]:
        return linearize_flat(checked, xs, active, debug)[1].residuals

    jaxpr, _ = trace_to_jaxpr(residuals, avals, debug)
    return _sources(jaxpr, argument_names(f, in_tree))


def _sources(jaxpr: Jaxpr, names: list[str]) -> list[tuple[Any, str]]:
    """Constants first, then arguments, then results of equations; each value once."""
    arguments = dict(zip(jaxpr.invars, names, strict=True))
    constants = set(jaxpr.constvars)
    made: dict[Any, JaxprEqn] = {v: e for e in jaxpr.eqns for v in e.outvars}
    seen: set[Any] = set()
    found: tuple[list, list, list] = ([], [], [])
    for a in jaxpr.outvars:
        if type(a) is Literal:
            found[1].append((a.aval, "from a literal value"))
            continue
        if a in seen:
            continue
        seen.add(a)
        if a in arguments:
            found[0].append((a.aval, f"from the argument {arguments[a]}"))
        elif a in constants:
            found[1].append((a.aval, "from a constant"))
        else:
            found[2].append((a.aval, _source(made, a)))
    return [*found[1], *found[0], *found[2]]


def _source(made: dict[Any, JaxprEqn], v: Any) -> str:
    eqn = made[v]
    if eqn.primitive.name == "reduce_precision" and eqn.invars[0] in made:
        # the mark that a policy of checkpoint puts on a value that it saves
        before = made[eqn.invars[0]]
        if before.source_info is eqn.source_info:
            eqn = before
    where = eqn.source_info.summary() if eqn.source_info is not None else ""
    if eqn.primitive is name_p:
        return f"named '{eqn.params['name']}' from {where}"
    if eqn.primitive.calls is not None:
        return f"output of jitted function '{eqn.params['name']}' from {where}"
    return f"output of {eqn.primitive.name} from {where}"


def print_saved_residuals(f: Callable, *args: Any, **kwargs: Any) -> None:
    """Print what `saved_residuals` returns, a line for each value."""
    for aval, source in saved_residuals(f, *args, **kwargs):
        print(f"{aval.str_short()} {source}")


__all__ = ["print_saved_residuals", "saved_residuals"]
