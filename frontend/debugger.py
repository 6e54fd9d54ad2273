"""debug.breakpoint: a debugger in the terminal, on the values of a running program."""

from __future__ import annotations

import cmd
import dataclasses
import inspect
import pprint
import sys
import traceback
from collections.abc import Callable
from typing import Any

from .core import pytree
from .core.source_info import is_user_code
from .core.trace import Tracer
from .debug import debug_callback

CONTEXT = 5  # lines that `list` shows before and after the current one


class _Unavailable:
    """Stands for a traced value whose function has ended."""

    def __repr__(self) -> str:
        return "<value of a function that has ended>"


@dataclasses.dataclass
class Frame:
    """A frame of the user's code at the breakpoint: its place and its variables."""

    file: str
    line: int
    name: str
    source: list[str]  # of the function, or of the file where that is unknown
    first_line: int
    variables: dict[str, Any]
    globals: dict[str, Any]
    arguments: tuple[str, ...]

    @staticmethod
    def of(frame: Any) -> Frame:
        try:
            if frame.f_code.co_name == "<module>":
                lines, start = inspect.findsource(frame)[0], 0
            else:
                lines, start = inspect.getsourcelines(frame)
        except (OSError, TypeError):
            lines, start = [], 0
        code = frame.f_code
        count = code.co_argcount + code.co_kwonlyargcount
        count += bool(code.co_flags & inspect.CO_VARARGS)
        count += bool(code.co_flags & inspect.CO_VARKEYWORDS)
        is_module = frame.f_locals is frame.f_globals
        return Frame(
            file=code.co_filename,
            line=frame.f_lineno,
            name=code.co_name,
            source=[line.rstrip("\n") for line in lines],
            first_line=max(start, 1),
            variables={} if is_module else dict(frame.f_locals),
            globals=frame.f_globals,
            arguments=code.co_varnames[:count],
        )

    def text(self) -> list[str]:
        """The source around the current line, which is marked."""
        at = self.line - self.first_line
        out = []
        for i in range(max(0, at - CONTEXT), min(len(self.source), at + CONTEXT + 1)):
            out.append(("->  " if i == at else "    ") + self.source[i])
        return out


def user_frames(limit: int | None, filtered: bool) -> list[Frame]:
    """The frames that are running, innermost first."""
    out = []
    frame: Any = sys._getframe(2)
    while frame is not None and (limit is None or len(out) < limit):
        if not filtered or is_user_code(frame.f_code):
            out.append(Frame.of(frame))
        frame = frame.f_back
    return out


class Terminal(cmd.Cmd):
    """Reads commands and shows what they ask for."""

    prompt = "(jdb) "

    def __init__(self, frames: list[Frame], stdin: Any = None, stdout: Any = None):
        super().__init__(stdin=stdin, stdout=stdout)
        self.use_rawinput = stdin is None and sys.stdin.isatty()
        self.frames, self.index = frames, 0

    def say(self, text: str) -> None:
        print(text, file=self.stdout)

    def run(self) -> None:
        self.say("Entering jdb:")
        self.stdout.flush()
        self.cmdloop()

    @property
    def frame(self) -> Frame:
        return self.frames[self.index]

    def _value(self, text: str) -> tuple[bool, Any]:
        try:
            # one scope, so that comprehensions see the variables, too
            return True, eval(text, {**self.frame.globals, **self.frame.variables})
        except Exception as e:
            self.say("*** " + traceback.format_exception_only(e)[-1].strip())
            return False, None

    def _show(self) -> None:
        self.say(f"> {self.frame.file}({self.frame.line})")
        for line in self.frame.text():
            self.say(line)

    def do_p(self, arg: str) -> None:
        """p expression
        Evaluates and prints the value of an expression"""
        ok, value = self._value(arg)
        if ok:
            self.say(repr(value))

    def do_pp(self, arg: str) -> None:
        """pp expression
        Evaluates and pretty-prints the value of an expression"""
        ok, value = self._value(arg)
        if ok:
            self.say(pprint.pformat(value))

    def do_args(self, arg: str) -> None:
        """a(rgs)
        Print the arguments of the current frame and their values."""
        for name in self.frame.arguments:
            if name in self.frame.variables:
                self.say(f"{name} = {self.frame.variables[name]!r}")

    do_a = do_args

    def do_up(self, arg: str) -> None:
        """u(p)
        Move up a stack frame."""
        if self.index == len(self.frames) - 1:
            self.say("At topmost frame.")
        else:
            self.index += 1
        self._show()

    do_u = do_up

    def do_down(self, arg: str) -> None:
        """d(own)
        Move down a stack frame."""
        if self.index == 0:
            self.say("At bottommost frame.")
        else:
            self.index -= 1
        self._show()

    do_d = do_down

    def do_list(self, arg: str) -> None:
        """l(ist)
        List source code for the current file."""
        self._show()

    do_l = do_list

    def do_where(self, arg: str) -> None:
        """w(here), bt
        Print the stack, the innermost frame last."""
        self.say("Traceback:")
        for frame in reversed(self.frames):
            self.say(f'  File "{frame.file}", line {frame.line}')
            at = frame.line - frame.first_line
            if 0 <= at < len(frame.source):
                self.say(f"    {frame.source[at].lstrip()}")

    do_w = do_bt = do_where

    def do_continue(self, arg: str) -> bool:
        """c(ont(inue))
        Continue the program."""
        return True

    do_c = do_cont = do_continue

    def do_quit(self, arg: str) -> None:
        """q(uit)
        (exit)
        Quit the debugger. The program is given an exit command."""
        sys.exit(0)

    do_q = do_exit = do_EOF = do_quit

    def default(self, line: str) -> None:
        self.do_p(line)

    def emptyline(self) -> bool:
        return False


