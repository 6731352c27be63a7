import jax


def step(w, x):
    grad = jax.grad(lambda w: ((x @ w - 1) ** 2).mean())(w)
    return w - 0.1 * jax.lax.psum(grad, "i"), jax.lax.psum(((x @ w) ** 2).mean(), "i")


def make_step(devices):
    return jax.pmap(step, axis_name="i", devices=devices)  # expect: replicated, split -> replicated, replicated


def spread(batch, n):
    return jax.tree_util.tree_map(lambda x: x.reshape((n, x.shape[0] // n) + x.shape[1:]), batch)
