"""jit beside jax: arguments, static values, caches, errors."""

from __future__ import annotations

import collections
import dataclasses
import enum
import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from both import fails, same

import lingon
import lingon.numpy as lnp

V = np.array([0.5, -1.5, 2.0], np.float32)
Pair = collections.namedtuple("Pair", "first second")


class Color(enum.Enum):
    RED = 1
    BLUE = 2


class Counted:
    """A function that counts how often its Python code runs."""

    def __init__(self, f: Callable):
        self.f, self.n = f, 0
        functools.update_wrapper(self, f)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        self.n += 1
        return self.f(*args, **kwargs)


class Model:
    def __init__(self, scale: float):
        self.scale = scale

    @functools.partial(lingon.jit, static_argnums=0)
    def static_self(self, x: Any) -> Any:
        return x * self.scale

    def plain(self, x: Any) -> Any:
        return x * self.scale


class CallMe:
    def __call__(self, x: Any, y: Any = 2.0) -> Any:
        return x * y


def register_box(m: Any) -> Any:
    class Box:
        def __init__(self, x: Any, tag: str):
            self.x, self.tag = x, tag

    m.tree_util.register_pytree_node(Box, lambda b: ((b.x,), b.tag), lambda t, c: Box(c[0], t))
    return Box


def register_data(m: Any) -> Any:
    @m.tree_util.register_dataclass
    @dataclasses.dataclass
    class Data:
        w: Any
        b: Any
        name: str = dataclasses.field(default="n", metadata={"static": True})

    return Data


def through_box(m: Any) -> Any:
    box = register_box(m)
    r = m.jax.jit(lambda b: box(b.x * 2, b.tag + "!"))(box(m.jnp.asarray(V), "t"))
    return r.x, r.tag == "t!"


def through_data(m: Any) -> Any:
    data = register_data(m)
    f = Counted(lambda d: data(d.w + d.b, d.b, d.name))
    j = m.jax.jit(f)
    r = j(data(m.jnp.asarray(V), 1.0, "a"))
    j(data(m.jnp.asarray(V), 1.0, "a"))
    first = f.n
    j(data(m.jnp.asarray(V), 1.0, "b"))
    return r.w, r.b, r.name == "a", first, f.n


def decorated(m: Any) -> Any:
    @functools.partial(m.jax.jit, static_argnames=("n",))
    def f(x: Any, n: int) -> Any:
        return sum([x] * n)

    @m.jax.jit
    def g(x: Any) -> Any:
        return f(x, n=3) + f(x, 2)

    @m.jax.jit(static_argnums=1)
    def h(x: Any, n: int) -> Any:
        return x * n

    return g(m.jnp.asarray(V)), h(2.0, 3)


