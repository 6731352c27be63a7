"""`jaxmigrate merge FILE...`: puts what the shards of a lint told together, and prints it as one run would have."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from jaxmigrate.commands import Failure
from jaxmigrate.commands.formatting import check_statistics, formatted, status_of, with_rules
from jaxmigrate.reports.merging import NotMergeable, documents, is_baseline, merged, merged_baseline


def run(options: argparse.Namespace) -> int:
    """Prints the whole; the exit status is the one that `lint` without shards has, 0 for baselines.

    Raises:
        Failure: A file cannot be read, or the files cannot be put together.
    """
    check_statistics(options)
    try:
        found = documents({name: _read(name) for name in options.files})
        if any(map(is_baseline, found.values())):
            if options.statistics or options.format != "json":
                raise NotMergeable("baselines are printed as a baseline: leave out --format and --statistics")
            sys.stdout.write(merged_baseline(found.values()))
            return 0
        result = merged(found)
    except NotMergeable as error:
        raise Failure(str(error)) from error
    sys.stdout.write(formatted(with_rules(result, options), options))
    return status_of(result)


def _read(name: str) -> str:
    try:
        with Path(name).open(encoding="utf-8", newline="") as stream:
            return stream.read()
    except OSError as error:
        raise Failure(f"{name}: {(error.strerror or str(error)).lower()}") from error
    except UnicodeDecodeError as error:
        raise Failure(f"{name}: is not UTF-8, so jaxmigrate did not write it") from error
