"""What programs that look into jaxprs use: avals, tracers, jaxprs and their evaluation."""

from lingon.frontend.api import ensure_compile_time_eval
from lingon.frontend.core.avals import AbstractToken, AbstractValue, ShapedArray, get_aval
from lingon.frontend.core.interpreter import eval_jaxpr, jaxpr_as_fun
from lingon.frontend.core.jaxpr import (
    Atom,
    ClosedJaxpr,
    DropVar,
    Jaxpr,
    JaxprEqn,
    JaxprTypeError,
    Literal,
    Var,
    check_jaxpr,
)
from lingon.frontend.core.primitive import Primitive
from lingon.frontend.core.trace import Trace, Tracer

__all__ = [
    "AbstractToken",
    "AbstractValue",
    "Atom",
    "ClosedJaxpr",
    "DropVar",
    "Jaxpr",
    "JaxprEqn",
    "JaxprTypeError",
    "Literal",
    "Primitive",
    "ShapedArray",
    "Trace",
    "Tracer",
    "Var",
    "check_jaxpr",
    "ensure_compile_time_eval",
    "eval_jaxpr",
    "get_aval",
    "jaxpr_as_fun",
]
