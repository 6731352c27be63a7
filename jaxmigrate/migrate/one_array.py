"""Values that are surely one array: what a mapped function drops the mapped axis of by `x.squeeze(0)`, and puts it
back into by `x[None]`. All else may be a tree of arrays, or a number of Python's, which `jax.tree.map` takes as well.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from jaxmigrate.flow.layout.one_array import ARRAY_ATTRIBUTES, SAME_FOR_BOTH
from jaxmigrate.flow.variance.library import ARRAY_METHODS, ARRAYS
from jaxmigrate.migrate.keys import OTHERS, SEEDED
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.library import named, starting
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.passing import taker
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding, FunctionNode, all_parameters, defaults_of
from jaxmigrate.program.sites import denotes
from jaxmigrate.program.values import UNKNOWN, Application, External, Function, Partial, Value

DEEPEST = 4  # functions that call functions
TREES = named("reduction", "shared", "spreading", "preserving")  # what gives a tree for a tree
NO_ARRAYS = named("not-array", "equal", "calls", "control-flow", "numeric") | TREES
SAME = named("jit", "same-call") | {"jax.vmap"}  # what gives a function of as many arrays
LIKE = named("like")  # `zeros_like`, which gives an array whatever it is given
MADE_OF = named("constant", "strong", "counting", "stacks", "joins-rows", "array-of", "copy", "shape-of")
PRODUCTS = frozenset({"cross", "dot", "inner", "kron", "matmul", "outer", "tensordot", "vdot"})
NUMBERS = frozenset(
    {"item", "tolist", "nonzero", "to", "bit_length"}
)  # of the methods of an array, what gives no array
GIVES_ARRAYS = ARRAY_METHODS - NUMBERS
ALWAYS = frozenset({"argmax", "astype", "mean", "reshape", "std", "sum", "var"})  # methods of arrays and nothing else
OF_ARRAYS = ARRAY_ATTRIBUTES | SAME_FOR_BOTH | ARRAY_METHODS
ARITHMETIC = ast.Sub | ast.Div | ast.Pow | ast.MatMult  # which no list, tuple or dict has
ORDERING = ast.Lt | ast.LtE | ast.Gt | ast.GtE
DUNDERS = ("__sub__", "__rsub__", "__truediv__", "__rtruediv__", "__pow__", "__matmul__", "__getitem__", "__lt__")
INNER = ast.Lambda | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
Named = ast.FunctionDef | ast.AsyncFunctionDef


def array_parameters(function: Function, resolver: Resolver, traced: Collection[str]) -> frozenset[str]:
    """The parameters of a mapped function that can be no tree, as its code uses them or their annotations say.

    `traced` are those that are arrays for JAX, or trees of such: no numbers.
    """
    found: frozenset[str] = frozenset()
    while True:
        uses = _Uses(function, resolver, traced=frozenset(traced), arrays=found.intersection(traced))
        more = frozenset(name for name in function.passed_names() if name in found or uses.is_one(name))
        if more == found:
            return found
        found = more


@dataclass(frozen=True, slots=True)
class Around:
    """What a function around another one knows of what it passes on, and of what it gets back."""

    value: Value
    resolver: Resolver
    skipped: int = 0  # first arguments that a partial binds
    given: frozenset[int | str] = frozenset()  # what is one array at every call

    @classmethod
    def of(cls, values: Sequence[Value], resolver: Resolver, given: frozenset[int | str] = frozenset()) -> Around:
        """What is known of a mapped function, which may be a partial."""
        value, skipped = values[0] if len(values) == 1 else UNKNOWN, 0
        while isinstance(value, Partial):
            skipped += len([one for one in value.arguments if one.keyword is None])
            value = value.callee if all(one.keyword not in ("*", "**") for one in value.arguments) else UNKNOWN
        return cls(followed(value, resolver) or value, resolver, skipped, given)

    def takes(self, place: int | str) -> bool:
        """Whether the argument at a position, or of a keyword, can be no tree."""
        if place in self.given:
            return True
        at = place if isinstance(place, str) else place + self.skipped
        if isinstance(self.value, External):
            return isinstance(at, int) and _takes_one(self.value.name, at)
        return isinstance(self.value, Function) and _Uses(self.value, self.resolver).is_taken(at)

    def gives(self, traced: Sequence[int], index: int | None = None) -> bool:
        """Whether what comes back is one array, or the part of a tuple at a place; `traced` are arrays for JAX."""
        if isinstance(self.value, External):
            return index is None and _gives_one(self.value.name)
        if not isinstance(self.value, Function):
            return False
        skip = self.skipped + int(self.value.receiver is not None)
        names = {name for i in traced if (name := taker(self.value.node.args, i, skip)) is not None}
        arrays = array_parameters(self.value, self.resolver, names) & names
        return Returned(self.value, self.resolver, arrays).gives_array(index)


@dataclass(frozen=True, slots=True)
class Returned:
    """What a function returns, where `arrays` are those of its parameters that are one array each."""

    function: Function
    resolver: Resolver
    arrays: frozenset[str]
    depth: int = 0
    waiting: frozenset[tuple[FunctionNode, str]] = frozenset()

    def gives_array(self, index: int | None = None) -> bool:
        """Whether all that a function returns is surely one array, or the part of it at a place."""
        every = returned_by(self.function.node)
        if not every or self.depth > DEEPEST or _is_generator(self.function.node):
            return False
        if self._says_array(index):
            return True
        return all(one is not None and self._is_part(one, index) for one in every)

    def _says_array(self, index: int | None) -> bool:
        """Whether a function says that it returns one array, or one in a place of a tuple."""
        said = self.function.node.returns if isinstance(self.function.node, ast.FunctionDef) else None
        if index is not None:
            match said:
                case ast.Subscript(value=ast.Name(id="tuple" | "Tuple"), slice=ast.Tuple(elts=parts)):
                    said = parts[index] if index < len(parts) else None
                case _:
                    said = None
        return said is not None and says_array(said, self.resolver, self.function.module)

    def _is_part(self, value: ast.expr, index: int | None) -> bool:
        if index is None:
            return self.is_array(value)
        if isinstance(value, ast.Tuple) and not any(isinstance(one, ast.Starred) for one in value.elts):
            return index < len(value.elts) and self.is_array(value.elts[index])
        return False

    def is_array(self, value: ast.expr) -> bool:
        """Whether an expression of the function is surely one array: no tree, and no number of Python's."""
        match value:
            case ast.Name():
                return self._is_named(value)
            case ast.BinOp(left=left, right=right):
                return self.is_array(left) or self.is_array(right)
            case ast.Compare(left=left, ops=ops, comparators=others):
                asks = any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in ops)
                return len(ops) == 1 and not asks and any(map(self.is_array, (left, *others)))
            case ast.UnaryOp(op=ast.USub() | ast.Invert() | ast.UAdd(), operand=operand):
                return self.is_array(operand)
            case ast.IfExp(body=body, orelse=other):
                return self.is_array(body) and self.is_array(other)
            case ast.Subscript(value=owner):
                return self.is_array(owner)
            case ast.Attribute(value=owner, attr="T" | "mT"):
                return self.is_array(owner)
            case ast.Call():
                return self._is_made(value)
        return False

    def _is_named(self, name: ast.Name) -> bool:
        """Whether all that a name may stand for is an array; what it stood for before counts as one."""
        table = self.function.module.table
        own = table.own_scope.get(self.function.node)
        scope = table.scope_of.get(name)
        if own is None or scope is None or scope.lookup(name.id) is not own:
            return False
        key = (self.function.node, f"{self.depth} {name.id}")
        if key in self.waiting:
            return True
        inner = replace(self, waiting=self.waiting | {key})
        bindings = own.bindings[name.id]
        return all(inner.binds_array(one) for one in bindings)

    def binds_array(self, binding: Binding) -> bool:
        """Whether what one place binds a name to is an array."""
        if binding.kind == "param":
            return binding.name in self.arrays
        if binding.value is None:  # `x += y` of an array is one
            parent = self.function.module.table.parents.get(binding.node)
            others = binding.scope.bindings[binding.name]
            return isinstance(parent, ast.AugAssign) and any(one.value is not None for one in others)
        if binding.path and isinstance(binding.value, ast.Name) and binding.name in self.arrays:
            return True  # a part of a parameter, of which it is known
        return binding.kind == "assign" and self._is_at(binding.value, binding.path)

    def _is_at(self, value: ast.expr, path: Sequence[int | str]) -> bool:
        """Whether the part of a value that a name is bound to is an array."""
        if self.is_array(value):
            return True  # or its rows
        if not path:
            return False
        first, *rest = path
        if isinstance(value, ast.Tuple | ast.List) and isinstance(first, int) and first < len(value.elts):
            return self._is_at(value.elts[first], rest)
        if not isinstance(value, ast.Call) or not isinstance(first, int):
            return False
        loss = self._loss(value.func)
        if loss:
            return (*path,) == loss
        return len(path) == 1 and self._of_program(value, first)

    def _loss(self, function: ast.expr) -> tuple[int, ...]:
        """Where the loss stands in what `jax.value_and_grad(f)` gives; nowhere for other functions."""
        known = self.resolver.value(function, self.function.module)
        if not isinstance(known, Application) or known.callee != External("jax.value_and_grad"):
            return ()
        beside = [self.resolver.literal(one) for one in known.arguments if one.keyword == "has_aux"]
        return (0, 0) if beside == [True] else (0,) if beside in ([], [False]) else ()

    def _dotted(self, function: ast.expr) -> str:
        if not isinstance(function, ast.Name | ast.Attribute):
            return ""
        return denotes(function, self.resolver, self.function.module) or ""

    def _is_made(self, call: ast.Call) -> bool:
        """Whether a call gives an array: of a library's function, of a method of an array, of a function at hand."""
        name = self._dotted(call.func)
        if name:
            first = call.args[0] if call.args else None
            if name in TREES:
                return first is not None and self.is_array(first)
            if name == "jax.numpy.where":
                return len(call.args) > 1 or any(one.arg in ("x", "y") for one in call.keywords)
            return _gives_one(name)
        match call.func:
            case ast.Attribute(value=ast.Subscript(value=ast.Attribute(value=owner, attr="at"))):
                return self.is_array(owner)
            case ast.Attribute(value=owner, attr=method) if method in GIVES_ARRAYS:
                others = method in _members(self.resolver) or _imports_array_likes(self.resolver)
                known = self.is_array(owner) or (method in ALWAYS and not others)
                if known:
                    return True
        return self._of_program(call, None)

    def _of_program(self, call: ast.Call, index: int | None) -> bool:
        """Whether a function of the program gives an array for the arguments of a call, or at a place of a tuple."""
        function = followed(self.resolver.value(call.func, self.function.module), self.resolver)
        if function is None or any(isinstance(one, ast.Starred) for one in call.args):
            return False
        skip = int(function.receiver is not None)
        given = [(taker(function.node.args, i, skip), one) for i, one in enumerate(call.args)]
        given += [(taker(function.node.args, one.arg, skip), one.value) for one in call.keywords if one.arg]
        arrays = frozenset(name for name, one in given if name is not None and self.is_array(one))
        if any(one.arg is None for one in call.keywords):
            return False
        inner = replace(self, function=function, arrays=arrays, depth=self.depth + 1)
        key = (function.node, f"() {index} {sorted(arrays)}")
        return key not in self.waiting and replace(inner, waiting=self.waiting | {key}).gives_array(index)


