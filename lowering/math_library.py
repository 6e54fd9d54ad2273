"""Gives the pass lingon-expand-math the definitions of the functions that programs use."""

from __future__ import annotations

import re
import threading

# It begins with letters, so that the search for them is quick.
_MATH_OP = re.compile(r"math\.([a-z0-9_]+) [^\n]*?: (f32|f64)\b")
_CALL = re.compile(r"@(lingon_\w+_f(?:32|64))\b")
_lock = threading.Lock()
_given: set[str] = set()


def provide(text: str) -> None:
    """Make the functions that the MLIR program `text` needs known to the pass.

    Definitions are generated on first use: all of them take longer than compiling a small program.
    """
    from . import elementary

    needed = {elementary.symbol(name, type_) for name, type_ in _MATH_OP.findall(text)}
    needed.update(_CALL.findall(text))
    if "complex." in text:  # its lowering makes math operations that are not in the text yet
        needed |= set(elementary.names())
    needed &= set(elementary.names())
    if needed <= _given:
        return
    from .. import dialect

    with _lock:
        dialect.set_math_library(elementary.library_text(_given | needed))
        _given.update(needed)
