"""Branches that processes take differently, and the operations that then only some of them reach."""

from __future__ import annotations

import ast
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from jaxmigrate.flow.host_draws import WORDS, draws_numbers
from jaxmigrate.flow.operations import Operation, operations, same_sequence, within_map
from jaxmigrate.flow.own_data import own_data, reads_own_data
from jaxmigrate.flow.process_guards import guards_of, is_guard
from jaxmigrate.flow.process_helpers import answers_by_process, helper
from jaxmigrate.program.functions import own_statements, returned_by
from jaxmigrate.program.imports import reached
from jaxmigrate.program.library import last_names, named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import children, inner_statements, is_docstring, walk
from jaxmigrate.program.syntax import expression_calls, last_name
from jaxmigrate.program.values import Application, External, Function, Value
from jaxmigrate.records import record, replace

PROCESS_INDEX = named("process-index")
CLOCK_NAMES = named("clock")
CLOCKS = ("time.time(", "perf_counter(", "monotonic(", "time()")
HANDLERS = ("except ", "except:")
SEVERAL = ("process_index", "process_count", "host_id", "host_count", "distributed.initialize", "multihost_utils")
# What every process runs into at the same time, as a rule
EXPECTED = re.compile(
    "StopIteration|OutOfRange|Keyboard|Import|ModuleNotFound|Attribute|Name|Key|Index|FileNotFound|Timeout|Queue|Empty"
)
OF_VALUES = re.compile("AssertionError|FloatingPointError")  # of a process that has looked at its own part
READS_DATA = re.compile(r"next\(|load|read|batch|data|example|sample|fetch|decode|open\(")
RANK = re.compile(r"""(getenv\(|environ(\.get\(|\[))['"](RANK|SLURM_PROCID|JAX_PROCESS_ID|PROCESS_ID)['"]""")
RESTORES = named("restores")
LAST_RESTORES = last_names("restores")
RESTORED = "restores a checkpoint"
BROADCAST = "broadcast"
# By which a program refuses to run as several
ALONE = re.compile(
    r"assert (jax\.)?(process|host)_count\(\) == 1\b|if (jax\.)?(process|host)_count\(\) (> 1|!= 1|>= 2):\s+raise"
)
# `if config.single_host_checkpoints and process_index() != 0`, beside which checkpoints are written by one process
SINGLE = re.compile("single_?(host|process)", re.IGNORECASE)
MANAGED = re.compile("save|restore", re.IGNORECASE)
WRAPPING = frozenset({"enumerate", "tqdm", "zip", "reversed", "list", "sorted"})
PLAIN = (ast.Assign, ast.Expr, ast.Return, ast.AugAssign, ast.AnnAssign, ast.FunctionDef, ast.ClassDef, ast.Import)
LONGEST_TIMER = 5  # statements
ENDS = ast.Return | ast.Raise | ast.Continue | ast.Break


@record(eq=False)
class ProcessBranch:
    """A test on the process index and the first operation that not every process reaches because of it."""

    module: Module
    test: ast.expr
    operation: Operation


def is_of_several(module: Module, resolver: Resolver) -> bool:
    """Whether a program says that it runs as several processes: a module, or what it imports of the project.

    A notebook says so itself, as one process runs it otherwise.
    """
    project = resolver.project
    if ALONE.search(module.text):
        return False
    paths = reached(module.path, module.text, project) if module.path.suffix != ".ipynb" else ()
    texts = (module.text, *(project.text(path) or "" for path in paths))
    return any(word in text for text in texts for word in SEVERAL)


