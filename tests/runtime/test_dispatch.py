"""The call path of jitted functions."""

from __future__ import annotations

import collections
import copy
import enum
import functools
import gc
import inspect
import pickle
import threading
import weakref
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from lingon.runtime import ArrayImpl, Executable, _runtime, from_numpy
from lingon.runtime._runtime import JitDispatch

pytree = _runtime.pytree
structure = lambda tree: pytree.flatten(tree)[1]

# Copies 4 or 12 bytes from the first input to the first output, or 4 from each of two.
IR = """
define void @scalar(ptr %p) {
  %a = load ptr, ptr %p
  %q = getelementptr ptr, ptr %p, i64 1
  %o = load ptr, ptr %q
  %x = load i32, ptr %a
  store i32 %x, ptr %o
  ret void
}
define void @vector(ptr %p) {
  %a = load ptr, ptr %p
  %q = getelementptr ptr, ptr %p, i64 1
  %o = load ptr, ptr %q
  %x = load <3 x float>, ptr %a, align 4
  store <3 x float> %x, ptr %o, align 4
  ret void
}
define void @swap(ptr %p) {
  %q1 = getelementptr ptr, ptr %p, i64 1
  %q2 = getelementptr ptr, ptr %p, i64 2
  %q3 = getelementptr ptr, ptr %p, i64 3
  %a = load ptr, ptr %p
  %b = load ptr, ptr %q1
  %o1 = load ptr, ptr %q2
  %o2 = load ptr, ptr %q3
  %x = load i32, ptr %a
  %y = load i32, ptr %b
  store i32 %y, ptr %o1
  store i32 %x, ptr %o2
  ret void
}
define void @nothing(ptr %p) {
  ret void
}
"""


class Aval:
    def __init__(self, shape: tuple[int, ...], dtype: Any, weak_type: bool = False):
        self.shape, self.dtype, self.weak_type = shape, np.dtype(dtype), weak_type


@pytest.fixture(scope="module")
def code(compile_ir):
    return compile_ir(IR)


@pytest.fixture
def config():
    """Restores the settings of the call path."""
    yield
    _runtime.set_tracing(False)
    _runtime.set_thread_config(0, None)
    _runtime.set_global_config(0, False)


class Missed:
    """A dispatch whose program copies its first leaf, with a log of the misses."""

    def __init__(self, code: Any, *statics: Any, entry: Any = None, result: Any = "missed"):
        self.code, self.calls, self.entry, self.result = code, [], entry, result

        def fun(x: Any, y: Any = 2, *, k: Any = 1) -> Any:
            "Its doc."

        self.fun = fun
        self.jitted = JitDispatch(self.miss, fun, *statics)

    def miss(self, args: tuple, kwargs: dict) -> tuple[Any, Any]:
        self.calls.append((args, kwargs))
        if self.entry is not None:
            return self.result, self.entry(args, kwargs)
        return self.result, self.copy_entry((args, kwargs))

    def copy_entry(self, tree: Any, name: str | None = None) -> Any:
        leaves = [x for x in pytree.leaves(tree) if _runtime.leaf_aval(x) is not None]
        shape, dtype, weak = _runtime.leaf_aval(leaves[0])
        aval = Aval(shape, dtype, weak)
        if dtype.itemsize != 4:
            executable = Executable(self.code.address("nothing"), [aval], [aval], (), self.code)
        else:
            name = "vector" if shape == (3,) else "scalar"
            executable = Executable(self.code.address(name), [aval], [aval], (), self.code)
        return executable, structure(0), (0,), ()

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.jitted(*args, **kwargs)


def three(*values: float) -> ArrayImpl:
    return from_numpy(np.array(values or (1, 2, 3), np.float32))


def test_second_call_runs_the_program(code) -> None:
    f = Missed(code)
    x = three()
    assert f(x) == "missed"
    out = f(three(4, 5, 6))
    assert isinstance(out, ArrayImpl)
    assert out._numpy().tolist() == [4, 5, 6]
    assert len(f.calls) == 1
    assert f.jitted.fast_cache_size() == 1
    assert f.calls[0] == ((x,), {})


