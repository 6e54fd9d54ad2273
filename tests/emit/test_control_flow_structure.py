"""What loops become: updates in place, memory planned once, bodies whose size counts once."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from emit_oracle import emitted
from jax import lax

from lingon.lowering.driver import lower_text
from lingon.lowering.stats import Stats, program_stats


def stats(fn, *args) -> Stats:
    """Counts of the compiled program."""
    return program_stats(emitted(fn, *args))


def loops(fn, *args) -> str:
    """Text of @main in stage loops."""
    text = lower_text(emitted(fn, *args), "loops")
    start = text.index("func.func @main(")
    return text[start : text.index("\n  }\n", start)]


def in_loops(text: str) -> str:
    """The lines inside of loops."""
    depth, kept = 0, []
    for line in text.splitlines():
        ends = re.fullmatch(r" *\}( \{.*\})?", line)  # with or without attributes
        if depth and ends and len(line) - len(line.lstrip()) <= depth:
            depth = 0
        if depth:
            kept.append(line)
        elif re.search(r"scf\.(for|while)", line):
            depth = len(line) - len(line.lstrip())
        if "} do {" in line:
            depth = len(line) - len(line.lstrip())
    return "\n".join(kept)


def set_each(i, x):
    """One update that reads a neighbour."""
    return x.at[i].set(x[i - 1] * 0.5 + 1)


def slice_each(i, x):
    """One update of a window."""
    part = lax.dynamic_slice(x, (i,), (3,))
    return lax.dynamic_update_slice(x, part * 0.5, (i + 1,))


def guarded(i, x):
    """An update in one branch."""
    return lax.cond(x[i] > 0, lambda x: x.at[i].set(0.0), lambda x: x, x)


def switched(i, x):
    """An update in some of several branches."""
    branches = [lambda x: x, lambda x: x.at[i].add(1.0), lambda x: x.at[0].set(x[i])]
    return lax.switch(i % 3, branches, x)


def late_read(i, x):
    """The old value is read after the new one is known."""
    new = x.at[i].set(1.0)
    return new.at[0].set(new[i] + x[i])


def inner_loop(i, x):
    """Updates in a loop in the loop."""
    return lax.fori_loop(0, 2, lambda k, x: x.at[i + k].set(1.0), x)


UPDATES = (set_each, slice_each, guarded, switched, late_read, inner_loop)


@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("dynamic", [False, True])
def test_updates_are_in_place(update, dynamic):
    """Nothing of the array's size is made or copied in the loop."""
    n = 5000
    x = np.zeros(n, np.float32)

    def run(x, m):
        return lax.fori_loop(0, m if dynamic else n, update, x)

    text = in_loops(loops(run, x, np.int32(7)))
    assert "memref.store" in text or "memref.copy" in text
    copied = [line for line in text.splitlines() if "memref.copy" in line and f"{n}x" in line]
    assert not copied
    assert "memref.alloc()" not in text
    counts = stats(run, x, np.int32(7))
    assert counts.allocated_bytes < 100
    assert counts.copies <= 1 + (update is slice_each)


@pytest.mark.parametrize("update", UPDATES)
def test_cost_of_an_update_does_not_depend_on_the_size(update):
    """n updates of an array of n elements touch a number of bytes that is linear in n."""
    sizes = [1000, 3000, 10_000, 30_000, 100_000]
    touched = []
    for n in sizes:
        x = np.zeros(n, np.float32)
        touched.append(stats(lambda x, n=n: lax.fori_loop(0, n, update, x), x).bytes_accessed)
    exponent = np.polyfit(np.log(sizes), np.log(touched), 1)[0]
    assert 0.9 < exponent < 1.1


def test_the_exponent_shows_a_copy():
    """The count behind the test above: an update that needs a copy is quadratic."""

    def shifted(i, x):
        return x[::-1].at[i].set(1.0)

    touched = [
        stats(lambda x, n=n: lax.fori_loop(0, n, shifted, x), np.zeros(n, np.float32))
        for n in (1000, 10_000)
    ]
    assert touched[1].bytes_accessed > 90 * touched[0].bytes_accessed


def test_stacked_results_are_written_where_they_belong():
    xs = np.zeros((50, 8, 8), np.float32)

    def run(c, xs):
        return lax.scan(lambda c, x: (c * 0.5 + x.sum(), jnp.sin(x) + c), c, xs)

    text = loops(run, np.zeros((8, 8), np.float32), xs)
    assert "memref.copy" not in in_loops(text)
    assert stats(run, np.zeros((8, 8), np.float32), xs).allocations == 0


