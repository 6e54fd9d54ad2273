"""Traces and tracers: what `Primitive.bind` does at this moment, in this thread.

Exactly one trace is current in each thread. The evaluation trace runs primitives on arrays; each
transformation makes a trace of its own whose parent is the trace that was current before, and a
rule of the transformation runs with the parent current. Values that belong to another trace are
constants to a trace.
"""

from __future__ import annotations

import gc
import threading
import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ...runtime import set_tracing
from . import errors
from .avals import AbstractValue, aval_of_type, get_aval

if TYPE_CHECKING:
    from .primitive import Primitive


class Trace:
    """Base of all traces."""

    alive = True

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        """Apply the primitive to arguments of which some may be tracers of this trace."""
        raise NotImplementedError


class Tracer:
    """A value while a function is transformed. Array operators and methods are attached to it."""

    __slots__ = ("__weakref__", "_trace")
    __array_priority__ = 1000
    _trace: Trace

    @property
    def aval(self) -> Any:
        raise NotImplementedError

    @property
    def dtype(self) -> Any:
        return self.aval.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def ndim(self) -> int:
        return len(self.aval.shape)

    @property
    def size(self) -> int:
        return self.aval.size

    @property
    def weak_type(self) -> bool:
        return self.aval.weak_type

    def _concrete(self) -> Any:
        """The concrete value under the tracer if it is known, else None."""
        return None

    def _origin_message(self) -> str:
        return ""

    def _made_at(self) -> str:
        return ""

    def _if_concrete(self, error: Any) -> Any:
        value = self._concrete()
        if value is None:
            raise error
        return value

    def __bool__(self) -> bool:
        value = self._concrete()
        if value is None:
            raise errors.TracerBoolConversionError(self)
        return bool(value)

    def _no_python(self, kind: type) -> errors.ConcretizationTypeError:
        return errors.ConcretizationTypeError(
            self,
            f"The problem arose with the `{kind.__name__}` function. If trying to convert the "
            f"data type of a value, try using `x.astype({kind.__name__})` or `jnp.array(x, "
            f"{kind.__name__})` instead.",
        )

    def __int__(self) -> int:
        return int(self._if_concrete(self._no_python(int)))

    # A value that is differentiated is known, but what is computed from its Python float or its
    # NumPy array would be missing from the derivative without a word.

    def __float__(self) -> float:
        raise self._no_python(float)

    def __complex__(self) -> complex:
        raise self._no_python(complex)

    def __index__(self) -> int:
        value = self._concrete()
        if value is None:
            raise errors.TracerIntegerConversionError(self)
        return value.__index__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        raise errors.TracerArrayConversionError(self)

    def __hash__(self) -> int:
        raise TypeError(f"unhashable type: {type(self)}")

    def tolist(self) -> Any:
        raise errors.ConcretizationTypeError(
            self, "The tolist() method was called on a traced array."
        )

    def item(self, *args: Any) -> Any:
        value = self._concrete()
        if value is None:
            raise errors.ConcretizationTypeError(
                self, "The item() method was called on a traced array."
            )
        return value.item(*args)

    def __repr__(self) -> str:
        aval = self.aval
        text = aval.str_short() if isinstance(aval, AbstractValue) else str(aval)
        return f"{type(self).__name__}<{text}>"

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self


def _tracer_aval(x: Tracer) -> AbstractValue:
    return x.aval


aval_of_type[Tracer] = _tracer_aval


class EvalTrace(Trace):
    """Runs primitives at once."""

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        for a in args:
            if isinstance(a, Tracer):
                raise errors.leaked(a)
        return primitive.evaluate(args, params)


eval_trace = EvalTrace()


class KnownTrace(Trace):
    """Runs primitives on known values at once; those on traced values go to the trace `outer`."""

    parent = eval_trace

    def __init__(self, outer: Trace):
        self.outer = outer

    def process_primitive(self, primitive: Primitive, args: Sequence[Any], params: dict) -> Any:
        for a in args:
            if isinstance(a, Tracer):
                with set_trace(self.outer):
                    return primitive.bind(*args, **params)
        return primitive.evaluate(args, params)


def check_leaks(trace: weakref.ref) -> None:
    """Raise UnexpectedTracerError if a trace that has ended is still referred to."""
    if trace() is None:
        return
    gc.collect()
    left = trace()
    if left is None:
        return
    tracers = [t for t in gc.get_referrers(left) if isinstance(t, Tracer)]
    lines = []
    for t in tracers:
        holders = sorted({type(r).__name__ for r in gc.get_referrers(t) if r is not tracers})
        lines.append(
            f"  {t!r}"
            + errors.origin(t, "")
            + (f"; kept by objects of type {', '.join(holders)}" if holders else "")
        )
    raise errors.UnexpectedTracerError(
        f"Leaked trace {type(left).__name__}. Leaked tracer(s):\n" + "\n".join(lines)
    )


class AxisEnv(dict):
    """Named axes in scope: name -> size."""


class _State(threading.local):
    def __init__(self) -> None:
        self.trace: Trace = eval_trace
        self.axis_env: tuple[tuple[Any, int], ...] = ()
        # Those of the named axes that devices are on.
        self.manual_axes: frozenset = frozenset()
        # Whether avals say along which of them values vary.
        self.check_vma = False


state = _State()


class _Varying:
    """An entry of the axes in scope that names none: avals say where values vary. It makes programs
    that are remembered by the axes in scope differ."""

    def __repr__(self) -> str:
        return "<varying>"


VARYING = _Varying()

#: Makes the operands of a primitive vary along the same axes; set by primitives/varying.py.
standardize: Any = None


def current_trace() -> Trace:
    """The trace that is current in this thread."""
    return state.trace


class set_trace:
    """Context manager that makes a trace current."""

    __slots__ = ("saved", "trace")

    def __init__(self, trace: Trace):
        self.trace = trace

    def __enter__(self) -> Trace:
        self.saved = state.trace
        state.trace = self.trace
        set_tracing(self.trace is not eval_trace)
        return self.trace

    def __exit__(self, *exc: Any) -> None:
        state.trace = self.saved
        set_tracing(self.saved is not eval_trace)


class extend_axis_env:
    """Context manager that brings named axes into scope."""

    __slots__ = ("axes", "saved")

    def __init__(self, axes: Sequence[tuple[Any, int]]):
        self.axes = tuple(axes)

    def __enter__(self) -> None:
        self.saved = state.axis_env
        state.axis_env = self.saved + self.axes

    def __exit__(self, *exc: Any) -> None:
        state.axis_env = self.saved


def axis_size(name: Any) -> int:
    """Size of a named axis in scope. Raises NameError for an unbound name."""
    for n, size in reversed(state.axis_env):
        if n == name:
            return size
    bound = ", ".join(repr(n) for n, _ in state.axis_env if n is not VARYING) or "none"
    raise NameError(f"unbound axis name: {name}. The axis names in scope here: {bound}.")


def aval_of(x: Any) -> Any:
    """Alias of `get_aval`."""
    return get_aval(x)
