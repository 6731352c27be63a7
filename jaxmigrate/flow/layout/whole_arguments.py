"""Slices of the first device that mapped functions alone are given, without a device axis: `partial(step, w)`.

The global array is as good for these: nothing else sees it, and a copy is needed only where a map may be donated the
array before what is given has been used.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from jaxmigrate.flow.layout.groups import Groups
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.passing import taker
from jaxmigrate.program.values import Application, External, Function, Value

PARTIALS = named("partial")
DONATES = "donate_argnums"
DEEPEST = 3  # functions that make a map for one another
NAMED = ast.FunctionDef | ast.AsyncFunctionDef


class WholeArguments:
    """Asks what becomes of the slices that a program takes."""

    def __init__(self, groups: Groups) -> None:
        self.it = groups.it
        self.facts = groups.facts
        self.donating = _donating(groups)

    def is_one(self, node: ast.expr, module: Module) -> bool:
        """Whether all that becomes of a slice is that mapped functions are given it, before a map is donated arrays."""
        parents = module.table.parents
        above = parents.get(node)
        while isinstance(above, ast.Attribute):
            node, above = above, parents.get(above)
        if not isinstance(above, ast.Assign) or above.value is not node or len(above.targets) != 1:
            return False
        target, block = above.targets[0], module.table.block_of(above)
        function = module.table.function_of(above)
        own = module.table.own_scope.get(function) if function is not None and self.donating is not None else None
        if not isinstance(target, ast.Name) or own is None or len(own.bindings.get(target.id, ())) != 1:
            return False
        uses = [n for n in ast.walk(own.node) if isinstance(n, ast.Name) and n.id == target.id and n is not target]
        if any(module.table.scope_of.get(one) is not own for one in uses) or target.id in own.outer_names:
            return False
        last = max((self._place(one, block, module) for one in uses), default=-1)
        first = block.index(above)
        if any(self._place(one, block, module) <= first for one in uses):
            return False
        within = block[first + 1 : last + 1]
        return all(self._goes_to_map(one, module) for one in uses) and not self._may_donate(within)

    @staticmethod
    def _place(node: ast.AST, block: Sequence[ast.stmt], module: Module) -> int:
        """Which statement of a block a node stands in itself; before all of them where it is in none, or in a loop."""
        statement = module.table.statement_of(node)
        return block.index(statement) if statement in block else -1

    def _may_donate(self, statements: Sequence[ast.stmt]) -> bool:
        assert self.donating is not None
        calls, names = self.donating
        return any(
            node in calls or _said(node) in names or isinstance(node, ast.Yield | ast.YieldFrom | ast.Await)
            for statement in statements
            for node in ast.walk(statement)
        )

    def _goes_to_map(self, name: ast.Name, module: Module) -> bool:
        """Whether a name is bound to a map by a partial that a function of the program calls, and does nothing else."""
        bound = module.table.parents.get(name)
        if not isinstance(bound, ast.Call) or name not in bound.args[1:] or bound.keywords:
            return False
        if any(isinstance(one, ast.Starred) for one in bound.args) or not self._is_partial(bound, module):
            return False
        index = bound.args.index(name) - 1
        if not all(self._is_whole(value, index) for value in self.it.resolver.values(bound.args[0], module)):
            return False
        call = module.table.parents.get(bound)
        return (
            isinstance(call, ast.Call) and bound in call.args and self._calls_it(call, call.args.index(bound), module)
        )

    def _is_partial(self, call: ast.Call, module: Module) -> bool:
        value = self.it.resolver.value(call.func, module)
        return isinstance(value, External) and value.name in PARTIALS

    def _is_whole(self, value: Value, index: int, depth: int = DEEPEST) -> bool:
        """Whether a value is a map that takes an argument on all devices alike, and donates none."""
        if isinstance(value, Application) and isinstance(made := value.callee, Function):
            returned = returned_by(made.node) if depth and not getattr(made.node, "decorator_list", ()) else []
            given = [self.it.resolver.values(one, made.module) if one is not None else () for one in returned]
            return all(bool(values) for values in given or [()]) and all(
                self._is_whole(one, index, depth - 1) for values in given for one in values
            )
        node = value.node if isinstance(value, Application) else None
        if node is None or node not in self.it.sites or self.facts.positions(node, DONATES) != ():
            return False
        axes = self.facts.in_axes(node)
        return axes is not None and index < len(axes) and axes[index] is None

    def _calls_it(self, call: ast.Call, place: int, module: Module) -> bool:
        """Whether a function of the program calls what it is given at a place, and does nothing else with it."""
        found = self.it.resolver.values(call.func, module)
        function = found[0] if len(found) == 1 else None
        if any(isinstance(one, ast.Starred) for one in call.args) or not isinstance(function, Function):
            return False
        node, table = function.node, function.module.table
        if not isinstance(node, ast.FunctionDef) or node.decorator_list:
            return False
        name = taker(node.args, place, int(function.receiver is not None))
        own = table.own_scope.get(node)
        every = [*ast.walk(node)]
        if name is None or own is None or any(isinstance(one, ast.Yield | ast.YieldFrom) for one in every):
            return False
        reads = [one for one in every if isinstance(one, ast.Name) and one.id == name]
        return len(own.bindings.get(name, ())) == 1 and all(
            table.scope_of.get(one) is own and _is_called(one, table.parents.get(one)) for one in reads
        )


def _is_called(name: ast.expr, above: ast.AST | None) -> bool:
    return isinstance(above, ast.Call) and above.func is name


def _said(node: ast.AST) -> str:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""


def _donating(groups: Groups) -> tuple[frozenset[ast.AST], frozenset[str]] | None:
    """The calls of maps that donate arrays, and the names of what may come to one; None where any code may."""
    it, facts = groups.it, groups.facts
    giving = {site for site in it.sites if facts.positions(site, DONATES) != ()}
    if not giving.isdisjoint(it.blockers.escaped):
        return None
    calls = frozenset(call.node for call in it.maps.calls.values() if call.site in giving)
    holders = [(call.node, call.module) for call in it.maps.calls.values() if call.site in giving]
    names: set[str] = set()
    for node, module in holders:
        function = module.table.function_of(node)
        if function is not None and not isinstance(function, ast.FunctionDef):
            return None
        names |= {one.name for one in _functions_around(node, module)}
    while True:
        more = {name for module in it.modules for name in _mentioning(module, frozenset(names))} - names
        if not more:
            break
        names |= more
    if any(name.startswith("__") for name in names) or any(_hands_on(m, names, groups) for m in it.modules):
        return None
    return calls, frozenset(names)


def _functions_around(node: ast.AST, module: Module) -> Iterator[ast.FunctionDef]:
    above = module.table.parents.get(node)
    while above is not None:
        if isinstance(above, ast.FunctionDef):
            yield above
        above = module.table.parents.get(above)


def _mentioning(module: Module, names: frozenset[str]) -> Iterator[str]:
    """The functions of a file that mention some names, and what else gets them for its own."""
    for name in names:
        for node in module.table.named.get(name, ()):
            yield from (one.name for one in _functions_around(node, module))
            statement = module.table.statement_of(node)
            if isinstance(statement, ast.Assign) and not _is_called(node, module.table.parents.get(node)):
                yield from (said for target in statement.targets for one in ast.walk(target) if (said := _said(one)))


def _hands_on(module: Module, names: set[str], groups: Groups) -> bool:
    """Whether a file gives one of some functions to others of the program, or keeps it where no name shows it."""
    for name in names:
        if any(isinstance(one, ast.Constant) and one.value == name for one in module.nodes):
            return True
        for node in module.table.named.get(name, ()):
            above = module.table.parents.get(node)
            if _is_called(node, above) or isinstance(above, ast.Attribute):
                continue
            value = groups.it.resolver.value(above.func, module) if isinstance(above, ast.Call) else None
            if not isinstance(value, External) and not isinstance(above, ast.Assign):
                return True
    functions = (one for one in module.nodes if isinstance(one, NAMED) and one.name in names)
    late = ast.Yield | ast.YieldFrom | ast.Await
    return any(isinstance(n, late) for one in functions for n in ast.walk(one))