PROGRAMS = {
    "arrays": lambda m: m.jax.jit(lambda x, y: m.jnp.sin(x + y))(m.jnp.asarray(V), m.jnp.ones(3)),
    "numpy": lambda m: m.jax.jit(lambda x: x + 1)(V),
    "numpy 64": lambda m: m.jax.jit(lambda x: x + 1)(V.astype(np.float64)),
    "numpy scalars": lambda m: m.jax.jit(lambda x, y: (x + 1, y * 2))(np.float32(2), np.int64(3)),
    "python scalars": lambda m: m.jax.jit(lambda a, b, c, d: (a, b, c, d, a + b + c + d))(
        True, 2, 3.5, 1j
    ),
    "strided": lambda m: m.jax.jit(lambda x: x * 2)(np.arange(12, dtype=np.float32).reshape(3, 4).T[::2]),
    "empty": lambda m: m.jax.jit(lambda x: x * 2)(m.jnp.zeros((0, 4))),
    "no arguments": lambda m: m.jax.jit(lambda: m.jnp.arange(3))(),
    "no results": lambda m: m.jax.jit(lambda x: ())(1.0),
    "returns None": lambda m: m.jax.jit(lambda x: None)(1.0),
    "identity": lambda m: m.jax.jit(lambda x: x)(V),
    "identity twice": lambda m: m.jax.jit(lambda x: (x, x))(m.jnp.asarray(V)),
    "constant results": lambda m: m.jax.jit(lambda x: (1, 2.0, True, V, np.int8(3)))(0.0),
    "unused argument": lambda m: m.jax.jit(lambda x, y: x)(1.0, V),
    "keep_unused": lambda m: m.jax.jit(lambda x, y: x, keep_unused=True)(1.0, V),
    "keywords": lambda m: m.jax.jit(lambda x, *, k: x * k)(2.0, k=V),
    "keyword for position": lambda m: m.jax.jit(lambda x, y: x - y)(y=V, x=1.0),
    "defaults": lambda m: m.jax.jit(lambda x, y=2.0, *, z=3: x * y + z)(V),
    "array default": lambda m: m.jax.jit(lambda x, y=V: x * y)(2.0),
    "variadic": lambda m: m.jax.jit(lambda *xs, **ks: (sum(xs), ks))(1.0, 2.0, a=3, b=V),
    "none in trees": lambda m: m.jax.jit(lambda d: {"a": d["a"] + 1, "b": d["b"]})(
        {"a": 1.0, "b": None}
    ),
    "none argument": lambda m: m.jax.jit(lambda x, y: x if y is None else y)(1.0, None),
    "namedtuple": lambda m: m.jax.jit(lambda p: Pair(p.second, p.first))(Pair(1.0, V)),
    "ordered dict": lambda m: m.jax.jit(lambda d: d)(
        collections.OrderedDict([("b", 1.0), ("a", 2.0)])
    ),
    "defaultdict": lambda m: m.jax.jit(lambda d: dict(d))(
        collections.defaultdict(list, {"a": 1.0})
    ),
    "nested containers": lambda m: m.jax.jit(lambda t: [t[1], (t[0],), {"k": t[2]}])(
        [1.0, {"x": V}, (2, [3])]
    ),
    "registered class": through_box,
    "registered dataclass": through_data,
    "decorated": decorated,
    "static_argnums": lambda m: m.jax.jit(lambda x, n: x**n, static_argnums=1)(V, 3),
    "negative static_argnums": lambda m: m.jax.jit(lambda x, n: x**n, static_argnums=-1)(V, 3),
    "several static": lambda m: m.jax.jit(
        lambda a, x, b: x.reshape(a, b), static_argnums=(0, 2)
    )(3, V, 1),
    "static tuple": lambda m: m.jax.jit(lambda x, s: x.reshape(s), static_argnums=(1,))(V, (3, 1)),
    "static by name": lambda m: m.jax.jit(lambda x, n: x**n, static_argnames="n")(V, n=2),
    "static name by position": lambda m: m.jax.jit(lambda x, n: x**n, static_argnames=["n"])(V, 2),
    "static number by keyword": lambda m: m.jax.jit(lambda x, n: x**n, static_argnums=1)(V, n=2),
    "static keyword only": lambda m: m.jax.jit(
        lambda x, *, mode="a": x if mode == "a" else -x, static_argnames="mode"
    )(V, mode="b"),
    "static default": lambda m: m.jax.jit(lambda x, n=2: x.reshape(n, 2), static_argnums=1)(
        m.jnp.arange(4)
    ),
    "static in kwargs": lambda m: m.jax.jit(
        lambda x, **k: x if k["flag"] else -x, static_argnames="flag"
    )(V, flag=False),
    "static function": lambda m: m.jax.jit(lambda f, x: f(x), static_argnums=0)(m.jnp.sin, V),
    "static string": lambda m: m.jax.jit(lambda x, s: x * len(s), static_argnums=1)(V, "abc"),
    "static enum": lambda m: m.jax.jit(lambda x, c: x * c.value, static_argnums=1)(V, Color.BLUE),
    "static None": lambda m: m.jax.jit(lambda x, c: x, static_argnums=1)(V, None),
    "static nan": lambda m: m.jax.jit(lambda x, c: x * c, static_argnums=1)(V, float("nan")),
    "static among variadic": lambda m: m.jax.jit(lambda *a: a[0] * a[2], static_argnums=(2,))(
        V, 1.0, 3
    ),
    "last of variadic": lambda m: m.jax.jit(lambda *a: a[0] * a[-1], static_argnums=(-1,))(
        V, 1.0, 3
    ),
    "numbers and names": lambda m: m.jax.jit(
        lambda x, a, b: x * a + b, static_argnums=(1,), static_argnames=("b",)
    )(V, 2, b=3),
    "donated": lambda m: m.jax.jit(lambda x, y: x + y, donate_argnums=0)(m.jnp.asarray(V), V),
    "donated by name": lambda m: m.jax.jit(lambda x, y: x + y, donate_argnames="y")(
        m.jnp.asarray(V), y=m.jnp.asarray(V)
    ),
    "inline": lambda m: m.jax.jit(lambda x: m.jax.jit(m.jnp.sin, inline=True)(x) * 2)(V),
    "nested": lambda m: m.jax.jit(lambda x: m.jax.jit(lambda y: y * x)(x + 1))(V),
    "three levels": lambda m: m.jax.jit(
        lambda x: m.jax.jit(lambda y: m.jax.jit(lambda z: z + x * y)(y))(x)
    )(V),
    "jit of jit": lambda m: m.jax.jit(m.jax.jit(lambda x: x * 2))(V),
    "jit of jit with statics": lambda m: m.jax.jit(
        m.jax.jit(lambda x, n: x * n, static_argnums=1), static_argnums=1
    )(V, 3),
    "partial": lambda m: m.jax.jit(functools.partial(lambda a, x, b: a * x + b, 2.0, b=1.0))(V),
    "partial with statics": lambda m: m.jax.jit(
        functools.partial(lambda a, x, n: a * x**n, 2.0), static_argnums=1
    )(V, 2),
    "pytree partial": lambda m: m.jax.jit(lambda f, x: f(x))(
        m.tree_util.Partial(m.jnp.multiply, 3.0), V
    ),
    "callable object": lambda m: m.jax.jit(CallMe())(V),
    "bound method": lambda m: m.jax.jit(Model(3.0).plain)(V),
    "builtin": lambda m: m.jax.jit(abs)(-2.5),
    "library function": lambda m: m.jax.jit(m.jnp.dot)(V, V),
    "python branch on shape": lambda m: m.jax.jit(lambda x: x[0] if x.ndim else x)(V),
    "unrolled loop": lambda m: m.jax.jit(lambda x: functools.reduce(lambda a, _: a * x, range(5), x))(
        V
    ),
    "iteration": lambda m: m.jax.jit(lambda x: [e * 2 for e in x])(V),
    "len, shape, dtype": lambda m: m.jax.jit(
        lambda x: (len(x), x.shape, x.size, x.ndim, x.dtype == np.float32)
    )(V),
    "closure over an array": lambda m: (lambda c: m.jax.jit(lambda x: x + c)(1.0))(m.jnp.asarray(V)),
    "closure over numpy": lambda m: m.jax.jit(lambda x: x + V)(1.0),
    "global state is captured": lambda m: (lambda s, f: (f(1.0), s.update(k=5.0), f(1.0))[::2])(
        *(lambda s: (s, m.jax.jit(lambda x: x + s["k"])))({"k": 2.0})
    ),
    "typed keys": lambda m: m.jax.jit(lambda k: m.random.normal(k, (3,)))(m.random.key(3)),
    "typed keys that are captured": lambda m: m.random.key_data(_captured_keys(m)),
    "NumPy arrays of 64 bits go into loops": lambda m: _captured_wide(m),
    "NumPy arrays that change later": lambda m: _captured_and_changed(m),
    "raw keys": lambda m: m.jax.jit(lambda k: m.random.split(k))(m.random.PRNGKey(3)),
    "bfloat16": lambda m: m.jax.jit(lambda x: x * 3)(m.jnp.asarray(V, m.jnp.bfloat16)),
    "half": lambda m: m.jax.jit(lambda x: m.jnp.exp(x))(m.jnp.asarray(V, m.jnp.float16)),
    "booleans": lambda m: m.jax.jit(lambda x: ~x)(np.array([True, False])),
    "complex": lambda m: m.jax.jit(lambda x: x * 1j)(V),
    "weak result": lambda m: m.jax.jit(lambda x: x * 2)(3),
    "disable_jit": lambda m: _disabled(m),
    "compile time evaluation": lambda m: _compile_time(m),
}  # fmt: skip


