"""Checks of errors against jax: both raise, of one type, and our message says what was given."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

import lingon
import lingon.lax

X = np.ones((3, 4), np.float32)
Y = np.ones((4, 5), np.float32)
V = np.ones(3, np.float32)
I = np.arange(3, dtype=np.int32)  # noqa: E741
B = np.ones(3, bool)
C = np.ones(3, np.complex64)
H = np.ones(3, np.float16)

Case = tuple[str, Callable[[Any], Any], str]


def check(case: Case, error: type[Exception] | None = None) -> None:
    """`case` is (name, function of the lax module, pattern of our message).

    With `error`, jax's exception is of another type (an internal one, say) and ours is `error`.
    """
    _, f, pattern = case
    with pytest.raises(Exception) as theirs:
        f(jax.lax)
    expected = type(theirs.value) if error is None else error
    for trial in (f, traced(f)):
        with pytest.raises(expected) as ours:
            trial(lingon.lax)
        assert isinstance(ours.value, expected)
        assert re.search(pattern, str(ours.value)), str(ours.value)


def traced(f: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """The same call while a function is traced: errors are the same there."""
    return lambda lax: lingon.make_jaxpr(lambda: f(lax))()


def ids(cases: list[Case]) -> list[str]:
    return [c[0] for c in cases]
