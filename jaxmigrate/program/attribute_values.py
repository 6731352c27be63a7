"""What attributes of the project's objects and classes can stand for: all that the program stores in them.

A class says what its objects have; so do assignments anywhere in the program whose owner may be such an object, and
`setattr(x, name, value)` and its kin, which may set any attribute of what they are given.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Protocol

from jaxmigrate.program import momentary
from jaxmigrate.program.attribute_stores import ANY, Store, stores, variable_stores
from jaxmigrate.program.combined import bind, distinct
from jaxmigrate.program.modules import Module, Project
from jaxmigrate.program.scopes import Attribute, Binding, Scope
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import (
    UNKNOWN,
    Application,
    Class,
    Constant,
    External,
    Function,
    Instance,
    Member,
    ModuleValue,
    Value,
    Values,
)

OF_THE_CLASS = (External("typing.ClassVar"),)
OPTIONS = ("argparse.", "absl.flags.")  # what options are read into is no object of the project
SPECIAL = "__"
GIVING_MODULES = ("modules", "import_module")
MAKE_CLASSES = ("type", "setattr")
OF_A_CLASS = ("name", "bases", "entries")  # what `type` is given to make one; `setattr` takes as many
DEEPEST = 12  # owners that are attributes of what others are attributes of


class Asked(Protocol):
    """The resolver, as far as it is asked here."""

    project: Project
    kept: dict[object, object]
    defaults_hold: bool

    def values(self, expression: ast.expr, module: Module) -> Values:
        """What an expression can stand for."""
        ...

    def value(self, expression: ast.expr, module: Module) -> Value:
        """The one thing that it stands for."""
        ...

    def name_values(self, name: str, scope: Scope, module: Module) -> Values:
        """What a name can stand for."""
        ...

    def lineage(self, cls: Class) -> list[Class]:
        """A class and its bases in the project."""
        ...


class AttributeValues:
    """Answers for the classes of a project; what a configuration's fields are by default is all, where those hold."""

    def __init__(self, resolver: Asked) -> None:
        self.resolver = resolver
        self._stores: dict[str, list[Store]] = {}
        self._owners: dict[Store, Values] = {}
        self._overlaps: dict[tuple[ast.ClassDef, bool, ast.ClassDef, bool], bool] = {}
        self._depth = 0

    def of_instance(self, owner: Instance, name: str) -> Values:
        """What an attribute of an object can stand for; nothing where the program says nothing of it."""
        cls = owner.cls
        if self.resolver.defaults_hold:
            assigned = [v for one in self.resolver.lineage(cls) for v in self._assigned(one, name)]
            return distinct([*self.of_class(cls, name, owner), *assigned])
        inherited = self.of_class(cls, name, owner)
        below = self._below(cls, name) if owner.call is None else ()
        certain, other = self._stored(owner, name)
        if not (inherited or below or certain):
            return ()
        methods = not (below or certain) and all(isinstance(one, Function) for one in inherited)
        odd = (UNKNOWN,) if self.is_set_unseen(owner, name, methods=methods) else ()
        return distinct([*inherited, *below, *certain, *other, *odd])

    def of_class(self, cls: Class, name: str, receiver: Instance | Class, *, derived: bool = False) -> Values:
        """What a class, or the nearest of its bases that has it, binds to a name; and what is stored in the class."""
        found = self._bound(cls, name, receiver)
        if self.resolver.defaults_hold or isinstance(receiver, Instance):
            return found
        below = self._below(cls, name) if derived else ()
        certain, other = self._stored(cls, name)
        if not (found or below or certain):
            return ()
        methods = not (below or certain) and all(isinstance(one, Function) for one in found)
        odd = (UNKNOWN,) if self.is_set_unseen(cls, name, methods=methods) else ()
        return distinct([*found, *below, *certain, *other, *odd])

    def is_assigned(self, cls: Class, name: str) -> bool:
        """Whether methods of a class, or of its bases in the project, assign an attribute of its instances."""
        line = self.resolver.lineage(cls)
        return any(attribute.attr == name for one in line for attribute in one.module.table.attributes)

    def is_set_unseen(self, owner: Instance | Class, name: str, *, methods: bool = False) -> bool:
        """Whether code may set an attribute of an owner other than by assigning to it, or by `setattr` and its name.

        Of `methods`, which hardly anything replaces so, it is asked whether an object changes its class.
        """
        if methods:
            swaps = (place for place in self._stores_of(ANY) if _word(place) == "__class__")
            return any(self._concerns(place, owner) is not None for place in swaps)
        odd = (one for one in self._stores_of(name) if _word(one) in ("__dict__", "vars", "__setattr__"))
        return self._may_be_any(owner, name) or any(self._concerns(one, owner) is not None for one in odd)

    def of_variable(self, bindings: list[Binding], name: str, module: Module) -> Values:
        """What else a module's variable can stand for than what its bindings say: other code may set it by its name."""
        assigned = [binding for binding in bindings if binding.kind == "assign"]
        if self.resolver.defaults_hold or not assigned or any(one.scope is not module.table.root for one in assigned):
            return ()
        first = min(getattr(one.node, "lineno", 0) for one in assigned)
        found: list[Value] = []
        for place in (*variable_stores(module).get(name, ()), *variable_stores(module).get(ANY, ())):
            within = module.table.function_of(place.node) is not None
            if within or getattr(place.node, "lineno", 0) > first:
                found += self._value(place)
        for place in (*self._stores_of(name), *self._stores_of(ANY)):
            if self._is_module(place, module):
                found += self._value(place)
        return tuple(dict.fromkeys(found))

    # What is stored

    def _stored(self, owner: Instance | Class, name: str) -> tuple[list[Value], list[Value]]:
        """What the program stores in an attribute of an owner, and in those of what may be the owner."""
        certain: list[Value] = []
        other: list[Value] = []
        for place in self._stores_of(name):
            concerned = self._concerns(place, owner)
            if concerned is not None:
                (certain if concerned else other).extend(self._value(place))
        return certain, other

    def _value(self, place: Store) -> Values:
        return (UNKNOWN,) if place.value is None else self.resolver.values(place.value, place.module)

    def _may_be_any(self, owner: Instance | Class, name: str) -> bool:
        """Whether code that does not say which attribute it sets may set one of an owner, or a class makes them up."""
        if name.startswith(SPECIAL):
            return False
        cls = owner.cls if isinstance(owner, Instance) else owner
        if any(map(self._is_made_otherwise, self.resolver.lineage(cls))):
            return True
        if isinstance(owner, Instance):
            for one in self.resolver.lineage(cls):
                if "__getattribute__" in one.module.table.own_scope[one.node].bindings:
                    return True
        places = [place for place in self._stores_of(ANY) if self._concerns(place, owner) is not None]
        own = [place for place in self._stores_of(name) if self._concerns(place, owner) is not None]
        return bool(places) and not self._is_set_later(own, places)

    def _is_made_otherwise(self, cls: Class) -> bool:
        """Whether code of the project makes a class, or another in its place, and so may change what stands in it."""
        makers = (one.value for one in cls.node.keywords if one.arg == "metaclass")
        if any(not isinstance(v, External) for one in makers for v in self.resolver.values(one, cls.module)):
            return True
        decorators = (one.func if isinstance(one, ast.Call) else one for one in cls.node.decorator_list)
        called = (v for one in decorators for v in self.resolver.values(one, cls.module))
        return any(isinstance(v, Function) and _changes_classes(v) for v in called)

    def _is_set_later(self, own: list[Store], places: list[Store]) -> bool:
        """Whether an attribute is set by constructors alone, each time below all that may set any in constructors.

        That is so in the same `__init__`, and below `super().__init__(...)` in that of a derived class.
        """
        setting = [self._constructor(place) for place in own]
        before = [self._constructor(place) for place in places]
        if not setting or None in setting or None in before or any(one.module.table.loop_of(one.node) for one in own):
            return False
        return all(
            _line(one) > _line(other) if into is of else self._is_called_above(one, into, place_cls)
            for one, into in zip(own, setting, strict=True)
            for other, of in zip(places, before, strict=True)
            if (place_cls := _class_of(other)) is not None
        )

    @staticmethod
    def _constructor(place: Store) -> ast.AST | None:
        """The `__init__` that sets an attribute of its own object."""
        function = place.module.table.function_of(place.node)
        own = isinstance(place.owner, ast.Name) and place.owner.id == "self"
        return function if own and getattr(function, "name", "") == "__init__" else None

    def _is_called_above(self, place: Store, constructor: ast.AST | None, base: Class) -> bool:
        """Whether the constructor of a base has run where another sets an attribute."""
        cls = _class_of(place)
        if constructor is None or cls is None or cls == base or base not in self.resolver.lineage(cls):
            return False
        supers = [
            node
            for node in place.module.table.named.get("super", ())
            if place.module.table.function_of(node) is constructor
        ]
        return any(getattr(node, "lineno", 0) < _line(place) for node in supers)

    def _stores_of(self, name: str) -> list[Store]:
        if name not in self._stores:
            self._stores[name] = [place for place in self._index.get(name, ()) if self._counts(place)]
        return self._stores[name]

    @cached_property
    def _index(self) -> dict[str, list[Store]]:
        found: dict[str, list[Store]] = {}
        for module in self.resolver.project.program:
            for name, places in stores(module).items():
                found.setdefault(name, []).extend(places)
        return found

    def _counts(self, place: Store) -> bool:
        """Whether a place may set an attribute for more than a moment: of a dictionary libraries only read entries."""
        if momentary.is_momentary(place.node, place.module, self.resolver):
            return False
        if place.taker is None:
            return True
        takers = self.resolver.values(place.taker, place.module)
        return not takers or not all(map(_is_of_library, takers))

    def _concerns(self, place: Store, owner: Instance | Class) -> bool | None:
        """Whether what is set is certainly an attribute of an owner, or (False) may be one; None if it is not."""
        if place.owner is None:
            return False
        found = [concerned for one in self._owner(place) if (concerned := self._concern(one, owner)) is not None]
        return any(found) if found else None

    def _concern(self, one: Value, owner: Instance | Class) -> bool | None:
        match one:
            case Instance(cls=cls, call=call):
                same = isinstance(owner, Instance) and self._overlap((cls, call is not None), _kind(owner))
                return True if same else None
            case Class():
                return True if self._reaches(one, owner) else None
            case ModuleValue() | External() | Constant() | Function():
                return None
        return None if _is_options(one) else False

    def _owner(self, place: Store) -> Values:
        """What the object can be whose attribute is set; of `super()` that of the method."""
        if place not in self._owners:
            self._owners[place] = (UNKNOWN,)  # for what leads back to itself
            self._owners[place] = self._found_owner(place)
        return self._owners[place]

    def _found_owner(self, place: Store) -> Values:
        owner = place.owner
        if owner is None or self._depth > DEEPEST:
            return (UNKNOWN,)
        if isinstance(owner, ast.Call) and isinstance(owner.func, ast.Name) and owner.func.id == "super":
            above: ast.AST | None = owner
            while above is not None and not isinstance(above, ast.ClassDef):
                above = place.module.table.parents.get(above)
            return (Instance(Class(place.module, above)),) if above is not None else (UNKNOWN,)
        self._depth += 1
        try:
            return self.resolver.values(owner, place.module)
        finally:
            self._depth -= 1

    # Modules

    def _is_module(self, place: Store, module: Module) -> bool:
        """Whether the object whose attribute is set is a module, or one that is asked for by its name."""
        owner = place.owner
        if isinstance(owner, ast.Name | ast.Attribute):
            return ModuleValue(module) in self._owner(place)
        return isinstance(owner, ast.Subscript | ast.Call) and _mentions_modules(owner)

    # Classes

    def _bound(self, cls: Class, name: str, receiver: Instance | Class) -> Values:
        for holder in self.resolver.lineage(cls):
            scope = holder.module.table.own_scope[holder.node]
            if name not in scope.bindings:
                continue
            found = self.resolver.name_values(name, scope, holder.module)
            if any(self._is_field(b.node, holder.module) for b in scope.bindings[name]):
                return (*found, UNKNOWN)
            return tuple(bind(v, receiver) for v in found)
        return ()

    def _below(self, cls: Class, name: str) -> Values:
        """What classes derived from one bind to a name, but for methods, where an object may be of one of these."""
        found: list[Value] = []
        for one in self._naming.get(name, ()):
            if one != cls and cls in self.resolver.lineage(one):
                found += self.resolver.name_values(name, _scope(one), one.module)
        return tuple(found)

    @cached_property
    def _naming(self) -> dict[str, list[Class]]:
        """The classes of the program that have bases, by the names that they bind in their bodies, but for methods."""
        found: dict[str, list[Class]] = {}
        for module in self.resolver.project.program:
            for one in _classes(module):
                for name, bindings in _scope(one).bindings.items() if one.node.bases else ():
                    if any(binding.kind != "def" for binding in bindings):
                        found.setdefault(name, []).append(one)
        return found

    def _is_field(self, node: ast.AST, module: Module) -> bool:
        """Whether a line of a class declares what each object can have another value of, no `ClassVar`."""
        if not isinstance(node, ast.AnnAssign):
            return False
        stated = node.annotation.value if isinstance(node.annotation, ast.Subscript) else node.annotation
        return self.resolver.value(stated, module) not in OF_THE_CLASS

    def _overlap(self, one: tuple[Class, bool], other: tuple[Class, bool]) -> bool:
        """Whether an object may be of two classes, where each is its own, or a base of that unless it is `exact`."""
        (cls, exact), (of, is_exact) = one, other
        if cls == of or (exact and is_exact):
            return cls == of
        key = (cls.node, exact, of.node, is_exact)
        if key not in self._overlaps:
            self._overlaps[key] = self._share_objects(one, other)
        return self._overlaps[key]

    def _share_objects(self, one: tuple[Class, bool], other: tuple[Class, bool]) -> bool:
        (cls, exact), (of, is_exact) = one, other
        if not is_exact and of in self.resolver.lineage(cls):
            return True
        if not exact and cls in self.resolver.lineage(of):
            return True
        return not exact and not is_exact and any(cls in line and of in line for line in self._joined)

    def _reaches(self, cls: Class, owner: Instance | Class) -> bool:
        """Whether what is stored in a class is seen in an owner: of that class, of one below or, if open, above it."""
        of, is_exact = _kind(owner)
        return cls in self.resolver.lineage(of) or (not is_exact and self._overlap((cls, False), (of, False)))

    @cached_property
    def _joined(self) -> list[list[Class]]:
        """The classes above each that has several bases."""
        several = (
            one for module in self.resolver.project.program for one in _classes(module) if len(one.node.bases) > 1
        )
        return [self.resolver.lineage(one) for one in several]

    # Where defaults hold

    def _assigned(self, cls: Class, name: str) -> Iterator[Value]:
        """What assignments in the file of a class give an attribute of its objects."""
        attributes: Iterable[Attribute] = (own for own in cls.module.table.attributes if own.attr == name)
        for attribute in attributes:
            target = attribute.target
            if not isinstance(target, ast.Name):
                continue
            owners = self.resolver.name_values(target.id, attribute.scope, cls.module)
            if any(isinstance(one, Instance) and one.cls == cls for one in owners):
                yield from self.resolver.values(attribute.value, cls.module)


