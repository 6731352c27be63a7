import jax
import jax.numpy as jnp


def moments(x):
    mean = jax.lax.pmean(x.mean(), "batch")
    var = jax.lax.pmean(jnp.square(x - mean).mean(), "batch")
    return mean, var


def main():
    x = jnp.arange(float(jax.local_device_count())).reshape(-1, 1)
    _, var = jax.pmap(moments, axis_name="batch")(x)
    print("variance of all:", var[0])


if __name__ == "__main__":
    main()
