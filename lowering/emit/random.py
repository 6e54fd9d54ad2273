"""Emission of the counter-based random generator and of typed keys.

A key is one 64-bit element, its first word in the low half: in memory the same bytes as two
uint32. So everything that moves arrays about moves arrays of keys too.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from .registry import emits
from .scalar import ScalarBuilder
from .structure import concatenated, extract_slice, reshaped
from .types import element_type, key_type
from .values import Value

__all__: list[str] = []

_U32 = element_type(np.dtype("uint32"))
_U64 = element_type(np.dtype("uint64"))
_BLOCK = "lingon_threefry2x32"

# Threefry-2x32 with 20 rounds: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as
# 1, 2, 3" (2011), section 3.3 and table 2.
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA


def _block_function() -> str:
    """Text of the function (key, counter word 0, counter word 1) -> both words of the block."""
    lines: list[str] = []
    count = 0

    def op(text: str) -> str:
        nonlocal count
        count += 1
        lines.append(f"%{count} = {text}")
        return f"%{count}"

    def constant(value: int, type: str = "i32") -> str:
        value -= (1 << 32) if value >> 31 else 0
        return op(f"arith.constant {value} : {type}")

    def add(x: str, y: str) -> str:
        return op(f"arith.addi {x}, {y} : i32")

    def xor(x: str, y: str) -> str:
        return op(f"arith.xori {x}, {y} : i32")

    thirty_two = constant(32, "i64")
    low = op("arith.trunci %key : i64 to i32")
    high = op(f"arith.trunci {op(f'arith.shrui %key, {thirty_two} : i64')} : i64 to i32")
    schedule = [low, high, xor(xor(low, high), constant(_PARITY))]
    x, y = add("%x", low), add("%y", high)
    for group in range(5):
        for rotation in _ROTATIONS[group % 2]:
            x = add(x, y)
            left = op(f"arith.shli {y}, {constant(rotation)} : i32")
            right = op(f"arith.shrui {y}, {constant(32 - rotation)} : i32")
            y = xor(op(f"arith.ori {left}, {right} : i32"), x)
        x = add(x, schedule[(group + 1) % 3])
        y = add(add(y, schedule[(group + 2) % 3]), constant(group + 1))
    wide = [op(f"arith.extui {v} : i32 to i64") for v in (x, y)]
    shifted = op(f"arith.shli {wide[1]}, {thirty_two} : i64")
    result = op(f"arith.ori {wide[0]}, {shifted} : i64")
    return "\n".join(
        [
            f"func.func private @{_BLOCK}(%key: i64, %x: i32, %y: i32) -> i64 "
            'attributes {passthrough = ["alwaysinline"]} {',
            *lines,
            f"return {result} : i64",
            "}",
        ]
    )


def _block(b: ScalarBuilder, key: str, x: str, y: str) -> str:
    """One block: i64 with the first word in the low half."""
    b.ctx.define(_BLOCK, _block_function)
    return b(f"func.call @{_BLOCK}({key}, {x}, {y}) : (i64, i32, i32) -> i64")


def _word(b: ScalarBuilder, block: str, which: int) -> str:
    if which:
        block = b.binary("arith.shrui", block, b.const(32, "i64"), "i64")
    return b(f"arith.trunci {block} : i64 to i32")


def _packed(b: ScalarBuilder, low: str, high: str) -> str:
    low, high = (b(f"arith.extui {v} : i32 to i64") for v in (low, high))
    return b.binary(
        "arith.ori", low, b.binary("arith.shli", high, b.const(32, "i64"), "i64"), "i64"
    )


def _over(ctx, keys: Value, shape: tuple[int, ...], type, compute: Callable) -> Value:
    """``compute(b, key, counter)`` over the dimensions of `keys` followed by `shape`; `counter` is
    the row-major index in the latter, as i64."""
    whole = (*keys.shape, *shape)
    rank = keys.ndim

    def element(b: ScalarBuilder, xs: list[str]) -> str:
        counter = None
        for d, size in enumerate(shape):
            if size == 1:
                continue
            place = b(f"linalg.index {rank + d} : index")
            if counter is not None:
                counter = b.binary("arith.muli", counter, b.const(size, "index"), "index")
                place = b.binary("arith.addi", counter, place, "index")
            counter = place
        if counter is None:
            return compute(b, xs[0], b.const(0, "i64"))
        return compute(b, xs[0], b(f"arith.index_cast {counter} : index to i64"))

    operands = [ctx.view(keys, whole, tuple(range(rank)))]
    if whole:  # so that equal keys do not make the result look uniform
        operands.append(ctx.iota(whole, _U32, len(whole) - 1))
    return ctx.elementwise(element, operands, whole, type)


def _counter_words(b: ScalarBuilder, counter: str) -> tuple[str, str]:
    """The high and the low word of a 64-bit counter."""
    return _word(b, counter, 1), _word(b, counter, 0)


# ---- keys ----------------------------------------------------------------------------------------


@emits("random_seed")
def _random_seed(ctx, eqn, seeds):
    """The seed's high word, zero unless it has 64 bits, then its low word."""
    t, key = seeds.type, key_type(eqn.outvars[0].aval.dtype)

    def compute(b: ScalarBuilder, xs: list[str]) -> str:
        (x,) = xs
        if t.bits == 64:
            return _packed(b, _word(b, x, 1), _word(b, x, 0))
        if t.bits < 32:
            x = b(f"arith.{'extsi' if t.kind == 'i' else 'extui'} {x} : {t.register} to i32")
        return _packed(b, b.const(0, "i32"), x)

    return ctx.elementwise(compute, [seeds], seeds.shape, key)


