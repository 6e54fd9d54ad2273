"""Calling compiled programs."""

from __future__ import annotations

import gc
import threading
import types
import weakref

import numpy as np
import pytest

from lingon import runtime
from lingon.runtime import Executable, from_numpy

# out[i] = const[0] * a[i] + b[i] for four floats
AXPY = """
define void @entry(ptr %p) {
  %c_ = load ptr, ptr %p
  %ap = getelementptr ptr, ptr %p, i64 1
  %a_ = load ptr, ptr %ap
  %bp = getelementptr ptr, ptr %p, i64 2
  %b_ = load ptr, ptr %bp
  %op = getelementptr ptr, ptr %p, i64 3
  %o_ = load ptr, ptr %op
  %c = load float, ptr %c_
  br label %loop
loop:
  %i = phi i64 [ 0, %0 ], [ %n, %loop ]
  %x_ = getelementptr float, ptr %a_, i64 %i
  %y_ = getelementptr float, ptr %b_, i64 %i
  %z_ = getelementptr float, ptr %o_, i64 %i
  %x = load float, ptr %x_
  %y = load float, ptr %y_
  %m = fmul float %c, %x
  %z = fadd float %m, %y
  store float %z, ptr %z_
  %n = add i64 %i, 1
  %d = icmp eq i64 %n, 4
  br i1 %d, label %end, label %loop
end:
  ret void
}
"""

# Takes temporaries of 2**46 bytes after one of 1 MiB, which it never gives back.
GREEDY = """
declare ptr @lingon_rt_alloc(i64)
define void @entry(ptr %p) {
  %small = call ptr @lingon_rt_alloc(i64 1048576)
  store i8 1, ptr %small
  %large = call ptr @lingon_rt_alloc(i64 70368744177664)
  store i8 1, ptr %large
  ret void
}
"""

# The same inside of a parallel loop.
GREEDY_PARALLEL = """
declare ptr @lingon_rt_alloc(i64)
declare void @lingon_rt_free(ptr)
declare void @lingon_rt_parallel_for(ptr, ptr, i64, i64)
define void @body(ptr %c, i64 %begin, i64 %end) {
  %small = call ptr @lingon_rt_alloc(i64 4096)
  store i8 1, ptr %small
  %late = icmp sge i64 %end, 8
  br i1 %late, label %bad, label %good
bad:
  %large = call ptr @lingon_rt_alloc(i64 70368744177664)
  store i8 1, ptr %large
  ret void
good:
  call void @lingon_rt_free(ptr %small)
  ret void
}
define void @entry(ptr %p) {
  %small = call ptr @lingon_rt_alloc(i64 1048576)
  call void @lingon_rt_parallel_for(ptr @body, ptr null, i64 64, i64 1)
  call void @lingon_rt_free(ptr %small)
  ret void
}
"""

FAILING = """
@text = constant [15 x i8] c"matrix is bad!\\00"
declare void @lingon_rt_set_error(ptr)
define void @entry(ptr %p) {
  call void @lingon_rt_set_error(ptr @text)
  call void @lingon_rt_set_error(ptr @text)
  ret void
}
"""

# Copies 8 bytes of the scratch memory, filled with 7s, to the output.
SCRATCH = """
define void @entry(ptr %p) {
  %o_ = load ptr, ptr %p
  %sp = getelementptr ptr, ptr %p, i64 1
  %s_ = load ptr, ptr %sp
  %last = getelementptr i64, ptr %s_, i64 511
  store i64 7, ptr %last
  %v = load i64, ptr %last
  store i64 %v, ptr %o_
  ret void
}
"""


def aval(shape, dtype="float32", weak_type=False):
    return types.SimpleNamespace(shape=shape, dtype=np.dtype(dtype), weak_type=weak_type)


@pytest.fixture(scope="module")
def axpy(compile_ir):
    code = compile_ir(AXPY)
    const = from_numpy(np.array(2, np.float32))
    return Executable(
        code.address(), [aval((4,)), aval((4,))], [aval((4,), weak_type=True)], [const], code
    )


def arrays(*values):
    return [from_numpy(np.array(v, np.float32), copy=True) for v in values]


