"""Functions with derivative rules of their own."""

from lingon.frontend.transforms.custom_rules import (
    CustomVJPPrimal,
    SymbolicZero,
    closure_convert,
    custom_jvp,
    custom_vjp,
)

__all__ = ["CustomVJPPrimal", "SymbolicZero", "closure_convert", "custom_jvp", "custom_vjp"]
