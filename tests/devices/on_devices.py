"""Runs code with several CPU devices, in a process of its own, with a time limit."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap


def run(code: str, devices: int = 8, timeout: int = 120, **env: str) -> str:
    """What the code prints. Fails if it raises or takes too long."""
    settings = {**os.environ, "XLA_FLAGS": f"--xla_force_host_platform_device_count={devices}"}
    settings.update(env)
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", PRELUDE + textwrap.dedent(code)],
        env=settings,
        timeout=timeout,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


PRELUDE = """
import numpy as np
import lingon as jax
import lingon.numpy as jnp
from lingon import lax
from lingon.sharding import Mesh, NamedSharding, PartitionSpec as P
from lingon.runtime import transfer_count

def raised(f, *args):
    try:
        f(*args)
    except Exception as e:
        return e
    raise AssertionError("nothing was raised")

"""
