"""Functions that drop the mapped axis themselves have no other use: whatever else calls them gets what it got."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.migrate.test_short_forms import HEAD, agree

BODY = """

def scaled(x, c=1.0):
    return x.sum(0) * c


def reduced(c, x, y=0.0):
    '''Sums over all devices.'''
    return lax.psum(x, "i") * c + y, x


def pair(a, b, x, y):
    return x * a + lax.pmean(y, "i"), y * b


"""
HELD = {
    "a_partial": "s = functools.partial(scaled, c=2.0)\nRESULT = jax.pmap(s, 'i')(X[:, None]), s(X[:1])\n",
    "another_name": "s = scaled\nRESULT = jax.pmap(s, 'i')(X[:, None]), s(X[:1])\n",
    "a_name_of_a_name": "s = scaled\nt = s\nRESULT = jax.pmap(t, 'i')(X[:, None]), s(X[:1])\n",
    "in_a_function": """
def main():
    s = functools.partial(scaled, c=3.0)
    p = jax.pmap(s, "i")
    return p(X[:, None]), s(X[:1]), [s(x) for x in X[:2, None]]
RESULT = main()
""",
    "a_partial_of_a_partial": """
s = functools.partial(scaled, c=2.0)
t = functools.partial(s)
RESULT = jax.pmap(t, 'i')(X[:, None]), s(X[:1])
""",
    "by_one_of_two": """
s = functools.partial(scaled, c=2.0)
p, q = jax.pmap(s, 'i'), jax.vmap(s)
RESULT = p(X[:, None]), q(X[:, None])
""",
    "by_position": "s = functools.partial(reduced, 2.0)\nRESULT = jax.pmap(s, 'i')(X), jax.vmap(s, axis_name='i')(X)\n",
}
ALONE = {
    "in_place": "RESULT = jax.pmap(functools.partial(reduced, 2.0), 'i')(X)\n",
    "named": "s = functools.partial(reduced, 3.0)\nRESULT = jax.pmap(s, 'i')(X)\n",
    "with_keywords": "s = functools.partial(reduced, 3.0, y=1.0)\np = jax.pmap(s, 'i')\nRESULT = p(X)\n",
    "two": "p = jax.pmap(functools.partial(pair, 2.0, jnp.ones(6)), 'i')\nRESULT = p(X, Y)\n",
    "axes": "p = jax.pmap(functools.partial(pair, 2.0, 1.5), 'i', in_axes=(0, None))\nRESULT = p(X, Y[0])\n",
    "in_a_function": """
def build(c):
    step = functools.partial(reduced, c)
    return jax.pmap(step, axis_name="i")
RESULT = build(2.0)(X), build(3.0)(X)
""",
}


@pytest.mark.parametrize("name", HELD)
def test_what_is_called_elsewhere_keeps_its_axes(name: str) -> None:
    text = HEAD + BODY + HELD[name]
    after = fix_files({"main.py": text}, "stacked")["main.py"]
    assert "jax.pmap" not in after
    agree(text, after)


@pytest.mark.parametrize("name", ALONE)
def test_what_a_partial_binds_by_position_keeps_its_place(name: str) -> None:
    text = HEAD + BODY + ALONE[name]
    after = fix_files({"main.py": text}, "stacked")["main.py"]
    assert "jax.pmap" not in after
    assert "per_device" not in after
    assert after.count("def ") <= text.count("def ") + 3
    agree(text, after)
