"""Values of the host that processes of one program may not agree on: the process's index, the time, numpy's random.

Asked about values that a mapped function captures; what reaches it as an argument is its caller's to say.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from jaxmigrate.flow.variance.activations import Entered, Place, default_of, enter, surrounding, yielded
from jaxmigrate.flow.variance.called_as import CalledAs, Ways
from jaxmigrate.flow.variance.library import HOST_SOURCES, is_pure
from jaxmigrate.flow.variance.process_modules import ProcessModules
from jaxmigrate.program.functions import own_statements
from jaxmigrate.program.modules import Module
from jaxmigrate.program.passing import passed_perhaps
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding, FunctionNode, Path, Scope, positional_names
from jaxmigrate.program.syntax import by_last_name, last_name
from jaxmigrate.program.values import Application, Class, External, Function, Value

SEEDED = ("RandomState", "default_rng", "SeedSequence", "PCG64", "Philox", "Generator")
STORED = frozenset({"apply", "init", "tx", "shape", "dtype", "ndim"})
MOST_STEPS = 3000

READING = ast.BinOp | ast.Compare | ast.UnaryOp | ast.Return | ast.Tuple


class ProcessTaint:
    """Answers by following bindings backwards, callers in the same process included; answers are kept.

    `sources` begin the names of what processes may not agree on.
    """

    def __init__(self, resolver: Resolver, loaded: ProcessModules, sources: tuple[str, ...] = HOST_SOURCES) -> None:
        self.resolver = resolver
        self.sources = sources
        self.loaded = loaded
        self._beside: frozenset[Module] = frozenset()
        self._answers: dict[ast.AST, bool] = {}
        self._agreed: dict[frozenset[Module], set[object]] = {}  # what was followed to its end
        self._returns: dict[FunctionNode, list[ast.expr]] = {}
        self._by_name: dict[Module, dict[str, list[ast.Call]]] = {}
        self._ways: dict[frozenset[Module], Ways] = {}
        self._known_as: dict[tuple[FunctionNode, frozenset[Module]], CalledAs] = {}
        self._called: dict[tuple[str, frozenset[Module]], list[tuple[ast.Call, Module]]] = {}
        self._steps = 0

    def differs(self, node: ast.expr, module: Module) -> bool:
        """Whether processes may not agree on the value of an expression, as far as the program shows."""
        if node not in self._answers:
            self._steps = 0
            self._beside = self.loaded.beside(module)
            seen = {*self._agreed.get(self._beside, ())}
            self._answers[node] = self._expression(node, module, seen, None)
            if not self._answers[node]:
                self._agreed[self._beside] = seen
        return self._answers[node]

    def name_differs(self, module: Module, name: str) -> bool:
        """The same of a variable of a module."""
        return any(
            self.differs(binding.value, module)
            for binding in module.table.root.bindings.get(name, ())
            if binding.value is not None
        )

    def attribute_differs(self, cls: Class, name: str) -> bool:
        """The same of an attribute that the methods of a class assign."""
        return any(
            self.differs(found.value, holder.module)
            for holder in self.resolver.lineage(cls)
            for found in holder.module.table.attributes
            if found.attr == name
        )

    def _expression(self, node: ast.expr, module: Module, seen: set[object], entered: Entered | None) -> bool:
        self._steps += 1
        if self._steps > MOST_STEPS:
            return True
        for inner in _evaluated(node, lambda call: self._counts_devices(call, module)):
            if isinstance(inner, ast.Call | ast.Attribute | ast.Name) and self._node(inner, module, seen, entered):
                return True
        return False

    def _counts_devices(self, call: ast.Call, module: Module) -> bool:
        """Whether a call is `len(jax.local_devices())`, which is as many on every process as pmap's are."""
        if not (isinstance(call.func, ast.Name) and call.func.id == "len" and len(call.args) == 1):
            return False
        values = self.resolver.values(call.args[0], module)
        callees = [v.callee if isinstance(v, Application) and not v.arguments else None for v in values]
        return bool(callees) and all(isinstance(c, External) and c.name == "jax.local_devices" for c in callees)

    def _node(
        self, node: ast.Call | ast.Attribute | ast.Name, module: Module, seen: set[object], entered: Entered | None
    ) -> bool:
        if isinstance(node, ast.Call):
            if node.args and any(_is_seeded(v) for v in self.resolver.values(node.func, module)):
                return False  # what it is seeded with is among its arguments, and asked about for itself
            here = Place(node, module, entered)
            return any(self._callee(v, seen, here) for v in self.resolver.values(node.func, module))
        scope = module.table.scope_of.get(node)
        holder = scope.lookup(node.id) if scope is not None and isinstance(node, ast.Name) else None
        if holder is None or isinstance(node, ast.Attribute):
            return any(self._is_source(v) and not _is_seeded(v) for v in self.resolver.values(node, module))
        bindings = [b for b in holder.bindings[node.id] if scope is not holder or _may_reach(b, node, module)]
        around = surrounding(holder, entered)
        bindings = [b for b in bindings if (b, around) not in seen]
        seen.update((b, around) for b in bindings)
        return any(self._binding(b, module, seen, around) for b in bindings)

    def _callee(self, value: Value, seen: set[object], place: Place) -> bool:
        """Whether calling something gives what processes may not agree on."""
        if isinstance(value, Application):
            return self._callee(value.callee, seen, place)
        if not isinstance(value, Function):
            return self._is_source(value)
        entered = enter(value, place)
        if (value.node, entered) in seen:
            return False
        seen.add((value.node, entered))
        return any(self._expression(r, value.module, seen, entered) for r in self._given_by(value.node))

    def _binding(self, binding: Binding, module: Module, seen: set[object], entered: Entered | None) -> bool:
        if binding.kind == "param" and isinstance(binding.scope.node, ast.FunctionDef | ast.Lambda):
            return self._parameter(binding.name, binding.scope.node, module, seen, entered)
        if binding.kind in ("import", "from"):
            return any(self._is_source(v) and not _is_seeded(v) for v in self.resolver.binding_values(binding, module))
        value = binding.value or _iterated(binding, module)
        if value is None:
            return False
        parts = self._unpacked(value, binding.path, Place(value, module, entered)) if binding.path else None
        if parts is None:
            return self._expression(value, module, seen, entered)
        return any(self._expression(part, place.module, seen, place.entered) for part, place in parts)

    def _unpacked(self, value: ast.expr, path: Path, place: Place) -> list[tuple[ast.expr, Place]] | None:
        """What a name may get where a tuple is unpacked: parts of displays, which called functions may return too.

        None where that is not in sight.
        """
        if not path:
            return [(value, place)] if place.entered is None or self._only_reads(value, place, place.entered) else None
        if isinstance(value, ast.Tuple | ast.List):
            index = path[0]
            if not isinstance(index, int) or any(isinstance(e, ast.Starred) for e in value.elts[: index + 1]):
                return None
            return self._unpacked(value.elts[index], path[1:], place) if index < len(value.elts) else None
        if not isinstance(value, ast.Call):
            return None
        here = Place(value, place.module, place.entered)
        found: list[tuple[ast.expr, Place]] = []
        for callee in self.resolver.values(value.func, place.module):
            entered = enter(callee, here) if isinstance(callee, Function) else None
            if not isinstance(callee, Function) or entered is None:
                return None
            for returned in self._given_by(callee.node):
                parts = self._unpacked(returned, path, Place(returned, callee.module, entered))
                if parts is None:
                    return None
                found += parts
        return found or None

    def _only_reads(self, value: ast.expr, place: Place, entered: Entered) -> bool:
        """Whether a function only reads what the names in an expression hold, and puts nothing into it."""
        parents = place.module.table.parents
        names = {node.id for node in ast.walk(value) if isinstance(node, ast.Name)}
        for node in ast.walk(entered.function):
            if not isinstance(node, ast.Name) or node.id not in names or not isinstance(node.ctx, ast.Load):
                continue
            read: ast.expr = node
            above = parents.get(node)
            while isinstance(above, ast.Subscript) and isinstance(above.ctx, ast.Load):
                read, above = above, parents.get(above)
            if isinstance(above, ast.Call) and read is not above.func:
                callee = self.resolver.value(above.func, place.module)
                reads = isinstance(callee, External) and is_pure(callee.name)
            else:
                reads = isinstance(above, READING) or (isinstance(above, ast.Call) and read is node)
            if not reads:
                return False
        return True

    def _parameter(
        self, name: str, function: FunctionNode, module: Module, seen: set[object], entered: Entered | None
    ) -> bool:
        spec = function.args
        names = positional_names(spec)
        default = default_of(spec, name)
        if default is not None and self._expression(default, module, seen, None):
            return True
        if entered is not None and entered.function is function:
            place = names.index(name) if name in names else None
            known_names = place is not None or name in {p.arg for p in spec.kwonlyargs}
            passed = passed_perhaps(entered.call, name, place) if known_names else _everything(entered.call)
            return any(self._expression(one, entered.place.module, seen, entered.place.entered) for one in passed)
        position = names.index(name) - _is_method(function, module) if name in names else None
        known = self._called_as(function, module)
        for called in sorted(known.names):
            own = not isinstance(function, ast.Lambda) and called == function.name
            for call, where in self._calls(called):
                if self._is_of_others(call, where, function):
                    continue
                in_place = own and (name in names or name in {p.arg for p in spec.kwonlyargs})
                skip = int(last_name(call.func) == "partial")
                given = passed_perhaps(call, name, position, skip) if in_place else _everything(call)
                if any(self._expression(one, where, seen, None) for one in given):
                    return True
        return any(self._expression(one, where, seen, None) for call, where in known.given for one in _everything(call))

    def _called_as(self, function: FunctionNode, module: Module) -> CalledAs:
        key = (function, self._beside)
        if key not in self._known_as:
            if self._beside not in self._ways:
                self._ways[self._beside] = Ways(self._beside, self.resolver)
            self._known_as[key] = self._ways[self._beside].called_as(function, module)
        return self._known_as[key]

    def _given_by(self, function: FunctionNode) -> list[ast.expr]:
        if function not in self._returns:
            self._returns[function] = [*_returned(function)]
        return self._returns[function]

    def _is_of_others(self, call: ast.Call, module: Module, function: FunctionNode) -> bool:
        """Whether a call, or a partial, is certainly of other functions that have one's name."""
        called = call.args[0] if last_name(call.func) == "partial" and call.args else call.func
        values = self.resolver.values(called, module)
        others = (isinstance(value, Function) and value.node is not function for value in values)
        return bool(values) and all(others)

    def _is_source(self, value: Value) -> bool:
        while isinstance(value, Application):
            value = value.callee
        return isinstance(value, External) and value.name.startswith(self.sources)

    def _calls(self, name: str) -> list[tuple[ast.Call, Module]]:
        key = name, self._beside
        if key not in self._called:
            self._called[key] = list(self._calls_of(name))
        return self._called[key]

    def _calls_of(self, name: str) -> Iterator[tuple[ast.Call, Module]]:
        for module in self.resolver.project.named:
            if module in self._beside and name in module.text:
                if module not in self._by_name:
                    self._by_name[module] = _calls_by_name(module)
                for call in self._by_name[module].get(name, ()):
                    yield call, module


