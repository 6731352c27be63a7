"""Functions that a program replaces while it runs: `Model.scale = other`, `setattr(helpers, "scale", other)`.

What devices run is read from the source, where a name stands for what is defined there. Where a program may put
something else in its place, nothing that it computes is proven.
"""

from __future__ import annotations

import ast
import builtins

from jaxmigrate.flow.layout import class_index, inside_functions
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, Given
from jaxmigrate.flow.layout.values import (
    PLAIN,
    Abstract,
    Blocker,
    Bound,
    Ext,
    Func,
    Method,
    MethodSite,
    Mixed,
    Mod,
    Obj,
    Padded,
    Plain,
    Remedy,
    Site,
    Stage,
)
from jaxmigrate.flow.variance.library import change
from jaxmigrate.program.library import last_of_all, named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.values import Class, Function, ModuleValue, Partial

TOLD = frozenset({"__doc__", "__name__", "__qualname__", "__signature__"})  # what a function says of itself
INTERPRETED = frozenset(  # the libraries whose functions are known by name
    {"builtins", "chex", "collections", "contextlib", "copy", "dataclasses", "flax", "functools", "itertools", "jax"}
    | {"jaxlib", "numpy", "operator", "threading", "tqdm", "tree"}
)
SETTINGS = "jax.config"
MESHES_IN_FORCE = named("mesh-in-force")
DRAWS = named("draws")
PATCHES = ("unittest.mock.patch", "mock.patch", "pytest.MonkeyPatch")
DATA_TYPES = frozenset({"ndarray", "dtype"})
SLIPS = ("default_device", "default_matmul_precision")  # of `jax`, set as if they were settings of `jax.config`
SETS = frozenset({"setattr", "__setattr__"})


def note_stored(it: Interpreter, owner: Abstract, name: str, value: Abstract, node: ast.AST, frame: Frame) -> None:
    """An attribute of something is set: of the project's own what may have been a function, or becomes one."""
    for item in owner.in_order() if isinstance(owner, Func) else (owner,):
        match item:
            case Class() | Mod():
                replaces = _replaces(it, item, name, _has_function(value))
            case Ext() | Function() | Site() | MethodSite() | Bound() | Padded() | Stage() | Method():
                if not (_is_setting(it, item, name, value) or _is_plain_setting(item, name, node, frame)):
                    _in_library(it, item, name, node, frame)
                continue
            case Obj():  # which is followed
                continue
            case _:
                replaces = _has_function(value) and (class_index.is_method(it, name) or _is_of_loaded(it, name))
        if replaces:
            _note(it, name, node, frame.module)


def note_hidden(it: Interpreter) -> None:
    """The same of code that changes what functions hold, or that runs a file in a dictionary and sets names there."""
    for module in it.resolver.project.program:
        for node, name in inside_functions.changes(module):
            _note(it, name, node, module)
    modules = {module.path: module for module in it.modules}
    for load, sources in it.reachable.set_there.items():
        for module in (modules[path] for path in sources if path in modules):
            for name in sorted(load.sets):
                if load.module is not None and load.node is not None and _defines(module, name):
                    _note(it, name, load.node, load.module)


def _defines(module: Module, name: str) -> bool:
    return any(binding.kind in ("def", "class") for binding in module.table.root.bindings.get(name, ()))


def _is_of_loaded(it: Interpreter, name: str) -> bool:
    """Whether a module that code loads by its path defines something of a name."""
    by_path = [*it.reachable.loading.values(), *it.reachable.unread.values()]
    return any(_defines(module, name) for module in it.modules if any(module.path in held for held in by_path))


def note_in(it: Interpreter, module: Module) -> None:
    """The same of a module that is only imported, whose statements are not followed, for what it names itself."""
    resolver = it.resolver
    for stored in module.table.attributes:
        made = resolver.values(stored.value, module)
        function = any(isinstance(value, Function | Partial) for value in made)
        owners = resolver.values(stored.target, module)
        if any(_replaces(it, owner, stored.attr, function) for owner in owners):
            _note(it, stored.attr, stored.node, module)
    for call in module.table.calls:
        if last_name(call.func) not in SETS or len(call.args) < 3:
            continue
        known, owners = _known_name(call), resolver.values(call.args[-3], module)
        of_project = any(isinstance(owner, Class | ModuleValue) for owner in owners)
        if of_project if known is None else any(_replaces(it, owner, known, function=True) for owner in owners):
            _note(it, known or "a function", call, module)


def _replaces(it: Interpreter, owner: object, name: str, function: bool) -> bool:
    """Whether setting an attribute of a class or module of the project may put something in a function's place."""
    match owner:
        case Class():
            kinds = [kind for one in class_index.family(it, it.root(owner)) or [owner] for kind in _bindings(one, name)]
        case Mod(module=module) | ModuleValue(module=module):
            kinds = [b.kind for b in module.table.root.bindings.get(name, [])]
        case _:
            return False
    return any(kind in ("def", "class") for kind in kinds) or (bool(kinds) and function)


def note_call(it: Interpreter, name: str, given: Given, node: ast.expr, frame: Frame) -> None:
    """A call that sets an attribute by its name, or lets a test put something in a function's place."""
    values = given.everything()
    if name.startswith(PATCHES) and isinstance(node, ast.Call):
        _note_patch(it, node, values[0] if values else PLAIN, frame)
    if name.rpartition(".")[2] not in SETS or len(values) < 3:
        return
    owner, value = values[-3], values[-1]
    known = _known_name(node)
    of_project = isinstance(owner, Func) and any(isinstance(item, Class | Mod) for item in owner.items)
    if known is not None and not isinstance(owner, Obj):
        note_stored(it, owner, known, value, node, frame)
    elif (known is None and of_project) or (known is not None and class_index.is_method(it, known)):
        _note(it, known or "a function", node, frame.module)