def followed(value: Value, resolver: Resolver) -> Function | None:
    """The function of the program that a value calls with the same arguments: itself, or under `jit` and its like."""
    while isinstance(value, Application) and isinstance(value.callee, External):
        first = next((one for one in value.arguments if one.keyword is None), None)
        found = resolver.argument_values(first) if value.callee.name in SAME and first is not None else ()
        if len(found) != 1:
            return None
        value = found[0]
    if not isinstance(value, Function) or isinstance(value.node, ast.AsyncFunctionDef):
        return None
    return value


def says_array(annotation: ast.expr, resolver: Resolver, module: Module) -> bool:
    """`x: jax.Array`, `key: chex.PRNGKey`, `y: Float[Array, "n"]`."""
    match annotation:
        case ast.Subscript(slice=ast.Tuple(elts=[kind, ast.Constant(value=str())])):
            return says_array(kind, resolver, module)
        case ast.Name() | ast.Attribute():
            return (denotes(annotation, resolver, module) or "") in named("array-type")
    return False


def _gives_one(name: str) -> bool:
    """Whether a function of a library gives one array, whatever it is given."""
    last = name.rpartition(".")[2]
    known = name.startswith(ARRAYS) and name not in NO_ARRAYS and not name.startswith("math.")
    return (known and (last[:1].islower() or last[:1] == "_")) or name in named("number", "draws", "seed") | LIKE


