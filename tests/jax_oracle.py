"""Comparison of lingon's functions with those of the installed jax.

`check(jax_fn, our_fn, *args)` runs both on the same arguments and compares what a user can see:
values, dtypes, weak types, shapes, the type of the error if there is one, and the printed jaxpr.
NumPy arrays among the arguments become arrays (and the inputs of the jaxpr); everything else is
passed as it is.
"""

from __future__ import annotations

import difflib
import re
import warnings
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

import lingon
import lingon.numpy as lnp

#: Multiples of a dtype's machine epsilon by which values may differ.
EPSILONS = 64


class Failed:
    """What came of a call that raised."""

    def __init__(self, error: Exception):
        self.error = error
        self.name = type(error).__name__

    def __repr__(self) -> str:
        return f"{self.name}: {self.error}"


def run(f: Callable[[], Any]) -> Any:
    """The result of a call, or `Failed`."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return f()
    except Exception as e:
        return Failed(e)


def _map(x: Any, make: Callable[[Any], Any]) -> Any:
    if isinstance(x, np.ndarray):
        return make(x)
    if isinstance(x, Raw):
        return x.value
    if type(x) in (list, tuple):
        return type(x)(_map(v, make) for v in x)
    if type(x) is dict:
        return {k: _map(v, make) for k, v in x.items()}
    return x


class Raw:
    """An argument that is passed as it is though it is a NumPy array."""

    def __init__(self, value: Any):
        self.value = value


def leaves(x: Any) -> list[Any]:
    """The arrays and scalars in a result, in order."""
    if isinstance(x, (tuple, list)):
        return [v for e in x for v in leaves(e)]
    return [x]


def _kind(x: Any) -> str:
    if isinstance(x, (jax.Array, lingon.Array)):
        return "array"
    return type(x).__name__


def tolerance(dtype: Any, scale: float) -> float:
    return scale * EPSILONS * float(ml_dtypes.finfo(dtype).eps)


def _wide(a: np.ndarray) -> np.ndarray:
    return a.astype(np.complex128 if a.dtype.kind == "c" else np.float64)


def assert_values(ours: Any, theirs: Any, what: str, loose: float = 1.0) -> None:
    """Equal shapes, dtypes and values: exactly for integers, up to rounding for floats."""
    a, b = np.asarray(ours), np.asarray(theirs)
    assert a.shape == b.shape, f"{what}: shape {a.shape} where {b.shape} is expected"
    assert a.dtype == b.dtype, f"{what}: dtype {a.dtype} where {b.dtype} is expected"
    if a.dtype.kind in "biuSUO" or a.dtype.name in ("int4", "uint4"):
        assert np.array_equal(a, b), f"{what}: {a} where {b} is expected"
        return
    x, y = _wide(a), _wide(b)
    finite = y[np.isfinite(y)]
    scale = float(np.max(np.abs(finite), initial=1e-30))
    t = tolerance(a.dtype, loose)
    with np.errstate(all="ignore"):
        ok = np.isclose(x, y, rtol=t, atol=t * min(scale, 1.0), equal_nan=True)
    if a.dtype.kind == "c":
        # which of the parts of a complex infinity or NaN are not finite is not specified
        ok |= ~np.isfinite(x) & ~np.isfinite(y)
    assert np.all(ok), f"{what}: {a} where {b} is expected (tolerance {t:.2g})"


def compare(ours: Any, theirs: Any, what: str, loose: float = 1.0) -> None:
    """Compare two results, or two failures."""
    if isinstance(theirs, Failed) or isinstance(ours, Failed):
        assert isinstance(theirs, Failed), f"{what}: raised {ours!r}, expected {theirs!r}"
        assert isinstance(ours, Failed), f"{what}: gave {ours!r}, expected {theirs!r}"
        same = ours.name == theirs.name or type(theirs.error) in type(ours.error).__mro__
        assert same, f"{what}: raised {ours!r}, expected {theirs!r}"
        return
    a, b = leaves(ours), leaves(theirs)
    assert len(a) == len(b), f"{what}: {len(a)} results where {len(b)} are expected"
    if type(theirs) in (tuple, list):
        assert type(ours) is type(theirs), f"{what}: {type(ours)} where {type(theirs)} is expected"
    for i, (x, y) in enumerate(zip(a, b, strict=True)):
        where = what if len(a) == 1 else f"{what}, result {i}"
        assert _kind(x) == _kind(y), f"{where}: a {type(x)} where {type(y)} is expected"
        if not isinstance(y, (jax.Array, np.ndarray, np.generic, bool, int, float, complex)):
            assert str(x) == str(y), f"{where}: {x!r} where {y!r} is expected"
            continue
        assert_values(x, y, where, loose)
        if isinstance(y, jax.Array):
            weak = x.weak_type, y.aval.weak_type  # type: ignore[attr-defined]
            assert weak[0] == weak[1], f"{where}: weak_type {weak[0]} where {weak[1]} is expected"


def jaxpr_text(jaxpr: Any) -> str:
    """A jaxpr's text without what depends on line width, memory addresses or NumPy's repr."""
    s = re.sub(r"np\.int64\((-?\d+)\)", r"\1", str(jaxpr))
    s = re.sub(r"0x[0-9a-f]+", "0x", s)
    s = re.sub(r"[\s;]+", " ", s)
    return s.replace("[ ", "[").replace(" ]", "]")


def _difference(ours: Any, theirs: Any) -> str:
    a, b = (re.sub(r"0x[0-9a-f]+", "0x", str(x)).splitlines() for x in (ours, theirs))
    return "\n".join(difflib.unified_diff(b, a, "expected", "lingon", n=1, lineterm=""))


def _traced(f: Callable, args: tuple, kwargs: dict, make: Callable, to: Callable) -> Any:
    arrays: list[np.ndarray] = []

    def collect(a: np.ndarray) -> np.ndarray:
        arrays.append(a)
        return a

    _map([*args, *kwargs.values()], collect)

    def g(*xs: Any) -> Any:
        it = iter(xs)
        return f(*_map(list(args), lambda _: next(it)), **_map(kwargs, lambda _: next(it)))

    return make(g)(*[to(a) for a in arrays])


def check(
    jax_fn: Callable,
    our_fn: Callable,
    *args: Any,
    jaxpr: bool = True,
    jit: bool = True,
    loose: float = 1.0,
    **kwargs: Any,
) -> None:
    """Compare a function of jax and one of ours on arguments; see the module's docstring.

    `jaxpr=False` leaves out the printed jaxpr, `jit=False` the compiled call; `loose` widens the
    tolerance.
    """
    what = f"{getattr(our_fn, '__name__', our_fn)}{_show(args, kwargs)}"
    theirs = run(lambda: jax_fn(*_map(args, jnp.asarray), **_map(kwargs, jnp.asarray)))
    ours = run(lambda: our_fn(*_map(args, lnp.asarray), **_map(kwargs, lnp.asarray)))
    compare(ours, theirs, what, loose)
    if isinstance(theirs, Failed):
        return
    if jaxpr:
        a = run(lambda: _traced(our_fn, args, kwargs, lingon.make_jaxpr, lnp.asarray))
        b = run(lambda: _traced(jax_fn, args, kwargs, jax.make_jaxpr, jnp.asarray))
        if isinstance(a, Failed) or isinstance(b, Failed):
            compare(a, b, f"{what}, traced", loose)
            return
        ta, tb = jaxpr_text(a), jaxpr_text(b)
        assert ta == tb, f"{what}: the jaxpr differs from the expected one (-)\n{_difference(a, b)}"
    if jit and all(isinstance(x, jax.Array) for x in leaves(theirs)):
        compiled = run(lambda: _traced(our_fn, args, kwargs, lingon.jit, lnp.asarray))
        if isinstance(compiled, Failed) and compiled.name.endswith("ConcretizationTypeError"):
            return
        compare(compiled, theirs, f"{what}, compiled", loose)


def _show(args: tuple, kwargs: dict) -> str:
    def one(v: Any) -> str:
        if isinstance(v, np.ndarray):
            return f"{v.dtype}{list(v.shape)}"
        if isinstance(v, (list, tuple)):
            return "[" + ", ".join(one(e) for e in v) + "]"
        return repr(v)

    parts = [one(a) for a in args] + [f"{k}={one(v)}" for k, v in kwargs.items()]
    return f"({', '.join(parts)})"
