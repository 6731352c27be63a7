"""The documentation's sources agree with what they tell of; the site itself is built by `make docs`."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

from jaxmigrate.rule_pages import rule_pages

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
COMMAND = re.compile(r"\b(tests/[\w/]+\.py|tools/\w+\.py)")


def tool(name: str) -> ModuleType:
    """A module of tools/, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages() -> dict[str, str]:
    """Every page of the site, by its path."""
    site = tool("docs_site")
    written = {
        p.relative_to(DOCS).as_posix(): site.with_parts(p.read_text(encoding="utf-8")) for p in DOCS.rglob("*.md")
    }
    return {**written, **site.generated()}


def test_there_is_a_page_for_each_rule(pages: dict[str, str]) -> None:
    assert len(rule_pages()) > 30
    for page in rule_pages().values():
        assert pages[f"rules/{page.code}.md"].startswith(page.text)
        assert pages["rules/index.md"].count(f"| [{page.code}]({page.code}.md) | {page.title} |") == 1


def test_links_lead_somewhere(pages: dict[str, str]) -> None:
    there = {*pages, *(p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*") if p.is_file())}
    for name, text in pages.items():
        for target in LINK.findall(re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)):
            if "://" not in target:
                assert (Path(name).parent / target).as_posix() in there, f"{name} links to {target}"


def test_the_navigation_has_every_page_once(pages: dict[str, str]) -> None:
    listed = re.findall(r"^  - [^:\n]+: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(name for name in pages if not name.startswith("rules/JM"))


def test_the_commands_that_pages_name_exist(pages: dict[str, str]) -> None:
    named = {path for text in pages.values() for path in COMMAND.findall(text)}
    assert len(named) > 10
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_pictures_are_as_drawn() -> None:
    drawn = tool("docs_pictures").pictures()
    assert {path.name for path in (DOCS / "pictures").iterdir()} == set(drawn)
    for name, text in drawn.items():
        assert (DOCS / "pictures" / name).read_text(encoding="utf-8") == text


def test_the_tutorial_prints_what_it_shows(tmp_path: Path) -> None:
    """Up to the diff; `python tools/docs_tutorial.py --check` runs the verifications too."""
    tutorial = tool("docs_tutorial")
    text = (DOCS / "tutorial.md").read_text(encoding="utf-8")
    cheap = next(n for n, command in enumerate(tutorial.commands(text)) if " python train.py" in command)
    assert cheap > 8
    assert tutorial.rerun(text, tutorial.fresh(tmp_path), most=cheap) == text


def test_a_section_of_the_readme_must_be_there() -> None:
    site = tool("docs_site")
    assert site.with_parts("a\n\n<!-- README: Exit status -->\n") == f"a\n\n{site.section('Exit status')}\n"
    with pytest.raises(ValueError, match="no section 'Nothing'"):
        site.with_parts("<!-- README: Nothing -->")


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "rules" / "JM101.html").is_file()
