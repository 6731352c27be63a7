"""The dictionaries that functions certainly return, with all their keys: what the function's own code makes of them.

Code runs on the shapes of its values: which keys a dictionary has, of which parts a tuple consists, None for all else.
A dictionary is an object that names share, as in Python. What may change it unseen makes it one of unknown keys.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from jaxmigrate.flow.layout.functions import is_generator
from jaxmigrate.flow.layout.mapped_bodies import unwrapped
from jaxmigrate.flow.layout.model import Place
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode, all_parameters, positional_names
from jaxmigrate.program.syntax import has_stars
from jaxmigrate.program.values import Application, Constant, External, Function, Value

DEEPEST = 4  # calls within one another
MAPS = named("tree-map")
KEEPS = named("reduction", "same-tree")
ARITHMETIC = ("jax.", "jaxlib.", "numpy.", "optax.", "chex.")  # what changes no dictionary that it is given
READERS = frozenset(
    f"builtins.{name}" for name in ("print", "len", "float", "int", "bool", "isinstance", "str", "repr", "type", "id")
)
UNUSUAL = re.compile(r"""[^ -~]|["'$\\{}]""")  # what would have to be escaped in a key that is written again
GRADIENTS = {"jax.value_and_grad": True, "jax.grad": False}


@dataclass(slots=True, eq=False)
class Dictionary:
    """One dictionary; `entries` is None where its keys are not known."""

    entries: dict[str, Shape] | None = field(default_factory=dict)


Shape: TypeAlias = "Dictionary | tuple[Shape, ...] | None"
Fixed: TypeAlias = "Mapping[str, Fixed] | tuple[Fixed, ...] | None"
Names: TypeAlias = dict[str, Shape]


def keys_at(value: Value, place: Place, resolver: Resolver) -> tuple[str, ...] | None:
    """The keys of the dictionary that a function certainly returns at a place of its tuples, in JAX's order."""
    found = returned(value, resolver)
    for step in place:
        if not isinstance(found, tuple) or not isinstance(step, int) or step >= len(found):
            return None
        found = found[step]
    if not isinstance(found, Mapping) or not found or any(map(UNUSUAL.search, found)):
        return None
    return tuple(sorted(found))


@once
def _methods(resolver: Resolver) -> Counter[str]:
    """In how many classes each name is that of a method."""
    scopes = (scope for module in resolver.project.named for scope in module.table.own_scope.values())
    return Counter(name for scope in scopes if scope.kind == "class" for name in scope.bindings)


def _is_another(function: Function, resolver: Resolver) -> bool:
    """Whether a method may be that of another class, which objects are of that derive from the class."""
    scope = function.module.table.scope_of[function.node]
    is_method = scope.kind == "class" and not isinstance(function.node, ast.Lambda)
    return is_method and _methods(resolver)[function.node.name] > 1  # type: ignore[union-attr]


@once
def _known(_resolver: Resolver) -> dict[Value, Fixed]:
    return {}


def returned(value: Value, resolver: Resolver) -> Fixed:
    """What a function that is mapped certainly returns, whatever it is given."""
    known = _known(resolver)
    if value not in known:
        known[value] = None
        known[value] = fixed(_called(unwrapped(value, resolver), [], {}, resolver, DEEPEST))
    return known[value]


def fixed(shape: Shape) -> Fixed:
    """A shape that nothing changes any more."""
    if isinstance(shape, tuple):
        return tuple(map(fixed, shape))
    if isinstance(shape, Dictionary) and shape.entries is not None:
        return {key: fixed(one) for key, one in shape.entries.items()}
    return None


def _escape(shape: Shape) -> None:
    """Takes note that anybody may change the dictionaries in a value."""
    if isinstance(shape, tuple):
        for one in shape:
            _escape(one)
    elif isinstance(shape, Dictionary) and shape.entries is not None:
        inner, shape.entries = shape.entries, None
        for one in inner.values():
            _escape(one)


def _escape_below(shape: Shape) -> None:
    """The same of what lies in the dictionaries or tuples of a value."""
    held = shape.entries if isinstance(shape, Dictionary) else None
    for one in shape if isinstance(shape, tuple) else (held or {}).values():
        _escape(one)


