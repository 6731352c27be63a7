"""Every format over the same evidence: it says what was found, in a form that its readers take."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from jaxmigrate.migrate.plan import ArrayLayout, SitePlan
from jaxmigrate.reports import verify_html, verify_json, verify_junit, verify_markdown, verify_text
from jaxmigrate.reports.figures import share_of_bound
from jaxmigrate.reports.fix_result import FixedFile
from jaxmigrate.reports.html_diff import side_by_side
from jaxmigrate.reports.html_plot import error_plots
from jaxmigrate.reports.html_sites import site_changes
from jaxmigrate.reports.report import Report
from jaxmigrate.reports.writing import WRITERS, write_report
from jaxmigrate.verify.model import ErrorPoint, SiteEvidence, SiteInfo, Verdict
from tests.reports.evidence import evidence, full_report, green

_EMPTY = {"meta", "col", "br", "line", "circle", "polyline", "link", "img"}


class _Checked(HTMLParser):
    """Fails for a tag that is never closed; collects text, tags and what would be loaded from elsewhere."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.ids: set[str] = set()
        self.references: list[str] = []
        self.text = ""
        self.feed(text)
        assert self.stack == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in _EMPTY:
            self.stack.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.add(value or "")
            if name in ("href", "src", "srcset", "data"):
                self.references.append(value or "")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        assert tag in _EMPTY

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def test_json_has_a_version_and_every_site() -> None:
    document = json.loads(verify_json.write(full_report()))
    assert document["schema_version"] == 1
    assert (document["verdict"], document["ok"]) == ("different", False)
    assert [site["verdict"] for site in document["sites"]] == ["bitwise equal", "different", "not exercised", None]
    assert [site["status"] for site in document["sites"]] == ["rewritten", "rewritten", "rewritten", "left"]
    assert document["sites"][0]["arguments"] == [{"name": "x", "layout": "split"}]
    assert (document["sites"][3]["code"], document["sites"][3]["reason"]) == ("JM402", "a negative axis; use 2")
    assert document["files"][0]["diff"].startswith("--- a/train.py\n")


def test_json_holds_numbers_that_json_lacks() -> None:
    site = json.loads(verify_json.write(evidence()))["verification"]["sites"][1]
    assert site["max_relative"] == "inf"
    assert site["first"]["error"]["factor"] == 8.0
    assert site["first"]["hint"].startswith("the result is 8 times")


def test_junit_passes_only_what_agrees() -> None:
    root = ET.fromstring(verify_junit.write(full_report()))
    suite = root[0]
    cases = {case.get("name", ""): case for case in suite.findall("testcase")}
    states = {
        name.split()[0]: [child.tag for child in case] for name, case in cases.items() if name.startswith("train")
    }
    assert states == {
        "train.py:3": ["system-out"],
        "train.py:9": ["failure"],
        "train.py:12": ["failure"],
        "train.py:30": ["skipped"],
    }
    assert (suite.get("tests"), suite.get("failures"), suite.get("errors"), suite.get("skipped")) == (
        "7",
        "3",
        "1",
        "1",
    )
    failure = cases["train.py:9 <evaluate> & co"].find("failure")
    assert failure is not None
    assert "hint: the result is 8 times" in (failure.text or "")
    assert "the result is 8 times" in failure.get("message", "")
    assert (failure.text or "").endswith("what ran:\nNPROC=64 python train.py --name 'a b'")
    assert cases["train.py:9 <evaluate> & co"].get("classname") == "train"
    unseen = cases["train.py:12 predict"].find("failure")
    assert unseen is not None
    assert "Verify a command that calls it" in (unseen.text or "")
    assert "[31m" not in verify_junit.write(full_report())


def test_markdown_leads_with_the_verdict() -> None:
    text = verify_markdown.write(full_report())
    assert text.startswith("# ❌ Different\n")
    assert "the result is 8 times the original's" in text.partition("## Sites")[0]
    assert "| train.py:9 | \\<evaluate\\> & co | ❌ different | 5 | 7 | inf | 3.2e+07 |" in text
    assert "| train.py:12 | predict | ⚪ not exercised | 0 |  |  |  |" in text
    assert "```diff\n--- a/train.py" in text
    assert "NPROC=64 python train.py --name 'a b'" in text
    assert verify_markdown.write(green()).startswith("# ✅ Bitwise equal\n")