def _takes_one(name: str, place: int) -> bool:
    """Whether a function of a library raises for a list, a tuple or a dict at a position."""
    if name.startswith("jax.random."):
        return place == 0 and name not in SEEDED
    if not name.startswith(("jax.numpy.", "jax.nn.")) or name in MADE_OF | LIKE | NO_ARRAYS:
        return False
    last = name.rpartition(".")[2]
    if not last.islower() or any(word in last for word in ("stack", "concat", "block", "array", "int", "float")):
        return False
    return place == 0 or (place == 1 and (last in PRODUCTS or name in named("elementwise")))


@once
def _members(resolver: Resolver) -> frozenset[str]:
    """The names that classes of the program have: methods, fields and what they set of themselves."""
    found: set[str] = set()
    for module in resolver.project.program:
        for node in module.nodes:
            for one in node.body if isinstance(node, ast.ClassDef) else ():
                match one:
                    case ast.FunctionDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                        found.add(name)
                    case ast.Assign(targets=targets):
                        found.update(n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name))
        found.update(one.attr for one in (*module.table.attributes, *module.table.unpacked))
    return frozenset(found)


@once
def _imports_array_likes(resolver: Resolver) -> bool:
    """Whether the program imports a library with trees that compute as arrays do, as sparse matrices."""
    homes = starting("array-like")
    for module in resolver.project.program:
        for statement in module.table.import_statements:
            above = f"{statement.module}." if isinstance(statement, ast.ImportFrom) else ""
            if any(f"{above}{alias.name}.".startswith(homes) for alias in statement.names):
                return True
    return False


