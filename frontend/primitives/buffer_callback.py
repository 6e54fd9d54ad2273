"""buffer_callback: Python code on the memory of a program.

The Python function sees the program's own buffers, without copies. They are lent: when it returns
and still holds a view of one, the program ends with an error, since the memory gets other uses.
"""

from __future__ import annotations

import enum
import functools
import gc
import traceback
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from ... import runtime
from ...runtime import ArrayImpl
from ..core import pytree
from ..core.avals import ShapedArray
from ..core.effects import buffer_callback_effect
from ..core.errors import JaxRuntimeError
from ..core.primitive import Primitive
from .callbacks import NO_REFERENCE, arrays_of, batch_by_method, host_errors


class ExecutionStage(enum.Enum):
    """What a program is doing while it calls a callback; on CPUs always EXECUTE."""

    INSTANTIATE = 0
    PREPARE = 1
    INITIALIZE = 2
    EXECUTE = 3


def _no_constructor(cls: type) -> Any:
    raise TypeError(f"{cls.__name__}: no constructor defined! Callbacks get these objects.")


class ExecutionContext:
    """Where a buffer callback runs."""

    __slots__ = ()

    def __new__(cls) -> ExecutionContext:
        return _no_constructor(cls)

    @property
    def stage(self) -> ExecutionStage:
        """ExecutionStage.EXECUTE."""
        return ExecutionStage.EXECUTE

    @property
    def stream(self) -> int:
        """The GPU stream; raises JaxRuntimeError on CPUs."""
        raise JaxRuntimeError("UNIMPLEMENTED: there is no GPU stream: the program runs on a CPU")


class Buffer:
    """Memory of a program, lent to a callback; NumPy and DLPack see it without a copy.

    It can be used until the callback returns; then it raises RuntimeError.
    """

    __slots__ = ("_array", "_dtype", "_shape", "_writeable")

    def __new__(cls) -> Buffer:
        return _no_constructor(cls)

    @staticmethod
    def _of(array: np.ndarray, writeable: bool) -> Buffer:
        self = object.__new__(Buffer)
        self._array: np.ndarray | None = array
        self._shape, self._dtype = array.shape, array.dtype
        self._writeable = writeable
        return self

    @property
    def shape(self) -> tuple[int, ...]:
        """The array's shape."""
        return self._shape

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self._shape)

    @property
    def dtype(self) -> np.dtype:
        """The elements' NumPy dtype."""
        return self._dtype

    @property
    def writeable(self) -> bool:
        """Whether it is an output."""
        return self._writeable

    def _lent(self) -> np.ndarray:
        if self._array is None:
            raise RuntimeError("a Buffer was used after the callback that it was lent to")
        return self._array

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """A view of the memory, read-only for inputs; with `copy=True` an array of its own.

        Raises ValueError for another dtype, which would be a copy that is not written back.
        """
        array = self._lent()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            raise ValueError(
                f"dtype parameter is not supported by Buffer.__array__: the buffer is {array.dtype}"
            )
        if copy:
            return array.copy()
        view = array.view()
        view.flags.writeable = self._writeable
        return view

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: Any = None,
        dl_device: Any = None,
        copy: bool | None = None,
    ) -> Any:
        """A DLPack capsule of the memory. Consumers must not write to inputs."""
        array = self._lent()
        options = {"dl_device": dl_device, "copy": copy}
        if self._writeable:
            try:
                return array.__dlpack__(max_version=max_version, **options)
            except BufferError:
                # A dtype that NumPy does not export. Without a version, nothing says read-only.
                return runtime.from_numpy(array).__dlpack__(**options)
        return runtime.from_numpy(array).__dlpack__(max_version=max_version, **options)

    def __dlpack_device__(self) -> tuple[int, int]:
        """The CPU."""
        return (1, 0)

    @property
    def __cuda_array_interface__(self) -> dict:
        raise AttributeError("Buffer.__cuda_array_interface__: the buffer is in the CPU's memory")

    def __repr__(self) -> str:
        state = "" if self._array is not None else ", no longer lent"
        what = "output" if self._writeable else "input"
        return f"Buffer({what} {self._dtype}[{','.join(map(str, self._shape))}]{state})"


# --- lending -----------------------------------------------------------------------------------


def _root(array: np.ndarray) -> np.ndarray:
    """The array that views of `array`, and their views, hold."""
    while isinstance(array.base, np.ndarray):
        array = array.base
    return array


def _taken_back(lent: Sequence[weakref.ref]) -> bool:
    """Whether nothing is left that uses the arrays or is a view of one."""
    if any(r() is not None for r in lent):
        gc.collect()
    return all(r() is None for r in lent)


