"""What variables of a program may hold the same arrays, or views of them: by assignment, in loops, through calls.

Each way leads from a variable to one that may hold what it holds. Attributes go by their name alone, and a name that is
imported from a module of the project is that module's.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Mapping
from functools import lru_cache
from pathlib import Path

from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.program.imports import imported_files
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Scope, all_parameters, positional_names
from jaxmigrate.program.values import Class, External, Function, ModuleValue

VIEWS = frozenset(
    {
        "asarray",
        "asanyarray",
        "ascontiguousarray",
        "atleast_1d",
        "atleast_2d",
        "broadcast_to",
        "diagonal",
        "expand_dims",
    }
    | {"flip", "moveaxis", "ravel", "reshape", "rollaxis", "split", "array_split", "squeeze", "swapaxes", "transpose"}
    | {"atleast_3d", "asfortranarray", "flipud", "fliplr", "rot90", "hsplit", "vsplit", "dsplit", "real", "imag"}
    | {
        "unstack",
        "matrix_transpose",
        "permute_dims",
        "nan_to_num",
        "as_strided",
        "sliding_window_view",
        "frombuffer",
        "nditer",
        "load",
        "memmap",
        "open_memmap",
        "require",
    }
)
VIEWING_METHODS = VIEWS | {"cast", "get", "items", "pop", "values", "view"}
VIEWING_ATTRIBUTES = frozenset({"T", "mT", "flat", "real", "imag", "base", "data"})
HOLDERS = frozenset(
    {"dict", "enumerate", "iter", "list", "memoryview", "next", "reversed", "sorted", "tuple", "zip"}
    | {"max", "min", "filter", "map", "set", "frozenset", "getattr"}
)
NAMESPACES = ("types.SimpleNamespace", "argparse.Namespace")
HOLDING = ("collections", "copy", "types", "itertools", "queue", "functools")  # modules of such
KEEPING_METHODS = frozenset({"add", "append", "appendleft", "extend", "insert", "put", "put_nowait", "update"})
Variable = tuple[Scope | None, str]  # a name in a scope, or an attribute's name in any object


def held(it: Interpreter, names: set[Variable], modules: set[Module]) -> tuple[set[Variable], set[Module]]:
    """Some variables and all that may come to hold what they hold, and other modules that have or import such.

    Adds the modules of functions that are given what they hold.
    """
    found, waiting, searched = set(names), set(names), set[Module]()
    others: set[Module] = set()
    homes, imported = dict[Scope, Module](), set[Path]()
    while waiting or not modules | others <= searched:
        news = (modules | others) - searched
        searched |= news
        reached: set[tuple[Variable, Module]] = set()
        for module in searched:
            flow = _flows(module, it.resolver)
            asked = found if module in news else waiting
            if len(asked) > len(flow):  # the shorter of the two is gone through
                reached |= {target for name, targets in flow.items() if name in asked for target in targets}
            else:
                reached |= {target for name in asked for target in flow.get(name, ())}
        for module in modules.difference(homes.values()):
            homes[module.table.root] = module
            imported |= imported_files(module.path, module.text, it.resolver.project)
        others |= {one for name in waiting for one in _beside(name, homes, imported, it)} - modules
        modules |= {module for _, module in reached} - others
        waiting = {variable for variable, _ in reached} - found
        found |= waiting
    return found, others


def _beside(
    variable: Variable, homes: Mapping[Scope, Module], imported: Collection[Path], it: Interpreter
) -> Iterator[Module]:
    """The module of which something is a variable, and those that import it and name it.

    It is one of some modules, by their scopes, or of the files that they import.
    """
    (scope, name), project = variable, it.resolver.project
    if scope is None or scope.kind != "module":
        return
    home = homes.get(scope)
    if home is None:
        home = project.parsed_from(scope.node)
        if home is None or home.path not in imported or name not in home.text:
            return
    yield home
    yield from it.reachable.naming({home.path}, {home.path: {name}})


def home_of(name: str, holder: Scope, module: Module, resolver: Resolver) -> Variable:
    """The variable that a name of a scope is: where it is imported from a module of the project, that module's."""
    for binding in holder.bindings.get(name, ()):
        statement = module.table.parents.get(binding.node)
        if binding.kind == "from" and isinstance(binding.node, ast.alias) and isinstance(statement, ast.ImportFrom):
            source = resolver.project.imported(module, statement.module or "", statement.level)
            if source is not None and binding.node.name in source.table.root.bindings:
                return source.table.root, binding.node.name
    return holder, name


