"""How elementwise primitives are declared: dtype and shape rules, references, batching.

Operands of an elementwise primitive have equal shapes, except that a rank-0 operand goes with any
shape, and a dimension of size 1 is repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...runtime import ArrayImpl
from ..core import dtypes, primitive
from ..core.avals import ShapedArray, get_aval
from ..core.primitive import Absent, Primitive
from ..core.rules import Zero

#: All primitives by name, for rules that use primitives declared in other files.
ops = primitive.registry

_tests: dict[str, Callable[[Any], bool]] = {
    "integer": dtypes.is_integer,
    "signedinteger": dtypes.is_signed,
    "floating": dtypes.is_float,
    "complexfloating": dtypes.is_complex,
    "bool": dtypes.is_bool,
    "float32": lambda d: d == np.float32,
    "float64": lambda d: d == np.float64,
    "number": lambda d: dtypes.is_integer(d) or dtypes.is_inexact(d),
    "key": dtypes.is_extended,
}

INEXACT = ("floating", "complexfloating")
NUMBER = ("integer", "floating", "complexfloating")
REAL = ("integer", "floating")
FLOAT = ("floating",)
INT = ("integer",)
LOGICAL = ("integer", "bool")
ORDERED = ("integer", "floating", "bool")
ANY = ("integer", "floating", "complexfloating", "bool", "key")


def accepts(kinds: Sequence[str], dtype: Any) -> bool:
    """Whether a dtype is of one of the named kinds."""
    return any(_tests[k](dtype) for k in kinds)


def check_dtype(name: str, kinds: Sequence[str], dtype: Any, position: int | None = None) -> None:
    """Raise TypeError where `dtype` is not of one of the kinds."""
    if not accepts(kinds, dtype):
        at = "" if position is None else f" at position {position}"
        names = ", ".join(k for k in kinds if k != "key")
        raise TypeError(
            f"{name} does not accept dtype {dtypes.dtype_name(dtype)}{at}. "
            f"Accepted dtypes{at} are subtypes of {names}."
        )


#: lax name -> name of the jnp function that promotes its arguments, for the tip in messages.
promoting = {
    "add": "add", "sub": "subtract", "mul": "multiply", "div": "divide", "rem": "remainder",
    "eq": "equal", "ne": "not_equal", "lt": "less", "le": "less_equal", "gt": "greater",
    "ge": "greater_equal", "max": "maximum", "min": "minimum", "pow": "power", "atan2": "arctan2",
    "and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "nextafter": "nextafter",
    "shift_left": "left_shift", "shift_right_arithmetic": "right_shift",
    "concatenate": "concatenate", "select": "where",
}  # fmt: skip


def check_same_dtypes(name: str, avals: Sequence[Any]) -> None:
    """Raise TypeError where the dtypes differ."""
    first = avals[0].dtype
    for a in avals:
        if a.dtype is not first and a.dtype != first:
            got = ", ".join(dtypes.dtype_name(a.dtype) for a in avals)
            tip = promoting.get(name)
            raise TypeError(
                f"lax.{name} requires arguments to have the same dtypes, got {got}."
                + (
                    f" (Tip: jnp.{tip} is a similar function that does automatic type promotion "
                    "on inputs)."
                    if tip
                    else ""
                )
            )


def elementwise_shape(name: str, avals: Sequence[Any]) -> tuple[int, ...]:
    """Common shape of operands. Raises TypeError where they do not fit together."""
    shape = avals[0].shape
    if all(a.shape == shape for a in avals):
        return shape
    shapes = [a.shape for a in avals if a.shape]
    if not shapes:
        return ()
    ranks = {len(s) for s in shapes}
    if len(ranks) > 1:
        raise TypeError(f"{name}: arrays must have the same number of dimensions, got {ranks}")
    out = []
    for sizes in zip(*shapes, strict=True):
        other = {d for d in sizes if d != 1}
        if len(other) > 1:
            got = ", ".join(str(s) for s in shapes)
            raise TypeError(f"{name} got incompatible shapes for broadcasting: {got}.")
        out.append(other.pop() if other else 1)
    return tuple(out)


def elementwise_abstract(
    name: str,
    kinds: Sequence[Sequence[str]],
    out_dtype: Callable[..., Any] | None = None,
    same: bool = True,
) -> Callable[..., ShapedArray]:
    """The shape and dtype rule of an elementwise primitive.

    `kinds` lists for each operand the accepted kinds of dtypes; `out_dtype(*dtypes)` gives the
    result's dtype (default: the first operand's); the result is weak where all operands are.
    """
    if len(kinds) == 1:
        (only,) = kinds

        def unary(x: ShapedArray, **params: Any) -> ShapedArray:
            check_dtype(name, only, x.dtype)
            return ShapedArray(x.shape, out_dtype(x.dtype) if out_dtype else x.dtype, x.weak_type)

        return unary

    def nary(*avals: ShapedArray, **params: Any) -> ShapedArray:
        for i, (a, k) in enumerate(zip(avals, kinds, strict=True)):
            check_dtype(name, k, a.dtype, i)
        if same:
            check_same_dtypes(name, avals)
        shape = elementwise_shape(name, avals)
        dt = out_dtype(*(a.dtype for a in avals)) if out_dtype else avals[0].dtype
        return ShapedArray(shape, dt, all(a.weak_type for a in avals))

    return nary


# --- references ----------------------------------------------------------------------------

_compute = {
    dtypes.bfloat16: np.dtype(np.float32),
    np.dtype(np.float16): np.dtype(np.float32),
    dtypes.int4: np.dtype(np.int8),
    dtypes.uint4: np.dtype(np.uint8),
    **{t: np.dtype(np.float32) for t in dtypes.float8_types},
}


def compute_dtype(dtype: Any) -> Any:
    """The dtype in which references compute for arrays of `dtype`."""
    return _compute.get(dtype, dtype)


def widened(x: np.ndarray) -> np.ndarray:
    """`x` in the dtype in which references compute."""
    dt: Any = _compute.get(x.dtype)
    return x if dt is None else x.astype(dt)


def reference(f: Callable[..., Any]) -> Callable[..., Any]:
    """The NumPy reference `f`, with 16-bit and narrower floats computed in float32."""

    def run(*args: Any, **params: Any) -> Any:
        for a in args:
            if a.dtype in _compute:
                return f(*[widened(a) for a in args])
        return f(*args)

    run.ufunc = f if isinstance(f, np.ufunc) else None  # type: ignore[attr-defined]
    return run


def elements(x: Any) -> Any:
    """A concrete argument as a NumPy array with one element for each of its elements.

    Elements of extended dtypes become opaque bytes, which can be moved and compared.
    """
    base = getattr(x, "_base_array", None)
    if base is None:
        return np.asarray(x._numpy() if type(x) is ArrayImpl else x)
    aval = get_aval(x)
    a = np.asarray(base._numpy(), order="C")
    size = aval.dtype.itemsize  # type: ignore[attr-defined]
    return a.reshape(*aval.shape, -1).view(np.dtype((np.void, size)))[..., 0]  # type: ignore[attr-defined]


def evaluate_elements(prim: Primitive, args: Sequence[Any], params: dict) -> Any:
    """`evaluate` of primitives that move or compare elements whatever they are."""
    for a in args:
        if type(a) is not ArrayImpl and hasattr(a, "_base_array"):
            break
    else:
        return primitive.default_evaluate(prim, args, params)
    avals = tuple(get_aval(a) for a in args)
    out = prim.abstract_eval(*avals, **params)
    res = prim.reference(*[elements(a) for a in args], **params)
    if prim.multiple_results:
        return [_wrap_elements(r, o) for r, o in zip(res, out, strict=True)]
    return _wrap_elements(res, out)


def _wrap_elements(x: np.ndarray, aval: ShapedArray) -> Any:
    if not dtypes.is_extended(aval.dtype):
        return ArrayImpl.from_numpy(np.asarray(x, dtype=aval.dtype), aval.weak_type)
    dt = aval.dtype
    a = (
        np.atleast_1d(np.asarray(x, order="C"))
        .view(dt.physical_dtype)
        .reshape(*aval.shape, *dt.physical_shape)
    )
    return dt.wrap(ArrayImpl.from_numpy(a))


# --- scalar constants and broadcasting in rules ---------------------------------------------

_python_type = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


def const(x: Any, value: Any) -> Any:
    """A scalar constant of the dtype (and weak type) of `x`."""
    aval: Any = x if isinstance(x, ShapedArray) else get_aval(x)
    dt = aval.dtype
    if aval.weak_type and dt.kind in _python_type:
        t = _python_type[dt.kind]
        if dtypes.python_scalar_dtype(t) == dt:
            return t(value)
    return np.asarray(value, dtype=dt)


def has_no_tangent(t: Any) -> bool:
    """Whether a tangent is the symbolic zero of an integer or boolean value."""
    return type(t) is Zero and getattr(t.aval, "dtype", None) == dtypes.float0


# --- batching ------------------------------------------------------------------------------


def batch_elementwise(
    primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
) -> Any:
    """Batching of elementwise primitives: the batch axes are aligned, ranks filled with ones."""
    if len(args) == 1:
        return primitive.bind(*args, **params), dims[0]
    shapes = [np.shape(a) for a in args]
    mapped = [(s, d) for s, d in zip(shapes, dims, strict=True) if d is not None]
    if all(m == mapped[0] for m in mapped) and all(
        d is not None or not s for s, d in zip(shapes, dims, strict=True)
    ):
        return primitive.bind(*args, **params), mapped[0][1]
    rank = max(len(s) if d is None else len(s) - 1 for s, d in zip(shapes, dims, strict=True))
    moved = []
    for a, s, d in zip(args, shapes, dims, strict=True):
        if d is not None:
            moved.append(front(a, d))
        elif s:
            moved.append(insert_axis(a, 0))
        else:
            moved.append(a)
    out = [fill_rank(a, rank + 1) if d is not None else a for a, d in zip(moved, dims, strict=True)]
    return primitive.bind(*out, **params), 0


def front(x: Any, dim: int) -> Any:
    """Move the axis `dim` to position 0."""
    if dim == 0:
        return x
    n = len(np.shape(x))
    return ops["transpose"].bind(x, permutation=(dim, *(i for i in range(n) if i != dim)))


def insert_axis(x: Any, position: int) -> Any:
    """A new axis of size 1."""
    s = np.shape(x)
    return ops["broadcast_in_dim"].bind(
        x,
        shape=(*s[:position], 1, *s[position:]),
        broadcast_dimensions=tuple(i for i in range(len(s) + 1) if i != position),
        sharding=None,
    )


def fill_rank(x: Any, rank: int) -> Any:
    """Add axes of size 1 at the end up to `rank`."""
    s = np.shape(x)
    if len(s) == rank:
        return x
    return ops["broadcast_in_dim"].bind(
        x,
        shape=(*s, *(1,) * (rank - len(s))),
        broadcast_dimensions=tuple(range(len(s))),
        sharding=None,
    )


def broadcast_to(x: Any, shape: Sequence[int]) -> Any:
    """Broadcast an operand to the result's shape; axes of size 1 are repeated."""
    s = np.shape(x)
    if s == tuple(shape):
        return x
    kept = tuple(i for i, (a, b) in enumerate(zip(s, shape, strict=False)) if a == b)
    if s and len(kept) < len(s):
        x = reshape(x, tuple(s[i] for i in kept))
    return ops["broadcast_in_dim"].bind(
        x, shape=tuple(shape), broadcast_dimensions=kept if s else (), sharding=None
    )


