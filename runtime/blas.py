"""BLAS routines for the library kernels, out of the pointers that SciPy publishes."""

from __future__ import annotations

import ctypes
import re
import threading
from collections.abc import Iterable

from lingon.runtime._runtime import kernel_uses_blas, set_blas_routine

__all__ = ["ROUTINES", "address_of", "prepare_kernels"]

# Routine -> its element type, as Cython spells it.
ROUTINES = {
    "sgemm": r"(?:float|\w+_s)",
    "dgemm": r"(?:double|\w+_d)",
    "cgemm": r"(?:float complex|\w+float_complex|\w+_c)",
    "zgemm": r"(?:double complex|\w+double_complex|\w+_z)",
}
# Two characters, three sizes, alpha, A, lda, B, ldb, beta, C, ldc; sizes have 32 bits.
_SIGNATURE = (
    r"void \(char \*, char \*, int \*, int \*, int \*, {t} \*, {t} \*, int \*, {t} \*, int \*, "
    r"{t} \*, {t} \*, int \*\)"
)
_lock = threading.Lock()
_given = False


def prepare_kernels(names: Iterable[str]) -> None:
    """Gets ready what the library kernels `names` need; call before they run.

    Loads SciPy's BLAS the first time that one of them uses it. Raises ImportError if SciPy lacks
    a routine or publishes it with another signature than the kernels call.
    """
    global _given
    if _given or not any(kernel_uses_blas(name) for name in names):
        return
    with _lock:
        if not _given:
            for routine in ROUTINES:
                set_blas_routine(routine, address_of(routine))
            _given = True


def address_of(routine: str) -> int:
    """Address of one of `ROUTINES` in SciPy. Raises ImportError as `prepare_kernels` does."""
    from scipy.linalg import cython_blas

    api = ctypes.pythonapi
    name_of, pointer_of = api.PyCapsule_GetName, api.PyCapsule_GetPointer
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    pointer_of.restype, pointer_of.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    capsule = cython_blas.__pyx_capi__.get(routine)
    if capsule is None:
        raise ImportError(f"scipy.linalg.cython_blas has no routine {routine!r}")
    signature = name_of(capsule)
    if not re.fullmatch(_SIGNATURE.format(t=ROUTINES[routine]), signature.decode()):
        raise ImportError(
            f"scipy.linalg.cython_blas.{routine} has signature {signature.decode()!r}, which is not "
            "the one that the library kernels call"
        )
    return pointer_of(capsule, signature)
