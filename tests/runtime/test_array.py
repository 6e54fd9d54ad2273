"""ArrayImpl: creation, attributes, views, deletion, protocols, pickling."""

from __future__ import annotations

import copy
import gc
import pickle
import subprocess
import sys
import weakref

import ml_dtypes
import numpy as np
import pytest

from lingon import runtime
from lingon.runtime import ArrayImpl, from_numpy, from_scalar
from lingon.runtime.pickling import array_from_state

DTYPES = [runtime.dtype_from_code(code) for code in range(len(runtime.dtype_names))]
BUFFER_DTYPES = [d for d in DTYPES if d.isbuiltin == 1]


def sample(dtype, shape=(2, 3, 4)):
    n = int(np.prod(shape, dtype=int))
    return (np.arange(n) % 2).astype(dtype).reshape(shape)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_dtype_codes_are_a_bijection_and_values_survive(dtype):
    code = runtime.dtype_code(dtype)
    assert runtime.dtype_from_code(code) is dtype
    assert runtime.dtype_names[code] == dtype.name
    x = sample(dtype)
    a = from_numpy(x)
    assert a.dtype is dtype and a._dtype_code == code
    assert (a.shape, a.ndim, a.size) == ((2, 3, 4), 3, 24)
    assert (a.itemsize, a.nbytes) == (x.itemsize, x.nbytes)
    assert a._numpy().tobytes() == x.tobytes()


def test_every_name_of_an_integer_type_has_a_code():
    for char, name in [("l", "int64"), ("q", "int64"), ("L", "uint64"), ("Q", "uint64")]:
        dtype = np.dtype(char)
        if dtype.itemsize == 8:
            assert runtime.dtype_names[runtime.dtype_code(dtype)] == name
    assert from_numpy(np.ones(2, "q")).dtype == np.int64


@pytest.mark.parametrize(
    "bad", ["U3", "S2", object, "M8[s]", np.longdouble, [("a", "i4")], ml_dtypes.int2]
)
def test_other_dtypes_are_refused(bad):
    with pytest.raises(TypeError, match="not a valid array"):
        runtime.dtype_code(bad)
    with pytest.raises(TypeError, match="not a valid array"):
        from_numpy(np.empty(2, bad))


def test_borrowing_shares_memory_and_keeps_the_owner():
    x = np.arange(6.0)
    a = from_numpy(x)
    assert a._unsafe_data_ptr() == x.ctypes.data
    assert np.shares_memory(a._numpy(), x)
    expected = x.copy()
    del x
    gc.collect()
    np.testing.assert_array_equal(a._numpy(), expected)


def test_copy_does_not_share():
    x = np.arange(6.0)
    a = from_numpy(x, copy=True)
    x[:] = -1
    np.testing.assert_array_equal(a._numpy(), np.arange(6.0))
    assert a._unsafe_data_ptr() % 64 == 0


@pytest.mark.parametrize(
    "x",
    [
        np.arange(24.0).reshape(4, 6)[:, ::2],
        np.arange(24.0).reshape(4, 6).T,
        np.arange(4, dtype=np.int32)[::-1],
        np.broadcast_to(np.float32(3), (5, 2)),
        np.arange(5, dtype=">f8"),
        np.frombuffer(b"\0" + np.arange(3, dtype="i4").tobytes(), "i1")[1:].view("i4"),
    ],
    ids=["strided", "transposed", "reversed", "broadcast", "big-endian", "unaligned"],
)
def test_other_layouts_are_copied(x):
    a = from_numpy(x)
    np.testing.assert_array_equal(a._numpy(), x)
    assert a._numpy().flags.c_contiguous and a.dtype.isnative
    assert not np.shares_memory(a._numpy(), x)


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1, 1, 1), (1,) * 64])
def test_extreme_shapes(shape):
    a = from_numpy(np.ones(shape, np.int16))
    assert a.shape == shape and a._numpy().shape == shape
    assert a.size == int(np.prod(shape, dtype=int))


