"""Functions of a project with several axes: they are over the one of most maps, and only meshes are told another."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from jaxmigrate.migrate import fix_files
from tests.flags import UNOPTIMISED
from tests.migrate.forms.running import Program
from tests.migrate.forms.running import run as run_here
from tests.migrate.test_processes import RANKS, run

IN_PROCESSES = """
import sys
import jax
jax.distributed.initialize(sys.argv[1], 2, int(sys.argv[2]))
import json
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils


def train_step(w, stats, batch):
    grads = jax.grad(lambda w: ((batch["x"] @ w - batch["y"]) ** 2).mean())(w)
    return w - 0.1 * jax.lax.pmean(grads, "batch"), 0.9 * stats + 0.1 * batch["x"].mean(0)


def over_x(x):
    return jax.lax.psum(x, "x")


def eval_step(w, batch):
    return jax.lax.psum(((batch["x"] @ w - batch["y"]) ** 2).sum(), "batch"), batch["x"] @ w


p_train = jax.pmap(train_step, "batch", donate_argnums=(0, 1))
p_eval = jax.pmap(eval_step, axis_name="batch")
across = jax.pmap(lambda x: jax.lax.pmean(x, "x"), "x")
scaled = jax.pmap(lambda x, s: over_x(x * s) + x, "x", in_axes=(0, None))


def batches(n):
    x = np.sin(np.arange(n * 6, dtype=np.float32) + jax.process_index()).reshape(n * 2, 3)
    for i in range(3):
        yield common_utils.shard({"x": x + i, "y": x[..., 0] * i})


def main():
    n = jax.local_device_count()
    w = jax_utils.replicate(jnp.arange(3.0))
    stats = np.cos(np.arange(n * 3, dtype=np.float32) + jax.process_index()).reshape(n, 3)
    seen = []
    for batch in batches(n):
        w, stats = p_train(w, stats, batch)
        stats = across(stats)
        loss, each = p_eval(w, batch)
        seen += [np.asarray(stats), jax_utils.unreplicate(loss), np.asarray(each)]
    seen.append(np.asarray(scaled(common_utils.shard(np.arange(4.0 * n).reshape(4 * n) + jax.process_index()), 2.0)))
    print("RESULT", json.dumps([[np.asarray(x).tobytes().hex(), str(np.shape(x))] for x in seen]))


if __name__ == "__main__":
    main()
"""


@pytest.fixture(scope="module", autouse=True)
def ranks_end() -> Iterator[None]:
    """Ends with the tests the processes that their programs are forks of."""
    with RANKS[0], RANKS[1]:
        yield


@pytest.mark.parametrize("layout", ["auto", "stacked"])
def test_two_axes_agree_bitwise_in_two_processes(layout: str, tmp_path: Path) -> None:
    after = fix_files({"program.py": IN_PROCESSES}, layout)["program.py"]
    assert "jax.pmap" not in after
    assert 'def get_mesh(axis_name="batch"):' in after
    assert "mesh=get_mesh()," in after
    assert 'mesh=get_mesh("x"),' in after
    assert not re.findall(r'(?:shard|_rows)\([^()]*, "(?:batch|x)"\)', after)
    found = run(after, tmp_path)
    assert found == run(IN_PROCESSES, tmp_path)
    assert found[0] != found[1]


HERE = """
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils


def step(w, x):
    return w - 0.1 * jax.lax.pmean(jax.grad(lambda w: ((x @ w) ** 2).mean())(w), "{main}")


p_step = jax.pmap(step, "{main}")
p_loss = jax.pmap(lambda w, x: jax.lax.pmean(((x @ w) ** 2).mean(), "{main}"), "{main}")
total = jax.pmap(lambda x: jax.lax.psum(x.sum(), "{other}"), "{other}")


