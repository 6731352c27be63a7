"""Which of the program's functions a decorator gives to what it decorates: `@register("mlp")` may store it anywhere."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, External, Function, Partial, Value

# Decorators of these only wrap what they are given: whoever calls it does so by its own name.
LIBRARIES = (
    "abc absl beartype builtins chex contextlib dataclasses equinox flax functools haiku hydra jax jaxtyping numba "
    "numpy pytest tensorflow typeguard typing"
)
WRAPPING = tuple(f"{library}." for library in LIBRARIES.split())
ACCESSORS = frozenset({"setter", "getter", "deleter", "defvjp", "defjvp", "defjvps"})  # of a property, of a derivative


def takers(decorator: ast.expr, module: Module, resolver: Resolver) -> Sequence[Function] | None:
    """The functions that are given what a decorator decorates, each as its first argument; None for any code at all."""
    if isinstance(decorator, ast.Attribute) and decorator.attr in ACCESSORS:
        return ()
    found: list[Function] = []
    for value in resolver.values(decorator, module):
        taking = _takers(value, resolver)
        if taking is None:
            return None
        found += taking
    return found


def _takers(value: Value, resolver: Resolver) -> list[Function] | None:
    match value:
        case External(name=name):
            return [] if name.startswith(WRAPPING) else None
        case Application(callee=External()) | Partial(callee=External()):
            return _takers(value.callee, resolver)
        case Application(callee=Function() as factory):
            returned = resolver.returned(factory)
            functions = [one for one in returned if isinstance(one, Function)]
            return functions if functions and len(functions) == len(returned) else None
        case Function():
            return [value]
    return None
