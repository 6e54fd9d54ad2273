"""Tests generated from the registry: every primitive with every rule, on its samples."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest
from oracle import (
    arguments,
    assert_close,
    describe,
    has_functions,
    is_inexact,
    oracle_array,
    oracle_params,
    oracle_primitive,
    samples,
    text,
    values,
    weak,
)

import lingon
from lingon.frontend.core import dtypes
from lingon.frontend.core.avals import ShapedArray, get_aval
from lingon.frontend.core.primitive import Absent, Primitive, Sample, registry

RULES = ("reference", "jvp", "transpose", "batch")
# Primitives that carry functions are built, and tested, with the transformation they belong to.
CALLS = {n for n, p in registry.items() if p._evaluate is not None and not p.samples}
NAMES = sorted(set(registry) - CALLS)
KNOWN_TO_JAX = [n for n in NAMES if oracle_primitive(n) is not None]


def bound(primitive: Any, params: dict) -> Any:
    """The primitive as a function that returns a list."""

    def run(*args: Any) -> list[Any]:
        out = primitive.bind(*args, **params)
        return list(out) if primitive.multiple_results else [out]

    return run


@pytest.mark.parametrize("name", NAMES)
def test_complete(name: str) -> None:
    """Every rule is there, or is declared absent with a reason; there are samples."""
    p = registry[name]
    for rule in RULES:
        r = getattr(p, {"batch": "batch"}.get(rule, rule))
        assert callable(r), f"{name} has no rule {rule}"
        if isinstance(r, Absent):
            assert r.reason
    assert p.samples, f"{name} has no samples"


@pytest.mark.parametrize("name", KNOWN_TO_JAX)
def test_values(name: str, full: bool) -> None:
    """Values, shapes, dtypes and weak types are jax's."""
    p, theirs = registry[name], oracle_primitive(name)
    for i, s in samples(p, full):
        if has_functions(s):
            continue
        args = arguments(s, i)
        ours = bound(p, s.params)(*args)
        expected = bound(theirs, oracle_params(s.params))(*map(oracle_array, args))
        assert len(ours) == len(expected)
        for a, b in zip(ours, expected, strict=True):
            assert_close(a, b, s, describe(s, args))
            assert weak(a) == b.aval.weak_type, f"weak type for {describe(s, args)}"


WIDE = {
    np.dtype(np.float32): np.float64,
    np.dtype(np.complex64): np.complex128,
    np.dtype(np.int32): np.int64,
    np.dtype(np.uint32): np.uint64,
}


@pytest.mark.parametrize("name", [n for n in KNOWN_TO_JAX if n != "threefry2x32"])
def test_values_in_64_bits(name: str, full: bool) -> None:
    """With x64 enabled, 64-bit arguments give jax's values."""
    p, theirs = registry[name], oracle_primitive(name)
    for i, s in samples(p, full, 3):
        args = arguments(s, i)
        if not all(type(a) is np.ndarray and a.dtype in WIDE for a in args) or not plain(s):
            continue
        wide = [extreme(a) for a in args]
        with lingon.enable_x64(True), jax.enable_x64(True):
            ours = bound(p, s.params)(*wide)
            expected = bound(theirs, oracle_params(s.params))(*map(jax.numpy.asarray, wide))
            for a, b in zip(ours, expected, strict=True):
                assert_close(a, b, s, describe(s, wide), s.tol or 1e-12)


def plain(s: Sample) -> bool:
    """Whether no parameter names a dtype or holds functions."""
    return not has_functions(s) and not any("dtype" in k or k == "fill_value" for k in s.params)


def extreme(a: np.ndarray) -> np.ndarray:
    """A 32-bit array in 64 bits, with the limits of the integer type at its limits."""
    wide = a.astype(WIDE[a.dtype])
    if a.dtype.kind in "iu":
        for limit in ("min", "max"):
            small, large = getattr(np.iinfo(a.dtype), limit), getattr(np.iinfo(wide.dtype), limit)
            wide[a == small] = large
    return wide


def struct(x: Any) -> Any:
    """An argument's shape and dtype for tracing."""
    return lingon.ShapeDtypeStruct(np.shape(x), get_aval(x).dtype)


def oracle_struct(x: Any) -> Any:
    x = oracle_array(x)
    return jax.ShapeDtypeStruct(np.shape(x), x.dtype)


