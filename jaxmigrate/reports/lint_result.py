"""What `lint` has to tell, as the plain data that every one of its formats is written from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from jaxmigrate.findings import Finding
from jaxmigrate.records import made, record
from jaxmigrate.sources import SourceError, SourceFile


@record
class LintResult:
    """The outcome of linting some files.

    Attributes:
        findings: What was found, in the order to print it in.
        errors: Files that could not be read or parsed.
        warnings: What is amiss without being a finding: comments that silence nothing.
        files: The names of the files that were looked at.
        sources: Those of them whose lines are to be shown.
        titles: The rules' titles by code.
        pages: The pages, in Markdown, of the rules that found something.
        shard: Which part of the whole this is, such as `2/4`; empty where it is the whole.
        maps: How many sites of pmap the files have.
    """

    findings: Sequence[Finding]
    errors: Sequence[SourceError] = ()
    warnings: Sequence[SourceError] = ()
    files: Sequence[str] = ()
    sources: Mapping[str, SourceFile] = made(factory=dict)
    titles: Mapping[str, str] = made(factory=dict)
    shard: str = ""
    pages: Mapping[str, str] = made(factory=dict)
    maps: int = 0

    def statistics(self) -> list[tuple[str, int]]:
        """How often each rule fired, the most frequent first."""
        return most_frequent(Counter(finding.code for finding in self.findings))


def most_frequent(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """Counts of rules in the order in which statistics tell them: the most frequent first, else by code."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
