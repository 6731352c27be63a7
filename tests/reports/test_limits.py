"""What green does not cover, which revisions were compared, and where a line of the diff is: in every format."""

from __future__ import annotations

import argparse
import json
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from jaxmigrate.commands.reporting import links
from jaxmigrate.commands.revisions import revisions
from jaxmigrate.reports import page, verify_json, verify_markdown, verify_text
from jaxmigrate.reports.diff import unified_diff
from jaxmigrate.reports.fix_result import FixedFile
from jaxmigrate.reports.report import Report, report_of_verify
from jaxmigrate.verify.model import Coverage, Evidence, SeenLayout, SiteEvidence, SiteInfo, Verdict

SITES = (
    SiteEvidence(
        SiteInfo("a.py:2:1", "a.py", 2, 1, "i", "step"), Verdict.EQUAL, "30 calls bitwise equal", 30, inputs=4
    ),
    SiteEvidence(
        SiteInfo("a.py:5:1", "a.py", 5, 1, "i", "loss"),
        Verdict.WITHIN,
        "2 calls equal, 1 of them within rounding; only the original program returns [1]",
        2,
        inputs=2,
    ),
)
FOUND = Evidence(
    Verdict.WITHIN,
    "2 of 2 sites exercised",
    SITES,
    (),
    Coverage(2, 2, 1, 1),
    ("python", "train.py"),
    ".",
    8,
    1,
    {},
    {},
    1.0,
    outputs_equal=True,
    untouched=("old.py:7 (export)", "old.py:9 (dump)"),
    revisions={"original": "v1.0", "rewritten": "v1.0-2-gabc1234-dirty"},
)
BEFORE = b"import jax\nstep = jax.pmap(f)\n\n\nloss = jax.pmap(g)\n"
AFTER = b"import jax\nstep = jax.jit(f)\n\n\nloss = jax.jit(g)\n"


def report() -> Report:
    return report_of_verify(FOUND, [FixedFile("a.py", "shown", (), unified_diff("a.py", BEFORE, AFTER))])


def test_text() -> None:
    told = verify_text.write(report())
    assert "not covered: inputs and steps other than these 32 calls on 6 distinct inputs; 2 sites not run, in" in told
    assert "original v1.0, rewritten v1.0-2-gabc1234-dirty" in told
    assert "    only the original program returns [1]\n" in told
    assert "not covered" not in verify_text.write(replace(FOUND, verdict=Verdict.DIFFERENT))


def test_layouts_that_are_not_known_are_told_in_every_format() -> None:
    held = (SeenLayout("scale", "unknown"), SeenLayout("x", "stacked"))
    found = replace(FOUND, sites=(replace(SITES[0], arguments=held), SITES[1]))
    says = "Not compared, because it is not known how the rewritten program holds it: {}."
    told = report_of_verify(found)
    assert says.format("`a.py:2 scale`") in json.loads(verify_json.write(told))["not_covered"]
    assert says.format("a.py:2 scale") in verify_markdown.write(told)
    assert says.format("<code>a.py:2 scale</code>") in page.write(told)
    text = " ".join(verify_text.write(told).split())
    assert "arguments or results in layouts that are not known: `a.py:2 scale`" in text
    assert "not known how" not in verify_markdown.write(report())


def test_markdown() -> None:
    told = verify_markdown.write(report())
    assert "Compared: original v1.0, rewritten v1.0-2-gabc1234-dirty." in told
    section = told[told.index("## Not covered") :]
    assert (
        "- Only the values that python train.py computes were compared, in 32 calls on 6 distinct inputs, not other"
        in section
    )
    assert "<details><summary>2 sites in files that did not change: not run and not counted" in section
    assert "<li>old.py:7 (export)</li>" in section
    table = told[told.index("## Sites") : told.index("## Layouts")]
    signs = {line.split("|")[3].split()[0] for line in table.splitlines() if line.startswith("| a.py")}
    assert len(signs) == 2  # another one for what agrees within rounding


def test_markdown_links_to_the_lines_where_somebody_can_follow_them() -> None:
    told = verify_markdown.write(replace(report(), links="https://host/owner/name/blob/c0ffee"))
    assert "| [a.py:5](<https://host/owner/name/blob/c0ffee/a.py#L5>) | loss |" in told
    assert "](<" not in verify_markdown.write(report())


def test_html() -> None:
    told = page.write(report())
    assert "in 32 calls on 6 distinct inputs" in told
    assert "<summary>2 sites in files that did not change: not run and not counted</summary>" in told
    assert "<code>v1.0-2-gabc1234-dirty</code>" in told
    assert '<a href="#line-a-py-5">line 5</a>' in told
    assert told.count('id="line-a-py-5"') == 1


def test_json() -> None:
    told = json.loads(verify_json.write(report()))
    assert told["not_covered"][0].startswith(
        "Only the values that `python train.py` computes were compared, in 32 calls"
    )
    assert told["verification"]["untouched"] == ["old.py:7 (export)", "old.py:9 (dump)"]
    assert told["verification"]["revisions"]["original"] == "v1.0"


def git(folder: Path, *arguments: str) -> None:
    identity = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *identity, *arguments], cwd=folder, check=True, capture_output=True)


def test_revisions_of_both_sides(tmp_path: Path) -> None:
    assert revisions(tmp_path, argparse.Namespace()) == {}
    file = tmp_path / "a.py"
    file.write_text("1\n")
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-q", "-m", "one")
    git(tmp_path, "tag", "v1")
    assert revisions(tmp_path, argparse.Namespace()) == {"original": "v1", "rewritten": "v1, rewritten by fix"}
    file.write_text("2\n")
    found = revisions(tmp_path, argparse.Namespace(original="HEAD"))
    assert found == {"original": "HEAD (v1)", "rewritten": "v1-dirty"}
    assert revisions(tmp_path, argparse.Namespace(original="v1"))["original"] == "v1"


def test_links_lead_to_the_commit_that_an_action_runs_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GITHUB_SERVER_URL", "GITHUB_REPOSITORY", "GITHUB_SHA"):
        monkeypatch.delenv(name, raising=False)
    assert links() == ""
    monkeypatch.setenv("GITHUB_SERVER_URL", "https://host")
    monkeypatch.setenv("GITHUB_REPOSITORY", "owner/name")
    monkeypatch.setenv("GITHUB_SHA", "c0ffee")
    monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    (tmp_path / "part").mkdir()
    monkeypatch.chdir(tmp_path / "part")
    assert links() == "https://host/owner/name/blob/c0ffee/part"
