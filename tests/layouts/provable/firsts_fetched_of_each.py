"""The first of equal slices, fetched at once and from each array of a list of results, as scenic's trainers do."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard
from scenic.train_lib import train_utils

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(state, x):
    loss, grad = jax.value_and_grad(lambda w: jnp.mean((x @ w - 1) ** 2))(state["w"])
    state = {"w": state["w"] - 0.125 * jax.lax.pmean(grad, "i")}
    return state, {"loss": jax.lax.pmean(loss, "i"), "size": jax.lax.psum(jnp.float32(len(x)), "i")}


p_step = jax.pmap(step, axis_name="i")  # expect: replicated, split -> replicated, replicated
state = jax_utils.replicate({"w": jnp.ones(3)})
logs = []
for _ in range(3):
    state, metrics = p_step(state, shard(X))
    logs.append(metrics)
told = jax.tree_util.tree_map(train_utils.unreplicate_and_get, logs)
last = train_utils.unreplicate_and_get(metrics)
RESULT = [[type(one["loss"]).__name__, one["loss"], one["size"]] for one in told]
RESULT += [last["loss"], type(last["size"]).__name__, np.asarray(jax_utils.unreplicate(state)["w"])]
