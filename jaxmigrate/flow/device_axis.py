"""Which of the host's arrays have a leading axis of one slice for each device, and which have none, for certain.

A value has one where `replicate` or a pmap gave it, and none where it was initialised, made a train state of, or taken
from one device. What is not known is neither. This is for rules: it follows the nearest assignments and proves nothing.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import NamedTuple

from jaxmigrate.flow.factories import is_come_to
from jaxmigrate.flow.first_devices import FETCHING, names_first, takes_first_slice
from jaxmigrate.flow.layout.kinds import REPLICATES
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.library import last_names, named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.order import reaching
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding, FunctionNode, positional_names
from jaxmigrate.program.syntax import calls_of, last_name
from jaxmigrate.program.trees import TREE_MAP_NAMES
from jaxmigrate.program.values import Application, Class, External, Function, Parameter
from jaxmigrate.records import made, record

DEEPEST = 10
KEYS = named("raw-key", "seed") - {"jax.random.fold_in"}
TRAIN_STATE = "TrainState"
METRICS = "metrics.Collection"
RESTORES = last_names("restores")
UPDATES = frozenset({"replace", "_replace", "unfreeze", "freeze", "copy"})
STEPS = re.compile(r"^(global_|num_)?(step|iteration|epoch)s?$")
NUMBERS = re.compile(r"\.(array|asarray|float\d+|bfloat16|u?int\d+)$")
STACKING = re.compile("replicat|shard|pmap|vmap|stack|broadcast|split|tile|repeat|device")

INITIALISING = re.compile(
    r"^_?(create|init|initiali[sz]e|make|build|get_initial)_(\w+_)?(train_?state|state|params|variables)$"
)
OWN_INIT = re.compile(r"def init\(\s*self")
SPREADS = re.compile("replicat|device_put|pmap")
SPREADING = re.compile("replicat|shard|pmap|vmap|stack|broadcast|tile|local_device|device_put")


class Axis(NamedTuple):
    """Whether there is a device axis, and the expression that made it so."""

    stacked: bool
    module: Module
    node: ast.expr


Given = Mapping[str, "Axis | None"]
NOTHING: Given = {}


@record
class DeviceAxes:
    """Answers for expressions of the host's code.

    `stepped` are the calls of what pmap makes, with the positions of those of their results that have no such axis;
    `seen` tells what was seen where the host's code was run, of what is not known otherwise.
    """

    resolver: Resolver
    stepped: Mapping[ast.Call, Collection[int]]
    seen: Callable[[ast.expr], Axis | None] = lambda _: None
    _known: dict[ast.expr, Axis | None] = made(factory=dict)
    _tried: dict[ast.expr, tuple[Axis | None, int]] = made(factory=dict)  # with the depth, from which less is followed

    def of(self, node: ast.expr, module: Module) -> Axis | None:
        """Whether a value has a device axis; None if that is not known."""
        return self.seen(node) or self.followed(node, module)

    def followed(self, node: ast.expr, module: Module) -> Axis | None:
        """The same, as far as the assignments behind a value tell; all that is known of so is made of arrays."""
        if node not in self._known:
            self._known[node] = None
            self._known[node] = self._of(node, module, NOTHING, 0)
        return self._known[node]

    def is_first(self, call: ast.Call, module: Module) -> bool:
        """Whether a call makes what has no such axis yet: a number, a train state, parameters, or a trained model."""
        if _is_number_made(call, self._callee(call, module)) or _is_loaded(call):
            return True
        if last_name(call.func) == "empty" and not call.args and self._is_of(call, module, METRICS):
            return True
        if self._makes_state(call, module):
            parts = [*(k.value for k in call.keywords), *call.args]
            return not any(STACKING.search(ast.unparse(one)) for one in parts if not isinstance(one, ast.Constant))
        return self._initialises(call, module)

    def _of(self, node: ast.expr, module: Module, given: Given, depth: int) -> Axis | None:
        if depth > DEEPEST:
            return None
        if given is not NOTHING:
            return self._found(node, module, given, depth)
        held, tried = self._tried.get(node, (None, DEEPEST + 1))
        if held is None and depth < tried:
            held = self._found(node, module, given, depth)
            self._tried[node] = held, depth
        return held

    def _found(self, node: ast.expr, module: Module, given: Given, depth: int) -> Axis | None:
        match node:
            case ast.Name():
                return self._name(node, module, given, depth)
            case ast.Attribute(value=ast.Name(id="self"), attr=attr):
                return self._own(attr, node, module, depth)
            case ast.Attribute(value=owner):
                followed = _is_field(owner) and not _is_set(node, module)
                return self._of(owner, module, given, depth) if followed else None
            case ast.Subscript(value=owner, slice=ast.Constant(value=str())):
                return None if _is_set(node, module) else self._of(owner, module, given, depth + 1)
            case ast.Subscript(value=owner, slice=ast.Constant(value=0)):
                held = self._of(owner, module, given, depth + 1)
                alone = held is not None and held.stacked and not isinstance(owner, ast.Call)
                return Axis(False, module, node) if alone and not self._is_tuple(owner, module) else None
            case ast.Dict(values=values) if values:
                return _common(self._of(one, module, given, depth + 1) for one in values)
            case ast.BinOp(left=left, right=right) if not isinstance(node.op, ast.Mod | ast.MatMult):
                each = (self._of(one, module, given, depth + 1) for one in (left, right))
                return next((one for one in each if one is not None and one.stacked), None)
            case ast.Call():
                return self._call(node, module, given, depth)
        return None

    def _own(self, attr: str, node: ast.Attribute, module: Module, depth: int) -> Axis | None:
        """What an object's attribute is first, where only its class sets it; steps give it back as they got it."""
        cls = _class_around(node, module)
        stores = [one for one in module.table.attributes if one.attr == attr]
        if cls is None or not stores or any(_class_around(one.node, module) is not cls for one in stores):
            return None
        others = (one for one in self.resolver.project.named if one is not module)
        if any(attr in one.text and re.search(rf"\.{attr}\b\s*(=(?!=)|,.*=)", one.text) for one in others):
            return None
        places = (one for one in ast.walk(cls) if isinstance(one, ast.Attribute) and one.attr == attr)
        known = {one.node for one in stores}
        for statement in {module.table.statement_of(one) for one in places if isinstance(one.ctx, ast.Store)}:
            if statement not in known and not self._is_step(statement, attr):
                return None
        first = [one for one in stores if not self._is_step(one.node, attr)]
        return _common(self._of(one.value, module, NOTHING, depth + 1) for one in first)

    def _is_step(self, statement: ast.AST | None, attr: str) -> bool:
        """Whether a map gives an attribute back that it was given: `self.state = self.step(self.state, batch)`."""
        value = statement.value if isinstance(statement, ast.Assign) else None
        return isinstance(value, ast.Call) and value in self.stepped and f".{attr}" in ast.unparse(value)

    def _is_tuple(self, node: ast.expr, module: Module) -> bool:
        """Whether a name may hold all that a map gives, of which `[0]` is the first result."""
        if not isinstance(node, ast.Name):
            return False
        return any(b.value in self.stepped and not b.path for b in self._bindings(node, module))

    def _bindings(self, name: ast.Name, module: Module) -> list[Binding]:
        """The assignments of a name that can be read here before any loop around has run once."""
        scope = module.table.scope_of[name]
        holder = scope.lookup(name.id)
        if holder is None:
            return []
        bindings = holder.bindings[name.id]
        if holder.function() is not scope.function():
            return bindings if len(bindings) == 1 else []
        found = reaching(bindings, name, module)
        return [b for b in found if getattr(b.node, "end_lineno", 0) < name.lineno or b.kind == "param"]

    def _name(self, name: ast.Name, module: Module, given: Given, depth: int) -> Axis | None:
        bindings = self._bindings(name, module)
        if len(bindings) == 1 and bindings[0].kind == "param":
            return given[name.id] if name.id in given else self._passed(bindings[0], name, module, depth)
        if not bindings or any(b.kind != "assign" or b.value is None for b in bindings):
            return None
        found = [self._bound(binding, module, given, depth + 1) for binding in bindings]
        kept = [one is None and _is_renewed(b, name.id, module) for b, one in zip(bindings, found, strict=True)]
        if any(kept) and not all(kept):  # in a loop, which gives the next round what it was given before
            found = [one for one, same in zip(found, kept, strict=True) if not same]
        if any(one is None for one in found):
            single: ast.expr | None = self._replicated_elsewhere(name, bindings, module)
            if single is None and not any(one is not None and one.stacked for one in found):
                single = self._counted(name, bindings, module)
            return Axis(False, module, single) if single is not None else None
        return _common(found)

    def _replicated_elsewhere(self, name: ast.Name, bindings: list[Binding], module: Module) -> ast.Call | None:
        """Where the same value is given to `replicate`, so that it cannot have the axis already."""
        for other in module.table.named.get(name.id, ()):
            call = module.table.parents.get(other)
            if not isinstance(other, ast.Name) or not isinstance(call, ast.Call) or other not in call.args[:1]:
                continue
            if self._callee(call, module) in REPLICATES and self._bindings(other, module) == bindings:
                statement = module.table.statement_of(call)
                renewed = isinstance(statement, ast.Assign) and any(
                    isinstance(one, ast.Name) and one.id == name.id for t in statement.targets for one in ast.walk(t)
                )
                if not renewed:
                    return call
        return None

    def _counted(self, name: ast.Name, bindings: list[Binding], module: Module) -> ast.expr | None:
        """Where a step of the same value is made one number, or counts the rounds of a loop: it has no such axis."""
        for other in module.table.named.get(name.id, ()):
            field = other
            while isinstance(above := module.table.parents.get(field), ast.Attribute):
                field = above
            if not isinstance(other, ast.Name) or not isinstance(field, ast.Attribute):
                continue
            if STEPS.search(field.attr) and self._is_number(field, module):
                before = self._bindings(other, module)
                if before and all(one in bindings for one in before):
                    return field
        return None

    def _is_number(self, field: ast.AST, module: Module) -> bool:
        """Whether a field is made an int, or a name is bound to it that is, or that a loop begins at."""
        above = module.table.parents.get(field)
        match above:
            case ast.Call(func=ast.Name(id="int" | "range")):
                return field in above.args
            case ast.BinOp(op=ast.Add() | ast.Sub()) if isinstance(module.table.parents.get(above), ast.Assign):
                return self._is_number(above, module)
            case ast.Assign(targets=[ast.Name(id=held)]) if above.value is field:
                uses = (module.table.parents.get(one) for one in module.table.named.get(held, ()))
                return any(isinstance(one, ast.Call) and last_name(one.func) in ("int", "range") for one in uses)
        return False

    def _passed(self, binding: Binding, name: ast.Name, module: Module, depth: int) -> Axis | None:
        """What all calls of the function around that come to a place pass for a parameter, if all are in sight."""
        function = module.table.function_of(binding.node)
        if function is None or isinstance(function, ast.Lambda) or function.decorator_list:
            return None
        written = callers_of(self.resolver).written(Parameter(module, function, name.id)) or ()
        coming = [one for one in written if self._comes_to(name, module, function, *one)]
        return _common(self._of(one, home, NOTHING, depth + 1) for one, home in coming)

    def _comes_to(self, place: ast.Name, module: Module, function: FunctionNode, given: ast.expr, home: Module) -> bool:
        """Whether the call that something is given in may come to a place in the function, by the flags it passes."""
        call = home.table.parents.get(given)
        call = home.table.parents.get(call) if isinstance(call, ast.keyword) else call
        if not isinstance(call, ast.Call):
            return True
        values = [one for one in self.resolver.values(call.func, home) if isinstance(one, Function)]
        called = next((one for one in values if one.node is function), None)
        made = None if called is None else Application(called, call_arguments(call, home), call, home)
        return made is None or is_come_to(place, module, made, self.resolver)

    def _bound(self, binding: Binding, module: Module, given: Given, depth: int) -> Axis | None:
        value, path = binding.value, binding.path
        if value is None:
            return None
        if path and isinstance(value, ast.Tuple) and len(path) == 1 and isinstance(path[0], int):
            return self._of(value.elts[path[0]], module, given, depth) if path[0] < len(value.elts) else None
        if isinstance(value, ast.Call) and path and path[0] in self.stepped.get(value, ()):
            return None
        if path and not (isinstance(value, ast.Call) and self._gives_alike(value, module)):
            return self._part(value, path, module, given, depth)
        return self._of(value, module, given, depth)

    def _gives_alike(self, call: ast.Call, module: Module) -> bool:
        """Whether all parts of what a call gives are alike: a pmap's results, or the parts of a key."""
        callee = self._callee(call, module)
        return call in self.stepped or callee == "jax.random.split" or callee in REPLICATES or _is_loaded(call)

    def _part(
        self, value: ast.expr, path: tuple[int | str, ...], module: Module, given: Given, depth: int
    ) -> Axis | None:
        """A part of the tuple that a function of the program returns."""
        for function, inner in self._called(value, module, given, depth) if isinstance(value, ast.Call) else ():
            returns = [one for one in returned_by(function.node) if one is not None]
            if len(returns) == 1 and isinstance(returns[0], ast.Tuple) and len(path) == 1 and isinstance(path[0], int):
                elements = returns[0].elts
                if path[0] < len(elements):
                    return self._of(elements[path[0]], function.module, inner, depth + 1)
        return None

    def _callee(self, call: ast.Call, module: Module) -> str:
        callee = self.resolver.value(call.func, module)
        return callee.name if isinstance(callee, External) else ""

    def _call(self, call: ast.Call, module: Module, given: Given, depth: int) -> Axis | None:
        if call in self.stepped:
            return Axis(True, module, call)
        name, last = self._callee(call, module), last_name(call.func)
        if name in REPLICATES:
            return Axis(True, module, call)
        if name in KEYS or _is_number_made(call, name):
            return Axis(False, module, call)
        first = call.args[0] if call.args else None
        if name in ("jax.random.split", "jax.random.fold_in"):
            plain = name.endswith("fold_in") or self._is_unpacked(call, module)
            above = max(depth - 1, 0)  # `rng, key = split(rng)` may stand there many times, each further up
            held = self._of(first, module, given, above) if first is not None and plain else None
            single = held is None and name.endswith("split") and plain  # a stacked key cannot be split so
            return Axis(False, module, call) if single else held if held is not None and not held.stacked else None
        if name and names_first(call.func):  # the program's own may take away another axis
            return Axis(False, module, call)
        if last in TREE_MAP_NAMES and first is not None:
            if not isinstance(first, ast.Lambda) or not takes_first_slice(first) or len(call.args) != 2:
                return None
            held = self._of(call.args[1], module, given, depth + 1)
            return Axis(False, module, call) if held is not None and held.stacked else None
        if name.startswith("jax.") and last in FETCHING and first is not None:
            return self._of(first, module, given, depth + 1)
        if last in RESTORES and (target := _target(call)) is not None:
            return self._of(target, module, given, depth + 1)
        if last in UPDATES and isinstance(call.func, ast.Attribute):
            held = self._of(call.func.value, module, given, depth + 1)
            parts = [self._of(k.value, module, given, depth + 1) for k in call.keywords]
            unlike = any(one is not None and held is not None and one.stacked != held.stacked for one in parts)
            return None if unlike else held
        return self._made(call, module, given, depth)

    def _is_unpacked(self, call: ast.Call, module: Module) -> bool:
        """Whether the parts of a key are given names of their own."""
        parent = module.table.parents.get(call)
        return isinstance(parent, ast.Assign) and isinstance(parent.targets[0], ast.Tuple)

    def _made(self, call: ast.Call, module: Module, given: Given, depth: int) -> Axis | None:
        """What a network or an optimiser initialises, a train state, and what a function of the program returns."""
        if _is_loaded(call):
            return Axis(False, module, call)
        if self._is_compiled_init(call, module):
            passed = [*call.args, *(k.value for k in call.keywords)]
            return _common(self._of(one, module, NOTHING, depth + 1) for one in passed)
        if self._makes_state(call, module):
            return self._of_parts(call, module, given, depth)
        if last_name(call.func) == "empty" and not call.args and self._is_of(call, module, METRICS):
            return Axis(False, module, call)
        own = last_name(call.func) == "init" and isinstance(call.func, ast.Attribute) and call.args
        if own and not (has_spreading_inits(self.resolver) and not self._callee(call, module)):
            return self._of(call.args[0], module, given, depth + 1)  # a key, or parameters
        answers = []
        for function, inner in self._called(call, module, given, depth):
            returns = [one for one in returned_by(function.node) if one is not None]
            answers += [self._of(one, function.module, inner, depth + 1) for one in returns] or [None]
        found = _common(answers) if answers else None
        return Axis(False, module, call) if found is None and self._initialises(call, module) else found

    def _initialises(self, call: ast.Call, module: Module) -> bool:
        """Whether a call makes a first state by the name of what it calls, and nothing in sight of it spreads that."""
        if not INITIALISING.search(last_name(call.func)) or STACKING.search(ast.unparse(call).lower()):
            return False
        values = self.resolver.values(call.func, module)
        if not all(isinstance(one, External | Function | Parameter) for one in values):
            return False
        functions = [one for one in values if isinstance(one, Function)]
        inner = [
            made for one in functions for c in calls_of(one.node) for made in self.resolver.values(c.func, one.module)
        ]
        functions += [one for one in inner if isinstance(one, Function)]
        return not any(SPREADING.search(ast.unparse(one.node).lower()) for one in functions)

    def _is_compiled_init(self, call: ast.Call, module: Module) -> bool:
        """Whether what `jit` makes of a function is called that initialises by its name: `jax.jit(tx.init)(params)`."""
        if not call.args or not isinstance(made := call.func, ast.Call) or self._callee(made, module) != "jax.jit":
            return False
        return bool(made.args) and last_name(made.args[0]) == "init" and isinstance(made.args[0], ast.Attribute)

    def _makes_state(self, call: ast.Call, module: Module) -> bool:
        if last_name(call.func) not in ("create", TRAIN_STATE) and TRAIN_STATE not in last_name(call.func):
            return False
        return self._is_of(call, module, TRAIN_STATE)

    def _is_of(self, call: ast.Call, module: Module, name: str) -> bool:
        """Whether a class that a call is of, or of a method of which, is a library's of that name, or made of it."""
        of_method = isinstance(call.func, ast.Attribute) and call.func.attr in ("create", "empty")
        owner = call.func.value if isinstance(call.func, ast.Attribute) and of_method else call.func
        value = self.resolver.value(owner, module)
        if isinstance(value, External):
            return value.name.endswith(f".{name}")
        if not isinstance(value, Class):
            return False
        bases = [base for cls in self.resolver.lineage(value) for base in self.resolver.bases(cls)]
        return any(isinstance(base, External) and base.name.endswith(f".{name}") for base in bases)

    def _of_parts(self, call: ast.Call, module: Module, given: Given, depth: int) -> Axis | None:
        """A state whose parameters have no axis, or are not known to and are not said to."""
        parts = [k.value for k in call.keywords if k.arg is not None] + call.args
        held = [self._of(one, module, given, depth + 1) for one in parts]
        known = [one for one in held if one is not None]
        if any(one.stacked for one in known):
            return None
        said = any(STACKING.search(ast.unparse(one)) for one, axis in zip(parts, held, strict=True) if axis is None)
        starred = any(k.arg is None for k in call.keywords)
        return Axis(False, module, call) if not said and not starred else None

    def _called(self, call: ast.Call, module: Module, given: Given, depth: int) -> Iterable[tuple[Function, Given]]:
        """The functions of the program that a call may call, with what they are given; nothing if one is unknown."""
        found = []
        for value in self.resolver.values(call.func, module):
            if not isinstance(value, Function) or isinstance(value.node, ast.Lambda) or value.node.decorator_list:
                return []
            names = positional_names(value.node.args)
            inner: dict[str, Axis | None] = {}
            if value.receiver is not None and names and isinstance(call.func, ast.Attribute):
                inner[names[0]] = self._of(call.func.value, module, given, depth + 1)
                names = names[1:]
            for number, one in enumerate(call_arguments(call, module)):
                name = one.keyword or (names[number] if number < len(names) else None)
                if name is not None and one.expression is not None:
                    inner[name] = self._of(one.expression, module, given, depth + 1)
            found.append((value, inner))
        return found


