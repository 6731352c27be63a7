"""What lint says of programs that someone wrote who had not seen its rules: none that is right is told.

`python tests/campaigns/lint_gallery.py --write` notes in gallery.txt what is told now; read the difference before you
commit it.
"""

from __future__ import annotations

import pytest

from tests.campaigns.lint_gallery import Example, examples, told

GALLERY = examples()


@pytest.mark.parametrize("example", GALLERY, ids=[example.name for example in GALLERY])
def test_lint_says_of_a_program_what_is_noted(example: Example) -> None:
    assert told(example) == example.told
    assert example.told == "quiet" or not example.is_right
