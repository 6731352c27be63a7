"""Host code counts parameters by their shapes, device axis and all, and prints what a batch looks like on the devices."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(params, batch):
    grads = jax.grad(lambda p: jnp.mean((batch @ p["w"] + p["b"]) ** 2))(params)
    return jax.tree.map(lambda p, g: p - 0.1 * jax.lax.pmean(g, "batch"), params, grads)


def predict(params, batch):
    return batch @ params["w"] + params["b"]


p_step = jax.pmap(step, axis_name="batch")
p_predict = jax.pmap(predict, axis_name="batch")
params = jax_utils.replicate({"w": jnp.ones((3, 2)), "b": jnp.zeros(2)})
seen = []
for i in range(2):
    xs = np.sin(np.arange(96, dtype=np.float32) + i).reshape(32, 3)
    batch = xs.reshape((len(jax.devices()), -1) + xs.shape[1:])
    seen.append([batch.shape, batch.ndim, batch.size, batch.shape[0], batch.shape[1], batch.shape[2], batch.shape[1:]])
    params = p_step(params, batch)
    count = sum(np.prod(x.shape) for x in jax.tree.leaves(params))
    sizes = [(x.size, x.ndim, x.shape[0], x.shape[-1], x.shape[1:], x.shape[1]) for x in jax.tree.leaves(params)]
    types = [type(x).__name__ for x in jax.tree.leaves(params)]
    out = p_predict(params, batch)
    seen.append([count, sizes, types, out.shape, f"{out.shape[0]}x{out.shape[1]}"])
RESULT = {"seen": seen, "params": jax_utils.unreplicate(params), "out": out.reshape(-1, 2)}
