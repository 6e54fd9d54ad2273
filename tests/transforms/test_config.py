"""Options beside jax: names, values, environment, context managers, and what they change."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import jax
import numpy as np
import pytest
from both import JAX, OURS, Failed, fails, run, same
from jax_oracle import jaxpr_text

import lingon
import lingon.numpy as lnp
from lingon.frontend.core import config

V = np.array([0.5, -1.5, 2.0], np.float32)
N = np.array([3, -1, 2], np.int32)
M = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    """Puts back the options of both libraries."""
    ours = {k: o.global_value for k, o in config._options.items()}
    theirs = dict(jax.config.values)
    yield
    for name, value in ours.items():
        if config._options[name].global_value != value:
            lingon.config.update(name, value)
        if name in theirs and jax.config.values[name] != theirs[name]:
            jax.config.update(name, theirs[name])


def agrees(program: Callable[[Any], Any], *words: str) -> None:
    if isinstance(run(program, JAX), Failed):
        fails(program, *words)
    else:
        same(program)


def test_names_and_defaults_are_those_of_jax() -> None:
    for name, option in config._options.items():
        assert name in jax.config.values, name
        theirs = jax.config.values[name]
        # ours has no colours yet
        if name != "jax_pprint_use_color":
            assert option.default == getattr(theirs, "name", theirs).lower() if isinstance(
                option.default, str) and name not in ("jax_logging_level",) else option.default == theirs, name  # fmt: skip


def test_context_managers_exist() -> None:
    state = type(jax.enable_x64)
    theirs = {n for n in dir(jax) if isinstance(getattr(jax, n), state)}
    ours = {n for n in lingon.__all__ if isinstance(getattr(lingon, n), config.Option)}
    assert ours <= theirs | {"checking_leaks", "disable_jit"}
    assert {"enable_x64", "debug_nans", "disable_jit", "no_tracing", "legacy_prng_key"} <= ours


VALUES: list[tuple[str, list[Any]]] = [
    ("jax_enable_x64", [True, False, 1, 0]),
    ("jax_numpy_rank_promotion", ["warn", "raise", "foo", 3]),
    ("jax_numpy_dtype_promotion", ["strict", "foo"]),
    ("jax_default_matmul_precision", ["highest", "float32", None, "foo", "F32_F32_F32", "BF16_BF16_F32", 3]),
    ("jax_random_seed_offset", [3, "a", 1.5]),
    ("jax_legacy_prng_key", ["warn", "foo"]),
    ("jax_logging_level", ["DEBUG", "NOTSET", "foo"]),
    ("jax_debug_nans", [True, False]),
    ("jax_foo", [1]),
    ("x64", [True]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "values"), VALUES, ids=lambda v: v if isinstance(v, str) else "")
def test_update(name: str, values: list[Any]) -> None:
    for value in values:
        agrees(lambda m, v=value: m.jax.config.update(name, v))
    for level in ("jax", "lingon"):
        logging.getLogger(level).setLevel(logging.NOTSET)


def test_reading() -> None:
    for program in (
        lambda m: m.jax.config.jax_enable_x64,
        lambda m: m.jax.config.values["jax_numpy_rank_promotion"], lambda m: m.jax.config.read("foo"),
        lambda m: m.jax.config.foo, lambda m: setattr(m.jax.config, "jax_enable_x64", True),
    ):  # fmt: skip
        agrees(program)
    assert "jax_enable_x64" in lingon.config.help()
    with pytest.raises(AttributeError, match="did you mean jax_enable_x64"):
        lingon.config.update("jax_enable_x46", True)
    with pytest.raises(ValueError, match=r"'foo'.*jax_numpy_rank_promotion.*'raise'"):
        lingon.config.update("jax_numpy_rank_promotion", "foo")


ENVIRONMENT = {
    "JAX_ENABLE_X64": ("1", "print(jnp.arange(3).dtype)"),
    "JAX_NUMPY_RANK_PROMOTION": ("raise", "print(jax.config.jax_numpy_rank_promotion)"),
    "JAX_DEBUG_NANS": ("true", "print(jax.config.jax_debug_nans)"),
    "JAX_DISABLE_JIT": ("1", "print(jax.jit(lambda x: x if x > 0 else -x)(-2.0))"),
    "JAX_DEFAULT_MATMUL_PRECISION": ("highest", "print(jax.config.jax_default_matmul_precision)"),
    "JAX_RANDOM_SEED_OFFSET": ("4", "print(jax.random.PRNGKey(1))"),
}


def test_environment() -> None:
    """All at once, in one process for each library."""
    program = "import NAME as jax, NAME.numpy as jnp\n" + "\n".join(
        p for _, p in ENVIRONMENT.values()
    )
    env = {**os.environ, **{k: v for k, (v, _) in ENVIRONMENT.items()}}
    out = [
        subprocess.run(
            [sys.executable, "-c", program.replace("NAME", name)],
            env=env, capture_output=True, text=True, timeout=120, check=True,
        ).stdout.splitlines()
        for name in ("lingon", "jax")
    ]  # fmt: skip
    assert out[0] == out[1] and len(out[0]) == len(ENVIRONMENT)


@pytest.mark.parametrize(
    "text", ["JAX_ENABLE_X64=maybe", "JAX_NUMPY_RANK_PROMOTION=foo", "JAX_PLATFORMS=gpu"]
)
def test_wrong_environment(text: str) -> None:
    name, value = text.split("=")
    r = subprocess.run(
        [sys.executable, "-c", "import lingon.numpy as jnp; jnp.ones(2).devices()"],
        env={**os.environ, name: value}, capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert r.returncode == 1 and value in r.stderr and name.lower() in r.stderr


def x64(m: Any, f: Callable[[], Any]) -> Any:
    with m.jax.enable_x64(True):
        return f()


X64: dict[str, Callable[[Any], Any]] = {
    "arange": lambda m: m.jnp.arange(3), "ones": lambda m: m.jnp.ones(2), "python float": lambda m: m.jnp.asarray(1.5),
    "numpy": lambda m: m.jnp.asarray(np.arange(3)), "jit": lambda m: m.jax.jit(lambda x: x + 1)(np.float64(2)),
    "jit of a scalar": lambda m: m.jax.jit(lambda x: x * 2)(3), "grad": lambda m: m.jax.grad(lambda x: x**2)(1.5),
    "promotion": lambda m: m.jnp.float32(1) + np.float64(2), "random": lambda m: m.random.uniform(m.random.key(0), (2,)),
    "random dtype": lambda m: m.random.normal(m.random.key(0), (2,), "float32"), "sum": lambda m: m.jnp.sum(np.ones(3, np.int32)),
    "vmap": lambda m: m.jax.vmap(lambda x: x / 3)(np.arange(3)), "argmax": lambda m: m.jnp.argmax(V), "large": lambda m: m.jnp.asarray(2**40),
    "eval_shape": lambda m: str(m.jax.eval_shape(lambda x: x, np.float64(1))), "jaxpr": lambda m: str(m.jax.make_jaxpr(lambda x: x * 2)(1.0)),
    "array of 32 bits": lambda m: m.jnp.asarray(V) * 2,
}  # fmt: skip


@pytest.mark.parametrize("name", X64)
def test_enable_x64(name: str) -> None:
    def program(m: Any) -> Any:
        before = X64[name](m) if name != "large" else 0
        inside = x64(m, lambda: X64[name](m))
        after = X64[name](m) if name != "large" else 0
        return before, inside, after

    same(program)


def test_x64_in_caches() -> None:
    """One jitted function keeps a program for each setting and finds it again."""

    def program(m: Any) -> Any:
        n = [0]

        def f(x: Any) -> Any:
            n[0] += 1
            return x + m.jnp.arange(3)

        j = m.jax.jit(f)
        outs = []
        for _ in range(2):
            outs += [j(1.0), x64(m, lambda: j(1.0)), j(V), x64(m, lambda: j(V))]
        return outs, n[0]

    same(program)


def test_explicit_64_bit_types() -> None:
    for what in ("warn", "allow", "error"):

        def program(m: Any, what: str = what) -> Any:
            m.jax.config.update("jax_explicit_x64_dtypes", what)
            with warnings.catch_warnings(record=True) as w:
                warnings.simplefilter("always")
                x = m.jnp.zeros(2, dtype=np.float64)
            return x, len(w)

        agrees(program)


def test_explicit_64_bit_types_in_use() -> None:
    def program(m: Any) -> Any:
        m.jax.config.update("jax_explicit_x64_dtypes", "allow")
        x = m.jnp.zeros(2, "float64")
        return (
            x + 1, m.jax.jit(lambda v: v + 1)(x), x * np.ones(2), m.jnp.sin(x), x.sum(), x + m.jnp.float32(2),
            m.jnp.asarray(V).astype("float64"), m.jnp.arange(3, dtype="int64") * 2, m.jnp.zeros(2, float),
            m.jax.grad(lambda v: (v * v).sum())(x), m.jnp.uint32(1) + m.jnp.int32(2),
        )  # fmt: skip

    same(program)


def test_rank_promotion() -> None:
    for what in ("allow", "warn", "raise"):

        def program(m: Any, what: str = what) -> Any:
            with m.jax.numpy_rank_promotion(what), warnings.catch_warnings(record=True) as w:
                warnings.simplefilter("always")
                r = m.jnp.add(m.jnp.asarray(M), m.jnp.asarray(V)), m.jnp.asarray(M) * 2
            if m is OURS:
                assert len(w) == (what == "warn") and all("(2, 3)" in str(x.message) for x in w)
            return r

        agrees(program, "(2, 3)", "(3,)")


STRICT = [
    lambda m: m.jnp.asarray(V) + m.jnp.asarray(N), lambda m: m.jnp.asarray(V) + 1, lambda m: m.jnp.asarray(N) * 2.5,
    lambda m: m.jnp.asarray(V) + V.astype(np.float16), lambda m: m.jnp.asarray(N) // 2, lambda m: m.jnp.asarray(V) * True,
    lambda m: m.jnp.where(V > 0, m.jnp.asarray(V), 0), lambda m: m.jnp.concatenate([V, N]), lambda m: m.jnp.sin(m.jnp.asarray(N)),
    lambda m: m.jnp.mean(m.jnp.asarray(V)), lambda m: m.jnp.asarray(V).at[0].set(1), lambda m: m.jnp.asarray(V) > N,
    lambda m: m.jnp.asarray(V) ** 2, lambda m: m.nn.softmax(m.jnp.asarray(V)), lambda m: m.jnp.asarray(V).sum() * m.jnp.float32(2),
]  # fmt: skip


@pytest.mark.parametrize("i", range(len(STRICT)))
@pytest.mark.parametrize("jitted", [False, True], ids=["eager", "jit"])
def test_strict_dtype_promotion(i: int, jitted: bool) -> None:
    def program(m: Any) -> Any:
        with m.jax.numpy_dtype_promotion("strict"):
            f = lambda: STRICT[i](m)
            return (m.jax.jit(f) if jitted else f)()

    agrees(program)


BAD = {
    "nans": ("debug_nans", lambda m, x: m.jnp.log(x)),
    "infs": ("debug_infs", lambda m, x: 1 / (x - x)),
    "nans in jit": ("debug_nans", lambda m, x: m.jax.jit(lambda v: m.jnp.sqrt(v) * 2)(x)),
    "nans of a gradient": ("debug_nans", lambda m, x: m.jax.grad(lambda v: m.jnp.sqrt(v[0] - v[0]))(x)),
    "no nans": ("debug_nans", lambda m, x: m.jnp.sin(x)),
    "infs are no nans": ("debug_nans", lambda m, x: m.jnp.exp(x * 1000)),
    "nans of vmap": ("debug_nans", lambda m, x: m.jax.vmap(lambda v: v / (v - v) * 0)(x)),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_values(name: str) -> None:
    option, f = BAD[name]

    def program(m: Any) -> Any:
        with getattr(m.jax, option)(True):
            return f(m, m.jnp.asarray(V))

    agrees(program)
    f(OURS, lnp.asarray(V))  # and outside of the block nothing is raised


PRECISIONS = [
    None,
    "default",
    "high",
    "highest",
    "bfloat16",
    "tensorfloat32",
    "float32",
    "BF16_BF16_F32",
    "F32_F32_F32",
]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_default_matmul_precision(precision: Any) -> None:
    def program(m: Any) -> Any:
        with m.jax.default_matmul_precision(precision):
            texts = [
                jaxpr_text(m.jax.make_jaxpr(f)(M, M.T.copy()))
                for f in (m.jnp.dot, m.jnp.matmul, lambda a, b: m.jnp.dot(a, b, precision="high"))
            ]
            return texts, m.jnp.dot(M, M.T)

    same(program)


def test_names_of_algorithms() -> None:
    assert set(config.MATMUL_ALGORITHMS) == set(lingon.lax.DotAlgorithmPreset.__members__) - {
        "DEFAULT"
    }


def test_no_tracing() -> None:
    def program(m: Any, new: bool) -> Any:
        f = m.jax.jit(lambda x: x * 2)
        x = m.jnp.asarray(V)
        f(x)
        with m.jax.no_tracing(True):
            return m.jax.jit(lambda v: v * 3)(x) if new else f(x)

    same(lambda m: program(m, False))
    fails(lambda m: program(m, True), "no_tracing", "<lambda>", "jit")
    with lingon.no_tracing(), pytest.raises(RuntimeError, match="make_jaxpr"):
        lingon.make_jaxpr(lambda x: x)(1.0)


def test_random_options() -> None:
    def offset(m: Any) -> Any:
        m.jax.config.update("jax_random_seed_offset", 7)
        seeds = 1, np.uint8(3), m.jnp.int32(5), -9
        return [m.random.PRNGKey(s) for s in seeds], m.random.key_data(m.random.key(2))

    same(offset)

    def legacy(m: Any, what: str, typed: bool) -> Any:
        key = m.random.key(0) if typed else m.random.PRNGKey(0)
        with m.jax.legacy_prng_key(what), warnings.catch_warnings(record=True) as w:
            warnings.simplefilter("always")
            return (
                m.random.uniform(key, (2,)),
                [str(x.message) for x in w],
                [x.category.__name__ for x in w],
            )

    for what in ("allow", "warn", "error"):
        for typed in (False, True):
            agrees(lambda m, what=what, typed=typed: legacy(m, what, typed))
    agrees(lambda m: m.random.key_data(m.random.key(1)))
    with lingon.enable_custom_prng(True):
        assert str(lingon.random.PRNGKey(0).dtype) == "key<fry>"
    with pytest.raises(ValueError, match="foo"):
        lingon.config.update("jax_default_prng_impl", "foo")


def test_contexts_nest_and_end_with_errors() -> None:
    with lingon.enable_x64(True):
        with lingon.enable_x64(False):
            assert lnp.arange(2).dtype == np.int32
        assert lnp.arange(2).dtype == np.int64
        with pytest.raises(KeyError), lingon.enable_x64(False):
            raise KeyError
        assert lnp.arange(2).dtype == np.int64
    assert lnp.arange(2).dtype == np.int32
    with pytest.raises(ValueError, match="foo"), lingon.numpy_rank_promotion("foo"):
        pass


def test_as_a_decorator() -> None:
    @lingon.enable_x64(True)
    def f() -> Any:
        return lnp.arange(2).dtype

    assert f() == f() == np.int64 and lnp.arange(2).dtype == np.int32


def test_global_and_local_values() -> None:
    """A context wins over what is set for the process meanwhile, and ends with it."""
    with lingon.enable_x64(False):
        lingon.config.update("jax_enable_x64", True)
        assert lnp.arange(2).dtype == np.int32
    assert lnp.arange(2).dtype == np.int64


def test_logging(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING), lingon.log_compiles(True):
        lingon.jit(lambda x: x * 41.5)(1.0)
    assert any("ompil" in r.getMessage() and "lambda" in r.getMessage() for r in caplog.records)
    lingon.config.update("jax_logging_level", "ERROR")
    assert logging.getLogger("lingon").level == logging.ERROR
    lingon.config.update("jax_logging_level", "NOTSET")
