"""Which files code runs by their paths, as `runpy.run_path("train.py")` does, and which of their names it uses then."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import PurePath

from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import Scope
from jaxmigrate.records import record

Names = frozenset[str] | None  # None: any of them
Tail = tuple[str, ...]  # the last parts of a path
RUNS = re.compile(
    r"\b(?:exec|execfile|run_path|run_module|runsource|runcode|module_from_spec|load_module|load_source|exec_module"
    r"|import_module|__import__|resolve_name)\b|\bget_ipython\([\"']"
)
TABLES = {"run_path": "path_name", "run_module": "mod_name"}  # what gives the variables of a module, as a dictionary
PUT_IN = {"exec": 1, "execfile": 1, "exec_module": 0, "runsource": None, "runcode": None}  # and what puts them in one
GIVING = frozenset({"load_module", "load_source", "module_from_spec"})  # what gives a module
SPECS = {"spec_from_file_location": 1, "SourceFileLoader": 1, "load_source": 1, "find_spec": 0}
MODULES = frozenset({"find_spec", "run_module"})  # what takes the dotted name of a module
IMPORTS = ("import_module", "__import__", "resolve_name")  # and gives it
MAGIC = "get_ipython"  # what a notebook's lines are read as that are no Python; `%run train.py` says the path
WHOLE = ("globals", "locals", "vars", "eval", "exec", "getattr")  # what reaches variables by other ways
OPENS = frozenset({"open", "Path", "PurePath", "PosixPath", "str", "fspath", "abspath", "realpath", "normpath"}) | {
    "expanduser",
    "compile",
    "execfile",
}
GIVES_SAME = frozenset({"read", "read_text", "decode", "encode", "resolve", "absolute", "as_posix", "strip", "open"})
ALL = frozenset({"items", "values", "copy", "pop", "update", "__dict__"})
_READS = ("open", "read", "read_text", "read_bytes", "get_data", "get_source", "getsource")


@record(eq=False)
class Load:
    """What a module loads: files with these last parts of their paths, or any, of which it uses some names.

    What it loads may be in a variable of the module, which others can import. `sets` are the names that it sets where
    the file's own code finds them, `module` and `node` where that is.
    """

    tails: frozenset[Tail] | None
    names: Names
    in_variable: bool = False
    sets: frozenset[str] = frozenset()
    module: Module | None = None
    node: ast.AST | None = None

    def may_be(self, path: PurePath) -> bool:
        """Whether the file at a path may be loaded."""
        own = path.with_suffix("").parts
        ways = (own, own[:-1]) if own[-1] == "__main__" else (own,)
        return self.tails is None or any(way[-len(tail) :] == tail for tail in self.tails for way in ways)


def loads(module: Module) -> tuple[Load, ...]:
    """What a module loads by paths; each load is one of all files that it may load so."""
    return tuple(_Loads(module).found()) if RUNS.search(module.text) else ()


class _Loads:
    """Looks for loads in one module."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self.table = module.table
        self.words = _renamed(module)
        self._looking: set[tuple[Scope, str]] = set()

    def found(self) -> Iterator[Load]:
        """The loads, each at the place where it gives what it loads."""
        specs = [(word, node) for word in SPECS for node in self._named(word)]
        said = [self._tails_of(node, SPECS[word], word in MODULES) for word, node in specs]
        tails = None if not said or any(one is None for one in said) else frozenset[Tail]().union(*filter(None, said))
        for word, keyword in TABLES.items():
            for node in self._named(word):
                yield Load(self._tails_of(node, 0, word in MODULES, keyword), *self._seen(self._called(node)))
        for word in GIVING:
            for node in self._named(word):
                yield Load(tails, *self._seen(self._called(node)))
        for word, place in PUT_IN.items():
            for node in self._named(word):
                yield from self._put_in(node, word, place, tails)
        for node in self._named(MAGIC):
            call = self._called(node)
            if call is not None and call.args and isinstance(call.args[0], ast.Constant):
                yield Load(self._tails(call.args[0]), self._named_anywhere(), in_variable=True)
        for word in IMPORTS:
            for node in self._named(word):
                if (load := self._imported(node, word)) is not None:
                    yield load

    def _imported(self, node: ast.expr, word: str) -> Load | None:
        """What is imported by a name that is said, where it is clear what is used; of others, texts alone tell."""
        call = self._called(node)
        name = self._text(call.args[0] if call is not None and call.args else None).lstrip(".")
        if not name:
            return None
        within, colon, attribute = name.partition(":")
        if word == "resolve_name" and (colon or "." in name):
            within, attribute = (within, attribute) if colon else (name.rpartition(".")[0], name.rpartition(".")[2])
            return Load(_modules(within) | _modules(name.replace(":", ".")), frozenset(attribute.split(".")[:1]))
        names, in_variable = self._seen(call)
        if names is None or (word == "__import__" and "." in name):
            return None
        return Load(_modules(name), names, in_variable)

    def _named(self, word: str) -> Iterator[ast.expr]:
        for name in (word, *self.words.get(word, ())):
            yield from self.table.named.get(name, ())

    def _called(self, node: ast.expr) -> ast.Call | None:
        parent = self.table.parents.get(node)
        return parent if isinstance(parent, ast.Call) and parent.func is node else None

    def _put_in(self, node: ast.expr, word: str, place: int | None, tails: frozenset[Tail] | None) -> Iterator[Load]:
        """What is run in a namespace that exists: in a dictionary, a module, or the one around the call."""
        call = self._called(node)
        if word != "exec_module":
            if call is not None and word == "exec" and not self._is_read(call):
                return  # a text that code has made is not a file
            tails = None if call is None or not call.args else self._tails(call.args[0])
        into = call.args[place] if call is not None and place is not None and len(call.args) > place else None
        if word == "exec_module" and (into is None or self._is_given(into)):
            return  # by one of `GIVING`, which is looked at by itself
        if isinstance(into, ast.Dict):
            yield Load(tails, frozenset())
        elif isinstance(into, ast.Name):
            yield Load(tails, self._used_by_name(into), self._is_variable(into), self._set_in(into), self.module, node)
        else:
            yield Load(tails, None, True, frozenset(self.table.root.bindings), self.module, node)

    def _is_read(self, call: ast.Call) -> bool:
        """Whether what is executed may be read from a file."""
        said = call.args and not isinstance(call.args[0], ast.Constant) and self._tails(call.args[0]) is not None
        return bool(said) or any(self.table.named.get(word) for word in _READS)

    def _is_given(self, node: ast.expr) -> bool:
        """Whether a module that is run is made by one of `GIVING`."""
        values = self._values(node) if isinstance(node, ast.Name) else None
        return values is not None and all(
            isinstance(one, ast.Call) and _last(one.func) == "module_from_spec" for one in values
        )

    def _seen(self, node: ast.expr | None) -> tuple[Names, bool]:
        """The names that are used of what an expression gives, and whether a variable of the module holds it."""
        match self.table.parents.get(node) if node is not None else None:
            case ast.Assign(targets=[ast.Name() as target]):
                return self._used(node), self._is_variable(target)
        return self._used(node), False

    def _is_variable(self, name: ast.Name) -> bool:
        scope = self.table.scope_of[name].lookup(name.id)
        return scope is None or scope.kind == "module"

    def _used(self, node: ast.expr | None) -> Names:
        """The names that are used of what an expression gives: the variables of a module, by name."""
        if node is None:
            return None
        match self.table.parents.get(node):
            case ast.Expr():
                return frozenset()
            case ast.Attribute(attr="get") as of if (call := self._called(of)) is not None:
                return _constant(call.args[0] if call.args else None)
            case ast.Attribute(attr=attr):
                return None if attr in ALL else frozenset({attr})
            case ast.Subscript(value=value, slice=key) if value is node:
                return _constant(key)
            case ast.Call(func=ast.Name(id="getattr" | "hasattr"), args=[held, key, *_]) if held is node:
                return _constant(key)
            case ast.Call(func=ast.Attribute(attr="exec_module"), args=[held]) if held is node:
                return frozenset()
            case ast.Assign(targets=[ast.Name() as target], value=value) if value is node:
                return self._used_by_name(target)
        return None

    def _used_by_name(self, target: ast.Name) -> Names:
        scope = self.table.scope_of[target].lookup(target.id)
        if scope is None or scope.kind == "class" or (scope.kind == "module" and self._is_seen()):
            return None
        found: list[Names] = []
        if (scope, target.id) in self._looking:
            return frozenset()
        self._looking.add((scope, target.id))
        for node in self.module.nodes:
            if isinstance(node, ast.Name) and node.id == target.id and not isinstance(node.ctx, ast.Store):
                holder = self.table.scope_of[node].lookup(node.id)
                if holder is scope and not self._is_namespace(node):
                    found.append(self._used(node))
        self._looking.remove((scope, target.id))
        return None if any(one is None for one in found) else frozenset[str]().union(*filter(None, found))

    def _set_in(self, namespace: ast.Name) -> frozenset[str]:
        """The names that are set in a dictionary: by `d["name"] = value` and `d.update(name=value)`."""
        found: set[str] = set()
        for node in self.table.named.get(namespace.id, ()):
            match above := self.table.parents.get(node):
                case ast.Subscript(slice=ast.Constant(value=str(name)), ctx=ast.Store()):
                    found.add(name)
                case ast.Attribute(attr="update") if (call := self._called(above)) is not None:
                    found |= {keyword.arg for keyword in call.keywords if keyword.arg is not None}
                    keys = (one.keys for one in call.args if isinstance(one, ast.Dict))
                    found |= {text for one in keys for key in one for text in _constant(key) or ()}
        return frozenset(found)

    def _named_anywhere(self) -> Names:
        """All that a notebook names, but for what its lines that are no Python may."""
        parents = self.table.parents
        whole = [node for word in WHOLE for node in self.table.named.get(word, ())]
        lines = set(self._named(MAGIC))
        calls = (parents.get(parents.get(node, node)) for node in whole)
        if any(not (isinstance(call, ast.Call) and call.func in lines) for call in calls):
            return None
        return frozenset(self.module.mentions)

    def _is_seen(self) -> bool:
        """Whether code of the module reaches its variables by other ways than their names."""
        return any(self.table.named.get(word) for word in ("globals", "vars", "locals", "modules"))

    def _is_namespace(self, node: ast.Name) -> bool:
        """Whether what is read is where a file puts its variables."""
        match self.table.parents.get(node):
            case ast.Call(func=func, args=args):
                place = PUT_IN.get(_last(func) or "")
                return place is not None and len(args) > place and args[place] is node
        return False

    def _tails_of(self, node: ast.expr, place: int, is_name: bool, keyword: str = "") -> frozenset[Tail] | None:
        call = self._called(node)
        if call is None:
            return None
        given = [k.value for k in call.keywords if k.arg in {keyword, "location", "path"}]
        argument = call.args[place] if len(call.args) > place else given[0] if given else None
        if not is_name:
            return self._tails(argument)
        name = self._text(argument)
        return _modules(name) if name else None

    def _tails(self, node: ast.expr | None) -> frozenset[Tail] | None:
        """The ends of the paths that an expression may be, or None for any; what is read from a file has its path."""
        texts = self._ends(node, 0) if node is not None else None
        if texts is None:
            return None
        tails = {_tail(text) for text in texts}
        if not all(tails):
            return None
        return frozenset((*tail[:-1], PurePath(tail[-1]).stem) for tail in tails)

    def _ends(self, node: ast.expr, depth: int) -> list[str] | None:
        """How texts, paths or files end that an expression may give, from a separator on where it is no whole text."""
        if depth > 10:
            return None
        match node:
            case ast.Constant(value=str(text)):
                return [text]
            case ast.Name():
                values = self._values(node)
                return _joined([self._ends(one, depth + 1) for one in values]) if values else None
            case ast.Call(func=ast.Attribute(attr="join" | "joinpath"), args=[_, *_]) | ast.BinOp(op=ast.Div()):
                last = node.args[-1] if isinstance(node, ast.Call) else node.right
                return self._ends(last, depth + 1)
            case ast.Call(func=func, args=[inner, *_]) if _last(func) in OPENS:
                return self._ends(inner, depth + 1)
            case ast.Call(func=ast.Attribute(value=inner, attr=attr)) if attr in GIVES_SAME:
                return self._ends(inner, depth + 1)
            case ast.IfExp(body=body, orelse=orelse):
                return _joined([self._ends(body, depth + 1), self._ends(orelse, depth + 1)])
            case ast.BinOp(op=ast.Add(), left=left, right=right):
                return self._added(self._ends(left, depth + 1), self._ends(right, depth + 1))
            case ast.JoinedStr(values=[*_, ast.Constant(value=str(text))]) if "/" in text:
                return [text.partition("/")[2]]
        return None

    def _added(self, left: list[str] | None, right: list[str] | None) -> list[str] | None:
        if right is None:
            return None
        if left is not None:
            return [one + other for one in left for other in right]
        return [one.partition("/")[2] for one in right] if all("/" in one for one in right) else None

    def _values(self, name: ast.Name) -> list[ast.expr] | None:
        """All that a variable may be, where statements say each."""
        scope = self.table.scope_of[name].lookup(name.id)
        if any(name.id in one.outer_names for one in self.table.own_scope.values()):
            return None  # functions set it as well
        found: list[ast.expr] = []
        for binding in scope.bindings[name.id] if scope is not None else ():
            if binding.value is not None and not binding.path:
                found.append(binding.value)
                continue
            match self.table.parents.get(binding.node):
                case ast.withitem(context_expr=value):
                    found.append(value)
                case ast.For(target=target, iter=ast.List(elts=values) | ast.Tuple(elts=values)) if (
                    target is binding.node
                ):
                    found += values
                case _:
                    return None
        return found

    def _text(self, node: ast.expr | None) -> str:
        ends = self._ends(node, 0) if node is not None else None
        return ends[0] if ends is not None and len(ends) == 1 else ""