def _captured_keys(m: Any) -> Any:
    """One key, few, many and none, at the top, in a loop, in an inner function, as a gradient's."""
    key = m.random.key(3)
    few, many = m.random.split(key, 3), m.random.split(key, 50)

    def body(s: Any, x: Any) -> Any:
        return s + m.random.bits(few[1], dtype=np.uint16) * 0.5, many[x]

    def inner(s: Any) -> Any:
        return m.random.bits(key, dtype=np.uint16) * s

    def f(s: Any) -> Any:
        s, ys = m.lax.scan(body, s, np.arange(2))
        s = m.jax.jit(inner)(s) + m.jax.grad(m.jax.jit(inner))(s)
        last = m.lax.cond(s > 0, lambda: many[7], lambda: few[0])
        return m.jnp.concatenate([ys, few, many[:0], key[None], last[None]]), few[:0]

    out, none = m.jax.jit(f)(1.0)
    assert none.shape == (0,)
    return out


def _captured_wide(m: Any) -> Any:
    """Few and many elements, as operands of loops, calls and operations."""

    def f(s: Any) -> Any:
        table = m.jnp.arange(50.0)
        few, many = np.arange(3), np.arange(40)
        floats = np.linspace(0.0, 1.0, 30)
        return (
            m.lax.map(lambda i: s * table[i], few),
            m.lax.scan(lambda c, x: (c + table[x[0]] * x[1], x), s, (many[:30], floats)),
            m.lax.cond(s > 0, lambda i: table[i], lambda i: table[i + 1], few),
            m.jax.vmap(lambda i: s * table[i])(many),
            m.jax.checkpoint(lambda i: s * table[i])(many),
            m.lax.associative_scan(lambda a, b: a + b * s, floats),
            m.lax.while_loop(lambda c: c[0][0] < 3, lambda c: (c[0] + 1, c[1] * s), (few, floats)),
            m.lax.add(few, many[:3]),
        )

    return m.jax.jit(f)(2.0), m.jax.jit(m.jax.grad(lambda s: f(s)[0].sum()))(2.0)


