"""Sums over the devices that leave out the mask by which others beside them, of the same batch, are told from filling.

`psum(jnp.sum(correct))` beside `psum(mask.sum())`: the filling of the last batch is counted as right or wrong.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import NamedTuple

from jaxmigrate.flow.facts import Facts
from jaxmigrate.program.functions import own_statements
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import all_parameters
from jaxmigrate.program.syntax import last_name

MASK = re.compile(r"^_?(batch_|example_|valid_|pad_|padding_|eval_)?(mask|masks|weights|valid|is_valid|is_real)$")
SUMS = frozenset({"sum", "nansum", "count_nonzero"})
ONES = frozenset({"ones_like", "full_like"})
OF_SHAPE = ONES | {"zeros_like", "len", "shape", "size", "eval_shape"}
FIELDS = frozenset({"shape", "dtype", "ndim", "size"})
EVALUATED = re.compile("correct|acc|loss|match|hit|err|nll|metric|score|pred|logit")
GRADIENTS = re.compile("grad|update|stat|param")


class Unmasked(NamedTuple):
    """A sum over the devices without the mask, and one with it."""

    module: Module
    node: ast.expr
    mask: str
    masked: ast.expr


def unmasked(facts: Facts) -> Iterator[Unmasked]:
    """The sums in functions that count by a mask, which the mask has no part in."""
    functions: dict[ast.FunctionDef, tuple[Module, list[ast.Call]]] = {}
    for module, call in facts.calls("psum"):
        function = module.table.function_of(call)
        if isinstance(function, ast.FunctionDef) and call.args and not module.is_test:
            functions.setdefault(function, (module, []))[1].append(call)
    for function, (module, calls) in functions.items():
        text = "mask" in module.text or "weights" in module.text or "valid" in module.text
        yield from _in_function(function, module, calls) if text else ()


def _in_function(function: ast.FunctionDef, module: Module, calls: list[ast.Call]) -> Iterator[Unmasked]:
    made: dict[str, list[ast.expr]] = {}
    for statement in own_statements(function):
        if isinstance(statement, ast.Assign):
            for target in statement.targets:
                for one in ast.walk(target):
                    if isinstance(one, ast.Name):
                        made.setdefault(one.id, []).append(statement.value)
    masks = {one.arg for one in all_parameters(function.args) if MASK.search(one.arg)}
    masks |= {name for name, values in made.items() if MASK.search(name) and all(_is_read(one) for one in values)}
    if not masks:
        return
    touched = _touched(function, masks)
    elements = [one for call in calls for one in _elements(call.args[0], made)]
    counts = [one for one in elements if _is_count(one, masks, made)]
    with_mask = [one for one in elements if _mentions(one, touched)]
    for one in elements:
        if counts and _is_sum(one, made) and not _mentions(one, touched):
            yield Unmasked(module, one, min(masks), counts[0])
        elif with_mask and _is_filled(one, masks):
            yield Unmasked(module, one, min(masks), with_mask[0])


def _is_read(value: ast.expr) -> bool:
    """Whether a value is an entry of what a function is given: `batch["mask"]`, `batch.pop("_mask")`."""
    if isinstance(value, ast.Call):
        return isinstance(value.func, ast.Attribute) and value.func.attr in ("get", "pop")
    return isinstance(value, ast.Subscript | ast.Attribute)


def _elements(node: ast.expr, made: dict[str, list[ast.expr]]) -> list[ast.expr]:
    """What a collective sums: the values of a dictionary or tuple, as they are written or assigned once."""
    if isinstance(node, ast.Name) and len(made.get(node.id, ())) == 1:
        held = made[node.id][0]
        if isinstance(held, ast.Dict | ast.Tuple):
            node = held
    if isinstance(node, ast.Dict):
        return [value for key, value in zip(node.keys, node.values, strict=True) if key is not None]
    return [*node.elts] if isinstance(node, ast.Tuple | ast.List) else [node]


def _held(node: ast.expr, made: dict[str, list[ast.expr]]) -> ast.expr:
    """What a name is assigned once, but for the sum of itself over the devices."""
    if not isinstance(node, ast.Name):
        return node
    held = [one for one in made.get(node.id, ()) if not (isinstance(one, ast.Call) and last_name(one.func) == "psum")]
    return held[0] if len(held) == 1 else node


def _is_count(node: ast.expr, masks: set[str], made: dict[str, list[ast.expr]]) -> bool:
    """Whether something is the mask, or its sum."""
    match _held(node, made):
        case ast.Name(id=name):
            return name in masks
        case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="sum")) if name in masks:
            return True
        case ast.Call(func=function, args=[ast.Name(id=name), *_]) if last_name(function) in SUMS:
            return name in masks
    return False


def _is_sum(node: ast.expr, made: dict[str, list[ast.expr]]) -> bool:
    """Whether something is a sum over examples of what a network got right or wrong, by its text."""
    held = _held(node, made)
    text = f"{ast.unparse(node)} {ast.unparse(held)}".lower()
    if GRADIENTS.search(text) or not EVALUATED.search(text):
        return False
    return any(isinstance(one, ast.Call) and last_name(one.func) in SUMS for one in ast.walk(held))


def _is_filled(node: ast.expr, masks: set[str]) -> bool:
    """Whether something counts the filling as well: `ones_like(mask)`, or the sum of it."""
    for one in ast.walk(node):
        if isinstance(one, ast.Call) and last_name(one.func) in ONES and one.args:
            return isinstance(one.args[0], ast.Name) and one.args[0].id in masks
    return False


def _touched(function: ast.FunctionDef, masks: set[str]) -> set[str]:
    """The names that a mask may have a part in: assigned of it, changed with it, or functions that use it."""
    touched = set(masks)
    nodes = [n for n in ast.walk(function) if n is not function]
    while True:
        before = len(touched)
        for node in nodes:
            match node:
                case ast.Assign(targets=targets, value=value) if _mentions(value, touched):
                    touched |= {n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)}
                case ast.AugAssign(target=target, value=value) if _mentions(value, touched):
                    touched |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
                case ast.FunctionDef(name=name) if any(_mentions(one, touched) for one in node.body):
                    touched.add(name)
        if len(touched) == before:
            return touched


def _mentions(node: ast.AST, names: set[str]) -> bool:
    """Whether something is made of what some names hold, and not only of its shape."""
    match node:
        case ast.Name(id=name):
            return name in names
        case ast.Attribute(attr=attr) if attr in FIELDS:
            return False
        case ast.Call(func=function) if last_name(function) in OF_SHAPE:
            return False
        case ast.Constant(value=str() as text):
            return MASK.search(text) is not None
    return any(_mentions(one, names) for one in ast.iter_child_nodes(node))
