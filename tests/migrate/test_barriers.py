"""A barrier, which sums a number of each device over all of them, keeps its array: no helper lays it out."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxmigrate.migrate import fix_files
from tests.flags import UNOPTIMISED
from tests.migrate.forms.running import Program
from tests.migrate.forms.running import run as run_here
from tests.migrate.test_processes import RANKS, run

BARRIER = """
import functools
import jax
import jax.numpy as jnp
import numpy as np


def total(x):
    return jax.lax.psum(x, "i")


def waited(x):
    return jax.pmap(lambda x: jax.lax.psum(x, "i"), "i")(x)


def main():
    found = []
    n = jax.local_device_count()
    {barrier}
    return found
"""

SUM = "jax.pmap(lambda x: jax.lax.psum(x, 'i'), 'i')"
KEPT = {
    "a name": f"x = jnp.ones([n])\n    x = jax.device_get({SUM}(x))\n    found.append(x)",
    "in one": f"found.append(np.asarray({SUM}(jnp.ones(jax.local_device_count()))))",
    "waits": f"{SUM}(jnp.zeros((n,))).block_until_ready()",
    "a function": "x = jnp.ones(n)\n    found.append(jax.device_get(jax.pmap(total, axis_name='i')(x)))",
    "pmean": (
        "x = jnp.full((n,), 0.1)\n    f = jax.pmap(lambda y: jax.lax.pmean(y, axis_name='i'), 'i')\n"
        "    found.append(jax.device_get(f(x)))"
    ),
    "a partial": (
        "x = jnp.ones(n, jnp.int32)\n    f = jax.pmap(functools.partial(jax.lax.pmax, axis_name='i'), axis_name='i')\n"
        "    found.append(np.asarray(f(x)))"
    ),
}
OTHERS = {
    "rows of more": f"x = jnp.ones((n, 2))\n    found.append(jax.device_get({SUM}(x)))",
    "a sum of rows": (
        "x = jnp.ones((n,))\n    f = jax.pmap(lambda x: jax.lax.psum(x.sum(), 'i'), 'i')\n"
        "    found.append(jax.device_get(f(x)))"
    ),
    "other numbers": f"x = jnp.arange(n)\n    found.append(jax.device_get({SUM}(x)))",
    "in groups": (
        "x = jnp.ones((n,))\n    g = [[0, 1], [2, 3], [4, 5], [6, 7]]\n"
        "    f = jax.pmap(lambda x: jax.lax.psum(x, 'i', axis_index_groups=g), 'i')\n"
        "    found.append(jax.device_get(f(x)))"
    ),
    "written": f"x = jnp.ones((n,)).at[2].set(5.0)\n    found.append(jax.device_get({SUM}(x)))",
    "added to": f"x = jnp.ones((n,))\n    x += jnp.arange(n)\n    found.append(jax.device_get({SUM}(x)))",
    "twice": (
        f"f = {SUM}\n    x = f(jnp.ones(n))\n"
        "    found.append(jax.device_get(x))\n    found.append(jax.device_get(f(x)))"
    ),
    "to another": (
        f"x = {SUM}(jnp.ones(n))\n    y = jax.pmap(lambda x: x + jax.lax.axis_index('i'), 'i')(x)\n"
        "    found.append(jax.device_get(y))"
    ),
    "first": f"x = {SUM}(jnp.ones(n))\n    found.append(np.asarray(x[0]))",
    "its sum": f"x = {SUM}(jnp.ones(n))\n    found.append(np.asarray(x.sum()))",
    "a parameter's": "found += [np.asarray(waited(jnp.ones(n))), np.asarray(waited(jnp.arange(n)))]",
}


@pytest.fixture(scope="module", autouse=True)
def ranks_end() -> Iterator[None]:
    """Ends with the tests the processes that their programs are forks of."""
    with RANKS[0], RANKS[1]:
        yield


@pytest.mark.parametrize("name", KEPT)
def test_a_barrier_draws_no_helper(name: str) -> None:
    before = BARRIER.format(barrier=KEPT[name])
    after = fix_files({"main.py": before}, "auto")["main.py"]
    assert "in_specs=P()" in after
    assert "out_specs=P()" in after
    assert not any(word in after for word in ("pmap(", "expand_dims", "shard(", "local_rows(", "[None]"))


def test_barriers_and_what_looks_like_one_agree_bitwise() -> None:
    befores = {name: BARRIER.format(barrier=text) for name, text in (KEPT | OTHERS).items()}
    afters = {name: fix_files({"main.py": before}, "auto") for name, before in befores.items()}
    programs = [Program(name, {"main.py": befores[name]}, afters[name]) for name in befores]
    wrong = [
        f"{v.name}: {v.verdict} {v.text}\n{afters[v.name]['main.py']}" for v in run_here(programs, flags=UNOPTIMISED)
    ]
    wrong = [one for one in wrong if ": agrees" not in one]
    assert not wrong, "\n".join(wrong)


IN_PROCESSES = """
import sys
import jax
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
import json
import jax.numpy as jnp
import numpy as np


def main():
    n = jax.local_device_count()
    x = jnp.ones([n])
    x = jax.device_get(jax.pmap(lambda x: jax.lax.psum(x, "i"), "i")(x))
    seen = [x, np.asarray(jax.pmap(lambda x: jax.lax.pmean(x, "i"), "i")(jnp.full((n,), 0.1)))]
    jax.pmap(lambda x: jax.lax.psum(x, "i"), "i")(jnp.ones(n)).block_until_ready()
    y = jax.pmap(lambda x: jax.lax.psum(x, "i"), "i")(jnp.ones(n))
    if jax.process_index() == 0:
        seen.append(np.asarray(y[0]))
    print("RESULT", json.dumps([[np.asarray(x).tobytes().hex(), str(np.shape(x))] for x in seen]))


if __name__ == "__main__":
    main()
"""


def test_barriers_agree_bitwise_in_two_processes(tmp_path: Path) -> None:
    after = fix_files({"program.py": IN_PROCESSES}, "auto")["program.py"]
    assert "jax.pmap" not in after
    assert "expand_dims" not in after
    assert "local_rows" not in after
    assert run(after, tmp_path) == run(IN_PROCESSES, tmp_path)
