"""What takes the place of device_put_replicated and device_put_sharded: the same rows, each made on its own device."""

from __future__ import annotations

import json

import pytest

from jaxmigrate.migrate import fix_files
from tests.migrate.forms.running import Program, run

PRELUDE = """
import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding

KEY = jax.random.key(3)
TREE = {"a": np.arange(6.0, dtype=np.float32), "b": [2, 1.5, jnp.ones((2, 3), jnp.bfloat16)], "c": jnp.int32(4)}

def put(tree): return jax.device_put_replicated(tree, jax.local_devices())
def put_each(trees): return jax.device_put_sharded(trees, jax.local_devices())
"""
CASES = {
    "a tree": ("put(TREE)", "jax.tree.map(lambda x: jnp.stack([jnp.asarray(x)] * 8), TREE)"),
    "an array on another device": (
        "put(jax.device_put(jnp.arange(3), jax.devices()[5]))",
        "jnp.stack([jnp.arange(3)] * 8)",
    ),
    "a typed key": ("jax.random.key_data(put(KEY))", "jnp.stack([jax.random.key_data(KEY)] * 8)"),
    "a tree each": (
        "put_each([{'a': np.full(3, i), 'b': i} for i in range(8)])",
        "{'a': jnp.stack([jnp.full(3, i) for i in range(8)]), 'b': jnp.arange(8)}",
    ),
    "typed keys": (
        "jax.random.key_data(put_each(list(jax.random.split(KEY, 8))))",
        "jax.random.key_data(jax.random.split(KEY, 8))",
    ),
    "keys where they are split": (
        "jax.random.key_data(jax.device_put_sharded(list(jax.random.split(KEY, 8)), jax.local_devices()))",
        "jax.random.key_data(jax.random.split(KEY, 8))",
    ),
    "keys under a star": ("under_a_star(jax.random.PRNGKey(2))", "jax.random.split(jax.random.PRNGKey(2), 9)[1:]"),
    "the share of a device": ("most(lambda: put(np.ones(1 << 20, np.uint8)), 1 << 20)", "np.array(True)"),
    "rows that lie on their devices": (
        "put_each([jax.device_put(np.float32([i]), d) for i, d in enumerate(jax.devices())])",
        "np.arange(8, dtype=np.float32)[:, None]",
    ),
    "unlike numbers": ("raises(lambda: put_each([1] * 9))", "np.array(True)"),
}
HELPERS = """
def under_a_star(key):
    key, own = jax.random.split(key)
    for _ in range(2):
        key, *own = jax.random.split(jax.random.PRNGKey(2), 9)
        own = jax.device_put_sharded(own, jax.local_devices())
    assert [shard.data.shape[0] for shard in own.addressable_shards] == [1] * 8
    return own

def most(make, row):
    # the most that one device holds while rows are put, in rows: one, and the one that it is a copy of
    real, held = jax.device_put, []
    def watched(*args):
        found = real(*args)
        shares = {}
        for array in jax.live_arrays():
            for shard in array.addressable_shards:
                shares[shard.device] = shares.get(shard.device, 0) + shard.data.nbytes
        held.append(max(shares.values()))
        return found
    jax.device_put = watched
    try:
        made = make()
    finally:
        jax.device_put = real
    assert isinstance(made.sharding, NamedSharding) and len(made.devices()) == 8
    return np.array(max(held) < 2.5 * row)

def raises(make):
    try:
        make()
    except ValueError:
        return np.array(True)
    return np.array(False)
"""


@pytest.fixture(scope="module")
def found() -> dict[str, list[list[str]]]:
    programs = []
    for name, (made, meant) in CASES.items():
        after = fix_files({"main.py": f"{PRELUDE}{HELPERS}\ndef main(): return {made}\n"})
        assert "device_put_replicated" not in after["main.py"]
        programs.append(Program(name, after, None))
        programs.append(Program(f"{name}, meant", {"main.py": f"{PRELUDE}\ndef main(): return {meant}\n"}, None))
    verdicts = list(run(programs))
    assert all(v.verdict == "agrees" for v in verdicts), verdicts
    return {v.name: json.loads(v.text) for v in verdicts}


@pytest.mark.parametrize("name", CASES)
def test_rows_are_those_of_the_removed_function(name: str, found: dict[str, list[list[str]]]) -> None:
    assert [row[:4] for row in found[name]] == [row[:4] for row in found[f"{name}, meant"]]


@pytest.mark.parametrize(
    ("own", "short"),
    [
        ("key, *own = random.split(key, 9)", True),
        ("own = list(random.split(key, 8))", True),
        ("own = [key] * 8", False),
        ("own = list(random.split(key, 8))\n    if jax.process_count() > 1:\n        own = rows()", False),
        ("for own in rows():\n        pass", False),
    ],
)
def test_only_what_is_known_to_be_keys_is_stacked(own: str, *, short: bool) -> None:
    text = f"import jax\nfrom jax import random\n\n\ndef f(key, rows):\n    {own}\n"
    after = fix_files({"main.py": f"{text}    return jax.device_put_sharded(own, jax.devices())\n"})["main.py"]
    assert ("jax.numpy.stack(own)" in after) is short
    assert ("def _put_sharded(" in after) is not short


def test_keys_that_are_split_in_place_need_no_list() -> None:
    keys = "jax.random.split(jax.random.PRNGKey(0), 8)"
    text = f"import jax\n\n\ndef main():\n    return jax.device_put_sharded(list({keys}), jax.devices())\n"
    after = fix_files({"main.py": text})["main.py"]
    assert f"jax.device_put({keys}, NamedSharding(" in " ".join(after.split()).replace("( ", "(")
    meant = f"import jax\n\n\ndef main():\n    return {keys}\n"
    verdicts = run([Program(name, {"main.py": one}, None) for name, one in (("after", after), ("meant", meant))])
    one, other = (json.loads(v.text) for v in verdicts)
    assert [row[:4] for row in one] == [row[:4] for row in other]


SHARED = {
    name: f"import functools\n\nimport jax\nimport jax.numpy as jnp\nimport numpy as np\n{more}\n\n"
    f"@functools.partial(jax.pmap, axis_name='i')\ndef step(x):\n    return jax.lax.psum(x, 'i') + x\n\n\n"
    "def run():\n    rows = [np.full(3, i, np.float32) for i in range(jax.local_device_count())]\n"
    "    return step(jax.device_put_sharded(rows, jax.local_devices()))\n"
    for name, more in (("steps/one.py", "\nSCALE = 1\n"), ("steps/two.py", "from . import one\n"))
} | {"main.py": "from steps import one, two\n\n\ndef main():\n    return one.run(), two.run()\n"}


def test_files_that_share_a_module_have_the_helper_there() -> None:
    after = fix_files(SHARED)
    assert [name for name, text in after.items() if "def put_sharded(" in text] == ["steps/sharding.py"]
    assert not any("def _put_sharded(" in text or "NamedSharding" in text for text in after.values() if "step(" in text)
    assert "import get_mesh, put_sharded\n\nSCALE = 1\n" in after["steps/one.py"]
    assert "NamedSharding\nfrom jax.sharding import PartitionSpec as P\n" in after["steps/sharding.py"]
    meant = {k: v.replace("jax.device_put_sharded(rows, jax.local_devices())", MEANT) for k, v in SHARED.items()}
    assert [v.text for v in run([Program("shared", meant, after)])] == [""]


MEANT = "jnp.stack(rows)"