def _copied(shape: Shape, memo: dict[Dictionary, Dictionary] | None = None) -> Shape:
    """A value of new containers; those that are one stay one, where a `memo` says which are copied already."""
    if isinstance(shape, tuple):
        return tuple(_copied(one, memo) for one in shape)
    if not isinstance(shape, Dictionary):
        return None
    if memo is not None and shape in memo:
        return memo[shape]
    made = Dictionary(None)
    if memo is not None:
        memo[shape] = made
    if shape.entries is not None:
        made.entries = {key: _copied(one, memo) for key, one in shape.entries.items()}
    return made


class _Meeting:
    """Two ways that meet: each dictionary of one is one of the other, or its keys are not known any more."""

    def __init__(self) -> None:
        self.pairs: dict[Dictionary, tuple[Dictionary, Dictionary]] = {}
        self.others: dict[Dictionary, Dictionary] = {}

    def of(self, one: Shape, other: Shape) -> Shape:
        """What a value is after both."""
        if isinstance(one, tuple) and isinstance(other, tuple) and len(one) == len(other):
            return tuple(self.of(a, b) for a, b in zip(one, other, strict=True))
        if isinstance(one, Dictionary) and isinstance(other, Dictionary):
            return self._dictionary(one, other)
        _escape(one)
        _escape(other)
        return None

    def _dictionary(self, one: Dictionary, other: Dictionary) -> Dictionary:
        if one in self.pairs or other in self.others:
            known, made = self.pairs.get(one, (None, self.others.get(other)))
            if known is not other:
                for each in (one, other, made, self.others.get(other)):
                    _escape(each)
            assert made is not None
            return made
        made = Dictionary(None)
        self.pairs[one], self.others[other] = (other, made), made
        if one.entries is None or other.entries is None or one.entries.keys() != other.entries.keys():
            _escape(one)
            _escape(other)
        else:
            made.entries = {key: self.of(value, other.entries[key]) for key, value in one.entries.items()}
        return made


def _met(one: Names | None, other: Names | None) -> Names | None:
    """The names after two ways; None for a way that does not get there."""
    if one is None or other is None:
        return other if one is None else one
    meeting = _Meeting()
    return {name: meeting.of(one.get(name), other.get(name)) for name in {**one, **other}}


def _fork(names: Names) -> Names:
    """The names for one of several ways, which changes dictionaries of its own."""
    memo: dict[Dictionary, Dictionary] = {}
    return {name: _copied(shape, memo) for name, shape in names.items()}


def _is_followed(function: Function, resolver: Resolver) -> bool:
    """Whether a call runs the code of a function, and no other, and gives what that returns."""
    is_plain = not isinstance(function.node, ast.AsyncFunctionDef) and not is_generator(function.node)
    return is_plain and not _is_another(function, resolver)


def _called(
    value: Value, given: Sequence[Shape], by_name: Mapping[str, Shape], resolver: Resolver, depth: int
) -> Shape:
    """What a call of a function gives, which may change what it is given."""
    every = [*given, *by_name.values()]
    match value:
        case Function(node=node) if depth > 0 and _is_followed(value, resolver):
            spec = node.args
            names = positional_names(spec)[value.receiver is not None :]
            if len(given) <= len(names) and spec.kwarg is None:
                start: Names = {one.arg: None for one in all_parameters(spec)}
                start |= dict(zip(names, given, strict=False)) | dict(by_name)
                return _Code(value, resolver, depth).run(start)
        case Application(callee=External(name=name), arguments=arguments) if name in GRADIENTS:
            first = next((one for one in arguments if one.keyword is None), None)
            inner = resolver.argument_values(first) if first is not None else ()
            aux = next((one for one in arguments if one.keyword == "has_aux"), None)
            told = resolver.argument_values(aux) if aux is not None else (Constant(False),)
            if len(inner) == 1 and told == (Constant(True),):
                found = _copied(_called(unwrapped(inner[0], resolver), given, by_name, resolver, depth - 1))
                if isinstance(found, tuple) and len(found) == 2:
                    return ((None, found[1]), None) if GRADIENTS[name] else (None, found[1])
                return None
        case External(name=name) if name in KEEPS | MAPS:
            at = int(name in MAPS)
            return _copied(given[at]) if len(given) > at and "is_leaf" not in by_name else None
        case External(name=name) if name.startswith(ARITHMETIC) or name in READERS:
            for one in every:
                _escape_below(one)
            return None
    for one in every:
        _escape(one)
    return None


