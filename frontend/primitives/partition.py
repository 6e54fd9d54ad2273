"""Partitioning: from a jaxpr over whole arrays to what each device of a mesh does on its parts.

The jaxpr is run with its values in parts. Each value has *cuts*: for each dimension the mesh axes
that it is cut over. A primitive runs on parts where its `partition` rule says how (elementwise
ones need none); otherwise its operands are gathered, every device computes the whole, and the
reason is noted. Moving a value to other cuts gathers dimensions and takes slices.

A rule is `partition(part, primitive, args, cuts, params) -> (results, cuts of the results)` or
None where it does not apply.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..core import source_info
from ..core.avals import ShapedArray, get_aval
from ..core.jaxpr import ClosedJaxpr, Jaxpr, Literal, subjaxprs
from ..core.mesh import Mesh, PartitionSpec, axes_of
from ..core.staging import trace_to_closed
from ..core.trace import axis_size, extend_axis_env
from ..transforms import spmd
from .collectives import all_gather_p, axis_index_p
from .declare import batch_elementwise, ops

Cuts = tuple[tuple, ...]


def cuts_of(spec: Any, rank: int) -> Cuts:
    """The cuts of an array of `rank` dimensions that a PartitionSpec describes."""
    cuts = tuple(axes_of(p) for p in spec)
    return (*cuts, *[()] * (rank - len(cuts)))


def spec_of(cuts: Cuts) -> PartitionSpec:
    """The PartitionSpec without trailing Nones."""
    entries = list(cuts)
    while entries and not entries[-1]:
        entries.pop()
    return PartitionSpec(*entries)


def whole(rank: int) -> Cuts:
    """The cuts of a value that every device has."""
    return ((),) * rank


def position(axes: Sequence[Any]) -> Any:
    """The device's place along several axes, the first one varying slowest."""
    out: Any = None
    for name in axes:
        i = axis_index_p.bind(axis_name=name)
        if out is None:
            out = i
        else:
            out = ops["add"].bind(ops["mul"].bind(out, np.int32(axis_size(name))), i)
    return out


def recut(x: Any, have: Cuts, want: Cuts) -> Any:
    """A device's part of a value under other cuts."""
    if have == want:
        return x
    kept = [_common(h, w) for h, w in zip(have, want, strict=True)]
    for d, (h, k) in enumerate(zip(have, kept, strict=True)):
        if len(h) > k:
            names = h[k:]
            x = all_gather_p.bind(
                x,
                all_gather_dimension=d,
                axis_index_groups=None,
                axis_name=names,
                axis_size=math.prod(axis_size(n) for n in names),
                tiled=True,
            )
    if all(len(w) == k for w, k in zip(want, kept, strict=True)):
        return x
    shape = get_aval(x).shape
    sizes, starts = list(shape), [np.int32(0)] * len(shape)
    for d, (w, k) in enumerate(zip(want, kept, strict=True)):
        if len(w) > k:
            sizes[d] //= math.prod(axis_size(n) for n in w[k:])
            starts[d] = ops["mul"].bind(position(w[k:]), np.int32(sizes[d]))
    return ops["dynamic_slice"].bind(x, *starts, slice_sizes=tuple(sizes))


def _common(a: tuple, b: tuple) -> int:
    n = 0
    while n < min(len(a), len(b)) and a[n] == b[n]:
        n += 1
    return n


