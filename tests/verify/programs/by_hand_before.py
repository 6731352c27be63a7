# mypy: ignore-errors
"""What people pmap, one section a site; by_hand_after.py is what somebody made of it by hand."""

import functools
import traceback

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils
from jax import lax

N = jax.local_device_count()
rng = np.random.RandomState(0)
params = {"w": rng.randn(6, 4).astype("f"), "b": rng.randn(4).astype("f")}
x, y = rng.randn(4 * N, 6).astype("f"), rng.randn(4 * N, 4).astype("f")


def loss_fn(params, x, y):
    return ((x @ params["w"] + params["b"] - y) ** 2).mean()


def descend(params, grads, rate=0.1):
    return jax.tree.map(lambda p, g: p - rate * g, params, grads)


def train_step(state, batch, key):
    key, next_key = jax.random.split(key)
    noise = jax.random.normal(key, batch["x"].shape)
    loss, grads = jax.value_and_grad(loss_fn)(state["params"], batch["x"] + noise, batch["y"])
    grads = lax.pmean(grads, "batch")
    return {"params": descend(state["params"], grads), "step": state["step"] + 1}, lax.pmean(loss, "batch"), next_key


def train():
    p_train_step = jax.pmap(train_step, axis_name="batch", donate_argnums=(0,))
    state = jax_utils.replicate({"params": params, "step": 0})
    keys = jax.random.split(jax.random.PRNGKey(0), N)
    for _ in range(3):
        state, loss, keys = p_train_step(state, common_utils.shard({"x": x, "y": y}), keys)
    print("train", loss[0])


def counted_step(params, x, y):
    grads = jax.grad(lambda p: ((x @ p["w"] + p["b"] - y) ** 2).sum())(params)
    count = lax.psum(x.shape[0], "i")
    return descend(params, jax.tree.map(lambda g: lax.psum(g, "i") / count, grads))


def counted():
    p_counted = jax.pmap(counted_step, "i")
    p_counted(jax_utils.replicate(params), common_utils.shard(x), common_utils.shard(y))


def evaluate(params, x, y):
    logits = x @ params["w"]
    return logits, {"correct": lax.psum((logits.argmax(-1) == y.argmax(-1)).sum(), "i"), "rows": x.shape[0]}


def evaluation():
    p_evaluate = jax.pmap(evaluate, axis_name="i")
    for _ in range(2):
        p_evaluate(jax_utils.replicate(params), common_utils.shard(x), y=common_utils.shard(y))


def gathered(x):
    return lax.all_gather(x.mean(0), "i")


def gather():
    p_gather = jax.pmap(gathered, axis_name="i")
    p_gather(common_utils.shard(x))


def passed_on(x):
    return lax.ppermute(x, "i", [(number, (number + 1) % N) for number in range(N)])


def ring():
    p_ring = jax.pmap(passed_on, axis_name="i")
    p_ring(common_utils.shard(x))


def dropped(x, key):
    return x * jax.random.bernoulli(jax.random.fold_in(key, lax.axis_index("i")), 0.5, x.shape)


def dropout():
    p_dropout = jax.pmap(dropped, axis_name="i", in_axes=(0, None))
    p_dropout(common_utils.shard(x), jax.random.PRNGKey(3))


def accumulate(params, x, y):
    def one(total, part):
        return jax.tree.map(jnp.add, total, jax.grad(loss_fn)(params, *part)), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    parts = (x.reshape(2, -1, 6), y.reshape(2, -1, 4))
    total, _ = lax.scan(one, zeros, parts)
    return lax.pmean(jax.tree.map(lambda g: g / 2, total), "i")


def accumulation():
    p_accumulate = jax.pmap(accumulate, axis_name="i")
    p_accumulate(jax_utils.replicate(params), common_utils.shard(x), common_utils.shard(y))


def observe(stats, x):
    return {"mean": 0.9 * stats["mean"] + 0.1 * x.mean(0), "count": stats["count"] + 1}