@pytest.mark.parametrize(
    ("value", "dtype", "weak", "expected"),
    [
        (5, np.int32, True, 5),
        (-(2**31), np.int32, True, -(2**31)),
        (1.5, np.float32, True, 1.5),
        (np.float32(2.5), np.float32, False, 2.5),
        (np.float64(2.5), np.float32, False, 2.5),
        (np.int64(7), np.int32, False, 7),
        (np.int64(2**40 + 3), np.int32, False, 3),
        (np.uint64(9), np.uint32, False, 9),
        (np.array(3.25), np.float32, False, 3.25),
        (enum.IntEnum("E", "a b").b, np.int32, True, 2),
    ],
)
def test_scalars_32_bit(code, value, dtype, weak, expected) -> None:
    f = Missed(code)
    f(value)
    out = f(value)
    assert (out.dtype, out.weak_type, out.shape) == (dtype, weak, ())
    assert out._numpy() == expected


def test_leaf_avals(config) -> None:
    wide = {np.int64: np.int32, np.uint64: np.uint32, np.float64: np.float32}
    wide[np.complex128] = np.complex64
    for x64 in (False, True):
        _runtime.set_thread_config(1, x64)
        canonical = lambda t, x64=x64: np.dtype(t if x64 else wide.get(t, t))
        python = [(True, np.bool_, False), (1, np.int64, True), (1.0, np.float64, True)]
        for value, t, weak in [*python, (1j, np.complex128, True)]:
            assert _runtime.leaf_aval(value) == ((), canonical(t), weak)
        for t in (np.bool_, np.int8, np.int64, np.uint64, np.float16, np.float64, np.complex128,
                  ml_dtypes.bfloat16, ml_dtypes.float8_e5m2):  # fmt: skip
            assert _runtime.leaf_aval(np.zeros((2, 0), t)) == ((2, 0), canonical(t), False)
            assert _runtime.leaf_aval(np.dtype(t).type(1)) == ((), canonical(t), False)
        assert (_runtime.leaf_aval(2**31) is None) == (not x64)
        for other in ("a", None, object(), 2**70, np.array(["a"]), np.array([None]),
                      np.ones(3, ">f4"), np.ma.ones(3), np.ones(2, "datetime64[s]"),
                      np.longdouble(1)):  # fmt: skip
            assert _runtime.leaf_aval(other) is None


def test_ndarrays_are_converted_and_not_kept(code) -> None:
    f = Missed(code)
    for make in (
        lambda: np.arange(3.0),
        lambda: np.arange(6, dtype=np.float32)[::2] / 2,
        lambda: np.arange(3, dtype=np.float32),
        lambda: np.asfortranarray(np.arange(3, dtype=np.float16)).astype(np.float32)[::-1][::-1],
    ):
        x = make()
        f(x)
        out = f(x)
        assert out.dtype == np.float32
        assert out._numpy().tolist() == x.tolist()
        x[0] = 9
        assert out._numpy()[0] == 0
        assert f(x)._numpy()[0] == 9
        ref = weakref.ref(x)
        f.calls.clear()
        del x
        assert ref() is None
    assert f.jitted.fast_cache_size() == 1  # one signature for all


def test_what_makes_a_new_signature(code, config) -> None:
    f = Missed(code)
    x = three()
    weak = from_numpy(np.ones((), np.float32), weak_type=True)
    calls: list[Any] = [
        ((x,), {}),
        ((from_numpy(np.ones(3, np.int32)),), {}),
        ((from_numpy(np.ones((3, 1), np.float32)),), {}),
        ((weak,), {}),
        ((from_numpy(np.ones((), np.float32)),), {}),
        ((x, x), {}),
        (((x, x),), {}),
        (([x, x],), {}),
        ((), {"x": x}),
        ((x,), {"y": x}),
        ((x,), {"k": x}),
        (({"a": x},), {}),
        (({"b": x},), {}),
        ((collections.OrderedDict(a=x),), {}),
        ((x, None), {}),
        ((x, ()), {}),
    ]
    f.entry = lambda args, kwargs: None
    for a, k in calls:
        f(*a, **k)
    assert f.jitted.fast_cache_size() == 0
    first = lambda args, kwargs: pytree.leaves((args, kwargs))[0]

    def entry(args: Any, kwargs: Any) -> Any:
        leaf = first(args, kwargs)
        aval = Aval(leaf.shape, leaf.dtype, leaf.weak_type)
        return Executable(code.address("nothing"), [aval], [], ()), structure(()), (0,), ()

    f.entry = entry
    f.calls.clear()
    for n, (a, k) in enumerate(calls, 1):
        f(*a, **k)
        assert f.jitted.fast_cache_size() == len(f.calls) == n
        assert f(*a, **k) == ()
    for a, k in calls:
        assert f(*a, **k) == ()
    assert f(1.5) == ()  # as a weak float32 scalar array
    for n, change in enumerate(
        [
            lambda: _runtime.set_global_config(5, False),
            lambda: _runtime.set_thread_config(6, None),
            lambda: _runtime.set_thread_config(6, True),
        ],
        len(calls) + 1,
    ):
        change()
        f(x)
        assert f.jitted.fast_cache_size() == n
    _runtime.set_thread_config(0, None)
    _runtime.set_global_config(0, False)
    assert f(x) == ()


