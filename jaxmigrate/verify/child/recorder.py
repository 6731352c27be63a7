"""The marks that verification puts into a program: they stand in for what they mark and record every call of it.

`transform` stands in for jax.pmap or its replacement, `mapped` for the result of one. Both behave as what they wrap:
as decorators, as methods, under functools.partial, with `.lower`, `.__wrapped__` and every other attribute.
"""

from __future__ import annotations

import functools
import inspect
import os
import threading
import time
import types
from collections.abc import Callable
from typing import Any

from . import digest, flags, handing, loaded, log, nudge, operations, witness
from .values import hold_tracer, is_array

_active = threading.local()
_signatures: dict[Any, int] = {}
_said: dict[str, int] = {}
_made: set[tuple[int, str]] = set()


# What the places of functions begin with that are recorded for what they enclose.
ENCLOSING = "jit "
# What the marks of maps begin with that go by other names.
THROUGH = "through "


class Place(str):
    """Where something is mapped, for programs without marks; `outer` also says on whose behalf.

    It is `sharded` if it is mapped over devices, or compiled with shardings, and not only compiled.
    """

    __slots__ = ("outer", "sharded")
    outer: str
    sharded: bool

    def __new__(cls, text: str, outer: str = "") -> Place:  # noqa: PYI034 - Python 3.9 has no Self
        """The place as text."""
        place = super().__new__(cls, text)
        place.outer = outer
        place.sharded = False
        return place


def transform(site: str, original: Any) -> Any:
    """Something that maps functions as `original` does and records the calls of what it returns."""
    if not callable(original):
        return original
    if not hasattr(type(original), "__get__"):
        return _Transform(site, original)

    @functools.wraps(original)
    def marked(*args: Any, **kwargs: Any) -> Any:
        return _record_result(site, original(*args, **kwargs), args)

    return marked


class _Transform:
    """A transform that is no function: it must not turn into a method where the one it wraps would not."""

    def __init__(self, site: str, original: Any) -> None:
        self.__dict__.update(_jaxmigrate_site=site, _jaxmigrate_original=original, __doc__=original.__doc__)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _record_result(self._jaxmigrate_site, self._jaxmigrate_original(*args, **kwargs), args)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_jaxmigrate_"):
            raise AttributeError(name)
        return getattr(self._jaxmigrate_original, name)


def _record_result(site: str, result: Any, args: tuple[Any, ...]) -> Any:
    if not (hasattr(result, "lower") or (args and callable(args[0]))):
        return transform(site, result)
    return _through(site, result, args) if site.startswith(THROUGH) else mapped(site, result)


def _through(site: str, result: Any, args: tuple[Any, ...]) -> Any:
    """What is mapped by another name: a site of its own, told by the file that does so and by what is mapped.

    Where another mark stands around it, that names its site. The line is not the same in both programs.
    """
    if not callable(result):
        return result
    place = loaded.place_in_project(inspect.currentframe())
    name = _name(args[0] if args and callable(args[0]) else result)
    return Recorded(f"{site}, {place.rpartition(':')[0]}, {name}", result, name, place)


def mapped(site: str, *original: Any) -> Any:
    """The mapped callable `original`, recorded; without one, a decorator that records what it decorates."""
    if not original:
        return functools.partial(mapped, site)
    if not callable(original[0]):
        return original[0]
    flags.repeat()
    function = _of_site(original[0])
    name = _name(function)
    if isinstance(site, Place):
        name = _known_name(function, name)
    if isinstance(site, Place) and name == "<lambda>":
        # The lambdas that go through a helper have nothing but its caller to tell them apart.
        sharded, site = site.sharded, Place(site.outer, site.outer)
        site.sharded = sharded
    _say_made(site, function, name)
    return Recorded(site, function, name)


def _of_site(function: Any) -> Any:
    """A mapped callable without the mark of the map that it goes through, whose site is told by the mark around it."""
    own = vars(function) if isinstance(function, Recorded) else {}
    return own["_jaxmigrate_original"] if own.get("_jaxmigrate_at") else function


