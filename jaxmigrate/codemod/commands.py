"""The rewrite as commands of LibCST: each sees one file, so that arrays stay stacked and callers stay as they are."""

from __future__ import annotations

from abc import abstractmethod
from pathlib import Path

import libcst as cst
from libcst.codemod import CodemodCommand

from jaxmigrate.commands.beside import root_of, texts_beside
from jaxmigrate.commands.planning import plan_files
from jaxmigrate.config import find_config
from jaxmigrate.migrate.api_updates.plans import renamed
from jaxmigrate.migrate.options import PlanOptions
from jaxmigrate.migrate.plan import NamePlan, SitePlan
from jaxmigrate.requirements import target_jax, written_for
from jaxmigrate.sources import SourceFile, decode


class _FileCommand(CodemodCommand):
    """A command that plans a whole file and says what it leaves."""

    def transform_module_impl(self, tree: cst.Module) -> cst.Module:
        """The file after its plan."""
        name = self.context.filename
        source = decode(tree.bytes, name or "module.py", Path(name).absolute() if name else None)
        after, left = self.planned(source)
        for one in left:
            self.warn(f"{one.place}: {one.code} {one.reason}")
        return tree if after == source.text else cst.parse_module(after, config=tree.config_for_parsing)

    @abstractmethod
    def planned(self, source: SourceFile) -> tuple[str, list[SitePlan | NamePlan]]:
        """The text that a file becomes, and what is left in it."""


class PmapToShardMap(_FileCommand):
    """Turns the maps of a file into `jax.shard_map`, and its old names of JAX into those of today."""

    DESCRIPTION = (
        "Turns jax.pmap into jax.shard_map and renames what JAX has renamed, one file at a time with stacked arrays; "
        "`jaxmigrate fix` sees the whole project and writes global arrays."
    )

    def planned(self, source: SourceFile) -> tuple[str, list[SitePlan | NamePlan]]:
        """As `jaxmigrate fix --layout stacked`."""
        config = find_config(source.path or Path.cwd())
        root = root_of(source.path.parent) if source.path else Path.cwd()
        beside = texts_beside([source], config)
        files, errors = plan_files(
            [source], PlanOptions("stacked", target_jax(config, root), written_for(root)), beside
        )
        for error in errors:
            self.warn(str(error))
        if not files:
            return source.text, []
        plan = files[0].plan
        sites = [site for site in plan.sites if site.status == "left"]
        return plan.after, [*sites, *(name for name in plan.names if name.status == "left")]


class RenameOldNames(_FileCommand):
    """Gives what JAX has renamed or moved its name of today, and leaves maps as they are."""

    DESCRIPTION = "Renames what JAX has renamed, moved or replaced: tree_map, pjit, xmap, experimental.shard_map."

    def planned(self, source: SourceFile) -> tuple[str, list[SitePlan | NamePlan]]:
        """As `jaxmigrate fix` does with old names."""
        path = source.path or Path.cwd() / "module.py"
        config, root = find_config(path), root_of(path.parent)
        plan = renamed(
            source.name,
            path,
            source.text,
            texts_beside([source], config),
            target_jax(config, root),
            written_for(root),
        )
        return plan.after, [name for name in plan.names if name.status == "left"]
