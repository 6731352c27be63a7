"""Calls that reach variables by name, as `globals()` and `vars(x)` do, or look at how the program runs."""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout import frames
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.inspection import asks_for_places
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, Given, blocker_at
from jaxmigrate.flow.layout.values import Func
from jaxmigrate.program.library import named
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Class

REFLECTION = named("reflection")
OF_MODULES = named("of-modules")  # not of functions
IMPORTS = named("imports")
INSPECTION = named("inspection")


def is_of_object(given: Given) -> bool:
    """Whether `vars(x)` is of what has attributes of its own; a module in sight, and a class, are functions' values.

    A module that is not in sight was reached by what is itself a reflection. A class without methods, as settings are
    kept in, leads to no code either.
    """
    if len(given.positional) != 1 or given.open:
        return False
    value = given.positional[0]
    return not isinstance(value, Func) or all(isinstance(one, Class) and _is_table(one) for one in value.items)


def _is_table(cls: Class) -> bool:
    """Whether all that a class says are names and annotated values that nothing calls."""
    node = cls.node
    plain = not (node.bases or node.keywords or node.decorator_list)
    return plain and all(
        isinstance(one, ast.Assign | ast.AnnAssign | ast.Pass) or isinstance(getattr(one, "value", None), ast.Constant)
        for one in node.body
    )


def note(it: Interpreter, name: str, node: ast.expr, frame: Frame) -> None:
    """Notes a call that reaches variables by name, or looks at how the program runs."""
    if name in INSPECTION and not asks_for_places(node, frame.module, it.idioms):
        it.blockers.beyond.setdefault(
            node,
            blocker_at(
                Stacked.REACHABLE.reason(
                    f"may be read or changed through {name}", "may be read or changed through an attribute"
                ),
                node,
                frame,
            ),
        )
    if name in IMPORTS and it.trust.likely:
        says = f"the module that `{ast.unparse(node)}` gives does not use the arrays of this program"
        it.assumed.imports.setdefault(node, Assumption("likely", "apart", "", says, frame.module, node))
    elif name in REFLECTION:
        it.blockers.reflections[node] = blocker_at(
            Stacked.REACHABLE.reason(
                f"may be read or changed through {name.rpartition('.')[2]}()",
                "may be read or changed through an attribute",
            ),
            node,
            frame,
        )
        frames.capture_unnamed(it, frame)
        if name in OF_MODULES:
            it.blockers.of_modules.add(node)
        if frame.scope.kind == "module" or name not in OF_MODULES:
            it.block_all(
                (frame.env or {}).values(),
                Stacked.REACHABLE.reason(
                    f"may be read or changed through {name}()", "may be read or changed through an attribute"
                ),
                node,
                frame.module,
            )
