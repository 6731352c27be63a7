"""Functions that others make for one map alone take blocks themselves; names around maps are plain."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.migrate.test_short_forms import HEAD, agree

MAKER = """
def make_step(rate):
    scale = rate * 2

    def step(x, batch):
        return x - lax.pmean(batch['x'], 'i') * scale, {'n': x}

    return step
"""
CALLED = "def main():\n    made = make_step(0.5)\n    p = jax.pmap(made, 'i')\n    return p(X, {'x': Y})"
USES = {
    "in place": ("def main():\n    p = jax.pmap(make_step(0.5), 'i')\n    return p(X, {'x': Y})\n", True),
    "under a name": (f"{CALLED}\n", True),
    "in a loop": (
        "def main():\n    return [jax.pmap(make_step(r), 'i')(X, {'x': Y}) for r in (0.5, 1.5)]\n",
        True,
    ),
    "called as well": (f"{CALLED}, jax.vmap(made, axis_name='i')(X, {{'x': Y}})\n", False),
    "made elsewhere, too": (f"{CALLED}, jax.vmap(make_step(0.5), axis_name='i')(X, {{'x': Y}})\n", False),
    "by keyword": ("def main():\n    return jax.pmap(make_step(0.5), 'i')(X, batch={'x': Y})\n", False),
}
OTHERS = {  # makers that give something else than one function of theirs
    "one of two": MAKER.replace("    return step", "    return step if rate else (lambda x, b: (x, b))"),
    "two returns": MAKER.replace(
        "    def step", "    if not rate:\n        return lambda x, b: (x, b)\n\n    def step"
    ),
    "decorated": MAKER.replace("    def step", "    @jax.jit\n    def step"),
    "a list beside": MAKER.replace("    return step", "    KEPT.append(step)\n    return step") + "\nKEPT = []\n",
    "recursive": MAKER.replace("    scale", "    def other(x, batch):\n        return step(x, batch)\n\n    scale"),
}
RUN = "\n\nif __name__ == '__main__' or X.ndim:\n    RESULT = main()\n"


@pytest.mark.parametrize("name", USES)
def test_what_is_made_for_a_map_alone_takes_blocks(name: str) -> None:
    uses, is_changed = USES[name]
    text = f"{HEAD}{MAKER}\n{uses}{RUN}"
    after = fix_files({"main.py": text})["main.py"]
    assert ("    def step(x, batch):\n        x" in after) is is_changed
    agree(text, after)


@pytest.mark.parametrize("name", OTHERS)
def test_other_makers_stay_as_they_are(name: str) -> None:
    text = f"{HEAD}{OTHERS[name]}\n{USES['in place'][0]}{RUN}"
    after = fix_files({"main.py": text})["main.py"]
    assert "    def step(x, batch):\n        return x - lax" in after
    agree(text, after)


NAMES = {
    "a branch": (
        "def main():\n    step = jnp.sin\n    if len(X):\n        step = jax.pmap(scaled, 'i')\n    return step(X)\n",
        "def step(",
    ),
    "its own name": (
        "def main():\n    scaled = make(2.0)\n    scaled = jax.pmap(scaled, 'i')\n    return scaled(X)\n",
        "",
    ),
    "beside it": (
        "def main():\n    p_run = jax.pmap(make(2.0), 'i')\n    return p_run(X), p_run(Y)\n",
        "p_run",
    ),
    "a word of Python": ("def main():\n    p_eval = jax.pmap(make(2.0), 'i')\n    return p_eval(X), eval('1')\n", ""),
}
SCALED = """
def scaled(x, c=2.0):
    return x.sum() * c


def make(c):
    return functools.partial(scaled, c=c) if c else scaled


ALSO = scaled(X), make(3.0)(X)

"""


@pytest.mark.parametrize("name", NAMES)
def test_names_around_a_map_are_plain(name: str) -> None:
    main, expected = NAMES[name]
    text = f"{HEAD}{SCALED}\n{main}{RUN}"
    after = fix_files({"main.py": text})["main.py"]
    assert "bound_" not in after
    assert "= sharded_" not in after
    assert "\n    eval = " not in after
    assert expected in after
    agree(text, after)
