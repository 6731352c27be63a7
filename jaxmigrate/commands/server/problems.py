"""What lint finds in a document."""

from __future__ import annotations

from jaxmigrate.commands.server.document import Document
from jaxmigrate.commands.server.project import Neighbours
from jaxmigrate.config import find_config
from jaxmigrate.findings import Finding
from jaxmigrate.findings.suppressions import silence
from jaxmigrate.lint.examine import examine_text
from jaxmigrate.requirements import project_of, target_jax, written_for
from jaxmigrate.sources import SourceError


def problems(
    document: Document, neighbours: Neighbours | None = None, *, again: bool = True
) -> tuple[list[Finding], list[SourceError]]:
    """What lint finds in a document and its project wants to know, and where the document does not parse.

    Files that use it are looked for `again`, or are those of the last time.

    Raises:
        SourceError: It is no notebook although its name ends so.
        ConfigError: Its project's configuration cannot be used.
    """
    config = find_config(document.path)
    around = neighbours or Neighbours()
    examined = examine_text(
        document.source,
        target_jax(config, project_of(config, [document.path])),
        config.declared,
        around.users(document.path, again=again),
        around.text,
        written_for(project_of(config, [document.path])),
    )
    kept = silence([f for f in examined.findings if f.path == document.name], examined.marks).findings
    return [f for f in kept if config.reports(f.code, document.path)], list(examined.errors)
