"""PartitionSpecs: which axes one names, and which outputs declare a value replicated."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator

from jaxmigrate.flow.axis_symbols import has_symbols
from jaxmigrate.flow.axis_values import axis_names
from jaxmigrate.flow.variance import AbstractValue, Level, dict_of, tuple_of
from jaxmigrate.flow.variance.library import MUTATORS
from jaxmigrate.flow.written_specs import worked_out
from jaxmigrate.program.collectives import SPECS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.values import Application, Argument, Constant, External, Value


def spec_axes(node: ast.expr, module: Module, resolver: Resolver, *, symbols: bool = False) -> frozenset[str] | None:
    """The axes that a PartitionSpec names, None where that is not known; with `symbols` for those out of sight."""
    return _axes_of(resolver.value(node, module), resolver, symbols=symbols)


def _axes_of(value: Value, resolver: Resolver, *, symbols: bool) -> frozenset[str] | None:
    if not isinstance(value, Application) or not isinstance(value.callee, External) or value.callee.name not in SPECS:
        known = worked_out(value, resolver)
        return None if known is None else frozenset(axis for entry in known for axis in entry)
    names: set[str] = set()
    for one in value.arguments:
        if one.keyword == "*" and one.expression is not None:
            starred = _starred(one.expression)
            if starred is None:
                return None
            names |= starred
            continue
        plain = one.keyword is None
        found = axis_names(one.expression, one.module, resolver, {}, symbols=symbols) if plain else None
        if found is None or (len(resolver.argument_values(one)) > 1 and not _is_of_object(one)):
            return None  # `P("i" if split else None)`
        names.update(found)
    return frozenset(names)


def _is_of_object(one: Argument) -> bool:
    """Whether an entry is what an object holds, `self.axis`: its default, or what it was made with, is one axis."""
    return isinstance(one.expression, ast.Attribute)


def _starred(node: ast.expr) -> frozenset[str] | None:
    """The axes in `*((None, "x") + (n - 1) * (None,))`: all that is written in its tuples."""
    match node:
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            one, other = _starred(left), _starred(right)
            return None if one is None or other is None else one | other
        case ast.BinOp(left=left, op=ast.Mult(), right=right):
            return _starred(left if isinstance(left, ast.Tuple | ast.List) else right)
        case ast.Tuple(elts=parts) | ast.List(elts=parts):
            values = [one.value if isinstance(one, ast.Constant) else ... for one in parts]
            known = all(value is None or isinstance(value, str) for value in values)
            return frozenset(value for value in values if isinstance(value, str)) if known else None
    return None


def spec_var(node: ast.expr, module: Module, resolver: Resolver, over: frozenset[str] | None = None) -> AbstractValue:
    """What a block with this spec is: equal on all devices under `P()`, different under one that splits it.

    Asked about the devices along some axes: those that the spec does not name hold equal blocks. What has None for a
    spec holds no arrays: it is what an argument is that a jit around takes for static.
    """
    if resolver.value(node, module) == Constant(None):
        return AbstractValue(Level.NO)
    listed = resolver.container(node, module)
    if listed is not None:
        made = _of_listed(*listed, resolver, over)
        return made if listed[0] is node or not _is_changed(node, module) else AbstractValue(Level.MAY)
    assumed = resolver.defaults_hold
    ways = resolver.values(node, module)
    if assumed and len(ways) > 1:
        found = {_block(_axes_of(one, resolver, symbols=True), over) for one in ways if one != Constant(None)}
        return found.pop() if len(found) == 1 else AbstractValue(Level.MAY)
    return _block(spec_axes(node, module, resolver, symbols=assumed), over)


def _block(axes: frozenset[str] | None, over: frozenset[str] | None) -> AbstractValue:
    if axes is None:
        return AbstractValue(Level.MAY)
    if axes if over is None else axes & over:
        return AbstractValue(Level.YES)
    return AbstractValue(Level.MAY if axes and has_symbols(axes | (over or frozenset())) else Level.NO)


def _is_changed(node: ast.expr, module: Module) -> bool:
    """Whether something is stored in what a name holds, or a method of it is called that may."""
    names = [one for one in module.table.parents if isinstance(one, ast.Name) and one.id == getattr(node, "id", "")]
    above = [module.table.parents[one] for one in names]
    stored = any(isinstance(one, ast.Subscript) and not isinstance(one.ctx, ast.Load) for one in above)
    return stored or any(isinstance(one, ast.Attribute) and one.attr in MUTATORS for one in above)


def _of_listed(
    node: ast.Dict | ast.Tuple | ast.List, module: Module, resolver: Resolver, over: frozenset[str] | None
) -> AbstractValue:
    """What a tuple or dictionary of blocks is."""
    if isinstance(node, ast.Dict):
        names = [key.value if isinstance(key, ast.Constant) else None for key in node.keys]
        if not all(isinstance(name, str) for name in names):
            return AbstractValue(Level.MAY)
        values = [spec_var(one, module, resolver, over) for one in node.values]
        return dict_of({str(name): value for name, value in zip(names, values, strict=True)})
    if any(isinstance(one, ast.Starred) for one in node.elts):
        return AbstractValue(Level.MAY)
    return tuple_of([spec_var(one, module, resolver, over) for one in node.elts])


def spec_calls(
    node: ast.expr, module: Module, resolver: Resolver, *, symbols: bool = False
) -> Iterator[tuple[Module, ast.expr, frozenset[str]]]:
    """Every PartitionSpec written in an expression of specs, or behind a name in it, with the axes that it names."""
    if isinstance(node, ast.Tuple | ast.List):
        for element in node.elts:
            yield from spec_calls(element, module, resolver, symbols=symbols)
    elif isinstance(node, ast.Dict):
        for entry in node.values:
            yield from spec_calls(entry, module, resolver, symbols=symbols)
    else:
        value = resolver.value(node, module)
        axes = spec_axes(node, module, resolver, symbols=symbols)
        if axes is not None and isinstance(value, Application):
            yield value.module, value.node, axes


def varies(value: AbstractValue) -> bool:
    """Whether a value certainly differs between devices."""
    return value.level == Level.YES


def out_vars(
    node: ast.expr,
    module: Module,
    value: AbstractValue,
    replicated: Callable[[ast.expr, Module], bool],
    resolver: Resolver,
    wrong: Callable[[AbstractValue], bool] = varies,
) -> Iterator[tuple[Module, ast.expr, str]]:
    """The output declarations that say replicated of a value that is not, and which output each means."""
    yield from _out_vars(
        node, module, value, lambda one, where, held: wrong(held) and replicated(one, where), resolver, ""
    )


def _out_vars(
    node: ast.expr,
    module: Module,
    value: AbstractValue,
    is_wrong: Callable[[ast.expr, Module, AbstractValue], bool],
    resolver: Resolver,
    which: str,
) -> Iterator[tuple[Module, ast.expr, str]]:
    listed = resolver.container(node, module)
    if listed is None:
        if is_wrong(node, module, value):
            yield module, node, f"output {which}" if which else "the output"
        return
    display, home = listed
    if isinstance(display, ast.Dict):
        for key, element in zip(display.keys, display.values, strict=True):
            name = key.value if isinstance(key, ast.Constant) else None
            if isinstance(name, str) and value.fields is not None and name in value.fields:
                inner = f"{which}[{name!r}]" if which else repr(name)
                yield from _out_vars(element, home, value.fields[name], is_wrong, resolver, inner)
    elif value.parts is not None and len(value.parts) == len(display.elts):
        for index, (element, part) in enumerate(zip(display.elts, value.parts, strict=True)):
            inner = f"{which}[{index}]" if which else str(index)
            yield from _out_vars(element, home, part, is_wrong, resolver, inner)
