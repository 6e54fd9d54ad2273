"""Large programs compiled in parts: what is split, that it computes the same, and failures."""

from __future__ import annotations

import threading

import numpy as np
import pytest

import lingon
import lingon.numpy as jnp
from lingon import runtime
from lingon.lowering import CompilationError, compile_jaxpr, parts
from lingon.lowering.driver import Lowering
from lingon.lowering.loader import join_objects, split_objects
from lingon.lowering.locations import strip_locations

OFF = {"compilation_cache": False}


@pytest.fixture
def threads():
    """Sets the number of threads for a test."""
    before = runtime.num_threads()
    yield runtime.set_num_threads
    runtime.set_num_threads(before)


def many_loops(x):
    """Loops of different kinds and lengths, none equal to another."""
    results = []
    for n in range(20, 60):
        y = jnp.sin(x[:n]) * n + jnp.cumsum(x[:n]) if n % 2 else jnp.exp(-x[:n]) / n
        results.append(jnp.max(y) - y)
    return results


ARGUMENT = np.linspace(0.0, 3.0, 64, dtype=np.float32)


def linalg_text(f, *args):
    return strip_locations(lingon.jit(f).lower(*args).as_text("linalg"))


def compiled(f, options=OFF):
    return compile_jaxpr(lingon.make_jaxpr(f)(ARGUMENT), name="f", options=options)


def run(program):
    return [np.asarray(r) for r in program.execute([jnp.asarray(ARGUMENT)])]


def code_of(text, count):
    runtime.set_num_threads(count)
    with Lowering(text) as lowering:
        return lowering.object_code()


def test_large_programs_have_parts(threads):
    text = linalg_text(many_loops, ARGUMENT)
    assert len(split_objects(code_of(text, 2))) == 2
    assert len(split_objects(code_of(text, 3))) == 3
    assert len(split_objects(code_of(text, 1))) == 1


def test_small_programs_have_one(threads):
    text = linalg_text(lambda x: jnp.sin(x) + 1, ARGUMENT)
    assert len(split_objects(code_of(text, 8))) == 1


def test_parts_compute_the_same(threads):
    results = []
    for count in (1, 2, 4):
        threads(count)
        results.append(run(compiled(many_loops)))
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            np.testing.assert_array_equal(a, b)


def test_parts_are_cached_on_disk(threads, tmp_path):
    threads(2)
    options = {"compilation_cache_dir": str(tmp_path)}
    first, second = compiled(many_loops, options), compiled(many_loops, options)
    assert not first.cache_hit and second.cache_hit
    assert len(split_objects(second.entry.code)) == 2
    for a, b in zip(run(first), run(second), strict=True):
        np.testing.assert_array_equal(a, b)


def test_programs_of_several_threads_do_not_meet(threads):
    threads(2)
    results, failures = {}, []

    def work(k):
        try:
            results[k] = run(compiled(lambda x: [y * k for y in many_loops(x)]))
        except Exception as failure:
            failures.append(failure)

    workers = [threading.Thread(target=work, args=(k,)) for k in (1, 2)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert not failures
    for one, two in zip(results[1], results[2], strict=True):
        np.testing.assert_allclose(2 * one, two, rtol=1e-6)


def test_failure_in_a_part_is_raised(threads, monkeypatch):
    text = linalg_text(many_loops, ARGUMENT)
    main = threading.current_thread()

    def fail(module, pipeline, target):
        if threading.current_thread() is main:
            return b""
        raise CompilationError("no more code", stage="asm")

    monkeypatch.setattr(parts, "compile_object", fail)
    with pytest.raises(CompilationError, match="no more code"):
        code_of(text, 2)


@pytest.mark.parametrize("objects", [[b"one"], [b"one", b"", b"three" * 100]])
def test_objects_joined(objects):
    assert split_objects(join_objects(objects)) == objects
