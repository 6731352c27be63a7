"""What a map names is what it was where the map was made, and specs that say `P()` are not left out."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.migrate.forms.running import Program, run, run_in_processes

OPENING = """import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from jax import lax

N = jax.local_device_count()
X = np.arange(2.0 * N, dtype=np.float32).reshape(N, 2) + 1

class C:
    k = 3.0

def doubled(x):
    return jax.pure_callback(lambda x: 2 * x, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

first = jax.pmap(lambda w, x: w + lax.pmean(x, "a"), axis_name="a")

def f(x, k):
    return lax.psum(BODY * k, "AXIS")

def main():
    MADE
    return [step(WITH)[0].tolist() for step in steps]

main()  # so that the maps are made while the module is imported
"""
MADE = {
    "default": 'steps = [jax.pmap(lambda x, k=k: f(x, k), axis_name="AXIS") for k in (3.0, 4.0)]',
    "donated": 'steps = [jax.pmap(lambda x, k=k: f(x, k), axis_name="AXIS", donate_argnums=0) for k in (3.0, 4.0)]',
    "generator": 'steps = list(jax.pmap(lambda x, k=k: f(x, k), axis_name="AXIS") for k in (3.0, 4.0))',
    "partial": 'steps = [jax.pmap(functools.partial(f, k=k), axis_name="AXIS") for k in (3.0, 4.0)]',
    "dictionary": 'steps = {k: jax.pmap(functools.partial(f, k=k), axis_name="AXIS") for k in (3.0, 4.0)}.values()',
    "late": 'steps = [jax.pmap(lambda x: f(x, k), axis_name="AXIS") for k in (3.0, 4.0)]',
    "attribute": 'steps = [jax.pmap(lambda x, k=C.k: f(x, k), axis_name="AXIS")]\n    C.k = 11.0',
}


def program(name: str, body: str, axis: str) -> Program:
    files = {"main.py": OPENING.replace("BODY", body).replace("MADE", MADE[name]).replace("AXIS", axis)}
    files["main.py"] = files["main.py"].replace("WITH", "jnp.asarray(X)" if name == "donated" else "X")
    return Program(f"{name} {body}", files, {**files, **fix_files(files, "auto")})


@pytest.mark.parametrize("body", ["x", "doubled(x)"])
@pytest.mark.parametrize("axis", ["a", "b"])
def test_names_are_read_where_the_map_is_made(axis: str, body: str) -> None:
    found = run([program(name, body, axis) for name in MADE])
    assert {one.name: one.text for one in found if one.verdict != "agrees"} == {}


SETTINGS = {
    "config.py": "LR = 0.5\n",
    "steps.py": """import functools
import jax
from jax import lax
import config

def update(p, x, lr):
    return p - lr * lax.pmean(x.mean(0), "a")

warm = jax.pmap(functools.partial(update, lr=config.LR), axis_name="a")
hot = jax.pmap(lambda p, x, lr=config.LR: update(p, x, lr), axis_name="a")
""",
    "main.py": """import config
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils
from steps import hot, warm

def main():
    config.LR = 9.0
    p = jax_utils.replicate(jnp.ones(2))
    x = common_utils.shard(np.arange(96, dtype=np.float32).reshape(-1, 2) / 9)
    return np.asarray(jax_utils.unreplicate(warm(p, x))), np.asarray(jax_utils.unreplicate(hot(p, x)))
""",
}


def test_settings_are_read_where_the_map_is_made() -> None:
    (found,) = run([Program("settings", SETTINGS, {**SETTINGS, **fix_files(SETTINGS, "auto")})])
    assert (found.verdict, found.text) == ("agrees", "")


BROADCAST = """import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training import common_utils
from jax import lax

N = jax.local_device_count()

def doubled(x):
    return jax.pure_callback(lambda x: 2 * x, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

@functools.partial(jax.pmap, axis_name="a")
def train(p, x):
    return p + lax.pmean(x.mean(0), "a"), x.sum()

@functools.partial(jax.pmap, axis_name="b", in_axes=(0, None))
def scaled(p, s):
    return p * s.sum(), lax.psum(BODY, "b"), s

def main():
    p, results = jax_utils.replicate(jnp.ones(2)), []
    for i in range(2):
        x = np.arange(N * 6, dtype=np.float32).reshape(-1, 2) / 9 + i + jax.process_index()
        p, own = train(p, common_utils.shard(x))
        q, s, t = scaled(p, np.arange(4.0, dtype=np.float32) + i)
        results += [np.asarray(own), np.asarray(q[0]), np.asarray(s), np.asarray(t)]
    return results, jax_utils.unreplicate(p)
"""
GUARDED = """import functools
import jax
import jax.numpy as jnp
import numpy as np

def doubled(x):
    return jax.pure_callback(lambda x: 2 * x, jax.ShapeDtypeStruct(x.shape, x.dtype), x)

@functools.partial(jax.pmap, axis_name="a")
def seen(x):
    return doubled(x)

@functools.partial(jax.pmap, axis_name="b", in_axes=(0, None))
def scaled(x, rate):
    return doubled(x) * rate

def main():
    x = np.arange(2.0 * jax.local_device_count(), dtype=np.float32).reshape(-1, 2)
    shown = np.asarray(seen(x)) if jax.process_index() == 0 else x
    return shown, np.asarray(scaled(x, 0.1)), np.asarray(scaled(x, 2.0 + jax.process_index()))
"""


@pytest.mark.parametrize("runs", [run, pytest.param(run_in_processes, id="in processes")])
def test_what_all_devices_have_alike_is_no_row(runs: object) -> None:
    assert callable(runs)
    files = {body: {"main.py": BROADCAST.replace("BODY", body)} for body in ("s", "doubled(s)")}
    found = runs([Program(body, before, {**before, **fix_files(before, "auto")}) for body, before in files.items()])
    assert {one.name: one.text for one in found if one.verdict != "agrees"} == {}


def test_calls_of_the_host_keep_to_their_process() -> None:
    files = {"main.py": GUARDED}
    (found,) = run_in_processes([Program("guarded", files, {**files, **fix_files(files, "auto")})])
    assert (found.verdict, found.text) == ("agrees", "")
