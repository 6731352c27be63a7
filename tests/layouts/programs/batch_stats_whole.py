"""Running means that no step synchronises differ from device to device; P() would keep device 0's for all of them."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils


def train_step(state, batch):
    mean = batch.mean(0)
    running = 0.9 * state["mean"] + 0.1 * mean

    def loss_fn(w):
        return jnp.mean((batch - running) @ w)

    loss, grad = jax.value_and_grad(loss_fn)(state["w"])
    w = state["w"] - 0.1 * jax.lax.pmean(grad, "batch")
    return {"w": w, "mean": running}, jax.lax.pmean(loss, "batch")


p_train_step = jax.pmap(train_step, axis_name="batch")  # careless: p_train_step = sharded(train_step, (P(), P("batch")), P())
state = jax_utils.replicate({"w": jnp.ones(3), "mean": jnp.zeros(3)})  # careless: state = {"w": jnp.ones(3), "mean": jnp.zeros(3)}
losses = []
for i in range(3):
    batch = np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)
    state, loss = p_train_step(state, common_utils.shard(batch))  # careless: state, loss = p_train_step(state, batch)
    losses.append(loss[0])  # careless: losses.append(loss)
RESULT = {"w": state["w"][0], "mean": state["mean"].mean(0), "losses": losses}  # careless: RESULT = {"w": state["w"], "mean": state["mean"], "losses": losses}
