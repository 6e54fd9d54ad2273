"""Emission state: values, groups of elementwise equations, constants, ops written so far."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .groups import Group, boxes_of, compute_again, write_boxes
from .registry import ELEMENTWISE, EMITTERS
from .repeats import Repeats
from .scalar import ScalarBuilder
from .text import ModuleText
from .types import ElementType, buffer_form, element_type, tensor_type
from .uses import analyse
from .values import ARGUMENT, EMPTY, GROUP, IOTA, SCALAR, SPLAT, TENSOR, VIEW, Value

__all__ = ["EmitContext", "apply_row", "from_index"]

_MISSING = object()


# A loop with more than this is slower than two: its code leaves the cache of decoded instructions,
# and its iterations no longer overlap. LLVM's time grows faster than its size, too.
ELEMENTARY_COST = 48
MAX_GROUP_COST = 1000


class EmitContext(ModuleText):
    """Writes one function. Emitters get it as their first argument; see this folder's README."""

    def __init__(self, options: Mapping[str, Any] | None = None, *, locations: bool = True) -> None:
        super().__init__()
        self.locations_wanted = locations
        self.options = options or {}  # what emitters may depend on beside the jaxpr
        self.where: Any = None  # source info of the equation being emitted
        self.repeats = Repeats()
        self.collectives = 0  # number of collectives emitted so far
        self._identity: dict[int, tuple[str, str]] = {}
        self._journal: list[tuple] | None = None
        self._open: dict[int, Group] = {}
        self._held: list[Value] = []  # made by the emitter that is running
        self._use_counts: dict[int, tuple[Any, dict]] = {}
        self.functions: dict[Any, str] = {}  # what is called -> its name

    def nested(self) -> EmitContext:
        """Writes another function of the same module."""
        inner = EmitContext(self.options, locations=self.locations_wanted)
        inner.maps, inner.locations, inner.callbacks = self.maps, self.locations, self.callbacks
        inner.declared, inner.definitions = self.declared, self.definitions
        inner.functions, inner.repeats = self.functions, self.repeats
        inner.collectives, inner._use_counts = self.collectives, self._use_counts
        return inner

    # ---- reading values ----------------------------------------------------------------------

    def tensor(self, value: Value) -> str:
        """Materialises `value` (any kind) as a tensor of its exact shape; returns the SSA name."""
        kind = value.kind
        if kind == TENSOR:
            return value.name
        if kind == GROUP:
            self.flush(value.group)
            return value.name
        if kind == ARGUMENT:
            name = self.name()
            mode = "restrict writable" if value.writable else "restrict"
            memref = value.tensor_type.replace("tensor<", "memref<", 1)
            self.entry.append(
                f"{name} = bufferization.to_tensor {value.name} {mode} "
                f": {memref} to {value.tensor_type}"
            )
            value.kind, value.name = TENSOR, name
            return name
        if kind == SCALAR:
            b = self.scalars()
            stored = b.store(value.name, value.type)
            name = b(f"tensor.from_elements {stored} : {value.tensor_type}")
            scalar = value.name
            self._become(value, name)
            value.scalar = scalar
            return name
        if kind == EMPTY:
            name = self.op(f"tensor.empty() : {value.tensor_type}")
        elif kind == SPLAT:
            b = self.scalars()
            stored = b.store(value.name, value.type)
            name = self.fill(stored, value.shape, value.type.storage)
        else:  # VIEW, IOTA
            group = Group(value.shape)
            result = self._read(group, value)
            made = Value(value.shape, value.type, GROUP, result)
            made.group, made.uses = group, 1
            group.values.append(made)
            self.flush(group)
            name = made.name
        self._become(value, name)
        return name

    def _become(self, value: Value, name: str) -> None:
        if self._journal is not None:
            self._journal.append((value, value.kind, value.name, value.scalar))
        value.kind, value.name = TENSOR, name

    def scalar(self, value: Value) -> str:
        """The element of a rank-0 `value` in register form."""
        if value.kind == SCALAR:
            return value.name
        if value.scalar is not None:
            return value.scalar
        if value.shape != ():
            raise ValueError(f"a value of shape {value.shape} is not a scalar")
        if value.kind == ARGUMENT:
            b = ScalarBuilder(self, self.entry)
            loaded = b(f"memref.load {value.name}[] : memref<{value.type.storage}>")
            # The tensor form is seldom wanted as well; both may exist.
            value.scalar = b.load(loaded, value.type)
            return value.scalar
        # a view without dimensions reads the only element of its base
        source = value.base if value.kind == VIEW else value
        name = self.tensor(source)
        b = self.scalars()
        at = ", ".join([self.index(0)] * source.ndim)
        element = b(f"tensor.extract {name}[{at}] : {source.tensor_type}")
        loaded = b.load(element, value.type)
        if self._journal is not None:
            self._journal.append((value, value.kind, value.name, value.scalar))
        value.scalar = loaded
        return loaded

    def index_scalar(self, value: Value) -> str:
        """The element of a rank-0 integer `value` as an ``index``."""
        x = self.scalar(value)
        cast = "arith.index_cast" if value.type.kind == "i" else "arith.index_castui"
        return self.op(f"{cast} {x} : {value.type.register} to index")

    # ---- making values -----------------------------------------------------------------------

    def new(self, name: str, shape: Sequence[int], dtype: Any) -> Value:
        """The Value of an SSA tensor of storage type that an emitter has just written."""
        t = dtype if isinstance(dtype, ElementType) else element_type(dtype)
        return Value(tuple(shape), t, TENSOR, name)

    def new_scalar(self, name: str, dtype: Any) -> Value:
        """The rank-0 Value of an SSA scalar in register form."""
        t = dtype if isinstance(dtype, ElementType) else element_type(dtype)
        return Value((), t, SCALAR, name)

    def empty(self, shape: Sequence[int], element: str) -> str:
        """``tensor.empty`` with element type text `element`."""
        return self.op(f"tensor.empty() : {tensor_type(tuple(shape), element)}")

    def fill(self, scalar: str, shape: Sequence[int], element: str) -> str:
        """A new tensor filled with an SSA scalar of type text `element`."""
        type = tensor_type(tuple(shape), element)
        empty = self.empty(shape, element)
        return self.op(f"linalg.fill ins({scalar} : {element}) outs({empty} : {type}) -> {type}")

    def view(self, value: Value, shape: tuple[int, ...], dims: tuple[int | None, ...]) -> Value:
        """`value` broadcast to `shape` without emitting anything.

        ``dims[k]`` is the dimension of the result that dimension k of `value` follows; None (only
        for a dimension of size 1) means index 0.
        """
        if 0 in shape:
            return Value(shape, value.type, EMPTY)
        if not value.shape:
            made = Value(shape, value.type, SPLAT if shape else SCALAR, self.scalar(value))
            made.literal = value.literal if value.kind == SCALAR else None
            return made
        if value.kind == SPLAT:
            made = Value(shape, value.type, SPLAT if shape else SCALAR, value.name)
            made.literal = value.literal
            return made
        if value.kind == IOTA and dims[value.dims] is not None:
            made = Value(shape, value.type, IOTA)
            made.dims = dims[value.dims]
            return made
        if value.kind == GROUP:
            self.flush(value.group)
        base = value
        if value.kind == VIEW:
            base = value.base
            dims = tuple([None if d is None else dims[d] for d in value.dims])
        made = Value(shape, value.type, VIEW)
        made.base = base
        made.dims = dims
        return made

    def iota(self, shape: tuple[int, ...], dtype: Any, dimension: int) -> Value:
        """Indices along `dimension`."""
        if 0 in shape:
            return Value(shape, element_type(dtype), EMPTY)
        made = Value(shape, element_type(dtype), IOTA)
        made.dims = dimension
        return made

    def generic(
        self,
        inputs: Sequence[tuple[str, str, str]],
        outputs: Sequence[tuple[str, str, str]],
        iterators: Sequence[str],
        body: Callable[..., Sequence[str]],
        attributes: str = "",
    ) -> list[str]:
        """One linalg.generic; returns the names of its results.

        `inputs` and `outputs` are (SSA name, tensor type, map alias); `body(builder, *elements)`
        writes the body with storage-type elements, inputs first, and returns what to yield.
        """
        lines: list[str] = []
        b = ScalarBuilder(self, lines, self.loc)
        operands = [*inputs, *outputs]
        names = [self.name() for _ in operands]
        types = [_element_text(type) for _, type, _ in operands]
        results = body(b, *names)
        return self.write_one_generic(
            inputs,
            outputs,
            _iterator_text(iterators),
            [f"{n}: {t}" for n, t in zip(names, types, strict=True)],
            lines,
            results,
            types[len(inputs) :],
            attributes,
        )

    def write_generic(
        self,
        inputs: Sequence[tuple[str, str, str]],
        outputs: Sequence[tuple[str, str, str]],
        iterators: Sequence[str],
        arguments: Sequence[str],
        lines: list[str],
        results: Sequence[str],
    ) -> list[str]:
        """Like `generic`, with the body's lines, block arguments ("%x: f32") and results given."""
        yielded = [_element_text(type) for _, type, _ in outputs]
        return self.write_one_generic(
            inputs, outputs, _iterator_text(iterators), arguments, lines, results, yielded
        )

    def write_one_generic(
        self, inputs, outputs, iterators, arguments, lines, results, yielded, attributes=""
    ) -> list[str]:
        out = self.lines
        name = self.name()
        maps = ", ".join([m for _, _, m in inputs] + [m for _, _, m in outputs])
        result_types = ", ".join([type for _, type, _ in outputs])
        ins = ""
        if inputs:
            ins = (
                f" ins({', '.join([n for n, _, _ in inputs])}"
                f" : {', '.join([type for _, type, _ in inputs])})"
            )
        prefix = name if len(outputs) == 1 else f"{name}:{len(outputs)}"
        attrs = f" attrs = {{{attributes}}}" if attributes else ""
        out.append(
            f"{prefix} = linalg.generic {{indexing_maps = [{maps}], iterator_types = "
            f"[{iterators}]}}{ins} outs({', '.join([n for n, _, _ in outputs])}"
            f" : {result_types}){attrs} {{"
        )
        out.append(f"^bb0({', '.join(arguments)}):")
        out.extend(lines)
        out.append(f"linalg.yield {', '.join(results)} : {', '.join(yielded)}{self.loc}")
        arrow = result_types if len(outputs) == 1 else f"({result_types})"
        out.append(f"}} -> {arrow}{self.loc}")
        if len(outputs) == 1:
            return [name]
        return [f"{name}#{i}" for i in range(len(outputs))]

    # ---- elementwise equations ---------------------------------------------------------------

    def identity(self, rank: int) -> tuple[str, str]:
        """Alias of the identity map of `rank`, and the text of that many parallel iterators."""
        found = self._identity.get(rank)
        if found is None:
            found = self._identity[rank] = (
                self.map(range(rank), rank),
                ", ".join(['"parallel"'] * rank),
            )
        return found

    def elementwise(
        self,
        compute: Callable[[ScalarBuilder, list[str]], str],
        operands: Sequence[Value],
        shape: tuple[int, ...],
        t: ElementType,
    ) -> Value:
        """An elementwise result: ``compute(builder, registers)`` for each element.

        Operands broadcast: rank 0, or equal rank with dimensions equal or 1. The equation joins
        the open group of its operands (two such groups become one), or opens one. For use in
        emitters: the result counts as still to be read until the current emitter returns.
        """
        made = self.unheld(compute, operands, shape, t)
        self._add_uses(made, 1)
        self._held.append(made)
        return made

    def unheld(
        self,
        compute: Callable[[ScalarBuilder, list[str]], str],
        operands: Sequence[Value],
        shape: tuple[int, ...],
        t: ElementType,
    ) -> Value:
        """`elementwise` without that count."""
        if 0 in shape:
            return Value(shape, t, EMPTY)
        loc = self.loc
        if not shape:
            b = ScalarBuilder(self, self.lines, loc)
            return Value((), t, SCALAR, compute(b, [self.scalar(v) for v in operands]))
        group: Group | None = None
        uniform = True
        for v in operands:
            kind = v.kind
            if kind == GROUP:
                uniform = False
                g = v.group
                if v.shape != shape:
                    continue
                if group is None:
                    group = g
                elif g is not group:
                    group = self._merge(group, g)
            elif kind != SPLAT and v.shape:
                uniform = False
        if uniform:
            b = ScalarBuilder(self, self.lines, loc)
            registers = [v.name if v.kind == SPLAT else self.scalar(v) for v in operands]
            return Value(shape, t, SPLAT, compute(b, registers))
        if group is not None and group.cost > MAX_GROUP_COST:
            self.flush(group)
            group = None
        if group is None:
            group = Group(shape)
            self._open[id(group)] = group
        registers = [self._read(group, v) for v in operands]
        before = len(group.lines)
        made = Value(shape, t, GROUP, compute(ScalarBuilder(self, group.lines, loc), registers))
        for line in group.lines[before:]:
            group.cost += ELEMENTARY_COST if " = math." in line else 1
        made.group = group
        group.values.append(made)
        return made

    def _read(self, group: Group, v: Value) -> str:
        """Register name of operand `v` inside the body of `group`."""
        kind = v.kind
        if kind == GROUP:
            if v.group is group:
                return v.name
            self.flush(v.group)
        elif kind in (SCALAR, SPLAT):
            return v.name
        elif kind == IOTA:
            if v.shape[v.dims] != group.shape[v.dims]:
                return self.register_constant(0, v.type)
            key = (v.dims, v.type)
            found = group.reads.get(key)
            if found is None:
                b = ScalarBuilder(self, group.lines, self.loc)
                index = b(f"linalg.index {v.dims} : index")
                found = group.reads[key] = from_index(b, index, v.type)
            return found
        if not v.shape:
            return self.scalar(v)
        shape = group.shape
        base, dims = v, None
        if kind == VIEW:
            base, dims = v.base, v.dims
        if v.shape != shape:
            if dims is None:
                dims = range(len(shape))
            dims = tuple([None if d is None or v.shape[d] != shape[d] else d for d in dims])
        name = self.tensor(base)
        key = (name, dims)
        found = group.reads.get(key)
        if found is None:
            t = v.type
            rank = len(shape)
            map = self.identity(rank)[0] if dims is None else self.map(dims, rank)
            argument = self.name()
            block_argument = f"{argument}: {t.storage}"
            group.args.append((name, base.tensor_type, map, block_argument, base, dims))
            group.split |= base.parts is not None and dims is None
            found = argument
            if t.boxed:
                found = ScalarBuilder(self, group.lines, self.loc).load(argument, t)
            group.reads[key] = found
        return found

    def _merge(self, a: Group, b: Group) -> Group:
        """One open group out of two over the same shape."""
        if len(a.lines) < len(b.lines):
            a, b = b, a
        a.args += b.args
        a.cost += b.cost
        a.lines += b.lines
        a.pending += b.pending
        a.split |= b.split
        for key, name in b.reads.items():
            a.reads.setdefault(key, name)
        for v in b.values:
            v.group = a
        a.values += b.values
        del self._open[id(b)]
        return a

    def absorb(
        self, operands: Sequence[Value], shape: tuple[int, ...]
    ) -> tuple[list[tuple[str, str, str]], list[str], list[str], list[str]]:
        """Operands of `shape` as the start of the body of a generic over `shape`.

        Returns inputs, block arguments, body lines and one register per operand. A group whose
        results nobody but the current equation reads moves into the body; it is never written.
        What is cheap is computed again for the others.
        """
        group = None
        others: list[Value] = []
        first = operands[0]
        if first.kind == GROUP and first.shape == shape:
            group = first.group
            mine = set(map(id, operands))
            for v in group.values:
                reads = sum([v is w for w in operands]) if id(v) in mine else 0
                if v.uses + v.outputs != reads:
                    if v.again is None or reads:
                        group = None
                        break
                    others.append(v)
        if group is None:
            group = Group(shape)
        else:
            del self._open[id(group)]
            for v in others:
                compute_again(v)
        registers = [self._read(group, v) for v in operands]
        self._cover(group)
        inputs = [a[:3] for a in group.args]
        return inputs, [a[3] for a in group.args], group.lines, registers

    def _cover(self, group: Group) -> None:
        """Adds an input that is never read for the dimensions that no input has: the results of a
        reduction do not have all of them either, and linalg takes the extents from the operands."""
        missing = set(range(len(group.shape)))
        for key in group.reads:
            dims = key[1]
            if type(key[0]) is str:
                missing = missing.difference(dims) if dims is not None else set()
        if missing:
            kept = sorted(missing)
            shape = tuple([group.shape[d] for d in kept])
            name, map = self.empty(shape, "i8"), self.map(kept, len(group.shape))
            made = self.new(name, shape, np.int8)
            group.args.append(
                (name, made.tensor_type, map, f"{self.name()}: i8", made, tuple(kept))
            )

    def converted(self, value: Value, t: ElementType) -> Value:
        """`value` as dtype `t`, elementwise."""
        if value.type is t:
            return value
        source = value.type
        row = ELEMENTWISE["convert_element_type"].raw
        return self.elementwise(lambda b, xs: row(b, [source], t, xs, {}), [value], value.shape, t)

    def flush(self, group: Group) -> None:
        """Writes an open group as one linalg.generic that yields what is still going to be read."""
        self._open.pop(id(group), None)
        live = [v for v in group.values if v.uses + v.outputs > 0]
        group.values = []
        if not live:
            return
        shape = group.shape
        identity, iterators = self.identity(len(shape))
        b = ScalarBuilder(self, group.lines, self.loc)
        results = [b.store(v.name, v.type) for v in live]
        if group.split and (boxes := boxes_of(group)):
            write_boxes(self, group, live, results, boxes)
            return
        types, outputs = [], []
        for v in live:
            types.append(v.type.storage)
            type = v.tensor_type
            outputs.append((self.op(f"tensor.empty() : {type}"), type, identity))
        arguments = [a[3] for a in group.args] + [f"{self.name()}: {t}" for t in types]
        names = self.write_one_generic(
            [a[:3] for a in group.args],
            outputs,
            iterators,
            arguments,
            group.lines,
            results,
            types,
        )
        for v, name in zip(live, names, strict=True):
            v.kind, v.name, v.group = TENSOR, name, None

    def part(self, value: Value) -> Value:
        """`value`, a tensor, as a part of a concatenation."""
        made = self.new(value.name, value.shape, value.type)
        made.parts = value.parts
        return made

    def flush_all(self) -> None:
        """Writes every open group."""
        for group in list(self._open.values()):
            self.flush(group)

    @property
    def in_region(self) -> bool:
        """Whether what is written is the body of a region, a loop's for example."""
        return self._journal is not None

    @contextlib.contextmanager
    def region(self) -> Iterator[list[str]]:
        """Redirects ops into a fresh list, the body of a region of an op written afterwards.

        What is materialised inside is forgotten outside; open groups are written before.
        """
        self.flush_all()
        saved_lines, saved_journal, saved_open = self.lines, self._journal, self._open
        self.lines, self._journal, self._open = [], [], {}
        try:
            yield self.lines
        finally:
            for value, kind, name, scalar in reversed(self._journal):
                value.kind, value.name, value.scalar = kind, name, scalar
            self.lines, self._journal, self._open = saved_lines, saved_journal, saved_open

    # ---- jaxprs ------------------------------------------------------------------------------

    def inline(
        self, closed: Any, operands: Sequence[Value], consts: Sequence[Value] = ()
    ) -> list[Value]:
        """Emits the equations of a jaxpr (closed or not) here, with `operands` as its arguments."""
        jaxpr = getattr(closed, "jaxpr", closed)
        if not consts and jaxpr.constvars:
            consts = [
                self.constant(c, v.aval)
                for c, v in zip(closed.consts, jaxpr.constvars, strict=True)
            ]
        return self.run(jaxpr, [*consts, *operands])

    def constant(self, array: Any, aval: Any) -> Value:
        """A captured array as a value of the type `aval`: a constant of the module.

        Typed keys are captured as such; a NumPy array may have a dtype that the program lacks.
        """
        t = element_type(aval.dtype)
        if buffer_form((), t)[0]:
            words = np.asarray(array._base_array)
            return self.dense(words.view(t.dtype).reshape(aval.shape), t)
        return self.dense(np.asarray(array, t.dtype))

    def read(self, env: dict, atom: Any) -> Value:
        """The Value of a jaxpr atom (variable or literal) in `env`."""
        literal = getattr(atom, "val", _MISSING)
        if literal is _MISSING:
            return env[atom]
        return self.literal(literal, atom.aval.dtype)

    def literal(self, value: Any, dtype: Any) -> Value:
        """The Value of a literal of a jaxpr."""
        data = np.asarray(value)
        key = (dtype, data.dtype, data.shape, data.tobytes())
        found = self.literals.get(key)
        if found is None:
            found = self.literals[key] = self.dense(data.astype(element_type(dtype).dtype))
        return found

    def run(self, jaxpr: Any, arguments: Sequence[Value], top: bool = False) -> list[Value]:
        """Emits all equations of an open jaxpr; `arguments` go with constvars, then invars.

        Returns the results. Each argument's use count grows by its uses inside. At the `top` the
        reads by results are counted apart, so that a group that nothing else reads is written.
        """
        live, counts, outs = self._analyse(jaxpr, top)
        env: dict = {}
        variables = [*jaxpr.constvars, *jaxpr.invars]
        for variable, value in zip(variables, arguments, strict=True):
            env[variable] = value
            self._add_uses(value, counts.get(variable, 0))
        saved = self.loc, self.where
        for eqn in live:
            self._equation(eqn, env, counts, outs)
        self.loc, self.where = saved
        results = [self.read(env, atom) for atom in jaxpr.outvars]
        if not top:
            for value in results:
                self._consume(value)
        return results

    def _add_uses(self, value: Value, n: int) -> None:
        value.uses += n
        if value.kind == GROUP:
            value.group.pending += n

    def _consume(self, value: Value) -> None:
        value.uses -= 1
        if value.kind == GROUP:
            value.group.pending -= 1

    def hold(self, values: Sequence[Value]) -> None:
        """Counts one more reader of each value; for emitters that run jaxprs and read the results
        afterwards. `release` takes it back."""
        for value in values:
            self._add_uses(value, 1)

    def keep(self, values: Sequence[Value]) -> None:
        """Leaves it to the end of the current emitter to release `values`, its results."""
        self._held.extend(values)

    def release(self, values: Sequence[Value]) -> None:
        """Takes back one reader of each value."""
        for value in values:
            self._consume(value)
        self._close(values)

    def _analyse(self, jaxpr: Any, top: bool) -> tuple[list, dict, dict]:
        """What `uses.analyse` says of a jaxpr, once for each."""
        found = self._use_counts.get(id(jaxpr))
        if found is None:
            found = (jaxpr, *analyse(jaxpr, top, self.repeats))
            self._use_counts[id(jaxpr)] = found
        return found[1:]

    def _equation(self, eqn: Any, env: dict, counts: dict, outs: dict) -> None:
        name = eqn.primitive.name
        self.where = eqn.source_info
        if self.locations_wanted:
            self.loc = self.location(eqn.source_info)
        operands = [
            env[a] if (val := getattr(a, "val", _MISSING)) is _MISSING
            else self.literal(val, a.aval.dtype)
            for a in eqn.invars
        ]  # fmt: skip
        rule = ELEMENTWISE.get(name)
        released: Sequence[Value] = ()
        outvars = eqn.outvars
        if rule is not None:
            aval = outvars[0].aval
            t = element_type(aval.dtype)
            types = [v.type for v in operands]
            params = eqn.params
            if rule.raw is not None:
                fn = rule.raw
                compute = lambda b, xs: fn(b, types, t, xs, params)  # noqa: E731
            else:
                by_kind = self._row(rule, types[0], name)
                compute = lambda b, xs: apply_row(b, by_kind, xs, types, t, params)  # noqa: E731
            results = (self.unheld(compute, operands, aval.shape, t),)
        else:
            emitter = EMITTERS.get(name)
            if emitter is None:
                raise NotImplementedError(self.describe(f"primitive '{name}' cannot be compiled"))
            if (
                not eqn.effects
                and all(0 in getattr(v.aval, "shape", ()) for v in outvars)
                and outvars
            ):
                results = [Value(v.aval.shape, element_type(v.aval.dtype), EMPTY) for v in outvars]
            else:
                held, self._held = self._held, []
                results = emitter(self, eqn, *operands)
                if isinstance(results, Value):
                    results = (results,)
                released, self._held = self._held, held
        for variable, value in zip(outvars, results, strict=True):
            uses = counts.get(variable, 0)
            env[variable] = value
            value.uses += uses
            value.outputs += outs.get(variable, 0)
            if value.kind == GROUP:
                value.group.pending += uses
        for value in operands:
            value.uses -= 1
            if value.kind == GROUP:
                value.group.pending -= 1
        self._close(operands)
        if released:
            for value in released:
                self._consume(value)
            self._close(released)
        self._close(results)

    def _close(self, values: Sequence[Value]) -> None:
        """Writes the groups that no further equation is going to read from."""
        for value in values:
            if value.kind == GROUP and value.group.pending == 0:
                self.flush(value.group)

    def _row(self, rule: Any, t: ElementType, name: str) -> Any:
        row = rule.by_kind.get(t.kind)
        if row is None:
            raise NotImplementedError(
                self.describe(f"primitive '{name}' has no form for dtype {t.name}")
            )
        return row

    def describe(self, problem: str) -> str:
        """`problem` with the user's source line, for error messages."""
        file = getattr(self.where, "file", None)
        return problem if file is None else f"{problem} (at {file}:{self.where.line})"


