"""Looking at shardings: what is told, and as text."""

from __future__ import annotations

import json
from pathlib import Path

import on_devices
from two_libraries import check


def test_inspection(tmp_path: Path) -> None:
    check(Path(__file__).with_name("inspection_programs.py"), tmp_path, {})


TABLES = """
import contextlib, io, json
grid = Mesh(np.array(jax.devices()).reshape(4, 2), ("x", "y"))

def table(shape, spec, **options):
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        jax.debug.visualize_sharding(shape, NamedSharding(grid, spec), **options)
    return out.getvalue()

"""


def test_tables() -> None:
    """The tables are those that jax prints with rich, without colours."""
    code = """
    tables = [
        table((8, 8), P("x", "y")),
        table([8, 8], P("y", "x"), use_color=False),
        table((8, 8), P("x"), scale=0.5, color_map=None),
        table((8,), P("x")),
        table((800,), P("y"), min_width=20),
        table((16, 8), P(), scale=0.3),
        table((8, 800), P("x", "y")),
        table((8, 8), P(None, "x"), max_width=12, scale=0.1),
    ]
    print(json.dumps(tables))
    """
    tables = json.loads(on_devices.run(TABLES + _plain(code)))
    want = [
        """
        ┌──────────┬──────────┐
        │  CPU 0   │  CPU 1   │
        ├──────────┼──────────┤
        │  CPU 2   │  CPU 3   │
        ├──────────┼──────────┤
        │  CPU 4   │  CPU 5   │
        ├──────────┼──────────┤
        │  CPU 6   │  CPU 7   │
        └──────────┴──────────┘
        """,
        """
        ┌───────┬───────┬───────┬───────┐
        │       │       │       │       │
        │ CPU 0 │ CPU 2 │ CPU 4 │ CPU 6 │
        │       │       │       │       │
        │       │       │       │       │
        ├───────┼───────┼───────┼───────┤
        │       │       │       │       │
        │ CPU 1 │ CPU 3 │ CPU 5 │ CPU 7 │
        │       │       │       │       │
        │       │       │       │       │
        └───────┴───────┴───────┴───────┘
        """,
        """
        ┌──────────┐
        │ CPU 0,1  │
        ├──────────┤
        │ CPU 2,3  │
        ├──────────┤
        │ CPU 4,5  │
        ├──────────┤
        │ CPU 6,7  │
        └──────────┘
        """,
        """
        ┌───────┬───────┬───────┬───────┐
        │CPU 0,1│CPU 2,3│CPU 4,5│CPU 6,7│
        └───────┴───────┴───────┴───────┘
        """,
        """
        ┌──────────────────┬──────────────────┐
        │   CPU 0,2,4,6    │   CPU 1,3,5,7    │
        └──────────────────┴──────────────────┘
        """,
        """
        ┌───────────────────┐
        │CPU 0,1,2,3,4,5,6,7│
        │                   │
        └───────────────────┘
        """,
    ]
    for got, text in zip(tables, want, strict=False):
        lines = [line.strip() for line in text.strip().split("\n")]
        assert got.strip().split("\n") == lines, got
    # a wide table is cut at 80 characters, a narrow one is as wide as its labels
    assert len(tables[6].split("\n")[0]) <= 80 and "CPU 7" in tables[6]
    assert "│CPU 0,1│CPU 2,3│CPU 4,5│CPU 6,7│" in tables[7]


def _plain(code: str) -> str:
    return "\n".join(line[4:] for line in code.split("\n"))


def test_arrays_and_errors() -> None:
    out = on_devices.run(
        TABLES
        + _plain("""
    x = jnp.ones((8, 8))
    cut = jax.device_put(x, NamedSharding(grid, P("x", "y")))
    jax.debug.visualize_array_sharding(cut)

    @jax.jit
    def f(x):
        jax.debug.visualize_array_sharding(x, scale=0.5)
        return x

    f(cut), f(cut), f(x), f(x)
    for bad in (jnp.ones(()), jnp.ones((2, 2, 2))):
        assert "1 and 2 dimensions" in str(raised(jax.debug.visualize_array_sharding, bad))
        assert "1 and 2 dimensions" in str(raised(jax.jit(jax.debug.visualize_array_sharding), bad))
    error = raised(jax.debug.visualize_sharding, (7, 8), cut.sharding)
    assert isinstance(error, ValueError) and "dimension size is 7" in str(error)

    def fails(s):
        raise KeyError("callback")

    # in a branch and a loop of one device, and under transformations
    told = []
    def g(x):
        jax.debug.inspect_array_sharding(x, callback=told.append)
        return x.sum()
    for program in (jax.grad(g), jax.vmap(g), jax.checkpoint(g), jax.jit(jax.grad(g)),
                    jax.jit(lambda x: lax.cond(x[0, 0] > 0, g, lambda x: 0.0, x)),
                    jax.jit(lambda x: lax.scan(lambda c, r: (c + g(r), None), 0.0, x)[0])):
        told.clear()
        program(x)
        assert told and {type(s).__name__ for s in told} == {"SingleDeviceSharding"}, told
    told.clear()
    jax.jit(lambda x: lax.scan(lambda c, r: (c + g(r), None), 0.0, x)[0])(cut)
    assert [s.spec for s in told] == [P()], told
    error = raised(jax.jit(lambda x: jax.debug.inspect_array_sharding(x, callback=fails)), x)
    assert isinstance(error, KeyError), error
    """)
    )
    # once for the array, once for each compiled program
    assert out.count("┌") == 3 and out.count("┌──────────┬") == 1
