"""Making plans: where every value is, and which steps compute it."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...runtime import LARGE_SIZE, ArrayImpl, Executable, Plan, has_plan_loop, has_ufunc_loop
from ..core import dtypes, eager
from ..core.avals import ShapedArray
from ..core.jaxpr import ClosedJaxpr
from ..core.primitive import Absent, Primitive
from ..transforms.programs import goes_by_primitives, program_of

_MAX_STEPS = 400
_MAX_OPERANDS = 16  # of one step
_ALIGNMENT = 64


class NoPlan(Exception):
    """A program cannot be a plan, or is better none; the message says why."""


class Buffer:
    """Memory of one kind: "const", "in", "made" (a result) or "temp"; `size` in bytes."""

    __slots__ = ("kind", "position", "size")

    def __init__(self, kind: str, position: int, size: int):
        self.kind, self.position, self.size = kind, position, size


class View:
    """A value: a strided piece of a buffer. Typed keys are elements of eight bytes."""

    __slots__ = ("buffer", "dtype", "offset", "shape", "strides")

    def __init__(
        self,
        buffer: Buffer,
        dtype: Any,
        shape: Sequence[int],
        strides: Sequence[int] | None = None,
        offset: int = 0,
    ):
        self.buffer, self.dtype, self.shape, self.offset = buffer, dtype, tuple(shape), offset
        self.strides = dense(self.shape, dtype.itemsize) if strides is None else tuple(strides)

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def size(self) -> int:
        return math.prod(self.shape)

    @property
    def is_dense(self) -> bool:
        want = dense(self.shape, self.dtype.itemsize)
        return 0 in self.shape or all(
            n == 1 or s == w for n, s, w in zip(self.shape, self.strides, want, strict=True)
        )

    @property
    def is_whole(self) -> bool:
        """Whether it is all of its buffer, in row-major order."""
        return (
            self.offset == 0
            and self.size * self.dtype.itemsize == self.buffer.size
            and self.is_dense
        )

    def again(self) -> View:
        """Another view of the same."""
        return View(self.buffer, self.dtype, self.shape, self.strides, self.offset)

    def broadcast(self, shape: Sequence[int]) -> View:
        """Repeated to a shape of the same rank, or from rank 0."""
        if self.shape == tuple(shape):
            return self
        if not self.shape:
            return View(self.buffer, self.dtype, shape, (0,) * len(shape), self.offset)
        strides = [
            0 if a == 1 and b != 1 else s
            for a, b, s in zip(self.shape, shape, self.strides, strict=True)
        ]
        return View(self.buffer, self.dtype, shape, strides, self.offset)


def dense(shape: Sequence[int], itemsize: int) -> tuple[int, ...]:
    """Strides in row-major order, in bytes."""
    out, stride = [], itemsize
    for n in reversed(shape):
        out.append(stride)
        stride *= max(n, 1)
    return tuple(reversed(out))


Rule = Callable[..., Any]

#: Ufuncs that round correctly, whatever the strides.
_EXACT = {
    np.add, np.subtract, np.multiply, np.true_divide, np.negative, np.absolute, np.sqrt, np.fmod,
    np.equal, np.not_equal, np.less, np.less_equal, np.greater, np.greater_equal, np.maximum,
    np.minimum, np.floor, np.ceil, np.trunc, np.rint, np.copysign, np.isfinite, np.bitwise_and,
    np.bitwise_or, np.bitwise_xor, np.bitwise_not,
}  # fmt: skip

#: primitive name -> rule(builder, views, params, avals of results) -> view, or a list of them for
#: primitives with several results. NoPlan leaves it to the reference.
rules: dict[str, Rule] = {}


def plans(*names: str) -> Callable[[Rule], Rule]:
    """Registers a rule."""

    def register(rule: Rule) -> Rule:
        for name in names:
            if name in rules:
                raise ValueError(f"{name} has two rules for plans")
            rules[name] = rule
        return rule

    return register


_NARROW = (np.dtype(np.float16), dtypes.bfloat16)
#: Primitives that are not elementwise, or not declared so, and compute 16-bit floats as float32.
computed_wide = frozenset(
    "reduce_sum reduce_prod reduce_max reduce_min argmax argmin cumsum cumprod cummax cummin "
    "dot_general integer_pow add_any round".split()
)

#: primitive name -> its parameter that is a jaxpr which it only calls.
called: dict[str, str] = {
    "jit": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
}


def element_dtype(aval: Any) -> Any:
    """The dtype of an aval's elements in memory."""
    if dtypes.is_extended(aval.dtype):
        if aval.dtype.itemsize != 8:
            raise NoPlan(f"elements of {aval.dtype}")
        return np.dtype(np.uint64)
    if aval.dtype == dtypes.float0:
        raise NoPlan("float0 has no elements")
    return aval.dtype


