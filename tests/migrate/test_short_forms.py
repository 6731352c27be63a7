"""Sites that are written in less lines than the general form takes: each is run before and after, and must agree."""

from __future__ import annotations

from pathlib import Path

import pytest

from jaxmigrate.codemod.style import Style
from jaxmigrate.migrate import fix_files, plan_sources
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.style import style_of
from jaxmigrate.program.declarations import Declarations
from jaxmigrate.program.modules import parse_module
from tests.layouts.running import Program, run

HEAD = """
import functools
import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

X = np.arange(48, dtype=np.float32).reshape(8, 6) / 7
Y = np.linspace(0, 1, 48, dtype=np.float32).reshape(8, 6)
COUNT = jax.device_count
"""
ONLY_REDUCE = {
    "lambda": "mean = jax.pmap(lambda x: lax.pmean(x, 'x'), 'x')\nRESULT = mean({'a': X, 'b': X[:, 0]})\n",
    "def": "def total(tree):\n    '''Sums.'''\n    return lax.psum(tree, 'i')\nRESULT = jax.pmap(total, 'i')((X, Y))\n",
    "tree": "RESULT = jax.pmap(lambda t: jax.tree.map(lambda v: lax.pmax(v, 'i'), t), 'i')([X, Y])\n",
    "two": "RESULT = jax.pmap(lambda x, y: (lax.pmean(x, 'i'), y), 'i')(X, Y)\n",
}
SEE_AXES = {
    "sum": "RESULT = jax.pmap(lambda x: lax.psum(x.sum(0), 'i'), 'i')(X)\n",
    "product": "RESULT = jax.pmap(lambda x: lax.psum(x @ x, 'i'), 'i')(X)\n",
    "gather": "RESULT = jax.pmap(lambda x: lax.all_gather(x, 'i'), 'i')(X)\n",
    "stack": "RESULT = jax.pmap(lambda x, y: jnp.stack([lax.psum(x, 'i'), y]), 'i')(X, Y)\n",
    "shape": "RESULT = jax.pmap(lambda t: jax.tree.map(lambda v: lax.psum(v, 'i') * len(v), t), 'i')([X])\n",
    "default": "def f(x, y=2.0):\n    return lax.psum(x, 'i')\nRESULT = jax.pmap(f, 'i')(X)\n",
    "in_axes": "RESULT = jax.pmap(lambda x, y: (lax.psum(x, 'i'), y), 'i', in_axes=(0, None))(X, Y)\n",
    "out_axes": "RESULT = jax.pmap(lambda x: lax.psum(x, 'i'), 'i', out_axes=1)(X)\n",
}
KEYWORDS = {
    "partial_between": """
def step(state, batch, config, rng):
    return state + config * lax.pmean(batch, 'i') + rng
p = jax.pmap(functools.partial(step, config=2.0), 'i')
RESULT = p(X, Y, rng=X), p(Y, X, rng=Y)
""",
    "several_in_two_orders": """
def step(state, *, batch, rng):
    return state + lax.pmean(batch, 'i') - rng
p = jax.pmap(step, 'i')
RESULT = p(X, batch=Y, rng=X), p(X, rng=X, batch=Y)
""",
    "out_of_order": """
def step(a, b, c=1.0):
    return a - lax.pmean(b, 'i') * c
p = jax.pmap(step, 'i')
RESULT = p(b=X, a=Y), p(a=X, b=Y)
""",
    "into_double_star": """
def step(state, **more):
    return state + lax.psum(more['batch'], 'i') * more['rng']
p = jax.pmap(step, 'i')
RESULT = p(X, batch=Y, rng=X)
""",
}
HIDDEN = {
    "mapped": "def x(x, y):\n    return x + lax.pmean(y, 'i')\n\n\np_x = jax.pmap(x, 'i')\nRESULT = p_x(X, Y)\n",
    "jax": "def f(jax, P):\n    return jax + lax.pmean(P, 'i')\n\n\np_f = jax.pmap(f, 'i')\nRESULT = p_f(X, Y)\n",
    "decorated": """
@functools.partial(jax.pmap, axis_name='i')
def f(x, get_mesh):
    return x + lax.pmean(get_mesh, 'i')
RESULT = f(X, Y)
""",
    "keyword": "def y(x, y):\n    return x + lax.pmean(y, 'i')\n\n\np_y = jax.pmap(y, 'i')\nRESULT = p_y(X, y=Y)\n",
}
KEYS = {
    "its numbers": "RESULT = jax.pmap(lambda key: jax.random.normal(key, (3,)))(K)\n",
    "a lambda": "RESULT = jax.pmap(lambda key: tuple(jax.random.split(key)))(K)\n",
    "read once": """
def step(state, batch, rng):
    rng, own = jax.random.split(rng)
    return state + lax.pmean(batch, 'i') * jax.random.normal(own, batch.shape), rng
RESULT = jax.pmap(step, 'i')(X, Y, K)
""",
    "read often": """
def step(batch, rng):
    noise = jax.random.normal(rng, batch.shape)
    return batch * noise + lax.pmean(jax.random.uniform(jax.random.fold_in(rng, 1)), 'i')
RESULT = jax.pmap(step, 'i')({'a': X}['a'], K)
""",
}
TREES = {  # of keys, or None
    "a tuple": """
def step(x, key):
    key, other = key
    return x + jax.random.normal(key, x.shape) * jax.random.uniform(other)
RESULT = jax.pmap(step, 'i')(X, (K, K))
""",
    "none at all": """
def step(x, key):
    if key is not None:
        x = x + jax.random.normal(key, x.shape)
    return x
RESULT = jax.pmap(step, 'i')(X, None)
""",
    "one or another": """
def step(x, key):
    return x if key is None else x + jax.random.normal(key, x.shape)
RESULT = jax.pmap(step, 'i')(X, None)
""",
    "left before": """
def step(x, key):
    if key_is_none:
        return x
    return x + jax.random.normal(key, x.shape)
key_is_none = True
RESULT = jax.pmap(step, 'i')(X, None)
""",
    "bound anew": """
def step(x, key):
    key = jax.random.PRNGKey(3)
    return x + jax.random.normal(key, x.shape)
RESULT = jax.pmap(step, 'i')(X, {'a': Y})
""",
}
OWN_NAMES = {
    "a local name": """
def step(x, y):
    return x + lax.pmean(y, 'i')
def make(step):
    step = jax.pmap(step, 'i', donate_argnums=0)
    def run(x, y):
        return step(x, y)
    return run
def call(step, **more):
    return step(x=1.0, **more)
RESULT = make(step)(X + 0, Y)
assert call(lambda x, y: x + y, y=1.0) == 2.0
""",
    "an attribute": """
def step(x, y):
    return x + lax.pmean(y, 'i')
def call(step, **more):
    return step(x=1.0, **more)
class Trainer:
    def __init__(self):
        self.step = jax.pmap(jax.vmap(step), 'i')
trainer = Trainer()
RESULT = trainer.step(X, Y)
assert call(lambda x, y: x + y, y=1.0) == 2.0
def host(x):
    return call(step, x=x)
""",
    "a parameter": """
def run(mapped, x, y):
    return mapped(x, y)
def main():
    def step(x, y):
        return x + lax.pmean(y, 'i')
    return run(jax.pmap(step, 'i'), X, Y)
def call(mapped, **more):
    return mapped(x=1.0, **more)
RESULT = main()
assert call(lambda x, y: x + y, y=1.0) == 2.0
""",
}
LEADS_ON = {
    "a field": """
from typing import Any, NamedTuple
class Fns(NamedTuple):
    step: Any
def make():
    step = jax.pmap(lambda x, y: x + lax.pmean(y, 'i'), 'i')
    return Fns(step)
fns = make()
RESULT = fns.step(X, y=Y)
""",
    "a loop": """
def main(step):
    for _ in range(2):
        step = jax.pmap(step, 'i') if _ else (lambda x, y: x + lax.pmean(y, 'i'))
    return step(X, y=Y)
RESULT = main(None)
""",
    "a closure": """
def make():
    def step(x, y):
        return x + lax.pmean(y, 'i')
    mapped = jax.pmap(step, 'i')
    def run():
        return mapped(X, y=Y)
    return run
RESULT = make()()
""",
}
RETURNS = {
    "names": "return state, loss, key",
    "some": "return state, lax.pmean(loss, 'i'), key",
    "calls": "return state * 2, jax.tree.map(jnp.sin, {'a': loss, 'b': state}), jnp.cos(key), loss.sum()",
    "long": "return {\n        'the_state': state,\n        'loss': loss,  # as it is\n        'key': key + 1,\n    }",
    "out_is_taken": "out = state\n    return {'the_state': out, 'loss': loss, 'the_next_key': key + 1}",
}
STEP = """
def step(state, key):
    loss = jax.tree.map(jnp.multiply, state, key)
    {returned}

p_step = jax.pmap(step, 'i')
RESULT = p_step(X, Y)
"""