def main():
    w = jax_utils.replicate(jnp.arange(3.0))
    found = []
    for i in range(3):
        x = common_utils.shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3))
        w = p_step(w, x)
        found.append(np.asarray(jax_utils.unreplicate(p_loss(w, x))))
        y = common_utils.shard(np.cos(np.arange(16, dtype=np.float32) * i))
        found.append(np.asarray(jax_utils.unreplicate(total({given}))))
    return found, np.asarray(jax_utils.unreplicate(w))
"""


@pytest.mark.parametrize(
    ("main", "other", "given", "asks"),
    [
        ("i", "a", "y", True),  # what the other map takes is split along its own axis
        ("batch", "x", "y", True),
        ("batch", "x", "x", False),  # the same array goes to both, on one mesh
    ],
)
def test_arrays_lie_on_the_mesh_that_their_spec_says(main: str, other: str, given: str, *, asks: bool) -> None:
    before = HERE.format(main=main, other=other, given=given)
    after = fix_files({"main.py": before}, "auto")["main.py"]
    assert f'get_mesh(axis_name="{main}")' in after
    assert ("get_mesh(*spec)" in after) == asks
    (verdict,) = run_here([Program("two axes", {"main.py": before}, {"main.py": after})], flags=UNOPTIMISED)
    assert verdict.verdict == "agrees", f"{verdict.text}\n{after}"


OWN = """
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils
from jax import lax

EPS = 1e-5
across = jax.pmap(lambda x: lax.pmean(x, "x"), "x")
ranks = jax.pmap(lambda x: x * EPS + lax.axis_index("rank"), axis_name="rank")


def step(w, stats, x):
    return w - lax.pmean(jnp.mean(x, 0), "batch"), 0.9 * stats + 0.1 * x.mean(0)


p_step = jax.pmap(step, "batch")


def main():
    w = jax_utils.replicate(jnp.arange(3.0))
    stats = common_utils.shard(np.zeros((8, 3), np.float32))[:, 0]
    found = []
    for i in range(3):
        x = common_utils.shard(np.sin(np.arange(48, dtype=np.float32) + i).reshape(16, 3))
        w, stats = p_step(w, stats, x)
        stats = across(stats)
        found += [np.asarray(stats), np.asarray(ranks(stats))]
    return found, np.asarray(jax_utils.unreplicate(w))
"""


def test_an_axis_for_which_nothing_else_asks_is_that_of_the_others() -> None:
    after = fix_files({"main.py": OWN}, "auto")["main.py"]
    assert "def get_mesh():" in after
    assert 'lax.pmean(x, "batch")' in after
    assert 'lax.axis_index("batch")' in after
    assert '"x"' not in after
    assert '"rank"' not in after
    (verdict,) = run_here([Program("own axes", {"main.py": OWN}, {"main.py": after})], flags=UNOPTIMISED)
    assert verdict.verdict == "agrees", f"{verdict.text}\n{after}"


@pytest.mark.parametrize(
    ("mapped", "more"),
    [
        ("lambda x: over(x)", 'def over(x):\n    return lax.pmean(x, "x")\n'),
        ("lambda x: lax.map(over, x)", 'def over(x):\n    return lax.pmean(x, "x")\n'),
        ("lambda x: lax.pmean(x, AXIS)", 'AXIS = "x"\n'),
        ('lambda x: {"x": lax.pmean(x, "x")}["x"] + len("batch")', ""),
        ("over", 'def over(x):\n    return lax.pmean(x, "x")\n'),
        ('lambda x: lax.pmean(x, "x")', 'def outer(x):\n    return jax.vmap(across, axis_name="batch")(x)\n'),
    ],
)
def test_an_axis_that_something_else_may_ask_for_stays(mapped: str, more: str) -> None:
    said = 'jax.pmap(lambda x: lax.pmean(x, "x"), "x")'
    before = OWN.replace(f"across = {said}", f'{more}across = jax.pmap({mapped}, "x")').replace("ranks(stats)", "stats")
    before = "\n".join(line for line in before.split("\n") if not line.startswith("ranks"))
    assert 'get_mesh("x")' in fix_files({"main.py": before}, "auto")["main.py"]