class _Code:
    """The code of one function, while it runs on shapes."""

    def __init__(self, function: Function, resolver: Resolver, depth: int) -> None:
        self.module: Module = function.module
        self.node: FunctionNode = function.node
        self.resolver = resolver
        self.depth = depth
        self.names: Names = {}
        self.results: list[Shape] = []
        self.left: list[list[Names]] = []  # how loops are left, or begun anew, before their end
        self.shared = self._shared_names()

    def run(self, start: Names) -> Shape:
        """What the function returns, given these arguments."""
        self.names = start
        for name in self.shared:
            _escape(start.get(name))
        if isinstance(self.node, ast.Lambda):
            return self.value(self.node.body)
        if self.block(self.node.body):
            self.results.append(None)
        result, *others = self.results or [None]
        for other in others:
            result = _Meeting().of(result, other)
        return result

    def _shared_names(self) -> set[str]:
        """The variables with which functions inside do more than read entries."""
        table, found = self.module.table, set[str]()
        own = table.own_scope[self.node]
        for node in ast.walk(self.node):
            if not isinstance(node, ast.Name) or node.id in found or node not in table.scope_of:
                continue
            if table.scope_of[node] is own or table.scope_of[node].lookup(node.id) is not own:
                continue
            scope = table.scope_of[node]
            above = table.parents.get(node)
            reads = isinstance(above, ast.Subscript) and isinstance(above.ctx, ast.Load) and above.value is node
            if not reads and not (scope.kind == "comprehension" and isinstance(node.ctx, ast.Load)):
                found.add(node.id)
        for node in ast.walk(self.node):
            if isinstance(node, ast.Global | ast.Nonlocal):
                found.update(node.names)
        return found

    # Statements

    def block(self, statements: Iterable[ast.stmt]) -> bool:
        """Runs statements; whether control gets behind them."""
        return all(self.statement(one) for one in statements)

    def statement(self, node: ast.stmt) -> bool:  # noqa: C901 - one case a statement
        """Runs a statement; whether control gets behind it."""
        match node:
            case ast.Return(value=value):
                self.results.append(self.value(value) if value is not None else None)
                return False
            case ast.Raise():
                self.others(node)
                return False
            case ast.Break() | ast.Continue():
                self.left[-1].append(_fork(self.names))
                return False
            case ast.Assign(targets=targets, value=value):
                shape = self.value(value)
                for target in targets:
                    self.bind(target, shape)
            case ast.AnnAssign(target=target, value=value):
                if value is not None:
                    self.bind(target, self.value(value))
            case ast.AugAssign(target=target, op=op, value=value):
                self.change(target, op, value)
            case ast.Expr(value=value):
                self.value(value)
            case ast.Assert(test=test):
                self.value(test)
            case ast.If(test=test, body=body, orelse=orelse):
                self.value(test)
                return self.ways([body, orelse])
            case ast.For(target=target, iter=source, body=body, orelse=orelse):
                shape = self.value(source)
                _escape_below(shape)
                return self.loop(body, orelse, target)
            case ast.While(test=test, body=body, orelse=orelse):
                self.value(test)
                return self.loop(body, orelse, None)
            case ast.With(items=items, body=body):
                for item in items:
                    _escape(self.value(item.context_expr))
                    if item.optional_vars is not None:
                        self.bind(item.optional_vars, None)
                if all(map(self.is_of_jax, items)):
                    return self.block(body)
                return self.ways([body, []])  # it may end early
            case ast.Delete(targets=targets):
                for target in targets:
                    self.delete(target)
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                self.names[name] = None
            case ast.Import(names=aliases) | ast.ImportFrom(names=aliases):
                for alias in aliases:
                    self.names[(alias.asname or alias.name).partition(".")[0]] = None
            case ast.Pass() | ast.Global() | ast.Nonlocal():
                pass
            case _:
                self.unknown(node)
        return True

    def is_of_jax(self, item: ast.withitem) -> bool:
        """Whether a context names what is computed in it, say, and keeps no exceptions to itself."""
        called = item.context_expr.func if isinstance(item.context_expr, ast.Call) else item.context_expr
        value = self.resolver.value(called, self.module)
        return isinstance(value, External) and value.name.startswith("jax.")

    def unknown(self, node: ast.stmt) -> None:
        """A statement of another kind: what it mentions is not known any more, and it may return anything."""
        for one in ast.walk(node):
            if isinstance(one, ast.Name):
                _escape(self.names.get(one.id))
                self.names[one.id] = None
        if any(isinstance(one, ast.Return) for one in ast.walk(node)):
            self.results.append(None)

    def ways(self, bodies: Sequence[Sequence[ast.stmt]]) -> bool:
        """Runs one of several bodies."""
        before, after = self.names, None
        for body in bodies:
            self.names = _fork(before)
            if self.block(body):
                after = _met(after, self.names)
        self.leave(before)
        self.names = after if after is not None else {}
        return after is not None

    @staticmethod
    def leave(names: Names) -> None:
        """Forgets the dictionaries of before several ways: what else holds them does not follow these."""
        for shape in names.values():
            _escape(shape)

    def loop(self, body: Sequence[ast.stmt], orelse: Sequence[ast.stmt], target: ast.expr | None) -> bool:
        """Runs a body any number of times: what it makes of the names has to be what they are."""
        for last in (False, False, True):
            if last:
                self.leave(self.names)
            before, kept = self.names, len(self.results)
            known = fixed_names(before)
            self.left.append([])
            self.names = _fork(before)
            if target is not None:
                self.bind(target, None)
            after = _met(_fork(before), self.names if self.block(body) else None)
            for one in self.left.pop():
                after = _met(after, one)
            assert after is not None
            self.leave(before)
            self.names = after
            if fixed_names(after) == known:
                break
            if not last:
                del self.results[kept:]
        return self.block(orelse)

    def change(self, target: ast.expr, op: ast.operator, value: ast.expr) -> None:
        """`target op= value`."""
        added = self.value(value)
        known = self.value(target) if isinstance(target, ast.Name) else None
        if isinstance(known, Dictionary) and isinstance(op, ast.BitOr):
            self.update(known, added)
        elif isinstance(target, ast.Name):
            _escape(known)
            _escape(added)
            self.names[target.id] = None
        else:
            self.bind(target, added)

    def delete(self, target: ast.expr) -> None:
        match target:
            case ast.Name(id=name):
                self.names[name] = None
            case ast.Subscript(value=owner, slice=ast.Constant(value=str(key))):
                shape = self.value(owner)
                if isinstance(shape, Dictionary) and shape.entries is not None:
                    shape.entries.pop(key, None)
                else:
                    _escape(shape)
            case _:
                self.others(target)

    def bind(self, target: ast.expr, shape: Shape) -> None:
        """Gives a value to a name, to several, or to an entry of a dictionary."""
        match target:
            case ast.Name(id=name):
                if name in self.shared:
                    _escape(shape)
                self.names[name] = None if name in self.shared else shape
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                fits = isinstance(shape, tuple) and len(shape) == len(elements)
                fits = fits and not any(isinstance(one, ast.Starred) for one in elements)
                if not fits:
                    _escape(shape)
                for index, one in enumerate(elements):
                    inner = one.value if isinstance(one, ast.Starred) else one
                    self.bind(inner, shape[index] if fits and isinstance(shape, tuple) else None)
            case ast.Subscript(value=owner, slice=index):
                held = self.value(owner)
                self.value(index)
                if isinstance(held, Dictionary) and held.entries is not None and _is_text(index):
                    held.entries[index.value] = shape  # type: ignore[attr-defined]
                else:
                    _escape(held)
                    _escape(shape)
            case _:
                _escape(shape)
                self.others(target)

    # Expressions

    def value(self, node: ast.expr) -> Shape:  # noqa: C901 - one case an expression
        """The shape of an expression, and what it does to others."""
        match node:
            case ast.Name(id=name):
                return self.names.get(name)
            case ast.Tuple(elts=elements) if not any(isinstance(one, ast.Starred) for one in elements):
                return tuple([self.value(one) for one in elements])
            case ast.Dict(keys=keys, values=values):
                return self.display(keys, values)
            case ast.Call():
                return self.call(node)
            case ast.Subscript(value=owner, slice=index):
                return self.item(self.value(owner), index)
            case ast.Attribute(value=owner):
                _escape(self.value(owner))
            case ast.NamedExpr(target=target, value=inner):
                shape = self.value(inner)
                self.bind(target, shape)
                return shape
            case ast.Compare(left=left, comparators=others):
                for one in (left, *others):
                    self.value(one)
            case ast.UnaryOp(operand=operand):
                self.value(operand)
            case ast.BinOp(left=left, op=op, right=right):
                return self.operation(self.value(left), op, self.value(right))
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.value(test)
                return self.either(body, orelse)
            case ast.DictComp() if (made := self.each(node)) is not None:
                return made
            case ast.ListComp() | ast.SetComp() | ast.GeneratorExp() | ast.DictComp():
                self.comprehension(node)
            case ast.Constant() | ast.Lambda():
                pass
            case _:
                self.others(node)
        return None

    def either(self, one: ast.expr, other: ast.expr) -> Shape:
        """The value of one of two expressions."""
        before = self.names
        self.names = _fork(before)
        first, names = self.value(one), self.names
        self.names = _fork(before)
        second, others = self.value(other), self.names
        meeting = _Meeting()
        self.names = {name: meeting.of(names.get(name), others.get(name)) for name in {**names, **others}}
        found = meeting.of(first, second)
        self.leave(before)
        return found

    def others(self, node: ast.AST) -> None:
        """All that stands in something, which may do with it whatever it likes."""
        for one in ast.iter_child_nodes(node):
            if isinstance(one, ast.expr):
                _escape(self.value(one))
            elif not isinstance(one, ast.expr_context | ast.operator):
                self.others(one)

    def display(self, keys: Sequence[ast.expr | None], values: Sequence[ast.expr]) -> Shape:
        """`{"loss": loss, **others}`."""
        made = Dictionary()
        for key, value in zip(keys, values, strict=True):
            shape = self.value(value)
            if key is None:
                self.update(made, shape, is_copied=True)
            elif made.entries is not None and _is_text(key):
                made.entries[key.value] = shape  # type: ignore[attr-defined]
            else:
                self.value(key)
                _escape(made)
                _escape(shape)
        return made

    def update(self, owner: Dictionary, added: Shape, *, is_copied: bool = False) -> None:
        """Puts the entries of one dictionary into another."""
        if owner.entries is not None and isinstance(added, Dictionary) and added.entries is not None:
            owner.entries |= added.entries
        else:
            _escape(owner)
            (_escape_below if is_copied else _escape)(added)

    def operation(self, left: Shape, op: ast.operator, right: Shape) -> Shape:
        """`a | b` of dictionaries, `a + b` of tuples."""
        if isinstance(op, ast.BitOr) and isinstance(left, Dictionary) and isinstance(right, Dictionary):
            made = Dictionary()
            self.update(made, left)
            self.update(made, right)
            return made
        if isinstance(op, ast.Add) and isinstance(left, tuple) and isinstance(right, tuple):
            return left + right
        _escape(left)
        _escape(right)
        return None

    def item(self, owner: Shape, index: ast.expr) -> Shape:
        """`owner[index]`."""
        match owner, index:
            case Dictionary(entries=dict(entries)), ast.Constant(value=str(key)):
                return entries.get(key)
            case tuple(), ast.Constant(value=int(at)) if 0 <= at < len(owner):
                return owner[at]
            case tuple(), ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(at))) if 0 < at <= len(owner):
                return owner[-at]
        self.value(index)
        _escape_below(owner)
        return None

    def each(self, node: ast.DictComp) -> Shape:
        """`{k: f(v) for k, v in metrics.items()}`: a dictionary of the same keys; None of any other."""
        match node:
            case ast.DictComp(
                key=ast.Name(id=key),
                generators=[
                    ast.comprehension(
                        target=ast.Tuple(elts=[ast.Name(id=first), ast.Name(id=second)]),
                        iter=ast.Call(func=ast.Attribute(value=owner, attr="items"), args=[], keywords=[]),
                        ifs=[],
                    )
                ],
            ) if key == first != second:
                shape = self.value(owner)
                if isinstance(shape, Dictionary) and shape.entries is not None:
                    keys = [*shape.entries]
                    _escape_below(shape)
                    self.mentioned(node.value)
                    return Dictionary(dict.fromkeys(keys))
        return None

    def comprehension(self, node: ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp) -> None:
        """What a comprehension goes through, and what it mentions."""
        _escape_below(self.value(node.generators[0].iter))
        first = {*ast.walk(node.generators[0].iter)}
        for one in ast.walk(node):
            if isinstance(one, ast.Name) and one not in first:
                _escape(self.names.get(one.id))

    def mentioned(self, node: ast.expr) -> None:
        """What the element of a comprehension mentions."""
        for one in ast.walk(node):
            if isinstance(one, ast.Name):
                _escape(self.names.get(one.id))

    # Calls

    def call(self, node: ast.Call) -> Shape:
        """The value of a call."""
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value)
            if isinstance(owner, Dictionary):
                return self.method(owner, node.func.attr, node)
            _escape(owner)
        elif not isinstance(node.func, ast.Name):
            _escape(self.value(node.func))
        if has_stars(node):
            for argument in (*node.args, *(keyword.value for keyword in node.keywords)):
                _escape(self.value(argument.value if isinstance(argument, ast.Starred) else argument))
            return None
        given = [self.value(one) for one in node.args]
        by_name = {str(keyword.arg): self.value(keyword.value) for keyword in node.keywords}
        values = self.resolver.values(node.func, self.module)
        value = unwrapped(values[0], self.resolver) if len(values) == 1 else None
        match value:
            case External(name="builtins.dict") if len(given) <= 1:
                made = Dictionary({**by_name})
                if given:
                    made = Dictionary()
                    self.update(made, given[0], is_copied=True)
                    self.update(made, Dictionary({**by_name}))
                return made
            case External(name="builtins.tuple") if len(given) == 1 and isinstance(given[0], tuple):
                return given[0]
            case None:
                for one in (*given, *by_name.values()):
                    _escape(one)
                return None
        return _called(value, given, by_name, self.resolver, self.depth - 1)

    def method(self, owner: Dictionary, name: str, node: ast.Call) -> Shape:
        """A method of a dictionary."""
        stars, words = has_stars(node), {str(one.arg): self.value(one.value) for one in node.keywords}
        given = [self.value(one.value if isinstance(one, ast.Starred) else one) for one in node.args]
        key = node.args[0].value if node.args and _is_text(node.args[0]) else None  # type: ignore[attr-defined]
        entries = owner.entries
        if entries is not None and not stars:
            match name:
                case "items" | "keys" | "values" if not given:
                    _escape_below(owner)
                    return None
                case "copy" if not given:
                    return Dictionary({**entries})
                case "update" if len(given) <= 1:
                    for one in given:
                        self.update(owner, one)
                    self.update(owner, Dictionary(words))
                    return None
                case "pop" if key in entries:
                    return entries.pop(key)
                case "get" if key in entries:
                    return entries[key]
        _escape(owner)
        for one in (*given, *words.values()):
            _escape(one)
        return None


def fixed_names(names: Names) -> dict[str, Fixed]:
    """What is known of all names."""
    return {name: found for name, shape in names.items() if (found := fixed(shape)) is not None}


def _is_text(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str)
