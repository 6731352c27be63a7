"""What `jit` makes of functions in sight, and the shardings that it is given for their arguments and results."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.counts import parameters_without
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.mapped_calls import JITS
from jaxmigrate.program.collectives import argument
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import positional_names
from jaxmigrate.program.values import Application, Argument, External, Function, Partial, Value

SHARDINGS = ("in_shardings", "out_shardings")
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
        read = [() if one is None else resolver.literal(one) for one in map(self.keyword, _STATIC)]
        return None if ... in read else (read[0], read[1])


_STATIC = ("static_argnums", "static_argnames")


def sharded_jits(facts: Facts) -> Iterator[Jitted]:
    """Every jit with shardings of a function in sight."""
    for module in facts.modules:
        if any(one in module.text for one in SHARDINGS):
            for made in _made(module, facts.resolver):
                found = _jitted(made, facts.resolver)
                if found is not None:
                    yield found


def _made(module: Module, resolver: Resolver) -> Iterator[Application]:
    for call in module.table.calls:
        if any(k.arg in SHARDINGS for k in call.keywords):
            value = resolver.value(call, module)
            if isinstance(value, Application) and value.node is call:
                yield value
    for node in module.table.own_scope:
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            value = resolver.decorated(node, module)
            if isinstance(value, Application):
                yield value


def _jitted(made: Application, resolver: Resolver) -> Jitted | None:
    if not isinstance(made.callee, External) or made.callee.name not in JITS:
        return None
    mapped = argument(made.arguments, 0, "fun")
    values = resolver.argument_values(mapped) if mapped is not None else ()
    value = values[0] if len(values) == 1 else None
    inner = value.callee if isinstance(value, Partial) else value
    return Jitted(made, inner, value) if value is not None and isinstance(inner, Function) else None


def spec_in(node: ast.expr, module: Module, resolver: Resolver) -> tuple[ast.expr, Module]:
    """The spec in a NamedSharding; the expression itself where it is none."""
    value = resolver.value(node, module)
    if isinstance(value, Application) and value.callee == NAMED_SHARDING:
        inner = argument(value.arguments, 1, "spec")
        if inner is not None and inner.expression is not None:
            return inner.expression, inner.module
    return node, module
