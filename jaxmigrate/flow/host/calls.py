"""What the calls of the host's code give."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from jaxmigrate.flow.device_axis import NUMBERS, has_spreading_inits
from jaxmigrate.flow.first_devices import FETCHED, FETCHING, LISTS, names_first
from jaxmigrate.flow.host.frames import Frame
from jaxmigrate.flow.host.held import ANY, NOTHING, UNKNOWN, Held, Key, Source
from jaxmigrate.flow.host.placed import is_whole
from jaxmigrate.flow.host.run import Run
from jaxmigrate.flow.host.statements import path_of
from jaxmigrate.flow.layout.kinds import REPLICATES, SPLITS
from jaxmigrate.flow.mapped_calls import JITS
from jaxmigrate.program.arguments import call_arguments
from jaxmigrate.program.library import last_names, named
from jaxmigrate.program.syntax import last_name
from jaxmigrate.program.trees import TREE_MAP_NAMES
from jaxmigrate.program.values import Application, Class, External, Function, Instance

KEYS = named("raw-key", "seed") - {"jax.random.fold_in"}
PUTS = named("puts")
SPREADS = REPLICATES | SPLITS | named("puts-slices")
RESTORES = last_names("restores")
RESTORING = re.compile("restore|load|resume|deseriali[sz]e|from_bytes")
SPREADING = re.compile("replicat|shard|pmap|stack|broadcast|split|tile|repeat|device")
UPDATES = frozenset({"replace", "_replace", "unfreeze", "freeze", "copy", "astype", "filter", "deepcopy", "asarray"})
MODELS = re.compile(r"^(equinox\.Module|flax\.nnx\.Module|flax\.linen\.Module)$")
COUNTS = re.compile(
    r"device_count\(\)|(^|_)(n|num|nr)_(local_)?(dev|devices)\b|(^|\W)len\((\w+\.)*(local_)?devices(\(\))?\)"
)
APPENDS = frozenset({"append", "add", "appendleft"})
ELEMENTS = frozenset({"values", "tolist"})
LISTED = frozenset({"list", "tuple", "iter", "tqdm", "reversed", "sorted"})
ARRAYS = frozenset({"array", "asarray"})
INIT = "init"


def called(run: Run, node: ast.Call, frame: Frame) -> Held:
    """What a call gives, after what it is given was looked at."""
    owner = run.evaluate(node.func.value, frame) if isinstance(node.func, ast.Attribute) else UNKNOWN
    given = [run.evaluate(one, frame) for one in node.args]
    words = {one.arg: run.evaluate(one.value, frame) for one in node.keywords}
    if node in run.stepped:
        return _stepped(run, node, frame)
    if last_name(node.func) == "mean":
        run.averaged |= {(source.call, source.path) for one in (owner, *given[:1]) for source in one.sources}
    held = _method(run, node, owner, given, words, frame)
    if held is not None:
        return held
    values = run.resolver.values(node.func, frame.module)
    value = values[0] if len(values) == 1 else None
    name = value.name if isinstance(value, External) else ""
    held = _library(run, node, name, given, words, frame)
    if held is not None:
        return held
    if run.makes_alone(node, frame.module):
        return Held(False, node, frame.module) if not any(one.axis for one in (*given, *words.values())) else UNKNOWN
    if isinstance(value, Application) and isinstance(value.callee, External) and value.callee.name in JITS:
        operands = run.resolver.argument_values(value.arguments[0]) if value.arguments else ()
        value = operands[0] if len(operands) == 1 else None
    if isinstance(value, Class):
        return _made(run, value, node, given, words, frame)
    if isinstance(value, Function):
        return _entered(run, value, node, owner, given, words, frame)
    return _unknown(node, given, words)


def _stepped(run: Run, node: ast.Call, frame: Frame) -> Held:
    """What a map gives: a slice of each device's, and of some results one for all."""
    alone, results = run.stepped[node]
    if results is None:
        return Held(True, node, frame.module, sources=(Source(node, (), ()),), of_copies=True)
    parts: dict[Key, Held] = {
        n: Held(False, node, frame.module)
        if n in alone
        else Held(True, node, frame.module, sources=(Source(node, (n,), ()),), of_copies=True)
        for n in range(results)
    }
    return Held(True, node, frame.module, parts=parts, of_copies=True)


