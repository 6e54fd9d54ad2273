"""Types of the ahead-of-time stages of jitted functions."""

from lingon.frontend.transforms.stages import ArgInfo, Compiled, Lowered, Traced

__all__ = ["ArgInfo", "Compiled", "Lowered", "Traced"]
