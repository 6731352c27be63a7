"""Functions that see what their names are bound to when they are called, and not when they are defined."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

X = np.arange(48.0).reshape(8, 2, 3) / 7


def mean(g):
    return jax.lax.pmean(g, "i")


def own(g):
    return g * (1 + jax.lax.axis_index("i"))


def later():
    reduce = mean

    def step(w, x):
        return w - reduce(x.mean(0))

    reduce = own
    return jax.pmap(step, axis_name="i")


def around():
    found = []
    steps = []
    for one in (mean, mean):
        reduce = own
        found += [jax.pmap(step, axis_name="i") for step in steps]
        reduce = one

        def step(w, x):
            return w - reduce(x.mean(0))

        steps.append(step)
        if found:
            reduce = own
            break
    return found[0]


def inside():
    reduce = own
    reduce = mean

    def change():
        nonlocal reduce
        reduce = own

    def step(w, x):
        return w - reduce(x.mean(0))

    change()
    return jax.pmap(step, axis_name="i")


def declared():
    reduce = own
    reduce: object

    def step(w, x):
        return w - reduce(x.mean(0))

    return jax.pmap(step, axis_name="i")


def deferred():
    reduce = own
    step = lambda w, x: w - reduce(x.mean(0))
    reduce = mean
    first = jax.pmap(step, axis_name="i")(jax_utils.replicate(jnp.ones(3)), X)
    reduce = own
    return first, jax.pmap(lambda w, x: step(w, x), axis_name="i")


def tried():
    reduce = own
    try:
        reduce = {}["no"]
    except KeyError:
        pass

    def step(w, x):
        return w - reduce(x.mean(0))

    return jax.pmap(step, axis_name="i")


RESULT = [
    np.asarray(make()(jax_utils.replicate(jnp.ones(3)), X)) for make in (later, around, inside, declared, tried)
]
first, second = deferred()
RESULT += [np.asarray(first), np.asarray(second(jax_utils.replicate(jnp.ones(3)), X))]
