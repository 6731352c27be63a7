"""Puts what several shards of a `lint` run printed together into what one run would have printed.

All that is told of a file comes from one shard, so it is enough to bring the files in order; what is told of one file
stays in the order in which it stands.
"""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

from jaxmigrate.reports import lint_gitlab, xml_text
from jaxmigrate.reports.lint_result import most_frequent

_One = TypeVar("_One")
_FINDING = re.compile(r"(?P<path>.+?)(?::cell \d+)?:\d+:\d+ JM\d+ ")
_COUNT = re.compile(r" *(?P<count>\d+)  (?P<code>JM\d+)(?:  (?P<title>.*))?")
_COMMAND = re.compile(r"::(?P<level>error|warning) file=(?P<path>[^,:]*)[^:]*?title=jaxmigrate(?P<code> JM\d+)?::")
_SHARD = re.compile(r"(\d+)/(\d+)")


class NotMergeable(Exception):  # noqa: N818 - it is told to the user in one line
    """What was given cannot be put together, in a sentence."""


class Merged(NamedTuple):
    """The text of one run, and whether it has findings and errors."""

    text: str
    findings: bool
    errors: bool


def merge(parts: Mapping[str, str]) -> Merged:
    """Merges the texts of several files by name, all of one format, which is told by what is in them.

    Raises:
        NotMergeable: They are of several formats, of none that is known, or a shard is missing or there twice.
    """
    kinds = {name: _kind(text, name) for name, text in parts.items() if text.strip()}
    if len(set(kinds.values())) > 1:
        told = ", ".join(f"{name} is {kind}" for name, kind in kinds.items())
        raise NotMergeable(f"only files of one format can be merged: {told}")
    kind = next(iter(kinds.values()), "text")
    return _MERGERS[kind]({name: text for name, text in parts.items() if text.strip() or kind in _LINES})


def _kind(text: str, name: str) -> str:
    if text.startswith("<?xml"):
        return "JUnit"
    if text.startswith("{"):
        document = _loaded(text, name)
        known = [kind for kind, keys in _KEYS.items() if keys <= set(document)]
        if not known:
            raise NotMergeable(f"{name}: is not output of jaxmigrate lint")
        return known[0]
    if text.startswith(("[\n", "[]")):
        return "a GitLab report"
    first = text.splitlines()[0]
    for kind, pattern in (("GitHub commands", _COMMAND), ("statistics", _COUNT), ("text", _FINDING)):
        if pattern.match(first):
            return kind
    raise NotMergeable(f"{name}: is not output of jaxmigrate lint")


_KEYS = {"SARIF": {"runs"}, "JSON": {"files", "findings", "errors"}, "a baseline": {"version", "findings"}}
_LINES = ("text", "GitHub commands", "statistics")


