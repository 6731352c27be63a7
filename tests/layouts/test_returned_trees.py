"""The keys of dictionaries that functions certainly return, and dictionaries that may have other keys."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from jaxmigrate.flow.layout.returned_trees import keys_at
from jaxmigrate.program.modules import Project, parse_module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Function

HEAD = """\
import collections
import contextlib
import functools

import elsewhere
import flax
import jax
import jax.numpy as jnp

FLAG = elsewhere.FLAG
SHARED = {}


def mean(tree):
    return jax.lax.pmean(tree, "i")


def measured(x):
    found = {"a": x.sum()}
    if FLAG:
        found["b"] = x
    else:
        found.update(b=x * 2)
    return mean(found)


def added(found):
    found["c"] = 1
    return found


def maybe(found):
    if FLAG:
        found["c"] = 1


def inner(p, x):
    return p.sum(), {"a": x, "b": p}


"""
KNOWN = {
    "display": "return {'b': x, 'a': x.sum()}",
    "made by a call": "return dict(a=x, b=x)",
    "of another and more": "return dict({'a': x}, b=x)",
    "by a name": "m = {'a': x}\nm['b'] = x * 2\nreturn m",
    "updated": "m = {}\nm.update({'a': x}, b=x)\nreturn m",
    "in place": "m = {'a': x}\nm |= {'b': x}\nreturn m",
    "merged": "return {'a': x} | {'b': x}",
    "spread": "m = {'a': x}\nreturn {**m, 'b': x}",
    "reduced": "m = {'a': x, 'b': x}\nm = mean(m)\nreturn m",
    "mapped over": "return jax.tree.map(lambda a: a * 2, {'a': x, 'b': x})",
    "each": "m = {'a': x, 'b': x}\nreturn {k: jax.lax.pmean(v, 'i') for k, v in m.items()}",
    "both ways": "if FLAG:\n    m = {'a': x, 'b': 1}\nelse:\n    m = {'b': x, 'a': 2}\nreturn m",
    "in both returns": "if FLAG:\n    return {'a': x, 'b': 1}\nreturn {'b': x, 'a': 2}",
    "one of two": "return {'a': x, 'b': 1} if FLAG else {'b': x, 'a': 2}",
    "taken from": "m = {'a': x, 'b': x, 'c': x}\ny = m.pop('c') + m['a']\nreturn m",
    "deleted": "m = {'a': x, 'b': x, 'c': x}\ndel m['c']\nreturn m",
    "by a helper": "return measured(x)",
    "changed by a helper": "m = {'a': x, 'c': x}\nadded(m)\ndel m['c']\nm['b'] = x\nreturn m",
    "by another name": "m = {'a': x}\nn = m\nn['b'] = 1\nreturn m",
    "gradient": "(_, m), _ = jax.value_and_grad(inner, has_aux=True)(x, x)\nreturn m",
    "gradient's own": "g, m = jax.grad(inner, has_aux=True)(x, x)\nreturn m",
    "by a named gradient": "f = jax.value_and_grad(inner, has_aux=True)\n(l, m), g = f(x, x)\nreturn m",
    "after a loop": "m = {'a': x}\nfor i in range(3):\n    m['a'] = m['a'] * i\nm['b'] = x\nreturn m",
    "read within": "m = {'a': x, 'b': x}\nf = lambda y: m['a'] + y\nreturn {**m, 'a': f(x)}",
    "added to": "m = {'a': x, 'b': x}\nm['a'] += 1\nm['b'] *= jax.device_count()\nreturn m",
    "within a scope of names": "with jax.named_scope('n'):\n    m = {'a': x, 'b': x}\nreturn m",
    "shown": "m = {'a': x, 'b': x}\nprint(m, len(m), jnp.sum(m['a']))\nreturn m",
    "of a class": "return Model().only(x)",
    "raises else": "if FLAG:\n    raise ValueError\nreturn {'a': x, 'b': x}",
}
UNKNOWN = {
    "on a condition": "m = {'a': x}\nif FLAG:\n    m['b'] = x\nreturn m",
    "in a loop": "m = {'a': x}\nfor k in SHARED:\n    m['b'] = x\nreturn m",
    "other keys": "m = {'a': x}\nfor k in 'b':\n    m[k] = x\nreturn m",
    "a loop that ends early": "m = {'a': x, 'b': 1}\nfor k in SHARED:\n    m['c'] = 1\n    break\nreturn m",
    "maybe by a helper": "m = {'a': x, 'b': x}\nmaybe(m)\nreturn m",
    "changed elsewhere": "m = {'a': x, 'b': x}\nelsewhere.add(m)\nreturn m",
    "changed by a method of its class": "m = {'a': x, 'b': x}\ndict.update(m, c=1)\nreturn m",
    "kept elsewhere": "m = {'a': x, 'b': x}\nelsewhere.LAST = m\nelsewhere.change()\nreturn m",
    "held by a list": "m = {'a': x, 'b': x}\nheld = [m]\nheld[0]['c'] = 1\nreturn m",
    "held by a tuple": "m = {'a': x, 'b': x}\nheld = (m, 1)\nelsewhere.add(held)\nreturn m",
    "another name in one case": "m = {'a': x, 'b': x}\nn = m if FLAG else {}\nn['c'] = 1\nreturn m",
    "another name in one of two ways": "m = {'a': x, 'b': x}\nn = {}\nif FLAG:\n    n = m\nn['c'] = 1\nreturn m",
    "in a closure": "m = {'a': x, 'b': x}\ndef f():\n    m['c'] = 1\nf()\nreturn m",
    "passed in a closure": "m = {'a': x, 'b': x}\ndef f():\n    elsewhere.add(m)\nf()\nreturn m",
    "rebound in a closure": "m = {'a': x, 'b': x}\ndef f():\n    nonlocal m\n    m = {}\nf()\nreturn m",
    "a module's": "return SHARED",
    "global": "global m\nm = {'a': x, 'b': x}\nelsewhere.change()\nreturn m",
    "other keys in another return": "if FLAG:\n    return {'a': x}\nreturn {'a': x, 'b': x}",
    "none in another return": "if FLAG:\n    return {'a': x, 'b': x}",
    "another class": "return collections.OrderedDict(a=x, b=x)",
    "frozen": "return flax.core.freeze({'a': x, 'b': x})",
    "a class of its own": "return Own(a=x, b=x)",
    "suppressed": "m = {'a': x, 'b': x}\nwith contextlib.suppress(KeyError):\n    m['c'] = SHARED['c']\nreturn m",
    "tried": "m = {'a': x}\ntry:\n    m['b'] = SHARED['b']\nexcept KeyError:\n    pass\nreturn m",
    "setdefault": "m = {'a': x, 'b': x}\nm.setdefault('c', 1)\nreturn m",
    "no text": "return {'a': x, 'b': x, 1: x}",
    "leaves of its own": "return jax.tree.map(lambda a: 1, {'a': x, 'b': x}, is_leaf=lambda a: True)",
    "by setattr": "m = {'a': x, 'b': x}\nsetattr(elsewhere, 'm', m)\nreturn m",
    "by a partial": "m = {'a': x, 'b': x}\nfunctools.partial(added, m)()\nreturn m",
    "in a comprehension": "m = {'a': x, 'b': x}\n[added(m) for _ in range(2)]\nreturn m",
    "matched": "m = {'a': x, 'b': x}\nmatch FLAG:\n    case 1:\n        m['c'] = 1\nreturn m",
    "of a class that another derives from": "return Model().measured(x)",
    "yielded": "yield {'a': x, 'b': x}",
}


CLASSES = """\
class Own(dict):
    pass


class Model:
    def measured(self, x):
        return {"a": x, "b": x}

    def only(self, x):
        return {"a": x, "b": x}


class Other(Model):
    def measured(self, x):
        return {"a": x}
"""


def keys(body: str) -> tuple[str, ...] | None:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    text = f"{HEAD}{CLASSES}\n\ndef step(x):\n{lines}\n"
    module = parse_module(Path("/p/main.py"), text)
    resolver = Resolver(Project([module]))
    function = next(n for n in module.tree.body if isinstance(n, ast.FunctionDef) and n.name == "step")
    return keys_at(Function(module, function), (), resolver)


@pytest.mark.parametrize("name", KNOWN)
def test_keys_are_known(name: str) -> None:
    assert keys(KNOWN[name]) == ("a", "b")


@pytest.mark.parametrize("name", UNKNOWN)
def test_other_keys_are_possible(name: str) -> None:
    assert keys(UNKNOWN[name]) is None
