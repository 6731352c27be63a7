"""What a project's files mention anywhere, for decisions that hang on what may be brought from afar."""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import cache


@dataclass(frozen=True, eq=False)
class Texts:
    """The texts of a project."""

    texts: Collection[str]
    _mentioned: dict[str, bool] = field(default_factory=dict)

    def mention(self, word: str) -> bool:
        """Whether any text has a word; every file asks for the same ones, so they are looked for once."""
        if word not in self._mentioned:
            self._mentioned[word] = any(word in text and _whole(word).search(text) for text in self.texts)
        return self._mentioned[word]

    def mention_together(self, word: str, other: str, but: str) -> bool:
        """Whether any text, `but` one, has two words."""
        texts = (text for text in self.texts if word in text and other in text and text != but)
        return any(_whole(word).search(text) and _whole(other).search(text) for text in texts)


@cache
def _whole(word: str) -> re.Pattern[str]:
    return re.compile(rf"\b{re.escape(word)}\b")