class Builder:
    """Collects the steps of one plan."""

    def __init__(self) -> None:
        self.steps: list[Callable[[Callable[[View], tuple[int, int]]], tuple]] = []
        self.consts: list[ArrayImpl] = []
        self.temps: list[Buffer] = []
        self.ufuncs: list[Any] = []

    # --- values ---------------------------------------------------------------------------

    def const(self, value: Any, dtype: Any = None) -> View:
        """A constant: a NumPy array or number."""
        a = np.ascontiguousarray(np.asarray(value, dtype=dtype))
        a = a.reshape(np.shape(value))
        self.consts.append(ArrayImpl.from_numpy(a, False, copy=True))
        return View(Buffer("const", len(self.consts) - 1, a.nbytes), a.dtype, a.shape)

    def const_array(self, x: ArrayImpl, dtype: Any, shape: Sequence[int]) -> View:
        self.consts.append(x)
        return View(Buffer("const", len(self.consts) - 1, x.nbytes), dtype, shape)

    def value_of(self, v: View) -> np.ndarray | None:
        """The contents of a constant that is all of its buffer."""
        if v.buffer.kind != "const" or not v.is_whole:
            return None
        return self.consts[v.buffer.position]._numpy()

    def new(self, shape: Sequence[int], dtype: Any) -> View:
        """Memory for a value."""
        size = math.prod(shape) * dtype.itemsize
        if math.prod(shape) > LARGE_SIZE:
            raise NoPlan("large values")
        buffer = Buffer("temp", len(self.temps), size)
        self.temps.append(buffer)
        return View(buffer, dtype, shape)

    # --- steps ----------------------------------------------------------------------------

    def _add(self, step: Callable[..., tuple]) -> None:
        if len(self.steps) >= _MAX_STEPS:
            raise NoPlan("too many steps")
        self.steps.append(step)

    def loop(
        self, function: Any, operands: Sequence[View], dtypes_: Sequence[Any] | None = None
    ) -> None:
        """A loop over operands of one shape: inputs, then the output. A ufunc needs dtypes."""
        shape = operands[-1].shape
        if 0 in shape:
            return
        operands = [o.broadcast(shape) for o in operands]
        strides = [o.strides for o in operands]
        self._add(lambda at: ("loop", function, dtypes_, [at(o) for o in operands], shape, strides))

    def elementwise(self, function: Any, ins: Sequence[View], dtype: Any) -> View:
        """A new value from a ufunc, or a loop by its name, on operands that broadcast."""
        shape = np.broadcast_shapes(*[v.shape for v in ins])
        types = None
        if function not in _EXACT and not isinstance(function, str):
            # NumPy may compute another last bit where elements are not side by side.
            ins = [self.dense(v) for v in ins]
        if not isinstance(function, str):
            types = [v.dtype for v in ins] + [dtype]
            if not has_ufunc_loop(function, types):
                raise NoPlan(f"{function} has no loop for {types}")
        out = self.new(shape, dtype)
        self.loop(function, [*ins, out], types)
        return out

    def copy(self, source: View, target: View) -> None:
        """Copy elements between views of one shape and element size."""
        self.loop(f"copy_{source.dtype.itemsize}", [source, target])

    def dense(self, v: View) -> View:
        """The value in row-major order."""
        if v.is_dense:
            return v
        out = self.new(v.shape, v.dtype)
        self.copy(v, out)
        return out

    def fill(self, target: View, value: Any) -> None:
        """Set all elements."""
        self.copy(self.const(value, target.dtype), target)

    def move(self, name: str, operands: Sequence[View], config: Sequence[int]) -> None:
        """Call a function of runtime/plan_moves.cpp."""
        numbers = [int(c) for c in config]
        self._add(lambda at: ("move", name, [at(o) for o in operands], numbers))

    def kernel(self, name: str, operands: Sequence[View], config: Sequence[int]) -> None:
        """Call a library kernel: inputs, then outputs."""
        from ...runtime import dtype_code

        shapes = [o.shape for o in operands]
        strides = [tuple(s // o.dtype.itemsize for s in o.strides) for o in operands]
        codes = [dtype_code(o.dtype) for o in operands]
        numbers = [int(c) for c in config]
        self._add(
            lambda at: ("kernel", name, [at(o) for o in operands], shapes, strides, codes, numbers)
        )

    def python(self, function: Callable[..., Sequence[Any]], ins: list[View], outs: list[View]):
        """Call a function of ndarrays; it returns a sequence of results."""
        operands = [*ins, *outs]
        if len(operands) > _MAX_OPERANDS:
            raise NoPlan("too many operands")
        avals = [ShapedArray(o.shape, o.dtype) for o in operands]
        strides = [o.strides for o in operands]
        self._add(
            lambda at: ("python", function, [at(o) for o in operands], avals, strides, len(ins))
        )

    # --- equations ------------------------------------------------------------------------

    def run(self, jaxpr: Any, consts: Sequence[View], args: Sequence[View]) -> list[View]:
        """The steps of a jaxpr."""
        env: dict[Any, View] = {}

        def read(atom: Any) -> View:
            if hasattr(atom, "val"):
                return self.const(np.asarray(atom.val, dtype=element_dtype(atom.aval)))
            return env[atom]

        env.update(zip(jaxpr.constvars, consts, strict=True))
        env.update(zip(jaxpr.invars, args, strict=True))
        for eqn in jaxpr.eqns:
            if eqn.effects:
                raise NoPlan("effects")
            outs = self.apply(
                eqn.primitive, [read(a) for a in eqn.invars], eqn.params, eqn.invars, eqn.outvars
            )
            env.update(zip(eqn.outvars, outs, strict=True))
        return [read(a) for a in jaxpr.outvars]

    def apply(
        self, primitive: Primitive, ins: list[View], params: dict, invars: Any, outvars: Any
    ) -> list[View]:
        """The steps of one equation."""
        name = primitive.name
        if name in called:
            closed = params[called[name]]
            if not isinstance(closed, ClosedJaxpr):
                raise NoPlan("a function that is not closed")
            if name == "jit" and not goes_by_primitives(closed):
                return self._program(closed, params, ins, [v.aval for v in outvars])
            return self.run(closed.jaxpr, self.close(closed), ins)
        avals = [v.aval for v in outvars]
        for a in avals:
            element_dtype(a)
        extended = any(dtypes.is_extended(v.aval.dtype) for v in (*invars, *outvars))
        if primitive.free and not extended and all(v.buffer.kind == "const" for v in ins):
            folded = self._folded(primitive, ins, params, avals)
            if folded is not None:
                return folded
        rule = rules.get(name)
        if rule is None and isinstance(ufunc_of(primitive), np.ufunc) and not extended:
            rule = _ufunc_rule(ufunc_of(primitive))
        saved = len(self.steps)
        if rule is not None:
            try:
                made = self._by_rule(rule, primitive, ins, params, avals)
                outs = list(made) if primitive.multiple_results else [made]
                # A result that has the memory of an operand is another array.
                return [o.again() if any(o is v for v in ins) else o for o in outs]
            except NoPlan:
                del self.steps[saved:]
                if extended:
                    raise
        if extended:
            raise NoPlan(f"{name} of typed keys")
        return self._reference(primitive, ins, params, avals)

    def cast(self, v: View, dtype: Any) -> View:
        """Converted by a loop of runtime/plan_loops.cpp."""
        if v.dtype == dtype:
            return v
        name = f"cast_{v.dtype.name}_{dtype.name}"
        if not has_plan_loop(name):
            raise NoPlan(f"no loop {name}")
        return self.elementwise(name, [v], dtype)

    def _by_rule(
        self, rule: Rule, primitive: Primitive, ins: list[View], params: dict, avals: list[Any]
    ) -> Any:
        """The rule's result; where references compute 16-bit floats as float32, so does it."""
        wide = np.dtype(np.float32)
        narrow = any(v.dtype in _NARROW for v in ins)
        if not narrow or not (
            hasattr(primitive.reference, "ufunc") or primitive.name in computed_wide
        ):
            return rule(self, ins, params, avals)
        ins = [self.cast(v, wide) if v.dtype in _NARROW else v for v in ins]
        wanted = [a.update(dtype=wide) if a.dtype in _NARROW else a for a in avals]
        made = rule(self, ins, params, wanted)
        several = primitive.multiple_results
        outs = [
            self.cast(v, a.dtype) for v, a in zip(made if several else [made], avals, strict=True)
        ]
        return outs if several else outs[0]

    def _program(
        self, closed: ClosedJaxpr, params: dict, ins: list[View], avals: list[Any]
    ) -> list[View]:
        """A call of a jitted function: run alone it is compiled, and so it is here."""
        if any(params["donated_invars"]):
            raise NoPlan("donated arguments")
        program = program_of(
            closed,
            params["name"],
            params["donated_invars"],
            params["keep_unused"],
            params.get("compiler_options_kvs", ()),
        )
        executable = getattr(program.compiled, "executable", None)
        if type(executable) is not Executable:
            raise NoPlan("a program that is not called from here")
        outs = [self.new(a.shape, element_dtype(a)) for a in avals]
        operands = [*[self.dense(ins[i]) for i in program.kept], *outs]
        if executable.scratch_bytes:
            operands.append(self.new((executable.scratch_bytes,), np.dtype(np.uint8)))
        if len(operands) > _MAX_OPERANDS:
            raise NoPlan("too many operands")
        self._add(lambda at: ("program", executable, [at(o) for o in operands]))
        return outs

    def close(self, closed: ClosedJaxpr) -> list[View]:
        """The constants of a closed jaxpr."""
        out = []
        for c, v in zip(closed.consts, closed.jaxpr.constvars, strict=True):
            dtype = element_dtype(v.aval)
            if type(c) is ArrayImpl and not c.is_deleted():
                out.append(self.const_array(c, dtype, v.aval.shape))
            elif isinstance(c, (np.ndarray, np.generic, bool, int, float, complex)):
                out.append(self.const(np.asarray(c, dtype=dtype)))
            else:
                raise NoPlan(f"a constant of type {type(c)}")
        return out

    def _folded(
        self, primitive: Primitive, ins: list[View], params: dict, avals: list[Any]
    ) -> list[View] | None:
        """What a primitive that computes nothing gives for constants."""
        values = [self.value_of(v) for v in ins]
        if primitive.multiple_results or any(v is None for v in values):
            return None
        if math.prod(avals[0].shape) > LARGE_SIZE or not callable(primitive.reference):
            return None
        if type(primitive.reference) is Absent:
            return None
        res = eager.quietly(primitive.reference, values, params)
        return [self.const(np.asarray(res, dtype=avals[0].dtype))]

    def _reference(
        self, primitive: Primitive, ins: list[View], params: dict, avals: list[Any]
    ) -> list[View]:
        reference = primitive.reference
        if type(reference) is Absent or (primitive._evaluate is not None and _carries(params)):
            raise NoPlan(f"{primitive.name} has no reference")
        several = primitive.multiple_results
        wanted = [a.dtype for a in avals]

        def run(*arrays: Any) -> list[Any]:
            res = eager.quietly(reference, arrays, params)
            return [
                np.asarray(r, dtype=d)
                for r, d in zip(res if several else [res], wanted, strict=True)
            ]

        outs = [self.new(a.shape, a.dtype) for a in avals]
        ins = [self.dense(v) for v in ins]
        self.python(run, ins, outs)
        return outs

    # --- the plan -------------------------------------------------------------------------

    def finish(
        self,
        in_avals: Sequence[Any],
        ins: Sequence[View],
        outs: Sequence[View],
        out_avals: Sequence[Any],
    ) -> Plan:
        """The plan with these inputs and results."""
        results: list[tuple] = []
        inputs = [_physical(a) for a in in_avals]
        made = 0
        for v in outs:
            kind = v.buffer.kind
            if kind in ("const", "in") and v.is_whole and v.size:
                same = any(v is i for i in ins)
                results.append(("same" if same else "shared", v.buffer))
                continue
            if kind != "temp" or not v.is_whole:
                size = v.size * v.dtype.itemsize
                target = View(Buffer("temp", len(self.temps), size), v.dtype, v.shape)
                self.temps.append(target.buffer)
                self.copy(v, target)
                v = target
            v.buffer.kind, v.buffer.position = "made", made
            made += 1
            results.append(("made",))
        offsets: dict[int, int] = {}
        scratch = 0
        for t in self.temps:
            if t.kind == "temp":
                offsets[t.position] = scratch
                scratch += -(-t.size // _ALIGNMENT) * _ALIGNMENT
        n_consts, n_in = len(self.consts), len(in_avals)

        def number(b: Buffer) -> int:
            return b.position + {"const": 0, "in": n_consts, "made": n_consts + n_in}[b.kind]

        def at(v: View) -> tuple[int, int]:
            b = v.buffer
            if b.kind == "temp":
                return n_consts + n_in + made, offsets[b.position] + v.offset
            return number(b), v.offset

        return Plan(
            inputs,
            [_physical(a) for a in out_avals],
            self.consts,
            [s(at) for s in self.steps],
            [r if len(r) == 1 else (r[0], number(r[1])) for r in results],
            scratch,
        )


def _carries(params: dict) -> bool:
    values = [v for p in params.values() for v in (p if isinstance(p, tuple) else (p,))]
    return any(isinstance(v, ClosedJaxpr) for v in values)


def _physical(aval: Any) -> ShapedArray:
    if dtypes.is_extended(aval.dtype):
        d = aval.dtype
        return ShapedArray((*aval.shape, *d.physical_shape), d.physical_dtype)
    return aval


def ufunc_of(primitive: Primitive) -> Any:
    """The ufunc that a primitive's reference is, if it is one."""
    return getattr(primitive.reference, "ufunc", None)


@functools.cache
def _ufunc_rule(ufunc: np.ufunc) -> Rule:
    def rule(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
        if any(v.dtype.itemsize < 4 and v.dtype.kind not in "iub" for v in ins):
            raise NoPlan("narrow floats are computed as float32")
        return b.elementwise(ufunc, ins, outs[0].dtype)

    return rule


def input_views(in_avals: Sequence[Any]) -> list[View]:
    """The values of a plan's inputs."""
    out = []
    for i, a in enumerate(in_avals):
        dtype = element_dtype(a)
        out.append(View(Buffer("in", i, math.prod(a.shape) * dtype.itemsize), dtype, a.shape))
    return out


def plan_of(closed: ClosedJaxpr) -> Plan | None:
    """The plan of a closed jaxpr, or None where there can be none."""
    b = Builder()
    avals = closed.in_avals
    try:
        ins = input_views(avals)
        outs = b.run(closed.jaxpr, b.close(closed), ins)
        return b.finish(avals, ins, outs, closed.out_avals)
    except NoPlan:
        return None


class _Atom:
    __slots__ = ("aval",)

    def __init__(self, aval: Any):
        self.aval = aval


def plan_of_primitive(
    primitive: Primitive, avals: Sequence[Any], out: Any, params: dict
) -> Plan | None:
    """The plan of one primitive, or None where its reference does as well."""
    if primitive.name not in rules and ufunc_of(primitive) is None:
        return None
    if any(math.prod(a.shape) > LARGE_SIZE for a in avals):
        return None
    outs = list(out) if primitive.multiple_results else [out]
    try:
        b = Builder()
        ins = input_views(avals)
        views = b.apply(primitive, ins, params, [_Atom(a) for a in avals], [_Atom(a) for a in outs])
        plan = b.finish(avals, ins, views, outs)
    except NoPlan:
        return None
    return plan


__all__ = [
    "Buffer",
    "Builder",
    "NoPlan",
    "View",
    "called",
    "dense",
    "element_dtype",
    "plan_of",
    "plan_of_primitive",
    "plans",
    "rules",
]
