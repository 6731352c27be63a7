"""Which arguments of a mapped function start as equal slices, as far as its calls in sight say.

`replicate(state)`, a project's own `bcast_local_devices(key)`, and what a mapped function gives back in their place.
This is what programs mean by it, and no proof: whether a step keeps equal what it was given equal is for rules to ask.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from jaxmigrate.flow.inherited_calls import calls_in_bases
from jaxmigrate.flow.layout.functions import single_return
from jaxmigrate.flow.layout.kinds import BROADCASTS, REPLICATES, STACKS
from jaxmigrate.flow.mapped_methods import MappedMethods
from jaxmigrate.flow.operations import is_device_map
from jaxmigrate.flow.readings import DeviceMap, read_map
from jaxmigrate.flow.variance.name_index import TELLING
from jaxmigrate.flow.variance.run import KEY
from jaxmigrate.flow.wrappers import before_compiling
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.collectives import PMAPS, VMAP
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.passing import passed_by
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding, FunctionNode, Scope, defaults_of, positional_names
from jaxmigrate.program.syntax import by_last_name, calls_of, last_name
from jaxmigrate.program.trees import ANY_TREE_MAPS
from jaxmigrate.program.trust import Trust
from jaxmigrate.program.values import Application, Class, External, Function, ModuleValue, Parameter, Value, Values
from jaxmigrate.program.words import MAPS
from jaxmigrate.records import made, record, replace

DEEPEST = 5
IMPORTS = ("import", "from")
TILES = named("tiles")
RANDOM = "jax.random."
SEEDING = frozenset({"jax.random.PRNGKey", "jax.random.key", "jax.random.wrap_key_data"})  # which take a number


class Call(NamedTuple):
    """A call of what a map makes; `receiver` is the object whose method is mapped."""

    node: ast.Call
    module: Module
    receiver: ast.expr | None = None

    def given(self, names: Sequence[str]) -> dict[str, ast.expr]:
        """What it passes, by the names of the function's parameters."""
        if self.receiver is None:
            return passed_by(self.node, names)
        return dict(zip(names[:1], [self.receiver], strict=False)) | passed_by(self.node, names[1:])

    @property
    def is_starred(self) -> bool:
        """Whether it hides what it passes behind a star."""
        return any(isinstance(one, ast.Starred) for one in self.node.args)


