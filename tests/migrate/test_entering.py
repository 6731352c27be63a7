"""What several processes give a map and take from it is laid out at its calls, where all of these are in sight."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxmigrate.migrate import fix_files
from tests.flags import UNOPTIMISED
from tests.migrate.forms.running import Program
from tests.migrate.forms.running import run as run_here
from tests.migrate.test_processes import RANKS, run

PROGRAM = """
import sys
import jax
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
import importlib
import json
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def train_step(w, batch):
    grads = jax.grad(lambda w: ((batch["x"] @ w - batch["y"]) ** 2).mean())(w)
    return w - 0.1 * jax.lax.pmean(grads, "i")


def eval_step(w, batch):
    error = (batch["x"] @ w - batch["y"]) ** 2
    return jax.lax.pmean(error.mean(), "i"), error, jax.lax.axis_index("i")


def encode(w, batch):
    return jnp.tanh(batch["x"] @ w)


def count(w, batch):
    return jax.lax.psum(jnp.sum(batch["x"] @ w > 0), "i")


p_train = jax.pmap(train_step, "i", donate_argnums=0)
p_eval = jax.pmap(eval_step, "i")
p_encode = jax.pmap(encode, "i")
p_count = jax.pmap(count, "i")


def batches():
    n, rank = jax.local_device_count(), jax.process_index()
    x = np.sin(np.arange(n * 6, dtype=np.float32) + rank).reshape(n, 2, 3)
    rows = getattr(importlib.import_module("numpy"), "copy")
    for i in range(3):
        yield {"x": rows(x + i), "y": rows(x[..., 0] * i)}


def main():
    w = jax_utils.replicate(jnp.arange(3.0))
    seen = []
    for batch in batches():
        w = p_train(w, batch)
        loss, errors, places = p_eval(w, batch)
        seen += [np.asarray(errors), np.asarray(places), np.asarray(p_encode(w, batch)), jax_utils.unreplicate(loss)]
    pad = jax_utils.pad_shard_unpad
    odd = {"x": np.ones((7, 3), np.float32) * jax.process_index(), "y": np.zeros(7, np.float32)}
    seen.append(pad(p_encode)(w, odd))
    seen.append(pad(p_count, static_return=True)(w, odd)[0])
    seen.append(jax_utils.unreplicate(w))
    print("RESULT", json.dumps([[np.asarray(x).tobytes().hex(), str(np.shape(x))] for x in seen]))


if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="module", autouse=True)
def ranks_end() -> Iterator[None]:
    """Ends with the tests the processes that their programs are forks of."""
    with RANKS[0], RANKS[1]:
        yield


def test_what_calls_give_and_take_agrees_bitwise_in_two_processes(tmp_path: Path) -> None:
    after = fix_files({"program.py": PROGRAM}, "auto")["program.py"]
    assert "host_local(" not in after
    assert 'w = p_train(w, shard(batch, P("i")))' in after
    assert "errors, places = local_rows((errors, places))" in after
    assert "lambda w, batch: " in after
    found = run(after, tmp_path)
    assert found == run(PROGRAM, tmp_path)
    assert found[0] != found[1]


SMALL = """
import jax
import jax.numpy as jnp
import numpy as np
import library
from flax import jax_utils


def step(w, batch, scale):
    loss = jax.lax.pmean((batch @ w).mean() * scale, "i")
    return w - loss, {out}


p_step = jax.pmap(step, "i", in_axes=(0, 0, None))
rank = jax.process_index()


def train(w, {given}batches):
    w = jax_utils.replicate(w)
    {use}
    return jax_utils.unreplicate(w)


train(jnp.ones(3), {passed}library.batches(rank))
"""


