"""What jaxline does with an experiment, a class of the program that it makes objects of and calls.

By its source (0.0.8, and no other release runs on a JAX that has `jax.shard_map`): the base class reads and writes the
attributes that two tables name and no others. Those of `CHECKPOINT_ATTRS` hold a slice for each device: a checkpoint
takes the first, and what is restored is copied to all. Those of `NON_BROADCAST_CHECKPOINT_ATTRS` are taken and set as
they are, so that an attribute whose arrays lose their device axis moves there. The train loop hands `step` and
`evaluate` one number of the step and one key for each device, whatever becomes of the rest.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.flow.layout import class_index, object_flags, operations
from jaxmigrate.flow.layout.causes import Stacked
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.model import Frame, Given
from jaxmigrate.flow.layout.values import Abstract, Blocker, Func, Group, Ref
from jaxmigrate.program.library import named, the
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once
from jaxmigrate.program.values import Class, External, Function, Instance

BASE = the("experiment-base")
LOOPS = named("experiment-loop")
SLICES, WHOLES = "CHECKPOINT_ATTRS", "NON_BROADCAST_CHECKPOINT_ATTRS"
TABLES = frozenset({SLICES, WHOLES})
HANDED_OVER = frozenset({"global_step", "rng"})
STEPS = frozenset({"step", "evaluate"})
LOOP = frozenset({"train_loop", "initialize_train_step_rng"})
CHECKPOINTS = frozenset({"snapshot_state", "restore_from_snapshot"})
CALLED = STEPS | LOOP | CHECKPOINTS | {"__init__", "should_run_step", "on_new_best_model"}
HOLDERS = frozenset(  # by which a program gets at jaxline's own object
    {"experiment_module", "get_experiment_state", "GLOBAL_CHECKPOINT_DICT.active"}
)
UNREAD = "a file that this Python does not parse"
WORDS = re.compile(f"{SLICES}|experiment_module|get_experiment_state|GLOBAL_CHECKPOINT_DICT")


def is_experiment(it: Interpreter, cls: Class) -> bool:
    """Whether objects of a class are experiments of jaxline."""
    bases = ((base, one.module) for one in it.resolver.lineage(cls) for base in one.node.bases)
    return any(it.resolver.value(base, module) == External(BASE) for base, module in bases)


def runs(it: Interpreter, name: str, given: Given) -> bool:
    """Whether a call has jaxline run experiments of which all is known that it does with them."""
    value = given.positional[0] if given.positional and not given.open else None
    items = value.items if name in LOOPS and isinstance(value, Func) else ()
    return bool(items) and all(isinstance(item, Class) and is_experiment(it, item) for item in items)


def define(it: Interpreter, cls: Class, frame: Frame) -> None:
    """Has jaxline do to a class, once its body has run, what it does to experiments."""
    if not is_experiment(it, cls):
        return
    _call(it, cls, frame)
    family = [one for one in class_index.family(it, it.root(cls)) if is_experiment(it, one)]
    if (seen := _looked_at(it, cls)) is not None:
        it.block_class(cls, seen)
    for one in family:
        for name, table in _tables(one):
            if table is None:
                it.block_class(
                    cls,
                    Blocker(
                        Stacked.JAXLINE.reason(
                            f"may be named in {name}, which fix cannot read; write {name} as a dictionary of literals",
                            "may be named in a table that fix cannot read",
                        ),
                        one.module,
                        one.node,
                    ),
                )
                continue
            for key in table.keys:
                assert isinstance(key, ast.Constant)
                _name(it, cls, name, key, one, frame)


def _call(it: Interpreter, cls: Class, frame: Frame) -> None:
    """Calls the methods that jaxline calls."""
    line = it.resolver.lineage(cls)
    loops = any(name in LOOP for one in line for name in one.module.table.own_scope[one.node].bindings)
    handed = {} if loops else {name: _handed_over(it, cls, name, frame) for name in sorted(HANDED_OVER)}
    for one in line:
        for name, bindings in one.module.table.own_scope[one.node].bindings.items():
            for binding in bindings:
                if name in CALLED and isinstance(binding.node, ast.FunctionDef):
                    method = Function(one.module, binding.node, Instance(cls))
                    blocker = Blocker(Stacked.JAXLINE.reason("is returned to jaxline"), one.module, binding.node)
                    it.call_unseen(method, blocker, handed if name in STEPS else {})


def _handed_over(it: Interpreter, cls: Class, name: str, frame: Frame) -> Abstract:
    group = it.joined_group("handed over", it.root(cls), name)
    it.changed |= group.block(
        Blocker(Stacked.JAXLINE.reason("is passed by jaxline with one slice per device"), frame.module, cls.node)
    )
    return Ref(group, leaf=True)


def alike(it: Interpreter) -> set[Group]:
    """The groups of stacked arrays whose slices are equal: the number of the step, where nothing else flows into it."""
    roots = {group.find() for key, group in it.groups.items() if key[0] == "handed over" and key[2] == "global_step"}
    for key, group in it.groups.items():
        if key[0] != "argument" and not (key[0] == "handed over" and key[2] == "global_step"):
            roots.discard(group.find())
    return {group for group in it.groups.values() if group.find() in roots}


def _tables(cls: Class) -> Iterator[tuple[str, ast.Dict | None]]:
    """The tables of attributes that a class body holds; None for one that is not a plain dictionary of strings."""
    scope = cls.module.table.own_scope[cls.node]
    for name in sorted(TABLES & scope.bindings.keys()):
        found = [s for s in cls.node.body if isinstance(s, ast.Assign | ast.AnnAssign) and name in targets(s)]
        alone = len(scope.bindings[name]) == 1 and len(found) == 1 and len(targets(found[0])) == 1
        value = found[0].value if alone else None
        yield name, value if isinstance(value, ast.Dict) and _is_plain(value) else None


def targets(statement: ast.Assign | ast.AnnAssign) -> list[str]:
    """The names that an assignment binds, an empty one for a target that is none."""
    bound = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
    return [target.id if isinstance(target, ast.Name) else "" for target in bound]


def _is_plain(table: ast.Dict) -> bool:
    """Whether a dictionary is of strings, no key of it twice, and stands on one line or with one entry on each."""
    parts = [*table.keys, *table.values]
    if not all(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in parts):
        return False
    keys = [key.value for key in table.keys if isinstance(key, ast.Constant)]
    lines = [table.lineno, *(key.lineno for key in table.keys if key is not None)]
    apart = len({*lines}) == len(lines) and table.end_lineno not in lines
    on_its_own = all(k is not None and k.lineno == v.end_lineno for k, v in zip(table.keys, table.values, strict=True))
    return len(keys) == len({*keys}) and on_its_own and (apart or table.lineno == table.end_lineno)


def _name(it: Interpreter, cls: Class, table: str, key: ast.Constant, holder: Class, frame: Frame) -> None:
    """An attribute that a table names."""
    name = str(key.value)
    if table == WHOLES:  # whatever the attribute ever holds: this runs again when that changes
        reason = Stacked.JAXLINE.reason(f"is listed in {WHOLES}, so jaxline saves and restores it with its device axis")
        for value in object_flags.every(it, cls, name):
            it.block(value, Blocker(reason, holder.module, key))
        return
    group = it.joined_group("checkpoint", key)
    it.changed |= group.flatten()
    operations.record(it, "checkpoint", key, key, group, "", frame)
    if (against := _speaks_against(it, cls)) is not None:
        it.changed |= group.block(against)
    it.set_attribute(cls, name, Ref(group), key, holder.module)
    for value in object_flags.every(it, cls, name):
        it.join(Ref(group), value, key, holder.module)


def _speaks_against(it: Interpreter, cls: Class) -> Blocker | None:
    """Why no attribute can move from one table to the other."""
    family = class_index.family(it, it.root(cls))
    tables = [one for one in family if SLICES in one.module.table.own_scope[one.node].bindings]
    if len(tables) > 1:
        return Blocker(
            Stacked.JAXLINE.reason(f"is named in {SLICES}, which more than one class defines"),
            tables[-1].module,
            tables[-1].node,
        )
    for one in family:
        scope = one.module.table.own_scope[one.node]
        if own := sorted(CHECKPOINTS & scope.bindings.keys()):
            return Blocker(
                Stacked.JAXLINE.reason(f"may be read by `{own[0]}`, which {one.node.name} overrides"),
                one.module,
                one.node,
            )
        if tables and one is not tables[0] and WHOLES in scope.bindings:
            return Blocker(
                Stacked.JAXLINE.reason(f"is named in {SLICES} of one class, while another class defines {WHOLES}"),
                one.module,
                one.node,
            )
    return None


def _looked_at(it: Interpreter, cls: Class) -> Blocker | None:
    """A place where the program gets at the object that jaxline made, or at a table of what jaxline reads."""
    for module, node, word in _mentions(it, cls.module):
        if word in HOLDERS or word == UNREAD:
            return Blocker(
                Stacked.JAXLINE.reason(f"is an attribute of an experiment, which `{word}` may read or change"),
                module,
                node,
            )
        if not _is_table(it, module, node):
            return Blocker(Stacked.JAXLINE.reason(f"may be read by code that uses the table {word}"), module, node)
    return None


@once
def _mentioned(_it: Interpreter) -> dict[Module, list[tuple[Module, ast.AST, str]]]:
    """Who mentions a module, where, and how."""
    return {}


def _mentions(it: Interpreter, source: Module) -> list[tuple[Module, ast.AST, str]]:
    """Where any code that may run with a module names a table of attributes, or what holds the experiment."""
    if source not in _mentioned(it):
        found = it.reachable.saying(WORDS, [source.path])
        _mentioned(it)[source] = [(source, source.tree, UNREAD)] if None in found else []
        _mentioned(it)[source] += [
            (module, node, word)
            for module in found
            if module is not None
            for node in module.nodes
            if (word := _word(node, module)) in TABLES | HOLDERS
        ]
    return _mentioned(it)[source]


def _word(node: ast.AST, module: Module) -> str:
    match node:
        case ast.Attribute(attr="active") if "GLOBAL_CHECKPOINT_DICT" in module.text:
            return "GLOBAL_CHECKPOINT_DICT.active"
        case (
            ast.Name(id=word)
            | ast.Attribute(attr=word)
            | ast.keyword(arg=str(word))
            | ast.Constant(value=str(word))
            | ast.FunctionDef(name=word)
        ):
            return word
    return ""


def _is_table(it: Interpreter, module: Module, node: ast.AST) -> bool:
    """Whether a name is the target of a statement of an experiment's body."""
    statement = module.table.parents.get(node)
    holder = module.table.parents.get(statement) if statement is not None else None
    is_target = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    return is_target and isinstance(holder, ast.ClassDef) and is_experiment(it, Class(module, holder))
