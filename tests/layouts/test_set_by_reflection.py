"""Attributes, entries and variables that are set otherwise than by assigning to them hold what is not written there."""

from __future__ import annotations

import re

import pytest

from tests.layouts.test_carried import both, plan

HEAD = """\
import operator
import sys

import jax
import jax.numpy as jnp
import numpy as np
from flax import jax_utils
from flax.training.common_utils import shard

X = np.arange(48, dtype=np.float32).reshape(16, 3)


def halved(x):
    return shard(x / 2)


"""
MADE = "class T:\n    def __init__(self):\n        self.k = A\n\n\nt = T()\n"
SLOT = "class T:\n    __slots__ = ('k',)\n\n    def __init__(self):\n        self.k = A\n\n\nt = T()\n"


def in_function(*lines: str) -> str:
    """A class and an object of it, whose attributes a function has under a name of its own."""
    return MADE + "def tell(one):\n    own = vars(one)\n" + "".join(f"    {one}\n" for one in lines) + "\n\ntell(t)\n"


W = "w = jax_utils.replicate(jnp.ones(2))\n"
COUNTED = "n = READ\nw = jnp.stack([jnp.ones(2)] * n)\nw = step(w, X.reshape((n, -1) + X.shape[1:]))"
OVER_AXIS = "w = jax.pmap(g, axis_name='b', in_axes=(0, READ))(w, jnp.arange(128.0).reshape(8, 8, 2))"
USES = {
    "prepare": ("shard", "halved", W + "w = step(w, READ(X))"),
    "count": ("jax.local_device_count()", "4", COUNTED),
    "axis": ("0", "1", W + OVER_AXIS),
}
WAYS = {
    "dict": (MADE + "t.__dict__['k'] = B\n", "t.k"),
    "dict of keywords": (
        (
            "class T:\n    def __init__(self, **given):\n        self.k = A\n        self.__dict__.update(given)\n\n\n"
            "t = T(k=B)\n"
        ),
        "t.k",
    ),
    "dict united": (MADE + "t.__dict__ |= {'k': B}\n", "t.k"),
    "dict by a name": (MADE + "own = t.__dict__\nown['k'] = B\n", "t.k"),
    "vars": (MADE + "vars(t).update(k=B)\n", "t.k"),
    "vars by a function's name": (in_function("own['k'] = B"), "t.k"),
    "vars united by a function's name": (in_function("own |= {'k': B}"), "t.k"),
    "vars by a name given on": (in_function("(lambda names: names.update(k=B))(own)"), "t.k"),
    "vars by an own function of a known name": (
        in_function("def dump(names):", "    names['k'] = B", "", "dump(own)"),
        "t.k",
    ),
    "vars by a second name": (in_function("other = own", "other['k'] = B"), "t.k"),
    "vars by an inner function": (
        in_function("def put():", "    nonlocal own", "    own |= {'k': B}", "", "put()"),
        "t.k",
    ),
    "object's setattr": (MADE + "object.__setattr__(t, 'k', B)\n", "t.k"),
    "computed name": (MADE + "for name in ('k', 'j'):\n    setattr(t, name, B)\n", "t.k"),
    "by a function": (
        (
            "def merge(config, others):\n    for name in others:\n        setattr(config, name, others[name])\n\n\n"
            f"{MADE}merge(t, {{'k': B}})\n"
        ),
        "t.k",
    ),
    "own reader": (
        (
            "class T:\n    def __init__(self):\n        self.k = A\n\n    def __getattribute__(self, name):\n"
            "        return B if name == 'k' else object.__getattribute__(self, name)\n\n\nt = T()\n"
        ),
        "t.k",
    ),
    "own setter": (
        (
            "class T:\n    def __init__(self):\n        self.k = A\n\n    def __setattr__(self, name, value):\n"
            "        super().__setattr__(name, B)\n\n\nt = T()\n"
        ),
        "t.k",
    ),
    "held by another": (MADE + "class Owner:\n    pass\n\n\no = Owner()\no.held = t\no.held.k = B\n", "t.k"),
    "given back": (MADE + "def get():\n    return t\n\n\nget().k = B\n", "t.k"),
    "derived": (
        (
            "class T:\n    def __init__(self):\n        self.k = A\n\n    def get(self):\n        return self.k\n\n\n"
            "class U(T):\n    def __init__(self):\n        super().__init__()\n        self.k = B\n\n\nt = U()\n"
        ),
        "t.get()",
    ),
    "slot": (SLOT + "T.k.__set__(t, B)\n", "t.k"),
    "slot by a name": (SLOT + "put = vars(T)['k'].__set__\nput(t, B)\n", "t.k"),
    "the constructor again": (
        "class T:\n    def __init__(self, k=A):\n        self.k = k\n\n\nt = T()\nt.__init__(B)\n",
        "t.k",
    ),
    "own __new__": (
        (
            "class T:\n    def __init__(self):\n        self.k = A\n\n    def get(self):\n        return self.k\n\n\n"
            "class U(T):\n    def __new__(cls):\n        made = object.__new__(T)\n        made.k = B\n"
            "        return made\n\n\nt = U()\n"
        ),
        "t.get()",
    ),
    "metaclass": (
        (
            "class Meta(type):\n    def __call__(cls):\n        made = super().__call__()\n        made.k = B\n"
            "        return made\n\n\nclass T(metaclass=Meta):\n    def __init__(self):\n"
            "        self.k = A\n\n\nt = T()\n"
        ),
        "t.k",
    ),
    "class decorator": (
        (
            "def changed(cls):\n    class New(cls):\n        def __init__(self):\n            self.k = B\n\n"
            "    return New\n\n\n@changed\nclass T:\n    def __init__(self):\n        self.k = A\n\n\nt = T()\n"
        ),
        "t.k",
    ),
    "replaced in a named tuple": (
        (
            "import typing\n\n\nclass T(typing.NamedTuple):\n    k: object = A\n\n    def get(self):\n"
            "        return self.k\n\n\nt = T()._replace(k=B)\n"
        ),
        "t.get()",
    ),
    "globals": ("k = A\nglobals()['k'] = B\n", "k"),
    "globals of a function": ("k = A\n\n\ndef over(d):\n    globals().update(d)\n\n\nover({'k': B})\n", "k"),
    "loaded module": ("k = A\nsetattr(sys.modules[__name__], 'k', B)\n", "k"),
    "entry by operator": ("d = {'k': A}\noperator.setitem(d, 'k', B)\n", "d['k']"),
    "entry by a default": ("d = {'k': A}\n\n\ndef change(own=d):\n    own['k'] = B\n\n\nchange()\n", "d['k']"),
    "entry by a method": ("d = {'k': A}\nd.__setitem__('k', B)\n", "d['k']"),
}
# Of which each keeps what it was written with, whatever is set by name elsewhere.
KEPT = {
    "set below": (
        (
            "class T:\n    def __init__(self, **given):\n        self.__dict__.update(given)\n        self.k = A\n\n\n"
            "t = T(j=B)\n"
        ),
        "t.k",
    ),
    "set below in a derived class": (
        (
            "class Base:\n    def __init__(self, **given):\n        for name in given:\n"
            "            setattr(self, name, given[name])\n\n\n"
            "class T(Base):\n    def __init__(self):\n        super().__init__(j=B)\n        self.k = A\n\n\nt = T()\n"
        ),
        "t.k",
    ),
    "of another class": (
        "class Other:\n    def __init__(self, **given):\n        vars(self).update(given)\n\n\no = Other(j=B)\n" + MADE,
        "t.k",
    ),
    "registered": (
        (
            "REGISTER = {}\n\n\ndef register(cls):\n    REGISTER[cls.__name__] = cls\n    return cls\n\n\n@register\n"
            + MADE
        ),
        "t.k",
    ),
    "options": (
        "import argparse\n\nargs = argparse.ArgumentParser().parse_args([])\nfor name in ('j',):\n"
        "    setattr(args, name, B)\n" + MADE,
        "t.k",
    ),
    "read by a function's name": (
        in_function("for name, value in own.items():", "    print(f'{name}: {value}', own[name])", "str(own)"),
        "t.k",
    ),
    "read alone": (MADE + "names = sorted(vars(t))\nvalue = t.__dict__.get('j')\n", "t.k"),
}


