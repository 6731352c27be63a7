"""A renderer with many arguments and outputs, of which most are alike."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def render(weights, points, near, far, gain, bias, scale):
    depth = near + (far - near) * jnp.tanh(points @ weights)
    color = gain * depth + bias
    return color, depth, color * scale, depth - near, jax.lax.pmean(color.mean(), "rays")


def measure(weights, color):
    total = jax.lax.psum((color * weights.sum()).sum(), "rays")
    return total, total / 2, total / 4, -total


p_render = jax.pmap(  # expect: replicated, split, broadcast, broadcast, broadcast, broadcast, broadcast
    render, axis_name="rays", in_axes=(0, 0, None, None, None, None, None)
)
p_measure = jax.pmap(measure, axis_name="rays")  # expect: replicated, split -> replicated, replicated, replicated, replicated
p_stacked = jax.pmap(lambda w, x: (x.sum(), x.sum() - w[0], x.min(), x.max()), axis_name="rays")  # expect: replicated, split

points = np.cos(np.arange(48, dtype=np.float32)).reshape(16, 3)
weights = jax_utils.replicate(jnp.array([0.5, 0.25, 2.0]))
outputs = p_render(weights, shard(points), 0.5, 4.0, 2.0, 1.0, 0.25)
RESULT = {
    "render": [np.asarray(x).reshape(-1) for x in outputs],
    "measure": [x[0] for x in p_measure(weights, shard(points))],
    "stacked": [np.asarray(x) for x in p_stacked(weights, shard(points))],
}
