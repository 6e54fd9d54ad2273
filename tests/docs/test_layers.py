"""What holds for the whole source tree: who may import whom, sizes of files, names, wording."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from lingon.frontend import primitives
from lingon.frontend.core.primitive import registry

assert primitives  # declares them

ROOT = Path(__file__).resolve().parents[2]

# Each may import itself and what follows it.
LAYERS = ("lingon", "frontend", "lowering", "dialect", "runtime")

# Likewise inside frontend, by folder or file.
FRONTEND = (
    "api", "multihost", "distributed", "sharded_jit", "pmap", "shard_map", "placement", "debugger", "debug", "sharding_text", "buffer_callback", "callbacks", "checkify", "nn", "random", "ops", "jacobians", "custom_batching",
    "numpy", "lax", "plans", "saved_residuals", "checkpoint_policies", "primitives", "transforms", "tree_util", "core",
)  # fmt: skip

# file -> (what it imports from above, why)
UPWARD = {
    "lowering/dump.py": ("lingon", "mlir-dump is a program: it traces a user's function"),
    "frontend/numpy/array_methods.py": (
        "placement",
        "Array.to_device is device_put; found when called",
    ),
}

MAX_LINES = 750
# file -> why it is longer
LONG = {
    "frontend/numpy/creation.py": "many small functions of one kind",
    "frontend/transforms/custom_rules.py": "custom_jvp and custom_vjp share their machinery",
    "lowering/passes/fuse.cpp": "one pass, one file",
    "lowering/passes/loops.cpp": "one pass, one file",
}

# Strings in frontend/transforms that are names of primitives of other files, and something else.
OTHER_MEANING = {"transpose": "the kind of rule", "name": "what a function or an axis is called"}


def sources(layer: str) -> list[Path]:
    return [p for p in sorted((ROOT / layer).rglob("*.py")) if "__pycache__" not in p.parts]


def module_parts(path: Path) -> tuple[str, ...]:
    """Dotted name of a file of the source tree, as installed: lingon.frontend.core.avals."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return parts if parts[0] == "lingon" else ("lingon", *parts)


def imports(path: Path) -> Iterator[tuple[str, ...]]:
    """Dotted names that a file imports, of modules or of what is in them."""
    package = module_parts(path)[:-1]
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield tuple(alias.name.split("."))
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            base += tuple(node.module.split(".")) if node.module else ()
            for alias in node.names:
                yield (*base, alias.name)
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            if node.args and isinstance(node.args[0], ast.Constant):
                yield tuple(str(node.args[0].value).split("."))


def layer_of(name: tuple[str, ...]) -> str | None:
    if name[0] != "lingon":
        return None
    return name[1] if len(name) > 1 and name[1] in LAYERS[1:] else "lingon"


@pytest.mark.parametrize("layer", LAYERS)
def test_no_module_imports_upward(layer: str) -> None:
    files = sources(layer)
    assert files
    for path in files:
        above = {layer_of(n) for n in imports(path)} & set(LAYERS[: LAYERS.index(layer)])
        assert above <= allowed_above(path), f"{path} imports from {above}"


def allowed_above(path: Path) -> set[str]:
    return {what for file, (what, _) in UPWARD.items() if path == ROOT / file}


def test_exceptions_are_needed() -> None:
    for file, (what, _) in UPWARD.items():
        names = list(imports(ROOT / file))
        assert any(layer_of(n) == what or n[:3] == ("lingon", "frontend", what) for n in names), (
            file
        )


def test_the_frontend_uses_one_door_to_lowering() -> None:
    users = {
        str(path.relative_to(ROOT))
        for path in sources("frontend")
        if any(layer_of(n) == "lowering" for n in imports(path))
    }
    # the one compiles, the other prints the stages of what was compiled
    assert users == {"frontend/transforms/programs.py", "frontend/transforms/stages.py"}
    for layer in ("lingon", "frontend"):
        for path in sources(layer):
            assert not any(layer_of(n) == "dialect" for n in imports(path)), path


def test_order_inside_the_frontend() -> None:
    found = {p.stem for p in (ROOT / "frontend").iterdir() if p.suffix == ".py" or p.is_dir()}
    assert found - {"__init__", "__pycache__", "README"} == set(FRONTEND)
    for path in sources("frontend"):
        here = module_parts(path)[2]
        if here == "__init__":
            continue
        for name in imports(path):
            if name[:2] == ("lingon", "frontend") and len(name) > 2 and name[2] in FRONTEND:
                if name[2] not in allowed_above(path):
                    assert FRONTEND.index(name[2]) >= FRONTEND.index(here), f"{path}: {name}"


