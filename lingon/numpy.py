"""NumPy's functions on lingon arrays, with JAX's signatures and results.

A function's module is imported when the function is first used.
"""

from __future__ import annotations

import math as _math
from typing import TYPE_CHECKING

from lingon.frontend.core.lazy import lazy_names as _lazy_names

# for type checkers; the same names as in the table below
if TYPE_CHECKING:
    from lingon.frontend.numpy.calculus import (
        diff as diff,
        ediff1d as ediff1d,
        gradient as gradient,
        interp as interp,
        trapezoid as trapezoid,
    )
    from lingon.frontend.numpy.creation import (
        arange as arange,
        array as array,
        asarray as asarray,
        copy as copy,
        empty as empty,
        empty_like as empty_like,
        from_dlpack as from_dlpack,
        frombuffer as frombuffer,
        full as full,
        full_like as full_like,
        geomspace as geomspace,
        linspace as linspace,
        logspace as logspace,
        ones as ones,
        ones_like as ones_like,
        zeros as zeros,
        zeros_like as zeros_like,
    )
    from lingon.frontend.numpy.dtype_functions import (
        array_repr as array_repr,
        array_str as array_str,
        broadcast_shapes as broadcast_shapes,
        can_cast as can_cast,
        finfo as finfo,
        get_printoptions as get_printoptions,
        iinfo as iinfo,
        iscomplexobj as iscomplexobj,
        isdtype as isdtype,
        isrealobj as isrealobj,
        isscalar as isscalar,
        issubdtype as issubdtype,
        iterable as iterable,
        ndarray as ndarray,
        ndim as ndim,
        printoptions as printoptions,
        promote_types as promote_types,
        result_type as result_type,
        set_printoptions as set_printoptions,
        shape as shape,
        size as size,
    )
    from lingon.frontend.numpy.editing import (
        delete as delete,
        fill_diagonal as fill_diagonal,
        insert as insert,
        trim_zeros as trim_zeros,
    )
    from lingon.frontend.numpy.files import (
        fromfile as fromfile,
        fromiter as fromiter,
        fromstring as fromstring,
        load as load,
        save as save,
        savez as savez,
    )
    from lingon.frontend.numpy.float_parts import (
        bitwise_count as bitwise_count,
        copysign as copysign,
        frexp as frexp,
        gcd as gcd,
        heaviside as heaviside,
        hypot as hypot,
        i0 as i0,
        iscomplex as iscomplex,
        isreal as isreal,
        lcm as lcm,
        ldexp as ldexp,
        modf as modf,
        nan_to_num as nan_to_num,
        packbits as packbits,
        sinc as sinc,
        spacing as spacing,
        unpackbits as unpackbits,
        unwrap as unwrap,
    )
    from lingon.frontend.numpy.functional import (
        apply_along_axis as apply_along_axis,
        apply_over_axes as apply_over_axes,
        vectorize as vectorize,
    )
    from lingon.frontend.numpy.histograms import (
        histogram as histogram,
        histogram2d as histogram2d,
        histogram_bin_edges as histogram_bin_edges,
        histogramdd as histogramdd,
    )
    from lingon.frontend.numpy.index_tricks import (
        c_ as c_,
        diag_indices as diag_indices,
        diag_indices_from as diag_indices_from,
        index_exp as index_exp,
        ix_ as ix_,
        mask_indices as mask_indices,
        mgrid as mgrid,
        ogrid as ogrid,
        r_ as r_,
        ravel_multi_index as ravel_multi_index,
        s_ as s_,
        tril_indices as tril_indices,
        tril_indices_from as tril_indices_from,
        triu_indices as triu_indices,
        triu_indices_from as triu_indices_from,
        unravel_index as unravel_index,
    )
    from lingon.frontend.numpy.logic import (
        allclose as allclose,
        array_equal as array_equal,
        array_equiv as array_equiv,
        isclose as isclose,
    )
    from lingon.frontend.numpy.manipulation import (
        append as append,
        array_split as array_split,
        astype as astype,
        atleast_1d as atleast_1d,
        atleast_2d as atleast_2d,
        atleast_3d as atleast_3d,
        block as block,
        broadcast_arrays as broadcast_arrays,
        broadcast_to as broadcast_to,
        column_stack as column_stack,
        concat as concat,
        concatenate as concatenate,
        dsplit as dsplit,
        dstack as dstack,
        expand_dims as expand_dims,
        hsplit as hsplit,
        hstack as hstack,
        matrix_transpose as matrix_transpose,
        moveaxis as moveaxis,
        permute_dims as permute_dims,
        ravel as ravel,
        reshape as reshape,
        rollaxis as rollaxis,
        split as split,
        squeeze as squeeze,
        stack as stack,
        swapaxes as swapaxes,
        transpose as transpose,
        unstack as unstack,
        vsplit as vsplit,
        vstack as vstack,
    )
    from lingon.frontend.numpy.matrices import (
        diag as diag,
        diagflat as diagflat,
        eye as eye,
        fromfunction as fromfunction,
        identity as identity,
        indices as indices,
        meshgrid as meshgrid,
        tri as tri,
        tril as tril,
        triu as triu,
        vander as vander,
    )
    from lingon.frontend.numpy.nan_reductions import (
        nanargmax as nanargmax,
        nanargmin as nanargmin,
        nanmax as nanmax,
        nanmean as nanmean,
        nanmin as nanmin,
        nanprod as nanprod,
        nanstd as nanstd,
        nansum as nansum,
        nanvar as nanvar,
    )
    from lingon.frontend.numpy.padding import (
        pad as pad,
    )
    from lingon.frontend.numpy.polynomials import (
        poly as poly,
        polyadd as polyadd,
        polyder as polyder,
        polydiv as polydiv,
        polyfit as polyfit,
        polyint as polyint,
        polymul as polymul,
        polysub as polysub,
        polyval as polyval,
        roots as roots,
    )
    from lingon.frontend.numpy.products import (
        cross as cross,
        dot as dot,
        einsum as einsum,
        einsum_path as einsum_path,
        inner as inner,
        kron as kron,
        matmul as matmul,
        matvec as matvec,
        outer as outer,
        tensordot as tensordot,
        vdot as vdot,
        vecdot as vecdot,
        vecmat as vecmat,
    )
    from lingon.frontend.numpy.quantiles import (
        median as median,
        nanmedian as nanmedian,
        nanpercentile as nanpercentile,
        nanquantile as nanquantile,
        percentile as percentile,
        quantile as quantile,
    )
    from lingon.frontend.numpy.rearranging import (
        diagonal as diagonal,
        flip as flip,
        fliplr as fliplr,
        flipud as flipud,
        repeat as repeat,
        resize as resize,
        roll as roll,
        rot90 as rot90,
        tile as tile,
        trace as trace,
    )
    from lingon.frontend.numpy.reductions import (
        all as all,
        amax as amax,
        amin as amin,
        any as any,
        argmax as argmax,
        argmin as argmin,
        average as average,
        count_nonzero as count_nonzero,
        cumprod as cumprod,
        cumsum as cumsum,
        cumulative_prod as cumulative_prod,
        cumulative_sum as cumulative_sum,
        max as max,
        mean as mean,
        min as min,
        nancumprod as nancumprod,
        nancumsum as nancumsum,
        prod as prod,
        ptp as ptp,
        std as std,
        sum as sum,
        var as var,
    )
    from lingon.frontend.numpy.scalar_types import (
        ComplexWarning as ComplexWarning,
        bfloat16 as bfloat16,
        bool_ as bool_,
        cdouble as cdouble,
        character as character,
        complex128 as complex128,
        complex64 as complex64,
        complex_ as complex_,
        complexfloating as complexfloating,
        csingle as csingle,
        double as double,
        dtype as dtype,
        flexible as flexible,
        float16 as float16,
        float32 as float32,
        float64 as float64,
        float8_e3m4 as float8_e3m4,
        float8_e4m3 as float8_e4m3,
        float8_e4m3b11fnuz as float8_e4m3b11fnuz,
        float8_e4m3fn as float8_e4m3fn,
        float8_e4m3fnuz as float8_e4m3fnuz,
        float8_e5m2 as float8_e5m2,
        float8_e5m2fnuz as float8_e5m2fnuz,
        float8_e8m0fnu as float8_e8m0fnu,
        float_ as float_,
        floating as floating,
        generic as generic,
        inexact as inexact,
        int16 as int16,
        int32 as int32,
        int4 as int4,
        int64 as int64,
        int8 as int8,
        int_ as int_,
        integer as integer,
        number as number,
        object_ as object_,
        signedinteger as signedinteger,
        single as single,
        uint as uint,
        uint16 as uint16,
        uint32 as uint32,
        uint4 as uint4,
        uint64 as uint64,
        uint8 as uint8,
        unsignedinteger as unsignedinteger,
    )
    from lingon.frontend.numpy.searching import (
        argpartition as argpartition,
        argsort as argsort,
        argwhere as argwhere,
        bincount as bincount,
        digitize as digitize,
        flatnonzero as flatnonzero,
        lexsort as lexsort,
        nonzero as nonzero,
        partition as partition,
        place as place,
        put as put,
        put_along_axis as put_along_axis,
        searchsorted as searchsorted,
        sort as sort,
        sort_complex as sort_complex,
        take as take,
        take_along_axis as take_along_axis,
    )
    from lingon.frontend.numpy.selection import (
        choose as choose,
        clip as clip,
        compress as compress,
        extract as extract,
        piecewise as piecewise,
        select as select,
        where as where,
    )
    from lingon.frontend.numpy.sets import (
        intersect1d as intersect1d,
        isin as isin,
        setdiff1d as setdiff1d,
        setxor1d as setxor1d,
        union1d as union1d,
        unique as unique,
        unique_all as unique_all,
        unique_counts as unique_counts,
        unique_inverse as unique_inverse,
        unique_values as unique_values,
    )
    from lingon.frontend.numpy.statistics import (
        convolve as convolve,
        corrcoef as corrcoef,
        correlate as correlate,
        cov as cov,
    )
    from lingon.frontend.numpy.ufunc_objects import (
        add as add,
        bitwise_and as bitwise_and,
        bitwise_or as bitwise_or,
        bitwise_xor as bitwise_xor,
        frompyfunc as frompyfunc,
        logaddexp as logaddexp,
        logaddexp2 as logaddexp2,
        logical_and as logical_and,
        logical_or as logical_or,
        logical_xor as logical_xor,
        maximum as maximum,
        minimum as minimum,
        multiply as multiply,
        negative as negative,
        subtract as subtract,
        ufunc as ufunc,
    )
    from lingon.frontend.numpy.ufuncs import (
        abs as abs,
        absolute as absolute,
        acos as acos,
        acosh as acosh,
        angle as angle,
        arccos as arccos,
        arccosh as arccosh,
        arcsin as arcsin,
        arcsinh as arcsinh,
        arctan as arctan,
        arctan2 as arctan2,
        arctanh as arctanh,
        around as around,
        asin as asin,
        asinh as asinh,
        atan as atan,
        atan2 as atan2,
        atanh as atanh,
        bitwise_invert as bitwise_invert,
        bitwise_left_shift as bitwise_left_shift,
        bitwise_not as bitwise_not,
        bitwise_right_shift as bitwise_right_shift,
        cbrt as cbrt,
        ceil as ceil,
        conj as conj,
        conjugate as conjugate,
        cos as cos,
        cosh as cosh,
        deg2rad as deg2rad,
        degrees as degrees,
        divide as divide,
        divmod as divmod,
        equal as equal,
        exp as exp,
        exp2 as exp2,
        expm1 as expm1,
        fabs as fabs,
        float_power as float_power,
        floor as floor,
        floor_divide as floor_divide,
        fmax as fmax,
        fmin as fmin,
        fmod as fmod,
        greater as greater,
        greater_equal as greater_equal,
        imag as imag,
        invert as invert,
        isfinite as isfinite,
        isinf as isinf,
        isnan as isnan,
        isneginf as isneginf,
        isposinf as isposinf,
        left_shift as left_shift,
        less as less,
        less_equal as less_equal,
        log as log,
        log10 as log10,
        log1p as log1p,
        log2 as log2,
        logical_not as logical_not,
        mod as mod,
        nextafter as nextafter,
        not_equal as not_equal,
        positive as positive,
        pow as pow,
        power as power,
        rad2deg as rad2deg,
        radians as radians,
        real as real,
        reciprocal as reciprocal,
        remainder as remainder,
        right_shift as right_shift,
        rint as rint,
        round as round,
        sign as sign,
        signbit as signbit,
        sin as sin,
        sinh as sinh,
        sqrt as sqrt,
        square as square,
        tan as tan,
        tanh as tanh,
        true_divide as true_divide,
        trunc as trunc,
    )
    from lingon.frontend.numpy.windows import (
        bartlett as bartlett,
        blackman as blackman,
        hamming as hamming,
        hanning as hanning,
        kaiser as kaiser,
    )

    bool = bool_