def unbroadcast(ct: Any, aval: Any) -> Any:
    """Sum a cotangent over the axes along which an operand was broadcast."""
    s = np.shape(ct)
    if s == aval.shape:
        return ct
    if not aval.shape:
        axes = tuple(range(len(s)))
    else:
        axes = tuple(i for i, (a, b) in enumerate(zip(s, aval.shape, strict=True)) if a != b)
    ct = ops["reduce_sum"].bind(ct, axes=axes, out_sharding=None)
    return ct if np.shape(ct) == aval.shape else reshape(ct, aval.shape)


def reshape(x: Any, shape: Sequence[int]) -> Any:
    """Reshape in row-major order; nothing is done to an array that has the shape."""
    if shape and np.shape(x) == tuple(shape):
        return x
    return ops["reshape"].bind(x, new_sizes=tuple(shape), dimensions=None, sharding=None)


def full(shape: Sequence[int], value: Any) -> Any:
    """A scalar repeated to a shape (the scalar itself for rank 0)."""
    if not shape:
        return value
    return ops["broadcast_in_dim"].bind(
        value, shape=tuple(shape), broadcast_dimensions=(), sharding=None
    )


def full_like(x: Any, value: Any) -> Any:
    """A constant with the shape and dtype of `x`."""
    aval: Any = x if isinstance(x, ShapedArray) else get_aval(x)
    return full(aval.shape, const(aval, value))


# --- declarations --------------------------------------------------------------------------


def elementwise(
    name: str,
    kinds: Sequence[Sequence[str]],
    ref: Callable[..., Any] | Absent,
    *,
    jvp: Any,
    transpose: Any,
    samples: Any,
    out_dtype: Callable[..., Any] | None = None,
    same: bool = True,
    batch: Any = batch_elementwise,
    **more: Any,
) -> Primitive:
    """Declare an elementwise primitive."""
    return Primitive(
        name,
        abstract=elementwise_abstract(name, kinds, out_dtype, same),
        reference=ref if isinstance(ref, Absent) else reference(ref),
        jvp=jvp,
        transpose=transpose,
        batch=batch,
        samples=samples,
        **more,
    )


def hidden(**defaults: Any) -> Callable[[Any], dict]:
    """`params_text` that leaves out parameters that have these values."""

    def params_text(eqn: Any) -> dict:
        return {
            k: v
            for k, v in eqn.params.items()
            if not (k in defaults and type(v) is type(defaults[k]) and v == defaults[k])
        }

    return params_text
