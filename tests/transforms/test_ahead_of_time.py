"""Traced, lowered, compiled and saved functions, beside jax where the forms agree."""

from __future__ import annotations

import collections
import dataclasses
import json
import random
import struct
import subprocess
import sys
import textwrap
from hashlib import sha256
from pathlib import Path
from typing import Any

import jax
import jax.numpy as xnp
import numpy as np
import pytest
from jax.experimental import serialize_executable as their_serialize

import lingon
import lingon.numpy as jnp
from lingon import stages, tree_util
from lingon.experimental import serialize_executable

BOTH = pytest.mark.parametrize("m, n", [(lingon, jnp), (jax, xnp)], ids=["lingon", "jax"])


def scaled(x: Any, y: Any) -> Any:
    return {"r": x * 2 + y["a"]}


def compiled(n: int = 3) -> Any:
    x = jnp.ones(n)
    return lingon.jit(scaled).lower(x, {"a": x}).compile()


# --- attributes --------------------------------------------------------------------------------


@BOTH
def test_attributes_of_the_stages(m: Any, n: Any) -> None:
    f = m.jit(lambda x, *, y: {"r": x * 2 + y["a"]}, donate_argnums=0)
    traced = f.trace(n.ones(3), y={"a": 2.0})
    lowered = traced.lower()
    done = lowered.compile()
    assert traced.fun_name == "<lambda>"
    assert str(traced.jaxpr).startswith("{ lambda ; a:f32[3] b:f32[]. let")
    assert str(traced.out_avals) == "{'r': ShapedArray(float32[3])}"
    for stage in (traced, lowered, done):
        assert str(stage.in_tree) == "PyTreeDef(((*,), {'y': {'a': *}}))"
        assert str(stage.out_tree) == "PyTreeDef({'r': *})"
        text = "((ShapedArray(float32[3]),), {'y': {'a': ShapedArray(float32[], weak_type=True)}})"
        assert str(stage.in_avals) == text
        assert stage.donate_argnums == (0,)
        info = stage.args_info[0][0]
        assert (info.shape, info.dtype, info.donated) == ((3,), np.float32, True)
        assert repr(info) == "ArgInfo(_aval=ShapedArray(float32[3]), donated=True)"
        assert stage.out_info["r"].shape == (3,) and stage.out_info["r"].dtype == np.float32
    assert isinstance(lowered.as_text(), str) and lowered.cost_analysis()["flops"] >= 6
    assert done.cost_analysis()["flops"] >= 6 and isinstance(done.as_text(), str)
    memory = done.memory_analysis()
    assert memory.argument_size_in_bytes == 16 and memory.output_size_in_bytes == 12
    assert done.runtime_executable() is not None
    assert list(done.output_shardings) == ["r"]
    assert done.input_shardings[0][0].device_set == {m.devices()[0]}
    assert isinstance(f, m.stages.Wrapped) and not isinstance(len, m.stages.Wrapped)
    for stage, kind in ((traced, "Traced"), (lowered, "Lowered"), (done, "Compiled")):
        assert isinstance(stage, getattr(m.stages, kind))


@BOTH
def test_shapes_are_enough(m: Any, n: Any) -> None:
    s = m.ShapeDtypeStruct((2, 3), n.float32)
    f = m.jit(lambda x, k: x.T * k, static_argnums=1)
    done = f.lower(s, 3).compile()
    assert done.out_info.shape == (3, 2)
    np.testing.assert_array_equal(done(n.ones((2, 3))), np.full((3, 2), 3.0))


def test_texts() -> None:
    x = jnp.ones(3)
    lowered = lingon.jit(scaled).lower(x, {"a": x})
    assert list(lowered.stages) == list(lowered.compile().stages)
    assert "linalg" in lowered.as_text() and "linalg.generic" in lowered.as_text("linalg")
    assert lowered.as_text("jaxpr").startswith("{ lambda")
    assert lowered.compiler_ir("llvm") == lowered.as_text(stage="llvm")
    assert "loc(" not in lowered.as_text()
    assert "test_ahead_of_time.py" in lowered.as_text(debug_info=True)
    for text in (lowered.as_text, lowered.compiler_ir):
        with pytest.raises(ValueError, match=r"unknown dialect: stablehlo; .*linalg"):
            text("stablehlo")
    with pytest.raises(ValueError, match="unknown dialect: bad"):
        lowered.compile().as_text("bad")