def _calls_by_name(module: Module) -> dict[str, list[ast.Call]]:
    """The calls of a module by the last part of what they call; those of a partial by what it binds too."""
    found = by_last_name(module.table.calls)
    for call in found.get("partial", ()):
        bound = last_name(call.args[0]) if call.args else ""
        if bound not in ("", "partial"):
            found[bound] = [*found.get(bound, ()), call]
    return found


def _is_seeded(value: Value) -> bool:
    while isinstance(value, Application) and value.arguments:
        value = value.callee
    return isinstance(value, External) and value.name.startswith("numpy.random.") and value.name.endswith(SEEDED)


def _evaluated(node: ast.expr, is_known: Callable[[ast.Call], bool]) -> Iterator[ast.AST]:
    """The expressions that are evaluated for one; bodies of lambdas are not, nor what a stored function hangs on."""
    pending: list[ast.AST] = [node]
    while pending:
        current = pending.pop()
        if isinstance(current, ast.Call) and is_known(current):
            continue
        yield current
        stored = isinstance(current, ast.Attribute) and (current.attr.endswith("_fn") or current.attr in STORED)
        if not isinstance(current, ast.Lambda) and not stored:
            pending.extend(ast.iter_child_nodes(current))


def _returned(function: FunctionNode) -> Iterator[ast.expr]:
    if isinstance(function, ast.Lambda):
        yield function.body
        return
    for node in own_statements(function):
        if isinstance(node, ast.Return) and node.value is not None:
            yield node.value
    yield from yielded(function)


