"""The modules beside those with sites that may take part, and the names by which stacked arrays can be reached.

A project can have thousands of modules and one training script. Nobody comes to hold a stacked array, a mapped function
or something that deals in them without naming a function, a variable, an attribute or a class that leads to it. So what
does not name one is not followed; the few ways round a name (`globals()`, an import by string) count as names
themselves. What may run in one process with those modules is parsed all the same: any of it may pass them a function.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from functools import cached_property
from pathlib import Path

from jaxmigrate.program.import_graph import ImportGraph
from jaxmigrate.program.loaded_files import Load, loads
from jaxmigrate.program.modules import Module, Project, import_name
from jaxmigrate.program.newer import may_be_newer
from jaxmigrate.program.string_imports import imports_computed

ROUND_NAMES = frozenset(
    {"globals", "locals", "vars", "eval", "exec", "getmembers", "__dict__", "__getattribute__", "attrgetter"}
    | {"methodcaller", "import_module", "__import__", "modules", "currentframe", "get_objects", "_getframe"}
)
TELLING = re.compile(r"axis_index|ppermute|all_to_all|pshuffle|pswapaxes|psum_scatter|callback|process_index")
_ANY_OF_MODULE = (ROUND_NAMES | {"getattr", "setattr", "items", "values"}) - {"exec", "import_module", "__import__"}
STRING_IMPORTS = frozenset({"import_module", "__import__", "modules"})
_ASKED = re.compile(r"\.[ \t]*([^\W\d]\w*)|[\"']([^\W\d]\w*)[\"']")
_WORD = re.compile(r"[^\W\d]\w*")
_COMPUTED = re.compile(r"\b(?:getattr|setattr)\(\s*([\w.]+)\s*,\s*(?![rbf]?[\"'])")
_STORED = re.compile(r"^[ \t]*([^\W\d]\w*)(?:\.\w+)*\.\w+[ \t]*=(?!=)", re.MULTILINE)
_SETTING = re.compile(r"\b(?:setattr|__setattr__|patch\.object)\(\s*([^\W\d]\w*)")
_STARRED = re.compile(r"^[ \t]*from\b.*\bimport[ \t]+\*", re.MULTILINE)
_METHOD = re.compile(r"^[ \t]+(?:async[ \t]+)?def[ \t]+(\w+)", re.MULTILINE)


class _Facts:
    """What the text of a file says, each worked out when first asked for."""

    def __init__(self, text: str) -> None:
        self._text = text

    @cached_property
    def words(self) -> frozenset[str]:
        """All names in it, and all words."""
        return frozenset(_WORD.findall(self._text))

    @cached_property
    def asked(self) -> frozenset[str]:
        """The names of attributes in it, and the texts that could be names."""
        return frozenset(attribute or text for attribute, text in _ASKED.findall(self._text))

    @cached_property
    def methods(self) -> frozenset[str]:
        """The names of functions that are defined in something."""
        return frozenset(_METHOD.findall(self._text))

    @cached_property
    def settings(self) -> frozenset[str]:
        """The names of what it sets attributes of, but for objects that do it themselves."""
        return frozenset(_STORED.findall(self._text) + _SETTING.findall(self._text)) - {"self", "cls"}

    def names_one(self, names: Collection[str]) -> bool:
        """Whether it can name one of some names that it imports."""
        return not self.words.isdisjoint(names) or self._names_any

    @cached_property
    def _names_any(self) -> bool:
        """Whether it can name anything of what it imports, without saying the name."""
        owners = {owner.partition(".")[0] for owner in _COMPUTED.findall(self._text)}
        imports = (rf"^[ \t]*(?:from|import)\b.*\b{owner}\b" for owner in owners)
        round_names = not self.words.isdisjoint(ROUND_NAMES) and _STARRED.search(self._text) is not None
        return round_names or any(re.search(one, self._text, re.MULTILINE) for one in imports)


class _Reaching:
    """What files say together, of which one at a time does not count."""

    def __init__(self, files: Mapping[Path, _Facts]) -> None:
        self._files = files

    @cached_property
    def _asked(self) -> Counter[str]:
        return Counter(name for facts in self._files.values() for name in facts.asked)

    @cached_property
    def _any(self) -> frozenset[Path]:
        return frozenset(path for path, facts in self._files.items() if not facts.words.isdisjoint(_ANY_OF_MODULE))

    def names_any(self, without: Path) -> bool:
        """Whether one of them, but for one, can use anything of a module without naming it."""
        return not self._any <= {without}

    def asks(self, name: str, without: Path) -> bool:
        """Whether one of them, but for one, has an attribute or a text of a name."""
        own = without in self._files and name in self._files[without].asked
        return self._asked[name] > own


def _tells(text: str) -> bool:
    """Whether a text may tell devices apart: of what may be loaded unsaid, nothing else matters to layouts."""
    return TELLING.search(text) is not None


class ReachableModules:
    """The modules of a project that import, directly or not, what takes part; `texts` are all that there are.

    `unread` are those that may take part in a way that fix cannot follow, since they import by string, or since only a
    later Python than this one parses them: by path, the files whose names each can use, with these names; `loading` the
    same of those that say the paths of what they load. `given` are those that are sure to be of one program. `beneath`
    are the files found so far that those that take part import.
    """

    def __init__(self, project: Project, texts: Mapping[Path, str], given: Collection[Path] | None = None) -> None:
        self._start(ImportGraph(project, texts, texts if given is None else given, _tells), texts, {})

    def _start(self, graph: ImportGraph, texts: Mapping[Path, str], facts: dict[Path, _Facts]) -> None:
        self.graph = graph
        self._project = graph.project
        self._texts = texts
        self._facts = facts
        self.beneath: set[Path] = set()
        self.unread: dict[Path, dict[Path, Collection[str]]] = {}
        self.loading: dict[Path, dict[Path, Collection[str]]] = {}
        self.set_there: dict[Load, set[Path]] = {}  # the files in whose variables a load sets names
        self.kept: dict[object, object] = {}  # by `once`, which alone looks into it
        self._loads: dict[Path, tuple[Load, ...]] = {}
        self._known_naming: dict[tuple[Path, frozenset[str]], frozenset[Path]] = {}
        self._known_loading: dict[tuple[Path, frozenset[str]], frozenset[Path]] = {}
        self._said_above: dict[tuple[Path, Path], bool] = {}
        self._reaching: dict[Path, _Reaching] = {}

    @property
    def given(self) -> Collection[Path]:
        """The files that are sure to be of one program."""
        return self.graph.given

    @property
    def texts(self) -> Mapping[Path, str]:
        """All files that there are."""
        return self._texts

    def is_said_beside(self, source: Path, pattern: re.Pattern[str]) -> bool:
        """Whether another file that may be loaded along with one holds a pattern."""
        together = self.graph.together([source]) if any(map(pattern.search, self._texts.values())) else ()
        return any(pattern.search(self._text(path)) for path in together if path != source)

    def texts_with(self, source: Path) -> list[str]:
        """The texts of all files that may be loaded along with one, its own included."""
        return [self._text(path) for path in sorted({source, *self.graph.together([source])})]

    def says(self, pattern: re.Pattern[str]) -> bool:
        """Whether some file of the project, or beside it, holds a pattern."""
        return any(pattern.search(text) for text in self._texts.values())

    def naming(self, joined: Collection[Path], names: Mapping[Path, Collection[str]]) -> list[Module]:
        """The modules that import one of those that take part and name something of it that leads to stacked arrays."""
        asked = [(source, frozenset(leading)) for source, leading in names.items() if leading]
        found: set[Path] = set()
        for source, leading in asked:
            found |= self._naming(source, leading)
        for source, leading in asked:
            found |= self._loading(source, leading)
        return self._parsed(found.difference(joined))

    def _naming(self, source: Path, names: frozenset[str]) -> frozenset[Path]:
        """The files that lead to one by imports and name something of it; asked as often as anything else joins."""
        if (source, names) not in self._known_naming:
            above = self.graph.above([source]) - {source}
            naming = frozenset(path for path in above if self._facts_of(path).names_one(names))
            self._note_unread(naming, source, names)
            self._known_naming[source, names] = naming
        return self._known_naming[source, names]

    def _loading(self, source: Path, names: frozenset[str]) -> frozenset[Path]:
        """The files that may load one by a string and use something of it."""
        if (source, names) not in self._known_loading:
            name = import_name(source)
            quoted = re.compile(rf"""["'][^"'\n]*\b{re.escape(name)}\b""")
            loading = self.graph.loaders_of(source)
            others = (p for p in self.graph.loading_by_name() if p in self.given or p in loading)
            found = {p for p in others if name in self._text(p) and quoted.search(self._text(p))}
            found |= self._note_loads(source, names)
            for path in loading:
                if source not in self.loading.get(path, ()) or imports_computed(self._text(path)):
                    self._note_use(path, source, names, ROUND_NAMES - STRING_IMPORTS)
            self._known_loading[source, names] = frozenset(found)
        return self._known_loading[source, names]

    def _note_loads(self, source: Path, names: Collection[str]) -> set[Path]:
        """Keeps what files use of one that they load by a path or name that is said, or may load; gives these files."""
        found: set[Path] = set()
        for path in self.graph.running_others():
            for load in self._loads_of(path) if path != source else ():
                said = load.tails is not None or self._is_said_above(path, source)
                if load.may_be(source) and (said or load.names is not None or path in self.given):
                    used = self._used(path, source, load, names)
                    held = (self.loading if said else self.unread).setdefault(path, {})
                    held[source] = {*held.get(source, ()), *used}
                    if load.sets:
                        self.set_there.setdefault(load, set()).add(source)
                    found |= {path} if used or (said and load.names != frozenset()) else set()
        return found

    def _is_said_above(self, path: Path, source: Path) -> bool:
        """Whether a file that loads others, or one that leads to it, says the name of a file."""
        if (path, source) not in self._said_above:
            said = re.compile(rf"""["'](?:[^"'\n]*[/.])?{re.escape(import_name(source))}(?:\.py)?["']""")
            above = self.graph.above([path])
            self._said_above[path, source] = any(said.search(self._text(one)) for one in (path, *above))
        return self._said_above[path, source]

    def _loads_of(self, path: Path) -> tuple[Load, ...]:
        if path not in self._loads:
            module = self._project.module(path)
            self._loads[path] = loads(module) if module is not None else ()
        return self._loads[path]

    def _used(self, path: Path, source: Path, load: Load, names: Collection[str]) -> Collection[str]:
        """Those of some names of a file that are used where another one loads it, or wherever that passes it on."""
        if load.names is not None:
            importing = self.graph.above([path]) - {path, source} if load.in_variable else ()
            return load.names.union(*(self._facts_of(one).asked for one in importing)).intersection(names)
        if path not in self._reaching:
            files = self.graph.beneath(self.graph.above([path]))
            self._reaching[path] = _Reaching({one: self._facts_of(one) for one in files})
        own = self._facts_of(path).words
        any_of = not own.isdisjoint(_ANY_OF_MODULE) if load.tails is None else self._reaching[path].names_any(source)
        return names if any_of else {one for one in names if one in own or self._reaching[path].asks(one, source)}

    def _note_unread(self, paths: Iterable[Path], source: Path, names: Collection[str]) -> None:
        """Keeps what files that only a later Python parses can use of another one."""
        for path in paths:
            if self._project.module(path) is None and may_be_newer(self._text(path)):
                self._note_use(path, source, names, ROUND_NAMES)

    def _note_use(self, path: Path, source: Path, names: Collection[str], ways: Collection[str]) -> None:
        """Keeps what one file may use of another by ways that are not followed: what it says, or else all of it."""
        words = self._facts_of(path).words
        every = not words.isdisjoint({*ways, "getattr", "setattr"})
        held = self.unread.setdefault(path, {})
        held[source] = {*held.get(source, ()), *(names if every else words.intersection(names))}

    def why_unread(self, path: Path) -> str:
        """Why what a file uses of another one is not followed."""
        return "which this Python cannot parse" if self._project.module(path) is None else "which imports it by string"

    def beside(self, named: Collection[Path]) -> list[Module]:
        """The modules that may run together with some, which are not among them."""
        return self._parsed(self.graph.together(named).difference(named))

    def programs(self, sources: Iterable[Path]) -> list[ReachableModules]:
        """The programs of which some files are parts: what one of them says and does never reaches another.

        Two files are of one program where some file may run with both of them. Each program is given its own files.
        """
        apart = self.graph.of(frozenset())
        found: list[set[Path]] = []
        for source in sources:
            whole = apart.together([source])
            shared = [other for other in found if not other.isdisjoint(whole)]
            found = [other for other in found if other.isdisjoint(whole)] + [whole.union(*shared)]
        return [self._of(frozenset(whole)) for whole in found]

    def _of(self, given: Collection[Path]) -> ReachableModules:
        found = object.__new__(ReachableModules)  # what was read is shared
        found._start(self.graph.of(given), self._texts, self._facts)
        found._loads, found._said_above, found._reaching = self._loads, self._said_above, self._reaching
        return found

    def importing(self, source: Path) -> frozenset[Path]:
        """The files that import one, or may load it by a string that says its name."""
        return frozenset((*self.graph.importers_of(source), *self.graph.loaders_of(source)))

    def importers(self, sources: Collection[Path]) -> list[Module]:
        """The modules that import one of some files, and are not among them."""
        return self._parsed({path for source in sources for path in self.importing(source)}.difference(sources))

    def texts_beside(self, sources: Collection[Path], known: Collection[Path]) -> list[str]:
        """The texts that may run together with some files, but for those that are known."""
        if len(known) == len(self._texts):
            return []
        return [self._text(path) for path in sorted(self.graph.together(sources)) if path not in known]

    def saying(
        self, words: re.Pattern[str], sources: Collection[Path], known: Collection[Path] = ()
    ) -> list[Module | None]:
        """The modules with some words in them that may run together with others, None for each that is not parsed.

        Programs that import it hold it, and all that they import; by a string anything may be imported.
        """
        if len(known) == len(self._texts):
            return []
        together = sorted(path for path in self.graph.together(sources) if path not in known)
        return [self._project.module(path) for path in together if words.search(self._text(path))]

    def defining(self, joined: Collection[Path], name: str) -> list[Module]:
        """The modules imported by those that take part, directly or not, in which a class has a method of a name."""
        self._look_beneath(joined)
        return self._parsed(p for p in self.beneath if p not in joined and name in self._facts_of(p).methods)

    def replacing(self, joined: Collection[Path]) -> list[Module]:
        """Those among them that may set an attribute of what they import: of a module, or of a class."""
        self._look_beneath(joined)
        found = self._parsed(p for p in self.beneath if p not in joined and self._facts_of(p).settings)
        return [one for one in found if any(_is_imported(name, one) for name in self._facts_of(one.path).settings)]

    def _look_beneath(self, joined: Collection[Path]) -> None:
        """Finds the files that some import, directly or not."""
        if not self.beneath.issuperset(joined):
            self.beneath |= self.graph.beneath(joined)

    def _parsed(self, paths: Iterable[Path]) -> list[Module]:
        return [module for path in sorted({*paths}) if (module := self._project.module(path)) is not None]

    def _text(self, path: Path) -> str:
        return self.graph.text(path)

    def _facts_of(self, path: Path) -> _Facts:
        if path not in self._facts:
            self._facts[path] = _Facts(self._text(path))
        return self._facts[path]


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