@dataclass(frozen=True)
class _Uses:
    """How a function uses its parameters."""

    function: Function
    resolver: Resolver
    depth: int = 0
    traced: frozenset[str] = frozenset()
    arrays: frozenset[str] = frozenset()  # what is known already to be one array for JAX

    def is_taken(self, place: int | str) -> bool:
        """Whether the parameter that takes an argument can be no tree."""
        name = taker(self.function.node.args, place, int(self.function.receiver is not None))
        return name is not None and self.is_one(name)

    def is_one(self, name: str) -> bool:
        """Whether a parameter can be no tree."""
        table = self.function.module.table
        own = table.own_scope.get(self.function.node)
        said = next((one for one in all_parameters(self.function.node.args) if one.arg == name), None)
        if own is None or said is None or name in dict(defaults_of(self.function.node.args)):
            return False
        arguments = self.function.node.args
        if said in (arguments.vararg, arguments.kwarg) or self.depth > DEEPEST:
            return False
        if said.annotation is not None and OTHERS.search(ast.unparse(said.annotation)):
            return False
        reads = [n for n in table.named.get(name, ()) if isinstance(n, ast.Name) and n.id == name]
        reads = [n for n in reads if table.scope_of[n].lookup(name) is own]
        if any(map(self._tells_tree, reads)):
            return False
        if said.annotation is not None and says_array(said.annotation, self.resolver, self.function.module):
            return True
        again = [one.node for one in own.bindings[name] if one.kind != "param"]
        first = min((getattr(node, "lineno", 0) for node in again), default=None)
        proving = [n for n in reads if self._proves(n) and (first is None or self._line(n) <= first)]
        return any(map(self._is_sure_to_run, proving)) or (first is None and 0 < len(proving) == len(reads))

    def _line(self, node: ast.AST) -> int:
        statement = self.function.module.table.statement_of(node)
        return statement.lineno if statement is not None else 0

    @cached_property
    def _has_arithmetic(self) -> bool:
        """Whether classes of the program, or of what it imports, may be added and indexed as arrays are."""
        return not _members(self.resolver).isdisjoint(DUNDERS) or _imports_array_likes(self.resolver)

    def _tells_tree(self, name: ast.Name) -> bool:
        """Whether a read treats a value as something else than an array, or asks what it is."""
        parent = self.function.module.table.parents.get(name)
        match parent:
            case ast.Subscript(value=value, slice=ast.Constant(value=str())):
                return value is name
            case ast.Attribute(attr=attribute):
                return attribute not in OF_ARRAYS
            case ast.Starred() | ast.For() | ast.comprehension() | ast.Dict() | ast.FormattedValue():
                return True
            case ast.keyword(arg=None):
                return True
            case ast.Compare(ops=ops):
                return any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in ops)
            case ast.Assign(targets=targets):
                return any(isinstance(one, ast.Tuple | ast.List) for one in targets)
            case ast.Call(func=func) if func is not name:
                return self._asks(func) or self._passes(parent, name, lambda uses, place: uses.tells(place))
            case ast.keyword(arg=word) if word:
                call = self.function.module.table.parents.get(parent)
                return isinstance(call, ast.Call) and (
                    self._asks(call.func) or self._passes(call, name, lambda uses, place: uses.tells(place))
                )
            case ast.Call():
                return True  # it is called itself
        return False

    def tells(self, place: int | str) -> bool:
        """Whether the parameter that takes an argument is treated as something else than an array."""
        table = self.function.module.table
        own = table.own_scope.get(self.function.node)
        name = taker(self.function.node.args, place, int(self.function.receiver is not None))
        if own is None or name is None:
            return True
        if self.depth > DEEPEST:
            return False
        reads = [n for n in table.named.get(name, ()) if isinstance(n, ast.Name) and n.id == name]
        return any(self._tells_tree(n) for n in reads if table.scope_of[n].lookup(name) is own)

    def _asks(self, func: ast.expr) -> bool:
        """Whether a function asks what kind of value it is given, or takes trees apart."""
        if isinstance(func, ast.Name) and func.id in ("isinstance", "type", "hasattr", "getattr", "dict", "zip"):
            return True
        return "tree" in ast.unparse(func)

    def _passes(self, call: ast.Call, name: ast.Name, holds: Callable[[_Uses, int | str], bool]) -> bool:
        """Whether something holds of the parameter of a function of the program that takes a name."""
        callee = followed(self.resolver.value(call.func, self.function.module), self.resolver)
        place = _place(call, name)
        if callee is None or place is None or callee.node is self.function.node:
            return False
        return holds(_Uses(callee, self.resolver, self.depth + 1), place)

    def _proves(self, name: ast.Name) -> bool:
        """Whether a read would raise if the value were a list, a tuple, a dict or an object of the program."""
        parent = self.function.module.table.parents.get(name)
        match parent:
            case ast.Attribute(attr=attribute):
                return attribute not in _members(self.resolver) and not _imports_array_likes(self.resolver)
            case ast.Subscript(value=value, slice=index) if value is name:
                return not self._has_arithmetic and _only_of_arrays(index)
            case ast.BinOp(op=op, left=left, right=right):
                return not self._has_arithmetic and self._is_arithmetic(op, right if left is name else left)
            case ast.UnaryOp(op=ast.USub() | ast.Invert()):
                return not self._has_arithmetic
            case ast.Compare(left=left, ops=[op], comparators=[other]):
                number = other if left is name else left
                return isinstance(op, ORDERING) and isinstance(number, ast.Constant) and not self._has_arithmetic
            case ast.Call(func=func) if func is not name:
                return self._is_array_of(parent, name)
            case ast.keyword(arg=word) if word:
                call = self.function.module.table.parents.get(parent)
                return isinstance(call, ast.Call) and self._passes(call, name, lambda uses, place: uses.is_taken(place))
        return False

    def _is_arithmetic(self, op: ast.operator, other: ast.expr) -> bool:
        """Whether no list or tuple goes with an operand: `x - y`, `x + 1`, `x * 0.5`, `x * y` of what is traced."""
        if isinstance(op, ARITHMETIC) or _is_number(op, other):
            return True
        if isinstance(other, ast.Name) and isinstance(op, ast.Mult) and other.id in self.traced:
            return len(self.function.module.table.own_scope[self.function.node].bindings[other.id]) == 1
        return Returned(self.function, self.resolver, self.arrays).is_array(other)

    def _is_array_of(self, call: ast.Call, name: ast.Name) -> bool:
        place = _place(call, name)
        if isinstance(place, int) and isinstance(call.func, ast.Name | ast.Attribute):
            dotted = denotes(call.func, self.resolver, self.function.module)
            if dotted is not None:
                return _takes_one(dotted, place)
        return self._passes(call, name, lambda uses, place: uses.is_taken(place))

    def _is_sure_to_run(self, name: ast.Name) -> bool:
        """Whether each call of the function comes to a read."""
        table, node = self.function.module.table, self.function.node
        below: ast.AST = name
        parent = table.parents.get(name)
        while parent is not None and parent is not node:
            match parent:
                case ast.IfExp(test=first) | ast.If(test=first) | ast.While(test=first) if below is not first:
                    return False
                case ast.For(iter=first) | ast.AsyncFor(iter=first) | ast.BoolOp(values=[first, *_]):
                    if below is not first:
                        return False
                case ast.Try() | ast.Match() | ast.match_case():
                    return False
            if isinstance(parent, INNER | Named):
                return False
            below, parent = parent, table.parents.get(parent)
        if isinstance(node, ast.Lambda):
            return True
        if below not in node.body:
            return False
        before = itertools.takewhile(lambda one: one is not below, node.body)
        return not any(isinstance(n, ast.Return | ast.Raise) for one in before for n in _own(one))


