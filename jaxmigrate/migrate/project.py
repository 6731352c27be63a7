"""Plans all files of a project together: what one file says decides what another one needs."""

from __future__ import annotations

import ast
import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType

from jaxmigrate.flow.layout.causes import Reason
from jaxmigrate.flow.layout.choices import SiteChoice
from jaxmigrate.flow.layout.reachable_modules import ReachableModules
from jaxmigrate.migrate.aliases import aliased_sites, names_of_aliases, passed_on
from jaxmigrate.migrate.api_updates.plans import with_new_names, with_renewed_originals
from jaxmigrate.migrate.api_updates.shared_helpers import with_shared_helpers
from jaxmigrate.migrate.cleanup import without_leftovers
from jaxmigrate.migrate.compared import leave_compared
from jaxmigrate.migrate.decide import Decision, Refusal, decide, surroundings
from jaxmigrate.migrate.faked import leave_faked
from jaxmigrate.migrate.file_work import FileWork
from jaxmigrate.migrate.imports import imported_names
from jaxmigrate.migrate.kept import leave_kept, place_of
from jaxmigrate.migrate.layouts import Chosen, Mapped, Unwritten, choose
from jaxmigrate.migrate.lowered import LOWER_CALL, may_lower
from jaxmigrate.migrate.one_process import as_declared, as_presumed
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.plan import Assumed, FilePlan, Plan, SitePlan
from jaxmigrate.migrate.positions import column_of
from jaxmigrate.migrate.read_texts import ReadTexts
from jaxmigrate.migrate.refusal_propagation import leave_together
from jaxmigrate.migrate.roots import alias_modules, is_one_of_several, root_of
from jaxmigrate.migrate.sharing import HEAD
from jaxmigrate.migrate.site_maps import keeps_what_is_named
from jaxmigrate.migrate.sites import Outcome, site_plan
from jaxmigrate.migrate.style import style_of
from jaxmigrate.migrate.unhandled import Source, blamed
from jaxmigrate.migrate.weak_numbers import assumed_of, leave_weak, weak_numbers
from jaxmigrate.migrate.witnesses import with_witnesses, witnesses
from jaxmigrate.migrate.words import without_pmap
from jaxmigrate.migrate.writing import NewFile, ProjectWriter
from jaxmigrate.program.modules import Module, Project, parse_module, read_utf8
from jaxmigrate.program.operations import THROUGH, Mark, Operation
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.sites import MappedSite, ReferenceNode, mapped_sites

NO_TEXTS: Mapping[Path, str] = MappingProxyType({})


def _common(paths: Iterable[Path]) -> Path | None:
    """The folder that holds all files of a project, those without a map too, whose modules the others may import."""
    folders = {path.parent for path in paths}
    return Path(os.path.commonpath(folders)) if folders else None


def plan_sources(
    sources: Sequence[Source],
    options: PlanOptions,
    explicit: Collection[str] = (),
    beside: Mapping[Path, str] = NO_TEXTS,
) -> tuple[Plan, dict[str, SyntaxError]]:
    """Plans the migration of files given as (name, absolute path, text).

    A file is parsed if it can hold a site, or if its name is in `explicit`; the rest cost a search for a word. `beside`
    are the other files of the project by path: they are read for what they do with the files given, and stay as they
    are.

    Returns:
        The plan, with a file for each source in the order given, and by name the errors of those that do not parse.

    Raises:
        UnhandledError: A fault of ours, at a file that is known; other faults as they come.
    """
    texts = {path: text for _, path, text in sources}
    modules, errors = _parsed(sources, texts, explicit) if options.wanted.maps else ({}, {})
    known = {**beside, **texts}
    project = Project(
        modules.values(), lambda path: known[path] if path in known else read_utf8(path), known, _common(known)
    )
    reachable = ReachableModules(project, known, texts)
    planner = _ProjectPlanner(sources, modules, project, reachable, known, options)
    plan, read = planner.plan(), planner.read
    paths = {name: path for name, path, _ in sources if name not in errors}
    given, added = Plan(tuple(f for f in plan.files if not f.new)), [f for f in plan.files if f.new]
    plan = _with_api_updates(given, paths, reachable, Resolver(project), options, read)
    files, added = with_shared_helpers(plan.files, added, paths, read)
    plan = without_pmap(Plan(tuple(files)), paths, beside, read)
    for file in plan.files:
        if file.changed:
            with blamed(paths[file.path]):
                read.module(paths[file.path], file.after)
    plan = _with_callers(plan, paths, beside, reachable)
    return Plan((*plan.files, *added)), errors


