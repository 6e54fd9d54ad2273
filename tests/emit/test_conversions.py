"""convert_element_type and bitcast_convert_type between all dtypes, against jax."""

from __future__ import annotations

import jax
import numpy as np
import pytest
from emit_oracle import COMPLEX, DTYPES, FLOAT8, check, dtype, samples
from jax import lax

ALL = (*DTYPES, *FLOAT8, "float8_e8m0fnu")

# Values halfway, or nearly halfway, between two numbers of the narrower formats.
HALFWAY = [
    1 + 2**-8 + 2**-40, 1 + 2**-11 + 2**-40, 1 + 2**-4 + 2**-40, 1 + 2**-3 - 2**-50, 464.0, 465.0,
    463.9999999999, 448.0000001, 57344.1, 61440.0, 61439.9999999, 65519.9999999, 65520.0, 3.3e38,
    1e39, 3.99, -3.99, 300.0, -300.0, 2147483648.0, 4294967296.0, 255.5, 127.9, -129.0, 1e10,
]  # fmt: skip


@pytest.mark.parametrize("source", ALL)
def test_convert(source):
    t = dtype(source)
    x = np.arange(256, dtype=np.uint8).view(t) if "float8" in source else samples(source)
    if source in ("float32", "float64", *COMPLEX):
        x = np.concatenate([x, np.array(HALFWAY).astype(t)])
    check(lambda x: [lax.convert_element_type(x, dtype(target)) for target in ALL], x)


@pytest.mark.parametrize("source", [d for d in ALL if d not in (*COMPLEX, "bool")])
def test_bitcast(source):
    targets = []
    for target in ALL:
        for shape in ((4, 16), (32, 2), (16, 4), (8, 8)):
            x = jax.ShapeDtypeStruct(shape, dtype(source))
            try:
                jax.make_jaxpr(lambda x, t=target: lax.bitcast_convert_type(x, dtype(t)))(x)
            except (TypeError, ValueError):
                continue  # jax does not accept this pair of dtypes for this shape
            targets.append((target, shape))
            break
    assert targets
    x = samples(source)[:64]
    check(lambda x: [lax.bitcast_convert_type(x.reshape(s), dtype(t)) for t, s in targets], x)