def apply_row(
    b: ScalarBuilder, row: Any, xs: list[str], types: list, t: ElementType, params: dict
) -> str:
    """One row of the elementwise table applied to register values."""
    first = types[0]
    if first.narrow:
        xs = [b.widen(x, u) for x, u in zip(xs, types, strict=True)]
    if type(row) is str:
        name = b.ctx.name()
        b.lines.append(f"{name} = {row} {', '.join(xs)} : {first.wide}{b.loc}")
    else:
        name = row(b, first, *xs, **params)
    return b.narrow(name, t) if t.narrow and first.kind == "f" else name


def from_index(b: ScalarBuilder, index: str, t: ElementType) -> str:
    """An ``index`` converted to dtype `t` (register form)."""
    if t.kind in "iu":
        return b(f"arith.index_cast {index} : index to {t.register}")
    wide = b(f"arith.index_cast {index} : index to i64")
    part = t.part if t.kind == "c" else t
    real = b(f"arith.sitofp {wide} : i64 to {part.wide}")
    if t.kind == "c":
        return b.make_complex(real, b.const(0.0, part.wide), t)
    return b.narrow(real, t)


def _element_text(type: str) -> str:
    """Element type text of a ranked tensor type text."""
    inner = type[7:-1]
    while inner[0].isdigit():
        inner = inner[inner.index("x") + 1 :]
    return inner


def _iterator_text(iterators: Sequence[str]) -> str:
    return ", ".join([f'"{i}"' for i in iterators])
