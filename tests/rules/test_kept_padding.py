"""JM123: rows that fill up a batch for the devices come back with the others."""

from __future__ import annotations

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

TOP = """\
import jax
import jax.numpy as jnp
import numpy as np
p_predict = jax.pmap(lambda params, x: x @ params)
def fill_up(x, n):
    missing = -len(x) % n
    return np.concatenate([x, np.zeros((missing, *x.shape[1:]))]), missing
"""
BODIES = {
    "an unused count": (
        """\
def predict(params, xs, n):
    xs, num_pad = fill_up(xs, n)
    out = p_predict(params, xs.reshape(n, -1, 4))
    out = np.concatenate(list(out))
{cut}    return out
""",
        "    out = out[:-num_pad] if num_pad else out\n",
    ),
    "an unused count of a method": (
        """\
class Model:
    def forecast(self, inputs):
        series, freq, pmap_pad = self.prepare(inputs)
        outs = []
        for one in series:
            outs.append(np.asarray(p_predict(self.params, one)))
        outs = np.concatenate(outs, axis=0)
{cut}        return outs
""",
        "        if pmap_pad > 0:\n            outs = outs[:-pmap_pad, ...]\n",
    ),
    "the length before": (
        """\
def sample(params, xs, per_batch, n):
    num = len(xs)
    whole = -(-num // per_batch) * per_batch
    xs = jnp.concatenate([xs, jnp.zeros((whole - num, 4))], axis=0)
    all_samples = []
    for start in range(0, whole, per_batch):
        out = p_predict(params, xs[start : start + per_batch].reshape(n, -1, 4))
        all_samples.append(jax.device_get(out).reshape(-1, 4))
    samples = jnp.concatenate(all_samples, axis=0)
{cut}    return samples
""",
        "    samples = samples[:num]\n",
    ),
    "by pad": (
        """\
def sample(params, xs, size, n):
    rows = xs.shape[0]
    xs = jnp.pad(xs, ((0, size - rows), (0, 0)))
    out = p_predict(params, xs.reshape(n, -1, 4))
    out = out.reshape(-1, 4)
{cut}    return out
""",
        "    out = out[:rows]\n",
    ),
}


@pytest.mark.parametrize("name", BODIES)
@pytest.mark.parametrize("is_cut", [False, True])
def test_padding_that_comes_back(name: str, is_cut: bool) -> None:
    body, cut = BODIES[name]
    text = TOP + body.format(cut=cut if is_cut else "")
    found = [one.code for one in lint([decode(text.encode(), "main.py")], Config()) if one.code == "JM123"]
    assert found == ([] if is_cut else ["JM123"])


@pytest.mark.parametrize(
    "line",
    ["mask = np.arange(size) < rows", "print('of', rows)", "scores = out[:rows].sum()"],
)
def test_what_uses_the_length(line: str) -> None:
    body, _ = BODIES["by pad"]
    text = TOP + body.format(cut=f"    {line}\n")
    assert not [one for one in lint([decode(text.encode(), "main.py")], Config()) if one.code == "JM123"]
