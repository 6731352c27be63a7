"""flax's TrainState with a key of its own for each device, replicated by a method of its class."""
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training import train_state
from flax.training.common_utils import shard, shard_prng_key


class TrainState(train_state.TrainState):
    dropout_rng: jax.Array

    def replicate(self):
        return jax_utils.replicate(self).replace(dropout_rng=shard_prng_key(self.dropout_rng))


def train_step(state, batch):
    dropout_rng, new_rng = jax.random.split(state.dropout_rng)

    def loss_fn(params):
        kept = jax.random.bernoulli(dropout_rng, 0.75, batch.shape)
        return jnp.mean((jnp.where(kept, batch, 0) @ params["w"] - 1) ** 2)

    loss, grad = jax.value_and_grad(loss_fn)(state.params)
    grad = jax.lax.pmean(grad, "batch")
    return state.apply_gradients(grads=grad, dropout_rng=new_rng), jax.lax.pmean(loss, "batch")


p_step = jax.pmap(train_step, "batch", donate_argnums=(0,))  # expect: replicated, stacked, split -> replicated, stacked, replicated
state = TrainState.create(
    apply_fn=None, params={"w": jnp.ones(3)}, tx=optax.sgd(0.125, momentum=0.5), dropout_rng=jax.random.PRNGKey(0)
)
state = state.replicate()
losses = []
for i in range(3):
    state, loss = p_step(state, shard(np.sin(np.arange(48, dtype=np.float32) * (i + 1)).reshape(16, 3)))
    losses.append(jax_utils.unreplicate(loss))
RESULT = {"losses": np.stack(losses), "params": jax.device_get(jax_utils.unreplicate(state.params))}
