"""Which references to pmap a name leads to, through assignments and imports."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

from jaxmigrate.migrate.decide import is_bound_at_once
from jaxmigrate.program.combined import PARTIALS
from jaxmigrate.program.modules import Module, Project, import_name, read_utf8
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.sites import Reference, ReferenceNode, references, typed_value
from jaxmigrate.program.values import Class, External, Instance, ModuleValue

RENAMED = re.compile(r"\bpmap\s+as\s+\w")


def alias_modules(modules: Iterable[Module], texts: Mapping[Path, str]) -> set[str]:
    """The names of the modules through which an alias of pmap, which can have any name, may reach others.

    Importers of such a module can hand the alias on, so they are followed as far as there are any.
    """
    resolver = Resolver(Project(modules, lambda path: texts[path] if path in texts else read_utf8(path), texts))
    waiting = {
        import_name(m.path)
        for m in modules
        if RENAMED.search(m.text) or any(_is_alias(r, m) for r in references(m, resolver))
    }
    stems: set[str] = set()
    while waiting:
        stem = waiting.pop()
        stems.add(stem)
        imports = re.compile(rf"^[ \t]*(?:from|import)\b[^\n(]*(?:\([^)]*)?\b{re.escape(stem)}\b", re.MULTILINE)
        waiting |= {import_name(path) for path, text in texts.items() if stem in text and imports.search(text)} - stems
    return stems


def _is_alias(reference: Reference, module: Module) -> bool:
    """Whether a reference only gives pmap, or a partial of it, another name: its sites are where that name is used."""
    if is_bound_at_once(reference, module):
        return False
    node: ast.AST = reference.call if reference.use == "partial" and reference.call is not None else reference.typed
    parent = module.table.parents.get(node)
    return isinstance(parent, ast.Assign) and parent.value is node and isinstance(parent.targets[0], ast.Name)


def root_of(
    callee: ast.expr, module: Module, resolver: Resolver, roots: Collection[ReferenceNode]
) -> ReferenceNode | None:
    """The reference that an alias leads to, through single assignments and imports; None where the way is lost."""
    node: ast.expr = callee
    for _ in range(16):
        if isinstance(node, ast.Call) and node.args and not _is_getattr(node, module, resolver):
            typed = typed_value(node, module, resolver)
            node = typed or (node.args[0] if _is_partial(node, module, resolver) else node.func)
        if isinstance(node, ast.Name | ast.Attribute) and node in roots:
            return node
        step = _bound_value(node, module, resolver)
        if step is None:
            return None
        node, module = step
    return None


def is_one_of_several(callee: ast.expr, module: Module, resolver: Resolver, roots: Collection[ReferenceNode]) -> bool:
    """Whether an alias may be a reference or something else, as in `mapper = jax.jit if alone else jax.pmap`."""
    bindings = resolver.bindings_at(callee, module) if isinstance(callee, ast.Name) else []
    value = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
    if not isinstance(value, ast.IfExp):
        return False
    ways = [_element(way, bindings[0].path) for way in (value.body, value.orelse)]
    return any(way is not None and root_of(way, module, resolver, roots) is not None for way in ways)


def _element(value: ast.expr, path: Sequence[int | str]) -> ast.expr | None:
    """The part of a display that a target takes; None where it is none."""
    for place in path:
        if not isinstance(value, ast.Tuple | ast.List) or not isinstance(place, int) or place >= len(value.elts):
            return None
        value = value.elts[place]
    return value


def _is_partial(call: ast.Call, module: Module, resolver: Resolver) -> bool:
    callee = resolver.value(call.func, module)
    return isinstance(callee, External) and callee.name in PARTIALS


def _is_getattr(call: ast.Call, module: Module, resolver: Resolver) -> bool:
    return resolver.value(call.func, module) == External("builtins.getattr")


def _bound_value(node: ast.expr, module: Module, resolver: Resolver) -> tuple[ast.expr, Module] | None:
    """What stands behind a name, an attribute of a module or class, or an element of a display that has one value."""
    match node:
        case ast.Name():
            return _follow(resolver.bindings_at(node, module), module, resolver)
        case ast.Attribute(value=owner, attr=name):
            return _attribute(owner, name, module, resolver)
        case ast.Call(args=[owner, ast.Constant(value=str(name))], keywords=[]):
            return _attribute(owner, name, module, resolver)
        case ast.Subscript():
            return resolver.element(node, module)
    return None


def _attribute(owner: ast.expr, name: str, module: Module, resolver: Resolver) -> tuple[ast.expr, Module] | None:
    value = resolver.value(owner, module)
    if isinstance(value, ModuleValue):
        return _follow(resolver.standing(name, value.module), value.module, resolver)
    cls = value.cls if isinstance(value, Instance) else value
    line = resolver.lineage(cls) if isinstance(cls, Class) else []
    bound = [(one.module, found) for one in line if (found := one.module.table.own_scope[one.node].bindings.get(name))]
    own = isinstance(value, Class) or (isinstance(cls, Class) and not resolver.attributes.is_assigned(cls, name))
    return _follow(bound[0][1], bound[0][0], resolver) if bound and own else None


def _follow(bindings: Sequence[Binding], module: Module, resolver: Resolver) -> tuple[ast.expr, Module] | None:
    for _ in range(16):
        if len(bindings) != 1:
            return None
        binding = bindings[0]
        if binding.kind == "assign" and binding.value is not None and not binding.path:
            return binding.value, module
        if binding.kind != "from" or not isinstance(binding.node, ast.alias):
            return None
        statement = module.table.parents[binding.node]
        assert isinstance(statement, ast.ImportFrom)
        source = resolver.project.imported(module, statement.module or "", statement.level)
        if source is None:
            return None
        bindings, module = resolver.standing(binding.node.name, source), source
    return None
