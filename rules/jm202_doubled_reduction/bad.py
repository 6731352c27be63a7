import jax
import jax.numpy as jnp


def mean(x):
    total = jax.lax.psum(x, "i")
    return jax.lax.psum(total / jax.lax.psum(1, "i"), "i")  # JM202


def centred(x):
    average = jax.lax.pmean(x, axis_name="i")
    spread = jax.lax.pmean((x - average) ** 2, axis_name="i")
    return x - jax.lax.pmean(average, axis_name="i"), spread  # JM202


p_mean = jax.pmap(mean, axis_name="i")
p_centred = jax.pmap(centred, axis_name="i")

if __name__ == "__main__":
    print(p_mean(jnp.arange(8.0))[0])
