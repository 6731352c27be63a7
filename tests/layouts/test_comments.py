"""Comments within the calls that a rewrite replaces stay beside what they are about."""

from __future__ import annotations

import io
import re
import tokenize

from tests.layouts.running import plan
from tests.layouts.table import provable


def test_comments_stay() -> None:
    files = provable()["comments_kept"]
    (after,) = [file.after for file in plan(files).files if file.path == "main.py"]
    comments = re.findall("#.*", files["main.py"])
    assert len(comments) == 8
    assert [one for one in comments if one not in after] == []


def test_hash_in_a_string_begins_no_comment() -> None:
    files = provable()["hashes_in_strings"]
    (after,) = [file.after for file in plan(files).files if file.path == "main.py"]
    comments = _comments(files["main.py"])
    assert len(comments) == 4
    assert _comments(after) == comments
    assert '_shard(\n        BATCH["rows #1"], mesh\n        # a block for each\n    )' in after


def _comments(text: str) -> list[str]:
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sorted(token.string for token in tokens if token.type == tokenize.COMMENT)
