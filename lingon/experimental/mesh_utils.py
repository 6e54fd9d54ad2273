"""Arrangements of devices for meshes."""

from lingon.frontend.multihost import create_device_mesh

__all__ = ["create_device_mesh"]
