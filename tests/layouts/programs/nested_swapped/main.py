"""The parts of a tuple in a tuple change places before they go around: each is replicated in one round only."""
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard
from steps import p_step

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
carry = (jax_utils.replicate(jnp.ones(3)), jax_utils.replicate(jnp.zeros(3)))
history = []
for _ in range(4):
    (a, b), loss = p_step(carry, shard(BATCH))
    carry = (b, a)
    history.append(jax_utils.unreplicate(loss))
RESULT = [jax_utils.unreplicate(carry), jax_utils.unreplicate(a), history]
