"""The plain data that following host code builds up: calls and their arguments, frames, operations, loans."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple, TypeAlias

from jaxmigrate.flow.layout.causes import Reason
from jaxmigrate.flow.layout.kinds import Kind
from jaxmigrate.flow.layout.values import Abstract, Blocker, Group, Numpys, same
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import Scope
from jaxmigrate.program.syntax import has_stars
from jaxmigrate.program.values import Function

OBSERVED = "observed"  # the form of what is made out of sight, so that its device axis has to be taken off again
PRESUMED = "presumed"  # the same, where no run has shown that it has one
BATCH = "batch"  # the kind of what a reader presumes to be one, though nothing in sight split it
ENTRY = "["  # how the name of an entry of a dictionary begins: no field of an object has such a name
Key: TypeAlias = tuple[object, ...]
Env: TypeAlias = dict[str, Abstract]
Place: TypeAlias = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Keys:
    """What a dictionary of results has at a place: its keys, in the order that JAX gives them."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Flag:
    """What a test asks that gives one answer as long as a body runs: its text, and what binds the names in it.

    `proven` where that is certain; `module` and `node` say where it is asked first, and tell no flags apart.
    """

    text: str
    owners: tuple[ast.AST, ...]
    proven: bool
    module: Module = field(compare=False)
    node: ast.expr = field(compare=False)


@dataclass(frozen=True, slots=True)
class Asked:
    """A test whether there are more devices than one, or, where not `sense`, whether there are not.

    `local` are those of one process. `named` is their number, where only its name says what it counts.
    """

    local: bool
    sense: bool
    named: ast.expr | None = None
    module: Module | None = None


@dataclass(slots=True)
class Devices:
    """Whether a program is followed for more devices than one, of a process (`local`) and in all (`every`).

    `asked` are the tests that decides, `passed` the statements that have them. Where it is followed once more, for
    fewer devices, `roots` are the functions that had no caller in sight, and `evaluated` the expressions that ran.
    """

    local: bool = True
    every: bool = True
    asked: dict[ast.expr, Asked] = field(default_factory=dict)
    passed: set[ast.AST] = field(default_factory=set)
    roots: frozenset[ast.AST] | None = None
    evaluated: set[ast.AST] | None = None

    def several(self, local: bool) -> bool:
        """Whether there are more of these than one."""
        return self.local if local else self.every


Assumed: TypeAlias = frozenset[tuple[Flag, bool]]
Context: TypeAlias = ast.Call | tuple[ast.Call, Assumed]


@dataclass(slots=True, eq=False)
class Op:
    """An expression that makes a stacked array or takes one apart; its text changes with the layout of `group`.

    `form` says how it is written; `fetched` that the result goes to the host and nowhere else; `sorts` that it puts the
    keys of a dictionary in another order, as all that maps over trees does.
    """

    kind: Kind
    module: Module
    node: ast.expr
    operand: ast.expr
    group: Group
    form: str = ""
    fetched: bool = False
    sorts: bool = False
    numpys: Numpys = Numpys.NO

    @property
    def puts_in_order(self) -> bool:
        """Whether it may give the keys of a dictionary in another order than that in which it is given them."""
        return self.sorts or (self.form == "tree" and self.group.find().has_own_order)

    @property
    def is_numpys(self) -> bool:
        """Whether it makes an array of numpy's, which is no array on devices yet."""
        return self.kind == "replicate" and self.numpys is Numpys.MADE


