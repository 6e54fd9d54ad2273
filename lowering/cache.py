"""The on-disk compile cache: object code by a key of everything that determines it.

An entry is one file: a fixed header, a SHA-256 of the rest, a description (a Python literal), and
the object code. Files are written under a temporary name and renamed, so readers never see half of one; what
is damaged, or writable by others, is ignored and rewritten.
"""

from __future__ import annotations

import ast
import contextlib
import os
import stat
import struct
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathlib import Path

try:
    from _sha256 import sha256 as _small_sha256  # type: ignore[import-not-found,unused-ignore]
except ImportError:
    try:
        from _sha2 import sha256 as _small_sha256  # type: ignore[import-not-found,unused-ignore]
    except ImportError:
        _small_sha256 = None

MAGIC = b"LINGONC2"
# magic, SHA-256 of the rest, lengths of the description and of the code
_HEADER = struct.Struct("<8s32sIQ")
SUFFIX = ".lgo"
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
DEFAULT_MAX_BYTES = 1 << 30
_FALSE = frozenset(("0", "false", "off", "no", ""))


class CacheWarning(UserWarning):
    """A cache file or folder could not be used; compilation goes on without it."""


class Entry:
    """What is stored for one program: object code, and a description of plain values."""

    __slots__ = ("code", "metadata")

    def __init__(self, code: bytes, metadata: dict[str, Any]) -> None:
        self.code, self.metadata = code, metadata

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Entry) and (self.code, self.metadata) == (
            other.code,
            other.metadata,
        )


def _sha256(data: bytes) -> bytes:
    # OpenSSL's, behind hashlib, takes 2 ms to load and is then several times as fast.
    if len(data) < 1 << 18 and _small_sha256 is not None:
        return _small_sha256(data).digest()
    import hashlib

    return hashlib.sha256(data).digest()


def entry_key(parts: Mapping[str, str]) -> str:
    """The hexadecimal SHA-256 of named texts; their order does not matter."""
    pieces = [MAGIC]
    for name in sorted(parts):
        for text in (name, parts[name]):
            data = text.encode()
            pieces += [struct.pack("<Q", len(data)), data]
    return _sha256(b"".join(pieces)).hex()