def agree(text: str, after: str) -> None:
    """Both run, and give the same bits."""
    found = run([Program("before", {"main.py": text}), Program("after", {"main.py": after})])
    before, now = ({k: v for k, v in found[name].items() if k != "name"} for name in ("before", "after"))
    assert before["error"] is None or not before["error"]
    assert before == now


@pytest.mark.parametrize("name", ONLY_REDUCE)
def test_what_only_reduces_is_mapped_as_it_is(name: str) -> None:
    text = HEAD + ONLY_REDUCE[name]
    after = fix_files({"main.py": text})["main.py"]
    assert "squeeze" not in after
    assert "jax.shard_map(" in after
    agree(text, after)


@pytest.mark.parametrize("name", SEE_AXES)
def test_what_sees_its_axes_is_not(name: str) -> None:
    text = HEAD + SEE_AXES[name]
    after = fix_files({"main.py": text})["main.py"]
    assert "squeeze" in after
    agree(text, after)


@pytest.mark.parametrize("name", KEYWORDS)
def test_arguments_by_keyword_keep_their_names(name: str) -> None:
    text = HEAD + KEYWORDS[name]
    after = fix_files({"main.py": text})["main.py"]
    assert "shard_map_stacked" not in after
    agree(text, after)


@pytest.mark.parametrize("name", KEYS)
def test_keys_lose_their_axis_as_arrays(name: str) -> None:
    text = f"{HEAD}K = jax.random.split(jax.random.PRNGKey(0), 8)\n{KEYS[name]}"
    after = fix_files({"main.py": text})["main.py"]
    assert "rng.squeeze(0)" in after or "(key.squeeze(0)" in after or name == "read often" or "batch, rng = " in after
    assert "def split_per_device" not in after
    assert name != "its numbers" or "lambda key: jax.random.normal(key.squeeze(0), (3,))[None]" in after
    agree(text, after)


@pytest.mark.parametrize("name", TREES)
def test_what_may_be_no_key_is_a_tree(name: str) -> None:
    text = f"{HEAD}K = jax.random.split(jax.random.PRNGKey(0), 8)\n{TREES[name]}"
    agree(text, fix_files({"main.py": text})["main.py"])


@pytest.mark.parametrize("name", OWN_NAMES)
def test_what_others_call_by_a_name_is_nothing_to_a_map(name: str) -> None:
    text = HEAD + OWN_NAMES[name]
    after = fix_files({"main.py": text})["main.py"]
    assert "shard_map_stacked" not in after
    agree(text, after)


@pytest.mark.parametrize("name", LEADS_ON)
def test_calls_by_keyword_are_found_wherever_a_map_goes(name: str) -> None:
    text = HEAD + LEADS_ON[name]
    agree(text, fix_files({"main.py": text})["main.py"])


@pytest.mark.parametrize("name", HIDDEN)
def test_parameters_hide_no_name_that_the_map_needs(name: str) -> None:
    text = HEAD + HIDDEN[name]
    agree(text, fix_files({"main.py": text})["main.py"])


