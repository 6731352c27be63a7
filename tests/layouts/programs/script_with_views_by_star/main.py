"""A script cuts up views at its top level, and another file reads them later from a third, which imports a star."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

from packs import Pack, blank


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch")


p_step = jax.pmap(step, "batch")
w = jax_utils.replicate(jnp.ones(3))
packs = iter([Pack(np.arange(48, dtype=np.float32).reshape(16, 3) / (7 + i)) for i in range(3)])
for _ in range(3):
    pack = next(packs)
    batch = shard(pack.data)
    w = p_step(w, batch)
blank(Pack(np.ones((16, 3), np.float32)))
import later
RESULT = [np.asarray(jax_utils.unreplicate(w)).tolist(), later.seen(pack)]