@record
class Replicated:
    """Answers for the maps of some modules.

    `some`: one call that replicates is enough, whatever the others do. `tests`: calls in tests count; what they give to
    all devices alike says nothing of a program whose own calls are out of sight. `trace`: the calls that replicate, if
    they are asked for. `of`: the map whose arguments are asked for.
    """

    modules: Sequence[Module]
    resolver: Resolver
    methods: MappedMethods
    maps: Sequence[DeviceMap] = ()
    of: DeviceMap | None = None
    some: bool = False
    tests: bool = True
    trace: list[tuple[Module, ast.Call]] | None = None
    _made: dict[Module, dict[ast.expr, list[ast.Call]]] = made(factory=dict)
    _with_stem: dict[str, list[Module]] = made(factory=dict)
    _by_name: dict[Module, dict[str, list[ast.Call]]] = made(factory=dict)
    _of_names: dict[Module, list[ast.Call]] = made(factory=dict)
    _of_made: dict[tuple[ast.FunctionDef, bool], list[tuple[ast.Call, Module]]] = made(factory=dict)
    _mapping: dict[tuple[Module, str], bool] = made(factory=dict)
    _of_parameters: dict[tuple[ast.AST, str, int, bool, bool, DeviceMap | None], bool | None] = made(factory=dict)
    _without: dict[DeviceMap, bool] = made(factory=dict)

    def arguments(self, found: DeviceMap) -> frozenset[int]:
        """The positions of the arguments that every call in sight replicates, or has back from a mapped function.

        Of keys, which no call should give to all devices alike, it takes one call, but for a test's of something else.
        """
        names = found.parameters()
        some = replace(self, some=True, tests=found.application.module.is_test)
        calls = [(call.given(names), call.module) for call in self.own_calls(found) if not call.is_starred]
        theirs = [(given, module) for given, module in calls if some.counts(module)]
        keys = self._keys(found)
        every = replace(self, of=found, tests=found.application.module.is_test or not [*filter(_is_own, calls)])
        calls = [one for one in calls if every.counts(one[1])]
        equal = (some.start_equal(k, theirs) if k in keys else every.start_equal(k, calls) for k in names)
        return frozenset(n for n, one in enumerate(equal) if one)

    def repeated_keys(self, found: DeviceMap) -> list[tuple[Module, ast.Call]]:
        """The calls that give all devices the same key, for parameters of a map that are keys."""
        names = found.parameters()
        trace: list[tuple[Module, ast.Call]] = []
        some = replace(self, some=True, tests=found.application.module.is_test, trace=trace, _of_parameters={})
        calls = [(call.given(names), call.module) for call in self.own_calls(found) if not call.is_starred]
        theirs = [(given, module) for given, module in calls if some.counts(module)]
        for name in names:
            if name in self._keys(found):
                some.start_equal(name, theirs)
        return list(dict.fromkeys(trace))

    def repeating(self, found: DeviceMap) -> list[tuple[Module, ast.Call]]:
        """The calls that give all devices the same, for any parameter of a map."""
        trace: list[tuple[Module, ast.Call]] = []
        every = replace(self, tests=found.application.module.is_test, trace=trace, _of_parameters={})
        names = found.parameters()
        calls = [(call.given(names), call.module) for call in self.own_calls(found) if not call.is_starred]
        for name in names:
            every.start_equal(name, calls)
        return list(dict.fromkeys(trace))

    def _keys(self, found: DeviceMap) -> frozenset[str]:
        """The parameters that are random keys: by what the body does with them, or by their names."""
        names = frozenset(found.parameters())
        used = {one.id for one in self._first_of_draws(found.function.node, found.function.module)}
        return frozenset(name for name in names if name in used or KEY.search(name))

    def _first_of_draws(self, function: FunctionNode, module: Module) -> Iterator[ast.Name]:
        """The names that a function gives to functions of `jax.random`, as they stand first in these."""
        for call in calls_of(function):
            if call.args and isinstance(call.args[0], ast.Name):
                callee = self.resolver.value(call.func, module)
                if isinstance(callee, External) and callee.name.startswith(RANDOM) and callee.name not in SEEDING:
                    yield call.args[0]

    def omitted(self, found: DeviceMap) -> frozenset[str]:
        """The parameters with a default that no call in sight passes, where there are calls in sight."""
        calls = [*self.own_calls(found)]
        if not calls or any(call.is_starred or any(k.arg is None for k in call.node.keywords) for call in calls):
            return frozenset()
        names = found.parameters()
        passed = {name for call in calls for name in call.given(names)}
        return frozenset(name for name, _ in defaults_of(found.function.node.args) if name not in passed)

    def repeats(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression gives equal slices wherever it comes from last."""
        return replace(self, some=True, tests=module.is_test).start_equal("key", [({"key": node}, module)])

    def start_equal(self, name: str, calls: Sequence[tuple[Mapping[str, ast.expr], Module]]) -> bool:
        """Whether calls give equal slices for a parameter."""
        if not self.some and not all(name in given for given, _ in calls):
            return False
        return self._agreed(self._starts_equal(given[name], m, 0) for given, m in calls if name in given) is True

    def _agreed(self, answers: Iterable[bool | None]) -> bool | None:
        """Yes where one says so and none says no, or whatever the others say; None says nothing."""
        found = set(answers)
        if True in found and (self.some or False not in found):
            return True
        return False if False in found or not found else None

    def counts(self, module: Module) -> bool:
        """Whether a module's calls count."""
        return self.tests or not module.is_test

    def calls(self, found: DeviceMap) -> Iterator[tuple[ast.Call, Module]]:
        """The calls of what a map makes, and of functions that give back what such a call gives."""
        for call in self.own_calls(found):
            yield call.node, call.module
            around = call.module.table.parents.get(call.node)
            within = self._function_around(call.node, call.module) if isinstance(around, ast.Return) else None
            if isinstance(within, ast.FunctionDef) and len(returned_by(within)) == 1:
                yield from self._calls_of_function(within, call.module)

    def _calls_of_function(self, function: ast.FunctionDef, home: Module) -> Iterator[tuple[ast.Call, Module]]:
        """The calls that certainly are of a function: a method's name alone says nothing of another object's."""
        above = home.table.own_scope[function].parent
        cls = Class(home, above.node) if above is not None and isinstance(above.node, ast.ClassDef) else None
        for call, module in self._named_calls(function):
            values = self.resolver.values(call.func, module)
            receiver = call.func.value if isinstance(call.func, ast.Attribute) else None
            if any(self._is_made_of(one, function) for one in values) or (
                cls is not None and receiver is not None and self.methods.is_of(receiver, module, cls)
            ):
                yield call, module

    def _is_made_of(self, value: Value, function: ast.FunctionDef) -> bool:
        """Whether a value is a function, or what `jit` or another decorator makes of it."""
        while isinstance(value, Application) and value.arguments:
            inner = self.resolver.argument_values(value.arguments[0])
            if len(inner) != 1:
                return False
            value = inner[0]
        return isinstance(value, Function) and value.node is function

    @staticmethod
    def _function_around(node: ast.AST, module: Module) -> ast.AST | None:
        """The function that a node stands in."""
        while node in module.table.parents and not isinstance(node, ast.FunctionDef | ast.Lambda):
            node = module.table.parents[node]
        return node

    def own_calls(self, found: DeviceMap) -> Iterator[Call]:
        """The calls of what a map makes."""
        most, node = len(found.parameters()), found.application.node
        method = self.methods.names(found.function)
        for module in self._near(found):
            parent = module.table.parents.get(node)
            if isinstance(parent, ast.Call) and parent.func is node:
                yield Call(parent, module)
            of_objects = {
                call: call.func.value
                for call in (self._calls_by_name(module).get(method, ()) if method is not None else ())
                if isinstance(call.func, ast.Attribute) and self.methods.is_called(call, module, found.function)
            }
            for call in self._calls_of(module).get(node, ()):
                if call not in of_objects and len(call.args) + len(call.keywords) <= most:
                    yield Call(call, module)
            yield from (Call(call, module, receiver) for call, receiver in of_objects.items())
        for call, module in calls_in_bases(node, found.application.module, self.resolver):
            if call not in self._calls_of(module).get(node, ()) and len(call.args) + len(call.keywords) <= most:
                yield Call(call, module)

    def _calls_of(self, module: Module) -> dict[ast.expr, list[ast.Call]]:
        """The calls of a module that may call what some call made, by that call."""
        if module not in self._made:
            known = self._made[module] = {}
            for call in module.table.calls:
                plain = isinstance(call.func, ast.Name | ast.Attribute) and bool(call.args or call.keywords)
                if plain and self._may_hold(call.func, module):
                    for node in self._makers(call.func, module):
                        known.setdefault(node, []).append(call)
        return self._made[module]

    def _near(self, found: DeviceMap) -> list[Module]:
        """The modules that may call what a map makes: its own, and those that have the name of its own."""
        home = found.application.module
        stem = home.path.stem
        if stem not in self._with_stem:
            self._with_stem[stem] = [m for m in self.modules if stem in m.text]
        near = self._with_stem[stem]
        return near if home in near else [*near, home]

    def _passed_for(self, value: Value) -> Values:
        """What callers pass, where a value is a parameter; else itself."""
        return callers_of(self.resolver).passed(value) if isinstance(value, Parameter) else (value,)

    def _may_hold(self, callee: ast.expr, module: Module) -> bool:
        """Whether something called may be what a call made: no function, class or import."""
        if isinstance(callee, ast.Attribute):
            base = callee.value
            return isinstance(base, ast.Name) and (base.id == "self" or self._is_of_project(base, module))
        scope = module.table.scope_of[callee]
        holder = scope.lookup(callee.id) if isinstance(callee, ast.Name) else None
        bindings = holder.bindings[callee.id] if holder is not None and isinstance(callee, ast.Name) else []
        return any(
            (b.kind == "assign" and isinstance(b.value, ast.Call))
            or (isinstance(b.node, ast.FunctionDef) and bool(b.node.decorator_list))
            or b.kind in ("from", "param")
            for b in bindings
        )

    def _is_of_project(self, base: ast.Name, module: Module) -> bool:
        """Whether a name stands for a module of the project that maps something: `sampling.generate(...)`."""
        key = (module, base.id)
        if key not in self._mapping:
            holder = module.table.scope_of[base].lookup(base.id)
            bindings = holder.bindings[base.id] if holder is not None else []
            meant = self.resolver.value(base, module) if any(b.kind in IMPORTS for b in bindings) else None
            named_so = isinstance(meant, ModuleValue) and any(word in meant.module.text for word in MAPS)
            self._mapping[key] = named_so
        return self._mapping[key]

    def _makers(self, callee: ast.expr, module: Module) -> dict[ast.expr, None]:
        """The calls that make what is called, in sight or in a function that returns what they make."""
        found: dict[ast.expr, None] = {}
        for value in (v for one in self.resolver.values(callee, module) for v in self._passed_for(one)):
            value = before_compiling(value)
            if isinstance(value, Application):
                found[value.node] = None
                if isinstance(value.callee, Function) and not isinstance(value.callee.node, ast.Lambda):
                    returned = self.resolver.returned(value.callee)
                    found |= {v.node: None for v in returned if isinstance(v, Application)}
        return found

    def _starts_equal(self, node: ast.expr, module: Module, depth: int) -> bool | None:
        """Whether an expression gives equal slices; None where it gives what a mapped function gave."""
        if depth > DEEPEST:
            return False
        match node:
            case ast.Name(id=name):
                bindings = self.resolver.bindings(name, module.table.scope_of[node])
                meant = _nearest_before(node, bindings) if self.some else bindings
                answers = self._since_replicated(meant, module, depth)
            case ast.Attribute(attr=name):
                stored = [a.value for a in module.table.attributes if a.attr == name]
                answers = [self._starts_equal(value, module, depth + 1) for value in stored]
            case ast.Call():
                return self._made_equal(node, module, depth)
            case _:
                return False
        if not answers or False in answers:
            return False
        return True if True in answers else None

    def _since_replicated(self, bindings: Sequence[Binding], module: Module, depth: int) -> list[bool | None]:
        """What a name holds from where it is replicated on: `state = create(); state = replicate(state)`."""
        in_order = sorted(bindings, key=lambda b: getattr(b.node, "lineno", 0))
        answers = [self._bound(binding, module, depth) for binding in in_order]
        return answers[len(answers) - 1 - answers[::-1].index(True) :] if True in answers else answers

    def _bound(self, binding: Binding, module: Module, depth: int) -> bool | None:
        if binding.kind == "param":
            return self._passed(binding, depth)
        if isinstance(binding.value, ast.Constant) and binding.value.value is None:
            return None
        if binding.value is None:
            return False
        if isinstance(binding.value, ast.Call) and binding.name in _names_given(binding.value):
            if not self.some and self._tells_apart(binding.value, binding.name, module, depth):
                return False
            return self._made_equal(binding.value, module, depth) or None  # made of what it was
        if not binding.path:
            return self._starts_equal(binding.value, module, depth + 1)
        step, *deeper = binding.path
        if isinstance(binding.value, ast.Tuple) and isinstance(step, int) and not deeper:
            return self._starts_equal(binding.value.elts[step], module, depth + 1)
        return self._made_equal(binding.value, module, depth) if isinstance(binding.value, ast.Call) else False

    def _tells_apart(self, call: ast.Call, name: str, module: Module, depth: int) -> bool:
        """Whether another map adds to a name what each device has for itself: `sums = p_add(params, batch, sums)`.

        It reduces nothing, and is given what differs. Of a map's own result it is for rules to say what that does.
        """
        given = [one for one in call.args if not isinstance(one, ast.Starred)]
        others = [one for one in given if not (isinstance(one, ast.Name) and one.id == name)]
        values = self.resolver.values(call.func, module)
        nodes = [value.node for value in values if isinstance(value, Application)]
        for found in self.maps if others else ():
            own = self.of is not None and found.application.node is self.of.application.node
            if own or found.name not in PMAPS:
                continue
            if found.application.node in nodes or self.methods.is_called(call, module, found.function):
                return not (self._reduces(found) or all(self._starts_equal(one, module, depth + 1) for one in others))
        return False

    def _reduces(self, found: DeviceMap) -> bool:
        """Whether a mapped function reduces anything over the devices, or calls what may."""
        if found not in self._without:
            self._without[found] = bool(read_map(found, self.resolver, trusting=True).reductions)
        return self._without[found]

    def _passed(self, binding: Binding, depth: int) -> bool | None:
        """What the calls of the function around pass for a parameter, found by its name and by how they look."""
        key = (binding.scope.node, binding.name, depth, self.some, self.tests, self.of)
        if key not in self._of_parameters:
            self._of_parameters[key] = self._found_passed(binding, depth)
        return self._of_parameters[key]

    def _found_passed(self, binding: Binding, depth: int) -> bool | None:
        function = binding.scope.node
        if not isinstance(function, ast.FunctionDef):
            return False
        names = positional_names(function.args)
        if binding.name not in names:
            return False
        method = binding.scope.parent is not None and binding.scope.parent.kind == "class"
        calls = (*self._named_calls(function), *self._calls_of_made(function, binding.scope))
        passed = ((passed_by(call, names[method:]).get(binding.name), module) for call, module in calls)
        given = [(value, module) for value, module in passed if value is not None]
        return self._agreed(self._starts_equal(value, module, depth + 1) for value, module in given)

    def _named_calls(self, function: ast.FunctionDef) -> Iterator[tuple[ast.Call, Module]]:
        for module in self.modules:
            if function.name in module.text and self.counts(module):
                yield from ((call, module) for call in self._calls_by_name(module).get(function.name, ()))

    def _calls_by_name(self, module: Module) -> dict[str, list[ast.Call]]:
        """The calls of a module by the last part of what they call."""
        if module not in self._by_name:
            self._by_name[module] = by_last_name(module.table.calls)
        return self._by_name[module]

    def _calls_of_made(self, function: ast.FunctionDef, scope: Scope) -> list[tuple[ast.Call, Module]]:
        """The calls of a function by the names of what the factory around it gave."""
        key = (function, self.tests)
        if key not in self._of_made:
            self._of_made[key] = list(self._found_of_made(function, scope))
        return self._of_made[key]

    def _found_of_made(self, function: ast.FunctionDef, scope: Scope) -> Iterator[tuple[ast.Call, Module]]:
        factory = scope.parent.node if scope.parent is not None else None
        if not isinstance(factory, ast.FunctionDef):
            return
        for module in self.modules:
            for call in self._calls_of_names(module) if factory.name in module.text and self.counts(module) else ():
                values = self.resolver.values(call.func, module)
                if any(self._is_made_in(value, factory, function) for value in values):
                    yield call, module

    def _calls_of_names(self, module: Module) -> list[ast.Call]:
        """The calls of a module of plain names that may hold what some call made."""
        if module not in self._of_names:
            calls = (call for call in module.table.calls if isinstance(call.func, ast.Name))
            self._of_names[module] = [call for call in calls if self._may_hold(call.func, module)]
        return self._of_names[module]

    def _is_made_in(self, value: Value, factory: ast.FunctionDef, function: ast.FunctionDef) -> bool:
        made = value.callee if isinstance(value, Application) else None
        if not isinstance(made, Function) or made.node is not factory:
            return False
        return any(isinstance(one, Function) and one.node is function for one in self.resolver.returned(made))

    def _made_equal(self, call: ast.Call, module: Module, depth: int) -> bool | None:
        callees = self.resolver.values(call.func, module)
        if any(is_device_map(value) for value in callees):
            alike = self.some and len(callees) == 1 and self._keeps_equal(callees[0]) and bool(call.args)
            return True if alike and all(self._starts_equal(one, module, depth + 1) for one in call.args) else None
        if self.methods.is_called(call, module):
            return None
        callee = callees[0] if len(callees) == 1 else None
        before = len(self.trace or ())
        found = self._replicates(callee, call, module, depth)
        if found and self.trace is not None:
            self.trace[before:] = [(module, call)]  # rather than what a function of the project calls for it
        return found

    def _replicates(self, callee: Value | None, call: ast.Call, module: Module, depth: int) -> bool:
        """Whether a call of a library, or of what is declared or in sight, gives every device the same."""
        if callee is not None and self._is_declared(callee):
            return True
        if isinstance(callee, Function):
            returned = _only_return(callee.node)
            return isinstance(returned, ast.Call) and self._made_equal(returned, callee.module, depth) is True
        if isinstance(callee, External) and callee.name in ANY_TREE_MAPS and len(call.args) == 2:
            function = self.resolver.value(call.args[0], module)
            made = single_return(function.node) if isinstance(function, Function) else None
            inside = function.module if isinstance(function, Function) else module
            return isinstance(made, ast.Call) and self.repeats_one(made, inside)
        return self.repeats_one(call, module)

    def _keeps_equal(self, value: Value) -> bool:
        """Whether a map is of a function in sight whose text names nothing that tells devices apart."""
        mapped = value.arguments[0] if isinstance(value, Application) and value.arguments else None
        operands = self.resolver.argument_values(mapped) if mapped is not None else ()
        function = operands[0] if len(operands) == 1 else None
        return isinstance(function, Function) and not TELLING.search(ast.unparse(function.node))

    def _is_declared(self, callee: Value) -> bool:
        """Whether the user declares that a function gives each device the same."""
        trust = Trust(self.resolver.project.declared)
        if isinstance(callee, External):
            return trust.declares("replicates", callee.name)
        return isinstance(callee, Function) and trust.of_project("replicates", callee)

    def repeats_one(self, call: ast.Call, module: Module) -> bool:
        """Whether a call puts one thing on a leading axis again and again."""
        callee = self.resolver.value(call.func, module)
        name = callee.name if isinstance(callee, External) else ""
        if name in REPLICATES or name in BROADCASTS or (name in TILES and _repeats_rows(call)):
            return True
        match call.args[:1]:
            case [ast.BinOp(left=ast.List(elts=[_]), op=ast.Mult())] if name in STACKS:
                return True
            case [ast.ListComp(elt=one, generators=[ast.comprehension(target=ast.Name(id=each))])]:
                return name in STACKS and self._is_one(one, {each}, module)
            case [_, *_] if isinstance(call.func, ast.Call):
                return self._maps_to_one(call.func, module)
        return False

    def _maps_to_one(self, made: ast.Call, module: Module) -> bool:
        """Whether a vmap is of a function that looks at nothing that it is given: `vmap(lambda _: key)`."""
        callee = self.resolver.value(made.func, module)
        function = made.args[0] if callee == External(VMAP) and made.args else None
        if not isinstance(function, ast.Lambda):
            return False
        return self._is_one(function.body, {one.arg for one in function.args.args}, module)

    def _is_one(self, node: ast.expr, each: Collection[str], module: Module) -> bool:
        """Whether an expression is the same for each of some names: a key, and no next one."""
        if isinstance(node, ast.Name):
            return node.id not in each
        inside = [one for one in ast.walk(node) if isinstance(one, ast.Call | ast.Name)]
        if not isinstance(node, ast.Call) or any(isinstance(one, ast.Name) and one.id in each for one in inside):
            return False
        callees = [self.resolver.value(one.func, module) for one in inside if isinstance(one, ast.Call)]
        return all(isinstance(one, External) and one.name.startswith(RANDOM) for one in callees)


def _is_own(call: tuple[object, Module]) -> bool:
    """Whether a call is one of the program and not of its tests."""
    return not call[1].is_test


def _repeats_rows(call: ast.Call) -> bool:
    """Whether a call repeats one row: `tile(key[None], (n, 1))`, `tile(key, (n, 1))`, `repeat(key[None], n)`."""
    match call.args:
        case [ast.Subscript(slice=ast.Constant(value=None) | ast.Tuple(elts=[ast.Constant(value=None), *_])), *_]:
            return True
        case [ast.Call(func=function), *_] if last_name(function) == "expand_dims":
            return True
        case [ast.Subscript(slice=ast.Slice(upper=ast.Constant(value=1), step=None)), *_]:
            return True
        case [_, ast.Tuple(elts=[_, *ones])] if ones:  # of a key's two numbers
            return all(isinstance(one, ast.Constant) and one.value == 1 for one in ones)
    return False


def _nearest_before(node: ast.Name, bindings: Sequence[Binding]) -> Sequence[Binding]:
    """The binding that stands nearest above where a name is read; all of them where none stands above."""
    above = [b for b in bindings if getattr(b.node, "end_lineno", node.lineno) < node.lineno]
    return [max(above, key=lambda b: getattr(b.node, "lineno", 0))] if above else bindings


def _only_return(node: FunctionNode) -> ast.expr | None:
    """What a function returns in the one place where it does."""
    returns = returned_by(node)
    return returns[0] if len(returns) == 1 else None


def _names_given(call: ast.Call) -> set[str]:
    return {one.id for one in (*call.args, *(k.value for k in call.keywords)) if isinstance(one, ast.Name)}
