"""An argument that is not mapped and lies on one device: pmap copied it to all devices, and so does the rewrite."""

from __future__ import annotations

import ast
from collections import Counter

import pytest

from jaxmigrate.migrate import fix_files, one_device
from jaxmigrate.program.modules import Module
from tests.flags import UNOPTIMISED
from tests.migrate.forms.running import Program, run

OPENING = """import functools
import jax
import jax.numpy as jnp
from flax import jax_utils

x = jnp.arange(16.0).reshape(8, 2)


def step(w, x):
    return x * w + jax.lax.pmean(x, "i")


"""
ALONE = {
    "unreplicated": """p_step = jax.pmap(step, "i", in_axes=(None, 0))


def main():
    return p_step(jax_utils.unreplicate(jax_utils.replicate(jnp.ones(2))), x)
""",
    "one slice of a result": """p_step = jax.pmap(step, axis_name="i", in_axes=(None, 0))


def main():
    w = jax.pmap(lambda x: x)(x)[0]
    return p_step(w, x), p_step(2.0, x)
""",
    "another device": """class Trainer:
    def __init__(self):
        self.w = jax.device_put({"a": jnp.ones(2)}, jax.devices()[3])
        self.step = jax.pmap(lambda w, x: step(w["a"], x), axis_name="i", in_axes=(None, 0))

    def run(self):
        return self.step(self.w, x)


def main():
    return Trainer().run()
""",
    "with static arguments": """@functools.partial(
    jax.pmap, axis_name="i", in_axes=(None, 0, None), static_broadcasted_argnums=2
)
def twice(w, x, again):
    return step(w, x) if again else x


def main():
    first = jax.tree.map(lambda x: x[0], jax_utils.replicate(jnp.ones(2)))
    return twice(first, x, True), twice(first, x, False)
""",
    "where there may be processes": """p_step = jax.pmap(step, axis_name="i", in_axes=(None, 0), out_axes=1)


def main():
    print(jax.local_device_count())
    return p_step(jax_utils.unreplicate(jax_utils.replicate(jnp.ones(2))), x)
""",
}
# With global arrays where there are some: what is given is a slice of an array that stays stacked, so it lies alone.
LOOKED_AT = """

def eval_step(x):
    return jax.lax.pmean(x, "i")


p_eval = jax.pmap(eval_step, axis_name="i")


def look(w):
    return w.T, p_eval(x.reshape((jax.local_device_count(), -1) + x.shape[1:]))[0]


"""
BESIDE_GLOBAL = {
    "by another name": """@functools.partial(jax.pmap, axis_name="i", in_axes=(None, 0))
def p_step(w, x):
    return step(w, x)


again = p_step


def main():
    w = jax_utils.replicate(jnp.ones(2))
    return look(w), again(jax_utils.unreplicate(w), x)
""",
    "in a tuple behind a star": """p_step = jax.pmap(step, axis_name="i", in_axes=(None, 0))


def main():
    w = jax_utils.replicate(jnp.ones(2))
    return look(w), p_step(*(jax_utils.unreplicate(w), x))
""",
    "or a number, which has a weak dtype": """p_step = jax.pmap(step, axis_name="i", in_axes=(None, 0))


def at(scale):
    return p_step(scale, x.astype(jnp.bfloat16))


def main():
    w = jax_utils.replicate(jnp.ones(2))
    return look(w), at(0.3), at(jax_utils.unreplicate(w))
""",
    "as a parameter": """p_step = jax.pmap(step, axis_name="i", in_axes=(None, 0))


def main():
    w = jax_utils.replicate(jnp.ones(2))
    return look(w), (lambda one: p_step(one, x))(jax_utils.unreplicate(w))
""",
    "by a partial": """p_step = jax.pmap(step, axis_name="i", in_axes=(None, 0))


def main():
    w = jax_utils.replicate(jnp.ones(2))
    return look(w), functools.partial(p_step, jax_utils.unreplicate(w))(x)
""",
    "by what a function makes": """def make_step():
    return jax.pmap(step, axis_name="i", in_axes=(None, 0))


def first(tree):
    return jax.tree.map(lambda x: x[0], tree)


def loop(run, w):
    return run(first(w), x)


def main():
    w = jax_utils.replicate(jnp.ones(2))
    return look(w), loop(make_step(), w)
""",
    "by a partial of pmap": """mapped = functools.partial(jax.pmap, axis_name="i", in_axes=(None, 0))
p_step = mapped(step)


def main():
    w = jax_utils.replicate(jnp.ones(2))
    return look(w), p_step(jax_utils.unreplicate(w), x)
""",
    "donated, with a static argument": """@functools.partial(
    jax.pmap, axis_name="i", in_axes=(None, 0, None), static_broadcasted_argnums=2, donate_argnums=0
)
def p_step(w, x, again):
    return step(w, x) if again else x


def main():
    w = jax_utils.replicate(jnp.ones(2))
    return look(w), p_step(jax_utils.unreplicate(w), x, True), p_step(2.0, x, True), w
""",
}
# Not all of what one device holds shows where it is given: the map itself brings it to all devices.
HIDDEN = {
    "behind a star": """def main():
    p_step = jax.pmap(step, axis_name="i", in_axes=(None, 0), donate_argnums=1)
    given = [jax_utils.unreplicate(jax_utils.replicate(jnp.ones(2))), x + jax.device_count()]
    return p_step(*given), p_step(2.0, x * 2)
""",
    "a tree, a key and a static argument, where there may be processes": """def main():
    def draw(tree, key, rows, again):
        noise = jax.random.normal(key, rows.shape)
        return (step(tree["w"], rows) + noise if again else rows), tree["n"] * rows

    p_draw = jax.pmap(draw, "i", in_axes=(None, None, 0, None), static_broadcasted_argnums=3, donate_argnums=(2,))
    w = jax_utils.unreplicate(jax_utils.replicate(jnp.ones(2)))
    given = ({"w": w, "n": 3.0}, jax.device_put(jax.random.key(1), jax.devices()[3]))
    rows = x.reshape(jax.local_device_count(), -1).astype(jnp.bfloat16)
    return p_draw(*given, rows + 1, True), p_draw(*given, rows + 2, False), given[0]
""",
    "two maps of the same specs": """def main():
    def one(w, x):
        return step(w, x)

    def other(w, x):
        return one(w, x) * 2

    p_one = jax.pmap(one, axis_name="i", in_axes=(None, 0))
    p_other = jax.pmap(other, axis_name="i", in_axes=(None, 0))
    given = jax_utils.unreplicate(jax_utils.replicate(jnp.ones(2))), x.reshape(jax.local_device_count(), 2)
    return p_one(*given), p_other(*given)
""",
    "two maps on one mesh": """def main():
    p_one = jax.pmap(lambda w, x: step(w, x), axis_name="i", in_axes=(None, 0))
    p_other = jax.pmap(lambda w, x: step(w, x) * 2, axis_name="i", in_axes=(None, 0))
    given = jax_utils.unreplicate(jax_utils.replicate(jnp.ones(2))), x + jax.device_count()
    return p_one(*given), p_other(*given)
""",
    "by parameters of an unknown function": """from functools import reduce


def main():
    p_step = jax.pmap(step, axis_name="i", in_axes=(None, 0))
    given = [jax_utils.unreplicate(jax_utils.replicate(jnp.ones(2))), x + jax.device_count()]
    return reduce(lambda fun, one: functools.partial(fun, one), given, p_step)(), p_step(*given)
""",
}
ONE = "jax_utils.unreplicate(jax_utils.replicate(jnp.ones(2)))"
P_STEP = "p_step = jax.pmap(step, axis_name='i', in_axes=(None, 0))\n"
PARAMETERS = {  # how a function or a loop gets the slice of one device, under the name w
    "a default": "(lambda w=one: p_step(w, x))()",
    "a default that only a keyword replaces": "(lambda *, w=one: p_step(w, x))()",
    "a keyword of a lambda": "(lambda *, w: p_step(w, x))(w=one)",
    "a keyword": "mapped(x=x, w=one)",
    "a comprehension": "[p_step(w, x) for w in (one,)]",
    "two in step": "[p_step(w, y) for w, y in zip([one], [x])]",
    "values": "{k: p_step(w, x) for k, w in {'a': one}.items()}",
}
ANYWHERE = {
    "a number": "p_step = jax.pmap(step, 'i', in_axes=(None, 0))\ny = jax_utils.unreplicate(p_step(0.5, x))\n",
    "a fresh array": "p_step = jax.pmap(step, 'i', in_axes=(None, 0))\nw = jnp.ones(2)\ny = p_step(w, x)[0]\n",
    "a mapped slice": "p_step = jax.pmap(step, 'i', in_axes=(None, 0))\ny = p_step(1.0, jnp.stack([x[0]] * 8))\n",
}