class Part:
    """The state of partitioning one jaxpr."""

    def __init__(self, mesh: Mesh):
        self.mesh = mesh
        self.reasons: dict[str, spmd.Reason] = {}

    def divides(self, shape: Sequence[int], cuts: Cuts) -> bool:
        """Whether a shape can be cut so."""
        sizes = self.mesh.shape
        return all(
            n % math.prod(sizes[a] for a in c) == 0 for n, c in zip(shape, cuts, strict=True)
        )

    def run(
        self, jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any], cuts: Sequence[Cuts]
    ) -> tuple[list[Any], list[Cuts]]:
        """The results of a jaxpr on parts, and their cuts."""
        env: dict[Any, Any] = dict(zip(jaxpr.invars, args, strict=True))
        at: dict[Any, Cuts] = dict(zip(jaxpr.invars, cuts, strict=True))
        for v, c in zip(jaxpr.constvars, consts, strict=True):
            env[v], at[v] = c, whole(len(v.aval.shape))

        def read(a: Any) -> tuple[Any, Cuts]:
            if type(a) is Literal:
                return a.val, ()
            return env[a], at[a]

        for eqn in jaxpr.eqns:
            pairs = [read(a) for a in eqn.invars]
            with source_info.user_context(eqn.source_info):
                outs, out_cuts = self.apply(
                    eqn.primitive, [x for x, _ in pairs], [c for _, c in pairs], eqn
                )
            env.update(zip(eqn.outvars, outs, strict=True))
            at.update(zip(eqn.outvars, out_cuts, strict=True))
        results = [read(a) for a in jaxpr.outvars]
        return [x for x, _ in results], [c for _, c in results]

    def apply(
        self, primitive: Any, args: list[Any], cuts: list[Cuts], eqn: Any
    ) -> tuple[Sequence[Any], Sequence[Cuts]]:
        """One equation on parts."""
        params = eqn.params
        if tells_of_parts(eqn) or (primitive.partition is not None and any(any(c) for c in cuts)):
            found = primitive.partition(self, primitive, args, cuts, params)
            if found is not None:
                return found
        if primitive.calls == "jaxpr":
            closed = params["jaxpr"]
            return self.run(closed.jaxpr, closed.consts, args, cuts)
        if primitive.batch is batch_elementwise:
            found = self.elementwise(primitive, args, cuts, params)
            if found is not None:
                return found
        gathered = [i for i, c in enumerate(cuts) if any(c)]
        if gathered:
            self.note(primitive, "no rule says how it runs on parts that are cut like these")
            args = list(args)
            for i in gathered:
                args[i] = recut(args[i], cuts[i], whole(len(cuts[i])))
        outs = primitive.bind(*args, **self.inside(params))
        outs = outs if primitive.multiple_results else [outs]
        return outs, [whole(len(v.aval.shape)) for v in eqn.outvars]

    def note(self, primitive: Any, why: str) -> None:
        """Say why a value is gathered."""
        reason = spmd.Reason(primitive.name, source_info.current(), why)
        self.reasons.setdefault(str(reason), reason)

    def elementwise(self, primitive: Any, args: list[Any], cuts: list[Cuts], params: dict) -> Any:
        """Elementwise: operands are brought to the cuts of the one that is cut most."""
        found = self.aligned(args, cuts)
        if found is None:
            return None
        moved, best = found
        out = primitive.bind(*moved, **params)
        if primitive.multiple_results:
            return out, [best] * len(out)
        return [out], [best]

    def aligned(self, args: list[Any], cuts: list[Cuts]) -> tuple[list[Any], Cuts] | None:
        """Operands of one shape (but for scalars and dimensions of size 1, which are repeated), each
        dimension cut as in the operand where it is cut most; None where none is cut."""
        rank = max(len(c) for c in cuts) if cuts else 0
        sizes = []
        for x, c in zip(args, cuts, strict=True):
            s = get_aval(x).shape
            sizes.append(tuple(n * self.count(k) for n, k in zip(s, c, strict=True)))
        full = tuple(max(s[d] for s in sizes if s) for d in range(rank))
        best: list[tuple] = []
        for d in range(rank):
            taken = {n for c in best for n in c}
            choices = [c[d] for c in cuts if c and not taken & set(c[d])]
            best.append(max(choices, key=len, default=()))
        if not any(best):
            return None
        moved = []
        for x, c, s in zip(args, cuts, sizes, strict=True):
            want = tuple(best[d] if n == full[d] else () for d, n in enumerate(s))
            moved.append(recut(x, c, want) if c else x)
        return moved, tuple(best)

    def count(self, axes: Sequence[Any]) -> int:
        """Number of parts along some axes."""
        sizes = self.mesh.shape
        return math.prod(sizes[a] for a in axes)

    def inside(self, params: dict) -> dict:
        """Parameters whose jaxprs are run by every device on whole values."""
        if not any(wants_rules(j) for j in subjaxprs(params)):
            return params
        return {k: self._inside(v) for k, v in params.items()}

    def _inside(self, v: Any) -> Any:
        if isinstance(v, (tuple, list)):
            return type(v)(self._inside(x) for x in v)
        if isinstance(v, ClosedJaxpr) and wants_rules(v.jaxpr):
            return v.derived(("on whole values", self.mesh), lambda: self._on_whole(v))
        if isinstance(v, Jaxpr) and wants_rules(v):
            return self._on_whole(ClosedJaxpr(v, ())).jaxpr
        return v

    def _on_whole(self, closed: ClosedJaxpr) -> ClosedJaxpr:
        ins = [whole(len(a.shape)) for a in closed.in_avals]

        def f(*xs: Any) -> list[Any]:
            outs, cuts = self.run(closed.jaxpr, closed.consts, xs, ins)
            return [recut(o, c, whole(len(c))) for o, c in zip(outs, cuts, strict=True)]

        return trace_to_closed(f, closed.in_avals, closed.jaxpr.debug_info)