def _frames_as_values(frames: list[Frame]) -> tuple[list[Any], Callable[[Any], list[Frame]]]:
    """The traced values among the frames' variables, and a function that puts values there."""
    values: list[Any] = []
    places: dict[int, int] = {}
    rebuild: list[dict[str, Callable[[Any], Any]]] = []
    for frame in frames:
        makers = {}
        for name, x in frame.variables.items():
            makers[name] = _maker(x, values, places)
        rebuild.append(makers)

    def concrete(arrays: Any) -> list[Frame]:
        return [
            dataclasses.replace(f, variables={k: make(arrays) for k, make in makers.items()})
            for f, makers in zip(frames, rebuild, strict=True)
        ]

    return values, concrete


def _maker(x: Any, values: list[Any], places: dict[int, int]) -> Callable[[Any], Any]:
    try:
        leaves, tree = pytree.tree_flatten(x)
    except Exception:
        # A variable that says that it is a pytree and is none; it is shown as it is.
        return lambda arrays: x
    if not any(isinstance(leaf, Tracer) for leaf in leaves):
        return lambda arrays: x
    picks: list[tuple[bool, Any]] = []
    for leaf in leaves:
        if not isinstance(leaf, Tracer):
            picks.append((False, leaf))
        elif not leaf._trace.alive:
            picks.append((False, _Unavailable()))
        else:
            if id(leaf) not in places:
                places[id(leaf)] = len(values)
                values.append(leaf)
            picks.append((True, places[id(leaf)]))

    def make(arrays: Any) -> Any:
        return pytree.tree_unflatten(tree, [arrays[p] if dynamic else p for dynamic, p in picks])

    return make


def breakpoint(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: Any = None,
    **kwargs: Any,
) -> Any:
    """Stop the program here, when it runs, in a debugger that knows the variables' values.

    Commands: p and pp print an expression, a the arguments, l lists the source, u and d go up and
    down the frames, bt shows them all, c continues, q quits (SystemExit), help.

    Args:
      backend: "cli" or None.
      filter_frames: leave out lingon's own frames.
      num_frames: how many frames to keep, from the innermost.
      ordered: as for `debug.callback`.
      token: returned as it is.
      stdin, stdout: files to read the commands from and to write to.

    The variables are those of the time when the function was traced; traced values among them,
    also in pytrees, are replaced by what they are when the program runs.
    """
    if backend not in (None, "cli"):
        raise ValueError(f"breakpoint: unknown backend {backend!r}; there is 'cli'")
    unknown = set(kwargs) - {"stdin", "stdout"}
    if unknown:
        raise TypeError(f"breakpoint got unexpected keyword arguments {sorted(unknown)}")
    values, concrete = _frames_as_values(user_frames(num_frames, filter_frames))

    def run(*arrays: Any) -> None:
        Terminal(concrete(arrays), **kwargs).run()

    debug_callback(run, *values, ordered=ordered)
    return token


__all__ = ["breakpoint"]
