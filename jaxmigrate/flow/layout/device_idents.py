"""Which expressions stand for the same list of devices, or the same number, of a program that chooses them as it runs.

Two expressions stand for one list where both lead back to one assignment, or say the same of the same variables, and
nothing changes these in between.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Iterator, Sequence

from jaxmigrate.flow.layout import aliases, device_lists
from jaxmigrate.flow.layout.aliases import Alias
from jaxmigrate.flow.layout.evaluated_once import is_run_once
from jaxmigrate.flow.layout.object_changes import changes_of
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding, Path, Scope
from jaxmigrate.program.values import Application, External, Function, Parameter

DEEPEST = 24  # `devices = chosen`, a parameter of a parameter, a part of what a call gives
COPIES = device_lists.COPIES | {"numpy.array", "numpy.asarray"}
PURE = COPIES | {f"builtins.{name}" for name in ("len", "max", "min", "range", "sorted", "int")}
DEVICES = named("devices")
OF_JAX = DEVICES | named("counts", "process-index")
CACHES = named("cache")
RANGE = "builtins.range"
GIVEN_ONCE = frozenset({f"builtins.{name}" for name in ("filter", "iter", "map", "reversed", "zip")})
LENGTH = "builtins.len"
STATIC = frozenset({"builtins.staticmethod"})
COUNTED = {"jax.device_count": "jax.devices", "jax.local_device_count": "jax.local_devices"}  # of what
STEADY = ("builtin", "constant", "devices", "external", "first", "some")  # what nothing changes
PLAIN = (
    ast.BinOp | ast.UnaryOp | ast.operator | ast.unaryop | ast.Constant | ast.Name | ast.Attribute | ast.expr_context
)

Ident = tuple[Hashable, ...]  # what two expressions of one list have in common


class Lists:
    """Asks which list of devices an expression stands for."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self._of: dict[ast.expr, Ident | None] = {}
        self._bound: dict[tuple[int, str], Ident | None] = {}
        self.homes: dict[Ident, tuple[ast.AST, Module]] = {}  # where what only a run tells is evaluated
        self.unsure: set[Ident] = set()  # what is read of an object that something may change in between

    def ident(self, node: ast.expr, module: Module, depth: int = DEEPEST) -> Ident | None:
        """What identifies the value of an expression; None where two readings of it may differ."""
        if depth <= 0:
            return None
        if node not in self._of:
            self._of[node] = None  # for what leads back to itself
            self._of[node] = self._found(node, module, depth)
        return self._of[node]

    def _found(self, node: ast.expr, module: Module, depth: int) -> Ident | None:
        copied = self._copied(node, module)
        if copied is not None and not self._is_given_once(copied, module):
            return self.ident(copied, module, depth)
        if copied is not None:
            return self._of_parts(copied, module, depth)
        if self._is_given_once(node, module):
            return None
        match node:
            case ast.Constant(value=value):
                return ("constant", repr(value))
            case ast.Name() if node in module.table.scope_of:
                holder = module.table.scope_of[node].lookup(node.id)
                if holder is None:
                    return ("builtin", node.id)
                return self.of_name(node.id, holder, module, depth)
            case ast.Attribute():
                return self._of_attribute(node, module, depth)
            case ast.Call():
                return self._of_call(node, module, depth)
            case ast.Subscript(slice=ast.Slice()) | ast.ListComp():
                return self._of_some(node, module, depth)
            case ast.Subscript(value=held, slice=ast.Constant(value=int() as place)) if place >= 0:
                return self._of_part(held, (place,), module, depth) or self._of_parts(node, module, depth)
        return self._of_parts(node, module, depth)

    def _of_some(self, node: ast.Subscript | ast.ListComp, module: Module, depth: int) -> Ident | None:
        """The first of a list, or those at some places."""
        match node:
            case ast.Subscript(value=held, slice=ast.Slice(lower=None, upper=ast.expr() as number, step=None)):
                return self._with(("first",), held, number, module, depth)
            case ast.ListComp(
                elt=ast.Subscript(value=held, slice=ast.Name(id=same)),
                generators=[ast.comprehension(target=ast.Name(id=name), iter=places, ifs=[], is_async=0)],
            ) if same == name:
                match places:
                    case ast.Call(func=func, args=[number], keywords=[]) if self._external(func, module) == RANGE:
                        return self._with(("first",), held, number, module, depth)
                return self._with(("some",), held, places, module, depth)
        return self._of_parts(node, module, depth)

    def _of_part(self, node: ast.expr, path: Path, module: Module, depth: int) -> Ident | None:
        """What identifies a part of what an expression gives, as far as that is a tuple that stands somewhere."""
        if not path:
            return self.ident(node, module, depth - 1)
        if depth <= 0:
            return None
        match node, path[0]:
            case ast.Tuple(elts=elements), int() as place if not _has_star(elements, place):
                return self._of_part(elements[place], path[1:], module, depth)
            case ast.Name(), _ if (value := self._unchanged(node, module)) is not None:
                return self._of_part(value, path, module, depth - 1)
            case ast.Call(), _ if self._external(node.func, module) not in OF_JAX | PURE | DEVICES:
                return self._of_call(node, module, depth, path)
        return None

    def _unchanged(self, node: ast.Name, module: Module) -> ast.expr | None:
        """What a name is assigned once, as it is, where nothing changes that."""
        holder = module.table.scope_of[node].lookup(node.id) if node in module.table.scope_of else None
        bindings = holder.bindings[node.id] if holder is not None else []
        if len(bindings) != 1 or bindings[0].kind != "assign" or bindings[0].path or holder is None:
            return None
        return bindings[0].value if self.of_name(node.id, holder, module) is not None else None

    def _copied(self, node: ast.expr, module: Module) -> ast.expr | None:
        """The list that an expression copies, or of which it takes the devices of this process, the only one."""
        match node:
            case ast.Call(func=func, args=[held], keywords=[]) if self._external(func, module) in COPIES:
                return held
            case ast.List(elts=[ast.Starred(value=held)]) | ast.Tuple(elts=[ast.Starred(value=held)]):
                return held
            case ast.Subscript(value=held, slice=ast.Slice(lower=None, upper=None, step=None)):
                return held
            case ast.ListComp(
                elt=ast.Name(id=same),
                generators=[ast.comprehension(target=ast.Name(id=name), iter=held, ifs=tests, is_async=0)],
            ) if same == name and len(tests) <= 1:
                return held if all(self._asks_for_own(test, name, module) for test in tests) else None
        return None

    def _is_given_once(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression gives its elements once, as a generator does."""
        called = self._external(node.func, module) if isinstance(node, ast.Call) else ""
        return isinstance(node, ast.GeneratorExp) or called in GIVEN_ONCE

    def _asks_for_own(self, test: ast.expr, name: str, module: Module) -> bool:
        """`d in jax.local_devices()`, `d.process_index == jax.process_index()`."""
        match test:
            case ast.Compare(left=ast.Name(id=same), ops=[ast.In()], comparators=[held]) if same == name:
                return device_lists.are_all(self.resolver.values(held, module), self.resolver, "own")
            case ast.Compare(
                left=ast.Attribute(value=ast.Name(id=same), attr="process_index"), ops=[ast.Eq()], comparators=[own]
            ) if same == name:
                value = self.resolver.value(own, module)
                return isinstance(value, Application) and value.callee == External("jax.process_index")
        return False

    def _at(self, ident: Ident, node: ast.AST, module: Module) -> Ident:
        """What a run gives where it evaluates something."""
        self.homes[ident] = (node, module)
        return ident

    def _once(self, node: ast.expr, module: Module) -> Ident:
        """What one evaluation of an expression gives."""
        return self._at(("once", module.path, node.lineno, node.col_offset), node, module)

    def _with(self, kind: tuple[str], held: ast.expr, how: ast.expr, module: Module, depth: int) -> Ident | None:
        """Some of a list: as many as a number, or those at some places."""
        parts = [self.ident(one, module, depth - 1) for one in (held, how)]
        return (*kind, *parts) if None not in parts else None

    def _external(self, node: ast.expr, module: Module) -> str:
        value = self.resolver.value(node, module)
        return value.name if isinstance(value, External) else ""

    # names

    def of_name(self, name: str, holder: Scope, module: Module, depth: int = DEEPEST) -> Ident | None:
        """What identifies what a name stands for in the scope that holds it."""
        key = (id(holder), name)
        if key not in self._bound:
            self._bound[key] = None
            self._bound[key] = self._of_bindings(name, holder, module, depth)
        return self._bound[key]

    def _of_bindings(self, name: str, holder: Scope, module: Module, depth: int) -> Ident | None:
        bindings = holder.bindings.get(name, [])
        if not bindings or holder.kind == "class" or self.resolver.attributes.of_variable(bindings, name, module):
            return None
        if any(name in one.outer_names for one in holder.below()):
            return None
        found = self._of_bound(name, holder, module, depth)
        is_number = found is not None and found[0] == "length"
        return found if is_number or not device_lists.may_change(name, self.resolver) else None

    def _of_bound(self, name: str, holder: Scope, module: Module, depth: int) -> Ident | None:
        """The same, as far as nothing changes in place what the name stands for."""
        bindings = holder.bindings[name]
        own = self._at(("name", module.path, id(holder), name), holder.node, module)
        if len(bindings) > 1:
            if settled(name, holder, module) is None:
                return None
            values = [one.value for one in bindings if one.kind == "assign" and not one.path]
            each = [self.ident(one, module, depth - 1) for one in values if one is not None]
            return ("either", own, *each) if None not in each and len(each) == len(bindings) else own
        binding = bindings[0]
        if binding.kind == "param":
            return self._of_parameter(name, holder, module, depth)
        if binding.kind == "from":
            return self._of_import(binding, module, depth)
        if binding.kind == "assign" and binding.value is not None:
            value = _unpacked(binding)
            found = self.ident(value, module, depth - 1) if value is not None else None
            if value is None:
                found = self._of_part(binding.value, binding.path, module, depth - 1)
            return found or own
        return None

    def _of_parameter(self, name: str, holder: Scope, module: Module, depth: int) -> Ident | None:
        """What every call gives a parameter; itself where calls differ, or are not in sight."""
        own = self._at(("name", module.path, id(holder), name), holder.node, module)
        if not isinstance(holder.node, ast.FunctionDef | ast.AsyncFunctionDef):
            return own
        is_method = isinstance(module.table.parents.get(holder.node), ast.ClassDef)
        if is_method and changes_of(self.resolver).by_getattr:
            return own  # which a call that nobody sees may give
        written = callers_of(self.resolver).written(Parameter(module, holder.node, name)) or ()
        found = {self.ident(one, where, depth - 1) for one, where in written}
        known = next(iter(found)) if len(found) == 1 else None
        return known if known is not None else own

    def _of_import(self, binding: Binding, module: Module, depth: int) -> Ident | None:
        statement = module.table.parents.get(binding.node)
        if not isinstance(binding.node, ast.alias) or not isinstance(statement, ast.ImportFrom):
            return None
        home = self.resolver.project.imported(module, statement.module or "", statement.level)
        return self.of_name(binding.node.name, home.table.root, home, depth - 1) if home is not None else None

    def root(self, node: ast.expr, module: Module, depth: int = DEEPEST) -> tuple[ast.expr, Module]:
        """What an expression was assigned first, of several names in a row."""
        if isinstance(node, ast.Name) and node in module.table.scope_of and depth > 0:
            holder = module.table.scope_of[node].lookup(node.id)
            bindings = holder.bindings[node.id] if holder is not None else []
            value = _unpacked(bindings[0]) if len(bindings) == 1 and bindings[0].kind == "assign" else None
            return self.root(value, module, depth - 1) if value is not None else (node, module)
        kept = self.stored(node, module) if isinstance(node, ast.Attribute) else None
        return self.root(kept[0].value, kept[1], depth - 1) if kept is not None and depth > 0 else (node, module)

    # attributes

    def _of_attribute(self, node: ast.Attribute, module: Module, depth: int) -> Ident | None:
        external = self._external(node, module)
        if external.partition(".")[0] in ("jax", "numpy"):
            return ("external", external)
        kept = self.stored(node, module)
        if kept is not None:
            store, home = kept
            found = self.ident(store.value, home, depth - 1)
            return found or self._at(("attribute", home.path, node.attr), store, home)
        if device_lists.may_change(node.attr, self.resolver) or stores_of(self.resolver).get(node.attr):
            return None
        if external:
            return ("external", external)
        owner = self.ident(node.value, module, depth - 1)
        if owner is None:
            return None
        read = ("read", owner, node.attr)
        if changes_of(self.resolver).may_change(node.value):
            self.unsure.add(read)
        return read

    def stored(self, node: ast.Attribute, module: Module) -> tuple[ast.Assign, Module] | None:
        """The one statement that gives `self.devices` its value, where nothing else stores anything under that name."""
        stores = stores_of(self.resolver).get(node.attr, [])
        if len(stores) != 1 or device_lists.may_change(node.attr, self.resolver):
            return None
        (store, home), cls = stores[0], class_of(node, module)
        statement = home.table.parents.get(store)
        if cls is None or class_of(store, home) is not cls or home.table.loop_of(store) is not None:
            return None
        plain = isinstance(statement, ast.Assign) and statement.targets == [store]
        return (statement, home) if plain and isinstance(statement, ast.Assign) else None

    # other expressions

    def _of_call(self, node: ast.Call, module: Module, depth: int, path: Path = ()) -> Ident | None:
        """What a call gives, or a part of it."""
        external = self._external(node.func, module)
        if external in DEVICES:
            return self._of_devices(external, node, module, depth)
        if external in COUNTED:
            listed = self._of_devices(COUNTED[external], node, module, depth)
            return ("length", listed) if listed is not None else None
        if external in OF_JAX | PURE and not any(isinstance(one, ast.Starred) for one in node.args):
            held = node.args[0] if external == LENGTH and len(node.args) == 1 else None
            listed = self.ident(held, module, depth - 1) if held is not None else None
            if listed is not None:
                if not self._is_steady(listed):
                    self.unsure.add(("length", listed))  # of an object that may change, as `len(pool)`
                return ("length", listed)
            return self._of_parts(node, module, depth)
        once = ("part", self._once(node, module), *path) if path else self._once(node, module)
        value = self._plain(node.func, module)
        if value is not None and self._may_change_kept(value, node.func, module, path):
            return None
        if value is not None:
            returned = returned_by(value.node)
            given = self._given(node, module, depth)
            if returned and None not in (*returned, *given):
                each = {self._of_part(one, path, value.module, depth) for one in returned if one is not None}
                if len(each) > 1:
                    of_another = self._of_another(node, value, path, module, depth)
                    return of_another or (once if None not in each else None)
                known = each.pop()
                if known is not None and self._is_new_each_time(known, value, node, module):
                    return once
                return _given_to(known, given) if known is not None and given else known
        return once

    def _of_another(self, node: ast.Call, function: Function, path: Path, module: Module, depth: int) -> Ident | None:
        """The length of a part, where another part of what a call gives is that, whichever way its function ends."""
        shown = [one for one in returned_by(function.node) if isinstance(one, ast.Tuple)]
        if len(path) != 1 or len(shown) != len(returned_by(function.node)):
            return None
        for place in range(min(len(one.elts) for one in shown)):
            pairs = [[self._of_part(one, (i,), function.module, depth) for i in (place, *path)] for one in shown]
            if all(listed is not None and count == ("length", listed) for listed, count in pairs):
                found = self._of_call(node, module, depth, (place,))
                return ("length", found) if found is not None else None
        return None

    def _given(self, node: ast.Call, module: Module, depth: int) -> list[Ident | None]:
        """What a call gives by position, and by the names of its keywords."""
        by_place = [self.ident(one, module, depth - 1) for one in node.args]
        by_name = [(one.arg, self.ident(one.value, module, depth - 1)) for one in node.keywords]
        return [*by_place, *(("keyword", name, one) if one is not None else None for name, one in by_name)]

    def _of_devices(self, function: str, node: ast.Call, module: Module, depth: int) -> Ident | None:
        """The list that a function of JAX's gives for such arguments as a call has."""
        given = self._given(node, module, depth)
        return ("devices", function, *given) if None not in given else None

    def _is_new_each_time(self, known: Ident, function: Function, call: ast.Call, module: Module) -> bool:
        """Whether a function that is called more than once may give something else each time."""
        kept = self._is_kept(call.func, module)
        inside = {id(one) for one in ast.walk(function.node)}
        homes = (self.homes.get(one) for one in parts_of(known))
        made = any(home is not None and id(home[0]) in inside and home[0] is not function.node for home in homes)
        return made and not kept and not is_run_once(function.node, function.module, self.resolver)

    def _is_kept(self, func: ast.expr, module: Module) -> bool:
        """Whether what is called keeps what its function gave, as a cache does."""
        return not isinstance(self.resolver.value(func, module), Function)

    def _may_change_kept(self, function: Function, func: ast.expr, module: Module, path: Path) -> bool:
        """Whether something may change in place what a function gave that is kept for the next call."""
        name = getattr(function.node, "name", "")
        place = path[0] if path and isinstance(path[0], int) else None
        return self._is_kept(func, module) and aliases.change({Alias(name, place=place)}, self.resolver)

    def _plain(self, func: ast.expr, module: Module) -> Function | None:
        """The function that a call runs as it stands, or of which it gets what is kept; no generator."""
        value = self.resolver.value(func, module)
        while isinstance(value, Application) and isinstance(value.callee, External) and value.callee.name in CACHES:
            given = self.resolver.argument_values(value.arguments[0]) if len(value.arguments) == 1 else ()
            value = given[0] if len(given) == 1 else value.callee
        if not isinstance(value, Function) or not isinstance(value.node, ast.FunctionDef):
            return None
        if any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(value.node)):
            return None
        decorators = [one.func if isinstance(one, ast.Call) else one for one in value.node.decorator_list]
        return value if all(self._external(one, value.module) in CACHES | STATIC for one in decorators) else None

    def _of_parts(self, node: ast.expr, module: Module, depth: int) -> Ident | None:
        """The text of an expression with what its names stand for."""
        own = {n.id for one in ast.walk(node) if isinstance(one, ast.comprehension) for n in _names(one.target)}
        own |= {one.arg for one in ast.walk(node) if isinstance(one, ast.arg)}
        known = dict[str, Ident | None]()
        for one in _outermost(node):
            match one:
                case ast.Name(id=name) if name in own:
                    continue
                case ast.Name() | ast.Attribute():
                    if not (isinstance(one, ast.Attribute) and root_of(one) in own):
                        known[ast.unparse(one)] = self.ident(one, module, depth - 1)
                case ast.Call(func=func) if one is not node:
                    pure = self._external(func, module) in OF_JAX | PURE | GIVEN_ONCE
                    if not pure:
                        return self._once(node, module)
        if None in known.values():
            return None
        said = ("said", ast.dump(node), tuple(sorted(known.items(), key=lambda item: item[0])))
        opaque = any(one is not None and not self._is_steady(one) for one in known.values())
        if opaque and not all(isinstance(one, PLAIN) for one in ast.walk(node)):
            self.unsure.add(said)  # of an object that may change, as `args["n"]`
        return said

    def _is_steady(self, ident: Ident) -> bool:
        """Whether what is identified is nothing that changes in place, as a dictionary does."""
        if ident[0] == "length":
            return ident not in self.unsure
        if ident[0] == "said":
            return ident not in self.unsure and not str(ident[1]).startswith(("Dict", "List(", "Set"))
        return ident[0] in STEADY


