"""Compiled functions as bytes, for another process on the same kind of CPU."""

from lingon.frontend.transforms.serialize_executable import deserialize_and_load, serialize

__all__ = ["deserialize_and_load", "serialize"]
