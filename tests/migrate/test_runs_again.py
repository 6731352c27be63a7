"""A map that is made at each call of a function is made once: jit would compile it anew, which pmap does not."""

from __future__ import annotations

import ast

import pytest

from jaxmigrate.migrate.project import fix_files

HEAD = """import functools

import jax
import jax.numpy as jnp
from jax import lax


def step(x):
    return lax.psum(x, "i")


class Model:
    def apply(self, x):
        return x


"""
END = """

x = jnp.ones((jax.device_count(), 2))
for _ in range(3):
    print(evaluate(x))
"""
AGAIN = {
    "at each call": "def evaluate(x):\n    return jax.pmap(step, 'i')(x)\n",
    "with a name": "def evaluate(x):\n    p_step = jax.pmap(step, 'i')\n    return p_step(x)\n",
    "in a loop": "for _ in range(3):\n    y = jax.pmap(step, 'i')(jnp.ones((8, 2)))\nevaluate = abs\n",
    "in a comprehension": "def evaluate(x):\n    return [jax.pmap(step, 'i')(x) for _ in range(2)]\n",
    "by way of another": """def inner(x):
    return jax.pmap(step, 'i')(x)


def evaluate(x):
    return inner(x)
""",
    "of a closure": """def make(n):
    def own(x):
        return n * x
    return lambda x: jax.pmap(own)(x)


evaluate = make(2)
""",
    "donated": "def evaluate(x):\n    return jax.pmap(step, 'i', donate_argnums=(0,))(x)\n",
}
ONCE = {
    "at one call": """def once(x):
    return jax.pmap(step, 'i')(x)


evaluate = abs
print(once(jnp.ones((8, 2))))
""",
    "of each object of a loop": """for one in (Model(), Model()):
    y = jax.pmap(one.apply)(jnp.ones((8, 2)))


evaluate = abs
""",
    "for a function that is given back": """def make(fun):
    p_fun = jax.pmap(fun, 'i')
    def one(x):
        return p_fun(x)
    def each(xs):
        return [one(x) for x in xs]
    return each


evaluate = abs
print(make(step)([jnp.ones((8, 2))]), make(step)([]))
""",
    "of a new function": "def evaluate(x):\n    return jax.pmap(lambda x: step(x), 'i')(x)\n",
    "of a function that each round makes": """def evaluate(x):
    for scale in range(3):
        def own(x):
            return scale * x
        if scale:
            x = jax.pmap(own)(x)
    return x
""",
    "of a function of its own": "def evaluate(x):\n    def own(x):\n        return x\n    return jax.pmap(own)(x)\n",
}
KEPT = {
    "of one that is set anew": """def evaluate(x):
    return jax.pmap(step, 'i')(x)


step = functools.partial(step)
""",
    "of an object that may change": """def make(model):
    def run(x):
        return jax.pmap(model.apply)(x)
    return run


evaluate = make(Model())
""",
    "of an object whose attribute is set by name": """model = Model()
setattr(model, "apply", step)


def evaluate(x):
    return jax.pmap(model.apply, 'i')(x)
""",
    "in a method": """class Trainer:
    def __init__(self, model):
        self.model = model

    def run(self, x):
        return jax.pmap(self.model.apply)(x)


evaluate = Trainer(Model()).run
""",
}


def shown(text: str) -> str:
    return fix_files({"main.py": HEAD + text + END}, layout="auto")["main.py"]


ROUNDS = """def main(x):
    for scale in range(3):
        if scale == 1:
            def own(x):
                return scale * x
{inner}        x = jax.pmap(own)(x)
    return x


evaluate = abs
print(main(jnp.ones((8, 2))))
"""