def names_one(eqn: Any) -> bool:
    """Whether an equation names a mesh itself."""
    p = eqn.primitive
    return p.mesh_of is not None and p.mesh_of(eqn.params) is not None


def tells_of_parts(eqn: Any) -> bool:
    """Whether an equation's rule is wanted even if its operands are whole: it names a mesh, or is
    there for nothing but its rule."""
    return names_one(eqn) or (eqn.primitive.partition is not None and not eqn.outvars)


def wants_rules(jaxpr: Jaxpr) -> bool:
    """Whether a jaxpr has, at any depth, equations whose rules are wanted in any case."""
    for eqn in jaxpr.eqns:
        if tells_of_parts(eqn):
            return True
        if any(wants_rules(j) for j in subjaxprs(eqn.params)):
            return True
    return False


# --- a whole program ---------------------------------------------------------------------------


def wanted_specs(jaxpr: Jaxpr) -> dict[Any, PartitionSpec]:
    """For variables that an equation wants cut in one way, the first such way."""
    out: dict[Any, PartitionSpec] = {}
    for eqn in jaxpr.eqns:
        p = eqn.primitive
        if p.wants is not None:
            specs: Any = p.wants(eqn.params)
        elif p.calls == "jaxpr":
            inner = wanted_specs(eqn.params["jaxpr"].jaxpr)
            specs = [inner.get(v) for v in eqn.params["jaxpr"].jaxpr.invars]
        else:
            continue
        for a, s in zip(eqn.invars, specs, strict=True):
            if s is not None and type(a) is not Literal:
                out.setdefault(a, s)
    return out


def partition(
    closed: ClosedJaxpr,
    mesh: Mesh,
    in_specs: Sequence[PartitionSpec | None],
    out_specs: Sequence[PartitionSpec | None],
) -> spmd.Partitioned:
    """What each device does. Inputs without a spec are cut as their first reader wants them."""
    ops.complete()  # among them the rules, in partition_rules.py
    wanted = wanted_specs(closed.jaxpr)
    chosen = []
    for v, s in zip(closed.jaxpr.invars, in_specs, strict=True):
        spec = wanted.get(v, s)
        chosen.append(cuts_of(PartitionSpec() if spec is None else spec, len(v.aval.shape)))
    part = Part(mesh)
    found: list[Cuts] = []

    def f(*xs: Any) -> list[Any]:
        outs, cuts = part.run(closed.jaxpr, closed.consts, xs, chosen)
        results = []
        for o, c, w in zip(outs, cuts, out_specs, strict=True):
            want = c if w is None else cuts_of(w, len(c))
            results.append(recut(o, c, want))
            found.append(want)
        return results

    sizes = mesh.shape
    avals = [part_aval(v.aval, c, sizes) for v, c in zip(closed.jaxpr.invars, chosen, strict=True)]
    with extend_axis_env(mesh.shape_tuple):
        local = trace_to_closed(f, avals, closed.jaxpr.debug_info)
    return spmd.Partitioned(
        local,
        [spec_of(c) for c in chosen],
        [spec_of(c) for c in found],
        list(part.reasons.values()),
    )


def part_aval(aval: ShapedArray, cuts: Cuts, sizes: Any) -> ShapedArray:
    """The aval of one device's part."""
    shape = [n // math.prod(sizes[a] for a in c) for n, c in zip(aval.shape, cuts, strict=True)]
    return aval.update(shape=tuple(shape))


spmd.partition = partition

__all__ = ["Part", "cuts_of", "part_aval", "recut", "spec_of", "whole"]