def files(way: tuple[str, str], *uses: str) -> dict[str, str]:
    """A program that holds something of each kind in a file, A at first and B then, and reads it."""
    found = {f"{use}.py": program(way, use) for use in uses}
    results = ", ".join(f"{use}.RESULT" for use in uses)
    return found | {"main.py": "".join(f"import {use}\n" for use in uses) + f"\nRESULT = [{results}]\n"}


def program(way: tuple[str, str], use: str) -> str:
    """One such file."""
    first, then, text = USES[use]
    made, read = way
    made = re.sub(r"\bA\b", first, re.sub(r"\bB\b", then, made))
    return (
        f"{HEAD}{made}\n\ndef g(w, x):\n    return w + jax.lax.psum((x * x[0]).sum(), 'b')\n\n\n"
        f"step = jax.pmap(g, axis_name='b')\n{text.replace('READ', read)}\n"
        "RESULT = np.asarray(w[0]).tolist()\n"
    )


@pytest.mark.parametrize("way", WAYS)
def test_what_is_set_otherwise_counts(way: str) -> None:
    given = files(WAYS[way], "prepare", "axis")
    before, after = both(given, plan(given, "auto"))
    assert before["error"] == ""
    assert (before["error"], before["result"]) == (after["error"], after["result"])
    counted = plan(files(WAYS[way], "count"), "auto").sites[0]
    assert {one.layout for one in counted.arguments} <= {"stacked", "unknown"}