@lru_cache(maxsize=512)
def _flows(module: Module, resolver: Resolver) -> dict[Variable, set[tuple[Variable, Module]]]:
    """For each variable of a module those that hold, for all that its statements and calls say, what it holds."""
    found: dict[Variable, set[tuple[Variable, Module]]] = {}
    for value, targets, home in (*_bound(module, resolver), *_passed(module, resolver)):
        variables = {variable for target in targets for variable in target}
        for source in same(value, module, resolver):
            found.setdefault(source, set()).update((variable, home) for variable in variables)
    return found


def _bound(module: Module, resolver: Resolver) -> Iterator[tuple[ast.expr, list[list[Variable]], Module]]:
    """What a module's statements bind, and what to."""
    for node in module.nodes:
        match node:
            case ast.Assign(targets=targets, value=value):
                yield value, [_bound_variables(target, module, resolver) for target in targets], module
            case (
                ast.AnnAssign(target=target, value=ast.expr() as value)
                | ast.AugAssign(target=target, value=ast.List() | ast.Tuple() | ast.Dict() as value)
                | ast.NamedExpr(target=target, value=value)
                | (ast.For(target=target, iter=value) | ast.comprehension(target=target, iter=value))
                | ast.withitem(optional_vars=ast.expr() as target, context_expr=value)
            ):
                yield value, [_bound_variables(target, module, resolver)], module


def _bound_variables(target: ast.expr, module: Module, resolver: Resolver) -> list[Variable]:
    if isinstance(target, ast.Tuple | ast.List):
        return [variable for one in target.elts for variable in _bound_variables(one, module, resolver)]
    inner = target.value if isinstance(target, ast.Starred) else target
    return list(named(inner, module, resolver))


def _passed(module: Module, resolver: Resolver) -> Iterator[tuple[ast.expr, list[list[Variable]], Module]]:
    """What a module's calls give to functions of the project, and to those that they give along: `map(fill, [x])`."""
    for call in module.table.calls:
        given = [*enumerate(call.args), *((k.arg, k.value) for k in call.keywords)]
        callees = _functions(call.func, module, resolver)
        for place, value in given:
            for function, skip in callees:
                yield value, [[v] for v in _parameter(function, place, skip)], function.module
        yield from _kept_by_method(call, module, resolver)
        along = [] if callees else [f for _, one in given for f, _ in _functions(one, module, resolver)]
        for function in along:
            own = function.module.table.own_scope[function.node]
            names: list[Variable] = [(own, parameter.arg) for parameter in all_parameters(function.node.args)]
            for _, value in given:
                yield value, [names], function.module


def _kept_by_method(
    call: ast.Call, module: Module, resolver: Resolver
) -> Iterator[tuple[ast.expr, list[list[Variable]], Module]]:
    """What calls put into lists and objects: `kept.append(x)`, `setattr(owner, "name", x)`, a dataclass's fields."""
    match call:
        case ast.Call(func=ast.Attribute(value=owner, attr=attr), args=args) if attr in KEEPING_METHODS:
            for value in args:
                yield value, [list(named(owner, module, resolver))], module
        case ast.Call(func=ast.Name(id="setattr"), args=[_, ast.Constant(value=str(name)), value]):
            yield value, [[(None, name)]], module
    for made in resolver.values(call.func, module) if isinstance(call.func, ast.Name | ast.Attribute) else ():
        if isinstance(made, External) and made.name in NAMESPACES:
            for keyword in call.keywords:
                yield keyword.value, [[(None, keyword.arg or "")]], module
        if isinstance(made, Class):
            fields = dict(zip(resolver.declared_fields(made), call.args, strict=False))
            for name, value in (*fields.items(), *((k.arg, k.value) for k in call.keywords if k.arg is not None)):
                yield value, [[(None, name)]], module


def _functions(node: ast.expr, module: Module, resolver: Resolver) -> list[tuple[Function, int]]:
    """The functions that an expression may be, each with the number of its parameters that a call does not give."""
    values = resolver.values(node, module) if isinstance(node, ast.Name | ast.Attribute | ast.Lambda) else ()
    found: list[tuple[Function, int]] = []
    for value in values:
        if isinstance(value, Function):
            found.append((value, int(value.receiver is not None)))
        elif isinstance(value, Class):
            for one in resolver.lineage(value):
                made = one.module.table.own_scope[one.node].bindings.get("__init__", ())
                nodes = (binding.node for binding in made)
                found += [(Function(one.module, node), 1) for node in nodes if isinstance(node, ast.FunctionDef)]
    return found


