"""Eager evaluation: a primitive on concrete arrays runs its NumPy reference, at once.

lingon's dtype rules decide the result's dtype, never NumPy's promotion. A primitive without a
reference is compiled as a program of one equation and kept.
"""

from __future__ import annotations

import contextvars
import operator
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ...runtime import LARGE_SIZE, ArrayImpl, default_device_id, set_aval_factory
from . import config, devices, dtypes, primitive, source_info
from .avals import ShapedArray, aval_of_type, get_aval
from .primitive import Absent, Primitive

set_aval_factory(ShapedArray)

#: The aval of a concrete array: one object for all arrays of the same type.
array_aval: Callable[[ArrayImpl], ShapedArray] = operator.attrgetter("aval")
aval_of_type[ArrayImpl] = array_aval


def to_numpy(x: Any, aval: ShapedArray | None = None) -> np.ndarray:
    """The value of a concrete argument as a NumPy array of its aval's dtype (no copy of arrays)."""
    if type(x) is ArrayImpl:
        return x._numpy()
    base = getattr(x, "_base_array", None)
    if base is not None:
        return to_numpy(base)
    if aval is None:
        aval = get_aval(x)
    return np.asarray(x, dtype=aval.dtype)


def from_numpy(x: Any, aval: ShapedArray) -> Any:
    """A concrete array of the given aval that takes over a NumPy result."""
    dt = aval.dtype
    if isinstance(dt, dtypes.ExtendedDType):
        base = ArrayImpl.from_numpy(np.ascontiguousarray(x, dtype=dt.physical_dtype), False)
        return dt.wrap(base)  # type: ignore[attr-defined]
    if dt == dtypes.float0:
        return np.zeros(aval.shape, dtypes.float0)
    if type(x) is not np.ndarray or x.dtype != dt:
        x = np.asarray(x, dtype=dt)
    if x.shape != aval.shape:
        raise AssertionError(f"reference gave shape {x.shape} where {aval.shape} was promised")
    return ArrayImpl.from_numpy(x, aval.weak_type)


def as_array(x: Any) -> Any:
    """A concrete array from a NumPy array, NumPy scalar or Python scalar; arrays as they are.

    NumPy arrays are copied: they may change, arrays may not.
    """
    if type(x) is ArrayImpl or hasattr(x, "_base_array"):
        return x
    aval = get_aval(x)
    if aval.dtype == dtypes.float0:
        return x
    a = np.asarray(x, dtype=aval.dtype)
    return ArrayImpl.from_numpy(a, aval.weak_type, copy=a is x or a.base is not None)


class _Quiet(threading.local):
    """A context in which NumPy is silent about overflow, NaN and the like; one for each thread.

    Entering `np.errstate` at every operation would cost more than many operations do.
    """

    def __init__(self) -> None:
        with np.errstate(all="ignore"):
            self.context = contextvars.copy_context()
        self.inside = False


_quiet = _Quiet()
_MAX_RESULTS = 4096


def quietly(f: Callable[..., Any], args: Sequence[Any], params: dict) -> Any:
    """Call `f` with NumPy's floating-point warnings off."""
    q = _quiet
    if q.inside:
        return f(*args, **params)
    q.inside = True
    try:
        return q.context.run(f, *args, **params)
    finally:
        q.inside = False


class _Known:
    """What is remembered of a primitive for argument types and parameters."""

    __slots__ = ("calls", "compiled", "out", "plan")

    def __init__(self, out: Any, compiled: bool):
        self.out = out
        self.calls = 0
        # Whether it is worth compiling.
        self.compiled = compiled
        # A plan that runs the primitive; None until there is one, False if there is none.
        self.plan: Any = None


_CALLS_BEFORE = 3  # a plan is made


def _is_large(prim: Primitive, avals: tuple, out: Any) -> bool:
    """Whether compiled code is worth waiting for: it is faster than NumPy by a multiple."""
    outs = out if prim.multiple_results else (out,)
    if prim.free and all(o.dtype == a.dtype for o in outs for a in avals[:1]):
        return False  # memory that is looked at in another way
    return any(
        type(a) is ShapedArray and not dtypes.is_extended(a.dtype) and a.size > LARGE_SIZE
        for a in (*avals, *outs)
    )


