"""Programs whose maps all stand in one folder, and import modules that lie above it, as scripts do."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate.plan import Plan
from tests.layouts.running import Program, run
from tests.layouts.test_presumed import layouts, plan

LOSSES = """\
import jax.numpy as jnp


def squared(x, y):
    return jnp.mean((x - y) ** 2){more}
"""
TRAIN = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

from nets import losses

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def step(w, x):
    loss, grad = jax.value_and_grad(lambda w: losses.squared(x @ w, 1.0))(w)
    {mean}
    return w - 0.125 * grad, loss


p_step = jax.pmap(step, axis_name="i")
w = jax_utils.replicate(jnp.ones(3))
told = []
for epoch in range(2):
    w, loss = p_step(w, shard(X + epoch))
    told.append(float(jax_utils.unreplicate(loss)))
RESULT = told, np.asarray(jax_utils.unreplicate(w)).tolist()
"""
MAIN = "from {package}.train import RESULT as FOUND\n\nRESULT = FOUND\n"


def files(folder: str = "experiments/fit", *, mean: str) -> dict[str, str]:
    return {
        f"{folder}/train.py": TRAIN.format(mean=mean),
        "nets/__init__.py": "",
        "nets/losses.py": LOSSES.format(more=""),
    }


def results(program: dict[str, str], found: Plan, folder: str) -> tuple[dict[str, object], dict[str, object]]:
    """What a program gives before and after, whose script is run by a file that `fix` is not given."""
    main = MAIN.format(package=folder.replace("/", "."))
    before = {**program, "main.py": main}
    after = {**before, **{file.path: file.after for file in found.files}}
    out = run([Program("before", before), Program("after", after)])
    return out["before"], out["after"]


@pytest.mark.parametrize("folder", ["experiments/fit", "scripts", "src/tools"])
def test_what_lies_above_the_maps_is_read(folder: str) -> None:
    program = files(folder, mean="grad = jax.lax.pmean(grad, 'i'); loss = losses.squared(grad, 0.0)")
    found = plan(program, "auto")
    assert layouts(found) == (["replicated", "split"], ["replicated", "replicated"])
    before, after = results(program, found, folder)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize("layout", ["auto", "likely"])
def test_what_differs_above_the_maps_is_seen(layout: str) -> None:
    mean = "grad = losses.squared(jax.lax.pmean(grad, 'i'), 0.0) + 0 * grad"
    program = files(mean=mean)
    program["nets/losses.py"] = "import jax\n" + LOSSES.format(more=" + jax.lax.axis_index('i')")
    found = plan(program, layout)
    assert layouts(found)[1][0] == "stacked"
    before, after = results(program, found, "experiments/fit")
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]
