"""What is surely one array loses its mapped axis by `x.squeeze(0)`, and gets it back by `x[None]`; others may be trees.

Each program runs before and after, and must agree bitwise.
"""

from __future__ import annotations

import pytest

from jaxmigrate import migrate
from tests.migrate.test_short_forms import HEAD, agree


def fix_files(files: dict[str, str]) -> dict[str, str]:
    """What comes out, whatever the functions that drop an axis call their own argument."""
    fixed = migrate.fix_files(files)
    return {name: text.replace("lambda a: a.squeeze(0)", "lambda x: x.squeeze(0)") for name, text in fixed.items()}


MAPPED = """
def total(x):
    return jnp.sum(x, -1)


def pair(x, y):
    return x - y, {{"both": x * y}}


def split(x):
    return jnp.split(x, 2, -1)


def of_tree(tree):
    return jax.tree.map(jnp.sin, tree)


{more}


@functools.partial(jax.pmap, axis_name='i')
def step(x, y):
{body}


RESULT = step({x}, Y)
"""
ARRAYS = {  # how a parameter is used, or said to be
    "a product": "return x @ y",
    "a difference": "z = x - y\nreturn z",
    "a method": "return x.astype(int), y",
    "a shape": "n = x.shape[-1]\nreturn x * n, y",
    "an index": "return x[..., 0], y",
    "a function of jax.numpy": "if True:\n    z = jnp.tanh(x)\nreturn z, y",
    "a function of the program": "return total(x), y",
    "by keyword": "return total(x=x), y",
    "within a gradient": "loss, g = jax.value_and_grad(lambda w: jnp.sum(w * x))(x)\nreturn loss + x.sum(), g",
    "a loop": "x = x * 0.5\nfor _ in range(3):\n    x = x + y\nreturn x",
    "a number": "return 2.0 * x, y",
    "an order": "return jnp.where(x > 0.5, x, y), y",
    "with one that is known": "z = jnp.mean(y)\nreturn x * z, z",
}
TREES = {  # what may be a tree, and is one here
    "given to a tree map": "return jax.tree.map(lambda v: v * 2, x), y",
    "given to a function of trees": "return of_tree(x), y",
    "by name": "return x['a'] * 2, y",
    "asked": "if isinstance(x, dict):\n    return x['a'], y\nreturn x - 1, y",
    "in a branch": "if y.ndim == 2:\n    return x - 1, y\nreturn x, y",
    "bound anew": "x = x['a']\nreturn x - 1, y",
    "passed on": "return (lambda t: t)(x), y",
    "in a loop that may not run": "for _ in range(0):\n    x = x - y\nreturn x, y",
    "parts": "return [*x.values()], y",
}
LOSS = "def f(w):\n    return jnp.sum(w * x), {'w': w}\n"
RETURNS = {  # what a step returns, and how often the axis comes back by `[None]`, and by a tree map
    "an array": ("return x - y", 1, 0),
    "two": ("return x - y, jnp.sum(y)", 2, 0),
    "an array and a tree": ("return x - y, [x]", 1, 1),
    "an array and a tree for which one line is too short": ("return jnp.sum(x), {'a': x, 'b': y}", 0, 1),
    "trees": ("return {'a': x}, [y]", 0, 1),
    "a dict": ("return {'a': x, 'b': y}", 0, 1),
    "a number": ("return 3, x - y", 1, 1),
    "a length": ("n = x.shape[0]\nreturn n", 0, 1),
    "numbers of a shape": ("return x.ndim * 2.0", 0, 1),
    "a tuple of a function": ("return pair(x, y)", 0, 1),
    "a part of a function's tuple": ("a, b = pair(x, y)\nreturn a, b", 1, 1),
    "an array of a function": ("return total(x)", 1, 0),
    "a list": ("return split(x)", 0, 1),
    "a sum over the devices": ("return lax.psum(x - y, 'i')", 1, 0),
    "the count of devices": ("return lax.psum(1, 'i')", 0, 1),
    "one of two": ("return jnp.sin(x) if y.ndim else jnp.cos(x)", 1, 0),
    "one of two, of which one is a number": ("return jnp.sin(x) if y.ndim else 1.0", 0, 1),
    "an update": ("return x.at[0].set(1.0)", 1, 0),
    "a key": ("key = jax.random.fold_in(jax.random.PRNGKey(0), lax.axis_index('i'))\nreturn key", 1, 0),
    "a comparison": ("return x > 0.5", 1, 0),
    "is None": ("return (x + 1) is None", 0, 1),
    "a loss beside": (f"{LOSS}(loss, aux), g = jax.value_and_grad(f, has_aux=True)(y)\nreturn loss, aux", 1, 1),
    "all beside the gradient": (f"{LOSS}out, g = jax.value_and_grad(f, has_aux=True)(y)\nreturn out", 0, 1),
}


