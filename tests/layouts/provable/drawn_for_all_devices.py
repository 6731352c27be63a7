"""Random numbers that are drawn with a row for each device are a batch: noise that a sampler refines on the devices."""
import jax
import jax.numpy as jnp
from flax import jax_utils

n = jax.local_device_count()
SIZE = (4, 3)


def refine(params, xt, t):
    xhat = xt @ params["w"] + t[..., None]
    return xhat, xt - 0.1 * xhat


p_refine = jax.pmap(refine, axis_name="i")  # expect: replicated, split, split -> split, split
def score(p, x, y):
    return jax.lax.pmean(((x @ p["w"]).sum(-1) - y).mean(), "i")


p_score = jax.pmap(score, axis_name="i")  # expect: replicated, split, split -> replicated


def sample(params, z, t, steps):
    xt = z
    for _ in range(steps):
        xhat, xt = p_refine(params, xt, t)
    return xhat, xt


params = jax_utils.replicate({"w": jnp.eye(3) * 0.5})
z_key, t_key, y_key = jax.random.split(jax.random.PRNGKey(3), 3)
z1 = jax.random.normal(z_key, shape=(n, 4, 3))
times = jax.random.uniform(t_key, [n, 4], minval=0.1)
xhat, xt = sample(params, z1, times, 3)
labels = jax.random.randint(y_key, (n, SIZE[0]), 0, 5)
losses = [p_score(params, x, labels) for x in (xt, xhat)]
losses.append(p_score(params, jax.random.normal(z_key, (n, 4) + SIZE[1:]), labels))
RESULT = [float(loss[0]) for loss in losses]
