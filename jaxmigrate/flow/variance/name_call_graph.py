"""What a function that is not in sight could do: whether any that the program can have put there tells devices apart.

`state.apply_fn(...)` calls something that was stored by code far away. It is taken for a function of its arguments only
if nothing that can be stored in the same process reaches `axis_index`, `ppermute` or the like over the mapped axis.
What can be stored is over-approximated by names: every function that the program uses as a value other than to map or
call it right there, the methods of networks and of all other classes that derive from one out of sight, `__call__`
methods, and methods of the name that is called.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable
from functools import cached_property

from jaxmigrate.flow.axis_values import axis_names
from jaxmigrate.flow.variance import reflection
from jaxmigrate.flow.variance.callbacks import PURE_CALLBACK, is_pure_callback
from jaxmigrate.flow.variance.kept_functions import KeptFunctions
from jaxmigrate.flow.variance.mutation_summary import RECEIVER, Changes, changes_of, passed_on
from jaxmigrate.flow.variance.name_index import NameIndex
from jaxmigrate.flow.variance.objects_here import classes_here, takes
from jaxmigrate.flow.variance.process_modules import ProcessModules
from jaxmigrate.flow.variance.units import CONSTRUCTOR, Unit, constructor_of, on_devices
from jaxmigrate.program.collectives import AXIS_POSITIONS
from jaxmigrate.program.functions import is_static
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import External, Function

DERIVATIVES = "derivatives"  # what is asked about where a function with a derivative of its own is differentiated
MOST_NAMESAKES, DEEPEST = 4, 4


class NameCallGraph:
    """Answers for a project's modules, which are indexed when it is first asked; its answers are kept."""

    def __init__(self, resolver: Resolver, loaded: ProcessModules) -> None:
        self.resolver = resolver
        self.loaded = loaded
        self._implicit: dict[tuple[frozenset[str], Module | None], bool] = {}
        self._answers: dict[tuple[str, frozenset[str], Module | None], tuple[bool, bool]] = {}
        self._anywhere: dict[frozenset[Module], tuple[set[str], list[Unit]]] = {}
        self._changes: dict[Unit, Changes] = {}
        self._changed: dict[frozenset[Module], dict[str, frozenset[int | str]]] = {}
        self._here: dict[tuple[ast.AST, frozenset[Module]], set[str]] = {}
        self._of_name: dict[tuple[str, Module | None], list[Unit]] = {}

    @property
    def index(self) -> NameIndex:
        """Everything that has a name in the program."""
        return self._built[0]

    @property
    def kept(self) -> KeptFunctions:
        """What of it is kept somewhere."""
        return self._built[1]

    @cached_property
    def _built(self) -> tuple[NameIndex, KeptFunctions]:
        index = NameIndex(self.resolver, self.loaded)
        for module in self.loaded.modules:
            index.define(module)
        for module in self.loaded.modules:
            index.index(module)
        kept = KeptFunctions(self.resolver, index)
        kept.stored["axis_index"] |= index.kept_by_string
        later = [mention for mention in index.mentions if not kept.place(mention)]
        for mention in later:  # aliases that have been made since
            kept.place(mention)
        for module in self.loaded.modules:
            kept.decorate(module)
            for name, home in reflection.reached(module, self.resolver, self.loaded.imported(module)):
                kept.stored[name].add(home)
        index.note_hosts()
        kept.follow_factories()
        return index, kept

    def introduces_variance(self, name: str, axes: frozenset[str], home: Module | None = None) -> bool:
        """Whether calling something called `name` could make equal arguments differ over the axes.

        Asked about a process that runs a function of the module `home`; about all of them, without one.
        """
        return self._answer(name, axes, home)[0]

    def reduces(self, name: str, axes: frozenset[str], home: Module | None = None) -> bool:
        """Whether calling something called `name` could make unlike arguments equal."""
        return self._answer(name, axes, home)[1]

    def reduces_itself(self, name: str, home: Module | None = None) -> bool:
        """Whether a function or method of the program that is called so may reduce, by itself or by what it calls.

        For rules: what is stored somewhere under another name, and may be called too, does not count.
        """
        return any(unit.reducing for unit in self._own(name, home))

    def introduces_variance_itself(self, name: str, axes: frozenset[str], home: Module | None = None) -> bool:
        """The same about telling devices apart over the axes."""
        return self._introduce(self._own(name, home), axes)

    def _own(self, name: str, home: Module | None) -> list[Unit]:
        """The functions and methods of a name, and what they call, but for names that much of the program has.

        For rules, and so not all that may run, but what is likely to: a few calls deep.
        """
        if (name, home) not in self._of_name:
            units, beside, seen = self.index.units, self._beside(home), {name}
            found, names = list[Unit](), {name}
            for _ in range(DEEPEST):
                new = [unit for one in sorted(names) for unit in on_devices(units.get(one, ()), beside)]
                found += new
                names = {m for unit in new for m in unit.mentions if len(units.get(m, ())) <= MOST_NAMESAKES} - seen
                seen |= names
            self._of_name[name, home] = found
        return self._of_name[name, home]

    def acts_unseen(self, axes: frozenset[str], home: Module | None = None) -> bool:
        """Whether reading an attribute of an object, or an operator on it, could tell devices apart over the axes."""
        key = (axes, home)
        if key not in self._implicit:
            beside = self._beside(home)
            own = on_devices((u for found in self.index.units.values() for u in found if u.is_implicit), beside)
            reached = own + self._from([name for u in own for name in u.mentions], beside, set())
            self._implicit[key] = self._introduce(reached, axes) or any(unit.keeps for unit in own)
        return self._implicit[key]

    def changes(self, name: str, home: Module | None = None) -> frozenset[int | str]:
        """Which of its arguments, and whether its object, a function or method that is called so may change.

        What is called by no name, as `table[0](x)` is, may be any that is kept somewhere.
        """
        beside = self._beside(home)
        known = self._changed.setdefault(beside, {})
        if not name and name not in known:
            kept = self._with_returned(self._kept(beside))
            known[name] = frozenset[int | str]().union(*(self.changes(one, home) for one in kept))
        if name not in known:
            reached = {one: self._changes_of(one, beside) for one in self._passed_to(name, beside) if one not in known}
            known |= {one: frozenset() for one in reached}
            grows = True
            while grows:
                found = {one: passed_on(changes, known) for one, changes in reached.items()}
                grows = any(known[one] != parameters for one, parameters in found.items())
                known |= found
        return known[name]

    def changes_object(
        self, name: str, home: Module | None, body: ast.AST | None, call: tuple[int, Collection[str]] | None
    ) -> bool:
        """Whether a method of the program that is called so may change its object, of whose class nothing is known.

        `body` is what is read, None where the object comes from outside; `call` are how many arguments it is given by
        position, and the names of others, None where that is not known.
        """
        if RECEIVER not in self.changes(name, home):
            return False
        beside = self._beside(home)
        for unit in on_devices(self.index.units.get(name, ()), beside):
            above = unit.module.table.parents.get(unit.node)
            if call is not None and not takes(unit.node, *call):
                continue
            if body is None or not isinstance(above, ast.ClassDef) or above.name in self._classes_here(body, beside):
                return True
        return False

    def _classes_here(self, body: ast.AST, beside: frozenset[Module]) -> set[str]:
        key = (body, beside)
        if key not in self._here:
            unit = self.index.of_node.get(body)
            names = set(self._started_names(beside))
            if unit is None:
                names.update(self.index.units)  # nothing is known of what it mentions
            else:
                self._from([unit.name, *unit.mentions], beside, names)
            self._here[key] = classes_here((u for found in self.index.units.values() for u in found), names)
        return self._here[key]

    def _started_names(self, beside: frozenset[Module]) -> set[str]:
        if beside not in self._anywhere:
            self._anywhere[beside] = self._started(beside)
        return self._anywhere[beside][0]

    def changes_of_bodies(self, nodes: Iterable[ast.AST], home: Module | None) -> frozenset[int | str]:
        """Which of their arguments some functions may change, by themselves or by what they call."""
        each = [changes_of(node, method=True) for node in nodes]
        known = {called: self.changes(called, home) for one in each for _, called in (*one.passed, *one.asked)}
        return passed_on(each, known)

    def _passed_to(self, name: str, beside: frozenset[Module]) -> set[str]:
        """The names of all functions that get at what one of this name is given."""
        found, pending = set[str](), [name]
        while pending:
            current = pending.pop()
            if current not in found:
                found.add(current)
                pending += [
                    called for one in self._changes_of(current, beside) for _, called in (*one.passed, *one.asked)
                ]
        return found

    def _changes_of(self, name: str, beside: frozenset[Module]) -> list[Changes]:
        if name == CONSTRUCTOR:  # by `super()`: that of a base in sight is followed, and others are libraries'
            return []
        called = self.index.units
        units = on_devices([*called.get(name, ()), *called.get(constructor_of(name), ())], beside)
        for unit in units:
            if unit not in self._changes:
                in_class = isinstance(unit.module.table.parents.get(unit.node), ast.ClassDef)
                method = in_class and isinstance(unit.node, ast.FunctionDef) and not is_static(unit.node)
                self._changes[unit] = changes_of(unit.node, method=method, starts=unit.name == CONSTRUCTOR)
        return [self._changes[unit] for unit in units]

    def is_defined(self, name: str) -> bool:
        """Whether the program has a function, class or method of this name."""
        return name in self.index.units

    def is_overridden(self, cls: str, method: str) -> bool:
        """Whether a class that derives from one of this name has a method of this name of its own."""
        return self.index.classes.is_overridden(cls, method)

    def _answer(self, name: str, axes: frozenset[str], home: Module | None) -> tuple[bool, bool]:
        key = (name, axes, home)
        if key not in self._answers:
            reached = self.reached(name, home)
            self._answers[key] = self._introduce(reached, axes), any(u.reducing for u in reached)
        return self._answers[key]

    def _introduce(self, units: Iterable[Unit], axes: frozenset[str]) -> bool:
        """Whether some of the units tells devices apart over the axes."""
        return any(u.is_told or any(self._over(node, module, axes) for node, module in u.introducing) for u in units)

    def _beside(self, home: Module | None) -> frozenset[Module]:
        """The modules of a process that runs a function of one, or of any process."""
        return self.loaded.beside(home) if home is not None else self.loaded.everything

    def reached(self, name: str, home: Module | None = None) -> list[Unit]:
        """All that may run where something called `name` is called, and is not in sight."""
        beside = self._beside(home)
        if beside not in self._anywhere:
            self._anywhere[beside] = self._started(beside)
        names, reached = self._anywhere[beside]
        starts = [name, *(self.index.derivatives if name == DERIVATIVES else ())]
        return reached + self._from([one for one in starts if one not in names], beside, set(names))

    def _started(self, beside: frozenset[Module]) -> tuple[set[str], list[Unit]]:
        """What may run whatever the name: what is stored, and what networks do; by name, and as units."""
        units = self.index.units
        stored = self._kept(beside)
        hooked = [
            u.name
            for found in units.values()
            for u in found
            if u.module in beside and self.index.classes.is_hooked(u.name)
        ]
        names: set[str] = set()
        return names, self._from(["__call__", *stored, *hooked], beside, names)

    def _kept(self, beside: frozenset[Module]) -> list[str]:
        """The functions that are kept somewhere, by name."""
        return [name for name, modules in self.kept.stored.items() if not beside.isdisjoint(modules)]

    def _with_returned(self, names: Iterable[str]) -> set[str]:
        """Some functions by name, and those that they may return."""
        found, pending = set[str](), [*names]
        while pending:
            current = pending.pop()
            if current not in found:
                found.add(current)
                pending += [
                    m for u in self.index.units.get(current, ()) for m in u.mentions if current in self.kept.factories
                ]
        return found

    def _from(self, pending: list[str], beside: frozenset[Module], names: set[str]) -> list[Unit]:
        """The units that some names lead to, beyond those of `names`, which grow."""
        units = self.index.units
        reached: list[Unit] = []
        while pending:
            current = pending.pop()
            if current not in names:
                names.add(current)
                found = on_devices(units.get(current, ()), beside)
                reached += found
                pending += [m for u in found for m in u.mentions]
        return reached

    def _over(self, node: ast.expr, module: Module, axes: frozenset[str]) -> bool:
        """Whether a mention of an introducer can be one over the mapped axes, and no namesake in the project."""
        values = self.resolver.values(node, module)
        if values and all(isinstance(value, Function) for value in values):
            return False  # what it mentions itself is asked about
        call = module.table.parents.get(node)
        if isinstance(call, ast.Call) and call.func is node and values == (External(PURE_CALLBACK),):
            return not is_pure_callback(call, module, self.resolver)
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        position = AXIS_POSITIONS.get(f"jax.lax.{name}")
        if position is None or not isinstance(call, ast.Call) or call.func is not node or not axes:
            return True
        given = [k.value for k in call.keywords if k.arg == "axis_name"] or call.args[position : position + 1]
        names = axis_names(given[0], module, self.resolver, {}) if given else None
        return names is None or bool(axes & set(names))