def program(body: str, x: str = "X", more: str = "") -> str:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    return HEAD + MAPPED.format(body=lines, x=x, more=more)


def rewritten(text: str) -> tuple[str, str]:
    """The text after fix, and the body of its step."""
    after = fix_files({"main.py": text})["main.py"]
    return after, after[after.index("def step_per_device(") :]


@pytest.mark.parametrize("name", ARRAYS)
def test_what_can_be_no_tree_is_one_array(name: str) -> None:
    text = program(f"y = y - 1.0\n{ARRAYS[name]}")
    after, body = rewritten(text)
    assert "jax.tree.map(lambda x: x.squeeze(0)" not in body
    agree(text, after)


@pytest.mark.parametrize("name", TREES)
def test_what_may_be_a_tree_stays_one(name: str) -> None:
    text = program(TREES[name], "{'a': X}" if name != "in a branch" else "X")
    after, body = rewritten(text)
    assert "x = jax.tree.map(lambda x: x.squeeze(0), x)" in body or "x.squeeze(0), (x, y))" in body
    agree(text, after)


@pytest.mark.parametrize("name", RETURNS)
def test_only_what_is_surely_one_array_gets_its_axis_by_an_index(name: str) -> None:
    body, by_index, by_tree = RETURNS[name]
    text = program(body)
    after, step = rewritten(text)
    assert (step.count("[None]"), step.count("jnp.expand_dims")) == (by_index, by_tree)
    agree(text, after)


@pytest.mark.parametrize("annotation", ["jax.Array", "jnp.ndarray", '"jax.Array"', "dict", "jax.Array | None"])
def test_an_annotation_says_what_is_one_array(annotation: str) -> None:
    text = program("y = y - 1.0\nreturn (lambda t: t)(x), y").replace("def step(x, y)", f"def step(x: {annotation}, y)")
    after, body = rewritten(text)
    assert ("jax.tree.map(lambda x: x.squeeze(0)" not in body) is (annotation in ("jax.Array", "jnp.ndarray"))
    agree(text, after)


def test_objects_of_the_program_may_have_what_arrays_have() -> None:
    """Arithmetic, indices and attributes show nothing where a class of the program has them."""
    more = (
        "from typing import NamedTuple\n\n\nclass Pair(NamedTuple):\n    a: object\n    b: object\n\n"
        "    def __sub__(self, other):\n        return Pair(self.a - other, self.b - other)\n\n"
        "    @property\n    def shape(self):\n        return (2, *self.a.shape)\n"
    )
    for body in ("return x - 1, y", "return x.shape[0] * y, x"):
        text = program(body, "Pair(X, Y)", more)
        after, step = rewritten(text)
        assert "jax.tree.map(lambda x: x.squeeze(0)" in step
        agree(text, after)


GENERATOR = """
class Keys:
    def __init__(self, key):
        self.key = key

    def __call__(self):
        self.key, one = jax.random.split(self.key)
        return one
"""
NO_GENERATORS = {
    "keeps a tree": ("jax.random.split(self.key)", "jax.random.split(self.key['a'])"),
    "is given none perhaps": ("self, key)", "self, key=None)"),
    "asks what it is": ("self.key = key\n", "self.key = key\n        self.many = isinstance(key, tuple)\n"),
    "is of another class": ("class Keys:", "class Keys(Base):"),
    "is made in another way": ("class Keys:", "class Keys:\n    def __new__(cls, key):\n        return Keys\n"),
    "keeps something else": ("self.key = key", "self.key = start(key)"),
}


