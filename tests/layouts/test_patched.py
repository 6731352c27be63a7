"""Functions of JAX that a program replaces: what draws numbers is taken to go on doing that, by a named assumption."""

from __future__ import annotations

import pytest

from tests.layouts.test_presumed import both, layouts, plan

MAIN = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)


def fast(key, p=0.5, shape=()):
    {body}


def step(w, x, key):
    kept = jax.random.bernoulli(key, 0.5, w.shape)
    grad = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    {update}


{patch} = fast
p_step = jax.pmap(step, axis_name="i")
w, keys = jax_utils.replicate(jnp.ones(3)), jax.random.split(jax.random.PRNGKey(0), jax.local_device_count())
for _ in range(2):
    w = p_step(w, shard(X), keys)
RESULT = np.asarray(jax_utils.unreplicate(w)).tolist()
"""
BODY, UPDATE = "return jnp.arange(3) % 2 == 0", "return w - 0.1 * jax.lax.pmean(grad * kept, 'i')"
WORDS = {"body": BODY, "update": UPDATE, "patch": "jax.random.bernoulli"}


def files(**words: str) -> dict[str, str]:
    """The program with some of its words replaced."""
    return {"main.py": MAIN.format(**{**WORDS, **words})}


def test_a_faster_bernoulli_is_named_and_changes_nothing() -> None:
    assert layouts(plan(files(), "auto"))[0] == ["stacked"] * 3
    found = plan(files())
    assert layouts(found) == (["replicated", "split", "stacked"], ["replicated"])
    told = [one.says for site in found.sites for one in site.assumed]
    assert "monkeypatching `jax.random.bernoulli` does not affect this mapped function" in told
    before, after = both("faster", files(), found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize("patch", ["jax.lax.pmean", "jax.numpy.mean", "jax_utils.unreplicate", "jax.device_get"])
def test_what_does_not_draw_is_not_presumed_to_stay_what_it_is(patch: str) -> None:
    assert set(layouts(plan(files(patch=patch)))[0]) == {"stacked"}


def test_draws_that_are_not_averaged_differ_all_the_same() -> None:
    update = "return w - 0.1 * jax.lax.pmean(grad, 'i') * kept"
    found = plan(files(body="return jnp.arange(3) < jax.lax.axis_index('i')", update=update))
    assert layouts(found)[1] == ["stacked"]


def test_what_is_drawn_over_the_axis_shows_only_in_what_the_assumption_names() -> None:
    body = "return jax.random.uniform(jax.random.PRNGKey(jax.lax.axis_index('i')), shape) < p"
    program = files(body=body, update="return w - 0.1 * jax.lax.pmean(grad, 'i') * jnp.mean(w) + 0 * kept")
    before, after = both("over the axis", program, plan(program))
    assert before["result"] == after["result"]


IN_FORCE = """\
import jax
import jax.experimental.maps
import jax.numpy as jnp
from flax import jax_utils
from flax.training.common_utils import shard


def main(batches, mesh):
    jax.experimental.maps.{target} = jax.experimental.maps.ResourceEnv(physical_mesh=mesh, loops=())
    p_step = jax.pmap(lambda w, x: w - jax.lax.pmean(x.mean(0), "i"), axis_name="i")
    w = jax_utils.replicate(jnp.ones(3))
    for x in batches:
        w = p_step(w, shard(x))
    return jax_utils.unreplicate(w)
"""


@pytest.mark.parametrize(("target", "found"), [("thread_resources.env", "replicated"), ("thread_resources", "stacked")])
def test_entering_a_mesh_by_hand_changes_no_map(target: str, found: str) -> None:
    assert layouts(plan({"main.py": IN_FORCE.format(target=target)}, "auto"))[0][0] == found


SETTING = """\
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

X = np.sin(np.arange(48, dtype=np.float32)).reshape(16, 3)
{setting}


