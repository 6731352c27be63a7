"""Functions that see the batch are given to libraries, which run them: what comes back differs between devices."""
import functools
import flax.linen as nn
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7
model = nn.Dense(1)


def by_method(w, x):
    return model.apply({"params": w}, x[0], method=lambda module, y: module(y) + x.mean()), w


def by_partial(w, x):
    def seen(x, module, y):
        return module(y) * x.sum()

    return model.apply({"params": w}, jnp.ones(3), method=functools.partial(seen, x))


def by_library(w, x):
    def loss(w):
        return jnp.mean((x @ w["kernel"] - 1) ** 2)

    value_and_grad = optax.value_and_grad_from_state(jax.jit(loss))
    tx = optax.chain(optax.sgd(0.1), optax.scale_by_backtracking_linesearch(max_backtracking_steps=3, store_grad=True))
    state = tx.init(w)
    value, grad = value_and_grad(w, state=state)
    updates, state = tx.update(grad, state, w, value=value, grad=grad, value_fn=loss)
    return optax.apply_updates(w, updates)


def by_class(w, x):
    class Shifted(nn.Module):
        @nn.compact
        def __call__(self, y):
            return y + x.mean()

    return Shifted().apply({}, w["bias"])


def by_list(w, x):
    looks = [lambda module, y: module(y) + x.max()]
    return model.apply({"params": w}, jnp.ones(3), method=looks[0])


w = jax_utils.replicate(model.init(jax.random.PRNGKey(0), jnp.ones(3))["params"])
RESULT = []
for function in (by_method, by_partial, by_library, by_class, by_list):
    RESULT.append(jax.pmap(function, axis_name="batch")(w, shard(BATCH)))
out, w = jax.pmap(by_method, axis_name="batch")(w, shard(BATCH))
v = jax.pmap(by_library, axis_name="batch")(w, shard(BATCH))
u = jax.pmap(by_list, axis_name="batch")(v, shard(BATCH))
RESULT += [out, v, u, jax_utils.unreplicate(w)]
for step in (by_partial, by_class):
    RESULT.append(jax.pmap(lambda w, x: jax.tree.map(lambda v: v + step(w, x).sum(), w), axis_name="batch")(v, shard(BATCH)))