def _method(
    run: Run, node: ast.Call, owner: Held, given: list[Held], words: dict[str | None, Held], frame: Frame
) -> Held | None:
    """What a method of a container or of an array gives, and what it changes in it."""
    if not isinstance(node.func, ast.Attribute):
        return None
    name = node.func.attr
    if name in APPENDS and len(given) == 1:
        path = path_of(node.func.value)
        if path is not None:
            frame.store_path(path, owner.beside(ANY, given[0]))
        return NOTHING
    if name == "items" and not given:
        return Held(parts={ANY: Held(parts={0: UNKNOWN, 1: owner.element() if owner.parts else owner})})
    if name in ELEMENTS and not given:
        return Held(parts={ANY: owner.element()}) if owner.parts else owner
    if name in ("get", "pop") and node.args and isinstance(node.args[0], ast.Constant):
        key = node.args[0].value
        return owner.part(key) if isinstance(key, str | int) else UNKNOWN
    if name in FETCHED and not given:
        return owner
    if name == "addressable_data":
        return run.take(node, owner, frame)
    if name in UPDATES and (owner.axis is not None or owner.parts is not None or owner.sources):
        held = owner
        for word, one in words.items():
            unlike = one.axis is not None and owner.axis is not None and one.axis != owner.axis and one.parts is None
            if word is not None and unlike:
                held = held._replace(axis=None, node=None, mixed=True).with_part(word, one)
        return held
    return None


def _library(
    run: Run, node: ast.Call, name: str, given: list[Held], words: dict[str | None, Held], frame: Frame
) -> Held | None:
    """What a function of a library gives."""
    last, first = last_name(node.func), given[0] if given else UNKNOWN
    if name in SPREADS:
        return Held(True, node, frame.module, of_copies=name in REPLICATES)
    if name in KEYS:
        return Held(False, node, frame.module)
    if name.startswith("jax.numpy.") and NUMBERS.search(name) and first.axis is False and first.parts is None:
        return Held(False, node, frame.module)
    if name in ("jax.random.split", "jax.random.fold_in"):
        return _key(node, name, first, frame)
    if name in PUTS:
        return first if len(node.args) == 1 else _placed(run, node, first, frame)
    if (name and names_first(node.func)) or (names_first(node.func) and first.axis):
        return run.take(node, first, frame)
    if last in TREE_MAP_NAMES and node.args:
        return _each(run, node, given, frame)
    if last in LISTS and given:
        return run.take(node, first.element() if first.parts else first, frame)
    if last in RESTORES or (RESTORING.search(last) and name):
        return _restored(node, [*given, *words.values()])
    if last == INIT and isinstance(node.func, ast.Attribute) and (name or not has_spreading_inits(run.resolver)):
        return Held(False, node, frame.module) if first.axis is False else None
    if last == "reshape" and _is_leading(node):
        return Held(True, node, frame.module)
    return _as_given(node, name, given)


def _placed(run: Run, node: ast.Call, first: Held, frame: Frame) -> Held:
    """What is put on devices: whole on each of a mesh, as it was; otherwise it may be anything."""
    if len(node.args) != 2 or first.axis or first.mixed or not is_whole(node.args[1], frame.module, run.resolver):
        return UNKNOWN
    return _as_whole(first, node, frame)


def _as_whole(held: Held, node: ast.Call, frame: Frame) -> Held:
    """What is known to have an axis of devices keeps it; what is not known has none."""
    if held.axis or held.mixed:
        return held
    if held.parts is None:
        return Held(False, node, frame.module)
    return held._replace(parts={key: _as_whole(one, node, frame) for key, one in held.parts.items()})


