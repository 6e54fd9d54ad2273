"""Taylor-mode differentiation."""

from lingon.frontend.transforms.jet import jet

__all__ = ["jet"]
