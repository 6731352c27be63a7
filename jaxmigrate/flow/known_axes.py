"""All axis names that a program's maps and meshes bind, for places of which it is not known what runs around them."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.axis_values import axis_names, mesh_axes
from jaxmigrate.flow.configured import texts_of, texts_of_value
from jaxmigrate.flow.context_meshes import entered
from jaxmigrate.flow.meshes import mesh_call
from jaxmigrate.flow.spelling import is_slip
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.collectives import SHARD_MAPS, SPECS, argument
from jaxmigrate.program.library import last_names, named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import (
    UNKNOWN,
    Application,
    Argument,
    Constant,
    External,
    Function,
    Member,
    Parameter,
    Value,
)

MESHES = last_names("mesh") | {"AbstractMesh"}
NAMED_MESHES = named("mesh")

LAST_SHARD_MAPS = last_names("shard-map")
SPEC_NAMES = frozenset({"PartitionSpec", "P", "PS"})
USUAL = 3
# `mesh_axis_names=["data", "model"]`, by which a library's configuration makes the mesh
DECLARED = re.compile(r"^(ici_|dcn_)?mesh_ax(is|es)(_names)?$|^axis_names$", re.IGNORECASE)
_DECLARES = re.compile(r"mesh_ax|axis_names", re.IGNORECASE)
# `load_mesh(shape, ("dp", "mp"))`, and not `set_mesh` or `shard_on_mesh`, which are given one
_MAKES_MESH = re.compile(r"^(?!set_|use_|with_|plot_|in_)(\w*_)?mesh(es)?(\d|_(from|for|of|with)\w*)?$|^[A-Za-z]*Mesh$")
_MAKES = re.compile(r"^_?(make|build|create|load|init|instantiate|setup|new)")
_MESH = re.compile(r"(^|_)mesh$")
_OWN_LIBRARIES = ("jax.", "numpy.", "builtins.")
DEEPEST = 4  # functions that a mesh comes through
MAPS = last_names("pmap", "like-pmap", "vmap", "one-axis", "other-map")


class KnownAxes(NamedTuple):
    """The names, and whether there can be no others: each mesh and named map of the program says what its own are."""

    names: frozenset[str]
    complete: bool


@once
def known_axes(resolver: Resolver) -> KnownAxes:
    """The axes that a program binds anywhere, worked out when first asked for."""
    found = [one for module in resolver.project.program for one in _bound(module, resolver)]
    names = frozenset(name for one in found for name in one or ())
    names |= {name for module in resolver.project.program for name in _declared(module)} if names else set()
    return KnownAxes(names, bool(names) and None not in found)


def is_of_project(mesh: Argument | None, resolver: Resolver) -> bool:
    """Whether a mesh whose axes are out of sight is one of those that the program makes, as far as can be told.

    That is what a function or an object is given; what a library's function makes, or unknown code, may have any axes.
    """
    if mesh is None:  # that in context
        found = [one.mesh for module in resolver.project.program for one in entered(module, resolver)]
        return bool(found) and all(is_of_project(one, resolver) for one in found)
    if not isinstance(mesh.expression, ast.Name | ast.Attribute):
        return False
    values = resolver.argument_values(mesh)
    given = [p for v in values if isinstance(v, Parameter) for p in callers_of(resolver).passed(v) if p != UNKNOWN]
    if values and all(isinstance(v, Parameter) and _is_for_others(v, resolver) for v in values):
        return False
    return all(
        isinstance(value, Parameter | Member) or _is_mesh(value, resolver, DEEPEST) for value in (*values, *given)
    )


def _is_for_others(parameter: Parameter, resolver: Resolver, depth: int = DEEPEST) -> bool:
    """Whether a parameter comes, through functions that hand it on, from callers who are none of the program's.

    A notebook, or whoever imports a library, makes a mesh of any axes.
    """
    function = parameter.function
    if isinstance(function, ast.Lambda):
        return False
    used = any(one.table.named.get(function.name) for one in resolver.project.program if function.name in one.text)
    if not used:
        return function.name != "__init__"
    written = callers_of(resolver).written(parameter) if depth else None
    values = [value for node, module in written or () for value in resolver.values(node, module)]
    return bool(values) and all(isinstance(v, Parameter) and _is_for_others(v, resolver, depth - 1) for v in values)


@once
def all_run_on_meshes_of_project(resolver: Resolver) -> bool:
    """Whether each shard_map runs on a mesh of the program: its axes are known, or it is one of those made in sight."""
    found = (one for module in resolver.project.program for one in _meshes_of_maps(module, resolver))
    return all(
        is_of_project(one, resolver) or (one is not None and mesh_axes(one, resolver, {}) is not None) for one in found
    )


def _meshes_of_maps(module: Module, resolver: Resolver) -> Iterator[Argument | None]:
    """The mesh that each shard_map of a module is given, None for that in context."""
    if not any(name in module.text for name in LAST_SHARD_MAPS):
        return
    for name in LAST_SHARD_MAPS:
        for node in module.table.named.get(name, ()):
            call = module.table.parents.get(node)
            if not isinstance(call, ast.Call) or not _is_shard_map(node, module, resolver):
                continue
            arguments = call_arguments(call, module)
            if any(one.keyword == "**" for one in arguments):
                continue  # as a function that hands on what it is given: its callers say the mesh
            yield argument(arguments, 1 if call.func is node else 2, "mesh")


def _is_shard_map(node: ast.expr, module: Module, resolver: Resolver) -> bool:
    value = resolver.value(node, module)
    return isinstance(value, External) and value.name in SHARD_MAPS


def _is_mesh(value: Value, resolver: Resolver, depth: int) -> bool:
    """Whether a value is a mesh that the program makes: by a call of JAX, or by a function of its own."""
    callee = value.callee if isinstance(value, Application) else None
    if isinstance(callee, Function) and depth:
        made = [one for one in resolver.returned(callee) if one != Constant(None)]
        return bool(made) and all(_is_mesh(one, resolver, depth - 1) for one in made)
    return isinstance(callee, External) and callee.name in NAMED_MESHES


def is_misspelt(axis: str, resolver: Resolver) -> str:
    """The axis that a name is a slip of, which nothing else in the program has; empty where it may be a name."""
    names = known_axes(resolver).names
    slip = "" if axis in names else next((n for n in sorted(names | usual_axes(resolver)) if is_slip(axis, n)), "")
    texts = (module.text for module in resolver.project.program)
    if not slip or sum(text.count(f"'{axis}'") + text.count(f'"{axis}"') for text in texts) > 1:
        return ""
    return slip


@once
def usual_axes(resolver: Resolver) -> frozenset[str]:
    """The axes that a program's specs name again and again, wherever they come from."""
    count: Counter[str] = Counter()
    for module in resolver.project.program:
        if any(word in module.text for word in SPEC_NAMES):
            count.update(str(one.value) for _, one in written_in_specs(module, resolver))
    return frozenset(name for name, times in count.items() if times >= USUAL)


