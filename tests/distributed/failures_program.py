"""What the other processes see when one fails. Process 1 does what the argument says."""

from __future__ import annotations

import os
import signal
import sys
import time

import numpy as np

import lingon as jax
from lingon import lax
from lingon.errors import JaxRuntimeError

mode = sys.argv[1]
jax.distributed.initialize(heartbeat_timeout_seconds=2, shutdown_timeout_seconds=20)
p = jax.process_index()
total = jax.pmap(lambda x: lax.psum(x, "i"), "i")
ones = np.ones((jax.local_device_count(), 3000), "float32")
n = jax.device_count()


def say(*words):
    # In one piece, so that lines of processes do not mix.
    os.write(1, f"{p}: {' '.join(map(str, words))}\n".encode())


def expect(f, *args):
    try:
        f(*args)
    except JaxRuntimeError as error:
        say("raised", str(error).splitlines()[0])
    except BaseException as error:
        say("raised something else", type(error), error)
        raise
    else:
        say("raised nothing")


def with_callback(callback):
    shape = jax.ShapeDtypeStruct((3000,), "float32")
    return jax.pmap(lambda x: lax.psum(jax.pure_callback(callback, shape, x), "i"), "i")


assert float(total(ones)[0, 0]) == n
if mode in ("kill", "exit", "exception", "vanish", "freeze"):
    if p == 1:
        time.sleep(0.2)
        if mode == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        elif mode == "exit":
            sys.exit(3)
        elif mode == "exception":
            raise ValueError("process 1 has had enough")
        elif mode == "vanish":
            os._exit(4)
        # Stopped for longer than the others wait; it finds out when it wakes up.
        if os.fork() == 0:
            time.sleep(6)
            os.kill(os.getppid(), signal.SIGCONT)
            os._exit(0)
        os.kill(os.getpid(), signal.SIGSTOP)
        os.wait()
        os._exit(5)
    began = time.monotonic()
    expect(total, ones)
    say("after a while" if time.monotonic() - began < 15 else "after too long")
    expect(total, ones)  # and again
elif mode == "callback":

    def fail(x):
        raise ArithmeticError("no")

    expect(with_callback(fail if p == 1 else lambda x: x), ones)
    say("again", float(total(ones)[0, 0]) == n)
    expect(with_callback(fail if p == 0 else lambda x: x), ones)
    say("again", float(total(ones)[0, 0]) == n)
elif mode == "mismatch":
    other = jax.pmap(lambda x: lax.pmax(x, "i") * 2, "i")
    expect(other if p == 1 else total, ones)
    say("again", float(total(ones)[0, 0]) == n)
    expect(total, ones[:, : 8 if p == 1 else 16])
    say("again", float(total(ones)[0, 0]) == n)
elif mode == "slow":
    if p == 1:
        time.sleep(5)  # alive, though it takes longer than a sign of life may
    say("again", float(total(ones)[0, 0]) == n)
elif mode == "timeout":
    if p == 1:
        time.sleep(6)
    expect(total, ones)
elif mode == "shutdown":
    jax.distributed.shutdown()
    say("initialized", jax.distributed.is_initialized())
    try:
        total(ones)
    except RuntimeError as error:
        say("raised", error)
    local = jax.pmap(lambda x: lax.psum(x, "i"), "i", devices=jax.local_devices())
    say("local", float(local(ones)[0, 0]) == jax.local_device_count())
say("end")