def _iterated(binding: Binding, module: Module) -> ast.expr | None:
    """What a loop, a with statement, a match or an operator like += binds a name from."""
    current: ast.AST | None = binding.node
    while current is not None and not isinstance(current, ast.stmt | ast.comprehension | ast.withitem):
        current = module.table.parents.get(current)
    if isinstance(current, ast.For | ast.AsyncFor | ast.comprehension):
        return current.iter
    if isinstance(current, ast.AugAssign):
        return current.value
    if isinstance(current, ast.Match):
        return current.subject
    if isinstance(current, ast.Assign):  # behind a star
        return current.value
    return current.context_expr if isinstance(current, ast.withitem) else None


def _may_reach(binding: Binding, use: ast.Name, module: Module) -> bool:
    """Whether what a function binds a name to can be what it reads from it: not what comes later, out of all loops."""
    node, parents = binding.node, module.table.parents
    if binding.scope.kind != "function" or not isinstance(node, ast.stmt | ast.expr) or node.lineno < use.lineno:
        return True
    current: ast.AST | None = use
    own = module.table.statement_of(node)
    within = False
    while current is not None and current is not binding.scope.node:
        if isinstance(current, ast.For | ast.AsyncFor | ast.While) and node.lineno <= (current.end_lineno or 0):
            return True
        within |= current is own
        current = parents.get(current)
    return node.lineno == use.lineno and not within


def _is_method(function: FunctionNode, module: Module) -> bool:
    scope: Scope | None = module.table.own_scope.get(function)
    return scope is not None and scope.parent is not None and scope.parent.kind == "class"


def _everything(call: ast.Call) -> Iterator[ast.expr]:
    yield from (one.value if isinstance(one, ast.Starred) else one for one in call.args)
    yield from (keyword.value for keyword in call.keywords)
