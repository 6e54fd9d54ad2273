"""Calls of the library outside of transformations: the same bits at every call, in any thread."""

from __future__ import annotations

import concurrent.futures
import gc
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import lingon as jax
import lingon.numpy as jnp
from lingon import lax, random
from lingon.frontend.core import eager
from lingon.frontend.transforms.eager_functions import eager_function
from lingon.runtime import LARGE_SIZE, ArrayImpl, EagerFunction

CALLS = 6  # enough to have a program


def arrays() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "x": jnp.asarray(rng.normal(size=10).astype(np.float32)),
        "y": jnp.asarray(rng.normal(size=10).astype(np.float32)),
        "m": jnp.asarray(rng.normal(size=(4, 5)).astype(np.float32)),
        "n": jnp.asarray(rng.normal(size=(5, 3)).astype(np.float32)),
        "i": jnp.asarray(np.array([3, -1, 2, 0], np.int32)),
        "k": jnp.asarray(rng.integers(-9, 9, 10).astype(np.int32)),
        "u": jnp.asarray(rng.integers(0, 200, 10).astype(np.uint8)),
        "b": jnp.asarray(rng.integers(0, 2, 10).astype(bool)),
        "h": jnp.asarray(rng.normal(size=10).astype(np.float16)),
        "g": jnp.asarray(rng.normal(size=10).astype(np.float32)).astype(jnp.bfloat16),
        "c": jnp.asarray((rng.normal(size=6) + 1j * rng.normal(size=6)).astype(np.complex64)),
        "t": jnp.asarray(rng.normal(size=(2, 3, 4)).astype(np.float32)),
        "key": random.PRNGKey(3),
        "typed": random.key(3),
    }


