"""The state of one reading: its frames, what it found, and what it need not read again."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

from jaxmigrate.flow.conditions import known_truth
from jaxmigrate.flow.variance.frames import Arguments, Frame
from jaxmigrate.flow.variance.lattice import (
    ARRAY,
    DATA,
    EQUAL,
    GIVEN,
    KEPT,
    MOST_CHOICES,
    NO_CAUSE,
    OTHERS,
    PASSING,
    SUMMED,
    AbstractValue,
    Callee,
    Cause,
    Choice,
    Fields,
    Level,
    doubtful,
    inside,
    mapped,
    replace,
    union,
    unsure,
    whole,
)
from jaxmigrate.flow.variance.library import is_host_source
from jaxmigrate.flow.variance.mode import Mode
from jaxmigrate.flow.variance.mutation_summary import RECEIVER, STARRED
from jaxmigrate.flow.variance.name_call_graph import NameCallGraph
from jaxmigrate.flow.variance.process_taint import ProcessTaint
from jaxmigrate.flow.variance.summary import Reading
from jaxmigrate.program.callers import Callers
from jaxmigrate.program.modules import Module
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Scope
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
    Parameter,
    Partial,
    Value,
    Values,
)
from jaxmigrate.records import made, record

OUTSIDE_KEY = "from outside"  # no parameter, but a name of the module or of a function around
KEY = re.compile("(^|_)(rng|key|prng)s?(_|$)", re.IGNORECASE)
REDUCING = re.compile("pmean|psum|reduce|gather|sync|average|replica", re.IGNORECASE)  # by its name, whoever wrote it
APPLIED = frozenset({"apply", "init", "init_with_output"})  # what runs a network's methods
APPLYING = frozenset(  # dividing nothing
    {"update", "apply_gradients", "apply_gradient", "replace", "append", "init"}
    | {"cast_to_param", "cast_to_compute", "all_finite", "select_tree", "scale", "unscale"}
)
DEEPEST = 24
MOST_WORK = 20_000  # expressions evaluated in one reading, after which every call is unknown
ALL_WORK = 50_000  # after which it is given up, and nothing is known of its result
LENIENT_MOST = 8_000  # after which a lenient reading enters no more functions
NETWORKS_MOST = 1_500  # after which, of these, none in networks that are applied
LENIENT_WORK = 16_000  # after which it is given up
UNMAPPED_MOST = 250  # after which a reading of what no map in sight leads to enters no more functions
OUTSIDE = "outside"


@record(frozen=False)
class Shared:
    """What all readings of one project share."""

    hidden: NameCallGraph
    hosts: ProcessTaint
    callers: Callers
    identities: ProcessTaint  # of hosts' sources those alone that tell which process it is
    storing: dict[ast.AST, bool] = made(factory=dict)  # whether a function changes what is not its own
    free: dict[ast.AST, tuple[tuple[str, bool], ...]] = made(factory=dict)  # names that functions capture


Change: TypeAlias = "tuple[AbstractValue, AbstractValue]"  # an object, and what is stored in it
Expression: TypeAlias = "Callable[[Run, Any, Frame], AbstractValue]"
Applying: TypeAlias = "Callable[[Run, AbstractValue, Arguments, ast.Call | None, Frame | None], AbstractValue]"


@record
class Transfers:
    """The transfer functions that others are written in terms of, each of whose files knows no more than a `Run`.

    `expressions` gives a value by kind of node; what has none there is a function of its operands. `application` calls
    a value, `callee` says what that does when it is called, None where that is not in sight.
    """

    expressions: Mapping[type[ast.expr], Expression]
    application: Applying
    callee: Callable[[Run, AbstractValue], Callee | None]


@record
class Memo:
    """What a call gave for such arguments, what of its kinds it counted, and what it changed."""

    result: AbstractValue
    counted: tuple[int, ...]
    arguments: Arguments
    changed: Sequence[Change]


@record(eq=False, frozen=False)
class Run:
    """One reading of one function: the evaluator that transfer functions are given.

    `clearing`: whether reductions make values equal; off while a gradient's dependence is asked for. `shadowed`: axes
    that an inner vmap binds again, None standing for unknown ones. `doubt`: how many branches deep that processes may
    not agree on. `batched`: how many vmaps deep. `spilled`: that something outside of what is read was changed, so that
    what is read from there is not known, and the level of what was stored there; None where nothing was. `home`: the
    module of what is read. `customs` and `cleared` count the functions called that have a derivative of their own, and
    the reductions that have made something equal.
    """

    transfers: Transfers
    axes: frozenset[str]
    resolver: Resolver
    shared: Shared
    mode: Mode
    home: Module | None
    spilled: Level | None
    reading: Reading = made(factory=Reading)
    active: list[ast.AST] = made(factory=list)
    frames: list[Frame] = made(factory=list)
    entered: set[ast.AST] = made(factory=set)
    memo: dict[object, Memo] = made(factory=dict)
    outside: dict[ast.expr, AbstractValue] = made(factory=dict)
    clearing: bool = True
    shadowed: frozenset[str | None] = frozenset()
    doubt: int = 0
    batched: int = 0
    changes: int = 0
    changed: list[Change | None] = made(factory=list)  # each of them, None where that may be anything
    customs: int = 0
    cleared: int = 0
    hosted: int = 0
    reductions: int = 0
    gathered: int = 0  # how many values of a device's own that all others were given, too
    sent: int = 0  # how many values went from one device to others
    work: int = 0
    modules: list[Module] = made(factory=list)  # of the functions that are being read
    untold: Cause = NO_CAUSE  # of the last test that processes may not agree on
    spills: Level | None = None
    constructed: dict[object, Instance] = made(factory=dict)  # objects of classes in sight, by where they are made
    escaped: set[object] = made(factory=set)  # where what was stored outside may have been made
    applying: int = 0  # how many networks deep
    differentiating: int = 0  # how many derivatives deep: what is made there is a part of a loss
    before_networks: int = 0  # the work outside of networks
    after_networks: int = 0  # the work when the last one was left
    in_networks: int = 0  # how many of the reductions are there
    variables: Level = Level.NO  # of the networks that are applied
    derived: bool = False  # a derivative was defined that sees what differs
    gave_up: bool = False

    @property
    def agrees(self) -> bool:
        """Whether all devices that are asked about go one way where Python tests something."""
        return self.mode.lenient or self.mode.local

    @property
    def hosts(self) -> ProcessTaint:
        """What says whether a value that is captured may differ between the devices that are asked about."""
        return self.shared.identities if self.mode.local else self.shared.hosts

    @property
    def is_tired(self) -> bool:
        """Whether so many expressions have been read that no more functions are entered."""
        if not self.mode.lenient:
            return self.work > MOST_WORK
        if self.mode.unmapped:
            return self.work > UNMAPPED_MOST
        return self.work > LENIENT_MOST or (self.applying > 0 and self.work - self.before_networks > NETWORKS_MOST)

    def counts(self) -> tuple[int, ...]:
        """What is counted of the calls that are read, so far."""
        return self.customs, self.cleared, self.gathered, self.sent, self.reductions, self.in_networks

    def count_again(self, more: tuple[int, ...]) -> None:
        """Counts what a call has counted before that is not read again."""
        counted = [now + one for now, one in zip(self.counts(), more, strict=True)]
        self.customs, self.cleared, self.gathered, self.sent, self.reductions, self.in_networks = counted

    def quiet(self) -> bool:
        """Whether events are not recorded: a body is being read a second time, for its gradient."""
        return not self.clearing

    # What the transfer functions give

    def evaluate(self, node: ast.expr, frame: Frame) -> AbstractValue:
        """The value of an expression in a frame."""
        self.work += 1
        if self.work > (LENIENT_WORK if self.mode.lenient else ALL_WORK):
            self.gave_up = True
            return unsure(EQUAL)
        transfer = self.transfers.expressions.get(type(node))
        found = transfer(self, node, frame) if transfer is not None else self.operands(node, frame)
        return replace(found, host=False) if found.host and (self.mode.lenient or self.mode.local) else found

    def operands(self, node: ast.expr, frame: Frame) -> AbstractValue:
        """What an operation gives of which nothing is known but its operands."""
        children = [c for c in ast.iter_child_nodes(node) if isinstance(c, ast.expr)]
        return union([self.evaluate(child, frame) for child in children])

    def apply(
        self, function: AbstractValue, arguments: Arguments, node: ast.Call | None, frame: Frame | None = None
    ) -> AbstractValue:
        """Calls a value."""
        return self.transfers.application(self, function, arguments, node, frame)

    def known_callee(self, function: AbstractValue) -> Callee | None:
        """What a value does when it is called; None where that is not in sight."""
        return self.transfers.callee(self, function)

    # Values from outside of what is read

    def captured(self, node: ast.Name, frame: Frame) -> AbstractValue:
        """What a name stands for that no frame holds."""
        module = frame.module
        if node not in self.outside:
            self.outside[node] = unsure(EQUAL)  # for `step = partial(step, rng)`, which leads back to itself
            found = self._captured(node, module)
            if self.mode.lenient and found.level == Level.NO and found.callee is None and KEY.search(node.id):
                # a key from outside is given as well as a parameter
                found = replace(found, marks=found.marks | {GIVEN, f"{KEPT}{OUTSIDE_KEY}"})
            self.outside[node] = replace(found, host=False) if self.agrees else found
        return self.outside[node]

    def _captured(self, node: ast.Name, module: Module) -> AbstractValue:
        scope = module.table.scope_of.get(node)
        holder = scope.lookup(node.id) if scope is not None else None
        if holder is not None and holder.node in self.entered:
            return unsure(EQUAL)  # a variable of a call that is not in sight any more
        values = self._settled(node, holder, module) or self.resolver.values(node, module)
        if self.mode.lenient and Constant(None) in values:  # where an import failed, which has no attributes
            imported = tuple(v for v in values if v != Constant(None))
            values = imported if all(isinstance(v, External | ModuleValue) for v in imported) else values
        value = values[0] if len(values) == 1 else UNKNOWN
        key = ("name", id(holder), node.id)
        if self.mode.lenient and 1 < len(values) <= MOST_CHOICES:
            return self.kept(AbstractValue(callee=self.any_of(values, key)), key)
        listed = isinstance(value, Constant) and isinstance(value.value, tuple)
        if listed and holder is not None and any(isinstance(b.value, ast.List) for b in holder.bindings[node.id]):
            return self.kept(AbstractValue(static=value), key)
        return self.static(value, key, lambda: self.hosts.differs(node, module), node)

    def _settled(self, node: ast.Name, holder: Scope | None, module: Module) -> Values:
        """What a name is bound to by `f = g if flag else h`, where the program settles the flag; else nothing."""
        bindings = holder.bindings[node.id] if holder is not None and not self.mode.lenient else []
        made = bindings[0].value if len(bindings) == 1 and not bindings[0].path else None
        truth = known_truth(self.resolver, made.test, module) if isinstance(made, ast.IfExp) else None
        if truth is None or not isinstance(made, ast.IfExp):
            return ()
        return self.resolver.values(made.body if truth else made.orelse, module)

    def any_of(self, values: Values, key: object) -> Callee | None:
        """One of several functions that a name may stand for."""
        ways = [self.known_callee(self.static(v, (key, v), lambda: False)) for v in values if v != UNKNOWN]
        known = tuple(way for way in ways if way is not None)
        return Choice(known) if known else None

    def kept(self, value: AbstractValue, key: object) -> AbstractValue:
        """An object that outlives what is read: not known any more once something outside has been changed."""
        place = frozenset([(OUTSIDE, key)])
        if self.spilled is not None:
            value = EQUAL if self.spilled == Level.NO else unsure(EQUAL)
        return replace(value, places=place, own=None)

    def static(
        self, value: Value, key: object, differs: Callable[[], bool], at: ast.AST | None = None
    ) -> AbstractValue:
        """A value known before anything runs, or at least captured from where nothing is mapped."""
        if isinstance(value, Parameter | Member) and (self.mode.lenient or not self.mode.trusting):
            passed = self._passed(value)
            if self.mode.lenient and 1 < len(passed) <= MOST_CHOICES and UNKNOWN not in passed:
                return self.kept(AbstractValue(callee=self._either_of(passed, key)), key)
            value = passed[0] if len(passed) == 1 and passed != (UNKNOWN,) else value
        match value:
            case Constant(value=content):
                return replace(ARRAY if isinstance(content, int | float | complex) else EQUAL, static=value)
            case External(name=name) if is_host_source(name):
                return replace(unsure(EQUAL, self.cause(name, at, host=True)), static=value)
            case External() | ModuleValue() | Class() | Function():
                return AbstractValue(static=value)
        if self.mode.trusting:
            self.reading.assumed = True
        elif differs():
            name = key[-1] if isinstance(key, tuple) and isinstance(key[-1], str) else ""
            return replace(unsure(EQUAL, self.cause(name, at, host=True)), static=value)
        return self.kept(AbstractValue(static=value), key)

    def _passed(self, value: Parameter | Member) -> Values:
        """What all calls pass for a parameter, and, for rules, for the field of an object."""
        if isinstance(value, Parameter):
            return self.shared.callers.passed(value)
        owner = value.owner
        return (
            self.shared.callers.held(owner.cls, value.name) if self.mode.lenient and isinstance(owner, Instance) else ()
        )

    def _either_of(self, values: Values, key: object) -> Callee | None:
        """One of several functions, all of which are in sight."""
        known = self.any_of(values, key)
        ways = len(known.ways) if isinstance(known, Choice) else 1
        return known if known is not None and ways == len(values) else None

    # Doubt

    def settle(self, value: AbstractValue) -> AbstractValue:
        """A value as it is stored here: not certain in a branch that processes may not agree on."""
        return doubtful(value, self.untold) if self.doubt else value

    # Calls of what is not in sight

    def cause(self, name: str, node: ast.AST | None, *, host: bool = False) -> Cause:
        """Something by its name that stands in what is read now."""
        return Cause(name, node, self.modules[-1] if self.modules else self.home, host=host)

    def hidden(self, name: str, inputs: AbstractValue, node: ast.AST | None = None) -> AbstractValue:
        """The result of a function of its inputs whose code is somewhere in the program, or in a library."""
        if inputs.host and not self.agrees:
            return unsure(inputs)
        if inputs.marks and name not in APPLYING:
            self.reading.scaled.update(mark for mark in inputs.marks if mark.startswith(SUMMED))
            inputs = replace(inputs, marks=inputs.marks - PASSING)
        level = inputs.level
        if self.mode.trusting:
            self.reading.assumed = True
        elif level == Level.NO and self.shared.hidden.introduces_variance(name, self.axes, self.home):
            return unsure(inputs, self.cause(name, node))
        elif level == Level.YES and self.shared.hidden.reduces(name, self.axes, self.home):
            level = Level.MAY
            inputs = replace(inputs, cause=self.cause(name, node))
        if self.mode.lenient and REDUCING.search(name):
            level = min(level, Level.MAY)
            inputs = replace(inputs, gradient=False, marks=inputs.marks - {DATA})
        elif (inputs.gradient or DATA in inputs.marks) and self.reduces(name):
            inputs = replace(inputs, gradient=False, marks=inputs.marks - {DATA})
        return replace(inputs, level=level, parts=None, fields=None, kind="unknown", callee=None, static=None)

    def change_given(self, name: str, arguments: Arguments, owner: Value | None = None) -> None:
        """A function, or an object's method, that is not in sight may be the program's and change what it is given."""
        self._change_some(lambda: self.shared.hidden.changes(name, self.home), arguments)
        if isinstance(owner, Instance) and name in APPLIED:
            self._change_in_network(owner, arguments)

    def _change_in_network(self, network: Instance, arguments: Arguments) -> None:
        """What a network is applied to reaches a method of its class, behind the variables: `apply(variables, x)`."""
        method = arguments.named.get("method", EQUAL).static
        called = method.value if isinstance(method, Constant) else "__call__"
        scopes = [cls.module.table.own_scope[cls.node] for cls in self.resolver.lineage(network.cls)]
        nodes = [one.node for scope in scopes for one in scope.bindings.get(str(called), ())]
        nodes += [method.node] if isinstance(method, Function) else []
        inner = Arguments(arguments.given[1:], arguments.named, arguments.rest)
        self._change_some(lambda: self.shared.hidden.changes_of_bodies(nodes, self.home), inner)

    def _change_some(self, changed_by: Callable[[], frozenset[int | str]], arguments: Arguments) -> None:
        """Some arguments, by their positions and names, are changed, if there are any that can be."""
        given = [*enumerate(arguments.given), *arguments.named.items(), (STARRED, arguments.rest)]
        held = [(place, one) for place, one in given if one is not None and one.places and one.kind != "array"]
        changed = changed_by() if held and not self.mode.trusting else frozenset()
        for place, one in held if changed - {RECEIVER} else ():
            if place in changed or STARRED in changed or place == STARRED:
                self.change_within(one, stored_of(arguments.all()))

    def defines(self, name: str) -> bool:
        """Whether the program has a function or method of its own of this name."""
        self.reading.assumed |= self.mode.trusting
        return not self.mode.trusting and self.shared.hidden.is_defined(name)

    def reduces(self, name: str) -> bool:
        """Whether a function or method of the program's own of this name may reduce what it is given."""
        if not self.defines(name):
            return False
        hidden = self.shared.hidden
        return (
            hidden.reduces_itself(name, self.home) if self.mode.lenient else hidden.reduces(name, self.axes, self.home)
        )

    def overrides(self, owner: Instance, name: str) -> bool:
        """Whether the object may be of a class that has its own method of this name."""
        self.reading.assumed |= self.mode.trusting
        return not self.mode.trusting and self.shared.hidden.is_overridden(owner.cls.node.name, name)

    # Mutation

    def made_of(self, value: AbstractValue) -> list[Instance]:
        """The objects of classes in sight that a value may be, or hold, which the body has made itself."""
        return [] if not self.constructed else [self.constructed[p] for p in value.origins if p in self.constructed]

    def changes_object(self, value: AbstractValue, name: str, arguments: Arguments | None = None) -> bool:
        """Whether a method of the program's of this name may change a value whose class is not known."""
        if self.mode.trusting:
            return False
        outside = any(isinstance(place, tuple) and place[:1] == (OUTSIDE,) for place in value.origins)
        body = None if outside or not self.active else self.active[0]
        starred = arguments is None or arguments.rest is not None
        call = None if starred or arguments is None else (len(arguments.given), [*arguments.named])
        return self.shared.hidden.changes_object(name, self.home, body, call)

    def change_within(self, target: AbstractValue, stored: AbstractValue) -> None:
        """Something is stored in an object, or in any that it holds, by code that is not followed."""
        self.change(replace(target, own=None), stored)

    def change(self, target: AbstractValue, stored: AbstractValue) -> None:
        """Something is stored in an object: every variable that may hold it, or a part of it, is no longer certain."""
        self.changes += 1
        stored = self.settle(stored)
        self.changed.append((target, stored))
        origins = target.origins
        if any(isinstance(p, tuple) and p and p[0] == OUTSIDE for p in origins) or not self.escaped.isdisjoint(origins):
            self.spill(stored)
        if not origins:
            return
        for frame in self.frames:
            for name, value in frame.names.items():
                if value.places.isdisjoint(origins):
                    continue
                if (value.gradient and not stored.gradient) or not _is_as_weak(value, stored):
                    frame.names[name] = replace(weaker(value, stored), gradient=value.gradient and stored.gradient)

    def spill(self, stored: AbstractValue) -> None:
        """Something outside of what is read is changed."""
        level = Level.NO if _is_equal(self.settle(stored)) else Level.MAY
        self.spills = level if self.spills is None else max(self.spills, level)
        self.escaped |= stored.places

    def forget(self) -> None:
        """Anything may have been changed, here and outside, but for arrays and the names of functions' variables."""
        self.changes += 1
        self.changed.append(None)
        self.spill(unsure(EQUAL))
        for frame in self.frames:
            frame.names = {n: value if value.kind == "array" else unsure(value) for n, value in frame.names.items()}

    def live(self, frame: Frame) -> None:
        """Drops the frames of calls that have ended, but for those that a function made there still sees."""
        if not frame.captured:
            self.frames.remove(frame)


