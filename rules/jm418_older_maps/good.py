import jax

rows = jax.jit(jax.vmap(lambda x: 2 * x))
