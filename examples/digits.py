"""Trains a classifier of handwritten digits: jit, grad and vmap on real data.

The data are the 1797 images of 8 x 8 pixels that scikit-learn ships. Run as

    python examples/digits.py [--steps N] [--width N] [--seed N]
"""

from __future__ import annotations

import argparse
import itertools
import sys
import time

import numpy as np

import lingon as jax
import lingon.numpy as jnp


def load(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Images in [0, 1] and labels: 1437 for training, 360 for testing."""
    try:
        from sklearn.datasets import load_digits
    except ModuleNotFoundError:
        sys.exit("this example needs scikit-learn: pip install 'lingon[examples]'")
    digits = load_digits()
    order = np.random.default_rng(seed).permutation(len(digits.target))
    images = (digits.data[order] / 16).astype(np.float32)
    labels = digits.target[order].astype(np.int32)
    return images[:1437], labels[:1437], images[1437:], labels[1437:]


def init(key: jax.Array, sizes: list[int]) -> list[dict[str, jax.Array]]:
    """Weights and biases of a multi-layer perceptron."""
    layers = []
    for m, n in itertools.pairwise(sizes):
        key, sub = jax.random.split(key)
        layers.append({"w": jax.random.normal(sub, (m, n)) * (2 / m) ** 0.5, "b": jnp.zeros(n)})
    return layers


def predict(params: list[dict[str, jax.Array]], image: jax.Array) -> jax.Array:
    """Logits of one image; vmap makes it a function of many."""
    x = image
    for layer in params[:-1]:
        x = jax.nn.relu(x @ layer["w"] + layer["b"])
    return x @ params[-1]["w"] + params[-1]["b"]


predict_all = jax.vmap(predict, in_axes=(None, 0))


def loss(params: list[dict[str, jax.Array]], images: jax.Array, labels: jax.Array) -> jax.Array:
    """Mean cross-entropy."""
    log_p = jax.nn.log_softmax(predict_all(params, images))
    return -jnp.mean(jnp.sum(jax.nn.one_hot(labels, 10) * log_p, axis=1))


@jax.jit
def train_step(params, momentum, images, labels, rate):
    """One step of gradient descent with momentum."""
    value, grads = jax.value_and_grad(loss)(params, images, labels)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, momentum, grads)
    params = jax.tree.map(lambda p, m: p - rate * m, params, momentum)
    return params, momentum, value


@jax.jit
def accuracy(params, images, labels):
    """Share of images whose most likely digit is right."""
    return jnp.mean(jnp.argmax(predict_all(params, images), axis=1) == labels)


def progress(step: int, steps: int, text: str) -> None:
    """A progress bar on a terminal, a line now and then elsewhere."""
    if sys.stdout.isatty():
        done = 30 * step // steps
        print(f"\r[{'#' * done}{'.' * (30 - done)}] {step}/{steps} {text}", end="", flush=True)
        if step == steps:
            print()
    elif step == steps or step % max(1, steps // 10) == 0:
        print(f"{step}/{steps} {text}", flush=True)


def main() -> float:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--width", type=int, default=128)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()

    train_x, train_y, test_x, test_y = load(options.seed)
    params = init(jax.random.PRNGKey(options.seed), [64, options.width, options.width, 10])
    momentum = jax.tree.map(jnp.zeros_like, params)
    batches = np.random.default_rng(options.seed)

    first, steady = 0.0, []
    for step in range(1, options.steps + 1):
        picked = batches.integers(0, len(train_y), options.batch)
        start = time.perf_counter()
        params, momentum, value = train_step(
            params, momentum, train_x[picked], train_y[picked], 0.05
        )
        value = float(value)
        took = time.perf_counter() - start
        if step == 1:
            first = took
        else:
            steady.append(took)
        if step == 1 or step % 20 == 0 or step == options.steps:
            test = float(accuracy(params, test_x, test_y))
            progress(step, options.steps, f"loss {value:.4f}  test accuracy {test:.1%}")

    test = float(accuracy(params, test_x, test_y))
    print(f"train accuracy {float(accuracy(params, train_x, train_y)):.2%}")
    print(f"test accuracy  {test:.2%}")
    print(f"first step (tracing and compiling) {1e3 * first:.1f} ms")
    print(f"later steps, median                {1e3 * np.median(steady):.3f} ms")
    return test


if __name__ == "__main__":
    main()
