"""Contractions, statistics and polynomials against jax."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax_oracle import check
from numpy_data import BF16, C64, F16, F32, I8, I32, U8, array, sample

import lingon.numpy as lnp


def x(*shape: int, dtype: Any = F32, key: Any = "p") -> np.ndarray:
    return array(shape, dtype, key)


#: Shapes of pairs of operands, by function.
PAIRS: dict[str, list[tuple[tuple, tuple]]] = {
    "dot": [((3,), (3,)), ((2, 3), (3,)), ((2, 3), (3, 4)), ((2, 3, 4), (5, 4, 2)), ((), (3,)),
            ((2, 3), (2, 3)), ((0,), (0,)), ((2, 0), (0, 3))],
    "matmul": [((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 4)), ((2, 3), (3, 4)), ((5, 2, 3), (3, 4)),
               ((5, 2, 3), (5, 3, 4)), ((1, 2, 3), (5, 3, 4)), ((2, 1, 2, 3), (4, 3, 2)), ((), (3,)),
               ((2, 3), (2, 3)), ((2, 2, 3), (3, 3, 2)), ((3,), (5, 3, 4)), ((2, 0), (0, 3))],
    "vdot": [((3,), (3,)), ((2, 3), (2, 3)), ((3,), (2,))],
    "vecdot": [((3,), (3,)), ((2, 3), (2, 3)), ((2, 3), (3,)), ((2,), (3,))],
    "inner": [((3,), (3,)), ((2, 3), (4, 3)), ((), (2,)), ((2,), (3,))],
    "outer": [((2,), (3,)), ((2, 2), (3,)), ((), ())],
    "tensordot": [((2, 3, 4), (3, 4, 5)), ((2, 3), (2, 3)), ((2,), (2,))],
    "kron": [((2,), (3,)), ((2, 2), (2, 3)), ((2,), (2, 2)), ((), (2,))],
    "cross": [((3,), (3,)), ((2, 3), (2, 3)), ((2,), (2,)), ((2,), (3,)), ((4,), (4,)), ((2, 3), (3,))],
    "matvec": [((2, 3), (3,)), ((5, 2, 3), (3,)), ((2, 3), (2,))],
    "vecmat": [((2,), (2, 3)), ((5, 2), (2, 3))],
    "convolve": [((4,), (3,)), ((2,), (5,)), ((0,), (2,)), ((2, 2), (2,))],
    "correlate": [((4,), (3,)), ((2,), (5,)), ((3,), (3,))],
    "polyadd": [((3,), (2,)), ((2,), (3,))], "polysub": [((3,), (2,)), ((2,), (3,))],
    "polymul": [((3,), (2,))], "polydiv": [((4,), (2,)), ((2,), (3,))],
    "polyval": [((3,), (2,)), ((3,), ()), ((0,), (2,))],
}  # fmt: skip

#: name: why its printed jaxpr is not jax's.
OTHER_JAXPR = {
    "convolve": "there is no convolution primitive yet: a gather of windows and a dot",
    "correlate": "as convolve",
    "polymul": "as convolve",
    "poly": "as convolve",
    "polyval": "there is no scan primitive yet: Horner's rule unrolled",
    "polydiv": "indices are traced instead of constants",
    "matmul": "operands that are broadcast in both directions are arranged otherwise",
    "cross": "vectors are sliced in another order",
    "kron": "axes of size 1 are inserted otherwise",
    "tensordot": "dimension numbers are listed in another order",
    "einsum": "axes are arranged otherwise for some subscripts",
    "polyadd": "a constant index is traced", "polysub": "a constant index is traced",
    "corrcoef": "the diagonal has no branch for other platforms",
    "cov": "jax slices a broadcast count that it does not use",
}  # fmt: skip


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name: str, full: bool) -> None:
    f, g = getattr(jnp, name), getattr(lnp, name)
    same = name not in OTHER_JAXPR
    for a, b in PAIRS[name]:
        check(f, g, x(*a), x(*b, key="q"), jaxpr=same, jit=full, loose=4)
    a, b = PAIRS[name][0]
    for dt in sample((BF16, F16, I32, I8, U8, C64), 2, full, name):
        # 16-bit products are summed in another order and precision
        check(f, g, x(*a, dtype=dt), x(*b, dtype=dt, key="q"), jaxpr=same, jit=full, loose=4)
    # jax hands operands of different dtypes to dot_general as they are
    check(f, g, x(*a, dtype=I32), x(*b, key="q"), jaxpr=False, jit=full, loose=4)


EINSUM = [
    ("ij,jk->ik", (2, 3), (3, 4)), ("ij,kj", (2, 3), (4, 3)), ("i,i->", (3,), (3,)),
    ("ij->ji", (2, 3)), ("ii->i", (3, 3)), ("ii", (3, 3)), ("ij->", (2, 3)), ("bij,bjk->bik", (2, 3, 4), (2, 4, 5)),
    ("...ij,...jk->...ik", (2, 3, 4), (4, 5)), ("ij,jk,kl->il", (2, 3), (3, 4), (4, 5)),
    ("i,j->ij", (2,), (3,)), ("ij,ij->ij", (2, 3), (2, 3)), ("ijk,jil->kl", (2, 3, 4), (3, 2, 5)),
    ("ij,jk->ik", (2, 3), (2, 4)), ("ij", (2, 3, 4)), ("i->ij", (3,)),
]  # fmt: skip


@pytest.mark.parametrize("i", range(len(EINSUM)), ids=lambda i: EINSUM[i][0])
def test_einsum(i: int, full: bool) -> None:
    text, *shapes = EINSUM[i]
    args = [x(*s, key=k) for k, s in enumerate(shapes)]
    check(jnp.einsum, lnp.einsum, text, *args, jaxpr=False, jit=full or i == 0, loose=4)


def test_options(full: bool) -> None:
    a, b = x(2, 3), x(3, 4)
    for name in ("dot", "matmul"):
        f, g = getattr(jnp, name), getattr(lnp, name)
        check(f, g, a, b, precision="highest", jit=full)
        check(f, g, a.astype(BF16), b.astype(BF16), preferred_element_type=F32, jit=full)
        check(f, g, "a", b)
    check(jnp.tensordot, lnp.tensordot, x(2, 3), x(3, 2), axes=1, jaxpr=False, jit=full)
    check(jnp.tensordot, lnp.tensordot, x(2, 3), x(3, 2), axes=([0, 1], [1, 0]), jaxpr=False)
    check(jnp.tensordot, lnp.tensordot, x(2, 3), x(3, 2), axes=5)
    for mode in ("full", "same", "valid", "other"):
        check(jnp.convolve, lnp.convolve, x(5), x(2), mode=mode, jaxpr=False, jit=full)
        check(
            jnp.correlate,
            lnp.correlate,
            x(5, dtype=C64),
            x(2, dtype=C64),
            mode=mode,
            jaxpr=False,
            jit=full,
        )


UNARY = [
    ("cov", (x(2, 4),), {}), ("cov", (x(4),), {}), ("cov", (x(4, 2),), {"rowvar": False}),
    ("cov", (x(2, 4), x(2, 4, key="q")), {}), ("cov", (x(2, 4),), {"bias": True}),
    ("cov", (x(2, 4),), {"ddof": 0}), ("cov", (x(2, 4, dtype=C64),), {}), ("cov", (x(2, 2, 2),), {}),
    ("cov", (x(2, 3),), {"fweights": np.array([1, 2, 1], I32)}),
    ("cov", (x(2, 3),), {"aweights": np.array([1, 2, 1.5], F32)}),
    ("corrcoef", (x(2, 4),), {}), ("corrcoef", (x(4),), {}), ("corrcoef", (x(3, 4, dtype=C64),), {}),
    ("poly", (x(3),), {}), ("polyder", (x(4),), {}), ("polyder", (x(4), 2), {}), ("polyder", (x(4), 0), {}),
    ("polyder", (x(4), -1), {}), ("polyint", (x(3),), {}), ("polyint", (x(3),), {"m": 2}),
    ("polyint", (x(3),), {"k": 2.0}), ("trapezoid", (x(4),), {}), ("trapezoid", (x(2, 4),), {"dx": 0.5}),
    ("trapezoid", (x(4), x(4, key="q")), {}), ("trapezoid", (x(2, 4),), {"axis": 0}),
    ("diff", (x(2, 4),), {}), ("diff", (x(4),), {"n": 2}), ("diff", (x(2, 4),), {"axis": 0}),
    ("diff", (x(4),), {"prepend": 0.0}), ("diff", (x(4),), {"append": x(2)}), ("diff", (x(),), {}),
    ("diff", (x(4),), {"n": -1}), ("diff", (np.array([True, False, True]),), {}), ("diff", (x(1),), {}),
    ("ediff1d", (x(2, 3),), {}), ("ediff1d", (x(3),), {"to_begin": 1.0, "to_end": x(2)}),
    ("gradient", (x(4),), {}), ("gradient", (x(3, 4),), {}), ("gradient", (x(4), 2.0), {}),
    ("gradient", (x(3, 4),), {"axis": 1}), ("gradient", (x(1),), {}),
    ("gradient", (x(4), np.array([0.0, 1, 3, 4], F32)), {}), ("gradient", (x(4, dtype=I32),), {}),
    ("unwrap", (x(5) * np.float32(3),), {}), ("unwrap", (x(5, dtype=I32),), {"period": 4}),
    ("unwrap", (x(2, 5),), {"axis": 0, "discont": 4.0}),
    ("interp", (x(4), np.array([-2.0, 0, 2], F32), np.array([1.0, 5, 2], F32)), {}),
    ("interp", (x(4), np.array([-2.0, 0, 2], F32), np.array([1.0, 5, 2], F32)), {"left": -1.0, "right": 9.0}),
    ("interp", (x(4), np.array([-2.0, 0, 2], F32), np.array([1.0, 5, 2], F32)), {"left": "extrapolate"}),
    ("interp", (x(4), np.array([0.0, 1, 2], F32), np.array([1.0, 5, 2], F32)), {"period": 3.0}),
    ("interp", (x(4), x(3), x(2)), {}), ("bartlett", (5,), {}), ("blackman", (5,), {}), ("hamming", (1,), {}),
    ("hanning", (5,), {}), ("kaiser", (5, 3.0), {}), ("hamming", (0,), {}),
    ("packbits", (np.array([[1, 0, 1, 1, 0, 0, 0, 1, 1]], U8),), {"axis": 1}),
    ("packbits", (np.array([1, 0, 1], U8),), {"bitorder": "little"}), ("packbits", (x(3),), {}),
    ("unpackbits", (np.array([[3, 200]], U8),), {"axis": 1}), ("unpackbits", (np.array([7], U8),), {"count": 5}),
    ("unpackbits", (np.array([7], U8),), {"count": 12}), ("unpackbits", (x(3),), {}),
]  # fmt: skip

OTHER_UNARY = {
    **OTHER_JAXPR,
    "interp": "there is no scan primitive yet: the binary search is unrolled",
    "gradient": "uneven spacing has its terms in another order",
    "trapezoid": "the spacing is converted at another place",
    "ediff1d": "joined elements are converted at another place",
    "unwrap": "a given discontinuity is compared at another place",
    "polyint": "constants are broadcast otherwise",
    "packbits": "axes are moved otherwise", "unpackbits": "axes are moved otherwise",
    "diff": "joined elements are broadcast otherwise", "kaiser": "a constant is divided otherwise",
}  # fmt: skip


@pytest.mark.parametrize("i", range(len(UNARY)), ids=lambda i: f"{UNARY[i][0]}{i}")
def test_unary(i: int, full: bool) -> None:
    name, args, kwargs = UNARY[i]
    same = name not in OTHER_UNARY or (
        name not in OTHER_JAXPR and name != "interp" and not kwargs and len(args) == 1
    )
    if args and isinstance(args[0], np.ndarray) and args[0].ndim != 1:
        same = same and name not in OTHER_UNARY
    f, g = getattr(jnp, name), getattr(lnp, name)
    check(f, g, *args, jaxpr=same, jit=full or i % 5 == 0, loose=8, **kwargs)
