"""Functions with a vectorized form of their own."""

from lingon.frontend.custom_batching import custom_vmap, sequential_vmap

__all__ = ["custom_vmap", "sequential_vmap"]
