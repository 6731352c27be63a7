"""numpy's float64, int64, uint8 and bool, as scalars and arrays, become JAX's types on their way in."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def step(state, batch):
    image = batch["image"] / 255.0
    loss = jnp.where(batch["mask"][:, None], image * state["scale"], 0).mean()
    return {**state, "n": state["n"] + batch["mask"].sum()}, jax.lax.pmean(loss, "batch")


p_step = jax.pmap(step, axis_name="batch")
state = jax_utils.replicate({"scale": np.float64(1 / 3), "n": np.int64(2**31 - 20), "flag": np.bool_(True)})
batch = {"image": (np.arange(64) % 256).astype(np.uint8).reshape(16, 4), "mask": np.arange(16) % 3 > 0}
state, loss = p_step(state, shard(batch))
RESULT = {"state": {k: np.asarray(v)[0] for k, v in state.items()}, "loss": loss[0], "n": state["n"].sum()}
