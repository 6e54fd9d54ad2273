"""Functions applied along axes, and functions made to broadcast."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .. import lax
from ..core import pytree
from ..transforms.vmap import vmap
from .util import (
    asarray,
    asarray_checked,
    broadcast_shapes,
    canonical_axis,
    check_arraylike,
    shape_of,
)


def apply_along_axis(func1d: Callable, axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """`func1d(vector, *args, **kwargs)` of all vectors along an axis."""
    check_arraylike("apply_along_axis", arr)
    x = asarray(arr)
    axis = canonical_axis(axis, x.ndim)

    def func(v: Any) -> Any:
        return func1d(v, *args, **kwargs)

    for i in range(1, x.ndim - axis):
        func = vmap(func, in_axes=i, out_axes=-1)
    for _ in range(axis):
        func = vmap(func, in_axes=0, out_axes=0)
    return func(x)


def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: Sequence[int]) -> Any:
    """`func(a, axis)` for one axis after the other; lost axes are put back with size 1."""
    check_arraylike("apply_over_axes", a)
    x = asarray(a)
    for i in (axes,) if isinstance(axes, (int, np.integer)) else axes:
        out = func(x, i)
        if out.ndim == x.ndim:
            x = out
        elif out.ndim == x.ndim - 1:
            x = lax.expand_dims(out, (canonical_axis(i, x.ndim),))
        else:
            raise ValueError("function is not returning an array of the correct shape")
    return x


# --- vectorize -----------------------------------------------------------------------------

_NAME = r"\w+"
_DIMS = rf"\((?:{_NAME}(?:,{_NAME})*)?\)"
_LIST = rf"{_DIMS}(?:,{_DIMS})*"
_SIGNATURE = re.compile(rf"^{_LIST}->{_LIST}$")

Dims = list[tuple[str, ...]]


def _parse(signature: str) -> tuple[Dims, Dims]:
    """The core dimensions of inputs and outputs. Raises ValueError for a malformed signature."""
    text = re.sub(r"\s+", "", signature)
    if not _SIGNATURE.match(text):
        raise ValueError(f"not a valid gufunc signature: {signature}")

    def dims(part: str) -> Dims:
        return [tuple(re.findall(_NAME, d)) for d in re.findall(_DIMS, part)]

    ins, outs = text.split("->")
    return dims(ins), dims(outs)


def _core_sizes(
    sizes: dict[str, int], shape: tuple[int, ...], dims: tuple[str, ...], text: str
) -> None:
    if not dims:
        return
    if len(shape) < len(dims):
        raise ValueError(
            f"input with shape {shape} does not have enough dimensions for all core dimensions "
            f"{dims} {text}"
        )
    for d, n in zip(dims, shape[len(shape) - len(dims) :], strict=True):
        if d.isdigit():
            if int(d) != n:
                raise ValueError(f"core dimension {d!r} of size {n} does not match its name {text}")
        elif sizes.setdefault(d, n) != n:
            raise ValueError(
                f"inconsistent size for core dimension {d!r}: {n} vs {sizes[d]} {text}"
            )


def _checked(func: Callable, outs: Dims | None, sizes: dict[str, int], text: str) -> Callable:
    """The function with its results checked against the signature."""

    def wrapped(*args: Any) -> Any:
        out = func(*args)
        if outs is None:
            if isinstance(out, (tuple, list)):
                for o in out:
                    _check_scalar(o, text)
            else:
                _check_scalar(out, text)
            return out
        many = isinstance(out, (tuple, list))
        values = list(out) if many else [out]
        if (many and len(outs) == 1) or (not many and len(outs) != 1):
            if not many:
                raise TypeError(
                    f"output must be a tuple when multiple outputs are expected, got: {out} {text}"
                )
        if len(values) != len(outs):
            raise TypeError(
                f"wrong number of output arguments: expected {len(outs)}, got {len(values)} {text}"
            )
        for v, dims in zip(values, outs, strict=True):
            s = shape_of(v)
            if len(s) != len(dims):
                raise ValueError(
                    f"output with shape {s} does not have {len(dims)} core dimensions {dims} {text}"
                )
            for d, n in zip(dims, s, strict=True):
                if not d.isdigit() and sizes.setdefault(d, n) != n:
                    raise ValueError(
                        f"inconsistent size for core dimension {d!r}: {n} vs {sizes[d]} {text}"
                    )
        return out

    return wrapped


def _check_scalar(o: Any, text: str) -> None:
    if shape_of(o):
        raise ValueError(f"output with shape {shape_of(o)} has no core dimensions {text}")


def vectorize(
    pyfunc: Callable, *, excluded: Any = frozenset(), signature: str | None = None
) -> Callable:
    """A function of scalars (or of arrays of the shapes in `signature`) made to broadcast.

    `excluded` are positions and names of arguments that are passed as they are. `signature` is
    a generalized-ufunc signature such as '(n),(n)->()'. Raises TypeError or ValueError where
    arguments or results do not match it.
    """
    import functools

    if any(not isinstance(e, (str, int)) for e in excluded):
        raise TypeError(
            f"jax.numpy.vectorize can only exclude integer or string arguments, but excluded={set(excluded)!r}"
        )
    if any(isinstance(e, int) and e < 0 for e in excluded):
        raise ValueError(f"excluded={set(excluded)!r} contains negative numbers")

    @functools.wraps(pyfunc)
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        text = f"on vectorized function with excluded={set(excluded)!r} and signature={signature!r}"
        fixed = {i: args[i] for i in range(len(args)) if i in excluded}
        fixed_kw = {k: v for k, v in kwargs.items() if k in excluded}
        names = [k for k in kwargs if k not in excluded]
        positions = [i for i in range(len(args)) if i not in fixed]
        dynamic = [args[i] for i in positions] + [kwargs[k] for k in names]
        if signature is not None and names:
            raise NotImplementedError("kwargs are not supported with a signature")
        check_arraylike("vectorize", *dynamic, none_ok=True)
        skip = [i for i, a in enumerate(dynamic) if a is None]
        arrays = [asarray_checked(a) for a in dynamic if a is not None]

        def func(*values: Any) -> Any:
            it = iter(values)
            every = [None if i in skip else next(it) for i in range(len(dynamic))]
            full: list[Any] = [None] * len(args)
            for i, v in fixed.items():
                full[i] = v
            for i, v in zip(positions, every, strict=False):
                full[i] = v
            kw = dict(zip(names, every[len(positions) :], strict=True))
            return pyfunc(*full, **kw, **fixed_kw)

        sizes: dict[str, int] = {}
        if signature is None:
            ins: Dims = [()] * len(arrays)
            outs: Dims | None = None
        else:
            all_ins, outs = _parse(signature)
            if len(all_ins) != len(dynamic):
                raise TypeError(
                    f"wrong number of positional arguments: expected {len(all_ins)}, got "
                    f"{len(dynamic)} {text}"
                )
            for i in skip:
                if all_ins[i]:
                    raise ValueError(f"Cannot pass None at locations {set(skip)} with {signature=}")
            ins = [d for i, d in enumerate(all_ins) if i not in skip]
        lead = []
        for a, d in zip(arrays, ins, strict=True):
            s = shape_of(a)
            _core_sizes(sizes, s, d, text)
            lead.append(s[: len(s) - len(d)])
        shape = broadcast_shapes(*lead) if lead else ()
        rank = len(shape)
        run = _checked(func, outs, sizes, text)
        # axes of size 1 are not mapped; the others are mapped from the last one outwards
        squeezed = []
        present = []
        for a, s in zip(arrays, lead, strict=True):
            offset = rank - len(s)
            gone = tuple(i for i, n in enumerate(s) if n == 1 and shape[offset + i] != 1)
            ones = tuple(i for i, n in enumerate(s) if n == 1)
            squeezed.append(lax.squeeze(a, ones) if ones else a)
            present.append([offset + i for i, n in enumerate(s) if n != 1])
            assert set(gone) <= set(ones)
        for k in reversed(range(rank)):
            if shape[k] == 1:
                continue
            in_axes = tuple(0 if k in p else None for p in present)
            run = vmap(run, in_axes=in_axes, axis_size=shape[k])
        out = run(*squeezed)
        ones = tuple(i for i, n in enumerate(shape) if n == 1)
        return pytree.tree_map(lambda o: lax.expand_dims(o, ones), out) if ones else out

    return wrapped


__all__ = ["apply_along_axis", "apply_over_axes", "vectorize"]
