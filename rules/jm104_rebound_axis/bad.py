import jax
import jax.numpy as jnp


def total(x):
    return jax.lax.psum(x, "i")


add = jax.pmap(jax.vmap(total, axis_name="i"), axis_name="i")  # JM104

if __name__ == "__main__":
    print(add(jnp.ones((8, 3))))