def test_runs(axpy):
    assert (axpy.num_inputs, axpy.num_outputs) == (2, 1)
    (out,) = axpy.execute(arrays([1, 2, 3, 4], [10, 20, 30, 40]))
    np.testing.assert_array_equal(out._numpy(), [12, 24, 36, 48])
    assert out.shape == (4,) and out.dtype == np.float32 and out.weak_type
    assert out._unsafe_data_ptr() % 64 == 0 and out._is_exclusive()


def test_inputs_may_be_tuples_and_weakly_typed(axpy):
    a = from_numpy(np.ones(4, np.float32), weak_type=True)
    (out,) = axpy.execute((a, a))
    np.testing.assert_array_equal(out._numpy(), [3, 3, 3, 3])


def test_devices(axpy):
    a = from_numpy(np.ones(4, np.float32), device_id=2)
    assert axpy.execute([a, a])[0]._device_id == 2
    assert axpy.execute([a, a], device_id=5)[0]._device_id == 5


def test_wrong_arguments(axpy):
    a = from_numpy(np.ones(4, np.float32))
    with pytest.raises(TypeError, match="takes 2 arguments, got 1"):
        axpy.execute([a])
    with pytest.raises(TypeError, match=r"argument 1 .* must be float32\[4\], got float32\[2,2\]"):
        axpy.execute([a, a._alias(shape=(2, 2))])
    with pytest.raises(TypeError, match=r"argument 0 .* must be float32\[4\], got int32\[4\]"):
        axpy.execute([a._alias(dtype=np.int32), a])
    with pytest.raises(TypeError, match="must be an ArrayImpl, got int"):
        axpy.execute([a, 3])
    with pytest.raises(TypeError, match="must be a sequence"):
        axpy.execute(7)
    gone = from_numpy(np.ones(4, np.float32))
    gone.delete()
    with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float32\[4\]\."):
        axpy.execute([a, gone])


def test_wrong_construction(compile_ir):
    code = compile_ir(AXPY)
    entry = code.address()
    with pytest.raises(ValueError, match="null"):
        Executable(0, [], [])
    with pytest.raises(TypeError, match="ArrayImpl"):
        Executable(entry, [], [], [np.ones(1)])
    with pytest.raises(AttributeError):
        Executable(entry, [3], [])
    with pytest.raises(TypeError, match="not a valid array"):
        Executable(entry, [aval((1,), "U1")], [])
    with pytest.raises(ValueError, match="non-negative"):
        Executable(entry, [aval((-1,))], [])
    with pytest.raises(IndexError, match="donated"):
        Executable(entry, [aval((1,))], [], donated=[1])
    with pytest.raises(IndexError, match="alias"):
        Executable(entry, [aval((1,))], [aval((1,))], aliases=[(0, 0)])
    with pytest.raises(ValueError, match="equal sizes"):
        Executable(entry, [aval((1,))], [aval((2,))], donated=[0], aliases=[(0, 0)])
    with pytest.raises(ValueError, match="scratch_bytes"):
        Executable(entry, [], [], scratch_bytes=-1)


def test_keepalive_and_constants(compile_ir):
    class Owner:
        pass

    owner = Owner()
    owner.code = compile_ir(AXPY)
    alive = weakref.ref(owner)
    const = from_numpy(np.array(3, np.float32), copy=True)
    program = Executable(
        owner.code.address(), [aval((4,)), aval((4,))], [aval((4,))], [const], owner
    )
    del owner
    const.delete()
    gc.collect()
    assert alive() is program.keepalive
    a, b = arrays([1, 1, 1, 1], [0, 0, 0, 0])
    np.testing.assert_array_equal(program.execute([a, b])[0]._numpy(), [3, 3, 3, 3])
    del program
    gc.collect()
    assert alive() is None


def test_scratch_memory(compile_ir):
    code = compile_ir(SCRATCH)
    program = Executable(code.address(), [], [aval((), "int64")], scratch_bytes=4096)
    live = runtime.pool_stats()["live_bytes"]
    (out,) = program.execute([])
    assert out._numpy() == 7 and program.scratch_bytes == 4096
    assert runtime.pool_stats()["live_bytes"] - live <= 64