def _parsed(
    sources: Sequence[Source], texts: Mapping[Path, str], explicit: Collection[str]
) -> tuple[dict[Path, Module], dict[str, SyntaxError]]:
    """The files that can hold a site, and by name the errors of those that do not parse."""
    errors: dict[str, SyntaxError] = {}
    modules: dict[Path, Module] = {}

    def parse(name: str, path: Path, text: str) -> None:
        try:
            modules[path] = parse_module(path, text)
        except SyntaxError as error:
            errors[name] = error

    for name, path, text in sources:
        if "pmap" in text or name in explicit:
            parse(name, path, text)
    stems = alias_modules(modules.values(), texts)
    for name, path, text in sources if stems else ():
        if path not in modules and name not in errors and any(stem in text for stem in stems):
            parse(name, path, text)
    return modules, errors


def _with_api_updates(
    plan: Plan,
    paths: Mapping[str, Path],
    reachable: ReachableModules,
    resolver: Resolver,
    options: PlanOptions,
    read: ReadTexts,
) -> Plan:
    """The plan with new names of JAX for old ones, also in the originals that a verification runs."""
    texts = {paths[file.path]: file.before for file in plan.files if file.path in paths}
    leaned_on = _imported_by_others(texts, reachable, resolver, read)
    if options.marks:
        plan = with_renewed_originals(plan, paths, options.target, options.era, read, leaned_on)
    return with_new_names(plan, paths, options.target, options.era, read, leaned_on, options.wanted)


def _imported_by_others(
    texts: Mapping[Path, str], reachable: ReachableModules, resolver: Resolver, read: ReadTexts
) -> dict[Path, frozenset[str]]:
    """By file that may change, the names that others import from it."""
    changing = [path for path, text in texts.items() if "pmap" in text or read.may_use_old_names(text)]
    found = imported_names(reachable.importers(changing), resolver) if changing else {}
    return {module.path: names for module, names in found.items()}


def _with_callers(
    plan: Plan, paths: Mapping[str, Path], beside: Mapping[Path, str], reachable: ReachableModules
) -> Plan:
    """The plan in which each file that changes has those that import it and were not among the files given."""
    if not beside:
        return plan
    files = []
    for file in plan.files:
        importing = reachable.importing(paths[file.path]) if file.changed and file.path in paths else ()
        callers = tuple(sorted(path for path in importing if path in beside))
        files.append(replace(file, callers=callers) if callers else file)
    return Plan(tuple(files))


def fix_files(files: Mapping[str, str], layout: str = "stacked") -> dict[str, str]:
    """The texts of a project's files after a migration, by relative path."""
    root = Path("/project")
    plan, errors = plan_sources([(name, root / name, text) for name, text in files.items()], PlanOptions(layout))
    return {**{name: files[name] for name in errors}, **{file.path: file.after for file in plan.files}}


