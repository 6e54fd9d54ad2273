"""Connecting processes, and what is wrong with doing so."""

import subprocess
import sys

import pytest


def python(code: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=100, check=True
    )
    return done.stdout


RAISED = """
import lingon as jax
def raised(f, *args, **kwargs):
    try:
        f(*args, **kwargs)
    except Exception as error:
        print(type(error).__name__, error)
    else:
        print("nothing")
"""


def test_errors_of_initialize():
    out = python(
        RAISED
        + """
init = jax.distributed.initialize
raised(init, num_processes=2, process_id=0)
raised(init, heartbeat_timeout_seconds=0)
print(jax.distributed.is_initialized())
"""
    ).splitlines()
    assert out[0].startswith("ValueError num_processes is 2, but MPI has started 1"), out
    assert out[1].startswith("ValueError heartbeat_timeout_seconds must be a positive"), out
    assert out[2] == "False"


@pytest.mark.parametrize(
    ("before", "call", "text"),
    [
        ("", "process_id=1", "ValueError process_id is 1, but MPI says 0"),
        ("", "local_device_ids=[0, 1]", "ValueError local_device_ids must be different numbers"),
        ("jax.devices()", "", "RuntimeError jax.distributed.initialize() must be called before"),
        ("init()", "", "RuntimeError distributed.initialize should only be called once."),
        (
            "init()",
            "); raised(jax.config.update, 'jax_num_cpu_devices', 3",
            "RuntimeError jax_num_cpu_devices must be set before",
        ),
        ("sys.modules['mpi4py'] = None", "", "ImportError lingon.distributed needs mpi4py: pip"),
        (
            "os.environ['LINGON_COLLECTIVE_TIMEOUT'] = 'soon'",
            "",
            "ValueError LINGON_COLLECTIVE_TIMEOUT must be a positive number of seconds",
        ),
    ],
)
def test_errors_of_one_process(before, call, text):
    code = f"import os, sys\ninit = jax.distributed.initialize\n{before}\nraised(init, {call})"
    assert text in python(RAISED + code)


def test_one_process_without_mpiexec():
    out = python(
        "import lingon as jax\n"
        "jax.distributed.initialize()\n"
        "print(jax.process_count(), jax.process_index(), jax.devices(), "
        "jax.distributed.is_initialized())\n"
        "jax.distributed.shutdown(); jax.distributed.shutdown()\n"
        "print(jax.distributed.is_initialized())"
    )
    assert out == "1 0 [CpuDevice(id=0)] True\nFalse\n"
