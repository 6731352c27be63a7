"""The JSON Schema of a verification's report, made from the data classes that the report is written from.

`verify.schema.json` beside this module is what it makes; `python -m jaxmigrate.reports.schema` prints it.
"""

from __future__ import annotations

import json
import sys
import types
import typing
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from jaxmigrate.program.trust import GRADES
from jaxmigrate.verify.model import SCHEMA_VERSION, Evidence, Verdict

_PLAIN: dict[type, dict[str, Any]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    bool: {"type": "boolean"},
    # What JSON has no number for is written as text.
    float: {"anyOf": [{"type": "number"}, {"enum": ["inf", "-inf", "nan"]}]},
}
_LAYOUTS = {"type": "array", "items": {"$ref": "#/$defs/layout"}}


def schema() -> dict[str, Any]:
    """The schema of what `verify --report FILE.json` and `fix --verify --report FILE.json` write of a verification."""
    found: dict[str, Any] = {}
    verification = _of(Evidence, found)
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"urn:jaxmigrate:verify:{SCHEMA_VERSION}",
        "title": "A verification by jaxmigrate",
        "description": "`schema_version` changes whenever a field changes its meaning or goes; fields may be added.",
        **_object(
            {
                "tool": {"const": "jaxmigrate"},
                "tool_version": _PLAIN[str],
                "schema_version": {"const": SCHEMA_VERSION},
                "command": {"enum": ["fix", "verify"]},
                "verdict": _optional(_verdict()),
                "ok": _optional(_PLAIN[bool]),
                "sites": {"type": "array", "items": {"$ref": "#/$defs/site"}},
                "files": {"type": "array", "items": _object(dict.fromkeys(("path", "outcome", "diff"), _PLAIN[str]))},
                "errors": {"type": "array", "items": _PLAIN[str]},
                "notebooks": {"type": "array", "items": _PLAIN[str]},
                "not_covered": {"type": "array", "items": _PLAIN[str]},
                "verification": _optional(verification),
            }
        ),
        "$defs": {"site": _site(), "layout": _layout(), **found},
    }


def _layout() -> dict[str, Any]:
    """The evidence is told of global arrays alone."""
    layout = _object({"name": _PLAIN[str], "layout": _PLAIN[str]})
    layout["properties"]["grade"] = {"enum": [*GRADES]}
    return layout


def _site() -> dict[str, Any]:
    layouts = _object({"arguments": _LAYOUTS, "outputs": _LAYOUTS})
    site = _object(
        {
            "id": _PLAIN[str],
            "path": _PLAIN[str],
            "line": _PLAIN[int],
            "axis": _optional(_PLAIN[str]),
            "mapped": _PLAIN[str],
            "status": {"enum": ["rewritten", "left"]},
            "arguments": _LAYOUTS,
            "outputs": _LAYOUTS,
            "verdict": _optional(_verdict()),
            "in_the_runs": _optional(layouts),
        }
    )
    site["properties"] |= {"code": _PLAIN[str], "reason": _PLAIN[str], "cell": _PLAIN[int]}
    return site


def _object(properties: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": [*properties]}


def _optional(inner: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [inner, {"type": "null"}]}


def _verdict() -> dict[str, Any]:
    return {"enum": [verdict.value for verdict in Verdict]}


def _of(hint: Any, found: dict[str, Any]) -> dict[str, Any]:
    """The schema of what `model.to_json` makes of a value with this type; data classes go to `found` by name."""
    if hint in _PLAIN:
        return _PLAIN[hint]
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        inner = [_of(one, found) for one in arguments if one is not type(None)]
        return _optional(inner[0]) if type(None) in arguments else {"anyOf": inner}
    if origin is tuple:
        return {"type": "array", "items": _of_items(arguments, found)}
    if origin is not None and issubclass(origin, Mapping):
        return {"type": "object", "additionalProperties": _of(arguments[1], found)}
    if issubclass(hint, Enum):
        return {"enum": [one.value for one in hint]}
    return _of_class(hint, found)


def _of_items(arguments: tuple[Any, ...], found: dict[str, Any]) -> dict[str, Any]:
    """The one schema of all items of a tuple, which the tuples of the model have."""
    kinds = {json.dumps(_of(one, found)) for one in arguments if one is not ...}
    assert len(kinds) == 1, arguments
    item: dict[str, Any] = json.loads(kinds.pop())
    return item


def _of_class(hint: Any, found: dict[str, Any]) -> dict[str, Any]:
    assert isinstance(hint, type)
    assert is_dataclass(hint)
    name = hint.__name__
    if name not in found:
        found[name] = {}
        hints = typing.get_type_hints(hint)
        properties = {item.name: _of(hints[item.name], found) for item in fields(hint)}
        summary = (hint.__doc__ or "").partition("\n")[0]
        found[name] = {"description": summary, **_object(properties)}
    return {"$ref": f"#/$defs/{name}"}


def text() -> str:
    """The schema as the file holds it."""
    return json.dumps(schema(), indent=2) + "\n"


if __name__ == "__main__":
    sys.stdout.write(text())
