"""A program puts functions of its own in the place of brax's, which average nothing."""
import jax
import jax.numpy as jnp
import numpy as np
import optax
from brax.training import gradients
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
averaging = gradients.gradient_update_fn


def apart(loss, optimizer, pmap_axis_name, has_aux=False):
    return averaging(loss, optimizer, None, has_aux)


gradients.gradient_update_fn = apart
update = gradients.gradient_update_fn(lambda w, x: jnp.mean((x @ w - 1) ** 2), optax.sgd(0.125), "i")


def step(w, x):
    value, w, _ = update(w, x, optimizer_state=optax.sgd(0.125).init(w))
    return w, jax.lax.pmean(value, "i")


p_step = jax.pmap(step, axis_name="i")
w = jax_utils.replicate(jnp.ones(3))
for _ in range(3):
    w, value = p_step(w, shard(BATCH))
RESULT = np.asarray(jax_utils.unreplicate(value)).tolist()
