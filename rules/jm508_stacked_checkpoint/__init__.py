"""JM508: a checkpoint keeps one copy for each device."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step, last_name
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.layout.idioms import REPLICATES
from jaxmigrate.program.collectives import PMAPS, argument
from jaxmigrate.program.library import valued
from jaxmigrate.program.modules import Module
from jaxmigrate.program.order import reaching
from jaxmigrate.program.resolve import call_arguments
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.values import Application, External, Member, Value

CODE = "JM508"
SAVED = {name: int(position) for name, position in valued("saves").items()}
LAST = frozenset(name.rpartition(".")[2] for name in SAVED)
FETCHING = frozenset({"device_get", "block_until_ready"})
KEYWORDS = ("target", "state", "pytree", "obj")


def check(facts: Facts) -> Iterator[Finding]:
    """What a library saves of a replicated state, or of what a pmap gave back, without taking one device's copy."""
    saves = [(module, call, saved) for module, call in facts.calls(*LAST) for saved in _saved(call, module, facts)]
    if not saves:
        return
    stepped = {call for found in facts.all_maps if found.name in PMAPS for call, _ in facts.calls_of(found)}
    for module, call, saved in saves:
        name = _base(saved)
        binding = _nearest(name, module) if name is not None else None
        if name is None or binding is None or not _is_stacked(binding, module, stepped, facts):
            continue
        if _restores_stacked(name, module, stepped, facts):
            continue
        message = (
            f"this saves {ast.unparse(saved)[:40]} with a leading axis of one copy for each device; "
            f"save flax.jax_utils.unreplicate({name.id}), or jax.tree.map(lambda x: x[0], {name.id})"
        )
        way = (Step(module, binding.value, "stacked here"),) if binding.value is not None else ()
        yield from facts.finding(module, saved if saved.lineno == call.lineno else call, CODE, message, way)


def _saved(call: ast.Call, module: Module, facts: Facts) -> Iterator[ast.expr]:
    """What a call saves, if a library's function does it: the project's own may take one copy themselves."""
    name = _library_name(facts.resolver.value(call.func, module))
    if name in SAVED:
        given = argument(call_arguments(call, module), SAVED[name], *KEYWORDS)
        if given is not None and given.expression is not None:
            yield given.expression


def _library_name(value: Value) -> str:
    """A library's function by its name, or a method of an object of a library's class by the name of that."""
    match value:
        case External(name=name):
            return name
        case Member(owner=Application(callee=External(name=maker)), name=name):
            return f"{maker}.{name}"
    return ""


def _base(saved: ast.expr) -> ast.Name | None:
    """The name that is saved whole, or an attribute of, be it fetched first."""
    match saved:
        case ast.Name():
            return saved
        case ast.Attribute(value=owner):
            return _base(owner)
        case ast.Call(func=function, args=[inner]) if last_name(function) in FETCHING:
            return _base(inner)
    return None


def _nearest(name: ast.Name, module: Module) -> Binding | None:
    """The assignment of a name that stands nearest above where it is read, in the same function."""
    scope = module.table.scope_of[name]
    holder = scope.lookup(name.id)
    if holder is None or holder.function() is not scope.function():
        return None
    bindings = reaching(holder.bindings[name.id], name, module)
    above = [b for b in bindings if getattr(b.node, "end_lineno", name.lineno) < name.lineno]
    return max(above, key=lambda b: getattr(b.node, "lineno", 0)) if above else None


def _is_stacked(binding: Binding, module: Module, stepped: set[ast.Call], facts: Facts) -> bool:
    """Whether a name holds one copy for each device: what `replicate` or a pmap gave."""
    if not isinstance(binding.value, ast.Call):
        return False
    if binding.value in stepped:
        return True
    callee = facts.resolver.value(binding.value.func, module)
    return isinstance(callee, External) and callee.name in REPLICATES


def _restores_stacked(name: ast.Name, module: Module, stepped: set[ast.Call], facts: Facts) -> bool:
    """Whether what is saved so is also restored so: the name is stacked where something restores it."""
    for call in module.table.calls:
        word = last_name(call.func).lower()
        if "restore" not in word and "load" not in word:
            continue
        for one in call.args:
            base = _base(one)
            if base is not None and base.id == name.id:
                binding = _nearest(base, module)
                if binding is not None and _is_stacked(binding, module, stepped, facts):
                    return True
    return False
