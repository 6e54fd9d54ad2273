"""Random programs: steps over a pool of values, built from the primitives' samples.

A program is plain data that can be printed, written as JSON and made smaller: every step takes its
operands from the pool by an index modulo the pool's size, and an operand that does not fit is
adapted (converted, resized, squashed into the sample's range), so that any list of steps is a valid
program.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import strategies as st

import lingon
from lingon import lax
from lingon.frontend import primitives
from lingon.frontend.core import dtypes
from lingon.frontend.core.avals import get_aval
from lingon.frontend.core.primitive import Absent, Primitive, Sample, registry

assert primitives  # declares them


def _usable(p: Primitive) -> bool:
    return (
        bool(p.samples) and not isinstance(p.reference, Absent) and not isinstance(p.batch, Absent)
    )


def _plain(s: Sample) -> bool:
    """Whether no parameter holds a function and no operand is a typed key."""
    if any("jaxpr" in k for k in s.params) or any(hasattr(v, "jaxpr") for v in s.params.values()):
        return False
    return not any(hasattr(a, "_base_array") for a in s.args)


#: Excluded: their results are not determined (uninitialised memory), or mean another program than
#: the one written (collectives need an axis), or are typed keys.
_EXCLUDED = {"empty"}


#: Their derivatives have no derivatives, or there is none with respect to some operands.
_CONSTANTS_ONLY = {"igamma", "igammac", "random_gamma_grad", "regularized_incomplete_beta"}


def _catalogue() -> dict[str, list[Sample]]:
    found = {}
    for name, p in sorted(registry.items()):
        if name in _EXCLUDED or not _usable(p) or p.axis_names is not None:
            continue
        chosen = [s for s in p.samples if _plain(s) and s.args and _small(s)]
        chosen = [s for s in chosen if not _gives_keys(p, s)]
        if chosen:
            found[name] = chosen
    return found


def _small(s: Sample) -> bool:
    return all(np.prod(_spec(a)[0], dtype=np.int64) <= 256 for a in s.args if _spec(a))


def _gives_keys(p: Primitive, s: Sample) -> bool:
    args = [np.zeros(*_spec(a)) if _spec(a) else a for a in s.args]
    out = p.abstract_eval(*[get_aval(a) for a in args], **s.params)
    return any(dtypes.is_extended(o.dtype) for o in (out if p.multiple_results else [out]))


def _spec(a: Any) -> tuple | None:
    """(shape, dtype) where a sample's operand is one that is filled at random, else None."""
    return a if isinstance(a, tuple) and len(a) == 2 and isinstance(a[0], tuple) else None


CATALOGUE = _catalogue()


@dataclasses.dataclass(frozen=True)
class Op:
    """One primitive with the parameters of one of its samples."""

    name: str
    sample: int
    operands: tuple[int, ...]


@dataclasses.dataclass(frozen=True)
class Wrap:
    """A transformation or a control-flow form around a program over some values of the pool."""

    kind: str
    body: Program
    operands: tuple[int, ...]
    choice: int = 0


@dataclasses.dataclass(frozen=True)
class Program:
    """Steps in order; the results are the last values of the pool."""

    steps: tuple[Op | Wrap, ...]

    def to_json(self) -> str:
        return json.dumps(dataclasses.asdict(self))

    @staticmethod
    def from_json(text: str) -> Program:
        return _program(json.loads(text))


def _program(d: dict) -> Program:
    return Program(
        tuple(
            Op(s["name"], s["sample"], tuple(s["operands"]))
            if "name" in s
            else Wrap(s["kind"], _program(s["body"]), tuple(s["operands"]), s["choice"])
            for s in d["steps"]
        )
    )


def inputs(seed: int) -> list[np.ndarray]:
    """The values that every program starts with."""
    rng = np.random.default_rng(seed)
    return [
        rng.uniform(-2, 2, (3, 4)).astype(np.float32),
        rng.uniform(-2, 2, (4,)).astype(np.float32),
        rng.integers(-5, 6, (3,)).astype(np.int32),
        (rng.uniform(-2, 2, (2,)) + 1j * rng.uniform(-2, 2, (2,))).astype(np.complex64),
        np.asarray(rng.uniform(-2, 2), np.float32),
    ]


# --- running -------------------------------------------------------------------------------


