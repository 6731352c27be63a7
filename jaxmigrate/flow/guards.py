"""Conditions around a collective that may be there to keep it from running where its axis is not bound.

`if axis_name is not None:` or `if sync:` is such a condition, `if config.log_gradients:` is none: where that holds, the
collective runs. What the way from the map to the collective says of a condition's parameters decides first.
"""

from __future__ import annotations

import ast
import re

from jaxmigrate.flow.axes import AxisUse
from jaxmigrate.flow.truth import truth
from jaxmigrate.flow.variance.suspicion import is_about_maps
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import defaults_of
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Constant, Parameter, Values

_DEFINITIONS = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_EXPECTED = re.compile(
    r"(caught|raise|fail|error).{0,40}\bas expected|\bexpect(s|ed|ing)?:? (an? )?(\w+ )?(error|exception|failure)|"
    r"\bexpect\w* (this |it )?to (fail|raise)|\b(error|exception)s? (is |are |was )?expected|"
    r"\b(should|must) (fail|raise|error)|on purpose|intentional|deliberate",
    re.IGNORECASE,
)
_SHOWN, _ABOVE = 3, 2  # statements that are tried, and lines above that may say so


def is_guarded(use: AxisUse, resolver: Resolver) -> bool:
    """Whether a condition or a try may keep a collective from running where the use was found."""
    if any(
        _asks_first(node, module) for node, module in [(use.call, use.module), *((s.node, s.module) for s in use.way)]
    ):
        return True
    parents = use.module.table.parents
    node: ast.AST = use.call
    inside = True  # the innermost function, whose errors a try around it sees
    while node in parents:
        parent = parents[node]
        inside &= not isinstance(node, _DEFINITIONS)
        if inside and isinstance(parent, ast.Try) and parent.handlers:
            return True
        if (  # a function made under a condition is there only where that holds
            isinstance(parent, ast.If | ast.IfExp)
            and node is not parent.test
            and _may_be_passed_by(parent, node, use, resolver)
        ):
            return True
        node = parent
    return False


def is_tried(node: ast.AST, module: Module) -> bool:
    """Whether a function handles what an expression in it raises."""
    above = module.table.parents.get(node)
    while above is not None and not isinstance(above, _DEFINITIONS):
        if isinstance(above, ast.Try | ast.TryStar):
            return True
        above = module.table.parents.get(above)
    return False


def _asks_first(node: ast.AST, module: Module) -> bool:
    """Whether a function has found out by then that an axis is bound: it leaves by a handler of NameError."""
    parents = module.table.parents
    while node in parents and not isinstance(node, _DEFINITIONS):
        parent = parents[node]
        body = getattr(parent, "body", None)
        if isinstance(body, list) and node in body and any(map(_leaves_unbound, body[: body.index(node)])):
            return True
        node = parent
    return False


def _leaves_unbound(statement: ast.AST) -> bool:
    if not isinstance(statement, ast.Try):
        return False
    kinds = ((h.type, h.body[-1]) for h in statement.handlers if h.type is not None)
    return any("NameError" in ast.unparse(kind) and isinstance(last, ast.Raise | ast.Return) for kind, last in kinds)


def is_expected_to_fail(use: AxisUse) -> bool:
    """Whether a test says that what stands on the way raises."""
    return any(is_within_raises(step.node, step.module) for step in use.way)


def is_within_raises(node: ast.AST, module: Module) -> bool:
    """Whether a test says that what stands here raises, or a text that shows errors does."""
    parent, inside = module.table.parents.get(node), True
    while parent is not None:
        inside &= not isinstance(parent, _DEFINITIONS)
        if inside and isinstance(parent, ast.Try) and node in parent.body and _shows_an_error(parent, module):
            return True
        if isinstance(parent, ast.With) and any(_names_raises(item.context_expr) for item in parent.items):
            return True
        if isinstance(parent, ast.Call) and len(parent.args) > 1 and _names_raises(parent):
            return True  # `assertRaises(ValueError, f, x)`
        node, parent = parent, module.table.parents.get(parent)
    return False


def _shows_an_error(block: ast.Try, module: Module) -> bool:
    """Whether a few statements are tried because they raise, as the words around them say, and that is printed."""
    if len(block.body) > _SHOWN or any(isinstance(one, ast.Raise) for h in block.handlers for one in ast.walk(h)):
        return False
    printed = any(isinstance(one, ast.Call) for h in block.handlers for one in ast.walk(h))
    text = "\n".join(module.lines[max(block.lineno - 1 - _ABOVE, 0) : block.end_lineno])
    return printed and _EXPECTED.search(text) is not None


def _names_raises(context: ast.expr) -> bool:
    return isinstance(context, ast.Call) and last_name(context.func) in ("assertRaises", "assertRaisesRegex", "raises")


def _is_within(node: ast.AST, body: list[ast.stmt] | ast.expr) -> bool:
    return node in body if isinstance(body, list) else node is body


def _may_be_passed_by(branch: ast.If | ast.IfExp, way: ast.AST, use: AxisUse, resolver: Resolver) -> bool:
    """Whether a branch may take the other way."""
    holds = _holds(branch.test, use, resolver)
    if holds is not None:
        return holds != _is_within(way, branch.body)
    return is_about_maps(branch.test)


def _holds(test: ast.expr, use: AxisUse, resolver: Resolver) -> bool | None:
    """Whether a condition holds on the way of the use, None where that is not known."""

    def known(node: ast.expr) -> bool | None:
        constant = _constant(node, use, resolver)
        return None if constant is None else bool(constant.value)

    def agree(left: ast.expr, right: ast.expr) -> bool | None:
        one, other = _constant(left, use, resolver), _constant(right, use, resolver)
        return None if one is None or other is None else one == other

    return truth(test, known, agree)


def _constant(node: ast.expr, use: AxisUse, resolver: Resolver) -> Constant | None:
    """The one constant that an expression is on the way of the use."""
    values: Values = resolver.values(node, use.module)
    if len(values) == 1 and isinstance(values[0], Parameter):
        parameter = values[0]
        called = any(function is parameter.function for function, _ in use.bindings)  # with something that is known
        passed = use.bindings.get((parameter.function, parameter.name), ())
        values = passed if called else _default(parameter, resolver)
    return values[0] if len(values) == 1 and isinstance(values[0], Constant) else None


def _default(parameter: Parameter, resolver: Resolver) -> Values:
    """What a parameter is if nothing is passed; a map passes arrays, and flags are left as they are."""
    default = dict(defaults_of(parameter.function.args)).get(parameter.name)
    return resolver.values(default, parameter.module) if default is not None else ()
