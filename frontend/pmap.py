"""pmap as users call it: a jitted shard_map over one axis."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from ..runtime import ArrayImpl, JitDispatch
from .core import devices as _devices
from .core import eager, placement, pytree
from .core.avals import get_aval
from .core.devices import Device
from .core.mesh import IndivisibleError, Mesh, NamedSharding, PartitionSpec
from .core.trace import Tracer, eval_trace, state
from .lax.structure import expand_dims, squeeze
from .shard_map import shard_map
from .transforms.api_util import check_callable, wraps
from .transforms.jit import JitInfo, Jitted, register
from .transforms.vmap import broadcast_prefix, vmap

#: The name of the mapped axis where the user gives none.
ANONYMOUS = "_internal_pmap_axis_name"


def pmap(
    fun: Callable,
    axis_name: Any = None,
    *,
    in_axes: Any = 0,
    out_axes: Any = 0,
    static_broadcasted_argnums: int | Iterable[int] = (),
    devices: Sequence[Device] | None = None,
    backend: str | None = None,
    axis_size: int | None = None,
    donate_argnums: int | Iterable[int] = (),
) -> Any:
    """Run `fun` on several devices at once, on one slice of its arguments each.

    Args:
      axis_name: name under which collectives such as `lax.psum` refer to the mapped axis.
      in_axes: which axis of each argument to map: an int, None (every device gets the whole), or a
        tuple with an entry per positional argument, each a pytree prefix of the argument.
        Keyword arguments are mapped over axis 0.
      out_axes: where the mapped axis goes in the results; a pytree prefix of the output. None:
        the devices have equal results, and one is returned.
      static_broadcasted_argnums: arguments that are compile-time constants; they must be hashable.
      devices: on which to run; by default the first ones.
      axis_size: size of the mapped axis; checked.
      donate_argnums: arguments whose memory may be taken over.

    Results stay on their devices, so that the next call moves nothing. Inside of another pmap the
    mapped axis is vectorized. Raises ValueError for axes that do not fit and for more devices than
    there are.
    """
    check_callable(fun)
    if backend not in (None, "cpu"):
        _devices.devices(backend)
    static = _positions(static_broadcasted_argnums)
    donated = _positions(donate_argnums)
    for leaf in pytree.tree_leaves(in_axes):
        if not isinstance(leaf, int):
            raise TypeError(
                "pmap in_axes must be an int, None, or (nested) container with those types as "
                f"leaves, but got {in_axes}."
            )
    for leaf in pytree.tree_leaves(out_axes):
        if not isinstance(leaf, int):
            raise TypeError(
                "pmap out_axes must be an int, None, or (nested) container with those types as "
                f"leaves, but got {out_axes}."
            )
    if devices is not None:
        devices = list(devices)
        if not devices:
            raise ValueError("'devices' argument to pmap must be non-empty, or None.")
    name = ANONYMOUS if axis_name is None else axis_name

    def split(args: tuple, kwargs: dict) -> tuple[list[Any], list[Any], Any]:
        """Leaves and mapped axes of the dynamic arguments, and their tree."""
        fixed = {i + len(args) if i < 0 else i for i in static}
        dynamic = tuple(a for i, a in enumerate(args) if i not in fixed)
        axes = in_axes
        if isinstance(axes, (tuple, list)) and len(axes) == len(args):
            axes = tuple(a for i, a in enumerate(axes) if i not in fixed)
        elif isinstance(axes, list):
            axes = tuple(axes)
        leaves, tree = pytree.tree_flatten((dynamic, kwargs))
        dims = broadcast_prefix(axes, dynamic, "pmap in_axes") if dynamic else []
        dims += [0] * (len(leaves) - len(dims))
        return leaves, dims, tree

    def mesh_for(leaves: Sequence[Any], dims: Sequence[Any], local: bool = False) -> Mesh:
        """The devices to run on. If `local`, the arguments are this process' part."""
        size = None
        for x, d in zip(leaves, dims, strict=True):
            if d is None:
                continue
            shape = np.shape(x) if not hasattr(x, "shape") else x.shape
            if not -len(shape) <= d < len(shape):
                raise _no_axis(d, shape)
            size = shape[d]
            break
        if size is None:
            raise ValueError("pmap requires at least one argument with a mapped axis.")
        if axis_size is not None and axis_size != size and not local:
            raise ValueError(
                f"Specified axis_size {axis_size} doesn't match received axis_size {size}."
            )
        every = _devices.devices() if devices is None else devices
        if local:
            return _mesh_of_processes(size, every, name, axis_size)
        if size > len(every):
            raise _too_many(size, every, name)
        return Mesh(np.asarray(every[:size], dtype=object), name)

    @wraps(fun)
    def _fun(*args: Any, **kwargs: Any) -> Any:
        fixed = {i + len(args) if i < 0 else i: args[i] for i in static}
        leaves, dims, tree = split(args, kwargs)
        mesh = mesh_for(leaves, dims)
        size, axis = mesh.size, mesh.axis_names[0]
        specs = []
        for x, d in zip(leaves, dims, strict=True):
            shape = get_aval(x).shape
            if d is None:
                specs.append(PartitionSpec())
                continue
            if not -len(shape) <= d < len(shape):
                raise _no_axis(d, shape)
            spec = PartitionSpec(*[None] * (d % len(shape)), axis)
            if shape[d] % size:
                NamedSharding(mesh, spec).shard_shape(shape)
            if shape[d] != size:
                raise ValueError(
                    "cannot select an axis to squeeze out which has size not equal to one, got "
                    f"shape={(*shape[:d], shape[d] // size, *shape[d + 1 :])} and dimensions=({d},)"
                )
            specs.append(spec)
        out_dims: list[Any] = []
        out_tree: list[Any] = []

        def call(*xs: Any) -> Any:
            parts = [
                x if d is None else squeeze(x, (d % np.ndim(x),))
                for x, d in zip(xs, dims, strict=True)
            ]
            dynamic, kw = pytree.tree_unflatten(tree, parts)
            it = iter(dynamic)
            full = [fixed[i] if i in fixed else next(it) for i in range(len(args))]
            out = fun(*full, **kw)
            outs, otree = pytree.tree_flatten(out)
            out_dims[:] = broadcast_prefix(out_axes, out, "pmap out_axes")
            out_tree[:] = [otree]
            return outs

        if _inside_mapped():
            outs = vmap(
                lambda *xs: call(*[_with_axis(x, d) for x, d in zip(xs, dims, strict=True)]),
                in_axes=tuple(dims),
                axis_name=name,
                axis_size=size,
            )(*leaves)
            outs = [_moved(o, d) for o, d in zip(outs, out_dims, strict=True)]
            return pytree.tree_unflatten(out_tree[0], outs)

        def body(*xs: Any) -> Any:
            outs = call(*xs)
            for o in outs:
                try:
                    get_aval(o)
                except TypeError:
                    raise TypeError(
                        f"Argument '{o}' of type {type(o)} is not a valid JAX type"
                    ) from None
            placed, out_specs[:] = [], []
            for o, d in zip(outs, out_dims, strict=True):
                if d is None:
                    placed.append(o)
                    out_specs.append(PartitionSpec())
                    continue
                rank = np.ndim(o) + 1
                if not -rank <= d < rank:
                    raise ValueError(f"axis {d} is out of bounds for array of dimension {rank}")
                placed.append(expand_dims(o, (d % rank,)))
                out_specs.append(PartitionSpec(*[None] * (d % rank), axis))
            return placed

        out_specs: list[Any] = []
        outs = shard_map(
            body,
            mesh=mesh,
            in_specs=tuple(specs),
            out_specs=out_specs,
            check_vma=False,
        )(*leaves)
        return pytree.tree_unflatten(out_tree[0], outs)

    _fun.__name__ = "_fun"
    info = JitInfo(
        _fun,
        static_argnums=static or None,
        static_argnames=None,
        donate_argnums=donated or None,
        donate_argnames=None,
        keep_unused=False,
        inline=False,
    )

    def multi_process() -> bool:
        """Whether devices of other processes take part."""
        chosen = _devices.devices() if devices is None else devices
        return not all(_devices.is_local(d) for d in chosen)

    jitted = _Pmapped(info, split, mesh_for, multi_process)
    wrapped = JitDispatch(jitted.miss, fun, info.static_argnums, info.static_argnames)
    register(wrapped, fun, jitted)
    return wrapped


