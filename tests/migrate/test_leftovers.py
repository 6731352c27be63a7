"""Variables that only the old form read go with it; what a program may still ask for stays."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files

PROGRAM = """import jax
import jax.numpy as jnp
from jax import sharding as shardings


def main(x):
    n = jax.device_count()
    axis = "batch"
    spread = shardings.NamedSharding(shardings.Mesh(jax.devices(), "batch"), shardings.PartitionSpec("batch"))
    unread = "spare"
    params = jax.tree.map(lambda x: jax.device_put(jnp.broadcast_to(x, (n, *x.shape)), spread), x)
    step = jax.pmap(lambda p: p * 2, axis_name=axis)
    MORE
    return jax.tree.map(lambda x: x[0], step(params))


print(main(jnp.ones(3)))
"""


def assigned(more: str) -> set[str]:
    """The variables that the program still sets."""
    after = fix_files({"main.py": PROGRAM.replace("    MORE\n", more)}, layout="auto")["main.py"]
    assert "jax.pmap" not in after
    return {name for name in ("n", "axis", "spread", "unread") if f"    {name} = " in after}


def test_what_nothing_reads_any_more_goes() -> None:
    assert assigned("") == {"unread"}


@pytest.mark.parametrize(
    ("more", "stays"),
    [
        ("    print(axis)\n", "axis"),
        ("    def show():\n        print(spread)\n    show()\n", "spread"),
        ("    axis = axis + str(x)\n", "axis"),
        ("    print(locals())\n", "axis"),
    ],
)
def test_what_is_read_stays(more: str, stays: str) -> None:
    assert stays in assigned(more)


def test_what_does_something_stays() -> None:
    made = PROGRAM.replace("    MORE\n", "").replace('axis = "batch"', "axis = choose()")
    assert (
        "axis = choose()" in fix_files({"main.py": f"def choose():\n    return 'batch'\n\n{made}"}, "auto")["main.py"]
    )


HELPER = """import jax
import jax.numpy as jnp


def copies(tree, devices):
    return jax.tree.map(lambda x: jnp.broadcast_to(x, (len(devices),) + x.shape), tree)


def main():
    step = jax.pmap(lambda p: p * 2, axis_name="i")
    params = step(copies(jnp.ones(3), DEVICES))
    return jax.tree.map(lambda x: x[0], params)


GUARD    print(main())
"""
GUARDED = HELPER.replace("GUARD", 'if __name__ == "__main__":\n').replace("DEVICES", "jax.devices()")


def test_a_helper_that_a_script_no_longer_calls_goes() -> None:
    assert "def copies" not in fix_files({"main.py": GUARDED}, "auto")["main.py"]


@pytest.mark.parametrize(
    "files",
    [
        {
            "main.py": GUARDED,
            "other.py": "import jax\nfrom main import copies\n\nprint(copies(jax.numpy.ones(3), jax.devices()))\n",
        },
        {"main.py": HELPER.replace("GUARD    ", "").replace("DEVICES", "jax.devices()")},
        {"main.py": GUARDED.replace("def main", "NAMES = ['copies']\n\n\ndef main")},
        {"main.py": GUARDED.replace("    print(main())", "    print(globals())")},
    ],
)
def test_a_helper_that_others_may_call_stays(files: dict[str, str]) -> None:
    after = fix_files(files, "auto")["main.py"]
    assert "shard(jnp.ones(3), P())" in after
    assert "def copies" in after


@pytest.mark.parametrize("devices", ["jax.devices()[:4]", "jax.devices()[::-1]", "chosen()"])
def test_a_helper_that_is_given_other_devices_is_called_as_before(devices: str) -> None:
    made = HELPER.replace("GUARD    ", "").replace("DEVICES", devices)
    after = fix_files({"main.py": f"{made}\n\ndef chosen():\n    return open_devices()\n"}, "auto")["main.py"]
    assert f"copies(jnp.ones(3), {devices})" in after


def test_a_helper_that_counts_its_calls_is_called() -> None:
    counted = GUARDED.replace(
        "    return jax.tree.map(lambda x: jnp.b", "    n = next(calls)\n    return jax.tree.map(lambda x: jnp.b"
    )
    counted = counted.replace("def copies", "calls = iter(range(9))\n\n\ndef copies")
    assert "copies(jnp.ones(3), jax.devices())" in fix_files({"main.py": counted}, "auto")["main.py"]