def test_wrong_arguments():
    with pytest.raises(TypeError, match=r"must be a numpy\.ndarray, got list"):
        from_numpy([1, 2])
    with pytest.raises(TypeError, match="missing"):
        from_numpy()
    with pytest.raises(TypeError, match="unexpected argument 'wek_type'"):
        from_numpy(np.ones(1), wek_type=True)
    with pytest.raises(TypeError, match="multiple values"):
        from_numpy(np.ones(1), array=np.ones(1))
    with pytest.raises(TypeError, match="at most 4"):
        from_numpy(np.ones(1), False, False, 0, 0)
    with pytest.raises(TypeError, match="cannot create"):
        ArrayImpl()


def test_weak_type_and_device():
    a = from_numpy(np.ones(2), weak_type=True, device_id=3)
    assert a.weak_type is True and a._device_id == 3
    b = ArrayImpl.from_numpy(np.ones(2), False, False, 1)
    assert b.weak_type is False and b._device_id == 1


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_scalars(dtype):
    a = from_scalar(1, dtype, weak_type=True)
    assert a.shape == () and a.dtype is dtype and a.weak_type
    assert a._numpy() == np.ones((), dtype)


@pytest.mark.parametrize(
    ("value", "dtype"),
    [(True, "bool"), (-(2**31), "int32"), (2**63 - 1, "int64"), (2**64 - 1, "uint64"),
     (-0.0, "float32"), (1e300, "float64"), (1 - 2j, "complex64"), (float("inf"), "float32")],
)  # fmt: skip
def test_scalar_values(value, dtype):
    got = from_scalar(value, dtype)._numpy()
    assert got.tobytes() == np.array(value, dtype).tobytes()


@pytest.mark.parametrize(
    ("value", "dtype"), [(2**31, "int32"), (-1, "uint8"), (2**63, "int64"), (2**64, "uint64")]
)
def test_scalar_overflow(value, dtype):
    with pytest.raises(OverflowError):
        from_scalar(value, dtype)


def test_scalar_float_overflow_rounds_as_numpy():
    with np.errstate(over="ignore"):
        assert np.isinf(from_scalar(1e39, "float32")._numpy())


def test_view_is_read_only_and_cached():
    a = from_numpy(np.arange(3))
    view = a._numpy()
    assert view is a._numpy()
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 1
    with pytest.raises(ValueError, match="WRITEABLE"):
        view.setflags(write=True)


def test_view_outlives_the_array():
    view = from_numpy(np.arange(1000), copy=True)._numpy()
    others = [from_numpy(np.full(1000, -1), copy=True) for _ in range(8)]
    np.testing.assert_array_equal(view, np.arange(1000))
    assert len(others) == 8


def test_attributes_can_be_set_on_the_type_only():
    ArrayImpl._test_attribute = property(lambda self: self.size + 1)
    try:
        assert from_numpy(np.ones(3))._test_attribute == 4
    finally:
        del ArrayImpl._test_attribute
    with pytest.raises(AttributeError):
        from_numpy(np.ones(3)).anything = 1
    with pytest.raises(AttributeError):
        from_numpy(np.ones(3)).shape = (1,)


def test_weak_references():
    a = from_numpy(np.ones(3))
    ref = weakref.ref(a)
    assert ref() is a
    del a
    assert ref() is None


def test_arrays_are_not_hashable():
    with pytest.raises(TypeError, match="unhashable"):
        hash(from_numpy(np.ones(3)))


def test_delete():
    a = from_numpy(np.arange(3.0), copy=True)
    view = a._numpy()
    exported = memoryview(a)
    assert not a.is_deleted()
    a.delete()
    a.delete()
    assert a.is_deleted()
    for use in (
        a._numpy,
        a._unsafe_data_ptr,
        a.__dlpack__,
        a._alias,
        lambda: pickle.dumps(a),
    ):
        with pytest.raises(RuntimeError, match="Array has been deleted"):
            use()
    with pytest.raises(BufferError, match="deleted"):
        memoryview(a)
    assert a.shape == (3,) and a.dtype == np.float64
    np.testing.assert_array_equal(view, np.arange(3.0))
    np.testing.assert_array_equal(np.asarray(exported), np.arange(3.0))