def test_what_a_generator_of_keys_keeps_is_one_key() -> None:
    text = program("keys = Keys(x)\nreturn jax.random.normal(keys(), (6,)) + y", "KEYS", GENERATOR)
    text = text.replace("RESULT", "KEYS = jax.random.split(jax.random.PRNGKey(0), 8)\nRESULT", 1)
    after, body = rewritten(text)
    assert "x, y = x.squeeze(0), y.squeeze(0)\n    keys = Keys(x)" in body
    agree(text, after)


@pytest.mark.parametrize("name", NO_GENERATORS)
def test_other_classes_may_keep_a_tree(name: str) -> None:
    more = GENERATOR.replace(*NO_GENERATORS[name])
    assert more != GENERATOR
    assert " x.squeeze(0), (x, y))\n" in rewritten(program("keys = Keys(x)\nreturn y + 1", "X", more))[1]


SAYS = """
def opaque(x):
    return jax.tree.map(lambda v: v * 2, x)


def said(x) -> jax.Array:
    return opaque(x)


def part(x) -> tuple[jax.Array, dict]:
    return opaque((x, {'a': x}))


def perhaps(x) -> jax.Array | None:
    return opaque(x)


def shown(f):
    return lambda x: {'a': f(x)}


@shown
def of_dict(x) -> jax.Array:
    return x
"""


def test_a_function_that_says_so_returns_one_array() -> None:
    counts = {
        "return said(x)": (1, 0),
        "a, b = part(x)\nreturn a, b": (1, 1),
        "return jax.vmap(said)(x)": (1, 0),
        "return perhaps(x)": (0, 1),
        "return of_dict(x)": (0, 1),
        "return part(x)": (0, 1),
    }
    for body, count in counts.items():
        text = program(body, more=SAYS)
        after, step = rewritten(text)
        assert (step.count("[None]"), step.count("jnp.expand_dims")) == count, body
        agree(text, after)


AROUND = """
def loss(c, x, y):
    return jnp.sum(x - y) * c


def named(c, x, y):
    return {'a': jnp.sum(x) * c}, y


def main():
    fold = jax.pmap(jax.random.fold_in, in_axes=(0, None))
    both = jax.pmap(functools.partial(loss, 2.0), 'i', in_axes=(0, None))
    tree = jax.pmap(functools.partial(named, 2.0), 'i')
    keys = jax.random.split(jax.random.PRNGKey(0), 8)
    return fold(keys, 3), both(X, Y[0]), tree(X, Y), loss(1.0, X, Y), named(1.0, X, Y)


if __name__ == "__main__" or X.ndim:
    RESULT = main()
"""


def test_a_function_around_what_takes_and_gives_one_array() -> None:
    text = HEAD + AROUND
    after = fix_files({"main.py": text})["main.py"]
    assert "loss(2.0, x.squeeze(0), y)[None]" in after
    agree(text, after)


SPARSE = """
from jax.experimental import sparse

rows = [sparse.BCOO.fromdense(jnp.eye(4) * (i + 1), nse=4) for i in range(8)]
RESULT = jax.pmap(lambda a, x: BODY, 'i')(jax.tree.map(lambda *a: jnp.stack(a), *rows), jnp.ones((8, 4, 4)))
"""


@pytest.mark.parametrize("body", ["a @ x", "(a * 0.5) @ x", "(-a) @ x", "a.T @ x", "a.shape[0] * x", "a.reshape(2, 8)"])
def test_a_sparse_matrix_is_a_tree_that_computes_as_an_array(body: str) -> None:
    text = HEAD + SPARSE.replace("BODY", body)
    after = fix_files({"main.py": text})["main.py"]
    assert "a.squeeze" not in after
    agree(text, after)
