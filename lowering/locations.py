"""Source locations in MLIR text."""

from __future__ import annotations

import re

_LOCATION = re.compile(r" ?loc\(#loc\d*\)|^#loc\d* = .*\n", re.MULTILINE)


def strip_locations(text: str) -> str:
    """The MLIR text without source locations, so that moving code does not compile it anew."""
    return _LOCATION.sub("", text)
