"""What a program is, and the inputs of programs: NumPy arrays from seeded generators."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np

Made = tuple[Callable[..., Any], tuple[Any, ...]]
BF16 = np.dtype(ml_dtypes.bfloat16)

# Set by the test of the programs: all sizes become small.
small = False


@dataclasses.dataclass(frozen=True)
class Program:
    """A program of a family.

    `make` gives the function and its arguments, a pytree of NumPy arrays, which become arrays of the
    library before the function sees them. `kind` says what is measured:

    * `jit`: calls of the jitted function;
    * `carry`: the same, where the result is the next call's first argument, which is donated;
    * `call`: calls of the function as it is;
    * `compile`: tracing, lowering and compiling it, made anew each time.
    """

    name: str
    make: Callable[[], Made]
    kind: str = "jit"
    group: str = ""
    x64: bool = False
    # Differences of the results that are no fault: relative, None is what the dtype allows.
    tolerance: float | None = None
    # The part of the elements that may differ by more, where results depend on comparisons of rounded values.
    differing: float = 0.0


def add_to(
    out: list[Program],
    name: str,
    f: Callable[..., Any],
    arguments: Callable[[], tuple],
    **kwargs: Any,
) -> None:
    """Appends a program of a function and what makes its arguments; `kwargs` are a Program's."""
    out.append(Program(name, lambda: (f, arguments()), **kwargs))


def size(n: int) -> int:
    """n, or a small number in its place where programs are only tested."""
    return n if not small or n <= 32 else 32 + n % 4


@functools.lru_cache(maxsize=24)
def _uniform(shape: tuple[int, ...], low: float, high: float, dtype: Any, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    wide = np.float64 if dtype == np.float64 else np.float32
    x = rng.random(shape, wide)
    x *= wide(high - low)
    x += wide(low)
    return x.astype(dtype, copy=False)


def uniform(
    *shape: int, low: float = -1.0, high: float = 1.0, dtype: Any = np.float32, seed: int = 0
) -> np.ndarray:
    return _uniform(tuple(shape), low, high, np.dtype(dtype), seed)


@functools.lru_cache(maxsize=24)
def _normal(shape: tuple[int, ...], dtype: Any, seed: int) -> np.ndarray:
    wide = np.float64 if dtype == np.float64 else np.float32
    return np.random.default_rng(seed).standard_normal(shape, wide).astype(dtype, copy=False)


def normal(*shape: int, dtype: Any = np.float32, seed: int = 0) -> np.ndarray:
    return _normal(tuple(shape), np.dtype(dtype), seed)


@functools.lru_cache(maxsize=24)
def _integers(shape: tuple[int, ...], low: int, high: int, dtype: Any, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).integers(low, high, shape, dtype)


def integers(low: int, high: int, *shape: int, dtype: Any = np.int32, seed: int = 0) -> np.ndarray:
    return _integers(tuple(shape), low, high, np.dtype(dtype), seed)


def permutation(n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).permutation(n).astype(np.int32)


def named(jax: Any, path: str) -> Callable[..., Any]:
    """The function of the library at a path like `numpy.exp`; AttributeError where it lacks it."""
    out = jax
    for part in path.split("."):
        out = getattr(out, part)
    return out


def thousands(n: int) -> str:
    """1000000 as 1e6; numbers that are no such round ones as they are."""
    digits = str(n)
    zeros = len(digits) - len(digits.rstrip("0"))
    return f"{digits[:-zeros]}e{zeros}" if zeros >= 3 and len(digits) - zeros == 1 else digits


def mlp(jax: Any, sizes: list[int], batch: int) -> Made:
    """A training step of a classifier: value and gradient, and a step of gradient descent."""
    jnp = jax.numpy
    sizes = [size(n) for n in sizes]
    params = [
        {"w": normal(m, n, seed=m) * np.float32((2 / m) ** 0.5), "b": np.zeros(n, np.float32)}
        for m, n in itertools.pairwise(sizes)
    ]

    def loss(params: Any, x: Any, y: Any) -> Any:
        for layer in params[:-1]:
            x = jax.nn.relu(x @ layer["w"] + layer["b"])
        logits = x @ params[-1]["w"] + params[-1]["b"]
        log_p = jax.nn.log_softmax(logits)
        return -jnp.mean(jnp.take_along_axis(log_p, y[:, None], axis=1))

    def step(params: Any, x: Any, y: Any) -> Any:
        value, grads = jax.value_and_grad(loss)(params, x, y)
        new = jax.tree_util.tree_map(lambda p, g: p - 0.1 * g, params, grads)
        return new, value

    return step, (params, normal(batch, sizes[0], seed=1), integers(0, sizes[-1], batch))
