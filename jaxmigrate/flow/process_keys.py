"""Random keys that every process of a program makes alike, and splits for its own devices.

Such a key comes from a seed, and nothing that differs between processes has gone into it. What is not followed counts
as different. Nothing is said of a program that knows of its process only where the first one writes: it gives all the
same data as well, and one process is what it is run as.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from jaxmigrate.flow.processes import is_of_several
from jaxmigrate.flow.stacked_names import nearest
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.process_texts import texts_beside
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding, positional_names
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import External, Function, Parameter
from jaxmigrate.records import made, record

DEEPEST = 12
COUNTING = ("process_count", "device_count")
COUNTS_OF_ALL = frozenset({"jax.process_count", "jax.device_count"})
SPLITTING = frozenset({"jax.random.split", "jax.random.fold_in", "jax.random.clone"})
SEEDING = named("seed") - SPLITTING
KEY_SPLITS = named("splits-key")
LOCAL = ("local_device_count", "local_devices")
PROCESS = re.compile(r"process|host|rank|worker|task|machine|node|time|random|environ|secrets|uuid")
CONFIGURED = re.compile(
    r"^(self\.)?(FLAGS|flags|args|cfg|config|conf|hparams|opt|options|hps|c|hp)\b|seed", re.IGNORECASE
)
INDEX = re.compile("process_index|host_id")
OWN_INDEX = re.compile(r"fold_in\(.{0,80}axis_index|axis_index.{0,300}fold_in\(", re.DOTALL)
TAKES = "take"
ASKED = r"(process_index|process_count|host_id|host_count)\(\)"
# What the first process does alone, and what is printed
FIRST = re.compile(
    rf"(not|bool\() ?[\w.]*{ASKED}|\b[\w.]*(process_index|host_id)\(\) (==|!=|>) 0\b"
    rf"|\b0 (==|!=|<) [\w.]*(process_index|host_id)\(\)|\{{[^{{}}\n]*{ASKED}[^{{}}\n]*\}}"
    r"|^.*(\bprint|logg\w*\.\w+)\(.*$",
    re.MULTILINE,
)
DIVIDED = re.compile(rf"\b{ASKED}|distributed\.initialize|multihost_utils")
SEQUENCE = "PRNGSequence"


class Alike(NamedTuple):
    """A key that is split for the devices of each process, where it is, and the seed that it comes from."""

    module: Module
    split: ast.expr
    seed: tuple[Module, ast.expr]


def keys_alike(modules: Iterable[Module], resolver: Resolver) -> Iterator[Alike]:
    """The splits of what all processes have, in a program of several."""
    given = [m for m in modules if any(w in m.text for w in LOCAL) and not m.is_test and not m.cells]
    given = [module for module in given if is_of_several(module, resolver)]
    given = [one for one in given if not any(OWN_INDEX.search(text) for text in texts_beside(one, resolver))]
    given = [one for one in given if any(map(_is_of_several_parts, texts_beside(one, resolver)))]
    if not given:
        return
    keys = _Keys(resolver)
    told: set[ast.expr] = set()  # one seed, one finding
    for module in given:
        for call in module.table.calls:
            key = _split(call, module, keys)
            seed = keys.seed(key, module) if key is not None else None
            if seed is not None and key is not None and seed[1] not in told:
                told.add(seed[1])
                yield Alike(module, _sequence(key, module) or call, seed)


@cache
def _is_of_several_parts(text: str) -> bool:
    """Whether a text asks which process it is for more than what the first one does alone."""
    return DIVIDED.search(text) is not None and DIVIDED.search(FIRST.sub("", text)) is not None


def _sequence(key: ast.expr, module: Module) -> ast.Call | None:
    """The sequence of keys that some are taken of, as it stands nearest above."""
    above = nearest(key, module) if isinstance(key, ast.Name) else None
    made_by = above.value if above is not None else None
    return made_by if isinstance(made_by, ast.Call) and last_name(made_by.func) == SEQUENCE else None


def _split(call: ast.Call, module: Module, keys: _Keys) -> ast.expr | None:
    """The key that a call splits, or takes some of, for each device of this process."""
    last = last_name(call.func)
    if last == TAKES and isinstance(call.func, ast.Attribute) and len(call.args) == 1:
        return call.func.value if keys.counts_local(call.args[0], module) else None
    if last == "split" and len(call.args) + len(call.keywords) == 2:
        number = call.args[1] if len(call.args) == 2 else call.keywords[0].value
        if keys.callee(call, module) == "jax.random.split" and keys.counts_local(number, module):
            return call.args[0] if call.args else None
    if last in {name.rpartition(".")[2] for name in KEY_SPLITS} and len(call.args) == 1:
        return call.args[0] if keys.callee(call, module) in KEY_SPLITS else None
    return None


@record
class _Keys:
    """Follows keys back to their seeds."""

    resolver: Resolver
    _open: set[ast.expr] = made(factory=set)

    def callee(self, call: ast.Call, module: Module) -> str:
        """The full name of a library's function that is called."""
        value = self.resolver.value(call.func, module)
        return value.name if isinstance(value, External) else ""

    def counts_local(self, node: ast.expr, module: Module) -> bool:
        """Whether a number is that of this process's devices."""
        if isinstance(node, ast.Name):
            bound = self.resolver.bindings_at(node, module)
            return bool(bound) and all(b.value is not None and self.counts_local(b.value, module) for b in bound)
        return isinstance(node, ast.Call) and any(word in ast.unparse(node) for word in LOCAL)

    def seed(self, node: ast.expr, module: Module) -> tuple[Module, ast.expr] | None:
        """Where a key is made from a seed, if all that has gone into it is the same on all processes."""
        return self._seed(node, module, 0)

    def _seed(self, node: ast.expr, module: Module, depth: int) -> tuple[Module, ast.expr] | None:
        if depth > DEEPEST:
            return None
        match node:
            case ast.Name():
                return self._named(node, module, depth)
            case ast.Subscript(value=ast.Call() as inner):
                return self._seed(inner, module, depth + 1)
            case ast.Attribute(value=ast.Name(id="self"), attr=name):
                stored = [a.value for a in module.table.attributes if a.attr == name]
                return self._agreed([(value, module) for value in stored], depth)
            case ast.BinOp(left=left, right=right):
                return self._seed(left, module, depth + 1) if self._is_shared(right, module, depth) else None
            case ast.Call():
                return self._called(node, module, depth)
        return None

    def _agreed(self, each: Iterable[tuple[ast.expr, Module]], depth: int) -> tuple[Module, ast.expr] | None:
        """The seed of several that may stand for one; those that lead back to what is asked for say nothing."""
        found: tuple[Module, ast.expr] | None = None
        for value, module in each:
            if value in self._open:
                continue
            self._open.add(value)
            seed = self._seed(value, module, depth + 1)
            self._open.discard(value)
            if seed is None:
                return None
            found = found or seed
        return found

    def _named(self, node: ast.Name, module: Module, depth: int) -> tuple[Module, ast.expr] | None:
        bindings = self.resolver.bindings_at(node, module)
        if len(bindings) == 1 and bindings[0].kind == "param":
            function = module.table.function_of(bindings[0].node)
            if function is None or isinstance(function, ast.Lambda):
                return None
            written = callers_of(self.resolver).written(Parameter(module, function, node.id))
            return self._agreed(written, depth) if written else None
        if not bindings or any(b.kind != "assign" or b.value is None for b in bindings):
            return None
        return self._agreed([(b.value, module) for b in bindings if b.value is not None], depth)

    def _called(self, call: ast.Call, module: Module, depth: int) -> tuple[Module, ast.expr] | None:
        name, first = self.callee(call, module), call.args[0] if call.args else None
        if name in SEEDING:
            return (module, call) if all(self._is_shared(one, module, depth) for one in call.args) else None
        rest = [*call.args[1:], *(k.value for k in call.keywords)]
        if name in SPLITTING and first is not None:
            shared = all(self._is_shared(one, module, depth) for one in rest)
            return self._seed(first, module, depth + 1) if shared else None
        last = last_name(call.func)
        if (name == "next" or last in ("next", SEQUENCE)) and first is not None and len(call.args) == 1:
            if last == SEQUENCE and self._is_number(first, module, depth):
                return module, call
            return self._seed(first, module, depth + 1)
        return self._returned(call, module, depth)

    def _returned(self, call: ast.Call, module: Module, depth: int) -> tuple[Module, ast.expr] | None:
        """What a function of the program returns, if it makes its key of numbers or of a key that it is given."""
        values = self.resolver.values(call.func, module)
        function = values[0] if len(values) == 1 else None
        if not isinstance(function, Function) or isinstance(function.node, ast.Lambda):
            return None
        if PROCESS.search(ast.unparse(function.node)):
            return None
        returns = [one for one in returned_by(function.node) if one is not None]
        names = positional_names(function.node.args)
        given = [a.expression for a in call_arguments(call, module) if a.expression is not None]
        if len(returns) == 1 and len(names) == 1 == len(given):
            inner = self._is_number(given[0], module, depth)
            return (module, call) if inner else self._seed(given[0], module, depth + 1)
        return None

    def _is_number(self, node: ast.expr, module: Module, depth: int) -> bool:
        """Whether an expression is a number that is written down, or configured for all processes."""
        match node:
            case ast.Constant(value=int()):
                return True
            case ast.Name():
                if depth > DEEPEST:
                    return False
                bound = self.resolver.bindings_at(node, module)
                values = [b.value for b in bound if b.value is not None]
                if bound and len(values) == len(bound):
                    return all(self._is_number(one, module, depth + 1) for one in values)
                return bool(bound) and "seed" in node.id.lower() and all(b.kind == "param" for b in bound)
            case ast.Attribute() | ast.Subscript():
                text = ast.unparse(node)
                own = isinstance(node, ast.Attribute) and self._is_shifted(node.attr)
                return CONFIGURED.search(text) is not None and not PROCESS.search(text) and not own
            case ast.BinOp(left=left, right=right):
                return self._is_number(left, module, depth + 1) and self._is_number(right, module, depth + 1)
        return False

    def _is_shifted(self, name: str) -> bool:
        """Whether the program stores another seed on each process by a name: `args.seed += process_index()`."""
        modules = [one for one in self.resolver.project.program if name in one.text and INDEX.search(one.text)]
        stored = (one.value for module in modules for one in module.table.attributes if one.attr == name)
        changed = (one for module in modules for one in ast.walk(module.tree) if isinstance(one, ast.AugAssign))
        added = (one.value for one in changed if isinstance(one.target, ast.Attribute) and one.target.attr == name)
        return any(INDEX.search(ast.unparse(one)) for one in (*stored, *added))

    def _is_shared(self, node: ast.expr, module: Module, depth: int) -> bool:
        """Whether what goes into a key is the same on all processes: a number, a counter, but no index of a process."""
        if self._is_number(node, module, depth):
            return True
        names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
        if depth > DEEPEST or PROCESS.search(ast.unparse(node).lower()):
            return False
        if any(isinstance(one, ast.Call) for one in ast.walk(node)):
            return any(word in ast.unparse(node) for word in LOCAL)
        bound = [b for one in names for b in self.resolver.bindings_at(one, module)]
        if any(b.value is None and not _is_counter(b, module) for b in bound):
            return False
        values = [b.value for b in bound if b.value is not None]
        return bool(bound) and all(self._is_shared(one, module, depth + 1) for one in values)