def test_keyword_order_does_not_matter(code) -> None:
    i32 = Aval((), np.int32, True)
    swap = Executable(code.address("swap"), [i32, i32], [i32, i32], (), code)
    f = Missed(code, entry=lambda a, k: (swap, structure({"x": 0, "y": 0}), (0, 1), ()))
    f(b=1, a=2)
    assert {k: int(v._numpy()) for k, v in f(b=1, a=2).items()} == {"x": 1, "y": 2}
    assert {k: int(v._numpy()) for k, v in f(a=2, b=1).items()} == {"x": 1, "y": 2}
    assert f.calls == [((), {"b": 1, "a": 2})]


def test_kept_inputs_and_dict_leaf_order(code) -> None:
    i32 = Aval((), np.int32, True)
    swap = Executable(code.address("swap"), [i32, i32], [i32, i32], (), code)
    f = Missed(code, entry=lambda a, k: (swap, structure([0, 0]), (2, 0), ()))
    tree = {"b": 3, "a": (1, 2)}
    f(tree)
    assert [int(v._numpy()) for v in f(tree)] == [1, 3]


def test_static_values(code) -> None:
    f = Missed(code, (0, -1), ("k",))
    x = three()
    copy_first = f.copy_entry
    f.entry = lambda args, kwargs: copy_first(x)
    for n, (s, e, k) in enumerate(
        [(1, "a", 0), (1.0, "a", 0), (True, "a", 0), (1, "b", 0), (1, "a", (1,)), ("s", "a", 0)], 1
    ):
        f(s, x, e, k=k)
        out = f(s, x, str(e), k=k)
        assert out._numpy().tolist() == [1, 2, 3]
        assert f.jitted.fast_cache_size() == n
    f("".join("s"), x, "a", k=0)
    assert f.jitted.fast_cache_size() == 6


def test_static_values_that_misbehave(code) -> None:
    f = Missed(code, (0,), ("k",))
    x = three()
    for bad in ([1], np.ones(2)):
        with pytest.raises(ValueError, match="Non-hashable static arguments") as e:
            f(bad, x)
        assert "unhashable type" in str(e.value)
        with pytest.raises(ValueError, match="Non-hashable static arguments"):
            f(1, x, k=bad)
    assert f.calls == []

    class BadHash:
        def __hash__(self) -> int:
            raise RuntimeError("hash failed")

    with pytest.raises(RuntimeError, match="hash failed"):
        f(BadHash(), x)

    class BadEq:
        def __hash__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            raise RuntimeError("eq failed")

    f.entry = lambda args, kwargs: f.copy_entry(x)
    first = BadEq()
    f(first, x)
    assert f(first, x) != "missed"  # the same object needs no comparison
    with pytest.raises(ValueError, match="comparable with ==") as e:
        f(BadEq(), x)
    assert isinstance(e.value.__cause__, RuntimeError)


def test_comparison_may_change_the_cache(code) -> None:
    f = Missed(code, (0,))
    x = three()
    f.entry = lambda args, kwargs: f.copy_entry(x)

    class Clears:
        def __init__(self, answer: bool):
            self.answer = answer

        def __hash__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            f.jitted.clear_fast_cache()
            f("other", x)
            return self.answer

    for answer in (True, False):
        for _ in range(3):
            f(Clears(answer), x)
        f.jitted.clear_fast_cache()


