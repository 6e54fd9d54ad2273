"""Emission of the elementwise primitives: one table row each."""

from __future__ import annotations

from .registry import elementwise

__all__: list[str] = []

elementwise("add", f="arith.addf", iu="arith.addi", c="complex.add")
elementwise("sub", f="arith.subf", iu="arith.subi", c="complex.sub")
elementwise("mul", f="arith.mulf", iu="arith.muli", b="arith.andi")
elementwise("exp", f="math.exp")
