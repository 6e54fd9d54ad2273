"""Rematerialization: names for values, what is saved, what policies return."""

from lingon import checkpoint_policies
from lingon.frontend.checkpoint_policies import (
    Offloadable,
    Recompute,
    Saveable,
    checkpoint_name,
)
from lingon.frontend.saved_residuals import print_saved_residuals, saved_residuals
from lingon.frontend.transforms.remat import checkpoint

__all__ = [
    "Offloadable",
    "Recompute",
    "Saveable",
    "checkpoint",
    "checkpoint_name",
    "checkpoint_policies",
    "print_saved_residuals",
    "saved_residuals",
]