def process_branches(module: Module, resolver: Resolver) -> Iterator[ProcessBranch]:
    """The branches of a module on the process index whose ways differ in their operations."""
    guards = _guards(resolver)
    words = ("process_index", "host_id", *_helpers(resolver), *guards, *own_data(module, resolver))
    timers = _timers(resolver)
    if any(word in module.text for word in (*CLOCKS, *HANDLERS, *WORDS, *timers)) and _has_several(resolver):
        words = (*words, *CLOCKS, *HANDLERS, *WORDS, *timers)
    if not any(word in module.text for word in words):
        return
    statements = _statements(module.tree)
    if guards:  # what these run is told where they decorate it
        inner = {s for n in statements if isinstance(n, ast.FunctionDef) and n.name in guards for s in ast.walk(n)}
        statements = [node for node in statements if node not in inner]
    for node in statements:
        if isinstance(node, ast.Module | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from _of_body(_Way(module, resolver), node.body, [], [])
        if guards and isinstance(node, ast.FunctionDef):
            yield from _of_decorated(node, module, guards, resolver)
    telling = sorted({line for word in words for line in _lines_with(word, module.text)})
    for node in statements if telling else ():
        if not isinstance(node, ast.Module) and _spans(node, telling):
            for child in children(node):
                if isinstance(child, ast.expr) and _spans(child, telling):
                    yield from _of_expression(child, module, resolver)


def _of_decorated(
    node: ast.FunctionDef, module: Module, guards: frozenset[str], resolver: Resolver
) -> Iterator[ProcessBranch]:
    """The decorators of a function that keep it to some processes, with what these then do alone."""
    for decorator in guards_of(node, guards):
        for operation in operations(node.body, module, resolver)[:1]:
            yield ProcessBranch(module, decorator, operation)


def _lines_with(word: str, text: str) -> Iterator[int]:
    """The lines of a text, as the parser counts them, that hold a word, once for each time that they do."""
    line, done, at = 1, 0, text.find(word)
    while at >= 0:
        line += text.count("\n", done, at) + text.count("\r", done, at) - text.count("\r\n", done, at)
        yield line
        done, at = at, text.find(word, at + 1)


def _spans(node: ast.AST, lines: Sequence[int]) -> bool:
    """Whether one of some lines is among those of a node, decorators included; a case of a match tells none."""
    start: int = getattr(node, "lineno", 1)
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        start = min([start, *(one.lineno for one in node.decorator_list)])
    at = bisect_left(lines, start)
    return at < len(lines) and lines[at] <= getattr(node, "end_lineno", lines[at])


@once
def _helpers(resolver: Resolver) -> frozenset[str]:
    """The names of the program's functions that do nothing but test the process index."""
    words = ("process_index", "host_id", "RANK", "PROCID", "PROCESS_ID")
    modules = [m for m in resolver.project.named if any(word in m.text for word in words)]
    nodes = [node for m in modules for node in _statements(m.tree)]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef)]
    return frozenset(one.name for one in functions if _tested(one) is not None or helper(one) is not None)


@once
def _guards(resolver: Resolver) -> frozenset[str]:
    """The names of the program's functions that decorate others to run on some processes alone."""
    words = ("process_index", "host_id", *_helpers(resolver))
    modules = [m for m in resolver.project.named if "return " in m.text and any(word in m.text for word in words)]
    found = {
        node.name
        for module in modules
        for node in _statements(module.tree)
        if isinstance(node, ast.FunctionDef) and any(isinstance(one, ast.FunctionDef) for one in inner_statements(node))
        if is_guard(node, partial(differs, module=module, resolver=resolver))
    }
    using = [m for m in resolver.project.named if any(name in m.text for name in found)]
    functions = [node for m in using for node in m.table.own_scope if isinstance(node, ast.FunctionDef)]
    return frozenset(name for name in found if any(any(guards_of(one, frozenset([name]))) for one in functions))


def _tested(function: ast.FunctionDef) -> ast.expr | None:
    """What a function returns, if it is nothing but a test that mentions the process index."""
    body = [s for s in function.body if not is_docstring(s)]
    value = body[0].value if len(body) == 1 and isinstance(body[0], ast.Return) else None
    if value is None or isinstance(value, ast.Call | ast.Name | ast.Constant):
        return None
    text = ast.unparse(value)
    return value if "process_index" in text or "host_id" in text or RANK.search(text) else None


def _statements(tree: ast.Module) -> list[ast.AST]:
    """The module and all statements in it, and what else can hold statements."""
    found: list[ast.AST] = [tree]
    for node in found:  # which grows as it goes
        found += inner_statements(node)
    return found


@record
class _Way:
    """Where a walk through a function's statements stands: what a break leaves out, None outside of loops."""

    module: Module
    resolver: Resolver
    loop: tuple[ast.stmt, ...] | None = None


def _of_body(
    way: _Way, body: Sequence[ast.stmt], after: Sequence[ast.stmt], around: Sequence[ast.stmt]
) -> Iterator[ProcessBranch]:
    """The branches in a body: `after` is what follows it in the function, `around` what follows it in its loop."""
    for index, statement in enumerate(body):
        if isinstance(statement, PLAIN):
            continue
        rest, inside = [*body[index + 1 :], *after], [*body[index + 1 :], *around]
        match statement:
            case ast.If(test=test) | ast.While(test=test) if differs(test, way.module, way.resolver):
                yield from _of_branch(way, statement, rest, inside)
            case ast.For(iter=iterable) if _is_own_part(iterable, way.module, way.resolver):
                for operation in operations(statement.body, way.module, way.resolver)[:1]:
                    yield ProcessBranch(way.module, iterable, operation)
            case ast.Try() if way.loop is not None and _has_several(way.resolver):
                yield from _of_handlers(way, statement, inside, way.resolver)
        inner, is_loop = way, False
        if isinstance(statement, ast.For | ast.AsyncFor | ast.While):
            inner, is_loop = replace(way, loop=tuple(statement.body)), True
        for part in _bodies(statement):
            yield from _of_body(inner, part, rest, [] if is_loop else inside)