def test_what_is_mapped_as_it_is_now_gets_a_name() -> None:
    text = (
        HEAD
        + """
def step(state, batch, rng, rate):
    return state + rate * lax.pmean(batch, 'i') - rng
def main(rate):
    p = jax.pmap(functools.partial(step, rate=rate['rate']), 'i')
    rate['rate'] = 3.0
    return p(X, batch=Y, rng=X)
RESULT = main({'rate': 2.0})
"""
    )
    after = fix_files({"main.py": text})["main.py"]
    assert "step_fn = functools.partial(step, rate=rate['rate'])" in after
    agree(text, after)


def test_what_is_lowered_can_still_be() -> None:
    text = (
        HEAD
        + """
@functools.partial(jax.pmap, axis_name='i')
def f(x, y):
    return x + lax.pmean(y, 'i')
assert len(X) == jax.local_device_count()
RESULT = f.lower(X, Y).compile()(X, Y)
"""
    )
    agree(text, fix_files({"main.py": text})["main.py"])


@pytest.mark.parametrize("name", RETURNS)
def test_outputs_get_their_axis_back_together(name: str) -> None:
    text = HEAD + STEP.format(returned=RETURNS[name])
    after = fix_files({"main.py": text})["main.py"]
    assert after.count("expand_dims") == 1
    assert name != "long" or "# as it is" in after
    agree(text, after)


def test_calls_that_differ_in_their_keywords_go_by_stars() -> None:
    text = HEAD + "def f(a, b=1.0, **k):\n    return a * b\np = jax.pmap(f, 'i')\nRESULT = p(X, b=Y), p(X), p(X, c=X)\n"
    after = fix_files({"main.py": text})["main.py"]
    assert "def p(*args, **kwargs):" in after
    assert "shard_map_stacked" not in after
    agree(text, after)


SCRIPT = """import jax

if __name__ == '__main__':
    p = jax.pmap(lambda x: x.sum(), 'i')
    print(p(jax.device_count()))
"""


def written(folder: Path) -> dict[str, str]:
    """What fix writes into the files of a folder, by name."""
    found = [(p.relative_to(folder).as_posix(), p, p.read_text()) for p in sorted(folder.rglob("*.py"))]
    plan, _ = plan_sources(found, PlanOptions("stacked"))
    return {file.path: file.after for file in plan.files}


def test_scripts_of_one_folder_share_a_module(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "scripts").mkdir()
    for name in ("a.py", "b.py"):
        (tmp_path / "scripts" / name).write_text(SCRIPT)
    after = written(tmp_path)
    assert sorted(after) == ["scripts/a.py", "scripts/b.py", "scripts/sharding.py"]
    assert "from sharding import get_mesh\n" in after["scripts/a.py"]
    assert "def get_mesh" not in after["scripts/a.py"]


@pytest.mark.parametrize("how", ["README.md", "run.sh", "package", "imported"])
def test_scripts_that_run_as_modules_have_their_own(tmp_path: Path, how: str) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "scripts").mkdir()
    for name in ("a.py", "b.py"):
        (tmp_path / "scripts" / name).write_text(SCRIPT)
    if how == "package":
        (tmp_path / "scripts" / "__init__.py").write_text("")
    elif how == "imported":
        for name in ("a.py", "b.py"):
            (tmp_path / "scripts" / name).write_text(SCRIPT.replace("if __name__ == '__main__':", "def main():"))
    else:
        (tmp_path / how).write_text("python -m scripts.a --fast\npython -m scripts.b\n")
    after = written(tmp_path)
    assert "scripts/sharding.py" not in after
    assert "Mesh(jax.devices()" in after["scripts/a.py"]


def test_a_script_of_a_folder_that_others_import_as_a_package_has_its_own() -> None:
    """It runs by its path, and may be imported as a part of the package as well."""
    step = "import jax\n\np = jax.pmap(lambda x: x.sum(), 'i')\nn = jax.device_count()\n"
    after = fix_files(
        {
            "utils/script.py": f"{step}\nif __name__ == '__main__':\n    import other\n    print(other.n)\n",
            "utils/other.py": step,
            "utils/third.py": f"from utils.other import n\n{step}",
            "train.py": "from utils.other import p\n",
        }
    )
    assert "from sharding import" not in after["utils/script.py"]
    assert "from utils.sharding import" in after["utils/other.py"]


def test_what_a_package_imports_from_beside_it_shares_its_module() -> None:
    step = "import jax\n\np = jax.pmap(lambda x: x.sum(), 'i')\nn = jax.device_count()\n"
    after = fix_files({"pkg/a.py": "from .b import n\n" + step, "pkg/b.py": step, "pkg/__init__.py": ""})
    assert "from .sharding import" in after["pkg/a.py"]
    assert "from .sharding import" in after["pkg/b.py"]


COUNTED = "import jax\n\np = jax.pmap(lambda x: x.sum(), 'i')\nn = jax.device_count()\n"


def test_parts_of_a_package_share_a_module_in_it() -> None:
    files = {
        "pkg/__init__.py": "from .train import loop\nfrom . import predict\n",
        "pkg/train/__init__.py": "",
        "pkg/train/loop.py": "from .more import m\n" + COUNTED,
        "pkg/train/more.py": "m = 1\n",
        "pkg/predict/__init__.py": "from .one import n\n",
        "pkg/predict/one.py": "from .two import m\n" + COUNTED,
        "pkg/predict/two.py": "m = 1\n",
    }
    after = fix_files(files)
    assert [name for name, text in after.items() if "def get_mesh" in text] == ["pkg/sharding.py"]
    assert all("from ..sharding import" in after[name] for name in ("pkg/train/loop.py", "pkg/predict/one.py"))
    apart = fix_files({**files, "pkg/__init__.py": ""})  # they may be packages of their own
    assert "pkg/sharding.py" not in apart


