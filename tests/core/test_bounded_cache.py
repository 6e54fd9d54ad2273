"""The cache that forgets its oldest entries."""

from __future__ import annotations

import threading

import pytest

from lingon.frontend.core.bounded_cache import BoundedCache


def test_oldest_go_first() -> None:
    cache: BoundedCache[int] = BoundedCache(3)
    assert len(cache) == 0 and cache.get("a") is None and cache.get("a", 7) == 7
    for i, key in enumerate("abc"):
        assert cache.put(key, i) == i
    assert [cache.get(k) for k in "abc"] == [0, 1, 2]
    cache.get("a")  # reading does not renew
    cache.put("d", 3)
    assert len(cache) == 3 and "a" not in cache and list(cache.keys()) == ["b", "c", "d"]
    cache.put("b", 9)  # nor does replacing
    cache.put("e", 4)
    assert list(cache.keys()) == ["c", "d", "e"]
    assert repr(cache) == "BoundedCache(3 of 3)"
    cache.clear()
    assert len(cache) == 0 and cache.get("e") is None
    cache.put("f", 5)
    assert cache.get("f") == 5


def test_mistakes() -> None:
    for limit in (0, -1):
        with pytest.raises(ValueError, match=f"limit must be positive, got {limit}"):
            BoundedCache(limit)
    with pytest.raises(TypeError, match="unhashable"):
        BoundedCache(2).put([], 1)


def test_threads() -> None:
    cache: BoundedCache[int] = BoundedCache(16)
    failures = []

    def work(seed: int) -> None:
        try:
            for i in range(5000):
                cache.put((seed, i), i)
                got = cache.get((seed, i))
                if got not in (i, None):
                    failures.append(got)
        except Exception as e:
            failures.append(e)

    threads = [threading.Thread(target=work, args=(s,)) for s in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failures and len(cache) <= 16