def test_lowering_does_not_compile(monkeypatch: pytest.MonkeyPatch) -> None:
    from lingon.lowering.program import LoweredProgram

    def fail(self: Any) -> Any:
        raise AssertionError("compiled")

    monkeypatch.setattr(LoweredProgram, "compile", fail)
    lowered = lingon.jit(lambda x: x * 3).lower(1.0)
    assert "arith.mulf" in lowered.as_text() and lowered.cost_analysis()["flops"] == 1
    with pytest.raises(AssertionError, match="compiled"):
        lowered.compile()


def test_platforms() -> None:
    traced = lingon.jit(lambda x: x + 1).trace(1.0)
    traced.lower(lowering_platforms=("cpu",))
    with pytest.raises(ValueError, match="'tpu'; the platforms are: cpu"):
        traced.lower(lowering_platforms=("cpu", "tpu"))


def test_compiler_options() -> None:
    lowered = lingon.jit(lambda x: x + 1).lower(1.0)
    assert lowered.compile({"pipeline": "cpu-fast"})(2.0) == 3
    assert lingon.jit(lambda x: x + 1, compiler_options={"pipeline": "cpu-fast"})(2.0) == 3
    with pytest.raises(lingon.errors.JaxRuntimeError, match="No such compile option: 'bad'"):
        lowered.compile(compiler_options={"bad": True})
    with pytest.raises(lingon.errors.JaxRuntimeError, match="No such compile option: 'bad'"):
        lingon.jit(lambda x: x, compiler_options={"bad": True})
    with pytest.raises(ValueError, match="'pipeline' must be a string, got 3"):
        lowered.compile({"pipeline": 3})
    with pytest.warns(UserWarning, match="'xla_cpu_enable_fast_math' of XLA has no effect"):
        lowered.compile({"xla_cpu_enable_fast_math": True})


# --- calls -------------------------------------------------------------------------------------


@BOTH
def test_calls(m: Any, n: Any) -> None:
    x = n.arange(3.0)
    done = m.jit(scaled).lower(x, {"a": x}).compile()
    np.testing.assert_array_equal(done(x, {"a": x})["r"], [0, 3, 6])
    np.testing.assert_array_equal(done(np.ones(3), {"a": x})["r"], [2, 3, 4])
    named = m.jit(lambda x, y: x + y).lower(x, y=1.0).compile()
    np.testing.assert_array_equal(named(x, y=n.float32(2)), [2, 3, 4])
    static = m.jit(lambda x, k: x * k, static_argnums=1).lower(x, 3).compile()
    np.testing.assert_array_equal(static(x), [0, 3, 6])


WRONG_TYPES: dict[str, Any] = {
    "shape": lambda n: (n.ones(4), {"a": n.ones(3)}),
    "two": lambda n: (n.ones(4), {"a": n.ones(3, n.int32)}),
    "dtype": lambda n: (n.ones(3, n.int32), {"a": n.ones(3)}),
    "not an array": lambda n: (n.ones(3), {"a": "s"}),
}


@pytest.mark.parametrize("name", WRONG_TYPES)
def test_arguments_of_other_types(name: str) -> None:
    errors = []
    for m, n in ((lingon, jnp), (jax, xnp)):
        x = n.ones(3)
        done = m.jit(scaled).lower(x, {"a": x}).compile()
        with pytest.raises(TypeError) as caught:
            done(*WRONG_TYPES[name](n))
        errors.append(str(caught.value))
    assert errors[0] == errors[1]


WRONG_TREES: dict[str, Any] = {
    "key": (lambda x: ((x, {"b": x}), {}), ["args[1]", "'a'", "'b'"]),
    "container": (lambda x: ((x, [x]), {}), ["args[1]", "<class 'dict'>", "<class 'list'>"]),
    "fewer": (lambda x: ((x,), {}), ["at args,", "length 2", "length 1"]),
    "by name": (lambda x: ((x,), {"y": {"a": x}}), ["at args,", "at kwargs,", "'y'", "are 2"]),
    "none": (lambda x: ((x, {"a": None}), {}), ["args[1]['a']", "pytree leaf", "None"]),
}


@pytest.mark.parametrize("name", WRONG_TREES)
def test_arguments_of_another_structure(name: str) -> None:
    make, words = WRONG_TREES[name]
    for m, n in ((lingon, jnp), (jax, xnp)):
        x = n.ones(3)
        args, kwargs = make(x)
        with pytest.raises(TypeError) as caught:
            m.jit(scaled).lower(x, {"a": x}).compile()(*args, **kwargs)
        text = str(caught.value)
        start = "Function compiled with input pytree does not match the input pytree it was called"
        assert text.startswith(start)
        for word in words:
            assert word in text


