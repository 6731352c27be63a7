"""Runs the host's code on the objects that its names hold, and tells where one is used that a call was donated."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from jaxmigrate.flow.deleted.heap import Donation, Heap, Key, Thing
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import positional_names
from jaxmigrate.program.values import Application, Class, External, Function, Partial, Value
from jaxmigrate.records import made, record

DEEPEST = 4  # functions in one another
STEPS = 20_000  # expressions of a whole run
LARGEST = 300  # statements of a function's own block
ROUNDS = 2  # of a loop: the second one sees what the first one donated
METADATA = frozenset({"shape", "dtype", "ndim", "size", "sharding", "is_deleted", "aval", "delete", "nbytes"})
UNREAD = frozenset({"len", "isinstance", "type", "id", "hasattr", "callable", "append", "eval_shape", "tree_structure"})
UNREAD |= {"clear_caches", "partial", "super", "lower", "tree_leaves", "shape", "ndim"}
HOLDERS = frozenset({"list", "tuple", "dict", "iter", "enumerate", "zip", "reversed", "sorted", "range", "tqdm"})
_PLAIN = frozenset({"staticmethod", "classmethod", "no_type_check", "contextmanager"})


class Given(NamedTuple):
    """An argument that a call donates: whether it is copied first where it lies on one device."""

    node: ast.expr
    name: str
    moves: bool


class Use(NamedTuple):
    """Where an object is used that was donated before."""

    module: Module
    read: ast.expr
    donation: Donation


@record(eq=False, frozen=False)
class Frame:
    """A function or module that runs; `left` says how its block was left: by "break", "continue" or "return"."""

    number: int
    module: Module
    node: ast.AST
    outer: Frame | None = None
    depth: int = 0
    left: str = ""
    returned: list[Thing] = made(factory=list)


@record(eq=False, frozen=False)
class Run:
    """The evaluator: `donated` are the calls that donate, with their arguments that are given away."""

    resolver: Resolver
    donated: Mapping[ast.Call, Sequence[Given]]
    is_array: Callable[[str], bool]
    heap: Heap = made(factory=Heap)
    uses: list[Use] = made(factory=list)
    unclear: set[Thing] = made(factory=set)  # fields that may hold something else than arrays
    placed: set[Thing] = made(factory=set)  # what lies on the devices for certain
    hosted: set[Thing] = made(factory=set)  # what may lie on the host, of which nothing is donated
    ran: set[ast.AST] = made(factory=set)
    stack: list[Frame] = made(factory=list)
    tops: dict[Module, Frame] = made(factory=dict)
    steps: int = 0
    count: int = 0

    def fresh(self, *, placed: bool = False, hosted: bool = False) -> Thing:
        """An object of its own."""
        self.count += 1
        if placed:
            self.placed.add(self.count)
        if hosted:
            self.hosted.add(self.count)
        return self.count

    # Modules and functions

    def module(self, module: Module) -> None:
        """Runs a module from its top."""
        frame = self.tops[module] = Frame(self.fresh(), module, module.tree)
        self.stack.append(frame)
        self.block(module.tree.body, frame)
        self.stack.pop()

    def enter(self, function: Function, given: Mapping[str, Thing], depth: int) -> Thing | None:
        """What a function gives back; None where it is not run."""
        node = function.node
        busy = any(one.node is node for one in self.stack)
        if isinstance(node, ast.Lambda) or busy or depth > DEEPEST or self.steps > STEPS or len(node.body) > LARGEST:
            return None
        self.ran.add(node)
        frame = Frame(self.fresh(), function.module, node, self._around(node, function.module), depth)
        for name in _parameters(node):
            self.heap.names[frame.number, name] = given[name] if name in given else self.fresh()
        self.stack.append(frame)
        self.block(node.body, frame)
        self.stack.pop()
        found = {*frame.returned}
        return found.pop() if len(found) == 1 else self.fresh()

    def _around(self, node: ast.AST, module: Module) -> Frame | None:
        around = module.table.function_of(node)
        return next((one for one in reversed(self.stack) if one.node is around), self.tops.get(module))

    # Statements

    def block(self, block: Sequence[ast.stmt], frame: Frame) -> None:
        """Runs statements one after the other, until the block is left."""
        for statement in block:
            if frame.left or self.steps > STEPS:
                return
            self.statement(statement, frame)

    def statement(self, node: ast.stmt, frame: Frame) -> None:
        """Runs a statement."""
        match node:
            case ast.Assign(targets=targets, value=value):
                thing = self.look(value, frame)
                for target in targets:
                    self.assign(target, value, thing, frame)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                self.assign(target, value, self.look(value, frame), frame)
            case ast.AugAssign(target=target, value=value):
                self.use(target, frame)
                self.use(value, frame)
                self.assign(target, value, self.fresh(), frame)
            case ast.Expr(value=value):
                self.look(value, frame)
            case ast.Return(value=value):
                frame.returned.append(self.look(value, frame) if value is not None else self.fresh())
                frame.left = "return"
            case ast.Raise():
                frame.left = "return"
            case ast.Break():
                frame.left = "break"
            case ast.Continue():
                frame.left = "continue"
            case ast.If(test=test, body=body, orelse=orelse):
                self.use(test, frame)
                self._ways([body] if _is_main(test) else [body, orelse], frame)
            case ast.For(target=target, iter=each, body=body, orelse=orelse):
                things = self.look(each, frame)
                self._rounds(body, frame, target, self.heap.parts.get(things) or {})
                self.block(orelse, frame)
            case ast.While(test=test, body=body, orelse=orelse):
                self.use(test, frame)
                self._rounds(body, frame)
                self.block(orelse, frame)
            case ast.With(items=items, body=body):
                for item in items:
                    self.look(item.context_expr, frame)
                    if item.optional_vars is not None:
                        self.assign(item.optional_vars, item.context_expr, self.fresh(), frame)
                self.block(body, frame)
            case ast.Try(body=body, orelse=orelse, finalbody=finalbody):
                self.block([*body, *orelse], frame)
                self.block(finalbody, frame)
            case ast.Delete(targets=targets):
                for target in targets:
                    self.assign(target, target, self.fresh(), frame)
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                self.heap.names.pop((frame.number, name), None)

    def _ways(self, ways: Sequence[Sequence[ast.stmt]], frame: Frame) -> None:
        """Runs blocks of which one runs, and keeps what is true behind all that end."""
        before, behind, left = self.heap.copy(), list[Heap](), ""
        for block in ways:
            self.heap.take(before.copy())
            self.block(block, frame)
            if frame.left:
                left, frame.left = frame.left, ""
            else:
                behind.append(self.heap.copy())
        if not behind:
            frame.left = left
            return
        self.heap.take(behind[0])
        for other in behind[1:]:
            self.heap.join(other, self.fresh())

    def _rounds(
        self, body: Sequence[ast.stmt], frame: Frame, target: ast.expr | None = None, parts: Mapping[Key, Thing] | None = None
    ) -> None:
        """Runs a loop's body, whose second round begins with what the first one left."""
        elements = list((parts or {}).values())
        for number in range(ROUNDS):
            if target is not None:
                known = elements[number] if number < len(elements) else self.fresh(hosted=True)
                self.assign(target, target, known, frame)
            self.block(body, frame)
            left, frame.left = frame.left, ""
            if left == "return":
                frame.left = left
            if left in ("return", "break"):
                return

    def assign(self, target: ast.expr, value: ast.expr, thing: Thing, frame: Frame) -> None:
        """Binds what a target names to an object."""
        match target:
            case ast.Name(id=name):
                self.heap.names[frame.number, name] = thing
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                starred = any(isinstance(one, ast.Starred) for one in targets)
                for number, one in enumerate(targets):
                    inner = one.value if isinstance(one, ast.Starred) else one
                    self.assign(inner, value, self.fresh() if starred else self.part(thing, number), frame)
            case ast.Attribute(value=owner, attr=key):
                self.heap.parts.setdefault(self.look(owner, frame), {})[key] = thing
            case ast.Subscript(value=owner, slice=index):
                key = index.value if isinstance(index, ast.Constant) else None
                holder = self.look(owner, frame)
                if isinstance(key, str | int):
                    self.heap.parts.setdefault(holder, {})[key] = thing
                else:
                    self.use(index, frame)
                    self.heap.parts[holder] = {}

    # Expressions

    def part(self, thing: Thing, key: Key) -> Thing:
        """What stands under a key or in a field of an object."""
        own = self.heap.parts.setdefault(thing, {})
        if key not in own:
            own[key] = self.fresh(placed=thing in self.placed, hosted=thing in self.hosted)
            self.heap.within[own[key]] = thing
        return own[key]

    def use(self, node: ast.expr, frame: Frame) -> Thing:
        """What an expression holds, of which the values are used: none may be deleted."""
        thing = self.look(node, frame)
        self.check(node, thing, frame)
        return thing

    def check(self, node: ast.expr, thing: Thing, frame: Frame) -> None:
        """Tells where an object is used that was donated."""
        donation = self.heap.donation(thing, unclear=self.unclear)
        if donation is not None and isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call | ast.Dict):
            self.uses.append(Use(frame.module, node, donation))
            self._restore(thing)

    def _restore(self, thing: Thing) -> None:
        """What was told once is not told again: the program has ended there."""
        above: Thing | None = thing
        while above is not None:
            self.heap.deleted.pop(above, None)
            above = self.heap.within.get(above)
        for part in self.heap.parts.get(thing, {}).values():
            self.heap.deleted.pop(part, None)

    def look(self, node: ast.expr, frame: Frame) -> Thing:
        """The object that an expression gives, which need not be used thereby: another name may hold it."""
        self.steps += 1
        match node:
            case ast.Name(id=name):
                return self._named(name, frame)
            case ast.Attribute(value=owner, attr=key):
                if key in METADATA:
                    return self.fresh()
                thing = self.part(self.look(owner, frame), key)
                if not self.is_array(key):
                    self.unclear.add(thing)
                return thing
            case ast.Subscript(value=owner, slice=ast.Constant(value=(int() | str()) as key)):
                return self.part(self.look(owner, frame), key)
            case ast.Subscript(value=owner, slice=index):
                self.use(owner, frame)
                if not isinstance(index, ast.Slice):
                    self.look(index, frame)
                return self.fresh()
            case ast.Tuple(elts=elements) | ast.List(elts=elements):
                return self._holder({n: self.look(one, frame) for n, one in enumerate(elements)})
            case ast.Dict(keys=keys, values=values):
                things = [self.look(one, frame) for one in values]
                pairs = zip(keys, things, strict=True)
                return self._holder({k.value: t for k, t in pairs if isinstance(k, ast.Constant)})
            case ast.NamedExpr(target=target, value=value):
                thing = self.look(value, frame)
                self.assign(target, value, thing, frame)
                return thing
            case ast.IfExp(test=test, body=body, orelse=orelse):
                self.use(test, frame)
                one, other = self.look(body, frame), self.look(orelse, frame)
                return one if one == other else self.fresh()
            case ast.Starred(value=value) | ast.Await(value=value):
                return self.look(value, frame)
            case ast.Call():
                return self._call(node, frame)
            case ast.ListComp() | ast.GeneratorExp() | ast.SetComp() | ast.DictComp():
                self._comprehension(node, frame)
            case ast.Compare(left=left, comparators=others):
                plain = any(isinstance(one, ast.Constant) and one.value is None for one in others)
                for one in () if plain else (left, *others):
                    self.use(one, frame)
            case ast.BinOp() | ast.UnaryOp() | ast.BoolOp() | ast.JoinedStr() | ast.FormattedValue():
                for one in ast.iter_child_nodes(node):
                    if isinstance(one, ast.expr):
                        self.use(one, frame)
        return self.fresh()

    def _named(self, name: str, frame: Frame) -> Thing:
        around: Frame | None = frame
        while around is not None:
            if (around.number, name) in self.heap.names:
                return self.heap.names[around.number, name]
            around = around.outer
        return self.heap.names.setdefault((frame.number, name), self.fresh())

    def _holder(self, parts: Mapping[Key, Thing]) -> Thing:
        thing = self.fresh()
        self.heap.parts[thing] = dict(parts)
        return thing

    def _comprehension(self, node: ast.ListComp | ast.GeneratorExp | ast.SetComp | ast.DictComp, frame: Frame) -> None:
        own = Frame(self.fresh(), frame.module, frame.node, frame, frame.depth)
        iterated = [self.look(one.iter, frame) for one in node.generators[:1]]
        elements = list((self.heap.parts.get(iterated[0]) or {}).values())
        for number in range(ROUNDS):
            for each in node.generators:
                known = elements[number] if number < len(elements) else self.fresh(hosted=True)
                self.assign(each.target, each.target, known, own)
            for inner in (node.key, node.value) if isinstance(node, ast.DictComp) else (node.elt,):
                self.look(inner, own)

    # Calls

    def _call(self, node: ast.Call, frame: Frame) -> Thing:
        if node in self.donated:
            return self._donates(node, frame)
        values = self.resolver.values(node.func, frame.module)
        value = values[0] if len(values) == 1 else None
        if isinstance(value, Function):
            entered = self._entered(value, node, frame)
            if entered is not None:
                return entered
        if isinstance(value, Class):
            return self._constructed(value, node, frame)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        given = [*node.args, *(one.value for one in node.keywords)]
        if name in HOLDERS | UNREAD:
            things = [self.look(one, frame) for one in given]
            return things[0] if name in HOLDERS and len(things) == 1 else self.fresh()
        if isinstance(node.func, ast.Attribute) and not isinstance(value, External):
            owner = self.look(node.func.value, frame)
            if name in METADATA:
                return self.fresh()
            if not isinstance(value, Application | Partial | Function):
                if self.is_array(name) or not self.heap.parts.get(owner):
                    self._use_array(node.func.value, owner, frame)
                else:
                    self.heap.parts[owner] = {}  # a method out of sight may set anything
        for one in given:
            self.use(one, frame)
        numpy = isinstance(value, External) and value.name.startswith("numpy.")
        return self.fresh(placed=_is_placed(value), hosted=numpy)

    def _use_array(self, node: ast.expr, owner: Thing, frame: Frame) -> None:
        """The owner of a method is an array: `params.sum()`; of what it is not known that, only a plain name is."""
        if owner in self.heap.deleted and isinstance(node, ast.Name):
            self.check(node, owner, frame)

    def _donates(self, node: ast.Call, frame: Frame) -> Thing:
        given = {one.node: one for one in self.donated[node]}
        pending: list[tuple[Given, Thing]] = []
        for one in (*node.args, *(word.value for word in node.keywords)):
            inner = one.elts if isinstance(one, ast.Tuple) and any(part in given for part in one.elts) else [one]
            for part in inner:
                thing = self.use(part, frame)
                if part in given:
                    pending.append((given[part], thing))
        for one, thing in pending:
            if thing in self.hosted or (one.moves and thing not in self.placed):
                continue
            if thing in self.heap.deleted and self.heap.deleted[thing].call is node:
                self.uses.append(Use(frame.module, one.node, self.heap.deleted[thing]))
            self.heap.deleted[thing] = Donation(frame.module, node, one.name)
        return self.fresh(placed=True)

    def _entered(self, function: Function, node: ast.Call, frame: Frame) -> Thing | None:
        """What a function of the program gives that the host runs itself."""
        inner = function.node
        if isinstance(inner, ast.Lambda | ast.AsyncFunctionDef) or not _is_plain(inner, node):
            return None
        found: dict[str, Thing] = {}
        names = function.passed_names()
        if function.receiver is not None and inner.args.args and isinstance(node.func, ast.Attribute):
            found[inner.args.args[0].arg] = self.look(node.func.value, frame)
        found |= {name: self.look(one, frame) for name, one in zip(names, node.args, strict=False)}
        found |= {one.arg: self.look(one.value, frame) for one in node.keywords if one.arg is not None}
        return self.enter(function, found, frame.depth + 1)

    def _constructed(self, cls: Class, node: ast.Call, frame: Frame) -> Thing:
        """A new object of a class of the program, after its constructor has run."""
        thing = self.fresh()
        fields = {one.arg: self.look(one.value, frame) for one in node.keywords if one.arg is not None}
        given = [self.look(one, frame) for one in node.args]
        init = next((one for one in cls.node.body if isinstance(one, ast.FunctionDef) and one.name == "__init__"), None)
        if init is None:
            self.heap.parts[thing] = dict(fields)
            return thing
        names = positional_names(init.args)
        bound = dict(zip(names, [thing, *given], strict=False)) | fields
        self.enter(Function(cls.module, init), bound, frame.depth + 1)
        return thing


def _is_placed(value: Value | None) -> bool:
    """Whether what is called gives arrays that lie on the devices: what jit or a map has made, or what puts there."""
    if isinstance(value, External):
        return value.name in ("jax.device_put", "flax.jax_utils.replicate", "jax.device_put_replicated")
    return isinstance(value, Application) and isinstance(value.callee, External)


def _is_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def _parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    spec = node.args
    return [one.arg for one in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs, spec.vararg, spec.kwarg) if one]


def _is_plain(node: ast.FunctionDef | ast.AsyncFunctionDef, call: ast.Call) -> bool:
    """Whether a call of a function runs its body then and there."""
    names = {one.id if isinstance(one, ast.Name) else getattr(one, "attr", "") for one in node.decorator_list}
    starred = any(isinstance(one, ast.Starred) for one in call.args) or any(k.arg is None for k in call.keywords)
    yields = any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(node))
    return names <= _PLAIN and not starred and not yields
