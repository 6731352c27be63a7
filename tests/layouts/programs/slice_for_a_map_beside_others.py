"""A slice goes into a map that takes it on all devices, while other slices stay on the first one."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils


def step(state, batch):
    return {"w": state["w"] - 0.1 * jax.lax.pmean(state["w"] * batch.mean(0), "i")}


p_step = jax.pmap(step, axis_name="i", in_axes=(None, 0))
seen = []
one = jax.device_put(jnp.ones(3), jax.devices()[0])


def main():
    state = jax_utils.replicate({"w": jnp.linspace(0.1, 1.0, 3)})

    def first():
        return jax_utils.unreplicate(state)

    seen.append(first())
    batch = common_utils.shard(np.cos(np.arange(48, dtype=np.float32)).reshape(16, 3))
    state = jax.block_until_ready(p_step(jax_utils.unreplicate(state), batch))
    seen.append(first())
    seen.append(jax_utils.unreplicate(state)["w"] + one)


main()
RESULT = seen
