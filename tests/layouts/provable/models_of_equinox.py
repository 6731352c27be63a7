"""Equinox's models, of which a step filters, parts, combines and replaces leaves."""
import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from flax import jax_utils


class Model(eqx.Module):
    weight: jax.Array
    bias: jax.Array
    scale: jax.Array

    def __call__(self, x):
        return (x @ self.weight + self.bias) * self.scale


def loss_of(model, x, y):
    return jnp.mean((model(x) - y) ** 2)


tx = optax.sgd(0.1, momentum=0.9)
model = Model(jnp.ones((3, 2)), jnp.zeros(2), jnp.ones(2) / 3)
trained = eqx.tree_at(lambda m: m.weight, jax.tree.map(lambda _: False, model), replace=True)


def step(model, opt_state, x, y):
    loss, grads = eqx.filter_value_and_grad(loss_of)(model, x, y)
    loss, grads = jax.lax.pmean((loss, grads), "i")
    updates, opt_state = tx.update(grads, opt_state, eqx.filter(model, eqx.is_inexact_array))
    model = eqx.apply_updates(model, updates)
    return eqx.tree_at(lambda m: m.bias, model, model.bias * 0.5), opt_state, loss


def tune(model, x, y):
    part, rest = eqx.partition(model, trained)
    grads = jax.lax.pmean(jax.grad(lambda one: loss_of(eqx.combine(one, rest), x, y))(part), "i")
    return eqx.combine(jax.tree.map(lambda p, g: p - 0.1 * g, part, grads), rest)


def shift(model, x):
    return eqx.tree_at(lambda m: m.bias, model, model.bias + x.mean(0)[:2])


def main():
    p_step = jax.pmap(step, axis_name="i")  # expect: replicated, replicated, split, split -> replicated, replicated, replicated
    p_tune = jax.pmap(tune, axis_name="i")  # expect: replicated, split, split -> replicated
    p_shift = jax.pmap(shift, axis_name="i")  # expect: replicated, split -> stacked
    opt_state = jax_utils.replicate(tx.init(eqx.filter(model, eqx.is_inexact_array)))
    state = jax_utils.replicate(model)
    rng = np.random.default_rng(0)
    losses = []
    for _ in range(3):
        x = rng.normal(size=(16, 3)).astype("f4").reshape(jax.local_device_count(), -1, 3)
        y = rng.normal(size=(16, 2)).astype("f4").reshape(jax.local_device_count(), -1, 2)
        state, opt_state, loss = p_step(state, opt_state, x, y)
        state = p_tune(state, x, y)
        losses.append(loss[0])
    return jax_utils.unreplicate(state), losses, p_shift(state, x)


RESULT = main()
