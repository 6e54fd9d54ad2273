"""Trains the classifier of digits.py data-parallel: pmap over CPU devices.

Every device has the weights and its share of each batch; gradients are averaged between them, so
that the loss is that of one device. Run as

    python examples/digits_pmap.py [--devices N] [--steps N] [--check]

With --check the same steps are done on one device, and the losses are compared.
"""

from __future__ import annotations

import argparse
import functools

import numpy as np
from digits import accuracy, init, load, loss

import lingon as jax
import lingon.numpy as jnp


@functools.partial(jax.pmap, axis_name="devices", in_axes=(0, 0, 0, 0, None), donate_argnums=(0, 1))
def parallel_step(params, momentum, images, labels, rate):
    """One step of gradient descent with momentum on this device's share of the batch."""
    value, grads = jax.value_and_grad(loss)(params, images, labels)
    value, grads = jax.lax.pmean((value, grads), "devices")
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
    params = jax.tree.map(lambda p, m: p - rate * m, params, momentum)
    return params, momentum, value


def copies(tree, n: int):
    """Every array with a new first axis, over which pmap distributes it."""
    return jax.tree.map(lambda x: jnp.stack([x] * n), tree)


def train(devices: int, steps: int, batch: int, seed: int) -> tuple[list[float], float]:
    """The losses of all steps, and the accuracy on the test images."""
    train_x, train_y, test_x, test_y = load(seed)
    params = init(jax.random.PRNGKey(seed), [64, 128, 128, 10])
    momentum = jax.tree.map(jnp.zeros_like, params)
    params, momentum = copies(params, devices), copies(momentum, devices)
    batches = np.random.default_rng(seed)
    losses = []
    for _ in range(steps):
        picked = batches.integers(0, len(train_y), (devices, batch // devices))
        params, momentum, value = parallel_step(
            params, momentum, train_x[picked], train_y[picked], 0.05
        )
        losses.append(float(value[0]))
    return losses, float(accuracy(jax.tree.map(lambda x: x[0], params), test_x, test_y))


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

    losses, test = train(options.devices, options.steps, options.batch, options.seed)
    print(f"{options.devices} devices: loss {losses[-1]:.4f}, test accuracy {test:.1%}")
    if options.check:
        alone, test_alone = train(1, options.steps, options.batch, options.seed)
        print(f"1 device:  loss {alone[-1]:.4f}, test accuracy {test_alone:.1%}")
        difference = max(abs(a - b) for a, b in zip(losses, alone, strict=True))
        print(f"greatest difference of a loss: {difference:.1e}")
        if difference > 1e-2:
            raise SystemExit("the losses differ")
    return test


if __name__ == "__main__":
    main()
