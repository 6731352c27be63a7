"""Plans all files of a project together: what one file says decides what another one needs."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from jaxmigrate.flow.layout.reachable_modules import ReachableModules
from jaxmigrate.migrate.aliases import aliased_sites
from jaxmigrate.migrate.api_updates.plans import with_new_names, with_renewed_originals
from jaxmigrate.migrate.cleanup import without_leftovers
from jaxmigrate.migrate.decide import (
    Decision,
    decide,
    is_bound_at_once,
    surroundings,
)
from jaxmigrate.migrate.imports import imported_names
from jaxmigrate.migrate.kept import leave_kept
from jaxmigrate.migrate.layouts import Chosen, choose
from jaxmigrate.migrate.plan import FilePlan, Plan, SitePlan
from jaxmigrate.migrate.positions import column_of
from jaxmigrate.migrate.refusal_propagation import leave_together
from jaxmigrate.migrate.sharing import HEAD
from jaxmigrate.migrate.sites import Outcome, site_plan
from jaxmigrate.migrate.style import style_of
from jaxmigrate.migrate.unhandled import blamed
from jaxmigrate.migrate.wanted import ALL, Wanted
from jaxmigrate.migrate.witnesses import with_witnesses, witnesses
from jaxmigrate.migrate.writing import FileWork, NewFile, ProjectWriter
from jaxmigrate.program.declarations import NOTHING_DECLARED, Declarations, Kind
from jaxmigrate.program.modules import Module, Project, import_name, parse_module, read_utf8
from jaxmigrate.program.observed import NOTHING_OBSERVED, Observed
from jaxmigrate.program.old_mentions import may_use_old_names
from jaxmigrate.program.old_names import Era, Release
from jaxmigrate.program.operations import Mark, Operation
from jaxmigrate.program.resolve import PARTIALS, Resolver
from jaxmigrate.program.scopes import Binding
from jaxmigrate.program.sites import MappedSite, Reference, ReferenceNode, mapped_sites, references
from jaxmigrate.program.trust import Trust
from jaxmigrate.program.values import External, ModuleValue

NO_TEXTS: Mapping[Path, str] = MappingProxyType({})
RENAMED = re.compile(r"\bpmap\s+as\s+\w")


def plan_sources(
    sources: Sequence[tuple[str, Path, str]],
    explicit: Collection[str] = (),
    layout: str = "stacked",
    target: Release | None = None,
    era: Era = "",
    *,
    marks: bool = True,
    beside: Mapping[Path, str] = NO_TEXTS,
    wanted: Wanted = ALL,
    declared: Declarations = NOTHING_DECLARED,
    used: set[tuple[Kind, str]] | None = None,
    observed: Observed | None = None,
) -> tuple[Plan, dict[str, SyntaxError]]:
    """Plans the migration of files given as (name, absolute path, text).

    A file is parsed if it can hold a site, or if its name is in `explicit`; the rest cost a search for a word. With the
    layout "auto" arrays become global ones wherever that is proven, with "stacked" every caller stays as it is. Old
    names of JAX give way to those that the release `target`, by default the newest, and all later ones have;
    `era` is what the project says it was written for, where the meaning of its code depends on that. Without `marks`
    the texts for a verification are not made. `beside` are the other files of the project by path: they are read for
    what they do with the files given, and stay as they are. What is not `wanted` stays, too. With the layout "likely"
    assumptions stand in for proofs; what is `declared` counts for any but "stacked", and goes to `used` where
    something asked for it. What a run has `observed` counts as well, and where that is given, be it nothing, the
    original has marks by which a run shows more.

    Returns:
        The plan, with a file for each source in the order given, and by name the errors of those that do not parse.

    Raises:
        UnhandledError: A fault of ours, at a file that is known; other faults as they come.
    """
    texts = {path: text for _, path, text in sources}
    errors: dict[str, SyntaxError] = {}
    modules: dict[Path, Module] = {}

    def parse(name: str, path: Path, text: str) -> None:
        try:
            modules[path] = parse_module(path, text)
        except SyntaxError as error:
            errors[name] = error

    for name, path, text in sources if wanted.maps else ():
        if "pmap" in text or name in explicit:
            parse(name, path, text)
    stems = _alias_modules(modules.values(), texts)
    for name, path, text in sources if stems else ():
        if path not in modules and name not in errors and any(stem in text for stem in stems):
            parse(name, path, text)
    known = {**beside, **texts}
    project = Project(modules.values(), lambda path: known.get(path) or read_utf8(path), known)
    reachable = ReachableModules(project, known, texts)
    used = set() if used is None else used
    seen = observed if observed is not None else NOTHING_OBSERVED
    trust = Trust(declared, likely=layout == "likely", used=used, observed=seen) if layout != "stacked" else None
    plan = _plan(
        sources, modules, project, reachable, known, trust, wanted, marks=marks, witnessed=observed is not None
    )
    paths = {name: path for name, path, _ in sources if name not in errors}
    judged: dict[str, bool] = {}
    leaned_on = _imported_by_others(paths.values(), texts, reachable, Resolver(project), judged)
    given, added = Plan(tuple(f for f in plan.files if not f.new)), [f for f in plan.files if f.new]
    plan = with_renewed_originals(given, paths, target, era, judged, leaned_on) if marks else given
    plan = with_new_names(plan, paths, target, era, judged, leaned_on, wanted)
    for file in plan.files:
        if file.changed:
            with blamed(paths[file.path]):
                parse_module(paths[file.path], file.after)
    plan = _with_callers(plan, paths, beside, reachable)
    return Plan((*plan.files, *added)), errors


def _imported_by_others(
    paths: Iterable[Path],
    texts: Mapping[Path, str],
    reachable: ReachableModules,
    resolver: Resolver,
    judged: dict[str, bool],
) -> dict[Path, frozenset[str]]:
    """By file that may change, the names that others import from it; `judged` keeps which may use old names."""
    changing = []
    for path in paths:
        text = texts[path]
        if "pmap" not in text and text not in judged:
            judged[text] = may_use_old_names(text)
        if "pmap" in text or judged[text]:
            changing.append(path)
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
    plan, errors = plan_sources([(name, root / name, text) for name, text in files.items()], layout=layout, marks=False)
    return {**{name: files[name] for name in errors}, **{file.path: file.after for file in plan.files}}


def _plan(
    sources: Sequence[tuple[str, Path, str]],
    modules: dict[Path, Module],
    project: Project,
    reachable: ReachableModules,
    known: Mapping[Path, str],
    trust: Trust | None,
    wanted: Wanted,
    *,
    marks: bool,
    witnessed: bool = False,
) -> Plan:
    resolver = Resolver(project)
    texts = {path: text for _, path, text in sources}
    project.beside = tuple(reachable.beside({module.path for module in project.named}))
    around = surroundings([*texts.values(), *reachable.texts_beside(modules, texts)])
    sites: dict[Module, list[MappedSite]] = {}
    decisions: dict[Module, list[Decision]] = {}
    for module in modules.values():
        with blamed(module.path):
            sites[module] = mapped_sites(module, resolver)
            decisions[module] = decide(module, sites[module], resolver, around.processes)
    roots = {d.reference.node: d for ds in decisions.values() for d in ds}
    decisions = leave_kept(decisions, sites, lambda site: _reference_of(site, resolver, roots), wanted)
    decisions = leave_together(decisions, sites, resolver, lambda site: _reference_of(site, resolver, roots))
    roots = {d.reference.node: d for ds in decisions.values() for d in ds}
    leaned_on = _leaned_on(sites, roots, resolver)
    imported = imported_names((*modules.values(), *reachable.importers(modules)), resolver)
    others = {m: mapped_sites(m, resolver) for m in project.beside if m.path not in texts}
    names = {path: name for name, path, _ in sources}
    refused: set[ast.expr] = set()
    while True:
        chosen = (
            choose(modules, sites, decisions, resolver, around, texts, reachable, others, refused, trust)
            if trust is not None
            else None
        )
        for more in chosen.more if chosen is not None else ():
            modules[more.path], sites[more], decisions[more] = more, [], []
        aliased = aliased_sites(sites, lambda site: _root(site, resolver, roots), resolver, around)
        works = [
            FileWork(m, decisions[m], _ids(names[path], m, sites[m]), aliased.get(m, ()))
            for path, m in modules.items()
            if path in names
        ]
        writer = ProjectWriter(works, chosen, resolver, around, project, known, imported)
        new_files = writer.write()
        failed = {node for work in works for node in work.failed}
        if not failed:
            break
        refused |= failed  # their arrays stay stacked
    by_module = {work.module: work for work in works}
    together = _together(chosen, names)
    files = []
    for name, path, text in sources:
        found = modules.get(path)
        if found is None:
            marked = with_witnesses(name, path, text) if witnessed else text
            files.append(FilePlan(name, text, text, marked, text, ()))
            continue
        kept = imported.get(found, frozenset())
        with blamed(path):
            file = _plan_file(
                name,
                by_module[found],
                sites[found],
                roots,
                leaned_on,
                resolver,
                kept,
                chosen,
                with_marks=marks,
                witnessed=witnessed,
            )
        files.append(replace(file, together=together[name]) if name in together else file)
    files += [_new_file(path, new, names) for path, new in new_files.items()]
    return Plan(tuple(files))


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


def _alias_modules(modules: Iterable[Module], texts: Mapping[Path, str]) -> set[str]:
    """The names of the modules through which an alias of pmap, which can have any name, may reach others.

    Importers of such a module can hand the alias on, so they are followed as far as there are any.
    """
    resolver = Resolver(Project(modules, lambda path: texts.get(path) or read_utf8(path), texts))
    waiting = {
        import_name(m.path)
        for m in modules
        if RENAMED.search(m.text) or any(_is_alias(r, m) for r in references(m, resolver))
    }
    stems: set[str] = set()
    while waiting:
        stem = waiting.pop()
        stems.add(stem)
        imports = re.compile(rf"^[ \t]*(?:from|import)\b[^\n(]*(?:\([^)]*)?\b{re.escape(stem)}\b", re.MULTILINE)
        waiting |= {import_name(path) for path, text in texts.items() if stem in text and imports.search(text)} - stems
    return stems


def _plan_file(
    name: str,
    work: FileWork,
    sites: Sequence[MappedSite],
    roots: Mapping[ReferenceNode, Decision],
    leaned_on: Collection[ReferenceNode],
    resolver: Resolver,
    imported: frozenset[str],
    chosen: Chosen | None,
    *,
    with_marks: bool,
    witnessed: bool = False,
) -> FilePlan:
    module = work.module
    plans: list[SitePlan] = []
    marks: list[Mark] = []
    marks_after: list[Mark] = []
    for outcome in _outcomes(module, sites, work.decisions, roots, leaned_on, resolver):
        choice = (
            chosen.layouts.sites.get(outcome.site.node) if chosen is not None and outcome.site is not None else None
        )
        plan = site_plan(outcome, name, module, resolver, choice)
        direct = outcome.site is not None and outcome.site.node in work.direct
        written_as = "jax.shard_map" if direct else "shard_map_stacked" if plan.status == "rewritten" else ""
        plans.append(replace(plan, written=written_as))
        marks.append(Mark(outcome.marked, plan.id))
        if outcome.site is None or outcome.site.node not in work.direct:
            marks_after.append(marks[-1])
    plans.sort(key=lambda p: (p.line, p.column))
    style = style_of(module)
    marks_before = [*marks, *witnesses(module, name, {mark.node for mark in marks})] if witnessed else marks

    def written(operations: Sequence[Operation], *, marked: bool) -> str:
        from jaxmigrate.codemod.apply import rewritten

        text = module.text
        if operations:
            text = rewritten(text, operations, style, marks=marked, statements=module.tree.body)
        return (
            without_leftovers(module, text, imported, style)
            if work.operations and operations is not marks_before
            else text
        )

    after = written(work.operations, marked=False)
    return FilePlan(
        path=name,
        before=module.text,
        after=after,
        marked_before=written(marks_before, marked=True) if with_marks and marks_before else module.text,
        marked_after=written([*work.operations, *marks_after], marked=True) if with_marks and marks else after,
        sites=tuple(plans),
    )


def _outcomes(
    module: Module,
    sites: Sequence[MappedSite],
    decisions: Sequence[Decision],
    roots: Mapping[ReferenceNode, Decision],
    leaned_on: Collection[ReferenceNode],
    resolver: Resolver,
) -> Iterator[Outcome]:
    """Every mapped site of a module, and every reference that no site of its own says more about."""
    for site in sites:
        if site.reference is None:
            root = root_of(site.callee, module, resolver, roots)
            yield Outcome(site, None, roots.get(root) if root is not None else None, site.callee, "alias")
        else:
            decision = roots[site.reference.node]
            if decision.inner or (decision.inside and decision.refusal is None):
                continue  # reported as a part of the site that maps it
            yield Outcome(site, decision.reference, decision, site.reference.node, site.reference.use)
    for decision in decisions:
        if not decision.sites and decision.reference.node not in leaned_on:
            yield Outcome(None, decision.reference, decision, decision.reference.node, "value")


def _leaned_on(
    sites: Mapping[Module, Sequence[MappedSite]], roots: Mapping[ReferenceNode, Decision], resolver: Resolver
) -> set[ReferenceNode]:
    """The references that some site leads to through an alias: that site says more about them than they do."""
    aliased = [(site, module) for module, found in sites.items() for site in found if site.reference is None]
    leads = {root_of(site.callee, module, resolver, roots) for site, module in aliased}
    return {node for node in leads if node is not None}


def _is_alias(reference: Reference, module: Module) -> bool:
    """Whether a reference only gives pmap, or a partial of it, another name: its sites are where that name is used."""
    if is_bound_at_once(reference, module):
        return False
    node: ast.AST = reference.call if reference.use == "partial" and reference.call is not None else reference.node
    parent = module.table.parents.get(node)
    return isinstance(parent, ast.Assign) and parent.value is node and isinstance(parent.targets[0], ast.Name)


def root_of(
    callee: ast.expr, module: Module, resolver: Resolver, roots: Mapping[ReferenceNode, Decision]
) -> ReferenceNode | None:
    """The reference that an alias leads to, through single assignments and imports; None where the way is lost."""
    node: ast.expr | None = callee
    for _ in range(16):
        if isinstance(node, ast.Call) and node.args:
            node = node.args[0] if _is_partial(node, module, resolver) else node.func
        if not isinstance(node, ast.Name | ast.Attribute):
            return None
        if node in roots:
            return node
        step = _bound_value(node, module, resolver)
        if step is None:
            return None
        node, module = step
    return None


def _reference_of(
    site: MappedSite, resolver: Resolver, roots: Mapping[ReferenceNode, Decision]
) -> ReferenceNode | None:
    """The reference that a site stands under, its own or that of the alias that it uses."""
    return site.reference.node if site.reference else root_of(site.callee, site.module, resolver, roots)


def _root(site: MappedSite, resolver: Resolver, roots: Mapping[ReferenceNode, Decision]) -> Decision | None:
    node = _reference_of(site, resolver, roots)
    return roots[node] if node is not None else None


def _is_partial(call: ast.Call, module: Module, resolver: Resolver) -> bool:
    callee = resolver.value(call.func, module)
    return isinstance(callee, External) and callee.name in PARTIALS


def _bound_value(node: ReferenceNode, module: Module, resolver: Resolver) -> tuple[ast.expr, Module] | None:
    if isinstance(node, ast.Name):
        return _follow(resolver.bindings_at(node, module), module, resolver)
    owner = resolver.value(node.value, module)
    if isinstance(owner, ModuleValue):
        return _follow(resolver.standing(node.attr, owner.module), owner.module, resolver)
    return None


def _follow(bindings: Sequence[Binding], module: Module, resolver: Resolver) -> tuple[ast.expr, Module] | None:
    for _ in range(16):
        if len(bindings) != 1:
            return None
        binding = bindings[0]
        if binding.kind == "assign" and binding.value is not None and not binding.path:
            return binding.value, module
        if binding.kind != "from" or not isinstance(binding.node, ast.alias):
            return None
        statement = module.table.parents[binding.node]
        assert isinstance(statement, ast.ImportFrom)
        source = resolver.project.imported(module, statement.module or "", statement.level)
        if source is None:
            return None
        bindings, module = resolver.standing(binding.node.name, source), source
    return None