def _parameter(function: Function, place: int | str | None, skip: int) -> list[Variable]:
    """The parameter that an argument goes to; all of them where a star hides which."""
    own = function.module.table.own_scope[function.node]
    names = positional_names(function.node.args)[skip:]
    every = [parameter.arg for parameter in all_parameters(function.node.args)]
    if isinstance(place, int):
        rest = function.node.args.vararg
        return [(own, name) for name in names[place : place + 1] or ([rest.arg] if rest else [])]
    return [(own, name) for name in every if place in (None, name)]


def same(node: ast.expr, module: Module, resolver: Resolver) -> Iterator[Variable]:
    """The variables of which the value of an expression may be a view, or which it holds."""
    match node:
        case ast.Name() if node in module.table.scope_of:
            yield from named(node, module, resolver)
        case ast.Attribute(value=owner, attr=attr):
            yield from named(node, module, resolver)
            if attr in VIEWING_ATTRIBUTES:
                yield from same(owner, module, resolver)
        case ast.Call():
            for one in _kept(node, module, resolver):
                yield from same(one, module, resolver)
        case ast.Subscript(value=inner) | ast.Starred(value=inner) | ast.NamedExpr(value=inner):
            yield from same(inner, module, resolver)
        case _:
            for part in _parts(node):
                yield from same(part, module, resolver)


def _parts(node: ast.expr) -> list[ast.expr]:
    """The expressions of which an expression may give one, or which it holds."""
    match node:
        case ast.IfExp(body=body, orelse=orelse):
            return [body, orelse]
        case ast.BoolOp(values=parts) | ast.Tuple(elts=parts) | ast.List(elts=parts) | ast.Dict(values=parts):
            return parts
        case ast.BinOp(left=left, op=ast.Add() | ast.Mult() | ast.BitOr(), right=right):  # lists and dictionaries
            return [side for side in (left, right) if _is_display(side)]
        case ast.ListComp(elt=elt) | ast.GeneratorExp(elt=elt) | ast.DictComp(value=elt):
            return [elt]
    return []


def _is_display(node: ast.expr) -> bool:
    if isinstance(node, ast.BinOp):
        return _is_display(node.left) or _is_display(node.right)
    return isinstance(node, ast.List | ast.Tuple | ast.Dict | ast.ListComp | ast.DictComp)


def _kept(call: ast.Call, module: Module, resolver: Resolver) -> list[ast.expr]:
    """What a call is given, or called on, that its value may be a view of or hold."""
    values = resolver.values(call.func, module) if call.func in module.table.scope_of else ()
    given = [*call.args, *(keyword.value for keyword in call.keywords)]
    for value in values:
        home, _, name = value.name.rpartition(".") if isinstance(value, External) else ("", "", "")
        if home.startswith("numpy") and name in VIEWS:
            return given[:1]
        if home.startswith("numpy") and any(keyword.arg in (None, "copy") for keyword in call.keywords):
            return given[:1]  # `np.array(x, copy=False)`
        if (home == "builtins" and name in HOLDERS) or home in HOLDING or name in ("tree_map", "partial"):
            return given
        if isinstance(value, Function) and _gives_back(value):
            return given
    if isinstance(call.func, ast.Attribute) and call.func.attr in VIEWING_METHODS:
        return [call.func.value]
    return []


def _gives_back(function: Function) -> bool:
    """Whether a function may give back what it is given, or a view of it."""
    names = {parameter.arg for parameter in all_parameters(function.node.args)}
    given = (n for one in given_back(function) for n in ast.walk(one))
    return any(isinstance(n, ast.Name) and n.id in names for n in given)


def given_back(function: Function) -> list[ast.expr]:
    """What a function returns or yields."""
    if isinstance(function.node, ast.Lambda):
        return [function.node.body]
    given = [n.value for n in ast.walk(function.node) if isinstance(n, ast.Return | ast.Yield | ast.YieldFrom)]
    return [one for one in given if one is not None]


def named(target: ast.expr, module: Module, resolver: Resolver) -> Iterator[Variable]:
    """The variable or attribute of which a target is a part."""
    while isinstance(target, ast.Subscript):
        target = target.value
    if isinstance(target, ast.Attribute):
        yield None, target.attr
        for owner in resolver.values(target.value, module) if isinstance(target.value, ast.Name) else ():
            if isinstance(owner, ModuleValue):
                yield owner.module.table.root, target.attr
    elif isinstance(target, ast.Name):
        scope: Scope | None = module.table.scope_of.get(target)
        holder = scope.lookup(target.id) if scope is not None else None
        if holder is not None:
            yield home_of(target.id, holder, module, resolver)
