"""From decisions to operations for all files of a project, with the functions that they share."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from jaxmigrate.flow.layout.causes import Reason, Stacked
from jaxmigrate.flow.layout.choices import OpChoice
from jaxmigrate.flow.layout.reachable_modules import ReachableModules
from jaxmigrate.migrate.aliases import unused_aliases
from jaxmigrate.migrate.array_writer import ArrayWriter
from jaxmigrate.migrate.axis_names import AxisNames
from jaxmigrate.migrate.backends import Backends
from jaxmigrate.migrate.checkpoint_writer import write_checkpoints
from jaxmigrate.migrate.decide import Decision, Surroundings, merged, needs_of
from jaxmigrate.migrate.file_work import FileWork
from jaxmigrate.migrate.helper import Needs, helper_lines
from jaxmigrate.migrate.host_calls import has_host_calls, lays_out_arguments
from jaxmigrate.migrate.import_style import asked_for
from jaxmigrate.migrate.import_time import run_at_import
from jaxmigrate.migrate.imports import plan_imports
from jaxmigrate.migrate.kept_maps import is_hashable
from jaxmigrate.migrate.layouts import Chosen
from jaxmigrate.migrate.listed_meshes import ListedMeshes
from jaxmigrate.migrate.map_parts import MapParts
from jaxmigrate.migrate.map_places import MapPlaces
from jaxmigrate.migrate.map_plans import MapPlans, fits_calls
from jaxmigrate.migrate.map_writer import MapWriter
from jaxmigrate.migrate.names import FileNames
from jaxmigrate.migrate.names_above import NamesAbove
from jaxmigrate.migrate.nested_code import inner_axis_lines, inside_lines, inside_names, nested_lines
from jaxmigrate.migrate.one_device import is_only_called
from jaxmigrate.migrate.other_devices import may_order_devices, uses_other_devices
from jaxmigrate.migrate.repeated_maps import RepeatedMaps
from jaxmigrate.migrate.runs_again import RunsAgain
from jaxmigrate.migrate.shared_functions import definitions, sharing_module
from jaxmigrate.migrate.shared_module import Location, locations, names_of
from jaxmigrate.migrate.sharing import (
    NAMES,
    Shared,
    Wanted,
    serves,
    together_wanted,
    with_their_own,
)
from jaxmigrate.migrate.stable_names import StableNames
from jaxmigrate.migrate.style import style_of
from jaxmigrate.program.modules import Module, Project
from jaxmigrate.program.operations import (
    Define,
    DropAlias,
    Import,
    NameArgument,
    Operation,
    Replace,
    ReplaceAlias,
    code,
    texts_of,
)
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite
from jaxmigrate.program.star_imports import starred_names
from jaxmigrate.program.values import External

WORD = re.compile(r"\w+")
STARRED = {"jax": "jax", "jnp": "jax.numpy", "np": "numpy"}


@dataclass(frozen=True, slots=True)
class NewFile:
    """A file that the rewrite adds, and those that use it."""

    imports: str
    operations: list[Operation]
    users: list[Module]


class ProjectWriter:
    """Writes the files of one project."""

    def __init__(
        self,
        works: Sequence[FileWork],
        chosen: Chosen | None,
        resolver: Resolver,
        around: Surroundings,
        project: Project,
        reachable: ReachableModules,
        imported: Mapping[Module, frozenset[str]],
    ) -> None:
        self.reachable = reachable
        self.imported = imported  # the names that other files import from one
        self.works = works
        self.chosen = chosen
        self.resolver = resolver
        self.around = around
        self.project = project
        self.backends = Backends(self.resolver)
        self.run_at_import = run_at_import(project, self.resolver, self.backends)
        self.maps = MapPlans(works, chosen, resolver, around, project)
        self.wanted = {work.module: self._nothing_yet() for work in works}  # one for those that share a module
        self._everywhere: set[ast.AST] = set()  # arguments that go to all devices
        self._indirect: set[ast.expr] = set()  # sites whose meshes are chosen at each call
        self._repeated = {work.module: RepeatedMaps(work.module) for work in works}
        self._unused: dict[Decision, list[tuple[Module, Operation]]] = {}  # aliases, and what drops them

    def write(self) -> dict[Path, NewFile]:
        """Fills the works with their operations; the new files, by path."""
        self._write_first()
        if any("host_local" in one.all_names for one in self.wanted.values()) and self.maps.lays_out_at_calls():
            self.maps.around_maps = True  # the function that some maps need does for all of them
            self._forget()
            self._write_first()
        if not self.works or any(work.failed for work in self.works):
            return {}
        places = self._places()
        for work in self.works:
            every = {*(s.node for d in work.decisions for s in d.sites), *(one.site.node for one in work.aliased)}
            self._indirect |= every - work.direct
        self._unused = self._unused_aliases()
        for work in self.works:
            work.operations, work.direct = [], set()
        self._begin()
        kinds: dict[Path, set[str]] = {}
        users: dict[Path, list[Module]] = {}
        for work in self.works:
            called = self._write_file(work, places)
            path = places[work.module].path
            if path is not None and called:
                users.setdefault(path, []).append(work.module)
                kinds.setdefault(path, set()).update(called)
        by_module = {work.module: work for work in self.works}
        dropped = (one for found in self._unused.values() for one in found)
        for module, operation in (*self._elsewhere, *dropped):
            by_module[module].operations.append(operation)
        for work in self.works:
            said = {word for one in work.operations for text in texts_of(one) for word in WORD.findall(text)}
            nodes = tuple(node for one in work.operations if (node := _node(one)) is not None)
            wanted = [one for one in self._names[work.module].imports() if one.bound in said]
            own = [one for one in work.operations if isinstance(one, Import)]
            work.operations = [one for one in work.operations if not isinstance(one, Import)]
            work.operations += [one.for_uses(nodes) for one in (*own, *wanted)]
        missing = {path: found for path, found in kinds.items() if self.project.text(path) is None}
        return {path: self._new_file(path, found, users[path]) for path, found in missing.items()}

    def _write_first(self) -> None:
        """Writes all files to see what they use, and which maps cannot be written."""
        self._begin()
        for work in self.works:
            self._write_file(work, None)

    def _forget(self) -> None:
        """Goes back to where nothing was written."""
        self.wanted = {work.module: self._nothing_yet() for work in self.works}
        self._repeated = {work.module: RepeatedMaps(work.module) for work in self.works}
        self.maps.forget()
        for work in self.works:
            work.operations, work.direct = [], set()

    def _nothing_yet(self) -> Wanted:
        around = self.around
        return Wanted(
            processes=around.processes,
            ordered=around.ordered,
            several=around.several,
            unlike=self.maps.program.unlike,
            donates=around.donates,
            default_axis=self.maps.default_axis,
            own=self.maps.program.own_devices and self.maps.program.lists is None,
            some=self.maps.program.some,
            lists=self.maps.program.lists is not None,
        )

    def _places(self) -> dict[Module, Location]:
        """Where each file finds what it shares with others; files of one place want it together from now on."""
        every = together_wanted(list(self.wanted.values()))
        for one in self.wanted.values():
            if every.per_device and one.beside:
                one.all_names.add("per_device")
            own = {kind for kind in one.rows if kind in every.all_names}
            one.all_names |= own | ({"get_mesh"} if one.rows.keys() - own else set())
        users = [m for m, one in self.wanted.items() if one.all_names or (one.users and every.get_mesh)]
        places = locations(sorted(users, key=lambda m: m.path), [*self.wanted], self.project, self._serves)
        groups: dict[Path, list[Module]] = {}
        for module, place in places.items():
            groups.setdefault(place.path or module.path, []).append(module)
        for path, group in groups.items():
            wanted = self._together(group, self.project.text(path) if places[group[0]].path is not None else None)
            self.wanted |= dict.fromkeys(group, wanted)
        return places

    def _unused_aliases(self) -> dict[Decision, list[tuple[Module, Operation]]]:
        """The aliases of pmap that no site needs any more, with what drops them; none that files not given import."""
        aliased = [one for work in self.works for one in work.aliased]
        direct = {node for work in self.works for node in work.direct}
        references = {d.reference.node for work in self.works for d in work.decisions}
        found = unused_aliases(aliased, direct, references, self.project, self.reachable.texts) if aliased else {}
        given = {work.module for work in self.works}
        return {root: drops for root, drops in found.items() if all(module in given for module, _ in drops)}

    def _serves(self, text: str, users: Sequence[Module]) -> bool:
        return serves(text, self._together(users, text))

    def _together(self, users: Sequence[Module], text: str | None) -> Wanted:
        """What some files want of the one place of what they share, of which there may be the text already."""
        wanted = together_wanted([self.wanted[module] for module in users])
        if len(users) > 1:
            taken = set().union(*(self._names[module].taken for module in users))
            wanted.called = names_of(wanted.all_names | {"get_mesh"}, taken, text)
        return wanted

    def _new_file(self, path: Path, kinds: Collection[str], users: list[Module]) -> NewFile:
        """The module of what some files share."""
        wanted = self.wanted[users[0]]
        wanted.chosen_needs = functools.reduce(merged, wanted.needs.values()) if wanted.needs else None
        combined = next((said for user in users if (said := asked_for(user)) is not None), False)
        return NewFile(*sharing_module(path, kinds, wanted, combined=combined), users)

    def _released(self, module: Module) -> dict[str, ast.alias]:
        """The imported functions of a file whose only uses were operations that are no more."""
        if self.chosen is None or module.is_package:
            return {}
        others = self.imported.get(module, frozenset())
        whole = [c.op.node for c in self.chosen.layouts.ops if not c.fields and c.layout != "stacked"]
        gone = {node.func for node in whole if isinstance(node, ast.Call)}
        found: dict[str, ast.alias] = {}
        for name in NAMES.values():
            bindings = module.table.root.bindings.get(name, [])
            alias = bindings[0].node if len(bindings) == 1 and bindings[0].kind == "from" else None
            if not isinstance(alias, ast.alias) or name in others:
                continue
            uses = [n for n in module.nodes if isinstance(n, ast.Name) and n.id == name]
            quoted = any(isinstance(n, ast.Constant) and n.value == name for n in module.nodes)
            if uses and not quoted and all(n in gone for n in uses):
                found[name] = alias
        return found

    def _names_of(self, module: Module, released: Collection[str]) -> FileNames:
        """The names of a file; packages that star imports bring to it may be imported by the same names as well."""
        if not module.table.star_imports:
            return FileNames(module, released)
        root = module.table.root
        known = {name: self.resolver.name_values(name, root, module) for name in STARRED if name not in root.bindings}
        packages = [name for name, values in known.items() if values == (External(STARRED[name]),)]
        return FileNames(module, {*released, *packages}, starred_names(self.project, module))

    def _begin(self) -> None:
        """Forgets what a first writing noted."""
        released = {work.module: self._released(work.module) for work in self.works}
        self._names = {module: self._names_of(module, names) for module, names in released.items()}
        for work in self.works:
            for alias in released[work.module].values():
                statement = work.module.table.parents[alias]
                assert isinstance(statement, ast.ImportFrom)
                work.operations.append(DropAlias(statement, alias))
        self._elsewhere: list[tuple[Module, Operation]] = []
        self._everywhere = set()

    def _write_file(self, work: FileWork, places: Mapping[Module, Location] | None) -> Collection[str]:
        """Writes one file; the shared functions that it uses."""
        module = work.module
        names = self._names[module]
        quote = style_of(module).quote
        shared = Shared(module, names, self.wanted[module], places)
        map_places = MapPlaces(module, self.run_at_import, self.backends)
        parts = MapParts(names, shared, quote, self.around.several, self.maps.program.own, self.around.lower)
        stable = StableNames(module, self.resolver, map_places)
        above = NamesAbove(module, parts, map_places, stable, self._repeated[module], work.operations)
        again = RunsAgain(module, self.project, self.resolver)
        lists = self.maps.program.lists
        self._meshes = ListedMeshes(module, lists, names, work.operations, quote) if lists is not None else None
        writer = MapWriter(
            module,
            self.resolver,
            parts,
            map_places,
            stable,
            again,
            above,
            work.ids,
            self._names,
            self.reachable,
            work.operations,
        )
        kept = [d for d in work.decisions if not d.is_plain or not self._write_maps(work, d, writer)]
        for site in self._under_aliases(work):
            self._write_map(work, site, writer)
        self._elsewhere += writer.elsewhere
        axes = AxisNames(module, self.resolver, quote, self._first_array(module))
        self._write_alone(work, shared, names)
        self._arrays(work, names, shared, axes)
        self._stacked(work, kept, names, shared)
        if places is not None and not places[module].module:
            self._own_functions(work, names, shared)
        return shared.called

    def _own_functions(self, work: FileWork, names: FileNames, shared: Shared) -> None:
        """The shared functions of a file that has them itself."""
        if not shared.called:
            return
        more = self._names_of(work.module, self._released(work.module))
        more.adopt(names)
        wanted = self.wanted[work.module]
        wanted.chosen_needs = wanted.needs.get(work.module)
        texts = list(definitions(with_their_own(shared.called, wanted), more, wanted, shared.called))
        word = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in shared.called.values()))
        found = (_node(one) for one in work.operations if any(word.search(text) for text in texts_of(one)))
        uses = tuple(node for node in found if node is not None)
        work.operations += [Define(text, uses) for text in texts]
        work.operations += more.imports()

    # maps

    def _write_maps(self, work: FileWork, decision: Decision, writer: MapWriter) -> bool:
        """Writes all sites of a reference; False where the function that chooses its mesh has to take its place."""
        if not decision.sites or decision.around or not writer.parts.names.can_import:
            work.failed |= {
                site.node: self._unwritten(site) for site in decision.sites if self.maps.choice(site) is not None
            }
            return False
        written = [self._write_map(work, site, writer) for site in decision.sites]
        return all(written)

    def _write_map(self, work: FileWork, site: MappedSite, writer: MapWriter) -> bool:
        """Writes one site, which may stand under an alias with others that are not."""
        plan = self.maps.of(site)
        if plan is not None and plan.choice is not None and self._meshes is not None:
            plan = replace(plan, listed=self._meshes.of_site(site, plan.choice.axis))
        if plan is not None and not self._may_be_unwrapped(site) and writer.write(plan):
            work.direct.add(site.node)
            return True
        if self.maps.choice(site) is not None:
            work.failed[site.node] = self._unwritten(site)
        return False

    def _may_be_unwrapped(self, site: MappedSite) -> bool:
        """Whether the project may read `__wrapped__` of a map."""
        return self.around.wrapped and not is_only_called(site, self.resolver)

    def _unwritten(self, site: MappedSite) -> Reason:
        """Why a map of global arrays has no form where a site stands."""
        if self._may_be_unwrapped(site):
            return Stacked.MAP_STAYS.reason("the project reads `__wrapped__`, perhaps of what it maps")
        if uses_other_devices(site.module, self.resolver):
            return Stacked.MAP_STAYS.reason("the program chooses among devices, or orders them")
        if has_host_calls(site.module, self.resolver):
            return Stacked.MAP_STAYS.reason("the mapped function may call the host, beside arrays of another mesh")
        return Stacked.MAP_STAYS.reason("there is no form of it with global arrays for this place")

    def _under_aliases(self, work: FileWork) -> list[MappedSite]:
        """The sites of a file that go by an alias of pmap, and so belong to no reference."""
        found = [one.site for one in work.aliased]
        if self.chosen is None:
            return found
        known = {*(site.node for d in work.decisions for site in d.sites), *(site.node for site in found)}
        choices = self.chosen.layouts.sites.values()
        wanted = [c.site for c in choices if c.is_global and c.site.module is work.module]
        return [*found, *(site for site in wanted if site.node not in known)]

    # arrays

    def _write_alone(self, work: FileWork, shared: Shared, names: FileNames) -> None:
        """Arguments that one device holds go to all of them, as pmap sent them."""
        for site, argument in self.maps.arguments_alone().get(work.module, ()):
            plan = self.maps.of(site)
            if plan is None or site.node in self._indirect or argument.node in self._everywhere:
                continue
            self._everywhere.add(argument.node)
            value = "$itself" if argument.is_array else "$jax.tree.map($numpy.asarray, $itself)"
            text = f"{shared.name('shard')}({value}, $spec())"
            made = code(
                text,
                spec=names.of("jax.sharding.PartitionSpec"),
                jax="" if argument.is_array else names.of("jax"),
                numpy="" if argument.is_array else names.of("jax.numpy"),
            )
            work.operations.append(Replace(argument.node, made))

    def _arrays(self, work: FileWork, names: FileNames, shared: Shared, axes: AxisNames) -> None:
        if self.chosen is None:
            return
        layouts = self.chosen.layouts
        arrays = ArrayWriter(work.module, self.resolver, names, shared, self.maps.program, axes, self._meshes)
        for choice in layouts.ops:
            if choice.op.module is work.module and self._is_written_at_calls(choice):
                is_main = choice.axis in self.maps.own_axes
                work.operations += arrays.write(replace(choice, axis=self.maps.default_axis) if is_main else choice)
        work.operations += write_checkpoints(work.module, layouts.ops, arrays)
        if shared.has_shard and not (self.around.several or self.maps.program.own_devices or self.maps.program.some):
            replaced = {choice.op.node for choice in layouts.ops}
            work.operations += arrays.write_put_keys(self.maps.default_axis, replaced)
        for call in layouts.calls:
            if call.module is work.module:
                work.operations += [NameArgument(call.node, k, "") for k in call.node.keywords]

    def _first_array(self, module: Module) -> float:
        """The first line of a file's top with an operation on arrays, above which a name for their axis stands."""
        ops = self.chosen.layouts.ops if self.chosen is not None else ()
        nodes = [one.op.node for one in ops if one.op.module is module]
        at_top = (node.lineno for node in nodes if module.table.function_of(node) is None)
        return min(at_top, default=float("inf"))

    def _is_written_at_calls(self, choice: OpChoice) -> bool:
        """Whether what belongs to a call of a map of stacked arrays has its place there, and not around the map."""
        site = self.chosen.layouts.sites.get(choice.site) if self.chosen is not None and choice.site else None
        if site is None or not site.at_calls:
            return True
        if self.maps.around_maps:
            return False
        plan = self.maps.of(site.site)
        return plan is not None and fits_calls(plan) and site.site.node not in self._indirect

    # what stays with the map that chooses its mesh at each call

    def _stacked(self, work: FileWork, kept: Sequence[Decision], names: FileNames, shared: Shared) -> None:
        replaced = [d for d in kept if d.refusal is None and not d.stays and d not in self._unused]
        plain = [d for d in replaced if d.is_plain]
        nested = [d for d in replaced if d.nested is not None]
        inside = [d for d in replaced if d.inside]
        if plain:
            again = RunsAgain(work.module, self.project, self.resolver)
            needs = needs_of(plain, self.around, self.resolver, self.maps.changed)
            needs = replace(
                needs,
                moves=not needs.inner and any(map(self._moves, plain)),
                again=any(again.repeats(s.node, s.mapped.expression) for d in plain for s in d.sites if s.mapped),
                unhashable=not all(d.sites and all(map(is_hashable, d.sites)) for d in plain),
            )
            self._map_stacked(work, plain, needs, names, shared)
        if nested or inside:
            self._nested(work, nested, inside, names)

    def _moves(self, decision: Decision) -> bool:
        """Whether what takes the place of a reference lays out its arguments before they are compiled for its mesh."""
        reaches = any(lays_out_arguments(site, self.resolver) for site in decision.sites)
        unseen = not decision.sites and has_host_calls(decision.reference.module, self.resolver)
        module = decision.reference.module
        other = uses_other_devices(module, self.resolver) or may_order_devices(module, self.resolver)
        return reaches or unseen or other

    def _map_stacked(
        self, work: FileWork, plain: Sequence[Decision], needs: Needs, names: FileNames, shared: Shared
    ) -> None:
        if not names.can_import:
            needs = replace(needs, again=False)
            found = plan_imports(work.module, needs, self.maps.default_axis)
            name = found.names.helper
            text = "\n".join(helper_lines(needs, found.names))
            work.operations.append(Define(text, tuple(d.reference.node for d in plain)))
        else:
            self.wanted[work.module].needs[work.module] = needs
            name = shared.name("map_stacked")
        work.operations += [Replace(d.reference.node, code(name)) for d in plain]

    def _nested(self, work: FileWork, nested: Sequence[Decision], inside: Sequence[Decision], names: FileNames) -> None:
        """Maps of maps: one over two axes in place, two that share a mesh in a body."""
        plan = plan_imports(work.module, Needs(), self.maps.default_axis)
        found = replace(
            inside_names(work.module, plan.names) if inside else plan.names,
            jax=names.of("jax"),
            mesh=names.of("jax.sharding.Mesh"),
            spec=names.of("jax.sharding.PartitionSpec"),
        )
        uses = tuple(d.reference.node for d in (*nested, *inside))
        if nested:
            work.operations.append(Define("\n".join(nested_lines(found)), uses))
        if inside:
            sites = [site for d in inside for site in d.sites]
            work.operations.insert(0, Define("\n".join(inner_axis_lines(found)), uses))
            work.operations.append(Define("\n".join(inside_lines(found, sites)), uses))
        work.operations += [Replace(d.reference.node, code(found.inside)) for d in inside]
        for decision in nested:
            one = decision.nested
            assert one is not None
            work.operations.append(Replace(decision.reference.node, code(found.nested)))
            work.operations.append(Replace(one.call, code("$f", f=one.function)))
            work.operations.append(Replace(one.outer_axis, code("($itself, $inner)", inner=one.inner_axis)))


def _node(operation: Operation) -> ast.AST | None:
    """The node that an operation changes; imports use none of the functions that the file shares."""
    if isinstance(operation, DropAlias | ReplaceAlias):
        return None
    for name in ("node", "statement", "function"):
        found = getattr(operation, name, None)
        if isinstance(found, ast.AST):
            return found
    return None