def _before(name: str) -> dict[str, str]:
    alone = {**ALONE, **HIDDEN}
    return {"main.py": OPENING + (alone[name] if name in alone else LOOKED_AT.lstrip() + BESIDE_GLOBAL[name])}


CASES = [*((name, "stacked") for name in {**ALONE, **BESIDE_GLOBAL}), *((name, "auto") for name in BESIDE_GLOBAL)]


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str]:
    cases = [*CASES, *((name, "stacked") for name in HIDDEN)]
    programs = [
        Program(f"{name} {layout}", _before(name), fix_files(_before(name), layout=layout)) for name, layout in cases
    ]
    found = run(programs, flags=UNOPTIMISED)
    return {v.name: "" if v.verdict == "agrees" else f"{v.verdict}: {v.text[:3000]}" for v in found}


@pytest.mark.parametrize(("name", "layout"), CASES)
def test_agrees(name: str, layout: str, verdicts: dict[str, str]) -> None:
    after = fix_files(_before(name), layout=layout)["main.py"]
    assert ", P())" in after or "everywhere" in after
    assert ('shard(x, P("i"))' in after) == (layout == "auto")
    assert not verdicts[f"{name} {layout}"], f"{verdicts[f'{name} {layout}']}\n{after}"


@pytest.mark.parametrize("name", PARAMETERS)
def test_a_slice_is_followed_to_parameters_and_loops(name: str) -> None:
    given = PARAMETERS[name].replace("one", ONE)
    text = OPENING + f"{P_STEP}\n\ndef mapped(x, *, w):\n    return p_step(w, x)\n\n\ny = {given}\n"
    assert ", P())" in fix_files({"main.py": text}, layout="stacked")["main.py"]
    plain = text.replace(ONE, "jnp.ones(2)")
    assert ", P())" not in fix_files({"main.py": plain}, layout="stacked")["main.py"]