def resized(x: Any, shape: Sequence[int]) -> Any:
    """The elements of `x`, repeated or cut off, in another shape."""
    size = int(np.prod(shape, dtype=np.int64))
    flat = lax.reshape(x, (x.size,))
    if x.size == 0:
        flat = lax.full((size,), 0, x.dtype)
    elif x.size < size:
        flat = lax.concatenate([flat] * -(-size // x.size), 0)
    if flat.size != size:
        flat = lax.slice(flat, (0,), (size,))
    return lax.reshape(flat, tuple(shape))


def _squashed(x: Any) -> Any:
    """A float32 in (-1, 1) for each element: smooth and without NaN."""
    if dtypes.is_complex(x.dtype):
        x = lax.real(x)
    x = lax.convert_element_type(x, np.float32)
    x = lax.select(lax.eq(x, x), x, lax.full_like(x, 0.25))
    x = lax.clamp(np.float32(-1e4), x, np.float32(1e4))
    return lax.div(x, lax.add(lax.full_like(x, 1), lax.abs(x)))


def adapted(x: Any, shape: Sequence[int], dtype: Any, low: float = -2.0, high: float = 2.0) -> Any:
    """An operand of the given type with values from `low` to `high`, made of `x`."""
    x = lax.asarray(x) if not hasattr(x, "aval") else x
    x = resized(x, shape)
    dtype = np.dtype(dtype)
    if dtypes.is_bool(dtype):
        return lax.gt(_squashed(x), lax.full(x.shape, np.float32(0.1)))
    if dtypes.is_integer(dtype):
        lo = max(int(low), 0) if not dtypes.is_signed(dtype) else int(low)
        span = min(max(int(high) - lo, 1) + 1, 1 << 30)
        if dtypes.is_integer(x.dtype):
            wide = lax.convert_element_type(x, np.int32)
            r = lax.rem(wide, lax.full_like(wide, span))
            r = lax.abs(r)
        else:
            s = lax.add(_squashed(x), lax.full(x.shape, np.float32(1)))
            r = lax.convert_element_type(lax.mul(s, lax.full_like(s, span * 0.4999)), np.int32)
        return lax.convert_element_type(lax.add(r, lax.full_like(r, lo)), dtype)
    middle, half = (low + high) / 2, (high - low) / 2
    s = _squashed(x)
    y = lax.add(lax.mul(s, lax.full_like(s, half)), lax.full_like(s, middle))
    if dtypes.is_complex(dtype):
        part = np.float32 if dtype == np.complex64 else np.float64
        other = lax.rev(y, tuple(range(y.ndim)))
        return lax.complex(lax.convert_element_type(y, part), lax.convert_element_type(other, part))
    return lax.convert_element_type(y, dtype)


def _operands(pool: list[Any], indices: Sequence[int]) -> list[Any]:
    return [pool[-1 - i % len(pool)] for i in indices]


def _run_op(op: Op, pool: list[Any]) -> list[Any]:
    p, s = registry[op.name], CATALOGUE[op.name][op.sample % len(CATALOGUE[op.name])]
    values = iter(_operands(pool, [*op.operands, *range(len(s.args))]))
    args = []
    for a in s.args:
        spec = _spec(a)
        if spec is None:
            args.append(a)
            continue
        x = next(values)
        aval = get_aval(x)
        default = (s.low, s.high) == (-2.0, 2.0)
        if not (default and (aval.shape, aval.dtype) == (spec[0], np.dtype(spec[1]))):
            x = adapted(x, *spec, s.low, s.high)
        constant = isinstance(p.jvp, Absent) or op.name in _CONSTANTS_ONLY
        args.append(lax.stop_gradient(x) if constant else x)
    out = p.bind(*args, **s.params)
    return list(out) if p.multiple_results else [out]


def _is_real(x: Any) -> bool:
    return dtypes.is_float(get_aval(x).dtype)  # type: ignore[attr-defined]


def _total(outs: Sequence[Any]) -> Any:
    """The sum of all real elements, a function to differentiate."""
    total = np.float32(0)
    for o in outs:
        if dtypes.is_complex(o.dtype):
            o = lax.real(o)
        if _is_real(o):
            o = lax.convert_element_type(o, np.float32)
            total = lax.add(total, lax.reduce_sum(o, tuple(range(o.ndim))))
    return total


Body = Callable[..., list]


def _jit(body: Body, xs: list[Any], choice: int) -> list[Any]:
    return lingon.jit(body)(*xs)


def _vmap(body: Body, xs: list[Any], choice: int) -> list[Any]:
    axes = [0 if (choice >> i) & 1 or i == 0 else None for i in range(len(xs))]
    stacked = [
        x if d is None else lax.concatenate([x[None], lax.rev(x, tuple(range(x.ndim)))[None]], 0)
        for x, d in zip(xs, axes, strict=True)
    ]
    return lingon.vmap(body, in_axes=tuple(axes))(*stacked)


def _grad(body: Body, xs: list[Any], choice: int) -> list[Any]:
    real = tuple(i for i, x in enumerate(xs) if _is_real(x))
    if not real:
        return body(*xs)
    return list(lingon.grad(lambda *a: _total(body(*a)), argnums=real)(*xs))


def _jvp(body: Body, xs: list[Any], choice: int) -> list[Any]:
    real = [i for i, x in enumerate(xs) if _is_real(x)]

    def f(*ys: Any) -> list[Any]:
        args = list(xs)
        for i, y in zip(real, ys, strict=True):
            args[i] = y
        return [o for o in body(*args) if dtypes.is_inexact(o.dtype)]

    if not real:
        return body(*xs)
    primals = [xs[i] for i in real]
    outs, tangents = lingon.jvp(f, primals, [lax.full_like(x, 0.5) for x in primals])
    return [*outs, *tangents] or body(*xs)


def _checkpoint(body: Body, xs: list[Any], choice: int) -> list[Any]:
    policies = lingon.checkpoint_policies
    policy = [None, policies.everything_saveable, policies.dots_saveable][choice % 3]
    return lingon.checkpoint(body, policy=policy)(*xs)


def _like(outs: Sequence[Any], wanted: Sequence[Any]) -> list[Any]:
    """Values of the types of `wanted`, made of `outs`."""
    return [adapted(outs[i % len(outs)], w.shape, w.dtype) for i, w in enumerate(wanted)]


def _cond(body: Body, xs: list[Any], choice: int) -> list[Any]:
    wanted = lingon.eval_shape(body, *xs)
    branches = [body, lambda *a: _like(a, wanted)]
    if choice & 1:
        branches.reverse()
    if choice & 2:
        index = adapted(xs[-1], (), np.int32, -1, 2)
        return lax.switch(index, [*branches, branches[0]], *xs)
    return lax.cond(adapted(xs[-1], (), bool), *branches, *xs)


def _scan(body: Body, xs: list[Any], choice: int) -> list[Any]:
    """Every operand is a carry, the first is scanned over too."""

    def step(carry: list[Any], x: Any) -> tuple[list[Any], list[Any]]:
        outs = body(*carry[:-1], x) if choice & 1 else body(*carry)
        return _like(outs, xs), outs

    stacked = lax.concatenate([x[None] for x in (xs[-1], _like([xs[0]], xs[-1:])[0])] * 2, 0)
    carry, ys = lax.scan(step, xs, stacked, reverse=bool(choice & 2), unroll=1 + (choice >> 2))
    return [*carry, *ys]


def _fori(body: Body, xs: list[Any], choice: int) -> list[Any]:
    """A fixed number of iterations, which can be differentiated in reverse."""
    return lax.fori_loop(0, choice % 4, lambda i, c: _like(body(*c), xs), xs)


def _while(body: Body, xs: list[Any], choice: int) -> list[Any]:
    """A number of iterations that depends on the values; derivatives are not asked for."""
    xs = [lax.stop_gradient(x) for x in xs]
    limit = adapted(xs[-1], (), np.int32, 0, 3)

    def go_on(state: Any) -> Any:
        return lax.lt(state[0], limit)

    def step(state: Any) -> Any:
        n, c = state
        return n + 1, _like(body(*c), xs)

    return lax.while_loop(go_on, step, (np.int32(0), xs))[1]


WRAPPERS: dict[str, Callable[[Body, list[Any], int], list[Any]]] = {
    "jit": _jit,
    "vmap": _vmap,
    "grad": _grad,
    "jvp": _jvp,
    "checkpoint": _checkpoint,
    "cond": _cond,
    "scan": _scan,
    "fori": _fori,
    "while": _while,
}


def _run_wrap(w: Wrap, pool: list[Any]) -> list[Any]:
    def body(*xs: Any) -> list[Any]:
        return run(w.body, xs)

    xs = [lax.asarray(x) if not hasattr(x, "aval") else x for x in _operands(pool, w.operands)]
    return list(WRAPPERS[w.kind](body, xs, w.choice))


RESULTS = 3


def run(program: Program, values: Sequence[Any]) -> list[Any]:
    """The program's results on the given values, under whatever trace is current."""
    pool = list(values)
    for step in program.steps:
        pool += _run_op(step, pool) if isinstance(step, Op) else _run_wrap(step, pool)
    return pool[-RESULTS:]


# --- making --------------------------------------------------------------------------------

_small_index = st.integers(0, 7)


@st.composite
def _ops(draw: Any) -> Op:
    name = draw(st.sampled_from(sorted(CATALOGUE)))
    sample = draw(st.integers(0, len(CATALOGUE[name]) - 1))
    return Op(name, sample, tuple(draw(st.lists(_small_index, min_size=1, max_size=3))))


def program_strategy(depth: int = 3, steps: int = 4) -> Any:
    """Programs with wrappers nested up to `depth` deep."""
    choices = [_ops()]
    if depth > 0:
        wraps = st.builds(
            Wrap,
            st.sampled_from(sorted(WRAPPERS)),
            program_strategy(depth - 1, 3),
            st.lists(_small_index, min_size=1, max_size=3).map(tuple),
            st.integers(0, 7),
        )
        choices.append(wraps)
    return st.lists(st.one_of(*choices), min_size=1, max_size=steps).map(
        lambda s: Program(tuple(s))
    )