def _remembered(prim: Primitive, avals: tuple, params: dict) -> _Known:
    out = prim.abstract_eval(*avals, **params)
    if prim.multiple_results:
        out = tuple(out)
    return _Known(out, _is_large(prim, avals, out))


def _known(prim: Primitive, avals: tuple, params: dict, x64: bool) -> _Known:
    key = (avals, x64, *params.items()) if params else (avals, x64)
    known = prim.results
    try:
        found = known.get(key)
    except TypeError as e:
        if "unhashable" not in str(e):
            raise
        found = _remembered(prim, avals, params)
        found.compiled = False  # it would be at every call
        return found
    if found is None:
        found = _remembered(prim, avals, params)
        if len(known) >= _MAX_RESULTS:
            known.clear()
        known[key] = found
    return found


def plan_is_inexact(name: str, avals: Sequence[Any]) -> bool:
    """Whether a primitive's plan may give other last bits than its reference."""
    return name in inexact_plans or (
        name in inexact_complex_plans and any(dtypes.is_complex(a.dtype) for a in avals)
    )


def _planned(prim: Primitive, known: _Known, avals: tuple, params: dict) -> Any:
    """The plan of a primitive where it is time to have one, or None.

    Plans give what the reference gives; those that do not, such as sums in another order, are made
    at once.
    """
    known.calls += 1
    if known.calls <= _CALLS_BEFORE and not plan_is_inexact(prim.name, avals):
        return None
    known.plan = plan_of_primitive(prim, avals, known.out, params) or False
    return known.plan


def _run_plan(prim: Primitive, plan: Any, args: Sequence[Any], avals: tuple, out: Any) -> Any:
    ins = []
    for a, v in zip(args, avals):
        if type(a) is not ArrayImpl:
            base = getattr(a, "_base_array", None)
            a = ArrayImpl.from_numpy(to_numpy(a, v), v.weak_type) if base is None else base
        ins.append(a)
    outs = plan.execute(ins)
    several = prim.multiple_results
    wanted = out if several else (out,)
    results = [
        v.dtype.wrap(o) if dtypes.is_extended(v.dtype) else o
        for o, v in zip(outs, wanted, strict=True)
    ]
    return results if several else results[0]


def _on_its_device(prim: Primitive, args: Sequence[Any], params: dict) -> Any:
    """`evaluate` where the arguments are: on one device, or on several as one program."""
    where, sharded = None, False
    for a in args:
        if type(a) is not ArrayImpl or not a._committed:
            continue
        sharded = sharded or a._layout is not None
        if where is not None and a.devices() != where.devices():
            raise incompatible_devices(prim.name, args)
        where = a
    if sharded:
        avals = tuple([a.aval if type(a) is ArrayImpl else get_aval(a) for a in args])
        return run_sharded(prim, args, avals, params)
    if where is None:
        return _evaluate(prim, args, params)
    out = on_device(where._device_id, _evaluate, prim, args, params)
    for r in out if prim.multiple_results else [out]:
        if type(r) is ArrayImpl:
            r._committed = True
    return out


def check_one_place(name: str, args: Sequence[Any], names: Sequence[str] | None = None) -> None:
    """Raise ValueError where arguments are committed to different devices."""
    where = None
    for a in args:
        if type(a) is not ArrayImpl or not a._committed:
            continue
        if where is not None and (a._device_id != where._device_id or a._layout != where._layout):
            if a.devices() != where.devices():
                raise incompatible_devices(name, args, names)
        where = a


def on_device(device_id: int, f: Callable[..., Any], *args: Any) -> Any:
    """`f(*args)` with new arrays on a device."""
    if device_id == default_device_id():
        return f(*args)
    with config.default_device(devices.device_of(device_id)):
        return f(*args)


