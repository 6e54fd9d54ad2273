"""The library kernels through their C interface, with operands of any layout, against NumPy."""

from __future__ import annotations

import ctypes
import string

import ml_dtypes
import numpy as np
import pytest

from lingon import runtime
from lingon.runtime import dtype_code

BFLOAT16 = np.dtype(ml_dtypes.bfloat16)


class Buffer(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("rank", ctypes.c_int64),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("dtype", ctypes.c_int32),
    )


def call(kernel: str, arrays, config) -> None:
    """Calls a kernel on arrays, inputs then outputs, as they lie in memory."""
    runtime.prepare_kernels([kernel])
    address = runtime.symbols()[f"lingon_kernel_{kernel}"]
    signature = ctypes.CFUNCTYPE(
        None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64
    )
    buffers = (Buffer * len(arrays))()
    kept = []
    for position, array in enumerate(arrays):
        shape = np.array(array.shape, np.int64)
        strides = np.array([s // array.itemsize for s in array.strides], np.int64)
        kept += [shape, strides]
        buffers[position] = Buffer(
            array.ctypes.data, array.ndim, shape.ctypes.data, strides.ctypes.data,
            dtype_code(array.dtype),
        )  # fmt: skip
    numbers = np.array(config, np.int64)
    signature(address)(ctypes.addressof(buffers), len(arrays), numbers.ctypes.data, len(numbers))


def laid_out(array: np.ndarray, random) -> np.ndarray:
    """`array` in another memory layout: permuted, with gaps, or backwards."""
    array = np.asarray(array)
    kind = random.integers(4)
    if array.ndim == 0 or kind == 0:
        return array
    if kind == 1:
        order = random.permutation(array.ndim)
        made = np.empty([array.shape[i] for i in order], array.dtype).transpose(np.argsort(order))
    elif kind == 2:
        whole = np.empty([2 * n + 1 for n in array.shape], array.dtype)
        made = whole[tuple([slice(1, 2 * n + 1, 2) for n in array.shape])]
    else:
        made = np.empty(array.shape, array.dtype)[tuple([slice(None, None, -1)] * array.ndim)]
    made[...] = array
    return made


def output(shape, dtype, random) -> np.ndarray:
    """An output in some layout; floats are full of NaN, which must not show in the result."""
    dtype = np.dtype(dtype)
    start = np.zeros(shape, dtype) if dtype.kind in "biu" else np.full(shape, np.nan, dtype)
    return laid_out(start, random)


def numbers(shape, dtype, random) -> np.ndarray:
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return random.random(shape) < 0.3
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return random.integers(info.min, info.max, shape, dtype=dtype, endpoint=True)
    x = np.asarray(random.standard_normal(shape))
    return (x + 1j * random.standard_normal(shape) if dtype.kind == "c" else x).astype(dtype)


# ---- dot_general ---------------------------------------------------------------------------------

PRODUCTS = [
    *[(d, d) for d in (
        "float32", "float64", "complex64", "complex128", "bool", "int8", "uint8", "int16",
        "uint16", "int32", "uint32", "int64", "uint64",
    )],
    ("int8", "int32"), ("uint8", "uint32"), (BFLOAT16, "float32"), ("float16", "float32"),
]  # fmt: skip


def dot(a, b, depth, batch, dtype, random):
    """The kernel's product and the exact one."""
    (lhs_depth, rhs_depth), (lhs_batch, rhs_batch) = depth, batch
    names = iter(string.ascii_letters)
    lhs, rhs, result = [""] * a.ndim, [""] * b.ndim, ""
    for i, j in zip(lhs_batch, rhs_batch, strict=True):
        lhs[i] = rhs[j] = name = next(names)
        result += name
    for i, j in zip(lhs_depth, rhs_depth, strict=True):
        lhs[i] = rhs[j] = next(names)
    free = [[d for d in range(len(side)) if not side[d]] for side in (lhs, rhs)]
    for side, dims in zip((lhs, rhs), free, strict=True):
        for d in dims:
            side[d] = name = next(names)
            result += name
    dtype = np.dtype(dtype)
    wide = np.int64 if dtype.kind == "b" else dtype if dtype.kind in "iu" else np.complex128
    text = f"{''.join(lhs)},{''.join(rhs)}->{result}"
    exact = np.einsum(text, a.astype(wide), b.astype(wide))
    out = output(exact.shape, dtype, random)
    config = [len(lhs_batch), len(lhs_depth), *lhs_batch, *rhs_batch, *lhs_depth, *rhs_depth]
    call("dot_general", [a, b, out], [*config, *free[0], *free[1]])
    return out, exact


def check_dot(out, exact, depth):
    if out.dtype.kind in "biu":
        np.testing.assert_array_equal(out, exact.astype(out.dtype))
        return
    unit = np.finfo(out.dtype).eps
    error = np.abs(out.astype(np.complex128) - exact)
    assert not np.isnan(error).any()
    assert (error <= 20 * unit * (np.abs(exact) + np.sqrt(depth + 1))).all()


@pytest.mark.parametrize("seed", range(6 * len(PRODUCTS)))
def test_dot_general_in_any_layout(seed):
    random = np.random.default_rng(seed)
    source, target = PRODUCTS[seed % len(PRODUCTS)]
    counts = random.integers(0, 3, 4)
    largest = 3 if counts.sum() > 5 else 12
    roles = [f"{role}{i}" for role, n in zip("bkmn", counts, strict=True) for i in range(n)]
    size = {r: int(random.integers(0 if random.random() < 0.03 else 1, largest + 1)) for r in roles}
    lhs, rhs = ([r for r in roles if r[0] in own] for own in ("bkm", "bkn"))
    random.shuffle(lhs)
    random.shuffle(rhs)
    depth, batch = (
        tuple([side.index(r) for r in roles if r[0] == role] for side in (lhs, rhs))
        for role in "kb"
    )
    a = laid_out(numbers([size[r] for r in lhs], source, random), random)
    b = laid_out(numbers([size[r] for r in rhs], source, random), random)
    out, exact = dot(a, b, depth, batch, target, random)
    check_dot(out, exact, np.prod([size[r] for r in roles if r[0] == "k"]))


@pytest.mark.parametrize("source,target", PRODUCTS)
@pytest.mark.parametrize(
    "m,n,k",
    [
        (150, 70, 600),
        (1, 7000, 3),
        (1, 1, 40000),
        (700, 1, 40),
        (40, 1, 3000),
        (3, 900, 1),
        (70, 70, 70),
        (33, 17, 65),
        (290, 530, 70),
        (20, 33, 1100),
    ],
)
def test_matrices_of_all_shapes(source, target, m, n, k):
    random = np.random.default_rng(m + n + k)
    a = laid_out(numbers((m, k), source, random), random)
    b = laid_out(numbers((k, n), source, random), random)
    out, exact = dot(a, b, ([1], [0]), ([], []), target, random)
    check_dot(out, exact, k)


def test_batches_of_matrices_on_several_threads():
    random = np.random.default_rng(0)
    a, b = numbers((50, 40, 30), "float32", random), numbers((50, 30, 20), "float32", random)
    out, exact = dot(a, b, ([2], [1]), ([0], [0]), "float32", random)
    check_dot(out, exact, 30)


def test_broadcast_operands_have_stride_zero():
    random = np.random.default_rng(0)
    a = np.broadcast_to(numbers((30,), "float32", random), (20, 30))
    b = np.broadcast_to(numbers((30, 1), "float32", random), (30, 25))
    out, exact = dot(a, b, ([1], [0]), ([], []), "float32", random)
    check_dot(out, exact, 30)


# ---- sort and top_k ------------------------------------------------------------------------------

SORTED = ["float32", "float64", "float16", BFLOAT16, "bool", "int8", "uint8", "int16", "uint16",
          "int32", "uint32", "int64", "uint64", "complex64", "complex128"]  # fmt: skip


def with_specials(shape, dtype, random):
    """Values with many repetitions; floats with zeros of both signs, infinities, various NaNs."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b" or dtype.kind in "iu":
        x = numbers(shape, dtype, random)
        few = random.random() < 0.5 and dtype.kind != "b"
        return x % np.array(4, dtype) if few else x
    if dtype.kind == "c":
        made = np.empty(shape, dtype)
        part = np.dtype(f"f{dtype.itemsize // 2}")
        made.real, made.imag = (with_specials(shape, part, random) for _ in range(2))
        return made
    x = random.integers(-2, 3, shape) if random.random() < 0.5 else random.standard_normal(shape)
    x = np.where(random.random(shape) < 0.3, random.choice([0, -0.0, np.inf, -np.inf], shape), x)
    bits = np.asarray(x).astype(dtype).view(f"u{dtype.itemsize}").copy()
    nan = random.random(shape) < 0.07
    quiet = int(np.array(np.nan, dtype).view(bits.dtype))
    sign = 1 << (8 * dtype.itemsize - 1)
    payload = random.integers(0, 3, shape).astype(bits.dtype)
    negative = np.where(random.random(shape) < 0.5, np.array(sign, bits.dtype), 0)
    bits[nan] = ((np.array(quiet & ~sign, bits.dtype) + payload) | negative.astype(bits.dtype))[nan]
    return bits.view(dtype)


def raw(x):
    """Bits, so that NaNs and zeros can be told apart."""
    size = min(x.itemsize, 8)
    return np.ascontiguousarray(x).view(f"u{size}")


def sort_keys(x):
    if x.dtype.kind == "c":
        return [*sort_keys(x.real), *sort_keys(x.imag)]
    if x.dtype.kind in "biu":
        return [x]
    value = x.astype(np.float64)
    return [np.isnan(value), np.where(np.isnan(value), 0, value)]


@pytest.mark.parametrize("seed", range(60))
def test_sort_is_stable_in_any_layout(seed):
    random = np.random.default_rng(seed)
    shape = random.integers(1, 5, random.integers(1, 4)).tolist()
    axis = int(random.integers(len(shape)))
    shape[axis] = int(random.choice([0, 1, 2, 20, 48, 49, 100, 1000, 5000]))
    if seed % 20 == 0:
        axis, shape = 0, [200_000]
    dtypes = [SORTED[(seed + i) % len(SORTED)] for i in range(random.integers(1, 4))]
    keys = int(random.integers(1, len(dtypes) + 1))
    operands = [laid_out(with_specials(shape, d, random), random) for d in dtypes]
    outs = [laid_out(np.zeros(shape, d), random) for d in dtypes]
    call("sort", [*operands, *outs], [axis, keys])
    columns = [c for x in operands[:keys] for c in sort_keys(x)]
    order = np.lexsort(columns[::-1], axis=axis)
    for x, ours in zip(operands, outs, strict=True):
        np.testing.assert_array_equal(raw(ours), raw(np.take_along_axis(x, order, axis)))


def total_order(x):
    if x.dtype.kind in "biu":
        return x.astype(object) if x.dtype == np.uint64 else x.astype(np.int64)
    bits = x.view(f"i{x.itemsize}")
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits).astype(np.int64)


@pytest.mark.parametrize("dtype", [d for d in SORTED if np.dtype(d).kind != "c"])
@pytest.mark.parametrize("n,k", [(1, 1), (5, 0), (60, 60), (3000, 3), (3000, 300), (3000, 2000)])
def test_top_k(dtype, n, k):
    random = np.random.default_rng(n + k)
    x = laid_out(with_specials((3, n), dtype, random), random)
    values = laid_out(np.zeros((3, k), dtype), random)
    indices = laid_out(np.zeros((3, k), np.int32), random)
    call("top_k", [x, values, indices], [1, k])
    key = total_order(x)
    # Descending, equal ones by index.
    order = np.argsort(-key if key.dtype == object else ~key, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(indices, order)
    np.testing.assert_array_equal(raw(values), raw(np.take_along_axis(x, order, 1)))


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("dtype", ["float32", "int64"])
def test_top_k_of_sorted_rows(order, dtype):
    x = np.arange(100_000).astype(dtype)[::order]
    values, indices = np.zeros(50, dtype), np.zeros(50, np.int32)
    call("top_k", [x, values, indices], [0, 50])
    np.testing.assert_array_equal(values, np.arange(99_999, 99_949, -1).astype(dtype))
    np.testing.assert_array_equal(x[indices], values)


# ---- cumulative ----------------------------------------------------------------------------------

SUM, PRODUCT, MAXIMUM, MINIMUM, RECURRENCE = range(5)
SCANNED = ["float32", "float64", "int32", "uint32", "int64", "uint64", "complex64", "complex128"]


def scan(operands, operation, axis, reverse, random):
    out = output(operands[0].shape, operands[0].dtype, random)
    call("cumulative", [*operands, out], [operation, axis, reverse])
    return out


# NumPy has no maxima of complex numbers in this sense: tests/emit/test_cumulative.py compares with jax.
CASES = [(o, d) for o in range(4) for d in SCANNED if o in (SUM, PRODUCT) or d[0] != "c"]


@pytest.mark.parametrize("operation,dtype", CASES)
@pytest.mark.parametrize("seed", range(3))
def test_cumulative(operation, dtype, seed):
    random = np.random.default_rng(seed)
    shape = random.integers(1, 20, 3).tolist()
    axis, reverse = int(random.integers(3)), seed % 2
    shape[axis] = int(random.choice([1, 5, 100, 3000]))
    x = numbers(shape, dtype, random)
    if operation == PRODUCT and x.dtype.kind in "fc":
        x = np.exp(1j * x.real if x.dtype.kind == "c" else x * 0.01).astype(dtype)
    ufunc = (np.add, np.multiply, np.maximum, np.minimum)[operation]
    wide = x if x.dtype.kind in "iu" else x.astype(np.complex128 if x.dtype.kind == "c" else float)
    flip = (lambda v: np.flip(v, axis)) if reverse else (lambda v: v)
    expected = flip(ufunc.accumulate(flip(wide), axis=axis, dtype=wide.dtype))
    ours = scan([laid_out(x, random)], operation, axis, reverse, random)
    if x.dtype.kind in "iu" or operation in (MAXIMUM, MINIMUM):
        np.testing.assert_array_equal(ours, expected)
        return
    tolerance = 200 * np.finfo(x.dtype).eps
    np.testing.assert_allclose(ours, expected, tolerance, tolerance * np.abs(expected).max())


@pytest.mark.parametrize("operation", [MAXIMUM, MINIMUM])
def test_extremes_order_zeros_and_keep_nan(operation):
    x = np.array([-0.0, 0.0, -0.0, 1, -1, np.nan, 2], np.float32)
    out = scan([x], operation, 0, 0, np.random.default_rng(1))
    expected = [-0.0, 0.0, 0.0, 1, 1] if operation == MAXIMUM else [-0.0, -0.0, -0.0, -0.0, -1]
    np.testing.assert_array_equal(raw(out[:5]), raw(np.array(expected, np.float32)))
    assert np.isnan(out[5:]).all()


@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("dtype", ["float64", "complex128"])
def test_linear_recurrence(dtype, reverse):
    random = np.random.default_rng(0)
    a, b = numbers((3, 40), dtype, random) * 0.5, numbers((3, 40), dtype, random)
    ours = scan([laid_out(a, random), laid_out(b, random)], RECURRENCE, 1, reverse, random)
    state, expected = np.zeros(3, dtype), np.empty_like(b)
    for i in reversed(range(40)) if reverse else range(40):
        state = a[:, i] * state + b[:, i]
        expected[:, i] = state
    np.testing.assert_allclose(ours, expected, 1e-12, 1e-12)


def test_every_kernel_is_reported():
    names = {s for s in runtime.symbols() if s.startswith("lingon_kernel_")}
    expected = ("dot_general", "sort", "top_k", "cumulative")
    assert names >= {f"lingon_kernel_{name}" for name in expected}


def test_blas_routines_can_be_loaded():
    from lingon.runtime import blas

    for routine in blas.ROUTINES:
        assert blas.address_of(routine)
    assert not runtime.set_blas_routine("nonsense", 1)
