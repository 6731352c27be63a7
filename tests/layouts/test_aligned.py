"""Keys of several processes: one array over all devices only where nothing but mapped functions looks at them."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate.project import fix_files

PROGRAM = """
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils


def step(w, key):
    return w + jax.lax.pmean(jax.random.normal(key, w.shape), "batch")


p_step = jax.pmap(step, axis_name="batch")
w = jax_utils.replicate(jnp.ones(3))
keys = jax.random.split(jax.random.PRNGKey(jax.process_index()), jax.local_device_count())
{look}
w = p_step(w, keys)
"""


@pytest.mark.parametrize(
    ("look", "is_aligned"),
    [
        ("w = p_step(w, keys)", True),
        ("first = np.asarray(keys)", False),
        ("first = jax.device_get(keys)", False),
        ("keys = jnp.asarray(np.asarray(keys))", False),
        ("print(keys)", False),
    ],
)
def test_keys_that_the_host_reads_stay_with_their_process(look: str, *, is_aligned: bool) -> None:
    text = fix_files({"main.py": PROGRAM.format(look=look)}, "auto")["main.py"]
    assert 'in_specs=(P(), P("batch"))' in text
    assert ("keys = shard(" in text) is is_aligned
    assert ("host_local_array_to_global_array" not in text) is is_aligned
