"""Configuration: options by JAX's names and environment variables, and lingon's own.

Each option is declared once with its type and default. `config.update(name, value)` sets it for
the process; the context managers set it for a block in one thread. Every change of an option that
can change what is traced or compiled bumps the epoch that compiled functions are keyed on.
"""

from __future__ import annotations

import contextlib
import os
import threading
from collections.abc import Callable, Iterator
from typing import Any

from ...runtime import set_global_config, set_thread_config
from .log import log


class _Local(threading.local):
    def __init__(self) -> None:
        self.overrides: dict[str, Any] = {}


_local = _Local()


class Option:
    """One option. As a context manager factory, `with option(value):` sets it for the block."""

    def __init__(
        self,
        name: str,
        default: Any,
        help: str,
        *,
        parse: Callable[[Any], Any],
        affects_tracing: bool,
        on_update: Callable[[Any], None] | None = None,
    ):
        self.name, self.default, self.help = name, default, help
        self.parse, self.affects_tracing = parse, affects_tracing
        self.on_update = on_update
        # Called after every change, also at the ends of blocks.
        self.on_change: Callable[[], None] | None = None
        # Called with a new value of the process; raises where it cannot be set any more.
        self.check: Callable[[Any], None] | None = None
        env = os.environ.get(name.upper())
        self.global_value = default if env is None else self.checked(env, "environment variable")

    def checked(self, value: Any, where: str) -> Any:
        try:
            return self.parse(value)
        except ValueError as e:
            raise ValueError(f"invalid value {value!r} for the {where} {self.name}: {e}") from None

    @property
    def value(self) -> Any:
        o = _local.overrides
        if self.name in o:
            return o[self.name]
        return self.global_value

    @contextlib.contextmanager
    def __call__(self, new_value: Any = True) -> Iterator[None]:
        new_value = self.checked(new_value, "option")
        saved = _local.overrides
        _local.overrides = {**saved, self.name: new_value}
        _refresh(self)
        try:
            yield
        finally:
            _local.overrides = saved
            _refresh(self)


_options: dict[str, Option] = {}


def trace_key() -> tuple:
    """The values of all options that can change what a function traces or compiles to."""
    f = _fast
    return f.trace_key if f.epoch == _global_epoch else eager_state().trace_key


def trace_key_names() -> list[str]:
    """The names of the options in `trace_key`, in its order."""
    return [o.name for o in _options.values() if o.affects_tracing]


_fingerprints: dict[tuple, int] = {}
_fingerprint_lock = threading.Lock()


def _intern(key: tuple) -> int:
    with _fingerprint_lock:
        return _fingerprints.setdefault(key, len(_fingerprints) + 1)


def _refresh(option: Option) -> None:
    """Tell the compiled call path that what it keys on has changed."""
    _fast.epoch = -1
    if option.on_change is not None:
        option.on_change()
    if not option.affects_tracing:
        return
    overrides = tuple(
        (k, v) for k, v in sorted(_local.overrides.items()) if _options[k].affects_tracing
    )
    set_thread_config(_intern(overrides) if overrides else 0, overridden_x64())
    set_global_config(
        _intern(tuple(o.global_value for o in _options.values() if o.affects_tracing)),
        bool(enable_x64.global_value),
    )


def overridden(option: Option) -> Any:
    """The value of a surrounding context manager in this thread, or None."""
    return _local.overrides.get(option.name)


def overridden_x64() -> bool | None:
    """The x64 setting of a surrounding context manager in this thread, or None."""
    return _local.overrides.get("jax_enable_x64")


class _Fast(threading.local):
    """Values of this thread that are read at every operation, refreshed when an option changes."""

    x64: bool | None = None
    check_finite = False
    promotion = "standard"
    trace_key: tuple = ()
    epoch = -1


_fast = _Fast()
_global_epoch = 0


def x64_enabled() -> bool:
    """Whether 64-bit types are kept."""
    f = _fast
    return f.x64 if f.epoch == _global_epoch else eager_state().x64  # type: ignore[return-value]


def eager_state() -> _Fast:
    """`x64`, `check_finite` (debug_nans or debug_infs) and `trace_key` as they hold in this thread."""
    f = _fast
    if f.epoch != _global_epoch:
        f.x64 = bool(enable_x64.value)
        f.check_finite = bool(debug_nans.value or debug_infs.value)
        f.promotion = dtype_promotion.value
        f.trace_key = tuple([o.value for o in _options.values() if o.affects_tracing])
        f.epoch = _global_epoch
    return f


