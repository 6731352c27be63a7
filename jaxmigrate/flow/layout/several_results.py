"""One of several results, of which fix cannot see that a map gives them in a list or a tuple: `render(rays)[-1]`.

As one array that would be the last device's slice. A reader takes it for the last of several where its parts are gone
through, and of each of them the first device's slice is taken: `[x[0] for x in render(rays)[-1]]`.
"""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout import mapped_bodies
from jaxmigrate.flow.layout.idioms import Idioms
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.flow.layout.values import Abstract, Ref, Seq
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.modules import Module
from jaxmigrate.program.order import reaching
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Function, Member, Unknown


def one_of_several(it: Interpreter, owner: Ref, node: ast.Subscript, key: object, frame: Frame) -> Abstract | None:
    """What such a subscript of a map's results gives: arrays one after another; None where it may be a slice."""
    if not it.trust.likely or type(key) is not int or key == 0 or _is_known(owner):
        return None
    if not any(call is node.value for _, call, _ in it.maps.calls) or not _is_gone_through(node, frame.module):
        return None
    if not _is_made_unseen(it, owner):
        return None
    says = f"`{ast.unparse(node)}` is one of several results, and no device's slice"
    it.lean([owner], Assumption("likely", "unreplicates", "", says, frame.module, node))
    it.changed |= owner.group.flatten()
    box = it.box("one of several", node, frame.context)
    it.fill(box, owner.part(leaf=True), node, frame.module)
    return Seq(box)


def _is_known(owner: Ref) -> bool:
    """Whether it shows what a value is: an array, a dictionary, so many parts."""
    shape = owner.shape
    if owner.is_array or shape is None:
        return owner.is_array
    return shape.kind in ("array", "dict") or shape.parts is not None or shape.fields is not None


def _is_made_unseen(it: Interpreter, owner: Ref) -> bool:
    """Whether the mapped functions that give a value have it from code out of sight, as from `model.apply`.

    What they make of their arguments in sight is as these are, which may be one array.
    """
    root = owner.group.find()
    sites = {key[1] for key, group in it.groups.items() if key[0] == "output" and group.find() is root}
    functions = [mapped_bodies.mapped_function(it, site) for site in sites if isinstance(site, ast.expr)]
    return bool(functions) and all(isinstance(one, Function) and _returns_unseen(it, one) for one in functions)


def _returns_unseen(it: Interpreter, function: Function) -> bool:
    """Whether all that a function returns is made by calls of what fix cannot see."""
    returned = [one for one in returned_by(function.node) if one is not None]
    return bool(returned) and all(_calls_unseen(it, one, function.module) for one in returned)


def _calls_unseen(it: Interpreter, node: ast.expr, module: Module) -> bool:
    """Whether an expression, or what gave one of its names its value, calls what fix cannot see."""
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name) and one in module.table.scope_of]
    values = [made for one in names for made in _made(one, module)]
    calls = (one for value in (node, *values) for one in ast.walk(value) if isinstance(one, ast.Call))
    return any(isinstance(it.resolver.value(one.func, module), Member | Unknown) for one in calls)


def _made(node: ast.expr, module: Module) -> list[ast.expr]:
    """What an expression comes from: all that a variable of the function has there; itself where that is not known."""
    if not isinstance(node, ast.Name):
        return [node]
    scope = module.table.scope_of[node]
    holder = scope.lookup(node.id)
    if holder is None or holder.function() is not scope.function():
        return [node]
    bindings = reaching(holder.bindings[node.id], node, module)
    values = [one.value for one in bindings if one.value is not None and not one.path]
    return values if values and len(values) == len(bindings) else [node]


def _is_gone_through(node: ast.expr, module: Module) -> bool:
    """Whether all that is done with a value, here or under a name, is to take the first slice of each of its parts."""
    match module.table.parents.get(node):
        case ast.For() | ast.comprehension() as loop if loop.iter is node:
            return isinstance(loop.target, ast.Name) and _has_first_taken(loop.target, module)
        case ast.Assign(targets=[ast.Tuple(elts=[_, _, *_] as names)]):
            return all(isinstance(one, ast.Name) and _has_first_taken(one, module) for one in names)
        case ast.Assign(targets=[ast.Name() as name]):
            reads = _reads(name, module)
            return bool(reads) and all(
                not _is_assignment(one, module) and _is_gone_through(one, module) for one in reads
            )
    return False


def _is_assignment(node: ast.expr, module: Module) -> bool:
    return isinstance(module.table.parents.get(node), ast.Assign)


def _has_first_taken(name: ast.Name, module: Module) -> bool:
    """Whether a name that is bound once is read to take the first slice of what it holds, and for nothing else."""
    parents = [module.table.parents.get(one) for one in _reads(name, module)]
    return bool(parents) and all(isinstance(one, ast.Subscript) and Idioms.is_first(one.slice) for one in parents)


def _reads(name: ast.Name, module: Module) -> list[ast.Name]:
    """Where a variable of a function, or of a comprehension, is read that is bound in one place; nothing for others."""
    holder = module.table.scope_of[name].lookup(name.id)
    if holder is None or holder.kind in ("module", "class") or len(holder.bindings.get(name.id, ())) != 1:
        return []
    uses = (one for one in module.table.named.get(name.id, ()) if isinstance(one, ast.Name))
    return [
        one for one in uses if isinstance(one.ctx, ast.Load) and module.table.scope_of[one].lookup(one.id) is holder
    ]