def inexact(args: list[Any]) -> list[int]:
    return [i for i, a in enumerate(args) if is_inexact(get_aval(a).dtype)]  # type: ignore[attr-defined]


def with_inputs(f: Any, args: list[Any], active: list[int]) -> Any:
    """`f` as a function of the active arguments."""

    def run(*xs: Any) -> Any:
        full_args = list(args)
        for i, x in zip(active, xs, strict=True):
            full_args[i] = x
        return f(*full_args)

    return run


def jaxprs(lib: Any, f: Any, args: list[Any], st: Any, kind: str) -> str:
    """The text of the function's jaxpr under a transformation; `kind` is its name."""
    if kind == "plain":
        return text(lib.make_jaxpr(f)(*map(st, args)))
    if kind == "vmap":

        def more(x: Any) -> Any:
            t = st(x)
            return type(t)((*t.shape, 2), t.dtype)

        return text(lib.make_jaxpr(lib.vmap(f, in_axes=-1))(*map(more, args)))
    active = inexact(args)

    def of_all(*xs: Any) -> Any:
        inner = with_inputs(f, list(xs[: len(args)]), active)
        primals = [xs[i] for i in active]
        if kind == "jvp":
            return lib.jvp(inner, primals, list(xs[len(args) :]))
        return lib.vjp(inner, *primals)[1](list(xs[len(args) :]))

    structs = [st(a) for a in args]
    if kind == "jvp":
        extra = [structs[i] for i in active]
    else:
        extra = [type(structs[0])(o.shape, o.dtype) for o in lib.eval_shape(f, *structs)]
    return text(lib.make_jaxpr(of_all)(*structs, *extra))


@pytest.mark.parametrize("name", KNOWN_TO_JAX)
def test_jaxpr(name: str, full: bool) -> None:
    """The printed jaxprs of the primitive, its derivatives and its vmap are jax's."""
    p, theirs = registry[name], oracle_primitive(name)
    for i, s in samples(p, full, 3):
        if has_functions(s):
            continue
        args = arguments(s, i)
        f, g = bound(p, s.params), bound(theirs, oracle_params(s.params))
        kinds = ["plain"]
        if args and not isinstance(p.batch, Absent):
            kinds.append("vmap")
        outs = lingon.eval_shape(f, *map(struct, args))
        differentiable = inexact(args) and all(is_inexact(o.dtype) for o in outs)
        if differentiable and not isinstance(p.jvp, Absent) and name not in PARTLY_DIFFERENTIABLE:
            kinds += ["jvp", "vjp"]
        for kind in kinds:
            ours = jaxprs(lingon, f, args, struct, kind)
            if differs(name, args, kind):
                continue
            try:
                expected = jaxprs(jax, g, args, oracle_struct, kind)
            except (ValueError, TypeError, IndexError):
                assert name in FAILS_IN_JAX
                continue
            assert ours == expected, f"{kind} for {describe(s, args)}\n{ours}\n{expected}"


def differs(name: str, args: list[Any], kind: str) -> bool:
    """Whether the jaxpr is not jax's on purpose."""
    if name == "cumlogsumexp":  # jax calls its custom_jvp function logaddexp
        return kind in ("jvp", "vjp")
    if name == "dynamic_slice":  # jax writes the equation of the tangent before that of the value
        return kind == "jvp"
    if name == "sort":  # jax gathers no elements from no elements
        return kind in ("jvp", "vjp") and np.size(args[0]) == 0
    if name == "psum":  # jax sums the cotangent over no axis
        return kind == "vjp"
    if name == "select_n":  # jax's cotangent is zero where an index is out of range
        return kind == "vjp" and np.asarray(args[0]).dtype != np.bool_
    return False


# where jax's own rule raises: vmap of a bitcast that removes the batch axis' neighbour, the
# transpose of a broadcast that permutes axes, tangents of a scalar limit of clamp
FAILS_IN_JAX = {"bitcast_convert_type", "broadcast_in_dim", "clamp"}
# differentiable in their last operand only
PARTLY_DIFFERENTIABLE = {"polygamma", "regularized_incomplete_beta"}


def widened(args: list[Any]) -> list[Any]:
    """Single-precision arguments in double precision."""
    wide = {np.dtype(np.float32): np.float64, np.dtype(np.complex64): np.complex128}
    return [np.asarray(a).astype(wide.get(np.asarray(a).dtype, np.asarray(a).dtype)) for a in args]