@BOTH
def test_compiled_functions_are_not_transformed(m: Any, n: Any) -> None:
    x = n.ones(3)
    done = m.jit(lambda x: x * 2).lower(x).compile()
    for transform in (m.jit, m.vmap, m.grad):
        with pytest.raises(TypeError, match="Cannot apply JAX transformations to a function"):
            transform(lambda x: done(x).sum())(
                n.ones(3) if transform is not m.vmap else n.ones((2, 3))
            )


def test_closures_over_traced_values_are_not_lowered() -> None:
    def outer(y: Any) -> Any:
        return lingon.jit(lambda x: x * y).lower(1.0).compile()(2.0)

    with pytest.raises(TypeError, match="closes over values that are being traced"):
        lingon.grad(outer)(3.0)


def test_donation_of_compiled_functions() -> None:
    x = lingon.runtime.from_numpy(np.ones(8, np.float32), copy=True)
    done = lingon.jit(lambda x: x + 1, donate_argnums=0).lower(x).compile()
    where = x.unsafe_buffer_pointer()
    assert done(x).unsafe_buffer_pointer() == where and x.is_deleted()


# --- saved -------------------------------------------------------------------------------------

Point = collections.namedtuple("Point", "x y")


@tree_util.register_dataclass
@dataclasses.dataclass
class Model:
    w: Any
    b: Any
    kind: str = dataclasses.field(metadata={"static": True}, default="linear")


def step(model: Any, p: Any, many: Any) -> Any:
    y = model.w @ p.x + model.b
    return Model(model.w + 1, y, model.kind), (Point(y, None), [many["k"].sum(), many["z"][0]])


def saved_arguments() -> tuple:
    return (
        Model(jnp.arange(12.0).reshape(3, 4), jnp.ones(3)),
        Point(jnp.arange(4.0), ()),
        {"k": jnp.arange(5), "z": (jnp.bfloat16(2),)},
    )


def same(a: Any, b: Any) -> None:
    leaves_a, tree_a = tree_util.tree_flatten(a)
    leaves_b, tree_b = tree_util.tree_flatten(b)
    assert tree_a == tree_b
    for x, y in zip(leaves_a, leaves_b, strict=True):
        assert x.dtype == y.dtype and x.weak_type == y.weak_type
        np.testing.assert_array_equal(x, y)


def test_saved_and_loaded(tmp_path: Path) -> None:
    args = saved_arguments()
    done = lingon.jit(step).lower(*args).compile()
    want = done(*args)
    done.save(tmp_path / "step.lgx")
    assert [p.name for p in tmp_path.iterdir()] == ["step.lgx"]
    again = stages.load(tmp_path / "step.lgx")
    same(again(*args), want)
    assert again.in_tree == done.in_tree and again.out_tree == done.out_tree
    assert str(again.in_avals) == str(done.in_avals) and again.args_info == done.args_info
    for stage in ("jaxpr", "linalg", "asm"):
        assert again.as_text(stage) == done.as_text(stage)
    assert again.memory_analysis() == done.memory_analysis()
    with pytest.raises(TypeError, match=r"Argument 'p\.x' compiled with float32\[4\]"):
        again(args[0], Point(jnp.ones(5), ()), args[2])
    # and once more from what was loaded
    same(stages.Compiled.deserialize(again.serialize())(*args), want)


def test_large_constants_keys_and_donation_are_saved() -> None:
    c = jnp.arange(1000.0)
    f = lingon.jit(lambda x, unused, k: (x + c, lingon.random.split(k)[0]), donate_argnums=0)
    key = lingon.random.key(3)
    x = lingon.runtime.from_numpy(np.ones(1000, np.float32), copy=True)
    done = f.lower(x, 1.0, key).compile()
    again = stages.Compiled.deserialize(done.serialize())
    where = x.unsafe_buffer_pointer()
    y, k = again(x, 1.0, key)
    np.testing.assert_array_equal(y, 1 + np.arange(1000))
    assert y.unsafe_buffer_pointer() == where and x.is_deleted()
    want = lingon.random.key_data(lingon.random.split(key)[0])
    np.testing.assert_array_equal(lingon.random.key_data(k), want)
    assert k.dtype == key.dtype


def test_serialize_executable() -> None:
    x = jnp.arange(3.0)
    data, in_tree, out_tree = serialize_executable.serialize(compiled())
    assert isinstance(data, bytes)
    again = serialize_executable.deserialize_and_load(data, in_tree, out_tree)
    np.testing.assert_array_equal(again(x, {"a": x})["r"], [0, 3, 6])
    again = serialize_executable.deserialize_and_load(
        data, in_tree, out_tree, execution_devices=lingon.devices()[:1]
    )
    with pytest.raises(ValueError, match="out_tree is"):
        serialize_executable.deserialize_and_load(data, in_tree, in_tree)
    with pytest.raises(RuntimeError, match="Unknown backend tpu"):
        serialize_executable.deserialize_and_load(data, in_tree, out_tree, "tpu")
    with pytest.raises(TypeError, match="takes a Compiled function"):
        serialize_executable.serialize(len)
    theirs = their_serialize.serialize(
        jax.jit(scaled).lower(xnp.ones(3), {"a": xnp.ones(3)}).compile()
    )
    assert str(theirs[1]) == str(in_tree) and str(theirs[2]) == str(out_tree)


