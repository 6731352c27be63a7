import jax
import jax.numpy as jnp


def step(w, x):
    loss, grads = jax.value_and_grad(lambda w: -jnp.mean(w * jnp.ones_like(x)) + 0 * x.sum())(w)
    grads = jax.lax.pmean(grads, "batch")
    loss = jax.lax.pmean(loss, "batch")
    return jnp.where(jnp.isfinite(loss), w - grads, w)


def main():
    x = jnp.ones(jax.local_device_count()).at[0].set(jnp.inf)
    w = jax.pmap(step, axis_name="batch", in_axes=(None, 0))(jnp.float32(1), x)
    print("parameters on the devices:", w)


if __name__ == "__main__":
    main()
