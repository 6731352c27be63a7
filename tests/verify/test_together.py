"""Arrays that are read together have the digests that each has alone, and a mistake in a late call is found, too."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from jaxmigrate.verify.environment import with_device_count
from jaxmigrate.verify.model import Tolerance, Verdict
from tests.verify.marked import by_name, verify_program

# What is not bitwise equal differs, whatever the dtype.
EXACT = {"": Tolerance(0.0)}

# Whatever arrays a site may have, on all eight devices: with the bits of NaNs and zeros of both signs, alike and not.
READS = """
import json
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from jaxmigrate.verify.child import together
from jaxmigrate.verify.child.digest import View, _describe_device_array
mesh = Mesh(jax.devices(), ("i",))
plane = Mesh(np.asarray(jax.devices()).reshape(2, 4), ("a", "b"))
backwards = Mesh(jax.devices()[::-1], ("i",))
rng = np.random.RandomState(0)

def bits(dtype, shape):
    size = int(np.prod(shape)) * np.dtype(dtype).itemsize
    made = rng.randint(0, 2 if dtype == bool else 256, size, "uint8")
    return np.frombuffer(made.tobytes(), dtype).reshape(shape)

def copies(one, wrong):
    made = [one.copy() for _ in jax.devices()]
    if wrong and one.size:
        made[5].reshape(-1).view("uint8")[-1] ^= 1
    parts = [jax.device_put(part, device) for part, device in zip(made, jax.devices())]
    return jax.make_array_from_single_device_arrays(one.shape, NamedSharding(mesh, P()), parts)

def stacked(slices):
    return jax.device_put(np.stack(slices), NamedSharding(mesh, P("i")))

def arrays(wrong):
    for dtype in ("bool", "int8", "uint16", "int32", "float32", "float16", jax.numpy.bfloat16, "complex64"):
        for shape in ((), (8,), (8, 3), (2, 5), (0, 4), (16, 1, 2), (70, 300)):
            one = bits(np.dtype(dtype), shape)
            yield copies(one, wrong)
            yield stacked([one] * 8)
            yield jax.device_put(bits(np.dtype(dtype), (8, *shape)), NamedSharding(mesh, P("i")))
            yield jax.device_put(bits(np.dtype(dtype), (8, *shape)), NamedSharding(plane, P(("a", "b"))))
    yield jax.device_put(bits(np.dtype("f"), (8, 4)), NamedSharding(plane, P("a", "b")))
    yield jax.device_put(bits(np.dtype("f"), (8, 4)), NamedSharding(backwards, P("i")))
    yield jax.device_put(bits(np.dtype("f"), (8, 4)), jax.devices()[3])
    yield jax.random.split(jax.random.key(0), 8)

# Some integers among other numbers: they are NaNs that a processor would make quiet, if it took them for such.
NOISY = np.asarray([0x7F800001, 0xFF800001, 0x80000000, 1], "uint32")

def few(apart):
    for number in range(6):
        one = bits(np.dtype("f"), (4, 3))
        yield copies(one, apart and number == 3) if number % 2 else stacked([one] * 8)
    for dtype in ("uint32", "int32"):
        one = NOISY.view(dtype)
        yield copies(one, apart and dtype == "int32")
        yield stacked([one + np.asarray(device if apart else 0, dtype) for device in range(8)])

def together_read(values, original, reader=None):
    reader = reader or together.Together()
    return dict(reader.read(reader.ask(values, range(len(values))), original, 8))

together._PATIENCE = 1
read = {}
# All of them copied first, and all read one by one.
for most in (0, 1 << 20):
    together._MOST_PARTS = most
    for wrong in (False, True):
        for original in (True, False):
            values = [*arrays(wrong)]
            found = together_read(values if most else values[:-3], original)
            alone = {at: _describe_device_array(values[at], lambda _: None, View(original, 8, False)) for at in found}
            read[f"{most} {wrong} {original}"] = [found[number] == alone[number] for number in found]
            # Arrays on other devices cannot be copied with them.
            assert most or not together_read(values, original)
            values = [*few(wrong)]
            found = together_read(values, original)
            assert len(found) == len(values) == 10
            alone = [_describe_device_array(value, lambda _: None, View(original, 8, False)) for value in values]
            assert [found[number] for number in range(10)] == alone
print(json.dumps(read))

# Calls of another kind between those that are read together do not send these back to the beginning.
together._PATIENCE, together._MOST_PARTS = 3, 0
reader, values = together.Together(), [*few(False)]
found = [len(together_read(values[: 10 if number % 3 else 7], True, reader)) for number in range(12)]
assert found == [0, 0, 0, 0, 10, 10, 7, 10, 10, 7, 10, 10], found
"""

# The state is donated, so that a view of it that outlived its reading would show.
LOOP = """
from functools import partial
import jax
import jax.numpy as jnp

@partial(jax.pmap, axis_name="i", donate_argnums=0)
def step(state, x):
    total = jax.lax.psum(x.sum(), "i")
    state = {name: jax.tree.map(lambda leaf: leaf + total.astype(leaf.dtype), leaf) for name, leaf in state.items()}
    return state, total

shapes = {"a": (2, 3), "b": (5,), "c": (), "d": (64,)}
state = {name: jnp.zeros((8, *shape)) for name, shape in shapes.items()} | {"e": jnp.zeros((8, 3), jnp.bfloat16)}
for number in range(60):
    state, total = step(state, jnp.full((8, 2), number / 64))
"""
RIGHT = 'total = jax.lax.psum(x.sum(), "i")'
LATE = f'{RIGHT} * jnp.where((x[0] == 55 / 64) & (jax.lax.axis_index("i") == 6), 1 + 2**-23, 1.0)'


@pytest.mark.long
def test_digests_are_those_of_arrays_that_are_read_alone() -> None:
    environment = {"JAX_PLATFORMS": "cpu", "NPROC": "64", "XLA_FLAGS": with_device_count("", 8)}
    command = [sys.executable, "-c", READS]
    child = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert child.returncode == 0, child.stderr
    for kind, are_equal in json.loads(child.stdout).items():
        # The one that is split over the devices in another order is of those that are not copied.
        assert len(are_equal) == (7 * 5 + 5) * 4 + (not kind.startswith("0 ")), kind
        assert all(are_equal), kind


def test_last_bit_of_one_device_in_a_late_call_is_found(tmp_path: Path) -> None:
    evidence = verify_program(tmp_path, LOOP, [(RIGHT, LATE)], tolerances=EXACT)
    site = by_name(evidence)["step"]
    assert site.verdict is Verdict.DIFFERENT
    assert site.first is not None
    assert site.first.call == 55