def _of_handlers(way: _Way, node: ast.Try, inside: Sequence[ast.stmt], resolver: Resolver) -> Iterator[ProcessBranch]:
    """Where a process that alone could not read its data leaves out what the others do in that round of a loop."""
    before = _before_operations(node.body, way.module, resolver)
    tried = node.body if before is None else [one for one in before if _may_fail(one)]
    reads = any(READS_DATA.search(ast.unparse(one)) for one in tried)
    for handler in node.handlers:
        end, kind = _end(handler.body), handler.type
        if kind is None or not isinstance(end, ast.Continue | ast.Break) or _is_expected(kind):
            continue
        missed = [*inside, *(way.loop or ())] if isinstance(end, ast.Break) else inside
        if not reads and not OF_VALUES.search(ast.unparse(kind)):
            continue  # what fails for other reasons fails on all, and what has waited for the others has told them
        own = [] if before is None else node.body
        rest = operations([*own, *node.orelse, *missed], way.module, resolver)
        for operation in within_map(rest)[:1]:
            yield ProcessBranch(way.module, kind, operation)


def _is_expected(kind: ast.expr) -> bool:
    """Whether every process runs into all of some exceptions at the same time, as a rule."""
    kinds = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return all(EXPECTED.search(ast.unparse(one)) for one in kinds)


def _before_operations(body: Sequence[ast.stmt], module: Module, resolver: Resolver) -> Sequence[ast.stmt] | None:
    """The statements of a body before the first that has an operation; None where none has."""
    for index, statement in enumerate(body):
        if operations([statement], module, resolver):
            return body[:index]
    return None


def _may_fail(statement: ast.stmt) -> bool:
    """Whether a statement makes something of a process's own data, as a line that reads a batch or prepares it does."""
    return isinstance(statement, ast.Assign) and any(isinstance(node, ast.Call) for node in ast.walk(statement.value))


