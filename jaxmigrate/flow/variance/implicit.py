"""Methods that Python runs where nothing says so, and that keep what they are given somewhere else.

What `len(x)`, `x[k] = v` or an f-string run is not read. That is no matter unless it stores something in what is not
its own, where other code finds it.
"""

from __future__ import annotations

import ast

from jaxmigrate.flow.variance.mutation_summary import changed_names

NOT_READ = frozenset(
    {
        "__bool__", "__contains__", "__del__", "__delattr__", "__delete__", "__delitem__", "__format__", "__hash__",
        "__index__", "__len__", "__repr__", "__set__", "__setattr__", "__setitem__", "__str__",
    }
)  # fmt: skip
FORWARDING = frozenset({"super", "object"})  # `super().__setattr__(name, value)`


def keeps_elsewhere(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a method that is not read stores something in what is neither its object, an argument nor its own."""
    if node.name not in NOT_READ:
        return False
    inside = list(ast.walk(node))
    stored = {one.id for one in inside if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    own = {one.arg for one in inside if isinstance(one, ast.arg)} | stored | FORWARDING
    return any(isinstance(one, ast.Global | ast.Nonlocal) for one in inside) or not own.issuperset(
        changed_names(inside)
    )