def _given_to(known: Ident, given: Iterable[Ident | None]) -> Ident:
    """What a function gives that is given something; of the length of a list the list is what it makes of that."""
    if known[0] == "length":
        return ("length", ("given", known[1], *given))
    if known[0] == "constant":
        return known
    return ("given", known, *given)


def _has_star(elements: Sequence[ast.expr], place: int) -> bool:
    """Whether a display does not say what stands at a place of it."""
    return place >= len(elements) or any(isinstance(one, ast.Starred) for one in elements[: place + 1])


def parts_of(ident: object) -> Iterator[Ident]:
    """An ident and those that it is made of."""
    if isinstance(ident, tuple):
        yield ident
        for one in ident:
            yield from parts_of(one)


@once
def lists_of(resolver: Resolver) -> Lists:
    """The lists of a program, for all who ask the same resolver."""
    return Lists(resolver)


def settled(name: str, holder: Scope, module: Module) -> ast.stmt | None:
    """The statement behind which a name of a function or module keeps what it has; None where it changes later.

    All that reads it stands behind that statement, or in one that gives it a value.
    """
    bindings = holder.bindings.get(name, [])
    givers = [one for one in bindings if one.kind != "param"]
    statements = [module.table.statement_of(one.node) for one in givers]
    if any(one.kind != "assign" for one in givers) or not statements or None in statements:
        return None
    if len(bindings) == 1:
        return statements[0]
    block, tops = _together([one for one in statements if one is not None], module)
    if len(givers) < len(bindings) and isinstance(holder.node, ast.FunctionDef | ast.AsyncFunctionDef):
        block = holder.node.body  # a parameter has a value before
        tops = [one for one in block if not {*ast.walk(one)}.isdisjoint(statements)]
    if not block or any(module.table.loop_of(one.node) is not None for one in givers):
        return None
    last = max(tops, key=lambda one: one.lineno)
    for node in module.table.named.get(name, ()):
        mine = node in module.table.scope_of and module.table.scope_of[node].lookup(name) is holder
        before = node.lineno <= (last.end_lineno or last.lineno)
        if mine and before and module.table.statement_of(node) not in statements and not _is_test(node, tops):
            return None
    return last


