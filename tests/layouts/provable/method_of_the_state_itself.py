"""A mapped method whose object is the training state: replicated, kept in a trainer, donated, read on the host."""
from functools import partial
from typing import Any
import flax
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct
from flax.training.common_utils import shard

BATCHES = [np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3) for i in range(3)]


class Model(struct.PyTreeNode):
    w: Any
    count: Any
    rate: float = struct.field(pytree_node=False)

    def loss(self, w, x):
        return jnp.mean((x @ w - 1) ** 2)

    @partial(jax.pmap, axis_name="data", in_axes=(0, 0))  # expect: replicated, split -> replicated, replicated
    def update(self, x, axis="data"):
        loss, grad = jax.value_and_grad(self.loss)(self.w, x)
        info = {"loss": jax.lax.pmean(loss, axis_name=axis)}
        return self.replace(w=self.w - self.rate * jax.lax.pmean(grad, axis), count=self.count + 1), info

    @jax.pmap  # expect: replicated, split -> stacked
    def predict(self, x):
        return (x @ self.w)[:, None]


@flax.struct.dataclass
class Agent:
    w: Any
    moment: Any

    @partial(jax.pmap, axis_name="i", donate_argnums=(0,))  # expect: replicated, split -> replicated
    def learn(self, x):
        grad = jax.lax.pmean(jax.grad(lambda w: jnp.mean((x @ w) ** 2))(self.w), "i")
        moment = 0.5 * self.moment + grad
        return self.replace(w=self.w - 0.25 * moment, moment=moment)


class Trainer:
    def __init__(self):
        self.agent = jax_utils.replicate(Agent(jnp.ones(3), jnp.zeros(3)))

    def run(self):
        for x in BATCHES:
            self.agent = self.agent.learn(shard(x))
        return jax_utils.unreplicate(self.agent).w


model = jax_utils.replicate(Model(w=jnp.ones(3), count=jnp.zeros(()), rate=0.125))
losses = []
for x in BATCHES:
    model, info = model.update(shard(x))
    losses.append(float(info["loss"][0]))
predicted = model.predict(shard(BATCHES[0]))
one = jax_utils.unreplicate(model)
RESULT = losses, one.w, one.count, one.loss(one.w, BATCHES[1]), predicted.reshape(16, 1), Trainer().run()
