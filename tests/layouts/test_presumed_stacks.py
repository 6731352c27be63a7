"""States that are stacked in sight from models that differ: no name makes `likely` take them for equal."""

from __future__ import annotations

import pytest

from tests.layouts.test_presumed import both, layouts, plan

PROGRAM = """\
import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import tree_map, tree_unflatten


def one(seed):
    rng = np.random.default_rng(seed)
    return {{"w": rng.normal(size=3).astype("f4"), "b": rng.normal(size=()).astype("f4")}}


def stack_of(parts):
    return jnp.stack(parts)


def batches():
    for i in range(2):
        yield np.cos(np.arange(48, dtype=np.float32) * (i + 1)).reshape(8, 2, 3)


{helper}


def step(params, x):
    grad = jax.grad(lambda p: jnp.mean((x @ p["w"] + p["b"]) ** 2))(params)
    grad = jax.lax.pmean(grad, "d")
    return jax.tree.map(lambda p, g: p - 0.125 * g, params, grad), jax.lax.pmean(jnp.mean(x @ params["w"]), "d")


p_step = jax.pmap(step, axis_name="d")


def main():
    models = [one(seed) for seed in range(8)]
    {made}
    for x in batches():
        params, value = p_step(params, x)
    return float(value[0]), np.asarray(jax.tree.leaves(params)[0]).reshape(-1)[:3].tolist()


RESULT = main()
"""
UNLIKE = {
    "star": ("", "params = jax.tree.map(lambda *leaves: jnp.stack(leaves), *models)"),
    "numpy": ("", "params = tree_map(lambda *leaves: np.stack(leaves, axis=0), *models)"),
    "named": ("", "params = jax.tree.map(lambda *leaves: stack_of(leaves), *models)"),
    "array": ("", "params = jax.tree.map(lambda *leaves: jnp.array(leaves), *models)"),
    "tuple of calls": ("", "params = jax.tree.map(lambda *leaves: np.array(list(leaves)), *models)"),
    "unflatten": (
        "",
        (
            "leaves = [jnp.stack(one) for one in zip(*map(jax.tree.leaves, models))]\n"
            "    params = jax.tree.unflatten(jax.tree.structure(models[0]), leaves)"
        ),
    ),
    "tree_unflatten": (
        "",
        (
            "leaves = zip(*[jax.tree.leaves(m) for m in models])\n"
            "    params = tree_unflatten(jax.tree.structure(models[0]), [np.stack(one) for one in leaves])"
        ),
    ),
    "method": (
        "",
        (
            "treedef = jax.tree.structure(models[0])\n"
            "    params = treedef.unflatten([jnp.stack(one) for one in zip(*map(jax.tree.leaves, models))])"
        ),
    ),
    "helper": (
        "def stacked(trees):\n    return jax.tree.map(lambda *leaves: jnp.stack(leaves), *trees)",
        "params = stacked(models)",
    ),
    "helper of leaves": (
        (
            "def stacked(trees):\n"
            "    leaves, treedef = zip(*map(jax.tree.flatten, trees))\n"
            "    return treedef[0].unflatten([jnp.stack(one) for one in zip(*leaves)])"
        ),
        "params = stacked(models)",
    ),
    "dict": ("", 'params = {k: jnp.stack([m[k] for m in models]) for k in ("w", "b")}'),
    "dict call": ("", 'params = dict(w=np.stack([m["w"] for m in models]), b=np.stack([m["b"] for m in models]))'),
    "vmap": ("", "params = jax.vmap(lambda s: {'w': jnp.arange(3.0) * s, 'b': s})(jnp.arange(8.0))"),
    "frozen": ("from flax.core import freeze", 'params = freeze({k: jnp.stack([m[k] for m in models]) for k in "wb"})'),
    "update": ("", 'params = dict(models[0])\n    params.update({k: np.stack([m[k] for m in models]) for k in "wb"})'),
    "record": (
        (
            "import typing\n\n\nclass Params(dict):\n    pass\n\n\n"
            "jax.tree_util.register_pytree_node(\n"
            "    Params, lambda p: ((p['w'], p['b']), None), lambda _, wb: Params(w=wb[0], b=wb[1])\n)"
        ),
        'params = Params(w=jnp.stack([m["w"] for m in models]), b=jnp.stack([m["b"] for m in models]))',
    ),
    "state": (
        (
            "import flax.struct\nfrom typing import Any\n\n\n"
            "@flax.struct.dataclass\nclass Params:\n    w: Any\n    b: Any\n\n"
            "    def __getitem__(self, name):\n        return getattr(self, name)"
        ),
        'params = Params(w=jnp.stack([m["w"] for m in models]), b=jnp.stack([m["b"] for m in models]))',
    ),
    "named before": (
        "",
        (
            'w = np.stack([m["w"] for m in models])\n    b = np.stack([m["b"] for m in models])\n'
            "    params = dict(w=w, b=b)"
        ),
    ),
    "pairs": ("", 'params = dict((k, jnp.stack([m[k] for m in models])) for k in "wb")'),
    "zip": ("", 'params = dict(zip("wb", [jnp.stack([m[k] for m in models]) for k in "wb"]))'),
    "reduce": (
        "import functools",
        (
            "rows = jax.tree.map(lambda x: jnp.asarray(x)[None], models)\n"
            "    params = functools.reduce(lambda a, b: jax.tree.map(lambda x, y: jnp.concatenate([x, y]), a, b), rows)"
        ),
    ),
    "converted": (
        "",
        "params = jax.tree.map(jnp.asarray, jax.tree.map(lambda *leaves: np.stack(leaves), *models))",
    ),
}


@pytest.mark.parametrize("way", UNLIKE)
def test_a_stack_of_models_in_sight_is_not_presumed_to_be_of_equal_ones(way: str) -> None:
    helper, made = UNLIKE[way]
    program = {"main.py": PROGRAM.format(helper=helper, made=made)}
    found = plan(program)
    assert layouts(found)[0][0] == "stacked"
    before, after = both(way, program, found)
    assert before["result"] is not None
    assert before["result"] == after["result"]
