"""Runs host code on abstract values, statement by statement, until nothing changes any more.

Local names are followed in the order of the statements, so that `state = replicate(state)` gives a new value; names
that some other function reads, attributes, parameters and results are one value each for the whole program.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from jaxmigrate.flow.layout import calls, conditions, expressions
from jaxmigrate.flow.layout.idioms import Idioms
from jaxmigrate.flow.layout.onlookers import ROUND_NAMES, Onlookers, leading_names, names_in
from jaxmigrate.flow.layout.state import Env, Key, State
from jaxmigrate.flow.layout.values import (
    NONE,
    NOTHING,
    PLAIN,
    Abstract,
    Dct,
    Ext,
    Func,
    Mod,
    Nothing,
    Obj,
    Pin,
    Ref,
    Seq,
    Site,
    func,
    is_tracked,
    same,
)
from jaxmigrate.flow.variance import Var
from jaxmigrate.flow.variance.library import change
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver, canonical, is_classmethod, is_static
from jaxmigrate.program.scopes import FunctionNode, Scope, all_parameters
from jaxmigrate.program.sites import MappedSite
from jaxmigrate.program.values import Class, Constant, External, Function, Member, ModuleValue, Values

INERT_DECORATORS = frozenset(
    {"builtins.staticmethod", "builtins.classmethod", "functools.wraps", "typing.no_type_check", "typing.override"}
    | {"abc.abstractmethod", "typing.final", "typing.overload"}
)
MOST_PASSES = 1000
MOST_RUNS = 60_000  # bodies interpreted, some minutes' worth
FRAME_ATTRIBUTES = frozenset({"f_locals", "f_globals", "__globals__", "f_back", "gi_frame"})
INTERPRETED = frozenset(  # the libraries whose functions are known by name
    {"builtins", "chex", "collections", "contextlib", "copy", "dataclasses", "flax", "functools", "itertools", "jax"}
    | {"jaxlib", "numpy", "operator", "threading", "tqdm", "tree"}
)
NO_HOOKS = frozenset({"__init__", "__call__", "__repr__", "__str__", "__hash__", "__len__"})  # called in sight, or bare
PASSING = (
    *("jax.", "flax.", "numpy.", "tensorflow.", "torch.", "haiku.", "optax.", "chex.", "tqdm.", "wandb.", "mlflow."),
    *("builtins.open", "tempfile.", "threading.", "multiprocessing.", "concurrent.", "logging.", "absl.", "clu."),
    *("contextlib.nullcontext", "contextlib.redirect", "contextlib.closing"),
    *("io.", "gzip.", "h5py.", "zipfile.", "time.", "os."),
)
PASSING_METHODS = frozenset(
    {"open", "as_default", "scope", "name_scope", "device", "step_timer", "log_timing", "timed"}
)


@dataclass(slots=True)
class Frame:
    """One function (or module or class body) while it is interpreted. `env` is None where control does not get.

    `context` is the call that runs it, where each is followed by itself; `captured` are the variables of it that
    functions read which have been defined by now.
    """

    module: Module
    scope: Scope
    function: Function | None
    env: Env | None
    context: ast.Call | None = None
    captured: set[Key] = field(default_factory=set)
    breaks: list[list[Env]] = field(default_factory=list)
    continues: list[list[Env]] = field(default_factory=list)
    reached: list[Env] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Survey:
    """The classes of so many modules: names of methods, of computed and assigned attributes, families by root.

    `declared` are the annotated names of classes, with the lines that declare them.
    """

    modules: int
    methods: set[str]
    properties: set[str]
    assigned: set[str]
    families: dict[ast.ClassDef, list[Class]]
    declared: dict[str, list[ast.AnnAssign]]


class Interpreter(State):
    """Interprets the host code of some modules."""

    def __init__(
        self,
        resolver: Resolver,
        modules: Sequence[Module],
        sites: dict[ast.expr, MappedSite],
        idioms: Idioms,
        editable: Callable[[Module], bool],
        onlookers: Onlookers,
    ) -> None:
        super().__init__(resolver, sites, idioms)
        self.onlookers = onlookers
        self.looked_for: dict[str, int] = {}
        self.globals: dict[ast.AST, dict[str, list[Abstract]]] = {}
        self.modules = list(modules)
        self.known_modules = set(modules)
        self.shared = {key for module in modules for key in _shared(module)}
        self.rebound = {key for module in modules for key in _rebound(module)}
        self.imported = {name for module in modules for name in _imported(module)}
        self.assigned = {a.attr for module in modules for a in module.table.attributes}
        self.loads: set[ast.expr] = set()
        self.editable = editable
        self.final = False
        self._mentions: dict[ast.AST, set[str]] = {}
        self._free: dict[ast.AST, set[str]] = {}
        self.reflections: dict[ast.expr, Pin] = {}
        self.beyond: dict[ast.AST, Pin] = {}
        self.units: dict[ast.AST, dict[ast.Call | None, set[object]]] = {}
        self.plain_ops: set[ast.expr] = set()
        self.readings: dict[tuple[ast.expr, tuple[Var, ...], bool], tuple[Values, Var | None]] = {}
        self.runs = 0
        self._members: Survey | None = None

    def run(self) -> bool:
        """Interprets everything until nothing changes; says whether that came to an end."""
        before: set[object] = set()
        for _ in range(MOST_PASSES):
            if self.runs > MOST_RUNS:
                return False
            self.changed = False
            self.dirty = set()
            for module in list(self.modules):
                self._again(module, before)
            for function in list(self.functions.values()):
                for context in list(self.contexts.get(function.node, (None,))):
                    self._again(function, before, context)
            before = self.dirty
            if not self.changed:
                names, holders = leading_names(self)
                for module in self.onlookers.naming({m.path for m in self.modules}, holders):
                    self.join_module(module)
                if not self.changed:
                    self.start_uncalled(names)
                if not self.changed:
                    self.sweep()
            if not self.changed and self.final:
                return True
            if not self.changed:
                self.final = True
                self.units.clear()
        return False

    def _again(self, unit: Module | Function, before: set[object], context: ast.Call | None = None) -> None:
        """Runs a module or a function unless nothing that it read has changed."""
        units = self.units.setdefault(unit.tree if isinstance(unit, Module) else unit.node, {})
        known = units.get(context)
        if known is not None and known.isdisjoint(before) and known.isdisjoint(self.dirty):
            return
        self.runs += 1
        self.reads = set()
        if isinstance(unit, Module):
            self.module_body(unit)
        else:
            self.function_body(unit, context)
        units[context] = self.reads

    def join_module(self, module: Module) -> None:
        """Takes in another module of the project whose functions are called."""
        if module in self.known_modules:
            return
        self.known_modules.add(module)
        self.modules.append(module)
        self.shared |= _shared(module)
        self.rebound |= _rebound(module)
        assigned = {a.attr for a in module.table.attributes}
        fresh = (_imported(module) - self.imported) | (assigned - self.assigned)
        self.imported |= _imported(module)
        self.assigned |= assigned
        self.changed = True
        for other in self.modules:  # whose variables are now seen from elsewhere
            if not fresh.isdisjoint(other.table.root.bindings):
                self.units.pop(other.tree, None)

    def _waiting(self, names: set[str]) -> list[Function]:
        """The functions that nothing has called which name something that leads to stacked arrays."""
        leading = names | ROUND_NAMES
        found = [f for module in self.modules for f in self._unstarted(module)]
        return [f for f in found if _is_hook(f) or not leading.isdisjoint(self._named_by(f))]

    def start_uncalled(self, names: set[str]) -> None:
        """Functions that nothing in sight calls can be called by anything, with nothing that is stacked here.

        Those that only other such functions name come later: they may be called from there. Those that name nothing
        that leads to stacked arrays have no part in anything, unless Python calls them by itself.
        """
        waiting = self._waiting(names)
        naming = Counter(name for f in waiting for name in self.names_in(f.node))
        free = [f for f in waiting if naming[_name_of(f)] <= (_name_of(f) in self.names_in(f.node))]
        kept = {name for module in self.modules for name in self._kept_in(module)}
        for function in [f for f in free if _name_of(f) not in kept] or free or waiting[:1]:
            reason = "is returned by a function that nothing in sight calls"
            self.call_unseen(function, Pin(reason, function.module, function.node))
        if waiting:
            return
        for function in [*self.functions.values()]:
            if ("unseen", function.node) not in self.variables and self._never_given(function):
                pin = Pin("comes from a function that is not called", function.module, function.node)
                self.call_unseen(function, pin)

    def _named_by(self, function: Function) -> set[str]:
        """What a function names, itself included."""
        return self.names_in(function.node) | {_name_of(function)}

    def names_in(self, node: ast.AST) -> set[str]:
        """Every name in a body."""
        if node not in self._mentions:
            self._mentions[node] = names_in(node)
        return self._mentions[node]

    def _kept_in(self, module: Module) -> set[str]:
        """What the displays of a module's own statements hold: a table of functions by name is called through."""
        values = [s.value for s in module.tree.body if isinstance(s, ast.Assign | ast.AnnAssign) and s.value]
        displays = [v for v in values if isinstance(v, ast.Dict | ast.List | ast.Tuple)]
        return {name for display in displays for name in self.names_in(display)}

    def _unstarted(self, module: Module) -> Iterator[Function]:
        """The defs of a module that nothing has called and no map runs."""
        for node in module.table.own_scope:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                started = node in self.functions or node in self.device
                if not started and not self._inside_unstarted(node, module):
                    yield Function(module, node)

    def _inside_unstarted(self, node: FunctionNode, module: Module) -> bool:
        """Whether a function is defined in one that has not run yet."""
        scope = module.table.scope_of[node].function()
        return scope is not None and scope.node not in self.functions and scope.node not in self.device

    def _never_given(self, function: Function) -> bool:
        return ("called", function.node) not in self.variables

    # Bodies

    def module_body(self, module: Module) -> None:
        """Runs a module's own statements."""
        frame = Frame(module, module.table.root, None, {})
        self.block(module.tree.body, frame)

    def function_body(self, function: Function, context: ast.Call | None) -> None:
        """Runs a function with what its callers give it, or one call of them."""
        node, module = function.node, function.module
        scope = module.table.own_scope[node]
        frame = Frame(module, scope, function, {}, context)
        parameters = list(all_parameters(node.args))
        for index, parameter in enumerate(parameters):
            value = self.load(("parameter", node, parameter.arg, context))
            if index == 0 and (receiver := self._receiver(function)) is not None:
                value = receiver
            self.assign_name(parameter.arg, value, parameter, frame)
        if isinstance(node, ast.Lambda):
            self.returned(node, expressions.evaluate(self, node.body, frame), node.body, frame)
            return
        self.block(node.body, frame)
        if frame.env is not None:
            self.returned(node, NONE, node, frame)

    def _receiver(self, function: Function) -> Abstract | None:
        scope = function.module.table.scope_of[function.node]
        if scope.kind != "class" or isinstance(function.node, ast.Lambda) or is_static(function.node):
            return None
        cls = Class(function.module, scope.node)  # type: ignore[arg-type]
        return func(cls) if is_classmethod(function.node) else Obj(cls)

    def returned(self, node: FunctionNode, value: Abstract, where: ast.AST, frame: Frame) -> None:
        """Adds to what a function returns."""
        key = ("return", node, frame.context)
        self.store(key, value, where, frame.module)
        if ("returns pinned", node) in self.variables and not isinstance(value, Nothing):
            self.pin(self.load(key), Pin("is returned to callers that are not in sight", frame.module, where))

    # Statements

    def block(self, statements: Iterable[ast.stmt], frame: Frame) -> None:
        """Runs statements one after the other, as far as control gets."""
        for statement in statements:
            if frame.env is None:
                return
            self.statement(statement, frame)
            for reached in frame.reached:
                self._reach_handler(reached, statement, frame)

    def _reach_handler(self, reached: Env, node: ast.AST, frame: Frame) -> None:
        """Any statement inside of a try can be the last one that runs before a handler."""
        if frame.env is not None:
            joined = self.join_env(dict(reached), dict(frame.env), node, frame.module) or {}
            reached.clear()
            reached.update(joined)

    def statement(self, node: ast.stmt, frame: Frame) -> None:  # noqa: C901
        """Runs one statement."""
        match node:
            case ast.Expr(value=value):
                expressions.evaluate(self, value, frame)
            case ast.Assign(targets=targets, value=value):
                result = expressions.evaluate(self, value, frame)
                for target in targets:
                    self.assign(target, result, node, frame)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.assign(target, expressions.evaluate(self, value, frame), node, frame)
            case ast.AugAssign():
                self.augmented(node, frame)
            case ast.Return(value=value):
                result = expressions.evaluate(self, value, frame) if value is not None else NONE
                if frame.function is not None:
                    self.returned(frame.function.node, result, node, frame)
                frame.env = None
            case ast.If(test=test, body=body, orelse=orelse):
                expressions.test(self, test, frame)
                truth = conditions.known_truth(self, test, frame.module)
                for statement in () if truth is None else orelse if truth else body:
                    self.mark_loads(statement)  # what never runs reads nothing
                self.branches([body, orelse] if truth is None else [body if truth else orelse], node, frame)
            case ast.For() | ast.AsyncFor():
                self.loop(node, frame)
            case ast.While():
                self.loop(node, frame)
            case ast.With(items=items, body=body) | ast.AsyncWith(items=items, body=body):
                for item in items:
                    context = expressions.evaluate(self, item.context_expr, frame)
                    self.pin_all([context], "is used as a context manager", item.context_expr, frame.module)
                    if item.optional_vars is not None:
                        self.assign(item.optional_vars, PLAIN, node, frame)
                self.guarded(body, any(self._may_suppress(item.context_expr, frame) for item in items), node, frame)
            case ast.Try() | ast.TryStar():
                self.attempt(node, frame)
            case ast.Raise():
                for raised in filter(None, (node.exc, node.cause)):
                    self.pin_all([expressions.evaluate(self, raised, frame)], "is raised", node, frame.module)
                frame.env = None
            case ast.Break():
                self._leave(frame.breaks, frame)
            case ast.Continue():
                self._leave(frame.continues, frame)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self.define(node, frame)
            case ast.ClassDef():
                self.define_class(node, frame)
            case ast.Import() | ast.ImportFrom():
                self.importing(node, frame)
            case ast.Match():
                self.matching(node, frame)
            case ast.Delete(targets=targets):
                for target in targets:
                    if isinstance(target, ast.Subscript | ast.Attribute):
                        whole = expressions.evaluate(self, target.value, frame)
                        self.pin_all(
                            [whole] if isinstance(whole, Ref) else [], "is deleted in part", node, frame.module
                        )
            case ast.Assert(test=test, msg=msg):
                expressions.test(self, test, frame)
                if msg is not None:
                    self.pin_all([expressions.evaluate(self, msg, frame)], "is shown", node, frame.module)
            case ast.Global() | ast.Nonlocal() | ast.Pass():
                pass
            case _:
                for child in ast.iter_child_nodes(node):
                    if isinstance(child, ast.expr):
                        unknown = expressions.evaluate(self, child, frame)
                        self.pin_all([unknown], "is used in a statement that is not followed", node, frame.module)

    @staticmethod
    def _leave(stack: list[list[Env]], frame: Frame) -> None:
        if stack and frame.env is not None:
            stack[-1].append(frame.env)
        frame.env = None

    def augmented(self, node: ast.AugAssign, frame: Frame) -> None:
        """`x += y`: on a list that the program fills, an extension; on arrays, arithmetic."""
        before = expressions.evaluate(self, node.target, frame)
        value = expressions.evaluate(self, node.value, frame)
        if isinstance(before, Seq) and isinstance(node.op, ast.Add):
            self.fill(before.box, expressions.element(self, value, node, frame), node, frame.module)
            return
        self.pin_all([before, value], "takes part in arithmetic on the host", node, frame.module)
        if not isinstance(before, Nothing):
            self.assign(node.target, PLAIN, node, frame)

    def branches(self, bodies: Sequence[Sequence[ast.stmt]], node: ast.AST, frame: Frame) -> None:
        """Runs alternatives from the same start and joins what they leave."""
        start = frame.env
        after: Env | None = None
        for body in bodies:
            frame.env = dict(start) if start is not None else None
            self.block(body, frame)
            after = self.join_env(after, frame.env, node, frame.module)
        frame.env = after

    def loop(self, node: ast.For | ast.AsyncFor | ast.While, frame: Frame) -> None:
        """Runs a loop's body until what it starts from no longer changes."""
        item: Abstract = NOTHING
        if not isinstance(node, ast.While):
            item = expressions.element(self, expressions.evaluate(self, node.iter, frame), node.iter, frame)
        exits: list[Env] = []
        for _ in range(12):
            head = dict(frame.env) if frame.env is not None else None
            if head is None:
                return
            if isinstance(node, ast.While):
                expressions.test(self, node.test, frame)
            else:
                self.assign(node.target, item, node, frame)
            frame.breaks.append([])
            frame.continues.append([])
            captured = len(frame.captured)
            self.block(node.body, frame)
            end = frame.env
            for env in frame.continues.pop():
                end = self.join_env(end, env, node, frame.module)
            exits += frame.breaks.pop()
            joined = self.join_env(dict(head), end, node, frame.module)
            settled = _same_env(joined, head) and len(frame.captured) == captured
            frame.env = joined
            if settled:
                break
        else:
            self.pin_all(
                (frame.env or {}).values(), "goes round a loop in a way that is not followed", node, frame.module
            )
        endless = isinstance(node, ast.While) and isinstance(node.test, ast.Constant) and bool(node.test.value)
        if endless:
            frame.env = None
        self.block(node.orelse, frame)
        for env in exits:
            frame.env = self.join_env(frame.env, env, node, frame.module)

    def attempt(self, node: ast.Try | ast.TryStar, frame: Frame) -> None:
        """A try: any statement of its body can be the last one that runs before a handler."""
        start = dict(frame.env or {})
        reached: Env = dict(start)
        frame.reached.append(reached)
        self.block(node.body, frame)
        frame.reached.pop()
        if frame.env is not None:
            self.block(node.orelse, frame)
        after = frame.env
        for handler in node.handlers:
            frame.env = dict(reached or {})
            if handler.type is not None:
                expressions.evaluate(self, handler.type, frame)
            if handler.name:
                self.assign_name(handler.name, PLAIN, handler, frame)
            self.block(handler.body, frame)
            after = self.join_env(after, frame.env, node, frame.module)
        if node.finalbody:
            leaves = after is None
            frame.env = self.join_env(after, dict(reached), node, frame.module)
            self.block(node.finalbody, frame)
            after = None if leaves else frame.env
        frame.env = after

    def guarded(self, body: Sequence[ast.stmt], suppresses: bool, node: ast.AST, frame: Frame) -> None:
        """The body of a with, which an exception may end anywhere if what it enters suppresses that."""
        reached: Env = dict(frame.env or {})
        if not suppresses:
            self.block(body, frame)
            return
        frame.reached.append(reached)
        self.block(body, frame)
        frame.reached.pop()
        frame.env = self.join_env(frame.env, reached, node, frame.module)

    def _may_suppress(self, node: ast.expr, frame: Frame) -> bool:
        """Whether a context manager may swallow an exception: all that are not known to let it pass."""
        name = expressions.callee_name(self, node, frame.module)
        if isinstance(node, ast.Call) and not name:
            value = self.resolver.value(node.func, frame.module)
            name = value.name if isinstance(value, Member) else ""
            return name not in PASSING_METHODS
        return not name.startswith(PASSING)

    def matching(self, node: ast.Match, frame: Frame) -> None:
        """A match: what it takes apart is not followed."""
        subject = expressions.evaluate(self, node.subject, frame)
        self.pin_all([subject], "is taken apart by a match statement", node.subject, frame.module)
        start = frame.env
        after = dict(start) if start is not None else None
        for case in node.cases:
            frame.env = dict(start) if start is not None else None
            for pattern in ast.walk(case.pattern):
                name = getattr(pattern, "name", None) or getattr(pattern, "rest", None)
                if isinstance(name, str):
                    self.assign_name(name, PLAIN, node, frame)
            if case.guard is not None:
                expressions.test(self, case.guard, frame)
            self.block(case.body, frame)
            after = self.join_env(after, frame.env, node, frame.module)
        frame.env = after

    # Definitions

    def define(self, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> None:
        """Binds a function's name to it under its decorators."""
        self.capture(node, frame)
        for default in [*node.args.defaults, *node.args.kw_defaults]:
            if default is not None:
                given = expressions.evaluate(self, default, frame)
                self.pin_all([given], "is a parameter's default", default, frame.module)
        function = Function(frame.module, node)
        value: Abstract = func(function)
        if frame.scope.kind == "class":
            for decorator in node.decorator_list:
                if decorator in self.sites:
                    self.pin_site(decorator, "maps a method", frame)
                expressions.evaluate(self, decorator, frame)
            return
        for decorator in reversed(node.decorator_list):
            value = self.decorated(decorator, value, frame)
        self.assign_name(node.name, value, node, frame)

    def capture(self, node: ast.AST, frame: Frame) -> None:
        """A function or class comes to be: from here on it can read the variables around it that it names."""
        if node not in self._free:
            self._free[node] = {
                n.id
                for n in ast.walk(node)
                if isinstance(n, ast.Name)
                and n in frame.module.table.scope_of
                and (holder := frame.module.table.scope_of[n].lookup(n.id)) is not None
                and holder.node is frame.scope.node
            }
        for name in self._free[node]:
            key = ("variable", frame.scope.node, name)
            frame.captured.add(key)
            if key in self.shared and frame.env is not None and name in frame.env:
                self.store(key, self.settle(frame.env[name], node, frame.module), node, frame.module)

    def decorated(self, decorator: ast.expr, value: Abstract, frame: Frame) -> Abstract:
        """A function under one more decorator."""
        if decorator in self.sites:
            expressions.evaluate(self, decorator, frame)
            self.map_more(decorator, value, frame)
            self.on_device(value)
            return func(Site(decorator))
        applied = expressions.evaluate(self, decorator, frame)
        names = {item.name for item in applied.items if isinstance(item, Ext)} if isinstance(applied, Func) else set()
        if (
            isinstance(decorator, ast.Call)
            and expressions.callee_name(self, decorator, frame.module) in INERT_DECORATORS
        ):
            return value
        if names and names <= INERT_DECORATORS:
            return value
        if isinstance(applied, Func) and not names:
            return calls.call_value(self, applied, calls.given_of([value]), decorator, frame)
        self.on_device(value)
        self.pin_all([value], "is changed by a decorator that is not followed", decorator, frame.module)
        return PLAIN

    def define_class(self, node: ast.ClassDef, frame: Frame) -> None:
        """Runs a class body, whose names are attributes of its objects."""
        self.capture(node, frame)
        for expression in [*node.decorator_list, *node.bases, *(k.value for k in node.keywords)]:
            value = expressions.evaluate(self, expression, frame)
            self.pin_all([value] if not isinstance(value, Func) else [], "is a base", expression, frame.module)
        cls = Class(frame.module, node)
        self.assign_name(node.name, func(cls), node, frame)
        inner = Frame(
            frame.module, frame.module.table.own_scope[node], frame.function, dict(frame.env or {}), frame.context
        )
        self.block(node.body, inner)
        for name in inner.scope.bindings:
            if inner.env is not None and name in inner.env and any(b.kind != "def" for b in inner.scope.bindings[name]):
                self.store(("attribute", self.root(cls), name), inner.env[name], node, frame.module)
        outside = expressions.foreign_base(self, cls)
        if outside:
            self.pin_class(
                cls, Pin(f"is kept in an object of {node.name}, whose base {outside} may read it", frame.module, node)
            )

    def importing(self, node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
        """Binds what an import brings in."""
        if isinstance(node, ast.Import):
            for alias in node.names:
                name = alias.name if alias.asname else alias.name.partition(".")[0]
                found = self.resolver.project.imported(frame.module, name)
                value = func(Mod(found)) if found is not None else func(Ext(canonical(name)))
                self.assign_name(alias.asname or name, value, node, frame)
            return
        source = self.resolver.project.imported(frame.module, node.module or "", node.level)
        for alias in node.names:
            if alias.name == "*":
                continue
            self.assign_name(alias.asname or alias.name, self._from_import(node, alias, source, frame), node, frame)

    def _from_import(self, node: ast.ImportFrom, alias: ast.alias, source: Module | None, frame: Frame) -> Abstract:
        dotted = f"{node.module or ''}.{alias.name}".lstrip(".")
        if source is None:
            inner = self.resolver.project.imported(frame.module, dotted, node.level)
            return func(Mod(inner)) if inner is not None else func(Ext(canonical("." * node.level + dotted)))
        return self.module_attribute(source, alias.name)

    def module_attribute(self, module: Module, name: str) -> Abstract:
        """What `module.name` can hold: a variable of a module of the project."""
        library = self.idioms.library_module(module)
        if library:
            return func(Ext(f"{library}.{name}"))
        if name in module.table.root.bindings:
            return self._variable_of(module, name)
        found = self.resolver.module_attribute(module, name)
        if len(found) == 1 and isinstance(found[0], ModuleValue):
            return func(Mod(found[0].module))
        return PLAIN

    def _variable_of(self, module: Module, name: str) -> Abstract:
        """A variable of a module; one that has no part in anything (yet) is told what it is without being run."""
        if module not in self.known_modules:
            found = self.resolver.module_attribute(module, name)
            defs = [v for v in found if isinstance(v, Class) or (isinstance(v, Function) and _is_bare(v))]
            if defs and len(defs) == len(found):
                self.reads.add(("variable", module.tree, name))
                return Func(frozenset(defs))
            if len(found) == 1 and isinstance(found[0], ModuleValue):
                return func(Mod(found[0].module))
            if len(found) == 1 and isinstance(found[0], External):
                return func(Ext(found[0].name))
            set_elsewhere = ("variable", module.tree, name) in self.variables
            if found and all(isinstance(v, Constant) for v in found) and not set_elsewhere:
                self.reads.add(("variable", module.tree, name))
                return PLAIN
            self.join_module(module)
        return self.load(("variable", module.tree, name))

    # Names

    def assign(self, target: ast.expr, value: Abstract, node: ast.AST, frame: Frame) -> None:
        """Binds a target to a value."""
        match target:
            case ast.Name(id=name):
                self.assign_name(name, value, target, frame)
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                for element, part in zip(elements, expressions.unpack(self, value, elements, node, frame), strict=True):
                    self.assign(element, part, node, frame)
            case ast.Starred(value=inner):
                self.assign(inner, value, node, frame)
            case ast.Attribute(value=owner, attr=name):
                self._assign_attribute(expressions.evaluate(self, owner, frame), name, value, node, frame)
            case ast.Subscript(value=owner, slice=index):
                holder = expressions.evaluate(self, owner, frame)
                expressions.evaluate(self, index, frame)
                self._assign_item(holder, index, value, node, frame)

    def _assign_attribute(self, owner: Abstract, name: str, value: Abstract, node: ast.AST, frame: Frame) -> None:
        match owner:
            case Obj(cls=cls):
                root = self.root(cls)
                self.store(("attribute", root, name), value, node, frame.module)
                if root in self.pinned_classes:
                    self.pin(value, self.pinned_classes[root])
            case Func(items=items):
                for item in items:
                    if isinstance(item, Mod):
                        self.store(("variable", item.module.tree, name), value, node, frame.module)
                    elif isinstance(item, Class):
                        self.store(("attribute", self.root(item), name), value, node, frame.module)
                    elif isinstance(item, Obj):
                        self._assign_attribute(item, name, value, node, frame)
                    else:
                        self.pin_all([value], "is stored in an attribute that is not followed", node, frame.module)
                        self._change_library(item, name, node, frame)
            case _:
                self.pin_all([owner, value], "is stored in an attribute that is not followed", node, frame.module)

    def _change_library(self, item: object, name: str, node: ast.AST, frame: Frame) -> None:
        """Sets an attribute of something outside the project: what goes by that name is not what it was."""
        if isinstance(item, Function) and not name.startswith("__"):
            return  # a note on a function of the project, which runs as before
        if isinstance(item, Ext) and item.name.partition(".")[0] not in INTERPRETED:
            change(self.resolver, f"{item.name}.{name}")
        else:
            self.beyond.setdefault(node, Pin("may depend on a library that is changed", frame.module, node))

    def _assign_item(self, holder: Abstract, index: ast.expr, value: Abstract, node: ast.AST, frame: Frame) -> None:
        match holder, index:
            case Dct(box=box), ast.Constant(value=str(key)):
                self.fill(box, value, node, frame.module, key)
            case ((Seq(box=box) | Dct(box=box)), _):
                self.fill(box, value, node, frame.module)
                if isinstance(holder, Dct):
                    for name in list(box.fields):
                        self.fill(box, value, node, frame.module, name)
            case Nothing(), _:
                pass
            case _:
                self.pin_all([holder, value], "is stored in part of something that is not followed", node, frame.module)

    def assign_name(self, name: str, value: Abstract, node: ast.AST, frame: Frame) -> None:
        """Binds a name in a frame."""
        holder = self._holder(name, frame)
        key = ("variable", holder.node, name)
        if holder.kind == "module":
            held = self.globals.setdefault(holder.node, {}).setdefault(name, [])
            if not any(same(value, one) for one in held):
                held.append(value)
        if (
            (key in self.shared and (key in frame.captured or holder.kind == "module"))
            or holder.node is not frame.scope.node
            or (holder.kind == "module" and name in self.imported)
            or self._is_rebound(key)
        ):
            self.store(key, value, node, frame.module)
        if holder.node is frame.scope.node and frame.env is not None and not self._is_rebound(key):
            frame.env[name] = value

    def _is_rebound(self, key: tuple[object, ...]) -> bool:
        """Whether a variable is also bound from elsewhere: by a global statement, or as a module's attribute."""
        return key in self.rebound or (isinstance(key[1], ast.Module) and key[2] in self.assigned)

    @staticmethod
    def _holder(name: str, frame: Frame) -> Scope:
        scope: Scope = frame.scope
        if name not in scope.outer_names and name in scope.bindings:
            return scope
        return (scope.parent.lookup(name) if scope.parent is not None else None) or scope.module()

    def load_name(self, name: str, node: ast.expr, frame: Frame) -> Abstract:
        """What a name holds where it is read."""
        self.loads.add(node)
        holder = frame.module.table.scope_of.get(node, frame.scope).lookup(name)
        own = frame.scope.bindings.get(name) is not None and name not in frame.scope.outer_names
        if frame.env is not None and name in frame.env and (own or holder is None or holder.kind == "comprehension"):
            return self.settle(frame.env[name], node, frame.module)
        if holder is None and (source := self._star_source(name, frame.module)) is not None:
            return self.module_attribute(source, name)
        if holder is None:
            found = self.resolver.value(node, frame.module) if isinstance(node, ast.Name) else None
            return func(Ext(found.name)) if isinstance(found, External) else PLAIN
        if holder.node is frame.scope.node and not self._is_rebound(("variable", holder.node, name)):
            return NOTHING  # not assigned on this way
        value = self.load(("variable", holder.node, name))
        return PLAIN if self.final and value == NOTHING else value

    def _star_source(self, name: str, module: Module) -> Module | None:
        """The module of the project from which a star import brings in a name."""
        for node in module.table.star_imports:
            source = self.resolver.project.imported(module, node.module or "", node.level)
            if source is not None and name in source.table.root.bindings:
                return source
        return None

    # What runs on devices

    def map_more(self, site: ast.expr, value: Abstract, frame: Frame) -> None:
        """A site maps one more function."""
        before = self.mapped.get(site, NOTHING)
        self.mapped[site] = self.join(before, value, site, frame.module)
        if not same(before, self.mapped[site]):
            self.touch(("site", site))

    def on_device(self, value: Abstract) -> None:
        """Functions in a value run inside a map or a transformation: what they capture is not followed."""
        if not isinstance(value, Func):
            return
        for item in value.in_order():
            if isinstance(item, Function):
                self.enter_device(item)

    def enter_device(self, function: Function) -> None:
        """A function and all that it calls runs on devices."""
        pending = [function]
        while pending:
            one = pending.pop()
            if one.node in self.device:
                continue
            self.device.add(one.node)
            self.changed = True
            self.units.pop(one.node, None)
            for child in ast.walk(one.node):
                if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                    pending.append(Function(one.module, child))
                elif isinstance(child, ast.Name | ast.Attribute) and child in one.module.table.scope_of:
                    pending += [v for v in self.resolver.values(child, one.module) if isinstance(v, Function)]

    def mark_loads(self, node: ast.AST) -> None:
        """Notes that the names in an expression or statement were looked at."""
        self.loads.update(n for n in ast.walk(node) if isinstance(n, ast.Name | ast.Attribute))

    def pin_sites(self, value: Abstract, reason: str, node: ast.AST, frame: Frame) -> None:
        """Mapped functions in a value are called where nobody sees it."""
        for item in value.in_order() if isinstance(value, Func) else ():
            if not isinstance(item, Function):
                self.escape(item, Pin(reason, frame.module, node))

    def receives(self, function: Function) -> bool:
        """Whether a function's first parameter is the object or class that it is called on."""
        return self._receiver(function) is not None and (function.receiver is not None or is_classmethod(function.node))

    # Classes in sight

    def _survey(self) -> Survey:
        if self._members is None or self._members.modules != len(self.modules):
            classes = [
                Class(module, node)
                for module in self.modules
                for node in module.table.own_scope
                if isinstance(node, ast.ClassDef)
            ]
            methods: set[str] = set()
            properties: set[str] = set()
            for cls in classes:
                for name, bindings in cls.module.table.own_scope[cls.node].bindings.items():
                    for binding in bindings:
                        if isinstance(binding.node, ast.FunctionDef):
                            decorated = {ast.unparse(d).rpartition(".")[2] for d in binding.node.decorator_list}
                            (properties if decorated & {"property", "cached_property"} else methods).add(name)
            assigned = {attribute.attr for module in self.modules for attribute in module.table.attributes}
            families: dict[ast.ClassDef, list[Class]] = {}
            for cls in classes:
                assigned |= set(cls.module.table.own_scope[cls.node].bindings)
                families.setdefault(self.root(cls), []).append(cls)
            declared: dict[str, list[ast.AnnAssign]] = {}
            for line in (s for cls in classes for s in cls.node.body if isinstance(s, ast.AnnAssign)):
                if isinstance(line.target, ast.Name):
                    declared.setdefault(line.target.id, []).append(line)
            self._members = Survey(len(self.modules), methods, properties, assigned, families, declared)
        return self._members

    def family(self, root: ast.ClassDef) -> list[Class]:
        """The classes in sight that descend from one."""
        return self._survey().families.get(root, [])

    def _look_for(self, name: str) -> None:
        """Takes in the modules that those in sight import and that have a method of a name."""
        if self.looked_for.get(name) != len(self.modules):
            self.looked_for[name] = len(self.modules)
            for module in self.onlookers.defining({m.path for m in self.modules}, name):
                self.join_module(module)

    def is_method(self, name: str) -> bool:
        """Whether some class in sight has a method of that name."""
        self._look_for(name)
        return name in self._survey().methods

    def is_assigned(self, name: str) -> bool:
        """Whether some module in sight assigns an attribute of that name, or declares it in a class."""
        return name in self._survey().assigned

    def is_property(self, name: str) -> bool:
        """Whether some class in sight computes an attribute of that name."""
        self._look_for(name)
        return name in self._survey().properties

    def declarations(self, name: str) -> list[ast.AnnAssign]:
        """The lines of classes in sight that declare a field of that name."""
        return self._survey().declared.get(name, [])

    def pin_site(self, node: ast.expr, reason: str, frame: Frame) -> None:
        """A site whose calls are not all in sight."""
        self.escape(Site(node), Pin(reason, frame.module, node))

    def sweep(self) -> None:
        """Pins what is read where the interpreter did not look: by reflection, and by code that it did not run."""
        for module in self.modules:
            for node in module.table.references:
                if isinstance(node, ast.Attribute) and node.attr in FRAME_ATTRIBUTES:
                    self.beyond.setdefault(node, Pin(f"can be reached through {node.attr}", module, node))
        for pin in self.beyond.values():
            for cell in list(self.cells.values()):
                self.changed |= cell.pin(pin)
        for place, reflection in self.reflections.items():
            for key, value in list(self.variables.items()):
                within_reach = isinstance(key[1], ast.Module) or place not in self.of_modules
                if key[0] == "variable" and is_tracked(value) and within_reach:
                    self.pin(value, reflection)
        self._sweep_unrun()

    def _sweep_unrun(self) -> None:
        """Pins variables and attributes that several functions see and that code reads which did not run."""
        names: dict[tuple[object, object], Abstract] = {}
        attributes: dict[object, list[Abstract]] = {}
        for key, value in self.variables.items():
            if key[0] == "variable" and is_tracked(value):
                names[key[1], key[2]] = value
            elif key[0] == "attribute" and is_tracked(value):
                attributes.setdefault(key[2], []).append(value)
        unrun = [(m, n) for m in self.modules for n in m.table.references if n not in self.loads]
        for module, node in unrun if names or attributes else ():
            if isinstance(node, ast.Attribute):
                for value in attributes.get(node.attr, ()):
                    self.pin(value, Pin(f".{node.attr} is read where its object is not known", module, node))
                continue
            holder = module.table.scope_of[node].lookup(node.id)
            if holder is not None and (holder.node, node.id) in names:
                pin = Pin(f"{node.id} is read by code that runs on devices", module, node)
                self.pin(names[holder.node, node.id], pin)


def _is_bare(function: Function) -> bool:
    """Whether a function is what its def says, under no decorator."""
    return isinstance(function.node, ast.FunctionDef) and not function.node.decorator_list


def _is_hook(function: Function) -> bool:
    """Whether Python itself may give a function a value, as it does to `__setattr__`."""
    name = _name_of(function)
    return name.startswith("__") and name.endswith("__") and name not in NO_HOOKS


def _name_of(function: Function) -> str:
    return function.node.name if isinstance(function.node, ast.FunctionDef | ast.AsyncFunctionDef) else ""


def _same_env(one: Env | None, other: Env | None) -> bool:
    if one is None or other is None:
        return one is other
    return one.keys() == other.keys() and all(same(one[name], other[name]) for name in one)


def _shared(module: Module) -> set[tuple[object, ...]]:
    """The variables of functions and of the module that some other function reads or binds."""
    found = _rebound(module)
    for node in module.table.references:
        if isinstance(node, ast.Name):
            scope = module.table.scope_of[node]
            holder = scope.lookup(node.id)
            if holder is not None and holder is not _frame_scope(scope):
                found.add(("variable", holder.node, node.id))
    return found


def _rebound(module: Module) -> set[tuple[object, ...]]:
    """The variables that some function binds by a global or nonlocal statement."""
    found: set[tuple[object, ...]] = set()
    for scope in {*module.table.own_scope.values()}:
        for name in scope.outer_names:
            holder = scope.parent.lookup(name) if scope.parent is not None else None
            found.add(("variable", (holder or scope.module()).node, name))
    return found


def _frame_scope(scope: Scope) -> Scope:
    while scope.kind == "comprehension" and scope.parent is not None:
        scope = scope.parent
    return scope


def _imported(module: Module) -> set[str]:
    """Names that a module imports from others, or reads as attributes."""
    names = {n.attr for n in module.table.references if isinstance(n, ast.Attribute)}
    for bindings in [b for scope in module.table.own_scope.values() for b in scope.bindings.values()]:
        names |= {b.node.name for b in bindings if b.kind == "from" and isinstance(b.node, ast.alias)}
    if module.table.star_imports:
        names |= {n.id for n in module.table.references if isinstance(n, ast.Name)}
    return names
