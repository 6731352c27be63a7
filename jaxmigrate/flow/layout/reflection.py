"""Calls that reach variables by name, as `globals()` and `vars(x)` do, or look at how the program runs."""

from __future__ import annotations

import ast
import re

from jaxmigrate.flow.layout import frames
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.inspection import asks_for_places
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, Given, blocker_at
from jaxmigrate.flow.layout.values import Func
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Class, Function

REFLECTION = named("reflection")
OF_MODULES = named("of-modules")  # not of functions
IMPORTS = named("imports")
INSPECTION = named("inspection")
RUNS = frozenset({"builtins.eval", "builtins.exec"})


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
        if (called := _called_by_name(name, node, frame.module)) is not None:
            _let_go_of_functions(it, called, node, frame)
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


def _called_by_name(name: str, node: ast.expr, module: Module) -> re.Pattern[str] | None:
    """Which functions of a module are called by name: by `globals()[name](x)` any, by `eval("f(x)")` those it says."""
    parents = module.table.parents
    found = parents.get(node)
    if name in RUNS and isinstance(node, ast.Call) and node.args:
        text = node.args[0]
        said = text.value if isinstance(text, ast.Constant) and isinstance(text.value, str) else ""
        return re.compile("|".join(re.findall(r"\w+", said))) if said else None
    if isinstance(found, ast.Attribute) and found.attr == "get":
        found = parents.get(found)
        key = found.args[0] if isinstance(found, ast.Call) and found.args else None
    else:
        key = found.slice if isinstance(found, ast.Subscript) else None
    if not isinstance(found, ast.expr) or key is None:
        return None
    user = parents.get(found)
    if isinstance(user, ast.Assign) and isinstance(user.targets[0], ast.Name):
        calls = (parents.get(one) for one in module.table.named.get(user.targets[0].id, ()))
        called = any(isinstance(one, ast.Call) and last_name(one.func) == user.targets[0].id for one in calls)
    else:
        called = isinstance(user, ast.Call) and user.func is found
    if not called:
        return None
    return re.compile(re.escape(key.value) if isinstance(key, ast.Constant) and isinstance(key.value, str) else ".*")


def _let_go_of_functions(it: Interpreter, names: re.Pattern[str], node: ast.expr, frame: Frame) -> None:
    """A module's functions of some names may be called with anything, and its maps."""
    said = Stacked.NOT_VISIBLE.reason("is returned by a function that may be called by a name which fix cannot see")
    blocker = blocker_at(said, node, frame)
    root = frame.module.table.root
    for name, several in root.bindings.items():
        for binding in several if names.fullmatch(name) else ():
            if isinstance(binding.node, ast.FunctionDef):
                it.escape(Function(frame.module, binding.node), blocker)
        if names.fullmatch(name):
            it.block(it.load(("variable", root.node, name)), blocker)