def numpy_dtype_promotion() -> str:
    return dtype_promotion.value


def parse_bool(v: Any) -> bool:
    if isinstance(v, bool):
        return v
    if isinstance(v, int):
        return bool(v)
    s = str(v).lower()
    if s in ("1", "true", "t", "yes", "y", "on"):
        return True
    if s in ("0", "false", "f", "no", "n", "off", ""):
        return False
    raise ValueError("expected a boolean")


def parse_optional_bool(v: Any) -> bool | None:
    return None if v is None else parse_bool(v)


def parse_int(v: Any) -> int:
    if isinstance(v, bool) or not isinstance(v, (int, str)):
        raise ValueError("expected an integer")
    return int(v)


def parse_optional_str(v: Any) -> str | None:
    return None if v is None else str(v)


def parse_device(v: Any) -> Any:
    if v is None or hasattr(v, "device_kind") or v == "cpu":
        return v
    raise ValueError(
        "jax.default_device must be passed either a Device object (e.g. `jax.devices('cpu')[0]`) or "
        f"a platform name string like 'cpu' or 'gpu', got: {v!r}"
    )


def choice(*values: Any) -> Callable[[Any], Any]:
    def parse(v: Any) -> Any:
        if v not in values:
            raise ValueError(f"expected one of {', '.join(map(repr, values))}")
        return v

    return parse


def define(
    name: str,
    default: Any,
    help: str,
    *,
    parse: Callable[[Any], Any] = parse_bool,
    affects_tracing: bool = False,
    on_update: Callable[[Any], None] | None = None,
) -> Option:
    """Declare an option; its environment variable is the name in upper case."""
    if name in _options:
        raise ValueError(f"option {name} is declared twice")
    option = Option(
        name, default, help, parse=parse, affects_tracing=affects_tracing, on_update=on_update
    )
    _options[name] = option
    return option


class Config:
    """The process's configuration: `config.update(name, value)`, and values as attributes."""

    def update(self, name: str, value: Any) -> None:
        """Set an option for the whole process. Raises AttributeError for an unknown name."""
        global _global_epoch
        option = _options.get(name)
        if option is None:
            raise AttributeError(_unknown(name))
        value = option.checked(value, "option")
        if option.check is not None:
            option.check(value)
        option.global_value = value
        _global_epoch += 1
        _refresh(option)
        if option.on_update is not None:
            option.on_update(option.global_value)

    def read(self, name: str) -> Any:
        """The value of an option by its full name. Raises AttributeError for an unknown name."""
        option = _options.get(name)
        if option is None:
            raise AttributeError(_unknown(name))
        return option.value

    def __getattr__(self, name: str) -> Any:
        option = _options.get(name) or _options.get("jax_" + name)
        if option is None:
            raise AttributeError(_unknown(name))
        return option.value

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"set options with config.update({name!r}, {value!r})")

    @property
    def values(self) -> dict[str, Any]:
        """All options with their present values."""
        return {k: o.value for k, o in _options.items()}

    def help(self) -> str:
        """A table of all options: name, value, meaning."""
        return "\n".join(f"{k} = {o.value!r}\n    {o.help}" for k, o in sorted(_options.items()))


def _unknown(name: str) -> str:
    import difflib

    near = difflib.get_close_matches(name, _options, n=3)
    hint = f"; did you mean {', '.join(near)}?" if near else ""
    return f"Unrecognized config option: {name}{hint}"


config = Config()

