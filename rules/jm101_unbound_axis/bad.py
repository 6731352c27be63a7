import jax
import jax.numpy as jnp


def mean_loss(x):
    return jax.lax.pmean(jnp.mean(x), axis_name="bacth")  # JM101


def step(x):
    return mean_loss(x) + jax.lax.psum(x.sum(), "batch")


p_step = jax.pmap(step, axis_name="batch")


@jax.pmap
def count(x):
    return jax.lax.psum(x.size, "i")  # JM101


if __name__ == "__main__":
    for broken in (p_step, count):
        try:
            broken(jnp.ones((8, 2)))
        except (AssertionError, NameError) as error:
            print(f"{type(error).__name__}: {error}")