def test_delete_frees_memory_only_without_views():
    a = from_numpy(np.ones(1 << 16), copy=True)
    before = runtime.pool_stats()["live_bytes"]
    view = a._numpy()
    a.delete()
    assert runtime.pool_stats()["live_bytes"] == before
    del view
    assert runtime.pool_stats()["live_bytes"] < before


def test_exclusive():
    a = from_numpy(np.ones(8), copy=True)
    assert a._is_exclusive()
    view = a._numpy()
    assert not a._is_exclusive()
    del view
    assert a._is_exclusive()
    other = a._alias(shape=(2, 4))
    assert not a._is_exclusive() and not other._is_exclusive()
    assert not from_numpy(np.ones(8))._is_exclusive()


def test_alias():
    a = from_numpy(np.arange(12, dtype=np.int32), copy=True)
    b = a._alias(shape=(2, 3), dtype=np.float32, weak_type=True, device_id=2, offset=8)
    assert (b.shape, b.dtype, b.weak_type, b._device_id) == ((2, 3), np.float32, True, 2)
    assert b._unsafe_data_ptr() == a._unsafe_data_ptr() + 8
    a.delete()
    np.testing.assert_array_equal(b._numpy().view(np.int32).ravel(), np.arange(2, 8))
    for wrong in ({"shape": (13,)}, {"offset": 4}, {"offset": -4}, {"offset": 2, "shape": (1,)}):
        with pytest.raises(ValueError, match="does not lie inside"):
            from_numpy(np.arange(12, dtype=np.int32))._alias(**wrong)
    with pytest.raises(ValueError, match="non-negative"):
        from_numpy(np.arange(2))._alias(shape=(-1,))
    with pytest.raises(ValueError, match="too big"):
        from_numpy(np.arange(2))._alias(shape=(2**40, 2**40))
    with pytest.raises(ValueError, match="at most 64"):
        from_numpy(np.arange(1))._alias(shape=(1,) * 65)


def test_empty_ndarray_can_be_taken_over():
    x = runtime.empty_ndarray((3, 4), np.float32)
    assert x.flags.writeable and x.ctypes.data % 64 == 0
    x[:] = 7
    x.setflags(write=False)
    a = from_numpy(x)
    del x
    assert a._is_exclusive()
    np.testing.assert_array_equal(a._numpy(), np.full((3, 4), 7, np.float32))


def run_bare(code):
    """Run code with lingon.runtime alone, without what upper layers set on ArrayImpl."""
    prologue = """
import importlib.util, sys, types
spec = importlib.util.find_spec("lingon")
package = types.ModuleType("lingon")
package.__path__ = list(spec.submodule_search_locations)
sys.modules["lingon"] = package
import numpy as np
from lingon import runtime
from lingon.runtime import from_numpy
def raises(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError("did not raise")
"""
    result = subprocess.run(
        [sys.executable, "-c", prologue + code], timeout=120, capture_output=True, text=True
    )
    assert result.returncode == 0, result.stderr


def test_aval_factory_is_called_once_per_aval():
    run_bare("""
calls = []
a = from_numpy(np.ones((2, 3), np.float32))
raises(RuntimeError, "no aval factory", lambda: a.aval)
runtime.set_aval_factory(lambda *a: calls.append(a) or a)
b = from_numpy(np.zeros((2, 3), np.float32))
c = from_numpy(np.zeros((2, 3), np.float32), weak_type=True)
assert a.aval is b.aval == ((2, 3), np.dtype("float32"), False)
assert c.aval == ((2, 3), np.dtype("float32"), True)
assert len(calls) == 2
""")


def test_many_avals_do_not_grow_memory():
    for n in range(40000):
        from_numpy(np.empty((n, 0), np.int8))
    a = from_numpy(np.empty((5, 0), np.int8))
    assert a.shape == (5, 0)


