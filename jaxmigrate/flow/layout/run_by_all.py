"""Whether each of several processes computes on the host with a replicated array, as all have to where it is global.

One that stands under a test for the first process, or in a function that is called under one, is run by that alone.
"""

from __future__ import annotations

import ast
import re

from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.trust import Assumption

ONE = re.compile(  # what a test for one process mentions
    r"process_index|host_id|(?:^|[^a-z])(?:local_|global_|world_)?rank|is_(?:main|master|chief|lead|host|local|root|first)|"
    r"(?:main|master|primary|chief|lead|coordinator|root)_?(?:process|host|rank|worker)|primary"
)
DEEPEST = 4  # callers of callers
LEAVING = ast.Return | ast.Continue | ast.Raise | ast.Break
LONGEST = 60  # of what stands in an assumption


def assumed(it: Interpreter, node: ast.expr, module: Module) -> Assumption | None:
    """That all processes run an expression; None where nothing speaks for it."""
    if not it.trust.likely or _is_run_by_one(it, node, module, DEEPEST):
        return None
    text = ast.unparse(node)
    name = f"`{text}`" if len(text) <= LONGEST else "this line"
    return Assumption("likely", "processes", "", f"each process runs {name} with the same numbers", module, node)


def _is_run_by_one(it: Interpreter, node: ast.AST, module: Module, depth: int) -> bool:
    """Whether a place may be reached in one process and not in the others."""
    inner, above = node, module.table.parents.get(node)
    while above is not None:
        if isinstance(above, ast.If | ast.IfExp | ast.While) and inner is not above.test and _asks(above.test):
            return True
        if isinstance(above, ast.BoolOp) and any(map(_asks, above.values)):
            return True
        if isinstance(inner, ast.stmt) and any(map(_leaves, _before(inner, module))):
            return True
        if isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef):
            calls = _calls(it, above.name) if depth else []
            if not depth or any(
                _is_run_by_one(it, call, where, depth - 1) for call, where in calls if call is not node
            ):
                return True
        inner, above = above, module.table.parents.get(above)
    return False


def _asks(test: ast.expr) -> bool:
    return ONE.search(ast.unparse(test).lower()) is not None


def _before(statement: ast.stmt, module: Module) -> list[ast.stmt]:
    block = module.table.block_of(statement)
    return block[: block.index(statement)] if statement in block else []


def _leaves(statement: ast.stmt) -> bool:
    """Whether a statement has all processes but one go elsewhere."""
    return (
        isinstance(statement, ast.If)
        and _asks(statement.test)
        and any(isinstance(one, LEAVING) for one in (*statement.body[-1:], *statement.orelse[-1:]))
    )


def _calls(it: Interpreter, name: str) -> list[tuple[ast.Call, Module]]:
    """The calls of what has a name."""
    return [
        (call, module)
        for module in it.modules
        if name in module.text
        for call in module.table.calls
        if isinstance(call.func, ast.Name | ast.Attribute) and last_name(call.func) == name
    ]
