"""What a project's files mention anywhere, for decisions that hang on what may be brought from afar."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass
from functools import cache


@dataclass(frozen=True, eq=False)
class Texts:
    """The texts of a project."""

    texts: Collection[str]

    def mention(self, word: str) -> bool:
        """Whether any text has a word."""
        return any(word in text and _whole(word).search(text) for text in self.texts)

    def mention_together(self, word: str, other: str, but: str) -> bool:
        """Whether any text, `but` one, has two words."""
        texts = (text for text in self.texts if word in text and other in text and text != but)
        return any(_whole(word).search(text) and _whole(other).search(text) for text in texts)


@cache
def _whole(word: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(word)}\b")
