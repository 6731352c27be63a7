"""Policy gradients by vmap over what the devices had, and jit."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P

N = jax.device_count()
STEPS, ENVIRONMENTS = 5, 4


def policy(params, observation):
    return jnp.tanh(observation @ params["hidden"]) @ params["head"]


def rollout(params, state, key):
    def step(state, key):
        logits = policy(params, state)
        action = jax.random.categorical(key, logits)
        reward = jnp.cos(state.sum(-1)) * (2.0 * action - 1.0)
        return 0.9 * state + 0.1 * action[:, None], (state, action, reward)

    return jax.lax.scan(step, state, jax.random.split(key, STEPS))


def loss_fn(params, states, actions, rewards):
    logs = jax.nn.log_softmax(policy(params, states))
    chosen = jnp.take_along_axis(logs, actions[..., None], -1)[..., 0]
    return -(chosen * (rewards - rewards.mean())).mean()


split = NamedSharding(Mesh(np.array(jax.devices()), ("i",)), P("i"))


@jax.jit
def update(params, state, keys):
    def of_one(state, key):
        key, own = jax.random.split(key)
        state, (states, actions, rewards) = rollout(params, state, own)
        loss, grads = jax.value_and_grad(loss_fn)(params, states, actions, rewards)
        return state, key, grads, {"loss": loss, "reward": rewards.mean()}

    state, keys, grads, metrics = jax.vmap(of_one)(state, keys)
    grads = jax.tree.map(lambda g: g.mean(0), grads)
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    metrics = jax.tree.map(jnp.mean, metrics)
    norm = jnp.sqrt(sum((g**2).sum() for g in jax.tree.leaves(grads)))
    return params, state, keys, {**metrics, "norm": norm}


def main():
    rng = np.random.RandomState(0)
    params = {"hidden": rng.randn(3, 8).astype("f"), "head": 0.3 * rng.randn(8, 2).astype("f")}
    state = jax.device_put(rng.randn(N, ENVIRONMENTS, 3).astype("f"), split)
    keys = jax.device_put(jax.random.split(jax.random.PRNGKey(1), N), split)
    for step in range(5):
        params, state, keys, metrics = update(params, state, keys)
        means = {name: float(value) for name, value in metrics.items()}
        print(step, " ".join(f"{name} {value:.5f}" for name, value in means.items()))


main()
