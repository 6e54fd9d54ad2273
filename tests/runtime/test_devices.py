"""Programs on several devices without a compiler above: parts of arrays, workers, collectives.

tools/sanitize runs these with the sanitizers, `tools/sanitize thread` with the one for threads.
"""

from __future__ import annotations

import random
import threading
from typing import Any

import numpy as np
import pytest

from lingon import runtime

NUM = 8


class Float:
    """An aval of `n` float32."""

    def __init__(self, n: int):
        self.shape, self.dtype, self.weak_type = (n,), np.dtype(np.float32), False


def whole_layout(n: int, devices: int = NUM) -> runtime.ShardLayout:
    """`n` elements for each of the devices."""
    starts = [(i * n,) for i in range(devices)]
    return runtime.ShardLayout("cut", (n * devices,), (n,), range(devices), starts)


def groups_of(size: int, stride: int) -> tuple[list[int], list[int]]:
    """Groups of `size` devices, `stride` apart: number of the group and rank, by position."""
    ranks = [i // stride % size for i in range(NUM)]
    names = [(i % stride, i // (stride * size)) for i in range(NUM)]
    numbers = {name: k for k, name in enumerate(dict.fromkeys(names))}
    return [numbers[name] for name in names], ranks


class Step:
    """A collective of `n` float32 and what it does to the rows of all devices."""

    def __init__(self, site: int, kind: str, size: int, stride: int, perm: list[int]):
        self.kind, self.perm = kind, perm
        self.groups, self.ranks = groups_of(size, stride)
        layout = [NUM, *self.groups, *self.ranks]
        if kind in ("sum", "max"):
            self.kernel, self.config = "all_reduce", [site, 0 if kind == "sum" else 1, *layout]
        elif kind == "exchange":
            self.kernel, self.config = "all_to_all", [site, 0, 0, *layout]
        else:
            sources = [perm[r] for r in self.ranks]
            self.kernel, self.config = "permute", [site, *layout, *sources]

    def apply(self, rows: np.ndarray) -> np.ndarray:
        out = np.empty_like(rows)
        for i in range(NUM):
            members = [j for j in range(NUM) if self.groups[j] == self.groups[i]]
            members.sort(key=lambda j: self.ranks[j])
            r = self.ranks[i]
            if self.kind == "sum":
                total = rows[members[0]].copy()
                for j in members[1:]:
                    total = total + rows[j]
                out[i] = total
            elif self.kind == "max":
                out[i] = np.max(rows[members], axis=0)
            elif self.kind == "exchange":
                part = rows.shape[1] // len(members)
                out[i] = np.concatenate([rows[j][r * part : (r + 1) * part] for j in members])
            else:
                source = self.perm[r]
                out[i] = rows[members[source]] if source >= 0 else 0
        return out


def program_text(n: int, steps: list[Step]) -> str:
    """LLVM IR of `entry`, which runs the steps one after another."""
    lines = [
        "%buffer = type { ptr, i64, ptr, ptr, i32 }",
        f"@shape = constant [1 x i64] [i64 {n}]",
        "@strides = constant [1 x i64] [i64 1]",
        "declare ptr @lingon_rt_alloc(i64)",
        "declare void @lingon_rt_free(ptr)",
    ]
    for k in sorted({s.kernel for s in steps}):
        lines.append(f"declare void @lingon_kernel_{k}(ptr, i64, ptr, i64)")
    for i, s in enumerate(steps):
        values = ", ".join(f"i64 {c}" for c in s.config)
        lines.append(f"@config{i} = constant [{len(s.config)} x i64] [{values}]")
    lines += [
        "define void @entry(ptr %args) {",
        "  %in = load ptr, ptr %args",
        "  %p1 = getelementptr ptr, ptr %args, i64 1",
        "  %out = load ptr, ptr %p1",
        "  %bufs = alloca [2 x %buffer]",
    ]
    for half in (0, 1):
        base = f"%b{half}"
        lines.append(f"  {base} = getelementptr %buffer, ptr %bufs, i64 {half}")
        for field, value in ((1, "i64 1"), (2, "ptr @shape"), (3, "ptr @strides"), (4, "i32 13")):
            lines.append(
                f"  {base}f{field} = getelementptr %buffer, ptr {base}, i32 0, i32 {field}"
            )
            lines.append(f"  store {value}, ptr {base}f{field}")
    source = "%in"
    for i, s in enumerate(steps):
        last = i == len(steps) - 1
        target = "%out" if last else f"%t{i}"
        if not last:
            lines.append(f"  {target} = call ptr @lingon_rt_alloc(i64 {4 * n})")
        lines.append(f"  store ptr {source}, ptr %b0")
        lines.append(f"  store ptr {target}, ptr %b1")
        lines.append(
            f"  call void @lingon_kernel_{s.kernel}(ptr %bufs, i64 2, ptr @config{i}, "
            f"i64 {len(s.config)})"
        )
        if i:
            lines.append(f"  call void @lingon_rt_free(ptr {source})")
        source = target
    return "\n".join([*lines, "  ret void", "}"])


def random_steps(rng: random.Random, count: int) -> list[Step]:
    steps = []
    for site in range(1, count + 1):
        size, stride = rng.choice([(8, 1), (4, 1), (2, 1), (4, 2), (2, 4), (2, 2)])
        perm = list(range(size))
        rng.shuffle(perm)
        perm = [p if rng.random() < 0.8 else -1 for p in perm]
        steps.append(
            Step(site, rng.choice(["sum", "max", "exchange", "permute"]), size, stride, perm)
        )
    return steps


def make(compile_ir: Any, n: int, steps: list[Step]) -> runtime.SpmdExecutable:
    code = compile_ir(program_text(n, steps))
    local = runtime.Executable(code.address(), [Float(n)], [Float(n)], (), code)
    layout = whole_layout(n)
    return runtime.SpmdExecutable(local, range(NUM), [layout], [layout])


@pytest.mark.sampled(4)
@pytest.mark.parametrize("seed", range(84))
def test_random_collectives(compile_ir, seed: int) -> None:
    """Small and large operands, groups of every kind: exact, and the same in every run.

    All seeds together are 10,080 collectives of 8 devices.
    """
    rng = random.Random(seed)
    n = rng.choice([8, 64, 4096])
    steps = random_steps(rng, 12)
    program = make(compile_ir, n, steps)
    rows = np.random.default_rng(seed).normal(size=(NUM, n)).astype(np.float32)
    wanted = rows
    for s in steps:
        wanted = s.apply(wanted)
    for _ in range(10):
        (out,) = program.execute([runtime.from_numpy(rows.reshape(-1))])
        np.testing.assert_array_equal(out._numpy(), wanted.reshape(-1))


def test_several_callers(compile_ir) -> None:
    """Calls of several threads on the same devices do not block each other."""
    program = make(compile_ir, 8, [Step(1, "sum", 8, 1, []), Step(2, "max", 2, 1, [])])
    failed: list[Any] = []

    def work(k: int) -> None:
        x = runtime.from_numpy(np.full(8 * NUM, k, np.float32))
        for _ in range(50):
            (out,) = program.execute([x])
            if not (out._numpy() == 8 * k).all():
                failed.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(5)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not failed


def test_a_device_that_fails(compile_ir) -> None:
    """The others leave the collective, the error names the device, and the next call works."""
    wrong = Step(1, "sum", 8, 1, [])
    wrong.config = [1, 0, 4, *range(4), *range(4)]  # made for 4 devices
    program = make(compile_ir, 8, [wrong])
    x = runtime.from_numpy(np.ones(8 * NUM, np.float32))
    for _ in range(3):
        with pytest.raises(RuntimeError, match=r"on device cpu:0: a collective runs outside"):
            program.execute([x])
    good = make(compile_ir, 8, [Step(1, "sum", 8, 1, [])])
    assert (good.execute([x])[0]._numpy() == 8).all()


def test_parts(compile_ir) -> None:
    """Results are parts on their devices; arguments that are so already are not touched."""
    program = make(compile_ir, 8, [Step(1, "sum", 8, 1, [])])
    (out,) = program.execute([runtime.from_numpy(np.ones(8 * NUM, np.float32))])
    assert [p._device_id for p in out._shards] == list(range(NUM))
    before = runtime.transfer_count()
    (again,) = program.execute([out])
    assert runtime.transfer_count() == before
    assert again._layout is out._layout and again._committed
    assert (again._numpy() == 64).all() and runtime.transfer_count() == before + 1
    out.delete()
    assert out.is_deleted()
    with pytest.raises(RuntimeError, match="deleted"):
        program.execute([out])


@pytest.mark.parametrize("axis", [0, 1])
def test_cutting_and_putting_together(axis: int) -> None:
    a = np.arange(48, dtype=np.int32).reshape(4, 12)
    part = (2, 12) if axis == 0 else (4, 6)
    starts = [(0, 0), (2, 0)] if axis == 0 else [(0, 0), (0, 6)]
    layout = runtime.ShardLayout("s", (4, 12), part, [1, 3], starts)
    x = runtime.shard_array(runtime.from_numpy(a), layout)
    for p, (i, j) in zip(x._shards, starts, strict=True):
        np.testing.assert_array_equal(p._numpy(), a[i : i + part[0], j : j + part[1]])
    y = runtime.assemble_array(x._shards, layout)
    np.testing.assert_array_equal(y._numpy(), a)
    assert y._layout.sharding == "s" and [p._device_id for p in y._shards] == [1, 3]
    with pytest.raises(ValueError, match="one part for each device"):
        runtime.assemble_array(x._shards[:1], layout)
    with pytest.raises(ValueError, match="outside of the array"):
        runtime.ShardLayout("s", (4, 12), part, [1, 3], [(0, 0), (3, 7)])
