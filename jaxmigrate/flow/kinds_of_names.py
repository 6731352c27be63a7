"""What arguments, results and the specs for them are by their names: a state, parameters, data, a key, metrics."""

from __future__ import annotations

import ast
import re

from jaxmigrate.flow.readings import is_data
from jaxmigrate.program.syntax import last_name

_OF_SPEC = re.compile(r"(^|_)((mesh_|partition_?)?p?specs?|(mesh_|named_?)?shardings?|sharded)$")
TREES = ("a state", "parameters", "an optimizer's state")  # whose specs are trees that fit nothing else
_MAKES = re.compile(r"_(p?specs?|shardings?)(_(of|for))?$|^(p?specs?|shardings?)_(of|for)$")
_KINDS = (  # the first that fits
    ("an optimizer's state", re.compile(r"(^|_)opt(im|imizer)?(_state)?s?$")),
    ("random keys", re.compile(r"(^|_)(key|rng|prng|seed)s?$")),
    ("metrics", re.compile(r"(^|_)(metric|loss|losse|info|aux|stat|log)s?$")),
    ("a state", re.compile(r"(^|_)(train_?)?states?$")),
    ("parameters", re.compile(r"(^|_)(param|parameter|weight|variable)s?$")),
)


def kind_of(name: str) -> str:
    """What something of this name is; empty where the name does not say."""
    name = name.lower()
    found = next((kind for kind, words in _KINDS if words.search(name)), "")
    return found or ("data" if is_data(name) else "")


def spec_name(node: ast.expr) -> str:
    """The name of a spec or sharding without the word that says that it is one; empty where it has none.

    Of `jax.tree.map(lambda one: NamedSharding(mesh, one), state_specs)` it is that of what is mapped, and of
    `get_partition_spec(batch.caches)` that of what the spec is made for.
    """
    if isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords and _MAKES.search(last_name(node.func)):
        return last_name(node.args[0]).lower()
    name = _name(node)
    short = _OF_SPEC.sub("", name.lower())
    return short if short != name.lower() else ""


def _name(node: ast.expr) -> str:
    if isinstance(node, ast.Call):
        named = [one for one in node.args if isinstance(one, ast.Name | ast.Attribute)]
        return last_name(named[0]) if last_name(node.func) in ("map", "tree_map") and len(named) == 1 else ""
    return last_name(node) if isinstance(node, ast.Name | ast.Attribute) else ""
