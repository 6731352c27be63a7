"""`jaxmigrate merge FILE...`: puts what the shards of a lint printed together into what one run would have printed."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from jaxmigrate.commands import Failure
from jaxmigrate.reports.merging import NotMergeable, merge


def run(options: argparse.Namespace) -> int:
    """Prints the whole; the exit status is the one that `lint` without shards has, as far as the files tell.

    Raises:
        Failure: A file cannot be read, or the files cannot be put together.
    """
    try:
        merged = merge({name: _read(name) for name in options.files})
    except NotMergeable as error:
        raise Failure(str(error)) from error
    sys.stdout.write(merged.text)
    return 2 if merged.errors else 1 if merged.findings else 0


def _read(name: str) -> str:
    try:
        with Path(name).open(encoding="utf-8", newline="") as stream:
            return stream.read()
    except OSError as error:
        raise Failure(f"{name}: {(error.strerror or str(error)).lower()}") from error
    except UnicodeDecodeError as error:
        raise Failure(f"{name}: is not UTF-8, so jaxmigrate did not write it") from error
