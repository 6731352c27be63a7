"""Which of several files of one name an import finds, as far as the ways show in which others import the importer.

Python searches the folder of the script that runs first. A module that others import as `models.net` finds what stands
above `models`; one that is run, or that its neighbours import as `net`, what stands beside it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Protocol

MAIN = "__main__"
DYNAMIC = re.compile(r"import_module\(|__import__\(|run_module\(")
FROM = re.compile(r"\bfrom[ \t]+([\w.]+)[ \t\\\n]|^[ \t]*import[ \t]+([\w.]+)[ \t]*$", re.MULTILINE)
ON_PATH = re.compile(r"\bpath\.(?:insert|append|extend)\((.*)|\bsys\.path\s*(?:\[|\+?=)(.*)")
QUOTED = re.compile(r"[\"']([^\"']+)[\"']")
ABOVE = re.compile(r"__file__|\bcwd\(|getcwd|dirname|\.parents?\b|\.\.")
_NAMES = r"import\b(?:[ \t]*\([^)]*|(?:[^\n\\(]|\\\n)*)"  # on a line, or on several in parentheses


class Files(Protocol):
    """What is asked of a project's files."""

    def text(self, path: Path) -> str | None:
        """The text of a file."""
        ...

    def files_in(self, folder: str) -> Iterable[Path]:
        """The files of a folder."""
        ...

    @property
    def known(self) -> Iterable[Path]:
        """The files that are known."""
        ...


