"""Which expressions stand for the same list of devices, or the same number, of a program that chooses them as it runs.

Two expressions stand for one list where both lead back to one assignment, or say the same of the same variables, and
nothing changes these in between.
"""

from __future__ import annotations

import ast
from collections.abc import Hashable, Iterable, Iterator

from jaxmigrate.flow.layout import device_lists
from jaxmigrate.flow.layout.evaluated_once import is_run_once
from jaxmigrate.flow.layout.object_changes import changes_of
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding, Scope
from jaxmigrate.program.values import Application, External, Function, Parameter

DEEPEST = 6  # `devices = chosen`, a parameter of a parameter
COPIES = device_lists.COPIES | {"numpy.array", "numpy.asarray"}
PURE = COPIES | {f"builtins.{name}" for name in ("len", "max", "min", "range", "sorted", "int")}
DEVICES = named("devices")
OF_JAX = DEVICES | named("counts", "process-index")
CACHES = named("cache")
RANGE = "builtins.range"
GIVEN_ONCE = frozenset({f"builtins.{name}" for name in ("filter", "iter", "map", "reversed", "zip")})
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
            case ast.Call():
                return self._of_call(node, module, depth)
        return self._of_parts(node, module, depth)

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
        if device_lists.may_change(name, self.resolver) or any(name in one.outer_names for one in holder.below()):
            return None
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

    def _of_call(self, node: ast.Call, module: Module, depth: int) -> Ident | None:
        external = self._external(node.func, module)
        if external in DEVICES:
            parts = self._of_parts(node, module, depth)
            return ("devices", external, parts) if parts is not None else None
        if external in OF_JAX | PURE and not any(isinstance(one, ast.Starred) for one in node.args):
            return self._of_parts(node, module, depth)
        value = self._plain(node.func, module)
        if value is not None:
            returned = returned_by(value.node)
            given = [self.ident(one, module, depth - 1) for one in (*node.args, *(k.value for k in node.keywords))]
            if len(returned) == 1 and returned[0] is not None and None not in given:
                known = self.ident(returned[0], value.module, depth - 1)
                if known is not None and self._is_new_each_time(known, value, node, module):
                    return self._once(node, module)
                return ("given", known, *given) if known is not None and given else known
        return self._once(node, module)

    def _is_new_each_time(self, known: Ident, function: Function, call: ast.Call, module: Module) -> bool:
        """Whether a function that is called more than once may give something else each time."""
        kept = not isinstance(self.resolver.value(call.func, module), Function)  # by a cache
        inside = {id(one) for one in ast.walk(function.node)}
        homes = (self.homes.get(one) for one in parts_of(known))
        made = any(home is not None and id(home[0]) in inside and home[0] is not function.node for home in homes)
        return made and not kept and not is_run_once(function.node, function.module, self.resolver)

    def _plain(self, func: ast.expr, module: Module) -> Function | None:
        """The function that a call runs as it stands, or of which it gets what is kept."""
        value = self.resolver.value(func, module)
        while isinstance(value, Application) and isinstance(value.callee, External) and value.callee.name in CACHES:
            given = self.resolver.argument_values(value.arguments[0]) if len(value.arguments) == 1 else ()
            value = given[0] if len(given) == 1 else value.callee
        if not isinstance(value, Function) or not isinstance(value.node, ast.FunctionDef):
            return None
        decorators = [one.func if isinstance(one, ast.Call) else one for one in value.node.decorator_list]
        return value if all(self._external(one, value.module) in CACHES for one in decorators) else None

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
                    if not (isinstance(one, ast.Attribute) and _root(one) in own):
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
            self.unsure.add(said)  # of an object that may change, as `len(pool)` and `args["n"]`
        return said

    def _is_steady(self, ident: Ident) -> bool:
        """Whether what is identified is nothing that changes in place, as a dictionary does."""
        if ident[0] == "said":
            return ident not in self.unsure and not str(ident[1]).startswith(("Dict", "List(", "Set"))
        return ident[0] in STEADY


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


def _root(node: ast.Attribute) -> str:
    end = _end(node)
    return end.id if isinstance(end, ast.Name) else ""


def _names(node: ast.AST) -> list[ast.Name]:
    return [one for one in ast.walk(node) if isinstance(one, ast.Name)]