class _ProjectPlanner:
    """Decides, writes and describes what becomes of the maps of a project's files."""

    def __init__(
        self,
        sources: Sequence[Source],
        modules: dict[Path, Module],
        project: Project,
        reachable: ReachableModules,
        known: Mapping[Path, str],
        options: PlanOptions,
    ) -> None:
        self.sources = sources
        self.texts = {path: text for _, path, text in sources}
        self.names = {path: name for name, path, _ in sources}
        self.modules = modules
        self.project = project
        self.reachable = reachable
        self.known = known
        self.options = options
        self.resolver = Resolver(project)
        self.read = ReadTexts()
        self.roots: dict[ReferenceNode, Decision] = {}
        self.leans: tuple[Assumed, ...] = ()  # what every site leans on beside proof
        self.weak: Mapping[ast.expr, ast.expr] = {}  # numbers whose types hang on how many processes there are

    def plan(self) -> Plan:
        """The files given, in their order, and those that the rewrite adds."""
        beside = self.reachable.beside({module.path for module in self.project.named})
        self.project.beside = tuple(beside)
        mapped = self._mapped()
        written = self._written(mapped)
        leaned_on = _leaned_on(mapped.sites, self.roots, self.resolver)
        together = _together(written.chosen, self.names)
        untaken = written.chosen.layouts.untaken if written.chosen is not None else {}
        aliases = [d for found in mapped.decisions.values() for d in found if _is_alias(d, leaned_on)]
        names = names_of_aliases(aliases, self.modules.values())
        files = []
        for name, path, text in self.sources:
            found = self.modules.get(path)
            if found is None:
                marked = with_witnesses(name, path, text) if self.options.witnessed else text
                files.append(FilePlan(name, text, text, marked, text, ()))
                continue
            with blamed(path):
                outcomes = self._outcomes(mapped.sites[found], mapped.decisions[found], leaned_on)
                marks = [_alias_mark(d, name) for d in aliases if d.reference.module is found]
                file = self._file(name, written.works[found], outcomes, written, marks)
                passed = passed_on(
                    found, {d.reference.node for d in aliases}, mapped.sites[found], names, self.resolver
                )
                file = replace(
                    file,
                    passed_on=tuple(sorted({node.lineno for node in passed})),
                    untaken=tuple(sorted(first.lineno for first, module in untaken.items() if module is found)),
                    undonated=self._undonated(mapped.sites[found], file),
                )
            files.append(replace(file, together=together[name]) if name in together else file)
        files += [_new_file(path, new, self.names) for path, new in written.new_files.items()]
        return Plan(tuple(files))

    def _undonated(self, sites: Sequence[MappedSite], file: FilePlan) -> tuple[int, ...]:
        """The lines of maps that are rewritten and say they donate what some call gives by keyword."""
        lines = {site.line for site in file.sites if site.status == "rewritten"}
        named = {site.node.lineno for site in sites if keeps_what_is_named(site, self.resolver)}
        return tuple(sorted(lines & named))

    def _mapped(self) -> Mapped:
        """The sites of the files, and what is decided of each."""
        beside = self.reachable.texts_beside(self.modules, self.texts)
        around, self.leans = as_declared(surroundings([*self.texts.values(), *beside]), self.options, self.texts)
        if around.lower:
            asking = [self.project.module(path) for path, text in self.texts.items() if LOWER_CALL.search(text)]
            asking += self.reachable.saying(LOWER_CALL, self.modules, self.texts)
            around = replace(around, lower=may_lower(asking, self.resolver))
        sites: dict[Module, list[MappedSite]] = {}
        decisions: dict[Module, list[Decision]] = {}
        for module in self.modules.values():
            with blamed(module.path):
                sites[module] = mapped_sites(module, self.resolver)
                decisions[module] = decide(module, sites[module], self.resolver, around.processes)
        self._root_at(decisions)
        outside = {m: mapped_sites(m, self.resolver) for m in self.project.beside if m.path not in self.texts}
        decisions = leave_kept(decisions, sites, self._reference_of, self.options.wanted, outside)
        roots = {s.node: node for own in sites.values() for s in own if (node := self._reference_of(s)) is not None}
        decisions = leave_faked(decisions, sites, roots, self.project.program, self.resolver)
        decisions = leave_compared(decisions, self.reachable.graph)
        if around.several:
            self.weak = weak_numbers(sites, self.project.program, self.resolver)
            if self.options.layout != "likely":
                decisions = leave_weak(decisions, self.weak, roots)
        decisions = leave_together(decisions, sites, self.resolver, self._reference_of)
        self._root_at(decisions)
        return Mapped(self.modules, sites, decisions, outside, around, self.texts, self.reachable)

    def _root_at(self, decisions: Mapping[Module, Sequence[Decision]]) -> None:
        self.roots = {decision.reference.node: decision for found in decisions.values() for decision in found}

    def _written(self, mapped: Mapped) -> _Written:
        """The files with their operations; what cannot be written with global arrays is written stacked."""
        imported = imported_names((*self.modules.values(), *self.reachable.importers(self.modules)), self.resolver)
        trust = self.options.trust()
        held = self._held(mapped.sites)
        vain = Unwritten(frozenset(held))
        unwritten: dict[ast.expr, Reason] = {}
        while True:
            chosen = choose(mapped, self.resolver, trust, vain) if trust is not None else None
            for more in chosen.more if chosen is not None else ():
                mapped.add(more)
            around, presumed = mapped.around, tuple[Assumed, ...]()
            if chosen is not None and chosen.alone:
                around, one = as_presumed(around, self.texts)
                presumed = (one,) if not chosen.apart else ()
            aliased = aliased_sites(mapped.sites, self._root, self.resolver, around, held)
            works = [
                FileWork(m, mapped.decisions[m], _ids(self.names[path], m, mapped.sites[m]), aliased.get(m, ()))
                for path, m in self.modules.items()
                if path in self.names
            ]
            writer = ProjectWriter(works, chosen, self.resolver, around, self.project, self.reachable, imported)
            new_files = writer.write()
            failed = {node: why for work in works for node, why in work.failed.items()}
            if not failed:
                self.leans += presumed
                return _Written({work.module: work for work in works}, chosen, new_files, imported, unwritten)
            vain = vain.with_failed(failed, chosen)
            unwritten |= {node: why for node, why in failed.items() if node in vain.refused}

    def _file(
        self, name: str, work: FileWork, outcomes: Iterable[Outcome], written: _Written, aliases: Sequence[Mark]
    ) -> FilePlan:
        """A file as it becomes, with its sites, and with the marks by which a verification finds these.

        `aliases` are further marks, on both sides.
        """
        plans: list[SitePlan] = []
        marks: list[Mark] = []
        marks_after: list[Mark] = []
        for outcome in outcomes:
            direct = outcome.site is not None and outcome.site.node in work.direct
            outcome = outcome if direct else self._under_a_name_that_stays(outcome)
            plan = site_plan(outcome, name, work.module, self.resolver, written.decided(outcome.site))
            written_as = "jax.shard_map" if direct else "shard_map_stacked" if plan.status == "rewritten" else ""
            number = self.weak.get(outcome.site.node) if outcome.site is not None else None
            own = (assumed_of(number, work.module.path),) if number is not None else ()
            leans = (*plan.assumed, *self.leans, *own) if plan.status == "rewritten" else plan.assumed
            plans.append(replace(plan, written=written_as, assumed=leans))
            marks.append(Mark(outcome.marked, plan.id))
            if not direct:
                marks_after.append(marks[-1])
        plans.sort(key=lambda p: (p.line, p.column))
        text = _Text(work.module, written.imported.get(work.module, frozenset()), self.read)
        after = text.cleaned(text.rewritten(work.operations)) if work.operations else text.module.text
        marked_before, marked_after = text.module.text, after
        if self.options.marks:
            marks += aliases
            marks_after += aliases
            seen = {mark.node for mark in marks} if self.options.witnessed else None
            before = marks if seen is None else [*marks, *witnesses(work.module, name, seen)]
            marked_before = text.rewritten(before, marked=True)
            if marks:
                marked_after = text.rewritten([*work.operations, *marks_after], marked=True)
                marked_after = text.cleaned(marked_after) if work.operations else marked_after
        return FilePlan(name, work.module.text, after, marked_before, marked_after, tuple(plans))

    def _outcomes(
        self,
        sites: Sequence[MappedSite],
        decisions: Sequence[Decision],
        leaned_on: Collection[ReferenceNode],
    ) -> Iterator[Outcome]:
        """Every mapped site of a module, and every reference that no site of its own says more about."""
        for site in sites:
            if site.reference is None:
                root = self._root(site)
                if root is None and is_one_of_several(site.callee, site.module, self.resolver, self.roots):
                    continue  # what the reference says holds wherever it is taken
                yield Outcome(site, None, root, site.callee, "alias")
            else:
                decision = self.roots[site.reference.node]
                if decision.inner or (decision.inside and decision.refusal is None):
                    continue  # reported as a part of the site that maps it
                yield Outcome(site, decision.reference, decision, site.reference.node, site.reference.use)
        for decision in decisions:
            if not decision.sites and decision.reference.node not in leaned_on:
                yield Outcome(None, decision.reference, decision, decision.reference.node, "value")

    def _held(self, sites: Mapping[Module, Sequence[MappedSite]]) -> dict[ast.expr, str]:
        """The sites that a verification speaks against, with the reason."""
        wanted = self.options.wanted
        every = [site for found in sites.values() for site in found] if wanted.held else []
        told = {site.node: wanted.held_at(site.module.path, place_of(site.node, site.module)) for site in every}
        return {node: reason for node, reason in told.items() if reason}

    def _under_a_name_that_stays(self, outcome: Outcome) -> Outcome:
        """A site that is not rewritten where the name that it goes by keeps its meaning."""
        decision = outcome.decision
        if outcome.form != "alias" or outcome.site is None or decision is None or decision.stays is None:
            return outcome
        held = self._held({outcome.site.module: [outcome.site]}).get(outcome.site.node)
        refusal = Refusal(decision.stays.code, held) if held else decision.stays
        return replace(outcome, decision=replace(decision, refusal=refusal))

    def _reference_of(self, site: MappedSite) -> ReferenceNode | None:
        """The reference that a site stands under, its own or that of the alias that it uses."""
        return site.reference.node if site.reference else root_of(site.callee, site.module, self.resolver, self.roots)

    def _root(self, site: MappedSite) -> Decision | None:
        node = self._reference_of(site)
        return self.roots[node] if node is not None else None