def _as_given(node: ast.Call, name: str, given: list[Held]) -> Held | None:
    """What a function gives that leaves the values as they are: a list of them, or a copy on the host."""
    last, first = last_name(node.func), given[0] if given else UNKNOWN
    if last in ARRAYS and (first.parts is not None or any(not one.path for one in first.sources)):
        return UNKNOWN  # an array of a tuple has another dimension in front
    if (last in FETCHING and len(given) == 1) or (last in UPDATES and name and given):
        return first
    if last in LISTED and given and isinstance(node.func, ast.Name):
        return first
    if name == "builtins.sum" and len(given) == 1 and first.parts:
        return first.element()
    if last == "enumerate" and given:
        return Held(parts={ANY: Held(parts={0: UNKNOWN, 1: first.element()})})
    if last == "zip":
        return Held(parts={ANY: Held(parts={n: one.element() for n, one in enumerate(given)})})
    return None


def _is_leading(node: ast.Call) -> bool:
    """Whether a reshape puts the number of devices in front."""
    shape = node.args[:1] if isinstance(node.func, ast.Attribute) and len(node.args) != 2 else node.args[1:2]
    shape = shape or node.args[:1]
    first = shape[0] if shape else None
    while isinstance(first, ast.Tuple | ast.List | ast.BinOp):
        first = first.left if isinstance(first, ast.BinOp) else first.elts[0] if first.elts else None
    return first is not None and COUNTS.search(ast.unparse(first)) is not None


def _key(node: ast.Call, name: str, first: Held, frame: Frame) -> Held:
    """What is made of a key: others without an axis of devices, or one for each."""
    numbers = [*node.args[1:], *(one.value for one in node.keywords if one.arg == "num")]
    if name.endswith("split") and numbers and COUNTS.search(ast.unparse(numbers[0])):
        return Held(True, node, frame.module)
    if first.axis or any(isinstance(one, ast.Tuple) for one in numbers):
        return UNKNOWN
    if name.endswith("split"):
        alone = Held(False, node, frame.module)
        return Held(parts={0: alone, 1: alone, ANY: alone}) if first.axis is False else UNKNOWN
    return first


def _each(run: Run, node: ast.Call, given: list[Held], frame: Frame) -> Held:
    """What `tree.map` makes of a tree: of each leaf what its function makes of that."""
    function, trees = node.args[0], given[1:]
    if not trees:
        return UNKNOWN
    parts = trees[0].parts
    if parts:
        each = {key: [one.part(key) for one in trees] for key in parts}
        return Held(parts={key: _of_leaf(run, node, function, leaves, frame) for key, leaves in each.items()})
    return _of_leaf(run, node, function, trees, frame)


def _of_leaf(run: Run, node: ast.Call, function: ast.expr, leaves: list[Held], frame: Frame) -> Held:
    if isinstance(function, ast.Lambda):
        own = Frame(frame.module, frame.node, outer=frame, depth=frame.depth + 1)
        names = [one.arg for one in function.args.args]
        own.names.update(zip(names, leaves, strict=False))
        return run.evaluate(function.body, own)
    if names_first(function):
        return run.take(node, leaves[0], frame)
    return leaves[0] if last_name(function) in FETCHING | UPDATES else UNKNOWN


def _made(run: Run, cls: Class, node: ast.Call, given: list[Held], words: dict[str | None, Held], frame: Frame) -> Held:
    """An object of a class of the program: what its constructor sets."""
    bases = [base for one in run.resolver.lineage(cls) for base in run.resolver.bases(one)]
    if any(isinstance(base, External) and MODELS.match(base.name) for base in bases):
        keyed = [one for one in (*given, *words.values()) if one.axis is not None]
        drawn = _has_key(node) or any(isinstance(one.node, ast.Call) for one in keyed)
        alone = bool(keyed) and not any(one.axis for one in keyed) and drawn
        return Held(False, node, frame.module) if alone else UNKNOWN
    for one in run.resolver.attribute(Instance(cls), "__init__"):
        if isinstance(one, Function) and not isinstance(one.node, ast.Lambda):
            inner = _given(one, Held(parts={}), given, words)
            ran = run.enter(one, inner, frame)[1]
            return ran.read(one.node.args.args[0].arg) if ran is not None and one.node.args.args else UNKNOWN
    fields = run.resolver.declared_fields(cls)
    parts: dict[Key, Held] = {**dict(zip(fields, given, strict=False))}
    parts |= {word: one for word, one in words.items() if word is not None}
    return Held(parts=parts) if parts else UNKNOWN