def _own(statement: ast.AST) -> Iterator[ast.AST]:
    """What stands in a statement, but for functions that it makes."""
    waiting = [statement]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += [] if isinstance(node, Named | ast.Lambda | ast.ClassDef) else ast.iter_child_nodes(node)


def _place(call: ast.Call, given: ast.expr) -> int | str | None:
    """Where a call passes an argument; None behind a star."""
    for index, one in enumerate(call.args):
        if isinstance(one, ast.Starred):
            break
        if one is given:
            return index
    return next((one.arg for one in call.keywords if one.value is given and one.arg), None)


def _only_of_arrays(index: ast.expr) -> bool:
    """Whether lists and dicts refuse an index: `x[:, 0]`, `x[..., 1]`, `x[None]`."""
    parts = index.elts if isinstance(index, ast.Tuple) else [index]
    if any(isinstance(one, ast.Constant) and one.value in (None, ...) for one in parts):
        return True
    return len(parts) > 1 and any(isinstance(one, ast.Slice) for one in parts)


def _is_number(op: ast.operator, other: ast.expr) -> bool:
    """Whether an operand is a number that no list or tuple goes with."""
    value = other.value if isinstance(other, ast.Constant) else None
    return isinstance(value, float) or (isinstance(op, ast.Add) and isinstance(value, int))


def _is_generator(node: FunctionNode) -> bool:
    return any(isinstance(one, ast.Yield | ast.YieldFrom) for one in ast.walk(node))