class _Pmapped(Jitted):
    """A jitted function that brings its arguments to its devices, wherever they are."""

    def __init__(
        self,
        info: JitInfo,
        split: Callable[..., Any],
        mesh_for: Callable[..., Any],
        multi_process: Callable[[], bool],
    ):
        super().__init__(info)
        self.split, self.mesh_for, self.multi_process = split, mesh_for, multi_process

    def miss(self, args: tuple, kwargs: dict) -> tuple[Any, Any]:
        leaves, dims, tree = self.split(args, kwargs)
        if not _inside_mapped():
            if self.multi_process():
                mesh = self.mesh_for(leaves, dims, local=True)
                return self._with_others(args, leaves, dims, tree, mesh), None
            mesh = self.mesh_for(leaves, dims)
            place = lambda x: _placed(x, mesh)  # noqa: E731
            fixed = self.info.static_argnums
            n = len(args)
            fixed = {i + n if i < 0 else i for i in fixed}
            args = tuple(a if i in fixed else pytree.tree_map(place, a) for i, a in enumerate(args))
            kwargs = {k: pytree.tree_map(place, v) for k, v in kwargs.items()}
        return super().miss(args, kwargs)

    def _with_others(
        self, args: tuple, leaves: Sequence[Any], dims: Sequence[Any], tree: Any, mesh: Mesh
    ) -> Any:
        """The results' parts that are here, from the parts of the arguments that are here."""
        if state.trace is not eval_trace or any(isinstance(x, Tracer) for x in leaves):
            raise NotImplementedError(
                "a pmap over devices of several processes cannot be transformed or traced: transform "
                "the function inside of pmap, or use shard_map"
            )
        axis = mesh.axis_names[0]
        placed = [
            _placed(x, mesh)
            if d is None
            else placement.to_global(
                eager.as_array(x), mesh, PartitionSpec(*[None] * (d % np.ndim(x)), axis)
            )
            for x, d in zip(leaves, dims, strict=True)
        ]
        dynamic, kwargs = pytree.tree_unflatten(tree, placed)
        it = iter(dynamic)
        fixed = {i + len(args) if i < 0 else i for i in self.info.static_argnums}
        args = tuple(a if i in fixed else next(it) for i, a in enumerate(args))
        result, _ = super().miss(args, kwargs)
        return pytree.tree_map(lambda x: placement.to_local(x, mesh, x.sharding.spec), result)