@pytest.mark.parametrize(
    ("use", "out", "is_entering"),
    [
        ("for batch in batches:\n        w, loss = p_step(w, batch, 1.0)", "loss", True),
        ("for batch in batches:\n        w, loss = p_step(w, batch['x'], 1.0)", "loss", True),
        ("for _ in range(3):\n        w, loss = p_step(w, next(batches), 1.0)", "loss", True),
        ("for batch in batches:\n        w, loss = p_step(w, batch.x, 1.0)", "loss", True),
        ("for x in batches:\n        w, each = p_step(w, x, 1.0)\n        print(np.asarray(each))", "batch", True),
        ("batch = library.one(batches)\n    w, loss = p_step(w, batch, 1.0)", "loss", True),
        ("for batch in batches:\n        out = p_step(w, batch, 1.0)\n        print(out)", "batch", True),
        ("for batch in batches:\n        w, loss = p_step(w, *library.two(batch))", "loss", False),
    ],
)
def test_what_is_made_for_a_call_is_laid_out_there(use: str, out: str, *, is_entering: bool) -> None:
    program = SMALL.format(use=use, out=out, given="", passed="")
    text = fix_files({"main.py": program}, "auto")["main.py"]
    assert "jax.pmap" not in text
    assert ("host_local(" not in text) is is_entering
    shown = ("shard(batch, ", "shard(batch.x, ", "shard(next(batches), ", "shard(x, ", "shard(batch['x'], ")
    assert any(one in text for one in shown) is is_entering


@pytest.mark.parametrize(
    ("use", "out", "shown"),
    [
        ("for _ in range(3):\n        w, loss = p_step(w, batches.whole, 1.0)", "loss", "batches.whole"),
        ("for _ in range(3):\n        w, loss = p_step(w, rank.x, 1.0)", "loss", "rank.x"),
        ("held = library.one(batches)\n    for _ in range(3):\n        w, loss = p_step(w, held, 1.0)", "loss", "held"),
        ("z = library.one(batches)\n    for _ in range(3):\n        w, z = p_step(w, z, 1.0)", "batch", "z"),
    ],
)
def test_what_stays_for_many_calls_is_not_copied_by_each(use: str, out: str, shown: str) -> None:
    program = SMALL.format(use=use, out=out, given="", passed="")
    text = " ".join(fix_files({"main.py": program}, "auto")["main.py"].split())
    assert "host_local(" not in text
    assert f"global_rows({shown})" in text


STATES = """
import sys
import jax
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
import importlib
import json
import jax.numpy as jnp
import numpy as np

unseen = importlib.import_module("numpy")


def train_step(state, batch):
    loss, grads = jax.value_and_grad(lambda w: ((batch["x"] @ w - batch["y"]) ** 2).mean())(state["w"])
    count = state["count"] + jax.lax.axis_index("i")
    new = {"w": state["w"] - 0.1 * jax.lax.pmean(grads, "i"), "count": count, "noise": state["noise"] * 2 + loss}
    return new, {"loss": jax.lax.pmean(loss, "i"), "own": loss}


def eval_step(state, batch):
    error = (batch["x"] @ state["w"] - batch["y"]) ** 2
    return error + state["noise"]


def draw(w):
    return jax.lax.all_gather(w, "i"), w * jax.lax.axis_index("i")


class Trainer:
    def __init__(self, state):
        self.state = state
        self.step = jax.pmap(train_step, "i", donate_argnums=0)
        self.evaluate = jax.pmap(eval_step, axis_name="i")

    @staticmethod
    def changed(metrics):
        metrics["mean"] = getattr(unseen, "mean")(metrics["own"])
        return metrics

    def run(self, batches):
        seen = []
        for batch in batches:
            self.state, metrics = self.step(self.state, batch)
            metrics = self.changed(metrics)
            self.state["count"] = getattr(unseen, "array")(self.state["count"]) + 1
            seen += [getattr(unseen, "array")(one) for one in (metrics["loss"], metrics["mean"], self.state["noise"])]
            seen.append(getattr(unseen, "asarray")(self.evaluate(self.state, batch)))
        return seen


def main():
    n, rank = jax.local_device_count(), jax.process_index()
    rows = getattr(unseen, "copy")
    x = np.sin(np.arange(n * 6, dtype=np.float32) + rank).reshape(n, 2, 3)
    state = {"w": rows(np.ones((n, 3), np.float32)), "count": rows(np.arange(n)), "noise": rows(x[:, 0, 0])}
    trainer = Trainer(state)
    seen = trainer.run([{"x": rows(x + i), "y": rows(x[..., 0] * i)} for i in range(3)])
    gathered, own = jax.pmap(draw, "i")(trainer.state["w"])
    seen += [getattr(unseen, "asarray")(one) for one in (gathered, own)]
    print("RESULT", json.dumps([[np.asarray(x).tobytes().hex(), str(np.shape(x))] for x in seen]))


if __name__ == "__main__":
    main()
"""


