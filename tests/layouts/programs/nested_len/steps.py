"""A step with three metrics."""
import jax
import jax.numpy as jnp


@jax.tree_util.Partial
def _mean(x):
    return jax.lax.pmean(x, "batch")


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(w)
    return w - 0.125 * _mean(grad), (_mean(loss), loss, _mean(loss) + 1)


p_step = jax.pmap(step, axis_name="batch")
