"""From an expression to what it can stand for, across files.

Demand-driven and memoised: nothing is evaluated that nobody asks about. A name that is bound in several places stands
for all of them that can reach where it is read. What cannot be followed is `UNKNOWN`, never left out.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import cast

from jaxmigrate.program import momentary
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.attribute_values import AttributeValues
from jaxmigrate.program.combined import PARTIALS, canonical, distinct, gives_function, is_transparent, partial_of
from jaxmigrate.program.displays import put_together
from jaxmigrate.program.functions import is_classmethod, is_static, returned_by
from jaxmigrate.program.library import named
from jaxmigrate.program.literals import literal_of
from jaxmigrate.program.modules import ALWAYS_EXTERNAL, Module, Project
from jaxmigrate.program.only_read import is_only_read
from jaxmigrate.program.order import outlasting, reaching
from jaxmigrate.program.scopes import Binding, FunctionNode, Scope, all_parameters
from jaxmigrate.program.star_imports import star_homes, stars
from jaxmigrate.program.values import (
    UNKNOWN,
    Application,
    Argument,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Member,
    ModuleValue,
    Parameter,
    Partial,
    Unknown,
    Value,
    Values,
)

CURRIED = named("curried")
TYPED = named("named-type")
# What star imports from out of sight usually bring in under these names, for lint to presume.
USUAL = {"partial": "functools.partial", "jax": "jax", "jnp": "jax.numpy", "lax": "jax.lax"}
ENUMERATIONS = (External("enum.Enum"), External("enum.StrEnum"))


class Resolver:
    """Answers what expressions stand for in a project.

    `defaults_hold`: the defaults of a configuration's fields are taken for their values, and the usual names for what
    they usually are where a star import from out of sight may bring them in, as is right for lint alone.
    """

    def __init__(self, project: Project, *, defaults_hold: bool = False) -> None:
        self.project = project
        self.defaults_hold = defaults_hold
        self._values: dict[ast.expr, Values] = {}
        self._put_together: dict[ast.expr, ast.Tuple | None] = {}
        self._bound: dict[tuple[object, ...], Values] = {}
        self._active: set[object] = set()
        self._between: dict[tuple[Module, str], list[ast.stmt] | None] = {}
        self.names: dict[str, frozenset[str]] = {}
        self._only_read: dict[object, bool] = {}
        self.attributes = AttributeValues(self)
        self._lines: dict[Class, list[Class]] = {}
        self.kept: dict[object, object] = {}  # by `once`, which alone looks into it

    # Expressions

    def values(self, expression: ast.expr, module: Module) -> Values:
        """Everything that `expression` can stand for; contains UNKNOWN where there may be more."""
        if expression in self._values:
            return self._values[expression]
        if expression in self._active:
            return (UNKNOWN,)
        self._active.add(expression)
        try:
            found = distinct(self._evaluate(expression, module))
        finally:
            self._active.discard(expression)
        self._values[expression] = found
        return found

    def value(self, expression: ast.expr, module: Module) -> Value:
        """The one thing that `expression` stands for, or UNKNOWN."""
        found = self.values(expression, module)
        return found[0] if len(found) == 1 else UNKNOWN

    def _evaluate(self, node: ast.expr, module: Module) -> Iterable[Value]:
        match node:
            case ast.Constant(value=value):
                return (Constant(value),)
            case ast.Name():
                scope = module.table.scope_of[node]
                return self.name_values(node.id, scope, module, node, later=scope.function() is not None)
            case ast.Attribute():
                return self._read_attribute(node, module)
            case ast.Call():
                arguments = call_arguments(node, module)
                return (
                    v for callee in self.values(node.func, module) for v in self.apply(callee, arguments, node, module)
                )
            case ast.Lambda():
                return (Function(module, node),)
            case ast.IfExp():
                return (*self.values(node.body, module), *self.values(node.orelse, module))
            case ast.BoolOp():
                return (v for operand in node.values for v in self.values(operand, module))
            case ast.NamedExpr():
                return self.values(node.value, module)
            case ast.Tuple() | ast.List():
                return self._tuple(node, module)
            case ast.Subscript():
                return self._subscript(node, module)
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int(number))):
                return (Constant(-number),)
        return (UNKNOWN,)

    def _read_attribute(self, node: ast.Attribute, module: Module) -> Iterable[Value]:
        if node.attr == "value" and isinstance(node.value, ast.Attribute) and self._is_member(node.value, module):
            return self.values(node.value, module)
        if (held := momentary.read(node, module, self)) is not None:
            return self.values(held, module)
        derived = isinstance(node.value, ast.Name) and any(
            one.kind == "param" for one in self._bindings_of(node.value, module)
        )
        owners = self.values(node.value, module)
        found = [v for owner in owners for v in self.attribute(owner, node.attr, derived=derived)]
        return [self._in_folder(v, module) if isinstance(v, External) else v for v in found]

    def _in_folder(self, value: External, module: Module) -> Value:
        """The project's module of a dotted name whose first part is a folder without an `__init__.py`."""
        first = value.name.partition(".")[0]
        if first in ALWAYS_EXTERNAL or not first:
            return value
        found = self.project.imported(module, value.name)
        return value if found is None else ModuleValue(found)

    def _tuple(self, node: ast.Tuple | ast.List, module: Module) -> Values:
        items = [self.value(element, module) for element in node.elts]
        if all(isinstance(item, Constant) for item in items):
            return (Constant(tuple(cast("Constant", item).value for item in items)),)
        return (UNKNOWN,)

    def _subscript(self, node: ast.Subscript, module: Module) -> Iterable[Value]:
        found = self.element(node, module)
        if found is None or not (self.defaults_hold or self.keeps_entries(node.value, module)):
            return (UNKNOWN,)
        return self.values(*found)

    def keeps_entries(self, container: ast.expr, module: Module) -> bool:
        """Whether a display that a name holds still has the entries that it was written with."""
        if not isinstance(container, ast.Name):
            return True
        key = (module.table.scope_of[container].lookup(container.id), container.id, module)
        if key not in self._only_read:
            self._only_read[key] = is_only_read(container, module, self.project)
        return self._only_read[key]

    def element(self, node: ast.Subscript, module: Module) -> tuple[ast.expr, Module] | None:
        """The element of a display that a subscript takes, where both are known."""
        key = self.value(node.slice, module)
        container = self.container(node.value, module) if isinstance(key, Constant) else None
        if container is None or not isinstance(key, Constant):
            return None
        holder, where = container
        if isinstance(holder, ast.Dict):
            entry: ast.expr | None = None
            for own, value in zip(holder.keys, holder.values, strict=True):
                if own is None:
                    entry = None  # `**others` may have the key as well
                elif constant_key(own) == (key.value,):
                    entry = value
            return (entry, where) if entry is not None else None
        if isinstance(key.value, int) and -len(holder.elts) <= key.value < len(holder.elts):
            return holder.elts[key.value], where
        return None

    def container(self, node: ast.expr, module: Module) -> tuple[ast.Dict | ast.Tuple | ast.List, Module] | None:
        """The display that `node` is, or that its single assignment holds; `(x,) * 3` and `(x,) + (y,)` are such."""
        if isinstance(node, ast.Name):
            bindings = self.bindings(node.id, module.table.scope_of[node])
            value = bindings[0].value if len(bindings) == 1 and bindings[0].kind == "assign" else None
            if value is None or bindings[0].path or self.attributes.of_variable(bindings, node.id, module):
                return None
            node = value
        if isinstance(node, ast.BinOp) and node not in self._put_together:
            self._put_together[node] = put_together(node)
        display = self._put_together[node] if isinstance(node, ast.BinOp) else node
        return (display, module) if isinstance(display, ast.Dict | ast.Tuple | ast.List) else None

    # Names

    def assigned(self, node: ast.expr, module: Module) -> ast.expr:
        """What a name was assigned, where it has one binding when it is read; any other expression itself."""
        if isinstance(node, ast.Name):
            bindings = self.bindings_at(node, module)
            if len(bindings) == 1 and bindings[0].kind == "assign" and bindings[0].value is not None:
                set_by_name = self.attributes.of_variable(bindings, node.id, module)
                return node if bindings[0].path or set_by_name else bindings[0].value
        return node

    def _bindings_of(self, name: ast.Name, module: Module) -> list[Binding]:
        return self.bindings(name.id, module.table.scope_of[name])

    @staticmethod
    def bindings(name: str, scope: Scope) -> list[Binding]:
        """The bindings that `name` can have, seen from `scope`; empty for builtins and star imports."""
        holder = scope.lookup(name)
        return holder.bindings[name] if holder is not None else []

    def name_values(
        self, name: str, scope: Scope, module: Module, use: ast.Name | None = None, later: bool = False
    ) -> Values:
        """What `name` can stand for, seen from `scope`: where it is read, or `later` than its module has run."""
        holder = scope.lookup(name)
        if holder is None:
            return self._starred(name, module)
        bindings = self._visible(name, holder, module, later=later)
        if use is not None and holder is scope and len(bindings) > 1:
            bindings = reaching(bindings, use, module)
        elif use is not None and holder.kind == "function" and len(bindings) > 1:
            bindings = outlasting(bindings, use, module)
        key = (id(holder), name, *map(id, bindings))
        if key in self._bound:
            return self._bound[key]
        if key in self._active:
            return (UNKNOWN,)
        self._active.add(key)
        try:
            found = distinct(
                [v for home, own in self._homes_below(name, bindings, module) for v in self._bound_to(name, own, home)]
            )
        finally:
            self._active.discard(key)
        self._bound[key] = found
        return found

    def bindings_at(self, node: ast.Name, module: Module) -> list[Binding]:
        """The bindings that a name can have where it stands: in a function, once the module's statements have run."""
        scope = module.table.scope_of[node]
        holder = scope.lookup(node.id)
        return [] if holder is None else self._visible(node.id, holder, module, later=scope.function() is not None)

    def _visible(self, name: str, holder: Scope, module: Module, *, later: bool) -> list[Binding]:
        return self.standing(name, module) if later and holder is module.table.root else holder.bindings[name]

    def standing(self, name: str, module: Module) -> list[Binding]:
        """A module's bindings of a name; the last alone, where nothing can have used those before it.

        A def for the reader, of which the next line makes something else, is not what the name stands for.
        """
        bindings = module.table.root.bindings.get(name, [])
        if len(bindings) < 2:
            return bindings
        key = (module, name)
        if key not in self._between:
            self._between[key] = _between(bindings, module)
        between = self._between[key]
        if between is None or not all(self._runs_nothing(s, module) for s in between):
            return bindings
        self._between[key] = []  # which goes for all of them from here on
        return bindings[-1:]

    def _runs_nothing(self, statement: ast.stmt, module: Module) -> bool:
        """Whether a statement of a module runs no code of the project but its own line."""
        match statement:
            case ast.Expr(value=ast.Constant()):
                return True
            case ast.Import(names=names):
                return all(self.project.imported(module, alias.name) is None for alias in names)
            case ast.ImportFrom():
                return self.project.imported(module, statement.module or "", statement.level) is None
            case ast.FunctionDef(decorator_list=[]):
                run: list[ast.AST] = [*statement.args.defaults, *filter(None, statement.args.kw_defaults)]
            case ast.Assign() | ast.AnnAssign():
                run = [statement.value] if statement.value is not None else []
            case _:
                return False
        calls = [n for one in run for n in ast.walk(one) if isinstance(n, ast.Call)]
        return all(isinstance(v, External) for call in calls for v in self.values(call.func, module))

    def _starred(self, name: str, module: Module) -> Values:
        """What star imports of a module bring in under a name: any of those that have it; a builtin where none does."""
        found: list[Value] = []
        for _, source in stars(self.project, module):
            if source is not None and source is not module:
                for home in star_homes(self.project, source, name):
                    found += self._of_module(name, home)
        for node, source in stars(self.project, module) if not found else ():
            if source is None and node.module and node.module.partition(".")[0] in ("jax", "functools"):
                return (External(canonical(f"{node.module}.{name}")),)
        if (
            not found
            and self.defaults_hold
            and name in USUAL
            and any(m is None for _, m in stars(self.project, module))
        ):
            return (External(USUAL[name]),)
        return distinct(found) if found else (External(f"builtins.{name}"),)

    def _bound_to(self, name: str, bindings: list[Binding], module: Module) -> Iterator[Value]:
        for binding in bindings:
            yield from self.binding_values(binding, module)
        yield from self.attributes.of_variable(bindings, name, module)

    def _homes_below(self, name: str, bindings: list[Binding], module: Module) -> list[tuple[Module, list[Binding]]]:
        """A module with its bindings of a name, and those that a star import below all of them puts in their place.

        Modules may import one another so: each counts once.
        """
        found = [(module, bindings)]
        if any(binding.scope is not module.table.root for binding in bindings):
            return found
        seen = {module}
        for home, own in found:
            if home.table.star_imports:
                last = max((getattr(binding.node, "lineno", 0) for binding in own), default=0)
                below = [source for node, source in stars(self.project, home) if node.lineno > last]
                sources = [source for source in below if source is not None and source not in seen]
                homes = dict.fromkeys(one for source in sources for one in star_homes(self.project, source, name))
                news = [one for one in homes if one not in seen]
                seen |= {*news}
                found += [(one, one.table.root.bindings[name]) for one in news]
        return found

    def _of_module(self, name: str, module: Module) -> Values:
        return self.name_values(name, module.table.root, module)

    def binding_values(self, binding: Binding, module: Module) -> Iterable[Value]:
        """What a name can stand for through one of its bindings."""
        match binding.kind, binding.node:
            case "import", ast.alias() as alias:
                return (self._import(alias, module),)
            case "from", ast.alias() as alias:
                return self._from_import(alias, module)
            case "assign", _ if binding.value is not None:
                return self._assigned(binding.value, binding.path, module)
            case "def", (ast.FunctionDef() | ast.AsyncFunctionDef()) as node:
                return (self.decorated(node, module),)
            case "class", ast.ClassDef() as node:
                return (Class(module, node),)
            case "param", ast.arg() as parameter:
                return (self._parameter(parameter, binding.scope, module),)
        return (UNKNOWN,)

    def _assigned(self, value: ast.expr, path: tuple[int | str, ...], module: Module) -> Iterable[Value]:
        if not path:
            return self.values(value, module)
        if isinstance(value, ast.Tuple | ast.List) and isinstance(path[0], int) and path[0] < len(value.elts):
            return self._assigned(value.elts[path[0]], path[1:], module)
        if isinstance(value, ast.IfExp):
            return (*self._assigned(value.body, path, module), *self._assigned(value.orelse, path, module))
        if isinstance(value, ast.Name):  # `setup = make()`, then `model, state = setup`
            bindings = self.bindings_at(value, module)
            one = bindings[0] if len(bindings) == 1 else None
            if one is not None and one.kind == "assign" and isinstance(one.value, ast.Call | ast.Tuple):
                return self._assigned(one.value, (*one.path, *path), module)
        if isinstance(value, ast.Call) and len(path) == 1 and isinstance(path[0], int):
            return self._returned_element(value, path[0], module)
        return (UNKNOWN,)

    def _returned_element(self, call: ast.Call, index: int, module: Module) -> Iterable[Value]:
        """One element of the tuple that a function of the project returns in one place."""
        function = self.value(call.func, module)
        if not isinstance(function, Function) or isinstance(function.node, ast.Lambda):
            return (UNKNOWN,)
        returns = returned_by(function.node)
        returned = returns[0] if len(returns) == 1 else None
        if not isinstance(returned, ast.Tuple) or index >= len(returned.elts):
            return (UNKNOWN,)
        if any(isinstance(element, ast.Starred) for element in returned.elts):
            return (UNKNOWN,)
        return self.values(returned.elts[index], function.module)

    def _parameter(self, parameter: ast.arg, scope: Scope, module: Module) -> Value:
        function = cast("FunctionNode", scope.node)
        owner = scope.parent
        first = next(all_parameters(function.args), None)
        if owner is not None and owner.kind == "class" and first is parameter and not is_static(function):
            cls = Class(module, cast("ast.ClassDef", owner.node))
            return cls if is_classmethod(function) else Instance(cls)
        return Parameter(module, function, parameter.arg)

    def _import(self, alias: ast.alias, module: Module) -> Value:
        name = alias.name if alias.asname else alias.name.partition(".")[0]
        found = self.project.imported(module, name)
        return ModuleValue(found) if found is not None else External(canonical(name))

    def _from_import(self, alias: ast.alias, module: Module) -> Iterable[Value]:
        node = cast("ast.ImportFrom", module.table.parents[alias])
        source = self.project.imported(module, node.module or "", node.level)
        if source is module and not self._is_bound_before(alias, module):
            source = None  # a package imports its modules from itself
        if source is None:
            submodule = self.project.imported(module, f"{node.module or ''}.{alias.name}".lstrip("."), node.level)
            if submodule is not None:
                return (ModuleValue(submodule),)
            return (External(canonical("." * node.level + f"{node.module or ''}.{alias.name}".lstrip("."))),)
        return self.module_attribute(source, alias.name)

    @staticmethod
    def _is_bound_before(alias: ast.alias, module: Module) -> bool:
        """Whether a module has a name already where it imports it from itself."""
        others = module.table.root.bindings.get(alias.name, [])
        return any(getattr(one.node, "lineno", 0) < alias.lineno for one in others)

    def module_attribute(self, module: Module, name: str) -> Values:
        """What `module.name` can stand for: a name bound there, or a submodule."""
        if name in module.table.root.bindings:
            return self.name_values(name, module.table.root, module, later=True)
        if module.is_package:
            submodule = self.project.imported(module, name, level=1)
            if submodule is not None:
                return (ModuleValue(submodule),)
        starred = self._starred(name, module)
        return (UNKNOWN,) if starred == (External(f"builtins.{name}"),) else starred

    def decorated(self, node: ast.FunctionDef | ast.AsyncFunctionDef, module: Module) -> Value:
        """What a def's name stands for: the function under its decorators."""
        value: Value = Function(module, node)
        for decorator in reversed(node.decorator_list):
            callee = self.value(decorator, module)
            if is_transparent(callee):
                continue
            arguments = (Argument(None, None, module, value),)
            applied = tuple(self.apply(callee, arguments, decorator, module))
            value = applied[0] if len(applied) == 1 else UNKNOWN
        return value

    # Attributes

    def attribute(self, owner: Value, name: str, *, derived: bool = False) -> Values:
        """What `owner.name` can stand for; nothing where the owner is None, which has no such attribute.

        `derived`: where the owner is a class, it may be one derived from that.
        """
        match owner:
            case Constant(value=None):
                return ()
            case External(name=dotted):
                return (External(canonical(f"{dotted}.{name}")),)
            case ModuleValue(module=module):
                return self.module_attribute(module, name)
            case Class():
                return self.attributes.of_class(owner, name, owner, derived=derived) or (Member(owner, name),)
            case Instance():
                return self.attributes.of_instance(owner, name) or (Member(owner, name),)
            case Unknown():
                return (UNKNOWN,)
        return (Member(owner, name),)

    def _is_member(self, member: ast.Attribute, module: Module) -> bool:
        """Whether an attribute is a member of an enumeration of the project that makes no values of its own."""
        cls = self.value(member.value, module)
        if not isinstance(cls, Class) or not any(base in ENUMERATIONS for base in self.bases(cls)):
            return False
        scopes = [one.module.table.own_scope[one.node] for one in self.lineage(cls)]
        return not any(name in scope.bindings for scope in scopes for name in ("__new__", "__init__", "value"))

    def lineage(self, cls: Class) -> list[Class]:
        """The class and its bases that the project holds, nearest first."""
        if cls not in self._lines:
            line: list[Class] = []
            pending = [cls]
            while pending:
                current = pending.pop(0)
                if current not in line:
                    line.append(current)
                    bases = [v for base in current.node.bases for v in self._base(base, current.module)]
                    pending.extend(base for base in bases if isinstance(base, Class))
            self._lines[cls] = line
        return self._lines[cls]

    def _base(self, node: ast.expr, module: Module) -> Values:
        """What a base of a class stands for: of `Queue[Item]` the generic class, where it gives itself."""
        if not isinstance(node, ast.Subscript):
            return self.values(node, module)
        generic = [v for v in self.values(node.value, module) if isinstance(v, Class)]
        made_by = (v.module.table.own_scope[v.node].bindings for v in generic)
        return tuple(generic) if not any("__class_getitem__" in names for names in made_by) else ()

    def bases(self, cls: Class) -> Iterator[Value]:
        """What the bases of a class stand for, and those of its bases that the project holds."""
        return (v for one in self.lineage(cls) for base in one.node.bases for v in self.values(base, one.module))

    def declared_fields(self, cls: Class) -> list[str]:
        """The fields that a dataclass or NamedTuple, and its bases in the project, declare, in order."""
        lines = self.declarations(cls)
        return list(dict.fromkeys(s.target.id for s in lines if isinstance(s.target, ast.Name)))

    def declarations(self, cls: Class) -> list[ast.AnnAssign]:
        """The lines of a class, and before them of its bases in the project, that declare fields."""
        return [s for one in reversed(self.lineage(cls)) for s in one.node.body if isinstance(s, ast.AnnAssign)]

    # Calls

    def apply(self, callee: Value, arguments: tuple[Argument, ...], node: ast.expr, module: Module) -> Iterable[Value]:
        """What calling `callee` with `arguments` gives."""
        match callee:
            case External(name=name) if name in PARTIALS and arguments and arguments[0].keyword is None:
                return tuple(
                    partial_of(inner, arguments[1:], node, module) for inner in self.argument_values(arguments[0])
                )
            case Partial(callee=inner, arguments=bound):
                return self.apply(inner, (*bound, *arguments), node, module)
            case External(name=name) if name in TYPED and [one.keyword for one in arguments] == [None, None]:
                return self.argument_values(arguments[1])
            case External(name=name) if name in CURRIED and arguments and not gives_function(arguments):
                return (Partial(callee, arguments, node, module),)
            case Class():
                return (Instance(callee, Application(callee, arguments, node, module)),)
            case External(name="builtins.getattr") if (attribute := self._asked_for(arguments)) is not None:
                owners = self.argument_values(arguments[0])
                return [value for owner in owners for value in self.attribute(owner, attribute)]
            case Unknown():
                return (UNKNOWN,)
        return (Application(callee, arguments, node, module),)

    def _asked_for(self, arguments: tuple[Argument, ...]) -> str | None:
        """The attribute that `getattr(owner, "name")` reads; None where another value may stand for it."""
        if len(arguments) != 2 or any(one.keyword is not None for one in arguments):
            return None
        name = self.literal(arguments[1])
        return name if isinstance(name, str) else None

    def argument_values(self, argument: Argument) -> Values:
        """What an argument can stand for."""
        if argument.value is not None:
            return (argument.value,)
        if argument.expression is None or argument.keyword in ("*", "**"):
            return (UNKNOWN,)
        return self.values(argument.expression, argument.module)

    def literal(self, argument: Argument) -> object:
        """The literal that an argument is or stands for, `...` where it is only known at run time."""
        return literal_of(argument.expression, argument.module, self.value) if argument.expression is not None else ...

    def returned(self, function: Function) -> Values:
        """What the function's return expressions can stand for, its parameters left symbolic."""
        returns = returned_by(function.node)
        return distinct(v for one in returns if one is not None for v in self.values(one, function.module))


def _between(bindings: list[Binding], module: Module) -> list[ast.stmt] | None:
    """A module's statements after its first binding of a name, up to the last; None if they may bind it otherwise."""
    body = module.tree.body
    places = [place for binding in bindings if (place := _place(binding, module)) is not None]
    if len(places) < len(bindings) or places != sorted(set(places), key=body.index):
        return None
    return body[body.index(places[0]) + 1 : body.index(places[-1]) + 1]


def _place(binding: Binding, module: Module) -> ast.stmt | None:
    """The statement of a module that certainly binds a name; None where a condition or a function may."""
    if binding.kind not in ("def", "class", "assign", "import", "from"):
        return None
    node = module.table.statement_of(binding.node)
    simple = isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Assign | ast.AnnAssign | ast.Import | ast.ImportFrom)
    return node if simple and node in module.tree.body else None


def constant_key(key: ast.expr | None) -> tuple[object] | None:
    """A dictionary display's literal key in a tuple, so that a key None is told from no key."""
    return (key.value,) if isinstance(key, ast.Constant) else None
