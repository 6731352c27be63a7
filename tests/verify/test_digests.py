"""Whatever differs in a bit of any array on any device has another digest, read together or alone, early or late."""

from __future__ import annotations

import random
import subprocess
import sys

import pytest

from jaxmigrate.verify.child.rows import Part, Row
from jaxmigrate.verify.environment import with_device_count

PRELUDE = """
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from jaxmigrate.verify.child import digest, together
from jaxmigrate.verify.child.arrays import Arrays
from jaxmigrate.verify.child.digest import View

mesh = Mesh(jax.devices(), ("i",))
rng = np.random.RandomState(0)
DTYPES = ("float32", "int32", "uint32", "uint8", "bool", jax.numpy.bfloat16)

def slices(dtype):
    bits = rng.randint(0, 2 if dtype == "bool" else 256, 12 * np.dtype(dtype).itemsize, "uint8")
    return [bits.copy().view(dtype).reshape(3, 4) for _ in range(8)]

def copies(made):
    parts = [jax.device_put(part, device) for part, device in zip(made, jax.devices())]
    return jax.make_array_from_single_device_arrays(made[0].shape, NamedSharding(mesh, P()), parts)

def stacked(made):
    return jax.device_put(np.stack(made), NamedSharding(mesh, P("i")))

def read(state, original):
    values = [make(made) for make, made in state]
    begun = digest.begin(digest.flatten(values), STRUCTURES[original], None)
    digest.wait_for(values, begun)
    return digest.digest_tree(begun, View(original, 8, False))

def alone(state, original):
    return [digest._describe(make(made), lambda pieces: None, View(original, 8, False)) for make, made in state]
"""

BITS = f"""{PRELUDE}
together._PATIENCE = 2
cases = 0
# All of them copied together on every second device, and all read one by one on the others.
for device in range(8):
    together._MOST_PARTS = (device % 2) << 20
    # What a reader has seen to differ it does not compare again, so each device has readers of its own.
    STRUCTURES = {{True: digest.Structures(), False: digest.Structures()}}
    state = [(make, slices(dtype)) for dtype in DTYPES for make in (copies, stacked)]
    for make, made in state:
        made[:] = [made[0].copy() for _ in made]
    before = {{original: read(state, original) for original in STRUCTURES}}
    seen = {{original: {{digest.combine(tree)}} for original, tree in before.items()}}
    for leaf, (make, made) in enumerate(state):
        bit = 0 if made[0].dtype == bool else rng.randint(8)
        place = rng.randint(made[device].nbytes)
        made[device].reshape(-1).view("uint8")[place] ^= 1 << bit
        for original in STRUCTURES:
            tree = read(state, original)
            assert [*zip(tree.leaves, tree.contents)] == alone(state, original)
            pairs = enumerate(zip(tree.contents, before[original].contents))
            apart = [number for number, (found, right) in pairs if found.identity != right.identity]
            assert apart == [leaf], (apart, leaf, device)
            assert digest.combine(tree) not in seen[original]
            seen[original].add(digest.combine(tree))
            cases += 1
        made[device].reshape(-1).view("uint8")[place] ^= 1 << bit
    for original, tree in before.items():
        again = read(state, original)
        assert again.contents == tree.contents
        kinds = STRUCTURES[original].together.kinds.values()
        assert all((kind.is_few or kind.reader) and not kind.is_hopeless for kind in kinds)
print(cases)
"""

CHANGES = f"""{PRELUDE}
together._PATIENCE = 1
together._MOST_PARTS = MOST
STRUCTURES = {{True: digest.Structures(), False: digest.Structures()}}
one = np.asarray([0.0, 1.0, np.nan, -2.0], "float32")
quiet = one.copy(); quiet.view("uint32")[2] ^= 1
signalling = one.copy(); signalling.view("uint32")[2] = 0x7F800001
negative = one.copy(); negative[0] = -0.0
wrong = {{
    "another place": one[[1, 0, 2, 3]], "sign of zero": negative, "payload of a NaN": quiet, "loud NaN": signalling,
}}
filler = [(copies, slices("float32")) for _ in range(4)]
for original in STRUCTURES:
    for make in (copies, stacked):
        right = read([(make, [one] * 8), *filler], original)
        for name, other in wrong.items():
            found = read([(make, [other] * 8), *filler], original)
            assert found.contents[0].identity != right.contents[0].identity, (name, original)
            assert found.contents[1:] == right.contents[1:]
        # The same bits as numbers of another kind are told by what describes them.
        assert read([(make, [one.view("int32")] * 8), *filler], original).leaves != right.leaves
    # What one device holds for what another does.
    rows = [one + number for number in range(8)]
    there = read([(stacked, rows), *filler], original)
    here = read([(stacked, [*rows[:5], rows[6], rows[5], rows[7]]), *filler], original)
    assert here.contents[0].identity != there.contents[0].identity
    assert here.contents[0].parts != there.contents[0].parts
    lonely = [*[one] * 6, quiet, one]
    assert read([(copies, lonely), *filler], original).contents[0].replicas == "6"

# Arrays that are gone are forgotten, and what comes to lie where they were is not taken for them.
known = digest._KNOWN
file = Arrays("unused")
nowhere, anywhere = digest._Places(None, [0]), digest._Places(digest.Keep(None, lambda size: True, file), [0])
for number in range(5000):
    value = jax.device_put(np.float32(number))
    assert known.of([value], nowhere) == ([None], [0])
    known.put([value], [number], [0])
    assert known.of([value], nowhere) == ([number], [])
    assert known.of([value], anywhere) == ([None], [0])
assert len(known.entries) <= 2 * digest._FEWEST_KNOWN, len(known.entries)
value.delete()
assert known.of([value], nowhere) == ([None], [0])
"""


def run(program: str) -> str:
    environment = {"JAX_PLATFORMS": "cpu", "NPROC": "64", "XLA_FLAGS": with_device_count("", 8)}
    command = [sys.executable, "-c", program]
    child = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert child.returncode == 0, child.stderr[-3000:]
    return child.stdout


def test_one_bit_of_any_array_on_any_device() -> None:
    assert run(BITS) == f"{6 * 2 * 8 * 2}\n"


@pytest.mark.parametrize("most", [0, 1 << 20])
def test_places_signs_payloads_types_and_devices(most: int) -> None:
    run(f"MOST = {most}\n{CHANGES}")


def test_rows_are_taken_apart_as_they_would_be_one_by_one() -> None:
    chance = random.Random(0)
    for _ in range(20):
        sizes = [chance.choice((1, 2, 4, 12, 300)) for _ in range(chance.randint(1, 12))]
        ends = [sum(sizes[: number + 1]) for number in range(len(sizes))]
        # The numbers of arrays are not the order in which they lie in a row.
        numbers = chance.sample(range(20), len(sizes))
        parts = {number: Part(end - size, end) for number, size, end in zip(numbers, sizes, ends, strict=True)}
        row = Row(parts, ends[-1])
        for _ in range(30):
            first = chance.randbytes(ends[-1])
            held = [bytearray(first) for _ in range(4)]
            for _ in range(chance.randint(0, 3)):
                held[chance.randrange(4)][chance.randrange(ends[-1])] ^= 1 << chance.randrange(8)
            expected = {}
            for number, (start, stop) in parts.items():
                data = [bytes(one[start:stop]) for one in held]
                expected[number] = data[:1] if len({*data}) == 1 else data
            found = row.split([memoryview(bytes(one)) for one in held])
            assert dict(found) == expected
            assert len(found) == len(parts)
