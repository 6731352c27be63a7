"""A language model of matrices alone, in bfloat16 with float32 parameters, trained by Adam."""
import functools
import time

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils
from jax import lax


def init_params(rng, config):
    width, hidden = config["width"], 4 * config["width"]
    shapes = {"qkv": (width, 3 * width), "out": (width, width), "up": (width, hidden), "down": (hidden, width)}
    params = {"embed": 0.02 * jax.random.normal(rng, (config["vocab"], width))}
    for layer in range(config["layers"]):
        keys = jax.random.split(jax.random.fold_in(rng, layer), len(shapes))
        params[f"layer_{layer}"] = {
            name: 0.02 * jax.random.normal(key, shape) for key, (name, shape) in zip(keys, shapes.items())
        }
    return params


def normalize(x):
    x = x.astype(jnp.float32)
    return ((x - x.mean(-1, keepdims=True)) * lax.rsqrt(x.var(-1, keepdims=True) + 1e-6)).astype(jnp.bfloat16)


def apply(params, tokens, rng, config):
    params = jax.tree.map(lambda p: p.astype(jnp.bfloat16), params)
    x = params["embed"][tokens]
    mask = jnp.tril(jnp.ones((tokens.shape[1], tokens.shape[1]), bool))
    for layer in range(config["layers"]):
        weights = params[f"layer_{layer}"]
        qkv = normalize(x) @ weights["qkv"]
        q, k, v = (y.reshape(*y.shape[:2], config["heads"], -1) for y in jnp.split(qkv, 3, -1))
        scores = jnp.einsum("bqhd,bkhd->bhqk", q, k).astype(jnp.float32) / np.sqrt(q.shape[-1])
        scores = jax.nn.softmax(jnp.where(mask, scores, -1e9)).astype(jnp.bfloat16)
        x = x + jnp.einsum("bhqk,bkhd->bqhd", scores, v).reshape(x.shape) @ weights["out"]
        keep = jax.random.bernoulli(jax.random.fold_in(rng, layer), 0.9, x.shape)
        x = x + jnp.where(keep, jax.nn.gelu(normalize(x) @ weights["up"]) @ weights["down"], 0) / 0.9
    return (normalize(x) @ params["embed"].T).astype(jnp.float32)


def train_step(config, state, batch, rng):
    rng, dropout = jax.random.split(rng)

    def loss_fn(params):
        logits = apply(params, batch["tokens"], dropout, config)
        picked = jnp.take_along_axis(jax.nn.log_softmax(logits), batch["targets"][..., None], -1)
        return -picked.mean()

    loss, grads = jax.value_and_grad(loss_fn)(state["params"])
    grads = lax.pmean(grads, "batch")
    mean = jax.tree.map(lambda m, g: 0.9 * m + 0.1 * g, state["mean"], grads)
    square = jax.tree.map(lambda s, g: 0.99 * s + 0.01 * g * g, state["square"], grads)
    params = jax.tree.map(lambda p, m, s: p - 1e-3 * m / (jnp.sqrt(s) + 1e-8), state["params"], mean, square)
    metrics = lax.pmean({"loss": loss}, "batch")
    return {"params": params, "mean": mean, "square": square, "step": state["step"] + 1}, metrics, rng


class Trainer:
    def __init__(self, config):
        self.config = config
        params = init_params(jax.random.key(0), config)
        zeros = jax.tree.map(jnp.zeros_like, params)
        state = {"params": params, "mean": zeros, "square": zeros, "step": jnp.zeros((), jnp.int32)}
        self.state = jax_utils.replicate(state)
        self.rngs = jax.random.split(jax.random.key(1), jax.local_device_count())
        self.p_train_step = jax.pmap(functools.partial(train_step, config), axis_name="batch", donate_argnums=(0,))
        tokens = np.random.RandomState(0).randint(0, config["vocab"], (8, config["batch"], config["length"] + 1))
        self.batches = [{"tokens": t[:, :-1], "targets": t[:, 1:]} for t in tokens]

    def run(self, steps):
        """Seconds until all steps are dispatched, and until they are done; and the last loss."""
        started = time.perf_counter()
        for step in range(steps):
            batch = common_utils.shard(self.batches[step % len(self.batches)])
            self.state, metrics, self.rngs = self.p_train_step(self.state, batch, self.rngs)
        dispatched = time.perf_counter()
        loss = float(jax_utils.unreplicate(metrics)["loss"])
        return dispatched - started, time.perf_counter() - started, loss


def main():
    config = {"width": 32, "layers": 2, "heads": 2, "vocab": 64, "batch": 16, "length": 16}
    trainer = Trainer(config)
    for _ in range(3):
        print("loss", trainer.run(4)[2])


if __name__ == "__main__":
    main()
