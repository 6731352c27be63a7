"""The program by name: what functions mention, and whether they tell devices apart, reduce or run on the host."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.flow import postdominance
from jaxmigrate.flow.variance import callbacks, disguised
from jaxmigrate.flow.variance.class_names import ClassNames
from jaxmigrate.flow.variance.implicit import keeps_elsewhere
from jaxmigrate.flow.variance.logging_only import is_none, only_logs
from jaxmigrate.flow.variance.process_modules import ProcessModules
from jaxmigrate.flow.variance.units import CONSTRUCTOR, Mention, Unit, constructor_of, lambdas_of, last
from jaxmigrate.program.library import last_names, named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Scope, walk
from jaxmigrate.program.values import UNKNOWN, External, Function

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
PARTIALS = last_names("partial")
PROPERTIES = last_names("property")
CALLED = frozenset({CONSTRUCTOR, "__call__", "__new__", "__post_init__"})  # of all methods with such names

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


class NameIndex:
    """The units of some modules, by name and by node; `mentions` are theirs of one another, in order."""

    def __init__(self, resolver: Resolver, loaded: ProcessModules) -> None:
        self.resolver = resolver
        self.loaded = loaded
        self.classes = ClassNames(resolver)
        self.units: dict[str, list[Unit]] = {}
        self.of_node: dict[ast.AST, Unit] = {}
        self.mentions: list[Mention] = []
        self.derivatives: set[str] = set()  # the functions that may run where one with its own derivative is
        self.kept_by_string: set[Module] = set()  # where what tells devices apart may be kept, found by a string
        self._quiet: dict[Unit, bool] = {}

    def define(self, module: Module) -> None:
        """Gives every function, class and alias of a module its unit: all of them have one before any is indexed."""
        for node in module.table.own_scope:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                self._define_function(node, module)
            elif isinstance(node, ast.ClassDef):
                self._define_class(node, module)
        for alias in _aliases(module) if " as " in module.text else ():
            if alias.asname:
                name = alias.name.rpartition(".")[2]
                self.unit(alias.asname, alias, module).mentions.add(name)
                if name in INTRODUCERS and not self._only_taps(alias):
                    self.told(name, module)

    def _define_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef, module: Module) -> None:
        unit = self.unit(node.name, node, module)
        inner = [n for d in node.decorator_list for n in walk(d) if isinstance(n, ast.Name | ast.Attribute)]
        unit.mentions.update(last(n) for n in inner)
        if isinstance(module.table.parents.get(node), ast.ClassDef):
            is_operator = node.name.startswith("__") and node.name.endswith("__") and node.name not in CALLED
            unit.is_implicit = is_operator or any(last(d) in PROPERTIES for d in node.decorator_list)
            unit.keeps = is_operator and keeps_elsewhere(node)
        if any(last(d) in DEFINERS or "custom" in last(d) for d in node.decorator_list):
            self.derivatives.add(node.name)

    def _define_class(self, node: ast.ClassDef, module: Module) -> None:
        self.classes.note(node, module)
        bindings = module.table.own_scope[node].bindings
        methods = {name for name, found in bindings.items() if any(one.kind == "def" for one in found)}
        unit = self.unit(node.name, node, module)
        unit.mentions.update(methods - {CONSTRUCTOR}, map(last, node.bases), [constructor_of(node.name)])

    def index(self, module: Module) -> None:
        """Notes what the functions of a module mention, and where they tell devices apart."""
        table = module.table
        for node in table.references:
            name = node.id if isinstance(node, ast.Name) else node.attr
            owner = self.owner(table.scope_of.get(node), module)
            if name == "axis_index_groups" and _is_handed_on(node, module):
                continue  # the call that takes it says what it is for
            if name in INTRODUCERS and not self._is_harmless(owner, name, node, module):
                owner.introducing.append((node, module))
                for within in lambdas_of(table.scope_of.get(node)):
                    unit = self.unit(f"<lambda of {owner.name}>", within, module)
                    unit.introducing.append((node, module))
                    self.mentions.append(Mention(unit.name, within, module, owner))
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
                self.mentions.append(Mention(name, node, module, owner))
        self._index_disguised(module)
        for call in table.calls:
            words = {k.arg for k in call.keywords if k.arg and not is_none(k.value)}
            if not words.isdisjoint(REDUCERS) or "axis_index_groups" in words:
                unit = self.owner(table.scope_of.get(call), module)
                unit.reducing |= not words.isdisjoint(REDUCERS)
                if "axis_index_groups" in words and last(_called_later(call)) not in GROUPED:
                    unit.introducing.append((call, module))

    def unit(self, name: str, node: ast.AST, module: Module) -> Unit:
        """The unit of a node, by a name that others may share."""
        if node not in self.of_node:
            self.of_node[node] = Unit(name, module, node)
            self.units.setdefault(name, []).append(self.of_node[node])
            above = module.table.parents.get(node) if name == CONSTRUCTOR else None
            if isinstance(above, ast.ClassDef):
                self.units.setdefault(constructor_of(above.name), []).append(self.of_node[node])
        return self.of_node[node]

    def owner(self, scope: Scope | None, module: Module) -> Unit:
        """The unit that a scope belongs to; the module's own statements are in one that nothing names."""
        while scope is not None:
            if isinstance(scope.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                return self.unit(scope.node.name, scope.node, module)
            scope = scope.parent
        return self.unit("<module>", module.tree, module)

    def alone(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> str:
        """A name for one function or class, and for none of its namesakes."""
        name = f"{node.name} of line {node.lineno} {id(node)}"
        self.units.setdefault(name, [self.of_node[node]])
        return name

    def _only_taps(self, alias: ast.alias) -> bool:
        """Whether the program uses host_callback under another name, and nothing of it that gives something back."""
        mentions = [(node, m) for m in self.loaded.modules for node in m.table.named.get(alias.asname or "", ())]
        return alias.name.endswith("host_callback") and all(
            callbacks.gives_nothing(node, self.resolver.values(node, m), m) for node, m in mentions
        )

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
            owner = self.owner(module.table.scope_of.get(node), module)
            owner.is_told = True
            self._rename("axis_index", node, module, owner)
            self.kept_by_string.add(module)

    def _rename(self, name: str, node: ast.expr, module: Module, owner: Unit) -> None:
        """Follows what tells devices apart to other names, and to where it is kept, as any function."""
        self.told(name, module)
        owner.mentions.add(name)
        self.mentions.append(Mention(name, node, module, owner))

    def told(self, name: str, module: Module) -> None:
        """One of JAX's functions that tell devices apart as a unit, which others may mention by other names."""
        if not any(unit.is_told and unit.module is module for unit in self.units.get(name, ())):
            self.units.setdefault(name, []).append(Unit(name, module, module.tree, is_told=True))

    def _tells_host(self, node: ast.expr, name: str, module: Module) -> bool:
        """Whether a mention says that a function runs on the host: of a library's function, not of the project's."""
        if name not in HOST_ONLY and name not in HOST_NAMES:
            return False
        value = self.resolver.value(node, module)
        if isinstance(value, External) and value.name in HOST_LIBRARIES:
            return True
        of_library = isinstance(value, External) or (value is UNKNOWN and name not in self.units)
        return name in HOST_ONLY and of_library and postdominance.runs(node, module)

    def note_hosts(self) -> None:
        """What calls a function that runs on the host, whichever way it goes, runs there as well."""
        while True:
            names = {u.name for found in self.units.values() for u in found if u.is_host}
            new = [unit for module in self.loaded.modules for unit in self._callers_among(names, module)]
            if not new:
                return
            for unit in new:
                unit.is_host = True

    def _callers_among(self, names: set[str], module: Module) -> Iterator[Unit]:
        """The functions of a module that call, for certain, one that runs on the host and has one of some names."""
        for call in module.table.calls:
            if last(call.func) not in names:
                continue
            owner = self.owner(module.table.scope_of.get(call), module)
            if owner.is_host or not postdominance.runs(call, module):
                continue
            value = self.resolver.value(call.func, module)
            unit = self.of_node.get(value.node) if isinstance(value, Function) else None
            if unit is not None and unit.is_host:
                yield owner


def _called_later(call: ast.Call) -> ast.expr:
    """What gets the arguments of a call: what a partial is of, or what is called."""
    return call.args[0] if last(call.func) in PARTIALS and call.args else call.func


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


def _is_super(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super"


def _aliases(module: Module) -> Iterator[ast.alias]:
    """What a module imports anywhere."""
    for binding in module.table.imports:
        if isinstance(binding.node, ast.alias):
            yield binding.node
