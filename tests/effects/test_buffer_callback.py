"""buffer_callback: Python functions on the memory of programs, beside jax."""

from __future__ import annotations

import functools
import gc
import re
import weakref

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import buffer_callback as theirs

import lingon
import lingon.numpy as lnp
from lingon.experimental import buffer_callback as ours

X = np.arange(6, dtype=np.float32).reshape(2, 3)


def add(ctx, out, x, y):
    np.asarray(out)[...] = np.asarray(x) + np.asarray(y)


def halves(ctx, out, x, *, by):
    a = np.asarray(x["a"])
    np.asarray(out["q"])[...] = a // np.asarray(by)
    np.asarray(out["r"])[...] = a % np.asarray(by)


def accumulate(ctx, out, x, y):
    np.asarray(out)[...] += np.asarray(y)


def pair(callback, result, **options):
    """The function with lingon and with jax."""
    return (
        ours.buffer_callback(callback, result, **options),
        theirs.buffer_callback(callback, result, **options),
    )


def struct(shape, dtype=np.float32):
    return jax.ShapeDtypeStruct(shape, dtype)


def same(got, want):
    got, want = lingon.tree.flatten(got), jax.tree.flatten(want)
    assert str(got[1]) == str(want[1])
    for g, w in zip(got[0], want[0], strict=True):
        assert g.dtype == w.dtype and g.weak_type == w.weak_type
        np.testing.assert_array_equal(np.asarray(g), np.asarray(w))


def wrapped(mod, f, how):
    """A function under some transformations."""
    if how == "eager":
        return f
    if how == "jit":
        return mod.jit(f)
    if how == "in a program":
        return mod.jit(lambda *a: mod.numpy.sin(f(*(x * 2 for x in a))) + 1)
    return mod.jit(lambda x, y: mod.lax.scan(lambda c, _: (f(c, y), c), x, None, length=3))


@pytest.mark.parametrize("how", ["eager", "jit", "in a program", "scan"])
def test_values(how):
    f, g = pair(add, struct((2, 3)))
    same(wrapped(lingon, f, how)(X, X[:1]), wrapped(jax, g, how)(jnp.asarray(X), X[:1]))


@pytest.mark.parametrize("jit", [False, True])
def test_pytrees_and_keywords(jit):
    result = {"q": struct((4,), np.int32), "r": struct((4,), np.int32)}
    f, g = pair(halves, result)
    if jit:
        f, g = lingon.jit(f), jax.jit(g)
    x = {"a": np.arange(4, dtype=np.int32)}
    same(f(x, by=3), g(x, by=3))


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize(
    "dtype", ["bool", "int4", "uint8", "int32", "float16", "bfloat16", "float8_e4m3fn", "complex64"]
)
def test_dtypes(dtype, jit):
    def copy(ctx, out, x):
        assert x.dtype == out.dtype == np.asarray(x).dtype == jnp.dtype(dtype)
        assert (x.shape, x.ndim, x.writeable, out.writeable) == ((3,), 1, False, True)
        np.asarray(out)[...] = np.asarray(x)[::-1]

    f, g = pair(copy, struct((3,), jnp.dtype(dtype)))
    if jit:
        f, g = lingon.jit(f), jax.jit(g)
    x = np.array([0, 1, 3]).astype(jnp.dtype(dtype))
    np.testing.assert_array_equal(f(x), x[::-1])
    if dtype != "int4":  # two to a byte in jax, which the callback does not see
        same(f(x), g(x))


@pytest.mark.parametrize("jit", [False, True])
def test_empty_no_arguments_no_results_and_keys(jit):
    run = (lingon.jit, jax.jit) if jit else (lambda f: f, lambda f: f)

    def fill(ctx, out, *args):
        np.asarray(out).fill(7)

    f, g = pair(fill, struct((2,)))
    same(run[0](f)(), run[1](g)())
    f, g = pair(fill, struct((0, 3)))
    same(run[0](f)(X[:0]), run[1](g)(X[:0]))

    def words(ctx, out, k):
        np.asarray(out)[...] = np.asarray(k)

    f, g = pair(words, struct((3, 2), np.uint32))
    same(
        run[0](f)(lingon.random.split(lingon.random.key(3), 3)),
        run[1](g)(jax.random.split(jax.random.key(3), 3)),
    )
    seen = []
    f = ours.buffer_callback(lambda ctx, out, x: seen.append(out), (), has_side_effect=True)
    assert run[0](f)(X) == () and seen == [()]