def donating(compile_ir):
    code = compile_ir(AXPY)
    const = from_numpy(np.array(2, np.float32))
    return Executable(
        code.address(),
        [aval((4,)), aval((4,))],
        [aval((4,))],
        [const],
        code,
        donated=[1],
        aliases=[(1, 0)],
    )


def test_donated_inputs_are_reused(compile_ir):
    program = donating(compile_ir)
    a, b = arrays([1, 2, 3, 4], [10, 20, 30, 40])
    address = b._unsafe_data_ptr()
    (out,) = program.execute([a, b])
    assert b.is_deleted() and not a.is_deleted()
    assert out._unsafe_data_ptr() == address
    np.testing.assert_array_equal(out._numpy(), [12, 24, 36, 48])
    with pytest.raises(RuntimeError, match="deleted"):
        program.execute([a, b])


@pytest.mark.parametrize("shared", ["view", "alias", "borrowed"])
def test_donated_inputs_that_others_see_are_not_overwritten(compile_ir, shared):
    program = donating(compile_ir)
    a, b = arrays([1, 2, 3, 4], [10, 20, 30, 40])
    source = np.array([10, 20, 30, 40], np.float32)
    witness = None
    if shared == "view":
        witness = b._numpy()
    elif shared == "alias":
        witness = b._alias(shape=(4,))
    else:
        b = from_numpy(source)
        witness = source
    expected = 2 * np.asarray(a._numpy()) + np.asarray(b._numpy())
    (out,) = program.execute([a, b])
    np.testing.assert_array_equal(out._numpy(), expected)
    assert b.is_deleted()
    if shared == "alias":
        witness = witness._numpy()
    np.testing.assert_array_equal(witness, [10, 20, 30, 40])


@pytest.mark.parametrize(
    "donated, toy",
    [([1], "f(a, donate(a))"), ([0], "f(donate(a), a)"), ([0, 1], "f(donate(a), donate(a))")],
)
def test_a_donated_input_is_passed_once(compile_ir, donated, toy):
    code = compile_ir(AXPY)
    const = from_numpy(np.array(2, np.float32))
    program = Executable(
        code.address(), [aval((4,))] * 2, [aval((4,))], [const], code, donated=donated
    )
    (a,) = arrays([1, 2, 3, 4])
    with pytest.raises(RuntimeError, match=r"flattened argument 1, first use: 0") as error:
        program.execute([a, a])
    assert f"`{toy}`" in str(error.value) and not a.is_deleted()
    (b,) = arrays([1, 1, 1, 1])
    np.testing.assert_array_equal(program.execute([a, b])[0]._numpy(), [3, 5, 7, 9])


IN_OUTPUT = """
define void @entry(ptr %p) {
  %op = getelementptr ptr, ptr %p, i64 1
  %o_ = load ptr, ptr %op
  %x = load float, ptr %o_
  %y = fadd float %x, 1.0
  store float %y, ptr %o_
  ret void
}
"""


def test_aliased_inputs_are_found_in_the_output(compile_ir):
    code = compile_ir(IN_OUTPUT)
    program = Executable(
        code.address(), [aval((4,))], [aval((4,))], (), code, donated=[0], aliases=[(0, 0)]
    )
    (a,) = arrays([1, 2, 3, 4])
    seen = a._numpy()
    (b,) = program.execute([a])  # a copy
    np.testing.assert_array_equal(seen, [1, 2, 3, 4])
    np.testing.assert_array_equal(b._numpy(), [2, 2, 3, 4])
    where = b._unsafe_data_ptr()
    (c,) = program.execute([b])  # the buffer itself
    assert c._unsafe_data_ptr() == where and b.is_deleted()
    np.testing.assert_array_equal(c._numpy(), [3, 2, 3, 4])


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("text", [GREEDY, GREEDY_PARALLEL], ids=["serial", "parallel"])
def test_out_of_memory_inside_of_a_program(compile_ir, thread_count, text, threads):
    thread_count(threads)
    code = compile_ir(text)
    program = Executable(code.address(), [], [aval((10,))])
    live = runtime.pool_stats()["live_bytes"]
    for _ in range(20):
        with pytest.raises(MemoryError, match="70368744177664 bytes for a temporary"):
            program.execute([])
    assert runtime.pool_stats()["live_bytes"] == live


