"""Numbers of devices that come from out of sight: by their names likely takes them for that of all devices."""

from __future__ import annotations

import pytest

from tests.layouts.test_presumed import both, layouts, plan

MAIN = """\
import types
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
import source

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
args = source.parse()


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grad, "i")


def cut(tree, parts):
    return jax.tree.map(lambda x: x.reshape(parts, x.shape[0] // parts, *x.shape[1:]), tree)


{count}
p_step = jax.pmap(step, axis_name="i")
w = jnp.stack([jnp.ones(3)] * num_devices)
for _ in range(2):
    w = p_step(w, cut(X, num_devices))
RESULT = np.asarray(jax_utils.unreplicate(w)).tolist()
"""
SOURCE = """\
import types
globals()["parse"] = lambda: types.SimpleNamespace(num_devices=8, parts=8)
"""


def files(count: str) -> dict[str, str]:
    """The program with this count of devices."""
    return {"main.py": MAIN.format(count=count), "source.py": SOURCE}


def assumed(count: str) -> list[str]:
    """What the rewrite leans on that is about a number of devices."""
    told = [one.says for site in plan(files(count)).sites for one in site.assumed]
    return [one for one in told if "number of all devices" in one]


def test_an_option_that_counts_devices_by_its_name_is_likely_and_said() -> None:
    count = "num_devices = args.num_devices"
    assert layouts(plan(files(count), "auto"))[0] == ["stacked"] * 2
    found = plan(files(count))
    assert layouts(found) == (["replicated", "split"], ["replicated"])
    assert assumed(count) == ["`num_devices` is the number of all devices", "`parts` is the number of all devices"]
    before, after = both("option", files(count), found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize(
    "count",
    [
        "num_devices = args.parts",
        "num_devices = args.num_devices // 2",
        "num_devices = 4",
        "num_devices = jax.device_count() // 2",
        "args.num_devices = 4\nnum_devices = args.num_devices",
        "num_devices = min(args.num_devices, 4)",
        "num_devices = min(jax.device_count(), args.batch)",
        "num_devices = min(jax.device_count() // 2, args.max_devices)",
        "num_devices = min(jax.device_count(), args.max_devices)\nnum_devices //= 2",
        "num_devices = min([jax.device_count(), args.max_devices], key=abs)",
        "num_devices = max(jax.device_count(), args.max_devices)",
        "num_devices = args.max_devices",
        "num_devices = args.num_devices or 4",
        "num_devices = 4 if args.num_devices is None else args.num_devices",
        "args.max_devices = 4\nnum_devices = min(jax.device_count(), args.max_devices)",
        "max_devices = 4\nnum_devices = min(jax.device_count(), max_devices)",
        "def count(max_devices=None):\n    return min(jax.device_count(), max_devices)\nnum_devices = count(4)",
    ],
)
def test_what_the_program_computes_is_read_and_not_guessed(count: str) -> None:
    assert assumed(count) == []


@pytest.mark.parametrize(
    "count",
    [
        "num_devices = min(jax.device_count(), args.max_devices)",
        "num_devices = min(args.num_gpus, jax.local_device_count())",
        "num_devices = args.num_devices or jax.device_count()",
        "num_devices = jax.device_count() if args.num_devices is None else args.num_devices",
        "num_devices = args.num_devices\nif num_devices is None:\n    num_devices = jax.device_count()",
        "num_devices = jax.device_count()\nif args.max_devices:\n    num_devices = min(num_devices, args.max_devices)",
    ],
)
def test_a_limit_of_the_devices_is_likely_none(count: str) -> None:
    assert "`num_devices` is the number of all devices" in assumed(count)


LIMITED = """\
import jax
import jax.numpy as jnp
import numpy as np
{imported}

AXIS = "i"


def train(steps, max_devices_per_host=None):
    n = jax.local_device_count()
    if max_devices_per_host:
        n = min(n, max_devices_per_host)
    count = jnp.float32(n)

    def step(w, x):
        grad = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
        return w - 0.1 * jax.lax.psum(grad, AXIS)

    p_step = jax.pmap(step, axis_name=AXIS)
    w = jnp.stack([jnp.ones(3)] * n)
    for i in range(steps):
        x = np.sin(np.arange(48, dtype=np.float32) + i)
        w = p_step(w, x.reshape((n, -1) + (3,)))
    return w[0] / count


RESULT = [np.asarray(one).tolist() for one in ({calls},)]
"""


def limited(calls: str, imported: str = "") -> dict[str, str]:
    """A program whose training takes a limit of the devices, called in these ways."""
    return {"main.py": LIMITED.format(calls=calls, imported=imported), "source.py": "LIMIT = 4\n"}


def test_a_limit_that_no_call_gives_is_none() -> None:
    found = plan(limited("train(2)"), "auto")
    assert layouts(found) == (["replicated", "split"], ["replicated"])
    before, after = both("no_limit", limited("train(2)"), found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize(
    ("calls", "imported"),
    [
        ("train(2), train(2, 4)", ""),
        ("train(2), train(2, max_devices_per_host=4)", ""),
        ("train(2, source.LIMIT)", "import source"),
    ],
)
def test_a_limit_that_some_call_gives_counts(calls: str, imported: str) -> None:
    found = plan(limited(calls, imported))
    before, after = both("limit", limited(calls, imported), found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize(
    ("above", "layout"),
    [
        ("parser.add_argument('--max-devices', type=int, default=4)", "stacked"),
        ("flags.DEFINE_integer('max_devices', 4, 'how many')", "stacked"),
        ("class Config:\n    max_devices: int = 4", "stacked"),
        ("config = dict(max_devices=4)", "stacked"),
        ("parser.add_argument('--max-devices', type=int, default=None)", "replicated"),
        ("parser.add_argument('--max-devices', type=int, default=0)", "replicated"),
        ("class Config:\n    max_devices: int = -1", "replicated"),
    ],
)
def test_a_limit_with_a_number_of_its_own_leaves_fewer(above: str, layout: str) -> None:
    count = f"parser = flags = source\n{above}\nnum_devices = min(jax.device_count(), args.max_devices)"
    assert layouts(plan(files(count)))[0][0] == layout
