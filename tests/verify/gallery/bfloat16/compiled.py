"""The language model's step under jit, with the tokens split over the devices."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

N = jax.device_count()
mesh = Mesh(np.array(jax.devices()), ("batch",))


def loss_fn(params, tokens):
    embedded = params["embed"].astype(jnp.bfloat16)[tokens[:, :-1]]
    hidden = jax.nn.gelu(embedded @ params["w"].astype(jnp.bfloat16))
    logits = (hidden @ params["embed"].astype(jnp.bfloat16).T).astype(jnp.float32)
    chosen = jnp.take_along_axis(jax.nn.log_softmax(logits), tokens[:, 1:, None], -1)
    return -chosen.mean()


@jax.jit
def train_step(params, tokens):
    loss, grads = jax.value_and_grad(loss_fn)(params, tokens)
    params = jax.tree.map(lambda p, g: p - 0.5 * g, params, grads)
    return params, loss


def main():
    rng = np.random.RandomState(0)
    params = {"embed": 0.3 * rng.randn(32, 8).astype("f"), "w": 0.3 * rng.randn(8, 8).astype("f")}
    params = jax.device_put(params, NamedSharding(mesh, P()))
    for _ in range(4):
        tokens = rng.randint(0, 32, (N, 2, 9)).reshape(-1, 9)
        params, loss = train_step(params, jax.device_put(tokens, NamedSharding(mesh, P("batch"))))
        print(f"loss {float(loss):.3f}")


main()
