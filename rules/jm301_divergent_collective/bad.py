import jax
import jax.numpy as jnp

evaluate = jax.pmap(lambda x: jax.lax.pmean(x, "batch"), axis_name="batch")


def report(x):
    if jax.process_index() == 0:
        print(evaluate(x))  # JM301


def save(x):
    if jax.process_index() != 0:
        return None
    return evaluate(x)  # JM301


def uneven(x):
    first = jax.lax.axis_index("batch") == 0
    return jax.lax.cond(first, lambda y: jax.lax.psum(y, "batch"), lambda y: y, x)  # JM301


p_uneven = jax.pmap(uneven, axis_name="batch")
