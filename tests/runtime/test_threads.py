"""The pool of worker threads."""

from __future__ import annotations

import ctypes
import itertools
import os
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from lingon import runtime

RANGE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
SLEEP_FREE = 0.2

# counts[i] += 1 for i in [begin, end), after as many rounds of work as the first 8 bytes say
BODY = """
declare void @lingon_rt_parallel_for(ptr, ptr, i64, i64)
define void @body(ptr %counts, i64 %begin, i64 %end) {
  br label %loop
loop:
  %i = phi i64 [ %begin, %0 ], [ %n, %loop ]
  %p = getelementptr i32, ptr %counts, i64 %i
  %v = atomicrmw add ptr %p, i32 1 seq_cst
  %n = add i64 %i, 1
  %d = icmp sge i64 %n, %end
  br i1 %d, label %end_, label %loop
end_:
  ret void
}
define void @nested(ptr %counts, i64 %begin, i64 %end) {
  call void @lingon_rt_parallel_for(ptr @body, ptr %counts, i64 1000, i64 1)
  ret void
}
"""


@pytest.fixture(scope="module")
def code(compile_ir):
    return compile_ir(BODY)


@pytest.fixture(scope="module")
def parallel_for():
    kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
    return kind(runtime.symbols()["lingon_rt_parallel_for"])


@pytest.mark.parametrize("threads", [1, 2, 7])
@pytest.mark.parametrize(
    ("n", "grain"), [(0, 1), (1, 1), (5, 0), (1000, 1), (1000, 333), (1001, 1000), (10**6, 4096)]
)
def test_every_index_once(code, parallel_for, thread_count, threads, n, grain):
    thread_count(threads)
    counts = np.zeros(max(n, 1), np.int32)
    for _ in range(20):
        parallel_for(code.address("body"), counts.ctypes.data, n, grain)
    assert (counts[:n] == 20).all() and (n > 0 or counts[0] == 0)


def ranges_of(parallel_for, n, grain):
    seen = []
    lock = threading.Lock()

    @RANGE
    def body(_, begin, end):
        with lock:
            seen.append((begin, end, threading.get_ident()))
        time.sleep(0.001)

    parallel_for(ctypes.cast(body, ctypes.c_void_p), None, n, grain)
    return sorted(seen)


def test_ranges_respect_the_grain_and_cover(parallel_for, thread_count):
    thread_count(4)
    seen = ranges_of(parallel_for, 1000, 70)
    assert seen[0][0] == 0 and seen[-1][1] == 1000
    for (_, end, _), (begin, _, _) in itertools.pairwise(seen):
        assert end == begin
    assert all(end - begin >= 70 for begin, end, _ in seen[:-1])


def test_several_threads_take_part(parallel_for, thread_count):
    thread_count(4)
    assert len({ident for _, _, ident in ranges_of(parallel_for, 64, 1)}) > 1


def test_small_loops_and_one_thread_stay_on_the_caller(parallel_for, thread_count):
    thread_count(4)
    assert ranges_of(parallel_for, 10, 10) == [(0, 10, threading.get_ident())]
    thread_count(1)
    assert ranges_of(parallel_for, 10, 1) == [(0, 10, threading.get_ident())]


def test_nested_loops(code, parallel_for, thread_count):
    thread_count(3)
    counts = np.zeros(1000, np.int32)
    parallel_for(code.address("nested"), counts.ctypes.data, 12, 1)
    # One inner loop for each outer range: at most 12.
    assert counts.min() == counts.max() and 1 <= counts[0] <= 12


def test_nested_loops_are_serial(parallel_for, thread_count):
    thread_count(4)
    inner = []

    @RANGE
    def body(_, begin, end):
        inner.append(ranges_of(parallel_for, 100, 1) == [(0, 100, threading.get_ident())])

    parallel_for(ctypes.cast(body, ctypes.c_void_p), None, 8, 1)
    assert inner and all(inner)


def test_concurrent_loops(code, parallel_for, thread_count):
    thread_count(3)
    failures = []

    def work():
        counts = np.zeros(5000, np.int32)
        for _ in range(200):
            parallel_for(code.address("body"), counts.ctypes.data, 5000, 100)
        if not (counts == 200).all():
            failures.append(counts)

    threads = [threading.Thread(target=work) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_changing_the_number_while_loops_run(code, parallel_for, thread_count):
    counts = np.zeros(5000, np.int32)
    stop = threading.Event()

    def change():
        while not stop.is_set():
            for n in (1, 5, 2, 9):
                thread_count(n)

    thread = threading.Thread(target=change)
    thread.start()
    for _ in range(500):
        parallel_for(code.address("body"), counts.ctypes.data, 5000, 10)
    stop.set()
    thread.join()
    assert (counts == 500).all()


def test_idle_workers_use_no_time(code, parallel_for, thread_count):
    thread_count(4)
    counts = np.zeros(5000, np.int32)
    parallel_for(code.address("body"), counts.ctypes.data, 5000, 10)
    time.sleep(0.05)
    before = time.process_time()
    time.sleep(SLEEP_FREE)
    assert time.process_time() - before < SLEEP_FREE / 10


@pytest.mark.parametrize("count", [0, -1, 1025])
def test_wrong_numbers(count):
    with pytest.raises(ValueError, match="from 1 to 1024"):
        runtime.set_num_threads(count)


def run_python(code, **environment):
    result = subprocess.run(
        [sys.executable, "-c", code],
        env=dict(os.environ, **environment),
        timeout=120,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result


def test_number_from_the_environment():
    show = "from lingon import runtime; print(runtime.num_threads(), runtime.available_cores())"
    assert run_python(show, LINGON_NUM_THREADS="5").stdout.split()[0] == "5"
    result = run_python(show, LINGON_NUM_THREADS="many")
    used, cores = result.stdout.split()
    assert used == cores
    assert "LINGON_NUM_THREADS=many is not a number" in result.stderr


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="needs affinity masks")
def test_affinity_bounds_the_number():
    run_python(
        "import os; os.sched_setaffinity(0, list(os.sched_getaffinity(0))[:1])\n"
        "from lingon import runtime; assert runtime.num_threads() == 1"
    )


FORK = """
import ctypes, os, sys
import numpy as np
from lingon import runtime
runtime.set_num_threads(3)
kind = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
parallel_for = kind(runtime.symbols()["lingon_rt_parallel_for"])
counts = np.zeros(1000, np.int64)

@ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64)
def body(_, begin, end):
    counts[begin:end] += 1

def loop():
    parallel_for(ctypes.cast(body, ctypes.c_void_p), None, 1000, 1)

loop()
kept = runtime.from_numpy(np.arange(1000), copy=True)
for _ in range(5):
    pid = os.fork()
    if pid == 0:
        counts[:] = 0
        loop()
        assert runtime.num_threads() == 3
        np.testing.assert_array_equal(kept._numpy(), np.arange(1000))
        a = [runtime.from_numpy(np.ones(n), copy=True) for n in range(100)]
        pid2 = os.fork()
        if pid2 == 0:
            loop()
            os._exit(0 if (counts == 2).all() else 1)
        _, status = os.waitpid(pid2, 0)
        os._exit(0 if status == 0 and (counts == 1).all() else 1)
    _, status = os.waitpid(pid, 0)
    assert status == 0, status
    loop()
assert (counts == 6).all()
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_fork():
    run_python(FORK)