A = arrays()
EXPRESSIONS = """
x + y; x + 1; 2.5 * x; 1 - x; -x; x ** 2; x ** -2; x ** 0.5; x / y; x // y; x % y; abs(x); x < y; x == 0
k + 1; k // 3; k % 3; k / 2; k << 1; k >> 1; k & 3; ~k; -k; k ** 2; k // 0; k % 0; u + 1; u - 7; u // 3
h + 0.1; h * h; b & b; b | True; b + 1; c * c; c / 3; c ** 2; abs(c); c + 1; x + c[0]; 1.5 // x; 3 % k
jnp.sin(x); jnp.exp(x); jnp.tanh(m.T); jnp.sqrt(abs(x)); jnp.log1p(abs(x)); jnp.arctan2(x, y); jnp.square(c)
jnp.maximum(x, 0); jnp.minimum(x, jnp.nan); jnp.sign(x); jnp.round(x, 1); jnp.rint(x); jnp.floor(x); jnp.trunc(x)
jnp.hypot(x, y); jnp.logaddexp(x, y); jnp.power(2.0, x); jnp.isnan(x); jnp.isfinite(x); jnp.logical_not(b)
jnp.sum(x); jnp.sum(m, axis=0); jnp.sum(m, axis=1, keepdims=True); jnp.sum(t, axis=(0, 2)); jnp.sum(m.T, axis=0)
jnp.mean(x); jnp.mean(m, axis=1); jnp.var(m, axis=0); jnp.std(x, ddof=1); jnp.prod(x); jnp.max(m, axis=0)
jnp.min(k); jnp.any(b); jnp.all(b); jnp.argmax(m, axis=1); jnp.argmin(x); jnp.cumsum(m, axis=0); jnp.cumprod(x)
jnp.sum(h); jnp.sum(u); jnp.sum(b); jnp.sum(c); jnp.mean(k); jnp.median(x); jnp.quantile(x, 0.3); jnp.ptp(x)
m @ n; x @ y; jnp.dot(m, n); jnp.einsum('ij,jk->ik', m, n); jnp.outer(x, y); jnp.tensordot(m, n, 1); n.T @ m.T
jnp.vdot(c, c); jnp.inner(x, y); k @ k; jnp.kron(x, y); jnp.cross(x[:3], y[:3])
jnp.where(b, x, y); jnp.where(b, x, 0.0); jnp.where(b, k, 1); jnp.concatenate([x, y]); jnp.stack([x, y], 1)
jnp.reshape(m, (5, 4)); m.reshape(-1); jnp.transpose(t, (2, 0, 1)); m.T; jnp.ravel(m); jnp.expand_dims(x, 0)
jnp.squeeze(x[None]); jnp.broadcast_to(x, (3, 10)); jnp.tile(m, (2, 1)); jnp.pad(m, ((1, 2), (0, 1)))
jnp.pad(x, 2, mode='reflect'); jnp.flip(m, 1); jnp.roll(x, 3); jnp.repeat(x, 3); jnp.split(x, 2); jnp.rot90(m)
jnp.take(x, i); jnp.take_along_axis(m, jnp.argsort(m, axis=1), axis=1); jnp.clip(x, -0.5, 0.5); jnp.sort(x)
jnp.argsort(k); jnp.sort(m, axis=0); jnp.searchsorted(jnp.sort(x), y); jnp.diff(x); jnp.trace(m); jnp.diag(x)
x[i]; x[jnp.asarray(2)]; m[i, i]; m[:, i]; m[i, 1:3]; x[::-2]; m[..., 0]; x[i[:, None] % 3]; t[0, i[:2]]
x.at[2].set(1.0); x.at[i].add(1.0); x.at[1:3].set(0.0); m.at[i, i].mul(2.0); k.at[i].min(0); m.at[:, 1].set(y[:4])
x.at[jnp.asarray([50])].set(1.0); x.at[i].get(mode='clip'); x.astype(jnp.int32); x.astype(jnp.float16); k.astype(float)
u.astype(jnp.int8); b.astype(jnp.float32); x.view(jnp.int32)
jnp.linspace(0, 1, 7); jnp.linspace(0.5, 2.0, 7, endpoint=False); jnp.arange(5); jnp.arange(1.0, 2.0, 0.25)
jnp.zeros_like(x); jnp.ones_like(k); jnp.full_like(x, 2); jnp.eye(3); jnp.tri(3)
jax.nn.relu(x); jax.nn.softmax(m); jax.nn.log_softmax(m, axis=0); jax.nn.gelu(x); jax.nn.sigmoid(x); jax.nn.silu(x)
jax.nn.one_hot(i, 4); jax.nn.logsumexp(m, axis=1); jax.nn.softplus(x); jax.nn.elu(x)
jnp.allclose(x, y); jnp.array_equal(x, x); jnp.isclose(x, y); jnp.interp(x, jnp.sort(x), y); jnp.histogram(x, 4)
random.split(key); random.split(typed, 3); random.fold_in(key, 7); random.normal(key, (7,)); random.uniform(typed, (3, 2))
random.bernoulli(key, 0.3, (9,)); random.randint(key, (5,), 0, 9); random.permutation(key, 8); random.categorical(key, x)
random.bits(key, (3,)); random.permutation(typed, m); random.exponential(key, (4,)); random.choice(key, x, (3,))
lax.add(x, y); lax.rsqrt(abs(x)); lax.dynamic_slice(m, (1, 1), (2, 3)); lax.dynamic_update_slice(x, y[:3], (8,))
lax.reduce_sum(m, (0,)); lax.rev(m, (0, 1)); lax.top_k(x, 3); lax.clamp(-0.5, x, 0.5); lax.population_count(k)
lax.pad(x, 0.0, [(1, -2, 1)]); lax.integer_pow(x, 5); lax.erf_inv(x / 10); lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO)
h + h; h * 3; -h; h / 7; jnp.exp(h); jnp.tanh(h); jnp.mean(h); jnp.max(h); jnp.argmin(h); jnp.cumsum(h); h @ h; h < 0
g + g; g * 3; -g; g / 7; jnp.exp(g); jnp.tanh(g); jnp.mean(g); jnp.sum(g); jnp.argmax(g); jnp.cumsum(g); g @ g; g == 0
h.astype(jnp.bfloat16); g.astype(jnp.int32); k.astype(jnp.bfloat16); x.astype(jnp.bfloat16); jax.nn.softmax(g); u @ u
lax.shift_right_logical(k, k); lax.cumlogsumexp(x); lax.select(b, x, y); lax.concatenate([m, m], 1); lax.rem(k, k)
"""
CASES = [e.strip() for line in EXPRESSIONS.splitlines() for e in line.split(";") if e.strip()]