def step(w, x):
    grad = jax.grad(lambda w: jnp.mean((x @ w) ** 2))(w)
    return w - 0.1 * jax.lax.pmean(grad, "i")


p_step = jax.pmap(step, axis_name="i")
w = jax_utils.replicate(jnp.ones(3))
for _ in range(2):
    w = p_step(w, shard(X))
RESULT = np.asarray(jax_utils.unreplicate(w)).tolist()
"""


SIGNED = """\
import inspect


def signed(f):
    f.__signature__ = inspect.signature(f)
    return f


@signed
def same(x):
    return x
"""


@pytest.mark.parametrize(
    "setting",
    [
        "np.verbose = True",
        "jax.patience: int = -1",
        "jnp.note = 'run 3'",
        "jax.default_matmul_precision = jnp.float32",
        "if jax.device_count() > 1:\n    jax.default_matmul_precision = 'high'",
        "import builtins\nbuiltins.bfloat16 = jnp.bfloat16",
        "import builtins\nbuiltins.noted = print",
        SIGNED,
    ],
)
def test_a_number_put_into_a_library_is_no_function(setting: str) -> None:
    program = {"main.py": SETTING.format(setting=setting)}
    found = plan(program, "auto")
    assert layouts(found) == (["replicated", "split"], ["replicated"])
    before, after = both(setting, program, found)
    assert (before["error"], after["error"]) == ("", "")
    assert before["result"] == after["result"]


@pytest.mark.parametrize(
    "setting",
    [
        "jax.nn.relu.__wrapped__ = 0",
        "np.verbose = print",
        "jnp.ndarray.__array_priority__ = 3",
        "np.ndarray = 3",
        "jax_utils.replicate = None",
        "jax.lax.pmean = 1",
        "if jax.process_index() == 0:\n    np.pi = 3.0",
        "jnp.pi = float(jax.process_index())",
        "np.interval = jax.device_count",
        "np.float32 = np.float64",
        "import builtins\nbuiltins.sum = max",
        "import builtins\nbuiltins.mine = max\nmine([1])",
        "jax.default_matmul_precision = lambda *_: 3",
        "jnp.default_matmul_precision = 'high' if jax.process_index() else 'low'",
    ],
)
def test_what_may_be_more_than_a_setting_is_patched(setting: str) -> None:
    assert set(layouts(plan({"main.py": SETTING.format(setting=setting)}, "auto"))[0]) == {"stacked"}


PRIVATE = """\
import contextlib

import jax
import jax.numpy as jnp
from flax import jax_utils
from flax.training.common_utils import shard


@contextlib.contextmanager
def watched(compile_step):
    before = jax._src.compiler.{name}
    jax._src.compiler.{name} = compile_step
    try:
        yield
    finally:
        jax._src.compiler.{name} = before


def main(batches):
    p_step = jax.pmap(lambda w, x: w - jax.lax.pmean(x.mean(0), "i"), axis_name="i")
    w = jax_utils.replicate(jnp.ones(3))
    for x in batches:
        w = p_step(w, shard(x))
    return jax_utils.unreplicate(w)
"""


def test_private_parts_of_a_library_are_taken_to_leave_maps_alone_and_are_named() -> None:
    program = {"main.py": PRIVATE.format(name="backend_compile")}
    assert layouts(plan(program, "auto"))[0][0] == "stacked"
    found = plan(program)
    assert layouts(found)[0][0] == "replicated"
    told = [one.says for site in found.sites for one in site.assumed]
    assert "monkeypatching `jax._src.compiler.backend_compile` does not affect this mapped function" in told


@pytest.mark.parametrize("name", ["pmean", "psum", "replicate"])
def test_what_the_program_calls_itself_is_not_taken_to_stay_what_it_is(name: str) -> None:
    program = PRIVATE.format(name=name).replace("x.mean(0)", "jax.lax.psum(x.mean(0), 'i') / 8")
    assert layouts(plan({"main.py": program}))[0][0] == "stacked"