def test_a_state_that_goes_round_agrees_bitwise_in_two_processes(tmp_path: Path) -> None:
    after = fix_files({"program.py": STATES}, "auto")["program.py"]
    assert "jax.pmap" not in after
    assert "host_local(" not in after
    assert "self.step(global_rows(self.state), global_rows(batch))" in after
    found = run(after, tmp_path)
    assert found == run(STATES, tmp_path)
    assert found[0] != found[1]


WEAK = """
import importlib
import jax
import jax.numpy as jnp
import numpy as np

unseen = importlib.import_module("numpy")
rank = jax.process_index()


def step(state, scale):
    noise = state["noise"] * scale + jax.lax.axis_index("i")
    return {"noise": noise, "sum": jax.lax.psum(noise, "i")}, scale * 2


p_step = jax.pmap(step, "i", donate_argnums=0)


def main():
    state = {"noise": jnp.arange(8, dtype=jnp.bfloat16) + rank, "sum": jnp.zeros(8, jnp.bfloat16)}
    held = jnp.broadcast_to(jnp.asarray(1.001), (8,))
    for _ in range(3):
        state, scale = p_step(state, held)
        state["noise"] = jnp.asarray(getattr(unseen, "array")(state["noise"]))
    return state, scale, str([(x.dtype, x.weak_type) for x in (state["noise"], state["sum"], scale)])
"""


def test_weak_dtypes_of_what_stays_are_kept_by_one_process() -> None:
    after = fix_files({"main.py": WEAK}, "auto")["main.py"]
    assert "p_step(global_rows(state), global_rows(held))" in after
    (found,) = run_here([Program("weak", {"main.py": WEAK}, {"main.py": after})], flags=UNOPTIMISED)
    assert found.verdict == "agrees", found.text


SEVERAL = """
import sys
import jax
import jax.numpy as jnp
import numpy as np
import library
from flax import jax_utils

many = "many" in sys.argv
rank = jax.process_index()


def one(w, batch):
    return (batch @ w).mean()


def mapped(w, batch):
    return jax.lax.pmean((batch @ w).mean(), "i")


def evaluate(step, w, batches):
    for batch in batches:
        print(np.asarray(step(w, batch)))


p_mapped = jax.pmap(mapped, "i")
w = jax_utils.replicate(jnp.ones(3))
"""


@pytest.mark.parametrize(
    "use",
    [
        "evaluate(p_mapped if many else jax.jit(one), w, library.batches(rank))",
        "evaluate(p_mapped, w, library.batches(rank))\nevaluate(jax.jit(one), jnp.ones(3), library.batches(rank))",
        "evaluate(p_mapped, w, library.batches(rank))\nevaluate(library.step, w, library.batches(rank))",
        "step = p_mapped if many else one\nfor batch in library.batches(rank):\n    step(w, batch)",
    ],
)
def test_calls_that_may_be_of_another_function_give_what_they_gave(use: str) -> None:
    text = fix_files({"main.py": f"{SEVERAL}{use}\n"}, "auto")["main.py"]
    assert "jax.shard_map" in text
    assert "shard(batch" not in text
