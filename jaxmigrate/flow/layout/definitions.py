"""What functions, decorators and imports bind."""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout import devices, frames, loaded_modules, mapped, methods, module_variables
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.functions import is_generator
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, given_of
from jaxmigrate.flow.layout.values import NOTHING, PLAIN, Abstract, Ext, Func, Mod, Nothing, Site, func
from jaxmigrate.program.combined import canonical
from jaxmigrate.program.library import named, starting
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import is_docstring
from jaxmigrate.program.trees import ANY_TREE_MAPS
from jaxmigrate.program.values import Function

INERT_DECORATORS = named("same-function", "inert-decorator")
CACHES = named("cache")
INERT_FAMILIES = starting("inert-decorator")


def define(it: Interpreter, node: ast.FunctionDef | ast.AsyncFunctionDef, frame: Frame) -> None:
    """Binds a function's name to it under its decorators."""
    frames.defined(it, node, frame)
    for default in [*node.args.defaults, *node.args.kw_defaults]:
        if default is not None:
            given = it.evaluate(default, frame)
            it.block_all([given], Stacked.PASSED_ON.reason("is a parameter's default"), default, frame.module)
    function = Function(frame.module, node)
    value: Abstract = func(function)
    if frame.scope.kind == "class":
        methods.define(it, node, frame)
        return
    for decorator in reversed(node.decorator_list):
        value = _decorated(it, decorator, value, frame)
    frames.assign_name(it, node.name, value, node, frame)


def _decorated(it: Interpreter, decorator: ast.expr, value: Abstract, frame: Frame) -> Abstract:
    """A function under one more decorator."""
    if decorator in it.sites:
        it.evaluate(decorator, frame)
        devices.map_more(it, decorator, value, frame)
        devices.on_device(it, value)
        return func(Site(decorator))
    applied = it.evaluate(decorator, frame)
    if isinstance(applied, Nothing) and not it.final:
        return NOTHING  # of a function that has not been followed yet
    names = {item.name for item in applied.items if isinstance(item, Ext)} if isinstance(applied, Func) else set()
    called = it.idioms.called(decorator, frame.module)
    if isinstance(decorator, ast.Call) and called in INERT_DECORATORS:
        return value
    if called.startswith(INERT_FAMILIES) or (names and names <= INERT_DECORATORS):
        return value
    if called in CACHES and _returns_once(value):
        return value
    is_jit = names == {mapped.JIT} and isinstance(decorator, ast.Name | ast.Attribute)
    if is_jit and (mapped.note_compiled(it, value) or _only_indexes(it, value)):
        return value
    if isinstance(applied, Func) and not names:
        return it.call_value(applied, given_of([value]), decorator, frame)
    if not devices.is_of_host(it, decorator, frame.module):
        devices.on_device(it, value)
    it.block_all(
        [value], Stacked.REACHABLE.reason("is changed by a decorator that fix cannot follow"), decorator, frame.module
    )
    return PLAIN


def _returns_once(value: Abstract) -> bool:
    """Whether a value is plain functions, of which a cache that keeps the results has each call give what one gave.

    What they hold on to may be called again; a generator that is kept has run.
    """
    nodes = [one.node for one in value.items if isinstance(one, Function)] if isinstance(value, Func) else []
    plain = all(isinstance(node, ast.FunctionDef) and not is_generator(node) for node in nodes)
    return isinstance(value, Func) and len(nodes) == len(value.items) > 0 and plain


def _only_indexes(it: Interpreter, value: Abstract) -> bool:
    """Whether a function does nothing but index the arrays of an argument, as it would without jit."""
    function = next(iter(value.items)) if isinstance(value, Func) and len(value.items) == 1 else None
    if not isinstance(function, Function) or not isinstance(function.node, ast.FunctionDef):
        return False
    *before, last = function.node.body
    returned = last.value if isinstance(last, ast.Return) and all(map(is_docstring, before)) else None
    match returned:
        case ast.Call(func=func, args=[ast.Lambda(body=ast.Subscript(value=ast.Name())), ast.Name()], keywords=[]):
            return it.idioms.external(func, function.module) in ANY_TREE_MAPS
    return isinstance(returned, ast.Subscript) and isinstance(returned.value, ast.Name)


def bind_import(it: Interpreter, node: ast.Import | ast.ImportFrom, frame: Frame) -> None:
    """Binds what an import brings in."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            name = alias.name if alias.asname else alias.name.partition(".")[0]
            found = it.resolver.project.imported(frame.module, name)
            if found is None:
                loaded_modules.imported(it, name, alias, frame)
            value = func(Mod(found)) if found is not None else func(Ext(canonical(name)))
            frames.assign_name(it, alias.asname or name, value, node, frame)
        return
    source = it.resolver.project.imported(frame.module, node.module or "", node.level)
    for alias in node.names:
        if alias.name == "*":
            _rebind(it, source, node, frame)
            continue
        frames.assign_name(it, alias.asname or alias.name, _from_import(it, node, alias, source, frame), node, frame)


def _rebind(it: Interpreter, source: Module | None, node: ast.ImportFrom, frame: Frame) -> None:
    """Binds anew the names of a module that a star import in it brings in as well."""
    if source is None or source is frame.module:
        return
    for name in frame.scope.bindings:
        brought = module_variables.starred(it, name, [source], node, frame.module)
        if brought is not None:
            frames.assign_name(it, name, brought, node, frame)


def _from_import(
    it: Interpreter, node: ast.ImportFrom, alias: ast.alias, source: Module | None, frame: Frame
) -> Abstract:
    dotted = f"{node.module or ''}.{alias.name}".lstrip(".")
    if source is None:
        inner = it.resolver.project.imported(frame.module, dotted, node.level)
        bound = frame.module.table.root.bindings.get(alias.name, ())
        if inner is None or any(one.node is not alias for one in bound):  # which `from package import x` in it gives
            loaded_modules.imported(it, dotted, alias, frame)
        return func(Mod(inner)) if inner is not None else func(Ext(canonical("." * node.level + dotted)))
    return module_variables.module_attribute(it, source, alias.name)
