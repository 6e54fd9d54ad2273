"""Compiled programs of several devices: ahead of time, and what they say about themselves."""

from __future__ import annotations

import re

from on_devices import run


def test_ahead_of_time() -> None:
    out = run(
        """
        lowered = jax.pmap(lambda v: lax.psum(v, "i"), "i").lower(jnp.ones(4))
        print("all_reduce" in lowered.as_text())
        compiled = lowered.compile()
        print(np.asarray(compiled(jnp.arange(4.0))).tolist())
        print(compiled.input_shardings[0][0].spec, compiled.output_shardings.spec)
        """
    ).splitlines()
    assert out == ["True", "[6.0, 6.0, 6.0, 6.0]", "P('i',) P('i',)"]


def test_what_is_computed_whole_and_why() -> None:
    out = run(
        """
        mesh = Mesh(jax.devices()[:4], "i")
        cut = NamedSharding(mesh, P("i"))
        parts = lambda v: jnp.sin(v).sum(1) * 2
        whole = lambda v: jnp.sort(v, 0) + lax.fori_loop(0, 2, lambda i, c: c + 1, v)
        for f in (parts, whole):
            lowered = jax.jit(f, in_shardings=cut).lower(jnp.ones((8, 3)))
            for remark in lowered.why():
                if remark.kind == "not partitioned":
                    print(remark)
            print(lowered.compile().output_shardings.spec)
        """
    ).splitlines()
    assert out[0] == "P('i',)"
    assert re.search(r":\d+: not partitioned: the operands of sort are gathered: ", out[1])
    assert out[1].endswith("along dimension 0, which is cut [partition]")
    assert "are gathered: no rule says" in out[2]
    assert out[3] == "P()"


def test_a_device_reads_only_its_part() -> None:
    """The local program of a batch-like computation has parts for arguments and no collectives."""
    out = run(
        """
        cut = NamedSharding(Mesh(jax.devices(), "i"), P("i"))
        f = jax.jit(lambda v, w: jax.nn.relu(v @ w), in_shardings=(cut, None))
        text = f.lower(jnp.ones((64, 16)), jnp.ones((16, 4))).as_text()
        print("memref<8x16xf32>" in text, "memref<8x4xf32>" in text)
        print(any(k in text for k in ("all_gather", "all_reduce", "permute")))
        """
    )
    assert out == "True True\nFalse\n"