enable_x64 = define(
    "jax_enable_x64",
    False,
    "Keep 64-bit types instead of truncating to 32 bits.",
    affects_tracing=True,
)
dtype_promotion = define(
    "jax_numpy_dtype_promotion",
    "standard",
    "'standard' promotes by the lattice, 'strict' refuses implicit promotion.",
    parse=choice("standard", "strict"),
    affects_tracing=True,
)
explicit_x64_dtypes = define(
    "jax_explicit_x64_dtypes",
    "warn",
    "What an explicitly requested 64-bit dtype does while x64 is disabled.",
    parse=choice("warn", "allow", "error"),
    affects_tracing=True,
)
rank_promotion = define(
    "jax_numpy_rank_promotion",
    "allow",
    "What happens when operands of different rank are broadcast: allow, warn or raise.",
    parse=choice("allow", "warn", "raise"),
    affects_tracing=True,
)
#: Names of algorithms of contractions, by the types of operands, products and sums.
MATMUL_ALGORITHMS = (
    "ANY_F8_ANY_F8_F32 ANY_F8_ANY_F8_F32_FAST_ACCUM ANY_F8_ANY_F8_ANY ANY_F8_ANY_F8_ANY_FAST_ACCUM "
    "F16_F16_F16 F16_F16_F32 BF16_BF16_BF16 BF16_BF16_F32 BF16_BF16_F32_X3 BF16_BF16_F32_X6 "
    "BF16_BF16_F32_X9 TF32_TF32_F32 TF32_TF32_F32_X3 F32_F32_F32 F64_F64_F64"
).split()
default_matmul_precision = define(
    "jax_default_matmul_precision",
    None,
    "Precision that contractions state where none is given; products are computed exactly anyway.",
    parse=choice(
        *(None, "default", "high", "highest", "bfloat16", "tensorfloat32", "float32"),
        *MATMUL_ALGORITHMS,
    ),
    affects_tracing=True,
)
debug_nans = define(
    "jax_debug_nans", False, "Raise FloatingPointError where a NaN appears.", affects_tracing=True
)
debug_infs = define(
    "jax_debug_infs",
    False,
    "Raise FloatingPointError where an infinity appears.",
    affects_tracing=True,
)
disable_jit = define(
    "jax_disable_jit", False, "Run jitted functions as ordinary Python.", affects_tracing=True
)
check_tracer_leaks = define(
    "jax_check_tracer_leaks",
    False,
    "Raise when a tracer outlives its trace.",
    affects_tracing=True,
)
log_compiles = define("jax_log_compiles", False, "Log each compilation.")
no_tracing = define("jax_no_tracing", False, "Raise RuntimeError where a function is traced.")


def _set_logging_level(level: str | None) -> None:
    log.setLevel(level or "NOTSET")


logging_level = define(
    "jax_logging_level",
    "NOTSET",
    "Level of the logger 'lingon', by its name in the module logging.",
    parse=choice(None, "NOTSET", "DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"),
    on_update=_set_logging_level,
)
if logging_level.global_value not in (None, "NOTSET"):
    _set_logging_level(logging_level.global_value)
explain_cache_misses = define(
    "jax_explain_cache_misses", False, "Log why a jitted function was traced again."
)
default_prng_impl = define(
    "jax_default_prng_impl",
    "threefry2x32",
    "Implementation of new PRNG keys.",
    parse=choice("threefry2x32"),
    affects_tracing=True,
)
enable_custom_prng = define(
    "jax_enable_custom_prng", False, "PRNGKey returns typed keys.", affects_tracing=True
)
random_seed_offset = define(
    "jax_random_seed_offset",
    0,
    "Added to the seeds of new PRNG keys.",
    parse=parse_int,
    affects_tracing=True,
)
legacy_prng_key = define(
    "jax_legacy_prng_key",
    "allow",
    "What happens when functions of random get a raw uint32 key: allow, warn or error.",
    parse=choice("allow", "warn", "error"),
    affects_tracing=True,
)
threefry_partitionable = define(
    "jax_threefry_partitionable",
    True,
    "Streams do not depend on how an array is split.",
    affects_tracing=True,
)
platform = define(
    "jax_platforms",
    None,
    "Comma-separated platforms to use; 'cpu' is available.",
    parse=parse_optional_str,
)
traceback_filtering = define(
    "jax_traceback_filtering",
    "auto",
    "How lingon's own frames are hidden in tracebacks.",
    parse=choice("off", "tracebackhide", "remove_frames", "quiet_remove_frames", "auto"),
)
default_device = define(
    "jax_default_device", None, "Device for new arrays.", parse=parse_device, affects_tracing=True
)
num_cpu_devices = define(
    "jax_num_cpu_devices",
    -1,
    "Devices that the CPU shows, to be set before the first use; -1 leaves it to the environment.",
    parse=parse_int,
)
enable_compilation_cache = define(
    "jax_enable_compilation_cache", True, "Keep compiled programs on disk."
)
compilation_cache_dir = define(
    "jax_compilation_cache_dir",
    None,
    "Folder of the on-disk compile cache; None leaves it to LINGON_CACHE_DIR.",
    parse=parse_optional_str,
)
compilation_cache_max_size = define(
    "jax_compilation_cache_max_size",
    -1,
    "Bytes that the on-disk compile cache may use; -1 leaves it to LINGON_CACHE_MAX_BYTES.",
    parse=parse_int,
)
pprint_use_color = define("jax_pprint_use_color", False, "Print jaxprs in colour.")