def _captured_and_changed(m: Any) -> Any:
    values = np.arange(100.0, dtype=np.float32)
    f = m.jax.jit(lambda x: m.lax.scan(lambda c, y: (c + y, None), x, values)[0])
    before = f(0.0)
    values[:] = 0
    return before, f(0.0)


def _disabled(m: Any) -> Any:
    f = Counted(lambda x: x * 2 if x > 0 else x)
    j = m.jax.jit(f)
    with m.jax.disable_jit():
        a, b = j(2.0), j(-2.0)
    return a, b, f.n


def _compile_time(m: Any) -> Any:
    def f(x: Any) -> Any:
        with m.jax.ensure_compile_time_eval():
            n = int(m.jnp.arange(3).sum())
            big = bool(m.jnp.all(m.jnp.ones(2) > 0))
        return x * n if big else x

    return m.jax.jit(f)(V)


@pytest.mark.parametrize("name", PROGRAMS)
def test_program(name: str) -> None:
    same(PROGRAMS[name])


def test_it_looks_like_its_function() -> None:
    def f(x: float, n: int = 3) -> float:
        """Doc of f."""
        return x * n

    j = lingon.jit(f)
    assert (j.__name__, j.__doc__, j.__module__, j.__wrapped__) == ("f", "Doc of f.", __name__, f)
    assert j.__qualname__ == f.__qualname__ and j.__annotations__ == f.__annotations__
    assert str(inspect.signature(j)) == str(inspect.signature(f))
    assert f.__name__ in repr(j)