def _is_counter(binding: Binding, module: Module) -> bool:
    """Whether a loop counts by a name, as it does on every process."""
    loop = module.table.statement_of(binding.node)
    return isinstance(loop, ast.For) and PROCESS.search(ast.unparse(loop.iter).lower()) is None


def first_of_processes(modules: Iterable[Module], resolver: Resolver) -> Iterator[tuple[Module, ast.expr]]:
    """`split(key, process_count())[0]`: of one key for each process, the same is taken on all."""
    for module in modules:
        if not any(word in module.text for word in COUNTING) or module.is_test or module.cells:
            continue
        for call in module.table.calls:
            if last_name(call.func) == "split" and _by_processes(call, module, resolver):
                uses = _uses(call, module, resolver)
                taken = [one for one in uses if _is_written(one)]
                if taken and len(taken) == len(uses) and is_of_several(module, resolver):
                    yield module, taken[0]


def _uses(call: ast.Call, module: Module, resolver: Resolver) -> list[ast.expr]:
    """The expressions in which what a call gives is read: around itself, or around the name that it is assigned to."""
    parents = module.table.parents
    above = parents.get(call)
    if isinstance(above, ast.Assign) and len(above.targets) == 1 and isinstance(above.targets[0], ast.Name):
        target = above.targets[0]
        named = [one for one in module.table.named.get(target.id, ()) if isinstance(one, ast.Name)]
        read = [one for one in named if resolver.assigned(one, module) is call]
        each = [parents.get(one) for one in read]
    else:
        each = [above]
    return [one if isinstance(one, ast.expr) else call for one in each]


def _is_written(node: ast.expr) -> bool:
    """Whether an expression takes the entry at a number that stands there."""
    return isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant)


def _by_processes(call: ast.Call, module: Module, resolver: Resolver) -> bool:
    """Whether a key is split into one for each process, or each device of all."""
    value = resolver.value(call.func, module)
    given = [*call.args[1:], *(k.value for k in call.keywords if k.arg == "num")]
    if value != External("jax.random.split") or len(given) != 1:
        return False
    number = resolver.assigned(given[0], module) if isinstance(given[0], ast.Name) else given[0]
    counted = resolver.value(number.func, module) if isinstance(number, ast.Call) else None
    return isinstance(counted, External) and counted.name in COUNTS_OF_ALL
