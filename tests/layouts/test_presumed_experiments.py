"""Experiments that hand functions to a library under one attribute, and evaluate in loops: what likely presumes."""

from __future__ import annotations

from tests.layouts.running import Program, run
from tests.layouts.test_presumed import layouts, plan

LIBRARY = """\
import jax
import numpy as np


def distributed(function):
    mapped = jax.pmap(function, axis_name="batch")
    return lambda params: np.asarray(mapped(params))[:, 0].sum(0)
"""
MAIN = """\
import functools
from abc import ABC, abstractmethod

import jax
import jax.numpy as jnp
import library
import numpy as np
import optax
from flax import jax_utils
from flax.training import train_state
from flax.training.common_utils import shard

X = np.sin(np.arange(96, dtype=np.float32)).reshape(32, 3)


class Experiment(ABC):
    def __init__(self, rate, evaluations):
        self.rate = rate
        self.evaluations = evaluations
        params = {"w": jnp.ones(3)}
        self.state = train_state.TrainState.create(apply_fn=None, params=params, tx=optax.sgd(self.get_schedule()))
        self.schedule = self.get_schedule()
        self.p_train_step = functools.partial(self.train_step, 2.0)
        self.p_train_step = jax.pmap(self.p_train_step, "batch")
        self.p_eval_step = jax.pmap(self.eval_step, "batch")
        self.p_sample = functools.partial(self.sample, 3.0)
        self.p_sample = library.distributed(self.p_sample)

    def get_schedule(self):
        return optax.linear_schedule(self.rate, 0.0, 10)

    @abstractmethod
    def loss(self, params, batch): ...

    def sample(self, scale, params):
        return params["w"][None] * scale + jax.lax.axis_index("batch")

    def train_step(self, scale, state, batch):
        (loss, outputs), grads = jax.value_and_grad(self.loss, has_aux=True)(state.params, batch)
        grads = jax.tree.map(lambda g: g * scale, jax.lax.pmean(grads, "batch"))
        metrics = {"loss": jax.lax.pmean(loss, "batch"), "rate": self.schedule(state.step)}
        return state.apply_gradients(grads=grads), metrics, outputs

    def eval_step(self, params, batch):
        return {"loss": jax.lax.pmean(self.loss(params, batch)[0], "batch")}

    def train(self, steps):
        state, told = jax_utils.replicate(self.state), []
        for step in range(steps):
            state, metrics, _ = self.p_train_step(state, shard(X + step))
            metrics = jax_utils.unreplicate(metrics)
            told.append({name: float(value) for name, value in metrics.items()})
            for i in range(self.evaluations):
                metrics = self.p_eval_step(state.params, shard(X - i))
            metrics = jax_utils.unreplicate(metrics)
            told.append({name: float(value) for name, value in metrics.items()})
        told.append(self.p_sample(state.params).tolist())
        return told


class Linear(Experiment):
    def loss(self, params, batch):
        outputs = batch @ params["w"]
        return jnp.mean((outputs - 1) ** 2), outputs


RESULT = Linear(0.1, 2).train(2)
"""
LOOP = "the loop over `range(self.evaluations)` runs at least once"


def test_an_experiment_has_global_arrays_and_its_library_stacked_ones() -> None:
    found = plan({"main.py": MAIN})
    assert layouts(found) == (["replicated", "split"], ["replicated", "replicated", "stacked"])
    assert layouts(found, 1) == (["replicated", "split"], ["replicated"])
    told = {one.says for site in found.sites for one in site.assumed}
    assert {LOOP, "`library.distributed` does not read `self.p_sample`"} <= told
    assert "`library.distributed()` only reads its argument" in told
    rewritten = {file.path: file.after for file in found.files}
    programs = [Program("experiment", {"main.py": MAIN, "library.py": LIBRARY})]
    programs.append(Program("rewritten experiment", {**rewritten, "library.py": LIBRARY}))
    out = run(programs)
    before, after = out["experiment"], out["rewritten experiment"]
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


STUB = """\
import jax
import jax.numpy as jnp
import library
import numpy as np
from flax.jax_utils import replicate, unreplicate
from flax.training.common_utils import shard


class Base:
    def __init__(self):
        self.p_step = jax.pmap(self.step, axis_name="i")

    def loss(self, params, batch):
        raise NotImplementedError

    def step(self, params, batch):
        loss, images = self.loss(params, batch)
        return params, {"loss": jax.lax.pmean(loss, "i"), "images": library.grid(images)}

    def train(self):
        params, metrics = self.p_step(replicate(jnp.ones(3)), shard(np.ones((16, 3), np.float32)))
        return unreplicate(metrics)


class Images(Base):
    def loss(self, params, batch):
        return jnp.mean(batch @ params), batch


RESULT = Images().train()
"""


def test_what_a_method_left_to_others_gives_is_what_theirs_give() -> None:
    assert layouts(plan({"main.py": STUB}))[1] == ["replicated", "stacked", "replicated"]
    equal = STUB.replace("@ params), batch", "@ params), params")
    assert layouts(plan({"main.py": equal}))[1] == ["replicated", "replicated"]
