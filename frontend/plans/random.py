"""Plans of random bits and of typed keys, which are elements of eight bytes."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..core import config
from .builder import Builder, NoPlan, View, plans


def _partitionable() -> None:
    if not config.threefry_partitionable.value:
        raise NoPlan("streams of the older kind")


@plans("random_bits")
def _random_bits(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    _partitionable()
    keys = b.dense(ins[0])
    out = b.new(outs[0].shape, outs[0].dtype)
    if out.size:
        n = math.prod(params["shape"])
        b.move("threefry_bits", [keys, out], [keys.size, n, out.dtype.itemsize])
    return out


@plans("random_split")
def _random_split(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    _partitionable()
    keys = b.dense(ins[0])
    out = b.new(outs[0].shape, keys.dtype)
    if out.size:
        b.move("threefry_split", [keys, out], [keys.size, math.prod(params["shape"])])
    return out


@plans("random_fold_in")
def _random_fold_in(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    keys, data = ins
    if data.dtype.itemsize != 4:
        raise NoPlan("numbers of another size")
    out = b.new(outs[0].shape, keys.dtype)
    shape = out.shape
    one_key, one_number = not keys.shape, not data.shape
    if not one_key:
        keys = b.dense(keys.broadcast(shape))
    if not one_number:
        data = b.dense(data.broadcast(shape))
    if out.size:
        b.move("threefry_fold", [keys, data, out], [out.size, one_key, one_number])
    return out


@plans("random_seed")
def _random_seed(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    (seed,) = ins
    if seed.dtype.itemsize != 4:
        raise NoPlan("numbers of another size")
    out = b.new(outs[0].shape, np.dtype(np.uint64))
    if out.size:
        b.move("threefry_seed", [b.dense(seed), out], [out.size])
    return out


@plans("random_wrap")
def _random_wrap(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    words = b.dense(ins[0])
    return View(words.buffer, np.dtype(np.uint64), outs[0].shape, None, words.offset)


@plans("random_unwrap")
def _random_unwrap(b: Builder, ins: list[View], params: dict, outs: list[Any]) -> View:
    keys = b.dense(ins[0])
    return View(keys.buffer, np.dtype(np.uint32), outs[0].shape, None, keys.offset)


__all__: list[str] = []
