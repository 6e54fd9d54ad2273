"""Where arrays live."""

from lingon.frontend.core.devices import Sharding, SingleDeviceSharding

__all__ = ["Sharding", "SingleDeviceSharding"]