@once
def has_spreading_inits(resolver: Resolver) -> bool:
    """Whether a method of the program is called `init` in a module that spreads what such methods make."""
    texts = [module.text for module in resolver.project.named if OWN_INIT.search(module.text)]
    return any(SPREADS.search(text) for text in texts)


def _class_around(node: ast.AST | None, module: Module) -> ast.ClassDef | None:
    """The innermost class that something stands in."""
    while node is not None and not isinstance(node, ast.ClassDef):
        node = module.table.parents.get(node)
    return node


def _is_number_made(call: ast.Call, name: str) -> bool:
    """Whether a call makes an array of one number: `jnp.array(0)`, `jnp.float32(1e-3)`, `jnp.zeros(())`."""
    first = call.args[0] if call.args else None
    if not name.startswith("jax.numpy."):
        return False
    if name.endswith((".zeros", ".ones", ".empty", ".full")):
        return isinstance(first, ast.Tuple) and not first.elts
    plain = isinstance(first, ast.Constant) and isinstance(first.value, int | float)
    return plain and (NUMBERS.search(name) is not None)


def _is_loaded(call: ast.Call) -> bool:
    """Whether a call loads a trained model, as it was saved."""
    return last_name(call.func) == "from_pretrained" and isinstance(call.func, ast.Attribute)