def _is_equal(value: AbstractValue) -> bool:
    """Whether all of a value is one thing for all devices, and for all processes."""
    each = (*(value.parts or ()), *(value.fields or {}).values())
    return inside(value) == Level.NO and not value.host and all(_is_equal(one) for one in each)


def weaker(value: AbstractValue, stored: AbstractValue) -> AbstractValue:
    """A value in which something may have been replaced by another, or to which it may have been added."""
    if _is_as_weak(value, stored):
        return value
    level = value.level if inside(value) == inside(stored) == value.level else Level.MAY
    flat = replace(value, parts=None, fields=None, static=None, callee=None, kind="unknown", reduced=False)
    both = union([flat, stored])
    flat = replace(
        flat,
        level=level,
        gradient=both.gradient,
        updated=both.updated,
        host=both.host,
        places=value.places | stored.places,
    )
    if isinstance(value.static, Instance) and value.fields is not None and not _has_functions((value, stored)):
        return replace(flat, static=value.static, fields=Fields({OTHERS: whole(flat)}))
    return flat


def stored_of(values: Iterable[AbstractValue]) -> AbstractValue:
    """What code out of sight may store of what it is given."""
    each = [whole(one) for one in values]
    return replace(union(each), places=frozenset[object]().union(*(one.places for one in each)))


