"""The modules beside those with sites that may take part, and the names by which stacked arrays can be reached.

A project can have thousands of modules and one training script. Nobody comes to hold a stacked array, a mapped function
or something that deals in them without naming a function, a variable, an attribute or a class that leads to it. So what
does not name one is not followed; the few ways round a name (`globals()`, an import by string) count as names
themselves. What may run in one process with those modules is parsed all the same: any of it may pass them a function.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from jaxmigrate.program.imports import imported_files
from jaxmigrate.program.modules import Module, Project, import_name
from jaxmigrate.program.newer import may_be_newer
from jaxmigrate.program.string_imports import BY_STRING, loads_anything, may_load, may_run, runs_others

ROUND_NAMES = frozenset(
    {"globals", "locals", "vars", "eval", "exec", "getmembers", "__dict__", "__getattribute__", "attrgetter"}
    | {"methodcaller", "import_module", "__import__", "modules", "currentframe", "get_objects", "_getframe"}
)
TELLING = re.compile(r"axis_index|ppermute|all_to_all|pshuffle|pswapaxes|psum_scatter|callback|process_index")
STRING_IMPORTS = frozenset({"import_module", "__import__", "modules"})
_WORD = re.compile(r"[^\W\d]\w*")
_COMPUTED = re.compile(r"\b(?:getattr|setattr)\(\s*([\w.]+)\s*,\s*(?![rbf]?[\"'])")
_STORED = re.compile(r"^[ \t]*([^\W\d]\w*)(?:\.\w+)*\.\w+[ \t]*=(?!=)", re.MULTILINE)
_SETTING = re.compile(r"\b(?:setattr|__setattr__|patch\.object)\(\s*([^\W\d]\w*)")
_STARRED = re.compile(r"^[ \t]*from\b.*\bimport[ \t]+\*", re.MULTILINE)
_METHOD = re.compile(r"^[ \t]+(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)


class Onlookers:
    """The files of a project that import, directly or not, what takes part; `texts` are all that there are.

    `unread` are those that may take part in a way that fix cannot follow, since they import by string, or since only a
    later Python than this one parses them: by path, the files whose names each can use, with these names. `given` are
    those that are sure to be of one program: there any import by a string counts, elsewhere one that fits. `beneath`
    are the files found so far that those that take part import, directly or not.
    """

    def __init__(self, project: Project, texts: Mapping[Path, str], given: Collection[Path] | None = None) -> None:
        self._project = project
        self._texts = texts
        self.given = texts if given is None else given
        self._words: dict[Path, frozenset[str]] = {}
        self._any: dict[Path, bool] = {}
        self._methods: dict[Path, frozenset[str]] = {}
        self._settings: dict[Path, frozenset[str]] = {}
        self.beneath: set[Path] = set()
        self._noted = False
        self._importers: dict[Path, set[Path]] = {}
        self._by_string: list[Path] = []
        self._running: dict[Path, list[Path]] = {}
        self.unread: dict[Path, dict[Path, Collection[str]]] = {}

    def naming(self, joined: Collection[Path], names: Mapping[Path, Collection[str]]) -> list[Module]:
        """The modules that import one of those that take part and name something of it that leads to stacked arrays."""
        found: set[Path] = set()
        for source, leading in names.items():
            above = self._above(source) if leading else ()
            naming = {path for path in above if path not in joined and self._names_one(path, leading)}
            found |= naming
            self._note_unread(naming, source, leading)
        for source in (path for path, leading in names.items() if leading):
            name = import_name(source)
            quoted = re.compile(rf"""["'][^"'\n]*\b{re.escape(name)}\b""")
            loading = self._loading(source)
            others = (p for p in self._by_string if p not in joined and (p in self.given or p in loading))
            found |= {p for p in others if name in self._text(p) and quoted.search(self._text(p))}
            for path in loading:
                self._note_use(path, source, names[source], ROUND_NAMES - STRING_IMPORTS)
        return self._parsed(found)

    def _note_unread(self, paths: Iterable[Path], source: Path, names: Collection[str]) -> None:
        """Keeps what files that only a later Python parses can use of another one."""
        for path in paths:
            if self._project.module(path) is None and may_be_newer(self._text(path)):
                self._note_use(path, source, names, ROUND_NAMES)

    def _note_use(self, path: Path, source: Path, names: Collection[str], ways: Collection[str]) -> None:
        """Keeps what one file may use of another by ways that are not followed: what it says, or else all of it."""
        words = self._words_of(path)
        every = not words.isdisjoint({*ways, "getattr", "setattr"})
        held = self.unread.setdefault(path, {})
        held[source] = {*held.get(source, ()), *(names if every else words.intersection(names))}

    def why_unread(self, path: Path) -> str:
        """Why what a file uses of another one is not followed."""
        return "which this Python cannot parse" if self._project.module(path) is None else "which imports it by string"

    def beside(self, named: Collection[Path]) -> list[Module]:
        """The modules that may run together with some, which are not among them."""
        together = self.together(named)
        return self._parsed(together.difference(named))

    def programs(self, sources: Iterable[Path]) -> list[Onlookers]:
        """The programs of which some files are parts: what one of them says and does never reaches another.

        Two files are of one program where some file may run with both of them. Each program is given its own files.
        """
        apart = self._of(frozenset())
        found: list[set[Path]] = []
        for source in sources:
            whole = apart.together([source])
            shared = [other for other in found if not other.isdisjoint(whole)]
            found = [other for other in found if other.isdisjoint(whole)] + [whole.union(*shared)]
        return [self._of(frozenset(whole)) for whole in found]

    def _of(self, given: Collection[Path]) -> Onlookers:
        self._note_importers()
        found = copy.copy(self)  # what was read is shared
        found.given, found.beneath, found.unread = given, set(), {}
        return found

    def importing(self, source: Path) -> frozenset[Path]:
        """The files that import one, or may load it by a string that says its name."""
        self._note_importers()
        return frozenset((*self._importers.get(source, ()), *self._loading(source)))

    def _loading(self, source: Path) -> list[Path]:
        """The files that may load one by a string."""
        name = import_name(source)
        by_string = (path for path in self._by_string if path != source and name in self._text(path))
        return [path for path in by_string if may_load(self._text(path), source)]

    def importers(self, sources: Collection[Path]) -> list[Module]:
        """The modules that import one of some files, and are not among them."""
        return self._parsed({path for source in sources for path in self.importing(source)}.difference(sources))

    def texts_beside(self, sources: Collection[Path], known: Collection[Path]) -> list[str]:
        """The texts that may run together with some files, but for those that are known."""
        if len(known) == len(self._texts):
            return []
        return [self._text(path) for path in sorted(self.together(sources)) if path not in known]

    def saying(self, words: re.Pattern[str], source: Path) -> list[Module | None]:
        """The modules with some words in them that may run together with one, None for each that is not parsed.

        Programs that import it hold it, and all that they import; by a string anything may be imported.
        """
        together = self.together([source])
        return [self._project.module(path) for path in sorted(together) if words.search(self._text(path))]

    def together(self, sources: Iterable[Path]) -> set[Path]:
        """Some files, those that import them, directly or not, and all that these import."""
        sources = list(sources)
        pending = [path for source in sources for path in (source, *self._above(source))]
        pending += [path for path in self._by_string if path in self.given]
        pending += [path for source in sources for path in self._loading(source)]
        together: set[Path] = set()
        while pending:
            path = pending.pop()
            if path not in together:
                together.add(path)
                pending += imported_files(path, self._text(path), self._project)
                if path not in self._running:
                    self._running[path] = self._run_by(path)
                pending += self._running[path]
        return together

    def _run_by(self, path: Path) -> list[Path]:
        """The files that one may run although no statement of it imports them."""
        text = self._text(path)
        if not runs_others(text):
            return []
        if loads_anything(text):  # of which only those matter that tell devices apart
            return [other for other in self._texts if TELLING.search(self._texts[other])]
        return [other for other in self._texts if may_run(text, other)]

    def defining(self, joined: Collection[Path], name: str) -> list[Module]:
        """The modules imported by those that take part, directly or not, in which a class has a method of a name."""
        self._look_beneath(joined)
        return self._parsed(p for p in self.beneath if p not in joined and name in self._methods_of(p))

    def replacing(self, joined: Collection[Path]) -> list[Module]:
        """Those among them that may set an attribute of what they import: of a module, or of a class."""
        self._look_beneath(joined)
        found = self._parsed(p for p in self.beneath if p not in joined and self._setting_in(p))
        return [module for module in found if any(_is_imported(n, module) for n in self._setting_in(module.path))]

    def _setting_in(self, path: Path) -> frozenset[str]:
        """The names of what a file sets attributes of, but for objects that do it themselves."""
        if path not in self._settings:
            text = self._text(path)
            self._settings[path] = frozenset(_STORED.findall(text) + _SETTING.findall(text)) - {"self", "cls"}
        return self._settings[path]

    def _look_beneath(self, joined: Collection[Path]) -> None:
        """Finds the files that some import, directly or not."""
        pending = [path for path in joined if path not in self.beneath]
        while pending:
            path = pending.pop()
            if path not in self.beneath:
                self.beneath.add(path)
                pending += imported_files(path, self._text(path), self._project)

    def _parsed(self, paths: Iterable[Path]) -> list[Module]:
        return [module for path in sorted({*paths}) if (module := self._project.module(path)) is not None]

    def _text(self, path: Path) -> str:
        return self._texts.get(path) or self._project.text(path) or ""

    def _above(self, source: Path) -> Iterator[Path]:
        """The files that import one, directly or not."""
        self._note_importers()
        seen, pending = {source}, [source]
        while pending:
            for path in self._importers.get(pending.pop(), ()):
                if path not in seen:
                    seen.add(path)
                    pending.append(path)
                    yield path

    def _note_importers(self) -> None:
        """Finds out, once, who imports whom."""
        if self._noted:
            return
        self._noted = True
        for path, text in self._texts.items():
            for imported in imported_files(path, text, self._project):
                self._importers.setdefault(imported, set()).add(path)
            if BY_STRING.search(text):
                self._by_string.append(path)

    def _names_one(self, path: Path, names: Collection[str]) -> bool:
        return not self._words_of(path).isdisjoint(names) or self._names_any(path)

    def _names_any(self, path: Path) -> bool:
        """Whether a file can name anything of what it imports, without saying the name."""
        if path not in self._any:
            text = self._text(path)
            owners = {owner.partition(".")[0] for owner in _COMPUTED.findall(text)}
            imports = (rf"^[ \t]*(?:from|import)\b.*\b{owner}\b" for owner in owners)
            round_names = not self._words_of(path).isdisjoint(ROUND_NAMES) and _STARRED.search(text) is not None
            self._any[path] = round_names or any(re.search(one, text, re.MULTILINE) for one in imports)
        return self._any[path]

    def _words_of(self, path: Path) -> frozenset[str]:
        if path not in self._words:
            self._words[path] = frozenset(_WORD.findall(self._text(path)))
        return self._words[path]

    def _methods_of(self, path: Path) -> frozenset[str]:
        if path not in self._methods:
            self._methods[path] = frozenset(_METHOD.findall(self._text(path)))
        return self._methods[path]


def _is_imported(name: str, module: Module) -> bool:
    return any(binding.kind in ("import", "from") for binding in module.table.root.bindings.get(name, ()))


def names_in(node: ast.AST) -> set[str]:
    """Everything in a body by which it can name something elsewhere."""
    found: set[str] = set()
    for inner in ast.walk(node):
        match inner:
            case ast.Name(id=name) | ast.Attribute(attr=name):
                found.add(name)
            case ast.alias(name=name, asname=asname):
                found |= {*name.split("."), asname or name}
            case ast.Constant(value=str(text)) if text.isidentifier():
                found.add(text)
            case ast.Call(func=ast.Name(id="getattr" | "setattr"), args=[_, key, *_]) if not isinstance(
                key, ast.Constant
            ):
                found.add("__dict__")
    return found
