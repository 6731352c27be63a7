"""PartitionSpecs that a program works out: of logical names by a table, by functions of its own, by flax's.

`logical(("batch", None), cfg.rules)` is worked out as Python would: names and tables are constants of the program, and
the functions short. For lint alone, as the defaults of a configuration's fields are taken for their values.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from jaxmigrate.program.collectives import SPECS
from jaxmigrate.program.library import last_names, named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.passing import passed
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import defaults_of
from jaxmigrate.program.values import Application, Constant, External, Function, Value

LOGICAL = named("logical-spec")
TABLES = last_names("logical-rules")
LAST_SPECS = last_names("spec") | last_names("logical-spec") | {"P", "PS"}
MOST_WORK, DEEPEST = 600, 8
COMPARISONS: dict[type[ast.cmpop], Callable[[object, object], bool]] = {
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}
TYPES = {"str": str, "tuple": tuple, "list": list, "dict": dict, "int": int}

Entry = tuple[str, ...]
Variables = dict[str, object]


class Spec(NamedTuple):
    """A PartitionSpec: for each dimension an axis, several, or None."""

    entries: tuple[object, ...]


class NotKnownError(Exception):
    """Something is known only where the program runs."""


def worked_out(value: Value, resolver: Resolver) -> tuple[Entry, ...] | None:
    """The axes of each dimension in the spec that a call gives; None where that is no spec, or not known."""
    if not resolver.defaults_hold or not isinstance(value, Application) or not isinstance(value.node, ast.Call):
        return None
    match value.callee:
        case Function(receiver=None, node=ast.FunctionDef() as node) if _may_give_spec(node):
            pass
        case External(name=name) if name in LOGICAL:
            pass
        case _:
            return None
    known = _kept(resolver)
    if value.node not in known:
        known[value.node] = None  # for what leads back to itself
        known[value.node] = _entries(value.node, value.module, resolver)
    return known[value.node]


@once
def _kept(_resolver: Resolver) -> dict[ast.expr, tuple[Entry, ...] | None]:
    return {}


def _may_give_spec(node: ast.FunctionDef) -> bool:
    """Whether a function mentions specs, so that it is worth the while to work out what it gives."""
    names = (one.id if isinstance(one, ast.Name) else getattr(one, "attr", "") for one in ast.walk(node))
    return any(name in LAST_SPECS for name in names)


def _entries(node: ast.expr, module: Module, resolver: Resolver) -> tuple[Entry, ...] | None:
    try:
        found = _Reckoner(resolver).evaluate(node, module, {})
        if not isinstance(found, Spec):
            return None
        return tuple(tuple(_axes(one)) for one in found.entries)
    except (NotKnownError, TypeError, ValueError, KeyError, IndexError, AttributeError, RecursionError):
        return None


def _axes(entry: object) -> Iterator[str]:
    """The axes in one entry of a spec."""
    for one in entry if isinstance(entry, tuple | list) else (entry,):
        if isinstance(one, str):
            yield one
        elif one is not None:
            raise NotKnownError


class _ReturnedError(Exception):
    def __init__(self, value: object) -> None:
        self.value = value


class _Reckoner:
    """Works out expressions of constants, tables and short functions; raises NotKnownError for anything else."""

    def __init__(self, resolver: Resolver) -> None:
        self.resolver = resolver
        self.work = 0
        self.depth = 0

    def evaluate(self, node: ast.expr, module: Module, inside: Variables) -> object:
        """The value of an expression, with what the variables of the function around hold."""
        self.work += 1
        if self.work > MOST_WORK:
            raise NotKnownError
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Name(id=name):
                return inside[name] if name in inside else self._named(node, module)
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                listed = self._listed(parts, module, inside)
                return tuple(listed) if isinstance(node, ast.Tuple) else listed
            case ast.Dict(keys=keys, values=values):
                return self._table(keys, values, module, inside)
            case ast.Attribute():
                return self._attribute(node, module)
            case ast.Call():
                return self._call(node, module, inside)
            case ast.GeneratorExp(elt=elt, generators=[one]) | ast.ListComp(elt=elt, generators=[one]):
                return [self.evaluate(elt, module, each) for each in self._rounds(one, module, inside)]
            case ast.DictComp(key=key, value=entry, generators=[one]):
                rounds = self._rounds(one, module, inside)
                return {self.evaluate(key, module, e): self.evaluate(entry, module, e) for e in rounds}
        return self._operation(node, module, inside)

    def _operation(self, node: ast.expr, module: Module, inside: Variables) -> object:
        match node:
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return self.evaluate(body if self.evaluate(test, module, inside) else orelse, module, inside)
            case ast.BoolOp(op=op, values=values):
                return self._either(values, isinstance(op, ast.Or), module, inside)
            case ast.UnaryOp(op=ast.Not(), operand=operand):
                return not self.evaluate(operand, module, inside)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._compare(op, self.evaluate(left, module, inside), self.evaluate(right, module, inside))
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                return self.evaluate(left, module, inside) + self.evaluate(right, module, inside)  # type: ignore[operator]
            case ast.Subscript(value=held, slice=key) if not isinstance(key, ast.Slice):
                return self.evaluate(held, module, inside)[self.evaluate(key, module, inside)]  # type: ignore[index]
        raise NotKnownError

    def _listed(self, parts: Iterable[ast.expr], module: Module, inside: Variables) -> list[object]:
        found: list[object] = []
        for part in parts:
            if isinstance(part, ast.Starred):
                found += self._sequence(self.evaluate(part.value, module, inside))
            else:
                found.append(self.evaluate(part, module, inside))
        return found

    @staticmethod
    def _sequence(value: object) -> list[object]:
        if not isinstance(value, tuple | list | dict | range | zip | enumerate) or isinstance(value, Spec):
            raise NotKnownError
        return list(value)

    def _table(
        self, keys: list[ast.expr | None], values: list[ast.expr], module: Module, inside: Variables
    ) -> dict[object, object]:
        found: dict[object, object] = {}
        for key, value in zip(keys, values, strict=True):
            entry = self.evaluate(value, module, inside)
            if key is not None:
                found[self.evaluate(key, module, inside)] = entry
            elif isinstance(entry, dict):
                found |= entry
        return found

    def _either(self, values: list[ast.expr], stops: bool, module: Module, inside: Variables) -> object:
        found: object = None
        for one in values:
            found = self.evaluate(one, module, inside)
            if bool(found) == stops:
                break
        return found

    @staticmethod
    def _compare(op: ast.cmpop, left: object, right: object) -> bool:
        if isinstance(op, ast.In | ast.NotIn) and isinstance(right, tuple | list | dict | str):
            return (left in right) == isinstance(op, ast.In)
        if type(op) not in COMPARISONS:
            raise NotKnownError
        return COMPARISONS[type(op)](left, right)

    def _rounds(self, one: ast.comprehension, module: Module, inside: Variables) -> Iterator[Variables]:
        for item in self._sequence(self.evaluate(one.iter, module, inside)):
            each = dict(inside)
            self._assign(one.target, item, each)
            if all(self.evaluate(test, module, each) for test in one.ifs):
                yield each

    def _assign(self, target: ast.expr, value: object, inside: Variables) -> None:
        match target:
            case ast.Name(id=name):
                inside[name] = value
            case ast.Tuple(elts=parts) | ast.List(elts=parts):
                for part, item in zip(parts, self._sequence(value), strict=True):
                    self._assign(part, item, inside)
            case _:
                raise NotKnownError

    def _named(self, node: ast.Name, module: Module) -> object:
        """What a name holds that no function around it has: a constant or a table of some module."""
        found = self.resolver.values(node, module)
        if len(found) == 1 and isinstance(found[0], Constant):
            return found[0].value
        bindings = self.resolver.bindings_at(node, module)
        one = bindings[0] if len(bindings) == 1 else None
        if one is not None and one.kind == "from" and isinstance(one.node, ast.alias):
            statement = module.table.parents.get(one.node)
            if isinstance(statement, ast.ImportFrom):
                source = self.resolver.project.imported(module, statement.module or "", statement.level)
                behind = source.table.root.bindings.get(one.node.name, []) if source is not None else []
                one, module = (behind[0] if len(behind) == 1 else None), source or module
        if one is None or one.kind != "assign" or one.path or one.value is None:
            raise NotKnownError
        return self._deeper(one.value, module, {})

    def _deeper(self, node: ast.expr, module: Module, inside: Variables) -> object:
        self.depth += 1
        try:
            if self.depth > DEEPEST:
                raise NotKnownError
            return self.evaluate(node, module, inside)
        finally:
            self.depth -= 1

    def _attribute(self, node: ast.Attribute, module: Module) -> object:
        """A constant, or what the only field of a name in the program is by default."""
        found = self.resolver.values(node, module)
        if len(found) == 1 and isinstance(found[0], Constant):
            return found[0].value
        fields: list[tuple[ast.expr, Module]] = []
        for one in self.resolver.project.program:
            if node.attr in one.text:
                if any(stored.attr == node.attr for stored in one.table.attributes) or _is_keyword(node.attr, one):
                    raise NotKnownError
                fields += [(default, one) for default in _defaults(node.attr, one)]
        if len(fields) != 1:
            raise NotKnownError
        return self._deeper(*fields[0], {})

    # Calls

    def _call(self, call: ast.Call, module: Module, inside: Variables) -> object:
        if isinstance(call.func, ast.Attribute):
            found = self._method(call, call.func, module, inside)
            if found is not None:
                return found[0]
        callee = self.resolver.value(call.func, module)
        match callee:
            case External(name=name) if name in SPECS:
                if call.keywords:
                    raise NotKnownError
                return Spec(tuple(self._listed(call.args, module, inside)))
            case External(name=name) if name in LOGICAL:
                return self._by_table(call, module, inside)
            case External(name=name) if name.startswith("builtins."):
                return self._builtin(name.rpartition(".")[2], call, module, inside)
            case Function(receiver=None, node=ast.FunctionDef() as node, module=home):
                return self._enter(node, home, call, module, inside)
        raise NotKnownError

    def _method(
        self, call: ast.Call, func: ast.Attribute, module: Module, inside: Variables
    ) -> tuple[object, ...] | None:
        """What a method of a table gives, in a tuple; None where it is called on anything else."""
        if func.attr not in ("get", "items", "keys", "values"):
            return None
        held = self.evaluate(func.value, module, inside)
        if not isinstance(held, dict):
            raise NotKnownError
        given = self._listed(call.args, module, inside)
        if func.attr == "get":
            return (held.get(*given),)
        return (list(getattr(held, func.attr)()),)

    def _builtin(self, name: str, call: ast.Call, module: Module, inside: Variables) -> object:
        if name == "isinstance":
            kinds = call.args[1].elts if isinstance(call.args[1], ast.Tuple) else call.args[1:]
            names = [one.id for one in kinds if isinstance(one, ast.Name) and one.id in TYPES]
            if len(names) != len(kinds):
                raise NotKnownError
            return isinstance(self.evaluate(call.args[0], module, inside), tuple(TYPES[one] for one in names))
        given = self._listed(call.args, module, inside)
        if call.keywords:
            raise NotKnownError
        match name, given:
            case "dict", [dict() as held]:
                return dict(held)
            case "dict" | "tuple" | "list" | "enumerate" | "len", [held]:
                made: dict[str, Callable[[Any], object]]
                made = {"dict": dict, "tuple": tuple, "list": list, "enumerate": enumerate, "len": len}
                return made[name](self._sequence(held))
            case "zip", [*several]:
                return list(zip(*map(self._sequence, several), strict=False))
            case "range", [int(), *_] if all(isinstance(one, int) and abs(one) < MOST_WORK for one in given):
                return range(*given)  # type: ignore[call-overload]
        raise NotKnownError

    def _enter(self, node: ast.FunctionDef, home: Module, call: ast.Call, module: Module, inside: Variables) -> object:
        """Runs a function of the program."""
        if node.decorator_list or any(k.arg is None for k in call.keywords):
            raise NotKnownError
        spec = node.args
        named_so = {k.arg: self.evaluate(k.value, module, inside) for k in call.keywords if k.arg is not None}
        taken = passed(spec, self._listed(call.args, module, inside), named_so)
        own: Variables = dict(taken.known)
        if spec.vararg is not None:
            own[spec.vararg.arg] = tuple(taken.extra)
        elif taken.extra:
            raise NotKnownError
        for name, default in defaults_of(spec):
            if name not in own:
                own[name] = self._deeper(default, home, {})
        self.depth += 1
        try:
            if self.depth > DEEPEST or taken.others:
                raise NotKnownError
            self._run(node.body, home, own)
        except _ReturnedError as returned:
            return returned.value
        finally:
            self.depth -= 1
        return None

    def _run(self, body: list[ast.stmt], module: Module, inside: Variables) -> None:
        for statement in body:
            match statement:
                case ast.Expr(value=ast.Constant()) | ast.Pass():
                    pass
                case ast.Return(value=None):
                    raise _ReturnedError(None)
                case ast.Return(value=ast.expr() as value):
                    raise _ReturnedError(self.evaluate(value, module, inside))
                case ast.Assign(targets=[target], value=value):
                    self._assign(target, self.evaluate(value, module, inside), inside)
                case ast.AnnAssign(target=target, value=ast.expr() as value):
                    self._assign(target, self.evaluate(value, module, inside), inside)
                case ast.If(test=test, body=body_, orelse=orelse):
                    self._run(body_ if self.evaluate(test, module, inside) else orelse, module, inside)
                case ast.For(target=target, iter=source, body=body_, orelse=[]):
                    for item in self._sequence(self.evaluate(source, module, inside)):
                        self._assign(target, item, inside)
                        self._run(body_, module, inside)
                case ast.Expr(
                    value=ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="append"), args=[one], keywords=[])
                ):
                    held = inside.get(name)
                    if not isinstance(held, list):
                        raise NotKnownError
                    held.append(self.evaluate(one, module, inside))
                case _:
                    raise NotKnownError

    def _by_table(self, call: ast.Call, module: Module, inside: Variables) -> Spec:
        """flax's `logical_to_mesh_axes(names, rules)`: the first rule of a name whose axes are free yet."""
        given = dict(zip(("names", "rules"), call.args, strict=False))
        given |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
        listed = given.get("names", given.get("array_dim_names"))
        if listed is None:
            raise NotKnownError
        names = self._sequence(self.evaluate(listed, module, inside))
        rules = given.get("rules")
        pairs = self.evaluate(rules, module, inside) if rules is not None else _rules_in_context(self)
        free: list[object] = list(names)
        used: set[str] = set()
        for pair in self._sequence(pairs):
            logical, axes = self._sequence(pair)
            wanted = set(_axes(axes))
            if logical in free and not wanted & used:
                free[free.index(logical)] = (axes,)
                used |= wanted
        return Spec(tuple(one[0] if isinstance(one, tuple) else None for one in free))


def _is_keyword(name: str, module: Module) -> bool:
    """Whether some call of a module gives something under a keyword."""
    return f"{name}=" in module.text and any(k.arg == name for call in module.table.calls for k in call.keywords)


def _defaults(name: str, module: Module) -> Iterator[ast.expr]:
    """What the classes of a module have for a field by default."""
    for node, scope in module.table.own_scope.items():
        for binding in scope.bindings.get(name, ()) if isinstance(node, ast.ClassDef) else ():
            if binding.value is not None:
                yield binding.value


def _rules_in_context(reckoner: _Reckoner) -> object:
    """The rules that a program enters or sets, where it does so with one table only."""
    found: list[object] = []
    for module in reckoner.resolver.project.program:
        for name in TABLES:
            for node in module.table.named.get(name, ()) if name in module.text else ():
                call = module.table.parents.get(node)
                if isinstance(call, ast.Call) and call.func is node and call.args:
                    rules = reckoner.evaluate(call.args[0], module, {})
                    found += [rules] if rules not in found else []
    if len(found) != 1:
        raise NotKnownError
    return found[0]
