"""Under jit, which splits the batch and reduces the gradients by itself."""

import functools
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P
N = jax.device_count()
mesh = Mesh(jax.devices(), ("i",))
WIDTH = 16

def init():
    rng = np.random.RandomState(0)
    return {"ln": {"scale": np.ones(WIDTH, "f"), "bias": np.zeros(WIDTH, "f")},
            "w": (rng.randn(WIDTH, WIDTH) * 0.3).astype("f"), "out": (rng.randn(WIDTH, 4) * 0.3).astype("f")}

tx = optax.adamw(1e-3, weight_decay=1e-4, mask=lambda p: jax.tree.map(lambda x: x.ndim > 1, p))

def loss_fn(params, x, y):
    h = x @ params["w"]
    h = (h - h.mean(-1, keepdims=True)) * jax.lax.rsqrt(h.var(-1, keepdims=True) + 1e-6)
    h = h * params["ln"]["scale"] + params["ln"]["bias"]
    return optax.softmax_cross_entropy_with_integer_labels(jax.nn.gelu(h) @ params["out"], y).mean()

@functools.partial(jax.jit, donate_argnums=(0, 1))
def train(params, opt, x, y):
    loss, grads = jax.value_and_grad(loss_fn)(params, x, y)
    updates, opt = tx.update(grads, opt, params)
    return optax.apply_updates(params, updates), opt, loss

def main():
    rng = np.random.RandomState(1)
    params = jax.device_put(init(), NamedSharding(mesh, P()))
    opt = jax.jit(tx.init)(params)
    for step in range(8):
        x, y = rng.randn(N, 4, WIDTH).astype("f").reshape(-1, WIDTH), rng.randint(0, 4, (N, 4)).reshape(-1)
        params, opt, loss = train(params, opt, x, y)
    print(f"loss {float(loss):.4f}")
main()