@dataclass(slots=True, eq=False)
class SiteCall:
    """A call of a mapped function, with what it is given by position, and after it by keyword.

    What is given by keyword stands in the order of the names, or `in_place`, in that of the call and the parameters.
    The object whose mapped method is called comes first.
    """

    site: ast.expr
    module: Module
    node: ast.Call
    arguments: list[Abstract]
    in_place: bool = False
    receiver: ast.expr | None = None  # the object, of a mapped method

    def is_spread(self, place: ast.expr) -> bool:
        """Whether an expression is what a star spreads, and stands for several arguments."""
        return any(isinstance(one, ast.Starred) and one.value is place for one in self.node.args)

    @property
    def places(self) -> list[ast.expr]:
        """The expressions of the arguments in their order; none where stars hide some.

        What a star spreads stands for each of them.
        """
        node = self.node
        first = [self.receiver] if self.receiver is not None else []
        stars = [one for one in node.args if isinstance(one, ast.Starred)]
        if has_stars(node):
            hidden = len(self.arguments) - len(first) - len(node.args) + 1
            if len(stars) != 1 or node.keywords or hidden < 0:
                return []
            at = node.args.index(stars[0])
            return [*first, *node.args[:at], *[stars[0].value] * hidden, *node.args[at + 1 :]]
        by_name = sorted(node.keywords, key=lambda keyword: keyword.arg or "")
        return [*first, *node.args, *(keyword.value for keyword in (node.keywords if self.in_place else by_name))]

    @property
    def given(self) -> list[ast.expr]:
        """The same with the elements of a tuple that a star spreads: `step(*(w, x))`."""
        places = self.places
        return [self._element(place, number - places.index(place)) for number, place in enumerate(places)]

    def _element(self, place: ast.expr, number: int) -> ast.expr:
        if not isinstance(place, ast.Tuple | ast.List) or not self.is_spread(place) or number >= len(place.elts):
            return place
        return place if any(isinstance(one, ast.Starred) for one in place.elts) else place.elts[number]


@dataclass(frozen=True, slots=True)
class Given:
    """The arguments of a call as the interpreter sees them; `open` where a star hides some of them.

    The first `sure` positional ones, and those by name but for "**", stand where they are all the same. `places` are
    the expressions that stand for arguments of their own, by position and by name. `star` is the one argument that
    stands for some number of positional ones, if that is all that is hidden; `mapping` is a tree that is spread by its
    names; `waits` where what is spread is not known yet.
    """

    positional: tuple[Abstract, ...]
    named: Mapping[str, Abstract]
    open: bool = False
    sure: int = 0
    places: Mapping[int | str, ast.expr] = field(default_factory=dict)
    star: int | None = None
    mapping: Abstract | None = None
    waits: bool = False

    def is_like(self, other: Given) -> bool:
        """Whether others are the same as far as the fixpoint is concerned."""
        alike = len(self.positional) == len(other.positional) and self.named.keys() == other.named.keys()
        return (
            alike
            and self.open == other.open
            and all(map(same, self.positional, other.positional))
            and all(same(value, other.named[name]) for name, value in self.named.items())
        )

    def everything(self) -> list[Abstract]:
        """All of them."""
        return [*self.positional, *self.named.values(), *([] if self.mapping is None else [self.mapping])]


@dataclass(slots=True)
class Frame:
    """One function (or module or class body) while it is interpreted. `env` is None where control does not get.

    `context` is the call that runs it, where each is followed by itself, and `assumed` are the outcomes of flags that
    it is followed for, `told` those of parameters that its callers tell; `captured` are the variables of it that
    functions read which can run by now, and `unnamed` the functions of each name that have been defined while nothing
    had named it.
    """

    module: Module
    scope: Scope
    function: Function | None
    env: Env | None
    context: Context | None = None
    assumed: Assumed = frozenset()
    told: Mapping[str, bool] = field(default_factory=dict)
    captured: set[Key] = field(default_factory=set)
    unnamed: dict[str, list[ast.AST]] = field(default_factory=dict)
    breaks: list[list[Env]] = field(default_factory=list)
    continues: list[list[Env]] = field(default_factory=list)
    reached: list[Env] = field(default_factory=list)


def blocker_at(reason: Reason, node: ast.AST, frame: Frame) -> Blocker:
    """A blocker at a place in a frame's module."""
    return Blocker(reason, frame.module, node)


def given_of(values: Sequence[Abstract]) -> Given:
    """Positional arguments."""
    return Given(tuple(values), {})


class Reading(IntEnum):
    """When a function reads what it is given, if that is all that it does with it."""

    KEEPS = 0  # it does something else
    LATER = 1  # a function that it makes may read it at any time
    AT_ONCE = 2  # before it returns


class Use(NamedTuple):
    """When something is read, and whether what is made of it goes back to who called."""

    when: Reading
    given_back: bool = False

    @property
    def only(self) -> Reading:
        """When it is read by a function that does nothing else with it: one that gives it back does."""
        return Reading.KEEPS if self.given_back else self.when


@dataclass(frozen=True, slots=True, eq=False)
class Loan:
    """What the expression `place` lends: the arrays of `owner`, to a reader for which they are those of `lent`."""

    place: ast.expr
    module: Module
    owner: Group
    lent: Group

    @property
    def is_open(self) -> bool:
        """Whether owner and reader may differ."""
        return self.owner.find() is not self.lent.find()
