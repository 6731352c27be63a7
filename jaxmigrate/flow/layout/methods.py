"""Methods that are maps: `@partial(jax.pmap, static_broadcasted_argnums=0)` over a def of a class body.

`trainer.step(state, batch)` is a call of the map with the object as its first argument. Python finds the method by its
name on any object of the class, so that its calls are all in sight only while all such objects are: a class whose
objects go out of sight, or whose attributes are not looked up as any class's are, takes its mapped methods along.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import replace

from jaxmigrate.flow.layout import class_index, classes, devices, mapped, tree_methods
from jaxmigrate.flow.layout.causes import Reason, Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, Given
from jaxmigrate.flow.layout.values import Abstract, Blocker, Func, MethodSite, Mixed, Obj, Site, func
from jaxmigrate.program.functions import is_static
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.sites import listed
from jaxmigrate.program.values import Class, Function

BY_ANY_NAME = Stacked.NOT_VISIBLE.reason("is returned by a method that may be called by a name which fix cannot see")
Def = ast.FunctionDef | ast.AsyncFunctionDef
LOOKUPS = frozenset({"__getattribute__", "__class_getitem__", "__init_subclass__", "__set_name__"})
INERT = named("inert-class-decorator")  # decorators of classes that leave their methods as they are
INERT_METACLASSES = named("inert-metaclass")
WHOLE = frozenset({"__dict__", "__getstate__", "__reduce__"})  # attributes that give all others
CONSTRUCTORS = frozenset({"__init__", "__new__", "__post_init__"})
CONVERSIONS = named("converts")
LOOKERS = named("looker")


def define(it: Interpreter, node: Def, frame: Frame) -> None:
    """A def of a class body, which its objects find by its name."""
    for decorator in node.decorator_list:
        it.evaluate(decorator, frame)
    sites = [d for d in node.decorator_list if d in it.sites]
    for site in sites:
        value = func(Function(frame.module, node))
        devices.map_more(it, site, value, frame)
        devices.on_device(it, value)
        assert isinstance(frame.scope.node, ast.ClassDef)
        it.maps.methods[site] = Class(frame.module, frame.scope.node)
        reason = _speaks_against(it, site, node, frame)
        if reason:
            it.escape(Site(site), Blocker(reason, frame.module, site))


def _speaks_against(it: Interpreter, site: ast.expr, node: Def, frame: Frame) -> Reason | None:
    """Why the calls of a mapped method are not followed, for all that its definition says."""
    if len(node.decorator_list) > 1 and not _is_static(it, node, frame.module):
        return Stacked.MAP_STAYS.reason("is a method with a second decorator")
    of_tree = tree_methods.is_one(it, site) and not _is_static(it, node, frame.module)
    if not (of_tree or _is_static(it, node, frame.module) or _binds_object(it, site)):
        return Stacked.MAP_STAYS.reason("is a method whose `self` is split over the devices")
    if classes.is_pytree(it, it.maps.methods[site]) and not of_tree:
        return Stacked.MAP_STAYS.reason("is a method of a pytree class")
    if node.name.startswith("__") and (node.name != "__call__" or of_tree):
        return Stacked.MAP_STAYS.reason("is a method that Python calls implicitly")
    names = (n for n in frame.module.table.named.get(node.name, ()) if isinstance(n, ast.Name))
    if any(frame.module.table.scope_of.get(n) is frame.scope for n in names):
        return Stacked.MAP_STAYS.reason("is a method that has a second name in its class")
    return None


def _binds_object(it: Interpreter, site: ast.expr) -> bool:
    """Whether a map takes its first argument as it is, as one object for all devices."""
    return 0 in (listed(it.sites[site], "static_broadcasted_argnums", it.resolver) or ())


def _is_static(it: Interpreter, node: Def, module: Module) -> bool:
    """Whether a def is a map under `staticmethod`, which takes no object."""
    above = [it.idioms.called(d, module) or getattr(d, "id", "") for d in node.decorator_list if d not in it.sites]
    return above in (["builtins.staticmethod"], ["staticmethod"]) and node.decorator_list[0] not in it.sites


def attribute(it: Interpreter, cls: Class, node: Def, module: Module, of_class: bool) -> Abstract | None:
    """A mapped method as an attribute of an object, or of the class itself; None where it is no mapped method."""
    sites = [d for d in node.decorator_list if d in it.sites]
    if len(sites) != 1:
        return None
    if len(node.decorator_list) > 1 and not _is_static(it, node, module):
        return None
    unbound = of_class or _is_static(it, node, module)
    return func(Site(sites[0])) if unbound else func(MethodSite(sites[0], cls))


def call(it: Interpreter, method: MethodSite, given: Given, node: ast.expr, frame: Frame) -> Abstract:
    """A call of a mapped method, which the object is given to before all else."""
    places = {place if isinstance(place, str) else place + 1: one for place, one in given.places.items()}
    sure = given.sure + 1
    whole = replace(given, positional=(Obj(method.cls), *given.positional), sure=sure, places=places)
    return mapped.call_site(it, method.node, whole, node, frame, _receiver(it, method.node, node))


def _receiver(it: Interpreter, site: ast.expr, node: ast.expr) -> ast.expr | None:
    """What stands before the name of a method where it is called; None where the method was stored before."""
    called = node.func if isinstance(node, ast.Call) else None
    return called.value if isinstance(called, ast.Attribute) and called.attr == _name(it, site) else None


def sweep(it: Interpreter) -> None:
    """Lets go of the mapped methods that can be called where nobody sees it."""
    _sweep_objects(it)
    names: dict[str, list[ast.expr]] = {}
    for site, cls in it.maps.methods.items():
        if site in it.blockers.escaped:
            continue
        names.setdefault(_name(it, site), []).append(site)
        of_tree = tree_methods.is_one(it, site)
        blocker = _let_go(it, cls, of_tree=of_tree and it.trust.likely)
        if blocker is None:
            blocker = tree_methods.looked_up(it, site) if of_tree else _traces_anew(it, cls)
        if blocker is not None:
            it.escape(Site(site), blocker)
    for module in it.modules if names else ():
        for name in names.keys() & module.table.named.keys():
            for read in module.table.named[name]:
                if isinstance(read, ast.Attribute) and read not in it.looks.loads and not _is_data(it, read, module):
                    _escape(
                        it,
                        [one for one in names[name] if not _is_none_of(it, one, read, module)],
                        Blocker(
                            Stacked.REACHABLE.reason("is read from an object that fix cannot identify"), module, read
                        ),
                    )
        for name in (n for n in names if n in module.text):
            for node in module.nodes:
                if isinstance(node, ast.Attribute) and node.attr == name and _is_set_unseen(it, node):
                    _escape(
                        it,
                        names[name],
                        Blocker(
                            Stacked.REACHABLE.reason("is replaced in an object that fix cannot identify"), module, node
                        ),
                    )


def _is_none_of(it: Interpreter, site: ast.expr, read: ast.Attribute, module: Module) -> bool:
    """Whether an attribute of what is not known is no mapped method of a tree: none runs there, or a reader says so."""
    if not tree_methods.is_one(it, site):
        return False
    return tree_methods.is_nested(read, it, module) or tree_methods.unlike(it, read, module)


def _is_data(it: Interpreter, node: ast.Attribute, module: Module) -> bool:
    """Whether an attribute is used as a number or text is, as that of another kind of object: `int(state.step)`.

    An object that gets lost takes its mapped methods along, and what is left are parameters of whoever calls from out
    of sight.
    """
    parent = module.table.parents.get(node)
    if node not in it.looks.run_reads or not isinstance(node.ctx, ast.Load):
        return False
    if isinstance(parent, ast.Call):
        return node in parent.args and it.idioms.called(parent, module) in CONVERSIONS
    return isinstance(parent, ast.BinOp | ast.Compare | ast.FormattedValue | ast.UnaryOp)


def _is_set_unseen(it: Interpreter, node: ast.Attribute) -> bool:
    return not isinstance(node.ctx, ast.Load) and node not in it.looks.known_targets


def _escape(it: Interpreter, sites: list[ast.expr], blocker: Blocker) -> None:
    for site in sites:
        it.escape(Site(site), blocker)


def _name(it: Interpreter, site: ast.expr) -> str:
    node = it.sites[site].module.table.parents[site]
    assert isinstance(node, Def)
    return node.name


def _let_go(it: Interpreter, cls: Class, *, of_tree: bool = False) -> Blocker | None:
    """What lets the objects of a class, or of one that derives from it, out of sight.

    Of a tree of arrays that a library is given, `of_tree`, a reader expects no more than to be given another.
    """
    for one in (cls, *class_index.descendants(it, cls)):
        blocker = it.blockers.blocked_classes.get(it.root(one))
        if blocker is not None and not of_tree:
            said, topic = (f"is a method of an object that {t}" for t in (blocker.reason.text, blocker.reason.topic))
            return replace(blocker, reason=Stacked.MAP_STAYS.reason(said, topic))
        for base in it.resolver.lineage(one):
            reason = _changes_lookup(it, base)
            if reason:
                return Blocker(
                    Stacked.MAP_STAYS.reason(f"is a method of a class that {reason}"), base.module, base.node
                )
    return None


def _traces_anew(it: Interpreter, cls: Class) -> Blocker | None:
    """What a mapped method reads while it is traced and the program sets again: when JAX traces, layouts decide."""
    family = {base.node for one in (cls, *class_index.descendants(it, cls)) for base in it.resolver.lineage(one)}
    methods = [f for f in it.bodies.device if isinstance(f, Def) and f.args.args]
    read: set[str] = set()
    for module in it.modules:
        table = module.table
        own = [f for f in methods if f in table.own_scope and table.scope_of[f].node in family]
        read |= {name for f in own for name in _named_below(f, f.args.args[0].arg)}
    return next((blocker for module in it.modules if read for blocker in _set_again(module, read)), None)


def _named_below(node: Def, name: str) -> Iterator[str]:
    """The attributes of a function's object that it reads, and theirs."""
    for one in ast.walk(node):
        names: list[str] = []
        inner: ast.AST = one
        while isinstance(inner, ast.Attribute):
            names.append(inner.attr)
            inner = inner.value
        if isinstance(inner, ast.Name) and inner.id == name:
            yield from names


