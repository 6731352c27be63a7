"""Numbers of devices that a program chooses as it runs, for whose rows pmap takes the first devices."""

from __future__ import annotations

import pytest

from tests.layouts.test_listed_devices import GLOBAL, TRAIN
from tests.layouts.test_presumed import layouts, plan

RUN = """
    p_step = jax.pmap(step, axis_name="i")
    w = jnp.stack([jnp.ones(3)] * {n})
    w, loss = p_step(w, BATCH.reshape({n}, -1, 3))
"""
MAIN = """
def main(n_devices):{run}    return w[0], loss[0]


RESULT = {result}
"""
N = RUN.format(n="n_devices")
CHANGED = """
class Config:
    n_devices = 4


def main(cfg):
    cfg.n_devices = min(cfg.n_devices, len(BATCH)){run}    return w[0], loss[0]


RESULT = main(Config())
"""
REBOUND = """
N = 4


def grow():
    global N
    N = 2 * N


def main():{run}    grow()
    return w[0], loss[0]


RESULT = main(), main()
"""
CHECKED = """
def main(args):
    n = args["n"]
    assert n <= jax.device_count(){run}    return w[0], loss[0]


RESULT = main(dict(n=4))
"""
SUBCLASS = """
class Trainer:
    num_devices = 4

    def run(self):{run}        return w[0], loss[0]


class Small(Trainer):
    num_devices = 2


RESULT = Trainer().run(), Small().run()
"""
IN_METHOD = RUN.replace("\n    ", "\n        ").format(n="self.num_devices")


@pytest.mark.parametrize(
    ("text", "layout"),
    [
        (MAIN.format(run=N, result="main(4)"), "auto"),
        (MAIN.format(run=N, result="main(4), main(2)"), "likely"),
        (MAIN.format(run=f"\n    n_devices = n_devices // 2{N}", result="main(4)"), "auto"),
        (MAIN.format(run=f"{N}    n_devices = 2{N}", result="main(4)"), ""),
        (CHECKED.format(run=RUN.format(n="n")), "likely"),
        (SUBCLASS.format(run=IN_METHOD), "likely"),
        (CHANGED.format(run=RUN.format(n="cfg.n_devices")), ""),
        (REBOUND.format(run=RUN.format(n="N")), ""),
        (MAIN.format(run=f"\n    print(jax.process_index()){N}", result="main(4)"), ""),
        (MAIN.format(run=f"{N}    v = jnp.stack([w[0]] * jax.device_count())\n", result="main(4)"), "auto"),
    ],
)
def test_a_number_that_a_program_chooses_counts_the_first_devices(text: str, layout: str) -> None:
    files = {"main.py": TRAIN + text}
    assert (layouts(plan(files, "auto")) == GLOBAL) == (layout == "auto")
    made = plan(files)
    counted = "jax.devices()[:" in made.files[0].after
    assert counted == bool(layout)
    if layout == "likely":
        assert layouts(made) == GLOBAL
        assert "rows are passed to maps over as many devices alone" in str(made.sites[0].assumed)


AT_IMPORT = """
NUM_DEVICES = 4


def replicate(tree):
    return jax.tree_util.tree_map(lambda x: jnp.stack([x] * NUM_DEVICES), tree)


def main(platform):
    jax.config.update("jax_platforms", platform)
    p_step = jax.pmap(step, axis_name="i")
    w, loss = p_step(replicate(jnp.ones(3)), BATCH.reshape(NUM_DEVICES, -1, 3))
    return jax.tree_util.tree_map(lambda x: x[0], w), loss[0]


RESULT = main("cpu")
"""


def test_no_mesh_of_a_number_asks_for_the_devices_before_the_program_does() -> None:
    made = plan({"main.py": TRAIN + AT_IMPORT})
    assert layouts(made) == GLOBAL
    before, after = made.files[0].after.split('jax.config.update("jax_platforms", platform)')
    assert "jax.devices()" not in before
    assert after.count("mesh = Mesh(") == 1


def test_a_map_at_import_gets_no_mesh_of_a_number_that_is_no_count() -> None:
    made = plan(
        {"main.py": TRAIN + 'p_step = jax.pmap(step, axis_name="i")\n' + AT_IMPORT.replace("    p_step", "    p")}
    )
    assert "jax.devices()[:NUM" not in made.files[0].after