def test_packages_side_by_side_share_a_module_of_the_one_that_the_others_import() -> None:
    files = {
        "tools/__init__.py": "",
        "tools/a.py": "from tools.b import m\n" + COUNTED,
        "tools/b.py": "m = 1\n",
        "core/__init__.py": "",
        "core/c.py": "from core.d import m\nfrom tools.b import m\n" + COUNTED,
        "core/d.py": "m = 1\n",
    }
    after = fix_files(files)
    assert [name for name, text in after.items() if "def get_mesh" in text] == ["tools/sharding.py"]
    assert all("from tools.sharding import" in after[name] for name in ("tools/a.py", "core/c.py"))
    apart = fix_files({**files, "core/c.py": "from core.d import m\n" + COUNTED})  # one may be installed alone
    assert "tools/sharding.py" not in apart


AROUND = "from core.d import m\n" + COUNTED + "if __name__ == '__main__':\n    print(n)\n"
SCRIPTS = {
    "core/__init__.py": "",
    "core/c.py": "from core.d import m\n" + COUNTED,
    "core/d.py": "m = 1\n",
    "train.py": AROUND,
}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("eval.py", SCRIPT),  # beside the package
        ("tools/eval.py", "import sys\nsys.path.append('..')\nfrom core.d import m\nimport near\n" + SCRIPT),
        ("tools/eval.py", "from util.e import m\nimport near\n" + SCRIPT),
    ],
)
def test_scripts_import_what_the_package_that_they_reach_has(name: str, text: str) -> None:
    more = {"util/__init__.py": "", "util/e.py": "m = 1\n", "tools/near.py": "m = 1\n"}
    after = fix_files({**SCRIPTS, **more, name: text})
    assert "from core.sharding import get_mesh\n" in after[name]
    assert [path for path, text in after.items() if "def get_mesh" in text] == ["core/sharding.py"]


def test_scripts_stay_with_those_that_cannot_import_the_package() -> None:
    """They share a module with what stands beside them."""
    beside = {"near.py": COUNTED, "eval.py": "import near\n" + SCRIPT}
    files = {name: text for name, text in SCRIPTS.items() if name != "train.py"}
    after = fix_files({**files, **beside})
    assert "from sharding import get_mesh" in after["eval.py"]
    assert "from sharding import get_mesh" in after["near.py"]


def test_scripts_share_a_module_of_the_package_that_the_others_import() -> None:
    files = {name: text for name, text in SCRIPTS.items() if name != "core/c.py"}
    after = fix_files({**files, "test.py": AROUND, "eval.py": SCRIPT})
    assert [path for path, text in after.items() if "def get_mesh" in text] == ["core/sharding.py"]


@pytest.mark.parametrize(
    ("name", "text", "more"),
    [
        ("eval.py", SCRIPT, {"core/__init__.py": "import of_core_alone\n"}),
        ("tools/eval.py", SCRIPT, {}),
        ("tools/eval.py", "from util.e import m\nimport near\n" + SCRIPT, {"tools/core.py": ""}),
        ("tools/eval.py", "from util.e import m\nimport near\n" + SCRIPT, {"tools/core/a.py": ""}),
    ],
)
def test_scripts_that_may_not_reach_it_have_their_own(name: str, text: str, more: dict[str, str]) -> None:
    near = {"util/__init__.py": "", "util/e.py": "m = 1\n", "tools/near.py": "m = 1\n"}
    assert "core.sharding" not in fix_files({**SCRIPTS, **near, name: text, **more})[name]


def test_files_that_no_import_can_name_are_scripts(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "__init__.py").write_text("")
    for name in ("train-a.py", "train-b.py"):
        (tmp_path / name).write_text(COUNTED)
    after = written(tmp_path)
    assert "from sharding import" in after["train-a.py"]
    assert "def get_mesh" in after["sharding.py"]


def test_a_file_has_only_what_it_needs_of_a_shared_function() -> None:
    """Another program of the same run may need more of it."""
    guard = "import jax\nN = jax.device_count(), jax.process_index()\n"
    call = "jax.pmap(f, 'i', static_broadcasted_argnums=1)(X, 2)"
    one = guard + f"def f(x, n): return jax.lax.psum(x, 'i') * n\nRESULT = {call}\n"
    two = guard + "def g(x): return jax.lax.psum(x, 'j')\nRESULT = jax.pmap(g, 'j')(X)\n"
    after = fix_files({"one/main.py": one, "two/main.py": two})
    assert "def host_local(mapped):\n" in after["one/main.py"]
    assert ["hasattr(x" in after[name] for name in ("one/main.py", "two/main.py")] == [True, False]


@pytest.mark.parametrize(
    ("text", "fills"),
    [
        ("f(a,\n  b, c)\ng(1, 2,\n  3)\n", True),
        ("f(a,\n  b, c)\n", False),
        ("f(\n    a, b, c\n)\ng(\n    a,\n    b,\n)\n", False),
        ("def f(a, b,\n      c):\n    return [1, 2,\n        3]\n", True),
        ("f(a,\n  b, c)\ng(1, 2,\n  3)\n" + "h(\n    a,\n    b,\n)\n" * 4, True),
        ("f(a,\n  b, c)\ng(1, 2,\n  3)\n" + "h(\n    a,\n    b,\n)\n" * 5, False),
    ],
)
def test_a_file_shows_whether_it_fills_its_lines(text: str, fills: bool) -> None:
    assert style_of(parse_module(Path("/p/a.py"), text)).fills is fills


def test_a_file_that_fills_its_lines_goes_on_doing_so() -> None:
    shape = "SIZES = [64, 128,\n         256]\nNAMES = ['a', 'b',\n         'c']\n"
    text = "import jax\n\ndef main(x):\n    p_step = jax.pmap(the_step_of_the_model, 'i')\n    return p_step(x), N\n"
    text += "N = jax.device_count()\n"
    filled, plain = (fix_files({"main.py": head + text})["main.py"] for head in (shape, ""))
    assert "in_specs=P('i'), out_specs=P('i'),\n        check_vma=False\n" in filled
    assert "in_specs=P('i'),\n        out_specs=P('i'),\n        check_vma=False,\n" in plain
    assert Style().fills is False


