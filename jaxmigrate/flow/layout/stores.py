"""The stores of what following host code builds up, each of one subject, kept from pass to pass."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from jaxmigrate.flow.layout import module_names
from jaxmigrate.flow.layout.model import Assumed as Outcomes
from jaxmigrate.flow.layout.model import Context, Flag, Given, Loan, Op, SiteCall
from jaxmigrate.flow.layout.values import Abstract, Blocker, Group, Method, Tup
from jaxmigrate.program.modules import Module, Project
from jaxmigrate.program.scopes import FunctionNode
from jaxmigrate.program.trust import Assumption
from jaxmigrate.program.values import Class, Function

Unit: TypeAlias = tuple[ast.AST, Context | None]  # a body, and the call that it runs for


@dataclass(slots=True)
class Operations:
    """The expressions that make stacked arrays or take them apart."""

    ops: dict[ast.expr, Op] = field(default_factory=dict)
    views: dict[ast.expr, Group] = field(default_factory=dict)  # by what makes them, of buffers that are written into
    twice: set[ast.expr] = field(default_factory=set)
    made_whole: set[ast.expr] = field(default_factory=set)  # that make more than tuples, whose parts may differ
    taken_whole: set[ast.expr] = field(default_factory=set)  # what takes the first slices of more than one dictionary
    plain_ops: set[ast.expr] = field(default_factory=set)
    callees: dict[tuple[ast.expr, str], set[object]] = field(default_factory=dict)  # what calls may call, or apply
    unfollowed: dict[ast.expr, dict[FunctionNode, None]] = field(default_factory=dict)  # what runs functions unseen
    plain_indices: set[ast.expr] = field(default_factory=set)  # subscripts of what has no device axis


@dataclass(slots=True)
class Maps:
    """What is mapped where, and what its calls give it, by the expression of the site."""

    calls: dict[tuple[ast.expr, ast.Call, int], SiteCall] = field(default_factory=dict)
    by_keyword: dict[ast.expr, tuple[str, ...]] = field(default_factory=dict)  # what is given so, the last arguments
    mapped: dict[ast.expr, Abstract] = field(default_factory=dict)
    methods: dict[ast.expr, Class] = field(default_factory=dict)  # the classes of the sites that map methods
    compiled: set[ast.expr] = field(default_factory=set)  # the sites of maps under `jax.jit`
    bound_sites: set[ast.expr] = field(default_factory=set)  # attributes of objects: a call may give them the object
    unmapped: set[ast.expr] = field(default_factory=set)  # calls that may be of other than mapped functions
    records: dict[object, Class | None] = field(default_factory=dict)  # the classes of what calls make, if it is one
    sizes: dict[tuple[ast.expr, int], int] = field(
        default_factory=dict
    )  # of tuples given to a site; 0 where not all are

    def are_tuples(self, site: ast.expr, index: int, value: Abstract) -> bool:
        """Whether an argument is a tuple of as many parts at every call, this one too."""
        size = len(value.parts) if isinstance(value, Tup) and not value.names else 0
        if self.sizes.setdefault((site, index), size) != size:
            self.sizes[site, index] = 0
        return self.sizes[site, index] > 0


@dataclass(slots=True)
class Wrappers:
    """Functions that hold another: partials, and what flax's `pad_shard_unpad` makes, by the calls that make them."""

    bound: dict[ast.expr, tuple[Abstract, Given]] = field(default_factory=dict)
    padded: dict[ast.Call, Abstract] = field(default_factory=dict)
    padded_calls: set[ast.Call] = field(default_factory=set)  # of what it made
    inside: list[ast.Call] = field(default_factory=list)  # the partials that are being called


@dataclass(slots=True)
class Lending:
    """Which expressions lend arrays to code that only reads them, and what speaks against a loan."""

    loans: dict[ast.expr, Loan] = field(default_factory=dict)
    unlent: set[ast.expr] = field(default_factory=set)
    looked: dict[ast.expr, bool] = field(default_factory=dict)  # read where they stand; in short or not
    several: bool = False  # processes, each of which would have a part only, or meshes
    read_later: set[ast.expr] = field(default_factory=set)
    of_trees: set[ast.expr] = field(default_factory=set)  # fields of what may be a tree itself
    on_host: set[Group] = field(default_factory=set)
    shown: set[Group] = field(default_factory=set)  # as text


