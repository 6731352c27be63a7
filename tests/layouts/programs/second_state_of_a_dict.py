"""A map takes a dictionary of replicated arrays once, and once one of which a field differs between devices."""
import jax
import jax.numpy as jnp
from flax import jax_utils

N = jax.local_device_count()


def step(state):
    return {"w": jax.lax.pmean(state["w"] * 0.5, "batch"), "s": state["s"] - jax.lax.pmean(state["w"], "batch")}


p_step = jax.pmap(step, axis_name="batch")
one = jax_utils.replicate({"w": jnp.linspace(0.1, 1.0, 3), "s": jnp.zeros(3)})
one = p_step(one)
two = {"w": jax_utils.replicate(jnp.linspace(0.7, 1.0, 3)), "s": jnp.stack([jnp.full((3,), i * 0.1) for i in range(N)])}
two = p_step(two)
RESULT = [one["w"][0], jax.tree.map(lambda x: x[0], two)]
