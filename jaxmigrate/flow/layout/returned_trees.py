"""The dictionaries that functions certainly return, with all their keys: what the function's own code makes of them.

Code runs on the shapes of its values: which keys a dictionary has, of which parts a tuple consists, None for all else.
"""

from __future__ import annotations

import ast
import functools
import re
from collections import Counter
from collections.abc import Mapping, Sequence

from jaxmigrate.flow.layout.container_code import ContainerCode
from jaxmigrate.flow.layout.container_shapes import Fixed, Names, Shape, copied, escape, escape_below, fixed
from jaxmigrate.flow.layout.functions import is_generator
from jaxmigrate.flow.layout.mapped_bodies import unwrapped
from jaxmigrate.flow.layout.model import Place
from jaxmigrate.program.library import named
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import all_parameters, positional_names
from jaxmigrate.program.values import Application, Constant, External, Function, Value

DEEPEST = 4  # calls within one another
MAPS = named("tree-map")
KEEPS = named("reduction", "same-tree")
ARITHMETIC = ("jax.", "jaxlib.", "numpy.", "optax.", "chex.")  # what changes no dictionary that it is given
READERS = frozenset(
    f"builtins.{name}" for name in ("print", "len", "float", "int", "bool", "isinstance", "str", "repr", "type", "id")
)
UNUSUAL = re.compile(r"""[^ -~]|["'$\\{}]""")  # what would have to be escaped in a key that is written again
GRADIENTS = {"jax.value_and_grad": True, "jax.grad": False}


def keys_at(value: Value, place: Place, resolver: Resolver) -> tuple[str, ...] | None:
    """The keys of the dictionary that a function certainly returns at a place of its tuples, in JAX's order."""
    found = returned(value, resolver)
    for step in place:
        if not isinstance(found, tuple) or not isinstance(step, int) or step >= len(found):
            return None
        found = found[step]
    if not isinstance(found, Mapping) or not found or any(map(UNUSUAL.search, found)):
        return None
    return tuple(sorted(found))


@once
def _methods(resolver: Resolver) -> Counter[str]:
    """In how many classes each name is that of a method."""
    scopes = (scope for module in resolver.project.named for scope in module.table.own_scope.values())
    return Counter(name for scope in scopes if scope.kind == "class" for name in scope.bindings)


def _is_another(function: Function, resolver: Resolver) -> bool:
    """Whether a method may be that of another class, which objects are of that derive from the class."""
    scope = function.module.table.scope_of[function.node]
    is_method = scope.kind == "class" and not isinstance(function.node, ast.Lambda)
    return is_method and _methods(resolver)[function.node.name] > 1  # type: ignore[union-attr]


@once
def _known(_resolver: Resolver) -> dict[Value, Fixed]:
    return {}


def returned(value: Value, resolver: Resolver) -> Fixed:
    """What a function that is mapped certainly returns, whatever it is given."""
    known = _known(resolver)
    if value not in known:
        known[value] = None
        known[value] = fixed(_called(unwrapped(value, resolver), [], {}, resolver, DEEPEST))
    return known[value]


def _is_followed(function: Function, resolver: Resolver) -> bool:
    """Whether a call runs the code of a function, and no other, and gives what that returns."""
    is_plain = not isinstance(function.node, ast.AsyncFunctionDef) and not is_generator(function.node)
    return is_plain and not _is_another(function, resolver)


def _called(
    value: Value, given: Sequence[Shape], by_name: Mapping[str, Shape], resolver: Resolver, depth: int
) -> Shape:
    """What a call of a function gives, which may change what it is given."""
    every = [*given, *by_name.values()]
    match value:
        case Function(node=node) if depth > 0 and _is_followed(value, resolver):
            spec = node.args
            names = positional_names(spec)[value.receiver is not None :]
            if len(given) <= len(names) and spec.kwarg is None:
                start: Names = {one.arg: None for one in all_parameters(spec)}
                start |= dict(zip(names, given, strict=False)) | dict(by_name)
                call_value = functools.partial(_called, resolver=resolver, depth=depth - 1)
                return ContainerCode(value, resolver, call_value).run(start)
        case Application(callee=External(name=name), arguments=arguments) if name in GRADIENTS:
            first = next((one for one in arguments if one.keyword is None), None)
            inner = resolver.argument_values(first) if first is not None else ()
            aux = next((one for one in arguments if one.keyword == "has_aux"), None)
            told = resolver.argument_values(aux) if aux is not None else (Constant(False),)
            if len(inner) == 1 and told == (Constant(True),):
                found = copied(_called(unwrapped(inner[0], resolver), given, by_name, resolver, depth - 1))
                if isinstance(found, tuple) and len(found) == 2:
                    return ((None, found[1]), None) if GRADIENTS[name] else (None, found[1])
                return None
        case External(name=name) if name in KEEPS | MAPS:
            at = int(name in MAPS)
            return copied(given[at]) if len(given) > at and "is_leaf" not in by_name else None
        case External(name=name) if name.startswith(ARITHMETIC) or name in READERS:
            for one in every:
                escape_below(one)
            return None
    for one in every:
        escape(one)
    return None
