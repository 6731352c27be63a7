"""Puts what several shards of a `lint` run told, as JSON, together into what one run would have told.

All that is told of a file comes from one shard, so it is enough to bring the files in order; what is told of one file
stays in the order in which it stands.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

from jaxmigrate.findings import Finding, baseline, finding_from_json
from jaxmigrate.reports.lint_result import LintResult
from jaxmigrate.sources import SourceError

_Told = TypeVar("_Told", Finding, SourceError)
_SHARD = re.compile(r"(\d+)/(\d+)")
_RESULT = {"files", "findings", "errors", "warnings"}
_BASELINE = {"version", "findings"}


class NotMergeable(Exception):  # noqa: N818 - it is told to the user in one line
    """What was given cannot be put together, in a sentence."""


def documents(texts: Mapping[str, str]) -> dict[str, Any]:
    """The JSON of several files, by name.

    Raises:
        NotMergeable: A file is neither what `lint --format json` prints nor a baseline, or there are some of each.
    """
    found = {name: _loaded(text, name) for name, text in texts.items()}
    if len({is_baseline(document) for document in found.values()}) > 1:
        name = next(name for name, document in found.items() if is_baseline(document))
        raise NotMergeable(f"{name}: is a baseline, unlike others that were given")
    return found


def _loaded(text: str, name: str) -> Any:
    try:
        document = json.loads(text)
    except ValueError as error:
        raise NotMergeable(f"{name}: is not JSON: {error}; shards need `lint --shard I/N --format json`") from error
    if not isinstance(document, dict) or not (document.keys() >= _RESULT or is_baseline(document)):
        raise NotMergeable(f"{name}: is not what `jaxmigrate lint --format json` prints")
    return document


def is_baseline(document: Mapping[str, Any]) -> bool:
    """Whether a document is what `lint --write-baseline` wrote."""
    return document.keys() == _BASELINE


def merged(shards: Mapping[str, Any]) -> LintResult:
    """What one run would have told, from the documents of all its shards by the names of their files.

    Raises:
        NotMergeable: A shard is missing or there twice, or one is of another run.
    """
    _complete({name: document.get("shard", "") for name, document in shards.items()})
    several = list(shards.values())
    return LintResult(
        findings=_in_order(finding_from_json(one) for document in several for one in document["findings"]),
        errors=_in_order(SourceError(**one) for document in several for one in document["errors"]),
        warnings=_in_order(SourceError(**one) for document in several for one in document["warnings"]),
        files=sorted(name for document in several for name in document["names"]),
    )


def _complete(named: Mapping[str, str]) -> None:
    """Raises where files are not each a shard of one run, and all of them."""
    if without := [name for name, shard in named.items() if not shard]:
        raise NotMergeable(f"{without[0]}: is not the output of `lint --shard`")
    found = [(int(match[1]), int(match[2])) for shard in named.values() if (match := _SHARD.fullmatch(shard))]
    counts = {count for _, count in found}
    if len(counts) != 1 or len(found) != len(named):
        raise NotMergeable(f"these are shards of different runs: {', '.join(named.values())}")
    count = counts.pop()
    seen = Counter(index for index, _ in found)
    for index in range(1, count + 1):
        if seen[index] != 1:
            raise NotMergeable(f"shard {index}/{count} is {'given more than once' if seen[index] else 'missing'}")


def _in_order(told: Iterable[_Told]) -> list[_Told]:
    return sorted(told, key=lambda one: one.path)


def merged_baseline(baselines: Iterable[Mapping[str, Any]]) -> str:
    """One baseline: they are of no shard, so that entries are counted together."""
    several = list(baselines)
    counts = Counter[baseline.Entry]()
    for document in several:
        for entry in document["findings"]:
            counts[entry["path"], entry["code"], entry["message"]] += entry["count"]
    return baseline.as_json(counts, several[0]["version"])
