"""What a function that is not in sight could do: whether any that the program can have put there tells devices apart.

`state.apply_fn(...)` calls something that was stored by code far away. It is taken for a function of its arguments only
if nothing that can be stored in the same process reaches `axis_index`, `ppermute` or the like over the mapped axis.
What can be stored is over-approximated by names: every function that the program uses as a value other than to map or
call it right there, the methods of networks and of all other classes that derive from one out of sight, `__call__`
methods, and methods of the name that is called.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property

from jaxmigrate.flow import postdominance
from jaxmigrate.flow.axis_values import axis_names
from jaxmigrate.flow.map_prefilter import MAPS
from jaxmigrate.flow.variance import callbacks, decorators, disguised, reflection
from jaxmigrate.flow.variance.callbacks import PURE_CALLBACK, is_pure_callback
from jaxmigrate.flow.variance.implicit import keeps_elsewhere
from jaxmigrate.flow.variance.logging_only import is_none, only_logs
from jaxmigrate.flow.variance.mutation_summary import Changes, changes_of, passed_on
from jaxmigrate.flow.variance.process_modules import ProcessModules
from jaxmigrate.program.collectives import AXIS_POSITIONS
from jaxmigrate.program.library import last_names, named, starting
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver, is_static
from jaxmigrate.program.scopes import FunctionNode, Scope, all_parameters, positional_names, walk
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import UNKNOWN, Application, Class, External, Function, Instance, ModuleValue
from jaxmigrate.records import made, record

INTRODUCERS = frozenset(
    {
        "axis_index", "ppermute", "pshuffle", "pswapaxes", "all_to_all", "ragged_all_to_all", "psum_scatter",
        "axis_index_groups", "process_index", "host_id", "io_callback", "pure_callback", "host_callback", "id_tap",
        "call_tf", "pallas_call",
    }
)  # fmt: skip
TAPPING = frozenset({"host_callback", "id_tap", "io_callback"})
TELLING_NAMES = INTRODUCERS - {"axis_index_groups", "process_index", "host_id"}  # by which code may ask for them
GROUPED = frozenset({"all_gather", "BatchNorm", "pmax", "pmean", "pmin"})  # which keep equal values equal in groups too
REDUCERS = frozenset(
    {"psum", "pmean", "pmax", "pmin", "all_gather", "axis_name", "cross_replica_axis", "pmap_axis_name", "bn_axis_name"}
)
TELLING = re.compile("|".join(sorted(INTRODUCERS, key=len, reverse=True)))
DEFINERS = frozenset({"defvjp", "defjvp", "defjvps"})
DERIVATIVES = "derivatives"  # what is asked about where a function with a derivative of its own is differentiated
RUNNERS = last_names("control-flow", "tree-map", "path-map", "tree-reduce", "linear-map") | {
    "eval_shape", "filter", "sorted",
}  # fmt: skip
WRAPPERS = last_names("partial", "jit", "vmap", "gradient", "jacobian", "same-call") | {"wraps"}
PARTIALS = last_names("partial")
CONSTRUCTOR = "__init__"
MOST_NAMESAKES, DEEPEST = 4, 4
CALLED = frozenset({CONSTRUCTOR, "__call__", "__new__", "__post_init__"})  # of all methods with such names
PROPERTIES = last_names("property")
LOOKERS = frozenset({"super", "isinstance", "issubclass"})  # what they are given they only look at
PLAIN_BASES = frozenset(  # out of sight, and known to call no method that a class of the program has of its own
    {
        "object", "ABC", "Generic", "Protocol", "NamedTuple", "namedtuple", "TypedDict", "Enum", "IntEnum", "StrEnum",
        "Flag", "IntFlag", "Exception", "ValueError", "RuntimeError", "TrainState", "PyTreeNode", "AbstractExperiment",
        "TestCase",  # which runs its tests on the host
    }
)  # fmt: skip

# The classes of these call what derives from them on the host alone: data pipelines, tests, threads, configurations.
HOST_BASES = starting("host-base")

# These have no use inside a map, and most fail there: a function that uses one whenever it runs, runs on the host.
# `device_get` and `block_until_ready` do nothing to what is traced, so that functions which devices run may use them.
HOST_ONLY = frozenset(
    {
        "pmap", "unreplicate", "replicate", "device_put_replicated", "device_put_sharded", "ArgumentParser",
    }
)  # fmt: skip


# What reads data, saves or logs uses these, perhaps not each time, and no function that devices run does.
HOST_LIBRARIES = named("host-only")
HOST_NAMES = last_names("host-only") | {"tfds"}


@record(eq=False, frozen=False)
class Unit:
    """A function, class or alias: what it mentions, and where it tells devices apart."""

    name: str
    module: Module
    node: ast.AST
    mentions: set[str] = made(factory=set)
    introducing: list[tuple[ast.expr, Module]] = made(factory=list)
    reducing: bool = False
    is_hooked: bool = False  # a class with a base out of sight, whose methods may call its own
    is_implicit: bool = False  # it runs without being called: a property, an operator
    keeps: bool = False  # that, and it stores what it is given somewhere else
    is_host: bool = False  # it uses what only the host can, whatever else it mentions
    is_told: bool = False  # it may be a function of JAX's that tells devices apart, under whatever name


@record(eq=False)
class _Mention:
    """A name used in an expression, in a unit."""

    name: str
    node: ast.expr
    module: Module
    owner: Unit


class NameCallGraph:
    """The index over a project's modules, made when first asked for; its answers are kept."""

    def __init__(self, resolver: Resolver, loaded: ProcessModules) -> None:
        self.resolver = resolver
        self.loaded = loaded
        self._units: dict[str, list[Unit]] = {}
        self._of_node: dict[ast.AST, Unit] = {}
        self._mentions: list[_Mention] = []
        self._stored: dict[str, set[Module]] = defaultdict(set)
        self._given: set[tuple[str, ast.AST, str]] = set()
        self._factories: set[str] = set()
        self._derivatives: set[str] = set()
        self._methods: dict[str, set[str]] = defaultdict(set)
        self._bases: dict[str, set[str]] = defaultdict(set)
        self._host_bases: dict[str, bool] = {}  # by the last part of their names
        self._of_anything: set[str] = set()  # what classes have that may derive from any other
        self._implicit: dict[tuple[frozenset[str], Module | None], bool] = {}
        self._answers: dict[tuple[str, frozenset[str], Module | None], tuple[bool, bool]] = {}
        self._anywhere: dict[frozenset[Module], tuple[set[str], list[Unit]]] = {}
        self._quiet: dict[Unit, bool] = {}
        self._changes: dict[Unit, Changes] = {}
        self._changed: dict[frozenset[Module], dict[str, frozenset[int | str]]] = {}
        self._of_name: dict[tuple[str, Module | None], list[Unit]] = {}
        self._made = False

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
            units, beside, seen = self.units(), self._beside(home), {name}
            found, names = list[Unit](), {name}
            for _ in range(DEEPEST):
                new = [unit for one in sorted(names) for unit in _on_devices(units.get(one, ()), beside)]
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
            own = _on_devices((u for found in self.units().values() for u in found if u.is_implicit), beside)
            reached = own + self._from([name for u in own for name in u.mentions], beside, set())
            self._implicit[key] = self._introduce(reached, axes) or any(unit.keeps for unit in own)
        return self._implicit[key]

    def changes(self, name: str, home: Module | None = None) -> frozenset[int | str]:
        """Which of its arguments a function or method of the program that is called so may change.

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

    def changes_of_bodies(self, nodes: Iterable[ast.AST], home: Module | None) -> frozenset[int | str]:
        """Which of their arguments some functions may change, by themselves or by what they call."""
        each = [changes_of(node) for node in nodes]
        known = {called: self.changes(called, home) for one in each for _, called in one.passed}
        return passed_on(each, known)

    def _passed_to(self, name: str, beside: frozenset[Module]) -> set[str]:
        """The names of all functions that get at what one of this name is given."""
        found, pending = set[str](), [name]
        while pending:
            current = pending.pop()
            if current not in found:
                found.add(current)
                pending += [called for one in self._changes_of(current, beside) for _, called in one.passed]
        return found

    def _changes_of(self, name: str, beside: frozenset[Module]) -> list[Changes]:
        if name == CONSTRUCTOR:  # by `super()`: that of a base in sight is followed, and others are libraries'
            return []
        called = self.units()
        units = _on_devices([*called.get(name, ()), *called.get(_constructor(name), ())], beside)
        for unit in units:
            if unit not in self._changes:
                self._changes[unit] = changes_of(unit.node)
        return [self._changes[unit] for unit in units]

    def is_defined(self, name: str) -> bool:
        """Whether the program has a function, class or method of this name."""
        return name in self.units()

    def is_overridden(self, cls: str, method: str) -> bool:
        """Whether a class that derives from one of this name has a method of this name of its own."""
        self.units()
        return method in self._of_anything or method in self._overridden.get(cls, ())

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
        starts = [name, *(self._derivatives if name == DERIVATIVES else ())]
        return reached + self._from([one for one in starts if one not in names], beside, set(names))

    def _started(self, beside: frozenset[Module]) -> tuple[set[str], list[Unit]]:
        """What may run whatever the name: what is stored, and what networks do; by name, and as units."""
        units = self.units()
        stored = self._kept(beside)
        hooked = [u.name for found in units.values() for u in found if u.is_hooked and u.module in beside]
        names: set[str] = set()
        return names, self._from(["__call__", *stored, *hooked], beside, names)

    def _kept(self, beside: frozenset[Module]) -> list[str]:
        """The functions that are kept somewhere, by name."""
        self.units()
        return [name for name, modules in self._stored.items() if not beside.isdisjoint(modules)]

    def _with_returned(self, names: Iterable[str]) -> set[str]:
        """Some functions by name, and those that they may return."""
        found, pending = set[str](), [*names]
        while pending:
            current = pending.pop()
            if current not in found:
                found.add(current)
                pending += [m for u in self.units().get(current, ()) for m in u.mentions if current in self._factories]
        return found

    def _from(self, pending: list[str], beside: frozenset[Module], names: set[str]) -> list[Unit]:
        """The units that some names lead to, beyond those of `names`, which grow."""
        units = self.units()
        reached: list[Unit] = []
        while pending:
            current = pending.pop()
            if current not in names:
                names.add(current)
                found = _on_devices(units.get(current, ()), beside)
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

    # The index

    def units(self) -> dict[str, list[Unit]]:
        """Everything that has a name in the program, by name."""
        if not self._made:
            self._made = True
            for module in self.loaded.modules:
                self._define(module)
            for module in self.loaded.modules:
                self._index(module)
            later = [mention for mention in self._mentions if not self._place(mention)]
            for mention in later:  # aliases that have been made since
                self._place(mention)
            for module in self.loaded.modules:
                self._decorate(module)
                for name, home in reflection.reached(module, self.resolver, self.loaded.imported(module)):
                    self._stored[name].add(home)
            self._note_hosts()
            self._follow_factories()
            for found in self._units.values():
                for unit in found:
                    unit.is_hooked = unit.name in self._bases and self._is_hooked(unit.name)
        return self._units

    def _unit(self, name: str, node: ast.AST, module: Module) -> Unit:
        if node not in self._of_node:
            self._of_node[node] = Unit(name, module, node)
            self._units.setdefault(name, []).append(self._of_node[node])
            above = module.table.parents.get(node) if name == CONSTRUCTOR else None
            if isinstance(above, ast.ClassDef):
                self._units.setdefault(_constructor(above.name), []).append(self._of_node[node])
        return self._of_node[node]

    def _define(self, module: Module) -> None:
        for node in module.table.own_scope:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                decorators = [
                    n for d in node.decorator_list for n in walk(d) if isinstance(n, ast.Name | ast.Attribute)
                ]
                self._unit(node.name, node, module).mentions.update(_last(n) for n in decorators)
                if isinstance(module.table.parents.get(node), ast.ClassDef):
                    is_operator = node.name.startswith("__") and node.name.endswith("__") and node.name not in CALLED
                    is_property = any(_last(d) in PROPERTIES for d in node.decorator_list)
                    self._of_node[node].is_implicit = is_operator or is_property
                    self._of_node[node].keeps = is_operator and keeps_elsewhere(node)
                if any(_last(d) in DEFINERS or "custom" in _last(d) for d in node.decorator_list):
                    self._derivatives.add(node.name)
            elif isinstance(node, ast.ClassDef):
                bindings = module.table.own_scope[node].bindings
                methods = {name for name, found in bindings.items() if any(one.kind == "def" for one in found)}
                bases = {_last(base) for base in node.bases}
                for base in node.bases:
                    is_host = self._is_of_host(base, module)
                    self._host_bases[_last(base)] = self._host_bases.get(_last(base), True) and is_host
                    if not self._is_certain(base, module):
                        self._of_anything |= set(bindings)
                unit = self._unit(node.name, node, module)
                unit.mentions.update(methods - {CONSTRUCTOR}, bases, [_constructor(node.name)])
                self._methods[node.name] |= set(bindings)
                self._bases[node.name] |= bases
        for alias, _ in _aliases(module) if " as " in module.text else ():
            if alias.asname:
                name = alias.name.rpartition(".")[2]
                self._unit(alias.asname, alias, module).mentions.add(name)
                if name in INTRODUCERS and not self._only_taps(alias):
                    self._told(name, module)

    def _only_taps(self, alias: ast.alias) -> bool:
        """Whether the program uses host_callback under another name, and nothing of it that gives something back."""
        mentions = [(node, m) for m in self.loaded.modules for node in m.table.named.get(alias.asname or "", ())]
        return alias.name.endswith("host_callback") and all(
            callbacks.gives_nothing(node, self.resolver.values(node, m), m) for node, m in mentions
        )

    def _line(self, name: str) -> set[str]:
        """The names of a class and of everything that it derives from."""
        line, pending = set[str](), [name]
        while pending:
            current = pending.pop()
            if current not in line:
                line.add(current)
                pending.extend(self._bases.get(current, ()))
        return line

    def _is_hooked(self, name: str) -> bool:
        """Whether a class has a base out of sight that may call the class's methods: it is a network, a formatter."""
        above = self._line(name) - {name}
        return any("Module" in base or base not in self._known_bases for base in above)

    @cached_property
    def _known_bases(self) -> frozenset[str]:
        """The names of the classes that call no method of what derives from them, or are in sight."""
        hosts = (base for base, is_host in self._host_bases.items() if is_host)
        return frozenset((*self._bases, *PLAIN_BASES, *hosts))

    def _is_certain(self, base: ast.expr, module: Module) -> bool:
        """Whether it is known what a base is: a class of the project or of a library, not one that a function gives."""
        inner = base.value if isinstance(base, ast.Subscript) else base
        values = self.resolver.values(inner, module) if isinstance(inner, ast.Name | ast.Attribute | ast.Call) else ()
        callees = [value.callee if isinstance(value, Application) else value for value in values]
        return bool(callees) and all(isinstance(one, Class | External) for one in callees)

    def _is_of_host(self, base: ast.expr, module: Module) -> bool:
        """Whether a base is of a library whose code never runs on devices."""
        value = self.resolver.value(base, module)
        return isinstance(value, External) and value.name.startswith(HOST_BASES)

    @cached_property
    def _reachable(self) -> frozenset[str]:
        """The names of the classes whose objects' attributes code out of sight may read: the lines of hooked ones."""
        return frozenset(one for name in self._bases if self._is_hooked(name) for one in self._line(name))

    @cached_property
    def _overridden(self) -> dict[str, set[str]]:
        """The names of the methods that objects of classes which derive from one may have before its own, by its name.

        A class with several bases puts the others of them before it, too.
        """
        found: dict[str, set[str]] = defaultdict(set)
        for name in self._methods:
            line = self._line(name)
            for base in line - {name}:
                found[base].update(*(self._methods.get(one, ()) for one in line - self._line(base)))
        return found

    def _owner(self, scope: Scope | None, module: Module) -> Unit:
        """The unit that a scope belongs to; the module's own statements are in one that nothing names."""
        while scope is not None:
            if isinstance(scope.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                return self._unit(scope.node.name, scope.node, module)
            scope = scope.parent
        return self._unit("<module>", module.tree, module)

    def _is_harmless(self, owner: Unit, name: str, node: ast.expr, module: Module) -> bool:
        """Whether nothing comes of a mention but a line in a log, or a call of the host that gives nothing back."""
        if name in TAPPING and callbacks.gives_nothing(node, self.resolver.values(node, module), module):
            return True
        return self._is_quiet(owner, name, module.table.scope_of.get(node), module)

    def _is_quiet(self, owner: Unit, name: str, scope: Scope | None, module: Module) -> bool:
        """Whether a function asks for the process only to log something."""
        if name not in ("process_index", "host_id") or scope is None:
            return False
        if owner not in self._quiet:
            self._quiet[owner] = only_logs(scope.node, module, self.resolver)
        return self._quiet[owner]

    def _index(self, module: Module) -> None:
        table = module.table
        for node in table.references:
            name = node.id if isinstance(node, ast.Name) else node.attr
            owner = self._owner(table.scope_of.get(node), module)
            if name == "axis_index_groups" and _is_handed_on(node, module):
                continue  # the call that takes it says what it is for
            if name in INTRODUCERS and not self._is_harmless(owner, name, node, module):
                owner.introducing.append((node, module))
                for within in _lambdas_of(table.scope_of.get(node)):
                    unit = self._unit(f"<lambda of {owner.name}>", within, module)
                    unit.introducing.append((node, module))
                    self._mentions.append(_Mention(unit.name, within, module, owner))
                if not _is_called(node, module) and self._may_be_function(node, module):
                    self._rename(name, node, module, owner)
            owner.reducing |= name in REDUCERS
            if name == CONSTRUCTOR and isinstance(node, ast.Attribute) and _is_super(node.value):
                continue  # that of a class before it in line, which each class mentions itself
            if name == "__subclasses__":
                owner.mentions.add(CONSTRUCTOR)
            owner.is_host |= self._tells_host(node, name, module)
            if isinstance(node, ast.Attribute) or _is_function(node, module):
                owner.mentions.add(name)
                self._mentions.append(_Mention(name, node, module, owner))
        self._index_disguised(module)
        for call in table.calls:
            words = {k.arg for k in call.keywords if k.arg and not is_none(k.value)}
            if not words.isdisjoint(REDUCERS) or "axis_index_groups" in words:
                unit = self._owner(table.scope_of.get(call), module)
                unit.reducing |= not words.isdisjoint(REDUCERS)
                if "axis_index_groups" in words and _last(_called_later(call)) not in GROUPED:
                    unit.introducing.append((call, module))

    def _may_be_function(self, node: ast.expr, module: Module) -> bool:
        """Whether a mention that is no call may be one of JAX's functions, and not a number of the same name.

        What a name holds that is not imported was mentioned where it was put there.
        """
        match node:
            case ast.Name():
                bindings = self.resolver.bindings_at(node, module)
                return not bindings or any(one.kind in ("import", "from") for one in bindings)
            case ast.Attribute(value=ast.Name() as owner, attr="process_index" | "host_id"):  # a device's
                bindings = self.resolver.bindings_at(owner, module)
                return not bindings or any(one.kind not in ("param", "other") for one in bindings)
        return True

    def _index_disguised(self, module: Module) -> None:
        """Takes what may be one of JAX's functions by a string for one that is kept somewhere."""
        for node in disguised.introducers(module, self.resolver, TELLING_NAMES):
            owner = self._owner(module.table.scope_of.get(node), module)
            owner.is_told = True
            self._rename("axis_index", node, module, owner)
            self._stored["axis_index"].add(module)

    def _rename(self, name: str, node: ast.expr, module: Module, owner: Unit) -> None:
        """Follows what tells devices apart to other names, and to where it is kept, as any function."""
        self._told(name, module)
        owner.mentions.add(name)
        self._mentions.append(_Mention(name, node, module, owner))

    def _told(self, name: str, module: Module) -> None:
        """One of JAX's functions that tell devices apart as a unit, which others may mention by other names."""
        if not any(unit.is_told and unit.module is module for unit in self._units.get(name, ())):
            self._units.setdefault(name, []).append(Unit(name, module, module.tree, is_told=True))

    def _tells_host(self, node: ast.expr, name: str, module: Module) -> bool:
        """Whether a mention says that a function runs on the host: of a library's function, not of the project's."""
        if name not in HOST_ONLY and name not in HOST_NAMES:
            return False
        value = self.resolver.value(node, module)
        if isinstance(value, External) and value.name in HOST_LIBRARIES:
            return True
        of_library = isinstance(value, External) or (value is UNKNOWN and name not in self._units)
        return name in HOST_ONLY and of_library and postdominance.runs(node, module)

    def _place(self, mention: _Mention) -> bool:
        """Notes a mention of a function that stores it, or hands it out; says whether that name is known."""
        if mention.name not in self._units:
            return False
        parent = mention.module.table.parents.get(mention.node)
        called = isinstance(parent, ast.Call) and parent.func is mention.node
        if isinstance(parent, ast.Attribute):
            return True
        if not called:
            self._follow(mention.node, mention)
        for within in _lambdas_of(mention.module.table.scope_of.get(mention.node)):
            if within is not mention.node:
                self._follow(within, mention)  # whoever keeps the lambda calls what it calls, or has it run
        return True

    def _follow(self, node: ast.expr, mention: _Mention) -> None:
        """Follows a function, or something made of it, to where it is mapped, run, named, returned or stored."""
        table = mention.module.table
        is_chosen = isinstance(node, ast.Call)  # by a factory, or a condition
        while True:
            parent = table.parents.get(node)
            keyword = parent.arg if isinstance(parent, ast.keyword) else None
            parent = table.parents.get(parent) if isinstance(parent, ast.keyword) and keyword else parent
            if isinstance(parent, ast.Call) and node is not parent.func:
                if _last(parent.func) in DEFINERS:
                    self._derivatives.add(mention.name)
                    return
                followed = self._is_followed(parent, mention.module)
                if followed and _only_runs(parent, node, keyword):
                    return
                if not followed or _last(parent.func) not in WRAPPERS:
                    if self._follow_argument(parent, node, keyword, mention):
                        return
                    break
                node = parent
            elif isinstance(parent, ast.IfExp):
                node, is_chosen = parent, True
            elif isinstance(parent, ast.Return) or (isinstance(parent, ast.Lambda) and node is parent.body):
                self._factories.add(self._owner(table.scope_of.get(node), mention.module).name)
                return
            elif isinstance(parent, ast.Assign) and all(
                isinstance(t, ast.Name | ast.Attribute) for t in parent.targets
            ):
                self._name(parent.targets, mention)
                return
            else:
                if (is_chosen and isinstance(parent, ast.Call)) or _is_default(node, parent):
                    break  # what is called there has no name, or that of a parameter
                if isinstance(parent, ast.Call | ast.Expr | ast.Compare | ast.ClassDef | ast.FunctionDef | ast.arg):
                    return
                break
        self._stored[mention.name].add(mention.module)

    def _name(self, targets: Iterable[ast.expr], mention: _Mention) -> None:
        """Has the names that a function is assigned to stand for it."""
        for target in targets:
            self._unit(_last(target), target, mention.module).mentions.add(mention.name)
            if not self._is_in_sight(target, mention.module):
                self._stored[mention.name].add(mention.module)

    def _is_in_sight(self, target: ast.expr, module: Module) -> bool:
        """Whether only the program reads what is stored in a target, by its name: it is in no object of others."""
        if not isinstance(target, ast.Attribute):
            return True
        owners = self.resolver.values(target.value, module)
        return bool(owners) and all(
            isinstance(owner, ModuleValue)
            or (isinstance(owner, Instance | Class) and self._name_of(owner) not in self._reachable)
            for owner in owners
        )

    @staticmethod
    def _name_of(owner: Instance | Class) -> str:
        return (owner.cls if isinstance(owner, Instance) else owner).node.name

    def _is_followed(self, call: ast.Call, module: Module) -> bool:
        """Whether a call is of no method of an object out of sight, which may do with a function what it likes.

        Its name may be that of one of JAX's functions: flax's `DynamicScale.value_and_grad`, which is followed where it
        averages.
        """
        if not isinstance(call.func, ast.Attribute) or call.func.attr in MAPS | LOOKERS:
            return True
        if any(k.arg == "axis_name" for k in call.keywords) and not _is_open(call):
            return True
        return isinstance(self.resolver.value(call.func, module), External | Function)

    def _follow_argument(self, call: ast.Call, node: ast.expr, keyword: str | None, mention: _Mention) -> bool:
        """Follows what is passed to a function or constructor of the project into it; False where it is not known."""
        called = None if _is_open(call) else self._called(call.func, mention.module)
        if called is None:
            return False
        function, module, names = called
        place = call.args.index(node) if keyword is None else -1
        name = keyword if keyword is not None else names[place] if place < len(names) else ""
        if not any(p.arg == name for p in all_parameters(function.args)):
            return False
        self._follow_parameter(function, module, name, mention)
        return True

    def _decorate(self, module: Module) -> None:
        """Follows functions and classes into the decorators that they are given to."""
        for node in module.table.own_scope:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                for decorator in node.decorator_list:
                    mention = _Mention(self._alone(node), decorator, module, self._of_node[node])
                    found = decorators.takers(decorator, module, self.resolver)
                    names = [one.passed_names() for one in found or ()]
                    if found is None or not all(names):
                        self._stored[mention.name].add(module)
                        continue
                    for taker, passed in zip(found, names, strict=True):
                        self._follow_parameter(taker.node, taker.module, passed[0], mention)

    def _note_hosts(self) -> None:
        """What calls a function that runs on the host, whichever way it goes, runs there as well."""
        while True:
            names = {u.name for found in self._units.values() for u in found if u.is_host}
            new = [unit for module in self.loaded.modules for unit in self._callers_among(names, module)]
            if not new:
                return
            for unit in new:
                unit.is_host = True

    def _callers_among(self, names: set[str], module: Module) -> Iterator[Unit]:
        """The functions of a module that call, for certain, one that runs on the host and has one of some names."""
        for call in module.table.calls:
            if _last(call.func) not in names:
                continue
            owner = self._owner(module.table.scope_of.get(call), module)
            if owner.is_host or not postdominance.runs(call, module):
                continue
            value = self.resolver.value(call.func, module)
            unit = self._of_node.get(value.node) if isinstance(value, Function) else None
            if unit is not None and unit.is_host:
                yield owner

    def _alone(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
        """A name for one function or class, and for none of its namesakes."""
        name = f"{node.name} of line {node.lineno} {id(node)}"
        self._units.setdefault(name, [self._of_node[node]])
        return name

    def _follow_parameter(self, function: FunctionNode, module: Module, name: str, mention: _Mention) -> None:
        """Follows what is passed to a function by a parameter to what the function does with it."""
        if (mention.name, function, name) in self._given:
            return
        self._given.add((mention.name, function, name))
        own, parents = module.table.own_scope[function], module.table.parents
        for use in [n for n in walk(function) if isinstance(n, ast.Name) and n.id == name]:
            if use in module.table.scope_of and module.table.scope_of[use].lookup(name) is own:
                self._owner(module.table.scope_of[use], module).mentions.add(mention.name)
                parent = parents.get(use)
                if isinstance(parent, ast.Attribute):
                    self._stored[mention.name].add(mention.module)
                elif not (isinstance(parent, ast.Call) and parent.func is use):
                    self._follow(use, _Mention(mention.name, use, module, mention.owner))

    def _called(self, node: ast.expr, module: Module) -> tuple[ast.FunctionDef, Module, list[str]] | None:
        """The def that a callee certainly is, or the constructor of a class, with what it takes by position."""
        match self.resolver.values(node, module):
            case (Function(node=ast.FunctionDef() as function, receiver=None) as value,):
                return function, value.module, positional_names(function.args)
            case (
                Function(node=ast.FunctionDef() as function, receiver=Instance(cls=cls) | (Class() as cls)) as value,
            ):
                if is_static(function) or self._is_replaced(cls, function.name):
                    return None
                return function, value.module, positional_names(function.args)[1:]
            case (Class() as cls,):
                for one in self.resolver.lineage(cls):
                    for binding in one.module.table.own_scope[one.node].bindings.get("__init__", ()):
                        if isinstance(binding.node, ast.FunctionDef) and not binding.node.decorator_list:
                            return binding.node, one.module, positional_names(binding.node.args)[1:]
                        return None
        return None

    def _is_replaced(self, cls: Class, method: str) -> bool:
        """Whether an object of a class may have another method of a name: a subclass's, or one that was set."""
        return method in self._set_names or self.is_overridden(cls.node.name, method)

    @cached_property
    def _set_names(self) -> frozenset[str]:
        """The names of all attributes that the program sets on anything."""
        return frozenset(a.attr for module in self.loaded.modules for a in module.table.attributes)

    def _follow_factories(self) -> None:
        """What a factory's call gives is stored where the call's value is."""
        done: set[str] = set()
        while not self._factories <= done:
            new = self._factories - done
            done |= new
            for mention in self._mentions:
                parent = mention.module.table.parents.get(mention.node)
                if mention.name in new and isinstance(parent, ast.Call) and parent.func is mention.node:
                    self._follow(parent, mention)


def _only_runs(call: ast.Call, node: ast.expr, keyword: str | None) -> bool:
    """Whether a call maps or runs a function that it is given, or looks at it, and keeps it nowhere."""
    callee = _last(call.func)
    is_run = callee in RUNNERS and (node in call.args or keyword is not None)
    is_partial = callee in WRAPPERS and any(_last(a) in MAPS for a in call.args)
    return callee in MAPS | LOOKERS or is_run or is_partial or _starts(call.func)


def _called_later(call: ast.Call) -> ast.expr:
    """What gets the arguments of a call: what a partial is of, or what is called."""
    return call.args[0] if _last(call.func) in PARTIALS and call.args else call.func


def _is_open(call: ast.Call) -> bool:
    """Whether stars hide what a call is given."""
    return any(isinstance(a, ast.Starred) for a in call.args) or any(k.arg is None for k in call.keywords)


def _lambdas_of(scope: Scope | None) -> Iterator[ast.Lambda]:
    """The lambda that a scope is of, or a comprehension in it, and the lambdas that it stands in."""
    while scope is not None and (scope.kind == "comprehension" or isinstance(scope.node, ast.Lambda)):
        if isinstance(scope.node, ast.Lambda):
            yield scope.node
        scope = scope.parent


def _is_default(node: ast.expr, parent: ast.AST | None) -> bool:
    """Whether an expression is what a parameter holds where a call leaves it out."""
    if not isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return node in parent.args.defaults or node in parent.args.kw_defaults


def _is_called(node: ast.expr, module: Module) -> bool:
    """Whether an expression is called right there."""
    call = module.table.parents.get(node)
    return isinstance(call, ast.Call) and call.func is node


def _is_handed_on(node: ast.expr, module: Module) -> bool:
    """Whether a mention of groups of devices only gives them to a call, by their name."""
    parent = module.table.parents.get(node)
    return isinstance(parent, ast.keyword) and parent.arg == "axis_index_groups"


def _is_function(node: ast.Name, module: Module) -> bool:
    """Whether a name can stand for a function by itself: what a parameter holds was stored by whoever passed it."""
    scope = module.table.scope_of.get(node)
    holder = scope.lookup(node.id) if scope is not None else None
    if holder is None:
        return True
    for binding in holder.bindings[node.id]:
        if binding.kind in ("def", "class", "import", "from"):
            return True
        if binding.kind == "assign" and not isinstance(binding.value, ast.Constant | ast.BinOp | ast.Compare):
            return True
    return False


def _on_devices(units: Iterable[Unit], beside: frozenset[Module]) -> list[Unit]:
    """Those of some units that may run on devices, in the modules of a process."""
    return [unit for unit in units if unit.module in beside and not unit.is_host]


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _constructor(cls: str) -> str:
    """What the constructor of a class goes by, beside the name that it has in common with all others."""
    return f"{cls}.{CONSTRUCTOR}"


def _starts(callee: ast.expr) -> bool:
    """Whether a call hands the program's main function over to be run: `app.run(main)`."""
    return isinstance(callee, ast.Attribute) and callee.attr == "run" and _last(callee.value) == "app"


def _last(node: ast.expr) -> str:
    """The last part of a dotted name; of a call, that of what is called."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return last_name(node)


def _aliases(module: Module) -> Iterator[tuple[ast.alias, ast.ImportFrom | None]]:
    """What a module imports anywhere, with the `from` statement that it stands in."""
    for binding in module.table.imports:
        if isinstance(binding.node, ast.alias):
            statement = module.table.parents.get(binding.node)
            yield binding.node, statement if isinstance(statement, ast.ImportFrom) else None
