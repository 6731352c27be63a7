"""New code inside an f-string has other quotes than it, and no line breaks: before Python 3.12 neither parses."""

from __future__ import annotations

import ast

import pytest

from jaxmigrate.migrate import fix_files

PROGRAM = """
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

perplexity = jax.pmap(lambda w, x: jax.lax.pmean(jnp.exp((x @ w).mean()), "batch"), axis_name="batch")
params = jax_utils.replicate(jnp.ones(3))
held_out = np.ones((jax.local_device_count() * 2, 3))
for name in ["perplexity"]:
    print(name, {text})
"""


@pytest.mark.parametrize("layout", ["auto", "stacked"])
@pytest.mark.parametrize(
    "text",
    [
        'f"{float(perplexity(params, shard(held_out))[0]):.4f}"',
        "f'{float(perplexity(params, shard(held_out))[0]):.4f} {name}'",
        'f"""{float(perplexity(params, shard(held_out))[0]):.4f}\n{name}"""',
        'f"{name:>60} {float(perplexity(params, shard(held_out))[0]):.4f} is what this long line prints of it all"',
        "f\"{float(jax.pmap(lambda w: jax.lax.pmean(w, 'i'), axis_name='i')(params)[0][0])} of {name}\"",
        "\"%s\" % f\"{float(jax.pmap(lambda w: w, axis_name='i')(params)[0][0])}\" f'{name}'",
    ],
)
def test_it_parses(text: str, layout: str) -> None:
    program = PROGRAM.replace("{text}", text)
    after = fix_files({"main.py": program}, layout=layout)["main.py"]
    assert "pmap" not in after
    ast.parse(after)
    strings = [n for n in ast.walk(ast.parse(after)) if isinstance(n, ast.JoinedStr)]
    assert strings
