"""A function that is bound again, under its own name, to what it makes: the step sees the second."""
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils
from flax.training.common_utils import shard


def train(data):
    optimizer = optax.sgd(0.1, momentum=0.9)

    def loss_fn(w, x):
        return jnp.mean((x @ w - 1) ** 2)

    def gradient_update(loss_fn, optimizer, axis):
        grad_fn = jax.value_and_grad(loss_fn)

        def mean_grads(*args):
            value, grads = grad_fn(*args)
            return value, jax.lax.pmean(grads, axis_name=axis)

        grads_fn = grad_fn if axis is None else mean_grads

        def update(*args, opt_state):
            value, grads = grads_fn(*args)
            updates, opt_state = optimizer.update(grads, opt_state)
            return value, optax.apply_updates(args[0], updates), opt_state

        return update

    gradient_update = gradient_update(loss_fn, optimizer, axis="i")

    def step(state, x):
        w, opt_state = state
        value, w, opt_state = gradient_update(w, x, opt_state=opt_state)
        return (w, opt_state), jax.lax.pmean(value, "i")

    step = jax.pmap(step, axis_name="i")  # expect: replicated, split -> replicated, replicated, replicated
    w = jnp.zeros(3)
    state = jax_utils.replicate((w, optimizer.init(w)))
    for i in range(3):
        state, value = step(state, shard(data + i))
    return jax_utils.unreplicate(state)[0], jax_utils.unreplicate(value)


RESULT = train(np.arange(48.0, dtype=np.float32).reshape(16, 3) / 9)
