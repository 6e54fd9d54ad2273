"""shard_map by its older name and arguments."""

from lingon.frontend.shard_map import legacy_shard_map as shard_map

__all__ = ["shard_map"]
