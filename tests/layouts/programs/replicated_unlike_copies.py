"""An output under out_axes=None that differs: what is replicated of it anew is device 0's copy, everywhere."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(w, x):
    return w + x.sum(), (w * x).sum()


def evaluate(w, x):
    return jax.lax.psum((w * x).sum(), "i")


p_step = jax.pmap(step, axis_name="i", out_axes=(None, 0))
p_evaluate = jax.pmap(evaluate, axis_name="i")
x = np.arange(16.0, dtype=np.float32).reshape(8, 2)
w, losses = p_step(jax_utils.replicate(jnp.ones(())), x)
w = jax_utils.replicate(w)
RESULT = {"w": jax_utils.unreplicate(w), "total": p_evaluate(w, x)[0], "losses": losses}
