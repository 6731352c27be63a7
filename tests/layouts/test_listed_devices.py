"""Lists of devices that a program chooses as it runs, where a reader has to assume something of them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from jaxmigrate.cli import main
from tests.layouts.test_presumed import layouts, plan

TRAIN = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

BATCH = np.ones((24, 3), np.float32)


def step(w, x):
    grad = jax.grad(lambda w: ((x @ w - 1) ** 2).mean())(w)
    return w - 0.1 * jax.lax.pmean(grad, "i"), jax.lax.pmean((x @ w).mean(), "i")

"""
SEVERAL_CALLS = """
def train(devices):
    p_step = jax.pmap(step, axis_name="i", devices=devices)
    w = jax_utils.replicate(jnp.ones(3), devices)
    w, loss = p_step(w, BATCH.reshape(len(devices), -1, 3))
    return w[0], loss[0]


RESULT = [train(jax.devices()[:2]), train(jax.devices()[:4])]
"""
ONE_OF_SEVERAL_PROCESSES = """
def get_devices(ids):
    every = jax.devices()
    return [every[i] for i in ids]


def spread(x, num_devices=None):
    num_devices = num_devices or jax.device_count()
    return x.reshape((num_devices, -1) + x.shape[1:])


def train(trainer):
    print(jax.process_index())
    w = jax_utils.replicate(jnp.ones(3), get_devices(jnp.array(trainer.devices)))
    p_step = jax.pmap(step, axis_name="i")
    w, loss = p_step(w, spread(BATCH, trainer.num_devices))
    return w[0], loss[0]
"""
TWO_LISTS = """
def train(actors, learners):
    p_step = jax.pmap(step, axis_name="i", devices=learners)
    act = jax.pmap(lambda w: 2 * w, axis_name="i", devices=actors)
    w = jax_utils.replicate(jnp.ones(3), learners)
    w, loss = p_step(w, BATCH.reshape(len(learners), -1, 3))
    return act(w)[0], loss[0]
"""
GLOBAL = (["replicated", "split"], ["replicated", "replicated"])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SEVERAL_CALLS, "arrays on the devices in `devices` are passed to maps over the same ones alone"),
        (ONE_OF_SEVERAL_PROCESSES, "the program runs as one process"),
    ],
)
def test_what_is_assumed_of_a_list_is_told(text: str, said: str) -> None:
    files = {"main.py": TRAIN + text}
    assert layouts(plan(files, "auto"))[0] == ["stacked", "stacked"]
    made = plan(files)
    assert layouts(made) == GLOBAL
    assert said in [one.says for one in made.sites[0].assumed]
    assert "mesh = Mesh(" in made.files[0].after


def test_arrays_of_two_lists_stay_stacked() -> None:
    """pmap itself raises here: its devices are those of the other map."""
    made = plan({"main.py": TRAIN + TWO_LISTS})
    assert layouts(made)[1] == ["stacked", "replicated"]
    assert layouts(made, 1) == (["stacked"], ["stacked"])


def test_a_list_of_all_devices_is_no_choice() -> None:
    """Such a program keeps the mesh that it would have without the list."""
    files = {"main.py": TRAIN + SEVERAL_CALLS.replace("[:2]", "").replace("[:4]", "")}
    made = plan(files, "auto")
    assert layouts(made) == GLOBAL
    assert "def get_mesh():" in made.files[0].after


BESIDE = """
devices = jax.devices()[:4]
train = jax.pmap(step, axis_name="i", devices=devices)
w = jax_utils.replicate(jnp.ones(3), devices)
w, loss = train(w, BATCH.reshape((len(devices), -1, 3)))


def evaluate(batches):
    mean = jax.pmap(lambda x: jax.lax.psum(x.mean(0), "i"), axis_name="i")
    return [mean(batch)[0] for batch in batches]


RESULT = evaluate(BATCH.reshape((jax.device_count(), -1, 3)) + i for i in range(2))
"""


def test_a_map_beside_those_that_are_given_devices_is_presumed_to_be_over_none_of_these() -> None:
    found = plan({"main.py": TRAIN + BESIDE})
    assert [one.layout for one in found.sites[1].arguments] == ["stacked"]


TUPLES = """
def get_devices(count):
    {get}


def main(count):
    {given}
    p_step = jax.pmap(step, axis_name="i", devices=devices)
    w = jax_utils.replicate(jnp.ones(3), devices)
    w, loss = p_step(w, BATCH.reshape(n, -1, 3))
    return w[0], loss[0]


RESULT = main(4)
"""
PAIR = "devices = jax.devices()[:count]; return devices, len(devices)"


