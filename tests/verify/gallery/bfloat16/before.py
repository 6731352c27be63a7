"""A language model's step in bfloat16 with float32 parameters."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

N = jax.device_count()


def loss_fn(params, tokens):
    embedded = params["embed"].astype(jnp.bfloat16)[tokens[:, :-1]]
    hidden = jax.nn.gelu(embedded @ params["w"].astype(jnp.bfloat16))
    logits = (hidden @ params["embed"].astype(jnp.bfloat16).T).astype(jnp.float32)
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1)
    return -chosen.mean()


@functools.partial(jax.pmap, axis_name="batch")
def train_step(params, tokens):
    loss, grads = jax.value_and_grad(loss_fn)(params, tokens)
    grads = jax.lax.pmean(grads, "batch")
    params = jax.tree.map(lambda p, g: p - 0.5 * g, params, grads)
    return params, jax.lax.pmean(loss, "batch")


def main():
    rng = np.random.RandomState(0)
    params = {"embed": 0.3 * rng.randn(32, 8).astype("f"), "w": 0.3 * rng.randn(8, 8).astype("f")}
    params = jax.tree.map(lambda x: np.stack([x] * N), params)
    for _ in range(4):
        params, loss = train_step(params, rng.randint(0, 32, (N, 2, 9)))
        print(f"loss {float(loss[0]):.3f}")


main()