@pytest.mark.parametrize("dtype", BUFFER_DTYPES, ids=str)
def test_buffer_protocol(dtype):
    x = sample(dtype)
    view = memoryview(from_numpy(x))
    assert view.readonly and view.shape == x.shape and view.strides == x.strides
    back = np.asarray(view)
    assert back.dtype == dtype
    np.testing.assert_array_equal(back, x)


@pytest.mark.parametrize("dtype", [d for d in DTYPES if d not in BUFFER_DTYPES], ids=str)
def test_buffer_protocol_of_dtypes_without_format(dtype):
    a = from_numpy(sample(dtype))
    with pytest.raises(BufferError, match=f"no format for dtype {dtype.name}"):
        memoryview(a)
    got = np.asarray(a)
    assert got.dtype == dtype and got.tobytes() == sample(dtype).tobytes()


def test_buffer_is_never_writable():
    import ctypes

    with pytest.raises((TypeError, BufferError)):
        (ctypes.c_char * 8).from_buffer(from_numpy(np.zeros(1)))


def test_array_protocol():
    run_bare("""
a = from_numpy(np.arange(3, dtype=np.int32))
assert np.shares_memory(np.asarray(a), a._numpy())
writable = np.array(a)
writable[0] = 5
assert a._numpy()[0] == 0
assert np.asarray(a, np.float64).dtype == np.float64
assert a.__array__() is a._numpy()
assert a.__array__(copy=True).flags.writeable
assert a.__array__(np.int32) is a._numpy()
assert a.__array__(np.int32, copy=True) is not a._numpy()
raises(ValueError, "without a copy", lambda: a.__array__(np.float32, copy=False))
raises(TypeError, "data type", lambda: a.__array__("no such dtype"))
a.delete()
raises(RuntimeError, "Array has been deleted with shape=int32[3].", a.__array__)
raises(RuntimeError, "Array has been deleted with shape=int32[3].", a.block_until_ready)
""")


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_pickle(dtype, protocol):
    for shape in [(2, 3), (), (0, 2)]:
        a = from_numpy(sample(dtype, shape), weak_type=shape == ())
        b = pickle.loads(pickle.dumps(a, protocol))
        assert type(b) is ArrayImpl
        assert (b.shape, b.dtype, b.weak_type) == (a.shape, a.dtype, a.weak_type)
        assert b._numpy().tobytes() == a._numpy().tobytes()


def test_pickle_out_of_band_and_copy():
    a = from_numpy(np.arange(100.0))
    buffers: list[pickle.PickleBuffer] = []
    data = pickle.dumps(a, 5, buffer_callback=buffers.append)
    assert len(data) < 400 and len(buffers) == 1
    np.testing.assert_array_equal(pickle.loads(data, buffers=buffers)._numpy(), a._numpy())
    b = copy.deepcopy(a)
    assert b._unsafe_data_ptr() != a._unsafe_data_ptr()
    np.testing.assert_array_equal(b._numpy(), a._numpy())


@pytest.mark.parametrize(
    "state",
    [
        (b"12345678", "float64", (2,), False),
        (b"1234567", "float64", (1,), False),
        (b"12345678", "object", (1,), False),
        (b"12345678", b"float64", (1,), False),
        (b"12345678", "float64", [1], False),
        (b"12345678", "float64", (-1,), False),
        (b"12345678", "float64", (1.0,), False),
        (b"12345678", "float64", (True,), False),
        (b"12345678", "float64", (1,), 1),
        (b"\x02", "bool", (1,), False),
        (b"", "float64", (2**62, 4), False),
        ("text", "float64", (1,), False),
        (7, "float64", (1,), False),
    ],
)
def test_forged_pickle_state_is_refused(state):
    with pytest.raises((ValueError, TypeError)):
        array_from_state(*state)


def test_import_is_light():
    run_bare("""
heavy = {"scipy", "mlir", "llvmlite", "jax"} & set(sys.modules)
assert not heavy, heavy
""")
