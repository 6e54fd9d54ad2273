"""Complex numbers from and to their parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..core import dtypes
from ..core.avals import ShapedArray, get_aval
from ..core.primitive import Primitive, Sample
from ..core.rules import Zero, instantiate, operand_jvps, operand_transposes, unary_transpose
from .arithmetic import C64, F32, PAIRS, neg_p
from .declare import const, elementwise, unbroadcast

_COMPLEX = ("complexfloating",)
_PARTS = ("float32", "float64")


def _zero_of_part(ct: Any) -> Any:
    aval: Any = get_aval(ct)
    return const(ShapedArray((), aval.dtype), 0)


real_p: Primitive = elementwise(
    "real",
    (_COMPLEX,),
    lambda x: x.real,
    out_dtype=dtypes.to_real,
    jvp=operand_jvps(lambda t, out, x: real_p.bind(t)),
    transpose=unary_transpose(lambda ct, aval: complex_p.bind(ct, _zero_of_part(ct))),
    samples=lambda: [Sample((s, C64)) for s in ((3, 4), (), (0,))],
)
imag_p: Primitive = elementwise(
    "imag",
    (_COMPLEX,),
    lambda x: x.imag,
    out_dtype=dtypes.to_real,
    jvp=operand_jvps(lambda t, out, x: imag_p.bind(t)),
    # transposes are with respect to the bilinear pairing, without conjugation
    transpose=unary_transpose(lambda ct, aval: complex_p.bind(_zero_of_part(ct), neg_p.bind(ct))),
    samples=lambda: [Sample((s, C64)) for s in ((3, 4), (), (0,))],
)


def _complex_reference(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    out = np.empty(np.broadcast_shapes(x.shape, y.shape), dtypes.to_complex(x.dtype))
    out.real, out.imag = x, y
    return out


def _complex_jvp(primitive: Any, primals: Any, tangents: Any, params: dict) -> Any:
    out = complex_p.bind(*primals)
    if all(type(t) is Zero for t in tangents):
        return out, Zero.of(out)
    return out, complex_p.bind(*map(instantiate, tangents))


complex_p: Primitive = elementwise(
    "complex",
    (_PARTS, _PARTS),
    _complex_reference,
    out_dtype=lambda x, y: dtypes.to_complex(x),
    jvp=_complex_jvp,
    transpose=operand_transposes(
        lambda ct, x, y: unbroadcast(real_p.bind(ct), x.aval),
        lambda ct, x, y: unbroadcast(imag_p.bind(neg_p.bind(ct)), y.aval),
    ),
    samples=lambda: [Sample((a, F32), (b, F32)) for a, b in PAIRS],
)


def _conj_transpose(ct: Any, aval: Any, *, input_dtype: Any) -> Any:
    if dtypes.is_complex(input_dtype):
        return conj_p.bind(ct, input_dtype=input_dtype)
    return real_p.bind(ct)


conj_p: Primitive = elementwise(
    "conj",
    (("float32", "complexfloating", "float64"),),
    lambda x: x,
    out_dtype=dtypes.to_complex,
    jvp=operand_jvps(lambda t, out, x, *, input_dtype: conj_p.bind(t, input_dtype=input_dtype)),
    transpose=unary_transpose(_conj_transpose),
    samples=lambda: [
        Sample((s, d), input_dtype=np.dtype(d)) for s in ((3, 4), (), (0,)) for d in (C64, F32)
    ],
)
conj_p.reference = lambda x, *, input_dtype: np.conj(x)
