"""shard_map on 8 devices, against jax."""

from __future__ import annotations

from pathlib import Path

from two_libraries import check

DIFFERENT = {"hessian": "jax cuts the result over the devices, here all of them have it"}


def test_shard_map(tmp_path: Path) -> None:
    check(Path(__file__).with_name("shard_map_programs.py"), tmp_path, DIFFERENT)