def compute(expression: str) -> Any:
    return eval(expression, {"jnp": jnp, "jax": jax, "lax": lax, "random": random, **A})


def same(a: Any, b: Any) -> None:
    la, ta = jax.tree.flatten(a)
    lb, tb = jax.tree.flatten(b)
    assert ta == tb
    for p, q in zip(la, lb, strict=True):
        assert type(p) is type(q)
        if not isinstance(p, ArrayImpl):
            p, q = random.key_data(p), random.key_data(q)
        assert p.dtype == q.dtype and p.shape == q.shape and p.weak_type == q.weak_type
        assert np.asarray(p).tobytes() == np.asarray(q).tobytes(), (p, q)


@pytest.fixture
def fresh() -> None:
    EagerFunction.clear_all()


@pytest.mark.parametrize("expression", CASES)
def test_every_call_gives_the_same_bits(expression: str, fresh: None) -> None:
    first = compute(expression)
    for _ in range(CALLS):
        same(first, compute(expression))


def counted(f: Callable[..., Any], **options: Any) -> tuple[Any, list[int]]:
    """An eager function, and how often its Python code ran outside of tracing."""
    runs = [0]

    def g(*args: Any, **kwargs: Any) -> Any:
        runs[0] += 1
        return f(*args, **kwargs)

    return eager_function(g, **options), runs


def test_python_runs_until_there_is_a_program() -> None:
    f, runs = counted(lambda x: jnp.sin(x) + jnp.sum(x))
    for _ in range(20):
        f(A["x"])
    assert runs[0] <= 5 and f.num_programs() == 1
    before = runs[0]
    f(A["y"])  # other values are the same call
    assert runs[0] == before
    f(A["m"])
    assert runs[0] == before + 1 and f.cache_size() == 2


@pytest.mark.parametrize(
    "other",
    [lambda: (A["x"].astype(jnp.float16), 1), lambda: (A["m"], 1), lambda: (A["x"], 2),
     lambda: (A["x"], 1.0), lambda: (A["x"], True), lambda: (jnp.asarray(1.0), 1)],
)  # fmt: skip
def test_what_is_another_call(other: Callable[[], tuple]) -> None:
    f, runs = counted(lambda x, k: (x, jnp.full((), k)))
    for _ in range(CALLS):
        f(A["x"], 1)
    before = runs[0]
    args = other()
    out = f(*args)
    assert runs[0] == before + 1
    want = jnp.full((), args[1])
    assert out[1].dtype == want.dtype and out[1] == want


def test_python_numbers_are_operands_where_they_may_be() -> None:
    f, runs = counted(lambda x, y: jnp.add(x, y), numbers=True)
    for k in range(CALLS):
        f(A["x"], float(k))
    before = runs[0]
    assert f(A["x"], 1e30)[0] == np.float32(1e30) and runs[0] == before
    assert np.isinf(f(A["x"], 1e300)).all() and runs[0] == before + 1
    # a number takes the dtype of a narrow array without a detour
    for k in range(CALLS):
        out = f(A["h"], 0.1 * k)
        np.testing.assert_array_equal(out, np.asarray(A["h"]) + np.float16(0.1 * k))
        assert out.dtype == np.float16


@pytest.mark.parametrize(
    "f",
    [
        lambda v: jnp.linspace(v, 2 * v + 0.3, 7), lambda v: jnp.linspace(v, 1.0, 5, dtype=jnp.float16),
        lambda v: jnp.where(A["b"], A["x"], v), lambda v: jnp.where(A["b"], A["h"], v),
        lambda v: jnp.where(A["b"], v, -v), lambda v: jnp.clip(A["k"], -v, v),
        lambda v: jnp.clip(A["g"], -v, v), lambda v: random.uniform(A["key"], (4,), minval=-v, maxval=v),
        lambda v: random.uniform(A["typed"], (4,), jnp.float16, -v, v), lambda v: A["h"] * v,
    ],
)  # fmt: skip
def test_other_floats_give_what_first_calls_with_them_give(f: Callable[..., Any]) -> None:
    values = [0.1 * i + 0.0123 for i in range(2 * CALLS)]
    first = []
    for v in values:
        EagerFunction.clear_all()
        first.append(f(v))
    EagerFunction.clear_all()
    for v in values[:CALLS]:
        f(v)
    for v, want in zip(values, first, strict=True):
        same(f(v), want)


