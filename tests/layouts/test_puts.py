"""Programs that put slices on devices by functions that JAX no longer has: what fix makes of them runs, and agrees."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.plan import Plan
from jaxmigrate.migrate.project import plan_sources
from tests.layouts.running import Program, run

TEXT = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w["w"] - 1) ** 2))(w)
    return jax.tree.map(lambda w, g: w - 0.125 * jax.lax.pmean(g, "batch"), w, grad), x.sum()


p_step = jax.pmap(step, axis_name="batch")


def main():
    n, devices = jax.local_device_count(), jax.local_devices()
    w = {"w": jnp.arange(3.0)}
    w = COPIES
    for _ in range(3):
        x = BATCH
        w, sums = p_step(w, SLICES)
    return jax_utils.unreplicate(w)["w"], sums


RESULT = [np.asarray(x) for x in main()]
"""
STACKED = ("jax.tree.map(lambda x: jnp.stack([x] * n), w)", "x.reshape(n, -1, 3)")


def planned(copies: str, slices: str) -> Plan:
    """What fix makes of the program."""
    text = TEXT.replace("COPIES", copies).replace("SLICES", slices)
    found, errors = plan_sources([("main.py", Path("/project/main.py"), text)], PlanOptions("auto"))
    assert not errors
    return found


@pytest.mark.parametrize(
    "copies", ["jax.device_put_sharded([w] * n, devices)", "jax.device_put_replicated(w, devices)"]
)
@pytest.mark.parametrize(
    "slices",
    [
        "jax.device_put_sharded(list(x.reshape(n, -1, 3)), devices)",
        "jax.device_put_sharded(np.split(x, n), devices)",
    ],
)
def test_what_was_put_is_global(copies: str, slices: str) -> None:
    found = planned(copies, slices)
    assert [a.layout for a in found.sites[0].arguments] == ["replicated", "split"]
    after = {file.path: file.after for file in found.files}
    assert "device_put_" not in after["main.py"]
    assert "put_sharded" not in after["main.py"]
    before = TEXT.replace("COPIES", STACKED[0]).replace("SLICES", STACKED[1])
    out = run([Program("before", {"main.py": before}), Program("after", after)])
    assert not out["after"]["error"]
    assert out["after"]["result"] == out["before"]["result"]


@pytest.mark.parametrize(
    "slices",
    [
        "jax.device_put_sharded(list(x.reshape(n, -1, 3))[::-1], devices)",
        "jax.device_put_sharded(list(x.reshape(n, -1, 3)), devices[::-1])",
        "jax.device_put_sharded([x[i::n] for i in range(n)], devices)",
        "jax.device_put_sharded(np.split(x, [2, 4, 6, 8, 10, 12, 14]), devices)",
        "jax.device_put_sharded(list(x.reshape(-1, n, 3).swapaxes(0, 1)), devices)",
        "jax.device_put_sharded(sorted(x.reshape(n, -1, 3), key=lambda row: -row.sum()), devices)",
        "jax.device_put_sharded(list({'a': x, 'b': x}), devices)",
    ],
)
def test_other_slices_stay_stacked(slices: str) -> None:
    copies, batch = (a.layout for a in planned(STACKED[0], slices).sites[0].arguments)
    other_devices = slices.endswith("devices[::-1])")  # where arrays lie on such, the map moves all that it is given
    assert (copies, batch) == ("stacked" if other_devices else "replicated", "stacked")


UNSEEN = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

BATCH = np.arange(48, dtype=np.float32).reshape(16, 3) / 7


class Keys:
    def __init__(self, seed):
        self.key = jax.random.PRNGKey(seed)

    def __call__(self, count):
        keys = jax.random.split(self.key, count + 1)
        self.key = keys[0]
        return tuple(keys[1:])


def start(seed):
    global keys
    keys = Keys(seed)


def noted(count):
    return [{"key": key, "step": i} for i, key in enumerate(keys(count))]


