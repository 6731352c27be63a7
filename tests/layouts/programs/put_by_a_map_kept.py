"""Maps that almost give back what they are given, and originals that live on when what was put is donated."""
import functools
import jax
import jax.numpy as jnp
import numpy as np

pmap = functools.partial(jax.pmap, axis_name="i")
broadcast = pmap(lambda x: x)
turned = jax.pmap(lambda x: x, in_axes=1)
chosen = jax.pmap(lambda x, y=None: x)
some = jax.pmap(lambda x: x, devices=jax.local_devices()[::-1])


@functools.partial(pmap, donate_argnums=(0,))
def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grad, "i"), jnp.mean(x @ w)


def replicate_all(x):
    n = jax.local_device_count()
    stacked = jnp.stack([x] * n)
    stacked = stacked * jnp.arange(1.0, n + 1)[:, None]
    return broadcast(stacked)


def main():
    n = jax.local_device_count()
    x = broadcast(np.sin(np.arange(n * 6, dtype=np.float32)).reshape(n, -1, 3))
    first = jnp.stack([jnp.ones(3)] * n)
    w = broadcast(first)  # careless: w = jnp.ones(3) * jnp.arange(1.0, n + 1)[:, None]
    w, loss = step(w, x)
    again, _ = step(broadcast(first), x)
    other, _ = step(replicate_all(jnp.ones(3)), x)
    square = jnp.stack([jnp.arange(float(n))] * n)
    rows = turned(square)
    return {
        "w": w[0], "again": again[0], "first": first[0], "loss": loss[1], "other": other[1], "rows": rows[3],
        "chosen": chosen(first)[2], "some": some(jnp.stack([jnp.ones(2)] * n))[1],
    }


RESULT = main()
