"""How programs say replicate, split and "the first device's slice": names in libraries, and shapes of expressions."""

from __future__ import annotations

import ast
from typing import Literal

from jaxmigrate.flow.layout import identities, some_devices
from jaxmigrate.flow.layout.functions import is_generator, only_parameter, single_return
from jaxmigrate.flow.layout.given_devices import GivenDevices
from jaxmigrate.flow.layout.named_counts import LEAST, NamedCounts
from jaxmigrate.flow.layout.ranks import rank_of
from jaxmigrate.flow.layout.shape_texts import (
    is_ellipsis,
    is_minus_one,
    is_none,
    is_one,
    is_ones,
    is_whole,
    is_zero,
    leading_sizes,
    mentions,
    must_fit,
    pattern_sides,
    same,
    shape_from,
    shape_given,
)
from jaxmigrate.flow.layout.some_devices import SomeDevices
from jaxmigrate.program.callers import callers_of
from jaxmigrate.program.declarations import Kind as Declared
from jaxmigrate.program.library import by_position, named, the
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.trees import ANY_TREE_MAPS
from jaxmigrate.program.trust import Trust
from jaxmigrate.program.values import Application, Constant, External, Function, Parameter, Value
from jaxmigrate.records import record

Kind = Literal[
    "replicate", "split", "first", "inner", "merge", "metrics", "prefetch", "rows", "stack", "checkpoint", "identity",
    "size", "type", "given", "kept", "taken", "whole", "averaged", "listed",
]  # fmt: skip

KFAC_REPLICATES = the("kfac-replicates")
REPLICATES = named("replicates")
SPLITS = named("splits")
KEY_SPLITS = named("splits-key")
UNREPLICATE = the("unreplicates")
FIRSTS = named("first")
FETCHED_FIRSTS = named("first-fetched")
METRICS = named("metrics")
PREFETCHES = named("prefetches")
UNCHANGED = named("unchanged")
WITHOUT_LOOKING = named("only-looks", "tree-structure")
COUNTS = named("counts")
STACKS = named("stacks")
CUTS = named("cuts")
TILES = named("tiles")
PUTS_SLICES = the("puts-slices")
OF_ARRAY = "array"  # the form of what is said of the slices of one array, and not of a tree
COUNTINGS = named("counting")
CONSTANTS = named("constant")  # arrays of one value
BROADCASTS = named("broadcasts")
CONVERTS = named("array-of")
LEADINGS = named("leads")
SHAPES = named("shape-of")
ARRAYS = frozenset(
    {"arange", "array", "asarray", "cos", "empty", "exp", "eye", "full", "identity", "linspace", "log", "maximum"}
    | {"mean", "minimum", "ones", "ones_like", "sin", "sqrt", "sum", "tanh", "tril", "triu", "where", "zeros"}
    | {"zeros_like", "concatenate", "stack", "dot", "matmul", "float32", "int32", "broadcast_to", "reshape"}
)
KEYS = frozenset({"PRNGKey", "bernoulli", "fold_in", "key", "normal", "randint", "split", "uniform"})
NEW_AXES = ("jax.numpy.newaxis", "numpy.newaxis")
ONE_KEY = frozenset(f"jax.random.{name}" for name in ("PRNGKey", "fold_in", "key"))
OF_OTHER_SIZES = frozenset(
    {"sizes", "product", "same", "wider", "pattern"}
)  # shapes that do not come from the array itself
RESHAPES = named("reshapes")
REARRANGES = named("rearranges")
LEADING, PATTERN = "leading", "pattern"  # of `"(d b) ... -> d b ..."`, and of patterns that do more
DECLARED: dict[Declared, Kind] = {"replicates": "replicate", "splits": "split", "unreplicates": "first"}
FLAX_FILES = {"flax/jax_utils.py": "flax.jax_utils", "flax/training/common_utils.py": "flax.training.common_utils"}


STRONG = named("strong")


@record
class Idiom:
    """What an expression does to the leading axis of `operand`; `form` is how it says it.

    `declared` is what the user's declaration says it of, where it is not known otherwise.
    """

    kind: Kind
    operand: ast.expr
    form: str = ""
    declared: str = ""


