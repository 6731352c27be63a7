"""Parameters that `pad_shard_unpad` is given by keyword, by a name that only a run knows, or behind a star."""

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.jax_utils import pad_shard_unpad

STATIC = tuple(range(1))


def eval_step(w, x):
    return jax.lax.pmean(jnp.mean((x @ w - 1) ** 2), "batch")


p_eval = jax.pmap(eval_step, "batch")
p_other = jax.pmap(eval_step, "batch")
p_third = jax.pmap(eval_step, "batch")
w = jax_utils.replicate(jnp.linspace(0.1, 1.0, 3))
rows = np.sin(np.arange(54, dtype=np.float32)).reshape(18, 3)
given = [rows]
RESULT = [
    pad_shard_unpad(p_eval, static_return=True)(w, x=rows)[0],
    pad_shard_unpad(p_other, static_argnums=STATIC, static_return=True)(w, rows)[0],
    pad_shard_unpad(p_third, static_return=True)(w, *given)[0],
]
