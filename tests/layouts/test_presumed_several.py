"""One of several results of a map: likely takes it for one where the first slice of each of its parts is taken."""

from __future__ import annotations

import pytest

from tests.layouts.test_presumed import both, layouts, plan

MAIN = """\
import functools

import jax
import jax.numpy as jnp
import model
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

RAYS = np.sin(np.arange(96, dtype=np.float32)).reshape(32, 3)


def render(w, rays):
    return jax.lax.all_gather(model.levels(w, rays), axis_name="batch")


def unshard(x, padding):
    y = x.reshape([x.shape[0] * x.shape[1]] + list(x.shape[2:]))
    return y[:-padding] if padding else y


def image(render_fn, rays):
    results = []
    for start in range(0, 32, 16):
        chunk = shard(rays[start : start + 16])
        {read}
    return [jnp.concatenate(one, axis=0) for one in zip(*results)]


p_render = jax.pmap(render, axis_name="batch", in_axes=(None, 0))
RESULT = [np.asarray(one).tolist() for one in image(functools.partial(p_render, jnp.ones((3, 2))), RAYS)]
"""
MODEL = """\
import jax.numpy as jnp


def make():
    def levels(w, rays):
        coarse, fine = jnp.tanh(rays @ w), jnp.sin(rays @ w)
        return [(coarse, coarse.sum(-1)), (fine, fine.sum(-1))]

    return levels


globals()["levels"] = make()
"""


def files(read: str) -> dict[str, str]:
    """The program that reads what the map gives in this way."""
    return {"main.py": MAIN.format(read=read), "model.py": MODEL}


@pytest.mark.parametrize(
    "read",
    [
        "found = render_fn(chunk)[-1]\n        results.append([unshard(x[0], 0) for x in found])",
        "results.append([unshard(x[0], 0) for x in render_fn(chunk)[1]])",
        "color, depth = render_fn(chunk)[-1]\n        results.append([unshard(color[0], 0), unshard(depth[0], 0)])",
    ],
)
def test_the_last_of_several_results_is_likely_no_slice(read: str) -> None:
    assert layouts(plan(files(read), "auto"))[1] == ["stacked"]
    found = plan(files(read))
    assert layouts(found)[1] == ["replicated"]
    assert any("one of several results" in one.says for site in found.sites for one in site.assumed)
    before, after = both("several", files(read), found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize(
    "read",
    [
        "results.append(render_fn(chunk)[-1])",
        "results.append([x for x in render_fn(chunk)[-1]])",
        "results.append([x[0] for x in render_fn(chunk)[0]])",
        "results.append([x[1] for x in render_fn(chunk)[-1]])",
        "found = render_fn(chunk)[-1]\n        results.append([x[0] for x in found] + [len(found)])",
        "found = render_fn(chunk)\n        results.append([x[0] for x in found[-1]])",
        "found = render_fn(chunk)[-1]\n        found = found[0]\n        results.append([x[0] for x in found])",
    ],
)
def test_what_may_be_a_slice_stays_stacked(read: str) -> None:
    assert layouts(plan(files(read)))[1] == ["stacked"]


@pytest.mark.parametrize(
    "made",
    [
        "jax.lax.all_gather(rays @ w, 'batch')",
        "jax.lax.all_gather(rays, 'batch')",
        "[jax.lax.all_gather(rays, 'batch'), jax.lax.all_gather(rays, 'batch')]",
        "{1: jax.lax.all_gather(rays, 'batch'), 2: w}",
    ],
)
def test_what_a_map_gives_in_sight_is_no_other_than_that(made: str) -> None:
    program = files("results.append([x[0] for x in render_fn(chunk)[1]])")
    program["main.py"] = program["main.py"].replace(
        'jax.lax.all_gather(model.levels(w, rays), axis_name="batch")', made
    )
    assert layouts(plan(program))[1] == ["stacked"]
