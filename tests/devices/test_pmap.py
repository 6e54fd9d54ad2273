"""pmap and collectives on 8 devices, against jax."""

from __future__ import annotations

from pathlib import Path

from two_libraries import check

DIFFERENT = {
    "hessian": "jax cuts the result over the devices, here all of them have it",
    "in_axes -1": "jax takes axis -1 for axis 0",
    "committed to another device": "jax refuses; here pmap brings its arguments to its devices",
}


def test_pmap(tmp_path: Path) -> None:
    check(Path(__file__).with_name("pmap_programs.py"), tmp_path, DIFFERENT)
