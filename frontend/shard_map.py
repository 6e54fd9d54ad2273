"""shard_map as users call it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

from .core import pytree
from .core.avals import get_aval
from .core.mesh import Mesh, PartitionSpec, axes_of, context
from .core.staging import trace_to_jaxpr
from .core.tracebacks import boundary
from .primitives.shard_map import local_aval, scope, shard_map_p
from .primitives.varying import vma_of
from .transforms import spmd
from .transforms.api_util import (
    FlatFun,
    argument_names,
    check_callable,
    debug_info,
    fun_name,
    wraps,
)
from .transforms.jit import hoist_tracers
from .transforms.vmap import broadcast_prefix


class Infer:
    """Says that the specs of the arguments are those of the arrays that are passed."""

    def __repr__(self) -> str:
        return "Infer"


#: Default of `in_specs`.
INFER = Infer()


def shard_map(
    f: Callable | None = None,
    /,
    *,
    out_specs: Any,
    in_specs: Any = INFER,
    mesh: Mesh | None = None,
    axis_names: Any = frozenset(),
    check_vma: bool = True,
) -> Any:
    """Run `f` on every device of a mesh, on the parts of the arguments that the device has.

    Args:
      out_specs: PartitionSpecs, a pytree prefix of the result: how the devices' results make up the
        whole ones. Along axes that are not named all devices have the same result.
      in_specs: PartitionSpecs, a pytree prefix of the arguments: how they are cut. By default as
        the arrays that are passed are.
      mesh: by default the mesh in context.
      axis_names: the axes that `f` is mapped over; by default all of the mesh's.
      check_vma: check that results are equal where `out_specs` says so.

    In `f` the axes of the mesh are named axes for collectives. Raises ValueError for specs that do
    not fit, and where results are not known to be equal.
    """
    if f is None:
        return functools.partial(
            shard_map,
            out_specs=out_specs,
            in_specs=in_specs,
            mesh=mesh,
            axis_names=axis_names,
            check_vma=check_vma,
        )
    check_callable(f)
    return _shard_map(f, mesh, in_specs, out_specs, axis_names, check_vma)


def legacy_shard_map(
    f: Callable, mesh: Mesh, in_specs: Any, out_specs: Any, check_rep: bool = True, **kwargs: Any
) -> Any:
    """`shard_map` with its older arguments; `check_rep` is `check_vma`."""
    check_callable(f)
    return _shard_map(
        f, mesh, in_specs, out_specs, frozenset(), kwargs.pop("check_vma", check_rep), **kwargs
    )


def _is_spec(x: Any) -> bool:
    return isinstance(x, PartitionSpec)


def _check_specs(what: str, specs: Any, manual: frozenset) -> None:
    for s in pytree.tree_leaves(specs, is_leaf=lambda x: x is None or _is_spec(x)):
        if s is None:
            continue
        if not _is_spec(s):
            raise TypeError(
                f"shard_map {what} argument must be a pytree of `jax.sharding.PartitionSpec` "
                f"instances, but:\n  {what} is {s} of type {type(s).__name__}, \nCheck the {what} "
                "values passed to shard_map."
            )
        for name in s.names():
            if name not in manual:
                raise ValueError(
                    f"shard_map {what} argument must refer to an axis marked as manual ({manual}), "
                    f"but:\n  {what} refers to {name!r}\nCheck the {what} values passed to "
                    "shard_map."
                )


def _spec_prefix(specs: Any, tree: Any, what: str) -> list[Any]:
    leaves = broadcast_prefix(specs, tree, f"shard_map {what}")
    return [PartitionSpec() if s is None else s for s in leaves]


def _shard_map(
    f: Callable,
    mesh: Mesh | None,
    in_specs: Any,
    out_specs: Any,
    axis_names: Any,
    check_vma: bool,
) -> Any:
    if mesh is not None and not isinstance(mesh, Mesh):
        raise TypeError(f"shard_map requires a `jax.sharding.Mesh` instance, got {mesh!r}")

    @wraps(f)
    @boundary
    def wrapped(*args: Any) -> Any:
        where = mesh or context.mesh()
        if where is None:
            raise ValueError(
                "The context mesh cannot be empty. Use `jax.set_mesh(mesh)` to enter into a mesh "
                "context"
            )
        manual = frozenset(axis_names) or frozenset(where.axis_names)
        if not manual <= frozenset(where.axis_names):
            raise ValueError(
                f"jax.shard_map requires axis_names={set(manual)} to be a subset of "
                f"mesh.axis_names={where.axis_names}"
            )
        if in_specs is not INFER:
            _check_specs("in_specs", in_specs, manual)
        _check_specs("out_specs", out_specs, manual)
        leaves, in_tree = pytree.tree_flatten((args, {}))
        if in_specs is INFER:
            specs = [_own_spec(x, where) for x in leaves]
        else:
            wanted = tuple(in_specs) if isinstance(in_specs, list) else in_specs
            if _is_spec(wanted) or wanted is None:
                specs = [PartitionSpec() if wanted is None else wanted] * len(leaves)
            else:
                specs = _spec_prefix(wanted, args, "in_specs")
        avals = []
        for i, (x, s) in enumerate(zip(leaves, specs, strict=True)):
            try:
                aval = get_aval(x)
            except TypeError:
                raise TypeError(
                    f"Argument '{x}' of type {type(x)} is not a valid JAX type"
                ) from None
            _check_fits(f, in_tree, i, aval, s, where)
            avals.append(local_aval(aval, s, where, check_vma))
        params = {
            "mesh": where,
            "newly_manual_axes": manual,
            "check_vma": bool(check_vma),
            "in_specs": tuple(specs),
        }
        flat = FlatFun(f, in_tree)
        wanted_out: list[Any] = []

        def body(*xs: Any) -> list[Any]:
            outs = flat(*xs)
            for o in outs:
                try:
                    get_aval(o)
                except TypeError:
                    raise TypeError(
                        f"Argument '{o}' of type {type(o)} is not a valid JAX type"
                    ) from None
            tree = pytree.tree_unflatten(flat.out_tree, outs)
            wanted_out[:] = _spec_prefix(out_specs, tree, "out_specs")
            for o, s in zip(outs, wanted_out, strict=True):
                _check_out(f, get_aval(o), s)
            if check_vma:
                _check_replication(f, outs, wanted_out, where, manual)
            return outs

        with scope(params):
            jaxpr, consts = trace_to_jaxpr(body, avals, debug_info("shard_map", f, in_tree))
            closed, hoisted = hoist_tracers(jaxpr, consts)
        params["in_specs"] = (*[PartitionSpec()] * len(hoisted), *specs)
        outs = shard_map_p.bind(
            *hoisted, *leaves, jaxpr=closed, out_specs=tuple(wanted_out), **params
        )
        return pytree.tree_unflatten(flat.out_tree, outs)

    return wrapped


def _own_spec(x: Any, mesh: Mesh) -> PartitionSpec:
    return spmd.spec_on(mesh, x) or PartitionSpec()


def _check_fits(f: Any, tree: Any, i: int, aval: Any, spec: PartitionSpec, mesh: Mesh) -> None:
    shape = aval.shape
    name = fun_name(f)
    if len(spec) > len(shape):
        raise ValueError(
            f"shard_map applied to the function '{name}' was given an in_specs entry which is too "
            f"long to be compatible with the corresponding input value from the function:\nin_specs "
            f"is {spec} which has length {len(spec)}, but the passed {argument_names(f, tree)[i]} "
            f"has shape {aval.str_short(long=True)}, which has rank {len(shape)} (and {len(shape)} "
            f"< {len(spec)})\nEntries in in_specs must be of length no greater than the number of "
            "axes in the corresponding input value.\nEither revise the spec to be shorter, or "
            f"modify '{name}' so that its inputs have sufficient rank."
        )
    for d, p in enumerate(spec):
        names = axes_of(p)
        n = math.prod(mesh.shape[a] for a in names)
        if shape[d] % n:
            axes = repr(names[0]) if len(names) == 1 else repr(names)
            raise ValueError(
                f"shard_map applied to the function '{name}' was given argument arrays with axis "
                "sizes that are not evenly divisible by the corresponding mesh axis sizes:\nThe "
                f"mesh given has shape {mesh.axis_sizes} with corresponding axis names "
                f"{mesh.axis_names}.\nthe passed {argument_names(f, tree)[i]} of shape "
                f"{aval.str_short(long=True)} corresponds to in_specs of value {spec}, which maps "
                f"array axis {d} (of size {shape[d]}) to mesh axis {axes} (of size {n}), but {n} "
                f"does not evenly divide {shape[d]}\nArray arguments' axis sizes must be evenly "
                "divisible by the mesh axis or axes indicated by the corresponding elements of the "
                "argument's in_specs entry. Consider checking that in_specs are correct, and if so "
                "consider changing the mesh axis sizes or else padding the input and adapting "
                f"'{name}' appropriately."
            )


def _check_replication(
    f: Any, outs: Sequence[Any], specs: Sequence[PartitionSpec], mesh: Mesh, manual: frozenset
) -> None:
    bad = []
    for o, s in zip(outs, specs, strict=True):
        varies = vma_of(o)
        wrong = [n for n in mesh.axis_names if n in varies and n not in s.names()]
        if wrong:
            need = [repr(n) for n in mesh.axis_names if n in manual and n not in s.names()]
            known = [repr(n) for n in mesh.axis_names if n in manual and n not in varies]
            got = (
                f"could infer replication only over {', '.join(known)}"
                if known
                else "could not infer replication over any axes"
            )
            bad.append(
                f"out_specs is {s} which implies that the corresponding output value is replicated "
                f"across mesh ax{'is' if len(need) == 1 else 'es'} {', '.join(need)}, but {got}"
            )
    if bad:
        raise ValueError(
            f"shard_map applied to the function '{fun_name(f)}' was given out_specs which require "
            "replication which can't be statically inferred given the mesh:\n\nThe mesh given has "
            f"shape {mesh.axis_sizes} with corresponding axis names {mesh.axis_names}.\n\n"
            + "\n\n".join(bad)
            + "\n\nCheck if these output values are meant to be replicated over those mesh axes. If "
            "not, consider revising the corresponding out_specs entries. If so, consider disabling "
            "the check by passing the check_vma=False argument to `jax.shard_map`."
        )


def _check_out(f: Any, aval: Any, spec: PartitionSpec) -> None:
    rank = len(aval.shape)
    if len(spec) > rank:
        name = fun_name(f)
        hint = (
            "\nFor scalar values (rank 0), consider using an out_specs entry of `P()`, where `P = "
            "jax.sharding.PartitionSpec`. In particular, for rank 0 outputs which are not constant "
            "over the mesh, add at least one (singleton) axis to them so that they can be "
            "concatenated using out_specs."
            if not rank
            else ""
        )
        raise ValueError(
            f"shard_map applied to the function '{name}' was given an out_specs entry which is too "
            "long to be compatible with the corresponding output value from the function:\n"
            f"out_specs is {spec} which has length {len(spec)}, but {name}(*args) has shape "
            f"{aval.str_short(long=True)}, which has rank {rank} (and {rank} < {len(spec)})\n"
            "Entries in out_specs must be of length no greater than the number of axes in the "
            "corresponding output value.\nEither revise the spec to be shorter, or modify "
            f"'{name}' so that its outputs have sufficient rank.{hint}"
        )


__all__ = ["INFER", "legacy_shard_map", "shard_map"]
