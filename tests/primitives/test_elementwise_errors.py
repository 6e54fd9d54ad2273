"""Errors of elementwise functions: dtypes, shapes, values that are no arrays."""

from __future__ import annotations

import numpy as np
import pytest
from errors import B, C, Case, H, I, V, X, check, ids

TYPES: list[Case] = [
    ("add int float", lambda lax: lax.add(V, I), "same dtypes, got float32, int32.*jnp.add"),
    ("add int scalar", lambda lax: lax.add(V, 2), "same dtypes, got float32, int32"),
    ("add half scalar", lambda lax: lax.add(H, 2.0), "got float16, float32"),
    ("add bool", lambda lax: lax.add(B, B), "add does not accept dtype bool at position 0"),
    ("sub bool", lambda lax: lax.sub(True, True), "sub does not accept dtype bool"),
    ("eq", lambda lax: lax.eq(V, I), "lax.eq requires arguments to have the same dtypes"),
    ("lt complex", lambda lax: lax.lt(C, C), "lt does not accept dtype complex64 at position 0"),
    ("sin int", lambda lax: lax.sin(I), "sin does not accept dtype int32.*floating, complexfl"),
    ("sin python int", lambda lax: lax.sin(3), "sin does not accept dtype int32"),
    ("sqrt bool", lambda lax: lax.sqrt(True), "sqrt does not accept dtype bool"),
    ("neg bool", lambda lax: lax.neg(True), "neg does not accept dtype bool"),
    ("abs unsigned", lambda lax: lax.abs(np.uint8(3)), "abs does not accept dtype uint8"),
    ("cbrt complex", lambda lax: lax.cbrt(C), "cbrt does not accept dtype complex64"),
    ("floor int", lambda lax: lax.floor(I), "floor does not accept dtype int32"),
    ("is_finite int", lambda lax: lax.is_finite(I), "is_finite does not accept dtype int32"),
    ("round complex", lambda lax: lax.round(C), "round does not accept dtype complex64"),
    ("rem complex", lambda lax: lax.rem(C, C), "rem does not accept dtype complex64"),
    ("nextafter int", lambda lax: lax.nextafter(I, I), "nextafter does not accept dtype int32"),
    ("erf int", lambda lax: lax.erf(3), "erf does not accept dtype int32"),
    ("igamma int", lambda lax: lax.igamma(1, 2), "igamma does not accept dtype int32"),
    ("not float", lambda lax: lax.bitwise_not(V), "not does not accept dtype float32"),
    ("and float", lambda lax: lax.bitwise_and(V, V), "and does not accept dtype float32"),
    ("xor mixed", lambda lax: lax.bitwise_xor(True, 1), "got bool, int32"),
    ("shift float", lambda lax: lax.shift_left(V, V), "shift_left does not accept dtype float32"),
    ("shift bool", lambda lax: lax.shift_left(B, B), "shift_left does not accept dtype bool"),
    ("popcount", lambda lax: lax.population_count(V), "population_count does not accept"),
    ("clz bool", lambda lax: lax.clz(True), "clz does not accept dtype bool"),
    ("mulhi float", lambda lax: lax.mulhi(V, V), "mulhi does not accept dtype float32"),
    ("complex half", lambda lax: lax.complex(H, H), "complex does not accept dtype float16"),
    ("complex int", lambda lax: lax.complex(V, 0), "complex does not accept dtype int32 at pos"),
    ("conj int", lambda lax: lax.conj(I), "conj does not accept dtype int32"),
    ("real float", lambda lax: lax.real(V), "real does not accept dtype float32"),
    ("pow int", lambda lax: lax.pow(I, I), "pow does not accept dtype int32 at position 0"),
    ("pow bool", lambda lax: lax.pow(V, True), "pow does not accept dtype bool at position 1"),
    ("pow mixed", lambda lax: lax.pow(H, V), "two inexact dtypes must match.*float16 and float32"),
    ("integer_pow negative", lambda lax: lax.integer_pow(I, -1), "negative powers.*int32.*-1"),
    ("integer_pow fraction", lambda lax: lax.integer_pow(V, 2.5), "integer exponent, got y=2.5"),
    ("reciprocal int", lambda lax: lax.reciprocal(I), "Integers cannot be raised to negative"),
    ("reduce_precision int", lambda lax: lax.reduce_precision(I, 3, 1), "does not accept dtype"),
    ("reduce_precision 0", lambda lax: lax.reduce_precision(V, 0, 3), "positive; got 0"),
    ("reduce_precision -1", lambda lax: lax.reduce_precision(V, 3, -1), "non-negative; got -1"),
    ("reduce_precision float", lambda lax: lax.reduce_precision(V, 3.0, 1), "integer"),
    ("round method", lambda lax: lax.round(V, 7), "7 is not a valid RoundingMethod"),
    ("accuracy", lambda lax: lax.sin(1.0, accuracy="foo"), "Accuracy foo not supported"),
    ("convert None", lambda lax: lax.convert_element_type(V, None), "dtype must be specified"),
    ("convert name", lambda lax: lax.convert_element_type(V, "foo"), "foo"),
    ("convert text", lambda lax: lax.convert_element_type("a", "int32"), "not a valid JAX"),
    ("convert complex", lambda lax: lax.convert_element_type(1j, "float32"), "complex"),
    ("bitcast bool", lambda lax: lax.bitcast_convert_type(B, np.uint8), "bool or complex.*bool"),
    ("bitcast complex", lambda lax: lax.bitcast_convert_type(C, np.float32), "complex64"),
    ("bitcast size", lambda lax: lax.bitcast_convert_type(H, np.float32), "3 \\* 16 != 32"),
    ("big int", lambda lax: lax.add(I, 2**40), "too large"),
]

