"""Loops within loops that have run when a name is read behind them: else the name would have no value, and raise.

    for epoch in range(epochs):
        for batch in range(steps):
            state, metrics = p_step(state, batch)
        metrics = unreplicate(metrics)

Were `steps` zero, `metrics` would have no value in the first epoch; as it is the same in each epoch, what `unreplicate`
gets is never what it gave. Where the loop goes through something else, or the name had another value before, a reader
takes that for granted. A loop over numbers that are known runs as well; and of None or a number that a name holds above
a loop nobody takes a slice.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from jaxmigrate.flow.layout import buffers
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Env, Frame
from jaxmigrate.flow.layout.values import Mixed, is_tracked
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import Binding, Scope
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Constant, External

LOOPS = ast.For | ast.AsyncFor | ast.While
NUMBERS = ast.Add | ast.Sub | ast.Mult | ast.FloorDiv
INFINITE = frozenset({"jax.numpy.inf", "jax.numpy.nan", "math.inf", "math.nan", "numpy.inf", "numpy.nan"})
DEEPEST = 4  # `steps = n // size`


def leave(it: Interpreter, node: ast.For | ast.AsyncFor | ast.While, end: Env | None, frame: Frame) -> None:
    """Gives the names that a loop leaves the values that its body gives them, where it has run when they are read."""
    if not isinstance(node, ast.For) or end is None or frame.env is None:
        return
    outer, always = _outermost(node, frame.module), _runs_always(it, node.iter, frame.module)
    for name in [n for n, value in frame.env.items() if isinstance(value, Mixed)]:
        made = end.get(name)
        if made is None or isinstance(made, Mixed) or not is_tracked(made):
            continue
        is_set = outer is not None and _is_set_by(name, node, frame)
        if outer is None:
            runs = always or _holds_no_array_above(it, name, node, frame)
        else:
            runs = always or (is_set and _has_rounds_of(node.iter, outer, frame.module, it))
        if runs:
            frame.env[name] = made
        elif it.trust.likely and (is_set or _sets_anew(name, node)):
            says = f"the loop over `{ast.unparse(node.iter)}` runs at least once"
            it.lean([made], Assumption("likely", "equal", "", says, frame.module, node))
            frame.env[name] = made


def _sets_anew(name: str, loop: ast.For) -> bool:
    """Whether the body of a loop gives a name a value in each round before it reads the name."""
    for statement in loop.body:
        named = [n for n in ast.walk(statement) if isinstance(n, ast.Name) and n.id == name]
        if named:
            return isinstance(statement, ast.Assign) and all(isinstance(n.ctx, ast.Store) for n in named)
    return False


def _runs_always(it: Interpreter, over: ast.expr, module: Module) -> bool:
    """Whether a loop goes through a range of numbers that are known, and not of none."""
    match over:
        case ast.Call(func=func, args=[first, *rest]) if not any(isinstance(one, ast.Starred) for one in rest):
            name = _name(it, func, module)
            if name == "builtins.range":
                numbers = [n for one in (first, *rest) if (n := _number(it, one, module)) is not None]
                known = len(numbers) == 1 + len(rest) and 0 not in numbers[2:]
                return known and len(range(*numbers)) > 0
            goes_through = name == "builtins.enumerate" or name.partition(".")[0] == "tqdm"
            return goes_through and _runs_always(it, first, module)
    return False


def _number(it: Interpreter, node: ast.expr, module: Module) -> int | None:
    value = it.resolver.value(node, module)
    return value.value if isinstance(value, Constant) and type(value.value) is int else None


def _outermost(node: ast.AST, module: Module) -> ast.For | ast.AsyncFor | ast.While | None:
    """The loop of the same function or module that has a loop in it, and is itself in none."""
    found = None
    above = module.table.parents.get(node)
    while above is not None and not isinstance(above, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
        if isinstance(above, ast.ClassDef):
            return None
        found = above if isinstance(above, LOOPS) else found
        above = module.table.parents.get(above)
    return found


def _is_set_by(name: str, loop: ast.For, frame: Frame) -> bool:
    """Whether a name has no value before the body of a loop gives it one: all else that assigns it reads it first."""
    scope, module = frame.scope, frame.module
    if hasattr(builtins, name) or any(name in one.outer_names for one in module.table.own_scope.values()):
        return False
    inside = {one for statement in loop.body for one in ast.walk(statement)}
    return all(b.node in inside or _reads_first(b, module) for b in scope.bindings.get(name, ()))


def _holds_no_array_above(it: Interpreter, name: str, loop: ast.For, frame: Frame) -> bool:
    """Whether all that gives a name a value above a loop gives None or one number, of which no slice can be taken."""
    scope, module = frame.scope, frame.module
    if hasattr(builtins, name) or any(name in one.outer_names for one in module.table.own_scope.values()):
        return False
    inside = {one for statement in loop.body for one in ast.walk(statement)}
    others = [b for b in scope.bindings.get(name, ()) if b.node not in inside]
    above = [b for b in others if getattr(b.node, "lineno", 0) <= (loop.end_lineno or 0)]
    return bool(above) and all(b.value is not None and not b.path and _is_no_array(it, b.value, module) for b in above)


def _is_no_array(it: Interpreter, node: ast.expr, module: Module) -> bool:
    match node:
        case ast.Constant(value=None | int() | float()):
            return True
        case ast.UnaryOp(operand=operand):
            return _is_no_array(it, operand, module)
        case ast.Call(func=func):
            return _name(it, func, module) in ("builtins.float", "builtins.int")
        case ast.Name() | ast.Attribute():
            return _name(it, node, module) in INFINITE
    return False


def _reads_first(binding: Binding, module: Module) -> bool:
    """Whether an assignment gives a name what comes of its own value: `m = unreplicate(m)`, `m = m[0]`."""
    value = binding.value
    if value is None or binding.kind != "assign" or binding.path:
        return False
    if not isinstance(module.table.parents.get(value), ast.Assign):
        return False
    match value:
        case ast.Call(args=args):
            return any(isinstance(one, ast.Name) and one.id == binding.name for one in args)
        case ast.Subscript(value=ast.Name(id=name)):
            return name == binding.name
    return False


def _has_rounds_of(over: ast.expr, outer: ast.AST, module: Module, it: Interpreter) -> bool:
    """Whether what a loop goes through has as many elements in each round of the loop around it."""
    match over:
        case ast.Call(func=func, args=[first, *rest]):
            name = _name(it, func, module)
            if name == "builtins.range":
                return all(_is_same_number(one, outer, module, it) for one in (first, *rest))
            goes_through = name == "builtins.enumerate" or name.partition(".")[0] == "tqdm"
            return goes_through and _has_rounds_of(first, outer, module, it)
    return False


def _is_same_number(node: ast.expr, outer: ast.AST, module: Module, it: Interpreter, depth: int = DEEPEST) -> bool:
    """Whether an expression is a number that does not change while a loop runs."""
    match node:
        case ast.Constant(value=int()):
            return True
        case ast.BinOp(left=left, op=op, right=right) if isinstance(op, NUMBERS):
            return all(_is_same_number(one, outer, module, it, depth) for one in (left, right))
        case ast.Name(id=name) if depth > 0 and node in module.table.scope_of:
            holder = module.table.scope_of[node].lookup(name)
            bound = [] if holder is None else [*_bound(holder, name, module)]
            if len(bound) > 1 and not all(_is_outside(one, outer, module) for one in bound):
                return False  # one value before the loop, and another in it
            return (
                bool(bound)
                and all(_is_kept(one, outer, module, it, depth) for one in bound)
                and not buffers.is_written(it, node, module)  # `steps[()] = 0`, of NumPy
            )
    return False


def _bound(holder: Scope, name: str, module: Module) -> Iterator[Binding | None]:
    """What gives a name its value; None where another function may as well."""
    if any(name in one.outer_names for one in module.table.own_scope.values()):
        yield None
    yield from holder.bindings.get(name, [None])


def _is_outside(binding: Binding | None, loop: ast.AST, module: Module) -> bool:
    """Whether a binding does not stand in a loop."""
    above: ast.AST | None = binding.node if binding is not None else None
    while above is not None and above is not loop:
        above = module.table.parents.get(above)
    return above is None


def _is_kept(binding: Binding | None, outer: ast.AST, module: Module, it: Interpreter, depth: int) -> bool:
    """Whether a binding gives a name one value for all rounds of a loop: before it, or by what does not change."""
    if binding is None:
        return False
    if _is_outside(binding, outer, module):
        return binding.kind in ("assign", "param")
    same = binding.kind == "assign" and not binding.path and binding.value is not None
    return same and binding.value is not None and _is_same_number(binding.value, outer, module, it, depth - 1)


def _name(it: Interpreter, func: ast.expr, module: Module) -> str:
    value = it.resolver.value(func, module)
    return value.name if isinstance(value, External) else ""
