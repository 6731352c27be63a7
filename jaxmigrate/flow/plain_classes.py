"""Classes of the project that are no trees of arrays: a compiled function takes their objects as static alone."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode, all_parameters
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Class, External, Value

BASES = named("inert-base") - named("named-tuple")
DECORATORS = named("inert-class-decorator") - named("pytree")
FLATTENS = frozenset({"tree_flatten", "tree_unflatten", "__jax_array__"})
# of libraries, and of code that is not in the project: `FrozenConfigDict`, `ModelConfig`, `HParams`
CONFIGURATION = re.compile(r"(Config(s|Dict|uration)?|Settings|Options|HParams|H(yper)?[pP]aram(eter)?s|Namespace)$")


@once_each
def is_plain(cls: Class, resolver: Resolver) -> bool:
    """Whether a class is a plain one, by itself and by its bases, that nothing makes a tree of arrays."""
    return all(_is_plain_alone(one, resolver) for one in resolver.lineage(cls))


def _is_plain_alone(cls: Class, resolver: Resolver) -> bool:
    inner = [one.value if isinstance(one, ast.Subscript) else one for one in cls.node.bases]
    if not all(_is_one_of(one, cls.module, resolver, BASES) for one in inner):
        return False
    marks = [one.func if isinstance(one, ast.Call) else one for one in cls.node.decorator_list]
    if cls.node.keywords or not all(_is_one_of(one, cls.module, resolver, DECORATORS) for one in marks):
        return False
    if any(isinstance(one, ast.FunctionDef) and one.name in FLATTENS for one in cls.node.body):
        return False
    registers = re.compile(rf"\bregister_\w+\(\s*(\w+\.)*{cls.node.name}\b")
    return not any("register_" in one.text and registers.search(one.text) for one in resolver.project.program)


def _is_one_of(node: ast.expr, module: Module, resolver: Resolver, names: frozenset[str]) -> bool:
    value = resolver.value(node, module)
    return isinstance(value, Class) or (isinstance(value, External) and value.name in names)


def is_configuration(function: FunctionNode, name: str, module: Module, resolver: Resolver) -> bool:
    """Whether a parameter is annotated with a plain class of the project, or with one that is named a configuration."""
    annotation = next((one.annotation for one in all_parameters(function.args) if one.arg == name), None)
    kinds = [*_kinds(annotation)]
    return bool(kinds) and all(
        CONFIGURATION.search(last_name(one))
        or any(isinstance(v, Class) and is_plain(v, resolver) for v in _classes(one, module, resolver))
        for one in kinds
    )


def _classes(kind: ast.expr, module: Module, resolver: Resolver) -> tuple[Value, ...]:
    """What an annotation stands for; one in quotes is read where the module ends, by its name alone."""
    if kind in module.table.scope_of:
        return resolver.values(kind, module)
    return resolver.name_values(kind.id, module.table.root, module) if isinstance(kind, ast.Name) else ()


def _kinds(annotation: ast.expr | None) -> Iterator[ast.expr]:
    """The classes that an annotation names: of `Optional["Model"]` and `Model | None` the one."""
    match annotation:
        case ast.Constant(value=str(text)):
            try:
                yield from _kinds(ast.parse(text, mode="eval").body)
            except SyntaxError:
                return
        case ast.BinOp(left=left, op=ast.BitOr(), right=right):
            yield from _kinds(left)
            yield from _kinds(right)
        case ast.Subscript(value=whole, slice=part) if last_name(whole) in ("Optional", "Final", "Annotated"):
            yield from _kinds(part.elts[0] if isinstance(part, ast.Tuple) else part)
        case ast.Name() | ast.Attribute():
            yield annotation
