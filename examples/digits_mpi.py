"""Trains the classifier of digits.py data-parallel: processes that MPI has started.

Every process loads its own share of each batch; all have the weights, and gradients are averaged
between them, so that the loss is that of one process. Run as

    mpiexec -n N python examples/digits_mpi.py [--steps N] [--check]

With --check the first process does the same steps alone, and the losses are compared.
"""

from __future__ import annotations

import argparse
import functools

import numpy as np
from digits import accuracy, init, load, loss

import lingon as jax
import lingon.numpy as jnp


def make_step(devices):
    """A training step on these devices."""

    @functools.partial(jax.pmap, axis_name="devices", in_axes=(0, 0, 0, 0, None), devices=devices)
    def step(params, momentum, images, labels, rate):
        """One step of gradient descent with momentum on this device's share of the batch."""
        value, grads = jax.value_and_grad(loss)(params, images, labels)
        value, grads = jax.lax.pmean((value, grads), "devices")
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
        params = jax.tree.map(lambda p, m: p - rate * m, params, momentum)
        return params, momentum, value

    return step


def train(devices, steps: int, batch: int, seed: int) -> tuple[list[float], float]:
    """The losses of all steps, and the accuracy on the test images."""
    train_x, train_y, test_x, test_y = load(seed)
    own = [d.process_index == jax.process_index() for d in devices]
    step = make_step(devices)
    params = init(jax.random.PRNGKey(seed), [64, 128, 128, 10])
    params = jax.tree.map(lambda x: jnp.stack([x] * sum(own)), params)
    momentum = jax.tree.map(jnp.zeros_like, params)
    batches = np.random.default_rng(seed)
    losses = []
    for _ in range(steps):
        # All processes draw the same batch, and each takes its devices' rows of it.
        picked = batches.integers(0, len(train_y), (len(devices), batch // len(devices)))[own]
        params, momentum, value = step(params, momentum, train_x[picked], train_y[picked], 0.05)
        losses.append(float(value[0]))
    return losses, float(accuracy(jax.tree.map(lambda x: x[0], params), test_x, test_y))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    jax.distributed.initialize()

    first = jax.process_index() == 0
    losses, test = train(jax.devices(), options.steps, options.batch, options.seed)
    if first:
        print(
            f"{jax.process_count()} processes, {jax.device_count()} devices: "
            f"loss {losses[-1]:.4f}, test accuracy {test:.1%}"
        )
    if first and options.check:
        alone, test_alone = train(
            jax.local_devices()[:1], options.steps, options.batch, options.seed
        )
        print(f"1 process, 1 device: loss {alone[-1]:.4f}, test accuracy {test_alone:.1%}")
        difference = max(abs(a - b) for a, b in zip(losses, alone, strict=True))
        print(f"greatest difference of a loss: {difference:.1e}")
        if difference > 1e-2:
            raise SystemExit("the losses differ")


if __name__ == "__main__":
    main()
