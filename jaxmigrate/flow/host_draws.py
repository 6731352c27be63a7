"""Tests of numbers that the host draws, of which each process has its own unless all seed their generators alike."""

from __future__ import annotations

import ast
import re

from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once, once_each
from jaxmigrate.program.order import reaching
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import walk
from jaxmigrate.program.syntax import expression_calls, last_name
from jaxmigrate.program.values import External

DRAWING = frozenset({"random", "uniform", "rand", "randint", "choice", "binomial", "random_sample"})
SHARED = re.compile(r"^(random|numpy\.random)\.")  # the generators that a process starts with
SEEDS = re.compile(r"\bseed\w*\(|_seeds?\(")
WORDS = tuple(f"random.{name}(" for name in DRAWING)


def draws_numbers(test: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether a test is of a number that a process draws by itself, in a program that seeds no such generator."""
    if not _may_draw(module, resolver):
        return False
    calls = [*expression_calls(test)]
    for name in (one for one in walk(test) if isinstance(one, ast.Name) and one in module.table.scope_of):
        bindings = resolver.bindings(name.id, module.table.scope_of[name])
        bindings = reaching(bindings, name, module) if bindings else []
        value = bindings[0].value if len(bindings) == 1 and not bindings[0].path else None
        calls += expression_calls(value) if value is not None else ()
    return any(_draws(call, module, resolver) for call in calls)


def _draws(call: ast.Call, module: Module, resolver: Resolver) -> bool:
    value = resolver.value(call.func, module) if last_name(call.func) in DRAWING else None
    return isinstance(value, External) and SHARED.match(value.name) is not None


@once_each
def _may_draw(module: Module, resolver: Resolver) -> bool:
    """Whether a module has a word of such a generator, and the program none that seeds one."""
    return any(word in module.text for word in WORDS) and not _seeds(resolver)


@once
def _seeds(resolver: Resolver) -> bool:
    """Whether a program seeds some generator, by whatever function."""
    return any(SEEDS.search(module.text) for module in resolver.project.named)
