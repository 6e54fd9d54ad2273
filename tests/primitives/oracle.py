"""The generated tests' access to samples, and to jax as the oracle."""

from __future__ import annotations

import dataclasses
import enum
import re
import zlib
from typing import Any

import jax
import jax.extend
import ml_dtypes
import numpy as np

from lingon.frontend import primitives
from lingon.frontend.core import dtypes
from lingon.frontend.core.avals import ShapedArray, get_aval
from lingon.frontend.core.jaxpr import ClosedJaxpr
from lingon.frontend.core.primitive import Primitive, Sample, sample_array

assert primitives  # declares them


def oracle_primitive(name: str) -> Any:
    """jax's primitive of the same name, or None."""
    if name == "add_any":
        return jax.extend.core.primitives.add_jaxvals_p
    attribute = name.replace("-", "_") + "_p"
    for module in (jax.lax, jax.extend.core.primitives):
        if hasattr(module, attribute):
            return getattr(module, attribute)
    return None


def has_functions(sample: Sample) -> bool:
    """Whether a parameter is (or stands for) a jaxpr, which cannot be handed to jax."""
    params = sample.params
    return "update_jaxpr" in params or any(
        isinstance(x, ClosedJaxpr)
        for v in params.values()
        for x in (v if isinstance(v, tuple) else (v,))
    )


def oracle_params(params: dict) -> dict:
    """Parameters with our enumerations and records replaced by jax's."""

    def convert(v: Any) -> Any:
        theirs = getattr(jax.lax, type(v).__name__, None)
        if theirs is None or isinstance(v, type):
            return v
        if isinstance(v, enum.Enum):
            return theirs[v.name]
        if dataclasses.is_dataclass(v):
            return theirs(**{f.name: getattr(v, f.name) for f in dataclasses.fields(v)})
        return theirs(**v._asdict()) if hasattr(v, "_asdict") else v

    out = {k: convert(v) for k, v in params.items()}
    if "impl" in out:
        eqns = jax.make_jaxpr(lambda seed: jax.random.key(seed))(0).eqns
        (out["impl"],) = [e.params["impl"] for e in eqns if "impl" in e.params]
    if "rounding_method" in out:
        out["rounding_method"] = jax.lax.RoundingMethod(int(out["rounding_method"]))
    return out


def oracle_array(x: Any) -> Any:
    """An argument as jax takes it."""
    base = getattr(x, "_base_array", None)
    if base is not None:
        return jax.random.wrap_key_data(np.asarray(base))
    return x if isinstance(x, (bool, int, float, complex)) else jax.numpy.asarray(np.asarray(x))


def samples(primitive: Primitive, full: bool, count: int = 4) -> list[tuple[int, Sample]]:
    """All samples with their numbers, or a choice that is the same in every run."""
    every = list(enumerate(primitive.samples))
    if full or len(every) <= count:
        return every
    rng = np.random.default_rng(zlib.crc32(primitive.name.encode()))
    chosen = {0, *rng.choice(len(every), count - 1, replace=False).tolist()}
    return [every[i] for i in sorted(chosen)]


def arguments(sample: Sample, seed: int = 0) -> list[Any]:
    """The sample's arguments as NumPy arrays."""
    rng = np.random.default_rng(seed)
    return [sample_array(rng, a, sample.low, sample.high) for a in sample.args]


def describe(sample: Sample, args: list[Any]) -> str:
    avals = ", ".join(str(get_aval(a)) for a in args)
    return f"({avals}) {sample.params}"


def values(x: Any) -> np.ndarray:
    """The elements of a result (key data for keys)."""
    base = getattr(x, "_base_array", None)
    if base is not None:
        return np.asarray(base)
    if isinstance(x, jax.Array) and jax.dtypes.issubdtype(x.dtype, jax.dtypes.prng_key):
        return np.asarray(jax.random.key_data(x))
    return np.asarray(x)


def is_inexact(dtype: Any) -> bool:
    return dtypes.is_inexact(dtype)


def tolerance(dtype: Any, sample: Sample) -> float:
    return sample.tol or 32 * float(ml_dtypes.finfo(dtype).eps)


def assert_close(
    ours: Any, theirs: Any, sample: Sample, what: str, tol: float | None = None
) -> None:
    """Equal shapes, dtypes and values: exactly for integers, up to rounding for floats."""
    a, b = values(ours), values(theirs)
    assert a.shape == b.shape and a.dtype == b.dtype, (
        f"{what}: {a.dtype}{a.shape}, {b.dtype}{b.shape}"
    )
    if not is_inexact(a.dtype):
        assert np.array_equal(a, b), f"{what}: {a} where {b} is expected"
        return
    t = tolerance(a.dtype, sample) if tol is None else tol
    wide = np.complex128 if a.dtype.kind == "c" else np.float64
    x, y = a.astype(wide), b.astype(wide)
    scale = np.max(np.abs(y[np.isfinite(y)]), initial=1.0)
    ok = np.isclose(x, y, rtol=t, atol=t * scale, equal_nan=True)
    if a.dtype.kind != "c":
        ok &= (np.signbit(x) == np.signbit(y)) | (x != 0) | (y != 0)
    assert np.all(ok), f"{what}: {a[~ok]} where {b[~ok]} is expected (tolerance {t})"


def text(jaxpr: Any) -> str:
    """A jaxpr's text without what depends on the printing library's version or on addresses.

    Equations whose results are dropped are left out: some of them are only zeros that one library
    makes and the other does not.
    """
    s = re.sub(r"np\.int64\((-?\d+)\)", r"\1", str(jaxpr))
    kept, depth = [], 0
    for line in s.split("\n"):
        names = line.split(" = ")[0].split()
        if depth == 0 and not (names and all(n.startswith("_:") for n in names)):
            kept.append(line)
            continue
        depth += line.count("[") - line.count("]")
    # lines are broken by width, and integers printed as np.int64 make them longer
    return re.sub(r"\s+", " ", " ".join(kept)).replace("[ ", "[").replace(" ]", "]")


def weak(x: Any) -> bool:
    aval = get_aval(x)
    return isinstance(aval, ShapedArray) and aval.weak_type
