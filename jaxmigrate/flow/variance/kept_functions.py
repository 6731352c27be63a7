"""Where functions are kept: each is followed from its mentions to where it is run, named, returned or stored."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable
from functools import cached_property

from jaxmigrate.flow.map_prefilter import MAPS
from jaxmigrate.flow.variance import decorators
from jaxmigrate.flow.variance.name_index import DEFINERS, NameIndex
from jaxmigrate.flow.variance.units import Mention, lambdas_of, last
from jaxmigrate.program.functions import is_static
from jaxmigrate.program.library import last_names
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import FunctionNode, all_parameters, positional_names, walk
from jaxmigrate.program.syntax import has_stars
from jaxmigrate.program.values import Class, External, Function, Instance, ModuleValue

RUNNERS = last_names("control-flow", "tree-map", "path-map", "tree-reduce", "linear-map") | {
    "eval_shape", "filter", "sorted",
}  # fmt: skip
WRAPPERS = last_names("partial", "jit", "vmap", "gradient", "jacobian", "same-call") | {"wraps"}
LOOKERS = frozenset({"super", "isinstance", "issubclass"})  # what they are given they only look at


class KeptFunctions:
    """The functions, by name, that are kept where code that is not in sight may call them."""

    def __init__(self, resolver: Resolver, index: NameIndex) -> None:
        self.resolver = resolver
        self.index = index
        self.stored: dict[str, set[Module]] = defaultdict(set)  # with the modules that keep them
        self.factories: set[str] = set()  # which return functions
        self._given: set[tuple[str, ast.AST, str]] = set()

    def place(self, mention: Mention) -> bool:
        """Notes a mention of a function that stores it, or hands it out; says whether that name is known."""
        if mention.name not in self.index.units:
            return False
        parent = mention.module.table.parents.get(mention.node)
        called = isinstance(parent, ast.Call) and parent.func is mention.node
        if isinstance(parent, ast.Attribute):
            return True
        if not called:
            self._follow(mention.node, mention)
        for within in lambdas_of(mention.module.table.scope_of.get(mention.node)):
            if within is not mention.node:
                self._follow(within, mention)  # whoever keeps the lambda calls what it calls, or has it run
        return True

    def decorate(self, module: Module) -> None:
        """Follows functions and classes into the decorators that they are given to."""
        for node in module.table.own_scope:
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                for decorator in node.decorator_list:
                    mention = Mention(self.index.alone(node), decorator, module, self.index.of_node[node])
                    found = decorators.takers(decorator, module, self.resolver)
                    names = [one.passed_names() for one in found or ()]
                    if found is None or not all(names):
                        self.stored[mention.name].add(module)
                        continue
                    for taker, passed in zip(found, names, strict=True):
                        self._follow_parameter(taker.node, taker.module, passed[0], mention)

    def follow_factories(self) -> None:
        """What a factory's call gives is stored where the call's value is."""
        done: set[str] = set()
        while not self.factories <= done:
            new = self.factories - done
            done |= new
            for mention in self.index.mentions:
                parent = mention.module.table.parents.get(mention.node)
                if mention.name in new and isinstance(parent, ast.Call) and parent.func is mention.node:
                    self._follow(parent, mention)

    def _follow(self, node: ast.expr, mention: Mention) -> None:
        """Follows a function, or something made of it, to where it is mapped, run, named, returned or stored."""
        table = mention.module.table
        is_chosen = isinstance(node, ast.Call)  # by a factory, or a condition
        while True:
            parent = table.parents.get(node)
            keyword = parent.arg if isinstance(parent, ast.keyword) else None
            parent = table.parents.get(parent) if isinstance(parent, ast.keyword) and keyword else parent
            if isinstance(parent, ast.Call) and node is not parent.func:
                if last(parent.func) in DEFINERS:
                    self.index.derivatives.add(mention.name)
                    return
                followed = self._is_followed(parent, mention.module)
                if followed and _only_runs(parent, node, keyword):
                    return
                if not followed or last(parent.func) not in WRAPPERS:
                    if self._follow_argument(parent, node, keyword, mention):
                        return
                    break
                node = parent
            elif isinstance(parent, ast.IfExp):
                node, is_chosen = parent, True
            elif isinstance(parent, ast.Return) or (isinstance(parent, ast.Lambda) and node is parent.body):
                self.factories.add(self.index.owner(table.scope_of.get(node), mention.module).name)
                return
            elif isinstance(parent, ast.Assign) and all(
                isinstance(t, ast.Name | ast.Attribute) for t in parent.targets
            ):
                self._name(parent.targets, mention)
                return
            else:
                if (is_chosen and isinstance(parent, ast.Call)) or _is_default(node, parent):
                    break  # what is called there has no name, or that of a parameter
                if isinstance(parent, ast.Call | ast.Expr | ast.Compare | ast.ClassDef | ast.FunctionDef | ast.arg):
                    return
                break
        self.stored[mention.name].add(mention.module)

    def _name(self, targets: Iterable[ast.expr], mention: Mention) -> None:
        """Has the names that a function is assigned to stand for it."""
        for target in targets:
            self.index.unit(last(target), target, mention.module).mentions.add(mention.name)
            if not self._is_in_sight(target, mention.module):
                self.stored[mention.name].add(mention.module)

    def _is_in_sight(self, target: ast.expr, module: Module) -> bool:
        """Whether only the program reads what is stored in a target, by its name: it is in no object of others."""
        if not isinstance(target, ast.Attribute):
            return True
        owners = self.resolver.values(target.value, module)
        return bool(owners) and all(
            isinstance(owner, ModuleValue)
            or (isinstance(owner, Instance | Class) and self._name_of(owner) not in self.index.classes.reachable)
            for owner in owners
        )

    @staticmethod
    def _name_of(owner: Instance | Class) -> str:
        return (owner.cls if isinstance(owner, Instance) else owner).node.name

    def _is_followed(self, call: ast.Call, module: Module) -> bool:
        """Whether a call is of no method of an object out of sight, which may do with a function what it likes.

        Its name may be that of one of JAX's functions: flax's `DynamicScale.value_and_grad`, which is followed where it
        averages.
        """
        if not isinstance(call.func, ast.Attribute) or call.func.attr in MAPS | LOOKERS:
            return True
        if any(k.arg == "axis_name" for k in call.keywords) and not has_stars(call):
            return True
        return isinstance(self.resolver.value(call.func, module), External | Function)

    def _follow_argument(self, call: ast.Call, node: ast.expr, keyword: str | None, mention: Mention) -> bool:
        """Follows what is passed to a function or constructor of the project into it; False where it is not known."""
        called = None if has_stars(call) else self._called(call.func, mention.module)
        if called is None:
            return False
        function, module, names = called
        place = call.args.index(node) if keyword is None else -1
        name = keyword if keyword is not None else names[place] if place < len(names) else ""
        if not any(p.arg == name for p in all_parameters(function.args)):
            return False
        self._follow_parameter(function, module, name, mention)
        return True

    def _follow_parameter(self, function: FunctionNode, module: Module, name: str, mention: Mention) -> None:
        """Follows what is passed to a function by a parameter to what the function does with it."""
        if (mention.name, function, name) in self._given:
            return
        self._given.add((mention.name, function, name))
        own, parents = module.table.own_scope[function], module.table.parents
        for use in [n for n in walk(function) if isinstance(n, ast.Name) and n.id == name]:
            if use in module.table.scope_of and module.table.scope_of[use].lookup(name) is own:
                self.index.owner(module.table.scope_of[use], module).mentions.add(mention.name)
                parent = parents.get(use)
                if isinstance(parent, ast.Attribute):
                    self.stored[mention.name].add(mention.module)
                elif not (isinstance(parent, ast.Call) and parent.func is use):
                    self._follow(use, Mention(mention.name, use, module, mention.owner))

    def _called(self, node: ast.expr, module: Module) -> tuple[ast.FunctionDef, Module, list[str]] | None:
        """The def that a callee certainly is, or the constructor of a class, with what it takes by position."""
        match self.resolver.values(node, module):
            case (Function(node=ast.FunctionDef() as function, receiver=None) as value,):
                return function, value.module, positional_names(function.args)
            case (
                Function(node=ast.FunctionDef() as function, receiver=Instance(cls=cls) | (Class() as cls)) as value,
            ):
                if is_static(function) or self._is_replaced(cls, function.name):
                    return None
                return function, value.module, positional_names(function.args)[1:]
            case (Class() as cls,):
                for one in self.resolver.lineage(cls):
                    for binding in one.module.table.own_scope[one.node].bindings.get("__init__", ()):
                        if isinstance(binding.node, ast.FunctionDef) and not binding.node.decorator_list:
                            return binding.node, one.module, positional_names(binding.node.args)[1:]
                        return None
        return None

    def _is_replaced(self, cls: Class, method: str) -> bool:
        """Whether an object of a class may have another method of a name: a subclass's, or one that was set."""
        return method in self._set_names or self.index.classes.is_overridden(cls.node.name, method)

    @cached_property
    def _set_names(self) -> frozenset[str]:
        """The names of all attributes that the program sets on anything."""
        return frozenset(a.attr for module in self.index.loaded.modules for a in module.table.attributes)


def _only_runs(call: ast.Call, node: ast.expr, keyword: str | None) -> bool:
    """Whether a call maps or runs a function that it is given, or looks at it, and keeps it nowhere."""
    callee = last(call.func)
    is_run = callee in RUNNERS and (node in call.args or keyword is not None)
    is_partial = callee in WRAPPERS and any(last(a) in MAPS for a in call.args)
    return callee in MAPS | LOOKERS or is_run or is_partial or _starts(call.func)


def _is_default(node: ast.expr, parent: ast.AST | None) -> bool:
    """Whether an expression is what a parameter holds where a call leaves it out."""
    if not isinstance(parent, ast.FunctionDef | ast.AsyncFunctionDef):
        return False
    return node in parent.args.defaults or node in parent.args.kw_defaults


def _starts(callee: ast.expr) -> bool:
    """Whether a call hands the program's main function over to be run: `app.run(main)`."""
    return isinstance(callee, ast.Attribute) and callee.attr == "run" and last(callee.value) == "app"
