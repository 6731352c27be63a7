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


STATE = """
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils, struct
from flax.training.common_utils import shard_prng_key


@struct.dataclass
class State:
    params: jax.Array
    key: jax.Array


def step(state):
    key, next_key = jax.random.split(state.key)
    noise = jax.random.normal(key, state.params.shape)
    return state.replace(params=state.params + jax.lax.pmean(noise, "batch"), key=next_key)


p_step = jax.pmap(step, axis_name="batch")
rank = {rank}
state = State(jnp.ones(3), jax.random.PRNGKey(0))
state = jax_utils.replicate(state).replace(key=shard_prng_key(state.key))
state = p_step(state)
{look}
state = p_step(state)
"""
GUARDED, UNGUARDED = "jax.process_index()", "jax.local_device_count()"


@pytest.mark.parametrize(
    ("look", "rank", "is_aligned"),
    [
        ("pass", GUARDED, True),
        ("state = state.replace(key=jax.pmap(lambda k: jax.random.split(k)[0])(state.key))", GUARDED, True),
        ("first = state.key[0]", GUARDED, True),
        ("first = state.key[0, 1]", GUARDED, True),
        ("first = jax_utils.unreplicate(state.key)", GUARDED, True),
        ("first = jax_utils.unreplicate(state)", GUARDED, True),
        ("first = jax.device_get(jax_utils.unreplicate(state))", UNGUARDED, True),
        ("first = np.asarray(state.key)", GUARDED, False),
        ("first = jax.device_get(state)", GUARDED, False),
        ("print(state.key)", GUARDED, False),
        ("x = jax.pmap(lambda k, x: x, in_axes=(None, 0))(state.key, state.params)", GUARDED, False),
    ],
)
def test_fields_that_the_host_reads_stay_with_their_process(look: str, rank: str, *, is_aligned: bool) -> None:
    text = fix_files({"main.py": STATE.format(look=look, rank=rank)}, "auto")["main.py"]
    assert ('key=shard(shard_prng_key(state.key), P("batch"))' in text) is is_aligned
    assert ("host_local" not in text) is is_aligned
    assert ('state_specs = jax.tree.map(lambda _: P(), state).replace(key=P("batch"))' in text) is is_aligned


def test_a_program_that_only_counts_its_devices_is_written_for_one_process() -> None:
    look = "first = jax_utils.unreplicate(state)"  # one part of it on all devices, one on its first
    text = fix_files({"main.py": STATE.format(look=look, rank=UNGUARDED)}, "auto")["main.py"]
    assert 'key=shard(shard_prng_key(state.key), P("batch"))' not in text
    assert "host_local" not in text


@pytest.mark.parametrize("in_axes", ["0", "None"])
def test_keys_that_a_map_takes_without_their_device_axis_stay_with_their_process(in_axes: str) -> None:
    look = f"w = jax.pmap(lambda w, keys: w + keys.sum(), in_axes=(0, {in_axes}))(w, keys)"
    text = fix_files({"main.py": PROGRAM.format(look=look)}, "auto")["main.py"]
    assert ("keys = shard(" in text) is (in_axes == "0")


def test_a_part_of_the_first_slice_is_of_this_processs_own() -> None:
    text = fix_files(
        {"main.py": STATE.format(look="first = state.key[0, 1], state.params[0, :2]", rank=GUARDED)}, "auto"
    )
    assert "first = state.key.addressable_data(0)[0, 1], state.params.addressable_data(0)[:2]" in text["main.py"]
