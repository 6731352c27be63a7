"""A function around what is mapped is the map itself, below its decorators; what stands beside maps fits them.

Each program runs before and after on 8 devices, and on 2 processes of 4, and gives the same bits.
"""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.migrate.forms.running import Program, run, run_in_processes

HEAD = """
import functools
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from jax import lax

N = jax.local_device_count
def rows(scale=1.0):
    return (np.arange(N() * 6, dtype=np.float32).reshape(N(), 6) / 7 + jax.process_index()) * scale
"""
PROGRAMS = {
    "a partial that has a name": """
def step(x, y, scale):
    return lax.pmean(x * y * scale, "i"), x + y
def main():
    p_step = jax.pmap(functools.partial(step, scale=2.0), axis_name="i", donate_argnums=())
    other = jax.pmap(functools.partial(step, scale=3.0), axis_name="i")
    return p_step(rows(), rows(3.0)), other(rows(), rows(2.0))
""",
    "a partial that is returned, and one that an object has": """
def step(x, y, scale):
    return lax.pmean(x * y * scale, "i") + x
class Model:
    def __init__(self):
        self.step = jax.pmap(functools.partial(step, scale=2.0), axis_name="i")
def make(scale):
    return jax.pmap(functools.partial(step, scale=scale), "i")
def main():
    return make(3.0)(rows(), rows(3.0)), make(4.0)(rows(), rows(5.0)), Model().step(rows(), rows(2.0))
""",
    "a lambda that is called at once, and again in a loop": """
def main():
    total = [jax.pmap(lambda x, y: lax.psum(x, "i") - y, axis_name="i", in_axes=(0, 1))(rows(), rows().T)]
    for scale in (1.0, 2.0):
        step = jax.pmap(lambda x: lax.psum(x, "i") * scale, axis_name="i")
        total.append(step(rows()))
    return total
""",
    "what is out of sight, of arguments that lose no axis": """
from flax.training.common_utils import shard
def draw(w, x):
    return {"a": (x * w).sum(0), "b": x.mean()}
def main():
    step = {"draw": draw}.get("draw")
    p_step = jax.pmap(step, "i")
    x = np.arange(N() * 12, dtype=np.float32).reshape(N() * 2, 6) / 7 + jax.process_index()
    return p_step(jax_utils.replicate(jnp.arange(6.0)), shard(x))
""",
    "outputs that are split beside arguments of one process": """
class Box:
    pass
def draw(params, x, key):
    return params * x + key.sum()
def score(params, y):
    return lax.pmean(params * y.sum(), "i")
def main():
    params, box = jax_utils.replicate(jnp.arange(3.0)), Box()
    box.x = np.arange(N() * 6, dtype=np.float32).reshape(N(), 2, 3) / 7 + jax.process_index()
    p_draw = jax.pmap(draw, "i")
    p_score = jax.pmap(score, "i")
    y = p_draw(params, getattr(box, "x"), rows())
    return np.asarray(y.reshape(-1, 3)), np.asarray(jax_utils.unreplicate(p_score(params, y)))
""",
    "outputs of some maps that are the same on all devices beside split ones": """
class Box:
    pass
def train(params, x, key):
    y = params * x + key.sum()
    return lax.pmean(params * y.sum(), "i"), y
def evaluate(params, key):
    return lax.pmean(params * key.sum(), "i"), key * 2
def main():
    params, box = jax_utils.replicate(jnp.arange(3.0)), Box()
    box.x = np.arange(N() * 6, dtype=np.float32).reshape(N(), 2, 3) / 7 + jax.process_index()
    p_train = jax.pmap(train, "i")
    p_evaluate = jax.pmap(evaluate, "i")
    params, y = p_train(params, getattr(box, "x"), rows())
    loss, keys = p_evaluate(params, rows(2.0))
    return np.asarray(y.reshape(-1, 3)), np.asarray(jax_utils.unreplicate(loss)), np.asarray(keys)
""",
    "many arrays with rows": """
def step(parameters, moments, images, labels, weights, masks, positions, segments):
    return lax.pmean(parameters * images.sum() + labels.sum() * weights.sum(), "batch") + moments, masks + positions
def main():
    p, m = jax_utils.replicate(jnp.ones(3)), jax_utils.replicate(jnp.zeros(3))
    p_step = jax.pmap(step, axis_name="batch")
    p, out = p_step(p, m, rows(), rows(), rows(2.0), rows(), rows(3.0), rows())
    return np.asarray(jax_utils.unreplicate(p)), np.asarray(out)
""",
}


@pytest.fixture(scope="module")
def here() -> dict[str, str]:
    return {v.name: v.verdict + v.text for v in run(programs())}


@pytest.fixture(scope="module")
def in_processes() -> dict[str, str]:
    return {v.name: v.verdict + v.text for v in run_in_processes(programs())}


