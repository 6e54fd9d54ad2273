"""`python -m lingon script.py [args]` or `python -m lingon -m module [args]`: run a JAX program."""

from __future__ import annotations

import os
import runpy
import sys
from collections.abc import Callable
from typing import Any

from lingon.install import install_as_jax

USAGE = "usage: python -m lingon [-m MODULE | SCRIPT.py] [ARGS...]"


def run(runner: Callable[..., Any], *args: Any, **kwargs: Any) -> None:
    """Call a function of runpy; errors of the program are shown as Python shows them."""
    try:
        runner(*args, **kwargs)
    except Exception as error:
        tb = error.__traceback__
        while tb and tb.tb_frame.f_code.co_filename in (__file__, runner.__code__.co_filename):
            tb = tb.tb_next
        sys.excepthook(type(error), error.with_traceback(tb), tb)
        sys.exit(1)


def main() -> None:
    """Run the program that the command line names with `import jax` meaning lingon."""
    args = sys.argv[1:]
    if not args or args[0] in ("-h", "--help"):
        print(USAGE)
        sys.exit(0 if args else 2)
    install_as_jax()
    if args[0] == "-m":
        if len(args) < 2:
            sys.exit(f"{USAGE}\nlingon: -m needs a module name")
        sys.argv = args[1:]
        sys.path.insert(0, os.getcwd())
        run(runpy.run_module, args[1], run_name="__main__", alter_sys=True)
        return
    script = args[0]
    if not os.path.exists(script):
        sys.exit(f"lingon: cannot open {script!r}: no such file")
    sys.argv = args
    sys.path[0] = os.path.dirname(os.path.abspath(script))
    run(runpy.run_path, os.path.abspath(script), run_name="__main__")


if __name__ == "__main__":
    main()