def test_text_ends_in_the_verdict() -> None:
    text = verify_text.write(full_report(), width=80)
    lines = text.splitlines()
    assert lines[-1].startswith("different: train.py:9 (<evaluate> & co): call 4")
    assert "    hint: the result is 8 times the original's: a `P()` argument" in lines
    assert "train.py:3   step             bitwise equal  5 calls" in lines
    assert "    JM402 a negative axis; use 2" in lines
    assert "\x1b" not in text
    assert "\x1b[31mdifferent" in verify_text.write(full_report(), colour=True)


def test_every_format_names_the_layouts_of_the_runs() -> None:
    assert "    replicated: state; split: batch['x'] -> replicated: result\n" in verify_text.write(full_report())
    assert "| train.py:3 | replicated: state; split: batch\\['x'\\] | replicated: result |" in verify_markdown.write(
        full_report()
    )
    site = json.loads(verify_json.write(full_report()))["sites"][0]
    assert site["in_the_runs"] == {
        "arguments": [
            {"name": "state", "layout": "replicated", "leaves": 7},
            {"name": "batch['x']", "layout": "split", "leaves": 1},
        ],
        "outputs": [{"name": "", "layout": "replicated", "leaves": 1}],
    }
    text = " ".join(_Checked(verify_html.write(full_report())).text.split())
    assert "Arguments, in the runsstatereplicated batch['x']split" in text
    assert "bitwise equal1 split 2 replicated" not in text
    assert "bitwise equal2 replicated 1 split5" in text


def test_page_is_whole_and_loads_nothing() -> None:
    page = verify_html.write(full_report())
    checked = _Checked(page)
    assert all(reference.startswith("#") and reference[1:] in checked.ids for reference in checked.references)
    assert len(checked.references) == 5
    assert "@import" not in page
    assert "url(" not in page
    assert "<script" not in page


def test_page_says_what_was_found() -> None:
    text = " ".join(_Checked(verify_html.write(full_report())).text.split())
    assert "jaxmigrate verify Different" in text
    assert "the result is 8 times the original's" in text.partition("sites exercised")[0]
    assert "2 / 3sites exercised" in text
    assert "1 bitwise equal" in text
    assert "<evaluate> & co" in text
    assert "call 4, result ['w']: 2 of 2 numbers differ" in text
    assert "['w'] at [0, 1]" in text
    assert "Fatal" in text
    assert "Left as it was: a negative axis; use 2 JM402" in text


def test_green_page_has_no_alarm() -> None:
    page = verify_html.write(green())
    assert '<header class="equal">' in page
    assert not re.search(r'class="[^"]*(different|failed)', page)
    assert " open" not in page


def test_report_of_nothing_is_still_a_page() -> None:
    for write in WRITERS.values():
        assert write(Report("fix", "0 sites in 0 files: 0 rewritten, 0 left"))


