"""What the calls of the host's code give, and what they delete."""

from __future__ import annotations

import ast

from jaxmigrate.flow.deleted.heap import Donation, Key, Thing
from jaxmigrate.flow.deleted.run import Frame, Given, Run
from jaxmigrate.flow.later_reads import METADATA
from jaxmigrate.flow.layout.kinds import REPLICATES
from jaxmigrate.program.library import named
from jaxmigrate.program.scopes import positional_names, walk
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Application, Class, External, Function, Partial, Value

UNREAD = frozenset({"len", "isinstance", "type", "id", "hasattr", "callable", "append", "eval_shape", "tree_structure"})
UNREAD |= {
    "clear_caches",
    "partial",
    "super",
    "lower",
    "tree_leaves",
    "shape",
    "ndim",
    "keys",
    "items",
    "values",
    "get",
}
HOLDERS = frozenset({"list", "tuple", "dict", "iter", "enumerate", "zip", "reversed", "sorted", "range", "tqdm"})
PLAIN = frozenset({"staticmethod", "classmethod", "no_type_check", "contextmanager"})
PLACES = named("puts") | REPLICATES


def called(run: Run, node: ast.Call, frame: Frame) -> Thing:
    """What a call gives, after it was seen whether it uses what is deleted."""
    if node in run.donated:
        return _donates(run, node, frame)
    values = run.resolver.values(node.func, frame.module)
    value = values[0] if len(values) == 1 else None
    if isinstance(value, Function) and (entered := _entered(run, value, node, frame)) is not None:
        return entered
    if isinstance(value, Class):
        return _constructed(run, value, node, frame)
    name = last_name(node.func)
    given = [*node.args, *(one.value for one in node.keywords)]
    if name in HOLDERS | UNREAD:
        things = [run.look(one, frame) for one in given]
        return things[0] if name in HOLDERS and len(things) == 1 else run.fresh()
    if isinstance(node.func, ast.Attribute) and not isinstance(value, External):
        if name in METADATA:
            return run.fresh()
        _of_owner(run, node.func.value, value, frame)
    for one in given:
        run.use(one, frame)
    return run.fresh(placed=_is_placed(value), hosted=isinstance(value, External) and value.name.startswith("numpy."))


def _of_owner(run: Run, node: ast.expr, value: Value | None, frame: Frame) -> None:
    """A method out of sight is called: of an array it uses the values, of an object it may set all that this has."""
    owner = run.look(node, frame)
    if owner in run.heap.deleted and isinstance(node, ast.Name):
        run.check(node, owner, frame)
    elif not isinstance(value, Application | Partial | Function) and run.heap.parts.get(owner):
        run.heap.clear(owner)


def _donates(run: Run, node: ast.Call, frame: Frame) -> Thing:
    given = {one.node: one for one in run.donated[node]}
    donated: list[tuple[Given, Thing]] = []
    for one in (*node.args, *(word.value for word in node.keywords)):
        inside = isinstance(one, ast.Tuple) and any(part in given for part in one.elts)
        for part in one.elts if inside and isinstance(one, ast.Tuple) else [one]:
            thing = run.use(part, frame)
            if part in given:
                donated.append((given[part], thing))
    for gift, thing in donated:
        if thing in run.hosted or (gift.moves and thing not in run.placed):
            continue
        before = run.heap.deleted.get(thing)
        if before is not None and before.call is node:
            run.check(gift.node, thing, frame)  # twice in one call
        run.sometimes.pop(thing, None)
        run.heap.delete(thing, Donation(frame.module, node, gift.name))
    return run.fresh(placed=True)


def _entered(run: Run, function: Function, node: ast.Call, frame: Frame) -> Thing | None:
    """What a function of the program gives that the host runs itself."""
    inner = function.node
    if isinstance(inner, ast.Lambda | ast.AsyncFunctionDef) or not _is_plain(run, inner, node):
        return None
    found: dict[str, Thing] = {}
    if function.receiver is not None and inner.args.args and isinstance(node.func, ast.Attribute):
        found[inner.args.args[0].arg] = run.look(node.func.value, frame)
    pairs = zip(function.passed_names(), node.args, strict=False)
    found |= {name: run.look(one, frame) for name, one in pairs}
    found |= {one.arg: run.look(one.value, frame) for one in node.keywords if one.arg is not None}
    return run.enter(function, found, frame.depth + 1)


def _constructed(run: Run, cls: Class, node: ast.Call, frame: Frame) -> Thing:
    """A new object of a class of the program, after its constructor has run."""
    fields: dict[str, Thing] = {one.arg: run.look(one.value, frame) for one in node.keywords if one.arg is not None}
    given = [run.look(one, frame) for one in node.args]
    init = next((one for one in cls.node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
    if init is None:
        parts: dict[Key, Thing] = {}
        parts.update(fields)
        return run.holder(parts)
    thing = run.fresh()
    bound = dict(zip(positional_names(init.args), [thing, *given], strict=False)) | fields
    run.enter(Function(cls.module, init), bound, frame.depth + 1)
    return thing


def _is_placed(value: Value | None) -> bool:
    """Whether what is called gives arrays that lie on the devices: what jit or a map has made, or what puts there."""
    if isinstance(value, External):
        return value.name in PLACES
    return isinstance(value, Application) and isinstance(value.callee, External)


def _is_plain(run: Run, node: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call) -> bool:
    """Whether a call of a function runs its body then and there."""
    starred = any(isinstance(one, ast.Starred) for one in call.args) or any(k.arg is None for k in call.keywords)
    if node not in run.at_once:
        run.at_once[node] = _runs_at_once(node)
    return not starred and run.at_once[node]


def _runs_at_once(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is no generator, and has no decorator that makes something else of it."""
    plain = {last_name(one) for one in node.decorator_list} <= PLAIN
    return plain and not any(isinstance(one, ast.Yield | ast.YieldFrom) for one in walk(node))