def _set_again(module: Module, names: set[str]) -> Iterator[Blocker]:
    """Where attributes of some names are set but in constructors."""
    if not any(name in module.text for name in names):
        return
    for node in module.nodes:
        inner: ast.AST = node
        while isinstance(inner, ast.Subscript):
            inner = inner.value
        is_set = isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load)
        if is_set and isinstance(inner, ast.Attribute) and inner.attr in names:
            holder = module.table.scope_of.get(inner) or module.table.scope_of.get(inner.value)
            function = holder.function() if holder is not None else None
            if getattr(getattr(function, "node", None), "name", "") not in CONSTRUCTORS:
                reason = Stacked.MAP_STAYS.reason(
                    f"maps a method that reads self.{inner.attr}, which is assigned outside of the constructor, too",
                    "maps a method that reads an attribute which is assigned outside of the constructor, too",
                )
                yield Blocker(reason, module, node)


def _changes_lookup(it: Interpreter, cls: Class) -> str:
    """What a class says of how its methods are found."""
    if any(it.idioms.called(decorator, cls.module) not in INERT for decorator in cls.node.decorator_list):
        return "a decorator may change"
    for keyword in cls.node.keywords:
        value = it.resolver.value(keyword.value, cls.module)
        if keyword.arg != "metaclass" or getattr(value, "name", "") not in INERT_METACLASSES:
            return "is defined with a metaclass or class keywords"
    bindings = cls.module.table.own_scope[cls.node].bindings
    return "defines how its attributes are looked up" if not LOOKUPS.isdisjoint(bindings) else ""


