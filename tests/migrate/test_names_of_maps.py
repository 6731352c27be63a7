"""What a map is called, and that it asks for no more of its devices than it needs: each runs before and after."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.migrate.forms.running import Program, run

NAMED = """
import jax
import jax.numpy as jnp

OTHER

def step(x, y):
    return jax.lax.pmean(x, "i") * y

def evaluate(x, y):
    p_step = jax.pmap(step, axis_name="i")
    return p_step(x, y) + p_step(y, x)

def main():
    x = jnp.arange(8.0 * 3).reshape(8, 3)
    return [evaluate(x, x + i) for i in range(3)]
"""
PRINTED = """
import jax
import jax.numpy as jnp
LIBRARY

def main():
    count = jax.local_device_count()
    SHOWN
    start = jnp.ones((count,), dtype=jnp.int32) * int(3)
    return jax.pmap(lambda x: jax.lax.pmin(x, "i"), axis_name="i")(start)
"""
MADE_FIRST = """
import jax
import jax.numpy as jnp
LIBRARY

def main():
    least = jax.pmap(lambda x: jax.lax.pmin(x, "i"), axis_name="i")
    return least(jnp.ones((jax.local_device_count(),), dtype=jnp.int32))
"""
LIBRARY = "import library\n\n@library.main(1)\ndef setup():\n    return None\n"


def agrees(before: dict[str, str], after: dict[str, str]) -> bool:
    return [(v.verdict, v.text) for v in run([Program("one", before, after)])] == [("agrees", "")]


@pytest.mark.parametrize(
    ("other", "is_kept"),
    [
        ("", True),
        ("def also():\n    p_steps = 1\n    return p_steps", True),
        ("def p_step():\n    pass", False),
        ("def also(p_step):\n    return p_step", False),
        ("def also():\n    p_step = 1\n    return p_step", False),
        ("import functools as p_step", False),
    ],
)
def test_a_function_above_has_the_name_of_its_map(other: str, *, is_kept: bool) -> None:
    before = {"main.py": NAMED.replace("OTHER", other)}
    after = fix_files(before)
    assert ("\ndef p_step(x, y):\n    return jax.shard_map(" in after["main.py"]) is is_kept
    assert ("p_step = sharded_step" in after["main.py"]) is not is_kept
    assert agrees(before, after)


@pytest.mark.parametrize(
    ("shown", "is_all"),
    [
        ("message = f'on {jax.devices()[:4]}'", True),
        ("print('on', jax.devices()[:4])", True),
        ("first = jax.devices()[:4]", False),
    ],
)
def test_a_few_devices_that_are_shown_are_no_fewer_devices(shown: str, *, is_all: bool) -> None:
    before = {"main.py": PRINTED.replace("SHOWN", shown).replace("LIBRARY", "")}
    after = fix_files(before)
    assert ("mesh_of(" in after["main.py"]) is not is_all
    assert agrees(before, after)


@pytest.mark.parametrize("is_own", [False, True])
def test_a_main_of_a_library_is_no_main_of_the_project(*, is_own: bool) -> None:
    before = {"main.py": MADE_FIRST.replace("LIBRARY", LIBRARY)}
    own = {"library.py": "def main(count):\n    return lambda f: f\n"} if is_own else {}
    after = fix_files(before | own)["main.py"]
    assert ("jax.jit(\n        jax.shard_map(" in after) is not is_own
    assert (")(x)" in after) is is_own


HIDDEN = """
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils
from flax.training.common_utils import shard

p_step = jax.pmap(lambda w, x: w + jax.lax.psum(x.sum(), "b"), axis_name="b")
X = np.ones((16, 3), np.float32)

def one(x, shard=None):
    return jax_utils.unreplicate(p_step(jax_utils.replicate(jnp.ones(2)), common_utils.shard(x)))

def main():
    two = jax_utils.unreplicate(p_step(jax_utils.replicate(jnp.ones(2)), shard(X)))
    return np.asarray(one(X)), np.asarray(two)
"""


def test_a_written_function_has_no_name_that_a_parameter_hides() -> None:
    after = fix_files({"main.py": HIDDEN}, "auto")
    assert "common_utils" not in after["main.py"]
    assert agrees({"main.py": HIDDEN}, after)


MADE = """
import jax
import jax.numpy as jnp
from flax import jax_utils


def make(encoder, scale):
    return lambda w, x: (encoder(w * scale), x)


MAKER = make


def main(encoder, x):
    train = jax.pmap(MAKER(encoder, 2.0), axis_name="i")
    w = jax_utils.replicate(jnp.ones(3))
    return [train(w, x) for _ in range(2)]
"""


@pytest.mark.parametrize(
    ("maker", "name"), [("get_update_lambda", "update_fn"), ("make_fn", "encoder_fn"), ("wrapped", "encoder_fn")]
)
def test_what_a_function_makes_is_called_by_what_that_says(maker: str, name: str) -> None:
    after = fix_files({"main.py": MADE.replace("MAKER", maker)}, "auto")["main.py"]
    assert f"    {name} = {maker}(encoder, 2.0)\n" in after


HANDED = """
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard
import lib

encode, decode = lib.load()
w = jax_utils.replicate(jnp.ones(3))
encode = jax.pmap(encode)
FOUND = []
for i in range(2):
    FOUND.append(np.asarray(encode(w, shard(np.arange(48, dtype=np.float32).reshape(16, 3) + i))))

def main():
    return FOUND
"""


def test_a_map_that_takes_the_name_of_what_it_maps_is_the_function_above_it() -> None:
    before = {"main.py": HANDED}
    after = fix_files(before, "auto")
    assert "encode_fn = encode\n" in after["main.py"]
    assert "def encode(*args):" in after["main.py"]
    assert "sharded_encode" not in after["main.py"]
    lib = {"lib.py": "def load():\n    return (lambda w, x: x @ w), (lambda w, x: x * w)\n"}
    assert agrees(before | lib, after | lib)