pi, e, inf, nan = _math.pi, _math.e, _math.inf, _math.nan
euler_gamma = 0.5772156649015329
newaxis = None

_sources = {
    "calculus": "diff ediff1d gradient interp trapezoid",
    "creation": (
        "arange array asarray copy empty empty_like from_dlpack frombuffer full full_like "
        "geomspace linspace logspace ones ones_like zeros zeros_like"
    ),
    "dtype_functions": (
        "array_repr array_str broadcast_shapes can_cast finfo get_printoptions iinfo iscomplexobj "
        "isdtype isrealobj isscalar issubdtype iterable ndarray ndim printoptions promote_types "
        "result_type set_printoptions shape size"
    ),
    "editing": "delete fill_diagonal insert trim_zeros",
    "files": "fromfile fromiter fromstring load save savez",
    "float_parts": (
        "bitwise_count copysign frexp gcd heaviside hypot i0 iscomplex isreal lcm ldexp modf "
        "nan_to_num packbits sinc spacing unpackbits unwrap"
    ),
    "functional": "apply_along_axis apply_over_axes vectorize",
    "histograms": "histogram histogram2d histogram_bin_edges histogramdd",
    "index_tricks": (
        "c_ diag_indices diag_indices_from index_exp ix_ mask_indices mgrid ogrid r_ "
        "ravel_multi_index s_ tril_indices tril_indices_from triu_indices triu_indices_from "
        "unravel_index"
    ),
    "logic": "allclose array_equal array_equiv isclose",
    "manipulation": (
        "append array_split astype atleast_1d atleast_2d atleast_3d block broadcast_arrays "
        "broadcast_to column_stack concat concatenate dsplit dstack expand_dims hsplit hstack "
        "matrix_transpose moveaxis permute_dims ravel reshape rollaxis split squeeze stack "
        "swapaxes transpose unstack vsplit vstack"
    ),
    "matrices": ("diag diagflat eye fromfunction identity indices meshgrid tri tril triu vander"),
    "nan_reductions": ("nanargmax nanargmin nanmax nanmean nanmin nanprod nanstd nansum nanvar"),
    "padding": "pad",
    "polynomials": ("poly polyadd polyder polydiv polyfit polyint polymul polysub polyval roots"),
    "products": (
        "cross dot einsum einsum_path inner kron matmul matvec outer tensordot vdot vecdot vecmat"
    ),
    "quantiles": "median nanmedian nanpercentile nanquantile percentile quantile",
    "rearranging": "diagonal flip fliplr flipud repeat resize roll rot90 tile trace",
    "reductions": (
        "all amax amin any argmax argmin average count_nonzero cumprod cumsum cumulative_prod "
        "cumulative_sum max mean min nancumprod nancumsum prod ptp std sum var"
    ),
    "scalar_types": (
        "ComplexWarning bfloat16 bool=bool_ bool_ cdouble character complex128 complex64 complex_ "
        "complexfloating csingle double dtype flexible float16 float32 float64 float8_e3m4 "
        "float8_e4m3 float8_e4m3b11fnuz float8_e4m3fn float8_e4m3fnuz float8_e5m2 float8_e5m2fnuz "
        "float8_e8m0fnu float_ floating generic inexact int16 int32 int4 int64 int8 int_ integer "
        "number object_ signedinteger single uint uint16 uint32 uint4 uint64 uint8 "
        "unsignedinteger"
    ),
    "searching": (
        "argpartition argsort argwhere bincount digitize flatnonzero lexsort nonzero partition "
        "place put put_along_axis searchsorted sort sort_complex take take_along_axis"
    ),
    "selection": "choose clip compress extract piecewise select where",
    "sets": (
        "intersect1d isin setdiff1d setxor1d union1d unique unique_all unique_counts "
        "unique_inverse unique_values"
    ),
    "statistics": "convolve corrcoef correlate cov",
    "ufunc_objects": (
        "add bitwise_and bitwise_or bitwise_xor frompyfunc logaddexp logaddexp2 logical_and "
        "logical_or logical_xor maximum minimum multiply negative subtract ufunc"
    ),
    "ufuncs": (
        "abs absolute acos acosh angle arccos arccosh arcsin arcsinh arctan arctan2 arctanh "
        "around asin asinh atan atan2 atanh bitwise_invert bitwise_left_shift bitwise_not "
        "bitwise_right_shift cbrt ceil conj conjugate cos cosh deg2rad degrees divide divmod "
        "equal exp exp2 expm1 fabs float_power floor floor_divide fmax fmin fmod greater "
        "greater_equal imag invert isfinite isinf isnan isneginf isposinf left_shift less "
        "less_equal log log10 log1p log2 logical_not mod nextafter not_equal positive pow power "
        "rad2deg radians real reciprocal remainder right_shift rint round sign signbit sin sinh "
        "sqrt square tan tanh true_divide trunc"
    ),
    "windows": "bartlett blackman hamming hanning kaiser",
}

_function, __dir__, _names = _lazy_names(
    __name__, {f"lingon.frontend.numpy.{file}": names for file, names in _sources.items()}
)
if not TYPE_CHECKING:  # which would take any name to be there
    __getattr__ = _function
__all__ = [*_names, "e", "euler_gamma", "inf", "nan", "newaxis", "pi"]
