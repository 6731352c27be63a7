"""What several steps of a plan ask of the same texts: each text is parsed once, and searched for old names once."""

from __future__ import annotations

from pathlib import Path

from jaxmigrate.program.modules import Module, parse_module
from jaxmigrate.program.old_mentions import may_use_old_names


class ReadTexts:
    """The texts that one plan has read, by the path at which each stands or is to stand."""

    def __init__(self) -> None:
        self._modules: dict[tuple[Path, str], Module] = {}
        self._judged: dict[str, bool] = {}

    def module(self, path: Path, text: str) -> Module:
        """A text as a module.

        Raises:
            SyntaxError: It cannot be parsed.
        """
        key = path, text
        if key not in self._modules:
            self._modules[key] = parse_module(path, text)
        return self._modules[key]

    def forget(self, module: Module) -> None:
        """Drops a module whose text changes again."""
        self._modules.pop((module.path, module.text), None)

    def may_use_old_names(self, text: str) -> bool:
        """Whether a text may use names that JAX has no longer."""
        if text not in self._judged:
            self._judged[text] = may_use_old_names(text)
        return self._judged[text]