def test_other_leaves_and_tracing_go_to_python(code, config) -> None:
    f = Missed(code)
    x = three()
    for other in ("text", object(), np.array(["a"]), 2**40, np.ma.ones(3)):
        for _ in range(2):
            assert f(x, other) == "missed"
    assert f.jitted.fast_cache_size() == 0
    assert len(f.calls) == 10
    f(x)
    _runtime.set_tracing(True)
    assert _runtime.is_tracing()
    assert f(x) == "missed"
    seen = []
    thread = threading.Thread(target=lambda: seen.append((_runtime.is_tracing(), f(x))))
    thread.start()
    thread.join()
    assert seen[0][0] is False
    assert isinstance(seen[0][1], ArrayImpl)


def test_devices(code) -> None:
    f = Missed(code)
    x = from_numpy(np.ones(3, np.float32), device_id=2)
    f(x)
    assert f(x)._device_id == 2
    x._committed = True
    out = f(x)
    assert out._committed
    y = from_numpy(np.ones(3, np.float32), device_id=1)
    f.entry = lambda a, k: f.copy_entry(x)
    f(y, x)
    assert f(y, x)._device_id == 2  # the committed one decides
    y._committed = True
    n = len(f.calls)
    assert f(y, x) == f(y, x) == "missed"
    assert len(f.calls) == n + 2


def test_deleted_array(code) -> None:
    f = Missed(code)
    f(three())
    x = three()
    x.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        f(x)
    assert f(three())._numpy().tolist() == [1, 2, 3]


def test_donation(code) -> None:
    f = Missed(code)
    make = f.copy_entry
    f.entry = lambda a, k: (*make(a)[:3], (True, False, True))
    x, y, z = three(), three(), three()
    f(x, y, z)
    assert not x.is_deleted()  # the miss function does it for its own call
    out = f(x, y, z)
    assert out._numpy().tolist() == [1, 2, 3]
    assert (x.is_deleted(), y.is_deleted(), z.is_deleted()) == (True, False, True)
    with pytest.raises(RuntimeError, match="deleted"):
        f(x, y, z)
    n = np.arange(3, dtype=np.float32)
    assert f(n, y, three())._numpy().tolist() == n.tolist() == [0, 1, 2]


def test_errors_of_the_miss_function(code) -> None:
    x = three()
    f = Missed(code)
    good = f.copy_entry(x)

    def raising(args: Any, kwargs: Any) -> Any:
        raise KeyError("from tracing")

    f.entry = raising
    with pytest.raises(KeyError, match="from tracing"):
        f(x)
    for bad, text in [
        (3, "not \\(executable"),
        (good[:3], "not \\(executable"),
        ((1, *good[1:]), "Executable"),
        ((good[0], 1, *good[2:]), "PyTreeDef"),
        ((*good[:2], (1,), ()), "kept"),
        ((*good[:2], (-1,), ()), "kept"),
        ((*good[:2], (), ()), "numbers of inputs"),
        ((good[0], structure((0, 0)), (0,), ()), "numbers of inputs"),
        ((*good[:3], (True, False)), "donated"),
    ]:
        f.entry = lambda a, k, bad=bad: bad
        with pytest.raises(TypeError, match=text):
            f(x)
    for bad in (None, 1, (1,), (1, 2, 3)):
        with pytest.raises(TypeError, match="must return"):
            JitDispatch(lambda a, k, bad=bad: bad, len)(x)
    f.entry = lambda a, k: good
    f(x)
    assert f(x)._numpy().tolist() == [1, 2, 3]


def test_errors_while_flattening(code) -> None:
    f = Missed(code)
    with pytest.raises(ValueError, match="sortable"):
        f({1: three(), "a": three()})
    cyclic: list[Any] = []
    cyclic.append(cyclic)
    with pytest.raises(RecursionError):
        f(cyclic)
    assert f.calls == []
    f(three())
    assert f(three()) != "missed"


def test_reentrant_calls(code) -> None:
    x = three()
    f = Missed(code)
    depth = 0

    def entry(args: Any, kwargs: Any) -> Any:
        nonlocal depth
        depth += 1
        if depth < 5:
            f(*args, **kwargs)
            f((*args, args[0]))
        return f.copy_entry(x)

    f.entry = entry
    f(x)
    assert f(x)._numpy().tolist() == [1, 2, 3]
    assert f.jitted.fast_cache_size() == len({str(structure((a, dict(k)))) for a, k in f.calls})