def _is_own_part(iterable: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether a loop is over what each process has its own number of: a range of its index, or every n-th element."""
    while isinstance(iterable, ast.Call) and last_name(iterable.func) in WRAPPING and iterable.args:
        iterable = iterable.args[0]
    if _is_range(iterable):
        return differs(iterable, module, resolver)
    if isinstance(iterable, ast.Name):
        bindings = resolver.bindings(iterable.id, module.table.scope_of[iterable])
        above = [b for b in bindings if getattr(b.node, "lineno", 0) < iterable.lineno and not b.path]
        value = max(above, key=lambda b: getattr(b.node, "lineno", 0)).value if above else None
    else:
        value = iterable
    part = value.slice if isinstance(value, ast.Subscript) else None
    return isinstance(part, ast.Slice) and any(
        _reads_index(resolver.value(call.func, module), resolver) for call in expression_calls(part)
    )


@once
def _has_several(resolver: Resolver) -> bool:
    """Whether the program is written for several processes."""
    return any(word in module.text for module in resolver.project.named for word in SEVERAL)


def _is_range(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "range"


def _bodies(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    for name in ("body", "orelse", "finalbody"):
        found = getattr(node, name, None)
        if isinstance(found, list) and found and isinstance(found[0], ast.stmt):
            yield found
    for handler in getattr(node, "handlers", ()):
        yield handler.body


def _of_branch(
    way: _Way, node: ast.If | ast.While, after: Sequence[ast.stmt], around: Sequence[ast.stmt]
) -> Iterator[ProcessBranch]:
    module, resolver = way.module, way.resolver
    one = operations(node.body, module, resolver)
    other = operations(node.orelse, module, resolver)
    end_one, end_other = _end(node.body), _end(node.orelse)
    if (end_one is None) != (end_other is None) and not isinstance(end_one or end_other, ast.Raise):
        end = end_one or end_other
        missed = [*around, *(way.loop or ())] if isinstance(end, ast.Break) else around
        rest = operations([*after, *(way.loop or ())] if isinstance(end, ast.Return) else missed, module, resolver)
        one, other = (one, other + rest) if end_one is not None else (one + rest, other)
    if not same_sequence(one, other):
        first = _first_difference(one, other)
        if not (SINGLE.search(ast.unparse(node.test)) and MANAGED.search(first.kind)):
            yield ProcessBranch(module, node.test, first)
    elif not isinstance(end_one or end_other, ast.Raise) and not _has_broadcast(resolver):
        yield from (ProcessBranch(module, node.test, restored) for restored in _restored(node, module, resolver))


def _restored(node: ast.If | ast.While, module: Module, resolver: Resolver) -> Iterator[Operation]:
    """What only one way restores and gives a name that what follows reads: the other processes go on without it."""
    for statement in (inner for part in (node.body, node.orelse) for one in part for inner in _all_of(one)):
        call = statement.value if isinstance(statement, ast.Assign) else None
        if isinstance(call, ast.Call) and last_name(call.func) in LAST_RESTORES:
            value = resolver.value(call.func, module)
            if isinstance(value, External) and value.name in RESTORES:
                yield Operation(RESTORED, module, call)


def _all_of(statement: ast.stmt) -> Iterator[ast.stmt]:
    """A statement and those in it."""
    yield statement
    for part in _bodies(statement):
        for one in part:
            yield from _all_of(one)


def _has_broadcast(resolver: Resolver) -> bool:
    """Whether the program hands anything from one process to the others."""
    return any(BROADCAST in module.text for module in resolver.project.named)


def _end(body: Sequence[ast.stmt]) -> ast.stmt | None:
    return body[-1] if body and isinstance(body[-1], ENDS) else None


def _of_expression(root: ast.expr, module: Module, resolver: Resolver) -> Iterator[ProcessBranch]:
    """Operations in one arm of `a if index == 0 else b`, or behind `index == 0 and`."""
    for node in walk(root):
        match node:
            case ast.IfExp(test=test, body=body, orelse=orelse) if differs(test, module, resolver):
                one, other = operations([body], module, resolver), operations([orelse], module, resolver)
            case ast.BoolOp(values=[test, *more]) if differs(test, module, resolver):
                one, other = operations(more, module, resolver), []
            case _:
                continue
        if not same_sequence(one, other):
            yield ProcessBranch(module, test, _first_difference(one, other))


def _first_difference(one: list[Operation], other: list[Operation]) -> Operation:
    for a, b in zip(one, other, strict=False):
        if a.signature != b.signature:
            return a
    longer = max(one, other, key=len)
    return longer[min(len(one), len(other))]


def differs(test: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether a test certainly reads the process index: directly, through a function that does nothing else, or
    through a name or attribute assigned from it.
    """
    calls = list(expression_calls(test))
    if any(_is_answered_by_process(call, module, resolver) for call in calls):
        return True
    if any(_reads_index(resolver.value(call.func, module), resolver) for call in calls):
        return True
    if any(_reads_own_file(call, module, resolver) for call in calls) or _reads_clock(test, module, resolver):
        return True
    if reads_own_data(test, module, resolver):
        return True
    if _has_several(resolver) and draws_numbers(test, module, resolver):
        return True
    names = [n for n in walk(test) if isinstance(n, ast.Name | ast.Attribute)]
    return any(_is_index_call(resolver.value(n, module)) or _from_index(n, module, resolver) for n in names)


def _is_answered_by_process(call: ast.Call, module: Module, resolver: Resolver) -> bool:
    """Whether a call is of a function that answers by the process, and is told which."""
    if last_name(call.func) not in _helpers(resolver):
        return False
    value = resolver.value(call.func, module)
    node = value.node if isinstance(value, Function) else None
    found = helper(node) if isinstance(node, ast.FunctionDef) else None
    return found is not None and isinstance(node, ast.FunctionDef) and answers_by_process(call, node, found)


def _reads_index(value: Value, resolver: Resolver) -> bool:
    if isinstance(value, Function) and isinstance(value.node, ast.FunctionDef):
        tested = _tested(value.node) if value.node.name in _helpers(resolver) else None
        if tested is not None and RANK.search(ast.unparse(tested)):
            return _has_several(resolver)
        return tested is not None and differs(tested, value.module, resolver)
    return _is_index(value)


def _reads_own_file(call: ast.Call, module: Module, resolver: Resolver) -> bool:
    """`exists(path)`, where the path holds the index of the process."""
    if last_name(call.func) not in ("exists", "isfile", "isdir", "is_file", "is_dir"):
        return False
    names = [one for one in walk(call) if isinstance(one, ast.Name)]
    bound = [
        b.value for one in names for b in resolver.bindings(one.id, module.table.scope_of[one]) if b.value is not None
    ]
    inside = [inner for value in bound for inner in expression_calls(value)]
    return any(_is_index(resolver.value(inner.func, module)) for inner in inside)


def _reads_clock(test: ast.expr, module: Module, resolver: Resolver) -> bool:
    """Whether a test compares times, of which each process has its own."""
    timers = _timers(resolver)
    if not any(word in module.text for word in (*CLOCKS, *timers)) or not _has_several(resolver):
        return False
    for compared in [one for one in walk(test) if isinstance(one, ast.Compare)]:
        names = [one for one in walk(compared) if isinstance(one, ast.Name)]
        bound = [b.value for one in names for b in resolver.bindings(one.id, module.table.scope_of[one])]
        ordered = any(isinstance(op, ast.Lt | ast.LtE | ast.Gt | ast.GtE) for op in compared.ops)
        values = [compared, *(value for value in bound if isinstance(value, ast.BinOp | ast.Call) and ordered)]
        if any(_is_clock(call, module, resolver) for value in values for call in expression_calls(value)):
            return True
    return False


def _is_clock(call: ast.Call, module: Module, resolver: Resolver) -> bool:
    value = resolver.value(call.func, module)
    if isinstance(value, Function):
        return value.node in _timers(resolver).get(getattr(value.node, "name", ""), ())
    if _is_clock_itself(call, module, resolver):
        return True
    return isinstance(call.func, ast.Attribute) and not call.args and call.func.attr in _timers(resolver)


def _is_clock_itself(call: ast.Call, module: Module, resolver: Resolver) -> bool:
    value = resolver.value(call.func, module)
    return isinstance(value, External) and value.name in CLOCK_NAMES


@once
def _timers(resolver: Resolver) -> Mapping[str, Sequence[ast.AST]]:
    """The program's functions that only say what time it is or has passed, by names that no others have."""
    found: dict[str, list[ast.AST]] = {}
    modules = resolver.project.named
    for module in modules if _has_several(resolver) else ():
        if not any(word in module.text for word in CLOCKS):
            continue
        for node in module.table.own_scope:
            if isinstance(node, ast.FunctionDef) and _tells_time(node, module, resolver):
                found.setdefault(node.name, []).append(node)
    counts = {name: sum(len(re.findall(rf"def {name}\(", one.text)) for one in modules) for name in found}
    return {name: nodes for name, nodes in found.items() if counts[name] == len(nodes)}


def _tells_time(function: ast.FunctionDef, module: Module, resolver: Resolver) -> bool:
    """Whether all that a short function returns is read from a clock, or a difference to what is."""
    statements = [*own_statements(function)]
    if len(statements) > LONGEST_TIMER:
        return False
    held = {
        one.targets[0].id: one.value
        for one in statements
        if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name)
    }
    returned = [one for one in returned_by(function) if one is not None]
    values = [held.get(one.id, one) if isinstance(one, ast.Name) else one for one in returned]
    timed = (one for one in values if isinstance(one, ast.BinOp | ast.Call))
    read = [one for one in timed if any(_is_clock_itself(c, module, resolver) for c in expression_calls(one))]
    return bool(read) and len(read) == len(returned)


def _is_index(value: Value) -> bool:
    return isinstance(value, External) and value.name in PROCESS_INDEX


def _is_index_call(value: Value) -> bool:
    return isinstance(value, Application) and _is_index(value.callee)


def _from_index(node: ast.Name | ast.Attribute, module: Module, resolver: Resolver) -> bool:
    """Whether a name or attribute has one assignment, a comparison with the process index: `chief = host_id() == 0`.

    Or an attribute the index itself: `args.rank = process_index()`.
    """
    if isinstance(node, ast.Attribute):
        values = [a.value for a in module.table.attributes if a.attr == node.attr]
    else:
        values = [b.value for b in resolver.bindings(node.id, module.table.scope_of[node]) if b.value is not None]
        values = values if len(values) == len(resolver.bindings(node.id, module.table.scope_of[node])) else []
    value = values[0] if len(values) == 1 else None
    if isinstance(value, ast.Call) and isinstance(node, ast.Attribute):
        return _is_index(resolver.value(value.func, module))
    if not isinstance(value, ast.Compare):
        return False
    return any(_is_index(resolver.value(call.func, module)) for call in expression_calls(value))
