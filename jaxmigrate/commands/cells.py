"""What is planned for the one module that a notebook is read as, told in the cells and lines that its author sees."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from jaxmigrate.migrate import FilePlan, SitePlan
from jaxmigrate.migrate.plan import ArrayLayout, NamePlan
from jaxmigrate.sources import SourceFile, shown_path
from jaxmigrate.sources.containers import Container
from jaxmigrate.sources.notebooks import Notebook

_MARKED = re.compile(r"(__jaxmigrate_(?:transform|mapped)__\()('[^']*'|\"[^\"]*\")(?=, )")
OUT_OF_ORDER = "its cells were last run out of order"


def in_cells(plan: FilePlan, notebook: Container | None) -> FilePlan:
    """The plan with the places of sites and names, the marks of sites, and lines in reasons by cell."""
    if notebook is None:
        return plan
    sites = tuple(_site(site, notebook) for site in plan.sites)
    ids = {repr(old.id): repr(new.id) for old, new in zip(plan.sites, sites, strict=True)}
    return replace(
        plan,
        marked_before=_renamed(plan.marked_before, ids),
        marked_after=_renamed(plan.marked_after, ids),
        marked_renewed=_renamed(plan.marked_renewed, ids),
        sites=sites,
        names=tuple(_name(name, notebook) for name in plan.names),
    )


def remarks(source: SourceFile, plan: FilePlan, layout: str) -> list[str]:
    """What is to be said of a notebook: why its arrays stay stacked, and which cells are not looked into."""
    notebook = source.notebook
    if not isinstance(notebook, Notebook):
        return []
    said = [
        f"{shown_path(source.name, cell)}: mentions pmap, but is not Python (such as %%bash), so it was not rewritten"
        for cell in notebook.passed_over("pmap")
    ]
    rewritten = any(site.status == "rewritten" for site in plan.sites)
    if layout != "stacked" and rewritten and not notebook.ran_in_order:
        said.append(
            f"{source.name}: arrays stay stacked, since {OUT_OF_ORDER}; run all cells in order, save, and fix again"
        )
    return said


def _site(site: SitePlan, notebook: Container) -> SitePlan:
    place = notebook.located(site.line, site.column)
    return replace(
        site,
        id=f"{shown_path(site.path, place.cell)}:{place.line}:{place.column}",
        cell=place.cell,
        line=place.line,
        column=place.column,
        reason=notebook.in_words(site.reason),
        arguments=tuple(_array(array, notebook) for array in site.arguments),
        outputs=tuple(_array(array, notebook) for array in site.outputs),
    )


def _array(array: ArrayLayout, notebook: Container) -> ArrayLayout:
    story = tuple(map(notebook.in_words, array.story))
    return replace(array, reason=notebook.in_words(array.reason), story=story) if array.reason else array


def _name(name: NamePlan, notebook: Container) -> NamePlan:
    place = notebook.located(name.line, name.column)
    return replace(name, cell=place.cell, line=place.line, column=place.column, reason=notebook.in_words(name.reason))


def _renamed(text: str, ids: Mapping[str, str]) -> str:
    return _MARKED.sub(lambda found: found[1] + ids.get(found[2], found[2]), text)
