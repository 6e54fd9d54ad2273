"""Scalar types, questions about dtypes, ufunc objects, index objects, vectorize, coverage."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax_oracle import Failed, check, run
from numpy_data import F32, I32, array

import lingon
import lingon.numpy as lnp

#: Names of jax.numpy that lingon.numpy does not have, and why.
MISSING = {
    "fft": "not there yet", "linalg": "not there yet",
    **dict.fromkeys(
        ("float4_e2m1fn", "float6_e2m3fn", "float6_e3m2fn", "int1", "int2", "uint1", "uint2"),
        "arrays of these types are not stored",
    ),
}  # fmt: skip
#: Functions whose parameters differ from jax's, and why.
OTHER_SIGNATURE = {
    "einsum": "jax has a private parameter",
    "array_repr": "NumPy's",
    "array_str": "NumPy's",
    "printoptions": "NumPy's",
    "set_printoptions": "NumPy's",
}  # fmt: skip


def test_names() -> None:
    theirs = {n for n in dir(jnp) if not n.startswith("_")}
    assert theirs - set(lnp.__all__) == set(MISSING)
    assert set(lnp.__all__) - theirs == set()


def _parameters(f: Any) -> list[tuple]:
    return [
        (p.name, p.kind, p.default)
        for p in inspect.signature(f).parameters.values()
        if not p.name.startswith("_")
    ]


def test_signatures() -> None:
    wrong = {}
    for name in lnp.__all__:
        theirs, ours = getattr(jnp, name), getattr(lnp, name)
        if name in OTHER_SIGNATURE or isinstance(theirs, (type, jnp.ufunc)) or not callable(theirs):
            continue
        a, b = run(lambda f=theirs: _parameters(f)), run(lambda f=ours: _parameters(f))
        if isinstance(a, Failed) or a == b:
            continue
        # names of positional-only parameters cannot be seen by callers
        hidden = inspect.Parameter.POSITIONAL_ONLY
        strip = lambda ps: [(None if k is hidden else n, k, d) for n, k, d in ps]
        if isinstance(b, Failed) or strip(a) != strip(b):
            wrong[name] = (a, b)
    assert not wrong, "\n".join(f"{n}: jax {a}, lingon {b}" for n, (a, b) in wrong.items())


SCALARS = "bool_ int8 int32 uint8 float16 bfloat16 float32 complex64 int4 float8_e4m3fn".split()


@pytest.mark.parametrize("name", SCALARS)
def test_scalar_types(name: str) -> None:
    t, u = getattr(jnp, name), getattr(lnp, name)
    values = (1, 1.5, True, [1, 2], -1, 300, "a")
    for value in values[: 4 if name == "int4" else 6 if name == "bool_" else 7]:
        check(t, u, value, jaxpr=False, jit=False)
    assert u == u.dtype == np.dtype(u) and np.dtype(u) == np.dtype(t)
    assert lnp.zeros(2, u).dtype == u.dtype and lnp.array([1], dtype=u).astype(u).dtype == u
    assert isinstance(u.dtype.type(1), u) and not isinstance(lnp.ones(1), u)
    assert len({u, u.dtype.type}) == 1


QUESTIONS: list[tuple[str, tuple]] = [
    ("isdtype", ("f4", "real floating")), ("isdtype", ("i4", ("bool", "integral"))), ("isdtype", ("f4", "foo")),
    ("isdtype", ("bfloat16" and jnp.bfloat16, "numeric")), ("isdtype", (3, "bool")), ("issubdtype", ("f4", np.floating)),
    ("issubdtype", (jnp.bfloat16, np.floating)), ("issubdtype", (np.int32, int)), ("issubdtype", (bool, np.integer)),
    ("issubdtype", ("f4", "floating")), ("promote_types", ("i4", "u4")), ("promote_types", ("i8", "u8")),
    ("promote_types", (float, int)), ("promote_types", (jnp.bfloat16, "f2")), ("promote_types", (int, "f2")),
    ("promote_types", (jnp.float8_e4m3fn, "f4")), ("result_type", (1, 2.0)), ("result_type", ()),
    ("result_type", ("i8", 1.0)), ("result_type", (True, 1)), ("result_type", (np.int8(3), 2)),
    ("result_type", ([1, 2],)), ("result_type", (None,)), ("can_cast", ("i4", "f4")), ("shape", (1,)),
    ("shape", (np.ones((2, 3)),)), ("ndim", (2.0,)), ("size", (np.ones((2, 3)), 1)), ("size", (np.ones((2, 3)), 5)),
    ("iscomplexobj", (1j,)), ("iscomplexobj", (None,)), ("isrealobj", ("a",)), ("isscalar", (1,)), ("isscalar", ([1],)),
    ("iterable", ("a",)), ("iterable", (3,)), ("broadcast_shapes", ((2, 1), (3,))), ("broadcast_shapes", ((2,), (3,))),
    ("broadcast_shapes", ()), ("broadcast_shapes", (3, (2, 3))), ("finfo", ("i4",)), ("iinfo", ("f4",)),
    ("finfo", ("f4",)), ("iinfo", ("i1",)), ("finfo", (jnp.bfloat16,)),
]  # fmt: skip


@pytest.mark.parametrize("i", range(len(QUESTIONS)), ids=lambda i: f"{QUESTIONS[i][0]}{i}")
def test_questions(i: int) -> None:
    name, args = QUESTIONS[i]
    a, b = run(lambda: getattr(jnp, name)(*args)), run(lambda: getattr(lnp, name)(*args))
    if isinstance(a, Failed):
        assert (
            isinstance(b, Failed) and type(a.error) in type(b.error).__mro__
        ) or a.name == b.name
    else:
        assert a == b or str(a) == str(b), (a, b)


UFUNCS = [n for n in lnp.__all__ if isinstance(getattr(lnp, n), lnp.ufunc)]


@pytest.mark.parametrize("name", UFUNCS)
def test_ufunc_objects(name: str, full: bool) -> None:
    f, g = getattr(jnp, name), getattr(lnp, name)
    assert (f.nin, f.nout, f.nargs, f.identity, f.__name__) == (
        g.nin,
        g.nout,
        g.nargs,
        g.identity,
        g.__name__,
    )
    assert repr(f) == repr(g)
    x = array((2, 3), I32, name)
    for method, args in (
        ("reduce", {}),
        ("reduce", {"axis": 1, "keepdims": True}),
        ("accumulate", {"axis": 1}),
    ):
        check(getattr(f, method), getattr(g, method), x, jaxpr=False, jit=full, **args)
    check(f.outer, g.outer, x, x[0], jaxpr=False, jit=full)
    check(f, g, x, x, out=1)
    check(f.at, g.at, x, 0, 1)
    if name in ("add", "subtract", "multiply", "maximum", "minimum"):
        check(
            lambda a: f.at(a, 1, 2, inplace=False),
            lambda a: g.at(a, 1, 2, inplace=False),
            x,
            jaxpr=False,
        )
    check(jnp.add.reduceat, lnp.add.reduceat, x[0], np.array([0, 2], I32), jaxpr=False, jit=False)


def test_vectorize_and_friends(full: bool) -> None:
    def dot(a: Any, b: Any) -> Any:
        return (a * b).sum()

    a, b = array((4, 1, 3), F32), array((2, 3), F32)
    for signature in ("(n),(n)->()", "(n),(m)->()", "bad", "(n)->()"):
        f = run(lambda s=signature: jnp.vectorize(dot, signature=s)(a, b))
        g = run(lambda s=signature: lnp.vectorize(dot, signature=s)(lnp.asarray(a), lnp.asarray(b)))
        assert isinstance(f, Failed) == isinstance(g, Failed), (signature, f, g)
        if not isinstance(f, Failed):
            np.testing.assert_allclose(f, g, rtol=1e-5)
        else:
            assert f.name == g.name
    add = lambda u, v, w=0: u + v + w
    check(
        jnp.vectorize(add),
        lnp.vectorize(add),
        array((2, 1), F32),
        array((3,), F32),
        jaxpr=False,
        jit=full,
    )
    total = lambda v: v.sum()
    check(jnp.apply_along_axis, lnp.apply_along_axis, total, 1, a, jaxpr=False, jit=False)
    check(
        lambda x: jnp.apply_over_axes(jnp.sum, x, [0, 2]),
        lambda x: lnp.apply_over_axes(lnp.sum, x, [0, 2]),
        a,
        jaxpr=False,
    )
    f = jnp.frompyfunc(add, 2, 1)
    g = lnp.frompyfunc(add, 2, 1)
    check(f, g, array((3,), F32), 1.0, jaxpr=False, jit=False)


def test_index_objects() -> None:
    x = array((3,), F32)
    for f in (
        lambda m, v: m.mgrid[0:2, 0:3], lambda m, v: m.ogrid[0:2, 0:3], lambda m, v: m.mgrid[0:1:3j],
        lambda m, v: m.r_[v, 1:3, 5], lambda m, v: m.c_[v, v], lambda m, v: m.r_["0,2", v, v],
        lambda m, v: m.r_["r", v], lambda m, v: m.c_[v], lambda m, v: m.mgrid[0:5:2],
    ):  # fmt: skip
        check(lambda v, f=f: f(jnp, v), lambda v, f=f: f(lnp, v), x, jaxpr=False, jit=False)
    assert lnp.s_[1:2] == slice(1, 2)


def test_files(tmp_path: Path) -> None:
    x = lnp.arange(4.0)
    lnp.save(tmp_path / "x.npy", x)
    np.testing.assert_array_equal(lnp.load(tmp_path / "x.npy"), x)
    y = lnp.ones(3, lnp.bfloat16)
    lnp.save(tmp_path / "y.npy", y)
    assert lnp.load(tmp_path / "y.npy").dtype == lnp.bfloat16


def test_numpy_settings_are_left_alone() -> None:
    before = np.geterr()
    with np.errstate(all="raise"):
        assert np.isinf(np.asarray(lnp.ones(2) / lnp.zeros(2))).all()
    assert np.geterr() == before


@pytest.mark.parametrize("name", ["roots", "polyfit"])
def test_not_implemented(name: str) -> None:
    args = (np.ones(3), np.ones(3), 1) if name == "polyfit" else (np.ones(2, I32),)
    with pytest.raises(NotImplementedError, match="linear algebra"):
        getattr(lnp, name)(*args)


INTEGERS = np.array([0, 1, -1, 6, -15, 100, 2**31 - 1, -(2**31) + 1, 97, 1024], I32)


@pytest.mark.parametrize("name", ["gcd", "lcm"])
def test_divisors(name: str, full: bool) -> None:
    f, g = getattr(jnp, name), getattr(lnp, name)
    x, y = INTEGERS[:, None], INTEGERS[None, :]
    check(f, g, x, y, jaxpr=False, jit=True)
    for dtype in ("int8", "uint8", "int16", "uint32"):
        small = np.array([0, 1, 12, 18, 35, 100], dtype)
        check(f, g, small[:, None], small, jaxpr=False, jit=full)
    for args in (
        (12, 18),
        (0, 0),
        (x[3], 4),
        (np.int8(6), x),
        (1.5, 2),
        (True, False),
        ([1], 2),
        (np.zeros(0, I32), 3),
    ):
        check(f, g, *args, jaxpr=False, jit=full)
    check(
        lambda a: jax.vmap(f, (0, None))(a, 12),
        lambda a: lingon.vmap(g, (0, None))(a, 12),
        INTEGERS,
        jaxpr=False,
    )


def test_divisors_of_the_least_integer() -> None:
    """Its absolute value is itself; the algorithm ends all the same."""
    least = np.int32(-(2**31))
    assert int(lnp.gcd(least, least)) == least and int(lnp.gcd(least, np.int32(6))) == 2
    assert int(lnp.gcd(least, np.int32(0))) == least


WEIGHTED = np.array([[1.0, 3.0, 2.0, 5.0], [4.0, 4.0, 0.5, 1.0]], F32)
WEIGHTS = np.array([[1.0, 0.0, 2.0, 1.0], [0.5, 1.0, 1.0, 3.0]], F32)


@pytest.mark.parametrize("name", ["quantile", "nanquantile", "percentile", "nanpercentile"])
def test_weighted_quantiles(name: str) -> None:
    f, g = getattr(jnp, name), getattr(lnp, name)
    scale = 100 if "percent" in name else 1
    some = WEIGHTED.copy()
    some[0, 1] = np.nan
    for a in (WEIGHTED, some):
        for q in (0.0, 0.3, 0.5, 1.0, np.array([0.1, 0.6, 0.9], F32)):
            for w, axis in (
                (WEIGHTS, None),
                (WEIGHTS, 0),
                (WEIGHTS, 1),
                (WEIGHTS[0], 1),
                (WEIGHTS, (0, 1)),
            ):
                for keepdims in (False, True):
                    options = {"axis": axis, "method": "inverted_cdf", "keepdims": keepdims}
                    r = run(lambda: f(a, q * scale, weights=w, **options))
                    s = run(lambda: g(lnp.asarray(a), q * scale, weights=w, **options))
                    assert not isinstance(s, Failed) and s.shape == np.quantile(
                        a, q, weights=w, **options
                    ).shape, (r, s)  # fmt: skip
                    if w.ndim < 2:
                        w = np.broadcast_to(w, a.shape)  # which NumPy's nanquantile needs
                    expected = (np.nanquantile if "nan" in name else np.quantile)(
                        a, q, weights=w, **options
                    )
                    np.testing.assert_array_equal(s, expected)
    for bad in (
        {"method": "linear"},
        {"method": "inverted_cdf", "axis": None},
        {"method": "inverted_cdf", "axis": 0},
    ):
        r = run(lambda: f(WEIGHTED, 0.5, weights=WEIGHTS[0], **bad))
        s = run(lambda: g(WEIGHTED, 0.5, weights=WEIGHTS[0], **bad))
        assert isinstance(r, Failed) and isinstance(s, Failed) and r.name == s.name, (r, s)