def written_in_specs(module: Module, resolver: Resolver) -> Iterator[tuple[ast.Call, ast.Constant]]:
    """Each axis that is written in a module's PartitionSpecs, with its spec."""
    names = SPEC_NAMES | {b.name for b in module.table.imports if getattr(b.node, "name", "") == "PartitionSpec"}
    for name in names:
        for node in module.table.named.get(name, ()):
            call = module.table.parents.get(node)
            if isinstance(call, ast.Call) and call.func is node:
                callee = resolver.value(node, module)
                if isinstance(callee, External) and callee.name in SPECS:
                    parts = (part for one in call.args for part in ast.walk(one))
                    yield from ((call, p) for p in parts if isinstance(p, ast.Constant) and isinstance(p.value, str))


def _bound(module: Module, resolver: Resolver) -> Iterator[frozenset[str] | None]:
    """The names that each mesh and map of a module binds, None where they are not known."""
    if "esh" in module.text:
        yield from _made_elsewhere(module, resolver)
    if not any(word in module.text for word in (*MESHES, *MAPS)):
        return
    yield from meshes_of(module, resolver)
    for name in MAPS:
        for node in module.table.named.get(name, ()):
            call = module.table.parents.get(node)
            if isinstance(call, ast.Call):
                yield from _of_map(call, node, module, resolver)


def _declared(module: Module) -> Iterator[str]:
    """The names that a module writes out as the axes of a mesh that other code makes."""
    if not _DECLARES.search(module.text):
        return
    for node, above in module.table.parents.items():
        if not isinstance(node, ast.Tuple | ast.List):
            continue
        match above:
            case ast.keyword(arg=str(name)) | ast.AnnAssign(target=ast.Name(id=name)):
                pass
            case ast.Assign(targets=[ast.Name(id=name) | ast.Attribute(attr=name)]):
                pass
            case _:
                continue
        if DECLARED.search(name):
            yield from (one.value for one in node.elts if isinstance(one, ast.Constant) and isinstance(one.value, str))