def test_memory_is_shared():
    """A program's callback works on the argument's and the result's own memory."""
    seen = {}

    def f(ctx, out, x):
        seen["in"], seen["out"] = np.asarray(x).ctypes.data, np.asarray(out).ctypes.data
        np.asarray(out)[...] = 1

    x = lnp.arange(1000.0)
    for run in (lambda f: f, lingon.jit):
        y = run(ours.buffer_callback(f, struct((1000,))))(x)
        assert seen == {"in": x._unsafe_data_ptr(), "out": y._unsafe_data_ptr()}


def test_inputs_cannot_be_written():
    def f(ctx, out, x):
        np.asarray(x)[...] = 3

    x = lnp.ones(3)
    for run in (lambda f: f, lingon.jit):
        with pytest.raises(lingon.errors.JaxRuntimeError, match="read-only"):
            run(ours.buffer_callback(f, struct((3,))))(x)
    np.testing.assert_array_equal(x, np.ones(3))


def test_inputs_that_are_parts_of_others():
    f, g = pair(add, struct((2,)))

    def program(mod, f):
        return mod.jit(lambda x: f(x[:, 1], x.T[2]) + f(x[::-1, 0], x[1, :2]))

    same(program(lingon, f)(X), program(jax, g)(X))


# --- inputs that become outputs ------------------------------------------------------------


@pytest.mark.parametrize("how", ["eager", "jit", "in a program", "scan"])
def test_aliases(how):
    f, g = pair(accumulate, struct((2, 3)), input_output_aliases={0: 0})
    x = lnp.asarray(X)
    same(wrapped(lingon, f, how)(x, X[:1]), wrapped(jax, g, how)(jnp.asarray(X), X[:1]))
    # other readers of the input see what it was
    np.testing.assert_array_equal(x, X)


def test_aliases_in_place():
    """A donated argument, and the carry of a loop, are updated where they are."""
    seen = []

    def f(ctx, out, x):
        assert np.asarray(out).ctypes.data == np.asarray(x).ctypes.data
        assert not x.writeable and out.writeable
        seen.append(np.asarray(out).ctypes.data)
        np.asarray(out)[...] += 1

    call = ours.buffer_callback(f, struct((1000,)), input_output_aliases={0: 0})
    x = lingon.jit(lambda: lnp.ones(1000))()
    at = x._unsafe_data_ptr()
    y = lingon.jit(call, donate_argnums=0)(x)
    assert seen == [at] and y._unsafe_data_ptr() == at
    np.testing.assert_array_equal(y, np.full(1000, 2.0))

    seen.clear()
    loop = lingon.jit(lambda x: lingon.lax.fori_loop(0, 5, lambda i, c: call(c), x))
    np.testing.assert_array_equal(loop(y), np.full(1000, 7.0))
    assert len(set(seen)) == 1


def test_several_aliases():
    def swap(ctx, out, a, b, c):
        t = np.asarray(out[0]).copy()
        np.asarray(out[0])[...] = np.asarray(out[1]) + np.asarray(c)
        np.asarray(out[1])[...] = t

    f, g = pair(swap, (struct((2, 3)), struct((2, 3))), input_output_aliases={0: 1, 1: 0})
    for ours_, theirs_ in ((f, g), (lingon.jit(f), jax.jit(g))):
        same(ours_(X, X * 2, X * 3), theirs_(X, X * 2, X * 3))


@pytest.mark.parametrize(
    "aliases, result",
    [({0: 5}, (2, 3)), ({7: 0}, (2, 3)), ({0: 0}, (3, 2)), ({-1: 0}, (2, 3))],
)
def test_aliases_that_do_not_fit(aliases, result):
    f, g = pair(accumulate, struct(result), input_output_aliases=aliases)
    with pytest.raises(ValueError) as e:
        f(X, X)
    with pytest.raises(ValueError) as want:
        g(X, X)
    if min(aliases) >= 0:
        assert str(e.value) == str(want.value)
    else:
        assert "input index -1 outside the range [0, 2)" in str(e.value)


