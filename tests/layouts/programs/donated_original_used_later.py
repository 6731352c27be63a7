"""The host's parameters outlive the replicated copy that a donating step consumes; a device_put may share their buffer."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(params, x):
    return jax.tree.map(lambda p: p - jax.lax.pmean(x.mean(), "batch"), params)


p_step = jax.pmap(step, axis_name="batch", donate_argnums=(0,))  # careless: p_step = sharded(step, (P(), P("batch")), P(), donate_argnums=(0,))
initial = {"w": jnp.arange(6.0).reshape(2, 3), "b": jnp.zeros(3)}
params = jax_utils.replicate(initial)  # careless: params = jax.device_put(initial, jax.NamedSharding(jax.sharding.Mesh(jax.devices(), ("batch",)), P()))
for i in range(2):
    params = p_step(params, np.arange(8, dtype=np.float32).reshape(8, 1) + i)
moved = jax.tree.map(lambda p, q: p[0] - q, params, initial)  # careless: moved = jax.tree.map(lambda p, q: p - q, params, initial)
RESULT = {"moved": moved, "initial": initial}