def _target(call: ast.Call) -> ast.expr | None:
    """What a call restores into: the second argument, or the one of that name."""
    named = (k.value for k in call.keywords if k.arg in ("target", "item", "state"))
    return call.args[1] if len(call.args) > 1 else next(named, None)


def _is_renewed(binding: Binding, name: str, module: Module) -> bool:
    """Whether a call in a loop is given what a name holds, and gives the name its new value."""
    call = binding.value
    given = [*call.args, *(k.value for k in call.keywords)] if isinstance(call, ast.Call) else []
    renewed = any(isinstance(one, ast.Name) and one.id == name for one in given)
    return renewed and module.table.loop_of(binding.node) is not None


def _is_set(part: ast.Attribute | ast.Subscript, module: Module) -> bool:
    """Whether a part of a value is given another somewhere: `params["vae"] = replicate(params["vae"])`."""
    owner = part.value
    for other in module.table.named.get(owner.id, ()) if isinstance(owner, ast.Name) else ():
        above = module.table.parents.get(other)
        match above, part:
            case ast.Attribute(attr=one, ctx=ast.Store()), ast.Attribute(attr=another):
                found = one == another
            case ast.Subscript(slice=ast.Constant(one), ctx=ast.Store()), ast.Subscript(slice=ast.Constant(another)):
                found = one == another
            case _:
                found = False
        if found:
            return True
    return False


def _is_field(owner: ast.expr) -> bool:
    """Whether an attribute is of a value of the host's, and not of a module or of `self`."""
    return not (isinstance(owner, ast.Name) and owner.id in ("self", "cls"))


def _common(answers: Iterable[Axis | None]) -> Axis | None:
    """What all say; None where they differ, or one does not know."""
    found = [*answers]
    if not found or any(one is None for one in found):
        return None
    first = found[0]
    agree = all(one is not None and first is not None and one.stacked == first.stacked for one in found)
    return first if agree else None
