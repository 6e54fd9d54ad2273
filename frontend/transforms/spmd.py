"""Programs that run on several devices: one local program, on each device's part of the arrays.

A jitted function becomes one where its jaxpr names a mesh (shard_map, sharding constraints) or an
argument is an array on several devices. The jaxpr is rewritten to what one device does, with
collectives (`partition`, set by primitives/partition.py), and compiled as any other program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from ...runtime import ArrayImpl, SpmdExecutable
from ..core import config, dtypes, eager, placement, source_info
from ..core.devices import number_of, process_index
from ..core.jaxpr import ClosedJaxpr, subjaxprs
from ..core.log import log
from ..core.mesh import Mesh, NamedSharding, PartitionSpec
from ..core.primitive import Primitive, registry
from ..core.staging import trace_to_closed
from .programs import _from_physical as from_physical
from .programs import _plain as is_plain
from .programs import lower_on_devices, remarks_of


class Reason(NamedTuple):
    """Why an operation is computed on whole arrays."""

    operation: str
    source: source_info.SourceInfo
    why: str

    def __str__(self) -> str:
        where = f" at {self.source.summary()}" if self.source.summary() else ""
        return f"{self.operation}{where}: operands are gathered: {self.why}"


class Partitioned:
    """What partitioning a jaxpr gives: the local jaxpr, where its inputs and outputs are cut, and
    why operations run on whole arrays."""

    def __init__(
        self,
        local: ClosedJaxpr,
        in_specs: Sequence[PartitionSpec],
        out_specs: Sequence[PartitionSpec],
        reasons: Sequence[Reason],
    ):
        self.local, self.in_specs, self.out_specs = local, tuple(in_specs), tuple(out_specs)
        self.reasons = tuple(reasons)


def _unset(*args: Any) -> Any:
    registry.complete()  # which sets `partition`
    return partition(*args)


#: (closed jaxpr, mesh, in_specs or None each, out_specs or None each) -> Partitioned.
partition: Callable[..., Partitioned] = _unset


class OnDevices:
    """The compiled local program, which is run on all devices."""

    def __init__(self, local: Any, executable: SpmdExecutable):
        self._local, self.executable = local, executable

    def execute(self, arguments: Sequence[ArrayImpl]) -> list[ArrayImpl]:
        """Run on whole arrays."""
        return self.executable.execute(arguments)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._local, name)


class SpmdProgram:
    """A closed jaxpr compiled for the devices of a mesh. See `programs.Program`.

    `reasons` says which operations are computed on whole arrays, and why.
    """

    def __init__(
        self,
        closed: ClosedJaxpr,
        name: str,
        mesh: Mesh,
        in_specs: Sequence[PartitionSpec | None],
        out_specs: Sequence[PartitionSpec | None],
        donated: Sequence[bool],
        options: Sequence[tuple[str, Any]] = (),
    ):
        self.name, self.mesh, self.closed = name, mesh, closed
        self.in_avals, self.out_avals = closed.in_avals, closed.out_avals
        parts = partition(closed, mesh, in_specs, out_specs)
        self.partitioned, self.reasons = parts, parts.reasons
        for reason in parts.reasons:
            log.debug("%s: %s", name, reason)
        live = {id(a) for e in parts.local.eqns for a in e.invars}
        live |= {id(a) for a in parts.local.jaxpr.outvars}
        local = parts.local.jaxpr
        self.kept = tuple(i for i, v in enumerate(local.invars) if id(v) in live)
        self.donated = tuple(donated) or (False,) * len(closed.in_avals)
        self.lowered = lower_on_devices(
            parts.local.replace(jaxpr=local.replace(invars=[local.invars[i] for i in self.kept])),
            name,
            tuple(options),
            mesh.shape_tuple,
        )
        self.local = self.lowered.compile()
        self.in_layouts = [_layout(mesh, parts.in_specs[i], self.in_avals[i]) for i in self.kept]
        self.out_layouts = [
            _layout(mesh, s, a) for s, a in zip(parts.out_specs, self.out_avals, strict=True)
        ]
        executable = SpmdExecutable(
            self.local.executable,
            [number_of(d) for d in mesh.local_devices],
            self.in_layouts,
            self.out_layouts,
            donated=[k for k, i in enumerate(self.kept) if self.donated[i]],
            independent=not _meets(parts.local.jaxpr),
            **_places(mesh, name, parts.local.jaxpr),
        )
        self.compiled = OnDevices(self.local, executable)
        self.in_shardings = [NamedSharding(mesh, s) for s in parts.in_specs]
        self.out_shardings = [NamedSharding(mesh, s) for s in parts.out_specs]
        self.plain_out = is_plain(self.out_avals)

    def why(self) -> Any:
        """What keeps the program from being faster: see `lowering.Remark`."""
        return remarks_of(self.lowered, self.reasons)

    def __call__(self, args: Sequence[Any], again: Any = None) -> list[Any]:
        """Run on concrete arrays, which are brought to the devices where they are not there."""
        ins = []
        for i in self.kept:
            x = args[i]
            if type(x) is not ArrayImpl:
                base = getattr(x, "_base_array", None)
                x = eager.from_numpy(eager.to_numpy(x), self.in_avals[i]) if base is None else base
            ins.append(x)
        outs = self.compiled.executable.execute(ins)
        if not self.plain_out:
            outs = [from_physical(o, a) for o, a in zip(outs, self.out_avals, strict=True)]
        if config.debug_nans.value or config.debug_infs.value:
            eager.check_finite(f"the jitted function {self.name}", outs)
        return outs


def _places(mesh: Mesh, name: str, local: Any) -> dict[str, Any]:
    """What the runtime must know of the devices of other processes."""
    names = [d.id for d in mesh.device_list]
    if not mesh.is_multi_process:
        return {"names": names}
    import zlib

    # Equal in all processes that run one program, unlike for those of another.
    avals = [v.aval.str_short() for v in local.invars]
    operations = [e.primitive.name for e in local.eqns]
    text = repr((name, mesh.shape_tuple, avals, operations))
    return {
        "names": names,
        "processes": [d.process_index for d in mesh.device_list],
        "process": process_index(),
        "program": zlib.crc32(text.encode()),
    }


def _meets(jaxpr: Any) -> bool:
    """Whether a local jaxpr has collectives."""
    for eqn in jaxpr.eqns:
        names = eqn.primitive.axis_names
        if eqn.invars and names is not None and names(eqn.params):
            return True
        if any(_meets(j) for j in subjaxprs(eqn.params)):
            return True
    return False


def _layout(mesh: Mesh, spec: PartitionSpec, aval: Any) -> Any:
    """The layout of the buffers of arrays of an aval."""
    shape = tuple(aval.shape)
    if dtypes.is_extended(aval.dtype):
        shape += tuple(aval.dtype.physical_shape)
    return placement.layout(NamedSharding(mesh, spec), shape)


# --- which programs ----------------------------------------------------------------------------


def mesh_of(closed: ClosedJaxpr) -> Mesh | None:
    """The mesh that a jaxpr names, at any depth, or None.

    Raises ValueError where it names meshes of different devices.
    """

    def make() -> Mesh | None:
        found: Mesh | None = None
        for mesh in _meshes(closed.jaxpr):
            if found is None:
                found = mesh
            elif found.device_list != mesh.device_list:
                raise ValueError(
                    "Received incompatible devices for jitted computation: the program names the "
                    f"meshes {found} with device ids {[d.id for d in found.device_list]} and "
                    f"{mesh} with device ids {[d.id for d in mesh.device_list]}"
                )
        return found

    return closed.derived("mesh", make)


def _meshes(jaxpr: Any) -> Any:
    for eqn in jaxpr.eqns:
        if eqn.primitive.mesh_of is not None:
            mesh = eqn.primitive.mesh_of(eqn.params)
            if mesh is not None:
                yield mesh
                continue
        for sub in subjaxprs(eqn.params):
            yield from _meshes(sub)


def _mesh_of_arguments(args: Sequence[Any]) -> Mesh | None:
    for x in args:
        base = getattr(x, "_base_array", x)
        if type(base) is ArrayImpl and base._layout is not None:
            sharding = base._layout.sharding
            if isinstance(sharding, NamedSharding):
                return sharding.mesh
    return None


def spec_on(mesh: Mesh, x: Any) -> PartitionSpec | None:
    """How an argument lies on a mesh, or None where it does not."""
    base = getattr(x, "_base_array", x)
    if type(base) is not ArrayImpl or base._layout is None:
        return None
    s = base._layout.sharding
    if not isinstance(s, NamedSharding) or s.mesh.device_list != mesh.device_list:
        return None
    if s.mesh.shape_tuple == mesh.shape_tuple:
        return s.spec
    if s.mesh.axis_sizes == mesh.axis_sizes:
        rename = dict(zip(s.mesh.axis_names, mesh.axis_names, strict=True))
        return PartitionSpec(
            *[
                tuple(rename[n] for n in p) if isinstance(p, tuple) else rename.get(p)
                for p in s.spec
            ]
        )
    return None


def program_for(
    closed: ClosedJaxpr,
    name: str,
    args: Sequence[Any],
    donated: tuple[bool, ...] = (),
    options: tuple = (),
    out_specs: tuple[PartitionSpec | None, ...] | None = None,
    names: Sequence[str] | None = None,
) -> SpmdProgram | None:
    """The program for these arguments if it is one of several devices, else None.

    Raises ValueError for arguments that are committed to other devices than the program's.
    """
    mesh = mesh_of(closed) or _mesh_of_arguments(args)
    if mesh is None:
        return None
    _check_devices(mesh, name, args, names)
    in_specs = tuple(spec_on(mesh, x) for x in args)
    if out_specs is None:
        out_specs = (None,) * len(closed.out_avals)
    return closed.derived(
        ("spmd", mesh, in_specs, out_specs, donated, options),
        lambda: SpmdProgram(closed, name, mesh, in_specs, out_specs, donated, options),
    )


def _check_devices(mesh: Mesh, name: str, args: Sequence[Any], names: Sequence[str] | None) -> None:
    wanted = set(mesh.device_list)
    for i, x in enumerate(args):
        base = getattr(x, "_base_array", x)
        if type(base) is not ArrayImpl or not base._committed or base.devices() == wanted:
            continue
        others = [a for a in args if type(a) is ArrayImpl and a.devices() == wanted]
        if others:
            raise eager.incompatible_devices(name, args, names)
        label = names[i] if names else str(i)
        raise ValueError(
            f"Received incompatible devices for jitted computation. Got argument {label} of {name} "
            f"with shape {base.aval.str_short(long=True)} and with device ids "
            f"{sorted(d.id for d in base.devices())} on platform CPU and shard_map inside jit with "
            f"device ids {[d.id for d in mesh.device_list]} on platform CPU"
        )


# --- single primitives on arrays of several devices -----------------------------------------------


def run_sharded(primitive: Primitive, args: Sequence[Any], avals: tuple, params: dict) -> Any:
    """Run one primitive eagerly where an argument is on several devices."""
    key: Any
    try:
        key = (primitive, avals, tuple(params.items()), config.trace_key())
        closed = _eager.get(key)
    except TypeError:
        key, closed = None, None
    if closed is None:

        def f(*xs: Any) -> Any:
            r = primitive.bind(*xs, **params)
            return r if primitive.multiple_results else [r]

        closed = trace_to_closed(f, avals)
        if key is not None:
            if len(_eager) >= 1024:
                _eager.pop(next(iter(_eager)))
            _eager[key] = closed
    ins = [eager.as_array(a) for a in args]
    program = program_for(closed, primitive.name, ins)
    assert program is not None
    outs = program(ins)
    return outs if primitive.multiple_results else outs[0]


def reshard_across(x: ArrayImpl, where: NamedSharding) -> ArrayImpl:
    """An array that other processes have parts of in another sharding of the same devices.

    All processes must call it. Raises ValueError for other devices.
    """
    own = placement.sharding_of_array(x)
    if not isinstance(where, NamedSharding) or own.device_list != where.device_list:
        raise ValueError(
            f"an array of several processes, which is laid out as {own!r}, can only be laid out anew "
            f"on the same devices, not as {where!r}"
        )
    closed = trace_to_closed(lambda y: [y], (x.aval,))
    specs = (spec_on(where.mesh, x),), (where.spec,)
    program = SpmdProgram(closed, "reshard", where.mesh, *specs, ())
    (out,) = program([x])
    return out


_eager: dict[Any, ClosedJaxpr] = {}
placement.reshard_across = reshard_across
eager.run_sharded = run_sharded

__all__ = ["Partitioned", "SpmdProgram", "mesh_of", "program_for", "run_sharded"]
