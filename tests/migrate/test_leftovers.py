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