def _say_made(site: str, original: Any, name: str, at: str = "") -> None:
    """Log what is mapped at a site, once for each process: some programs map the same function in every step.

    `at` is where that is done, if the site's mark stands elsewhere.
    """
    record: dict[str, Any] = {"k": "made", "site": site, "name": name, "parameters": _parameters(original)}
    if at:
        record["at"] = at
    if getattr(site, "sharded", False):
        record["sharded"] = True
    key = (os.getpid(), str(record))
    if key not in _made:
        _made.add(key)
        log.current().write(record)
        loaded.say()


def _name(function: Any) -> str:
    while isinstance(function, functools.partial):
        function = function.func
    return str(getattr(function, "__name__", type(function).__name__))


_DEEPEST = 6


def _known_name(function: Any, name: str) -> str:
    """The name by which the original maps what a helper has wrapped in a function of its own, which all share."""
    names = log.CONFIG.get("names", ())
    waiting, found = [function], name
    for _ in range(_DEEPEST):
        if found in names:
            return found
        inner = [one for outer in waiting for one in _inside(outer)]
        known = [one for one in inner if _name(one) in names]
        if known:
            return _name(known[0])
        waiting = inner
    return name


def _inside(function: Any) -> list[Any]:
    """The functions that a function wraps: those that it holds on to, or goes by."""
    if isinstance(function, functools.partial):
        return [function.func]
    wrapped = [getattr(function, name, None) for name in ("_jaxmigrate_original", "__wrapped__", "__func__")]
    held = []
    for cell in getattr(function, "__closure__", None) or ():
        try:
            held.append(cell.cell_contents)
        except ValueError:
            continue
    return [one for one in (*wrapped, *held) if callable(one) and not isinstance(one, type)]


