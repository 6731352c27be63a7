"""Returned tuples of which a function has only the name, `return states, loss`, and whose parts have unlike specs.

The parts get names where the tuple gets its own: those of what a loop carries, `scan(f, (params, rng), xs)`, or those
that callers have for them. Else they are read by their places.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from jaxmigrate.flow.layout.model import Place
from jaxmigrate.migrate.maps import Array
from jaxmigrate.migrate.names import NAMING
from jaxmigrate.migrate.site_calls import taken_calls
from jaxmigrate.program.library import valued
from jaxmigrate.program.modules import Module
from jaxmigrate.program.operations import Before, Operation, Replace, code
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Scope
from jaxmigrate.program.sites import MappedSite, denotes
from jaxmigrate.program.values import Function

Parts: TypeAlias = Sequence[tuple[Place, Array]]
CARRIES = valued("carry")  # at which position loops are given what they give back
CARRIED = frozenset({"init", "init_val"})


@dataclass(frozen=True, slots=True)
class Opened:
    """The returns of one mapped function; `arrays` are its parameters that are one array each.

    `changed` gives what becomes of a returned value, `expanded` the source of one with an axis put back, `fits` whether
    a text has room behind a return.
    """

    function: Function
    site: MappedSite
    resolver: Resolver
    arrays: frozenset[str]
    changed: Callable[[ast.expr, Array], list[Operation]]
    expanded: Callable[[str, int, bool], str]
    fits: Callable[[str], bool]

    def operations(self, value: ast.expr, parts: Parts) -> list[Operation] | None:
        """What puts the mapped axis into the parts of a returned value; None where they have no name to be read by."""
        found: list[Operation] = []
        for element, below, place in _elements(value, parts, ()):
            if below is None:
                return None
            if below[0][0] == ():
                if below[0][1].fields and not isinstance(element, ast.Name):
                    return None
                found += self.changed(element, below[0][1])
            elif any(array.drops for _, array in below):
                if not isinstance(element, ast.Name) or any(array.fields for _, array in below):
                    return None
                found += self._named(element, below, place, value) or [
                    Replace(element, code(self._text(element.id, below)))
                ]
            elif any(array.fields for _, array in below):
                return None
        return found

    def _named(self, element: ast.Name, parts: Parts, place: Place, value: ast.expr) -> list[Operation] | None:
        """The tuple under names for its parts, which stand in the place of its own; None where there are no such."""
        table = self.function.module.table
        scope = table.own_scope[self.function.node]
        bindings = scope.bindings.get(element.id, [])
        statement = bindings[0].node if len(bindings) == 1 and bindings[0].kind == "assign" else None
        end = table.parents.get(value)
        body = self.function.node.body
        if not isinstance(statement, ast.Assign) or len(statement.targets) > 1:
            return None
        targets = [n for n in ast.walk(statement.targets[0]) if isinstance(n, ast.Name) and n.id == element.id]
        if not isinstance(body, list) or statement not in body or end not in body or not isinstance(end, ast.Return):
            return None
        if any(len(inside) != 1 for inside, _ in parts) or _own(element.id, scope, self.function) != [element]:
            return None
        for names, carried in self._proposals(statement, bindings[0].path, len(parts), place):
            if self._are_free(names, statement, scope):
                return self._written(targets[0], names, parts, (element, end), carried=carried)
        return None

    def _written(
        self, target: ast.Name, names: Sequence[str], parts: Parts, ends: tuple[ast.Name, ast.Return], *, carried: bool
    ) -> list[Operation]:
        """The names in the place of a target and of a returned element, with the axis in those that have it."""
        element, end = ends
        parent = self.function.module.table.parents[target]
        whole = ", ".join(names)
        found: list[Operation] = [Replace(target, code(whole if isinstance(parent, ast.Assign) else f"({whole})"))]
        made = [
            self.expanded(name, one.axis, carried and name in self.arrays) if one.drops else name
            for name, (_, one) in zip(names, parts, strict=True)
        ]
        every = ", ".join(made)
        assert end.value is not None
        shown = ast.unparse(end.value).replace(element.id, every, 1)
        others = {n.id for n in ast.walk(end.value) if isinstance(n, ast.Name)}
        dropped = [name for name, one in zip(names, made, strict=True) if one != name]
        if not self.fits(shown) and others.isdisjoint(dropped):
            above = [f"{name} = {one}" for name, one in zip(names, made, strict=True) if one != name]
            found.append(Before(end, code("\n".join(above))))
            every = whole
        return [*found, Replace(element, code(every if end.value is element else f"({every})"))]

    def _proposals(
        self, statement: ast.Assign, path: Sequence[int | str], count: int, place: Place
    ) -> Iterator[tuple[list[str], bool]]:
        """Names for the parts of a tuple, and whether a loop gives back what was given it under these."""
        for one in self._carried(statement.value) if [*path] in ([], [0]) else ():
            if len(names := _names(one)) == count:
                yield names, True
        calls = taken_calls(self.site, self.resolver)
        near = [(call, module) for call, module in calls if module is self.site.module] or calls
        for call, module in near:
            if len(names := _names(_target(call, place, module))) == count:
                yield names, False

    def _carried(self, call: ast.expr) -> Iterator[ast.expr]:
        """What a loop of a library is given first, and gives back at last."""
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name | ast.Attribute):
            at = CARRIES.get(denotes(call.func, self.resolver, self.function.module) or "")
            stars = any(isinstance(one, ast.Starred) for one in call.args)
            yield from call.args[int(at) : int(at) + 1] if at is not None and not stars else ()
            yield from (word.value for word in call.keywords if at is not None and word.arg in CARRIED)

    def _are_free(self, names: Sequence[str], statement: ast.Assign, scope: Scope) -> bool:
        """Whether names can be bound by a statement: nothing reads what they stood for, there or below, or within."""
        other = [n.id for one in statement.targets for n in ast.walk(one) if isinstance(n, ast.Name)]
        if not {*names}.isdisjoint(other) or any(map(_hides_names, ast.walk(scope.node))):
            return False
        for name in names:
            if name not in scope.bindings:
                if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(scope.node)):
                    return False  # of the file, or a builtin
                continue
            if name in scope.outer_names:
                return False
            for node in _own(name, scope, self.function):
                within = self.function.module.table.scope_of[node] is not scope
                below = (node.lineno, node.col_offset) > (statement.end_lineno or 0, statement.end_col_offset or 0)
                if within or below:
                    return False
        return True

    def _text(self, name: str, parts: Parts) -> str:
        """The source of a tuple that is read by its name, with the axis in those parts that have it."""
        if parts[0][0] == ():
            array = parts[0][1]
            return self.expanded(name, array.axis, False) if array.drops else name
        by_index = _by_index(parts)
        texts = [self._text(f"{name}[{index}]", below) for index, below in by_index.items()]
        return f"({', '.join(texts)}{',' if len(texts) == 1 else ''})"


def _hides_names(node: ast.AST) -> bool:
    """Whether code may read or bind variables of a function by other ways than their names in it."""
    return isinstance(node, ast.Nonlocal) or (isinstance(node, ast.Name) and node.id in NAMING)


def _own(name: str, scope: Scope, function: Function) -> list[ast.Name]:
    """Where a variable of a function is read, in functions within it too."""
    table = function.module.table
    found = [n for n in table.named.get(name, ()) if isinstance(n, ast.Name) and n.id == name]
    return [n for n in found if table.scope_of[n].lookup(name) is scope]


def _names(node: ast.expr | None) -> list[str]:
    """The names in a tuple of different ones; none in anything else."""
    elements = node.elts if isinstance(node, ast.Tuple | ast.List) else []
    names = [one.id for one in elements if isinstance(one, ast.Name)]
    return names if len({*names} - {"_"}) == len(elements) else []


def _target(call: ast.Call, place: Place, module: Module) -> ast.expr | None:
    """What an assignment binds the part of what a call gives to."""
    above = module.table.parents.get(call)
    target = above.targets[0] if isinstance(above, ast.Assign) and len(above.targets) == 1 else None
    for step in place:
        if not isinstance(target, ast.Tuple | ast.List) or not isinstance(step, int) or step >= len(target.elts):
            return None
        target = target.elts[step]
    return target


def _elements(value: ast.expr, parts: Parts, place: Place) -> Iterator[tuple[ast.expr, Parts | None, Place]]:
    """What is written out of a returned value, with the places in it; None for those of which some are not there."""
    if not isinstance(value, ast.Tuple) or parts[0][0] == ():
        yield value, parts, place
        return
    by_index = _by_index(parts)
    if list(by_index) != list(range(len(value.elts))) or any(isinstance(e, ast.Starred) for e in value.elts):
        yield value, None, place
        return
    for index, element in enumerate(value.elts):
        yield from _elements(element, by_index[index], (*place, index))


def _by_index(parts: Parts) -> dict[object, list[tuple[Place, Array]]]:
    """The parts of each element of a tuple, with their places in it."""
    found: dict[object, list[tuple[Place, Array]]] = {}
    for place, array in parts:
        found.setdefault(place[0], []).append((place[1:], array))
    return found
