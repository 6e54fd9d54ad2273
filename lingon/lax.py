"""Primitive operations on arrays: no implicit promotion, no NumPy-style broadcasting.

The names are those of `jax.lax`; primitives are available as `add_p` and so on.

A function's module is imported when the function is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from typing import Any as _Any

from lingon.frontend.core.lazy import lazy_names as _lazy_names
from lingon.frontend.core.primitive import registry as _registry

# for type checkers; the same names as in the table below
if TYPE_CHECKING:
    from lingon.frontend.lax.bits import (
        bitwise_and as bitwise_and,
        bitwise_not as bitwise_not,
        bitwise_or as bitwise_or,
        bitwise_xor as bitwise_xor,
        clz as clz,
        mulhi as mulhi,
        population_count as population_count,
        shift_left as shift_left,
        shift_right_arithmetic as shift_right_arithmetic,
        shift_right_logical as shift_right_logical,
    )
    from lingon.frontend.lax.bounded_loops import (
        bounded_while_loop as bounded_while_loop,
    )
    from lingon.frontend.lax.collectives import (
        all_gather as all_gather,
        all_to_all as all_to_all,
        axis_index as axis_index,
        axis_size as axis_size,
        pbroadcast as pbroadcast,
        pcast as pcast,
        pmax as pmax,
        pmean as pmean,
        pmin as pmin,
        ppermute as ppermute,
        pshuffle as pshuffle,
        psum as psum,
        psum_scatter as psum_scatter,
        pswapaxes as pswapaxes,
    )
    from lingon.frontend.lax.conditionals import (
        cond as cond,
        platform_dependent as platform_dependent,
        switch as switch,
    )
    from lingon.frontend.lax.conversion import (
        bitcast_convert_type as bitcast_convert_type,
        clamp as clamp,
        convert_element_type as convert_element_type,
        dtype as dtype,
        optimization_barrier as optimization_barrier,
        reduce_precision as reduce_precision,
        select as select,
        select_n as select_n,
        stop_gradient as stop_gradient,
    )
    from lingon.frontend.lax.cumulative import (
        cumlogsumexp as cumlogsumexp,
        cummax as cummax,
        cummin as cummin,
        cumprod as cumprod,
        cumsum as cumsum,
    )
    from lingon.frontend.lax.custom_solves import (
        custom_linear_solve as custom_linear_solve,
        custom_root as custom_root,
    )
    from lingon.frontend.lax.elementwise import (
        abs as abs,
        acos as acos,
        acosh as acosh,
        add as add,
        asin as asin,
        asinh as asinh,
        atan as atan,
        atan2 as atan2,
        atanh as atanh,
        cbrt as cbrt,
        ceil as ceil,
        complex as complex,
        conj as conj,
        cos as cos,
        cosh as cosh,
        div as div,
        eq as eq,
        exp as exp,
        exp2 as exp2,
        expm1 as expm1,
        floor as floor,
        ge as ge,
        gt as gt,
        imag as imag,
        integer_pow as integer_pow,
        is_finite as is_finite,
        le as le,
        log as log,
        log1p as log1p,
        logistic as logistic,
        lt as lt,
        max as max,
        min as min,
        mul as mul,
        ne as ne,
        neg as neg,
        nextafter as nextafter,
        pow as pow,
        real as real,
        reciprocal as reciprocal,
        rem as rem,
        round as round,
        rsqrt as rsqrt,
        sign as sign,
        sin as sin,
        sinh as sinh,
        sqrt as sqrt,
        square as square,
        sub as sub,
        tan as tan,
        tanh as tanh,
    )
    from lingon.frontend.lax.indexing import (
        GatherDimensionNumbers as GatherDimensionNumbers,
        GatherScatterMode as GatherScatterMode,
        ScatterDimensionNumbers as ScatterDimensionNumbers,
        dynamic_index_in_dim as dynamic_index_in_dim,
        dynamic_slice as dynamic_slice,
        dynamic_slice_in_dim as dynamic_slice_in_dim,
        dynamic_update_index_in_dim as dynamic_update_index_in_dim,
        dynamic_update_slice as dynamic_update_slice,
        dynamic_update_slice_in_dim as dynamic_update_slice_in_dim,
        gather as gather,
        index_in_dim as index_in_dim,
        index_take as index_take,
        scatter as scatter,
        scatter_add as scatter_add,
        scatter_apply as scatter_apply,
        scatter_max as scatter_max,
        scatter_min as scatter_min,
        scatter_mul as scatter_mul,
        scatter_sub as scatter_sub,
        slice_in_dim as slice_in_dim,
    )
    from lingon.frontend.lax.loops import (
        fori_loop as fori_loop,
        while_loop as while_loop,
    )
    from lingon.frontend.lax.options import (
        AccuracyMode as AccuracyMode,
        DotAlgorithm as DotAlgorithm,
        DotAlgorithmPreset as DotAlgorithmPreset,
        Precision as Precision,
        RoundingMethod as RoundingMethod,
        Tolerance as Tolerance,
    )
    from lingon.frontend.lax.prefix_scans import (
        associative_scan as associative_scan,
    )
    from lingon.frontend.lax.reductions import (
        argmax as argmax,
        argmin as argmin,
        batch_matmul as batch_matmul,
        dot as dot,
        dot_general as dot_general,
        reduce as reduce,
        reduce_and as reduce_and,
        reduce_max as reduce_max,
        reduce_min as reduce_min,
        reduce_or as reduce_or,
        reduce_prod as reduce_prod,
        reduce_sum as reduce_sum,
        reduce_xor as reduce_xor,
    )
    from lingon.frontend.lax.scanning import (
        map as map,
        scan as scan,
    )
    from lingon.frontend.lax.sorting import (
        sort as sort,
        sort_key_val as sort_key_val,
        top_k as top_k,
    )
    from lingon.frontend.lax.special import (
        bessel_i0e as bessel_i0e,
        bessel_i1e as bessel_i1e,
        betainc as betainc,
        digamma as digamma,
        erf as erf,
        erf_inv as erf_inv,
        erfc as erfc,
        igamma as igamma,
        igamma_grad_a as igamma_grad_a,
        igammac as igammac,
        lgamma as lgamma,
        polygamma as polygamma,
        random_gamma_grad as random_gamma_grad,
        zeta as zeta,
    )
    from lingon.frontend.lax.structure import (
        broadcast as broadcast,
        broadcast_in_dim as broadcast_in_dim,
        broadcast_like as broadcast_like,
        broadcast_shapes as broadcast_shapes,
        broadcast_to_rank as broadcast_to_rank,
        broadcasted_iota as broadcasted_iota,
        collapse as collapse,
        concatenate as concatenate,
        empty as empty,
        expand_dims as expand_dims,
        full as full,
        full_like as full_like,
        iota as iota,
        pad as pad,
        reshape as reshape,
        rev as rev,
        shape_as_value as shape_as_value,
        slice as slice,
        split as split,
        squeeze as squeeze,
        stack as stack,
        tile as tile,
        transpose as transpose,
        unstack as unstack,
    )
    from lingon.frontend.placement import (
        with_sharding_constraint as with_sharding_constraint,
    )

_sources = {
    "lax.bits": (
        "bitwise_and bitwise_not bitwise_or bitwise_xor clz mulhi population_count shift_left "
        "shift_right_arithmetic shift_right_logical"
    ),
    "lax.bounded_loops": "bounded_while_loop",
    "lax.collectives": (
        "all_gather all_to_all axis_index axis_size pbroadcast pcast pmax pmean pmin ppermute "
        "pshuffle psum psum_scatter pswapaxes"
    ),
    "lax.conditionals": "cond platform_dependent switch",
    "lax.conversion": (
        "bitcast_convert_type clamp convert_element_type dtype optimization_barrier "
        "reduce_precision select select_n stop_gradient"
    ),
    "lax.cumulative": "cumlogsumexp cummax cummin cumprod cumsum",
    "lax.custom_solves": "custom_linear_solve custom_root",
    "lax.elementwise": (
        "abs acos acosh add asin asinh atan atan2 atanh cbrt ceil complex conj cos cosh div eq "
        "exp exp2 expm1 floor ge gt imag integer_pow is_finite le log log1p logistic lt max min "
        "mul ne neg nextafter pow real reciprocal rem round rsqrt sign sin sinh sqrt square sub "
        "tan tanh"
    ),
    "lax.indexing": (
        "GatherDimensionNumbers GatherScatterMode ScatterDimensionNumbers dynamic_index_in_dim "
        "dynamic_slice dynamic_slice_in_dim dynamic_update_index_in_dim dynamic_update_slice "
        "dynamic_update_slice_in_dim gather index_in_dim index_take scatter scatter_add "
        "scatter_apply scatter_max scatter_min scatter_mul scatter_sub slice_in_dim"
    ),
    "lax.loops": "fori_loop while_loop",
    "lax.options": (
        "AccuracyMode DotAlgorithm DotAlgorithmPreset Precision RoundingMethod Tolerance"
    ),
    "lax.prefix_scans": "associative_scan",
    "lax.reductions": (
        "argmax argmin batch_matmul dot dot_general reduce reduce_and reduce_max reduce_min "
        "reduce_or reduce_prod reduce_sum reduce_xor"
    ),
    "lax.scanning": "map scan",
    "lax.sorting": "sort sort_key_val top_k",
    "lax.special": (
        "bessel_i0e bessel_i1e betainc digamma erf erf_inv erfc igamma igamma_grad_a igammac "
        "lgamma polygamma random_gamma_grad zeta"
    ),
    "lax.structure": (
        "broadcast broadcast_in_dim broadcast_like broadcast_shapes broadcast_to_rank "
        "broadcasted_iota collapse concatenate empty expand_dims full full_like iota pad reshape "
        "rev shape_as_value slice split squeeze stack tile transpose unstack"
    ),
    "placement": "with_sharding_constraint",
}

_function, __dir__, _names = _lazy_names(
    __name__, {f"lingon.frontend.{file}": names for file, names in _sources.items()}
)
__all__ = [*_names]


def __getattr__(name: str) -> _Any:
    if name.endswith("_p"):
        for key in (name[:-2], name[:-2].replace("_", "-")):
            if key in _registry:
                return _registry[key]
    return _function(name)