def test_the_object_of_a_bound_method_is_that_object() -> None:
    made = "class T:\n    def __init__(self):\n        self.w = jax_utils.replicate(jnp.ones(8))\n\n"
    made += "    def run(self):\n        self.w = step(self.w, shard(X))\n\n\n"
    text = program((made, "shard"), "prepare").partition("\nw = jax_utils")[0]
    text += "\nt = T()\nrun = t.run\nrun.__self__.w = jnp.stack([jnp.arange(8.0) + i for i in range(8)])\nt.run()\n"
    given = {"main.py": text + "RESULT = np.asarray(t.w[0]).tolist()\n"}
    before, after = both(given, plan(given, "auto"))
    assert before["error"] == ""
    assert (before["error"], before["result"]) == (after["error"], after["result"])


@pytest.mark.parametrize("set_otherwise", ["importlib.import_module(__name__).D = ", "globals()['D'] = "])
def test_a_list_of_devices_may_be_another(set_otherwise: str) -> None:
    text = program(("import importlib\n\nD = jax.local_devices()\n" + set_otherwise + "D[:4]\n", "shard"), "prepare")
    text = text.partition("\nw = jax_utils")[0]
    text += "\nw = jax_utils.replicate(jnp.ones(2), devices=D)\nw = step(w, X.reshape((len(D), -1, 3)))\n"
    site = plan({"main.py": text + "RESULT = np.asarray(w).tolist()\n"}, "auto").sites[0]
    assert [one.layout for one in site.arguments] == ["stacked", "stacked"]


@pytest.mark.parametrize("way", KEPT)
def test_what_keeps_its_value_is_taken_for_it(way: str) -> None:
    given = files(KEPT[way], *USES)
    found = plan(given, "auto")
    layouts = {site.path: site.arguments[1].layout for site in found.sites if site.path != "axis.py"}
    assert layouts == {"prepare.py": "split", "count.py": "split"}
    assert all(site.status == "rewritten" for site in found.sites)
    before, after = both(given, found)
    assert (before["error"], before["result"]) == (after["error"], after["result"])
