"""Where a program maps functions with pmap.

Two kinds of place matter. A *reference* is an expression that denotes `jax.pmap` itself, through imports alone: it is
what a rewrite replaces. A *site* is where a function is mapped: a call or a decorator whose callee is, or leads to,
`jax.pmap`. Most sites have a reference of their own; those that go through an alias of the project's lean on the
alias's reference.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Literal, TypeAlias, cast

from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.collectives import PMAP
from jaxmigrate.program.combined import PARTIALS, canonical
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.values import (
    UNKNOWN,
    Argument,
    Constant,
    External,
    Function,
    ModuleValue,
    Parameter,
    Partial,
    Value,
    Values,
)
from jaxmigrate.records import record

ReferenceNode: TypeAlias = ast.Name | ast.Attribute
NAMED_TYPES = frozenset(External(name) for name in named("named-type"))
Use = Literal["call", "partial", "decorator", "value"]


@record(eq=False)
class Reference:
    """An expression that denotes `jax.pmap` through imports alone.

    `use` says what is done with it: called, bound by functools.partial, put as a decorator, or handed on as a value.
    `call` is the call that it is the callee (or the partial's first argument) of. `typed` is it with the type that it
    is given on the spot, `cast(Callable, jax.pmap)`; `node` itself where it is given none.
    """

    module: Module
    node: ReferenceNode
    use: Use
    call: ast.Call | None
    typed: ast.expr


@record(eq=False)
class MappedSite:
    """A place where a function is mapped.

    `node` is the call or decorator that maps; `callee` the expression called there; `reference` the reference of the
    same place, None where the site goes through an alias. `arguments` are all that reach pmap, those bound by a partial
    on the way included, without the mapped function; `mapped` is what is mapped.
    """

    module: Module
    node: ast.expr
    callee: ast.expr
    reference: Reference | None
    mapped: Argument | None
    arguments: tuple[Argument, ...]

    def keyword(self, name: str) -> Argument | None:
        """The argument given for a keyword of pmap; for `axis_name` also by position."""
        found = [a for a in self.arguments if a.keyword == name]
        if not found and name == "axis_name":
            found = [a for a in self.arguments if a.keyword is None][:1]
        return found[-1] if found else None

    @property
    def is_open(self) -> bool:
        """Whether a `*args` or `**kwargs` hides which keywords are given."""
        return any(a.keyword in ("*", "**") for a in self.arguments)


def denotes(node: ReferenceNode, resolver: Resolver, module: Module) -> str | None:
    """The external dotted name that `node` denotes through imports alone, or None."""
    if isinstance(node, ast.Name):
        bindings = resolver.bindings(node.id, module.table.scope_of[node])
        if not bindings:
            found = resolver.name_values(node.id, module.table.scope_of[node], module)
            name = found[0].name if len(found) == 1 and isinstance(found[0], External) else ""
            return name if name.partition(".")[0] == "jax" else None
        return _agreed(bindings, resolver, module)
    if isinstance(node.value, ast.Name | ast.Attribute):
        return _member(node, resolver, module)
    return None


def _member(node: ast.Attribute, resolver: Resolver, module: Module) -> str | None:
    values = [v for v in resolver.values(node.value, module) if v != Constant(None)]
    owner = values[0] if len(values) == 1 else UNKNOWN
    if isinstance(owner, External):
        base = denotes(cast("ReferenceNode", node.value), resolver, module)
        return canonical(f"{base}.{node.attr}") if base is not None else None
    if isinstance(owner, ModuleValue):
        return _agreed(owner.module.table.root.bindings.get(node.attr, []), resolver, owner.module)
    return None


def _denoted_by(binding: Binding, resolver: Resolver, module: Module) -> str | None:
    """What one binding denotes, if it is an import and every import behind it is one too."""
    if binding.kind not in ("import", "from"):
        return None
    if binding.kind == "from":
        alias = cast("ast.alias", binding.node)
        statement = cast("ast.ImportFrom", module.table.parents[alias])
        source = resolver.project.imported(module, statement.module or "", statement.level)
        if source is not None and source is not module:
            behind = source.table.root.bindings.get(alias.name)
            if behind:
                return _agreed(behind, resolver, source)
    found = tuple(resolver.binding_values(binding, module))
    return found[0].name if len(found) == 1 and isinstance(found[0], External) else None


def _agreed(bindings: Iterable[Binding], resolver: Resolver, module: Module) -> str | None:
    """What all bindings denote; `jax = None` where an import failed counts for nothing, since None maps nothing."""
    real = [b for b in bindings if not (isinstance(b.value, ast.Constant) and b.value.value is None)]
    found = {_denoted_by(binding, resolver, module) for binding in real}
    return found.pop() if len(found) == 1 else None


def references(module: Module, resolver: Resolver, target: str = PMAP) -> list[Reference]:
    """The references to `target` in a module, in the order of its text."""
    names = _names(target, resolver)
    if not module.table.star_imports and not any(name in module.text for name in names):
        return []
    found = [n for n in module.table.references if _may_denote(n, names, module)]
    denoting = [n for n in found if denotes(n, resolver, module) == target]
    return [_reference(n, module, resolver) for n in sorted(denoting, key=position)]


def _names(target: str, resolver: Resolver) -> frozenset[str]:
    """The last part of `target` and every other name under which some import of the project brings it in."""
    last = target.rpartition(".")[2]
    if target not in resolver.names:
        renamed = re.compile(rf"\b{last}\s+as\s+(\w+)")
        found = {name for module in resolver.project.named for name in renamed.findall(module.text)}
        resolver.names[target] = frozenset({last, *found})
    return resolver.names[target]


def _may_denote(node: ReferenceNode, names: frozenset[str], module: Module) -> bool:
    """A cheap test before the real one: one of the names, or a name that a from-import binds."""
    if isinstance(node, ast.Attribute):
        return node.attr in names
    if node.id in names:
        return True
    holder = module.table.scope_of[node].lookup(node.id)
    return holder is not None and any(_imports_one(b, names) for b in holder.bindings[node.id])


def _imports_one(binding: Binding, names: frozenset[str]) -> bool:
    return binding.kind == "from" and isinstance(binding.node, ast.alias) and binding.node.name in names


def _reference(node: ReferenceNode, module: Module, resolver: Resolver) -> Reference:
    typed = _typed(node, module, resolver)
    parent = module.table.parents.get(typed)
    if isinstance(parent, ast.Call) and parent.func is typed:
        return Reference(module, node, "call", parent, typed)
    if isinstance(parent, ast.Call) and parent.args and parent.args[0] is typed:
        callee = resolver.value(parent.func, module)
        if isinstance(callee, External) and callee.name in PARTIALS:
            return Reference(module, node, "partial", parent, typed)
    if isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef) and typed in parent.decorator_list:
        return Reference(module, node, "decorator", None, typed)
    return Reference(module, node, "value", None, typed)


def _typed(node: ast.expr, module: Module, resolver: Resolver) -> ast.expr:
    """An expression with the types that it is given on the spot."""
    parent = module.table.parents.get(node)
    if isinstance(parent, ast.Call) and typed_value(parent, module, resolver) is node:
        return _typed(parent, module, resolver)
    return node


def typed_value(call: ast.Call, module: Module, resolver: Resolver) -> ast.expr | None:
    """What `typing.cast(Type, value)` gives back; None for any other call."""
    if len(call.args) == 2 and not call.keywords and resolver.value(call.func, module) in NAMED_TYPES:
        return call.args[1]
    return None


def mapped_sites(module: Module, resolver: Resolver, target: str = PMAP) -> list[MappedSite]:
    """Every place in a module where a function is mapped by `target`, in the order of its text."""
    own = {r.typed: r for r in references(module, resolver, target)}
    sites = [
        *_call_sites(module, resolver, own, target),
        *_decorator_sites(module, resolver, own, target),
    ]
    return sorted(sites, key=lambda site: position(site.node))


def _call_sites(
    module: Module, resolver: Resolver, own: dict[ast.expr, Reference], target: str
) -> Iterator[MappedSite]:
    for call in module.table.calls:
        if is_decorator(call, module):
            continue
        bound = _bound_arguments(resolver.values(call.func, module), target)
        if bound is None:
            continue
        arguments = (*bound, *call_arguments(call, module))
        mapped, rest = _split_mapped(arguments)
        if mapped is not None and target == PMAP:
            mapped = _without_jit(mapped, resolver)
        yield MappedSite(module, call, call.func, _own_reference(call.func, own), mapped, rest)


def _without_jit(argument: Argument, resolver: Resolver) -> Argument:
    """What is mapped, without a `jax.jit` of its own that says nothing: pmap compiles it as well."""
    match argument.expression:
        case ast.Call(func=func, args=[inner], keywords=[]) if not isinstance(inner, ast.Starred):
            if resolver.value(func, argument.module) == External("jax.jit"):
                return Argument(argument.keyword, inner, argument.module)
    return argument


def _decorator_sites(
    module: Module, resolver: Resolver, own: dict[ast.expr, Reference], target: str
) -> Iterator[MappedSite]:
    for node, scope in module.table.own_scope.items():
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or scope.parent is None:
            continue
        for decorator in reversed(node.decorator_list):
            bound = _bound_arguments(resolver.values(decorator, module), target)
            if bound is not None:
                mapped = Argument(None, None, module, _undecorated(node, module, resolver, decorator))
                reference = _own_reference(decorator, own)
                _, rest = _split_mapped((mapped, *bound))
                yield MappedSite(module, decorator, decorator, reference, mapped, rest)


def _undecorated(
    node: ast.FunctionDef | ast.AsyncFunctionDef, module: Module, resolver: Resolver, until: ast.expr
) -> Value:
    """The function with the decorators below `until` applied."""
    below = node.decorator_list[node.decorator_list.index(until) + 1 :]
    value: Value = Function(module, node)
    for decorator in reversed(below):
        callee = resolver.value(decorator, module)
        applied = tuple(resolver.apply(callee, (Argument(None, None, module, value),), decorator, module))
        value = applied[0] if len(applied) == 1 else UNKNOWN
    return value


def _bound_arguments(values: Values, target: str) -> tuple[Argument, ...] | None:
    """The arguments already bound if one of `values` is `target` or a partial of it, else None."""
    for value in values:
        if value == External(target):
            return ()
        if isinstance(value, Partial) and value.callee == External(target):
            return value.arguments
    return None


def _split_mapped(arguments: tuple[Argument, ...]) -> tuple[Argument | None, tuple[Argument, ...]]:
    for index, argument in enumerate(arguments):
        if argument.keyword is None or argument.keyword == "fun":
            return argument, arguments[:index] + arguments[index + 1 :]
    return None, arguments


def _own_reference(callee: ast.expr, own: dict[ast.expr, Reference]) -> Reference | None:
    """The reference that stands in the callee itself: `pmap`, or `partial(pmap, ...)`."""
    if callee in own or not isinstance(callee, ast.Call):
        return own.get(callee)
    return own.get(callee.args[0]) if callee.args else None


def is_decorator(node: ast.expr, module: Module) -> bool:
    """Whether an expression stands as a decorator."""
    parent = module.table.parents.get(node)
    return isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and node in parent.decorator_list


def axis_of(site: MappedSite, resolver: Resolver) -> Value | None:
    """The value of a site's axis_name: None where it has none, UNKNOWN where it is only known at run time."""
    argument = site.keyword("axis_name")
    if argument is None:
        return UNKNOWN if site.is_open else None
    values = resolver.argument_values(argument)
    value = values[0] if len(values) == 1 else UNKNOWN
    if isinstance(value, Parameter):
        passed = callers_of(resolver).passed(value)  # `def make(lr, axis_name="batch")`, where all calls leave it so
        value = passed[0] if len(passed) == 1 else value
    return None if value == Constant(None) else value


def listed(site: MappedSite, keyword: str, resolver: Resolver) -> tuple[int, ...] | None:
    """The positions that a keyword of a site lists; None where they are only known at run time."""
    value = literal_of(site, keyword, (), resolver)
    if isinstance(value, int):
        return (value,)
    return value if isinstance(value, tuple) and all(isinstance(v, int) for v in value) else None


def literal_of(site: MappedSite, keyword: str, default: object, resolver: Resolver) -> object:
    """What a keyword of a site says, `default` without it, `...` where only a run tells; lists are tuples."""
    argument = site.keyword(keyword)
    value = resolver.literal(argument) if argument is not None else default
    return tuple(value) if isinstance(value, list) else value


def mapped_values(site: MappedSite, resolver: Resolver) -> Values:
    """What a site maps."""
    return resolver.argument_values(site.mapped) if site.mapped is not None else (UNKNOWN,)


def mapped_function(site: MappedSite, resolver: Resolver) -> tuple[Function | None, frozenset[str]]:
    """The one def or lambda of the project that a site maps, and the parameters that a partial binds by keyword."""
    found = mapped_values(site, resolver)
    value = found[0] if len(found) == 1 else None
    bound: frozenset[str] = frozenset()
    if isinstance(value, Partial) and value.is_by_name:
        bound = frozenset(argument.keyword for argument in value.arguments if argument.keyword is not None)
        value = value.callee
    return (value, bound) if isinstance(value, Function) else (None, bound)


def position(node: ast.expr) -> tuple[int, int]:
    """Where an expression starts: line from 1, column in UTF-8 bytes from 0, as in `ast`."""
    return node.lineno, node.col_offset
