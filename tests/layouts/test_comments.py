"""Comments within the calls that a rewrite replaces stay beside what they are about."""

from __future__ import annotations

import re

from tests.layouts.running import plan
from tests.layouts.table import provable


def test_comments_stay() -> None:
    files = provable()["comments_kept"]
    (after,) = [file.after for file in plan(files).files if file.path == "main.py"]
    comments = re.findall("#.*", files["main.py"])
    assert len(comments) == 8
    assert [one for one in comments if one not in after] == []
