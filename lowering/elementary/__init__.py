"""Elementary functions as branch-free scalar code: see README.md.

`library_text` gives the MLIR definitions, `evaluate` the same functions on NumPy arrays.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterable
from typing import Any

# module -> its functions and their numbers of arguments; it defines each as `name_`
_MODULES = {
    "exponential": {"exp": 1, "exp2": 1, "expm1": 1, "log": 1, "log2": 1, "log10": 1, "log1p": 1},
    "trigonometric": {"sin": 1, "cos": 1, "tan": 1},
    "inverse_trigonometric": {"asin": 1, "acos": 1, "atan": 1, "atan2": 2},
    "hyperbolic": {
        "sinh": 1,
        "cosh": 1,
        "tanh": 1,
        "asinh": 1,
        "acosh": 1,
        "atanh": 1,
        "logistic": 1,
    },
    "power": {"powf": 2, "cbrt": 1, "rsqrt": 1, "hypot": 2},
    "error_function": {"erf": 1, "erfc": 1, "erf_inv": 1},
    "gamma": {"lgamma": 1, "digamma": 1},
    "incomplete_gamma": {"igamma": 2, "igammac": 2, "igamma_grad_a": 2},
    "incomplete_beta": {"regularized_incomplete_beta": 3},
    "zeta": {"zeta": 2, "polygamma": 2},
    "bessel": {"bessel_i0e": 1, "bessel_i1e": 1},
    "remainder": {"fmod": 2, "nextafter": 2},
    "samplers": {"sampler_log": 1, "sampler_log1p": 1, "sampler_erf": 1, "sampler_erf_inv": 1},
}
ARITY = {name: arity for table in _MODULES.values() for name, arity in table.items()}
_HOME = {name: module for module, table in _MODULES.items() for name in table}
FLOAT_TYPES = ("f32", "f64")


def symbol(name: str, float_type: str) -> str:
    """The MLIR symbol of a function: `symbol("sin", "f32")` is "lingon_sin_f32"."""
    return f"lingon_{name}_{float_type}"


@functools.cache
def names() -> tuple[str, ...]:
    """All symbols of the library, sorted."""
    return tuple(sorted(symbol(n, t) for n in ARITY for t in FLOAT_TYPES))


def parse_symbol(name: str) -> tuple[str, str]:
    """The inverse of `symbol`. Raises KeyError for a name that the library lacks."""
    if name.startswith("lingon_"):
        function, _, float_type = name[len("lingon_") :].rpartition("_")
        if function in ARITY and float_type in FLOAT_TYPES:
            return function, float_type
    raise KeyError(f"{name!r} is not a function of the elementary library; names() lists them")


def body(function: str) -> Callable[..., Any]:
    """The Python function that describes `function` over a builder and its arguments."""
    module = importlib.import_module(f"{__name__}.{_HOME[function]}")
    return getattr(module, function + "_")


@functools.cache
def _definition(name: str) -> tuple[str, tuple[tuple[str, str], ...]]:
    from .builder import TextBuilder, Value, table_text

    function, float_type = parse_symbol(name)
    builder = TextBuilder(float_type)
    arguments = [f"%x{i}" for i in range(ARITY[function])]
    result = body(function)(builder, *(Value(builder, float_type, a) for a in arguments))
    if result.type != float_type:
        raise TypeError(f"{name} computes {result.type}")
    lines = "\n".join(builder.lines)
    parameters = ", ".join(f"{a}: {float_type}" for a in arguments)
    text = (
        f"  func.func private @{name}({parameters}) -> {float_type} "
        'attributes {passthrough = ["alwaysinline"], llvm.linkage = #llvm.linkage<internal>} {\n'
        f"{lines}\n    return {result.data} : {float_type}\n  }}\n"
    )
    tables = tuple((t, table_text(t, values())) for t, values in sorted(builder.tables.items()))
    return text, tables


def library_text(names: Iterable[str] | None = None) -> str:
    """MLIR definitions of the functions with these symbols (None: all) and of the tables they read.

    Functions are `func.func private` with `alwaysinline`; tables are `llvm.mlir.global`s. Raises
    KeyError for an unknown symbol.
    """
    wanted = globals()["names"]() if names is None else sorted(set(names))
    parts: list[str] = []
    tables: dict[str, str] = {}
    for name in wanted:
        text, used = _definition(name)
        parts.append(text)
        tables.update(used)
    return "".join([*tables.values(), *parts])


def evaluate(function: str, *arguments: Any) -> Any:
    """The function on NumPy arrays of one dtype (float32 or float64), bit for bit as compiled code.

    Raises TypeError for other dtypes.
    """
    import numpy as np

    from .builder import NumpyBuilder, Value

    arrays = [np.asarray(a) for a in arguments]
    kinds = {np.dtype(np.float32): "f32", np.dtype(np.float64): "f64"}
    if len({a.dtype for a in arrays}) != 1 or arrays[0].dtype not in kinds:
        raise TypeError(
            f"{function}: expected float32 or float64 arrays of one dtype, got "
            f"{[str(a.dtype) for a in arrays]}"
        )
    if len(arrays) != ARITY[function]:
        raise TypeError(f"{function} takes {ARITY[function]} arguments, got {len(arrays)}")
    float_type = kinds[arrays[0].dtype]
    builder = NumpyBuilder(float_type)
    shape = np.broadcast_shapes(*(a.shape for a in arrays))
    arrays = [np.array(np.broadcast_to(a, shape), ndmin=1) for a in arrays]
    with np.errstate(all="ignore"):
        result = body(function)(builder, *(Value(builder, float_type, a) for a in arrays))
    return np.broadcast_to(result.data, arrays[0].shape).reshape(shape)
