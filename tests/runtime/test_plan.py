"""Plans of the runtime: steps, results, and what is refused."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from lingon.runtime import ArrayImpl, Plan, has_plan_loop, has_ufunc_loop

F32 = np.dtype(np.float32)


class Aval(NamedTuple):
    shape: tuple[int, ...]
    dtype: np.dtype = F32
    weak_type: bool = False


def aval(*shape: int) -> Aval:
    return Aval(shape)


def array(*values: float) -> ArrayImpl:
    return ArrayImpl.from_numpy(np.array(values, np.float32))


def add(shape: tuple, strides: list[tuple]) -> tuple:
    """Buffers: two inputs, one result."""
    return ("loop", np.add, [F32] * 3, [(0, 0), (1, 0), (2, 0)], shape, strides)


def test_a_loop() -> None:
    plan = Plan([aval(3), aval(3)], [aval(3)], [], [add((3,), [(4,)] * 3)], [("made",)], 0)
    assert plan.num_steps == 1 and plan.num_inputs == 2 and plan.num_outputs == 1
    (out,) = plan.execute([array(1, 2, 3), array(10, 20, 30)])
    assert out._numpy().tolist() == [11, 22, 33]


def test_loops_over_several_dimensions_and_strides() -> None:
    """A transposed operand and a repeated one."""
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    b = np.arange(3, dtype=np.float32) * 10
    step = add((3, 2), [(4, 12), (4, 0), (8, 4)])
    plan = Plan([aval(2, 3), aval(3)], [aval(3, 2)], [], [step], [("made",)], 0)
    (out,) = plan.execute([ArrayImpl.from_numpy(a), ArrayImpl.from_numpy(b)])
    np.testing.assert_array_equal(out._numpy(), a.T + b[:, None])


def test_scratch_memory_constants_and_moves() -> None:
    """The sum of the input and a constant, copied out of scratch memory backwards."""
    one = array(1.0)
    steps = [
        ("loop", np.add, [F32] * 3, [(1, 0), (0, 0), (3, 64)], (4,), [(4,), (0,), (4,)]),
        ("loop", "copy_4", None, [(3, 76), (2, 0)], (4,), [(-4,), (4,)]),
    ]
    plan = Plan([aval(4)], [aval(4)], [one], steps, [("made",)], 8192)
    assert plan.scratch_bytes == 8192
    for _ in range(3):
        (out,) = plan.execute([array(1, 2, 3, 4)])
        assert out._numpy().tolist() == [5, 4, 3, 2]


def test_results_that_are_no_memory_of_their_own() -> None:
    x = array(1, 2, 3, 4)
    results = [("same", 1), ("shared", 1), ("shared", 0)]
    plan = Plan([aval(4)], [aval(4), aval(2, 2), aval(1)], [array(7)], [], results, 0)
    same, shared, constant = plan.execute([x])
    assert same is x
    assert shared._unsafe_data_ptr() == x._unsafe_data_ptr() and shared.shape == (2, 2)
    assert constant._numpy().tolist() == [7]
    x.delete()
    assert shared._numpy().tolist() == [[1, 2], [3, 4]]


def test_python_steps_and_their_errors() -> None:
    def double(x: np.ndarray) -> list[np.ndarray]:
        if x[0] < 0:
            raise ValueError("negative")
        return [x * 2]

    step = ("python", double, [(0, 0), (1, 0)], [aval(2), aval(2)], [(4,), (4,)], 1)
    plan = Plan([aval(2)], [aval(2)], [], [step], [("made",)], 0)
    assert plan.execute([array(1, 2)])[0]._numpy().tolist() == [2, 4]
    with pytest.raises(ValueError, match="negative"):
        plan.execute([array(-1, 2)])
    wrong = ("python", lambda x: [x, x], [(0, 0), (1, 0)], [aval(2), aval(2)], [(4,), (4,)], 1)
    with pytest.raises(AssertionError, match="number of results"):
        Plan([aval(2)], [aval(2)], [], [wrong], [("made",)], 0).execute([array(1, 2)])


def test_arguments_are_checked() -> None:
    plan = Plan([aval(3), aval(3)], [aval(3)], [], [add((3,), [(4,)] * 3)], [("made",)], 0)
    with pytest.raises(TypeError, match="2 arguments, got 1"):
        plan.execute([array(1, 2, 3)])
    with pytest.raises(TypeError, match=r"float32\[3\], got float32\[2\]"):
        plan.execute([array(1, 2), array(1, 2, 3)])
    with pytest.raises(TypeError, match="must be an ArrayImpl"):
        plan.execute([1, 2])
    gone = array(1, 2, 3)
    gone.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        plan.execute([gone, array(1, 2, 3)])


@pytest.mark.parametrize(
    "steps, results, error",
    [
        ([("nothing",)], [("made",)], ValueError),
        ([("loop", "nothing", None, [], (), [])], [("made",)], KeyError),
        ([("move", "nothing", [], [])], [("made",)], KeyError),
        ([("kernel", "nothing", [], [], [], [], [])], [("made",)], KeyError),
        ([("loop", np.add, [F32] * 3, [(9, 0)] * 3, (3,), [(4,)] * 3)], [("made",)], IndexError),
        ([("loop", np.add, [F32] * 3, [(0, 0)] * 3, (3,), [(4,)] * 2)], [("made",)], ValueError),
        ([("loop", np.add, [F32] * 3, [(0, 0)] * 3, (3,), [()] * 3)], [("made",)], ValueError),
        ([("loop", np.sin, [np.dtype(int)] * 2, [(0, 0)] * 2, (3,), [(4,)] * 2)], [("made",)], LookupError),
        ([("loop", len, [F32], [(0, 0)], (3,), [(4,)])], [("made",)], TypeError),
        ([("program", 3, [])], [("made",)], TypeError),
        ([], [], ValueError),
        ([], [("same", 5)], IndexError),
    ],
)  # fmt: skip
def test_what_is_refused(steps: list, results: list, error: type) -> None:
    with pytest.raises(error):
        Plan([aval(3)], [aval(3)], [], steps, results, 0)


def test_a_shared_result_has_the_size_of_the_memory() -> None:
    with pytest.raises(ValueError, match="another size"):
        Plan([aval(3)], [aval(4)], [], [], [("shared", 0)], 0)


def test_which_loops_there_are() -> None:
    assert has_ufunc_loop(np.add, [F32] * 3)
    assert not has_ufunc_loop(np.add, [F32, F32, np.dtype(np.int32)])
    assert has_plan_loop("cast_float32_int32") and not has_plan_loop("cast_float32_object")
    with pytest.raises(ValueError, match="dtype for each operand"):
        has_ufunc_loop(np.add, [F32])