def statistics():
    p_observe = jax.pmap(observe)
    stats = jax_utils.replicate({"mean": np.zeros(6, "f"), "count": 0})
    for _ in range(2):
        stats = p_observe(stats, common_utils.shard(x))


def scaled(x, scale):
    return (x * scale).sum(1)


def columns():
    p_columns = jax.pmap(scaled, in_axes=(1, None), out_axes=0)
    p_columns(x.reshape(4, N, 6), 0.5)


class Trainer:
    def __init__(self):
        self.step = 0
        self.p_update = jax.pmap(self.update, axis_name="i", in_axes=(0, 0, 0, None))

    def update(self, params, x, y, step):
        grads = lax.pmean(jax.grad(loss_fn)(params, x, y), "i")
        return descend(params, grads, 0.1 / (1 + step))


def by_class():
    trainer = Trainer()
    held = jax_utils.replicate(params)
    for step in range(3):
        held = trainer.p_update(held, common_utils.shard(x), common_utils.shard(y), step)


def halved(params, x):
    return jnp.dot(x.astype(jnp.bfloat16), params["w"].astype(jnp.bfloat16))


def precision():
    p_halved = jax.pmap(halved)
    p_halved(jax_utils.replicate(params), common_utils.shard(x))


def powered(x, power):
    return x**power


def statics():
    p_powered = jax.pmap(powered, static_broadcasted_argnums=1)
    p_powered(common_utils.shard(x), 3)


def extremes(x):
    return lax.pmax(x.max(), "i"), lax.pmin(x.min(), "i")


def extreme():
    p_extremes = jax.pmap(extremes, axis_name="i")
    p_extremes(common_utils.shard(x))


def tally(count, x):
    return count + lax.psum((x > 0).sum(dtype=jnp.int32), "i")


def tallies():
    p_tally = jax.pmap(tally, axis_name="i")
    p_tally(jax_utils.replicate(jnp.int32(3)), common_utils.shard(x))


def predict(params, x):
    return jax.nn.relu(x @ params["w"])


def prediction():
    p_predict = jax.pmap(predict)
    for start in range(0, 4, 2):
        p_predict(jax_utils.replicate(params), common_utils.shard(x)[:, start : start + 2])


def norm(params, x):
    return sum(jnp.sum(p) for p in jax.tree.leaves(params)) + lax.psum(x.sum(), "i")


def norms():
    p_norm = jax.pmap(norm, axis_name="i")
    p_norm(jax_utils.replicate(params), common_utils.shard(x))


def weigh(params, x):
    return lax.psum(jax.grad(lambda p: (x @ p["w"]).mean())(params), "i")


def weighing():
    p_weigh = jax.pmap(weigh, axis_name="i")
    p_weigh(jax_utils.replicate(params), common_utils.shard(x))


@functools.partial(jax.pmap, axis_name="i")
def centred(x):
    return x - lax.pmean(x.mean(0), "i")


def centring():
    centred(common_utils.shard(x))


def moved(state, x):
    return state + x.mean(0)


def moving():
    p_moved = jax.pmap(moved, donate_argnums=0)
    state = jax_utils.replicate(np.zeros(6, "f"))
    state = p_moved(state, common_utils.shard(x))
    state = p_moved(state, common_utils.shard(x))


def noise(key):
    return jax.random.normal(key, (3,))


def keys():
    p_noise = jax.pmap(noise)
    p_noise(jax.random.split(jax.random.PRNGKey(7), N))


def placed(x):
    return x.sum(0) + lax.axis_index("i")


def places():
    p_placed = jax.pmap(placed, axis_name="i")
    p_placed(common_utils.shard(x))


SECTIONS = (
    train, counted, evaluation, gather, ring, dropout, accumulation, statistics, columns, by_class, precision, statics,
    extreme, tallies, prediction, norms, weighing, centring, moving, keys, places,
)  # fmt: skip

for section in SECTIONS:
    try:
        section()
    except Exception:  # noqa: BLE001 - the sections after a broken one are compared too
        traceback.print_exc()