def step(w, key, own, x):
    new, drop = jax.random.split(key)
    noise = jax.random.uniform(drop, w.shape) + jax.random.uniform(own["key"], w.shape) * own["step"]
    grad = jax.grad(lambda w: jnp.mean((x @ (w * noise) - 1) ** 2))(w)
    return w - 0.125 * jax.lax.pmean(grad, "batch"), new, {"key": own["key"], "step": own["step"] + 1}


def main():
    start(3)
    devices = jax.local_devices()
    w = jax_utils.replicate(jnp.ones(3), devices)
    rngs = jax.device_put_sharded(keys(len(devices)), devices)
    own = jax.device_put_sharded(noted(len(devices)), devices)
    p_step = jax.pmap(step, "batch")
    for _ in range(3):
        w, rngs, own = p_step(w, rngs, own, shard(BATCH))
    return [jax_utils.unreplicate(w), jax.tree.map(lambda x: x.dtype, own)["step"]], RETURNED


RESULT = [str(main())]
"""


@pytest.mark.parametrize("returned", ["0", "rngs", "rngs[0]", "np.asarray(rngs).sum(0)"])
def test_slices_from_out_of_sight_are_one_for_each_device(returned: str) -> None:
    text = UNSEEN.replace("RETURNED", returned)
    found, errors = plan_sources([("main.py", Path("/project/main.py"), text)], PlanOptions("auto"))
    assert not errors
    after, [site] = found.files[0].after, found.sites
    assert [one.layout for one in site.arguments] == ["replicated", "stacked", "stacked", "split"]
    assert ("put_sharded" in after) is (returned != "0")
    there = text.replace("jax.device_put_sharded", "stacked").replace(
        "class Keys",
        "def stacked(slices, _):\n    return jax.tree.map(lambda *x: jnp.stack(x), *slices)\n\n\nclass Keys",
    )
    told = run([Program("before", {"main.py": there}), Program("after", {"main.py": after})])
    assert not told["after"]["error"]
    assert told["before"]["result"] == told["after"]["result"]


OF_ONE = """\
import jax
import jax.numpy as jnp
import numpy as np


def copies(value):
    devices = jax.local_devices()

    def each(x):
        x = jnp.array(x)
        return PUT

    return jax.tree.map(each, value)


def step(state):
    own = state["a"] * 2 + jax.lax.axis_index("batch")
    return {"a": own, "b": state["b"] + own}, jax.lax.psum(state["b"].sum(), "batch")


def main():
    state = copies({"a": np.arange(3) + jax.process_index(), "b": np.ones(3, np.float32)})
    p_step = jax.pmap(step, "batch")
    for _ in range(3):
        state, total = p_step(state)
    return float(total[0])


RESULT = [main()]
"""


@pytest.mark.parametrize(
    ("put", "written"),
    [
        ("jax.device_put_sharded(len(devices) * [x], devices)", "shard(jnp.stack(len(devices) * [x]), "),
        ("jax.device_put_sharded([x] * len(devices), devices)", "shard(jnp.stack([x] * len(devices)), "),
        ("jax.device_put_replicated(x, devices)", "shard(jnp.broadcast_to(x, (len(devices), *x.shape)), "),
    ],
)
def test_rows_of_one_array_that_stay_stacked_are_put_once(put: str, written: str) -> None:
    text = OF_ONE.replace("PUT", put)
    found, errors = plan_sources([("main.py", Path("/project/main.py"), text)], PlanOptions("auto"))
    assert not errors
    after, [site] = found.files[0].after, found.sites
    assert [one.layout for one in site.arguments] == ["stacked"]
    assert "def _put_" not in after
    assert written in after
    there = text.replace(put, "jnp.stack(len(devices) * [x])")
    told = run([Program("before", {"main.py": there}), Program("after", {"main.py": after})])
    assert not told["after"]["error"]
    assert told["before"]["result"] == told["after"]["result"]