def _together(statements: list[ast.stmt], module: Module) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """The block that several statements stand in, perhaps in others there, and which of it they are or stand in."""
    ways = [[*_above(one, module)] for one in statements]
    for top in ways[0]:
        block = module.table.block_of(top)
        found = [next((one for one in way if one in block), None) for way in ways]
        if block and all(one is not None for one in found):
            return block, [one for one in found if one is not None]
    return [], []


def _above(node: ast.stmt, module: Module) -> Iterator[ast.stmt]:
    """A statement and those that it stands in, as far as its function."""
    current: ast.AST | None = node
    while current is not None and not isinstance(current, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        if isinstance(current, ast.stmt):
            yield current
        current = module.table.parents.get(current)


def _is_test(node: ast.expr, tops: Iterable[ast.stmt]) -> bool:
    """Whether a name is read where a statement asks whether it gives it another value: `if devices is None:`."""
    return any(isinstance(top, ast.If) and node in ast.walk(top.test) for top in tops)


def _unpacked(binding: Binding) -> ast.expr | None:
    """What a binding gives a name: its value, or the part of it that is written out."""
    value = binding.value
    for index in binding.path:
        if not isinstance(value, ast.Tuple | ast.List) or not isinstance(index, int) or index >= len(value.elts):
            return None
        value = value.elts[index]
    return value


@once
def stores_of(resolver: Resolver) -> dict[str, list[tuple[ast.Attribute, Module]]]:
    """What a program stores in attributes, by their names."""
    found: dict[str, list[tuple[ast.Attribute, Module]]] = {}
    for module in resolver.project.program:
        for node in module.nodes:
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store | ast.Del):
                found.setdefault(node.attr, []).append((node, module))
    return found


