"""What the interpreter does once nothing changes any more about code that nothing in sight runs or leads to.

Functions that nothing calls can be called by anything, and what is read where the interpreter did not look stays as it
is in the original program.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterable, Iterator
from operator import itemgetter
from pathlib import Path
from typing import TypeAlias

from jaxmigrate.flow.layout import accessors, loaded_modules, methods, observing
from jaxmigrate.flow.layout.causes import Reason, Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Key
from jaxmigrate.flow.layout.reachable_modules import ROUND_NAMES
from jaxmigrate.flow.layout.values import CALLS, Abstract, Blocker, Ref, Remedy, is_tracked
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.scopes import FunctionNode, all_parameters
from jaxmigrate.program.values import Class, Function

FRAME_ATTRIBUTES = frozenset({"f_locals", "f_globals", "__globals__", "f_back", "gi_frame"})
_UNIDENTIFIED = Stacked.REACHABLE.reason("is read from an object that fix cannot identify")
_TRACED = Stacked.REACHABLE.reason("is read in traced code")
NO_HOOKS = frozenset({"__init__", "__call__", "__repr__", "__str__", "__hash__", "__len__"})  # called in sight, or bare
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
_Held: TypeAlias = dict[tuple[object, object], list[tuple[int, Key]]]


def start_uncalled(it: Interpreter, names: set[str]) -> None:
    """Functions that nothing in sight calls can be called by anything, with nothing that is stacked here.

    Those that only other such functions name come later: they may be called from there. Those that name nothing
    that leads to stacked arrays have no part in anything, unless Python calls them by itself.
    """
    waiting = _waiting(it, names)
    if it.devices is not None and it.devices.roots is not None:
        waiting = [f for f in waiting if f.node in it.devices.roots]
    naming = Counter(name for f in waiting for name in it.names_in(f.node))
    free = [f for f in waiting if naming[_name_of(f)] <= (_name_of(f) in it.names_in(f.node))]
    kept = {name for module in it.modules for name in _kept_in(it, module)}
    chosen = [f for f in free if _name_of(f) not in kept] or free or waiting[:1]
    if _join_callers(it, chosen):
        return
    for function in chosen:
        _call_unseen(it, function, Stacked.NOT_VISIBLE.reason("is returned by a function without a visible call"))
    if waiting:
        return
    for function in [*it.bodies.functions.values()] if it.devices is None or it.devices.roots is None else ():
        if ("unseen", function.node) not in it.variables and _never_given(it, function):
            _call_unseen(it, function, Stacked.NOT_VISIBLE.reason("comes from a function that is not called"))


def _call_unseen(it: Interpreter, function: Function, reason: Reason) -> None:
    """A function that nothing in sight calls runs with anything; who gets what it returns is not known, if anybody."""
    module, node = function.module, function.node
    says = f"`{_name_of(function)}` is called only in the files given"
    given = any(observing.is_presumed(it, parameter, module) for parameter in all_parameters(node.args))
    apart = None if _is_hook(function) or given else it.trust.leaves_apart(module.path, says, module, node)
    if apart is None:
        it.call_unseen(function, Blocker(reason, module, node, remedy=CALLS))
        return
    it.call_unseen(function, None)
    it.assumed.uncalled[node] = apart


def _join_callers(it: Interpreter, functions: Iterable[Function]) -> bool:
    """Takes in the modules that name one of some functions, which may be called there; says whether there are any."""
    names: dict[Path, set[str]] = {}
    for function in functions:
        if function.module.table.scope_of[function.node].kind == "module":
            names.setdefault(function.module.path, set()).add(_name_of(function))
    found = it.reachable.naming({module.path for module in it.modules}, names)
    for module in found:
        it.join_module(module)
    return bool(found)


def use_from_unread(it: Interpreter) -> None:
    """What files can use that are not followed stays as it is: those import by string, or another Python runs them."""
    modules = {module.path: module for module in it.modules}
    held = _held(it) if it.reachable.unread or it.reachable.loading else {}
    for path, used in it.reachable.loading.items():
        said = "which loads it by its path"
        reason = Stacked.NOT_VISIBLE.reason(f"may be used in {path.name}, {said}", f"may be used in a file, {said}")
        for source, names in used.items():
            if source in modules and names:
                module = modules[source]
                _use_names(it, Blocker(reason, module, module.tree), frozenset(names), held)
    for path, used in it.reachable.unread.items():
        why = it.reachable.why_unread(path)
        reason = Stacked.NOT_VISIBLE.reason(f"may be used in {path.name}, {why}", f"may be used in a file, {why}")
        remedy = Remedy("apart", path.name)
        for source, names in used.items():
            if source in modules and names:
                module, says = modules[source], f"{path.name} neither uses nor changes {source.name}"
                apart = it.trust.leaves_apart(path, says, module, module.tree)
                if apart is None:
                    _use_names(it, Blocker(reason, module, module.tree, remedy=remedy), frozenset(names), held)
                else:
                    it.assumed.apart.setdefault(module, {})[apart] = None
                    it.leans = True


def _held(it: Interpreter) -> _Held:
    """Where variables and attributes stand among all that the interpreter holds, by name and, of variables, module."""
    held: _Held = {}
    for place, key in enumerate(it.variables):
        if key[0] == "variable" and len(key) > 2:
            held.setdefault((key[1], key[2]), []).append((place, key))
        elif key[0] == "attribute":
            held.setdefault((None, key[2]), []).append((place, key))
    return held


def _use_names(it: Interpreter, blocker: Blocker, names: frozenset[str], held: _Held) -> None:
    """Blocks what a module has under some names, and its objects' attributes, as code out of sight may use it."""
    module = blocker.module
    own = _definitions(module, it)
    for _, node in sorted((one for name in names for one in own.get(name, ())), key=itemgetter(0)):
        if isinstance(node, ast.ClassDef):
            it.escape(Class(module, node), blocker)
        elif node not in it.bodies.device:
            it.escape(Function(module, node), blocker)
    found = [one for name in names for tree in (module.tree, None) for one in held.get((tree, name), ())]
    for _, key in sorted(found, key=itemgetter(0)):
        if is_tracked(value := it.variables[key]):
            it.block(value, blocker)
    for name, values in it.scope.globals.get(module.tree, {}).items():
        for value in values if name in names else ():
            it.block(value, blocker)


