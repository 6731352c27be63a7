# mypy: ignore-errors
"""Mapped functions in every form and with every kind of value; each site can be broken on its own."""

import contextlib
import functools
import inspect
import json
import sys
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

N = jax.device_count()


class State(NamedTuple):
    params: dict
    step: jax.Array


def loss_fn(params, batch):
    return jnp.mean((batch @ params["w"] + params["b"]) ** 2)


@functools.partial(jax.pmap, axis_name="i", donate_argnums=0)
def train_step(state, batch):
    loss, grads = jax.value_and_grad(loss_fn)(state.params, batch)
    grads = lax.pmean(grads, "i")
    params = jax.tree.map(lambda p, g: p - 0.1 * g, state.params, grads)
    return State(params, state.step + 1), {"loss": lax.pmean(loss, "i")}


class Model:
    def __init__(self, scale):
        self.scale = scale
        self.evaluate = jax.pmap(self._evaluate, axis_name="i")

    def _evaluate(self, x):
        return lax.psum(x * self.scale, "i")

    @functools.partial(jax.pmap, static_broadcasted_argnums=0)
    def forward(self, x):
        return x * self.scale + 1


kinds = jax.pmap(
    lambda tree: {
        "key": jax.random.fold_in(tree["key"], 1),
        "bfloat16": tree["bfloat16"] * 3,
        "int": tree["int"] // 2,
        "bool": ~tree["bool"],
        "complex": tree["complex"] * 1j,
        "empty": tree["empty"],
        "float8": tree["float8"],
        "none": None,
    }
)
noise = jax.pmap(lambda key: jax.random.normal(key, (3,)))
logarithm = jax.pmap(lambda x: 0 + jnp.log(x))
total = jax.pmap(lambda x: x.sum())
average = jax.pmap(lambda x: x.mean(0))
result = jax.pmap(lambda x: (x, x + 1))
fails = jax.pmap(lambda x: x.reshape(7))
slow_drift = jax.pmap(lambda x: x * 1.0)
compiled = jax.pmap(lambda x: x - 1).lower(np.ones((N, 2), np.float32)).compile()
inside_jit = jax.pmap(lambda x: x + 2)
by_keyword = jax.pmap(lambda x, y: x - y)
never_called = jax.pmap(lambda x: x)
gathered = jax.pmap(lambda x: lax.all_gather(x, "i"), axis_name="i")
own = jax.pmap(lambda x: x * lax.axis_index("i"), axis_name="i")


def rows(*shape):
    return (np.arange(np.prod((N, *shape)), dtype=np.float32) / 7).reshape(N, *shape)


def every_kind():
    return {
        "key": jax.random.split(jax.random.key(0), N),
        "bfloat16": rows(3).astype(jnp.bfloat16),
        "int": rows(2).astype(np.int32),
        "bool": rows(2) > 1,
        "complex": (rows(2) * (1 + 2j)).astype(np.complex64),
        "empty": np.zeros((N, 0), np.float32),
        "float8": rows(2).astype(jnp.float8_e4m3fn),
    }


def main():
    state = State({"w": rows(4, 2), "b": np.zeros((N, 2), np.float32)}, np.zeros(N, np.int32))
    assert train_step.__wrapped__.__name__ == train_step.__name__ == "train_step"
    assert next(iter(inspect.signature(train_step).parameters)) == "state"
    for number in range(3):
        before = state
        state, metrics = train_step(state, rows(2, 4))
        assert number == 0 or before.params["w"].is_deleted(), "the donation was lost"
    model = Model(3.0)
    model.evaluate(model.forward(rows(2)))
    kinds(every_kind())
    noise(every_kind()["key"])
    logarithm(rows(2) + 1)
    total(rows(3))
    average(rows(3, 2))
    result(rows(2))
    with contextlib.suppress(TypeError, AttributeError):
        fails(rows(3))
    for number in range(5):
        slow_drift(rows(3) + (number if number > 2 else 0))
    compiled(rows(2))
    jax.jit(lambda x: inside_jit(x) * 2)(rows(2))
    functools.partial(by_keyword, rows(2))(y=rows(2))
    gathered(rows(1))
    own(rows(2))
    print(json.dumps({"loss": float(metrics["loss"][0]), "argv": sys.argv[1:]}))


main()
