"""How programs say replicate, split and "the first device's slice": names in libraries, and shapes of expressions."""

from __future__ import annotations

import ast

from jaxmigrate.flow.layout import identities, put_over
from jaxmigrate.flow.layout.functions import first_parameter, is_generator, only_parameter, single_return
from jaxmigrate.flow.layout.kinds import (
    BROADCASTS,
    CUTS,
    FETCHED_FIRSTS,
    FIRSTS,
    KFAC_REPLICATES,
    LEADING,
    LEADINGS,
    OF_ARRAY,
    OF_LIBRARIES,
    OF_OTHER_SIZES,
    PUTS_SLICES,
    REARRANGES,
    RESHAPES,
    SPLITS,
    STACKS,
    TILES,
    Idiom,
    Kind,
)
from jaxmigrate.flow.layout.listed_devices import ListedDevices
from jaxmigrate.flow.layout.shape_idioms import ShapeIdioms
from jaxmigrate.flow.layout.shape_texts import is_first_axis, is_none, is_zero
from jaxmigrate.flow.layout.some_devices import SomeDevices
from jaxmigrate.program.declarations import Kind as Declared
from jaxmigrate.program.library import by_position
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.trees import ANY_TREE_MAPS
from jaxmigrate.program.trust import Trust
from jaxmigrate.program.values import Function

DECLARED: dict[Declared, Kind] = {"replicates": "replicate", "splits": "split", "unreplicates": "first"}
FLAX_FILES = {"flax/jax_utils.py": "flax.jax_utils", "flax/training/common_utils.py": "flax.training.common_utils"}


class Idioms(ShapeIdioms):
    """Recognises the idioms of a project, as far as the user's declarations and sizes say them."""

    def __init__(
        self,
        resolver: Resolver,
        trust: Trust | None = None,
        *,
        any_count: bool = False,
        by_name: bool = False,
        by_rank: bool = False,
        some: SomeDevices | ListedDevices | None = None,
    ) -> None:
        super().__init__(resolver, any_count=any_count, by_name=by_name, by_rank=by_rank, some=some)
        self.trust = trust if trust is not None else Trust()

    def of_array(self, node: ast.expr, module: Module) -> Idiom | None:
        """The idiom that an expression on one array is."""
        match node:
            case ast.Subscript(value=value, slice=index) if self.is_first(index):
                return Idiom("first", value)
            case ast.Call(func=ast.Attribute(value=value, attr="reshape"), args=args, keywords=[]) if args:
                name = self.external(node.func, module)
                if name:
                    return self.reshaped(args[0], args[1], module) if name in RESHAPES and len(args) == 2 else None
                return self.reshaped(value, args[0] if len(args) == 1 else ast.Tuple(elts=args), module)
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
        if name in put_over.PUTS:
            return self._put_over(node, module)
        if name in TILES:
            return self.tiled(node, name, module)
        if name in BROADCASTS and len(node.args) == 2 and not node.keywords:
            return self.broadcast(node.args[0], node.args[1], name, module)
        if name in LEADINGS and len(node.args) == 2 and not node.keywords:
            return self.led(node.args[0], node.args[1], name, module)
        if name in REARRANGES:
            return self.rearranged(node, module)
        if name in OF_LIBRARIES:
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
                return element if self.is_over_devices(over, module) else None
        return None

    def _cut(self, node: ast.expr, module: Module) -> ast.expr | None:
        """The array of `jnp.split(x, n)`, whose parts are equal: a list raises."""
        match node:
            case ast.Call(args=[array, count, *axis], keywords=named) if self.external(node.func, module) in CUTS:
                along_first = all(map(is_zero, axis)) and all(map(is_first_axis, named)) and len([*axis, *named]) <= 1
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

    def _put_over(self, node: ast.Call, module: Module) -> Idiom | None:
        """`jax.device_put(jnp.stack([x] * n), sharding)` over a mesh of the devices, with a slice on each."""
        listed = put_over.devices_put_over(node, module, self.resolver)
        if listed is None or not self.is_devices(*listed):
            return None
        inner = self.of_array(node.args[0], module)
        if inner is not None and inner.kind in ("replicate", "split"):
            return inner
        return Idiom("identity", node.args[0], OF_ARRAY) if inner is None else None

    def of_named_count(self) -> Idioms | None:
        """The same of a number that says by its name that it counts the devices, where a reader may be believed."""
        if not self.trust.likely or self.by_name or isinstance(self.some, SomeDevices):
            return None
        return Idioms(self.resolver, self.trust, by_name=True, some=self.some)

    def of_presumed_rank(self) -> Idioms | None:
        """The same of arrays of which only a reader knows how many dimensions they have."""
        if not self.trust.likely or self.by_name or isinstance(self.some, SomeDevices):
            return None
        return Idioms(self.resolver, self.trust, by_rank=True, some=self.some)

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

    def of_helper(self, function: Function, given: int = 1) -> Idiom | None:
        """The idiom that a function of one tree is, whatever it is called: `get_first`, `bcast_local_devices`.

        It may be `given` the devices as well, `put(tree, devices)`.
        """
        returned = identities.given_back(function, self.resolver)
        name = first_parameter(function.node, given, skip=function.receiver is not None)
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
            return all(map(is_first_axis, call.keywords))
        case [_, axis]:
            return (
                isinstance(call.func, ast.Attribute)
                and call.func.attr == "stack"
                and is_zero(axis)
                and not call.keywords
            )
    return False