def _mesh_of_processes(size: int, every: Sequence[Device], name: Any, axis_size: Any) -> Mesh:
    """The mesh of a pmap over several processes, each of which gives its devices' part."""
    own = sum(_devices.is_local(d) for d in every)
    if size != own:
        raise ValueError(
            f"pmap over the devices of several processes maps an axis whose size is the number of "
            f"devices of this process, {own}, in each of them; got an axis of size {size}"
        )
    if axis_size not in (None, len(every)):
        raise ValueError(
            f"Specified axis_size {axis_size} doesn't match the {len(every)} devices of all processes."
        )
    return Mesh(np.asarray(every, dtype=object), name)


def _placed(x: Any, mesh: Mesh) -> Any:
    """An argument that is committed to other devices, uncommitted."""
    if type(x) is not ArrayImpl or not x._committed:
        return x
    if x.devices() == set(mesh.device_list):
        return x
    out = x._alias(device_id=_devices.number_of(mesh.local_devices[0]))
    out._committed = False
    return out


def _inside_mapped() -> bool:
    """Whether this is traced for the devices of another pmap or shard_map."""
    return bool(state.manual_axes)


def _with_axis(x: Any, d: int | None) -> Any:
    return x if d is None else expand_dims(x, (d % (np.ndim(x) + 1),))


