"""docs/configuration.md lists the options and variables that exist, and what of them is used.

Run as a program, this file writes the two tables of options anew.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import lingon
from lingon.frontend.core import config

ROOT = Path(__file__).resolve().parents[2]
FILE = ROOT / "docs" / "configuration.md"
PAGE = FILE.read_text()
LAYERS = ("lingon", "frontend", "lowering", "dialect", "runtime")


def sources(*suffixes: str) -> dict[Path, str]:
    """Text of every source file of the product."""
    return {
        path: path.read_text()
        for layer in LAYERS
        for path in sorted((ROOT / layer).rglob("*"))
        if path.suffix in suffixes and "__pycache__" not in path.parts
    }


def manager(option: config.Option) -> str:
    """The name under which `lingon` has the option's context manager."""
    names = [n for n in lingon.__all__ if getattr(lingon, n) is option]
    return f"`{names[0]}`" if names else ""


def row(option: config.Option) -> str:
    return f"| `{option.name}` | `{option.default!r}` | {manager(option)} | {option.help} |"


def used(option: config.Option) -> bool:
    """Whether any code reads the value of the option."""
    (variable,) = [n for n, v in vars(config).items() if v is option]
    for path, text in sources(".py").items():
        here = path.name == "config.py" and path.parent.name == "core"
        prefix = r"\b" if here else r"config\."
        if re.search(rf"{prefix}{variable}\.(value|global_value)\b", text):
            return True
    return False


def section(title: str) -> str:
    return PAGE.split(f"## {title}\n")[1].split("\n## ")[0]


def rows(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("| `")]


def test_options_that_are_used() -> None:
    expected = [row(o) for o in config._options.values() if used(o)]
    assert rows(section("Options")) == expected, "\n".join(expected)


def test_options_without_effect() -> None:
    expected = [row(o) for o in config._options.values() if not used(o)]
    assert rows(section("Options without effect so far")) == expected, "\n".join(expected)


def test_environment_variables() -> None:
    read = set()
    for path, text in sources(".py").items():
        for node in ast.walk(ast.parse(text, str(path))):
            if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
                name = node.args[0].value
                if isinstance(name, str) and re.fullmatch(r"(LINGON|XDG)_[A-Z_]+", name):
                    read.add(name)
    for text in sources(".cpp", ".h").values():
        read |= set(re.findall(r'getenv\("(\w+)"\)', text))
    listed = [re.findall(r"`(\w+)`", line)[0] for line in rows(section("Environment variables"))]
    assert len(listed) == len(set(listed))
    assert set(listed) == read


def test_the_code_blocks_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    assert blocks
    saved = lingon.config.jax_enable_x64
    try:
        exec("\n".join(blocks), {"__name__": "configuration"})
    finally:
        lingon.config.update("jax_enable_x64", saved)


@pytest.fixture
def restored():
    """Puts back the options of the process."""
    saved = {name: option.global_value for name, option in config._options.items()}
    yield
    for name, value in saved.items():
        if config._options[name].global_value != value:
            lingon.config.update(name, value)


def test_options_of_the_compile_cache(restored, tmp_path) -> None:
    def entries() -> int:
        return len(list(tmp_path.glob("*.lgo")))

    def f(x):
        return x * 3 + 1

    lingon.config.update("jax_compilation_cache_dir", str(tmp_path))
    assert lingon.jit(f)(2.0) == 7.0
    assert entries() == 1
    lingon.config.update("jax_enable_compilation_cache", False)
    assert lingon.jit(lambda x: f(x) * 2)(2.0) == 14.0
    assert entries() == 1
    lingon.config.update("jax_enable_compilation_cache", True)
    lingon.config.update("jax_compilation_cache_max_size", 0)
    assert lingon.jit(lambda x: f(x) * 3)(2.0) == 21.0
    assert entries() == 1  # larger than the bound: not kept


def write_tables() -> None:
    text = PAGE
    for title, wanted in (("Options", True), ("Options without effect so far", False)):
        old = section(title)
        table = [row(o) for o in config._options.values() if used(o) == wanted]
        kept = [line for line in old.splitlines() if line not in rows(old)]
        at = next(i for i, line in enumerate(kept) if line.startswith("|---")) + 1
        text = text.replace(old, "\n".join([*kept[:at], *table, *kept[at:]]) + "\n")
    FILE.write_text(text)


if __name__ == "__main__":
    write_tables()
