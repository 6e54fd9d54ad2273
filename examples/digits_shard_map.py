"""Trains the classifier of digits.py data-parallel: shard_map over a mesh of CPU devices.

The weights are on all devices, the batch is cut over them. Gradients of weights that all devices
have are sums over the devices by themselves. Run as

    python examples/digits_shard_map.py [--devices N] [--steps N] [--check]

With --check the same steps are done on one device, and the losses are compared.
"""

from __future__ import annotations

import argparse

import numpy as np
from digits import accuracy, init, load, loss, train_step

import lingon as jax
import lingon.numpy as jnp
from lingon.sharding import NamedSharding
from lingon.sharding import PartitionSpec as P


def make_step(mesh):
    """One step of gradient descent with momentum, on all devices of a mesh."""

    def mean_loss(params, images, labels):
        return jax.lax.pmean(loss(params, images, labels), "data")

    def step(params, momentum, images, labels, rate):
        value, grads = jax.value_and_grad(mean_loss)(params, images, labels)
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
        params = jax.tree.map(lambda p, m: p - rate * m, params, momentum)
        return params, momentum, value

    return jax.jit(
        jax.shard_map(
            step,
            mesh=mesh,
            in_specs=(P(), P(), P("data"), P("data"), P()),
            out_specs=(P(), P(), P()),
        )
    )


def train(step, place, steps: int, batch: int, seed: int) -> tuple[list[float], float]:
    """The losses of all steps, and the accuracy on the test images."""
    train_x, train_y, test_x, test_y = load(seed)
    params = init(jax.random.PRNGKey(seed), [64, 128, 128, 10])
    momentum = jax.tree.map(jnp.zeros_like, params)
    batches = np.random.default_rng(seed)
    losses = []
    for _ in range(steps):
        picked = batches.integers(0, len(train_y), batch)
        images, labels = place(train_x[picked]), place(train_y[picked])
        params, momentum, value = step(params, momentum, images, labels, 0.05)
        losses.append(float(value))
    return losses, float(accuracy(params, test_x, test_y))


def main() -> float:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--devices", type=int, default=2)
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    jax.config.update("jax_num_cpu_devices", options.devices)

    mesh = jax.make_mesh((options.devices,), ("data",))
    cut = NamedSharding(mesh, P("data"))
    settings = (options.steps, options.batch, options.seed)
    losses, test = train(make_step(mesh), lambda x: jax.device_put(x, cut), *settings)
    print(f"{options.devices} devices: loss {losses[-1]:.4f}, test accuracy {test:.1%}")
    if options.check:
        alone, test_alone = train(train_step, lambda x: x, *settings)
        print(f"1 device:  loss {alone[-1]:.4f}, test accuracy {test_alone:.1%}")
        difference = max(abs(a - b) for a, b in zip(losses, alone, strict=True))
        print(f"greatest difference of a loss: {difference:.1e}")
        if difference > 1e-2:
            raise SystemExit("the losses differ")
    return test


if __name__ == "__main__":
    main()
