"""A state and the key of each device in a tuple in a tuple, which goes around as a whole."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(carry, x):
    w, key = carry
    key, sub = jax.random.split(key)
    x = x + jax.random.normal(sub, x.shape)
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    w = w - 0.125 * jax.lax.pmean(grad, "batch")
    return (w, key), jax.lax.pmean(loss, "batch")


p_step = jax.pmap(step, axis_name="batch")  # careless: p_step = sharded(lambda c, x: (lambda o: ((o[0][0], o[0][1][None]), o[1]))(step((c[0], c[1][0]), x)), ((P(), P("batch")), P("batch")), ((P(), P()), P()))
carry = (jax_utils.replicate(jnp.ones(3)), jax.random.split(jax.random.PRNGKey(3), jax.device_count()))  # careless: carry = (jnp.ones(3), jax.random.split(jax.random.PRNGKey(3), jax.device_count()))
losses = []
for _ in range(3):
    carry, loss = p_step(carry, shard(BATCH))  # careless: carry, loss = p_step(carry, BATCH); carry = (carry[0], jnp.stack([carry[1][0]] * 8))
    losses.append(np.asarray(loss).mean())
RESULT = [jax_utils.unreplicate(carry), jax_utils.unreplicate(p_step(carry, shard(BATCH))), losses]  # careless: RESULT = [jax.tree.map(lambda x: x, (carry[0], carry[1][0])), 0, losses]
