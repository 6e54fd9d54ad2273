"""Arrays on several devices, and programs over them, against jax."""

from __future__ import annotations

from pathlib import Path

from two_libraries import check

WHOLE = "computed whole by every device"
#: Programs whose results jax cuts, and lingon does not (or less).
GATHERED = {
    "rows": ["sort 0", "concatenate 0", "loop", "branch"],
    "columns": ["sort", "cumsum", "concatenate", "flip", "take", "scan", "loop", "branch"],
    "grid": [
        "rows", "split rows", "flat", "sort", "sort 0", "cumsum", "concatenate", "concatenate 0",
        "pad", "flip", "take", "scan", "loop", "branch",
    ],
}  # fmt: skip
DIFFERENT = {f"{a}: {b}": WHOLE for a, names in GATHERED.items() for b in names}


def test_placement(tmp_path: Path) -> None:
    check(Path(__file__).with_name("placement_programs.py"), tmp_path, DIFFERENT)