def programs() -> list[Program]:
    return [Program(name, {"main.py": HEAD + text}, {"main.py": after(name)}) for name, text in PROGRAMS.items()]


def after(name: str) -> str:
    return fix_files({"main.py": HEAD + PROGRAMS[name]}, "auto")["main.py"]


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_agree(name: str, here: dict[str, str]) -> None:
    assert here[name] == "agrees"


@pytest.mark.parametrize("name", PROGRAMS)
def test_they_agree_in_two_processes(name: str, in_processes: dict[str, str]) -> None:
    assert in_processes[name] == "agrees"


def test_what_is_mapped_has_its_decorators_above_it() -> None:
    text = after("a partial that has a name").replace("\n", " ").replace("    ", "")
    assert text.count("@jax.jit @shard_map def ") == 2
    assert "def p_step(x, y):" in text
    assert "_per_device" not in text
    assert "donate_argnums" not in text


def test_what_stays_global_is_said_of_each_map_with_such_outputs() -> None:
    text = after("outputs of some maps that are the same on all devices beside split ones")
    assert "is_fully_replicated" not in text
    assert text.count("out_specs=(P(), P") >= 2


PREPARES = """
import jax
import numpy as np
from flax import jax_utils


def prepare(xs):
    count = jax.local_device_count()

    def each(x):
        # reshape (host_batch_size, width) to
        # (local_devices, device_batch_size, width)
        return x.reshape((count, -1) + x.shape[1:])

    return jax.tree.map(each, xs)


@jax.pmap
def step(w, x):
    \"\"\"A pmapped step.\"\"\"
    # pmap sums over all devices, `pmap(f)` too.
    return w * x.sum()


def main(files):
    replicate = lambda tree: jax_utils.replicate(tree)
    w = replicate(np.ones(3))
    # Pmap (and compile) the norm.
    norm = jax.pmap(lambda w: jax.lax.pmean(w, "i"), "i")
    for x in map(prepare, files):
        w = norm(step(w, x))
        print(f"{x.shape[1]} on each device")
    return jax_utils.unreplicate(w)


if __name__ == "__main__":
    main(np.load("x.npy"))
"""


def test_comments_beside_a_map_are_true() -> None:
    text = fix_files({"main.py": PREPARES}, "auto")["main.py"]
    assert "# reshape" not in text
    assert "# (local_devices" not in text
    assert '"""A sharded step."""' in text
    assert "# pmap sums over all devices, `pmap(f)` too." in text  # code in words
    assert "# shard_map (and compile) the norm." in text


def test_a_number_in_a_string_stands_bare() -> None:
    text = fix_files({"main.py": PREPARES}, "auto")["main.py"]
    assert "{x.shape[0] // jax.device_count()} on each device" in text


def test_a_lambda_that_nobody_calls_any_more_goes() -> None:
    text = fix_files({"main.py": PREPARES}, "auto")["main.py"]
    assert "replicate = lambda" not in text


FLAT = {
    "run.py": "import jax\nimport sampling\nfrom models import layers\n"
    "def main(x):\n    return jax.pmap(lambda x: jax.lax.psum(x, 'i'), 'i')(x), sampling.draw(x), layers.X\n"
    "N = jax.process_index()\n",
    "sampling.py": "import jax\nfrom models import layers\n"
    "def draw(x):\n    return jax.pmap(lambda x: jax.lax.psum(x, 'i'), 'i')(x), layers.X\n",
    "models/__init__.py": "",
    "models/layers.py": "X = 1\n",
}


def test_what_files_share_stands_beside_them() -> None:
    text = fix_files(FLAT)
    assert "sharding.py" in text
    assert "models/sharding.py" not in text
    assert "from sharding import " in text["run.py"]


def test_a_file_that_calls_jax_numpy_np_has_another_name_for_numpy() -> None:
    text = PREPARES.replace("import numpy as np", "import jax.numpy as np") + "\n\njax.jit(len, donate_argnums=0)\n"
    after = fix_files({"main.py": text}, "auto")["main.py"]
    assert "import numpy as onp\n" in after
    assert "_np" not in after


MAKES = '''\
import jax


# The pmapped rendering function.
def create(model):
    """Creates pmap'ed function for full image rendering.

    It is pmapped.
    """
    # what pmap would do with it is another question

    def render(x):
        return jax.lax.all_gather(model(x), axis_name="batch")

    render_p = jax.pmap(render, axis_name="batch")
    return render_p
'''