def test_an_axis_without_a_name_takes_that_of_its_own_file() -> None:
    maps = "import jax\np = jax.pmap(lambda x: jax.lax.psum(x, 'AXIS'), 'AXIS')\n"
    one = f"{maps}q = jax.pmap(lambda x: jax.lax.psum(2 * x, 'AXIS'), 'AXIS')\n".replace("AXIS", "i")
    two = f"{maps}import one\nr = jax.pmap(lambda x: 2 * x)\nN = jax.device_count()\n".replace("AXIS", "j")
    after = fix_files({"one.py": one, "two.py": two})["two.py"]
    assert "get_mesh('i')" not in after
    assert after.count("get_mesh('j')") == 2


EACH = """\
        functools.partial(
            the_step,
            scale=2.0,
            axis="i",
        ),
"""


def test_arguments_with_a_line_each_keep_theirs_in_a_file_that_fills_its_lines() -> None:
    shape = "import functools\nimport jax\nSIZES = [64, 128,\n         256]\nNAMES = ['a', 'b',\n         'c']\n"
    step = "def the_step(x, scale, axis):\n    return jax.lax.psum(x * scale, axis)\n\n"
    text = f"{shape}{step}def main(x):\n    p_step = jax.pmap(\n{EACH}        axis_name='i')\n    return p_step(x), N\n"
    after = fix_files({"main.py": f"{text}N = jax.device_count()\n"})["main.py"]
    own = [line.strip() for line in EACH.splitlines()]
    lines = [line.strip() for line in after.splitlines()]
    assert lines[lines.index(own[0]) :][: len(own)] == own


@pytest.mark.parametrize(("own", "array"), [("", True), ("class Metrics:\n    def mean(self): ...\n", False)])
def test_a_method_of_arrays_shows_one_array(own: str, array: bool) -> None:
    """On several processes the first of its copies is read, of a tree by way of its leaves."""
    text = f"""
import jax
from flax import jax_utils

def main(params, batch):
    p_step = jax.pmap(lambda p, b: jax.lax.pmean(p * b.sum(), "i"), "i")
    loss = p_step(jax_utils.replicate(params), batch.reshape(jax.local_device_count(), -1, 4))
    if jax.process_index() == 0:
        print(jax_utils.unreplicate(loss).mean())

if __name__ == "__main__":
    import numpy as np
    main(np.ones(4), np.ones((16, 4)))
{own}"""
    after = fix_files({"main.py": text}, layout="auto")["main.py"]
    assert ("loss.addressable_data(0).mean()" in after) is array
    assert ("jax.tree.map(lambda x: x.addressable_data(0), loss).mean()" in after) is not array


HANGS = """
def log(a, b):
    print(a,
          b)
    print(
        a, [b,
            a], b)
    print(
        a,
        b, a)
"""


def test_a_file_whose_brackets_close_behind_their_last_element_goes_on_doing_so() -> None:
    """What nothing but a call stands in is opened on the line of the one around it."""
    text = f"import jax\n{HANGS}\ndef main(x):\n    N = jax.device_count()\n"
    text += "    total = jax.device_get(jax.pmap(lambda x: jax.lax.psum(x, 'i'), 'i')(x))\n"
    after = fix_files({"main.py": text})["main.py"]
    assert "    total = jax.device_get(jax.jit(jax.shard_map(\n        lambda x: " in after
    assert "check_vma=False))(x))\n" in after
    assert style_of(parse_module(Path("/p/a.py"), HANGS)).hangs


def test_what_is_decorated_while_the_program_runs_stays_one_function() -> None:
    step = "    @jax.pmap\n    def step(x, y):\n        return x * rate, y.sum()\n    return step(X, Y)\n"
    text = HEAD + "N = jax.device_count()\ndef run_all(rate):\n" + step + "RESULT = globals()['run_all'](2.0)\n"
    after = fix_files({"main.py": text})["main.py"]
    assert "    @jax.jit\n    @jax.shard_map(" in after
    assert "per_device" not in after
    agree(text, after)


def test_names_above_a_map_are_new_in_their_function_only() -> None:
    one = "def {0}(x):\n    jax.process_index()\n    p = jax.pmap(lambda a: jax.lax.psum(a, 'i'), 'i')\n"
    both = f"{one}    return p(x)\n".format("f") + f"{one}    return p(x)\n".format("g")
    text = f"{HEAD}N = jax.device_count()\n{both}RESULT = globals()['f'](X), globals()['g'](Y)\n"
    after = fix_files({"main.py": text})["main.py"]
    assert after.count("    sharded_p = jax.shard_map(") == 2
    agree(text, after)


def test_a_part_of_several_lines_is_broken_anew_where_it_goes() -> None:
    text = "import jax\n\n\ndef main(model, x):\n"
    text += "    p = jax.pmap(jax.vmap(\n        model.step,\n        axis_name='j'), 'i')\n    return p(x)\n"
    after = fix_files({"main.py": text + "N = jax.device_count()\n"})["main.py"]
    assert "jax.vmap(model.step,axis_name='j')(*" in "".join(after.split())


def test_the_standard_library_is_no_package_of_the_project() -> None:
    step = "import math\nimport jax\n\np = jax.pmap(lambda x: math.pi * x.sum(), 'i')\nn = jax.device_count()\n"
    after = fix_files({"pkg/math/__init__.py": "", "pkg/sub/a.py": step, "pkg/sub/b.py": step, "pkg/__init__.py": ""})
    assert not any("math.sharding" in text for text in after.values())


CONSTRUCTOR = """
import jax

def move(x):
    return x + 1

class Base:
    def __init__(self, scale):
        self.scale = scale

class Model(Base):
    def __init__(self, scale):
        super().__init__(scale)

class Trainer(OTHER):
    def __init__(self, model):
        super().__init__(1.0)
        self.step = jax.pmap(move)

    def run(self, x):
        return self.step(x.reshape(jax.device_count(), -1))

CLASS = Base
model = MADE
"""


