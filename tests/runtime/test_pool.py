"""The caching allocator and the memory of arrays."""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import threading

import numpy as np
import pytest

from lingon import runtime
from lingon.runtime import empty_ndarray, from_numpy, pool_stats


@pytest.fixture(autouse=True)
def no_garbage_of_other_tests():
    """Arrays that nobody holds, but a circle of references, would be freed while blocks are counted."""
    gc.collect()


@pytest.fixture
def cache_limit():
    old = pool_stats()["cache_limit"]
    yield runtime.pool_set_cache_limit
    runtime.pool_set_cache_limit(old)


@pytest.fixture
def memory_limit():
    old = pool_stats()["memory_limit"]
    yield runtime.pool_set_memory_limit
    runtime.pool_set_memory_limit(old)


@pytest.mark.parametrize("size", [0, 1, 63, 64, 65, 1024, 1025, 4097, 1 << 20, (1 << 21) + 1])
def test_blocks_are_aligned_writable_and_distinct(size):
    blocks = [empty_ndarray((size,), np.uint8) for _ in range(4)]
    for number, block in enumerate(blocks):
        assert block.ctypes.data % 64 == 0
        block[:] = number
    for number, block in enumerate(blocks):
        assert (block == number).all()


def test_statistics_and_reuse():
    runtime.pool_trim()
    start = pool_stats()
    block = empty_ndarray((100_000,), np.uint8)
    address = block.ctypes.data
    during = pool_stats()
    assert during["allocs"] == start["allocs"] + 1
    assert during["live_blocks"] == start["live_blocks"] + 1
    assert 100_000 <= during["live_bytes"] - start["live_bytes"] <= 113_000
    assert during["peak_bytes"] >= during["live_bytes"]
    del block
    after = pool_stats()
    assert after["live_bytes"] == start["live_bytes"]
    assert after["cached_bytes"] >= 100_000
    again = empty_ndarray((100_001,), np.uint8)
    assert again.ctypes.data == address
    assert pool_stats()["hits"] == start["hits"] + 1
    del again
    runtime.pool_trim()
    assert pool_stats()["cached_bytes"] == 0


def test_waste_is_at_most_an_eighth_above_a_kilobyte():
    for _ in range(300):
        size = int(2 ** random.uniform(10, 24))
        before = pool_stats()["live_bytes"]
        block = empty_ndarray((size,), np.uint8)
        capacity = pool_stats()["live_bytes"] - before
        assert size <= capacity <= size * 1.125 + 1
        del block


def test_cache_is_bounded_and_the_oldest_go_first(cache_limit):
    runtime.pool_trim()
    cache_limit(1 << 20)
    blocks = [empty_ndarray((1 << 18,), np.uint8) for _ in range(6)]
    addresses = [block.ctypes.data for block in blocks]
    while blocks:
        blocks.pop(0)
    stats = pool_stats()
    assert stats["cached_bytes"] == 1 << 20
    again = [empty_ndarray((1 << 18,), np.uint8) for _ in range(4)]
    assert {block.ctypes.data for block in again} == set(addresses[2:])


def test_peak_can_be_reset():
    del [empty_ndarray((1 << 22,), np.uint8)][0]
    runtime.pool_reset_peak()
    stats = pool_stats()
    assert stats["peak_bytes"] == stats["live_bytes"]


@pytest.mark.parametrize("shape", [(1 << 45,), (1 << 50,), (1 << 60,)])
def test_impossible_sizes_raise(shape):
    before = pool_stats()
    with pytest.raises(MemoryError, match="bytes"):
        empty_ndarray(shape, np.uint8)
    with pytest.raises(MemoryError):
        from_numpy(np.broadcast_to(np.uint8(1), shape))
    after = pool_stats()
    assert after["live_bytes"] == before["live_bytes"]


def test_memory_limit(memory_limit):
    runtime.pool_trim()
    memory_limit(pool_stats()["live_bytes"] + (8 << 20))
    held = empty_ndarray((6 << 20,), np.uint8)
    with pytest.raises(MemoryError):
        empty_ndarray((4 << 20,), np.uint8)
    del held
    # The cached block has to make room for one of another class.
    held = empty_ndarray((7 << 20,), np.uint8)
    assert held.size == 7 << 20


def test_large_blocks_do_not_fault_again():
    resource = pytest.importorskip("resource")
    size = 32 << 20

    def fill():
        block = empty_ndarray((size,), np.uint8)
        block[:] = 1

    fill()
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(10):
        fill()
    assert resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before < 200


def test_threads_share_the_pool():
    failures = []

    def work(seed):
        rng = random.Random(seed)
        held = []
        for step in range(2000):
            block = empty_ndarray((rng.randrange(1, 5000),), np.uint8)
            block[:] = seed
            held.append(block)
            if len(held) > 20:
                block = held.pop(rng.randrange(len(held)))
                if not (block == seed).all():
                    failures.append((seed, step))

    live = pool_stats()["live_blocks"]
    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert pool_stats()["live_blocks"] == live


def test_memory_does_not_grow():
    if not os.path.exists("/proc/self/statm"):
        pytest.skip("needs /proc")

    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * 4096

    def round_trip():
        for n in range(3000):
            a = from_numpy(np.ones(n % 500), copy=True)
            a._numpy()
            np.asarray(a)
            memoryview(a)
            a._alias(weak_type=True)

    round_trip()
    start = resident()
    for _ in range(10):
        round_trip()
    assert resident() - start < 4 << 20


def test_borrowing_takes_no_block_and_copying_takes_one():
    x = np.ones(3)
    before = pool_stats()["live_blocks"]
    borrowed = [from_numpy(x) for _ in range(1000)]
    assert pool_stats()["live_blocks"] == before
    copied = [from_numpy(x, copy=True) for _ in range(10)]
    assert pool_stats()["live_blocks"] == before + 10
    assert len(borrowed) == 1000 and len(copied) == 10


@pytest.mark.parametrize("name", ["LINGON_POOL_BYTES", "LINGON_MEMORY_LIMIT"])
def test_limits_from_the_environment(name):
    key = {"LINGON_POOL_BYTES": "cache_limit", "LINGON_MEMORY_LIMIT": "memory_limit"}[name]
    code = f"from lingon import runtime; assert runtime.pool_stats()['{key}'] == 123456789"
    environment = dict(os.environ, **{name: "123456789"})
    subprocess.run([sys.executable, "-c", code], check=True, env=environment, timeout=120)
    environment[name] = "12x"
    result = subprocess.run(
        [sys.executable, "-c", code], env=environment, timeout=120, capture_output=True, text=True
    )
    assert result.returncode != 0 and f"{name} must be a number of bytes" in result.stderr