class CompileCache:
    """A folder of compiled programs, bounded by bytes; the least recently used go first.

    Args:
        folder: where the entries are; made with mode 0700 when the first is written.
        max_bytes: bound of the sum of the entries' sizes.
    """

    def __init__(self, folder: str | os.PathLike[str], max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self._folder = os.fspath(folder)
        self.max_bytes = max_bytes
        self._written = 0  # bytes since the bound was last enforced
        self._swept = False

    @property
    def folder(self) -> Path:
        """Where the entries are."""
        from pathlib import Path

        return Path(self._folder)

    def path(self, key: str) -> Path:
        """The file of an entry."""
        return self.folder / (key + SUFFIX)

    def get(self, key: str) -> Entry | None:
        """The entry of `key`, or None. A damaged or foreign file gives a CacheWarning and None."""
        path = os.path.join(self._folder, key + SUFFIX)
        try:
            if not _private(os.lstat(self._folder), stat.S_ISDIR):
                _warn(f"the folder {self._folder} is not private to this user")
                return None
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            _warn(f"{path} cannot be read: {error}")
            return None
        with open(descriptor, "rb") as file:
            if not _private(os.fstat(descriptor), stat.S_ISREG):
                _warn(f"{path} is not private to this user")
                return None
            data = file.read()
        entry = _decode(data)
        if entry is None:
            _warn(f"{path} is damaged")
            return None
        with contextlib.suppress(OSError):  # another process may have evicted it just now
            os.utime(path)
        return entry

    def put(self, key: str, entry: Entry) -> None:
        """Store an entry. Failure to write gives a CacheWarning, not an error."""
        data = _encode(entry)
        if len(data) > self.max_bytes:
            return
        try:
            os.makedirs(self._folder, mode=0o700, exist_ok=True)
            if not _private(os.lstat(self._folder), stat.S_ISDIR):
                _warn(f"the folder {self._folder} is not private to this user")
                return
            temporary = os.path.join(self._folder, f".{os.getpid()}.{os.urandom(8).hex()}.tmp")
            descriptor = os.open(temporary, _NEW_FILE, 0o600)
            try:
                with open(descriptor, "wb") as file:
                    file.write(data)
                os.replace(temporary, os.path.join(self._folder, key + SUFFIX))
            except BaseException:
                os.unlink(temporary)
                raise
        except OSError as error:
            _warn(f"{self._folder} cannot be written: {error}")
            return
        self._written += len(data)
        if not self._swept or self._written * 16 > self.max_bytes:
            self.sweep()

    def sweep(self) -> None:
        """Remove the least recently used entries beyond the bound, and forgotten temporaries."""
        import time

        self._swept = True
        self._written = 0
        entries = []
        total = 0
        try:
            with os.scandir(self._folder) as listing:
                for item in listing:
                    with contextlib.suppress(OSError):
                        status = item.stat(follow_symlinks=False)
                        if item.name.endswith(SUFFIX):
                            entries.append((status.st_mtime_ns, status.st_size, item.path))
                            total += status.st_size
                        elif item.name.endswith(".tmp") and status.st_mtime < time.time() - 3600:
                            os.unlink(item.path)
        except OSError as error:
            _warn(f"{self._folder} cannot be listed: {error}")
            return
        if total <= self.max_bytes:
            return
        # Down to 7/8 of the bound, so that the next sweep does not come at once.
        for _, size, path in sorted(entries):
            if total <= self.max_bytes * 7 // 8:
                break
            with contextlib.suppress(OSError):  # already removed by another process
                os.unlink(path)
            total -= size


def _encode(entry: Entry) -> bytes:
    metadata = repr(dict(sorted(entry.metadata.items()))).encode()
    lengths = struct.pack("<IQ", len(metadata), len(entry.code))
    digest = _sha256(lengths + metadata + entry.code)
    return MAGIC + digest + lengths + metadata + entry.code


def _decode(data: bytes) -> Entry | None:
    if len(data) < _HEADER.size:
        return None
    magic, digest, metadata_length, code_length = _HEADER.unpack_from(data)
    body = data[_HEADER.size :]
    if magic != MAGIC or len(body) != metadata_length + code_length:
        return None
    if _sha256(data[len(MAGIC) + 32 :]) != digest:
        return None
    try:
        metadata = ast.literal_eval(body[:metadata_length].decode())
    except (ValueError, SyntaxError):
        return None
    return Entry(body[metadata_length:], metadata) if isinstance(metadata, dict) else None


def _private(status: os.stat_result, kind: Any) -> bool:
    """Owned by this user, of the right kind, and writable by nobody else."""
    return kind(status.st_mode) and status.st_uid == os.geteuid() and not status.st_mode & 0o022


def _warn(message: str) -> None:
    warnings.warn(f"compile cache: {message}; it is not used", CacheWarning, stacklevel=3)


def default_folder() -> str:
    """LINGON_CACHE_DIR, or `lingon` in the user's cache folder."""
    folder = os.environ.get("LINGON_CACHE_DIR")
    if folder:
        return folder
    base = os.environ.get("XDG_CACHE_HOME")
    return os.path.join(base or os.path.join(os.path.expanduser("~"), ".cache"), "lingon")


def enabled_by_environment() -> bool:
    """Whether LINGON_COMPILATION_CACHE leaves the cache on (0, false, off and no turn it off)."""
    return os.environ.get("LINGON_COMPILATION_CACHE", "1").strip().lower() not in _FALSE


_caches: dict[tuple[str, int], CompileCache] = {}


def compile_cache(options: Mapping[str, Any]) -> CompileCache | None:
    """The cache that `options` and the environment ask for, or None if it is off.

    Options: `compilation_cache` (bool), `compilation_cache_dir`, `compilation_cache_max_bytes`;
    each one given wins over the environment.

    Raises:
        ValueError: LINGON_CACHE_MAX_BYTES is not a number of bytes.
    """
    on = options.get("compilation_cache")
    if not (enabled_by_environment() if on is None else on):
        return None
    folder = options.get("compilation_cache_dir")
    limit = options.get("compilation_cache_max_bytes")
    if limit is None:
        text = os.environ.get("LINGON_CACHE_MAX_BYTES", str(DEFAULT_MAX_BYTES))
        if not text.isdigit():
            raise ValueError(f"LINGON_CACHE_MAX_BYTES must be a number of bytes, got {text!r}")
        limit = int(text)
    key = (os.fspath(folder) if folder else default_folder(), int(limit))
    if key not in _caches:
        _caches[key] = CompileCache(*key)
    return _caches[key]
