# mypy: ignore-errors
"""by_hand_before.py as different people would have migrated it: shard_map in its forms, plain jit, and a helper."""

import functools
import traceback

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax, shard_map
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

N = jax.device_count()
mesh = Mesh(jax.devices(), ("i",))
rng = np.random.RandomState(0)
params = {"w": rng.randn(6, 4).astype("f"), "b": rng.randn(4).astype("f")}
x, y = rng.randn(4 * N, 6).astype("f"), rng.randn(4 * N, 4).astype("f")
spread = functools.partial(jax.device_put, device=NamedSharding(mesh, P("i")))


def mapped(fun, in_specs, out_specs, **options):
    return jax.jit(shard_map(fun, mesh=mesh, in_specs=in_specs, out_specs=out_specs, check_vma=False), **options)


def loss_fn(params, x, y):
    return ((x @ params["w"] + params["b"] - y) ** 2).mean()


def descend(params, grads, rate=0.1):
    return jax.tree.map(lambda p, g: p - rate * g, params, grads)


def train_step(state, batch, key):
    key, next_key = jax.random.split(key.squeeze(0))
    noise = jax.random.normal(key, batch["x"].shape)
    loss, grads = jax.value_and_grad(loss_fn)(state["params"], batch["x"] + noise, batch["y"])
    grads = lax.pmean(grads, "batch")
    state = {"params": descend(state["params"], grads), "step": state["step"] + 1}
    return state, lax.pmean(loss, "batch"), next_key[None]


def train():
    batches = Mesh(jax.devices(), ("batch",))
    step = jax.jit(
        jax.shard_map(
            train_step,
            mesh=batches,
            in_specs=(P(), P("batch"), P("batch")),
            out_specs=(P(), P(), P("batch")),
            check_vma=False,
        ),
        donate_argnums=(0,),
    )
    state = jax.device_put({"params": params, "step": 0}, NamedSharding(batches, P()))
    keys = jax.random.split(jax.random.PRNGKey(0), N)
    for _ in range(3):
        state, loss, keys = step(state, {"x": x, "y": y}, keys)
    print("train", loss)


def counted_step(params, x, y):
    grads = jax.grad(lambda p: ((x @ p["w"] + p["b"] - y) ** 2).sum())(params)
    count = lax.psum(x.shape[0], "i")
    return descend(params, jax.tree.map(lambda g: lax.psum(g, "i") / count, grads))


def counted():
    mapped(counted_step, (P(), P("i"), P("i")), P())(params, x, y)


def evaluate(params, x, y):
    logits = x @ params["w"]
    correct = lax.psum((logits.argmax(-1) == y.argmax(-1)).sum(), "i")
    return logits, {"correct": correct, "rows": x.shape[0]}


def evaluation():
    run = mapped(evaluate, (P(), P("i"), P("i")), (P("i"), P()))
    for _ in range(2):
        run(params, spread(x), spread(y))


def gathered(x):
    return lax.all_gather(x.mean(0), "i")


def gather():
    mapped(gathered, P("i"), P())(x)


def passed_on(x):
    return lax.ppermute(x, "i", [(number, (number + 1) % N) for number in range(N)])


def ring():
    mapped(passed_on, P("i"), P("i"))(x)


def dropped(x, key):
    return x * jax.random.bernoulli(jax.random.fold_in(key, lax.axis_index("i")), 0.5, x.shape)


def dropout():
    mapped(dropped, (P("i"), P()), P("i"))(x, jax.random.PRNGKey(3))


def accumulate(params, x, y):
    def one(total, part):
        return jax.tree.map(jnp.add, total, jax.grad(loss_fn)(params, *part)), None

    zeros = jax.tree.map(jnp.zeros_like, params)
    total, _ = lax.scan(one, zeros, (x.reshape(2, -1, 6), y.reshape(2, -1, 4)))
    return lax.pmean(jax.tree.map(lambda g: g / 2, total), "i")


def accumulation():
    mapped(accumulate, (P(), P("i"), P("i")), P())(params, x, y)


