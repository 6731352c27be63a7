"""What `jit` makes of functions in sight, and the shardings that it is given for their arguments and results."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.alternatives import alternatives
from jaxmigrate.flow.counts import parameters_without
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.mapped_calls import JITS
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.collectives import argument
from jaxmigrate.program.combined import unbound
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import positional_names
from jaxmigrate.program.values import Application, Argument, External, Function, Parameter, Partial, Value
from jaxmigrate.records import replace

SHARDINGS = ("in_shardings", "out_shardings")
DEEPEST = 3
NAMED_SHARDING = External("jax.sharding.NamedSharding")


class Jitted(NamedTuple):
    """A jit of a function in sight, or of a partial of one, which is `value` then."""

    made: Application
    function: Function
    value: Value

    def keyword(self, name: str) -> Argument | None:
        """An argument of the jit."""
        return argument(self.made.arguments, None, name)

    def static(self, resolver: Resolver) -> int | None:
        """How many parameters are static, which have no shardings; None where that is not known."""
        read = self._static(resolver)
        if read is None:
            return None
        whole = read == ((), ()) or self.value is self.function
        return parameters_without(self.function, *read) if whole else None

    def parameters(self, resolver: Resolver) -> list[str] | None:
        """The positional parameters that in_shardings is for, one by one; None where that is not known."""
        read = self._static(resolver)
        if read is None or self.function.node.args.vararg is not None:
            return None
        names = self.function.passed_names()
        if isinstance(self.value, Partial):
            if read != ((), ()) or any(one.keyword in ("*", "**") for one in self.value.arguments):
                return None
            given = {one.keyword for one in self.value.arguments}
            names = names[sum(one.keyword is None for one in self.value.arguments) :]
            return names[: next((n for n, name in enumerate(names) if name in given), len(names))]
        own = positional_names(self.function.node.args)[self.function.receiver is not None :]
        numbers, words = (one if isinstance(one, tuple | list) else (one,) for one in read)
        chosen = {own[n] for n in numbers if isinstance(n, int) and -len(own) <= n < len(own)}
        return [name for name in names if name not in chosen and name not in words]

    def _static(self, resolver: Resolver) -> tuple[object, object] | None:
        if any(one.keyword == "**" for one in self.made.arguments):
            return None  # options that are not known may name static arguments, too
        read = [() if one is None else resolver.literal(one) for one in map(self.keyword, _STATIC)]
        return None if ... in read else (read[0], read[1])


_STATIC = ("static_argnums", "static_argnames")


def sharded_jits(facts: Facts) -> Iterator[Jitted]:
    """Every jit with shardings of a function in sight."""
    for made in made_with_shardings(facts):
        yield from jitted(made, facts.resolver)


def made_with_shardings(facts: Facts) -> Iterator[Application]:
    """Every call with shardings, once for each that callers of the function around pass."""
    for module in facts.modules:
        if any(one in module.text for one in SHARDINGS):
            for made in _made(module, facts.resolver):
                yield from _as_called(made, facts.resolver)


def _made(module: Module, resolver: Resolver) -> Iterator[Application]:
    for call in module.table.calls:
        if any(k.arg in SHARDINGS or k.arg is None for k in call.keywords):
            value = resolver.value(call, module)
            if isinstance(value, Application) and value.node is call:
                yield value
    for node in module.table.own_scope:
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            value = resolver.decorated(node, module)
            if isinstance(value, Application):
                yield value


def _as_called(made: Application, resolver: Resolver) -> list[Application]:
    """A jit with the shardings that are in a dictionary of options, and those that callers of the function around pass.

    One for each call of it, where these are its parameters.
    """
    given = [*_unpacked(made, resolver)]
    ways: list[list[Argument]] = [[]]
    for one in given:
        written = _written(one, resolver) if one.keyword in SHARDINGS else None
        if written is None:
            ways = [[*way, one] for way in ways]
        elif len(ways) in (1, len(written)):
            rest = ways if len(ways) == len(written) else ways * len(written)
            ways = [[*way, other] for way, other in zip(rest, written, strict=True)]
    return [replace(made, arguments=tuple(way)) for way in ways]


def _unpacked(made: Application, resolver: Resolver) -> Iterator[Argument]:
    """The arguments of a jit, with what is stored by name in a dictionary that is unpacked."""
    for one in made.arguments:
        node = one.expression
        if one.keyword != "**" or not isinstance(node, ast.Name):
            yield one
            continue
        module = one.module
        for binding in resolver.bindings(node.id, module.table.scope_of[node]):
            match binding.value:
                case ast.Dict(keys=keys, values=values):
                    named = {k.value: v for k, v in zip(keys, values, strict=True) if isinstance(k, ast.Constant)}
                case ast.Call(func=ast.Name(id="dict"), keywords=keywords):
                    named = {k.arg: k.value for k in keywords}
                case _:
                    named = {}
            yield from (Argument(name, named[name], module) for name in SHARDINGS if name in named)
            if binding.value is None:
                yield one  # a parameter, which may hold anything
        for other in module.table.named.get(node.id, ()):
            entry = module.table.parents.get(other)
            store = module.table.parents.get(entry) if isinstance(entry, ast.Subscript) else None
            if isinstance(store, ast.Assign) and isinstance(entry, ast.Subscript) and entry in store.targets:
                name = entry.slice.value if isinstance(entry.slice, ast.Constant) else None
                if name in SHARDINGS and module.table.function_of(store) is module.table.function_of(node):
                    yield Argument(str(name), store.value, module)


def _written(one: Argument, resolver: Resolver) -> list[Argument] | None:
    """What callers write for a sharding that is a parameter of the function around; None where it is none."""
    node = one.expression
    values = resolver.argument_values(one) if isinstance(node, ast.Name) else ()
    if len(values) != 1 or not isinstance(values[0], Parameter):
        return None
    found = callers_of(resolver).written(values[0])
    return None if found is None else [Argument(one.keyword, expression, home) for expression, home in found]


def jitted(made: Application, resolver: Resolver) -> Iterator[Jitted]:
    """A jit of a function, or of each that it may be given."""
    if not isinstance(made.callee, External) or made.callee.name not in JITS:
        return
    mapped = argument(made.arguments, 0, "fun")
    values = resolver.argument_values(mapped) if mapped is not None else ()
    for given in values if len(values) == 1 else alternatives(values):
        value = unbound(given, made.node) if isinstance(given, Function) else given
        inner = value.callee if isinstance(value, Partial) else value
        if isinstance(inner, Function):
            yield Jitted(made, inner, value)


def spec_in(node: ast.expr, module: Module, resolver: Resolver, depth: int = 0) -> tuple[ast.expr, Module]:
    """The spec in a NamedSharding, be it made by a function of the program; the expression itself where it is none."""
    value = resolver.value(node, module)
    if isinstance(value, Application) and value.callee == NAMED_SHARDING:
        inner = argument(value.arguments, 1, "spec")
        if inner is not None and inner.expression is not None:
            return inner.expression, inner.module
    if isinstance(value, Application) and isinstance(value.callee, Function) and depth < DEEPEST:
        returned = returned_by(value.callee.node)
        if len(returned) == 1 and returned[0] is not None:
            made = spec_in(returned[0], value.callee.module, resolver, depth + 1)
            return made if made[0] is not returned[0] else (node, module)
    return node, module