@pytest.mark.parametrize(
    ("other", "made", "is_direct"),
    [
        ("Base", "Model(2.0)", True),  # whose constructor calls super().__init__, and no other class does there
        ("CLASS", "Model(2.0)", True),
        ("Base", "Trainer(jax)", False),
        ("Base", "type('Late', (Trainer,), {})", True),
    ],
)
def test_a_map_in_a_constructor_is_direct_unless_an_import_makes_its_object(
    other: str, made: str, is_direct: bool
) -> None:
    text = CONSTRUCTOR.replace("OTHER", other.replace("CLASS", "Base")).replace("MADE", made)
    after = fix_files({"main.py": text})["main.py"]
    assert ("def sharded_" not in after) == is_direct
    assert "jax.shard_map(" in after


def test_a_base_that_has_another_name_runs_at_import_too() -> None:
    text = CONSTRUCTOR.replace("OTHER", "Base").replace("MADE", "Late()")
    text = text.replace("CLASS = Base", "CLASS = Trainer\n\nclass Late(CLASS):\n    pass\n")
    assert "def sharded_" in fix_files({"main.py": text})["main.py"]


NOT_STABLE = """
def scaled(by):
    return lambda x, y: x * by + lax.psum(y, 'i')
def main():
    add = jax.pmap(scaled(2.0), 'i', in_axes=(0, None))
    return add(X, Y[0])
RESULT = main()
"""


def test_what_is_mapped_has_one_pair_of_specs() -> None:
    after = fix_files({"main.py": HEAD + NOT_STABLE})["main.py"]
    assert after.count("in_specs=") == after.count("out_specs=") == 1
    assert after.count("scaled(2.0)") == 1
    agree(HEAD + NOT_STABLE, after)


ALIKE = """
def main(late):
    scale = jax.pmap(lambda x, y: x * y, 'i')
    if late:
        total = jax.pmap(lambda x, y: lax.psum(x, 'i') + y, 'i')
    else:
        total = scale
    one = jax.pmap(lambda x: lax.psum(x, 'i'), 'j')
    both = [jax.pmap(lambda x, y: x - y, 'i'), jax.pmap(lambda x, y: y - x, 'i', in_axes=(0, None))]
    return scale(X, Y), total(X, Y), both[0](X, Y), both[1](X, Y[0])
N = jax.device_count()
RESULT = globals()['main'](N > 1)
"""


def test_maps_of_one_function_say_the_same_mesh_and_specs_once() -> None:
    text = HEAD + ALIKE.replace("lax.psum(x, 'i'), 'j'", "lax.psum(x, 'j'), 'j'")
    after = fix_files({"main.py": text})["main.py"]
    assert after.count("    shard_map = functools.partial(") == 1
    assert after.count("jax.jit(shard_map(") == 3  # one of them over an axis that nothing else asks for
    assert after.count("    @shard_map\n") == 1
    assert after.count("jax.shard_map(") == 1  # with other specs
    assert fix_files({"main.py": after})["main.py"] == after
    agree(text, after)


def test_what_one_of_two_branches_makes_is_not_used_in_the_other() -> None:
    text = HEAD + (
        "def main(late):\n    if late:\n        p = jax.pmap(lambda x: lax.psum(x, 'i'), 'i')\n"
        "    else:\n        p = jax.pmap(lambda x: lax.pmean(x, 'i'), 'i')\n    return p(X)\n"
        "N = jax.device_count()\nRESULT = globals()['main'](N > 9), globals()['main'](N > 1)\n"
    )
    after = fix_files({"main.py": text})["main.py"]
    assert "functools.partial(" not in after
    agree(text, after)


ALL_ROWS = """import jax
import jax.numpy as jnp


def shard(xs):
    return jax.tree.map(lambda x: x.reshape((jax.device_count(), -1) + x.shape[1:]), xs)


@jax.pmap
def step(key, x):
    return x * jax.lax.axis_index('i')


keys = jax.random.split(jax.random.key(0), jax.local_device_count())
for batch in batches:
    batch = shard(batch)
    print(step(keys, batch).mean())
""".replace("@jax.pmap", "@functools.partial(jax.pmap, axis_name='i')").replace(
    "import jax\n", "import functools\nimport jax\n", 1
)


def test_who_only_counts_its_devices_is_one_process() -> None:
    after = fix_files({"main.py": ALL_ROWS})["main.py"]
    assert "host_local" not in after
    assert "Mesh(jax.devices(), ('i',))" in after


@pytest.mark.parametrize(
    "more",
    [
        "print(jax.process_index())",
        "jax.distributed.initialize()",
        "from jax.experimental import multihost_utils",
        "split = tfds.split_for_jax_process('train')",
    ],
)
def test_who_asks_for_its_process_may_be_one_of_several(more: str) -> None:
    after = fix_files({"main.py": ALL_ROWS + more + "\n"})["main.py"]
    assert "host_local" in after
    assert "process by process" in after
    after = fix_files({"main.py": ALL_ROWS.replace("axis_index('i')", "psum(1, 'i')") + more + "\n"})["main.py"]
    assert "process by process" in after  # a library may ask for the places of devices


@pytest.mark.parametrize(
    "more",
    [
        "if jax.process_count() > 1:\n    raise RuntimeError('one process only')",
        "def main():\n    assert jax.process_count() == 1\n",
    ],
)
def test_who_raises_as_one_of_several_is_one_process(more: str) -> None:
    after = fix_files({"main.py": f"{ALL_ROWS}{more}\n"})["main.py"]
    assert "host_local" not in after
    assert "Mesh(jax.devices(), ('i',))" in after
    others = fix_files({"main.py": f"{ALL_ROWS}{more}\n", "other.py": "import jax\nRANK = jax.process_index()\n"})
    assert "host_local" in others["main.py"]