def _known_name(node: ast.expr) -> str | None:
    """The name that `setattr(owner, name, value)` sets, where it is written out."""
    key = node.args[-2] if isinstance(node, ast.Call) and len(node.args) >= 3 else None
    return key.value if isinstance(key, ast.Constant) and isinstance(key.value, str) else None


def _note_patch(it: Interpreter, node: ast.Call, owner: Abstract, frame: Frame) -> None:
    """`mock.patch("module.name")` and `mock.patch.object(owner, "name")`: what it replaces, of the project or not."""
    words = [a.value for a in node.args[:2] if isinstance(a, ast.Constant) and isinstance(a.value, str)]
    last = words[-1].rpartition(".")[2] if words else ""
    libraries = [item for item in owner.items if isinstance(item, Ext)] if isinstance(owner, Func) else []
    if words and isinstance(node.args[0], ast.Constant):
        libraries.append(Ext(words[0].rpartition(".")[0]))
    parent = frame.module.table.parents.get(node)
    lasts = not (isinstance(parent, ast.FunctionDef) and node in parent.decorator_list)  # beyond one call of a test
    for library in libraries if last and lasts else ():
        _in_library(it, library, last, node, frame)
    defined = (n for module in it.resolver.project.named if last in module.text for n in module.table.own_scope)
    if not last or any(getattr(n, "name", "") == last for n in defined):
        _note(it, last or "a function", node, frame.module)


def _bindings(cls: Class, name: str) -> list[str]:
    return [b.kind for b in cls.module.table.own_scope[cls.node].bindings.get(name, [])]


def _has_function(value: Abstract) -> bool:
    """Whether a value may be a function."""
    if isinstance(value, Mixed):
        return any(map(_has_function, value.values))
    return isinstance(value, Func) and not all(
        isinstance(item, Mod | Class) or (isinstance(item, Ext) and not item.name.startswith("jax.lax."))
        for item in value.items
    )


def _is_setting(it: Interpreter, item: object, name: str, value: Abstract) -> bool:
    """Whether what is set is one of JAX's settings, and no function: `config.FLAGS.jax_xla_backend = "tpu_driver"`.

    So is the mesh in force, `maps.thread_resources.env = ResourceEnv(mesh, ())`, which pmap never asks for, and
    `jax.default_device = jax.devices()[0]`, a slip for the setting of that name: whoever enters that raises then.
    A new name among Python's own, `builtins.bfloat16 = ...`, takes the place of nothing that libraries use.
    """
    if isinstance(item, Ext) and item.name == "builtins":
        return not hasattr(builtins, name) and not _is_asked(it, name)
    if not isinstance(item, Ext) or _has_function(value):
        return False
    if item.name == "jax" and name in SLIPS:
        return True
    if not isinstance(value, Plain):
        return False
    return item.name in MESHES_IN_FORCE or item.name == SETTINGS or item.name.startswith(f"{SETTINGS}.")


def _is_asked(it: Interpreter, name: str) -> bool:
    """Whether the program uses something by a name that its modules may not define themselves."""
    modules = (module for module in it.resolver.project.program if name in module.text)
    return any(isinstance(node, ast.Name) and node.id == name for module in modules for node in module.nodes)


def _is_plain_setting(item: object, name: str, node: ast.AST, frame: Frame) -> bool:
    """Whether a literal is put into a module of a library: `tqdm.monitor_interval = 0`, which is no function.

    It is the same number for all devices, and for all processes where each runs the statement. What the program may
    call, or what classes look up by themselves, is more than a setting.
    """
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    if isinstance(value, ast.UnaryOp):
        value = value.operand
    if not (isinstance(item, Ext) and isinstance(value, ast.Constant)) or value.value is None:
        return False
    of_class = any(part[:1].isupper() or part.startswith("__") for part in (*item.name.split("."), name))
    certain = node in frame.module.tree.body
    return certain and not of_class and name not in last_of_all() | DATA_TYPES


def _in_library(it: Interpreter, item: object, name: str, node: ast.AST, frame: Frame) -> None:
    """Sets an attribute of something outside the project: what goes by that name is not what it was."""
    if isinstance(item, Function) and (not name.startswith("__") or name in TOLD):
        return  # a note on a function of the project, which runs as before
    if isinstance(item, Ext) and item.name.partition(".")[0] not in INTERPRETED:
        change(it.resolver, f"{item.name}.{name}")
    elif isinstance(item, Ext) and _is_granted(it, f"{item.name}.{name}", node, frame.module):
        _note(it, f"{item.name}.{name}", node, frame.module)  # which maps lean on, each by itself
    else:
        it.blockers.beyond.setdefault(
            node,
            Blocker(
                Stacked.REACHABLE.reason("may depend on a library that the program monkeypatches"), frame.module, node
            ),
        )


def _is_granted(it: Interpreter, name: str, node: ast.AST, module: Module) -> bool:
    """Whether what replaces a function may be taken to do what that does, as far as numbers go.

    So a function that draws numbers draws such numbers as well, and what a library keeps to itself, as how it compiles
    and what it logs, has no part in what is computed.
    """
    *owners, last = name.split(".")
    private = any(one.startswith("_") for one in owners) and last not in last_of_all()
    return (name in DRAWS or private) and it.trust.grants("never-replaced", name, "", module, node) is not None


def _note(it: Interpreter, name: str, node: ast.AST, module: Module) -> None:
    reason = Stacked.REACHABLE.reason(
        f"may depend on `{name}`, which the program monkeypatches", "may depend on what the program monkeypatches"
    )
    it.blockers.replaced.setdefault(node, (name, Blocker(reason, module, node, remedy=Remedy("replaced", name))))
