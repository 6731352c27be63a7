"""The first of equal slices, as acme, brax and kfac_jax take it, on the host and on devices."""
import jax
import jax.numpy as jnp
import kfac_jax
import numpy as np
from acme.jax import utils
from brax.training import pmap
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(state, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(state["w"])
    state = {"w": state["w"] - 0.125 * jax.lax.pmean(grad, "i"), "n": state["n"] + 1}
    return state, jax.lax.pmean(loss, "i")


p_step = jax.pmap(step, axis_name="i")  # expect: replicated, split -> replicated, replicated
state = utils.replicate_in_all_devices({"w": jnp.ones(3), "n": jnp.zeros(())})
for _ in range(3):
    state, loss = p_step(state, shard(X))
host = utils.get_from_first_device(state)
device = utils.get_from_first_device(state, as_numpy=False)
RESULT = [type(host["w"]).__name__, isinstance(device["w"], jax.Array), host["w"], np.asarray(device["n"])]
RESULT += [utils.first_replica(loss), np.asarray(pmap.unpmap(loss)), np.asarray(kfac_jax.utils.get_first(state)["w"])]
