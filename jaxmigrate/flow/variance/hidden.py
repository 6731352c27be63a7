"""What a function that is not in sight could do: whether any that the program can have put there tells devices apart.

`state.apply_fn(...)` calls something that was stored by code far away. It is taken for a function of its arguments only
if nothing that can be stored reaches `axis_index`, `ppermute` or the like over the mapped axis. What can be stored is
over-approximated by names: every function that the program uses as a value other than to map or call it right there,
the methods of network modules, `__call__` methods, and methods of the name that is called.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from jaxmigrate.flow.axes import axis_names
from jaxmigrate.program.collectives import AXIS_POSITIONS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Scope

INTRODUCERS = frozenset(
    {
        "axis_index", "ppermute", "pshuffle", "pswapaxes", "all_to_all", "ragged_all_to_all", "psum_scatter",
        "axis_index_groups", "process_index", "host_id", "io_callback", "pure_callback", "host_callback", "id_tap",
        "call_tf", "pallas_call",
    }
)  # fmt: skip
REDUCERS = frozenset(
    {"psum", "pmean", "pmax", "pmin", "all_gather", "axis_name", "cross_replica_axis", "pmap_axis_name", "bn_axis_name"}
)
TELLING = re.compile("|".join(sorted(INTRODUCERS, key=len, reverse=True)))
MAPS = frozenset({"pmap", "shard_map", "xmap", "smap"})
RUNNERS = frozenset(
    {
        "scan", "cond", "while_loop", "fori_loop", "switch", "tree_map", "map", "tree_multimap", "associative_scan",
        "eval_shape", "jvp", "vjp", "linearize", "map_with_path", "tree_map_with_path", "reduce", "tree_reduce",
        "defvjp", "defjvp", "filter", "sorted",
    }
)  # fmt: skip
WRAPPERS = frozenset(
    {
        "partial", "Partial", "jit", "vmap", "grad", "value_and_grad", "checkpoint", "remat", "named_call", "jacfwd",
        "jacrev", "hessian", "wraps", "custom_vjp", "custom_jvp", "pjit",
    }
)  # fmt: skip


@dataclass(slots=True)
class Unit:
    """All functions, classes and aliases of one name: what they mention, and where they tell devices apart."""

    mentions: set[str] = field(default_factory=set)
    introducing: list[tuple[ast.expr, Module]] = field(default_factory=list)
    reducing: bool = False
    is_network: bool = False


class Hidden:
    """The index over a project's modules, made when first asked for; its answers are kept."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self._units: dict[str, Unit] | None = None
        self._stored: set[str] = set()
        self._factories: set[str] = set()
        self._made: list[tuple[str, ast.expr, Module]] = []
        self._answers: dict[tuple[str, frozenset[str]], tuple[bool, bool]] = {}

    def introduces_variance(self, name: str, axes: frozenset[str]) -> bool:
        """Whether calling something called `name` could make equal arguments differ over the axes."""
        return self._answer(name, axes)[0]

    def reduces(self, name: str, axes: frozenset[str]) -> bool:
        """Whether calling something called `name` could make unlike arguments equal."""
        return self._answer(name, axes)[1]

    def is_defined(self, name: str) -> bool:
        """Whether the program has a function, class or method of this name."""
        return name in self.units()

    def _answer(self, name: str, axes: frozenset[str]) -> tuple[bool, bool]:
        key = (name, axes)
        if key not in self._answers:
            units = self.units()
            reached = [units[n] for n in self._reach(name)]
            introducing = any(self._over(node, module, axes) for u in reached for node, module in u.introducing)
            self._answers[key] = introducing, any(u.reducing for u in reached)
        return self._answers[key]

    def _reach(self, name: str) -> set[str]:
        units = self.units()
        pending = [name, "__call__", *self._stored, *(n for n, u in units.items() if u.is_network)]
        reached: set[str] = set()
        while pending:
            current = pending.pop()
            if current not in reached and current in units:
                reached.add(current)
                pending.extend(units[current].mentions)
        return reached

    def _over(self, node: ast.expr, module: Module, axes: frozenset[str]) -> bool:
        """Whether a mention of an introducer can be one over the mapped axes."""
        call = module.table.parents.get(node)
        name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
        position = AXIS_POSITIONS.get(f"jax.lax.{name}")
        if position is None or not isinstance(call, ast.Call) or call.func is not node or not axes:
            return True
        given = [k.value for k in call.keywords if k.arg == "axis_name"] or call.args[position : position + 1]
        names = axis_names(given[0], module, self.resolver, {}) if given else None
        return names is None or bool(axes & set(names))

    # The index

    def units(self) -> dict[str, Unit]:
        """Everything that has a name in the program."""
        if self._units is None:
            self._units = defaultdict(Unit)
            modules = list(_all_modules(self.resolver))
            for module in modules:
                self._index(module, self._units)
            self._follow_factories()
            self._units = dict(self._units)
            self._inherit(self._units, modules)
        return self._units

    def _index(self, module: Module, units: dict[str, Unit]) -> None:
        table = module.table
        for node in table.references:
            name = node.id if isinstance(node, ast.Name) else node.attr
            owner = _owner(table.scope_of.get(node))
            for unit in (units[owner], *(units[alias] for alias in _aliases(node, module))):
                unit.mentions.add(name)
                if name in INTRODUCERS:
                    unit.introducing.append((node, module))
                unit.reducing |= name in REDUCERS
            self._place(name, node, module)
        for call in table.calls:
            words = {k.arg for k in call.keywords if k.arg and not _is_none(k.value)}
            unit = units[_owner(table.scope_of.get(call))]
            unit.reducing |= not words.isdisjoint(REDUCERS)
            if "axis_index_groups" in words:
                unit.introducing.append((call, module))
        self._definitions(module, units)

    def _definitions(self, module: Module, units: dict[str, Unit]) -> None:
        for node in module.table.own_scope:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                units[node.name].mentions.update(())
            elif isinstance(node, ast.ClassDef):
                methods = {s.name for s in ast.walk(node) if isinstance(s, ast.FunctionDef)}
                units[node.name].mentions.update(methods)
        for alias in ast.walk(module.tree) if " as " in module.text else ():
            if isinstance(alias, ast.alias) and alias.asname:
                units[alias.asname].mentions.add(alias.name.rpartition(".")[2])

    def _inherit(self, units: dict[str, Unit], modules: list[Module]) -> None:
        """Marks the classes of networks: those that derive, however far up, from something called a module."""
        bases: dict[str, set[str]] = defaultdict(set)
        for module in modules:
            for node in module.table.own_scope:
                if isinstance(node, ast.ClassDef):
                    bases[node.name] |= {_last(base) for base in node.bases}
        for name in bases:
            line, pending = set[str](), [name]
            while pending:
                current = pending.pop()
                if current not in line:
                    line.add(current)
                    pending.extend(bases.get(current, ()))
            if name in units and any("Module" in base for base in line):
                units[name].is_network = True

    def _place(self, name: str, node: ast.expr, module: Module) -> None:
        """Notes a mention of a name that stores what it stands for, or hands it out."""
        parent = module.table.parents.get(node)
        if isinstance(parent, ast.Call) and parent.func is node:
            self._made.append((name, parent, module))
        elif isinstance(parent, ast.Attribute):
            return
        elif self._escapes(node, module):
            self._stored.add(name)

    def _escapes(self, node: ast.expr, module: Module) -> bool:
        """Whether a value goes where calls of it cannot be seen."""
        table = module.table
        while True:
            parent = table.parents.get(node)
            if isinstance(parent, ast.keyword):
                return True
            if isinstance(parent, ast.Call) and node is parent.func:
                return False
            if isinstance(parent, ast.Call):
                callee = _last(parent.func)
                if callee in MAPS or (callee in RUNNERS and node in parent.args):
                    return False
                if callee not in WRAPPERS:
                    return True
                if any(_last(a) in MAPS for a in parent.args):
                    return False
                node = parent
            elif isinstance(parent, ast.Return | ast.Lambda):
                self._factories.add(_owner(table.scope_of.get(node)))
                return False
            elif isinstance(parent, ast.Assign):
                return not all(isinstance(t, ast.Name) for t in parent.targets)
            elif isinstance(parent, ast.IfExp):
                node = parent
            else:
                return not isinstance(parent, ast.Expr | ast.FunctionDef | ast.ClassDef | ast.Compare | ast.arguments)

    def _follow_factories(self) -> None:
        """What a factory's call gives is stored where the call's value is."""
        done: set[str] = set()
        while not self._factories <= done:
            new = self._factories - done
            done |= new
            for name, call, module in self._made:
                if name in new and self._escapes(call, module):
                    self._stored.add(name)


