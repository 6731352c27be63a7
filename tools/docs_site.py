"""What the documentation site shows that stands elsewhere already: rules' pages, and parts of the README.

mkdocs calls the functions named `on_...` (mkdocs.yml, `hooks`); `generated()` needs nothing but jaxmigrate.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from jaxmigrate.rules import fixes  # noqa: E402

from jaxmigrate.commands.rule import whole  # noqa: E402
from jaxmigrate.findings.rule_pages import RulePage, rule_pages  # noqa: E402

GROUPS = {
    "JM1": "Axis names",
    "JM2": "Reductions and random keys",
    "JM3": "Collectives that not every device reaches",
    "JM4": "What fix does not rewrite, and old names of JAX",
    "JM5": "Sharding",
}
PART = re.compile(r"^<!-- README: (.+) -->$", re.MULTILINE)


def generated() -> dict[str, str]:
    """The rules' pages and their index, in Markdown, by their paths in the site's sources."""
    pages = rule_pages()
    return {
        "rules/index.md": index(pages),
        **{f"rules/{p.code}.md": whole(p) for p in pages.values()},
    }


def index(pages: dict[str, RulePage]) -> str:
    """The list of all rules, group by group."""
    lines = [
        "# Rules\n",
        "Each page is what `jaxmigrate rule CODE` prints: what the rule finds, why that is bad, an example, what to",
        "write instead, and when the rule may be wrong. Pages of what `fix` leaves say why. The tests lint the",
        "examples, and run those that can run: what such a page says of JAX was printed by it. `[*]` marks rules with",
        "findings that have one right answer, which `lint --fix` writes.",
    ]
    mended = fixes()
    for start, title in GROUPS.items():
        lines += ["", f"## {title}", "", "| code | finds |", "| --- | --- |"]
        of_group = [page for page in pages.values() if page.code.startswith(start)]
        lines += [f"| [{p.code}]({p.code}.md) | {p.title}{' `[*]`' if p.code in mended else ''} |" for p in of_group]
    return "\n".join(lines) + "\n"


def with_parts(text: str) -> str:
    """A page with the sections of the README that it asks for by `<!-- README: Title -->`."""
    return PART.sub(lambda match: section(match[1]), text)


def section(title: str) -> str:
    """What the README says under a heading of the second level.

    Raises:
        ValueError: There is no such heading.
    """
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", readme, re.MULTILINE | re.DOTALL)
    if found is None:
        raise ValueError(f"README.md has no section {title!r}")
    return found[1].strip()


def on_config(config: Any) -> Any:
    """Lists the rules below the entry `Rules` of the navigation."""
    entries: list[Any] = ["rules/index.md"]
    for start, title in GROUPS.items():
        codes = [code for code in rule_pages() if code.startswith(start)]
        entries.append({title: [f"rules/{code}.md" for code in codes]})
    config.nav = [{"Rules": entries} if "Rules" in entry else entry for entry in config.nav]
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages that are made here."""
    from mkdocs.structure.files import File

    for path, text in generated().items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Puts the README's sections in."""
    return with_parts(markdown)
