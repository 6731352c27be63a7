"""Policy gradients with the means taken where the gradients are."""

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, PartitionSpec as P

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


mesh = Mesh(np.array(jax.devices()), ("i",))
METRICS = {"loss": P(), "reward": P(), "norm": P()}


@jax.jit
@functools.partial(
    jax.shard_map,
    mesh=mesh,
    in_specs=(P(), P("i"), P("i")),
    out_specs=(P(), P("i"), P("i"), METRICS),
    check_vma=False,
)
def update(params, state, key):
    key, own = jax.random.split(key[0])
    state, (states, actions, rewards) = rollout(params, state, own)
    loss, grads = jax.value_and_grad(loss_fn)(params, states, actions, rewards)
    grads = jax.lax.pmean(grads, "i")
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    norm = jnp.sqrt(sum((g**2).sum() for g in jax.tree.leaves(grads)))
    means = jax.lax.pmean({"loss": loss, "reward": rewards.mean(), "norm": norm}, "i")
    return params, state, key[None], means


def main():
    rng = np.random.RandomState(0)
    params = {"hidden": rng.randn(3, 8).astype("f"), "head": 0.3 * rng.randn(8, 2).astype("f")}
    state = rng.randn(N * ENVIRONMENTS, 3).astype("f")
    keys = jax.random.split(jax.random.PRNGKey(1), N)
    for step in range(5):
        params, state, keys, metrics = update(params, state, keys)
        means = {name: float(value) for name, value in metrics.items()}
        print(step, " ".join(f"{name} {value:.5f}" for name, value in means.items()))


main()
