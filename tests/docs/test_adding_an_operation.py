"""The walk-through of docs/adding_an_operation.md, executed on a copy of the source tree."""

from __future__ import annotations

import importlib
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "adding_an_operation.md").read_text()

# Comes before the import hooks of editable installs, and finds the copy.
HOOK = """
import os
import sys
from importlib.machinery import PathFinder


class Copy:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name == "lingon":
            return PathFinder.find_spec(name, [os.path.dirname(__file__)])
        return None


sys.meta_path.insert(0, Copy)
"""


def blocks() -> list[tuple[str, str]]:
    """(file, code) of the blocks that follow a line "... in `file`:"."""
    found = re.findall(r"[Ii]n `([\w/]+\.py)`:\n\n```python\n(.*?)```", PAGE, re.DOTALL)
    assert len(found) == 8
    return found


def use() -> str:
    return re.search(r"## 6\. Use\n.*?```python\n(.*?)```", PAGE, re.DOTALL).group(1)


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package, of the generated tests and of lit's configuration, with the blocks."""
    top = tmp_path_factory.mktemp("walk_through")
    ignored = shutil.ignore_patterns("__pycache__", "*.so", "*.new")
    package = top / "lingon"
    for layer in ("", "frontend", "lowering", "dialect", "runtime"):
        module = importlib.import_module(f"lingon.{layer}" if layer else "lingon")
        folders = [Path(p) for p in module.__path__]
        target = package / layer
        if layer in ("dialect", "runtime"):
            target.mkdir()
            for folder in folders:
                for file in folder.iterdir():
                    if file.suffix in (".py", ".so", ".dylib"):
                        (target / file.name).symlink_to(file)
            continue
        source = next(f for f in folders if (f / "__init__.py").exists())
        top_only = [] if layer else ["frontend", "lowering", "dialect", "runtime"]
        shutil.copytree(
            source,
            target,
            ignore=lambda folder, names, top_only=top_only: [*ignored(folder, names), *top_only],
        )
    (top / "sitecustomize.py").write_text(HOOK)
    for folder in ("tests/primitives", "tests/lit"):
        shutil.copytree(ROOT / folder, top / folder, ignore=shutil.ignore_patterns("Output"))
    shutil.copy(ROOT / "tests" / "conftest.py", top / "tests")
    for file, code in blocks():
        first = file.split("/")[0]
        path = top / file if first in ("tests", "lingon") else package / file
        new = not path.exists()
        assert new == (first == "tests"), f"{path} exists" if not new else f"{path} does not exist"
        with path.open("a") as f:
            f.write("\n" + code if not new else code)
    return top


def run(tree: Path, *command: str) -> str:
    env = {**os.environ, "PYTHONPATH": str(tree), "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, *command], cwd=tree, env=env, capture_output=True, text=True, timeout=600
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_the_operations_can_be_used(tree: Path) -> None:
    (tree / "use.py").write_text(use())
    printed = run(tree, "use.py")
    assert "softsign_demo a" in printed


def test_the_generated_tests_find_the_primitive(tree: Path) -> None:
    printed = run(
        tree, "-m", "pytest", "-q", "-p", "no:cacheprovider",
        "tests/primitives/test_registry.py", "-k", "softsign_demo",
    )  # fmt: skip
    assert int(re.search(r"(\d+) passed", printed).group(1)) >= 4


def test_the_lit_test(tree: Path) -> None:
    lit = "from lit.main import main; main()"
    printed = run(tree, "-c", lit, "-v", "tests/lit/frontend", "--filter", "softsign_demo")
    assert re.search(r"Passed *: *1\b", printed), printed