def _has_functions(values: Iterable[AbstractValue]) -> bool:
    """Whether objects may hold functions, which may stand where their classes have methods."""
    inner = [one for value in values for one in (*(value.parts or ()), *(value.fields or {}).values())]
    found = any(one.callee is not None or not isinstance(one.static, Constant | Instance | None) for one in inner)
    return found or (bool(inner) and _has_functions(inner))


def _is_as_weak(value: AbstractValue, stored: AbstractValue) -> bool:
    """Whether storing that in a value tells nothing new of it, as is mostly so where much is stored in one object."""
    return (
        value.level == Level.MAY
        and value.kind == "unknown"
        and value.parts is None
        and value.fields is None
        and value.callee is None
        and value.static is None
        and not value.reduced
        and (value.gradient or not stored.gradient)
        and (value.updated or not stored.updated)
        and (value.host or not stored.host)
        and stored.places <= value.places
    )


def certain(value: AbstractValue, level: Level) -> AbstractValue:
    """A value all of which is at a level, with its structure kept."""
    return mapped(value, lambda v: replace(v, level=level))


def at_least(value: AbstractValue, level: Level) -> AbstractValue:
    """A value that also depends on something at this level."""
    if level == Level.NO:
        return value
    return mapped(value, lambda v: replace(v, level=max(v.level, level), reduced=False))


def widened(before: AbstractValue, after: AbstractValue) -> AbstractValue:
    """The limit of a loop that does not settle."""
    return before if before == after else unsure(union([before, after]))


def argument_values(value: Value) -> tuple[Value, tuple[object, ...]]:
    """The callee and arguments of a partial or application."""
    assert isinstance(value, Partial | Application)
    return value.callee, value.arguments
