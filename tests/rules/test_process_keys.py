"""JM210: keys that all processes of a program split alike."""

from __future__ import annotations

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

TOP = """\
import jax
import haiku as hk
from absl import flags
FLAGS = flags.FLAGS


def own_keys(key):
    return jax.random.split(key, jax.local_device_count())


def main(config):
    rows = config.batch_size // jax.process_count()
    n = jax.local_device_count()
"""
ALIKE = {
    "of a number": "key = jax.random.PRNGKey(0)\nkeys = jax.random.split(key, n)",
    "of a configuration": "key = jax.random.key(config.seed)\nkey, sub = jax.random.split(key)\n"
    "keys = jax.random.split(sub, num=jax.local_device_count())",
    "of a flag, step by step": "rng = jax.random.PRNGKey(FLAGS.seed)\nfor step in range(3):\n"
    "    rng, now = jax.random.split(rng)\n    keys = jax.random.split(jax.random.fold_in(now, step), n)",
    "in a function": "rng = jax.random.PRNGKey(1)\nkeys = own_keys(rng)",
    "of a sequence": "rng = hk.PRNGSequence(42)\nkeys = rng.take(jax.local_device_count())",
    "of flax": "from flax.training.common_utils import shard_prng_key\nkeys = shard_prng_key(jax.random.PRNGKey(3))",
}
APART = {
    "index in the seed": "key = jax.random.PRNGKey(config.seed + jax.process_index())\nkeys = jax.random.split(key, n)",
    "index folded in": "key = jax.random.fold_in(jax.random.PRNGKey(0), jax.process_index())\n"
    "keys = jax.random.split(key, n)",
    "by a name": "host = jax.process_index()\nkey = jax.random.fold_in(jax.random.PRNGKey(0), host)\n"
    "keys = jax.random.split(key, n)",
    "seed of the time": "import time\nkey = jax.random.PRNGKey(int(time.time()))\nkeys = jax.random.split(key, n)",
    "out of sight": "key = config.make_key()\nkeys = jax.random.split(key, n)",
    "of all devices": "key = jax.random.PRNGKey(0)\nkeys = jax.random.split(key, jax.device_count())",
    "folded in where mapped": "step = lambda key: jax.random.fold_in(key, jax.lax.axis_index('i'))\n"
    "keys = jax.pmap(step, 'i')(jax.random.split(jax.random.PRNGKey(0), n))",
}


def _told(body: str, top: str = TOP) -> list[str]:
    text = top + "".join(f"    {line}\n" for line in body.splitlines())
    found = lint([decode(text.encode(), "main.py")], Config())
    return [one.code for one in found if one.code == "JM210"]


@pytest.mark.parametrize("name", ALIKE)
def test_alike(name: str) -> None:
    assert _told(ALIKE[name]) == ["JM210"]


@pytest.mark.parametrize("name", APART)
def test_apart(name: str) -> None:
    assert not _told(APART[name])


def test_one_process() -> None:
    """A program that says nothing of several processes has no other to differ from."""
    top = TOP.replace("    rows = config.batch_size // jax.process_count()\n", "")
    assert not _told(ALIKE["of a number"], top)


@pytest.mark.parametrize(
    "line",
    [
        "if jax.process_index() == 0:\n        config.save()",
        "logging.info('of %d', jax.process_count())",
        "print(f'host {jax.process_index()} of {jax.process_count()}')",
        "chief = not jax.process_index()",
    ],
)
def test_all_data_on_every_process(line: str) -> None:
    """Where the first process only writes what all have done, each has the whole batch, and draws for it alike."""
    top = TOP.replace("rows = config.batch_size // jax.process_count()", line)
    assert not _told(ALIKE["of a number"], top)