@pytest.mark.parametrize(
    ("get", "given", "layout"),
    [
        (PAIR, "devices, n = get_devices(count)", "auto"),
        (PAIR, "found = get_devices(count); devices = found[0]; n = found[1]", "auto"),
        (
            "return [], (jax.devices()[:count], count)",
            "kept, (devices, n) = get_devices(count); kept.append(1)",
            "auto",
        ),
        ("return (jax.devices(), jax.device_count()) if False else (1, 2)", "devices, n = get_devices(count)", ""),
        (
            f"if not count: return jax.devices(), jax.device_count()\n    {PAIR}",
            "devices, n = get_devices(count)",
            "likely",
        ),
        (f"if not count: return 1, jax.devices()\n    {PAIR}", "devices, n = get_devices(count)", ""),
        (PAIR.replace("return", "yield"), "devices, n = get_devices(count)", ""),
        (PAIR, "pair = get_devices(count); pair[0].pop(); devices, n = pair", ""),
        (PAIR.replace("return", "devices.pop(); return"), "devices, n = get_devices(count)", ""),
    ],
)
def test_a_list_in_a_tuple_is_that_of_its_function_where_nothing_changes_it(get: str, given: str, layout: str) -> None:
    files = {"main.py": TRAIN + TUPLES.format(get=get, given=given)}
    assert (layouts(plan(files, "auto")) == GLOBAL) == (layout == "auto")
    if layout == "likely":
        assert layouts(plan(files)) == GLOBAL


KEPT = """
import functools


@functools.cache
def get_devices():
    return {returned}


def cut():
    get_devices(){part}.pop()


def main():
    {devices} = get_devices()
    p_step = jax.pmap(step, axis_name="i", devices=devices)
    w = jax_utils.replicate(jnp.ones(3), devices)
    cut()
    w, loss = p_step(w, BATCH.reshape(len(devices), -1, 3))
    return w[0], loss[0]


RESULT = main()
"""


@pytest.mark.parametrize(
    ("returned", "devices", "part", "is_global"),
    [
        ("jax.devices()[:4]", "devices", "", False),
        ("jax.devices()[:4], [1]", "devices, _", "[0]", False),
        ("tuple(jax.devices()[:4])", "devices", "[0].client", True),
    ],
)
def test_a_list_that_a_cache_keeps_may_be_changed_by_whoever_asks_for_it(
    returned: str, devices: str, part: str, *, is_global: bool
) -> None:
    made = plan({"main.py": TRAIN + KEPT.format(returned=returned, devices=devices, part=part)}, "auto")
    assert (layouts(made) == GLOBAL) == is_global


OWN = """
def main(backend):
    devices = jax.local_devices(backend=backend)
    print(jax.process_index())
    {more}
    p_step = jax.pmap(step, axis_name="i", devices=devices)
    w = jax_utils.replicate(jnp.ones(3), devices)
    w, loss = p_step(w, BATCH.reshape(len(devices), -1, 3))
    return w[0], loss[0]


RESULT = main("cpu")
"""


@pytest.mark.parametrize(
    ("more", "is_global"),
    [
        ("", True),
        ("from jax.experimental import multihost_utils", False),
        ("every = jax.pmap(lambda x: jax.lax.psum(x, 'i'), 'i')(BATCH.reshape(len(devices), -1, 3))", False),
        ("devices = jax.devices(backend)", False),
        ("odd = lambda *args: jax.pmap(lambda x, y: x * y, 'i', devices=devices)(*args)", False),  # stays stacked
    ],
)
def test_each_of_several_processes_maps_over_its_own_devices(more: str, *, is_global: bool) -> None:
    """Its mesh has these alone, then, so that nothing depends on the others."""
    made = plan({"main.py": TRAIN + OWN.format(more=more)}, "auto")
    assert (layouts(made, len(made.sites) - 1) == GLOBAL) == is_global
    assert not [one.says for site in made.sites for one in site.assumed]


@pytest.mark.long
def test_two_processes_that_map_over_their_own_devices_run_as_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    before = (TRAIN + OWN.format(more="")).replace(
        "np.ones((24, 3), np.float32)", "np.ones((24, 3), np.float32) + PLACE"
    )
    before = before.replace("BATCH =", "PLACE = jax.process_index()\nBATCH =", 1) + "\nprint(RESULT)\n"
    after = plan({"main.py": before}, "auto").files[0].after
    assert "Mesh(devices" in after
    for name, text in (("before", before), ("after", after)):
        (tmp_path / name).mkdir()
        (tmp_path / name / "main.py").write_text(text)
    report = tmp_path / "report.json"
    monkeypatch.chdir(tmp_path / "after")
    asked = ["--original", "../before", "--devices", "4", "--processes", "2", "--report", str(report)]
    assert main(["verify", ".", *asked, "--", sys.executable, "main.py"]) == 0
    assert json.loads(report.read_text())["verification"]["verdict"] == "bitwise equal"
