"""log, log1p, erf and erf_inv as random samplers use them: the same bits on every machine.

They are the published approximations with which JAX's samples are made. Programs call `log`,
`log1p`, `erf` and `erf_inv`, which are more exact. NumPy has no fused multiply-add, so there is no
reference: outside `jit` they are compiled as well.
"""

from __future__ import annotations

from typing import Any

from ..core.primitive import Primitive, absent
from ..core.rules import operand_jvps
from .arithmetic import BF16, F16, F32, add_p, div_p, unary_samples
from .checks import nan_check
from .declare import FLOAT, const, elementwise
from .special import erf_inv_p, erf_p


def _sampler_function(name: str, jvp: Any, low: float, high: float) -> Primitive:
    return elementwise(
        name,
        (FLOAT,),
        absent("NumPy has no fused multiply-add"),
        jvp=jvp,
        transpose=absent("it is not linear"),
        samples=unary_samples(F32, BF16, F16, low=low, high=high, special=False),
        checkify=nan_check,
    )


sampler_log_p: Primitive = _sampler_function(
    "sampler_log", operand_jvps(lambda t, out, x: div_p.bind(t, x)), low=0.5, high=4.0
)
sampler_log1p_p: Primitive = _sampler_function(
    "sampler_log1p",
    operand_jvps(lambda t, out, x: div_p.bind(t, add_p.bind(x, const(x, 1)))),
    low=-0.5,
    high=2.0,
)
sampler_erf_p: Primitive = _sampler_function("sampler_erf", erf_p.jvp, low=-2.0, high=2.0)
sampler_erf_inv_p: Primitive = _sampler_function(
    "sampler_erf_inv", erf_inv_p.jvp, low=-0.9, high=0.9
)