def incompatible_devices(
    name: str, args: Sequence[Any], names: Sequence[str] | None = None
) -> ValueError:
    """The error of a program whose arguments are committed to different devices."""
    found: list[tuple[str, Any]] = []
    for i, a in enumerate(args):
        if type(a) is not ArrayImpl or not a._committed:
            continue
        if not found or a.devices() != found[0][1].devices():
            label = names[i] if names else "xyz"[i] if i < 3 else str(i)
            found.append((label, a))
        if len(found) == 2:
            break
    parts = [
        f"argument {label} of {name} with shape {dtypes.dtype_name(a.dtype)}"
        f"[{','.join(map(str, a.shape))}] and with device ids "
        f"{sorted(d.id for d in a.devices())} on platform CPU"
        for label, a in found
    ]
    return ValueError(
        f"Received incompatible devices for jitted computation. Got {' and '.join(parts)}"
    )


def evaluate(prim: Primitive, args: Sequence[Any], params: dict) -> Any:
    """Run a primitive on concrete arguments through its reference, or compiled."""
    if devices.many:
        return _on_its_device(prim, args, params)
    return _evaluate(prim, args, params)


def _evaluate(prim: Primitive, args: Sequence[Any], params: dict) -> Any:
    avals = tuple([a.aval if type(a) is ArrayImpl else get_aval(a) for a in args])
    now = config.eager_state()
    known = _known(prim, avals, params, bool(now.x64))
    out = known.out
    reference = prim.reference
    if type(reference) is Absent:
        return run_compiled(prim, args, avals, out, params)
    if known.compiled:
        try:
            return run_compiled(prim, args, avals, out, params)
        except NotImplementedError:
            known.compiled = False  # an operation that runs eagerly only
    plan = known.plan
    if plan is None:
        plan = _planned(prim, known, avals, params)
    if plan:
        made = _run_plan(prim, plan, args, avals, out)
        if now.check_finite:
            check_finite(prim.name, made if prim.multiple_results else [made])
        return made
    ins = [a._numpy() if type(a) is ArrayImpl else to_numpy(a, v) for a, v in zip(args, avals)]
    res = quietly(reference, ins, params)
    if prim.multiple_results:
        results: Any = [quietly(from_numpy, (r, a), {}) for r, a in zip(res, out, strict=True)]
    elif type(res) is np.ndarray and res.dtype is out.dtype and res.shape == out.shape:
        results = ArrayImpl.from_numpy(res, out.weak_type)
    elif getattr(res, "dtype", None) is out.dtype:
        results = from_numpy(res, out)
    else:
        results = quietly(from_numpy, (res, out), {})
    if now.check_finite:
        check_finite(prim.name, results if prim.multiple_results else [results])
    return results


def not_finite(results: Sequence[Any]) -> str | None:
    """With debug_nans or debug_infs: "nan" or "inf" if that is among the results."""
    nans, infs = config.debug_nans.value, config.debug_infs.value
    for r in results:
        if type(r) is not ArrayImpl or not dtypes.is_inexact(r.dtype):
            continue
        x = r._numpy()
        if nans and np.isnan(x).any():
            return "nan"
        if infs and np.isinf(x).any():
            return "inf"
    return None


def check_finite(where: str, results: Sequence[Any]) -> None:
    """With debug_nans or debug_infs: raise FloatingPointError where a result is not finite.

    The message names the user's line.
    """
    what = not_finite(results)
    if what is not None:
        at = source_info.current().summary()
        raise FloatingPointError(
            f"invalid value ({what}) encountered in {where}{' at ' if at else ''}{at}"
        )


def _no_compiler(*args: Any) -> Any:
    raise RuntimeError("the compiler is not loaded")


#: Runs (primitive, args, avals, params) where an argument is on several devices; set by
#: transforms/spmd.py.
run_sharded: Callable[..., Any] = _no_compiler

#: Runs (primitive, args, avals, out_avals, params) compiled; set by transforms/jit.py.
run_compiled: Callable[..., Any] = _no_compiler

#: Makes the plan of (primitive, avals, out_avals, params), or None; set by frontend/plans.
plan_of_primitive: Callable[..., Any] = _no_compiler
#: Primitives whose plans give other last bits than their references do, for all dtypes and for
#: complex ones; set by frontend/plans.
inexact_plans: frozenset[str] = frozenset()
inexact_complex_plans: frozenset[str] = frozenset()

primitive.default_evaluate = evaluate