def test_elementwise_carries_stay_in_one_buffer():
    x = np.zeros(5000, np.float32)

    def run(x):
        return lax.fori_loop(0, 9, lambda i, x: jnp.sin(x) * 0.5 + i, x)

    counts = stats(run, x)
    assert counts.allocations == 0
    assert "memref.copy" not in in_loops(loops(run, x))


def test_memory_of_a_loop_is_planned_once():
    x = np.zeros((40, 40), np.float32)

    def run(x):
        return lax.fori_loop(0, 9, lambda i, x: jnp.tanh(x @ x) + x.T, x)

    text = loops(run, x)
    assert "memref.alloc()" not in text
    assert re.search(r"lingon\.scratch_bytes = \d+", text)
    assert stats(run, x).allocated_bytes <= 3 * x.nbytes


def test_scalar_carries_are_registers():
    init = tuple(np.float32(k) for k in range(60))
    xs = np.zeros(10, np.float32)

    def run(init, xs):
        def body(c, x):
            return tuple(c[k] * 0.5 + c[(k + 1) % 60] * x for k in range(60)), None

        return lax.scan(body, init, xs)[0]

    inside = in_loops(loops(run, init, xs))
    assert inside.count("memref.load") == 1
    assert "memref.store" not in inside
    for fn in (run, lambda i, x: jax.grad(lambda i: sum(run(i, x)))(i)):
        counts = stats(fn, init, xs)
        assert counts.copies == 0
        assert counts.kernels <= 2


def test_small_loops_inside_of_loops_stay_serial():
    small, large = np.zeros(1000, np.float32), np.zeros(1_000_000, np.float32)

    def run(x):
        return lax.fori_loop(0, 9, lambda i, x: jnp.sin(x) * 0.5, x)

    assert "lingon_rt_parallel_for" not in loops(run, small)
    assert "lingon_rt_parallel_for" in loops(run, large)


def _operations(fn, *args) -> tuple[int, int]:
    text = emitted(fn, *args)
    return text.count(" = "), lower_text(text, "llvm-dialect").count(" = ")


BODIES = {
    "scalars": lambda n: (
        lambda i, x: (lambda s: x.at[0].set(s))(
            _repeat(n, lambda s, k: s * np.float32(0.5 + k) + np.float32(1), x[i])
        )
    ),
    "arrays": lambda n: lambda i, x: _repeat(n, lambda x, k: x * np.float32(0.5 + k) + x[i], x),
    "updates": lambda n: lambda i, x: _repeat(n, lambda x, k: x.at[k].set(x[i] * 0.5), x),
}


def _repeat(n, step, x):
    for k in range(n):
        x = step(x, k)
    return x


@pytest.mark.parametrize("body", BODIES)
def test_program_grows_with_the_equations_of_a_body(body):
    x = np.zeros(500, np.float32)
    sizes = [25, 50, 100, 200]
    counts = [_operations(lambda x, n=n: lax.fori_loop(0, 9, BODIES[body](n), x), x) for n in sizes]
    for stage in (0, 1):
        grown = np.diff([c[stage] for c in counts]) / np.diff(sizes)
        assert grown.max() < 1.2 * grown.min() + 2


def _sines(x):
    for _ in range(20):
        x = jnp.sin(x)
    return x


def _functions(x):
    for fn in (
        jnp.sin, jnp.cos, jnp.exp, jnp.tanh, jnp.log1p, jnp.arctan, jnp.sinh, jnp.expm1, jnp.sqrt,
        jnp.cbrt, jnp.tan, jnp.arcsinh, lax.erf, jnp.log, jnp.cosh, lax.lgamma, jnp.exp2,
        lax.digamma, jax.nn.sigmoid, jnp.arccosh,
    ):  # fmt: skip
        x = fn(x)
    return x


@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize("chain", [_sines, _functions])
def test_a_chain_of_twenty_functions_is_one_loop(chain, name):
    x = np.zeros((100, 1000), name)
    for program in (chain, lambda x: lax.fori_loop(0, 3, lambda i, x: chain(x), x)):
        text = emitted(program, x)
        assert lower_text(text, "fused").count("linalg.generic") == 1
        assert program_stats(text).allocations == 0
    whole = lower_text(emitted(chain, x), "loops")
    assert whole.count("scf.for") + whole.count("scf.parallel") == 1
