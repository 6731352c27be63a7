import jax
import jax.numpy as jnp


def mean_loss(x, axis_name=None):
    loss = jnp.mean(x)
    return loss if axis_name is None else jax.lax.pmean(loss, axis_name)


def step(x):
    return mean_loss(x, axis_name="batch") + jax.lax.psum(x.sum(), "batch")


p_step = jax.pmap(step, axis_name="batch")
one_device = jax.jit(mean_loss)

if __name__ == "__main__":
    print(p_step(jnp.ones((8, 2))), one_device(jnp.ones(2)))