@dataclass(slots=True)
class Blockers:
    """What went where nobody follows it, and what may reach it there."""

    gone: set[object] = field(default_factory=set)  # what can be called
    let_go: dict[Method, Abstract] = field(default_factory=dict)
    escaped: dict[ast.expr, Blocker] = field(default_factory=dict)  # sites
    blocked_classes: dict[ast.ClassDef, Blocker] = field(default_factory=dict)
    passed_on: dict[ast.ClassDef, Blocker] = field(default_factory=dict)  # whose objects libraries may iterate over
    replaced: dict[ast.AST, tuple[str, Blocker]] = field(
        default_factory=dict
    )  # functions of the project, by their names
    reflections: dict[ast.expr, Blocker] = field(default_factory=dict)  # what reaches variables by name
    beyond: dict[ast.AST, Blocker] = field(default_factory=dict)  # what looks at how the program runs
    loaded: dict[ast.AST, tuple[Module | None, Blocker]] = field(
        default_factory=dict
    )  # reads of `sys.modules`, with the module where it is only the one that they stand in
    modules: dict[Module, Blocker] = field(default_factory=dict)  # that are passed on
    of_modules: set[ast.expr] = field(default_factory=set)  # the reflections that reach variables of modules alone


@dataclass(slots=True)
class Assumed:
    """What is taken for granted, and of what."""

    equal: dict[Group, Assumption] = field(default_factory=dict)  # outputs that are declared equal on all devices
    apart: dict[Module, dict[Assumption, None]] = field(default_factory=dict)  # of those who could use modules
    bases: dict[Class, tuple[Assumption, ...]] = field(default_factory=dict)  # of bases that the project does not hold
    imports: dict[ast.expr, Assumption] = field(default_factory=dict)  # of the modules that calls import
    guessed: set[ast.expr] = field(default_factory=set)  # sites whose functions call or hold what is not in sight
    reducing: set[ast.expr] = field(default_factory=set)  # sites whose functions reduce over the mapped axis
    uncalled: dict[FunctionNode, Assumption] = field(default_factory=dict)  # why nobody gets what functions return


@dataclass(slots=True)
class Bodies:
    """The functions that run, and what their bodies read when they were last run."""

    functions: dict[FunctionNode, Function] = field(default_factory=dict)
    contexts: dict[FunctionNode, dict[Context | None, bool]] = field(default_factory=dict)  # the calls told apart
    followed_once: dict[FunctionNode, bool] = field(default_factory=dict)
    device: set[FunctionNode] = field(default_factory=set)  # what runs on devices
    told: dict[tuple[FunctionNode, Context], dict[str, bool]] = field(default_factory=dict)  # outcomes, by parameter
    object_flags: dict[ast.ClassDef, Flag | None] = field(default_factory=dict)  # that objects keep, by their family
    of_object: dict[tuple[FunctionNode, Context], Outcomes] = field(default_factory=dict)  # by methods of one object
    units: dict[ast.AST, set[Context | None]] = field(default_factory=dict)  # those that have run, by their nodes
    readers: dict[object, set[Unit]] = field(default_factory=dict)  # which of them have read what stands for a key
    stale: set[Unit] = field(default_factory=set)  # those that have read what has changed since
    implicit: dict[Function, Class] = field(default_factory=dict)  # those that Python calls, of objects of which class
    runs: int = 0


@dataclass(slots=True)
class Looks:
    """The names and attributes that were looked at or set."""

    loads: set[ast.expr] = field(default_factory=set)
    run_reads: set[ast.expr] = field(default_factory=set)  # attributes that were read while the program was followed
    known_targets: set[ast.AST] = field(default_factory=set)  # attributes that are set, of objects that are known
    receivers: dict[ast.Attribute, Abstract] = field(default_factory=dict)


class SharedNames:
    """Which variables of the modules that take part are seen by others than what binds them."""

    def __init__(self, modules: Iterable[Module], project: Project) -> None:
        self._project = project
        self.known_modules: set[Module] = set()
        self.shared: set[tuple[object, ...]] = set()
        self.rebound: set[tuple[object, ...]] = set()
        self.imported: set[str] = set()
        self.assigned: set[str] = set()
        self.of_modules: set[str] = set()  # those of these that may be variables of modules
        self._own: set[str] = set()  # that methods set of their own objects
        self._may_be_modules = False  # whether these objects may be modules
        self.globals: dict[ast.AST, dict[str, list[Abstract]]] = {}
        for module in modules:
            self.join(module)

    def join(self, module: Module) -> set[str]:
        """Takes a module in; the names that are now seen from elsewhere and were not before."""
        self.known_modules.add(module)
        self.shared |= module_names.shared_names(module)
        self.rebound |= module_names.rebound_names(module)
        imported = module_names.imported_names(module, self._project)
        others, own = module_names.assigned_names(module)
        assigned = others | own
        self._own |= own
        self._may_be_modules = self._may_be_modules or module_names.passes_modules(module, self._project)
        of_modules = others | self._own if self._may_be_modules else others
        fresh = (imported - self.imported) | (assigned - self.assigned) | (of_modules - self.of_modules)
        self.imported |= imported
        self.assigned |= assigned
        self.of_modules |= of_modules
        return fresh
