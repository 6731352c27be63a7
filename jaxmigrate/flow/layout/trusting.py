"""What the user declares, or a reader would take for granted, of calls in host code: they lend, replicate and split.

A function that only reads is lent its arrays as it knows them, so that all that can go wrong is that it changes a
container which it is given; what is said of others is taken as it is said.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from dataclasses import replace

from jaxmigrate.flow.layout import class_index, operations, read_only_copies
from jaxmigrate.flow.layout.idioms import Idioms
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.kinds import Idiom, Kind
from jaxmigrate.flow.layout.model import Frame, Given, Reading
from jaxmigrate.flow.layout.values import Abstract, Dct, Nothing, Ref, Tup, is_tracked
from jaxmigrate.program.declarations import Kind as Declared
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Application, External, Function, Partial

# These do more with what they are given than to read it, and are known one by one.
PYTHONS = frozenset({"builtins", "ctypes", "functools", "gc", "inspect", "operator", "sys", "types"})
KEEPING = re.compile(  # what is given back later
    "(__|_?(add|append|assign|attach|bind|cache|call|emplace|enqueue|extend|feed|insert|load|map|offer|push|put|register|"
    "replace|run|send|set|start|store|submit|swap|sync|update|with)(_|$))(?!(scalar|image|histogram|distribution|text|hparam))"
)
SAYS: dict[Kind, tuple[Declared, str]] = {
    "replicate": ("replicates", "gives each device the same"),
    "split": ("splits", "splits a batch over the devices"),
    "first": ("unreplicates", "takes the first device's slice"),
}


def apply(it: Interpreter, idiom: Idiom, operand: Abstract, node: ast.expr, frame: Frame) -> Abstract:
    """An idiom; one that is declared makes what it makes rest on that."""
    result = operations.apply(it, idiom, operand, node, frame)
    if idiom.declared:
        kind, does = SAYS[idiom.kind]
        why = Assumption("declared", kind, idiom.declared, f"`{idiom.declared}` {does}", frame.module, node)
        it.lean([result, operand], why)
    return result


def by_named_count(
    it: Interpreter, find: Callable[[Idioms], Idiom | None], node: ast.expr, frame: Frame
) -> tuple[Idiom, Assumption] | None:
    """The idiom of an expression whose number of devices comes from out of sight, and what it leans on."""
    idioms = it.idioms.of_named_count()
    found = find(idioms) if idioms is not None else None
    if idioms is None or found is None or idioms.named is None or found.kind not in ("replicate", "split"):
        return None
    says = f"`{ast.unparse(idioms.named)}` is the number of all devices"
    kind: Declared = "replicates" if found.kind == "replicate" else "splits"
    return found, Assumption("likely", kind, "", says, frame.module, node)


def by_rank(it: Interpreter, node: ast.Call, frame: Frame) -> tuple[Idiom, Assumption] | None:
    """The idiom of an expression on an array of which nothing says how many dimensions it has, and what it leans on."""
    idioms = it.idioms.of_presumed_rank()
    found = idioms.of_array(node, frame.module) if idioms is not None else None
    if idioms is None or found is None or idioms.ranked is None:
        return None
    array, rank = idioms.ranked
    says = f"`{ast.unparse(array)}` has {rank} dimension{'s' * (rank != 1)}, and none for the devices"
    return found, Assumption("likely", "replicates", "", says, frame.module, node)


def given_to(it: Interpreter, name: str, given: Given, node: ast.expr, frame: Frame) -> Given:
    """What a function outside the project gets, lent to it where it may be taken to only read."""
    if not it.trust or not any(map(is_tracked, given.everything())):
        return given
    if name.partition(".")[0] in PYTHONS:
        if not it.trust.declares("readers", name):
            return given
        why = Assumption("declared", "readers", name, _reads(name), frame.module, node)
    else:
        granted = it.trust.grants("readers", name, _reads(name), frame.module, node)
        if granted is None:
            return given
        why = granted
    it.lean(given.everything(), why)
    return lent(it, given, frame)


def given_to_method(it: Interpreter, given: Given, node: ast.expr, frame: Frame) -> Given:
    """The same of a method of an object out of sight, that a library made or that is declared by its name."""
    if not it.trust or not isinstance(node, ast.Call) or not any(map(is_tracked, given.everything())):
        return given
    called = ast.unparse(node.func)
    if it.trust.of_project("readers", frame.module, called):
        it.lean(given.everything(), Assumption("declared", "readers", called, _reads(called), frame.module, node))
        return lent(it, given, frame)
    name = _of_library(it, node.func, frame) or _of_nobody(it, node.func)
    return given_to(it, name, given, node, frame) if name else given


def reads_only(it: Interpreter, function: Function, value: Ref, node: ast.expr, frame: Frame) -> Reading | None:
    """When a function of the project reads what it is given, where that is declared."""
    if not it.trust.of_project("readers", function):
        return None
    name = it.trust.names_of(function)[0]
    it.lean([value], Assumption("declared", "readers", name, _reads(name), frame.module, node))
    return Reading.AT_ONCE


def lent(it: Interpreter, given: Given, frame: Frame) -> Given:
    """The arguments of a call as a function that only reads them gets them."""
    positional = [_lend(it, value, given.places.get(i), frame) for i, value in enumerate(given.positional)]
    named = {name: _lend(it, value, given.places.get(name), frame) for name, value in given.named.items()}
    return replace(given, positional=tuple(positional), named=named)


def _lend(it: Interpreter, value: Abstract, place: ast.expr | None, frame: Frame) -> Abstract:
    """One of them; of a dictionary or tuple that is written out there, what stands in it."""
    match value, place:
        case Dct(box=box), ast.Dict(keys=keys, values=values) if isinstance(box.element, Nothing):
            new = it.box("lent", place)
            for key, inner in zip(keys, values, strict=True):
                if not (isinstance(key, ast.Constant) and isinstance(key.value, str)):
                    return value
                it.fill(new, _lend(it, box.fields[key.value], inner, frame), inner, frame.module, key.value)
            return Dct(new)
        case Tup(parts=parts, names=names), ast.Tuple(elts=elements) if len(parts) == len(elements):
            pairs = zip(parts, elements, strict=True)
            return Tup(tuple(_lend(it, part, inner, frame) for part, inner in pairs), names)
    return read_only_copies.lend(it, value, place, frame)


def _of_library(it: Interpreter, function: ast.expr, frame: Frame) -> str:
    """What a method of an object that a library made is called; empty where it may be another's."""
    own = _made_by(it, function, frame)
    if own or not isinstance(function, ast.Attribute):
        return f"{own}()" if own else ""
    made = _made_by(it, function.value, frame)
    return f"{made}().{function.attr}" if made else ""


def _made_by(it: Interpreter, node: ast.expr, frame: Frame) -> str:
    """The library's function that certainly made what an expression stands for; empty where that is not one."""
    values = it.resolver.values(node, frame.module)
    makers = [v for v in values if not isinstance(v, Function | Partial)]  # as it holds none of these any more
    names = [v.callee.name for v in makers if isinstance(v, Application) and isinstance(v.callee, External)]
    return names[0] if names and len(names) == len(makers) else ""


def _of_nobody(it: Interpreter, function: ast.expr) -> str:
    """What a method is called that no class of the project has, so that a library's object has it; else empty.

    Those that keep what they are given, by their names, are not taken to only read it.
    """
    if not (it.trust.likely and isinstance(function, ast.Attribute)) or KEEPING.match(function.attr):
        return ""
    return "" if class_index.is_method(it, function.attr) else ast.unparse(function)


def _reads(name: str) -> str:
    return f"`{name}` only reads its argument"
