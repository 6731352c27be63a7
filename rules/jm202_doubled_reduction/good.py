import jax
import jax.numpy as jnp


def mean(x):
    total = jax.lax.psum(x, "i")
    return total / jax.lax.psum(1, "i")


def centred(x):
    average = jax.lax.pmean(x, axis_name="i")
    spread = jax.lax.pmean((x - average) ** 2, axis_name="i")
    return x - average, spread


def maximum(x, y):
    """A sum over another axis is no repetition."""
    return jax.lax.psum(jax.vmap(lambda v: jax.lax.psum(v, "b"), axis_name="b")(x), "i") + jax.lax.pmax(y, "i")


p_mean = jax.pmap(mean, axis_name="i")
p_centred = jax.pmap(centred, axis_name="i")
p_maximum = jax.pmap(maximum, axis_name="i")

if __name__ == "__main__":
    print(p_mean(jnp.arange(8.0))[0])
