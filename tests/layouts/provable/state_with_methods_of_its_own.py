"""A training state whose own methods make the next one, copy it to the devices and split its key over them."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct
from flax.training.common_utils import shard, shard_prng_key

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


class TrainState(struct.PyTreeNode):
    step: int
    params: dict
    rng: jnp.ndarray
    rate: float = 0.1

    @classmethod
    def create(cls, *, params, **kwargs):
        return cls(step=0, params=params, **kwargs)

    @property
    def scale(self):
        return self.rate / (1 + self.step)

    def apply_gradients(self, *, grads, cast, **kwargs):
        grads = jax.tree.map(lambda g: g / jnp.maximum(1.0, jnp.abs(g).max()), grads)
        params = jax.tree.map(lambda p, g: p - self.scale * g, self.params, grads)
        return self.replace(step=self.step + 1, params=cast(params), **kwargs)

    def replicate(self):
        return jax_utils.replicate(self).replace(rng=shard_prng_key(self.rng))


def step(state, x):
    rng, next_rng = jax.random.split(state.rng)

    def loss(params):
        noise = jax.random.normal(rng, (3,))
        return jnp.mean((x @ (params["w"] + 0.1 * noise) - 1) ** 2)

    grads = jax.lax.pmean(jax.grad(loss)(state.params), "batch")
    return state.apply_gradients(grads=grads, cast=lambda tree: tree, rng=next_rng)


p_step = jax.pmap(step, axis_name="batch")  # expect: replicated, stacked, split -> replicated, stacked
state = TrainState.create(params={"w": jnp.linspace(0.1, 1.0, 3)}, rng=jax.random.PRNGKey(0))
state = state.replicate()
for i in range(3):
    state = p_step(state, shard(BATCH + i))
RESULT = [jax_utils.unreplicate(state.params), jax_utils.unreplicate(state.step)]
