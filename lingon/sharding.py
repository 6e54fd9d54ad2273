"""Where arrays live: meshes, partition specs, shardings."""

from lingon.frontend.core.devices import Sharding, SingleDeviceSharding
from lingon.frontend.core.mesh import (
    AxisType,
    Mesh,
    NamedSharding,
    PartitionSpec,
    get_mesh,
    set_mesh,
)
from lingon.frontend.placement import reshard

__all__ = [
    "AxisType",
    "Mesh",
    "NamedSharding",
    "PartitionSpec",
    "Sharding",
    "SingleDeviceSharding",
    "get_mesh",
    "reshard",
    "set_mesh",
]