def test_out_of_memory_for_an_output(compile_ir):
    code = compile_ir(FAILING)
    program = Executable(code.address(), [], [aval((8,)), aval((1 << 44,)), aval((8,))])
    live = runtime.pool_stats()["live_bytes"]
    with pytest.raises(MemoryError):
        program.execute([])
    assert runtime.pool_stats()["live_bytes"] == live


def test_errors_of_kernels(compile_ir):
    code = compile_ir(FAILING)
    program = Executable(code.address(), [], [aval((8,))])
    live = runtime.pool_stats()["live_bytes"]
    with pytest.raises(RuntimeError, match="matrix is bad!"):
        program.execute([])
    assert runtime.pool_stats()["live_bytes"] == live


def test_many_arguments(compile_ir):
    n = 500
    # The last output gets the value of the first input.
    code = compile_ir(f"""
define void @entry(ptr %p) {{
  %i_ = load ptr, ptr %p
  %v = load float, ptr %i_
  %op = getelementptr ptr, ptr %p, i64 {2 * n - 1}
  %o_ = load ptr, ptr %op
  store float %v, ptr %o_
  ret void
}}
""")
    program = Executable(code.address(), [aval(())] * n, [aval(())] * n, keepalive=code)
    inputs = [runtime.from_scalar(float(i + 5), np.float32) for i in range(n)]
    outs = program.execute(inputs)
    assert len(outs) == n and outs[-1]._numpy() == 5


def test_several_threads_run_one_program(axpy):
    failures = []

    def work(seed):
        a, b = arrays([seed] * 4, [1] * 4)
        for _ in range(500):
            (out,) = axpy.execute([a, b])
            if not (out._numpy() == 2 * seed + 1).all():
                failures.append(seed)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_the_gil_is_released(compile_ir):
    # Waits until another Python thread writes to the input.
    code = compile_ir("""
define void @entry(ptr %p) {
  %i_ = load ptr, ptr %p
  br label %loop
loop:
  %v = load atomic i32, ptr %i_ seq_cst, align 4
  %d = icmp ne i32 %v, 0
  br i1 %d, label %end, label %loop
end:
  ret void
}
""")
    program = Executable(code.address(), [aval((), "int32")], [])
    flag = np.zeros((), np.int32)
    a = from_numpy(flag)
    thread = threading.Thread(target=program.execute, args=([a],))
    thread.start()
    flag[...] = 1
    thread.join(30)
    assert not thread.is_alive()


def test_inputs_deleted_by_another_thread_stay_until_the_end(compile_ir):
    code = compile_ir("""
define void @entry(ptr %p) {
  %f_ = load ptr, ptr %p
  %ip = getelementptr ptr, ptr %p, i64 1
  %i_ = load ptr, ptr %ip
  %op = getelementptr ptr, ptr %p, i64 2
  %o_ = load ptr, ptr %op
  br label %loop
loop:
  %v = load atomic i32, ptr %f_ seq_cst, align 4
  %d = icmp ne i32 %v, 0
  br i1 %d, label %end, label %loop
end:
  %x = load i32, ptr %i_
  store i32 %x, ptr %o_
  ret void
}
""")
    program = Executable(code.address(), [aval((), "int32")] * 2, [aval((), "int32")])
    flag = np.zeros((), np.int32)
    value = from_numpy(np.array(42, np.int32), copy=True)
    results = []
    thread = threading.Thread(
        target=lambda: results.extend(program.execute([from_numpy(flag), value]))
    )
    thread.start()
    value.delete()
    junk = [from_numpy(np.array(-1, np.int32), copy=True) for _ in range(8)]
    flag[...] = 1
    thread.join(30)
    # The thread may have begun after the delete, in which case it raised.
    assert len(junk) == 8 and all(out._numpy() == 42 for out in results)


def test_memory_does_not_grow(axpy):
    a, b = arrays([1, 2, 3, 4], [5, 6, 7, 8])
    gc.collect()
    live = runtime.pool_stats()["live_blocks"]
    for _ in range(10_000):
        axpy.execute([a, b])
    assert runtime.pool_stats()["live_blocks"] == live
