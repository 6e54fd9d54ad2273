"""The compile cache: what it stores, what it refuses, and several processes at once."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time

import pytest

from lingon.lowering.cache import (
    CacheWarning,
    CompileCache,
    Entry,
    compile_cache,
    entry_key,
)

KEY = entry_key({"program": "a"})
ENTRY = Entry(b"object code" * 50, {"name": "f", "compile_ms": 1.5})


@pytest.fixture
def cache(tmp_path):
    return CompileCache(tmp_path / "cache")


def test_what_is_put_comes_back(cache):
    assert cache.get(KEY) is None
    cache.put(KEY, ENTRY)
    assert cache.get(KEY) == ENTRY
    assert cache.get(entry_key({"program": "b"})) is None


def test_modes_are_private(cache):
    old = os.umask(0)
    try:
        cache.put(KEY, ENTRY)
    finally:
        os.umask(old)
    assert cache.folder.stat().st_mode & 0o777 == 0o700
    assert cache.path(KEY).stat().st_mode & 0o777 == 0o600


def test_keys_tell_names_and_texts_apart():
    keys = [
        entry_key({"a": "bc"}),
        entry_key({"ab": "c"}),
        entry_key({"a": "b", "c": ""}),
        entry_key({"a": "bc", "d": ""}),
        entry_key({}),
    ]
    assert len(set(keys)) == len(keys)
    assert entry_key({"x": "1", "y": "2"}) == entry_key({"y": "2", "x": "1"})


@pytest.mark.parametrize("position", [0, 9, 40, 45, 60, 200, -1])
def test_a_changed_byte_is_refused_and_rewritten(cache, position):
    cache.put(KEY, ENTRY)
    data = bytearray(cache.path(KEY).read_bytes())
    data[position] ^= 0x10
    cache.path(KEY).write_bytes(data)
    with pytest.warns(CacheWarning, match="damaged"):
        assert cache.get(KEY) is None
    cache.put(KEY, ENTRY)
    assert cache.get(KEY) == ENTRY


@pytest.mark.parametrize("length", [0, 1, 51, 52, 60, 300, -1])
def test_a_truncated_entry_is_refused(cache, length):
    cache.put(KEY, ENTRY)
    data = cache.path(KEY).read_bytes()
    cache.path(KEY).write_bytes(data[:length])
    with pytest.warns(CacheWarning, match="damaged"):
        assert cache.get(KEY) is None


def test_appended_bytes_are_refused(cache):
    cache.put(KEY, ENTRY)
    with open(cache.path(KEY), "ab") as file:
        file.write(b"x")
    with pytest.warns(CacheWarning, match="damaged"):
        assert cache.get(KEY) is None


@pytest.mark.parametrize("mode", [0o622, 0o606, 0o660])
def test_an_entry_that_others_may_write_is_refused(cache, mode):
    cache.put(KEY, ENTRY)
    cache.path(KEY).chmod(mode)
    with pytest.warns(CacheWarning, match="not private"):
        assert cache.get(KEY) is None
    cache.put(KEY, ENTRY)
    assert cache.get(KEY) == ENTRY


def test_a_folder_that_others_may_write_is_not_used(cache):
    cache.put(KEY, ENTRY)
    cache.folder.chmod(0o777)
    with pytest.warns(CacheWarning, match="folder"):
        assert cache.get(KEY) is None
    with pytest.warns(CacheWarning, match="folder"):
        cache.put(KEY, ENTRY)


def test_a_symbolic_link_is_not_followed(cache, tmp_path):
    cache.put(KEY, ENTRY)
    elsewhere = tmp_path / "elsewhere"
    os.rename(cache.path(KEY), elsewhere)
    cache.path(KEY).symlink_to(elsewhere)
    with pytest.warns(CacheWarning, match="cannot be read"):
        assert cache.get(KEY) is None


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")
def test_a_foreign_entry_is_refused(cache):
    cache.put(KEY, ENTRY)
    os.chown(cache.path(KEY), 12345, -1)
    with pytest.warns(CacheWarning, match="not private"):
        assert cache.get(KEY) is None


def test_a_folder_that_cannot_be_made_gives_a_warning(tmp_path):
    (tmp_path / "file").write_text("in the way")
    cache = CompileCache(tmp_path / "file" / "cache")
    with pytest.warns(CacheWarning, match="cannot be written"):
        cache.put(KEY, ENTRY)


def test_the_bound_holds_and_the_least_recently_used_go_first(tmp_path):
    cache = CompileCache(tmp_path / "cache", max_bytes=10_000)
    keys = [entry_key({"program": str(i)}) for i in range(30)]
    now = time.time()
    for i, key in enumerate(keys):
        cache.put(key, Entry(bytes(1000), {}))
        if cache.path(key).exists():
            os.utime(cache.path(key), (now - 1000 + i, now - 1000 + i))
        if i == 5:
            assert cache.get(keys[0]) is not None  # a use: now the most recent
    sizes = [p.stat().st_size for p in cache.folder.iterdir()]
    assert sum(sizes) <= 10_000
    left = [key for key in keys if cache.path(key).exists()]
    assert keys[0] in left
    assert keys[1] not in left
    assert keys[-1] in left


def test_an_entry_beyond_the_bound_is_not_stored(tmp_path):
    cache = CompileCache(tmp_path / "cache", max_bytes=100)
    cache.put(KEY, ENTRY)
    assert cache.get(KEY) is None


def test_old_temporaries_are_swept_and_fresh_ones_kept(cache):
    cache.put(KEY, ENTRY)
    old, fresh = cache.folder / ".a.tmp", cache.folder / ".b.tmp"
    old.write_text("x")
    fresh.write_text("x")
    os.utime(old, (1, 1))
    cache.sweep()
    assert not old.exists()
    assert fresh.exists()
    assert cache.get(KEY) == ENTRY


def test_options_and_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("LINGON_CACHE_DIR", str(tmp_path / "env"))
    monkeypatch.delenv("LINGON_COMPILATION_CACHE", raising=False)
    monkeypatch.delenv("LINGON_CACHE_MAX_BYTES", raising=False)
    assert compile_cache({}).folder == tmp_path / "env"
    assert compile_cache({"compilation_cache_dir": tmp_path / "o"}).folder == tmp_path / "o"
    assert compile_cache({"compilation_cache_max_bytes": 5}).max_bytes == 5
    assert compile_cache({"compilation_cache": False}) is None
    for off in ("0", "false", "OFF", "no"):
        monkeypatch.setenv("LINGON_COMPILATION_CACHE", off)
        assert compile_cache({}) is None
    assert compile_cache({"compilation_cache": True}) is not None
    monkeypatch.setenv("LINGON_COMPILATION_CACHE", "1")
    monkeypatch.setenv("LINGON_CACHE_MAX_BYTES", "many")
    with pytest.raises(ValueError, match="LINGON_CACHE_MAX_BYTES"):
        compile_cache({})
    monkeypatch.delenv("LINGON_CACHE_DIR")
    monkeypatch.delenv("LINGON_CACHE_MAX_BYTES")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert compile_cache({}).folder == tmp_path / "xdg" / "lingon"


WORKER = textwrap.dedent(
    """
    import sys, warnings
    warnings.simplefilter("error")
    from lingon.lowering.cache import CompileCache, Entry, entry_key
    cache = CompileCache(sys.argv[1], max_bytes=40_000)
    for round in range(60):
        for i in range(20):
            key = entry_key({"program": str(i)})
            entry = Entry(str(i).encode() * 1500, {"i": i})
            found = cache.get(key)
            if found is None:
                cache.put(key, entry)
            else:
                assert found == entry, (i, found.metadata)
        cache.sweep()
    """
)


def test_concurrent_processes(tmp_path):
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, str(tmp_path / "cache")], stderr=subprocess.PIPE
        )
        for _ in range(4)
    ]
    for worker in workers:
        _, error = worker.communicate(timeout=60)
        assert worker.returncode == 0, error.decode()
    cache = CompileCache(tmp_path / "cache", max_bytes=40_000)
    assert sum(p.stat().st_size for p in cache.folder.iterdir()) <= 40_000
    assert not list(cache.folder.glob("*.tmp"))
