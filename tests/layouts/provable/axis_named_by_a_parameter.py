"""What the axis is called is a parameter with a default, which no call replaces, or all by the same name."""
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def loss_of(w, x):
    return jnp.mean((x @ w - 1) ** 2)


def make_step(lr, axis_name="batch"):
    def step(w, x):
        loss, grad = jax.value_and_grad(loss_of)(w, x)
        grad = jax.lax.pmean(grad, axis_name=axis_name)
        return w - lr * grad, jax.lax.pmean(loss, axis_name)

    return jax.pmap(step, axis_name=axis_name)  # expect: replicated, split -> replicated, replicated


def make_eval(axis_name):
    @jax.pmap  # expect: replicated, split -> stacked
    def each(w, x):
        return (x @ w) ** 2

    def total(w, x):
        return jax.lax.psum(loss_of(w, x), axis_name)

    return each, jax.pmap(total, axis_name)  # expect: replicated, split -> replicated


class Trainer:
    def __init__(self, lr, axis_name="batch"):
        self.lr = lr
        self.axis_name = axis_name
        self.p_step = jax.pmap(self.step, axis_name=axis_name, donate_argnums=(0,))  # expect: replicated, split -> replicated, replicated

    def step(self, w, x):
        loss, grad = jax.value_and_grad(loss_of)(w, x)
        return w - self.lr * jax.lax.pmean(grad, self.axis_name), jax.lax.pmean(loss, axis_name=self.axis_name)


def batch(i):
    return shard(np.cos(np.arange(48, dtype=np.float32) * (i + 1)).reshape(16, 3))


p_step, trainer = make_step(0.125), Trainer(0.25)
each, p_total = make_eval(axis_name="batch")
w, v = jax_utils.replicate(jnp.ones(3)), jax_utils.replicate(jnp.zeros(3))
for i in range(2):
    w, loss = p_step(w, batch(i))
    v, other = trainer.p_step(v, batch(i))
RESULT = [float(loss[0]), float(other[0]), float(p_total(w, batch(3))[0]), np.asarray(each(v, batch(4))).reshape(-1)]
