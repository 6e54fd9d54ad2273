"""Repeated equations become loops and functions: results as without, and programs that do not grow."""

from __future__ import annotations

import numpy as np
import pytest

import lingon
import lingon.numpy as jnp
from lingon.lowering.driver import lower_text
from lingon.lowering.emit import repeats


def normal(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def text_of(f, *args, **options):
    return lingon.jit(lambda *a: f(*a), **options).lower(*args).as_text()


def inlined(f, *args):
    """What `f` gives where nothing is taken together."""
    least = repeats.LEAST_SAVING
    repeats.LEAST_SAVING = 10**9
    try:
        return lingon.jit(lambda *a: f(*a))(*args)
    finally:
        repeats.LEAST_SAVING = least


def same(f, *args, tolerance=1e-5):
    got, expected = lingon.jit(lambda *a: f(*a))(*args), inlined(f, *args)
    got, expected = lingon.tree.leaves(got), lingon.tree.leaves(expected)
    assert len(got) == len(expected)
    for a, b in zip(got, expected, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_allclose(np.asarray(a), np.asarray(b), tolerance, tolerance)
    return got


W, X = normal(16, 16) * np.float32(0.3), normal(4, 16, seed=1)


def steps(count):
    def f(w, x):
        for _ in range(count):
            x = jnp.tanh(x @ w)
        return x

    return f


def test_unrolled_steps_are_a_loop():
    few, many = text_of(steps(40), W, X), text_of(steps(80), W, X)
    assert len(few.splitlines()) == len(many.splitlines())
    assert "scf.for" in many and many.count("lingon.kernel_call") == 1
    same(steps(40), W, X)


def test_few_steps_and_elementwise_chains_stay_as_they_are():
    assert "scf.for" not in text_of(steps(10), W, X)

    def chain(x):
        for _ in range(100):
            x = jnp.sin(x) * 2 + 1
        return x

    assert "scf.for" not in text_of(chain, X)


def test_what_is_in_front_and_behind_is_kept():
    def f(w, x):
        first = x * 2
        x = jnp.sin(first)
        for _ in range(33):
            x = jnp.tanh(x @ w) + first
        return x, jnp.sum(x * first)

    assert text_of(f, W, X).count("kernel_call") == 1
    same(f, W, X)


def test_several_carries_that_change_places():
    def f(w, x):
        y = x + 1
        for _ in range(30):
            x, y = y, jnp.tanh(x @ w) - 0.5 * y
        return x, y

    same(f, W, X)


def test_scalars_and_integers_are_carried():
    def f(w, x):
        s, n = jnp.sum(x), jnp.int32(0)
        for _ in range(20):
            x = jnp.tanh(x @ w + s)
            s, n = s * 0.5 + jnp.max(x), n + jnp.argmax(x[0]).astype(jnp.int32)
        return x, s, n

    same(f, W, X)


def test_literals_that_differ():
    def f(w, x):
        for k in range(40):
            x = jnp.tanh(x @ w) * (1 + 0.01 * k)
        return x

    same(f, W, X)


@pytest.mark.parametrize("zero", [0.0, -0.0])
def test_literals_that_are_equal_but_not_the_same(zero):
    def f(w, x):
        for k in range(40):
            x = x @ w + (zero if k % 2 else 0.0)
            x = jnp.copysign(x, 0.0 if k < 20 else zero)
        return x

    same(f, W, X)


def test_values_of_all_steps_are_read_later():
    def f(w, x):
        out = []
        for _ in range(24):
            x = jnp.tanh(x @ w)
            out.append(x)
        return jnp.stack(out), out[3]

    same(f, W, X)


def test_a_value_of_the_step_before_the_last():
    def f(w, x):
        y = x
        for _ in range(30):
            y, x = x, jnp.tanh(x @ w)
        return x, y

    same(f, W, X)


def test_steps_that_read_two_steps_back():
    def f(w, x):
        y = x * 0.5
        for _ in range(30):
            x, y = jnp.tanh(x @ w + y), x
        return x

    same(f, W, X)


def test_gradient_and_vmap():
    loss = lambda w, x: jnp.sum(steps(30)(w, x) ** 2)
    same(lingon.grad(loss, argnums=(0, 1)), W, X, tolerance=1e-4)
    same(lingon.vmap(steps(30), in_axes=(None, 0)), W, normal(3, 4, 16))
    same(lingon.vmap(lingon.grad(loss), in_axes=(None, 0)), W, normal(3, 4, 16), tolerance=1e-4)


def test_effects_keep_their_order(capfd):
    def f(w, x):
        for k in range(20):
            x = jnp.tanh(x @ w)
            lingon.debug.print("step {}", k, ordered=True)
        return x

    lingon.jit(f)(W, X).block_until_ready()
    lingon.effects_barrier()
    assert capfd.readouterr().out.split("\n")[:20] == [f"step {k}" for k in range(20)]


def test_inside_of_a_scan_and_a_conditional():
    def f(w, x):
        body = lambda c, _: (steps(20)(w, c), jnp.sum(c))
        x, sums = lingon.lax.scan(body, x, None, length=3)
        return lingon.lax.cond(sums[0] > 0, steps(25), lambda w, x: x, w, x), sums

    same(f, W, X)


def test_donated_arguments():
    f = lingon.jit(steps(40), donate_argnums=1)
    x = jnp.asarray(X)
    np.testing.assert_allclose(f(W, x), inlined(steps(40), W, X), 1e-5, 1e-5)
    assert x.is_deleted()


def test_stacked_weights():
    def f(ws, x):
        for k in range(20):
            x = jnp.tanh(x @ ws[k % 5])
        return x

    same(f, np.stack([W * (1 + k / 10) for k in range(5)]), X)


# ---- functions ---------------------------------------------------------------------------------


def layers(p, x):
    for w, b, v in p:
        x = x + jnp.tanh(x @ w + b) @ v
    return x


def parameters(count, seed=3):
    r = np.random.default_rng(seed)
    shapes = ((16, 24), (24,), (24, 16))
    return [[r.standard_normal(s).astype(np.float32) * 0.2 for s in shapes] for _ in range(count)]


def functions(text):
    return text.count("func.func") - 1, text.count("lingon.call @")


def test_layers_with_weights_of_their_own_are_calls():
    text = text_of(layers, parameters(12), X)
    assert functions(text) == (1, 12) and text.count("kernel_call") == 2
    same(layers, parameters(12), X)


def test_the_text_of_a_gradient_grows_by_calls_alone():
    def lines(count):
        loss = lambda p, x: jnp.sum(layers(p, x) ** 2)
        text = text_of(lingon.grad(loss), parameters(count), X)
        return len(text.splitlines()), text.count("lingon.call @")

    (few, some), (many, more) = lines(8), lines(16)
    assert more == some + 16
    assert (many - few) / 8 < 24
    same(lingon.grad(lambda p, x: jnp.sum(layers(p, x) ** 2)), parameters(8), X, tolerance=1e-4)


def test_jitted_layers_are_called():
    layer = lingon.jit(lambda w, b, v, x: x + jnp.tanh(x @ w + b) @ v)

    def f(p, x):
        for k, each in enumerate(p):
            x = layer(*each, x) * (1 + k)
        return x

    assert functions(text_of(f, parameters(10), X)) == (1, 10)
    same(f, parameters(10), X)
    same(lingon.vmap(f, in_axes=(None, 0)), parameters(10), normal(3, 4, 16))
    same(lingon.grad(lambda p, x: jnp.sum(f(p, x))), parameters(8), X, tolerance=1e-4)


def test_small_jitted_functions_are_inlined():
    relu = lingon.jit(lambda x: jnp.where(x > 0, x, 0))

    def f(x):
        for _ in range(40):
            x = relu(x) - 0.1
        return jnp.sum(x)

    assert functions(text_of(f, X)) == (0, 0)


def test_values_that_are_no_tensors_are_passed_and_returned():
    def f(p, x):
        s, out = jnp.float32(1), []
        for w, b, v in p:
            h = jnp.tanh(x @ w + jnp.broadcast_to(b * s, (4, 24)))
            x, s, n = x + h @ v, jnp.max(h), jnp.argmax(h)
            out.append(
                (s, n, w.T, jnp.broadcast_to(b, (3, 24)), jnp.any(h > 2), x.astype(jnp.bfloat16))
            )
        return x, out

    assert functions(text_of(f, parameters(8), X))[1] >= 7
    same(f, parameters(8), X, tolerance=1e-2)


def test_arrays_without_elements_and_keys():
    def f(p, x, key):
        empty = jnp.zeros((0, 4))
        for w, b, v in p:
            key, use = lingon.random.split(key)
            empty = jnp.concatenate([empty * 2, jnp.zeros((0, 4))])
            x = x + jnp.tanh(x @ w + b) @ v + lingon.random.normal(use, x.shape)
        return x, empty, lingon.random.key_data(key)

    same(f, parameters(8), X, lingon.random.key(1))


def test_slices_of_stacked_weights_are_not_copied():
    def f(ws, x):
        for k in range(24):
            x = jnp.tanh(x @ ws[k] + ws[k][0])
        return x

    ws = np.stack([W * (1 + k / 10) for k in range(24)])
    text = text_of(f, ws, X)
    assert functions(text) == (1, 24)
    assert "memref.copy" not in lower_text(text, "loops")
    same(f, ws, X)


def test_results_of_calls_are_results_of_the_program():
    def f(p, x):
        out = []
        for w, b, v in p:
            x = x + jnp.tanh(x @ w + b) @ v
            out.append(x)
        return out

    text = lingon.jit(f).lower(parameters(12), X)
    assert functions(text.as_text())[1] == 12
    same(f, parameters(12), X)


def test_a_run_whose_end_is_cut_off():
    def f(p, x):
        for w, b, v in p:
            x = x - jnp.mean(x, axis=1, keepdims=True)
            x = x / jnp.sqrt(jnp.mean(x * x, axis=1, keepdims=True) + 1e-5)
            h = jnp.tanh(x @ w + b)
            h = h * jnp.exp(-h) + jnp.sin(h) / (1 + h * h)
            x = x + h @ v
        x = x - jnp.mean(x, axis=1, keepdims=True)
        x = x / jnp.sqrt(jnp.mean(x * x, axis=1, keepdims=True) + 1e-5)
        return jnp.tanh(x @ p[0][0] + p[0][1])

    same(f, parameters(6), X, tolerance=1e-4)


def test_donated_arguments_of_calls():
    f = lingon.jit(layers, donate_argnums=1)
    x = jnp.asarray(X)
    np.testing.assert_allclose(f(parameters(12), x), inlined(layers, parameters(12), X), 1e-5, 1e-5)
    assert x.is_deleted()


def test_counts_are_those_of_all_calls():
    def costs(f, *args):
        return lingon.jit(lambda *a: f(*a)).lower(*args).compile().cost_analysis()

    for f, args in ((layers, (parameters(12), X)), (steps(40), (W, X))):
        together = costs(f, *args)
        least, repeats.LEAST_SAVING = repeats.LEAST_SAVING, 10**9
        try:
            single = costs(f, *args)
        finally:
            repeats.LEAST_SAVING = least
        assert together["flops"] == single["flops"]
        assert together["transcendentals"] == single["transcendentals"]
        assert together["bytes accessed"] == pytest.approx(single["bytes accessed"], rel=0.2)


def test_what_is_updated_in_place_is_not_passed_to_functions():
    def f(caches, ws, x, at):
        out = []
        for k in range(8):
            h = jnp.tanh(x @ ws[k])
            h = jnp.sin(h) * jnp.exp(-h * h) + jnp.cos(h)
            out.append(lingon.lax.dynamic_update_slice(caches[k], h, (at, 0)))
            x = x + h @ ws[k]
        return x, out

    caches, ws = [normal(64, 16, seed=k) for k in range(8)], np.stack([W] * 8)
    assert functions(text_of(f, caches, ws, X, 3)) == (0, 0)
    same(f, caches, ws, X, 3)


def test_library_functions_with_reductions_are_inlined():
    def f(x, y):
        out = []
        for k in range(8):
            s = lingon.nn.softmax(x * y + k, axis=1)
            out.append(jnp.var(s, axis=0) + lingon.nn.logsumexp(s * 2, axis=0))
        return out

    assert functions(text_of(f, X, X))[1] == 0
    same(f, X, X)


def test_functions_that_call_functions_twice():
    f = lambda w, x: jnp.tanh(x @ w) @ w
    for _ in range(12):
        f = lingon.jit(lambda w, x, g=f: g(w, x) + g(w, x + 1))
    text = text_of(f, W, X)
    assert functions(text)[0] < 14 and len(text.splitlines()) < 1500
    got = np.asarray(lingon.jit(f)(W, X))
    assert np.isfinite(got).all()


# ---- ends of a run -----------------------------------------------------------------------------


def mixed(count):
    """The last step computes one value that nothing reads, which is removed."""

    def f(x, y):
        for i in range(count):
            x = jnp.sin(x) * y + jnp.maximum(y - x, 0.1)
            y = y * 0.99
            if i % 10 == 9:
                x = x - jnp.mean(x)
        return x

    return f


@pytest.mark.parametrize("count", [20, 50, 53])
def test_a_last_period_that_lacks_an_equation(count):
    a, b = np.abs(normal(40)) + 0.1, np.abs(normal(40, seed=1)) + 0.1
    text = text_of(mixed(count), a, b)
    assert text.count("linalg.generic") < 16 and "scf.for" in text
    same(mixed(count), a, b, tolerance=1e-4)


def test_a_first_layer_without_a_gradient_of_its_input():
    def loss(p, x):
        for w, b, v in p:
            x = x - jnp.mean(x, axis=1, keepdims=True)
            x = x / jnp.sqrt(jnp.mean(x * x, axis=1, keepdims=True) + 1e-5)
            x = x + jnp.tanh(jnp.tanh(x @ w + b) @ v)
        return jnp.sum(x * x)

    same(lingon.grad(loss), parameters(6), X, tolerance=1e-3)
    same(lingon.grad(loss, argnums=(0, 1)), parameters(6), X, tolerance=1e-3)


def test_steps_that_read_their_neighbours_are_a_loop():
    def f(x):
        for _ in range(30):
            x = 0.5 * x + 0.25 * jnp.roll(x, 1, 0) + 0.25 * jnp.roll(x, -1, 1)
        return x, jnp.sum(x)

    assert "scf.for" in text_of(f, X)
    same(f, X)
    same(lingon.grad(lambda x: f(x)[1]), X)


# ---- parts of buffers that calls take ----------------------------------------------------------


@pytest.mark.parametrize("length", [1, 3, 4])
@pytest.mark.parametrize("scan", [lingon.lax.cummax, lingon.lax.cumprod, lingon.lax.cumlogsumexp])
def test_calls_with_the_first_elements_of_an_argument(scan, length):
    def loss(x, b):
        for _ in range(4):
            x = x + jnp.tanh(scan(b, axis=0) + x) * 0.1
        return jnp.sum(x * 2.0)

    x, b = normal(5, length), normal(length, seed=1)
    same(loss, x, b)
    same(lingon.grad(loss, argnums=(0, 1)), x, b, tolerance=1e-4)


@pytest.mark.parametrize(
    "take", [lambda b: b[:16], lambda b: b[1:17], lambda b: b[:32:2], lambda b: b[-16:]]
)
def test_calls_with_a_part_of_an_argument(take):
    def f(w, x, b):
        kept = []
        for _ in range(4):
            x = jnp.tanh(x @ w + take(b)) @ w
            x = jnp.cumsum(jnp.sort(x, axis=0), axis=1) * 0.1 + jnp.cumsum(take(b))
            x = x - jnp.mean(x, axis=1, keepdims=True)
            kept.append(x)
        return kept

    same(f, W, X, normal(33, seed=2), tolerance=1e-4)