SHAPES: list[Case] = [
    (
        "sizes",
        lambda lax: lax.add(V, np.ones(4, np.float32)),
        "incompatible shapes.*\\(3,\\), \\(4,\\)",
    ),
    ("ranks", lambda lax: lax.add(V, V[None]), "same number of dimensions, got \\{1, 2\\}"),
    ("clamp min", lambda lax: lax.clamp(np.ones(4, np.float32), V, 1.0), "min.shape=\\(4,\\)"),
    ("clamp max", lambda lax: lax.clamp(0.0, V, np.ones(4, np.float32)), "max.shape=\\(4,\\)"),
    ("clamp types", lambda lax: lax.clamp(0, V, 1), "got int32, float32, int32"),
    (
        "select shapes",
        lambda lax: lax.select(True, V, X),
        "same shapes, got \\[\\(3, 4\\), \\(3,\\)\\]",
    ),
    ("select types", lambda lax: lax.select(True, V, I), "got int32, float32"),
    ("select pred", lambda lax: lax.select(V, V, V), "boolean or integer type, got float32"),
    (
        "select pred shape",
        lambda lax: lax.select(np.ones(2, bool), V, V),
        "shape \\(2,\\).*\\(3,\\)",
    ),
    ("select_n cases", lambda lax: lax.select_n(True, V, V, V), "cannot have > 2 cases"),
    ("select_n none", lambda lax: lax.select_n(True), "at least one case"),
]

VALUES: list[Case] = [
    ("text", lambda lax: lax.add(V, "a"), "argument to add.*'a' of type.*position 1"),
    ("list", lambda lax: lax.sin([1.0]), "argument to sin.*list.*position 0"),
    ("none", lambda lax: lax.eq(None, 1), "argument to eq.*None"),
    ("object", lambda lax: lax.neg(object()), "argument to neg"),
]


@pytest.mark.parametrize("case", TYPES, ids=ids(TYPES))
def test_dtypes(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", SHAPES, ids=ids(SHAPES))
def test_shapes(case: Case) -> None:
    check(case)


@pytest.mark.parametrize("case", VALUES, ids=ids(VALUES))
def test_values(case: Case) -> None:
    check(case)


def test_structured_array() -> None:
    """Arrays of dtypes that are no numbers are refused."""
    for bad in (np.array(["a"]), np.array([object()]), np.zeros(2, "M8[s]")):
        with pytest.raises(TypeError):
            check_add(bad)


def check_add(x: np.ndarray) -> None:
    import lingon.lax as lax

    lax.add(x, x)