class SameNames:
    """Answers for the files of a project; what is found out for an importer is kept."""

    def __init__(self, files: Files) -> None:
        self._files = files
        self._texts: dict[str, dict[Path, str]] = {}
        self._changing: list[tuple[Path, str]] | None = None
        self._named: dict[str, list[str]] | None = None
        self._imports: dict[Path, set[str]] = {}
        self._dynamic: dict[Path, bool] = {}
        self._from: dict[Path, frozenset[str]] = {}

    def chosen(self, importer: str, candidates: dict[str, str]) -> str | None:
        """The file that an import finds of `candidates`, by the folders where they are found; None if that is open."""
        found = self._of_several(importer, candidates) if len(set(candidates.values())) > 1 else None
        if found is None and len(set(candidates.values())) > 1:
            return None
        found = found or next(iter(candidates.values()))
        place = next(folder for folder, file in candidates.items() if file == found)
        return None if self._is_moved(importer, found, place) else found

    def _of_several(self, importer: str, candidates: dict[str, str]) -> str | None:
        folder = os.path.dirname(importer)
        own = candidates.get(folder)
        above = {place: file for place, file in candidates.items() if not file.startswith(f"{folder}/")}
        if not above:
            return own or next(iter(candidates.values()))
        exact = [file for place, file in above.items() if self._is_dotted(importer, place)]
        dotted = bool(exact) or self._is_relative(importer)
        if own is not None:
            runs, bare = self._runs(importer), self._is_bare(importer)
            packaged = Path(folder, "__init__.py") in self._near(importer)
            if dotted and (runs or bare):
                return None
            if not dotted:
                return None if packaged and not bare else own
        several = exact or [*above.values()]
        return several[0] if len(set(several)) == 1 else None

    def _near(self, importer: str) -> dict[Path, str]:
        """The texts of the files that may import one: in its folder, in the one above and of those that are known."""
        folder = os.path.dirname(importer)
        if folder not in self._texts:
            near = {*self._files.files_in(folder), *self._files.files_in(os.path.dirname(folder)), *self._files.known}
            self._texts[folder] = {path: self._files.text(path) or "" for path in near if path.suffix == ".py"}
        return self._texts[folder]

    def _others(self, importer: str, word: str) -> Iterator[tuple[Path, str]]:
        return ((p, text) for p, text in self._near(importer).items() if str(p) != importer and word in text)

    def _runs(self, importer: str) -> bool:
        return MAIN in (self._files.text(Path(importer)) or "")

    def _is_bare(self, importer: str) -> bool:
        """Whether a neighbour imports a module by its own name alone."""
        folder, name = os.path.dirname(importer), _stem(importer)
        stem = re.escape(name)
        bare = re.compile(rf"^[ \t]*(?:from[ \t]+{stem}[ \t.]|import[ \t]+{stem}\b)", re.MULTILINE)
        return any(str(p.parent) == folder and bare.search(text) for p, text in self._others(importer, name))

    def _is_relative(self, importer: str) -> bool:
        """Whether a neighbour imports a module as one of the same package."""
        folder, name = os.path.dirname(importer), _stem(importer)
        stem = re.escape(name)
        relative = re.compile(rf"\bfrom[ \t]+\.(?:{stem}\b|[ \t]+{_NAMES}\b{stem}\b)")
        return any(str(p.parent) == folder and relative.search(text) for p, text in self._others(importer, name))

    def _is_dotted(self, importer: str, place: str) -> bool:
        """Whether some file imports a module by its way from a folder: `import a.b.net`, `from a.b import net`."""
        package = os.path.relpath(os.path.dirname(importer), place).replace(os.sep, ".")
        stem, way = re.escape(_stem(importer)), re.escape(package)
        named = re.compile(
            rf"(?<![\w.]){way}\.{stem}\b|\bfrom[ \t]+{way}[ \t\\\n]+{_NAMES}\b{stem}\b|^[ \t]*import[ \t]+{way}[ \t]*$",
            re.MULTILINE,
        )
        loaded = re.compile(rf"[\"']{way}\b|(?<![\w.]){way}\.__path__")
        return any(  # words first: these patterns are slow on long texts
            (
                stem in text
                and (f"{package}.{stem}" in text or package in self._packages(path, text))
                and named.search(text)
            )
            or (self._is_dynamic(path, text) and loaded.search(text))
            for path, text in self._others(importer, package)
        )

    def _packages(self, path: Path, text: str) -> frozenset[str]:
        """What a file imports from, or imports alone in a line."""
        if path not in self._from:
            self._from[path] = frozenset(found[1] or found[2] for found in FROM.finditer(text))
        return self._from[path]

    def _is_dynamic(self, path: Path, text: str) -> bool:
        if path not in self._dynamic:
            self._dynamic[path] = DYNAMIC.search(text) is not None
        return self._dynamic[path]

    # Where the search path is changed

    def _is_moved(self, importer: str, found: str, place: str) -> bool:
        """Whether a file that changes Python's search path, and loads the importer, may have it find another file."""
        others = self._others_of(found, place)
        if not others:
            return False
        for path, changes in self._changers():
            if not self._loads(path, importer):
                continue
            own = str(path.parent)
            if own != os.path.dirname(importer) and own in others and own != place:
                return True  # the script's own folder, which comes first
            first = [one for one in changes.splitlines() if not one.startswith("append")]
            if any(self._may_lead(one, own, other) for one in first for other in others):
                return True
        return False

    def _others_of(self, found: str, place: str) -> list[str]:
        """The other folders that have something of the name by which a file was found."""
        name = os.path.relpath(found, place).split(os.sep)[0].removesuffix(".py")
        if self._named is None:
            self._named = {}
            for path in self._files.known:
                if path.suffix == ".py":
                    folder = str(path.parent)
                    self._named.setdefault(path.stem, []).append(folder)
        return [folder for folder in self._named.get(name, ()) if folder != place]

    def _changers(self) -> list[tuple[Path, str]]:
        """The files that change the search path, each with what it does to it, a change in a line."""
        if self._changing is None:
            texts = ((path, self._files.text(path) or "") for path in self._files.known if path.suffix == ".py")
            self._changing = [
                (path, "\n".join(_changes(text))) for path, text in texts if "sys" in text and ON_PATH.search(text)
            ]
        return self._changing

    def _loads(self, path: Path, importer: str) -> bool:
        """Whether a file is the importer, or imports it or its package."""
        if str(path) == importer:
            return True
        names = {_stem(importer), os.path.basename(os.path.dirname(importer))}
        if path not in self._imports:
            text = self._files.text(path) or ""
            found = re.findall(r"^[ \t]*(?:from|import)[ \t]+([\w.]+)", text, re.MULTILINE)
            self._imports[path] = {name for one in found for name in one.split(".")}
        return not names.isdisjoint(self._imports[path])

    @staticmethod
    def _may_lead(change: str, own: str, other: str) -> bool:
        """Whether what is put on the search path may be a folder."""
        quoted = [os.path.basename(os.path.normpath(text)) for text in QUOTED.findall(change)]
        if os.path.basename(other) in quoted:
            return True
        if ABOVE.search(change):
            return own.startswith(f"{other}/") or own == other
        return not quoted


def _changes(text: str) -> Iterator[str]:
    for found in ON_PATH.finditer(text):
        yield f"{'append' if 'append(' in found[0] or 'extend(' in found[0] else 'insert'} {found[1] or found[2] or ''}"


def _stem(path: str) -> str:
    return os.path.basename(path).removesuffix(".py")
