"""What SARIF 2.1.0 asks of the parts that are written: required properties, types, smallest numbers, allowed words.

Written from the standard (OASIS, section 3), since its published schema can only be had over the network. Objects are
closed, so that a misspelt property is an error.
"""

from __future__ import annotations

from typing import Any


def closed(required: tuple[str, ...], **properties: Any) -> dict[str, Any]:
    """An object with these properties and no other."""
    return {"type": "object", "required": list(required), "additionalProperties": False, "properties": properties}


def listed(items: dict[str, Any]) -> dict[str, Any]:
    """An array of such."""
    return {"type": "array", "items": items}


COUNT = {"type": "integer", "minimum": 1}
TEXT = {"type": "string"}
MESSAGE = closed(("text",), text={"type": "string", "minLength": 1})
REGION = {
    **closed((), startLine=COUNT, startColumn=COUNT, endLine=COUNT, endColumn=COUNT),
    "dependentRequired": {"startColumn": ["startLine"], "endLine": ["startLine"], "endColumn": ["startLine"]},
}
ARTIFACT = closed(("uri",), uri={"type": "string", "format": "uri-reference", "pattern": r"^[^\s\\]+$"})
PHYSICAL = closed(("artifactLocation",), artifactLocation=ARTIFACT, region=REGION)
LOCATION = closed((), id={"type": "integer", "minimum": -1}, physicalLocation=PHYSICAL, message=MESSAGE)  # section 3.28
LEVEL = {"enum": ["none", "note", "warning", "error"]}
RESULT = closed(
    ("message",),
    ruleId=TEXT,
    ruleIndex={"type": "integer", "minimum": -1},
    level=LEVEL,
    message=MESSAGE,
    locations=listed(LOCATION),
    relatedLocations={**listed(LOCATION), "uniqueItems": True},
)
HELP = closed(("text",), text=TEXT, markdown=TEXT)
RULE = closed(("id",), id=TEXT, shortDescription=MESSAGE, help=HELP)
DRIVER = closed(("name",), name=TEXT, version=TEXT, rules={**listed(RULE), "uniqueItems": True})
NOTIFICATION = closed(("message",), level=LEVEL, message=MESSAGE, locations=listed(LOCATION))
INVOCATION = closed(
    ("executionSuccessful",),
    executionSuccessful={"type": "boolean"},
    toolExecutionNotifications=listed(NOTIFICATION),
)
RUN = closed(
    ("tool",),
    tool=closed(("driver",), driver=DRIVER),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    invocations=listed(INVOCATION),
    results=listed(RESULT),
)
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    **closed(
        ("version", "runs"),
        **{"$schema": {"type": "string", "format": "uri"}, "version": {"const": "2.1.0"}, "runs": listed(RUN)},
    ),
}