def test_methods() -> None:
    a, b = Model(2.0), Model(3.0)
    np.testing.assert_array_equal(a.static_self(V), V * 2)
    np.testing.assert_array_equal(b.static_self(V), V * 3)
    np.testing.assert_array_equal(Model.static_self(a, V), V * 2)

    class Both:
        @staticmethod
        @lingon.jit
        def s(x: Any) -> Any:
            return x + 1

        @classmethod
        @functools.partial(lingon.jit, static_argnums=0)
        def c(cls, x: Any) -> Any:
            return x + len(cls.__name__)

    assert Both.s(1.0) == 2.0 and Both().s(1.0) == 2.0 and Both.c(1.0) == 5.0


def test_donated_argument_is_deleted() -> None:
    x, y = lnp.arange(3.0), lnp.ones(3)
    lingon.jit(lambda a, b: a + b, donate_argnums=0)(x, y)
    assert x.is_deleted() and not y.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        x + 1
    t = {"a": lnp.ones(2), "b": lnp.zeros(2)}
    lingon.jit(lambda d: {k: v + 1 for k, v in d.items()}, donate_argnames="d")(d=t)
    assert all(v.is_deleted() for v in t.values())


def test_unused_inputs_of_the_program() -> None:
    f = lambda x, y: x * 2
    dropped = lingon.jit(f).lower(V, V).as_text()
    kept = lingon.jit(f, keep_unused=True).lower(V, V).as_text()
    assert dropped.count("%arg") < kept.count("%arg") or (
        "%arg2" in kept and "%arg2" not in dropped
    )


def test_exceptions_of_the_function_pass_through() -> None:
    class MyError(Exception):
        pass

    @lingon.jit
    def f(x: Any) -> Any:
        raise MyError("mine")

    for _ in range(2):
        with pytest.raises(MyError, match="mine"):
            f(1.0)
    state = {"fail": True}

    @lingon.jit
    def g(x: Any) -> Any:
        if state["fail"]:
            raise MyError
        return x

    with pytest.raises(MyError):
        g(1.0)
    state["fail"] = False
    assert g(1.0) == 1.0


class Mutable:
    def __init__(self) -> None:
        self.v = 1

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, Mutable)

    __hash__ = None  # type: ignore[assignment]


