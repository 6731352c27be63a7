"""Programs whose arrays come from a library that `fix` is not given, so that no proof follows them."""

from __future__ import annotations

from pathlib import Path

LIBRARY = """\
import jax
import jax.numpy as jnp
import numpy as np

BUFFER = np.ones((jax.device_count(), 2), np.float32)


def create_state(seed):
    state = {"w": np.random.RandomState(seed).normal(size=(3,)).astype(np.float32), "b": np.zeros((), np.float32)}
    return jax.tree.map(lambda x: jnp.stack([x] * jax.device_count()), state)


def batches(count):
    random = np.random.RandomState(0)
    for _ in range(count):
        x = random.normal(size=(16, 3)).astype(np.float32)
        yield {"x": x.reshape((jax.device_count(), -1, 3)), "y": x.sum(1).reshape(jax.device_count(), -1)}


def noise():
    return np.random.RandomState(0).normal(size=(jax.device_count(), 3)).astype(np.float32)


def rate():
    return BUFFER


def decay():
    BUFFER[...] *= 0.5


def rule():
    return eval("lambda p, g: p - 0.1 * g")
"""
HEAD = """\
import functools
import importlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

sys.path.insert(0, "lib")
library = importlib.import_module("outofsight")


"""
# A state and batches from out of sight.
TRAIN = f"""\
{HEAD}def loss_fn(params, batch):
    return jnp.mean((batch["x"] @ params["w"] + params["b"] - batch["y"]) ** 2)


@functools.partial(jax.pmap, axis_name="batch")
def train_step(params, batch):
    loss, grads = jax.value_and_grad(loss_fn)(params, batch)
    grads = jax.lax.pmean(grads, "batch")
    params = jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)
    return params, jax.lax.pmean(loss, "batch")


def main():
    params = library.create_state(0)
    for batch in library.batches(3):
        params, loss = train_step(params, batch)
    print(float(loss[0]))
    print(jax_utils.unreplicate(params))


main()
"""
# Several groups: helpers that no idiom says, a rule that is stored, numbers of devices under other names, a state of
# each device's own, and a buffer that the library goes on writing into.
GROUPS = f"""\
{HEAD}N = len(sys.argv[1])
rule = library.rule()


def bcast(tree):
    return jax.tree.map(lambda x: jnp.asarray([np.copy(x) for _ in range(N)]), tree)


def to_devices(batch):
    rows = len(batch) // N
    return np.stack([batch[i : i + rows] for i in range(0, len(batch), rows)])


def step(params, momentum, batch, noise, rate):
    grads = jax.grad(lambda p: jnp.mean((batch @ p) ** 2))(params)
    grads = jax.lax.pmean(grads, "batch")
    return rule(params, grads), momentum + grads * rate[0], noise * 1.01


p_step = jax.pmap(step, axis_name="batch")


def main():
    params = bcast(np.ones((3,), np.float32))
    momentum = jnp.stack([jnp.zeros((3,), jnp.float32)] * N)
    noise = library.noise()
    rate = library.rate()
    for i in range(3):
        batch = np.random.RandomState(i).normal(size=(16, 3)).astype(np.float32)
        batch = to_devices(batch) if i % 2 else batch.reshape((N, -1) + batch.shape[1:])
        params, momentum, noise = p_step(params, momentum, batch, noise, rate)
        library.decay()
    print(jax_utils.unreplicate(params), momentum[0])


main()
"""
# Equal on all devices at the first call, by accident: what makes them differ has no weight yet.
ACCIDENT = f"""\
{HEAD}rule = library.rule()


@functools.partial(jax.pmap, axis_name="batch")
def step(params, mean, batch):
    mean = rule(mean, params[0] * batch.mean(0))
    return params + jax.lax.pmean(batch.sum(0), "batch"), mean


def main():
    params = jax_utils.replicate(np.zeros((3,), np.float32))
    mean = jax_utils.replicate(np.ones((3,), np.float32))
    for i in range(int(sys.argv[1])):
        batch = np.random.RandomState(i).normal(size=(16, 3)).astype(np.float32)
        params, mean = step(params, mean, batch.reshape((jax.device_count(), -1, 3)))
    print(jax_utils.unreplicate(mean))


main()
"""


def lay_out(folder: Path, text: str) -> None:
    """Writes a program into a folder, with the library where `fix` is not given it."""
    (folder / "lib").mkdir()
    (folder / "lib" / "outofsight.py").write_text(LIBRARY)
    (folder / "train.py").write_text(text)
    (folder / "pyproject.toml").write_text('[tool.jaxmigrate]\nexclude = ["lib"]\n')