def test_a_function_that_only_some_rounds_make_is_mapped_once() -> None:
    assert "@functools.lru_cache\ndef sharded(fun" in shown(ROUNDS.format(inner=""))
    each = ROUNDS.replace("        if scale == 1:\n", "        if True:\n")
    assert "lru_cache" in shown(each.format(inner=""))  # by a block that the map is not in
    twice = each.replace("    return x\n\n\n", "    def own(x):\n        return x\n    return own\n\n\n")
    assert "lru_cache" in shown(twice.format(inner=""))


BRANCHES = """def make(scale):
    return lambda x: scale * x


def main(x):
    for scale in range(3):
        {made}
        x = jax.pmap(own)(x)
    return x


evaluate = abs
print(main(jnp.ones((8, 2))))
"""
FRESH = {
    "a call": "own = make(scale)",
    "every branch": "if scale:\n            own = make(scale)\n        else:\n            own = make(1)",
    "a branch that leaves": "if scale:\n            own = make(scale)\n        else:\n            continue",
    "by hand": "own = lambda x: scale * x",
    "in two steps": "own = twice(scale)",
    "a partial": "own = functools.partial(jnp.multiply, scale)",
    "and above": "own = make(scale)\n    y = jax.pmap(own)(x)\n    for _ in range(2):\n        own = make(scale)",
}
SAME = {
    "one branch": "if scale == 0:\n            own = make(scale)",
    "kept": "own = kept(scale)",
    "not the last": "if scale > 1:\n            own = make(1)\n        elif scale == 0:\n            own = make(2)",
    "by its name": "own = getattr(lax, 'exp')",
    "one that was there": "own = given(step)",
    "one of a table": "own = taken(0)",
    "one that a function keeps": "own = handed(scale)",
    "a copy": "own = copy.copy(step)",
    "around a loop": "own = make(scale)\n        for _ in range(2):\n            x = jax.pmap(own)(x)",
}


@pytest.mark.parametrize("made", FRESH.values(), ids=FRESH)
def test_a_function_that_each_round_makes_is_mapped_in_place(made: str) -> None:
    above = "import functools\n\n\ndef twice(scale):\n    return make(scale)\n\n\n"
    assert "lru_cache" not in shown(above + BRANCHES.format(made=made))


@pytest.mark.parametrize("made", SAME.values(), ids=SAME)
def test_a_function_that_may_be_that_of_another_round_is_mapped_once(made: str) -> None:
    kept = "@functools.lru_cache\ndef kept(scale):\n    return lambda x: scale * x\n\n\n"
    kept += "def given(fun):\n    return fun\n\n\ndef taken(at):\n    return [jnp.sin].__getitem__(at)\n\n\n"
    kept += "def handed(scale):\n    return kept(scale)\n\n\n"
    assert "@functools.lru_cache\ndef sharded(" in shown(
        f"import copy\nimport functools\n\n\n{kept}" + BRANCHES.format(made=made)
    )


NAMESAKES = """class Context:
    scale = 1


context = Context()


def first(x):
    def own(x):
        return context.scale * x
    return jax.pmap(own)(x)


def second(x):
    def own(x):
        return x + context.scale
    context.scale += 1
    return jax.pmap(own)(x)


def evaluate(x):
    return first(x) + second(x)
"""


MADE_THERE = """import optax


class Trainer:
    def __init__(self, name):
        self.name = name
        self.optimizer = MADE_FIRST

    def run(self, params):
        CHOICE
        if self.name:
            self.optimizer = optax.chain(optax.clip(1.0), self.optimizer)
        init = jax.pmap(self.optimizer.init)
        return init(params)


def evaluate(x):
    return Trainer("a").run(x)
"""


EITHER = """if self.name:
            self.optimizer = optax.sgd(0.1)
        else:
            self.optimizer = optax.adam(0.1)"""