@emits("random_unwrap")
def _random_unwrap(ctx, eqn, keys):
    shape = (*keys.shape, 2)

    def compute(b: ScalarBuilder, xs: list[str]) -> str:
        key, which = xs
        first = b.cmpi("eq", which, b.const(0, "i32"), "i32")
        return b.select(first, _word(b, key, 0), _word(b, key, 1), "i32")

    spread = ctx.view(keys, shape, tuple(range(keys.ndim)))
    return ctx.elementwise(compute, [spread, ctx.iota(shape, _U32, keys.ndim)], shape, _U32)


@emits("random_wrap")
def _random_wrap(ctx, eqn, words):
    return _wrapped(ctx, words, key_type(eqn.outvars[0].aval.dtype))


def _wrapped(ctx, words: Value, key) -> Value:
    """Keys out of a uint32 array whose last dimension holds both words."""
    shape = words.shape[:-1]
    halves = []
    for which in (0, 1):
        offsets = [0] * len(shape) + [which]
        part = extract_slice(ctx, words, offsets, (*shape, 1))
        halves.append(reshaped(ctx, part, shape))
    return ctx.elementwise(lambda b, xs: _packed(b, *xs), halves, shape, key)


@emits("random_clone")
def _random_clone(ctx, eqn, keys):
    return keys


@emits("random_fold_in")
def _random_fold_in(ctx, eqn, keys, data):
    """The block of the seed made from `data`."""
    shape = tuple(eqn.outvars[0].aval.shape)

    def spread(v: Value) -> Value:
        return v if v.shape == shape else ctx.view(v, shape, tuple(range(v.ndim)))

    def compute(b: ScalarBuilder, xs: list[str]) -> str:
        return _block(b, xs[0], b.const(0, "i32"), xs[1])

    word = ctx.converted(data, _U32)
    return ctx.elementwise(compute, [spread(keys), spread(word)], shape, keys.type)


@emits("random_split")
def _random_split(ctx, eqn, keys):
    shape = tuple(eqn.params["shape"])
    if _partitionable(ctx):
        return _over(
            ctx,
            keys,
            shape,
            keys.type,
            lambda b, key, counter: _block(b, key, *_counter_words(b, counter)),
        )
    words = _halved_words(ctx, keys, 2 * math.prod(shape))
    return _wrapped(ctx, reshaped(ctx, words, (*keys.shape, *shape, 2)), keys.type)


# ---- bits ----------------------------------------------------------------------------------------


def _partitionable(ctx) -> bool:
    """Whether element i of an array depends on the key and i alone (JAX's default), or on the
    array's size as well."""
    return bool(ctx.options.get("threefry_partitionable", True))