def test_cache_is_bounded_and_least_recently_used(code) -> None:
    f = Missed(code, (0,))
    x = three()
    f.entry = lambda a, k: f.copy_entry(x)
    f.jitted.set_fast_cache_limit(3)
    for i in range(3):
        f(i, x)
    assert f(0, x) != "missed"  # now the most recent
    f(3, x)  # drops 1
    assert f.jitted.fast_cache_size() == 3
    n = len(f.calls)
    for i in (0, 2, 3):
        f(i, x)
    assert len(f.calls) == n
    f(1, x)
    assert len(f.calls) == n + 1
    f.jitted.set_fast_cache_limit(1)
    assert f.jitted.fast_cache_size() == 1
    f.jitted.clear_fast_cache()
    assert f.jitted.fast_cache_size() == 0
    f(1, x)
    JitDispatch.clear_all()
    assert f.jitted.fast_cache_size() == 0
    with pytest.raises(ValueError, match="at least 1"):
        f.jitted.set_fast_cache_limit(0)


def test_looks_like_a_function(code) -> None:
    f = Missed(code)
    functools.update_wrapper(f.jitted, f.fun)
    assert f.jitted.__name__ == "fun"
    assert f.jitted.__doc__ == "Its doc."
    assert f.jitted.__wrapped__ is f.fun
    assert inspect.signature(f.jitted) == inspect.signature(f.fun)
    assert repr(f.jitted) == f"<PjitFunction of {f.fun!r}>"
    assert callable(f.jitted)
    f.jitted.extra = 1
    assert vars(f.jitted)["extra"] == 1
    assert weakref.ref(f.jitted)() is f.jitted
    assert {f.jitted: 1}[f.jitted] == 1
    assert copy.deepcopy(f.jitted) is f.jitted
    for bad in ((), (1, len), (len, 1), (len, len, 1), (len, len, (), (1,))):
        with pytest.raises(TypeError):
            JitDispatch(*bad)


def _module_level() -> None: ...


_module_level = functools.update_wrapper(
    JitDispatch(lambda a, k: (a, None), _module_level), _module_level
)


def test_pickled_by_name() -> None:
    assert pickle.loads(pickle.dumps(_module_level)) is _module_level


def test_binds_as_a_method(code) -> None:
    class C:
        method = JitDispatch(lambda a, k: ((a, k), None), len)

    c = C()
    assert c.method(1, k=2) == ((c, 1), {"k": 2})
    bound = c.method
    assert bound(3) == ((c, 3), {})
    assert bound.__self__ is c
    assert C.method(c) == ((c,), {})
    assert isinstance(C.method, JitDispatch)


def test_is_collected_with_everything_it_holds(code) -> None:
    class Thing:
        pass

    def make() -> list[weakref.ref]:
        marker, static = Thing(), Thing()

        def fun(x: Any) -> Any:
            return marker, jitted

        f = Missed(code, (0,))
        jitted = JitDispatch(f.miss, fun, (0,))
        f.self_reference = jitted  # type: ignore[attr-defined]
        jitted.cycle = jitted
        static.back = jitted  # type: ignore[attr-defined]
        f.entry = lambda a, k: f.copy_entry(a[1])
        jitted(static, three())
        assert jitted(static, three()) != "missed"
        f.calls.clear()
        return [weakref.ref(o) for o in (marker, static, jitted, f)]

    refs = make()
    gc.collect()
    assert [r() for r in refs] == [None] * 4


def test_results_and_inputs_do_not_leak(code) -> None:
    f = Missed(code)
    x = three()
    f({"a": x, "b": None})
    f.calls.clear()
    gc.collect()
    import sys

    before = sys.getrefcount(x)
    live = _runtime.pool_stats()["live_blocks"]
    for _ in range(2000):
        f({"a": x, "b": None})
        f({"a": np.ones(3), "b": None})
    gc.collect()
    assert sys.getrefcount(x) == before
    assert _runtime.pool_stats()["live_blocks"] == live


def test_many_threads(code) -> None:
    f = Missed(code, (0,))
    f.entry = lambda a, k: f.copy_entry(a[1])
    f.jitted.set_fast_cache_limit(3)
    errors: list[Any] = []

    def work(seed: int) -> None:
        try:
            for i in range(500):
                x = three(seed, i, 1)
                out = f((seed + i) % 5, x)
                if out != "missed" and out._numpy().tolist() != [seed, i, 1]:
                    errors.append((seed, i))
                if i % 100 == 50:
                    f.jitted.clear_fast_cache()
        except BaseException as e:
            errors.append(e)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert errors == []
    assert f.jitted.fast_cache_size() <= 3
