"""Plans of primitives give what their references give, on the samples of the primitives."""

from __future__ import annotations

import numpy as np
import pytest

from lingon.frontend import plans, primitives
from lingon.frontend.core import dtypes, eager
from lingon.frontend.core.avals import get_aval
from lingon.frontend.core.primitive import Absent, registry, sample_array
from lingon.runtime import ArrayImpl

assert primitives  # declares them
builder = plans._builder()

NAMES = sorted(
    n
    for n, p in registry.items()
    if (n in builder.rules or builder.ufunc_of(p) is not None) and p.samples
)


def _run(name: str) -> tuple[int, int]:
    """Compares all samples; returns how many had a plan, and how many there are."""
    p = registry[name]
    rng = np.random.default_rng(0)
    planned = 0
    for s in p.samples:
        args = [eager.as_array(sample_array(rng, a, s.low, s.high)) for a in s.args]
        avals = tuple(get_aval(a) for a in args)
        out = p.abstract_eval(*avals, **s.params)
        plan = plans.plan_of_primitive(p, avals, out, s.params)
        if plan is None:
            continue
        planned += 1
        got = plan.execute([a if type(a) is ArrayImpl else a._base_array for a in args])
        if type(p.reference) is Absent:
            continue
        ins = [eager.to_numpy(a, v) for a, v in zip(args, avals, strict=True)]
        res = eager.quietly(p.reference, ins, s.params)
        want = res if p.multiple_results else [res]
        for g, w, v in zip(got, want, out if p.multiple_results else [out], strict=True):
            g = g._numpy()
            w = np.asarray(w) if dtypes.is_extended(v.dtype) else np.asarray(w, dtype=v.dtype)
            assert g.shape == w.shape and g.dtype == w.dtype, (name, s.params)
            if eager.plan_is_inexact(name, avals) and w.dtype.kind in "fc":
                tol = 1e-5 if w.dtype.itemsize >= 4 else 2e-2
                np.testing.assert_allclose(
                    g.astype(np.complex128), w.astype(np.complex128), rtol=tol, atol=tol
                )
            else:
                # NaNs may differ in their payload
                same = (g == w) | ((g != g) & (w != w))
                zeros = np.signbit(g) == np.signbit(w) if w.dtype.kind == "f" else True
                assert np.all(same), (name, s.params, [a.dtype for a in args], g, w)
                assert np.all(zeros | (g != 0)), (name, s.params, g, w)
    return planned, len(p.samples)


@pytest.mark.parametrize("name", NAMES)
def test_plan_gives_what_the_reference_gives(name: str) -> None:
    planned, _ = _run(name)
    if name not in ("optimization_barrier_one", "name"):
        assert planned, "no sample has a plan"