def _moved(x: Any, d: int | None) -> Any:
    from .lax.structure import transpose

    rank = np.ndim(x)
    if d is None:
        return x[0]
    if d % rank == 0:
        return x
    order = list(range(1, rank))
    order.insert(d % rank, 0)
    return transpose(x, order)


def _positions(nums: Any) -> tuple[int, ...]:
    return (nums,) if isinstance(nums, int) else tuple(nums)


def _no_axis(d: int, shape: tuple) -> ValueError:
    need = d + 1 if d >= 0 else -d
    return ValueError(
        f"pmap was requested to map its argument along axis {d}, which implies that its rank should "
        f"be at least {need}, but is only {len(shape)} (its shape is {shape})"
    )


def _too_many(size: int, every: Sequence[Device], name: Any) -> ValueError:
    return IndivisibleError(
        f"pmap was called on arrays whose mapped axis has size {size}, but there are only "
        f"{len(every)} devices to map it over ({', '.join(map(str, every))}). The number of CPU "
        "devices is set before the first use: config.update('jax_num_cpu_devices', n), the "
        "environment variable JAX_NUM_CPU_DEVICES, or "
        "XLA_FLAGS=--xla_force_host_platform_device_count=n."
    )


def device_put_replicated(x: Any, devices: Sequence[Device]) -> Any:
    """The arrays of a pytree, with a new first axis, on every one of the devices."""
    from .placement import device_put

    if not isinstance(devices, Sequence) or not devices:
        raise ValueError(
            "`devices` argument to `device_put_replicated must be a non-empty sequence."
        )
    mesh = Mesh(np.asarray(list(devices), dtype=object), ANONYMOUS)
    sharding = NamedSharding(mesh, PartitionSpec(ANONYMOUS))

    def put(leaf: Any) -> Any:
        leaf = device_put(leaf)
        parts = [placement.place(leaf._alias(shape=(1, *leaf.shape)), d) for d in devices]
        return placement.assemble((len(devices), *leaf.shape), sharding, parts)

    return pytree.tree_map(put, x)


def device_put_sharded(shards: Sequence[Any], devices: Sequence[Device]) -> Any:
    """Pytrees of arrays, one for each device, stacked along a new first axis, each on its device."""
    from .placement import device_put

    if not isinstance(shards, Sequence):
        raise TypeError(f"device_put_sharded `shards` input must be a sequence; got {type(shards)}")
    if len(shards) != len(devices) or not devices:
        raise ValueError(
            f"len(shards) = {len(shards)} must equal len(devices) = {len(devices)}, and not be 0."
        )
    mesh = Mesh(np.asarray(list(devices), dtype=object), ANONYMOUS)
    sharding = NamedSharding(mesh, PartitionSpec(ANONYMOUS))

    def put(*leaves: Any) -> Any:
        arrays = [device_put(x) for x in leaves]
        first = arrays[0]
        if any(a.aval != first.aval for a in arrays):
            got = ", ".join(a.aval.str_short(long=True) for a in arrays)
            raise ValueError(
                f"the shards passed to device_put_sharded must have equal types, got {got}"
            )
        parts = [
            placement.place(a._alias(shape=(1, *a.shape)), d)
            for a, d in zip(arrays, devices, strict=True)
        ]
        return placement.assemble((len(devices), *first.shape), sharding, parts)

    return pytree.tree_map(put, *shards)


__all__ = ["device_put_replicated", "device_put_sharded", "pmap"]
