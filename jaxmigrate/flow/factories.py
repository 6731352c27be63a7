"""Which of the things that a function may return a call of it gives, where a flag decides: `get_step(f, pmap=True)`."""

from __future__ import annotations

import ast

from jaxmigrate.flow.truth import truth
from jaxmigrate.program.collectives import argument
from jaxmigrate.program.functions import own_statements
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import defaults_of
from jaxmigrate.program.values import Application, Constant, Function

_LEAVES = ast.Return | ast.Raise


def ways_of(made: Application, resolver: Resolver) -> int:
    """How many of the places where a function of the program returns something a call of it may come to."""
    factory = made.callee
    if not isinstance(factory, Function) or isinstance(factory.node, ast.Lambda):
        return 1
    returns = [one for one in own_statements(factory.node) if isinstance(one, ast.Return)]
    return max(1, sum(is_come_to(one, factory.module, made, resolver) for one in returns))


def is_come_to(node: ast.AST, module: Module, made: Application, resolver: Resolver) -> bool:
    """Whether a call of a function may come to a place in it, for all that its constants and defaults say."""
    factory = made.callee
    if not isinstance(factory, Function) or isinstance(factory.node, ast.Lambda) or module is not factory.module:
        return True
    given = _Given(made, factory, resolver)
    parents = module.table.parents
    while node is not factory.node and node in parents:
        above = parents[node]
        if isinstance(above, ast.If | ast.IfExp) and node is not above.test:
            holds = given.holds(above.test)
            within = node in above.body if isinstance(above.body, list) else node is above.body
            if holds is not None and holds != within:
                return False
        for block in (getattr(above, name, None) for name in ("body", "orelse")):
            before = block[: block.index(node)] if isinstance(block, list) and node in block else ()
            if any(given.leaves(one) for one in before):
                return False
        node = above
    return True


def outcome(test: ast.expr, made: Application, resolver: Resolver) -> bool | None:
    """How a test in a function turns out where a call of it runs, by its constants and defaults."""
    function = made.callee
    return _Given(made, function, resolver).holds(test) if isinstance(function, Function) else None


def is_chosen(choice: ast.IfExp, made: Application, resolver: Resolver) -> bool | None:
    """How a choice in a function turns out that a call of it made; None where that is not known."""
    factory = made.callee
    if not isinstance(factory, Function) or isinstance(factory.node, ast.Lambda):
        return None
    return _Given(made, factory, resolver).holds(choice.test)


class _Given:
    """What a call gives a function for its parameters."""

    def __init__(self, made: Application, factory: Function, resolver: Resolver) -> None:
        self.made = made
        self.factory = factory
        self.resolver = resolver
        self.names = factory.passed_names()
        self.defaults = {} if isinstance(factory.node, ast.Lambda) else dict(defaults_of(factory.node.args))
        self.module = factory.module

    def constant(self, node: ast.expr) -> Constant | None:
        """What a parameter is, where the call or the default says it; or a constant that is written."""
        if isinstance(node, ast.Constant):
            return Constant(node.value)
        if not isinstance(node, ast.Name) or (node.id not in self.names and node.id not in self.defaults):
            return None
        if self.is_set(node.id) or any(one.keyword in ("*", "**") for one in self.made.arguments):
            return None
        position = self.names.index(node.id) if node.id in self.names else None
        passed = argument(self.made.arguments, position, node.id)
        if passed is not None:
            values = self.resolver.argument_values(passed)
        else:
            default = self.defaults.get(node.id)
            values = self.resolver.values(default, self.module) if default is not None else ()
        return values[0] if len(values) == 1 and isinstance(values[0], Constant) else None

    def is_set(self, name: str) -> bool:
        """Whether the function sets a parameter itself, so that it may not be what the call gave it."""
        scope = self.module.table.own_scope[self.factory.node]
        return len(scope.bindings.get(name, ())) > 1

    def holds(self, test: ast.expr) -> bool | None:
        """How a test turns out."""

        def known(node: ast.expr) -> bool | None:
            constant = self.constant(node)
            return None if constant is None else bool(constant.value)

        def agree(left: ast.expr, right: ast.expr) -> bool | None:
            one, other = self.constant(left), self.constant(right)
            return None if one is None or other is None else one == other

        return truth(test, known, agree)

    def leaves(self, statement: ast.stmt) -> bool:
        """Whether the function is left in a statement, whatever else is true: `if flag: return a`."""
        if isinstance(statement, _LEAVES):
            return True
        if not isinstance(statement, ast.If):
            return False
        holds = self.holds(statement.test)
        block = statement.body if holds else statement.orelse
        return holds is not None and any(self.leaves(one) for one in block)
