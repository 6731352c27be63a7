"""JM508: a checkpoint keeps one copy for each device."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.left_stacked import left_stacked
from jaxmigrate.flow.stacked_names import base, nearest
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.collectives import PMAPS, argument
from jaxmigrate.program.library import valued
from jaxmigrate.program.modules import Module
from jaxmigrate.program.passing import passed_by
from jaxmigrate.program.syntax import calls_of, last_name
from jaxmigrate.program.values import Application, External, Function, Member, Value

CODE = "JM508"
SAVED = {name: int(position) for name, position in valued("saves").items()}
LAST = frozenset(name.rpartition(".")[2] for name in SAVED)
WRITES = frozenset({"dump", "dumps", "to_bytes", "msgpack_serialize"})
TAKES = re.compile(r"\[0\]|unreplicate|first|single|slice|shard|replica|\[-1\]|mean\(")
KEYWORDS = ("target", "state", "pytree", "obj")


def check(facts: Facts) -> Iterator[Finding]:
    """What a library saves of a replicated state, or of what a pmap gave back, without taking one device's copy."""
    saves = [(module, call, saved) for module, call in facts.calls(*LAST) for saved in _saved(call, module, facts)]
    saves += [(module, call, saved) for module, call, saved in _by_own(facts)]
    for left in left_stacked(facts):
        message = (
            f"{left.name} keeps its device axis here, although one copy of {left.other} is taken; "
            f"take one copy of {left.name}, too"
        )
        yield from facts.finding(left.module, left.node, CODE, message)
    if not saves:
        return
    for module, call, whole in saves:
        saved = _stacked_part(whole, module, facts)
        name, axis = base(saved), facts.device_axes.of(saved, module)
        if name is None or axis is None or not axis.stacked or _restores_stacked(name, module, facts):
            continue
        message = (
            f"this saves {ast.unparse(saved)[:40]} with a leading axis of one copy for each device; "
            f"save flax.jax_utils.unreplicate({name.id}), or jax.tree.map(lambda x: x[0], {name.id})"
        )
        way = (Step(axis.module, axis.node, "stacked here"),)
        yield from facts.finding(module, saved if saved.lineno == call.lineno else call, CODE, message, way)


def _stacked_part(saved: ast.expr, module: Module, facts: Facts) -> ast.expr:
    """What is saved, or of a dictionary or tuple in sight what has an axis of devices in it."""
    above = nearest(saved, module) if isinstance(saved, ast.Name) else None
    held = saved if above is None or above.path else above.value
    for one in _parts(held):
        axis = facts.device_axes.of(one, module)
        if axis is not None and axis.stacked:
            return one
    return saved


def _parts(held: ast.expr | None) -> Iterator[ast.expr]:
    """What dictionaries and tuples that are written out hold, one in the other, too."""
    for one in (
        held.values if isinstance(held, ast.Dict) else held.elts if isinstance(held, ast.Tuple | ast.List) else ()
    ):
        if isinstance(one, ast.Dict | ast.Tuple | ast.List):
            yield from _parts(one)
        else:
            yield one


def _saved(call: ast.Call, module: Module, facts: Facts) -> Iterator[ast.expr]:
    """What a call saves, if a library's function does it: the project's own may take one copy themselves."""
    name = _library_name(facts.resolver.value(call.func, module))
    if name in SAVED:
        given = argument(call_arguments(call, module), SAVED[name], *KEYWORDS)
        if given is not None and given.expression is not None:
            yield given.expression


def _by_own(facts: Facts) -> Iterator[tuple[Module, ast.Call, ast.expr]]:
    """What the project's own functions save, which write what they are given and take no copy of it."""
    if not any(found.name in PMAPS for found in facts.all_maps):
        return
    for module in facts.modules:
        for call in module.table.calls if "save" in module.text else ():
            if "save" not in last_name(call.func).lower() or not call.args:
                continue
            callee = facts.resolver.value(call.func, module)
            if isinstance(callee, Function) and not isinstance(callee.node, ast.Lambda):
                written = _written_as_given(callee.node)
                passed = passed_by(call, callee.passed_names())
                yield from ((module, call, one) for name, one in passed.items() if name in written)


def _written_as_given(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    """The parameters that a function writes as they are: it gives them no other value, and takes no part of them."""
    if TAKES.search(ast.unparse(function)):
        return set()
    names = {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    given = [call.args[:1] for call in calls_of(function) if last_name(call.func) in WRITES]
    held = [base(one) for first in given for one in first if not isinstance(one, ast.Attribute)]
    return {one.id for one in held if one is not None} - names


def _library_name(value: Value) -> str:
    """A library's function by its name, or a method of an object of a library's class by the name of that."""
    match value:
        case External(name=name):
            return name
        case Member(owner=Application(callee=External(name=maker)), name=name):
            return f"{maker}.{name}"
    return ""


def _restores_stacked(name: ast.Name, module: Module, facts: Facts) -> bool:
    """Whether what is saved so is also restored so: the name is stacked where something restores it.

    Or what was restored is given its axis of devices: it is no copy for each, but a part.
    """
    if re.search(rf"\b{name.id} = [\w.]*reshape\({name.id}, \((\w*devices?\w*|[\w.]*device_count\(\)),", module.text):
        return True
    for call in module.table.calls:
        word = last_name(call.func).lower()
        if "restore" not in word and "load" not in word:
            continue
        for one in call.args:
            held = base(one)
            if held is not None and held.id == name.id:
                axis = facts.device_axes.of(one, module)
                if axis is not None and axis.stacked:
                    return True
    return False
