"""Fine tuning with check_vma=True: JAX sums the gradients of replicated parameters itself."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

N = jax.device_count()
mesh = Mesh(np.array(jax.devices()), ("batch",))


@functools.partial(jax.jit, donate_argnums=0)
@functools.partial(jax.shard_map, mesh=mesh, in_specs=(P(), P("batch"), P("batch")), out_specs=P())
def train_step(state, x, y):
    def loss_fn(params):
        return ((jnp.tanh(x @ params["w"]) @ params["v"] - y) ** 2).mean()

    loss, grads = jax.value_and_grad(loss_fn)(state["params"])
    grads = jax.tree.map(lambda g: g / N, grads)
    rate = 1e-6 * jnp.minimum(1.0, (state["step"] + 1) / 4)
    momentum = jax.tree.map(lambda m, g: 0.9 * m + g, state["momentum"], grads)
    params = jax.tree.map(lambda p, m: p - rate * (m + 0.01 * p), state["params"], momentum)
    average = jax.tree.map(lambda a, p: 0.99 * a + 0.01 * p, state["average"], params)
    state = {"params": params, "momentum": momentum, "average": average, "step": state["step"] + 1}
    return state, jax.lax.pmean(loss, "batch")


def main():
    rng = np.random.RandomState(0)
    params = {"w": rng.randn(6, 64).astype("f"), "v": rng.randn(64, 2).astype("f")}
    momentum = {name: np.zeros_like(value) for name, value in params.items()}
    state = {"params": params, "momentum": momentum, "average": params, "step": np.int32(0)}
    state = jax.tree.map(lambda x: jax.device_put(np.array(x), NamedSharding(mesh, P())), state)
    for _ in range(8):
        x, y = rng.randn(N * 4, 6).astype("f"), rng.randn(N * 4, 2).astype("f")
        state, loss = train_step(state, x, y)
        print(f"loss {float(loss):.4f}")


main()
