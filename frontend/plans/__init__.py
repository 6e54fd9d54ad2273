"""Plans: programs as lists of calls of C functions, for what is too small to be compiled.

`plan_of(closed)` makes one from a closed jaxpr. The rules, one for each primitive or kind of
primitive, are in the files of this folder by family, as those of emission are in `lowering/emit`;
a primitive without a rule runs its NumPy reference as one step of the plan. A rule must compute
what the primitive alone computes when it is run eagerly, to the last bit: a value must not depend
on whether a function runs by primitives or as one plan.
"""

from __future__ import annotations

from . import elementwise, indexing, products, random, reductions, structure
from .builder import NoPlan, plan_of, plan_of_primitive

assert elementwise and indexing and products and random and reductions and structure

__all__ = ["NoPlan", "plan_of", "plan_of_primitive"]