@pytest.mark.parametrize(
    ("choice", "is_kept"),
    [
        ("self.optimizer = optax.sgd(0.1)", False),
        (EITHER, False),
        ("if self.name:\n            self.optimizer = optax.sgd(0.1)", True),
        ("self.optimizer = self.first", True),
        ("pass", True),
    ],
)
def test_what_an_object_gets_above_its_map_is_another_each_time(choice: str, *, is_kept: bool) -> None:
    text = MADE_THERE.replace("CHOICE", choice).replace("MADE_FIRST", "optax.sgd(0.1)")
    text = (
        text.replace('return Trainer("a").run(x)', "return [TRAINER.run(x) for _ in range(2)]")
        + "\n\nTRAINER = Trainer('a')\n"
    )
    assert ("lru_cache" in shown(text)) is is_kept


def test_functions_of_one_name_are_not_one_function() -> None:
    assert "lru_cache" not in shown(NAMESAKES)


@pytest.mark.parametrize("name", AGAIN)
def test_what_runs_again_is_mapped_once(name: str) -> None:
    after = shown(AGAIN[name])
    assert ("\ndef p_step(" if name == "with a name" else "def sharded_") in after
    assert "jax.jit(jax.shard_map" not in "".join(after.split())


@pytest.mark.parametrize("name", ONCE)
def test_what_does_not_is_mapped_in_place(name: str) -> None:
    assert "\ndef sharded" not in shown(ONCE[name])


def test_scripts_that_call_a_function_once_each_do_not_run_it_again() -> None:
    library = HEAD + "def first(model):\n    return jax.pmap(model.apply)(jnp.ones((8, 2)))\n"
    script = "from library import Model, first\nprint(first(Model()))\n"
    found = fix_files({"library.py": library, "one.py": script, "two.py": script})["library.py"]
    assert "lru_cache" not in found
    assert "lru_cache" in fix_files({"library.py": library, "one.py": script + "print(first(Model()))\n"})["library.py"]


@pytest.mark.parametrize("name", KEPT)
def test_what_may_change_is_mapped_by_a_function_that_keeps_its_maps(name: str) -> None:
    after = shown(KEPT[name])
    assert "@functools.lru_cache\ndef sharded(fun):" in after
    assert after.count("jax.shard_map(") == 1


def test_equal_maps_share_the_function_that_makes_them() -> None:
    after = fix_files({"main.py": HEAD + TWO}, layout="auto")["main.py"]
    assert after.count("jax.shard_map(") == 1
    assert "sharded(self.model.apply)(x)" in after
    assert "sharded(self.model.other)(x, x)" in after


TWO = """class Trainer:
    def run(self, x):
        return jax.pmap(self.model.apply)(x)

    def other(self, x):
        return jax.pmap(self.model.other)(x, x)
"""


SET_BETWEEN = """class Plain:
    pass


def make(model):
    return jax.pmap(model.apply, 'i')


model = Plain()
vars(model)["apply"] = step
evaluate = make(model)
vars(model)["apply"] = lambda x: x * 0
"""


def test_what_an_object_has_is_read_where_the_map_is_made() -> None:
    """And not at the first call of a function beside the map, when it may have something else."""
    after = shown(SET_BETWEEN)
    function = next(n for n in ast.parse(after).body if isinstance(n, ast.FunctionDef) and n.name == "make")
    inner = [n for n in ast.walk(function) if isinstance(n, ast.FunctionDef | ast.Lambda) and n is not function]
    assert "jax.shard_map" in after
    assert not any("model.apply" in ast.unparse(n) for n in inner)


STALE = """RATE = 1.0
SETTINGS = {"rate": 1.0}


class Trainer:
    def __init__(self):
        self.rate, self.rates = 1.0, [1.0]

    def update(self, x):
        return step(x) * self.rate

    def sum(self, x):
        return step(x) * sum(self.rates)


def scaled(x):
    return step(x) * RATE


def settled(x):
    return step(x) * SETTINGS["rate"]


def make(fun):
    return jax.pmap(fun, "i")


def made(trainer):
    return jax.pmap({mapped}, "i")


trainer = Trainer()
evaluate = {first}
print(evaluate(jnp.ones((jax.device_count(), 2))))
{change}
evaluate = {second}
"""
MADE = "made(trainer)"
MAPPED = "jax.pmap(trainer.update, 'i')"


