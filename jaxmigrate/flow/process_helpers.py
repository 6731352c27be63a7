"""Functions of a program that answer a question by the index of the process, perhaps only where they are told which.

`is_host = host is None or jax.process_index() == host`, and at the end `return is_host and is_step`.
"""

from __future__ import annotations

import ast
import re
from typing import NamedTuple

from jaxmigrate.program.functions import own_statements, returned_by
from jaxmigrate.program.passing import passed_by
from jaxmigrate.program.scopes import positional_names
from jaxmigrate.program.syntax import last_name

INDICES = ("process_index", "host_id")
LONGEST = 20  # statements
ANSWERS = re.compile(r"^(is_|should_|it_?s|has_|do_|can_|_is|_should|time_to|must_|check_)|time$|every$")


class Helper(NamedTuple):
    """A function that answers by the process, and its parameter without which it does not."""

    name: str
    parameter: str | None


def helper(function: ast.FunctionDef) -> Helper | None:
    """What a function that answers yes or no makes of the index of the process; None where it is no such."""
    if not ANSWERS.search(function.name) or len(statements := [*own_statements(function)]) > LONGEST:
        return None
    returned = [one for one in returned_by(function) if one is not None]
    if len(returned) != 1 or not isinstance(returned[0], ast.BoolOp | ast.Compare | ast.Name):
        return None
    held = {
        one.targets[0].id: one.value
        for one in statements
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name) and _asks(one.value)
    }
    parts = returned[0].values if isinstance(returned[0], ast.BoolOp) else [returned[0]]
    if isinstance(returned[0], ast.BoolOp) and not isinstance(returned[0].op, ast.And):
        return None
    for part in parts:
        test = held.get(part.id) if isinstance(part, ast.Name) else part
        if test is not None and _asks(test):
            return Helper(function.name, _unless_none(test, function))
    return None


def answers_by_process(call: ast.Call, function: ast.FunctionDef, found: Helper) -> bool:
    """Whether a call is one for which the answer differs between processes."""
    if found.parameter is None:
        return True
    given = passed_by(call, positional_names(function.args)).get(found.parameter)
    given = given or next((k.value for k in call.keywords if k.arg == found.parameter), None)
    return given is not None and not (isinstance(given, ast.Constant) and given.value is None)


def _asks(node: ast.expr) -> bool:
    """Whether an expression compares the index of the process."""
    compared = (one for one in ast.walk(node) if isinstance(one, ast.Compare))
    return any(
        isinstance(call, ast.Call) and last_name(call.func) in INDICES
        for one in compared
        for call in (one.left, *one.comparators)
    )


def _unless_none(test: ast.expr, function: ast.FunctionDef) -> str | None:
    """The parameter that is None where all processes get the same answer."""
    names = {*positional_names(function.args), *(one.arg for one in function.args.kwonlyargs)}
    for one in ast.walk(test):
        match one:
            case ast.Compare(left=ast.Name(id=name), comparators=[ast.Constant(value=None)]) if name in names:
                return name
    return None