def _halved_blocks(ctx, keys: Value, count: int) -> Value:
    """Blocks of counters (i, i + half) for i in [0, half), half the number of `count` words; a
    last odd counter is paired with 0."""
    half = (count + 1) // 2

    def compute(b: ScalarBuilder, key: str, counter: str) -> str:
        x = _word(b, counter, 0)
        y = b.binary("arith.addi", x, b.const(half, "i32"), "i32")
        if count % 2:
            last = b.cmpi("eq", x, b.const(half - 1, "i32"), "i32")
            y = b.select(last, b.const(0, "i32"), y, "i32")
        return _block(b, key, x, y)

    return _over(ctx, keys, (half,), _U64, compute)


def _halved_words(ctx, keys: Value, count: int) -> Value:
    """The first words of all blocks, then the second ones: `count` words in a last dimension."""
    blocks = _halved_blocks(ctx, keys, count)
    words = [
        ctx.elementwise(lambda b, xs, w=which: _word(b, xs[0], w), [blocks], blocks.shape, _U32)
        for which in (0, 1)
    ]
    half = blocks.shape[-1]
    both = concatenated(ctx, words, keys.ndim, (*keys.shape, 2 * half))
    if 2 * half == count:
        return both
    return extract_slice(ctx, both, [0] * both.ndim, (*keys.shape, count))


@emits("random_bits")
def _random_bits(ctx, eqn, keys):
    """Bits of any width. See `_partitionable` for the two streams there are."""
    width, shape = eqn.params["bit_width"], tuple(eqn.params["shape"])
    t = element_type(eqn.outvars[0].aval.dtype)
    if _partitionable(ctx):

        def compute(b: ScalarBuilder, key: str, counter: str) -> str:
            block = _block(b, key, *_counter_words(b, counter))
            first, second = _word(b, block, 0), _word(b, block, 1)
            if width == 64:
                return _packed(b, second, first)
            return b.cast(
                "arith.trunci", b.binary("arith.xori", first, second, "i32"), "i32", t.register
            )

        return _over(ctx, keys, shape, t, compute)
    size = math.prod(shape)
    if size * width > 2**37:
        raise NotImplementedError(
            ctx.describe("random bits: more than 2**32 words need threefry_partitionable")
        )
    if width == 64:
        blocks = _halved_blocks(ctx, keys, 2 * size)
        bits = ctx.elementwise(
            lambda b, xs: _packed(b, _word(b, xs[0], 1), _word(b, xs[0], 0)),
            [blocks],
            blocks.shape,
            t,
        )
        return reshaped(ctx, bits, (*keys.shape, *shape))
    words = _halved_words(ctx, keys, (size * width + 31) // 32)
    if width == 32:
        return reshaped(ctx, words, (*keys.shape, *shape))
    parts = 32 // width
    split = (*words.shape, parts)
    shift = ctx.iota(split, _U32, words.ndim)

    def part(b: ScalarBuilder, xs: list[str]) -> str:
        amount = b.binary("arith.muli", xs[1], b.const(width, "i32"), "i32")
        return b.cast(
            "arith.trunci", b.binary("arith.shrui", xs[0], amount, "i32"), "i32", t.register
        )

    pieces = ctx.elementwise(
        part, [ctx.view(words, split, tuple(range(words.ndim))), shift], split, t
    )
    flat = reshaped(ctx, pieces, (*keys.shape, words.shape[-1] * parts))
    if flat.shape[-1] != size:
        flat = extract_slice(ctx, flat, [0] * flat.ndim, (*keys.shape, size))
    return reshaped(ctx, flat, (*keys.shape, *shape))


@emits("threefry2x32")
def _threefry2x32(ctx, eqn, key0, key1, x, y):
    """One block per element; both words."""
    shape = tuple(eqn.outvars[0].aval.shape)

    def spread(v: Value) -> Value:
        return v if v.shape == shape or not v.shape else ctx.view(v, shape, tuple(range(v.ndim)))

    def compute(b: ScalarBuilder, xs: list[str]) -> str:
        return _block(b, _packed(b, xs[0], xs[1]), xs[2], xs[3])

    blocks = ctx.elementwise(compute, [spread(v) for v in (key0, key1, x, y)], shape, _U64)
    return [
        ctx.elementwise(lambda b, xs, w=which: _word(b, xs[0], w), [blocks], shape, _U32)
        for which in (0, 1)
    ]