def test_a_program_that_is_declared_to_be_several_processes_is_written_for_them() -> None:
    source = [("main.py", Path("/project/main.py"), ALL_ROWS)]
    plan, _ = plan_sources(source, PlanOptions("auto", declared=Declarations(processes=2)))
    assert "host_local" in plan.files[0].after


ONE_RETURN = """import functools
import jax
import jax.numpy as jnp


@functools.partial(jax.pmap, axis_name='i')
def step(unused, x):
    {made}
    return {value}


print(step(jnp.ones(jax.device_count()), jnp.ones((jax.device_count(), 2))))
"""


@pytest.mark.parametrize(
    ("made", "value", "is_array"),
    [
        ("pass", "jnp.mean(x)", True),
        ("loss = jnp.sum(x)", "loss", True),
        ("loss = f(x)", "loss", False),
        ("loss = jnp.sum(x)\n    loss, _ = f(x)", "loss", False),
        ("pass", "jnp.where(x)", False),
        ("pass", "jnp.where(x > 0, x, 0.0)", True),
        ("pass", "jax.lax.pmean(jnp.mean(x), 'i')", True),
        ("pass", "jax.lax.pmean(x, 'i')", False),
        ("ok = jnp.all(x) & (x > 0)", "ok", True),
        ("loss = -jnp.sum(x) / 2", "loss", True),
        ("loss = x / 2", "loss", True),
        ("loss = g(x) / 2", "loss", False),
        ("loss = x * 2", "loss", False),
        ("loss, _ = jax.value_and_grad(f)(x)", "loss", True),
        ("(loss, y), _ = jax.value_and_grad(f, has_aux=True)(x)", "loss", True),
        ("loss, _ = jax.value_and_grad(f, has_aux=True)(x)", "loss", False),
        ("y = jnp.sin(x)\n    for _ in range(2):\n        y = y @ y", "y[0].astype(int)", True),
        ("n = x.shape[0]", "n", False),
        ("loss = x.sum() / x.shape[0]", "loss", True),
        ("pass", "jnp.sum(x) is None", False),
    ],
)
def test_what_jax_numpy_gives_is_one_array(made: str, value: str, is_array: bool) -> None:
    after = fix_files({"main.py": ONE_RETURN.format(made=made, value=value)})["main.py"]
    assert (f"return {value}[None]" in after) is is_array
    assert "unused.squeeze" not in after  # what is not read keeps its axis
    assert "x.squeeze(0)" in after


def test_an_operator_stands_in_parentheses() -> None:
    after = fix_files({"main.py": ONE_RETURN.format(made="pass", value="x * jnp.mean(x) > 0")})["main.py"]
    assert "return (x * jnp.mean(x) > 0)[None]" in after
    many = " + ".join(["jnp.mean(x) * 2"] * 6)
    after = fix_files({"main.py": ONE_RETURN.format(made="pass", value=many)})["main.py"]
    assert f"    out = {many}\n    return out[None]\n" in after


def test_a_package_that_gives_names_gives_more() -> None:
    text = ALL_ROWS.replace("import functools", "from functools import partial").replace("functools.partial", "partial")
    text += "print(jax.process_index())\n"
    many = text + "".join(f"print(jax.pmap(lambda x: x, 'i')(batch + {i}))\n" for i in range(3))
    after = fix_files({"main.py": many})["main.py"]
    assert "from functools import cache, partial, wraps\n" in after
    assert "@cache\ndef get_mesh" in after
    taken = fix_files({"main.py": many + "cache = {}\n"})["main.py"]
    assert "import functools\nfrom functools import partial\n" in taken
    assert "@functools.cache\ndef get_mesh" in taken


LONG_HEAD = """import functools
import jax


def rows():
    return jax.device_count()


@functools.partial(jax.pmap, axis_name='i')
def step(a, b, c, d, e, f, g,
    h) -> 'a note of what comes back that is far too long for a line of this file, wherever it starts, of any width':
    return jax.lax.psum(a + b + c + d + e + f + g + h, 'i')
"""


def test_a_head_that_was_too_long_already_stays_as_it_is() -> None:
    after = fix_files({"main.py": LONG_HEAD})["main.py"]
    assert "def step_per_device(a, b, c, d, e, f, g,\n" in after
    assert "h) -> 'a note" in after


TWO_DECORATED = """import functools
import jax


def main(batch):
    n = jax.device_count()

    @functools.partial(jax.pmap, axis_name='the_devices')
    def train_step(state, batch):
        return jax.lax.psum(state * batch, 'the_devices')

    @functools.partial(jax.pmap, axis_name='the_devices')
    def eval_step(state, batch):
        return jax.lax.pmean(state - batch, 'the_devices')

    return train_step(batch, batch), eval_step(batch, batch)
"""


def test_decorated_functions_say_the_same_mesh_and_specs_once() -> None:
    text = HEAD + TWO_DECORATED + "\n\nRESULT = [main][0](X)  # by no name that an import would call\n"
    after = fix_files({"main.py": text})["main.py"]
    assert after.count("mesh=") == 1
    assert after.count("    @jax.jit\n    @shard_map\n") == 2
    agree(text, after)


BY_KEYWORD = """import functools
import jax


class Trainer:
    def __init__(self, update):
        self.rows = jax.device_count()
        self.update = jax.pmap(functools.partial(update, rate=0.1), axis_name='i')

    def run(self, state, batch):
        return self.update(state=state, batch=batch)
"""


def test_a_map_of_several_lines_is_a_function_and_no_lambda() -> None:
    update = "def update(state, batch, rate):\n    return state - rate * jax.lax.pmean(batch, 'i')\n\n"
    text = HEAD + BY_KEYWORD + f"\n\n{update}\nRESULT = [Trainer][0](update).run(X, X + 1)\n"
    after = fix_files({"main.py": text})["main.py"]
    assert "def sharded_update(state, batch" in after
    assert "update_fn = functools.partial(update, rate=0.1)\n" in after
    assert "self.update = jax.jit(sharded_update)\n" in after
    agree(text, after)


