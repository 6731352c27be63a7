"""Several processes whose maps are all given `jax.local_devices()`: each maps over its own devices, and no further."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxmigrate.migrate import plan_sources
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.plan import Plan
from tests.migrate.test_processes import RANKS, run

PROGRAM = """
import sys
import jax
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
import json
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import get_metrics, shard
from jax import lax
from jax.experimental import multihost_utils

devices = jax.local_devices()


def step(params, key, batch, scale):
    key = jax.random.fold_in(key, lax.axis_index("i"))
    grads = jax.grad(lambda p: ((batch @ (p - jax.random.normal(key, p.shape))) ** 2).mean())(params)
    return params - scale * lax.pmean(grads, "i"), lax.psum(grads.sum(), "i"), batch * grads


p_step = jax.pmap(step, axis_name="i", devices=GIVEN, in_axes=(0, 0, 0, None))
p_eval = jax.pmap(lambda p, x: lax.psum((x @ p).sum(), "i"), axis_name="i", devices=EVALUATED)


def main():
    rank, n = jax.process_index(), len(devices)
    params = jax_utils.replicate(jnp.ones(3) + rank, devices)
    keys = jax.random.split(jax.random.PRNGKey(rank), n)
    seen = []
    for i in range(3):
        x = np.sin(np.arange(n * 6, dtype=np.float32) + i + rank).reshape(n * 2, 3)
        params, total, scaled = p_step(params, keys, shard(x), 0.1 * (rank + 1))
        seen += [total[0], get_metrics([total]), scaled.reshape((-1,) + scaled.shape[2:]), scaled.shape]
        if rank == 0:
            seen.append(p_eval(params, shard(x))[0])
    LOOK
    seen += [jax_utils.unreplicate(params), jax.jit(lambda p: p * 2)(jax_utils.unreplicate(params))]
    print("RESULT", json.dumps([np.asarray(x).tolist() for x in jax.tree.leaves(seen)]))


main()
"""


@pytest.fixture(scope="module", autouse=True)
def ranks_end() -> Iterator[None]:
    """Ends with the tests the processes that their programs are forks of."""
    with RANKS[0], RANKS[1]:
        yield


def program(given: str = "devices", evaluated: str = "devices", look: str = "pass") -> str:
    return PROGRAM.replace("GIVEN", given).replace("EVALUATED", evaluated).replace("LOOK", look)


def planned(text: str, folder: Path) -> Plan:
    plan, errors = plan_sources([("program.py", folder / "program.py", text)], PlanOptions("auto"))
    assert not errors
    return plan


@pytest.mark.parametrize(
    ("given", "look"),
    [
        ("devices", "pass"),
        ("jax.local_devices()", "seen.append(multihost_utils.process_allgather(jax_utils.unreplicate(params)))"),
        ("list(devices)", "seen.append(multihost_utils.process_allgather(p_eval(params, shard(x))))"),
    ],
)
def test_each_process_keeps_its_own_arrays(given: str, look: str, tmp_path: Path) -> None:
    before = program(given, look=look)
    plan = planned(before, tmp_path)
    assert [one.layout for one in plan.sites[0].arguments] == ["replicated", "stacked", "split", "broadcast"]
    assert [one.layout for one in plan.sites[1].arguments] == ["replicated", "split"]
    (file,) = plan.files
    assert "jax.devices()" not in file.after
    assert "host_local" not in file.after
    found = run(file.after, tmp_path)
    assert found == run(before, tmp_path)
    assert found[0] != found[1]


@pytest.mark.parametrize(
    ("given", "evaluated"),
    [
        ("devices", "jax.devices()"),  # which reduces over all processes
        ("devices", "None"),
        pytest.param("devices if jax.process_index() else None", "devices", marks=pytest.mark.long),
    ],
)
def test_beside_maps_over_other_devices_its_arrays_stay_stacked(given: str, evaluated: str, tmp_path: Path) -> None:
    before = program(given, evaluated).replace("if rank == 0:", "if rank >= 0:")
    plan = planned(before, tmp_path)
    assert {one.layout for one in (*plan.sites[0].arguments, *plan.sites[0].outputs)} == {"stacked", "broadcast"}
    if "process_index" not in given:  # such processes wait for each other, or do not
        assert run(plan.files[0].after, tmp_path) == run(before, tmp_path)


@pytest.mark.parametrize("change", ["devices.reverse()", "devices.pop()", "del devices[0]", "devices[:] = devices[:2]"])
def test_a_list_that_changes_is_not_that_of_the_process(change: str, tmp_path: Path) -> None:
    text = program().replace("devices = jax.local_devices()\n", f"devices = jax.local_devices()\n{change}\n")
    for site in planned(text, tmp_path).sites:
        assert {one.layout for one in (*site.arguments, *site.outputs)} <= {"stacked", "broadcast"}
