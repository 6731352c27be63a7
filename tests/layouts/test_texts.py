"""Arrays that host code shows as text, which under likely only people read."""

from __future__ import annotations

import pytest

from tests.layouts.test_carried import layouts, plan, says

STEP = """\
import jax
import jax.numpy as jnp
import logging
import numpy as np
import sys
from flax import jax_utils
from flax.training.common_utils import shard
from jax import lax

logger = logging.getLogger()
X = np.arange(48, dtype=np.float32).reshape(16, 3)


class Shown:
    def __init__(self, loss):
        self.loss = loss


def step(w, x):
    loss = lax.pmean(jnp.mean(x @ w), "d")
    return w - 0.1 * loss, loss, x * 2


p_step = jax.pmap(step, axis_name="d")


def main():
    w = jax_utils.replicate(jnp.ones(3))
    for x in (X, X):
        w, loss, doubled = p_step(w, shard(x))
        USE
    return w


main()
"""
SHOWN = [
    "print(loss)",
    "print(f'loss {loss}')",
    "print('loss %s of %s' % (loss, 3))",
    "print('loss {}'.format(loss))",
    "print('loss ' + str(loss), flush=True)",
    "print({'loss': loss})",
    "logging.info('loss %s', loss)",
    "logger.info(f'loss {loss}')",
    "text = f'loss {loss}'; print(text)",
    "assert x is not None, f'loss {loss}'",
    "if x is None: raise ValueError('loss %s' % loss)",
    "print(loss, file=sys.stderr)",
    "print(', '.join([f'{name}: {one}' for name, one in {'loss': loss}.items()]))",
]
USED = [
    "number = float(f'{loss}')",
    "number = float(str(loss))",
    "open(f'{loss}.txt')",
    "seen = {f'{loss}': 1}",
    "seen = f'{loss}' in ('1', '2')",
    "text = f'{loss}'; print(text); number = float(text)",
    "global text; text = f'{loss}'",
    "print(Shown(loss))",
    "print(len(f'{loss}'))",
    "print(float(f'{loss}'))",
    "print(loss, file=open('losses.txt', 'w'))",
    "out = open('losses.txt', 'w'); out.write(f'{loss}')",
    "out = open('losses.txt', 'w'); print(f'{loss}', file=out)",
    "assert f'{loss}' == '1'",
    "yield f'{loss}'",
]


@pytest.mark.parametrize("use", SHOWN)
def test_only_people_read_what_is_shown(use: str) -> None:
    files = {"main.py": STEP.replace("USE", use)}
    assert layouts(plan(files, "auto"))[3] == "stacked"
    found = plan(files)
    assert layouts(found)[3] == "replicated"
    assert [one for one in says(found) if one.startswith("only people read the text of `")]


@pytest.mark.parametrize("use", USED)
def test_what_is_made_of_a_text_may_be_anything(use: str) -> None:
    found = plan({"main.py": STEP.replace("USE", use)})
    assert layouts(found)[3] == "stacked"


def test_each_process_shows_its_own_slices_of_a_split_array() -> None:
    program = STEP.replace("w, loss, doubled = p_step(w, shard(x))", "x = shard(x)\n        w, loss, _ = p_step(w, x)")
    program = program.replace("USE", "print(x)")
    assert layouts(plan({"main.py": program}))[1] == "split"
    several = program.replace("\nlogger", "\njax.distributed.initialize()\nlogger")
    assert layouts(plan({"main.py": several}))[1] == "stacked"