UNREAD = """import jax


def main(state):
    return jax.pmap(lambda _: state)(jax.numpy.arange(jax.device_count()))
"""


def test_what_a_lambda_does_not_read_keeps_its_axis() -> None:
    text = HEAD + UNREAD + "\n\nRESULT = [main][0](X)\n"
    after = fix_files({"main.py": text})["main.py"]
    assert "squeeze" not in after
    agree(text, after)


SAID = """import functools
import jax


def step(w, x):
    return jax.lax.pmean(w * x, 'i')


def main(w, x):
    # Makes the pmapped step, which pmap keeps (see https://jax.dev/pmap).
    p_step = jax.pmap(
        jax.jit(step),
        axis_name='i',
    )
    y = p_step(w, x)

    # per_device pmap: no change of `pmap(f)`
    return y, jax.pmap(functools.partial(step, x=2.0), 'i')(w)  # a jax.pmap of a part


N = jax.device_count()
"""


def test_comments_beside_a_map_say_shard_map() -> None:
    after = fix_files({"main.py": SAID})["main.py"]
    assert "# Makes the pmapped step, which pmap keeps (see https://jax.dev/pmap)." in after  # a link may be of pmap
    assert "# a jax.shard_map of a part" in after
    assert "per_device pmap: no change of `pmap(f)`" in after  # code in words
    plain = SAID.replace(" (see https://jax.dev/pmap)", "")
    said = fix_files({"main.py": plain})["main.py"]
    assert "# Makes the sharded step, which shard_map keeps.\n    shard_map = " in said


def test_a_docstring_that_the_program_reads_stays_as_it_is() -> None:
    text = HEAD + "@functools.partial(jax.pmap, axis_name='i')\ndef step(x):\n"
    text += '    """Pmapped step."""\n    return lax.psum(x, \'i\')\n\nRESULT = step(X)\n'
    assert '"""Sharded step."""' in fix_files({"main.py": text})["main.py"]
    read = text + "NAME = step.__doc__\n"
    assert '"""Pmapped step."""' in fix_files({"main.py": read})["main.py"]


def test_a_jit_that_pmap_was_given_goes() -> None:
    text = HEAD + "@jax.jit\ndef step(x):\n    return lax.psum(x, 'i')\n"
    text += "N = jax.device_count()\nRESULT = jax.pmap(jax.jit(lambda x: lax.psum(x * 2, 'i')), 'i')(X)\n"
    text += "p = jax.pmap(jax.jit(step), 'i')\nRESULT = RESULT, p(X)\n"
    after = fix_files({"main.py": text})["main.py"]
    assert after.count("@jax.jit\n@shard_map\n") == 2  # one for each map
    agree(text, after)


def test_lines_that_move_to_the_right_keep_their_steps() -> None:
    text = (
        "import functools\nimport jax\n\n\ndef main(env, keys):\n"
        "    start = functools.lru_cache(env.reset)\n"
        "    return jax.pmap(  # devices\n        jax.vmap(  # worlds\n            start,  # one\n"
        "            axis_name='j',\n        ),\n        axis_name='i',\n    )(keys)\n\n\nN = jax.device_count()\n"
    )
    after = fix_files({"main.py": text})["main.py"]
    first = next(line for line in after.splitlines() if "jax.vmap(" in line)
    inside = len(first) - len(first.lstrip())
    assert f"\n{' ' * (inside + 4)}start,  # one\n{' ' * (inside + 4)}axis_name='j',\n{' ' * inside})" in after


def test_keys_that_calls_split_lose_their_axis_where_they_are_passed() -> None:
    after = fix_files({"main.py": KEYS_OF_CALLS})["main.py"]
    assert "variables = model.init(key.squeeze(0), x)" in after
    handed_on = fix_files({"main.py": KEYS_OF_CALLS + "    keep(init)\n"})["main.py"]
    assert "key = jax.tree.map(lambda x: x.squeeze(0), key)" in handed_on  # others may give it a tree


KEYS_OF_CALLS = """
import jax
from flax.training.common_utils import shard_prng_key
from models import model, x


def main():
    model.eval()

    @jax.pmap
    def init(key):
        variables = model.init(key, x)
        return variables

    print(init(jax.random.split(jax.random.PRNGKey(0), jax.local_device_count())))
"""


def test_a_map_that_is_called_at_once_has_the_name_of_what_it_maps() -> None:
    program = """
import jax


def main(optimizer, params):
    opt_state = jax.pmap(optimizer.init)(params)
    return opt_state
"""
    after = fix_files({"main.py": program})["main.py"]
    assert "def sharded_init(params):" in after
    assert "opt_state = jax.jit(sharded_init)(params)" in after


TESTERS = """
import functools

import jax


class Tester:
    @functools.partial(jax.pmap, axis_name="d", static_broadcasted_argnums=0)
    def test(self, x):
        return jax.lax.psum(x, "d")


class Baseline(Tester):
    @functools.partial(jax.pmap, axis_name="d", static_broadcasted_argnums=0)
    def test(self, x):
        return {own}


def run(testers, x):
    return [tester.test(x) for tester in testers]
"""


@pytest.mark.parametrize(
    ("own", "more", "is_own"),
    [
        ("2 * jax.lax.psum(x, 'd')", "", True),
        ("super().test(x)", "", False),  # on an object that has a map of its own
        ("x", "print(Tester.test(Baseline(), 3))", False),
        ("x", "print(baseline.__class__.__base__.test(baseline, 3))", False),
        ("x", "getattr(Tester, 'test')", False),
        ("x", "class Other(Tester):\n    def test_per_device(self, x):\n        return x", False),
        ("x", "baseline.test(3)", True),
    ],
)
def test_a_method_maps_its_own_body_where_no_other_class_calls_it(own: str, more: str, is_own: bool) -> None:
    after = fix_files({"main.py": TESTERS.format(own=own) + more + "\n"})["main.py"]
    assert ("self.test_per_device" in after) is is_own, after
