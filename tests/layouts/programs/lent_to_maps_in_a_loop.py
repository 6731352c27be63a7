"""A helper that maps what it is given in each round, also for those whose arrays stay stacked, and keeps some of it."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

KEPT = []


def evaluate(params, x):
    p_eval = jax.pmap(lambda p, x: (p * x).sum())
    KEPT.append(params)
    return p_eval(params, x)


def evaluated_only(params, x):
    return jax.pmap(lambda p, x: (p - x).sum(), donate_argnums=(0,))(params, x)


p_step = jax.pmap(lambda p, x: p - 0.1 * jax.lax.pmean(p * x, "i"), axis_name="i")
p_apart = jax.pmap(lambda p, x: p - 0.1 * p * x, axis_name="i")


def main():
    n = jax.local_device_count()
    same, apart = jax_utils.replicate(jnp.arange(3.0)), jax_utils.replicate(jnp.ones(3))
    x = np.arange(n * 3, dtype=np.float32).reshape(n, 3) / 9
    found = []
    for _ in range(3):
        same, apart = p_step(same, x), p_apart(apart, x)
        found += [evaluate(same, x), evaluate(apart, x)]
        found += [evaluated_only(same + 0.0, x), evaluated_only(jax.tree.map(jnp.copy, apart), x)]
    return found, jax_utils.unreplicate(same), apart, [k[1] for k in KEPT]


RESULT = [np.asarray(x) for x in jax.tree.leaves(main())]