def test_two_inputs_for_one_output():
    f = ours.buffer_callback(accumulate, struct((2, 3)), input_output_aliases={0: 0, 1: 0})
    with pytest.raises(ValueError, match="input 0 is already mapped to output 0"):
        f(X, X)


# --- vmap and derivatives ------------------------------------------------------------------

METHODS = ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized"]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("jit", [False, True])
def test_vmap(method, jit):
    shapes = []

    def f(ctx, out, x, y):
        shapes.append((out.shape, x.shape, y.shape))
        add(ctx, out, x, y)

    mine, other = pair(f, struct((3,)), vmap_method=method)
    run = (lingon.jit, jax.jit) if jit else (lambda f: f, lambda f: f)
    same(run[0](lingon.vmap(mine, (0, None)))(X, X[0]), run[1](jax.vmap(other, (0, None)))(X, X[0]))
    n = len(shapes) // 2
    assert shapes[:n] == shapes[n:]


@pytest.mark.parametrize("method", ["sequential", "broadcast_all", "expand_dims"])
def test_vmap_of_aliases(method):
    f, g = pair(accumulate, struct((3,)), vmap_method=method, input_output_aliases={0: 0})
    same(lingon.vmap(f, (0, None))(X, X[0]), jax.vmap(g, (0, None))(X, X[0]))
    # an input that is not mapped becomes an output that is
    np.testing.assert_array_equal(lingon.vmap(f, (None, 0))(X[0], X), X[0] + X)


def test_vmap_without_method():
    for method in (None, "all at once"):
        f, g = pair(add, struct((3,)), vmap_method=method)
        for mod, h in ((lingon, f), (jax, g)):
            with pytest.raises(NotImplementedError, match=f"Got vmap_method={method!r}"):
                mod.vmap(h)(X, X)


def test_derivatives():
    for mod, f in zip((lingon, jax), pair(add, struct((2, 3))), strict=True):
        with pytest.raises(ValueError, match="Buffer callbacks do not support JVP"):
            mod.jvp(f, (X, X), (X, X))
        with pytest.raises(ValueError, match="Buffer callbacks do not support JVP"):
            mod.grad(lambda x, f=f: f(x, x).sum())(X)


def test_custom_derivative():
    def double(ctx, out, x):
        np.asarray(out)[...] = 2 * np.asarray(x)

    f = lingon.custom_jvp(ours.buffer_callback(double, struct((3,)), vmap_method="broadcast_all"))
    f.defjvp(lambda p, t: (f(*p), 2 * t[0]))
    np.testing.assert_array_equal(lingon.grad(lambda x: (f(x) ** 2).sum())(X[0]), 8 * X[0])
    np.testing.assert_array_equal(lingon.jacrev(f)(X[0]), 2 * np.eye(3))


# --- programs ------------------------------------------------------------------------------


def test_jaxprs():
    f, g = pair(
        add,
        struct((2, 3)),
        has_side_effect=True,
        vmap_method="sequential",
        input_output_aliases={0: 0},
        command_buffer_compatible=True,
    )
    got, want = str(lingon.make_jaxpr(f)(X, X)), str(jax.make_jaxpr(g)(X, X))
    plain = functools.partial(re.sub, r"0x[0-9a-fA-FX]+", "0x")
    assert plain(got) == plain(want)


def test_side_effects():
    """Without side effects a call whose result nothing uses is left out."""
    for effect in (False, True):
        calls = []

        def count(ctx, out, x, calls=calls):
            calls.append(1)
            np.asarray(out)[...] = 0

        for mod, f in zip(
            (lingon, jax), pair(count, struct((2, 3)), has_side_effect=effect), strict=True
        ):
            calls.clear()
            mod.jit(lambda x, f=f: (f(x), x)[1])(X).block_until_ready()
            mod.effects_barrier()
            assert len(calls) == effect, mod
            assert bool(mod.make_jaxpr(f)(X).effects) == effect


def test_64_bit_results_without_x64():
    f, g = pair(lambda ctx, out, x: np.asarray(out).fill(2), struct((3,), np.float64))
    same(f(X), g(X))


# --- errors --------------------------------------------------------------------------------


def raising(ctx, out, x):
    a = np.asarray(x)
    raise KeyError(f"no {a.shape}")


def returning(ctx, out, x):
    return 3