def test_the_head_of_a_function_that_makes_a_map_says_so() -> None:
    after = fix_files({"main.py": MAKES})["main.py"]
    assert "# The sharded rendering function.\ndef create" in after
    assert "\n    It is sharded.\n" in after
    assert "# what shard_map would do with it" in after
    said = '"""Creates sharded function for full image rendering.'
    assert said in after
    after = fix_files({"main.py": MAKES.replace("It is pmapped.", "It is pmapped. see `pmap(f)`")})["main.py"]
    assert "Creates pmap'ed function" in after  # beside a word that stays
    long = f"It is pmapped. {'x' * 52} pmap"
    assert long in fix_files({"main.py": MAKES.replace("It is pmapped.", long)})["main.py"]
    kept = MAKES.replace("    return render_p", "    return render_p, getattr(jax, name).pmap(model)")
    after = fix_files({"main.py": kept.replace("create(model", "create(model, name")})["main.py"]
    assert "# The pmapped rendering function.\ndef create" in after


COMMENTED = """
import jax


def main(step, batches, state):
    ### Build "pmapped" functions for training
    p_step = jax.pmap(
        step,
        axis_name="batch",
        in_axes=(None, 0),  # in_axes says which are split
        # static_broadcasted_argnums=(2,),
        # donate_argnums=(0, 1))
        # the axis of pmean
    )
    # convert the pmap-sharded state, as in the call to `pmap(...step...)` above
    for batch in batches:
        state = p_step(state, batch)
    return state
"""


def test_comments_of_arguments_go_with_them() -> None:
    after = fix_files({"main.py": COMMENTED})["main.py"]
    said = [line.strip() for line in after.splitlines() if "#" in line]
    assert said == [
        '### Build "sharded" functions for training',
        "# the axis of pmean",
        "# convert the sharded state, as in the call to `shard_map(...step...)` above",
    ]


def test_comments_of_arguments_stay_with_other_calls() -> None:
    lines = "    # donate_argnums=(0, 1)\n    f = jax.tree_map(\n        len,  # in_axes=0\n        state\n    )\n"
    after = fix_files({"main.py": COMMENTED.replace("    for batch", f"{lines}    for batch")})["main.py"]
    assert "# donate_argnums=(0, 1)\n" in after
    assert "# in_axes=0" in after


TYPED = '''
import functools

import jax
import jax.numpy as jnp


@functools.partial(jax.pmap, axis_name="batch")
def step(state: dict, batch: {type}) -> dict:
    """One step."""

    # the gradient
    return jax.tree.map(lambda x: jax.lax.psum(x * batch.sum(), "batch"), state)
'''


def test_a_function_around_a_map_has_the_types_and_the_docstring() -> None:
    after = fix_files({"main.py": TYPED.replace("{type}", "jax.Array")})["main.py"]
    assert 'def step(state: dict, batch: jax.Array) -> dict:\n    """One step."""\n    return jax.shard_map(' in after
    assert "def step_per_device(state: dict, batch: jax.Array) -> dict:\n    # the gradient" not in after  # it squeezes
    assert after.count("One step.") == 1


@pytest.mark.parametrize("kind", ['Float[jax.Array, "n d"]', "Float[jax.Array, 'n d'] | None"])
def test_types_with_shapes_are_those_of_slices(kind: str) -> None:
    after = fix_files({"main.py": TYPED.replace("{type}", kind)})["main.py"]
    assert "def step(state, batch):" in after


def test_other_decorators_may_read_types() -> None:
    after = fix_files({"main.py": TYPED.replace("{type}", "jax.Array").replace("@functools", "@check\n@functools")})
    assert "def step(state, batch):" in after["main.py"] or "pmap" in after["main.py"]


def test_an_annotated_method_keeps_its_types() -> None:
    text = (
        TYPED.replace("{type}", "jax.Array")
        .replace('@functools.partial(jax.pmap, axis_name="batch")', "class Trainer:\n@STATIC")
        .replace("(state: dict", "(self, state: dict")
    )
    head, _, body = text.partition("class Trainer:\n")
    method = "".join(f"    {line}\n" if line else "\n" for line in body.split("\n"))
    static = '@functools.partial(jax.pmap, axis_name="batch", static_broadcasted_argnums=0)'
    after = fix_files({"main.py": f"{head}class Trainer:\n{method}".replace("@STATIC", static)})["main.py"]
    assert '    def step(self, state: dict, batch: jax.Array) -> dict:\n        """One step."""\n' in after


OF_OUT_OF_SIGHT = """\
import importlib

import jax
import jax.numpy as jnp
import numpy as np
from flax.jax_utils import replicate
from flax.training.common_utils import shard

make = importlib.import_module("operator").attrgetter
step = make("STEP")(importlib.import_module("main"))


def run(x):
    p_step = jax.pmap(step, "i")
    return p_step(replicate(jnp.ones(2)), shard(x))


if __name__ == "__main__":
    print(np.asarray(run(np.arange(32.0).reshape(16, 2))).shape)
"""


def test_what_only_gets_an_axis_at_its_end_is_called_with_a_star() -> None:
    after = fix_files({"train.py": OF_OUT_OF_SIGHT}, layout="auto")["train.py"]
    assert "def per_device" not in after
    assert "def p_step(*args):\n" in after
    assert "expand_dims(x, 0), step(*args))\n" in after