@once_each
def _definitions(module: Module, _it: Interpreter) -> dict[str, list[tuple[int, Definition]]]:
    """The functions and classes of a module by name, each with its place among them."""
    known: dict[str, list[tuple[int, Definition]]] = {}
    for place, node in enumerate(module.table.own_scope):
        if isinstance(node, Definition):
            known.setdefault(node.name, []).append((place, node))
    return known


def _waiting(it: Interpreter, names: set[str]) -> list[Function]:
    """The functions that nothing has called which name something that leads to stacked arrays."""
    leading = names | ROUND_NAMES
    found = [f for module in it.modules for f in _unstarted(it, module)]
    return [f for f in found if _is_hook(f) or not leading.isdisjoint(_named_by(it, f))]


def _named_by(it: Interpreter, function: Function) -> set[str]:
    """What a function names, itself included."""
    return it.names_in(function.node) | {_name_of(function)}


def _kept_in(it: Interpreter, module: Module) -> set[str]:
    """What the displays of a module's own statements hold: a table of functions by name is called through."""
    values = [s.value for s in module.tree.body if isinstance(s, ast.Assign | ast.AnnAssign) and s.value]
    displays = [v for v in values if isinstance(v, ast.Dict | ast.List | ast.Tuple)]
    return {name for display in displays for name in it.names_in(display)}


def _unstarted(it: Interpreter, module: Module) -> Iterator[Function]:
    """The defs of a module that nothing has called and no map runs."""
    for node in module.table.own_scope:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            started = node in it.bodies.functions or node in it.bodies.device
            if not started and not _inside_unstarted(it, node, module):
                yield Function(module, node)


def _inside_unstarted(it: Interpreter, node: FunctionNode, module: Module) -> bool:
    """Whether a function is defined in one that has not run yet."""
    scope = module.table.scope_of[node].function()
    return scope is not None and scope.node not in it.bodies.functions and scope.node not in it.bodies.device


def _never_given(it: Interpreter, function: Function) -> bool:
    return ("called", function.node) not in it.variables


def sweep(it: Interpreter) -> None:
    """Blocks what is read where the interpreter did not look: by reflection, and by code that it did not run."""
    for module in it.modules:
        for node in module.table.references:
            if isinstance(node, ast.Attribute) and node.attr in FRAME_ATTRIBUTES:
                it.blockers.beyond.setdefault(
                    node,
                    Blocker(
                        Stacked.REACHABLE.reason(
                            f"may be read or changed through {node.attr}", "may be read or changed through an attribute"
                        ),
                        module,
                        node,
                    ),
                )
    for blocker in it.blockers.beyond.values():
        for group in list(it.groups.values()):
            it.changed |= group.block(blocker)
    groups = [Ref(group) for group in it.groups.values()] if it.assumed.imports else []
    for why in it.assumed.imports.values():
        it.lean(groups, why)
    reflections = [*it.blockers.reflections.items()]
    held = [(k, v) for k, v in it.variables.items() if k[0] == "variable" and is_tracked(v)] if reflections else []
    for place, reflection in reflections:
        for key, value in held:
            if isinstance(key[1], ast.Module) or place not in it.blockers.of_modules:
                it.block(value, reflection)
    loaded_modules.sweep(it)
    _sweep_unrun(it)
    methods.sweep(it)
    accessors.sweep(it)


def _sweep_unrun(it: Interpreter) -> None:
    """Blocks variables and attributes that several functions see and that code reads which did not run."""
    names: dict[tuple[object, object], Abstract] = {}
    attributes: dict[object, list[Abstract]] = {}
    for key, value in it.variables.items():
        if key[0] == "variable" and is_tracked(value):
            names[key[1], key[2]] = value
        elif key[0] == "attribute" and is_tracked(value):
            attributes.setdefault(key[2], []).append(value)
    unrun = [(m, n) for m in it.modules for n in m.table.references if n not in it.looks.loads]
    for module, node in unrun if names or attributes else ():
        if isinstance(node, ast.Attribute):
            for value in attributes.get(node.attr, ()):
                it.block(value, Blocker(_UNIDENTIFIED.worded(f".{node.attr} {_UNIDENTIFIED}"), module, node))
            continue
        holder = module.table.scope_of[node].lookup(node.id)
        if holder is not None and (holder.node, node.id) in names:
            blocker = Blocker(_TRACED.worded(f"{node.id} {_TRACED}"), module, node)
            it.block(names[holder.node, node.id], blocker)


def _is_hook(function: Function) -> bool:
    """Whether Python itself may give a function a value, as it does to `__setattr__`."""
    name = _name_of(function)
    return name.startswith("__") and name.endswith("__") and name not in NO_HOOKS


def _name_of(function: Function) -> str:
    return function.node.name if isinstance(function.node, ast.FunctionDef | ast.AsyncFunctionDef) else ""