class Idioms:
    """Recognises the idioms of a project.

    All devices count as pmap's own: where there are several processes, pmap takes no array with a slice for each.
    Where all maps of a program are given `some` devices, these count, and none that are all.

    `any_count` takes every number for theirs; `by_name` one that is called so, and `named` is the last such.
    `by_rank` takes arrays for such as have as many dimensions as what is made of them needs: `ranked` is the last such.
    """

    def __init__(
        self,
        resolver: Resolver,
        trust: Trust | None = None,
        *,
        any_count: bool = False,
        by_name: bool = False,
        by_rank: bool = False,
        some: SomeDevices | None = None,
    ) -> None:
        self.some = some
        self.by_rank = by_rank
        self.ranked: tuple[ast.expr, int] | None = None
        self.any_count = any_count
        self.by_name = by_name
        self.named: ast.expr | None = None
        self.resolver = resolver
        self.trust = trust if trust is not None else Trust()
        self.counts = COUNTS
        self.given = GivenDevices(resolver, self.is_count)

    def external(self, node: ast.expr, module: Module) -> str:
        """The dotted name outside the project that an expression stands for, or an empty string."""
        value = self.resolver.value(node, module)
        return value.name if isinstance(value, External) else ""

    def called(self, node: ast.expr, module: Module) -> str:
        """The same of what a call calls, or of something that is called later: a decorator, a context manager."""
        return self.external(node.func if isinstance(node, ast.Call) else node, module)

    def is_count(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression is the number of devices that pmap uses by default, or may be taken for it."""
        if self.any_count or self._is_certain_count(node, module):
            return True
        if self.by_name and NamedCounts(self.resolver, self._is_certain_count).is_one(node, module):
            self.named = node
            return True
        return False

    def _is_certain_count(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression is certainly that number.

        None among what it may be is no size: it gives way to one in `n if n is not None else jax.device_count()`, or
        raises, as the least of None and a number does.
        """
        callers = callers_of(self.resolver)
        values = self.resolver.values(node, module)
        given = [v for one in values for v in (callers.passed(one) if isinstance(one, Parameter) else (one,))]
        sizes = [one for one in given if one != Constant(None) and not self._is_least_with_none(one)]
        is_name = isinstance(node, ast.Name | ast.Attribute)  # a number that is written out may be any size
        return bool(sizes) and all((is_name and self._is_their_number(one)) or self._counts(one) for one in sizes)

    def _is_least_with_none(self, value: Value) -> bool:
        """Whether a value is the least of numbers one of which is None wherever that is given."""
        if not isinstance(value, Application) or value.callee != LEAST or len(value.arguments) < 2:
            return False
        given = [(one.expression, one.module) for one in value.arguments if one.keyword is None]
        return any(
            isinstance(one, ast.Name) and self.resolver.values(one, where) and self.given.are_none(one, where)
            for one, where in given
        )

    def _is_their_number(self, value: Value) -> bool:
        """Whether a value is the number of the devices that all maps are given, as far as their list shows it."""
        size = self.some.size if self.some is not None else None
        return size is not None and isinstance(value, Constant) and value.value is not True and value.value == size

    def _counts(self, value: Value) -> bool:
        if not isinstance(value, Application) or not isinstance(value.callee, External):
            return False
        if value.callee.name in self.counts:
            return not value.arguments and self.some is None
        if value.callee.name == "builtins.len" and len(value.arguments) == 1:
            given = value.arguments[0]
            return given.expression is not None and self.is_devices(given.expression, given.module)
        return False

    def is_devices(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression is certainly the list of devices that pmap uses: by default, or in all of a program."""
        if self.some is not None:
            return some_devices.named(node, module, self.resolver) == self.some
        return self.given.are_all(node, module)

    def makes_array(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression certainly gives one array, and no container."""
        if isinstance(node, ast.BinOp):
            return self.makes_array(node.left, module) or self.makes_array(node.right, module)
        values = self.resolver.values(node, module)
        return bool(values) and all(isinstance(v, Application) and _is_creation(v.callee) for v in values)

    def copied(self, node: ast.expr, module: Module) -> ast.expr | None:
        """x of `jnp.array(x)`, which has its shape."""
        match node:
            case ast.Call(args=[ast.Name() as given], keywords=named) if all(one.arg == "dtype" for one in named):
                return given if self.external(node.func, module) in CONVERTS else None
        return None

    def makes_strong(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression certainly gives one array whose dtype is not weak."""
        if isinstance(node, ast.BinOp):
            return self.makes_strong(node.left, module) or self.makes_strong(node.right, module)
        values = self.resolver.values(node, module)
        made = [v.callee for v in values if isinstance(v, Application) and _is_creation(v.callee)]
        return bool(values) and len(made) == len(values) and all(map(_is_strong, made))

    def makes_jax_array(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression certainly gives one array of JAX's, which nothing can write into."""
        values = self.resolver.values(node, module)
        made = [v.callee for v in values if isinstance(v, Application) and isinstance(v.callee, External)]
        of_jax = [one for one in made if _is_creation(one) and one.name.startswith("jax.")]
        return bool(values) and len(of_jax) == len(values)

    # Expressions on one array

    def of_array(self, node: ast.expr, module: Module) -> Idiom | None:
        """The idiom that an expression on one array is."""
        match node:
            case ast.Subscript(value=value, slice=index) if self.is_first(index):
                return Idiom("first", value)
            case ast.Call(func=ast.Attribute(value=value, attr="reshape"), args=args, keywords=[]) if args:
                name = self.external(node.func, module)
                if name:
                    return self._reshape(args[0], args[1], module) if name in RESHAPES and len(args) == 2 else None
                return self._reshape(value, args[0] if len(args) == 1 else ast.Tuple(elts=args), module)
            case ast.Call():
                return self._call(node, module)
        return None

    @staticmethod
    def is_first(index: ast.expr) -> bool:
        """Whether a subscript is `0` or `0, ...`."""
        match index:
            case ast.Constant(value=0):
                return not isinstance(index.value, bool)
            case ast.Tuple(elts=[ast.Constant(value=0), ast.Constant(value=rest)]):
                return rest is ...
        return False

    def _call(self, node: ast.Call, module: Module) -> Idiom | None:
        name = self.external(node.func, module)
        node = by_position(node, name)
        if name in STACKS and _is_along_first(node):
            repeated, cut = self._repeated(node.args[0], module), self._cut(node.args[0], module)
            if cut is not None:
                return Idiom("split", cut, "reshape")
            return Idiom("replicate", repeated, name) if repeated is not None else None
        if name == PUTS_SLICES:
            return self._put_slices(node, module)
        if name in TILES:
            return self._tiled(node, name, module)
        if name in BROADCASTS and len(node.args) == 2 and not node.keywords:
            return self._broadcast(node.args[0], node.args[1], name, module)
        if name in LEADINGS and len(node.args) == 2 and not node.keywords:
            return self._leading(node.args[0], node.args[1], name, module)
        if name in REARRANGES:
            return self._rearranged(node, module)
        if name in REPLICATES | SPLITS | FIRSTS | FETCHED_FIRSTS:
            return self.of_library(node, name, module)
        return self.declared(node, name)

    def declared(self, node: ast.Call, called: str | Function) -> Idiom | None:
        """What declarations say of a call, which replicates, splits or takes one slice of its first argument."""
        if not called or not self.trust.declarations or not node.args or isinstance(node.args[0], ast.Starred):
            return None
        for declared, kind in DECLARED.items():
            if isinstance(called, Function):
                found = self.trust.of_project(declared, called)
            else:
                found = self.trust.declares(declared, called)
            if found:
                name = called if isinstance(called, str) else self.trust.names_of(called)[0]
                return Idiom(kind, node.args[0], "tree", name)
        return None

    def of_library(self, node: ast.Call, name: str, module: Module) -> Idiom | None:
        """The idiom that a call of a library's function is, if its devices are pmap's own."""
        node = by_position(node, name)
        if not node.args or isinstance(node.args[0], ast.Starred):
            return None
        if name in FETCHED_FIRSTS:
            return _fetched_first(node)
        if name in FIRSTS:
            return Idiom("first", node.args[0], "tree") if len(node.args) == 1 and not node.keywords else None
        if name in SPLITS:
            if self.some is not None:
                return None
            return Idiom("split", node.args[0], "tree") if len(node.args) == 1 and not node.keywords else None
        if name == KFAC_REPLICATES:  # which may be told the axis, and takes all devices of the process
            named = len(node.args) == 1 and all(k.arg == "axis_name" for k in node.keywords) and self.some is None
            return Idiom("replicate", node.args[0], "tree") if named else None
        devices = [*node.args[1:], *(k.value for k in node.keywords)]
        if self.some is not None:
            usual = len(devices) == 1 and self.is_devices(devices[0], module)
        else:
            usual = all(self.is_devices(d, module) or is_none(d) for d in devices) and len(devices) <= 1
        return Idiom("replicate", node.args[0], "tree") if usual else None

    def _repeated(self, node: ast.expr, module: Module) -> ast.expr | None:
        """The element of `[x] * n`, of `n * [x]` and of `[x for _ in range(n)]`."""
        match node:
            case ast.BinOp(left=ast.List(elts=[element]) | ast.Tuple(elts=[element]), op=ast.Mult(), right=count):
                return element if self.is_count(count, module) else None
            case ast.BinOp(left=count, op=ast.Mult(), right=ast.List(elts=[element]) | ast.Tuple(elts=[element])):
                return element if self.is_count(count, module) else None
            case ast.ListComp(
                elt=ast.Name() as element, generators=[ast.comprehension(target=ast.Name(id=name)) as over]
            ) if element.id != name:
                return element if self._is_over_devices(over, module) else None
        return None

    def _is_over_devices(self, over: ast.comprehension, module: Module) -> bool:
        """Whether a comprehension has one step for each device: `for i in range(n)`, `for _ in jax.local_devices()`."""
        match over:
            case ast.comprehension(iter=ast.Call(func=func, args=[count], keywords=[]), ifs=[], is_async=0):
                if self.external(func, module) == "builtins.range":
                    return self.is_count(count, module)
        return not over.ifs and not over.is_async and self.is_devices(over.iter, module)

    def _cut(self, node: ast.expr, module: Module) -> ast.expr | None:
        """The array of `jnp.split(x, n)`, whose parts are equal: a list raises."""
        match node:
            case ast.Call(args=[array, count, *axis], keywords=named) if self.external(node.func, module) in CUTS:
                along_first = all(map(is_zero, axis)) and all(map(_is_first_axis, named)) and len([*axis, *named]) <= 1
                return array if along_first and self.is_count(count, module) else None
        return None

    def puts_slices(self, node: ast.Call, module: Module) -> bool:
        """Whether a call puts one slice of what it is given on each device: as many as there are, or it raises."""
        node = by_position(node, PUTS_SLICES)
        called = self.external(node.func, module) == PUTS_SLICES and len(node.args) == 2 and not node.keywords
        return called and self.is_devices(node.args[1], module)

    def _put_slices(self, node: ast.Call, module: Module) -> Idiom | None:
        """`device_put_sharded` of n times the same, of the parts of an array, or of its slices."""
        if len(node.args) != 2 or node.keywords or not self.is_devices(node.args[1], module):
            return None
        slices = node.args[0]
        if (repeated := self._repeated(slices, module)) is not None:
            return Idiom("replicate", repeated, "tree")
        if (cut := self._cut(slices, module)) is not None:
            return Idiom("split", cut, "reshape")
        match slices:
            case ast.Call(args=[array], keywords=[]) if self.external(slices.func, module) == "builtins.list":
                return Idiom("identity", array, OF_ARRAY)
        return None

    def _tiled(self, node: ast.Call, name: str, module: Module) -> Idiom | None:
        """`jnp.repeat(x[None], n, axis=0)`, `jnp.tile(x, (n,) + (1,) * x.ndim)`, and `jnp.tile(key, (n, 1))`."""
        match node.args:
            case [array, ast.Tuple(elts=[count, *ones]) | ast.List(elts=[count, *ones])] if (
                ones and name.endswith(".tile") and not node.keywords and all(map(is_one, ones))
            ):
                new = isinstance(array, ast.Subscript) and self.is_new_axis(array.slice, module)
                one = array.value if new and isinstance(array, ast.Subscript) else array
                if not self.is_count(count, module):
                    return None
                rank = rank_of(one, module, self.resolver)
                if rank is None and self.by_rank and (new or isinstance(one, ast.Name | ast.Call)):
                    self.ranked = one, len(ones)
                    return Idiom("replicate", one, name)
                return Idiom("replicate", one, name) if rank == len(ones) else None
            case [
                array,
                ast.BinOp(left=ast.Tuple(elts=[count]) | ast.List(elts=[count]) as first, op=ast.Add(), right=rest),
            ] if name.endswith(".tile") and not node.keywords and self.is_count(count, module):
                return Idiom("replicate", array, name) if is_ones(rest, array, type(first)) else None
            case [array, count] if name.endswith(".repeat") and len(node.keywords) == 1:
                if _is_first_axis(node.keywords[0]):
                    return self._repeat(array, count, name, module)
            case [array, count, axis] if name.endswith(".repeat") and not node.keywords:
                if is_zero(axis):
                    return self._repeat(array, count, name, module)
        return None

    def _repeat(self, array: ast.expr, count: ast.expr, name: str, module: Module) -> Idiom | None:
        match array:
            case ast.Subscript(value=one, slice=index) if self.is_new_axis(index, module):
                return Idiom("replicate", one, name) if self.is_count(count, module) else None
        return None

    def _rearranged(self, node: ast.Call, module: Module) -> Idiom | None:
        """`einops.rearrange(x, "(d b) ... -> d b ...", d=n)`: an axis of all devices in front of another."""
        match node.args:
            case [array, ast.Constant(value=str(pattern))] if (sides := pattern_sides(pattern)) is not None:
                (devices, rows, *rest), before = sides[1], sides[0]
                count = next((k.value for k in node.keywords if k.arg == devices), None)
                if count is None or not self.is_count(count, module):
                    return None
                is_leading = before == [f"({devices}", f"{rows})", *rest]
                return Idiom("split", array, LEADING if is_leading else PATTERN)
        return None

    def _leading(self, array: ast.expr, sizes: ast.expr, name: str, module: Module) -> Idiom | None:
        """`lax.broadcast(x, (n,))`, which puts the sizes before those that an array has."""
        match sizes:
            case ast.Tuple(elts=[count]) | ast.List(elts=[count]) if self.is_count(count, module):
                return Idiom("replicate", array, name)
        return None

    def _broadcast(self, array: ast.expr, shape: ast.expr, name: str, module: Module) -> Idiom | None:
        """`broadcast_to(x, (n,) + x.shape)` and `(n, *x.shape)`; between n and the shape there may be other sizes.

        It is the same of `x[None]`, but that nothing may be between.
        """
        is_wider = isinstance(array, ast.Subscript) and self.is_new_axis(array.slice, module)
        array = array.value if is_wider and isinstance(array, ast.Subscript) else array
        match shape:
            case ast.BinOp(left=ast.Tuple(elts=[count, *others]), op=ast.Add(), right=rest):
                pass
            case ast.Tuple(elts=[count, *others, ast.Starred(value=rest)]):
                pass
            case ast.Tuple(elts=[count, *others]) if self.is_count(count, module) and not is_wider:
                return self._to_sizes(array, others, module)
            case _:
                return None
        called = isinstance(rest, ast.Call) and self.external(rest.func, module) in SHAPES and len(rest.args) == 1
        of = rest.args[0] if isinstance(rest, ast.Call) and called else None
        of = rest.value if isinstance(rest, ast.Attribute) and rest.attr == "shape" else of
        whole = of is not None and same(self._converted(of, module), self._converted(array, module))
        if self.is_count(count, module) and whole and not (others and (is_wider or name.startswith("numpy."))):
            return Idiom("replicate", array, "wider" if others else name)
        return None

    def _converted(self, node: ast.expr, module: Module) -> ast.expr:
        """What an array of the same shape is made of: `x` of `jnp.asarray(x)`."""
        while isinstance(node, ast.Call) and len(node.args) == 1 and self.external(node.func, module) in CONVERTS:
            node = node.args[0]
        return node

    def _to_sizes(self, array: ast.expr, others: list[ast.expr], module: Module) -> Idiom | None:
        """`broadcast_to(x, (n, 3))` of what has no axis for the devices: else `broadcast_to(x, (3,))` raises."""
        rank = rank_of(array, module, self.resolver)
        if rank is None and self.by_rank and isinstance(array, ast.Name | ast.Call):
            self.ranked = array, len(others)
            return Idiom("replicate", array, "wider")
        return Idiom("replicate", array, "wider") if rank is not None and rank <= len(others) else None

    def _reshape(self, array: ast.expr, shape: ast.expr, module: Module) -> Idiom | None:
        match shape:
            case ast.BinOp(left=ast.Tuple(elts=leading) | ast.List(elts=leading), op=ast.Add(), right=rest):
                pass
            case (
                ast.Tuple(elts=[*leading, ast.Starred(value=rest)]) | ast.List(elts=[*leading, ast.Starred(value=rest)])
            ):
                pass
            case _:
                return self._reshape_to(array, shape, module)
        start = shape_from(rest, array)
        if start == 1 and len(leading) == 2 and self.is_count(leading[0], module):
            return Idiom("split", array, "reshape")
        if start == 2 and len(leading) == 1 and (is_whole(leading[0], array) or must_fit(leading[0], module)):
            return Idiom("merge", array, "reshape")
        if len(leading) >= 2 and self.is_count(leading[0], module):
            return Idiom("split", array, "sizes" if is_minus_one(leading[1]) else "product")
        return None

    def _reshape_to(self, array: ast.expr, shape: ast.expr, module: Module) -> Idiom | None:
        """A reshape to so many sizes."""
        sizes = shape.elts if isinstance(shape, ast.Tuple | ast.List) else [shape]
        if any(isinstance(s, ast.Starred) for s in sizes):
            return None
        if len(sizes) >= 2 and self.is_count(sizes[0], module):
            rest_is_open = any(is_minus_one(s) for s in sizes[2:])
            return Idiom("split", array, "product" if rest_is_open else "sizes")
        merges = len(sizes) >= 2 and is_minus_one(sizes[0]) and not any(mentions(s, array) for s in sizes)
        return Idiom("merge", array, "same") if merges else None

    def of_named_count(self) -> Idioms | None:
        """The same of a number that says by its name that it counts the devices, where a reader may be believed."""
        if not self.trust.likely or self.by_name or self.some is not None:
            return None
        return Idioms(self.resolver, self.trust, by_name=True)

    def of_presumed_rank(self) -> Idioms | None:
        """The same of arrays of which only a reader knows how many dimensions they have."""
        if not self.trust.likely or self.by_name or self.some is not None:
            return None
        return Idioms(self.resolver, self.trust, by_rank=True)

    def of_any_count(self, node: ast.expr, module: Module) -> Idiom | None:
        """The same of one whose result is known to have a slice for each device, whatever its sizes are called."""
        return Idioms(self.resolver, any_count=True).of_array(node, module)

    # Functions

    def of_function(self, function: Function) -> Idiom | None:
        """The idiom that a function of one array is, its operand being its parameter."""
        returned = single_return(function.node)
        name = only_parameter(function.node, skip=function.receiver is not None)
        if returned is None or name is None:
            return None
        found = self.of_array(_of_arrays(returned, name), function.module)
        if found is None or not (isinstance(found.operand, ast.Name) and found.operand.id == name):
            return None
        if found.form == LEADING:
            return Idiom(found.kind, found.operand, "reshape")
        return None if found.form in OF_OTHER_SIZES else found

    def of_helper(self, function: Function) -> Idiom | None:
        """The idiom that a function of one tree is, whatever it is called: `get_first`, `bcast_local_devices`."""
        returned = identities.given_back(function, self.resolver)
        name = only_parameter(function.node, skip=function.receiver is not None)
        if not isinstance(returned, ast.Call) or name is None or is_generator(function.node):
            return None
        if self.external(returned.func, function.module) == "jax.device_get" and len(returned.args) == 1:
            fetched = returned.args[0]
            inner = self._of_helper_body(fetched, name, function) if isinstance(fetched, ast.Call) else None
            return Idiom("first", inner.operand, "fetched") if inner is not None and inner.kind == "first" else None
        return self._of_helper_body(returned, name, function)

    def _of_helper_body(self, returned: ast.Call, name: str, function: Function) -> Idiom | None:
        found = self.of_array(returned, function.module)
        if found is not None and found.form in OF_OTHER_SIZES | {LEADING}:  # which also take a list of arrays
            return None
        if found is None and len(returned.args) == 2 and not returned.keywords:
            mapped, tree = returned.args
            if self.external(returned.func, function.module) in ANY_TREE_MAPS:
                value = self.resolver.value(mapped, function.module)
                inner = self.of_function(value) if isinstance(value, Function) else None
                found = Idiom(inner.kind, tree, "tree") if inner is not None else None
        if found is None or not (isinstance(found.operand, ast.Name) and found.operand.id == name):
            return None
        return Idiom(found.kind, found.operand, OF_ARRAY if found.form == OF_ARRAY else "tree")

    def library_module(self, module: Module) -> str:
        """The public name of a module of flax that stands in the project itself, as in flax's own examples."""
        path = module.path.as_posix()
        return next((dotted for end, dotted in FLAX_FILES.items() if path.endswith("/" + end)), "")

    def library_name(self, function: Function) -> str:
        """The public name of a function of flax that stands in the project itself, as in flax's own examples."""
        known = self.library_module(function.module)
        return f"{known}.{function.node.name}" if known and isinstance(function.node, ast.FunctionDef) else ""

    def is_new_axis(self, index: ast.expr, module: Module) -> bool:
        """Whether a subscript is `None`, `np.newaxis`, or one of them before an ellipsis: an axis of one in front."""
        match index:
            case ast.Tuple(elts=[first, ast.Constant(value=rest)]):
                return rest is ... and self.is_new_axis(first, module)
            case ast.Constant(value=None):
                return True
        return self.external(index, module) in NEW_AXES

    def rows(self, call: ast.Call, module: Module) -> bool:
        """Whether `random.split(key, n)` gives one key for each device."""
        count = number_of_keys(call)
        return count is not None and self.is_count(count, module)

    def repeats_a_constant(self, call: ast.Call, module: Module) -> bool:
        """Whether `jnp.zeros((n, 3))` makes an array of one value with a slice for each device."""
        sizes = leading_sizes(shape_given(call))
        return bool(sizes) and self.is_count(sizes[0], module)

    def is_array(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression is certainly one array: what is sliced along several axes, there or just before."""
        match node:
            case ast.Subscript(slice=ast.Tuple(elts=indices)):
                return any(isinstance(i, ast.Slice) or is_ellipsis(i) for i in indices)
            case ast.Name(id=name):
                match _last_named_before(node, name, module):
                    case ast.Assign(targets=[ast.Name(id=made)], value=value):
                        return made == name and not isinstance(value, ast.Name) and self.is_array(value, module)
        return False

    def holds_arrays(self, node: ast.expr, module: Module) -> bool:
        """Whether an expression is certainly a dictionary of nothing but arrays."""
        values = self.entries(node, module)
        return bool(values) and all(self.makes_array(one, module) for one in values)

    def entries(self, node: ast.expr, module: Module) -> list[ast.expr]:
        """What gives the values of a dictionary that is made there or just before; none where that is not certain."""
        match node:
            case ast.DictComp(value=value):
                return [value]
            case ast.Dict(keys=keys, values=values):
                return values if None not in keys else []
            case ast.Name(id=name):
                match _last_named_before(node, name, module):
                    case ast.Assign(targets=[ast.Name(id=made)], value=ast.DictComp() | ast.Dict() as value):
                        return self.entries(value, module) if made == name else []
        return []

    def made_one_by_one(self, call: ast.Call, module: Module) -> bool:
        """Whether `jnp.stack([random.fold_in(key, i) for i in range(n)])` has a key for each device."""
        match call.args:
            case [ast.ListComp(elt=ast.Call(func=func), generators=[over])] if all(map(_is_first_axis, call.keywords)):
                return self.external(func, module) in ONE_KEY and self._is_over_devices(over, module)
        return False

    def listed_rows(self, call: ast.Call, module: Module) -> bool:
        """Whether `jnp.stack(keys)` has one key for each device, after `key, *keys = random.split(key, n + 1)`."""
        listed = call.args[0] if len(call.args) == 1 and not call.keywords else None
        made = _last_named_before(call, listed.id, module) if isinstance(listed, ast.Name) else None
        match made:
            case ast.Assign(targets=[ast.Tuple(elts=[*others, ast.Starred()])], value=ast.Call() as split):
                count = number_of_keys(split) if self.external(split.func, module) == "jax.random.split" else None
            case _:
                return False
        match count:
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                known, rest = (left, right) if isinstance(right, ast.Constant) else (right, left)
                return isinstance(rest, ast.Constant) and rest.value == len(others) and self.is_count(known, module)
        return False


def _fetched_first(node: ast.Call) -> Idiom | None:
    """The first of equal slices, which acme gives as an array of numpy's where it is not told otherwise."""
    match node:
        case ast.Call(args=[tree], keywords=[]):
            return Idiom("first", tree, "fetched")
        case ast.Call(args=[tree], keywords=[ast.keyword(arg="as_numpy", value=ast.Constant(value=bool(fetched)))]):
            return Idiom("first", tree, "fetched" if fetched else "tree")
    return None


def _of_arrays(node: ast.expr, name: str) -> ast.expr:
    """What an expression makes of arrays, where it gives back numbers as they are: pmap would take none of these."""
    match node:
        case ast.IfExp(
            test=ast.Compare(left=size, ops=[ast.NotEq() | ast.Gt()], comparators=[none]),
            body=body,
            orelse=ast.Name(id=given),
        ):
            asked = ast.unparse(size) in (f"len({name}.shape)", f"{name}.ndim") and is_zero(none)
            return body if asked and given == name else node
        case ast.IfExp(test=ast.Attribute() as size, body=body, orelse=ast.Name(id=given)):
            return body if ast.unparse(size) in (f"{name}.shape", f"{name}.ndim") and given == name else node
    return node


def _is_along_first(call: ast.Call) -> bool:
    """Whether a call stacks what it is given along the first axis: `stack(xs)`, `stack(xs, 0)`, `stack(xs, axis=0)`."""
    match call.args:
        case [_]:
            return all(map(_is_first_axis, call.keywords))
        case [_, axis]:
            return (
                isinstance(call.func, ast.Attribute)
                and call.func.attr == "stack"
                and is_zero(axis)
                and not call.keywords
            )
    return False


def _is_first_axis(keyword: ast.keyword) -> bool:
    """Whether a keyword says what a stack does anyway: `axis=0`."""
    return keyword.arg == "axis" and is_zero(keyword.value)


def number_of_keys(call: ast.Call) -> ast.expr | None:
    """How many keys a `random.split` is asked for."""
    counts = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "num")]
    return counts[0] if len(counts) == 1 else None


def _last_named_before(node: ast.expr, name: str, module: Module) -> ast.stmt | None:
    """The statement of the same block that last names a variable before an expression, and so gives it its value."""
    if any(name in scope.outer_names for scope in module.table.own_scope.values()):
        return None
    statement = module.table.statement_of(node)
    block = module.table.block_of(statement)
    before = block[: block.index(statement)] if statement in block else []
    named = (s for s in reversed(before) if any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(s)))
    return next(named, None)


def _is_creation(callee: Value) -> bool:
    home, _, name = callee.name.rpartition(".") if isinstance(callee, External) else ("", "", "")
    return (home in ("jax.numpy", "numpy") and name in ARRAYS) or (home == "jax.random" and name in KEYS)


def _is_strong(callee: Value) -> bool:
    """Whether a function's arrays have a dtype of their own: `full`, `asarray` and the like keep a Python number's."""
    name = callee.name if isinstance(callee, External) else ""
    return name in STRONG or name.startswith(("numpy.", "jax.random."))
