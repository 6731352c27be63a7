"""Results in a tuple that a mapped function has only the name of, and slices of several arrays taken at once."""

from __future__ import annotations

import pytest

from tests.layouts.test_carried import both, plan

HEAD = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard


def loss_fn(params, aux, x):
    y = x @ params["w"]
    return jnp.mean(y**2) / 8, aux + jnp.mean(y)


def train(state, x):
    params, aux, key = state
    (loss, new_aux), grads = jax.value_and_grad(loss_fn, has_aux=True)(params, aux, x)
    grads = jax.lax.pmean(grads, "i")
    params = jax.tree.map(lambda p, g: p - g / 4, params, grads)
    return (params, new_aux, jax.random.split(key)[0]), loss


def update(params, aux, key, x):
    BODY


p_update = jax.pmap(update, axis_name="i")


def main():
    state = ({"w": jnp.arange(3, dtype=jnp.float32)}, {"m": jnp.zeros(())}["m"], jax.random.PRNGKey(0))
    params, aux, key = jax_utils.replicate(state)
    losses = []
    for step in range(3):
        x = shard(np.arange(48, dtype=np.float32).reshape(16, 3) / (7 + step))
        (params, aux, key), loss = p_update(params, aux, key, x)
        losses.append(float(loss[0]))
    END