@dataclass(frozen=True, slots=True)
class _Written:
    """The files with their operations, the layouts that these are for, and by file the names that others import.

    `unwritten` are sites of which nothing is global for the sake of the text, with what stands in its way.
    """

    works: Mapping[Module, FileWork]
    chosen: Chosen | None
    new_files: Mapping[Path, NewFile]
    imported: Mapping[Module, frozenset[str]]
    unwritten: Mapping[ast.expr, Reason]

    def choice(self, site: MappedSite | None) -> SiteChoice | None:
        """The layout of a site, where one was chosen."""
        return self.chosen.layouts.sites.get(site.node) if self.chosen is not None and site is not None else None

    def decided(self, site: MappedSite | None) -> SiteChoice | Reason | None:
        """The layout of a site, or why it has none."""
        return self.choice(site) or (self.unwritten.get(site.node) if site is not None else None)


@dataclass(frozen=True, slots=True)
class _Text:
    """The text of a file, the names that other files import from it, and the texts that were read."""

    module: Module
    imported: frozenset[str]
    read: ReadTexts

    def rewritten(self, operations: Sequence[Operation], *, marked: bool = False) -> str:
        """The text after some operations."""
        from jaxmigrate.codemod.apply import rewritten

        if not operations:
            return self.module.text
        style = style_of(self.module)
        return rewritten(self.module.text, operations, style, marks=marked, statements=self.module.tree.body)

    def cleaned(self, text: str) -> str:
        """A text that was rewritten, without what nothing uses any more."""
        return without_leftovers(self.module, text, self.imported, style_of(self.module), self.read)