@pytest.mark.parametrize("jit", [False, True])
def test_errors_of_callbacks(jit):
    for callback, cause, text in (
        (raising, KeyError, "no "),
        (returning, ValueError, "must not return any values"),
        (lambda ctx, out, x: np.asarray(x, dtype=np.float64), ValueError, "dtype parameter"),
    ):
        f, g = pair(callback, struct((2, 3)))
        with pytest.raises(lingon.errors.JaxRuntimeError, match=text) as e:
            (lingon.jit(f) if jit else f)(X)
        assert type(e.value.__cause__) is cause
        with pytest.raises(jax.errors.JaxRuntimeError, match=text):
            (jax.jit(g) if jit else g)(jnp.asarray(X)).block_until_ready()


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("what", ["in", "out", "dlpack"])
def test_views_that_are_kept(what, jit):
    """The memory gets other uses, so that a view of it must not outlive the call."""
    kept = []

    def keep(ctx, out, x):
        np.asarray(out)[...] = 0
        kept.append({"in": lambda: np.asarray(x), "out": lambda: np.asarray(out)[1:]}.get(what))
        kept[-1] = kept[-1]() if kept[-1] else np.from_dlpack(x)

    f = ours.buffer_callback(keep, struct((2, 3)))
    with pytest.raises(lingon.errors.JaxRuntimeError, match="kept a view of a buffer"):
        (lingon.jit(f) if jit else f)(lnp.asarray(X))
    kept.clear()


def test_buffers_are_closed_and_views_in_cycles_collected():
    kept = []

    def keep(ctx, out, x):
        assert ctx.stage is ours.ExecutionStage.EXECUTE
        with pytest.raises(lingon.errors.JaxRuntimeError, match="GPU"):
            _ = ctx.stream
        np.asarray(out)[...] = np.array(x, copy=True)
        kept.extend([x, out])
        cycle = [np.asarray(x)]
        cycle.append(cycle)

    same(
        lingon.jit(ours.buffer_callback(keep, struct((2, 3))))(X),
        jnp.asarray(X),
    )
    for b in kept:
        assert b.shape == (2, 3) and "no longer lent" in repr(b)
        with pytest.raises(RuntimeError, match="after the callback"):
            np.asarray(b)


def test_exceptions_hold_no_views():
    f = ours.buffer_callback(raising, struct((2, 3)))
    with pytest.raises(lingon.errors.JaxRuntimeError) as e:
        lingon.jit(f)(X)
    trace = e.value.__cause__.__traceback__
    frames = []
    while trace is not None:
        frames.append(trace.tb_frame)
        trace = trace.tb_next
    assert any(f.f_code is raising.__code__ and not f.f_locals for f in frames)


def test_dlpack():
    def f(ctx, out, x):
        assert x.__dlpack_device__() == (1, 0)
        np.from_dlpack(out)[...] = np.from_dlpack(x) * 3

    for run in (lambda f: f, lingon.jit):
        same(run(ours.buffer_callback(f, struct((2, 3))))(X), jnp.asarray(X * 3))


def test_bad_arguments():
    for mod in (ours, theirs):
        for bad in ("a", object()):
            with pytest.raises(TypeError, match="not a valid JAX type"):
                mod.buffer_callback(add, struct((2, 3)))(X, bad)
        with pytest.raises(AttributeError, match="has no attribute 'shape'"):
            mod.buffer_callback(add, 3)(X, X)
        for cls in (mod.Buffer, mod.ExecutionContext):
            with pytest.raises(TypeError, match="no constructor defined"):
                cls()
        with pytest.raises(ValueError, match="invalid literal for int"):
            mod.buffer_callback(add, struct((2, 3)), input_output_aliases={"a": 0})(X, X)
    with pytest.raises(TypeError, match="must be callable, got 3"):
        ours.buffer_callback(3, struct((2, 3)))
    with pytest.raises(TypeError, match="fill their key data"):
        ours.buffer_callback(add, lingon.ShapeDtypeStruct((2,), lingon.random.key(0).dtype))(X, X)


def test_functions_are_freed():
    class Callback:
        def __call__(self, ctx, out, x):
            np.asarray(out)[...] = 1

    callback = Callback()
    alive = weakref.ref(callback)
    f = lingon.jit(ours.buffer_callback(callback, struct((2, 3))))
    f(X)
    del callback, f
    gc.collect()
    assert alive() is None
