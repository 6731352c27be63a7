"""Decorated functions that take whatever they are given: `def mapped(*args, **kwargs)`."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.migrate.forms.running import Program, run

HEAD = """\
import functools

import jax
import jax.numpy as jnp
import numpy as np

N = jax.local_device_count()
X = np.arange(3.0 * N, dtype=np.float32).reshape(N, 3)


"""
DIST = """\
def dist(fn, accumulate, axis_name="batch"):
    if accumulate == "mean":
        accumulate_fn = functools.partial(jax.lax.pmean, axis_name=axis_name)
    else:
        accumulate_fn = None

    @functools.partial(jax.pmap, axis_name=axis_name)
    def mapped(*args, **kwargs):
        out = fn(*args, **kwargs)
        return out if accumulate_fn is None else jax.tree.map(accumulate_fn, out)

    def wrapper(*args, **kwargs):
        return jax.tree.map(np.asarray, mapped(*args, **kwargs))

    return wrapper


def main():
    mean, plain = dist(lambda x, y: {"a": (x * y).sum()}, "mean"), dist(lambda x, *, y=2.0: (x, -x * y), "none")
    return mean(X, y=X + 1), mean(X, X + 2), plain(X), plain(x=X), plain(X, y=X[:, 0])
"""
COUNTS = """\
@functools.partial(jax.pmap, axis_name="batch")
def mapped(*arrays, **named):
    first, *rest = arrays
    total = sum(one.sum() for one in rest) + len(named) + sum(i * named[k].ndim for i, k in enumerate(sorted(named)))
    return jax.lax.psum(first, "batch") + total, {k: v + 1 for k, v in named.items()}


def main():
    options = {"b": X, "a": X[:, :1]}
    return mapped(X), mapped(X, X + 1, b=X), mapped(X, **options), mapped(*[X, X], **options)
"""
CASES = {"a wrapper": DIST, "counts": COUNTS}


@pytest.mark.parametrize("name", CASES)
def test_the_function_takes_blocks_itself(name: str) -> None:
    before = {"main.py": HEAD + CASES[name]}
    after = fix_files(before, "auto")
    assert "shard_map_stacked" not in after["main.py"]
    assert "lambda args, kwargs: mapped_per_device(*args, **kwargs)" in " ".join(after["main.py"].split())
    (found,) = run([Program(name, before, after)])
    assert (found.verdict, found.text) == ("agrees", "")
