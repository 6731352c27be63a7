"""Parameters that are made by the shapes of a batch: its first device's rows are taken of the global array."""

from __future__ import annotations

import pytest

from tests.layouts.running import Program, run
from tests.layouts.test_carried import plan

TEXT = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


class Model:
    def init(self, key, x, more=None):
        return {"w": jax.random.normal(key, x.shape[-1:]) + x.mean()}


def batches():
    for i in range(3):
        yield shard({"x": np.arange(48, dtype=np.float32).reshape(16, 3) / (7 + i)})



def step(params, batch):
    def loss_fn(params):
        return jnp.mean((batch["x"] @ params["w"] - 1) ** 2)

    grads = jax.lax.pmean(jax.grad(loss_fn)(params), "i")
    return jax.tree.map(lambda p, g: p - 0.125 * g, params, grads)


p_step = jax.pmap(step, axis_name="i")


def main():
    data = batches()
    first = next(data)
    params = jax_utils.replicate(Model().init(jax.random.PRNGKey(0), EXAMPLE))
    for batch in [first, *data]:
        params = p_step(params, batch)
    return jax_utils.unreplicate(params)


RESULT = np.asarray(main()["w"])
"""
EXAMPLES = {
    "array": ('first["x"][0]', 'first["x"][: first["x"].shape[0] // jax.device_count()]'),
    "tree": (
        'jax_utils.unreplicate(first)["x"]',
        "jax.tree.map(lambda x: x[: x.shape[0] // jax.device_count()], first)",
    ),
    "mapped": ('jax.tree.map(lambda x: x[0], first)["x"]', "jax.tree.map(lambda x: x[: x.shape[0]"),
    "by name": ('x=first["x"][0]', 'x=first["x"][: first["x"].shape[0]'),
    "beside others": ('first["x"][0], {"more": first["x"][0]}', '{"more": first["x"][: '),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_first_devices_rows_are_an_example(name: str) -> None:
    given, written = EXAMPLES[name]
    found = plan({"main.py": TEXT.replace("EXAMPLE", given)})
    (site,) = (one for one in found.sites if len(one.arguments) == 2)
    assert [one.layout for one in site.arguments] == ["replicated", "split"]
    assert written in " ".join(found.files[0].after.split())
    assert any("as an array of JAX" in one.says for one in site.assumed)


@pytest.mark.long
@pytest.mark.parametrize("name", EXAMPLES)
def test_parameters_made_of_an_example_stay(name: str) -> None:
    text = TEXT.replace("EXAMPLE", EXAMPLES[name][0])
    after = plan({"main.py": text}).files[0].after
    outcomes = run([Program("before", {"main.py": text}), Program("after", {"main.py": after})])
    assert outcomes["before"]["error"] == outcomes["after"]["error"] == ""
    assert outcomes["before"]["result"] == outcomes["after"]["result"]


def test_rows_that_numpy_may_have_in_a_dtype_of_its_own_are_no_proof() -> None:
    found = plan({"main.py": TEXT.replace("EXAMPLE", 'first["x"][0]')}, "auto")
    (site,) = (one for one in found.sites if len(one.arguments) == 2)
    assert [one.layout for one in site.arguments] == ["replicated", "stacked"]


@pytest.mark.parametrize("read", ['print(first["x"][0])', 'kept = first["x"][0]\n    kept += 1'])
def test_what_else_takes_the_first_slice_keeps_a_batch_stacked(read: str) -> None:
    text = TEXT.replace("EXAMPLE", "np.ones((2, 3))").replace("    for batch in [", f"    {read}\n    for batch in [")
    (site,) = (one for one in plan({"main.py": text}).sites if len(one.arguments) == 2)
    assert [one.layout for one in site.arguments] == ["replicated", "stacked"]


def test_each_process_takes_rows_of_its_own() -> None:
    text = TEXT.replace("EXAMPLE", 'first["x"][0]').replace("    data =", "    print(jax.process_index())\n    data =")
    assert 'first["x"].addressable_data(0)' in plan({"main.py": text}).files[0].after
