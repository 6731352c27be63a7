"""Maps that are made more than once of something that stays the same.

`jax.pmap(f)` twice is traced once, as long as the functions are equal; `jax.jit(jax.shard_map(f, ...))` twice is traced
and compiled twice. So what is mapped over and over is mapped once, where it is bound, or by a function that keeps the
maps that it made. Where a trace reads what changes in between, as the attributes of an object, it is that for the sake
of the numbers: a second trace would give others.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass
from typing import cast

from jaxmigrate.migrate.maps import MapPlan
from jaxmigrate.migrate.names import names_in
from jaxmigrate.migrate.stale_traces import reads_what_changes
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.library import named, starting
from jaxmigrate.program.modules import Module, Project
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.scopes import Binding, FunctionNode, Scope, ScopeTable, all_parameters
from jaxmigrate.program.sites import mapped_sites
from jaxmigrate.program.syntax import has_stars
from jaxmigrate.program.values import External, Function

LOOPS = ast.For | ast.While | ast.AsyncFor | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
DEEPEST = 4  # functions that are called in functions
ONCE = ("main", "__init__", "__post_init__", "setup", "setUp")  # what runs once for a program or an object
LEAVES = ast.Raise | ast.Return | ast.Continue | ast.Break
MAKING = named("jit", "same-call", "partial", "vmap", "gradient", "jacobian")  # a function of another one, anew
FRAMEWORKS = tuple(starting("on-device"))  # whose functions make networks, optimizers and what they are of


@dataclass(frozen=True, slots=True, eq=False)
class RunsAgain:
    """The maps of one file that run more than once.

    Calls tell, by the names of their functions. What no code in sight calls may be called often, if it maps something
    right where it calls the map, and has no loop of its own.
    """

    module: Module
    project: Project
    resolver: Resolver

    def place(self, plan: MapPlan, mapped: ast.expr) -> ast.stmt | None:
        """The statement above which a map can be made once; None where it is, or what it maps may be another one."""
        if not isinstance(mapped, ast.Name | ast.Attribute) or not _is_plain(plan) or plan.has_own_mesh:
            return None
        if isinstance(mapped, ast.Attribute) and not self._is_of_module(mapped):
            return None  # an object's attribute is read where it stands
        home = self._home(plan, mapped)
        if home is None or home.kind == "class":
            return None
        found = self._statement(plan.site.node, home)
        if found is not None and self.module.cells:
            found = self._in_cell(found, mapped, home)
        return found if found is not None and self._fits(found) else None

    def outermost(self, plan: MapPlan, mapped: ast.expr) -> ast.stmt | None:
        """The statement above which a function can stand that keeps the maps it makes; None where none is needed."""
        if not isinstance(mapped, ast.Name | ast.Attribute) or not _is_plain(plan):
            return None
        if not self.repeats(plan.site.node, mapped):
            return None
        found = self._outermost(plan.site.node)
        return found if found is not None and self._fits(found) else None

    def repeats(self, site: ast.expr, mapped: ast.expr | None) -> bool:
        """Whether a map may be made more than once of one and the same function."""
        if not isinstance(mapped, ast.Name | ast.Attribute):
            return False
        if self._repeats(site, mapped, kept=self._is_kept(site, self.module)):
            return True
        may = self._is_mapped_elsewhere(site, mapped) or self._repeats(site, mapped, kept=False)
        return may and reads_what_changes(mapped, self.module, self.resolver)

    def _repeats(self, site: ast.expr, mapped: ast.Name | ast.Attribute, *, kept: bool) -> bool:
        """The same of a map that lives on where it is made, `kept`, as one each of many objects."""
        table, lifetime, inner = self.module.table, self._lifetime(site, mapped), kept
        node: ast.AST = site
        parent = table.parents.get(site)
        while parent is not None and parent is not lifetime:
            is_round = isinstance(parent, LOOPS) and node is not getattr(parent, "iter", None)
            if is_round and not _binds(parent, mapped) and not self._is_made_in(parent, site, mapped):
                return True
            if isinstance(parent, FunctionNode) and _runs(parent, node):
                name = mapped.id if isinstance(mapped, ast.Name) else None
                if self._is_called_again(parent, set(), self.module, kept=inner, mapped=name):
                    return True
                inner = True  # an outer function's own loops tell of its calls, and not of this one's
            node, parent = parent, table.parents.get(parent)
        return False

    def _is_made_in(self, loop: ast.AST, site: ast.expr, mapped: ast.expr) -> bool:
        """Whether each round of a loop makes the function that is mapped, on the way to its map."""
        maker = self._maker(site, mapped)
        return maker is not None and _is_below(maker, loop, self.module.table)

    def _maker(self, site: ast.expr, mapped: ast.expr) -> ast.stmt | None:
        """The statement that always makes the function which a map has, or the object that has it.

        None where it may be one that was there.
        """
        table, made = self.module.table, self._made(site, mapped)
        if made is None:
            return None
        around, nodes = made
        node: ast.AST | None = table.statement_of(site)
        while node is not None and node is not around:
            if isinstance(node, ast.stmt):
                for above in reversed([one for one in table.block_of(node) if one.lineno < node.lineno]):
                    if _always_has(above, nodes):
                        return above
            node = table.parents.get(node)
        return None

    def _made(self, site: ast.expr, mapped: ast.expr) -> tuple[ast.AST, list[ast.stmt]] | None:
        """What holds a name, or runs where an attribute is set, and the statements that do so, if all make it anew."""
        table = self.module.table
        if isinstance(mapped, ast.Attribute):
            own = _own_attribute(mapped)
            function = table.function_of(site)
            if own is None or not isinstance(function, ast.FunctionDef):
                return None
            sets = [one for one in ast.walk(function) if isinstance(one, ast.Assign) and _sets(one, own)]
            fresh = [one for one in sets if self._gives_fresh(one.value)]
            return (function, [*fresh]) if len(fresh) == len(sets) else None
        holder = self._holder(mapped)
        if not isinstance(mapped, ast.Name) or holder is None:
            return None
        made = [one for one in holder.bindings[mapped.id] if one.value is not site]
        makers = [table.statement_of(one.node) for one in made if self._is_fresh(one)]
        nodes = [one for one in makers if one is not None]
        return (holder.node, nodes) if len(nodes) == len(made) else None

    def _is_fresh(self, binding: Binding) -> bool:
        """Whether what a name is bound to is another function each time."""
        if isinstance(binding.node, ast.FunctionDef):
            return not binding.node.decorator_list
        return binding.value is not None and self._gives_fresh(binding.value)

    def _gives_fresh(self, value: ast.expr) -> bool:
        """Whether an expression gives another function, or another object with one, each time."""
        return _is_new(value, self.module, self.resolver)

    def _holder(self, name: ast.expr) -> Scope | None:
        """The scope that binds a name."""
        scope = self.module.table.scope_of.get(name)
        return scope.lookup(name.id) if isinstance(name, ast.Name) and scope is not None else None

    def _is_mapped_elsewhere(self, site: ast.expr, mapped: ast.expr) -> bool:
        """Whether another map of the file is made of the same."""
        said, holder, maker = ast.dump(mapped), self._holder(mapped), self._maker(site, mapped)
        for one in mapped_sites(self.module, self.resolver):
            other = one.mapped.expression if one.mapped is not None and one.node is not site else None
            if other is not None and ast.dump(other) == said and self._holder(other) is holder:
                apart = self._maker(one.node, other)
                if (maker is None or apart is None or maker is apart) and not self._are_given_others(site, one.node):
                    return True
        return False

    def _are_given_others(self, site: ast.expr, other: ast.expr) -> bool:
        """Whether two maps are never given as many arguments, so that pmap has a trace for each."""
        one, two = self._counts_given(site), self._counts_given(other)
        return bool(one and two) and one.isdisjoint(two)

    def _counts_given(self, site: ast.expr) -> set[int]:
        """How many arguments the calls of a map pass; empty where not all of them are known."""
        table = self.module.table
        statement = table.parents.get(site)
        target = statement.targets[0] if isinstance(statement, ast.Assign) and len(statement.targets) == 1 else None
        holder = self._holder(target) if isinstance(target, ast.Name) else None
        if not isinstance(target, ast.Name) or holder is None or holder.kind != "function":
            return set()
        if len(holder.bindings[target.id]) != 1 or target.id in holder.outer_names:
            return set()
        found = set[int]()
        for node in table.named.get(target.id, ()):
            if node is target or self._holder(cast("ast.expr", node)) is not holder:
                continue
            call = table.parents.get(node)
            if not isinstance(call, ast.Call) or call.func is not node or has_stars(call):
                return set()
            found.add(len(call.args) + len(call.keywords))
        return found

    def _home(self, plan: MapPlan, mapped: ast.expr) -> Scope | None:
        """The innermost scope that binds what a map reads."""
        table = self.module.table
        names = list(names_in([mapped, *([plan.axis] if isinstance(plan.axis, ast.expr) else [])]))
        scopes = [table.scope_of[name].lookup(name.id) for name in names if name in table.scope_of]
        if not names or len(scopes) < len(names) or None in scopes:
            return None
        return max((s for s in scopes if s is not None), key=_depth)

    def _is_of_module(self, mapped: ast.Attribute) -> bool:
        """Whether an attribute is a function that a module has."""
        value = self.resolver.value(mapped, self.module)
        return isinstance(value, Function | External) and _is_import(mapped, self.module)

    def _statement(self, node: ast.expr, home: Scope) -> ast.stmt | None:
        """The statement of a scope that a node stands in, where it may run more than once within it."""
        table = self.module.table
        found: ast.stmt | None = None
        again, kept = False, self._is_kept(node, self.module)
        below: ast.AST = node
        parent = table.parents.get(node)
        while parent is not None and parent is not home.node:
            again |= isinstance(parent, LOOPS) and below is not getattr(parent, "iter", None)
            if isinstance(parent, FunctionNode) and _runs(parent, below):
                again |= self._is_called_again(parent, set(), self.module, kept=kept)
                kept = True
            if isinstance(parent, ast.stmt) and not isinstance(parent, ast.If | ast.With | ast.Try):
                found = parent
            below, parent = parent, table.parents.get(parent)
        return found if again and parent is home.node else None

    def _outermost(self, node: ast.AST) -> ast.stmt | None:
        table = self.module.table
        parent = table.parents.get(node)
        while parent is not None and not isinstance(parent, ast.Module):
            node, parent = parent, table.parents.get(parent)
        return node if isinstance(node, ast.stmt) else None

    def _fits(self, statement: ast.stmt) -> bool:
        """Whether other statements can stand right above one."""
        block = self.module.table.block_of(statement)
        return all(s is statement or s.lineno != statement.lineno for s in block)

    def _in_cell(self, statement: ast.stmt, mapped: ast.expr, home: Scope) -> ast.stmt | None:
        """The place for a map in the cell that makes what it maps, so that both run anew together.

        Where that is not the cell of the statement, it is the function itself, behind which the map can stand.
        """
        name = next(iter(names_in([mapped])))
        bindings = home.bindings.get(name.id, ())
        made = bindings[0].node if len(bindings) == 1 else None
        if made is None or self._cell(made) == self._cell(statement):
            return statement if made is not None else None
        return made if isinstance(made, ast.FunctionDef) and made in self.module.tree.body else None

    def _cell(self, node: ast.AST) -> int:
        return sum(cell.header <= getattr(node, "lineno", 0) for cell in self.module.cells)

    def _lifetime(self, site: ast.expr, mapped: ast.expr) -> ast.AST | None:
        """The function that makes what is mapped, or the object that has it, anew at each of its calls."""
        if isinstance(mapped, ast.Attribute) and self._maker(site, mapped) is not None:
            return self.module.table.function_of(site)
        owner = mapped
        while isinstance(owner, ast.Attribute):
            owner = owner.value
        holder = self._holder(owner)
        if not isinstance(owner, ast.Name) or holder is None or holder.kind != "function":
            return None
        for binding in holder.bindings[owner.id]:
            if binding.value is site:
                continue
            if binding.kind in ("def", "class") or self._is_of_call(binding, is_object=owner is not mapped):
                return holder.node
        return None

    def _is_of_call(self, binding: Binding, *, is_object: bool) -> bool:
        """Whether a name is bound to what its function makes; an object that a call gives counts as made by it."""
        if is_object and isinstance(binding.value, ast.Call):
            return True
        return binding.value is not None and _is_new(binding.value, self.module, self.resolver)

    def _is_kept(self, site: ast.expr, module: Module) -> bool:
        """Whether a map lives on where it is made: on an object, in a container, or as what a function gives back."""
        table = module.table
        called = table.parents.get(site)
        if isinstance(called, ast.Call) and called.func is site:
            return False
        statement = table.statement_of(site)
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            function = table.scope_of[site].function()
            outer = function.outer_names if function is not None else set()
            names = [one.id for one in targets if isinstance(one, ast.Name) and one.id not in outer]
            if statement.value is not site or len(names) < len(targets):
                return True
            return function is not None and any(_is_given_back(name, function, table) for name in names)
        return True

    def _is_called_again(
        self, function: FunctionNode, seen: set[str], module: Module, *, kept: bool, mapped: str | None = None
    ) -> bool:
        """Whether a function may be called more than once, while what surrounds it stays the same."""
        if isinstance(function, ast.Lambda):
            return True
        if function.name in seen or len(seen) >= DEEPEST or _runs_once(function.name):
            return False
        seen = {*seen, function.name}
        nested = module.table.scope_of[function].kind == "function"
        count, scripts = 0, Counter[Module]()
        for other in (module,) if nested else self.project.program:
            for node in () if _is_test(other) else other.table.named.get(function.name, ()):
                parent = other.table.parents.get(node)
                if not (isinstance(parent, ast.Call) and parent.func is node):
                    if nested:
                        return True  # it is handed on
                    continue
                if other.table.scope_of[parent].function() is None:
                    scripts[other] += 1  # a program of its own
                else:
                    count += 1
                if (count + max(scripts.values(), default=0) > 1 and not kept) or self._call_runs_again(
                    parent, seen, other, kept=kept
                ):
                    return True
        takes_functions = mapped is not None and mapped in _parameters(function)  # it drives nothing
        return not (count or scripts or kept or nested or (_has_loop(function) and not takes_functions))

    def _call_runs_again(self, call: ast.Call, seen: set[str], module: Module, *, kept: bool) -> bool:
        """Whether a call runs more than once; a `kept` map is what it gives, which need not be kept there."""
        kept = kept and self._is_kept(call, module)
        below: ast.AST = call
        parent = module.table.parents.get(call)
        while parent is not None:
            if isinstance(parent, LOOPS) and below is not getattr(parent, "iter", None):
                return True
            if isinstance(parent, FunctionNode) and _runs(parent, below):
                return self._is_called_again(parent, seen, module, kept=kept)
            below, parent = parent, module.table.parents.get(parent)
        return False


def _is_new(value: ast.expr, module: Module, resolver: Resolver, depth: int = DEEPEST) -> bool:
    """Whether an expression gives another function, or another object with one, each time.

    A call does where it is known to: what a library hands out may be what it has, as `copy.copy(f)` is `f`.
    """
    if not isinstance(value, ast.Call):
        return isinstance(value, ast.Lambda)
    made = resolver.value(value.func, module)
    if isinstance(made, External):
        return made.name in MAKING or made.name.startswith(FRAMEWORKS)
    return isinstance(made, Function) and depth > 0 and _gives_new(made, resolver, depth - 1)


def _gives_new(function: Function, resolver: Resolver, depth: int) -> bool:
    """Whether a function gives what it makes itself, at each of its calls."""
    table, node = function.module.table, function.node
    if isinstance(node, ast.Lambda) or node.decorator_list:
        return False
    given = [part for one in returned_by(node) for part in (one.elts if isinstance(one, ast.Tuple) else [one])]
    for one in given:
        bindings = table.own_scope[node].bindings.get(one.id, ()) if isinstance(one, ast.Name) else ()
        values = [b.value for b in bindings if b.kind != "def"] if isinstance(one, ast.Name) else [one]
        if not (bindings or values) or not all(
            value is not None and _is_new(value, function.module, resolver, depth) for value in values
        ):
            return False
    return bool(given)


def _own_attribute(mapped: ast.Attribute) -> ast.Attribute | None:
    """`self.optimizer` of `self.optimizer.init`."""
    while isinstance(mapped.value, ast.Attribute):
        mapped = mapped.value
    return mapped if isinstance(mapped.value, ast.Name) else None


def _sets(statement: ast.Assign, attribute: ast.Attribute) -> bool:
    owner = attribute.value
    return isinstance(owner, ast.Name) and any(
        isinstance(one, ast.Attribute)
        and one.attr == attribute.attr
        and isinstance(one.value, ast.Name)
        and one.value.id == owner.id
        for target in statement.targets
        for one in ast.walk(target)
    )


def _always_has(statement: ast.stmt, wanted: Collection[ast.stmt]) -> bool:
    """Whether a statement is one of some, or an `if` with one in each of its branches."""
    if not isinstance(statement, ast.If):
        return statement in wanted
    return all(
        any(_always_has(one, wanted) for one in branch) or (branch and isinstance(branch[-1], LEAVES))
        for branch in (statement.body, statement.orelse)
    )


def _is_below(node: ast.AST, loop: ast.AST, table: ScopeTable) -> bool:
    parent = table.parents.get(node)
    while parent is not None and parent is not loop:
        parent = table.parents.get(parent)
    return parent is loop


def _binds(loop: ast.AST, mapped: ast.expr) -> bool:
    """Whether a loop takes what is mapped, or the object that has it, from one thing after another."""
    bound = {n.id for n in ast.walk(loop.target) if isinstance(n, ast.Name)} if isinstance(loop, ast.For) else set()
    return any(name.id in bound for name in names_in([mapped]))


def _is_given_back(name: str, function: Scope, table: ScopeTable, seen: frozenset[str] = frozenset()) -> bool:
    """Whether a function gives back a variable of its own, or a function within that reads it."""
    for node in () if name in seen else table.named.get(name, ()):
        inner, below = table.scope_of[node], cast("ast.AST", node)
        above = table.parents.get(node)
        is_called = inner is function and isinstance(above, ast.Call) and above.func is node
        if is_called or inner.lookup(name) is not function:
            continue
        while inner is not function and inner.parent is not None:
            inner, below = inner.parent, inner.node
        if isinstance(table.statement_of(below), ast.Return):
            return True
        if isinstance(below, ast.FunctionDef) and _is_given_back(below.name, function, table, seen | {name}):
            return True
    return False


def _is_plain(plan: MapPlan) -> bool:
    """Whether a function apart can say what a map needs."""
    donated = plan.donated is None or isinstance(plan.donated, str | ast.Constant | ast.Tuple | ast.List)
    return donated and not plan.mesh


def _is_import(mapped: ast.Attribute, module: Module) -> bool:
    """Whether an attribute begins with a name that the module imports."""
    owner: ast.expr = mapped
    while isinstance(owner, ast.Attribute):
        owner = owner.value
    bindings = module.table.root.bindings.get(owner.id, ()) if isinstance(owner, ast.Name) else ()
    return bool(bindings) and all(one.kind in ("import", "from") for one in bindings)


def _runs_once(name: str) -> bool:
    return name in ONCE or re.match("test[_A-Z]", name) is not None


def _parameters(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    return {one.arg for one in all_parameters(function.args)}


def _is_test(module: Module) -> bool:
    stem = module.path.stem
    return stem.startswith("test_") or stem.endswith("_test")


def _has_loop(function: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function has a loop of its own, as what drives a program has."""
    return any(isinstance(node, ast.For | ast.While | ast.AsyncFor) for node in ast.walk(function))


def _runs(function: FunctionNode, below: ast.AST) -> bool:
    """Whether a part of a function is in its body, and not a default or a decorator."""
    return below is function.body if isinstance(function, ast.Lambda) else below in function.body


def _depth(scope: Scope) -> int:
    depth, parent = 0, scope.parent
    while parent is not None:
        depth, parent = depth + 1, parent.parent
    return depth