def random_like(rng: np.random.Generator, aval: Any) -> np.ndarray:
    x = rng.uniform(-1, 1, aval.shape)
    if np.dtype(aval.dtype).kind == "c":
        x = x + 1j * rng.uniform(-1, 1, aval.shape)
    return np.asarray(x).astype(aval.dtype)


def pairing(a: list[Any], b: list[Any]) -> float:
    """The pairing of cotangents and tangents: bilinear, its real part for complex numbers."""
    return sum(np.sum(values(x) * values(y)).real for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_gradients(name: str, full: bool) -> None:
    """jvp agrees with finite differences, and vjp with jvp."""
    p = registry[name]
    if isinstance(p.jvp, Absent):
        for _, s in samples(p, False, 1):
            args = arguments(s)
            active = inexact(args)
            if active:
                primals = [args[i] for i in active]
                with pytest.raises(NotImplementedError):
                    lingon.jvp(with_inputs(bound(p, s.params), args, active), primals, primals)
        return
    candidates = [(i, s) for i, s in enumerate(p.samples) if s.grad and in_single(s)]
    chosen = candidates if full else candidates[:: max(1, len(candidates) // 4)]
    with lingon.enable_x64(True):
        for i, s in chosen:
            check_gradient(p, s, i)


def in_single(s: Sample) -> bool:
    """Whether there are inexact arguments, all of them float32 or complex64."""
    ds = [get_aval(a).dtype for a in arguments(s)]  # type: ignore[attr-defined]
    ds = [d for d in ds if is_inexact(d)]
    return bool(ds) and all(d in (np.float32, np.complex64) for d in ds)


def check_gradient(p: Primitive, s: Sample, seed: int) -> None:
    params = {
        k: np.dtype(np.float64) if k in ("new_dtype",) and v == np.dtype(np.float32) else v
        for k, v in s.params.items()
    }
    if p.name == "conj":
        wide = {
            np.dtype(np.float32): np.dtype(np.float64),
            np.dtype(np.complex64): np.dtype(np.complex128),
        }
        params["input_dtype"] = wide[params["input_dtype"]]
    args = widened(arguments(s, seed))
    active = inexact(args)[-1:] if p.name in PARTLY_DIFFERENTIABLE else inexact(args)
    if has_functions(s):
        return check_reverse_only(p, s, seed)
    f = with_inputs(bound(p, params), args, active)
    primals = [args[i] for i in active]
    rng = np.random.default_rng(seed)
    tangents = [random_like(rng, get_aval(x)) for x in primals]
    outs, touts = lingon.jvp(f, primals, tangents)
    if not all(is_inexact(o.dtype) for o in outs):
        assert all(
            t.dtype == dtypes.float0
            for t, o in zip(touts, outs, strict=True)
            if not is_inexact(o.dtype)
        )
        return None
    exact = all(np.dtype(o.dtype) in (np.float64, np.complex128) for o in outs)
    h, tol = (1e-6, 1e-5) if exact else (1e-2, 0.1)
    if exact:
        plus = f(*[x + h * t for x, t in zip(primals, tangents, strict=True)])
        minus = f(*[x - h * t for x, t in zip(primals, tangents, strict=True)])
        for a, b, t in zip(plus, minus, touts, strict=True):
            slope = (values(a) - values(b)) / (2 * h)
            np.testing.assert_allclose(
                values(t), slope, rtol=tol, atol=tol, err_msg=describe(s, args)
            )
    cts = [random_like(rng, get_aval(o)) for o in outs]
    _, pull = lingon.vjp(f, *primals)
    back = pull(cts)
    ours, expected = pairing(cts, touts), pairing(list(back), tangents)
    loose = 1e-9 if exact else 0.05
    np.testing.assert_allclose(ours, expected, rtol=loose, atol=loose, err_msg=describe(s, args))
    return None


def check_reverse_only(p: Primitive, s: Sample, seed: int) -> None:
    """For primitives that carry a jaxpr in single precision: vjp against jvp."""
    args = arguments(s, seed)
    # initial values of a reduction are no inputs to differentiate
    n = len(args) // 2 if p.name == "reduce" else len(args)
    active = [i for i in inexact(args) if i < n]
    f = with_inputs(bound(p, s.params), args, active)
    floats = [is_inexact(o.dtype) for o in lingon.eval_shape(f, *[args[i] for i in active])]

    def g(*xs: Any) -> list[Any]:
        return [o for o, keep in zip(f(*xs), floats, strict=True) if keep]

    rng = np.random.default_rng(seed)
    primals = [args[i] for i in active]
    tangents = [random_like(rng, get_aval(x)) for x in primals]
    outs, touts = lingon.jvp(g, primals, tangents)
    if isinstance(p.transpose, Absent):
        return
    cts = [random_like(rng, o.aval) for o in outs]
    back = lingon.vjp(g, *primals)[1](cts)
    np.testing.assert_allclose(
        pairing(cts, touts), pairing(list(back), tangents), rtol=1e-3, atol=1e-3
    )


@pytest.mark.parametrize("name", NAMES)
def test_vmap(name: str, full: bool) -> None:
    """vmap gives what a loop over the batch gives, wherever the batch axes are."""
    p = registry[name]
    for i, s in samples(p, full, 3):
        args = arguments(s, i)
        if not args or isinstance(p.batch, Absent):
            continue
        f = bound(p, s.params)
        k = i % len(args)
        for axes in batchings(args, k):
            try:
                check_vmap(f, s, args, axes)
            except NotImplementedError:
                assert has_functions(s)  # vmap of reduce over initial values


def batchings(args: list[Any], k: int) -> list[list[int | None]]:
    """Where to put batch axes: at the front, at the back, and in argument k alone."""
    ranks = [np.ndim(a) for a in args]
    return [
        [0] * len(args),
        list(ranks),
        [0 if j == k else None for j in range(len(args))],
        [ranks[j] if j == k else 0 for j in range(len(args))],
    ]


def check_vmap(f: Any, s: Sample, args: list[Any], axes: list[int | None]) -> None:
    size = 3
    elements = [
        [variation(a, j) if d is not None else a for j in range(size)]
        for a, d in zip(args, axes, strict=True)
    ]
    batched = [
        a if d is None else stacked(e, d) for a, d, e in zip(args, axes, elements, strict=True)
    ]
    got = lingon.vmap(f, in_axes=tuple(axes))(*batched)
    want = [f(*[e[j] for e in elements]) for j in range(size)]
    for o, column in zip(got, zip(*want, strict=True), strict=True):
        if dtypes.is_extended(o.dtype):
            o, column = o._base_array, [c._base_array for c in column]
        expected = np.stack([values(c) for c in column])
        assert_close(o, expected, s, f"{describe(s, args)} in_axes={axes}")


def stacked(elements: list[Any], axis: int) -> Any:
    """Arguments along a new axis; typed keys by their words."""
    if not hasattr(elements[0], "_base_array"):
        return np.stack(elements, axis=axis)
    words = np.stack([np.asarray(e._base_array) for e in elements], axis=axis)
    return lingon.random.wrap_key_data(lingon.numpy.asarray(words))


def variation(a: Any, j: int) -> Any:
    """Another argument of the same type: the elements in another order."""
    if hasattr(a, "_base_array"):
        words = np.asarray(a._base_array) + np.uint32(j)
        return lingon.random.wrap_key_data(lingon.numpy.asarray(words))
    a = np.asarray(a)
    return np.roll(a, j).reshape(a.shape)


@pytest.mark.parametrize("name", NAMES)
def test_jit(name: str, full: bool) -> None:
    """Compiled code gives what the reference gives."""
    p = registry[name]
    for i, s in samples(p, full, 4):
        args = arguments(s, i)
        f = bound(p, s.params)
        for a, b in zip(lingon.jit(f)(*args), f(*args), strict=True):
            assert_close(a, b, s, describe(s, args))
            assert weak(a) == weak(b)


def test_absent_rules_say_why() -> None:
    """Using a rule that does not exist raises with the primitive's name and the reason."""
    p = registry["nextafter"]
    with pytest.raises(NotImplementedError, match="nextafter: it has no derivative"):
        p.jvp(p, [], [], {})
    with pytest.raises(ValueError, match="declared twice"):
        Primitive(
            "add",
            abstract=lambda x: x,
            reference=p.reference,
            jvp=p.jvp,
            transpose=p.transpose,
            batch=p.batch,
        )
    assert isinstance(get_aval(1.0), ShapedArray)