def _tail(path: str) -> Tail:
    """The parts of a path that are known whatever it starts from."""
    parts = PurePath(path).parts
    known = 1 + max((place for place, part in enumerate(parts) if part in ("..", "/")), default=-1)
    return parts[known:]


def _modules(name: str) -> frozenset[Tail]:
    """The ends of the paths that a module of a dotted name may have."""
    dotted = tuple(part for part in name.split(".") if part)
    return frozenset({dotted, (*dotted, "__init__"), (*dotted, "__main__")})


def _joined(several: list[list[str] | None]) -> list[str] | None:
    return None if any(one is None for one in several) else [text for one in several for text in one or ()]


def _constant(node: ast.expr | None) -> Names:
    return frozenset({node.value}) if isinstance(node, ast.Constant) and isinstance(node.value, str) else None


def _last(node: ast.expr) -> str | None:
    match node:
        case ast.Attribute(attr=name) | ast.Name(id=name):
            return name
    return None


def _renamed(module: Module) -> dict[str, list[str]]:
    """By the names of what loads, other names that imports give it."""
    found: dict[str, list[str]] = {}
    for binding in module.table.imports:
        if isinstance(binding.node, ast.alias) and binding.node.asname is not None:
            found.setdefault(binding.node.name, []).append(binding.node.asname)
    return found
