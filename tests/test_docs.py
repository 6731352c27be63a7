"""The documentation's sources agree with what they tell of; the site itself is built by `make docs`."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from jaxmigrate.rules import fixes

from jaxmigrate.cli import full_parser
from jaxmigrate.commands.parsers import actions, subcommands
from jaxmigrate.config import read_config
from jaxmigrate.config_keys import KEYS, VERIFY
from jaxmigrate.findings.rule_pages import rule_pages

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
README = ROOT / "README.md"
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
        shown, (head, _, references) = pages[f"rules/{page.code}.md"], page.text.partition("## References")
        assert shown.startswith(head)
        assert references in shown  # what `lint --fix` does stands between these
        mended = " `[*]`" if page.code in fixes() else ""
        assert ("\n## Fix\n" in shown) is bool(mended)
        assert pages["rules/index.md"].count(f"| [{page.code}]({page.code}.md) | {page.title}{mended} |") == 1


def test_links_lead_somewhere(pages: dict[str, str]) -> None:
    there = {*pages, *(p.relative_to(DOCS).as_posix() for p in DOCS.rglob("*") if p.is_file())}
    for name, text in pages.items():
        for target in LINK.findall(re.sub(r"^```.*?^```$|`[^`\n]*`", "", text, flags=re.MULTILINE | re.DOTALL)):
            if "://" not in target:
                assert (Path(name).parent / target).as_posix() in there, f"{name} links to {target}"


def test_the_navigation_has_every_page_once(pages: dict[str, str]) -> None:
    listed = re.findall(r"^ +- [^:\n]+: (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(name for name in pages if not name.startswith("rules/JM"))


def test_the_commands_that_pages_name_exist(pages: dict[str, str]) -> None:
    named = {path for text in pages.values() for path in COMMAND.findall(text)}
    assert len(named) > 10
    named -= {"tests/test_step.py"}  # a reader's own
    assert [path for path in sorted(named) if not (ROOT / path).exists()] == []


def test_what_is_written_from_the_code_is_as_it_would_be_written_now() -> None:
    """The command line, the configuration, the causes, the pictures; else run `python tools/docs.py`."""
    made = tool("docs").written()
    assert len(made) > 5
    assert {path.name for path in (DOCS / "pictures").iterdir()} == {Path(name).name for name in made if "/pic" in name}
    for name, text in made.items():
        assert (ROOT / name).read_text(encoding="utf-8") == text, f"run `python tools/docs.py {name}`"


def test_the_index_of_the_tests_has_each_file_and_what_it_guards() -> None:
    index = (ROOT / "tests" / "README.md").read_text(encoding="utf-8")
    files = [path for path in sorted((ROOT / "tests").rglob("test_*.py")) if path.parent.name != "programs"]
    assert len(files) > 100
    assert [path.name for path in files if not re.search(rf"- `{path.name}`: \S.*\.", index)] == []


def test_every_option_is_on_the_page_of_the_command_line() -> None:
    text = (DOCS / "command-line.md").read_text(encoding="utf-8")
    for name, command in subcommands(full_parser()).items():
        section = text.partition(f"\n## {name}\n")[2].partition("\n## ")[0]
        assert all(option in section for action in actions(command) for option in action.option_strings)


def test_the_configuration_that_the_page_shows_is_one(tmp_path: Path) -> None:
    text = (DOCS / "configuration.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```toml\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "pyproject.toml").write_text(shown)
    config = read_config(tmp_path / "pyproject.toml")
    assert config is not None
    assert config.layout == "stacked"
    assert config.verify.commands[0].command == ("pytest", "tests/test_step.py")
    for key in (*KEYS, *VERIFY):
        assert f"| `{key}` |" in text


def test_the_readme_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").split()) <= 900


def test_fix_writes_the_step_of_the_readme() -> None:
    text = README.read_text(encoding="utf-8")
    assert tool("docs").with_step(text) == text, "run `python tools/docs.py README.md`"
    before, after = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert "jax.pmap" in before
    assert "jax.shard_map" in after


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        "README.md",
        "docs/ci.md",
        *(pytest.param(f"docs/{one}.md", marks=pytest.mark.long) for one in ("tutorial", "observe")),
    ],
)
def test_commands_print_what_a_page_shows(name: str) -> None:
    """All of them, in a new home folder; `python tools/docs.py PAGE` puts the outputs of now into it."""
    steady = tool("docs_commands").steady
    assert steady(tool("docs").page(name)) == steady((ROOT / name).read_text(encoding="utf-8"))


def test_a_command_that_fails_is_told(tmp_path: Path) -> None:
    run = tool("docs_commands")
    page = "```sh\ncd jaxmigrate\ncat nowhere\n```\n"
    with pytest.raises(RuntimeError, match="'cat nowhere' failed: cat: nowhere: No such file"):
        run.rerun(page, run.home(tmp_path))
    shown = "```console\n$ cat nowhere\nold\n$ echo new\n```\n"
    told = "```console\n$ cat nowhere\ncat: nowhere: No such file or directory\n$ echo new\nnew\n```\n"
    assert run.rerun(shown, tmp_path) == told


class TestContinuousIntegration:
    """The files that docs/ci.md shows."""

    TEXT = (DOCS / "ci.md").read_text(encoding="utf-8")

    def shown(self, begins: str) -> Any:
        blocks = re.findall(r"^```yaml\n(.*?)^```$", self.TEXT, re.MULTILINE | re.DOTALL)
        return next(yaml.safe_load(block) for block in blocks if begins in block)

    @pytest.mark.slow
    @pytest.mark.parametrize(("program", "status"), [("jax.pmap(f)", 1), ("jax.jit(f)", 0)])
    def test_the_workflow(self, program: str, status: int, tmp_path: Path) -> None:
        run = tool("docs_commands")
        (tmp_path / "src").mkdir()
        (tmp_path / "src" / "train.py").write_text(f"import jax\n\nf = lambda x: x\nstep = {program}\n")
        steps = [
            step for step in self.shown("pip install ./jaxmigrate")["jobs"]["jaxmigrate"]["steps"] if "run" in step
        ]
        assert [step["name"].split()[0] for step in steps] == ["Install", "Lint", "Check"]
        found = run.outputs([step["run"] for step in steps], run.home(tmp_path))
        assert [one.status for one in found] == [0, 0, status]

    def test_the_action_has_the_inputs_that_it_is_given(self) -> None:
        (job,) = self.shown("uses: ./jaxmigrate")["jobs"].values()
        (step,) = (step for step in job["steps"] if step.get("uses") == "./jaxmigrate")
        inputs = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]
        assert set(step["with"]) <= set(inputs)
        assert "verify" in step["with"]

    def test_the_hooks_are_there(self) -> None:
        hooks = {hook["id"] for hook in yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))}
        assert {hook["id"] for repo in self.shown("rev:")["repos"] for hook in repo["hooks"]} == hooks


PARTS = {
    "finds": ("What it does", "Why is this bad?", "Example", "Use instead", "When it may be wrong"),
    "leaves": ("What it says", "Why it is not rewritten", "Example", "Use instead"),
}


@pytest.mark.parametrize("code", sorted(rule_pages()))
def test_the_page_of_a_rule_has_all_parts(code: str) -> None:
    headings = re.findall(r"^## (.*)$", rule_pages()[code].text, re.MULTILINE)
    parts = PARTS["leaves" if "What it says" in headings else "finds"]
    assert [heading for heading in headings if heading in parts] == list(parts)
    assert set(headings) <= {*parts, "References"}


def test_a_section_of_the_readme_must_be_there() -> None:
    site = tool("docs_site")
    assert site.with_parts("a\n\n<!-- README: Install -->\n") == f"a\n\n{site.section('Install')}\n"
    with pytest.raises(ValueError, match="no section 'Nothing'"):
        site.with_parts("<!-- README: Nothing -->")


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    pytest.importorskip("material", reason="mkdocs-material is not installed")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path)]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    assert (tmp_path / "rules" / "JM101.html").is_file()