def test_another_process_loads_what_was_saved(tmp_path: Path) -> None:
    x = jnp.arange(6.0).reshape(2, 3)
    lingon.jit(lambda x: jnp.sin(x) @ x.T).lower(x).compile().save(tmp_path / "f")
    code = f"""
        import sys
        import numpy as np
        from lingon import stages
        x = np.arange(6, dtype=np.float32).reshape(2, 3)
        got = stages.load({str(tmp_path / "f")!r})(x)
        np.testing.assert_allclose(got, np.sin(x) @ x.T, rtol=1e-6)
        assert "mlir" not in sys.modules
        """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr


def changed(data: bytes, change: Any) -> bytes:
    """A saved program with another header and a right checksum."""
    length, code = struct.unpack_from("<IQ", data, 40)
    header = json.loads(data[52 : 52 + length])
    change(header)
    text = json.dumps(header).encode()
    body = struct.pack("<IQ", len(text), code) + text + data[52 + length :]
    return data[:8] + sha256(body).digest() + body


def test_refused_with_the_reason(tmp_path: Path) -> None:
    data = compiled().serialize()
    refused = {
        "another CPU .*lacks quantum": changed(
            data, lambda h: h.update(features=h["features"] + ",+quantum")
        ),
        "compiled for riscv64": changed(data, lambda h: h.update(triple="riscv64-unknown-linux")),
        "format 7": changed(data, lambda h: h.update(format=7)),
        "has format 9": b"LINGONX9" + data[8:],
        "truncated": data[: len(data) // 2],
        "is truncated": data[:20],
        "checksum": data[:-1] + bytes([data[-1] ^ 1]),
        "no saved program": b"\x80\x04" + data,
        "node type 'nowhere:Missing' does not exist": changed(
            data, lambda h: h["extra"].update(in_tree=["nowhere:Missing", None, []])
        ),
        "cannot be made": changed(
            data, lambda h: h["extra"].update(in_tree=["pathlib:Path", None, []])
        ),
    }
    for reason, bad in refused.items():
        with pytest.raises(ValueError, match=reason):
            stages.Compiled.deserialize(bad)
        (tmp_path / "bad").write_bytes(bad)
        with pytest.raises(ValueError, match=f"bad: .*{reason}"):
            stages.load(tmp_path / "bad")
    for bad in (b"", b"LING"):
        with pytest.raises(ValueError, match="truncated"):
            stages.Compiled.deserialize(bad)
    with pytest.raises(TypeError, match="bytes, got str"):
        stages.Compiled.deserialize("text")
    with pytest.raises(OSError):
        stages.load(tmp_path / "missing")
    # fewer features than this CPU has are no reason
    fewer = changed(data, lambda h: h.update(features="", cpu="generic"))
    assert stages.Compiled.deserialize(fewer)(jnp.ones(3), {"a": jnp.ones(3)})["r"][0] == 3


def test_damaged_bytes_are_never_loaded() -> None:
    data = compiled().serialize()
    random_ = random.Random(5)
    for _ in range(3000):
        bad = bytearray(data)
        for _ in range(random_.choice([1, 1, 2, 10])):
            bad[random_.randrange(len(bad))] ^= 1 << random_.randrange(8)
        if random_.random() < 0.3:
            del bad[random_.randrange(len(bad)) :]
        if bytes(bad) == data:
            continue
        with pytest.raises(ValueError):
            stages.Compiled.deserialize(bytes(bad))


def test_what_cannot_be_saved() -> None:
    def shown(x: Any) -> Any:
        lingon.debug.print("{}", x)
        return x

    with pytest.raises(ValueError, match="calls Python functions"):
        lingon.jit(shown).lower(1.0).compile().serialize()

    @tree_util.register_pytree_node_class
    class Local:
        def tree_flatten(self) -> Any:
            return (), None

        @classmethod
        def tree_unflatten(cls, aux: Any, children: Any) -> Any:
            return cls()

    done = lingon.jit(lambda x, y: x).lower(1.0, Local()).compile()
    with pytest.raises(ValueError, match="not at the top of a module"):
        done.serialize()