@pytest.mark.parametrize("ending", [".json", ".xml", ".md", ".html"])
def test_ending_chooses_the_format(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"report{ending}"
    write_report(path, full_report())
    start = {".json": "{", ".xml": "<?xml", ".md": "# ", ".html": "<!doctype html>"}[ending]
    assert path.read_text(encoding="utf-8").startswith(start)


class TestSideBySide:
    def test_changed_words_are_marked(self) -> None:
        table = side_by_side("@@ -3,1 +5,1 @@\n-step = jax.pmap(f)\n+step = mapped(f)\n")
        assert '<td class="at cut">3</td><td class="cut">step = <del>jax.pmap</del>(f)</td>' in table
        assert '<td class="at add">5</td><td class="add">step = <ins>mapped</ins>(f)</td>' in table

    def test_unlike_lines_are_not_compared(self) -> None:
        assert "<del>" not in side_by_side("@@ -1 +1 @@\n-import os\n+x = [y ** 2 for y in z]\n")

    def test_line_numbers_go_on_after_a_change(self) -> None:
        table = side_by_side("@@ -1,3 +1,4 @@\n a\n-b\n+c\n+d\n e\n")
        assert re.findall(r'class="at \w*">(\d+)', table) == ["1", "1", "2", "2", "3", "3", "4"]

    def test_code_is_escaped(self) -> None:
        assert "&lt;b&gt;" in side_by_side("@@ -1 +1 @@\n-<b>\n")

    def test_no_newline_at_the_end_is_no_line(self) -> None:
        assert "newline" not in side_by_side("@@ -1 +1 @@\n-a\n+b\n\\ No newline at end of file\n")

    def test_lines_that_look_like_headers_are_kept(self) -> None:
        table = side_by_side("--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n--- comment\n+++ counter\n same\n")
        assert "-- comment" in table.replace("<del>", "").replace("</del>", "")
        assert re.findall(r'class="at \w*">(\d+)', table) == ["1", "1", "2", "2"]


class TestErrorPlot:
    def test_growing_error_rises(self) -> None:
        points = [ErrorPoint(call, 1.0, 10.0 ** (call - 8), 1.0) for call in range(5)]
        relative, absolute = error_plots(points, 5).split("</svg>")[:2]
        assert "largest absolute error" in absolute
        places = re.findall(r'cx="([\d.]+)" cy="([\d.]+)"', relative)
        heights = [float(y) for _, y in places]
        assert heights == sorted(heights, reverse=True)
        assert [float(x) for x, _ in places] == sorted(float(x) for x, _ in places)

    def test_nothing_to_plot(self) -> None:
        assert error_plots([], 3) == error_plots([ErrorPoint(0, 0.0, 0.0, 0.0)] * 3, 3) == ""


def test_page_tells_the_verdict_then_the_assumptions_then_each_site() -> None:
    page = verify_html.write(full_report())
    places = [page.index(title) for title in ("<h1>Different", "sites exercised", ">Assumptions<", ">Site by site<")]
    assert places == sorted(places)
    text = " ".join(_Checked(page).text.split())
    assert "Only the values that python train.py --name 'a b' computes were compared" in text
    assert "Not reached, so nothing is known of it: train.py:12." in text


def _site(line: int, name: str = "f") -> SitePlan:
    return SitePlan(f"train.py:{line}:1:{name}", "train.py", line, 1, "call", "i", name, "rewritten")


TWO_SITES = """\
--- a/train.py
+++ b/train.py
@@ -1,2 +1,3 @@
 import jax
+import here
 # above
@@ -10,9 +11,9 @@
 # before
-first = jax.pmap(f)
+first = jax.jit(f)
 a = 1
 b = 2
-second = jax.pmap(g)
+second = jax.jit(g)
 c = 3
 d = 4
-print(second)
+print(second[0])
"""


def test_each_site_has_its_own_change() -> None:
    rows = [_site(11), _site(14)]
    report = Report("fix", files=[FixedFile("train.py", "shown", tuple(rows), TWO_SITES.encode())])
    found = site_changes(report)
    assert [line for line in found.own[rows[0].id].splitlines() if line[0] in "-+"] == [
        "-first = jax.pmap(f)",
        "+first = jax.jit(f)",
    ]
    assert "second[0]" in found.own[rows[1].id], "what follows a site within a stretch belongs to it"
    assert found.own[rows[1].id].startswith("@@ -14 +15 @@\n")
    assert [line for line in found.rest["train.py"].splitlines() if line[0] in "-+"] == ["+import here"]
    together = [line for text in (*found.own.values(), *found.rest.values()) for line in text.splitlines()]
    assert sorted(one for one in together if one[0] != "@") == sorted(
        one for one in TWO_SITES.splitlines()[2:] if one[0] != "@"
    )


def test_two_sites_of_one_change_share_it() -> None:
    rows = [_site(11), _site(11, "second")]
    report = Report("fix", files=[FixedFile("train.py", "shown", tuple(rows), TWO_SITES.encode())])
    found = site_changes(report)
    assert "Its change is shown at" in found.of_site(report.rows[1])
    assert "first" in found.of_site(report.rows[0])


def test_a_stacked_array_has_its_cause_and_what_to_do() -> None:
    site = replace(_site(11), arguments=(ArrayLayout("key", "stacked", "has its own", cause="random-key"),))
    page = verify_html.write(Report("fix", files=[FixedFile("train.py", "shown", (site,), TWO_SITES.encode())]))
    checked = _Checked(page)
    assert "#stacked-random-key" in checked.references
    assert "stacked-random-key" in checked.ids
    assert "What to do: Nothing." in " ".join(checked.text.split())


def test_the_share_of_what_rounding_allows_is_told_of_what_is_equal_within_it() -> None:
    site = SiteEvidence(SiteInfo("a"), Verdict.WITHIN, calls=2, differing=1, max_used=0.123)
    assert share_of_bound(site) == "12 %"
    assert share_of_bound(replace(site, max_used=0.001)) == "1 %"
    assert share_of_bound(replace(site, verdict=Verdict.DIFFERENT)) == ""
