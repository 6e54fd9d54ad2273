"""Exchange of memory through DLPack."""

from __future__ import annotations

import gc

import ml_dtypes
import numpy as np
import pytest

from lingon import runtime
from lingon.runtime import from_dlpack, from_numpy

NUMPY_DTYPES = [
    np.dtype(name) for name in runtime.dtype_names if hasattr(np, name) and name != "bfloat16"
]


def sample(dtype, shape=(2, 3)):
    return (np.arange(int(np.prod(shape))) % 2).astype(dtype).reshape(shape)


@pytest.mark.parametrize("dtype", NUMPY_DTYPES, ids=str)
def test_to_numpy_without_copy_and_read_only(dtype):
    a = from_numpy(sample(dtype), copy=True)
    x = np.from_dlpack(a)
    assert x.dtype == dtype and x.ctypes.data == a._unsafe_data_ptr()
    np.testing.assert_array_equal(x, sample(dtype))
    assert not x.flags.writeable


@pytest.mark.parametrize("dtype", NUMPY_DTYPES, ids=str)
def test_from_numpy_without_copy(dtype):
    x = sample(dtype)
    a = from_dlpack(x)
    assert a.dtype == dtype and a._unsafe_data_ptr() == x.ctypes.data
    np.testing.assert_array_equal(a._numpy(), x)
    assert not a._is_exclusive()


def test_the_producer_lives_as_long_as_the_array():
    a = from_dlpack(np.arange(1000.0))
    gc.collect()
    junk = [np.full(1000, -1.0) for _ in range(8)]
    np.testing.assert_array_equal(a._numpy(), np.arange(1000.0))
    assert len(junk) == 8


def test_the_array_lives_as_long_as_the_consumer():
    a = from_numpy(np.arange(1000.0), copy=True)
    x = np.from_dlpack(a)
    a.delete()
    junk = [from_numpy(np.full(1000, -1.0), copy=True) for _ in range(8)]
    np.testing.assert_array_equal(x, np.arange(1000.0))
    assert len(junk) == 8


def test_unused_capsules_release_their_memory():
    a = from_numpy(np.ones(1 << 16), copy=True)
    capsules = [a.__dlpack__(), a.__dlpack__(max_version=(1, 0)), a.__dlpack__(copy=True)]
    live = runtime.pool_stats()["live_bytes"]
    del a
    del capsules
    gc.collect()
    assert runtime.pool_stats()["live_bytes"] <= live - 2 * (1 << 19)


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 3)])
@pytest.mark.parametrize("name", runtime.dtype_names)
def test_round_trip_of_our_own(name, version):
    a = from_numpy(sample(runtime.dtype_from_code(runtime.dtype_names.index(name))))
    if name in ("int4", "uint4"):
        with pytest.raises(BufferError, match="stored in a form"):
            a.__dlpack__(max_version=version)
        return
    b = from_dlpack(a.__dlpack__(max_version=version))
    assert b.dtype == a.dtype and b.shape == a.shape
    assert b._unsafe_data_ptr() == a._unsafe_data_ptr()


@pytest.mark.parametrize("view", [np.s_[:, ::2], np.s_[::-1], np.s_[1:, 1:]])
def test_strided_tensors_are_copied(view):
    x = np.arange(24.0).reshape(4, 6)[view]
    a = from_dlpack(x)
    np.testing.assert_array_equal(a._numpy(), x)
    assert not np.shares_memory(a._numpy(), x)
    with pytest.raises(ValueError, match="copy=False"):
        from_dlpack(x, copy=False)


def test_transposed_and_broadcast_and_empty():
    for x in (np.arange(6.0).reshape(2, 3).T, np.broadcast_to(1.5, (3, 2)), np.ones((0, 3)),
              np.array(4.0)):  # fmt: skip
        np.testing.assert_array_equal(from_dlpack(x)._numpy(), x)


def test_copy():
    x = np.arange(4.0)
    a = from_dlpack(x, copy=True)
    x[:] = 0
    np.testing.assert_array_equal(a._numpy(), np.arange(4.0))
    b = np.from_dlpack(a, copy=True)
    b[0] = 9
    assert a._numpy()[0] == 0


def test_a_capsule_is_consumed_once():
    capsule = from_numpy(np.ones(2)).__dlpack__()
    from_dlpack(capsule)
    with pytest.raises(BufferError, match="consumed"):
        from_dlpack(capsule)


def test_device():
    a = from_numpy(np.ones(2), device_id=1)
    assert a.__dlpack_device__() == (1, 0)
    assert from_dlpack(a.__dlpack__(dl_device=(1, 0)), device_id=1)._device_id == 1
    with pytest.raises(BufferError, match="CPU"):
        a.__dlpack__(dl_device=(2, 0))
    with pytest.raises(ValueError, match="stream"):
        a.__dlpack__(stream=1)


def test_wrong_objects():
    with pytest.raises(TypeError, match="__dlpack__"):
        from_dlpack([1, 2])

    class Liar:
        def __dlpack__(self, max_version=None):
            return 7

    with pytest.raises(TypeError, match="not a capsule"):
        from_dlpack(Liar())

    class Raises:
        def __dlpack__(self, max_version=None):
            raise RuntimeError("mine")

    with pytest.raises(RuntimeError, match="mine"):
        from_dlpack(Raises())


def test_producers_from_before_version_1():
    class Old:
        def __init__(self, x):
            self.x = x

        def __dlpack__(self, stream=None):
            return self.x.__dlpack__()

    x = np.arange(3.0)
    assert from_dlpack(Old(x))._unsafe_data_ptr() == x.ctypes.data


def test_bfloat16_through_the_capsule():
    a = from_numpy(np.arange(4).astype(ml_dtypes.bfloat16))
    b = from_dlpack(a)
    assert b.dtype == ml_dtypes.bfloat16


def test_torch():
    torch = pytest.importorskip("torch")
    a = from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3), copy=True)
    t = torch.from_dlpack(a)
    assert t.data_ptr() == a._unsafe_data_ptr()
    u = torch.arange(4, dtype=torch.bfloat16)
    b = from_dlpack(u)
    assert b._unsafe_data_ptr() == u.data_ptr() and b.dtype == ml_dtypes.bfloat16