def _has_key(node: ast.Call) -> bool:
    """Whether a model is given the key that its parameters are drawn by."""
    return any(re.search(r"(^|_)(key|rngs?)$", one.arg or "") for one in node.keywords)


def _given(function: Function, owner: Held, given: list[Held], words: dict[str | None, Held]) -> dict[str, Held]:
    """What the parameters of a function hold in a call."""
    names = function.passed_names()
    found = dict(zip(names, given, strict=False)) | {word: one for word, one in words.items() if word is not None}
    if function.receiver is not None and not isinstance(function.node, ast.Lambda) and function.node.args.args:
        found[function.node.args.args[0].arg] = owner
    return found


def _entered(
    run: Run,
    function: Function,
    node: ast.Call,
    owner: Held,
    given: list[Held],
    words: dict[str | None, Held],
    frame: Frame,
) -> Held:
    """What a function of the program gives, and what it sets in the objects that it is given."""
    if isinstance(function.node, ast.Lambda) or _is_wrapped(function):
        return UNKNOWN
    if any(isinstance(one, ast.Starred) for one in node.args):
        return UNKNOWN
    call = Application(function, call_arguments(node, frame.module), node, frame.module)
    held, ran = run.enter(function, _given(function, owner, given, words), frame, call)
    if ran is None:
        return held if not SPREADING.search(last_name(node.func)) else UNKNOWN
    for name, place in _places(function, node):
        path = path_of(place)
        before = frame.read(str(path[0])) if path is not None else UNKNOWN
        if path is not None and name not in ran.stored and (len(path) > 1 or ran.read(name) is not before):
            frame.store_path(path, ran.read(name))
    known = held.axis is not None or held.parts is not None or held.nothing or held.sources
    return held if known or not RESTORING.search(last_name(node.func)) else Held(restored=True)


def _is_wrapped(function: Function) -> bool:
    """Whether a decorator makes something else of a function than what does the same."""
    node = function.node
    if isinstance(node, ast.Lambda) or not node.decorator_list:
        return False
    plain = frozenset({"jit", "property", "staticmethod", "classmethod", "contextmanager", "cache", "lru_cache"})
    return not all(last_name(one.func if isinstance(one, ast.Call) else one) in plain for one in node.decorator_list)


def _places(function: Function, node: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The arguments of a call that are places, with the parameters that hold them."""
    own = function.node.args.args
    if function.receiver is not None and own and isinstance(node.func, ast.Attribute):
        yield own[0].arg, node.func.value
    for name, one in zip(function.passed_names(), node.args, strict=False):
        if isinstance(one, ast.Name | ast.Attribute):
            yield name, one
    for word in node.keywords:
        if word.arg is not None and isinstance(word.value, ast.Name | ast.Attribute):
            yield word.arg, word.value


def _unknown(node: ast.Call, given: list[Held], words: dict[str | None, Held]) -> Held:
    """What a call out of sight gives: what is read back is as what was saved."""
    return _restored(node, [*given, *words.values()]) if RESTORING.search(last_name(node.func)) else UNKNOWN


def _restored(node: ast.Call, given: list[Held]) -> Held:
    """What is read back into what a call is given, if it does not say that it spreads that."""
    if SPREADING.search(ast.unparse(node).lower()):
        return UNKNOWN
    like = [one for one in given if one.axis is not None and one.parts is None and not _is_number(one)]
    return like[-1] if like else Held(restored=True)


def _is_number(held: Held) -> bool:
    """Whether a value is a number that is written, or that a loop counts by."""
    counted = isinstance(held.node, ast.Name) and isinstance(held.node.ctx, ast.Store)
    return counted or isinstance(held.node, ast.Constant)
