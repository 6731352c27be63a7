import jax


def energy(x):
    return jax.numpy.sum(x**2)


def step(x):
    return jax.pmap(jax.grad(energy), axis_name="model")(x)


p = jax.pmap(step, axis_name="data")
