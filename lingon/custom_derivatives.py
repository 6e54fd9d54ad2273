"""Functions with derivative rules of their own."""

from lingon.frontend.transforms.custom_gradient import custom_gradient
from lingon.frontend.transforms.custom_rules import (
    CustomVJPPrimal,
    SymbolicZero,
    closure_convert,
    custom_jvp,
    custom_jvp_call_p,
    custom_vjp,
    custom_vjp_call_p,
    custom_vjp_primal_tree_values,
    zero_from_primal,
)
from lingon.frontend.transforms.linear_call import linear_call

__all__ = [
    "CustomVJPPrimal",
    "SymbolicZero",
    "closure_convert",
    "custom_gradient",
    "custom_jvp",
    "custom_jvp_call_p",
    "custom_vjp",
    "custom_vjp_call_p",
    "custom_vjp_primal_tree_values",
    "linear_call",
    "zero_from_primal",
]
