"""Population training: eight learning rates, and the best device's parameters are copied to all."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(member, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(member["w"])
    w = member["w"] - member["lr"] * grad
    return {**member, "w": w}, jnp.mean((x @ w - 1) ** 2)


p_step = jax.pmap(step)
n = jax.device_count()
population = jax_utils.replicate({"w": jnp.zeros(3), "lr": 0.0})
population["lr"] = jnp.logspace(-3, 0, n)
x = jax_utils.replicate(np.sin(np.arange(12, dtype=np.float32)).reshape(4, 3))
for i in range(3):
    population, loss = p_step(population, x)
best = int(loss.argmin())
population = jax.tree.map(lambda leaf: jnp.stack([leaf[best]] * n), population)
RESULT = {"best": best, "loss": loss, "population": population}
