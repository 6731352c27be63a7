"""One of several results, of which fix cannot see that a map gives them in a list or a tuple: `render(rays)[-1]`.

As one array that would be the last device's slice. A reader takes it for the last of several where its parts are gone
through, and of each of them the first device's slice is taken: `[x[0] for x in render(rays)[-1]]`.
"""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout.idioms import Idioms
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame
from jaxmigrate.flow.layout.values import Abstract, Ref, Seq
from jaxmigrate.program.modules import Module
from jaxmigrate.program.trust import Assumption


def one_of_several(it: Interpreter, owner: Ref, node: ast.Subscript, key: object, frame: Frame) -> Abstract | None:
    """What such a subscript of a map's results gives: arrays one after another; None where it may be a slice."""
    if not it.trust.likely or type(key) is not int or key == 0 or owner.is_array:
        return None
    if not any(call is node.value for _, call, _ in it.maps.calls) or not _is_gone_through(node, frame.module):
        return None
    says = f"`{ast.unparse(node)}` is one of several results, and no device's slice"
    it.lean([owner], Assumption("likely", "unreplicates", "", says, frame.module, node))
    it.changed |= owner.group.flatten()
    box = it.box("one of several", node, frame.context)
    it.fill(box, owner.part(leaf=True), node, frame.module)
    return Seq(box)


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
