"""What likely takes for granted of NumPy's batches: their numbers stay, and nothing writes into them meanwhile."""

from __future__ import annotations

import pytest

from tests.layouts.test_presumed import both, layouts, plan

MAIN = """\
import functools

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(w, batch):
    out = batch @ w
    return w - 0.1 * jax.lax.pmean(out.mean() * w, "d"), out


def shard(x):
    n, *rest = x.shape
    return np.reshape(x, (jax.local_device_count(), n // jax.local_device_count(), *rest))


def unshard(x):
    n, rows, *rest = x.shape
    return jnp.reshape(x, (n * rows, *rest))


p_step = jax.pmap(step, axis_name="d")
w = jax_utils.replicate(jnp.ones(3))
data = np.arange(96, dtype=np.float32).reshape(2, 16, 3) / 7
seen = []
for rows in data:
    batch = shard(rows.copy())
    w, out = p_step(w, batch)
    seen.append(np.asarray(unshard(out)).tolist())
    seen.append(np.asarray(unshard(batch)).tolist())
RESULT = [seen, np.asarray(w[0]).tolist()]
"""
WRITTEN = (
    MAIN.replace("    seen.append(np.asarray(unshard(batch)).tolist())\n", "")
    .replace(
        "    batch = shard(rows.copy())\n", "    buffer[:] = rows\n    batch = shard(buffer)\n    print(len(seen))\n"
    )
    .replace("seen = []", "seen = []\nbuffer = np.zeros((16, 3), np.float32)")
)


@pytest.mark.parametrize(
    ("main", "said"),
    [
        (MAIN, "JAX keeps the numbers of `x` as they are: none needs more than 32 bits"),
        (WRITTEN, "before the maps have it"),
    ],
    ids=["reshaped", "written"],
)
def test_a_batch_of_numpys_is_split(main: str, said: str) -> None:
    found = plan({"main.py": main})
    assert layouts(found) == (["replicated", "split"], ["replicated", "split"])
    assert any(said in one.says for one in found.sites[0].assumed)
    assert layouts(plan({"main.py": main}, "auto"))[0] == ["replicated", "stacked"]


@pytest.mark.parametrize("main", [MAIN, WRITTEN], ids=["reshaped", "written"])
def test_its_numbers_are_the_same(main: str) -> None:
    before, after = both("numpy", {"main.py": main}, plan({"main.py": main}))
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


EMPTIED = WRITTEN.replace("    print(len(seen))\n", "    buffer[:] = 0\n")
HELPERS = {
    "sizes": """\
    n, *rest = x.shape
    return np.reshape(x, (jax.local_device_count(), n // jax.local_device_count(), *rest))
""",
    "method": """\
    n = x.shape[0]
    return x.reshape((jax.local_device_count(), n // jax.local_device_count()) + x.shape[1:])
""",
}
CALLS = {
    "call": "shard(buffer)",
    "keyword": "shard(x=buffer)",
    "tree": "jax.tree.map(shard, buffer)",
    "lambda": "jax.tree.map(lambda leaf: shard(leaf), buffer)",
    "map": "next(map(shard, [buffer]))",
    "entry": 'shard({"x": buffer}["x"])',
    "partial": "functools.partial(shard, buffer)()",
}


@pytest.mark.parametrize("call", list(CALLS))
@pytest.mark.parametrize("helper", list(HELPERS))
def test_a_buffer_that_is_written_before_the_map_has_it_stays_stacked_by_proof(helper: str, call: str) -> None:
    main = EMPTIED.replace(HELPERS["sizes"], HELPERS[helper]).replace("shard(buffer)", CALLS[call])
    assert main.count("shard") > 1
    assert layouts(plan({"main.py": main}, "auto"))[0][1] == "stacked"


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        (EMPTIED, "stacked"),
        (WRITTEN.replace("    print(len(seen))\n", "    np.copyto(buffer, rows * 2)\n"), "stacked"),
        (WRITTEN.replace("    print(len(seen))\n", "    buffer *= 2\n"), "stacked"),
        (WRITTEN.replace("RESULT", "    buffer[:] = 0\nRESULT"), "split"),
        (
            WRITTEN.replace("    batch = shard(buffer)\n", "").replace("for rows", "batch = shard(buffer)\nfor rows"),
            "stacked",
        ),
    ],
    ids=["emptied", "copied", "scaled", "afterwards", "made before the loop"],
)
def test_a_buffer_that_a_reader_sees_written_meanwhile_is_not_presumed(text: str, layout: str) -> None:
    assert layouts(plan({"main.py": text}))[0][1] == layout


ASKED = """\
import jax
import jax.numpy as jnp
from flax import jax_utils


class Trainer:
    def __init__(self):
        self.p_step = jax.pmap(lambda w: jax.lax.pmean(w, "d"), axis_name="d")
        self.w = jax_utils.replicate(jnp.ones(3))

    def run(self):
        self.w = self.p_step(self.w)
        if hasattr(self, "writer"):
            self.writer.close()
        return self.w[0]


RESULT = Trainer().run().tolist()
"""


def test_an_object_may_be_asked_whether_it_has_an_attribute() -> None:
    assert layouts(plan({"main.py": ASKED}, "auto")) == (["replicated"], ["replicated"])


def test_a_property_that_an_attribute_may_be_reads_what_it_read() -> None:
    reads = ASKED.replace(
        "    def run(self)",
        "    @property\n    def writer(self):\n        return self.w.tolist()\n\n    def run(self)",
    )
    found = plan({"main.py": reads}, "auto")
    assert layouts(found)[0] == ["replicated"]
    again = "jnp.broadcast_to(self.w,(jax.device_count(),*self.w.shape)).tolist()"
    assert again in "".join(found.files[0].after.split())
