"""JM122 by names: batches and counts of one device, of one process and of all, and what lies between them."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.config import Config
from jaxmigrate.lint.linting import lint
from jaxmigrate.sources import decode

TOP = """\
import jax
import jax.numpy as jnp
import numpy as np

jax.distributed.initialize()


def main(cfg, x, mesh, per_device_batch_size, global_batch_size, local_batch_size):
"""
WRONG = [
    "global_batch_size = per_device_batch_size * jax.local_device_count()",
    "n = jax.local_device_count()\n    global_batch = per_device_batch_size * cfg.accumulation * n",
    "per_device_batch = global_batch_size // jax.process_count()",
    "cfg.device_batch_size = cfg.global_batch_size // jax.local_device_count()",
    "host_batch_size = global_batch_size // jax.device_count()",
    "global_batch_size = local_batch_size * jax.device_count()",
    "make = dict(local_batch_size=per_device_batch_size * jax.device_count())",
    "opts = {'batch_size_per_device': local_batch_size // jax.device_count()}",
    "lookup(x, global_device_count=jax.local_device_count())",
    "num_local_devices = jax.device_count()",
    "local_device_count = len(mesh.local_devices)\n    device_count = jax.local_device_count()",
    "x = jax.pmap(lambda a, i: a[i])(x, jnp.arange(jax.device_count()))",
    "keys = jax.random.split(jax.random.key(0), jax.device_count())\n    x = jax.pmap(lambda k: k)(keys)",
    (
        "own = mesh.local_devices\n    parts = jax.device_put(np.split(x, len(own), axis=0), own)\n"
        "    shape = (x.shape[0] * jax.device_count(), *x.shape[1:])\n"
        "    x = jax.make_array_from_single_device_arrays(shape, cfg.sharding, parts)"
    ),
]
RIGHT = [
    "global_batch_size = per_device_batch_size * jax.device_count()",
    "local_batch_size = per_device_batch_size * jax.local_device_count()",
    "host_batch_size = global_batch_size // jax.process_count()",
    "per_device_batch = global_batch_size // jax.process_count() // jax.local_device_count()",
    "per_device_batch = local_batch_size // jax.local_device_count()",
    "batch_size = per_device_batch_size * jax.local_device_count()",
    "total_batch_size = cfg.batch_size * jax.local_device_count()",
    "global_batch_size = cfg.steps * jax.local_device_count()",
    "num_devices = jax.local_device_count()",
    "device_count = jax.local_device_count()",
    "num_local_devices = jax.local_device_count()",
    "lookup(x, global_device_count=jax.device_count())",
    "x = jax.pmap(lambda a, i: a[i])(x, jnp.arange(jax.local_device_count()))",
    "per_device_batch, global_batch_size = 4, 4 * jax.device_count()",
    (
        "own = mesh.local_devices\n    parts = jax.device_put(np.split(x, len(own), axis=0), own)\n"
        "    shape = (x.shape[0] * jax.process_count(), *x.shape[1:])\n"
        "    x = jax.make_array_from_single_device_arrays(shape, cfg.sharding, parts)"
    ),
]


def codes(line: str) -> list[str]:
    text = f"{TOP}    {line}\n    return x\n"
    found = lint([decode(text.encode(), "a.py", Path("/project/a.py"))], Config())
    return [one.code for one in found if one.code == "JM122"]


@pytest.mark.parametrize("line", WRONG)
def test_counts_that_contradict_names(line: str) -> None:
    assert codes(line) == ["JM122"]


@pytest.mark.parametrize("line", RIGHT)
def test_counts_that_agree_with_names(line: str) -> None:
    assert codes(line) == []
