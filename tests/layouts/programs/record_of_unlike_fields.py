"""Batches with named parts, of which some are the same on every device, made elsewhere, or have defaults."""
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
Y = np.cos(np.arange(16, dtype=np.float32))


class Masked(NamedTuple):
    x: jax.Array
    mask: jax.Array


@struct.dataclass
class Scaled:
    x: jax.Array
    y: jax.Array
    scale: jax.Array = struct.field(default_factory=lambda: np.arange(8, dtype=np.float32))


class Shifted(NamedTuple):
    x: jax.Array
    y: jax.Array
    shift: float = 0.5


def masked(batch):
    return jax.lax.psum((batch.x * batch.mask).sum(), "i"), batch.x.shape[0] * batch.mask.sum()


def scaled(batch):
    return jax.lax.pmean((batch.x.sum(1) * batch.y).mean() * batch.scale, "i"), batch.x * batch.scale


def unlike(batch):
    return jax.lax.pmean(batch.x.mean(0), "i"), batch.x.sum() + batch.y.sum()


p_masked, p_scaled = jax.pmap(masked, axis_name="i"), jax.pmap(scaled, axis_name="i")
p_unlike = jax.pmap(unlike, axis_name="i")
first = p_masked(Masked(shard(X), jax_utils.replicate(jnp.arange(3.0))))
second = p_scaled(Scaled(x=shard(X), y=shard(Y)))
third = p_unlike(Shifted(shard(X), np.stack([np.full(2, i, np.float32) for i in range(8)]), np.arange(8.0)))
RESULT = [np.asarray(one) for out in (first, second, third) for one in out]
