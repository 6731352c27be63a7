"""Partials as what is mapped, and methods of bases that derived classes call: the rewritten program gives the same."""

from __future__ import annotations

import pytest

from jaxmigrate.migrate import fix_files
from tests.migrate.test_short_forms import agree

HEAD = """\
import functools
from functools import partial
import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from jax import lax

N = jax.local_device_count()
X = np.arange(48, dtype=np.float32).reshape(8, 1, 6) / 7


def step(w, x, k=1.0, m=0.0):
    return w + lax.pmean(x, "i") * k + m, x.sum(0)


"""
CLASSES = """\
class Base:
    def make(self):
        return jax.pmap(self.step, axis_name="i")

    def step(self, w, x):
        return w + lax.pmean(x.mean(0), "i"), x.mean(0)


class Derived(Base):
    def make(self):
        base = super().make()
        return jax.pmap(partial(self.step, k=2.0), axis_name="i") if base else base

    def step(self, w, x, k=1.0):
        a, m = {base}.step({given}w, x)
        return a * k, m


p = Derived().make()
W = jax_utils.replicate(jnp.ones((1, 6)))
for _ in range(2):
    W, M = p(W, X.reshape(N, 1, 1, 6))
RESULT = [np.asarray(M), np.asarray(jax_utils.unreplicate(W))]
"""
PROGRAMS = {
    "keywords_of_a_caller": "def build(**kw):\n    return jax.pmap(partial(step, **kw), axis_name='i')\n\n\n"
    "RESULT = build(k=3.0)(X, X)\n",
    "keywords_and_a_dict": "def build(**kw):\n    return jax.pmap(partial(step, m=2.0, **kw), axis_name='i')\n\n\n"
    "RESULT = build(k=3.0)(X, X)\n",
    "a_dict_that_changes": "KW = dict(k=3.0)\np = jax.pmap(functools.partial(step, **KW), axis_name='i')\n"
    "KW['k'] = 5.0\nRESULT = p(X, X)\n",
    "keywords_of_an_object": "class Run:\n    def __init__(self, **kw):\n        self.kw = kw\n"
    "        self.p = jax.pmap(partial(self.step, **self.kw), axis_name='i')\n\n"
    "    def step(self, w, x, k=1.0):\n        return w + lax.pmean(x, 'i') * k\n\n\nRESULT = Run(k=3.0).p(X, X)\n",
    "a_keyword_given_again": "p = jax.pmap(partial(step, k=2.0), axis_name='i')\n"
    "RESULT = p(X, X), p(X, X, k=np.arange(8.0)), p(X, X, m=np.arange(8.0))\n",
    "a_step_of_super": CLASSES.format(
        base="super()",
        given="",
    ),
    "a_step_by_the_name_of_its_class": CLASSES.format(
        base="Base",
        given="self, ",
    ),
    "a_partial_of_super": "class Base:\n    def step(self, w, x, k=1.0):\n"
    "        return w + lax.pmean(x, 'i') * k\n\n\n"
    "class Derived(Base):\n    def make(self):\n"
    "        return jax.pmap(partial(super().step, k=3.0), axis_name='i')\n\n\n"
    "RESULT = Derived().make()(X, X)\n",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_numbers_stay(name: str) -> None:
    text = HEAD + PROGRAMS[name]
    for layout in ("auto", "stacked"):
        after = fix_files({"main.py": text}, layout)["main.py"]
        assert "shard_map" in after
        agree(text, after)