def _parameters(function: Any) -> list[str]:
    """The names of the positional parameters, as far as they have any."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return []
    return [one.name for one in found if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]


def _rebuild(site: str, original: Any, name: str, at: str) -> Recorded:
    return Recorded(site, original, name, at)


class Recorded:
    """A mapped callable whose calls are recorded; everything else about it is the callable's own."""

    def __init__(self, site: str, original: Any, name: str, at: str = "") -> None:
        self.__dict__.update(_jaxmigrate_site=site, _jaxmigrate_original=original, _jaxmigrate_name=name)
        self.__dict__.update(
            _jaxmigrate_at=at, __doc__=original.__doc__, __module__=getattr(original, "__module__", None)
        )

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the mapped function and record the call."""
        if self._jaxmigrate_at:  # unless it is called, another mark may stand around it
            _say_made(self._jaxmigrate_site, self._jaxmigrate_original, self._jaxmigrate_name, self._jaxmigrate_at)
        return _call(self._jaxmigrate_site, self._jaxmigrate_name, self._jaxmigrate_original, args, kwargs)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None or not hasattr(type(self._jaxmigrate_original), "__get__"):
            return self
        return types.MethodType(self, instance)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_jaxmigrate_"):
            raise AttributeError(name)
        value = getattr(self._jaxmigrate_original, name)
        return _record_stage(self._jaxmigrate_site, value) if name in ("lower", "trace") else value

    def __eq__(self, other: object) -> bool:
        return bool(self._jaxmigrate_original == getattr(other, "_jaxmigrate_original", other))

    def __hash__(self) -> int:
        return hash(self._jaxmigrate_original)

    def __copy__(self) -> Recorded:
        return self

    def __deepcopy__(self, memo: Any) -> Recorded:
        return self

    def __reduce__(self) -> Any:
        return _rebuild, (
            self._jaxmigrate_site,
            self._jaxmigrate_original,
            self._jaxmigrate_name,
            self._jaxmigrate_at,
        )

    def __repr__(self) -> str:
        return repr(self._jaxmigrate_original)


def _record_stage(site: str, method: Callable[..., Any]) -> Callable[..., Any]:
    """`lower` or `trace`, such that the compiled function at the end of the stages is recorded too."""

    @functools.wraps(method)
    def staged(*args: Any, **kwargs: Any) -> Any:
        return _Stage(site, method(*args, **kwargs))

    return staged


class _Stage:
    """A traced or lowered function on its way to a compiled one."""

    def __init__(self, site: str, original: Any) -> None:
        self.__dict__.update(_jaxmigrate_site=site, _jaxmigrate_original=original)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_jaxmigrate_"):
            raise AttributeError(name)
        value = getattr(self._jaxmigrate_original, name)
        if name == "lower":
            return _record_stage(self._jaxmigrate_site, value)
        return _record_compiled(self._jaxmigrate_site, value) if name == "compile" else value


def _record_compiled(site: str, compile_stage: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(compile_stage)
    def compiled(*args: Any, **kwargs: Any) -> Any:
        return mapped(site, compile_stage(*args, **kwargs))

    return compiled


def _call(site: str, name: str, function: Any, args: Any, kwargs: Any) -> Any:
    given = digest.flatten((args, kwargs))
    traced = hold_tracer(given.values)
    if (traced or _stack()) and site.startswith(ENCLOSING):
        if getattr(site, "sharded", False):
            _say_traced(site)
        return function(*args, **kwargs)
    if traced:
        _say_traced(site)
        return function(*args, **kwargs)
    call = _Call(site, name)
    witness.given(site, args)
    moved: list[Any] = []
    call.describe(function, args, kwargs)
    if log.CONFIG["nudge"]:
        moved = call.begin_nudged(given)
        args, kwargs = given.treedef.unflatten(moved)
    else:
        call.record("in", call.begin("in", given))
    try:
        result, begun = call.run(function, args, kwargs)
    except BaseException as error:
        call.raised(error)
        raise
    nudge.delete_donated(given.values, moved)
    call.say_donated(given)
    if begun is None:
        call.traced()
    else:
        call.record("out", begun)
        call.say_copies(function, args, kwargs)
        witness.gave(site, result)
    return result


def _stack() -> list[str]:
    """The sites whose calls are running in this thread, the innermost last."""
    if not hasattr(_active, "stack"):
        _active.stack = []
    stack: list[str] = _active.stack
    return stack


def _say_traced(site: str) -> None:
    log.current().write({"k": "traced", "site": site, "within": _stack()})


class _Call:
    """One call while it runs: numbered when it begins, so that the log names it if it never ends."""

    def __init__(self, site: str, name: str) -> None:
        self.site = site
        self.name = name
        self.log = log.current()
        self.thread = _thread()
        # Without marks, a place may be that of a helper, which says little without the name of what it maps.
        self.key = f"{site} {name}" if isinstance(site, Place) else site
        self.order, self.number = self.log.number(self.key, self.thread)
        self.seen: dict[str, set[Any]] = {}
        place = {"site": site, "f": name, "i": self.number, "thread": self.thread, "within": _stack(), "o": _printed()}
        self.log.write({"k": "enter", "n": self.order, **place})

    def run(self, function: Any, args: Any, kwargs: Any) -> tuple[Any, digest.Begun | None]:
        """Call the function and wait for its results: unwaited collectives of many steps can exhaust the threads.

        While the devices compute them, it is told to them what to copy of the results; there is none of tracers.
        """
        started = time.perf_counter()
        _stack().append(self.site)
        try:
            result = function(*args, **kwargs)
            got = digest.flatten(result)
            begun = None if hold_tracer(got.values) else self.begin("out", got)
            digest.wait_for(result, begun)
        finally:
            _stack().pop()
        self.seconds = time.perf_counter() - started
        return result, begun

    def begin(self, where: str, flat: digest.Flat) -> digest.Begun:
        """Begin to digest the arguments (`in`) or the results (`out`) of the call."""
        _describe_jax(self.log)
        return digest.begin(flat, _structures(self.site, where), self._keep(where, flat.values))

    def describe(self, function: Any, args: Any, kwargs: Any) -> None:
        """Log once for each site in which precisions it computes, where somebody may ask for it.

        That is known of the original if it is run with moved arguments, and of the rewritten side in its first run.
        """
        if self.key in _BITS or (log.CONFIG["original"] and not log.CONFIG["nudge"]):
            return
        # Lowering traces what the call would trace, and other sites inside it.
        _stack().append(self.site)
        text = operations.lowered_text(function, args, kwargs)
        _stack().pop()
        _BITS[self.key] = nudge.fraction_bits(operations.coarse_types(text))
        self.log.write({"k": "precisions", "site": self.site, "f": self.name, "of": operations.precisions(text)})

    def say_donated(self, given: digest.Flat) -> None:
        """Log once for each site which of its arguments are gone after the call."""
        if self.key in _DONATED:
            return
        gone = [n for n, value in enumerate(given.values) if is_array(type(value)) and value.is_deleted()]
        _DONATED[self.key] = bool(gone)
        if gone:
            paths, _ = _structures(self.site, "in").of(given.tree, given.treedef)
            leaves = [[paths[n], _described(given.values[n])] for n in gone]
            self.log.write({"k": "donated", "site": self.site, "f": self.name, "leaves": leaves})

    def say_copies(self, function: Any, args: Any, kwargs: Any) -> None:
        """Log once for each site of the original that its function hands on what it is given.

        Only where a call gives nothing else is the function looked at, for which it may have to be traced.
        """
        if not log.CONFIG["original"] or self.key in _COPIES or not self.seen["out"] <= self.seen.get("in", set()):
            return
        _stack().append(self.site)
        _COPIES[self.key] = handing.hands_on(function, args, kwargs)
        _stack().pop()
        if _COPIES[self.key]:
            self.log.write({"k": "copies", "copies": [self.site]})

    def begin_nudged(self, given: digest.Flat) -> list[Any]:
        """Log the arguments as they were given, keep them as they are moved by one rounding, and return them so."""
        _describe_jax(self.log)
        values = nudge.nudged(given.values, _BITS[self.key], self.order * _SALT)
        begun = digest.begin(given, _structures(self.site, "in"), None)
        keep = self._keep("in", values)
        self.record("in", begun, digest.keep_values(values, keep, _view("in")) if keep else ())
        return values

    def record(self, where: str, begun: digest.Begun, kept: tuple[digest.Kept, ...] = ()) -> None:
        """Log the arguments or the results; `kept` are those that are on disk besides."""
        described = digest.digest_tree(begun, _view(where))
        both = zip(described.leaves, described.contents)  # noqa: B905 - Python 3.9 has no strict
        self.seen[where] = {(leaf[:3], held.identity) for leaf, held in both}
        record = {
            "k": where,
            "n": self.order,
            "sig": _signature(self.log, described),
            "digest": digest.combine(described),
        }
        digests = "\n".join([found.text() for found in described.contents])
        is_detailed = log.is_detailed(self.number, len(described.leaves)) and self.log.take_detail(len(digests))
        if begun.places.keep is not None or is_detailed:
            record["leaves"] = digests
        if described.kept or kept:
            record["kept"] = described.kept or kept
        if where == "out":
            record["s"] = round(self.seconds, 6)
        self.log.write(record)

    def _keep(self, where: str, values: list[Any]) -> digest.Keep | None:
        """What of this call is to be left on disk: what the verifier asked for, else all of the first calls, and of
        each whose number is a power of two.

        A run whose arguments are moved leaves both. So a difference that shows in the first pair of runs is measured
        over its whole course, and few calls are kept.
        """
        chosen = log.CONFIG["keep"] or {}
        leaves = None
        if str(self.number) in chosen.get(self.key, {}):
            leaves = chosen[self.key][str(self.number)][where]
        elif not (self._is_early(values) or self._is_rare()) or (
            log.CONFIG["keep"] is not None and not log.CONFIG["nudge"]
        ):
            return None
        return None if leaves == () else digest.Keep(leaves, self._take, self.log.arrays)

    def _is_rare(self) -> bool:
        return self.number < log.CONFIG["keep_first"] or not self.number & (self.number - 1)

    def _is_early(self, values: list[Any]) -> bool:
        """Whether this is one of the first calls, with little to write."""
        return self.number * len(values) < _EARLY_LEAVES and digest.size_of(values) < _EARLY_BYTES

    def _take(self, size: int) -> bool:
        asked_for = str(self.number) in (log.CONFIG["keep"] or {}).get(self.key, {})
        share = 1 if asked_for or self._is_rare() else 2
        return self.log.take_kept(size, log.CONFIG["keep_bytes"] // share)

    def raised(self, error: BaseException) -> None:
        kind = f"{type(error).__module__}.{type(error).__qualname__}"
        self.log.write({"k": "raised", "n": self.order, "type": kind, "text": str(error)[:500]})

    def traced(self) -> None:
        self.log.write({"k": "traced", "n": self.order, "site": self.site, "within": _stack()})


# Leaves of one site's arguments or results, of the first calls, that are all left on disk.
_EARLY_LEAVES = 1024
_EARLY_BYTES = 1 << 18


def _printed() -> int:
    """How much the program has printed so far; it prints into a file."""
    try:
        return os.fstat(1).st_size
    except OSError:
        return 0


# What calls of the same numbers move by is not the same.
_SALT = 1009


def _described(array: Any) -> str:
    """An array as JAX names a deleted one."""
    return f"{array.dtype}[{','.join(map(str, array.shape))}]"


_BITS: dict[str, int] = {}
_DONATED: dict[str, bool] = {}
_COPIES: dict[str, bool] = {}


def _thread() -> str:
    thread = threading.current_thread()
    return "" if thread is threading.main_thread() else thread.name


def _view(where: str) -> digest.View:
    import jax

    return digest.View(log.CONFIG["original"], jax.local_device_count(), where == "in")


_STRUCTURES: dict[tuple[str, str], digest.Structures] = {}


def _structures(site: str, where: str) -> digest.Structures:
    return _STRUCTURES.setdefault((site, where), digest.Structures())


_LAST_SIGNATURES: dict[str, tuple[Any, int]] = {}


def _signature(writer: Any, tree: digest.Tree) -> int:
    """The number under which this log describes the leaves of such a tree; the description is written once."""
    key = (os.getpid(), tree.paths, tree.nodes, tree.leaves)
    # Leaves are the same objects from call to call, so that comparing them takes less time than their hash.
    last = _LAST_SIGNATURES.get(tree.nodes)
    if last is not None and last[0] == key:
        return last[1]
    number = _signatures.get(key)
    if number is None:
        number = _signatures.setdefault(key, len(_signatures))
        leaves = [[path, *leaf] for path, leaf in zip(tree.paths, tree.leaves)]  # noqa: B905 - Python 3.9 has no strict
        writer.write({"k": "sig", "id": number, "nodes": tree.nodes, "leaves": leaves})
    _LAST_SIGNATURES[tree.nodes] = (key, number)
    return number


def _describe_jax(writer: Any) -> None:
    """Write once what JAX is here; asking starts the backend, which the call is about to do anyway."""
    if os.getpid() in _said.values():
        return
    _said["pid"] = os.getpid()
    import jax
    import jaxlib
    import numpy as np

    writer.write(
        {
            "k": "jax",
            "jax": jax.__version__,
            "jaxlib": getattr(jaxlib, "__version__", ""),
            "numpy": np.__version__,
            "devices": jax.device_count(),
            "local_devices": jax.local_device_count(),
            "platform": jax.default_backend(),
            "process": jax.process_index(),
            "processes": jax.process_count(),
            "xla_flags": os.environ.get("XLA_FLAGS", ""),
        }
    )