RESULT = main()
"""
SCANNED = "def over(carry, _):\n        return train(carry, x)\n\n    states, losses = jax.lax.scan(over, INIT, LENGTH)"
SCAN = SCANNED.replace("INIT", "(params, aux, key)").replace("LENGTH", "None, 2")
BODIES = {
    "called": "states, loss = train((params, aux, key), x)\n    return states, loss",
    "returned": "return train((params, aux, key), x)",
    "scan": f"{SCAN}\n    return states, jnp.mean(losses)",
    "scan by name": SCANNED.replace("INIT, LENGTH", "init=(params, aux, key), xs=None, length=2")
    + "\n    return states, jnp.mean(losses)",
    "scan from a name": "start = (params, aux, key)\n    "
    + SCANNED.replace("INIT, LENGTH", "start, None, 2")
    + "\n    return states, losses.mean()",
    "fori": "states = jax.lax.fori_loop(0, 2, lambda _, s: train(s, x)[0], (params, aux, key))\n    "
    "return states, jnp.mean(x)",
    "while": "states, n = jax.lax.while_loop(\n        lambda s: s[1] < 2, lambda s: (train(s[0], x)[0], s[1] + 1), "
    "((params, aux, key), 0)\n    )\n    return states, jnp.mean(x) + n",
    "two ways": "if x.ndim > 1:\n        states, loss = train((params, aux, key), x)\n    else:\n        "
    "states, loss = train((params, aux, key), 2 * x)\n    return states, loss",
}
FIRST = "jax.tree.map(lambda x: x[0], (params, aux))"
ENDS = {
    "by lambda": f"p, a = {FIRST}\n    return losses, p['w'].tolist(), float(a)",
    "by name": f"first = {FIRST.replace('aux', 'aux, key')}\n    "
    "return losses, jax.tree.map(lambda x: np.asarray(x).tolist(), first)",
    "by flax": "p, a = jax_utils.unreplicate((params, aux))\n    return losses, p['w'].tolist(), float(a)",
    "fetched": f"p, a = jax.device_get({FIRST})\n    return losses, p['w'].tolist(), a.tolist()",
    "given": f"return losses, show(*{FIRST})",
    "apart": "return losses, jax_utils.unreplicate(params)['w'].tolist(), float(aux[0])",
}
SHOW = "\n\ndef show(params, aux):\n    return params['w'].tolist(), float(aux)\n\n\nRESULT"


def program(body: str, end: str) -> str:
    """A program with some way to return its states, and to read them."""
    return HEAD.replace("BODY", body).replace("END", end).replace("\n\nRESULT", SHOW)


@pytest.mark.parametrize("end", ["by lambda", "apart"])
@pytest.mark.parametrize("body", BODIES)
def test_parts_of_a_tuple_in_a_result_have_specs_of_their_own(body: str, end: str) -> None:
    files = {"main.py": program(BODIES[body], ENDS[end])}
    found = plan(files, "auto")
    site = found.sites[0]
    assert [one.layout for one in site.arguments] == ["replicated", "stacked", "replicated", "split"]
    assert [one.layout for one in site.outputs] == ["replicated", "stacked", "replicated", "stacked"]
    before, after = both(files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize("end", ENDS)
def test_the_first_slices_of_several_arrays_are_taken_of_each(end: str) -> None:
    files = {"main.py": program(BODIES["called"], ENDS[end])}
    found = plan(files, "auto")
    assert [one.layout for one in found.sites[0].arguments] == ["replicated", "stacked", "replicated", "split"]
    before, after = both(files, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


OTHERS = {
    "list": "states, loss = train([params, aux, key], x)\n    return list(states), loss",
    "one of two": "states, loss = train((params, aux, key), x)\n    states = states if ASK else list(states)\n    "
    "return states, loss",
    "filled": "states = ()\n    for one in train((params, aux, key), x)[0]:\n        states += (one,)\n    "
    "return states, jnp.mean(x)",
    "changed": "states, loss = train((params, aux, key), x)\n    states = jax.tree.map(lambda s: s, states)\n    "
    "return states, loss",
    "reversed": "states, loss = train((params, aux, key), x)\n    states = (states[0], states[1] + 1, states[2])\n    "
    "return states, loss",
    "of a function given": "return (lambda f: f((params, aux, key), x))(train)",
    "scan of a list": SCANNED.replace("INIT, LENGTH", "[params, aux, key], None, 2").replace(
        "return train(carry, x)", "return list(train(carry, x)[0]), 0.0"
    )
    + "\n    return tuple(states), jnp.mean(losses)",
}


@pytest.mark.parametrize("body", OTHERS)
def test_other_results_keep_their_numbers(body: str) -> None:
    files = {"main.py": program(OTHERS[body].replace("ASK", "x.ndim > 1"), ENDS["by lambda"])}
    before, after = both(files, plan(files, "auto"))
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


READS = {
    "plain beside": "other = {'n': np.arange(3)}\n    return losses, jax.tree.map(\n        "
    "lambda x: np.asarray(x[0]).tolist(), (params, other)\n    )",
    "of both": "a = jax.tree.map(lambda x: x[0], (params, (aux, key)))\n    "
    "return losses, jax.tree.map(lambda x: np.asarray(x).tolist(), a)",
    "in a list": "a = jax.tree.map(lambda x: x[0], [params, aux])\n    "
    "return losses, jax.tree.map(lambda x: np.asarray(x).tolist(), a)",
    "twice": "for p in jax.tree.map(lambda x: x[0], (params, params)):\n        losses.append(p['w'].tolist())\n    "
    "return losses, np.asarray(aux).tolist()",
    "second": "return losses, jax.tree.map(lambda x: np.asarray(x[1]).tolist(), (params, aux))",
    "starred": "some = (params, aux)\n    "
    "return losses, jax.tree.map(lambda x: np.asarray(x[0]).tolist(), (*some, key))",
    "converted": "return losses, jax.tree.map(lambda x: np.asarray(x[0]).tolist(), (params, aux))",
    "changed after": "p, a = jax.tree.map(lambda x: np.asarray(x[0]).copy(), (params, aux))\n    p['w'][0] = 5.0\n    "
    "return losses, p['w'].tolist(), a.tolist(), np.asarray(params['w']).shape[-1]",
    "donated": "f = jax.jit(lambda p, a: (p['w'] * 2, a), donate_argnums=0)\n    "
    "out = f(*jax.tree.map(lambda x: x[0], (params, aux)))\n    "
    "return losses, out[0].tolist(), float(out[1]), jax_utils.unreplicate(params)['w'].tolist()",
}


@pytest.mark.parametrize("end", READS)
def test_other_readings_keep_their_numbers(end: str) -> None:
    files = {"main.py": program(BODIES["called"], READS[end])}
    before, after = both(files, plan(files, "auto"))
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]