def class_of(node: ast.AST, module: Module) -> ast.ClassDef | None:
    """The class of whose object a method's code reads or writes an attribute, by the name of its first parameter."""
    current: ast.AST | None = node
    while current is not None:
        above = module.table.parents.get(current)
        if isinstance(current, ast.FunctionDef | ast.AsyncFunctionDef) and isinstance(above, ast.ClassDef):
            owner = node.value if isinstance(node, ast.Attribute) else None
            fits = owner is None or (isinstance(owner, ast.Name) and owner.id == receiver(current, module))
            return above if fits else None
        current = above
    return None


def receiver(function: ast.AST, module: Module) -> str:
    """What a method, or a function in one, calls the object."""
    current: ast.AST | None = function
    while current is not None:
        above = module.table.parents.get(current)
        if isinstance(current, ast.FunctionDef | ast.AsyncFunctionDef) and isinstance(above, ast.ClassDef):
            first = [*current.args.posonlyargs, *current.args.args][:1]
            return first[0].arg if first and not current.decorator_list else ""
        current = above
    return ""


def _outermost(node: ast.expr) -> Iterator[ast.expr]:
    """The names, dotted names and calls of an expression; of what dotted names consist of nothing else."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Attribute) and isinstance(_end(child), ast.Name):
            yield child
            continue
        if isinstance(child, ast.Name | ast.Attribute | ast.Call):
            yield child
        yield from _outermost(child)  # type: ignore[arg-type] # whatever node it is, it has children


def _end(node: ast.expr) -> ast.expr:
    while isinstance(node, ast.Attribute):
        node = node.value
    return node


def root_of(node: ast.expr) -> str:
    """The name that an expression of dots begins with."""
    end = _end(node)
    return end.id if isinstance(end, ast.Name) else ""


def _names(node: ast.AST) -> list[ast.Name]:
    return [one for one in ast.walk(node) if isinstance(one, ast.Name)]
