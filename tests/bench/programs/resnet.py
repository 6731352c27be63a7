"""A residual network in float32, its batch statistics over all devices, trained by momentum; a library is shown the state, which it only reads."""
import time

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils
import telemetry
from jax import lax


def init_params(rng, config):
    width = config["width"]
    params = {"stem": jax.random.normal(rng, (3, 3, 3, width)) / 5}
    stats = {}
    for block in range(config["layers"]):
        for half in "ab":
            key = jax.random.fold_in(rng, 2 * block + (half == "a"))
            kernel = jax.random.normal(key, (3, 3, width, width)) / np.sqrt(9 * width)
            params[f"{block}{half}"] = {"kernel": kernel, "scale": jnp.ones(width), "bias": jnp.zeros(width)}
            stats[f"{block}{half}"] = {"mean": jnp.zeros(width), "square": jnp.ones(width)}
    params["head"] = jnp.zeros((width, config["classes"]))
    return params, stats


def convolve(x, kernel):
    return lax.conv_general_dilated(x, kernel, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))


def apply(params, stats, images, config):
    x = convolve(images, params["stem"])
    new_stats = {}
    for block in range(config["layers"]):
        y = x
        for half in "ab":
            name = f"{block}{half}"
            y = convolve(jax.nn.relu(y), params[name]["kernel"])
            mean, square = lax.pmean((y.mean((0, 1, 2)), (y * y).mean((0, 1, 2))), "batch")
            y = (y - mean) * lax.rsqrt(square - mean**2 + 1e-5) * params[name]["scale"] + params[name]["bias"]
            new_stats[name] = {
                "mean": 0.9 * stats[name]["mean"] + 0.1 * mean,
                "square": 0.9 * stats[name]["square"] + 0.1 * square,
            }
        x = x + y
    return x.mean((1, 2)) @ params["head"], new_stats


class Trainer:
    def __init__(self, config):
        self.config = config
        params, stats = init_params(jax.random.key(0), config)
        state = {"params": params, "momentum": jax.tree.map(jnp.zeros_like, params), "stats": stats}
        self.state = jax_utils.replicate(state)
        self.p_train_step = jax.pmap(self.train_step, axis_name="batch", donate_argnums=(0,))
        random, size = np.random.RandomState(0), (8, config["batch"])
        images = random.randn(*size, config["length"], config["length"], 3).astype("f")
        labels = random.randint(0, config["classes"], size)
        self.batches = [{"image": x, "label": y} for x, y in zip(images, labels)]
        telemetry.log(self.state["momentum"])

    def train_step(self, state, batch):
        def loss_fn(params):
            logits, stats = apply(params, state["stats"], batch["image"], self.config)
            loss = -jnp.take_along_axis(jax.nn.log_softmax(logits), batch["label"][:, None], -1).mean()
            return loss, stats

        (loss, stats), grads = jax.value_and_grad(loss_fn, has_aux=True)(state["params"])
        grads = lax.pmean(grads, "batch")
        momentum = jax.tree.map(lambda m, g: 0.9 * m + g, state["momentum"], grads)
        params = jax.tree.map(lambda p, m: p - 0.01 * m, state["params"], momentum)
        return {"params": params, "momentum": momentum, "stats": stats}, lax.pmean({"loss": loss}, "batch")

    def run(self, steps):
        """Seconds until all steps are dispatched, and until they are done; and the last loss."""
        started = time.perf_counter()
        for step in range(steps):
            batch = common_utils.shard(self.batches[step % len(self.batches)])
            self.state, metrics = self.p_train_step(self.state, batch)
        dispatched = time.perf_counter()
        loss = float(jax_utils.unreplicate(metrics)["loss"])
        return dispatched - started, time.perf_counter() - started, loss


def main():
    config = {"width": 16, "layers": 2, "classes": 10, "batch": 16, "length": 8}
    trainer = Trainer(config)
    for _ in range(3):
        print("loss", trainer.run(4)[2])


if __name__ == "__main__":
    main()