def _sweep_objects(it: Interpreter) -> None:
    """Blocks the objects that code on devices hands on: who gets them may read what they hold."""
    held = {key[1:3]: value for key, value in it.variables.items() if key[0] == "variable" and _may_be_mapped(value)}
    for module in it.modules:
        unrun = (n for n in module.table.references if held and isinstance(n, ast.Name) and n not in it.looks.loads)
        for name in unrun:
            holder = module.table.scope_of[name].lookup(name.id)
            value = held.get((holder.node, name.id)) if holder is not None else None
            if value is not None and not _is_read_by_name(it, name, module):
                it.block(value, Blocker(Stacked.MAP_STAYS.reason("is used in traced code"), module, name))
        for node, scope in module.table.own_scope.items():
            if node not in it.bodies.device or not isinstance(node, Def) or scope.parent is None:
                continue
            owner = scope.parent.node
            if isinstance(owner, ast.ClassDef) and not is_static(node) and node.args.args:
                handed = next(_handed_on(it, node, node.args.args[0].arg, module), None)
                if handed is not None:
                    cls = Class(module, owner)
                    it.block_class(
                        cls,
                        Blocker(
                            Stacked.MAP_STAYS.reason("is passed on in traced code, where fix cannot follow it"),
                            module,
                            handed,
                        ),
                    )


def let_go_of_all(it: Interpreter, cls: Class, blocker: Blocker) -> None:
    """Any method of an object of a class may be called with anything: `getattr(trainer, name)(x)`."""
    for function in class_index.methods_of(it, it.root(cls)):
        if not getattr(function.node, "name", "").startswith("__"):
            it.escape(function, blocker)


def _handed_on(it: Interpreter, node: Def, name: str, module: Module) -> Iterator[ast.Name]:
    """Where a function does more with its object than read an attribute of it by its name."""
    table = module.table
    own = table.own_scope[node]
    for one in table.named.get(name, ()):
        is_object = isinstance(one, ast.Name) and table.scope_of[one].lookup(name) is own
        if isinstance(one, ast.Name) and is_object and not _is_read_by_name(it, one, module):
            yield one


def _is_read_by_name(it: Interpreter, node: ast.Name, module: Module) -> bool:
    """Whether all that an expression does with an object is to read an attribute by its name."""
    parent = module.table.parents.get(node)
    if isinstance(parent, ast.Attribute):
        return parent.attr not in WHOLE
    return isinstance(parent, ast.Call) and node in parent.args and it.idioms.called(parent, module) in LOOKERS


def _may_be_mapped(value: Abstract) -> bool:
    """Whether something is an object, which may hold stacked arrays, or a map."""
    if isinstance(value, Mixed):
        return any(map(_may_be_mapped, value.values))
    items = value.items if isinstance(value, Func) else (value,)
    return any(isinstance(item, Obj | MethodSite | Site) for item in items)
