import jax
import jax.numpy as jnp


def step(key, x):
    return jax.lax.pmean((x * jax.random.bernoulli(key, 0.5, x.shape)).mean(), "i")


def main():
    key = jax.random.fold_in(jax.random.PRNGKey(0), jax.process_index())
    keys = jax.random.split(key, jax.local_device_count())
    loss = jax.pmap(step, axis_name="i")(keys, jnp.ones((8, 4)) * (1 + jax.process_index()))
    if jax.process_index() == 0:
        print(loss[0])


if __name__ == "__main__":
    main()
