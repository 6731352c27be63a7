"""Typed keys: split ones are stacked, a replicated one is the same on all devices, and neither has a numeric dtype."""
import jax
import jax.numpy as jnp
import numpy as np
from flax.training.common_utils import shard_prng_key


def draw(own, common):
    return jax.random.normal(own, (2,)), jax.random.normal(common, (2,)), jax.random.fold_in(common, jax.lax.axis_index("batch"))


p_draw = jax.pmap(draw, axis_name="batch")
own = shard_prng_key(jax.random.key(1))
common = jnp.stack([jax.random.key(2)] * jax.local_device_count())
mine, ours, folded = p_draw(own, common)
RESULT = {"mine": mine, "ours": ours[0], "folded": folded}
