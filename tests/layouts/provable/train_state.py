"""A flax TrainState with optax, whose step is read as `state.step[0]`."""
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training import train_state
from flax.training.common_utils import shard

model = nn.Dense(2)


def train_step(state, batch):
    def loss_fn(params):
        return jnp.mean((state.apply_fn({"params": params}, batch["x"]) - batch["y"]) ** 2)

    loss, grads = jax.value_and_grad(loss_fn)(state.params)
    state = state.apply_gradients(grads=jax.lax.pmean(grads, "batch"))
    return state, {"loss": jax.lax.pmean(loss, "batch")}


params = model.init(jax.random.PRNGKey(0), jnp.ones((1, 3)))["params"]
state = train_state.TrainState.create(apply_fn=model.apply, params=params, tx=optax.adam(0.1))
state = jax_utils.replicate(state)
p_train_step = jax.pmap(train_step, axis_name="batch")  # expect: replicated, split -> replicated, replicated
for i in range(3):
    x = np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3)
    state, metrics = p_train_step(state, shard({"x": x, "y": x[:, :2]}))
    print(int(state.step[0]), float(metrics["loss"][0]))
RESULT = {"params": jax_utils.unreplicate(state.params), "step": int(state.step[0])}
