"""What the host only reads of the first device's slice needs no array of it: each runs, in 2 processes too."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.migrate.forms.running import Program, run, run_in_processes

PROGRAM = """
import pickle
import sys
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

def step(params, batch):
    grads = jax.lax.pmean(params * batch.mean(0), "batch")
    return params - grads, {"loss": grads.sum(), "each": grads}

p_step = jax.pmap(step, axis_name="batch")

def read(metrics):
    return metrics

def show(step, metrics):
    print(step, metrics["loss"], sep=": ", file=sys.stderr)
    return told(f"{step}: {metrics['each']}", one=metrics)

def told(text, one):
    return text, np.asarray(one["loss"]), float(one["each"][0])

def doubled(metrics):
    print(metrics["loss"], file=sys.stderr)
    return float(metrics["loss"] * 2)

def set_again(metrics):
    print(metrics["loss"], file=sys.stderr)
    metrics = {name: one * 2 for name, one in metrics.items()}
    return float(metrics["loss"])

def in_turn(metrics, seen=[]):
    seen.append(metrics)
    yield float(metrics["loss"])

class Log:
    def __init__(self, metrics):
        self.held = metrics

@jax.jit
def compiled(metrics):
    return metrics["loss"] * 2

def main():
    params = jax_utils.replicate(jnp.ones(3) + 0 * jax.process_index())
    batch = shard(np.arange(24 * jax.local_device_count(), dtype=np.float32).reshape(-1, 3))
    logs = []
    for _ in range(3):
        params, metrics = p_step(params, batch)
LOOK
    return logs, jax_utils.unreplicate(params)
"""
OF_ONE = "lambda x: x.addressable_data(0)"
READ = {
    "named": "metrics = jax_utils.unreplicate(metrics)\nlogs.append(float(metrics['loss']))",
    "named anew": "one = jax_utils.unreplicate(metrics)\n"
    "logs.append((f\"{one['loss']:.7f}\", np.asarray(one['each'])))",
    "named in a branch": "if len(logs) != 1:\n    one = jax_utils.unreplicate(metrics)\n"
    "    logs.append(one['loss'].item())",
    "taken apart": "logs.append(float(jax_utils.unreplicate(metrics)['loss']))",
    "mapped": "logs.append(jax.tree.map(lambda x: np.asarray(x), jax_utils.unreplicate(metrics)))",
    "pickled": "logs.append(pickle.loads(pickle.dumps(jax_utils.unreplicate(metrics))))",
    "pickled with others": "one = {'metrics': jax_utils.unreplicate(metrics), 'step': 3}\n"
    "logs.append(pickle.loads(pickle.dumps(one)))",
    "printed": "print(jax_utils.unreplicate(metrics), jax_utils.unreplicate(metrics)['loss'], file=sys.stderr)",
    "a text": "one = jax_utils.unreplicate(metrics)\nlogs.append(str(one['loss']) + repr(one['each']))",
    "read by functions": "logs.append(show(1, jax_utils.unreplicate(metrics)))",
    "what no round has bound anew": "for _ in range(2):\n    for _ in range(1):\n"
    "        _, one = p_step(params, batch)\n    one = jax_utils.unreplicate(one)\n    logs.append(float(one['loss']))",
    "mapped by a function": "logs.append(jax.tree.map(np.asarray, jax_utils.unreplicate(metrics)))",
}
KEPT = {
    "kept": "logs.append(jax_utils.unreplicate(metrics))",
    "named and kept": "one = jax_utils.unreplicate(metrics)\nlogs.append(float(one['loss']))\nlogs.append(one)",
    "computed with": "one = jax_utils.unreplicate(metrics)\nlogs.append(float(one['loss'] * 2))",
    "given away": "one = jax_utils.unreplicate(metrics)\nlogs.append(float(read(one)['loss']))",
    "seen in the next round": "if logs:\n    logs.append(one['loss'] * 2)\n"
    "one = jax_utils.unreplicate(metrics)\nlogs.append(float(one['loss']))",
    "seen in the next round, where another is bound above": "one = {'loss': jnp.zeros(())}\nfor _ in range(2):\n"
    "    logs.append(one['loss'] * 2)\n    one = jax_utils.unreplicate(metrics)\nlogs.append(float(one['loss']))",
    "pickled and kept": "one = [jax_utils.unreplicate(metrics)]\npickle.dumps(one)\nlogs.append(one)",
    "seen in a function": "one = jax_utils.unreplicate(metrics)\nlogs.append((lambda: one['loss'] * 2)())",
}
KEPT_BY_OTHERS = {  # which ran once, and run no more
    "computed with in a function": "logs.append(doubled(jax_utils.unreplicate(metrics)))",
    "bound anew in a function": "logs.append(set_again(jax_utils.unreplicate(metrics)))",
    "kept by a generator": "logs.extend(in_turn(jax_utils.unreplicate(metrics)))",
    "kept by an object": "logs.append(Log(jax_utils.unreplicate(metrics)).held['loss'] * 2)",
    "computed with by what is compiled": "logs.append(compiled(jax_utils.unreplicate(metrics)))",
    "printed and kept": "one = jax_utils.unreplicate(metrics)\nprint(one, file=sys.stderr)\nlogs.append(one)",
}
FUSED = {
    "a method": ("x.mean()", "x.addressable_data(0).mean()"),
    "a function": ("jnp.exp(x)", "jnp.exp(x.addressable_data(0))"),
}
NOT_FUSED = ("x + x", "[x for _ in range(2)]", "1.0")


def files_of(look: str) -> tuple[dict[str, str], dict[str, str]]:
    before = {"main.py": PROGRAM.replace("LOOK", "\n".join(f"        {line}" for line in look.split("\n")))}
    return before, fix_files(before, "auto")


def fused(body: str) -> str:
    return f"logs.append(jax.tree.map(lambda x: {body}, jax_utils.unreplicate(metrics)))"


PROGRAMS = {
    **READ,
    **KEPT,
    **{name: fused(body) for name, (body, _) in FUSED.items()},
    **{body: fused(body) for body in NOT_FUSED},
}


@pytest.mark.parametrize("name", READ)
def test_what_is_only_read_is_the_array_itself(name: str) -> None:
    text = files_of(READ[name])[1]["main.py"]
    assert text.count("addressable_data") == 1  # of the parameters that are returned
    assert "metrics = metrics" not in text


@pytest.mark.parametrize("name", KEPT | KEPT_BY_OTHERS)
def test_what_else_becomes_of_it_is_done_on_one_device(name: str) -> None:
    assert files_of((KEPT | KEPT_BY_OTHERS)[name])[1]["main.py"].count("addressable_data") == 2


@pytest.mark.parametrize("name", FUSED)
def test_what_is_done_to_each_leaf_takes_it_from_one_device_itself(name: str) -> None:
    body, written = FUSED[name]
    assert f"jax.tree.map(lambda x: {written}, metrics)" in files_of(fused(body))[1]["main.py"]


@pytest.mark.parametrize("body", NOT_FUSED)
def test_leaves_that_are_used_otherwise_are_taken_first(body: str) -> None:
    text = "".join(files_of(fused(body))[1]["main.py"].split())
    inner = f"lambda x: {body}, jax.tree.map({OF_ONE}, metrics)"
    assert inner.replace(" ", "") in text


def test_all_give_the_same_numbers_on_one_process_and_on_two() -> None:
    programs = [Program(name, *files_of(look)) for name, look in PROGRAMS.items()]
    found = [*run(programs), *run_in_processes(programs)]
    assert {(v.name, v.verdict, v.text) for v in found} == {(name, "agrees", "") for name in PROGRAMS}
