"""Optimizers that host code runs on arrays of all devices: `updates, state = optimizer.update(grads, state)`.

Most compute each element by itself, so that one copy gets what each slice would. One that clips by the norm of all
gradients finds a larger norm in more slices. So a reader takes it for granted where the program names none of those.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence

from jaxmigrate.flow.layout import class_index, host_arithmetic
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, Given
from jaxmigrate.flow.layout.values import NOTHING, Abstract, Nothing, Numpys, Ref, Tup, is_tracked, numpys_in
from jaxmigrate.flow.variance import AbstractValue
from jaxmigrate.flow.variance.lattice import OTHERS, Fields
from jaxmigrate.program.once import once
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.trust import Assumption

OPTIMIZER = re.compile(r"(?:^|_)(?:opt|optim|optimi[sz]er|tx)(?:_|\d*$)")
NORMS = re.compile(  # of optax's, what looks at more than an element
    r"\b(?:adafactor|adaptive_grad_clip|clip_by_block_rms|clip_by_global_norm|fromage|lamb|lars|lbfgs|muon|shampoo|"
    r"normalize_by_update_norm|per_example_global_norm_clip|scale_by_(?:factored_rms|trust_ratio|lbfgs|muon)|sm3)\b"
)
TREE = AbstractValue(fields=Fields({OTHERS: AbstractValue()}))  # of a state, which is no array
MOST = 3  # the gradients, the state and the parameters


def called(it: Interpreter, given: Given, node: ast.expr, frame: Frame) -> Abstract | None:
    """What `init` and `update` of an optimizer out of sight give for stacked arrays; None for all other calls."""
    if not (it.trust.likely and isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)):
        return None
    if _uses_norms(it):
        return None
    owner, name, values = node.func.value, node.func.attr, given.positional
    if not OPTIMIZER.search(last_name(owner).lower()) or given.open or given.named or class_index.is_method(it, name):
        return None
    if name == "init" and len(values) == 1:
        made = _each(it, values, owner, node, frame)
        return Ref(made.group, TREE) if isinstance(made, Ref) else made
    if name == "update" and 1 < len(values) <= MOST:
        made = _each(it, values, owner, node, frame)
        return Tup((made, Ref(made.group, TREE))) if isinstance(made, Ref) else made
    return None


@once
def _uses_norms(it: Interpreter) -> bool:
    """Whether some optimizer of the program looks at more than an element at a time."""
    return any(NORMS.search(module.text) for module in it.resolver.project.program)


def _each(
    it: Interpreter, values: Sequence[Abstract], owner: ast.expr, node: ast.Call, frame: Frame
) -> Abstract | None:
    says = f"`{ast.unparse(owner)}` changes each element by itself, by no norm of all"
    made = applied(it, values, node, frame)
    if isinstance(made, Ref):
        it.lean([made], Assumption("likely", "splits", "", says, frame.module, node))
    return made


def applied(it: Interpreter, values: Sequence[Abstract], node: ast.Call, frame: Frame) -> Abstract | None:
    """What is computed leaf by leaf, and element by element, of trees that all are stacked; None where some are not."""
    if not any(map(is_tracked, values)):
        return NOTHING if any(isinstance(one, Nothing) for one in values) and not it.final else None
    if not all(isinstance(one, Ref) or (isinstance(one, Nothing) and not it.final) for one in values):
        return None
    refs = [one for one in values if isinstance(one, Ref)]
    if numpys_in(refs) is Numpys.MADE:
        return None
    group = it.joined_group(host_arithmetic.ALONE, node, frame.context)
    for one in refs:
        it.changed |= one.group.flatten()
        it.changed |= group.unify(one.group)
    return NOTHING if len(refs) < len(values) else Ref(group)
