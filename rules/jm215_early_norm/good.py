import jax
import jax.numpy as jnp


def step(w, x):
    grads = jax.grad(lambda w: jnp.dot(w, x))(w)
    grads = jax.lax.pmean(grads, "batch")
    norm = jnp.linalg.norm(grads)
    return w - 0.1 * grads, norm


def main():
    n = jax.local_device_count()
    x = jnp.stack([jnp.cos(2 * jnp.pi * jnp.arange(n) / n), jnp.sin(2 * jnp.pi * jnp.arange(n) / n)], axis=1)
    _, norm = jax.pmap(step, axis_name="batch", in_axes=(None, 0))(jnp.ones(2), x)
    print("the norm that is logged:", norm[0].round(2))


if __name__ == "__main__":
    main()
