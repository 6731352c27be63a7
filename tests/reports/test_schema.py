"""The published schema: it is what the model makes, reports satisfy it, and reports that lack something do not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib import resources
from typing import Any

import pytest

from jaxmigrate.reports import schema, verify_json
from jaxmigrate.reports.report import Report
from jaxmigrate.verify.merge import merge
from jaxmigrate.verify.model import SCHEMA_VERSION
from tests.reports.evidence import evidence, full_report, green

_TYPES = {"string": str, "integer": int, "boolean": bool, "array": list, "object": dict, "null": type(None)}


def wrong(value: Any, rule: dict[str, Any], root: dict[str, Any], place: str = "") -> Iterator[str]:
    """Where a value does not satisfy a rule: of JSON Schema, as much as this schema uses."""
    assert rule.keys() <= {
        "$schema", "$id", "$defs", "$ref", "title", "description", "type", "properties", "required", "items", "enum",
        "const", "anyOf", "additionalProperties",
    }  # fmt: skip
    if "$ref" in rule:
        yield from wrong(value, root["$defs"][rule["$ref"].rpartition("/")[2]], root, place)
    if "const" in rule and value != rule["const"]:
        yield f"{place}: {value!r} is not {rule['const']!r}"
    if "enum" in rule and value not in rule["enum"]:
        yield f"{place}: {value!r} is none of {rule['enum']}"
    if "anyOf" in rule and all([*wrong(value, one, root, place)] for one in rule["anyOf"]):
        yield f"{place}: {value!r} fits nothing"
    if "type" in rule and not _is(value, rule["type"]):
        yield f"{place}: {value!r} is no {rule['type']}"
        return
    if isinstance(value, dict):
        yield from (f"{place}: no {name}" for name in rule.get("required", ()) if name not in value)
        for name, item in value.items():
            inner = rule.get("properties", {}).get(name, rule.get("additionalProperties", {}))
            yield from wrong(item, inner, root, f"{place}.{name}")
    if isinstance(value, list):
        for number, item in enumerate(value):
            yield from wrong(item, rule.get("items", {}), root, f"{place}[{number}]")


def _is(value: Any, name: str) -> bool:
    if name == "number":
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, _TYPES[name]) and (name != "integer" or not isinstance(value, bool))


def published() -> dict[str, Any]:
    text = resources.files("jaxmigrate.reports").joinpath("verify.schema.json").read_text(encoding="utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def test_the_file_is_what_the_model_makes() -> None:
    assert published() == schema.schema(), "run: python -m jaxmigrate.reports.schema > .../verify.schema.json"
    assert published()["properties"]["schema_version"] == {"const": SCHEMA_VERSION}


@pytest.mark.parametrize(
    "report",
    [full_report(), evidence(), green(), merge({"a": green(), "b": evidence()}), Report("fix", "nothing")],
    ids=["full", "different", "green", "several", "nothing"],
)
def test_reports_satisfy_it(report: Any) -> None:
    assert [*wrong(json.loads(verify_json.write(report)), published(), published())] == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"schema_version": 0}, "schema_version: 0 is not"),
        ({"verdict": "fine"}, "verdict: 'fine' fits nothing"),
        ({"sites": [{"id": 3}]}, "sites[0].id: 3 is no string"),
        ({"verification": {}}, "verification: {} fits nothing"),
    ],
)
def test_what_is_no_report_does_not(change: dict[str, Any], says: str) -> None:
    document = json.loads(verify_json.write(full_report())) | change
    assert any(says in told for told in wrong(document, published(), published()))


def test_every_field_of_the_report_is_described() -> None:
    document = json.loads(verify_json.write(full_report()))
    assert document.keys() == published()["properties"].keys()
    assert {name for site in document["sites"] for name in site} <= published()["$defs"]["site"]["properties"].keys()
