"""What happens when a device fails, waits in vain, or is asked for though it does not exist."""

from __future__ import annotations

from on_devices import run


def test_exception_of_one_device() -> None:
    """It is raised once, names the device, and leaves all of them usable."""
    out = run(
        """
        def callback(i):
            if int(i) == 2:
                raise ValueError("too much for me")
            return np.float32(i)

        def f(v):
            shape = jax.ShapeDtypeStruct((), np.float32)
            return lax.psum(jax.pure_callback(callback, shape, lax.axis_index("i")) + v, "i")

        x = jnp.arange(8.0)
        for _ in range(3):
            e = raised(jax.pmap(f, "i"), x)
            print("too much for me" in str(e), e.__notes__ if hasattr(e, "__notes__") else "")
        print(float(jax.pmap(lambda v: lax.psum(v, "i"), "i")(x)[0]))
        """
    ).splitlines()
    assert [line.split()[0] for line in out] == ["True"] * 3 + ["28.0"]
    assert all("cpu:2" in line or line.endswith("True ") for line in out[:3])


def test_collectives_of_some_devices() -> None:
    """Those that wait for devices which do not come raise instead of hanging."""
    out = run(
        """
        x = jnp.arange(8.0)
        some = lambda v: lax.cond(
            lax.axis_index("i") > 3, lambda u: lax.psum(u, "i"), lambda u: u, v
        )
        other = lambda v: lax.cond(
            lax.axis_index("i") > 3, lambda u: lax.psum(u, "i"), lambda u: lax.pmax(u, "i"), v
        )
        uneven = lambda v: lax.while_loop(lambda c: c < 5, lambda c: c + lax.pmax(1.0, "i"), v)
        for f in (some, other, uneven):
            e = raised(jax.pmap(f, "i"), x)
            print(type(e).__name__, e)
        print(float(jax.pmap(lambda v: lax.psum(v, "i"), "i")(x)[0]))
        """
    ).splitlines()
    assert out[0].startswith("RuntimeError on device cpu:4: device 4 waits in a collective for")
    assert "in different collectives" in out[1]
    assert out[2].startswith("RuntimeError on device cpu:")
    assert out[3] == "28.0"


def test_memory_of_one_device() -> None:
    """Running out of memory on a device is a MemoryError that names it."""
    out = run(
        """
        from lingon.runtime import pool_set_memory_limit, pool_stats, pool_trim
        f = jax.pmap(lambda v: lax.psum(v, "i") * jnp.ones((1 << 20, 4)), "i")
        x = jnp.arange(8.0)
        f(x)
        pool_trim()
        limit = pool_stats()["memory_limit"]
        pool_set_memory_limit(pool_stats()["live_bytes"] + (1 << 20))
        e = raised(f, x)
        print(type(e).__name__, "cpu:" in str(e))
        pool_set_memory_limit(limit)
        print(float(f(x)[0, 0, 0]))
        """
    ).splitlines()
    assert out == ["MemoryError True", "28.0"]


def test_more_devices_than_there_are() -> None:
    out = run(
        """
        e = raised(jax.pmap(lambda v: v), jnp.ones(3))
        print(isinstance(e, ValueError), e)
        e = raised(jax.make_mesh, (3,), ("i",))
        print(isinstance(e, ValueError), e)
        """,
        devices=2,
    ).splitlines()
    assert out[0].startswith("True pmap was called on arrays whose mapped axis has size 3")
    assert "cpu:0, cpu:1" in out[0] and "jax_num_cpu_devices" in out[0]
    assert out[1].startswith("True Number of devices 2 must be >=")


def test_number_of_devices() -> None:
    count = "print(jax.device_count())"
    assert run(count, XLA_FLAGS="", LINGON_NUM_CPU_DEVICES="3") == "3\n"
    assert run(count, XLA_FLAGS="", JAX_NUM_CPU_DEVICES="4") == "4\n"
    assert run(count, devices=5) == "5\n"
    assert run(count, XLA_FLAGS="--a=b --xla_force_host_platform_device_count=6 --c") == "6\n"
    out = run(
        """
        jax.config.update("jax_num_cpu_devices", 2)
        print(jax.device_count())
        print(type(raised(jax.config.update, "jax_num_cpu_devices", 3)).__name__)
        jax.config.update("jax_num_cpu_devices", 2)
        """
    )
    assert out == "2\nRuntimeError\n"
    for bad in ("0", "x", "-1", "100000"):
        out = run(
            "e = raised(jax.devices); print(type(e).__name__, e)",
            XLA_FLAGS="",
            LINGON_NUM_CPU_DEVICES=bad,
        )
        assert out.startswith("RuntimeError Unable to initialize backend 'cpu'")
        assert "LINGON_NUM_CPU_DEVICES" in out


def test_the_next_call_moves_nothing() -> None:
    out = run(
        """
        y = jax.pmap(lambda v: v * 2)(jnp.arange(8.0))
        before = transfer_count()
        for _ in range(5):
            y = jax.pmap(lambda v: v + lax.psum(v, "k"), "k")(y)
        print(transfer_count() - before)
        np.asarray(y)
        np.asarray(y)
        print(transfer_count() - before)
        """
    )
    assert out == "0\n1\n"


def test_threads_and_nesting() -> None:
    """Calls of several threads do not block one another, nor does one from inside of another."""
    out = run(
        """
        import threading
        x = jnp.arange(8.0)
        wrong = []

        def work(k):
            f = jax.pmap(lambda v: lax.psum(v * k, "i"), "i")
            wrong.extend(i for i in range(200) if not np.allclose(np.asarray(f(x)), 28 * k))

        threads = [threading.Thread(target=work, args=(k,)) for k in range(6)]
        [t.start() for t in threads]
        [t.join() for t in threads]
        print(len(wrong))

        def inner(v):
            total = jax.pmap(lambda u: lax.psum(u, "q"), "q")(jnp.ones(4))
            return np.float32(np.asarray(total)[0]) + v

        shape = jax.ShapeDtypeStruct((), np.float32)
        print(np.asarray(jax.pmap(lambda v: jax.pure_callback(inner, shape, v))(x)).tolist())
        two = jax.pmap(jax.pmap(lambda v: lax.psum(v, ("i", "j")), "j"), "i")
        print(np.asarray(two(x.reshape(2, 4))).tolist())
        """
    ).splitlines()
    assert out[0] == "0"
    assert out[1] == str([float(i + 4) for i in range(8)])
    assert out[2] == str([[28.0] * 4] * 2)


def test_fork() -> None:
    out = run(
        """
        import os
        f = jax.pmap(lambda v: lax.psum(v, "i"), "i")
        x = jnp.arange(8.0)
        f(x)
        child = os.fork()
        if child == 0:
            os._exit(int(np.asarray(f(x))[0]))
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        """
    )
    assert out == "28\n"
