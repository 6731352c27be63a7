"""A mapped method of a state that a plain method of it calls too, on a state that is made stacked by hand."""
from functools import partial
from typing import Any
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct
from flax.training.common_utils import shard

BATCHES = [np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3) for i in range(3)]


class Model(struct.PyTreeNode):
    w: Any

    @partial(jax.pmap, axis_name="i")
    def update(self, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(self.w.sum(0))
        return self.replace(w=self.w - 0.25 * jax.lax.pmean(grad, "i"))

    def fit(self, batches):
        model = self
        for x in batches:
            model = model.update(shard(x))
        return model


model = jax_utils.replicate(Model(jnp.ones((8, 3))))
for x in BATCHES:
    model = model.update(shard(x))
unlike = {"w": jnp.arange(192.0).reshape(8, 8, 3) / 99}
fitted = Model(**unlike).fit(BATCHES)
RESULT = model.w[0], fitted.w[5]