MISTAKES: dict[str, tuple] = {
    "not callable": (lambda m: m.jax.jit(3), "callable", "3"),
    "generator": (lambda m: m.jax.jit(_generator), "generator"),
    "argnums too large": (lambda m: m.jax.jit(lambda x: x, static_argnums=1), "static_argnums", "1 positional"),
    "argnums too small": (lambda m: m.jax.jit(lambda x: x, static_argnums=-2), "static_argnums"),
    "donated too large": (lambda m: m.jax.jit(lambda x: x, donate_argnums=(0, 3)), "donate_argnums"),
    "unknown argname": (lambda m: m.jax.jit(lambda x: x, static_argnames="n"), "static_argnames", "'n'"),
    "unknown donated name": (lambda m: m.jax.jit(lambda x: x, donate_argnames=["n"]), "donate_argnames", "'n'"),
    "argnums no ints": (lambda m: m.jax.jit(lambda x: x, static_argnums="x"), "static_argnums"),
    "argnums floats": (lambda m: m.jax.jit(lambda x: x, static_argnums=1.0), "static_argnums", "1.0"),
    "argnames no strings": (lambda m: m.jax.jit(lambda x: x, static_argnames=[1]), "1"),
    "static and donated": (
        lambda m: m.jax.jit(lambda x: x, static_argnums=0, donate_argnums=0), "static_argn", "donate_argn", "intersect",
    ),
    "unhashable static": (
        lambda m: m.jax.jit(lambda x, n: x, static_argnums=1)(1.0, [1]), "Non-hashable", "list", "[1]",
    ),
    "unhashable static by name": (
        lambda m: m.jax.jit(lambda x, n: x, static_argnames="n")(1.0, n={"a": 1}), "Non-hashable", "dict",
    ),
    "array as static": (
        lambda m: m.jax.jit(lambda x, n: x, static_argnums=1)(1.0, m.jnp.ones(2)), "Non-hashable",
    ),
    "numpy array as static": (
        lambda m: m.jax.jit(lambda x, n: x, static_argnums=1)(1.0, np.ones(2)), "Non-hashable",
    ),
    "unhashable object": (lambda m: m.jax.jit(lambda x, n: x, static_argnums=1)(1.0, Mutable()), "Mutable"),
    "traced static": (
        lambda m: m.jax.jit(lambda y: m.jax.jit(lambda x, n: x, static_argnums=1)(1.0, y))(2), "hash",
    ),
    "string argument": (lambda m: m.jax.jit(lambda x, y: x)(1.0, "a"), "str", "y", "static_arg"),
    "object argument": (lambda m: m.jax.jit(lambda x: 1)(object()), "object", "path x"),
    "string in a tree": (lambda m: m.jax.jit(lambda d: 1)({"a": [1.0, "b"]}), "d['a'][1]"),
    "set": (lambda m: m.jax.jit(lambda d: 1)({1, 2}), "set"),
    "string array": (lambda m: m.jax.jit(lambda d: 1)(np.array(["a"])),),
    "object array": (lambda m: m.jax.jit(lambda d: 1)(np.array([None])),),
    "function argument": (lambda m: m.jax.jit(lambda f: f(1.0))(m.jnp.sin), "function"),
    "returns a string": (lambda m: m.jax.jit(lambda x: (x, "a"))(1.0), "str", "[1]"),
    "returns a set": (lambda m: m.jax.jit(lambda x: {"k": {1}})(1.0), "set", "['k']"),
    "returns a function": (lambda m: m.jax.jit(lambda x: lambda: x)(1.0), "function"),
    "too few arguments": (lambda m: m.jax.jit(lambda x, y: x)(1.0), "'y'"),
    "too many arguments": (lambda m: m.jax.jit(lambda x: x)(1.0, 2.0),),
    "unknown keyword": (lambda m: m.jax.jit(lambda x: x)(1.0, z=2.0), "'z'"),
    "large integer": (lambda m: m.jax.jit(lambda x: x)(2**40),),
    "mixed dict keys": (lambda m: m.jax.jit(lambda x: 1)({"a": 1.0, 2: 2.0}),),
    "unknown option": (lambda m: m.jax.jit(lambda x: x, foo=1), "foo"),
    "not enough positional": (
        lambda m: m.jax.jit(lambda x, n: x, static_argnums=1)(),
    ),
    "big endian": (lambda m: m.jax.jit(lambda x: x)(np.arange(3, dtype=">f4")), "ndarray"),
    "deleted": (lambda m: _use_deleted(m), "deleted"),
}  # fmt: skip


def _generator(x: Any) -> Any:
    yield x


def _use_deleted(m: Any) -> Any:
    x = m.jnp.ones(3)
    x.delete()
    return m.jax.jit(lambda v: v + 1)(x)


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes(name: str) -> None:
    program, *words = MISTAKES[name]
    fails(program, *words)