@pytest.mark.parametrize("name", HIDDEN)
def test_what_does_not_show_where_it_is_given_is_brought_to_all_devices_by_the_map(
    name: str, verdicts: dict[str, str]
) -> None:
    after = fix_files(_before(name))["main.py"]
    assert "shard_map_stacked" not in after
    assert "in_shardings=(replicated, " in after
    assert after.count("replicated = NamedSharding(") == 1
    assert after.count("_specs = dict(") <= 1
    assert after.count("Mesh(jax.devices()") <= 1
    assert not verdicts[f"{name} stacked"], f"{verdicts[f'{name} stacked']}\n{after}"


@pytest.mark.parametrize("name", ANYWHERE)
def test_what_lies_nowhere_in_particular_costs_no_code(name: str) -> None:
    after = fix_files({"main.py": OPENING + ANYWHERE[name]})["main.py"]
    assert "jax.shard_map(" in after
    assert "def shard(" not in after
    assert "everywhere" not in after


def test_names_are_followed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    steps: Counter[ast.expr] = Counter()
    step = one_device._Uses._step

    def counted(self: one_device._Uses, node: ast.expr, module: Module) -> one_device._Step:
        steps[node] += 1
        return step(self, node, module)

    monkeypatch.setattr(one_device._Uses, "_step", counted)
    needed = []
    for sites in (4, 16):  # which all lead to the names that lead everywhere
        maps = "".join(f"    params = jax.pmap(lambda p: p * {n}, axis_name='i')(params)\n" for n in range(sites))
        text = "import jax\n\n\ndef train(params):\n" + maps + "    return train(params)\n"
        steps.clear()
        fix_files({"main.py": text})
        needed.append(steps.total())
        assert set(steps.values()) == {1}  # whatever leads to an expression, and at whatever level
    assert needed[1] < 5 * needed[0]


BESIDE_A_HELPER = """import jax
import jax.numpy as jnp
from flax import jax_utils
from flax.training.common_utils import shard


def first(tree):
    return jax_utils.unreplicate(tree)


def step(w, x):
    return w - jax.lax.pmean(x.sum(0), "i"), x * w


p_step = jax.pmap(step, axis_name="i", in_axes=(None, 0))


def main():
    w = jax_utils.replicate(jnp.ones(2))
    for _ in range(2):
        one = jax_utils.unreplicate(w)
        w, y = p_step(one, shard(jnp.arange(32.0).reshape(16, 2)))
    return w[0], y
"""


def test_a_slice_of_a_global_array_lies_alone_where_others_do() -> None:
    before = {"main.py": BESIDE_A_HELPER}
    (found,) = run([Program("beside a helper", before, fix_files(before, "auto"))])
    assert (found.verdict, found.text) == ("agrees", "")
