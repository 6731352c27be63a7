"""Where the body of a pmap takes the first row of its slice, as a body would that had a device axis to take away."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.flow.blocks.evidence import only_binding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.readings import DeviceMap, broadcast, is_data, takes_blocks
from jaxmigrate.program.collectives import PMAP
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import FunctionNode, all_parameters
from jaxmigrate.program.syntax import calls_of, last_name
from jaxmigrate.program.values import Function

ARRAYS = re.compile(r"^(\w+\.)*(Array|ndarray|DeviceArray|ArrayLike)$|^(Float|Int|Num|Shaped|Inexact)\w*\[")
KEYS = re.compile(r"key|rng|seed")
STATES = re.compile(r"^((train|opt|model|optimizer)_)?(state|params|parameters|variables)$")
TRAINS = re.compile(r"train|update|step")
NOT_TRAINING = re.compile(r"init|sample|log|plot|vis|render|preview|debug|shape")


def first_rows_in_pmaps(facts: Facts) -> Iterator[tuple[Module, ast.expr, str]]:
    """The first rows that bodies of pmaps take of what they are given, with the parameter's name.

    Of a tuple `batch[0]` is its first part: only `tree.map(lambda a: a[0], batch)`, an entry's `batch["image"][0]`,
    `x[0]` in a body that gives back `y[None]`, and `x = x[0]` of what is annotated as an array are told.
    """
    for found in facts.all_maps:
        if found.name != PMAP or NOT_TRAINING.search(getattr(found.function.node, "name", "")):
            continue
        if not takes_blocks(found, facts.resolver):
            continue
        shared = broadcast(found, facts.resolver)
        for number, name in enumerate(found.parameters()):
            if number not in shared:
                yield from ((found.function.module, node, name) for node in _rows(found, name))


def _rows(found: DeviceMap, name: str) -> Iterator[ast.expr]:
    function, module = found.function.node, found.function.module
    adds = any(_adds_an_axis(one) for one in returned_by(function))
    for node in ast.walk(function):
        if not isinstance(node, ast.Subscript) or not _is_zero(node.slice):
            continue
        held = node.value
        if adds and isinstance(held, ast.Name) and is_parameter(held, name, found.function):
            yield node
        if _is_own_row(node, name, function, module) and is_parameter(held, name, found.function):
            yield node
        assigned = isinstance(module.table.parents.get(node), ast.Assign) and is_data(name)
        entry = isinstance(held, ast.Subscript) and isinstance(held.slice, ast.Constant) and _is_only(node, function)
        if assigned and entry and isinstance(held, ast.Subscript) and is_parameter(held.value, name, found.function):
            yield node
    trained = STATES.search(name) and TRAINS.search(getattr(function, "name", "")) is not None
    for call in calls_of(function):
        tree = leaves_taken(call)
        if tree is not None and (is_data(name) or trained) and is_parameter(tree, name, found.function):
            yield call


def _is_own_row(node: ast.Subscript, name: str, function: FunctionNode, module: Module) -> bool:
    """Whether `x = x[0]` takes the place of an array, by its annotation, that may have been the only one of its kind.

    A device may be given several keys, and use the first.
    """
    statement = module.table.parents.get(node)
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    if not any(isinstance(one, ast.Name) and one.id == name for one in targets) or KEYS.search(name.lower()):
        return False
    annotation = next((one.annotation for one in all_parameters(function.args) if one.arg == name), None)
    return annotation is not None and ARRAYS.search(ast.unparse(annotation)) is not None


def leaves_taken(call: ast.Call) -> ast.Name | None:
    """The name whose leaves' first rows a call takes: `jax.tree.map(lambda a: a[0], x)`."""
    if last_name(call.func) not in ("map", "tree_map") or len(call.args) != 2:
        return None
    function, tree = call.args
    if not isinstance(function, ast.Lambda) or not isinstance(tree, ast.Name):
        return None
    return tree if isinstance(function.body, ast.Subscript) and _is_zero(function.body.slice) else None


def _is_zero(index: ast.expr) -> bool:
    return isinstance(index, ast.Constant) and index.value == 0 and index.value is not False


def is_parameter(node: ast.expr, name: str, function: Function) -> bool:
    """Whether an expression is a function's parameter where it is read, not yet bound anew."""
    binding = only_binding(node, function.module) if isinstance(node, ast.Name) and node.id == name else None
    return binding is not None and binding.kind == "param" and binding.scope.node is function.node


def _is_only(node: ast.Subscript, function: ast.AST) -> bool:
    """Whether no other element of the same thing is taken, as of a tuple."""
    text = ast.unparse(node.value)
    same = [one for one in ast.walk(function) if isinstance(one, ast.Subscript) and ast.unparse(one.value) == text]
    return len(same) == 1


def _adds_an_axis(node: ast.expr | None) -> bool:
    """Whether what is returned has an axis put before it: `y[None]`."""
    for one in ast.walk(node) if node is not None else ():
        if isinstance(one, ast.Subscript) and isinstance(one.slice, ast.Constant) and one.slice.value is None:
            return True
    return False