@pytest.mark.parametrize(
    ("mapped", "first", "second", "change"),
    [
        ("trainer.update", MADE, MADE, "trainer.rate = 0.5"),
        ("trainer.update", MADE, MADE, "setattr(trainer, 'rate', 0.5)"),
        ("trainer.sum", MADE, MADE, "trainer.rates.append(0.5)"),
        ("trainer.sum", MADE, MADE, "trainer.rates[0] = 0.5"),
        ("scaled", MADE, MADE, "RATE = 0.5"),
        ("settled", MADE, MADE, "SETTINGS['rate'] = 0.5"),
        ("step", MAPPED, MAPPED, "trainer.rate = 0.5"),
        ("step", "make(trainer.update)", "make(trainer.update)", "trainer.rate = 0.5"),
    ],
)
def test_what_a_trace_reads_and_changes_between_two_maps_is_traced_once(
    mapped: str, first: str, second: str, change: str
) -> None:
    words = {"mapped": mapped, "first": first, "second": second}
    for layout in ("auto", "stacked"):
        before, after = (
            fix_files({"main.py": HEAD + fill(STALE, **words, change=said) + END}, layout=layout)["main.py"]
            for said in ("", change)
        )
        assert "@functools.lru_cache\ndef sharded" not in before
        assert "@functools.lru_cache\ndef sharded" in after


def test_what_is_made_of_two_objects_is_mapped_in_place() -> None:
    words = {"mapped": "trainer.update", "first": MADE, "second": "made(Trainer())", "change": ""}
    assert "lru_cache" not in fix_files({"main.py": HEAD + fill(STALE, **words) + END}, layout="auto")["main.py"]


def fill(text: str, **words: str) -> str:
    """A text with some words in braces replaced, which may hold other braces."""
    for word, said in words.items():
        text = text.replace(f"{{{word}}}", said)
    return text


CALLED_AGAIN = """import jax
import jax.numpy as jnp

KEPT = {{"step": abs}}
rate = [1.0]


def pick(name):
    return {given}


def epoch(x):
    rate[0] += 1
    fun = pick("step")
    return jax.pmap(fun)(x)


def main(x):
    for _ in range(3):
        x = epoch(x)
    return x


print(main(jnp.ones((8, 2))))
"""


@pytest.mark.parametrize(
    ("given", "is_kept"), [("KEPT.get(name)", True), ("lambda x: rate[0] * x", False), ("jax.vmap(KEPT[name])", False)]
)
def test_a_function_that_a_call_hands_out_is_not_made_by_it(given: str, *, is_kept: bool) -> None:
    assert ("lru_cache" in shown(CALLED_AGAIN.format(given=given))) is is_kept


READS_WHAT_CHANGES = """import jax

scale = 1.0


class Model:
    scale = 2.0


model = Model()


def rate(x, key=None):
    return model.scale * x if key is None else model.scale * x + jax.random.normal(key, x.shape)


def test(x):
    p_rate = jax.pmap(rate)
    model.scale = 3.0
    return p_rate(x)


def sample(x, keys):
    p_rate = jax.pmap(rate)
    return p_rate({given})


print(test(jax.numpy.ones((8, 2))), sample(jax.numpy.ones((8, 2)), jax.random.split(jax.random.key(0), 8)))
"""


def test_maps_of_one_function_that_are_never_given_as_many_arguments_share_no_trace() -> None:
    alike = fix_files({"a.py": READS_WHAT_CHANGES.replace("{given}", "x")})["a.py"]
    apart = fix_files({"a.py": READS_WHAT_CHANGES.replace("{given}", "x, keys")})["a.py"]
    assert "lru_cache" in alike
    assert "cache" not in apart
