"""What a program does with the number of devices: whether its maps run on all of them, as far as that shows."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Sequence

from jaxmigrate.flow.layout.device_lists import changes_devices
from jaxmigrate.program.imports import imported_files
from jaxmigrate.program.modules import Module, Project
from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding, Scope, walk
from jaxmigrate.program.syntax import last_name

COUNTS = re.compile(
    r"device_count|local_devices|\bjax\.devices\(\)|(?<![\w.)\]])devices\(\)"  # not those of an array
    r"|\breplicate\(|\bshard\(|device_put_(replicated|sharded)|n_devices"
)
OF_SOME = re.compile(r"_?(?:n|nb|num|number_of)_?(?:\w+_)?(?:accelerators|chips|cores|devices|gpus|tpus)(?:_\w+)?$")
COUNTED = ("device_count", "local_device_count")
LISTED = ("devices", "local_devices")
FILLED = ("ones", "zeros", "full", "empty")
LITERAL = ("array", "asarray", "stack")


def counts_devices(module: Module) -> bool:
    """Whether arrays that have a row for each device are at home in a file."""
    return COUNTS.search(module.text) is not None


def may_be_fewer(module: Module, but: Collection[ast.AST] = ()) -> bool:
    """Whether a file takes a part of the devices, changes their number, or maps where there are enough of them.

    Some nodes are left out of account.
    """
    ways = (_maps_where_enough, _runs_for_some)
    return "device" in module.text and (_takes_part(module, but) or any(one(module) for one in ways))


def _takes_part(module: Module, but: Collection[ast.AST] = ()) -> bool:
    """Whether a file takes a part of the devices or of their number, or changes a number that was theirs."""
    parts = (node for node in _candidates(module) if node not in but and _is_part(node))
    if any(not _is_shown(node, module) for node in parts):
        return True
    return any(_changes_count(scope) for scope in _scopes(module))


def may_map_fewer(module: Module, near: Iterable[Module], resolver: Resolver) -> bool:
    """Whether the maps of a file may be given fewer rows than there are devices, by what it and others near it say."""
    parts = any(may_be_fewer(one) or changes_devices(one, resolver) for one in (module, *near))
    return parts or imports_part(module, resolver.project)


@once_each
def may_be_given_fewer(module: Module, resolver: Resolver) -> bool:
    """The same by what a file says, and what files that import it take a part of."""
    project, stem = resolver.project, module.path.stem
    others = (one for one in project.program if one is not module and stem in one.text and "device" in one.text)
    above = (one for one in others if module.path in imported_files(one.path, one.text, project))
    return may_map_fewer(module, (), resolver) or any(map(_takes_part, above))


def imports_part(module: Module, project: Project) -> bool:
    """Whether a file imports a number that another makes of that of the devices, `half = device_count() // 2`.

    Or the number itself, which it divides.
    """
    for statement in module.table.import_statements:
        if isinstance(statement, ast.ImportFrom):
            source = project.imported(module, statement.module or "", statement.level)
            names = {alias.name for alias in statement.names}
            dotted = ((f"{statement.module or ''}.{alias.name}".lstrip("."), alias) for alias in statement.names)
            inner = [(project.imported(module, n, statement.level), alias.asname or alias.name) for n, alias in dotted]
        else:
            source, names = None, set()
            inner = [(project.imported(module, alias.name, 0), alias.asname or alias.name) for alias in statement.names]
        if source is not None and source is not module and _gives_part(source, names):
            return True
        if source is not None and source is not module and _divides(module, _counts_of(statement, source)):
            return True
        for one, name in inner:
            if one is not None and one is not module and _gives_part(one, _read_of(name, module)):
                return True
    return False


def _counts_of(statement: ast.AST, source: Module) -> set[str]:
    """The names under which a file imports the number of the devices from another."""
    aliases = statement.names if isinstance(statement, ast.ImportFrom) else []
    bound = {alias.asname or alias.name: source.table.root.bindings.get(alias.name, ()) for alias in aliases}
    return {name for name, found in bound.items() if found and all(_is_count(one.value) for one in found)}


def _divides(module: Module, counts: Collection[str]) -> bool:
    """Whether a file divides one of some numbers by a constant."""
    return bool(counts) and _divided_in(module.nodes, counts)


def _divided_in(nodes: Iterable[ast.AST], counts: Collection[str]) -> bool:
    divided = (n for n in nodes if isinstance(n, ast.BinOp) and isinstance(n.right, ast.Constant))
    parts = (n.left for n in divided if isinstance(n.op, ast.FloorDiv | ast.Div | ast.RShift))
    return any(isinstance(one, ast.Name) and one.id in counts for one in parts)


def _gives_part(source: Module, names: Collection[str]) -> bool:
    """Whether a file makes something that goes by one of some names of a part of the devices or of their number."""
    if not names or not may_be_fewer(source):
        return False
    bound = (b for name in names for b in source.table.root.bindings.get(name, ()))
    values = [one for b in bound for one in ([b.value] if b.value is not None else _returned(b.node))]
    return any(_is_part(node) for value in values for node in walk(value))


def _read_of(name: str, module: Module) -> set[str]:
    """The attributes that a file reads of what goes by a dotted name."""
    read = (
        one
        for one in module.table.references
        if isinstance(one, ast.Attribute) and last_name(one.value) == name.rpartition(".")[2]
    )
    return {one.attr for one in read if ast.unparse(one.value) == name}


def _returned(node: ast.AST) -> list[ast.expr]:
    """What a function returns."""
    body = walk(node) if isinstance(node, ast.FunctionDef) else ()
    return [one.value for one in body if isinstance(one, ast.Return) and one.value is not None]


def _candidates(module: Module) -> Iterator[ast.AST]:
    yield from (n for n in module.nodes if isinstance(n, ast.Subscript | ast.BinOp | ast.Call))


def _is_part(node: ast.AST) -> bool:
    """Whether an expression is a part of a list of devices, or of their number."""
    match node:
        case ast.Subscript(value=ast.Call() as held, slice=ast.Slice()):
            return _is_list(held)
        case ast.BinOp(left=left, op=ast.FloorDiv() | ast.Div() | ast.RShift(), right=ast.Constant()):
            return _is_count(left)
        case ast.Call(func=ast.Name(id="min"), args=args):
            return any(map(_is_count, args))
    return False


def _maps_where_enough(module: Module) -> bool:
    """Whether a file that maps goes on where there are as many devices as it needs, or more."""
    if "pmap" not in module.text:
        return False
    for node in module.nodes:
        match node:
            case ast.Assert(test=test):
                ways = [True]
            case ast.If(test=test, body=[*body, last], orelse=rest):
                leaves = isinstance(last, ast.Raise | ast.Return | ast.Continue | ast.Break)
                maps = any(map(_maps, (*body, last)))
                ways = [True] if maps or not leaves else []
                ways += [False] if rest or not maps else []  # what comes next may map, where a flag says so
            case ast.IfExp(test=test):
                ways = [True, False]
            case _:
                continue
        if any(_asks_for_enough(test, way, module) for way in ways):
            return True
    return False


def _runs_for_some(module: Module) -> bool:
    """Whether a file that maps runs a function for one number of devices after another.

    `for n in (1, 2, 4): measure(n)`, where the parameter of `measure` is called `num_devices` or the like.
    """
    if "pmap" not in module.text:
        return False
    loops = [one for one in module.nodes if isinstance(one, ast.For) and isinstance(one.target, ast.Name)]
    return any(_gives_count(call, last_name(loop.target), module) for loop in loops for call in walk(loop))


def _gives_count(call: ast.AST, name: str, module: Module) -> bool:
    """Whether a call gives a name to a parameter of a function of the file that is called a number of devices."""
    if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
        return False
    for made in module.table.root.bindings.get(call.func.id, ()):
        names = made.node.args.args if isinstance(made.node, ast.FunctionDef) else []
        for given, parameter in zip(call.args, names, strict=False):
            if isinstance(given, ast.Name) and given.id == name and OF_SOME.match(parameter.arg):
                return True
    return False


def _maps(statement: ast.stmt) -> bool:
    return any(isinstance(one, ast.Name | ast.Attribute) and last_name(one) == "pmap" for one in walk(statement))


def _asks_for_enough(test: ast.expr, holds: bool, module: Module) -> bool:
    """Whether there are at least as many devices as a number that is not written there, if a test holds or does not."""
    match test:
        case ast.UnaryOp(op=ast.Not(), operand=inner):
            return _asks_for_enough(inner, not holds, module)
        case ast.BoolOp(values=values):
            return any(_asks_for_enough(one, holds, module) for one in values)
        case ast.Name(id=name):
            bound = (b.value for b in _bindings(name, test, module))
            return any(isinstance(one, ast.Compare) and _asks_for_enough(one, holds, module) for one in bound)
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            first, second = _is_named_count(left, module), _is_named_count(right, module)
            if first == second or isinstance(right if first else left, ast.Constant):
                return False
            return isinstance(op, ast.Gt | ast.GtE if first == holds else ast.Lt | ast.LtE)
    return False


def _is_named_count(node: ast.expr, module: Module) -> bool:
    """Whether an expression is the number of devices, or a name of it."""
    bound = [b.value for b in _bindings(node.id, node, module)] if isinstance(node, ast.Name) else []
    return _is_count(node) or (bool(bound) and all(map(_is_count, bound)))


def _bindings(name: str, node: ast.expr, module: Module) -> Sequence[Binding]:
    """What binds a name as a node reads it; nothing for a builtin."""
    scope = module.table.scope_of[node].lookup(name) if node in module.table.scope_of else None
    return scope.bindings[name] if scope is not None else ()


def _is_shown(node: ast.AST, module: Module) -> bool:
    """Whether an expression becomes text, in which a few devices stand for all of them."""
    above: ast.AST | None = node
    while above is not None and not isinstance(above, ast.stmt):
        if isinstance(above, ast.JoinedStr) or (isinstance(above, ast.Call) and last_name(above.func) == "print"):
            return True
        above = module.table.parents.get(above)
    return False


def _is_list(node: ast.AST | None) -> bool:
    """Whether a call gives the devices, or a copy of the list of them."""
    match node:
        case ast.Call(func=ast.Name(id="list" | "tuple" | "sorted"), args=[ast.Call() as inner, *_]):
            return _is_list(inner)
        case ast.Call(func=func):
            return last_name(func) in LISTED
    return False


def _is_count(node: ast.AST | None, lists: Collection[str] = ()) -> bool:
    """Whether an expression is the number of devices; `lists` are names of lists of them all."""
    match node:
        case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]):
            return name in lists
        case ast.Call(func=ast.Name(id="len"), args=[counted]):
            return _is_list(counted)
        case ast.Call(func=func):
            return last_name(func) in COUNTED
    return False


def _scopes(module: Module) -> Iterator[Scope]:
    yield from {id(s): s for s in (module.table.root, *module.table.own_scope.values())}.values()


def _changes_count(scope: Scope) -> bool:
    """Whether a name stands for the number of devices and for something else, or is divided."""
    lists = {name for name, found in scope.bindings.items() if found and all(_is_list(b.value) for b in found)}
    counts = {name for name, found in scope.bindings.items() if any(_is_count(b.value) for b in found)}
    if any(not _is_count(b.value, lists) for name in counts for b in scope.bindings[name]):
        return True
    if not counts:
        return False
    return _divided_in(ast.walk(scope.node), counts)


def has_fixed_rows(node: ast.expr, module: Module) -> bool:
    """Whether an array surely has as many rows as its source says, or some less than others, however many devices."""
    match node:
        case ast.Name(id=name):
            bound = _bindings(name, node, module)
            value = bound[0].value if len(bound) == 1 and not bound[0].path else None
            return value is not None and not isinstance(value, ast.Name) and has_fixed_rows(value, module)
        case ast.Subscript(slice=ast.Constant(value=None) | ast.Tuple(elts=[ast.Constant(value=None), *_])):
            return True
        case ast.Subscript(slice=ast.Slice() as part) | ast.Subscript(slice=ast.Tuple(elts=[ast.Slice() as part, *_])):
            return _is_written(part.lower) or _is_written(part.upper)
        case ast.Call(func=func, args=[first, *more]):
            return _is_fixed_call(last_name(func), first, more, module)
    return False


def makes_one_row(module: Module) -> bool:
    """Whether a file makes an array of one row, `broadcast_to(key, (1, *key.shape))`, which one device takes."""
    calls = (n for n in module.nodes if isinstance(n, ast.Call)) if "broadcast_to" in module.text else ()
    return any(last_name(c.func) == "broadcast_to" and any(map(_is_one_row, c.args[1:2])) for c in calls)


def _is_one_row(shape: ast.expr) -> bool:
    match shape:
        case ast.Tuple(elts=[ast.Constant(value=1), *_]):
            return True
    return False


def _is_written(bound: ast.expr | None) -> bool:
    """Whether a slice begins or ends at a number that its source says: it has fewer rows, or as many as that."""
    number = bound.operand if isinstance(bound, ast.UnaryOp) else bound
    return isinstance(number, ast.Constant) and isinstance(number.value, int) and number.value != 0


def _is_fixed_call(name: str, first: ast.expr, more: Sequence[ast.expr], module: Module) -> bool:
    match name, first:
        case "map" | "tree_map", ast.Lambda(body=body):
            return has_fixed_rows(body, module)
        case "expand_dims", _:
            return bool(more) and isinstance(more[0], ast.Constant) and more[0].value == 0
        case (("arange" | "ones" | "zeros" | "empty" | "full"), ast.Constant(value=int() | float())):
            return name != "arange" or not more
        case "reshape", ast.Tuple(elts=[ast.Constant(value=1), *_]) | ast.Constant(value=1):
            return True
        case "broadcast_to" | "reshape", _ if more:
            return _is_one_row(more[0])
        case _, ast.Tuple(elts=[ast.Constant(value=int()), *_]):
            return name in FILLED
        case _, ast.List(elts=elements):
            return name in LITERAL and not any(isinstance(one, ast.Starred) for one in elements)
    return False
