"""jit with shardings of arguments and results, or for a device."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..runtime import ArrayImpl, JitDispatch
from .core import eager, placement, pytree
from .core.devices import Device, Sharding, SingleDeviceSharding, number_of
from .core.mesh import NamedSharding, PartitionSpec, context
from .core.trace import eval_trace, state
from .placement import with_sharding_constraint
from .transforms.api_util import UNSPECIFIED, check_callable, wraps
from .transforms.jit import JitInfo, Jitted, register
from .transforms.vmap import broadcast_prefix


def _is_leaf(x: Any) -> bool:
    return x is None or x is UNSPECIFIED or isinstance(x, (Sharding, PartitionSpec))


def check_shardings(what: str, tree: Any) -> bool:
    """Whether shardings are given. Raises TypeError for anything else."""
    leaves = pytree.tree_leaves(tree, is_leaf=_is_leaf)
    for leaf in leaves:
        if not _is_leaf(leaf):
            raise TypeError(
                f"{what} leaf specifications are expected to be PartitionSpec instances or None, "
                f"but got {leaf}"
            )
    return any(isinstance(leaf, (Sharding, PartitionSpec)) for leaf in leaves)


def _resolved(what: str, s: Any) -> Any:
    """A sharding, or None where there is none."""
    if s is UNSPECIFIED:
        return None
    if isinstance(s, PartitionSpec):
        mesh = context.mesh()
        if mesh is None:
            raise RuntimeError(
                f"jit requires a non-empty mesh in context if you are passing `PartitionSpec`s to "
                f"{what}. You can define a context mesh via `jax.set_mesh(mesh)`. Alternatively, "
                "provide `Sharding`s to shardings and then the mesh context manager is not "
                "required."
            )
        return NamedSharding(mesh, s)
    return s


def _constrain(x: Any, s: Any) -> Any:
    return with_sharding_constraint(x, s) if isinstance(s, NamedSharding) else x


def make_sharded_jit(
    fun: Callable[..., Any], in_shardings: Any, out_shardings: Any, device: Any, options: dict
) -> Any:
    """The jitted function whose arguments and results lie as the shardings say."""
    check_callable(fun)
    if device is not None:
        if not isinstance(device, Device):
            raise TypeError(f"device must be a Device, got {device!r}")
        in_shardings = out_shardings = SingleDeviceSharding(device)
    info = JitInfo(fun, **options)

    def split(args: tuple) -> list[Any]:
        """The shardings of the leaves of the dynamic positional arguments."""
        static = {i + len(args) if i < 0 else i for i in info.static_argnums}
        dynamic = tuple(a for i, a in enumerate(args) if i not in static)
        wanted = tuple(in_shardings) if isinstance(in_shardings, list) else in_shardings
        if isinstance(wanted, tuple) and len(wanted) != len(dynamic):
            raise ValueError(
                "pjit in_shardings specification must be a tree prefix of the positional arguments "
                "tuple. In particular, pjit in_shardings must either be a Sharding, a "
                "PartitionSpec, or a tuple of length equal to the number of positional arguments. "
                f"But pjit in_shardings is the wrong length: got a tuple or list of length "
                f"{len(wanted)} for an args tuple of length {len(dynamic)}."
            )
        if _is_leaf(wanted):
            leaves = [wanted] * len(pytree.tree_leaves(dynamic))
        else:
            leaves = broadcast_prefix(wanted, dynamic, "pjit in_shardings")
        return [_resolved("in_shardings", s) for s in leaves]

    @wraps(fun)
    def constrained(*args: Any, **kwargs: Any) -> Any:
        static = {i + len(args) if i < 0 else i for i in info.static_argnums}
        it = iter(split(args))
        placed = [
            a if i in static else pytree.tree_map(lambda x: _constrain(x, next(it)), a)
            for i, a in enumerate(args)
        ]
        out = fun(*placed, **kwargs)
        if _is_leaf(out_shardings):
            s = _resolved("out_shardings", out_shardings)
            return pytree.tree_map(lambda x: _constrain(x, s), out)
        leaves, tree = pytree.tree_flatten(out)
        wanted = broadcast_prefix(out_shardings, out, "pjit out_shardings")
        return pytree.tree_unflatten(
            tree,
            [
                _constrain(x, _resolved("out_shardings", s))
                for x, s in zip(leaves, wanted, strict=True)
            ],
        )

    inner = JitInfo(constrained, **options)
    jitted = _Sharded(inner, split, out_shardings)
    wrapped = JitDispatch(jitted.miss, fun, inner.static_argnums, inner.static_argnames)
    register(wrapped, fun, jitted)
    return wrapped


class _Sharded(Jitted):
    """A jitted function that checks where its arguments are."""

    def __init__(self, info: JitInfo, split: Callable[..., Any], out_shardings: Any):
        super().__init__(info)
        self.split = split
        outs = pytree.tree_leaves(out_shardings, is_leaf=_is_leaf)
        self.out_device = next((s for s in outs if isinstance(s, SingleDeviceSharding)), None)

    def miss(self, args: tuple, kwargs: dict) -> tuple[Any, Any]:
        if state.trace is not eval_trace:
            return super().miss(args, kwargs)
        static = {i + len(args) if i < 0 else i for i in self.info.static_argnums}
        shardings = self.split(args)
        it = iter(shardings)
        args = tuple(
            a if i in static else pytree.tree_map(lambda x: _at(x, next(it)), a)
            for i, a in enumerate(args)
        )
        devices = [s for s in shardings if isinstance(s, SingleDeviceSharding)]
        where = devices[0] if devices else self.out_device
        if where is None:
            return super().miss(args, kwargs)
        result, _ = eager.on_device(number_of(where._device), super().miss, args, kwargs)
        if self.out_device is not None:
            result = pytree.tree_map(
                lambda x: placement.place(x, self.out_device) if type(x) is ArrayImpl else x, result
            )
        return result, None  # the compiled call path knows no device


def _at(x: Any, s: Any) -> Any:
    """An argument at its place. Raises ValueError if it is committed to another one."""
    if s is None or type(x) is not ArrayImpl:
        return x
    if not x._committed:
        return placement.place(x, s) if isinstance(s, SingleDeviceSharding) else x
    own = placement.sharding_of_array(x)
    if not own.is_equivalent_to(s, x.ndim):
        raise ValueError(
            "Sharding passed to jit does not match the sharding on the respective arg. Got jit "
            f"sharding: {s!r},\narg sharding: {own!r} for arg type: {x.aval.str_short(long=True)}"
        )
    return x


__all__ = ["check_shardings", "make_sharded_jit"]
