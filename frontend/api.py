"""The functions of the top-level module, gathered from the layers below."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from ..runtime import live_arrays as all_arrays
from .core import config as _config
from .core import dtypes, pytree, source_info
from .core.avals import get_aval
from .core.trace import KnownTrace, current_trace, set_trace
from .transforms.api_util import UNSPECIFIED, NotGiven
from .transforms.jit import make_jit

float0 = dtypes.float0

check_tracer_leaks = checking_leaks = _config.check_tracer_leaks
debug_infs = _config.debug_infs
debug_nans = _config.debug_nans
default_device = _config.default_device
default_matmul_precision = _config.default_matmul_precision
default_prng_impl = _config.default_prng_impl
disable_jit = _config.disable_jit
enable_custom_prng = _config.enable_custom_prng
enable_x64 = _config.enable_x64
explain_cache_misses = _config.explain_cache_misses
legacy_prng_key = _config.legacy_prng_key
log_compiles = _config.log_compiles
no_tracing = _config.no_tracing
numpy_dtype_promotion = _config.dtype_promotion
numpy_rank_promotion = _config.rank_promotion
threefry_partitionable = _config.threefry_partitionable


def jit(
    fun: Callable | NotGiven = UNSPECIFIED,
    /,
    *,
    in_shardings: Any = UNSPECIFIED,
    out_shardings: Any = UNSPECIFIED,
    static_argnums: int | Sequence[int] | None = None,
    static_argnames: str | Iterable[str] | None = None,
    donate_argnums: int | Sequence[int] | None = None,
    donate_argnames: str | Iterable[str] | None = None,
    keep_unused: bool = False,
    device: Any = None,
    backend: str | None = None,
    inline: bool = False,
    compiler_options: dict[str, Any] | None = None,
) -> Any:
    """Compile `fun` with the first call for each signature; later calls run machine code.

    Without `fun`, returns a decorator with the given options.

    Args:
      in_shardings, out_shardings: how arguments and results lie over devices; pytree prefixes of
        them. None: as they come.
      device: the device on which the program runs.
      static_argnums, static_argnames: arguments that are compile-time constants. They must be
        hashable; a new value traces and compiles again.
      donate_argnums, donate_argnames: arguments whose buffers the program may take over; they
        must not be used afterwards.
      keep_unused: keep arguments that the function does not read as inputs of the program.
      inline: when traced by another jit, put the equations in its jaxpr instead of a call.
      compiler_options: {"pipeline": "cpu"} or "cpu-fast", which compiles quicker and runs slower.

    The Python code of `fun` runs only while it is traced, so its side effects happen then and not
    at later calls. Raises TypeError for arguments that are no arrays and not static.
    """
    if backend not in (None, "cpu"):
        raise RuntimeError(f"Unknown backend {backend}. Available backends are ['cpu']")
    options = {
        "static_argnums": static_argnums,
        "static_argnames": static_argnames,
        "donate_argnums": donate_argnums,
        "donate_argnames": donate_argnames,
        "keep_unused": keep_unused,
        "compiler_options": compiler_options,
        "inline": inline,
    }
    make: Callable[..., Any] = make_jit
    if not (in_shardings is UNSPECIFIED and out_shardings is UNSPECIFIED and device is None):
        from .sharded_jit import check_shardings, make_sharded_jit

        given = [
            check_shardings("in_shardings", in_shardings),
            check_shardings("out_shardings", out_shardings),
            device is not None,
        ]
        if any(given):
            make = functools.partial(
                make_sharded_jit,
                in_shardings=in_shardings,
                out_shardings=out_shardings,
                device=device,
                options=options,
            )
            options = {}
    if fun is UNSPECIFIED:
        return lambda f: make(f, **options)
    return make(fun, **options)


def block_until_ready(x: Any) -> Any:
    """Wait for all arrays in a pytree; returns it."""
    for leaf in pytree.tree_leaves(x):
        wait = getattr(leaf, "block_until_ready", None)
        if wait is not None:
            wait()
    return x


def copy_to_host_async(x: Any) -> Any:
    """Start copying the arrays of a pytree to the host; returns it."""
    return x


def effects_barrier() -> None:
    """Wait for all side effects of programs that were started; they are done when calls return."""


@contextlib.contextmanager
def ensure_compile_time_eval() -> Iterator[None]:
    """In the block, operations on known values run at once, also while a function is traced."""
    with set_trace(KnownTrace(current_trace())):
        yield


def live_arrays(platform: str | None = None) -> list[Any]:
    """All concrete arrays that are alive; of one platform, if it is named."""
    return [x for x in all_arrays() if not x.is_deleted() and platform in (None, x.platform())]


def named_scope(name: str) -> Any:
    """Context manager and decorator that adds `name` to the names of the equations traced inside."""
    if not isinstance(name, str):
        raise TypeError(f"named_scope name must be a string, got {name!r}")
    return source_info.named(name)


def named_call(fun: Callable, *, name: str | None = None) -> Callable:
    """`fun` with its equations under a name (its own by default)."""
    label = name or getattr(fun, "__name__", None)
    if not isinstance(label, str):
        raise TypeError(f"named_call name must be a string, got {label!r}")

    @functools.wraps(fun)
    def f(*args: Any, **kwargs: Any) -> Any:
        with source_info.named(label):
            return fun(*args, **kwargs)

    return f


def typeof(x: Any) -> Any:
    """The aval of a value."""
    return get_aval(x)