def test_the_product_never_imports_jax() -> None:
    for layer in LAYERS:
        for path in sources(layer):
            found = {n[0] for n in imports(path)} & {"jax", "jaxlib", "llvmlite"}
            assert not found, f"{path} imports {found}"
    code = (
        "import sys, lingon as jax, lingon.numpy as jnp\n"
        "jax.jit(jax.grad(lambda x: jnp.sin(x)))(1.0)\n"
        "print(sorted({'jax', 'jaxlib', 'llvmlite'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300
    )
    assert done.stdout.strip() == "[]"


def tracked() -> list[Path]:
    """Files that belong to the repository: all but caches and what is built."""
    skipped = {"build", "dist", "Output", "__pycache__", "node_modules"}
    out = []
    for path in sorted(ROOT.rglob("*")):
        parts = path.relative_to(ROOT).parts
        hidden = any(p.startswith(".") and p not in (".ci", ".clang-format") for p in parts)
        if path.is_file() and not hidden and not skipped & set(parts):
            out.append(path)
    return out


def test_files_are_short() -> None:
    long = {
        str(p.relative_to(ROOT)): lines
        for p in tracked()
        if p.suffix in (".py", ".cpp", ".h", ".td")
        and (lines := p.read_text().count("\n")) > MAX_LINES
    }
    assert set(long) <= set(LONG), f"longer than {MAX_LINES} lines: {long}"


def declared_in(path: Path) -> set[str]:
    """Names of the primitives that a file declares: string arguments of Primitive(...)."""
    return {
        node.args[0].value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call)
        and ast.unparse(node.func) == "Primitive"
        and node.args
        and isinstance(node.args[0], ast.Constant)
    }


def test_transformations_know_no_operation_by_name() -> None:
    own = {name for path in sources("frontend/transforms") for name in declared_in(path)}
    assert "jit" in own
    others = set(registry) - own
    assert "sin" in others
    for folder in ("frontend/transforms", "lowering/passes"):
        for path in sources(folder):
            strings = {
                node.value
                for node in ast.walk(ast.parse(path.read_text()))
                if isinstance(node, ast.Constant) and isinstance(node.value, str)
            }
            assert not (strings & others) - set(OTHER_MEANING), path
    for path in sorted((ROOT / "lowering" / "passes").glob("*.cpp")):
        strings = set(re.findall(r'"([\w-]+)"', path.read_text()))
        assert not strings & others, path


def test_every_pass_has_a_lit_test_of_its_name() -> None:
    passes = ROOT / "lowering" / "passes"
    names = {p.stem for p in passes.glob("*.cpp")}
    names |= {p.stem for p in passes.glob("*.py")} - {"__init__"}
    assert names
    tests = {p.stem for p in (ROOT / "tests" / "lit" / "passes").iterdir() if p.is_file()}
    assert names <= tests, f"no lit test: {names - tests}"


# The repository speaks of itself alone. The expressions are put together here, so that this file
# does not contain what it forbids.
FORBIDDEN = [
    "".join(parts)
    for parts in (
        (r"\biss", r"ues?\b"),
        (r"\bsess", r"ions?\b"),
        (r"\bage", r"nts?\b"),
        (r"\bwork", r"place\b"),
        (r"\banth", r"ropic\b|\bcla", r"ude\b|\bopen", r"ai\b|\bcopi", r"lot\b|\bchat", r"gpt\b"),
        (r"pypi", r"\.org|python", r"hosted|artif", r"actory"),
        (r"(?<![\w.~-])/(?:wo", r"rk|ro", r"ot|ho", r"me|Us", r"ers)/"),
        (r"\bTO", r"DO\b|\bFIX", r"ME\b|\bXX", r"X\b"),
    )
]
# file -> a word in it that means something else
ALLOWED = {"tests/runtime/conftest.py": 'scope="sess' + 'ion"'}


def test_wording() -> None:
    expression = re.compile("|".join(FORBIDDEN))
    folded = re.compile("|".join(FORBIDDEN[:-1]), re.IGNORECASE)
    seen = 0
    for path in tracked():
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue
        seen += 1
        text = text.replace(ALLOWED.get(str(path.relative_to(ROOT)), "\0"), "")
        for number, line in enumerate(text.splitlines(), 1):
            hit = expression.search(line) or folded.search(line)
            # a name in code, such as a variable called after LLVM's object, is no mention
            if hit and not re.search(rf"\b{hit.group()}\s*[=,)]", line):
                raise AssertionError(f"{path}:{number}: {hit.group()!r} in {line.strip()!r}")
    assert seen > 100
