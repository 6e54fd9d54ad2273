"""The same programs on 8 CPU devices in jax and in lingon, each in a process of its own.

A file of programs defines `PROGRAMS`, functions without arguments by name, in terms of `jax`, `jnp`,
`lax`, `np`, `shard_map`, `Mesh`, `P`, `NamedSharding`. What they return is compared leaf by leaf:
values, dtypes, shardings, texts; where both raise, the types of the errors.

Run as a program: `two_libraries.py LIBRARY FILE RESULT`.
"""

from __future__ import annotations

import os
import pickle
import re
import subprocess
import sys
import traceback
from pathlib import Path
from typing import Any

import numpy as np

TIMEOUT = 240


def run(file: Path, result: Path) -> tuple[dict[str, Any], dict[str, Any]]:
    """The results of all programs of a file in jax and in lingon."""
    out = []
    for library in ("jax", "lingon"):
        env = {
            **os.environ,
            "XLA_FLAGS": "--xla_force_host_platform_device_count=8",
            "PYTHONHASHSEED": "0",
        }
        target = result / f"{file.stem}.{library}"
        subprocess.run(
            [sys.executable, "-W", "ignore", __file__, library, str(file), str(target)],
            env=env,
            timeout=TIMEOUT,
            check=True,
            stderr=subprocess.DEVNULL if library == "jax" else None,
        )
        out.append(pickle.loads(target.read_bytes()))
    return out[0], out[1]


def difference(theirs: tuple, ours: tuple, shardings: bool) -> str | None:
    """What is different between two results, or None."""
    if theirs[0] != ours[0]:
        return f"jax {theirs}\nlingon {ours}"
    if theirs[0] == "error":
        if theirs[1][0] in ours[1] or ours[1][0] in theirs[1]:
            return None
        return f"jax raised {theirs[1][0]}: {theirs[2]}\nlingon raised {ours[1][0]}: {ours[2]}"
    if len(theirs[1]) != len(ours[1]):
        return f"{len(ours[1])} results where {len(theirs[1])} are expected"
    for a, b in zip(theirs[1], ours[1], strict=True):
        if isinstance(a, str) or isinstance(b, str):
            if a != b:
                return f"expected\n{a}\ngot\n{b}"
            continue
        (x, s), (y, t) = a, b
        if x.dtype != y.dtype or x.shape != y.shape:
            return f"{y.dtype}{y.shape} where {x.dtype}{x.shape} is expected"
        wide = np.complex128 if x.dtype.kind == "c" else np.float64
        if not np.allclose(x.astype(wide), y.astype(wide), rtol=2e-5, atol=1e-5, equal_nan=True):
            return f"{y} where {x} is expected"
        if shardings and s != t:
            return f"sharding {t} where {s} is expected"
    return None


def check(file: Path, result: Path, different: dict[str, str] | None = None) -> None:
    """Compare all programs but those that `different` explains."""
    theirs, ours = run(file, result)
    assert theirs.keys() == ours.keys() and len(theirs) > 5
    different = different or {}
    assert different.keys() <= theirs.keys()
    found = {}
    for name in theirs:
        d = difference(theirs[name], ours[name], shardings=True)
        if d is not None and name not in different:
            found[name] = d
        if d is None and name in different:
            found[name] = "is no longer different"
    assert not found, "\n\n".join(f"{k}: {v}" for k, v in found.items())


def _leaf(x: Any) -> Any:
    if isinstance(x, str):
        x = re.sub(r"0x[0-9a-f]+", "0x", x)
        return re.sub(r"frozenset\(\{(.*?)\}\)", lambda m: str(sorted(m[1].split(", "))), x)
    if isinstance(x, (bool, int, float)):
        return str(x)
    sharding = str(getattr(x, "sharding", None))
    return np.asarray(x), re.sub(r"P\((None,? ?)+\)", "P()", sharding)


def main(library: str, file: str, target: str) -> None:
    if library == "jax":
        import jax
        import jax.numpy as jnp
        from jax.sharding import Mesh, NamedSharding
        from jax.sharding import PartitionSpec as P
    else:
        import lingon as jax
        import lingon.numpy as jnp
        from lingon.sharding import Mesh, NamedSharding
        from lingon.sharding import PartitionSpec as P
    names = {
        "jax": jax,
        "jnp": jnp,
        "lax": jax.lax,
        "np": np,
        "shard_map": jax.shard_map,
        "Mesh": Mesh,
        "P": P,
        "NamedSharding": NamedSharding,
    }
    exec(compile(Path(file).read_text(), file, "exec"), names)
    out: dict[str, Any] = {}
    for name, f in names["PROGRAMS"].items():
        try:
            out[name] = ("ok", [_leaf(x) for x in jax.tree_util.tree_leaves(f())])
        except Exception as e:
            kinds = [c.__name__ for c in type(e).__mro__]
            out[name] = ("error", kinds, str(e)[:500], traceback.format_exc()[-1500:])
    Path(target).write_bytes(pickle.dumps(out))


if __name__ == "__main__":
    main(*sys.argv[1:])