def _all_modules(resolver: Resolver) -> Iterator[Module]:
    """The modules that were named, and those of the project that they import, however far."""
    project = resolver.project
    pending, seen = list(project.named), set[Module]()
    while pending:
        module = pending.pop()
        if module in seen:
            continue
        seen.add(module)
        yield module
        pending.extend(_imports(module, resolver))


def _imports(module: Module, resolver: Resolver) -> Iterator[Module]:
    for node in ast.walk(module.tree):
        names: Iterable[tuple[str, int]] = ()
        if isinstance(node, ast.Import):
            names = [(a.name, 0) for a in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            names = [(base, node.level), *((f"{base}.{a.name}".lstrip("."), node.level) for a in node.names)]
        for name, level in names:
            found = resolver.project.imported(module, name, level)
            if found is not None:
                yield found


def _owner(scope: Scope | None) -> str:
    """The name of the function that a scope belongs to; a class body's is the class's, a module's is empty."""
    while scope is not None:
        if isinstance(scope.node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return scope.node.name
        scope = scope.parent
    return ""


def _aliases(node: ast.expr, module: Module) -> Iterator[str]:
    """The names that the assignment around a mention binds."""
    current: ast.AST | None = node
    while isinstance(current, ast.expr | ast.keyword):
        current = module.table.parents.get(current)
    if isinstance(current, ast.Assign):
        for target in current.targets:
            if isinstance(target, ast.Name):
                yield target.id
            elif isinstance(target, ast.Attribute):
                yield target.attr


def _last(node: ast.expr) -> str:
    """The last part of a dotted name; of a call, that of what is called."""
    while isinstance(node, ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _is_none(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and node.value is None
