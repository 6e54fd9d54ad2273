"""The exceptions that tracing and the transformations raise; types and causes are JAX's."""

from __future__ import annotations

from typing import Any

from ...runtime._runtime import JaxRuntimeError as JaxRuntimeError


class JAXTypeError(TypeError):
    """Base of the errors about values that are not known while a function is traced."""


class JAXIndexError(IndexError):
    """Base of the errors about indices that are not known while a function is traced."""


class ConcretizationTypeError(JAXTypeError):
    """A traced value was used where a concrete one is needed."""

    def __init__(self, tracer: Any, context: str = ""):
        what = "Abstract tracer value encountered where concrete value is expected: "
        super().__init__(f"{what}{describe(tracer)}\n{context}{origin(tracer)}")


def traced_shape(tracer: Any, dims: tuple[Any, ...]) -> TypeError:
    """The error where a dimension of a shape is a traced value."""
    return TypeError(
        f"Shapes must be 1D sequences of concrete values of integer type, got {dims}.\n"
        "If using `jit`, mark the argument static with static_argnums/static_argnames, or apply "
        f"`jit` to smaller functions.{origin(tracer)}"
    )


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced value was used in `if`, `while`, `and`, `or`, `not` or `bool()`."""

    def __init__(self, tracer: Any):
        JAXTypeError.__init__(
            self,
            f"Attempted boolean conversion of {describe(tracer)}.{origin(tracer)}\n"
            "A Python branch needs the value while the function is still being traced. Use "
            "jnp.where or lax.cond for a choice, lax.while_loop for a loop, or mark the argument "
            "static with static_argnums/static_argnames.",
        )


class TracerArrayConversionError(JAXTypeError):
    """A traced value was converted to a NumPy array."""

    def __init__(self, tracer: Any):
        super().__init__(
            "The numpy.ndarray conversion method __array__() was called on "
            f"{describe(tracer)}{origin(tracer)}\n"
            "Use the functions of jax.numpy instead of numpy's inside transformed functions, or "
            "make the value static."
        )


class TracerIntegerConversionError(JAXTypeError):
    """A traced value was used as a Python integer, for example as a list index."""

    def __init__(self, tracer: Any):
        super().__init__(
            f"The __index__() method was called on {describe(tracer)}{origin(tracer)}\n"
            "To index a NumPy array or a list with a traced value, make it a jax array first; "
            "to use the value as a size, make it static with static_argnums/static_argnames."
        )


class NonConcreteBooleanIndexError(JAXIndexError):
    """A boolean mask that is traced selects a number of elements that is not known."""

    def __init__(self, tracer: Any):
        super().__init__(
            f"Array boolean indices must be concrete; got {describe(tracer)}{origin(tracer)}\n"
            "Use jnp.where(mask, x, y), or jnp.nonzero with its size argument."
        )


class UnexpectedTracerError(JAXTypeError):
    """A traced value was used outside the function in which it was traced."""

    def __init__(self, message: str):
        super().__init__(message)


class KeyReuseError(RuntimeError):
    """A PRNG key was consumed twice."""


def leaked(tracer: Any) -> UnexpectedTracerError:
    """The error for a tracer that outlived its trace."""
    made = tracer._made_at()
    return UnexpectedTracerError(
        "Encountered an unexpected tracer. A transformed function had a side effect that let an "
        f"intermediate value, {describe(tracer)}, escape from the function in which it was "
        f"traced{origin(tracer, '')}\n"
        + (f"The value was created at {made}.\n" if made else "")
        + "Transformed functions must return what they compute; they cannot save intermediate "
        "values in global or nonlocal state, nor use values that another function's trace saved "
        "there."
    )


def describe(x: Any) -> str:
    from .avals import ShapedArray

    aval = getattr(x, "aval", None)
    if isinstance(aval, ShapedArray):
        return f"traced array with shape {aval.str_short(long=True)}"
    return f"traced value {aval if aval is not None else x!r}"


def origin(tracer: Any, lead: str = "\nThe error occurred") -> str:
    """Where the tracer's function is, and which argument it depends on."""
    text = tracer._origin_message()
    if not text:
        return ""
    return f"{lead} while tracing the function {text}" if lead else f": {text}"
