"""Shapes that are taken apart for one reshape, to split a batch and to join it again; a count that all devices have."""

from __future__ import annotations

from pathlib import Path

from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.project import plan_sources
from tests.layouts.running import Program, run

MAIN = """\
import jax
import jax.numpy as jnp
import numpy as np

BATCH = np.arange(96, dtype=np.float32).reshape(16, 2, 3) / 7
devices = jax.local_devices()
num_devices = len(devices)


def shard(x):
    n, *s = x.shape
    return x.reshape((num_devices, n // num_devices, *s))


def shard_rest(x):
    n, *s = x.shape
    print(s)
    return np.reshape(x, (jax.local_device_count(), n // jax.local_device_count(), *s))


def shard_copy(x):
    return jnp.array(x).reshape(num_devices, -1, *x.shape[1:])


def shard_tuple(x):
    return np.reshape(np.asarray(x), (num_devices, -1) + x.shape[1:])


def unshard(x):
    d, b, *s = x.shape
    return x.reshape((d * b, *s))


def unshard_rest(x):
    d, b, *s = x.shape
    print(d, b)
    return jnp.reshape(x, (d * b, *s))


def step(w, x, count):
    return jax.lax.pmean(w * x.mean(0) + count, "i"), x * w, x.sum(0)


p_step = jax.pmap(step, axis_name="i")
w = jnp.ones((num_devices, 2, 3))
count = 0
count_repl = jnp.array([count] * jax.local_device_count())
for _ in range(2):
    w, scaled, sums = p_step(w, shard(BATCH), count_repl)
    w, more, sums = p_step(w, shard_rest(BATCH), count_repl)
    w, more, sums = p_step(w, shard_copy(BATCH), count_repl)
    w, more, sums = p_step(w, shard_tuple(BATCH), count_repl)
    count += 2
    count_repl = jnp.array([count] * jax.local_device_count())
RESULT = [np.asarray(one).tolist() for one in (w[0], unshard(scaled), unshard_rest(more), sums)]
"""


def test_what_gives_the_global_array_itself_goes() -> None:
    found, errors = plan_sources([("main.py", Path("/project/main.py"), MAIN)], PlanOptions("likely"))
    assert not errors
    after, [site] = found.files[0].after, found.sites
    assert [one.layout for one in (*site.arguments, *site.outputs)] == [
        *("replicated", "split", "replicated"),
        *("replicated", "split", "stacked"),
    ]
    assert 'def shard(x):\n    return to_mesh(x, P("i"))\n' in after
    assert 'return to_mesh(jnp.array(x), P("i"))\n' in after
    assert 'return to_mesh(np.asarray(x), P("i"))\n' in after
    assert "def unshard(x):\n    return x\n" in after
    assert after.count("x.shape") == 3  # another statement reads the sizes
    assert after.count("to_mesh(np.asarray(count), P())") == 2
    told = run([Program("before", {"main.py": MAIN}), Program("after", {"main.py": after})])
    assert not told["after"]["error"]
    assert told["before"]["result"] == told["after"]["result"]