def test_weak_types_and_dtypes() -> None:
    for _ in range(CALLS):
        assert (jnp.asarray(2) * 3).weak_type and not (A["k"] * 3).weak_type
        assert jnp.sin(1.0).weak_type is jnp.sin(2.0).weak_type is True
        assert (A["k"] + 1).dtype == jnp.int32 and (A["k"] + 1.0).dtype == jnp.float32
        assert (jnp.uint8(1) + 1).dtype == jnp.uint8
        assert (jnp.float16(1) * 2.0).dtype == jnp.float16


@pytest.mark.parametrize("call, error", [
    (lambda: jnp.sin("a"), TypeError),
    (lambda: jnp.add(A["x"], A["m"]), (TypeError, ValueError)),
    (lambda: jnp.reshape(A["x"], (3,)), (TypeError, ValueError)),
    (lambda: jnp.sum(A["x"], axis=1), ValueError),
    (lambda: A["x"] + [1], TypeError),
    (lambda: A["x"] @ jnp.ones(3), (TypeError, ValueError)),
    (lambda: jnp.concatenate([A["x"], A["m"]]), (TypeError, ValueError)),
    (lambda: random.normal(A["x"]), (TypeError, ValueError)),
    (lambda: A["m"][0, 0, 0], IndexError),
])  # fmt: skip
def test_errors_are_raised_at_every_call(call: Callable[[], Any], error: Any) -> None:
    texts = set()
    for _ in range(CALLS):
        with pytest.raises(error) as e:
            call()
        texts.add(str(e.value))
    assert len(texts) == 1


def test_warnings_are_given_at_every_call() -> None:
    for _ in range(CALLS):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            A["x"].astype("float64")
        assert len(seen) == 1


def test_deleted_arrays() -> None:
    x = jnp.ones(3) + 0
    for _ in range(CALLS):
        jnp.sin(x)
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        jnp.sin(x)


@pytest.mark.parametrize("f", [jnp.copy, lax.stop_gradient, lambda x: x.reshape(3), jnp.conj])
def test_results_are_arrays_of_their_own_as_in_the_first_call(f: Callable[..., Any]) -> None:
    kinds = set()
    for _ in range(CALLS):
        x = jnp.arange(3.0) + 0
        y = f(x)
        kinds.add(y is x)
        if y is not x:
            x.delete()
            assert y.tolist() == [0.0, 1.0, 2.0]
    assert len(kinds) == 1


def test_options_are_part_of_the_call() -> None:
    for _ in range(CALLS):
        assert jnp.arange(3).dtype == jnp.int32
        with jax.enable_x64(True):
            assert jnp.arange(3).dtype == jnp.int64
    zero = jnp.zeros(2)
    for _ in range(CALLS):
        assert np.isnan(zero / zero).all()
    with jax.debug_nans(True):
        for _ in range(CALLS):
            with pytest.raises(FloatingPointError):
                zero / zero


def test_results_do_not_follow_numpy_arrays() -> None:
    a = np.arange(4, dtype=np.float32)
    f = eager_function(lambda x: jnp.asarray(x))
    outs = [f(a) for _ in range(CALLS)]
    a[:] = 9
    for o in outs:
        np.testing.assert_array_equal(o, [0, 1, 2, 3])


def test_functions_that_need_values_stay_python() -> None:
    for _ in range(CALLS):
        assert A["x"][A["b"]].shape == (int(A["b"].sum()),)
        assert jnp.unique(jnp.asarray([1, 1, 2])).shape == (2,)
        assert len(jnp.nonzero(A["b"])[0]) == int(A["b"].sum())


