"""log, log1p, erf and erf_inv as random samplers use them.

A sampler promises the same numbers everywhere, so these are the published approximations with which
samples of this kind are made, rounding by rounding; they are less exact than the functions that
programs call (`exponential.py`, `error_function.py`). f64 takes the same formulas, over the
library's own log and erf.

Sources: S. L. Moshier, Cephes Mathematical Library (log, log1p); M. Giles, "Approximating the erfinv
function", GPU Computing Gems 2 (2011); erf by a rational minimax approximation x P(x^2) / Q(x^2).
"""

from __future__ import annotations

from .builder import INF, Builder, Value
from .error_function import erf_
from .exponential import log_, log_parts, log_special

# highest power first
LOG = (
    (7.0376836292e-2, -1.1514610310e-1, 1.1676998740e-1),
    (-1.2420140846e-1, 1.4249322787e-1, -1.6668057665e-1),
    (2.0000714765e-1, -2.4999993993e-1, 3.3333331174e-1),
)
LN2_HIGH, LN2_LOW = 0.693359375, -2.12194440e-4
LOG1P_P = (
    4.5270000862445199635215e-5,
    4.9854102823193375972212e-1,
    6.5787325942061044846969,
    2.9911919328553073277375e1,
    6.0949667980987787057556e1,
    5.7112963590585538103336e1,
    2.0039553499201281259648e1,
)
LOG1P_Q = (
    1.0,
    1.5062909083469192043167e1,
    8.3047565967967209469434e1,
    2.2176239823732856465394e2,
    3.0909872225312059774938e2,
    2.1642788614495947685003e2,
    6.0118660497603843919306e1,
)
ERF_P = (
    0.00022905065861350646,
    0.0034082910107109506,
    0.050955695062380861,
    0.18520832239976145,
    1.128379143519084,
)
ERF_Q = (
    -1.1791602954361697e-7,
    0.000023547966471313185,
    0.0010179625278914885,
    0.014070470171167667,
    0.11098505178285362,
    0.49746925110067538,
    1.0,
)
# (bound of w from below, whether the argument is sqrt(w), centre, polynomial)
ERF_INV = {
    "f32": (
        (
            (0.0, False, 2.5),
            (
                2.81022636e-08,
                3.43273939e-07,
                -3.5233877e-06,
                -4.39150654e-06,
                0.00021858087,
                -0.00125372503,
                -0.00417768164,
                0.246640727,
                1.50140941,
            ),
        ),
        (
            (5.0, True, 3.0),
            (
                -0.000200214257,
                0.000100950558,
                0.00134934322,
                -0.00367342844,
                0.00573950773,
                -0.0076224613,
                0.00943887047,
                1.00167406,
                2.83297682,
            ),
        ),
    ),
    "f64": (
        (
            (0.0, False, 3.125),
            (
                -3.6444120640178196996e-21,
                -1.685059138182016589e-19,
                1.2858480715256400167e-18,
                1.115787767802518096e-17,
                -1.333171662854620906e-16,
                2.0972767875968561637e-17,
                6.6376381343583238325e-15,
                -4.0545662729752068639e-14,
                -8.1519341976054721522e-14,
                2.6335093153082322977e-12,
                -1.2975133253453532498e-11,
                -5.4154120542946279317e-11,
                1.051212273321532285e-09,
                -4.1126339803469836976e-09,
                -2.9070369957882005086e-08,
                4.2347877827932403518e-07,
                -1.3654692000834678645e-06,
                -1.3882523362786468719e-05,
                0.0001867342080340571352,
                -0.00074070253416626697512,
                -0.0060336708714301490533,
                0.24015818242558961693,
                1.6536545626831027356,
            ),
        ),
        (
            (6.25, True, 3.25),
            (
                2.2137376921775787049e-09,
                9.0756561938885390979e-08,
                -2.7517406297064545428e-07,
                1.8239629214389227755e-08,
                1.5027403968909827627e-06,
                -4.013867526981545969e-06,
                2.9234449089955446044e-06,
                1.2475304481671778723e-05,
                -4.7318229009055733981e-05,
                6.8284851459573175448e-05,
                2.4031110387097893999e-05,
                -0.0003550375203628474796,
                0.00095328937973738049703,
                -0.0016882755560235047313,
                0.0024914420961078508066,
                -0.0037512085075692412107,
                0.005370914553590063617,
                1.0052589676941592334,
                3.0838856104922207635,
            ),
        ),
        (
            (16.0, True, 5.0),
            (
                -2.7109920616438573243e-11,
                -2.5556418169965252055e-10,
                1.5076572693500548083e-09,
                -3.7894654401267369937e-09,
                7.6157012080783393804e-09,
                -1.4960026627149240478e-08,
                2.9147953450901080826e-08,
                -6.7711997758452339498e-08,
                2.2900482228026654717e-07,
                -9.9298272942317002539e-07,
                4.5260625972231537039e-06,
                -1.9681778105531670567e-05,
                7.5995277030017761139e-05,
                -0.00021503011930044477347,
                -0.00013871931833623122026,
                1.0103004648645343977,
                4.8499064014085844221,
            ),
        ),
    ),
}
SQRT2_MINUS_1 = 0.41421356237309504880


def _polynomial(b: Builder, x: Value, highest_first: tuple[float, ...]) -> Value:
    return b.horner(x, highest_first[::-1])


def sampler_log_(b: Builder, x: Value) -> Value:
    if b.float == "f64":
        return log_(b, x)
    k, f = log_parts(b, x)
    square = f * f
    cube = square * f
    high, middle, low = (_polynomial(b, f, c) for c in LOG)
    poly = b.fma(b.fma(high, cube, middle), cube, low)
    tail = b.fma(poly, cube, k * LN2_LOW)
    return log_special(b, x, b.fma(k, LN2_HIGH, b.fma(square, -0.5, f) + tail))


def sampler_log1p_(b: Builder, x: Value) -> Value:
    ratio = _polynomial(b, x, LOG1P_P) / _polynomial(b, x, LOG1P_Q)
    square = x * x
    small = x + b.fma(square, -0.5, (x * square) * ratio)
    return b.select(b.abs(x) < SQRT2_MINUS_1, small, sampler_log_(b, x + 1.0))


def sampler_erf_(b: Builder, x: Value) -> Value:
    if b.float == "f64":
        return erf_(b, x)
    inner = b.select(x < -4.0, -4.0, b.select(x > 4.0, 4.0, x))
    square = inner * inner
    result = inner * _polynomial(b, square, ERF_P) / _polynomial(b, square, ERF_Q)
    return b.select(result < -1.0, -1.0, b.select(result > 1.0, 1.0, result))


def sampler_erf_inv_(b: Builder, x: Value) -> Value:
    w = -sampler_log1p_(b, -x * x)
    root = b.sqrt(w)
    factor = w
    for (bound, of_root, centre), polynomial in ERF_INV[b.float]:
        value = _polynomial(b, (root if of_root else w) - centre, polynomial)
        factor = value if bound == 0.0 else b.select(w < bound, factor, value)
    return b.select(b.abs(x).eq(1.0), x * INF, factor * x)