def _loaded(text: str, name: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise NotMergeable(f"{name}: is not valid JSON: {error}") from error


def _complete(shards: Mapping[str, str | None]) -> None:
    """Raises where the files name their shards and these are not each of them once."""
    named = {name: shard for name, shard in shards.items() if shard}
    if not named:
        return
    if without := [name for name in shards if name not in named]:
        raise NotMergeable(f"{without[0]}: is not the output of `lint --shard`, unlike {next(iter(named))}")
    found = [(int(match[1]), int(match[2])) for shard in named.values() if (match := _SHARD.fullmatch(shard))]
    counts = {count for _, count in found}
    if len(counts) != 1 or len(found) != len(named):
        raise NotMergeable(f"these are shards of different runs: {', '.join(map(str, named.values()))}")
    count = counts.pop()
    seen = Counter(index for index, _ in found)
    for index in range(1, count + 1):
        if seen[index] != 1:
            raise NotMergeable(f"shard {index}/{count} is {'given more than once' if seen[index] else 'missing'}")


def _in_order(items: Iterable[_One], path: Callable[[_One], str]) -> list[_One]:
    return sorted(items, key=path)


def _merged_json(parts: Mapping[str, str]) -> Merged:
    documents = {name: _loaded(text, name) for name, text in parts.items()}
    _complete({name: document.pop("shard", None) for name, document in documents.items()})
    several = list(documents.values())
    merged = dict(several[0])
    merged["files"] = sum(document["files"] for document in several)
    for key in ("findings", "errors", "warnings"):
        merged[key] = _in_order((one for document in several for one in document[key]), lambda one: str(one["path"]))
    if "statistics" in merged:
        counts = sum((Counter(document["statistics"]) for document in several), Counter[str]())
        merged["statistics"] = dict(most_frequent(counts))
    return Merged(json.dumps(merged, indent=2) + "\n", bool(merged["findings"]), bool(merged["errors"]))


def _merged_baseline(parts: Mapping[str, str]) -> Merged:
    """Baselines are of no shard: entries are counted together."""
    documents = [_loaded(text, name) for name, text in parts.items()]
    counts = Counter[tuple[str, str, str]]()
    for document in documents:
        for entry in document["findings"]:
            counts[entry["path"], entry["code"], entry["message"]] += entry["count"]
    entries = [
        {"path": path, "code": code, "message": message, "count": count}
        for (path, code, message), count in sorted(counts.items())
    ]
    merged = {**documents[0], "findings": entries}
    return Merged(json.dumps(merged, indent=2, ensure_ascii=False) + "\n", findings=False, errors=False)


def _merged_sarif(parts: Mapping[str, str]) -> Merged:
    documents = {name: _loaded(text, name) for name, text in parts.items()}
    runs = {name: document["runs"][0] for name, document in documents.items()}
    _complete({name: run.pop("properties", {}).get("shard") for name, run in runs.items()})
    for run in runs.values():
        run.pop("automationDetails", None)
    several = list(runs.values())
    told = [rule for run in several for rule in run["tool"]["driver"]["rules"]]
    rules = {rule["id"]: rule for rule in sorted(told, key=lambda rule: "help" in rule)}  # which those that fired have
    codes = sorted(rules)
    results = _in_order((one for run in several for one in run["results"]), _place)
    for result in results:
        result["ruleIndex"] = codes.index(result["ruleId"])
    said = [one for run in several for one in run["invocations"][0]["toolExecutionNotifications"]]
    errors, warnings = (_in_order((n for n in said if n["level"] == level), _place) for level in ("error", "warning"))
    merged = several[0]
    merged["tool"]["driver"]["rules"] = [rules[code] for code in codes]
    merged["invocations"] = [{"executionSuccessful": not errors, "toolExecutionNotifications": [*errors, *warnings]}]
    merged["results"] = results
    log = {**next(iter(documents.values())), "runs": [merged]}
    return Merged(json.dumps(log, indent=2) + "\n", bool(results), bool(errors))


def _place(result: Mapping[str, Any]) -> str:
    uri: str = result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
    return unquote(uri.removeprefix("file://"))


def _merged_gitlab(parts: Mapping[str, str]) -> Merged:
    issues: list[dict[str, Any]] = [issue for name, text in parts.items() for issue in _loaded(text, name)]

    def order(issue: Mapping[str, Any]) -> tuple[int, str]:
        section = 0 if issue["check_name"] != lint_gitlab.TOOL else 1 if issue["severity"] == lint_gitlab.ERROR else 2
        return section, issue["location"]["path"]

    merged = sorted(issues, key=order)
    sections = {order(issue)[0] for issue in merged}
    return Merged(json.dumps(merged, indent=2) + "\n", 0 in sections, 1 in sections)


def _merged_junit(parts: Mapping[str, str]) -> Merged:
    suites = {name: _suite(text, name) for name, text in parts.items()}
    _complete({name: _shard_of(suite) for name, suite in suites.items()})
    cases = [case for suite in suites.values() for case in suite.iter("testcase")]
    errors = _in_order((case for case in cases if case.find("error") is not None), _name)
    others = _in_order((case for case in cases if case.find("error") is None), _name)
    failures = sum(case.find("failure") is not None for case in others)
    totals = {
        "name": next(iter(suites.values())).get("name", ""),
        "tests": str(len(cases)),
        "failures": str(failures),
        "errors": str(len(errors)),
    }
    root = ET.Element("testsuites", totals)
    ET.SubElement(root, "testsuite", totals).extend([*others, *errors])
    return Merged(xml_text.document(root), bool(failures), bool(errors))


def _suite(text: str, name: str) -> ET.Element:
    try:
        suite = ET.fromstring(text).find("testsuite")
    except ET.ParseError as error:
        raise NotMergeable(f"{name}: is not valid XML: {error}") from error
    if suite is None:
        raise NotMergeable(f"{name}: is not output of jaxmigrate lint")
    return suite


def _shard_of(suite: ET.Element) -> str | None:
    named = suite.find("properties/property[@name='shard']")
    return None if named is None else named.get("value")


def _name(case: ET.Element) -> str:
    return case.get("name", "")


def _merged_text(parts: Mapping[str, str]) -> Merged:
    lines = _lines(parts, _FINDING)
    return Merged("".join(f"{line}\n" for line, _ in _in_order(lines, lambda one: one[1]["path"])), bool(lines), False)


def _merged_commands(parts: Mapping[str, str]) -> Merged:
    def section(command: re.Match[str]) -> int:
        return 0 if command["code"] else 1 if command["level"] == "error" else 2

    lines = _lines(parts, _COMMAND)
    ordered = sorted(lines, key=lambda one: (section(one[1]), unquote(one[1]["path"])))
    found = {section(command) for _, command in lines}
    return Merged("".join(f"{line}\n" for line, _ in ordered), 0 in found, 1 in found)


def _merged_statistics(parts: Mapping[str, str]) -> Merged:
    counts, titles = Counter[str](), dict[str, str]()
    for _, row in _lines(parts, _COUNT):
        counts[row["code"]] += int(row["count"])
        titles[row["code"]] = row["title"] or ""
    rows = most_frequent(counts)
    width = max((len(str(count)) for _, count in rows), default=0)
    text = "".join(f"{count:>{width}}  {code}  {titles[code]}".rstrip() + "\n" for code, count in rows)
    return Merged(text, bool(rows), errors=False)


def _lines(parts: Mapping[str, str], pattern: re.Pattern[str]) -> Sequence[tuple[str, re.Match[str]]]:
    found: list[tuple[str, re.Match[str]]] = []
    for name, text in parts.items():
        for number, line in enumerate(text.split("\n")[:-1], 1):
            match = pattern.match(line)
            if match is None:
                raise NotMergeable(f"{name}:{number}: is not a line that jaxmigrate lint writes to a file")
            found.append((line, match))
    return found


_MERGERS: Mapping[str, Callable[[Mapping[str, str]], Merged]] = {
    "JSON": _merged_json,
    "SARIF": _merged_sarif,
    "JUnit": _merged_junit,
    "a GitLab report": _merged_gitlab,
    "a baseline": _merged_baseline,
    "text": _merged_text,
    "GitHub commands": _merged_commands,
    "statistics": _merged_statistics,
}