def observe(stats, x):
    stats = jax.tree.map(lambda leaf: leaf[0], stats)
    stats = {"mean": 0.9 * stats["mean"] + 0.1 * x.mean(0), "count": stats["count"] + 1}
    return jax.tree.map(lambda leaf: leaf[None], stats)


def statistics():
    run = mapped(observe, P("i"), P("i"))
    stats = {"mean": np.zeros((N, 6), "f"), "count": np.zeros(N, int)}
    for _ in range(2):
        stats = run(stats, spread(x))


def scaled(x, scale):
    return (x * scale).sum(1)[None]


def columns():
    def squeezed(x, scale):
        return scaled(x.squeeze(1), scale)

    mapped(squeezed, (P(None, "i"), P()), P("i"))(x.reshape(4, N, 6), 0.5)


class Trainer:
    def __init__(self):
        self.p_update = mapped(self.update, (P(), P("i"), P("i"), P()), P())

    def update(self, params, x, y, step):
        grads = lax.pmean(jax.grad(loss_fn)(params, x, y), "i")
        return descend(params, grads, 0.1 / (1 + step))


def by_class():
    trainer = Trainer()
    held = params
    for step in range(3):
        held = trainer.p_update(held, x, y, step)


@jax.jit
def halved(params, x):
    return jnp.dot(x.astype(jnp.bfloat16), params["w"].astype(jnp.bfloat16))


def precision():
    halved(params, spread(x))


@functools.partial(jax.jit, static_argnames="power")
def powered(x, power):
    return x**power


def statics():
    powered(spread(x), power=3)


def extremes(x):
    return lax.pmax(x.max(), "i"), lax.pmin(x.min(), "i")


def extreme():
    mapped(extremes, P("i"), P())(x)


def tally(count, x):
    return count + lax.psum((x > 0).sum(dtype=jnp.int32), "i")


def tallies():
    mapped(tally, (P(), P("i")), P())(jnp.int32(3), x)


def predict(params, x):
    return jax.nn.relu(x @ params["w"])


def prediction():
    run = jax.jit(predict, out_shardings=NamedSharding(mesh, P("i")))
    for start in range(0, 4, 2):
        run(params, spread(x.reshape(N, 4, 6)[:, start : start + 2].reshape(-1, 6)))


def norm(params, x):
    return sum(jnp.sum(p) for p in jax.tree.leaves(params)) + lax.psum(x.sum(), "i")


def norms():
    mapped(norm, (P(), P("i")), P())(params, x)


def weigh(params, x):
    return lax.psum(jax.grad(lambda p: (x @ p["w"]).mean())(params), "i")


def weighing():
    jax.jit(shard_map(weigh, mesh=mesh, in_specs=(P(), P("i")), out_specs=P(), check_vma=False))(params, x)


@jax.jit
@functools.partial(shard_map, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
def centred(x):
    return x - lax.pmean(x.mean(0), "i")


def centring():
    centred(x)


def moved(state, x):
    return state + x.mean(0)


def moving():
    run = mapped(lambda state, x: moved(state.squeeze(0), x)[None], (P("i"), P("i")), P("i"), donate_argnums=0)
    state = spread(np.zeros((N, 6), "f"))
    state = run(state, spread(x))
    state = run(state, spread(x))


def noise(key):
    return jax.random.normal(key.squeeze(0), (3,))[None]


def keys():
    run = mapped(noise, P("i"), P("i"))
    run(jax.random.split(jax.random.PRNGKey(7), N))


def placed(x):
    return (x.sum(0) + lax.axis_index(("row", "column")))[None]


def places():
    grid = Mesh(np.array(jax.devices()).reshape(2, -1), ("row", "column"))
    block = P(("row", "column"))
    run = jax.jit(shard_map(placed, mesh=grid, in_specs=P(("row", "column")), out_specs=block, check_vma=False))
    run(x)


SECTIONS = (
    train, counted, evaluation, gather, ring, dropout, accumulation, statistics, columns, by_class, precision, statics,
    extreme, tallies, prediction, norms, weighing, centring, moving, keys, places,
)  # fmt: skip

for section in SECTIONS:
    try:
        section()
    except Exception:  # noqa: BLE001 - the sections after a broken one are compared too
        traceback.print_exc()