def _changes_classes(function: Function) -> bool:
    """Whether a function makes a class, or sets attributes of something."""
    for node in ast.walk(function.node):
        if isinstance(node, ast.ClassDef) or (isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)):
            return True
        if isinstance(node, ast.Call) and last_name(node.func) in MAKE_CLASSES and len(node.args) == len(OF_A_CLASS):
            return True
    return False


def _class_of(place: Store) -> Class | None:
    """The class of whose methods one sets an attribute."""
    node = place.module.table.parents.get(place.module.table.function_of(place.node) or place.node)
    return Class(place.module, node) if isinstance(node, ast.ClassDef) else None


def _line(place: Store) -> int:
    return getattr(place.node, "lineno", 0)


def _word(place: Store) -> str:
    """The last part of the name that sets an attribute, or that is set."""
    return last_name(place.node) if isinstance(place.node, ast.expr) else ""


def _kind(owner: Instance | Class) -> tuple[Class, bool]:
    """The class of an object, and whether it is of no derived one; a class itself is the one that is named."""
    return (owner.cls, owner.call is not None) if isinstance(owner, Instance) else (owner, True)


def _classes(module: Module) -> Iterator[Class]:
    for node in module.table.own_scope:
        if isinstance(node, ast.ClassDef):
            yield Class(module, node)


def _scope(cls: Class) -> Scope:
    return cls.module.table.own_scope[cls.node]


def _is_of_library(value: Value) -> bool:
    """Whether something stands outside of the project, or is an attribute of what a function there made."""
    match value:
        case External():
            return True
        case Application(callee=callee):
            return _is_of_library(callee)
        case Member(owner=owner):
            return _is_of_library(owner)
    return False


def _is_options(value: Value) -> bool:
    """Whether a value is what a library reads the options of a command line into."""
    while isinstance(value, Application | Member):
        value = value.callee if isinstance(value, Application) else value.owner
    return isinstance(value, External) and value.name.startswith(OPTIONS)


def _mentions_modules(node: ast.expr) -> bool:
    """Whether an expression asks for a module by its name: `sys.modules[name]`, `importlib.import_module(name)`."""
    named = (last_name(one) for one in ast.walk(node) if isinstance(one, ast.Name | ast.Attribute))
    return any(name in GIVING_MODULES for name in named)