def meshes_of(module: Module, resolver: Resolver) -> Iterator[frozenset[str] | None]:
    """The axes of each mesh that a module makes, None where they are not known."""
    for name in MESHES:
        for node in module.table.named.get(name, ()):
            call = module.table.parents.get(node)
            if isinstance(call, ast.Call) and call.func is node:
                mesh = mesh_call(call, module, resolver)
                names = None if mesh is None or mesh.axes is None else frozenset(mesh.axes)
                yield names if names is not None else _names_in(call, module, resolver)


def _made_elsewhere(module: Module, resolver: Resolver) -> Iterator[frozenset[str] | None]:
    """The axes of each mesh that a function out of sight makes: what it is given as names, None where that is nothing.

    `mesh = load_mesh((1, 2, 4), ("dp", "fsdp", "mp"))` of a package that is not in the program.
    """
    for call in module.table.calls:
        if not _is_mesh_of_others(call, module, resolver):
            continue
        written = [n.value for one in _given(call) for n in ast.walk(one) if isinstance(n, ast.Constant)]
        found = {text for text in written if isinstance(text, str) and text.isidentifier()}
        for one in _given(call):
            if isinstance(one, ast.Name | ast.Attribute):
                found |= _names(one, module, resolver) or frozenset()
        yield frozenset(found) or None


def _given(call: ast.Call) -> Iterator[ast.expr]:
    yield from call.args
    yield from (one.value for one in call.keywords)


def _is_mesh_of_others(call: ast.Call, module: Module, resolver: Resolver) -> bool:
    """Whether a call gives a mesh, by its own name or by the name of what it gives, that other code makes."""
    name, parent = last_name(call.func), module.table.parents.get(call)
    if name in MESHES or isinstance(parent, ast.Expr):
        return False
    if not _MAKES_MESH.match(name) and not (_MAKES.match(name) and _is_called_mesh(parent)):
        return False
    callee = resolver.value(call.func, module)
    if isinstance(callee, External) and callee.name.startswith(_OWN_LIBRARIES):
        return False
    defined = re.compile(rf"\b(def|class)[ \t]+{name}\b")
    return not any(name in one.text and defined.search(one.text) for one in resolver.project.program)


def _is_called_mesh(parent: ast.AST | None) -> bool:
    """Whether what is assigned or given is named a mesh."""
    match parent:
        case ast.keyword(arg=str(name)):
            return _MESH.search(name) is not None
        case ast.Assign(targets=[target]) | ast.AnnAssign(target=target) | ast.NamedExpr(target=target):
            return _MESH.search(last_name(target)) is not None
    return False


def _names_in(call: ast.Call, module: Module, resolver: Resolver) -> frozenset[str] | None:
    """The names that a mesh is given by its second argument or by name."""
    given = [k.value for k in call.keywords if k.arg == "axis_names"] or call.args[1:2]
    return _names(given[0], module, resolver) if given else None


def _of_map(call: ast.Call, node: ast.expr, module: Module, resolver: Resolver) -> Iterator[frozenset[str] | None]:
    given = [k.value for k in call.keywords if k.arg in ("axis_name", "axis_names")]
    if call.func is node and not isinstance(node, ast.Constant):
        given += call.args[1:2] if not given and getattr(node, "attr", getattr(node, "id", "")) == "pmap" else []
    for one in given:
        yield _names(one, module, resolver)


def _names(node: ast.expr, module: Module, resolver: Resolver) -> frozenset[str] | None:
    if isinstance(node, ast.Tuple | ast.List):
        parts = [_names(one, module, resolver) for one in node.elts]
        return None if None in parts else frozenset(name for part in parts for name in part or ())
    names = axis_names(node, module, resolver, {})
    if names is not None:
        return frozenset(names)
    fields = texts_of(node.attr, resolver) if isinstance(node, ast.Attribute) and resolver.defaults_hold else None
    if fields is not None:
        return fields
    found: set[str] = set()
    for value in resolver.values(node, module):
        passed = _names_passed(value, resolver)
        if passed is None:
            return None
        found |= passed
    return frozenset(found)


def _names_passed(value: Value, resolver: Resolver) -> frozenset[str] | None:
    """The names in a constant, or in what all calls pass for a parameter."""
    found: set[str] = set()
    for one in callers_of(resolver).passed(value) if isinstance(value, Parameter) else (value,):
        items = one.value if isinstance(one, Constant) and isinstance(one.value, tuple) else (one,)
        plain = [item.value if isinstance(item, Constant) else item for item in items]
        if not all(isinstance(item, str | None) for item in plain):
            return texts_of_value(value, resolver) if resolver.defaults_hold else None
        found.update(item for item in plain if isinstance(item, str))
    return frozenset(found)