def _ids(name: str, module: Module, sites: Sequence[MappedSite]) -> dict[ast.expr, str]:
    """The names of a file's sites in reports and marks."""
    return {site.node: f"{name}:{site.node.lineno}:{column_of(site.node, module)}" for site in sites}


def _new_file(path: Path, new: NewFile, names: Mapping[Path, str]) -> FilePlan:
    """A file that the rewrite adds, named beside the files that use it."""
    from jaxmigrate.codemod.apply import rewritten

    beside = next((n for p, n in names.items() if p.parent == path.parent), None)
    name = str(Path(beside).parent / path.name) if beside is not None else _relative(path, names)
    style = style_of(new.users[0])
    text = rewritten(f"{HEAD}\n\n{new.imports}\n", new.operations, style)
    return FilePlan(name, "", text, "", text, (), users=frozenset(names[user.path] for user in new.users))


def _relative(path: Path, names: Mapping[Path, str]) -> str:
    """The name of a path as the user names the files below its folder."""
    for below, name in names.items():
        if path.parent in below.parents:
            depth = len(below.relative_to(path.parent).parts)
            return str(Path(*Path(name).parts[:-depth], path.name))
    return str(path)


def _together(chosen: Chosen | None, names: Mapping[Path, str]) -> dict[str, frozenset[str]]:
    """By name, the files that change their arrays together, directly or by way of others."""
    found: dict[str, frozenset[str]] = {}
    for modules in chosen.layouts.together if chosen is not None else ():
        group = {names[module.path] for module in modules if module.path in names}
        whole = frozenset(group.union(*(found.get(name, ()) for name in group)))
        found |= dict.fromkeys(whole, whole)
    return found


def _is_alias(decision: Decision, leaned_on: Collection[ReferenceNode]) -> bool:
    """Whether a reference is rewritten, and its sites go by other names."""
    is_rewritten = decision.refusal is None and decision.stays is None
    return decision.reference.node in leaned_on and not decision.sites and is_rewritten


def _alias_mark(decision: Decision, name: str) -> Mark:
    """The mark of a reference that goes by another name: a run tells what is mapped through it.

    Not every use of a name is in sight: it may be passed on, or read by `getattr`.
    """
    node = decision.reference.node
    return Mark(node, f"{THROUGH}{name}:{node.lineno}:{column_of(node, decision.reference.module)}")


def _leaned_on(
    sites: Mapping[Module, Sequence[MappedSite]], roots: Mapping[ReferenceNode, Decision], resolver: Resolver
) -> set[ReferenceNode]:
    """The references that some site leads to through an alias: that site says more about them than they do."""
    aliased = [(site, module) for module, found in sites.items() for site in found if site.reference is None]
    leads = {root_of(site.callee, module, resolver, roots) for site, module in aliased}
    return {node for node in leads if node is not None}