def test_under_transformations() -> None:
    f = eager_function(lambda x: jnp.sum(jnp.sin(x) ** 2))
    for _ in range(CALLS):
        f(A["x"])
        np.testing.assert_allclose(jax.grad(f)(A["x"]), np.sin(2 * np.asarray(A["x"])), rtol=1e-5)
        assert jax.vmap(f)(A["m"]).shape == (4,)
        assert jax.jit(f)(A["x"]).shape == ()
        assert "sin" in str(jax.make_jaxpr(f)(A["x"]))


def test_large_arrays_are_compiled_at_the_first_call() -> None:
    f, runs = counted(lambda x: jnp.sin(x) + 1)
    x = jnp.ones(LARGE_SIZE + 1)
    first = f(x)
    assert f.num_programs() == 1 and runs[0] == 1
    same(first, f(x))
    assert runs[0] == 1
    g, _ = counted(lambda shape: jnp.ones(shape) * 2)
    assert g((LARGE_SIZE, 2))[0, 0] == 2 and g.num_programs() == 1


def test_large_sizes_are_compiled_at_the_first_call(fresh: None) -> None:
    assert jnp.arange(LARGE_SIZE + 5)[-1] == LARGE_SIZE + 4
    assert jnp.arange.num_programs() == 1
    assert jnp.arange(5)[-1] == 4 and jnp.arange.num_programs() == 1


def test_threads() -> None:
    def work(seed: int) -> float:
        x = jnp.full((8,), float(seed))
        total = 0.0
        for _ in range(200):
            total += float(jnp.sum(jnp.sin(x) + x * 2.0)) + float(jnp.max(x @ x))
        return total

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        got = list(pool.map(work, range(16)))
    assert got == [work(s) for s in range(16)]


def test_memory_does_not_grow() -> None:
    x, key = A["x"], A["key"]

    def some() -> None:
        jnp.var(x)
        x.at[2].set(1.0)
        random.normal(key, (4,))
        jax.nn.softmax(A["m"])
        jnp.stack([x, x])

    for _ in range(20):
        some()
    gc.collect()
    blocks = jax.live_arrays()
    for _ in range(2000):
        some()
    gc.collect()
    assert len(jax.live_arrays()) == len(blocks)


def test_static_values_are_bounded() -> None:
    f, _ = counted(lambda x, k: x + k)
    for k in range(5000):
        f(A["x"], k)
    assert f.cache_size() <= 2048


def test_looks_like_a_function() -> None:
    import inspect

    assert list(inspect.signature(jnp.sum).parameters)[:2] == ["a", "axis"]
    assert jnp.sum.__name__ == "sum" and jnp.sum.__doc__
    assert pickle.loads(pickle.dumps(jnp.sin)) is jnp.sin
    assert "sum" in repr(jnp.sum)


def test_single_primitives_give_the_same_bits_at_every_call() -> None:
    """Also where no function of the library is around them."""
    from lingon.frontend.core.primitive import registry

    for name, args, params in [
        ("reduce_sum", (A["t"],), {"axes": (0, 2), "out_sharding": None}),
        ("mul", (A["c"], A["c"]), {"out_dtype": None}),
        ("exp", (A["x"],), {"accuracy": None}),
    ]:
        p = registry[name]
        p.results.clear()
        outs = [eager.evaluate(p, args, params) for _ in range(CALLS)]
        for o in outs:
            same(outs[0], o)


def test_single_primitives_on_large_arrays_are_compiled_once() -> None:
    from lingon.frontend.transforms import programs

    x = jnp.linspace(-1.0, 1.0, LARGE_SIZE + 7)
    grad = jax.grad(lambda x: jnp.sum(jnp.tanh(x)))
    first = grad(x)
    np.testing.assert_allclose(first, 1 - np.tanh(np.asarray(x)) ** 2, rtol=1e-5, atol=1e-6)
    known = len(programs._eager_programs.keys())
    assert known
    for _ in range(CALLS):
        same(first, grad(x))
    assert len(programs._eager_programs.keys()) == known
