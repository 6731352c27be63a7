"""Tuples of a generator function, prefetched to the devices that pmap uses anyway, and cast in the loop."""
import jax
import jax.numpy as jnp
import numpy as np
from flax.jax_utils import prefetch_to_device, replicate


def step(w, x, y):
    grad = jax.grad(lambda w: jnp.mean((x @ w - y) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grad, "batch")


def evaluate(w, x, y):
    return jax.lax.psum(jnp.sum(jnp.abs(x @ w - y)), "batch")


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, split, split -> replicated
p_evaluate = jax.pmap(evaluate, axis_name="batch")  # expect: replicated, split, split -> replicated


def main():
    n_devices = jax.local_device_count()
    devices = jax.local_devices()
    data = [(np.arange(48.0).reshape(16, 3) / 9 + i, np.arange(16.0) * i) for i in range(3)]

    def generate(iterator):
        for batch in iterator:
            images = batch[0].copy()
            images = images.reshape(n_devices, -1, *images.shape[1:])
            labels = batch[1].copy()
            labels = labels.reshape(n_devices, -1, *labels.shape[1:])
            yield tuple([images, labels])

    train = prefetch_to_device(generate(data), 2, devices)
    held_out = prefetch_to_device(generate(data), size=2, devices=jax.local_devices())
    w = replicate(jnp.zeros(3))
    found = []
    for _, (image, label) in zip(range(3), train):
        image = image.astype(jnp.float32)
        label = label.astype(jnp.float32)
        w = p_step(w, image, label)
    for image, label in held_out:
        found.append(p_evaluate(w, image.astype(jnp.float32), label.astype(jnp.float32))[0])
    return w[0], found


RESULT = main()