def _clear_frames(e: BaseException | None) -> None:
    """Forget the local variables of the functions that an exception came out of."""
    while e is not None:
        traceback.clear_frames(e.__traceback__)
        e = e.__cause__ or e.__context__


def _call(params: dict, made: tuple[list[np.ndarray], list[np.ndarray]], lent: list) -> None:
    """The user's function on arrays; `lent` gets references to them."""
    buffers, results = [[Buffer._of(a, out) for a in made[out]] for out in (False, True)]
    lent.extend(weakref.ref(_root(a)) for a in (*made[0], *made[1]) if a.size)
    del made
    try:
        args, kwargs = pytree.tree_unflatten(params["in_tree"], buffers)
        out = pytree.tree_unflatten(params["out_tree"], results)
        answer = params["callback"](object.__new__(ExecutionContext), out, *args, **kwargs)
    finally:
        for b in (*buffers, *results):
            b._array = None
    if answer is not None:
        raise ValueError("buffer_callback callback must not return any values.")


def _lend(params: dict, views: Sequence[memoryview], arrays: Callable[..., Any]) -> None:
    """Call the user's function and take the memory back.

    Raises RuntimeError where a view of it is left.
    """
    lent: list[weakref.ref] = []
    try:
        _call(params, arrays(*views), lent)
    except BaseException as e:
        if not _taken_back(lent):
            _clear_frames(e)
            gc.collect()
        raise
    if not _taken_back(lent):
        raise RuntimeError(
            "the callback kept a view of a buffer after it returned: keep a copy of it instead, "
            "such as numpy.array(buffer)"
        )


def _host(params: dict, where: str) -> Callable[..., None]:
    """`run(views, arrays)`: the user's function on the arrays, inputs and outputs, that
    `arrays(*views)` makes of memory."""

    return host_errors("buffer_callback", functools.partial(_lend, params), where)


# --- the primitive -----------------------------------------------------------------------------


def _from_bytes(view: memoryview, shape: tuple[int, ...], dtype: np.dtype) -> np.ndarray:
    """Bytes as an array, without a copy."""
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.frombuffer(view, dtype).reshape(shape)


def _bytes(array: np.ndarray) -> memoryview:
    return memoryview(array.reshape(-1).view(np.uint8))


def _evaluate(primitive: Primitive, args: Sequence[Any], params: dict) -> list[Any]:
    ins = [a._numpy() for a in arrays_of(args)]
    outs = [runtime.empty_ndarray(a.shape, a.dtype) for a in params["result_avals"]]
    for i, o in params["input_output_aliases"]:
        outs[o][...] = ins[i]
        ins[i] = outs[o]
    forms = [(a.shape, a.dtype) for a in (*ins, *outs)]
    n = len(ins)

    def arrays(*views: memoryview) -> Any:
        made = [_from_bytes(v, *form) for v, form in zip(views, forms, strict=True)]
        return made[:n], made[n:]

    _host(params, "")([_bytes(a) for a in (*ins, *outs)], arrays)
    for a in outs:
        a.flags.writeable = False
    return [ArrayImpl.from_numpy(a, False) for a in outs]


def _jvp(*_: Any) -> Any:
    raise ValueError(
        "Buffer callbacks do not support JVP. Please use `jax.custom_jvp` to use callbacks while "
        "taking gradients."
    )


def _transpose(*_: Any) -> Any:
    raise ValueError(
        "Buffer callbacks do not support transpose. Please use `jax.custom_vjp` to use callbacks "
        "while taking gradients."
    )


def _batch(
    primitive: Primitive, axis: Any, args: Sequence[Any], dims: Sequence[Any], params: dict
) -> Any:
    """Inputs that become outputs are as large as those."""
    full = [i for i, _ in params["input_output_aliases"]]
    return batch_by_method(primitive, axis, args, dims, params, full)


def _result_avals(*avals: Any, result_avals: tuple[ShapedArray, ...], **_: Any) -> list[Any]:
    return list(result_avals)


#: `callback(context, out, *args)` fills the buffers `out`.
buffer_callback_p = Primitive(
    "buffer_callback",
    multiple_results=True,
    abstract=_result_avals,
    reference=NO_REFERENCE,
    evaluate=_evaluate,
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    effects=lambda *, has_side_effect, **_: (
        frozenset({buffer_callback_effect}) if has_side_effect else frozenset()
    ),
    host=_host,
)

__all__ = ["Buffer", "ExecutionContext", "ExecutionStage", "buffer_callback_p"]
