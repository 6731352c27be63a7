"""JM205: all devices draw the same random bits."""

from __future__ import annotations

import ast
import re
from collections.abc import Container, Iterator, Sequence

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step, shown
from jaxmigrate.flow.copied_batches import copied_batches
from jaxmigrate.flow.drawn_streams import DROPS, is_drawn_from
from jaxmigrate.flow.enclosing import text_around
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.readings import DeviceMap, arguments, broadcast
from jaxmigrate.flow.repeated_keys import keys_repeated
from jaxmigrate.flow.specs import out_vars, spec_axes
from jaxmigrate.flow.state_keys import keys_of_states
from jaxmigrate.flow.still_networks import draws_nothing
from jaxmigrate.flow.variance import AbstractValue, Draw, Level, Reading
from jaxmigrate.flow.variance.lattice import DRAWN, GIVEN, OF_EQUAL
from jaxmigrate.program.collectives import PMAPS, SHARD_MAPS
from jaxmigrate.program.imports import reached
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module, Project
from jaxmigrate.program.once import once_each
from jaxmigrate.program.process_texts import texts_beside
from jaxmigrate.program.resolve import Resolver
from jaxmigrate.program.settings import settings
from jaxmigrate.program.syntax import calls_of, last_name
from jaxmigrate.program.values import External, Function

CODE = "JM205"
# What a network draws for; an action or a token that is drawn is one for what the device has, be the key the same
DRAWING = re.compile(r"^(?!.*\bcategorical\().*(?:ropout|next_rng|make_rng)", re.MULTILINE)
MAKING = "hk.transform"
PARAMETERS = re.compile("param|theta|weight")
DRAWS = "every device draws the same random bits: the key is the same"
INDEX = "axis_index"
KEYS = re.compile("(^|_)(key|rng|seed)s?(_|$)")
PROCESS_INDEX = named("process-index")
GIVE_OWN = "for all of them; give each its own by jax.random.split"


def check(facts: Facts) -> Iterator[Finding]:
    """Draws, in functions that work on a batch together, by a key that they are given and that is equal everywhere.

    Told where the key is repeated for all devices, if that is in sight.
    """
    reported: set[tuple[Module, ast.expr]] = set()
    alike = {one.found.application.node: one.found for one in copied_batches(facts)}  # which is told, and is the cause
    copies = {call for found in alike.values() for _, call in facts.all_repeated(found)}
    by_name = [one for one in keys_repeated(facts) if one[1] not in copies]
    for found, reading in _with_axes(facts):
        trusted = [*_shared(found, reading, facts)]
        if not trusted or found.application.node in alike:
            continue
        draws = [*_shared(found, facts.confirmed(found, reading), facts)]
        repeated: list[tuple[Module, ast.expr]] = [
            (m, inner)
            for module, call in facts.repeated_keys(found)
            for m, inner in _within(call, module, by_name, facts)
            if m.path in facts.names
        ]
        if not draws and repeated and INDEX not in text_around(found.function.node, found.function.module):
            draws = trusted  # a function out of sight would have to make them differ, of one key for all
        if not draws:
            continue
        whose = f"for all of {shown(found.axes or frozenset())}; fold axis_index into it"
        if not found.axes:
            whose = "for all of them; give each its own"
        entered = None if repeated else _entered(found, draws[0], facts)
        places = repeated or (
            [entered] if entered else [(draw.module, draw.node) for draw in _of_each_state(draws, found)]
        )
        away = bool(repeated) or entered is not None
        way = tuple(Step(draw.module, draw.node, "drawn from here") for draw in draws[:1]) if away else ()
        for module, node in places:
            if (module, node) not in reported:
                reported.add((module, node))
                yield from facts.finding(module, node, CODE, f"{DRAWS} {GIVE_OWN if repeated else whose}", way)
    yield from _all_alike(facts)
    yield from _of_one_process(facts)
    yield from _in_each_part(facts)
    for module, call in by_name:
        if (module, call) not in reported:
            yield from facts.finding(module, call, CODE, f"{DRAWS} {GIVE_OWN}")
    yield from _of_states(facts, reported)
    for module, key in facts.shared_keys():
        yield from facts.finding(module, key, CODE, f"{DRAWS} {GIVE_OWN}")


def _of_each_state(draws: Sequence[Draw], found: DeviceMap) -> list[Draw]:
    """The draws, but of those by the keys in one state, which is one for all devices, the first alone."""
    kept: dict[object, Draw] = {}
    for draw in draws:
        given = (
            [one.value for one in draw.node.keywords if one.arg == "rngs"] if isinstance(draw.node, ast.Call) else []
        )
        state = given[0].value if given and isinstance(given[0], ast.Attribute) else None
        named = isinstance(state, ast.Name) and state.id in found.parameters()
        kept.setdefault(state.id if named and isinstance(state, ast.Name) else draw.node, draw)
    return list(kept.values())


def _of_states(facts: Facts, reported: Container[tuple[Module, ast.expr]]) -> Iterator[Finding]:
    """Draws by the keys in a state that is replicated."""
    for one in keys_of_states(facts):
        if (one.draw.module, one.draw.node) not in reported:
            message = f"{DRAWS} for all of them, as `{one.name}` is replicated with its state; give each its own"
            way = (Step(one.module, one.call, "replicated here"),)
            yield from facts.finding(one.draw.module, one.draw.node, CODE, message, way)


def _all_alike(facts: Facts) -> Iterator[Finding]:
    """Maps of which all arguments are replicated, keys among them, and that reduce what came of their draws."""
    for found, reading in facts.readings:
        marks = reading.returned.marks.union(*(one.operand.marks for one in reading.reductions))
        reduced = [one for one in reading.reductions if not one.operand.marks.isdisjoint((DRAWN, OF_EQUAL))]
        alike = reading.returned.level == Level.NO and DRAWN in marks and not any(map(is_shared, reading.draws))
        if not alike or not reduced or found.name not in PMAPS:
            continue
        shared = facts.all_repeated(found)
        confirmed = facts.confirmed(found, reading) if shared else reading
        if shared and confirmed.returned.level == Level.NO and not shared[0][0].is_test:
            module, call = shared[0]
            message = "every device does the same: all that the map is given is replicated, its random keys as well; "
            way = (Step(reduced[0].module, reduced[0].node, "reduced here"),)
            yield from facts.finding(module, call, CODE, f"{message}give each device a key of its own", way)


def _within(
    call: ast.Call, module: Module, places: list[tuple[Module, ast.Call]], facts: Facts
) -> list[tuple[Module, ast.Call]]:
    """Where a function of the project that is called repeats a key by that name; else the call itself."""
    callee = facts.resolver.value(call.func, module)
    if isinstance(callee, Function):
        inner = [(m, one) for m, one in places if m is callee.module and m.table.function_of(one) is callee.node]
        return inner or [(module, call)]
    return [(module, call)]


def _with_axes(facts: Facts) -> Iterator[tuple[DeviceMap, Reading]]:
    """Each reading of a map; of one whose mesh is out of sight, with the axis of its specs, where they name one."""
    for whole, ways in zip(facts.readings, facts.readings_along, strict=True):
        yield ways[0] if whole[0].axes is None and len(ways) == 1 else whole


def _entered(found: DeviceMap, draw: Draw, facts: Facts) -> tuple[Module, ast.expr] | None:
    """Where a mapped function hands its key to the function that draws; None where it draws itself, or shows none.

    That is no function of jax.random, which makes keys of it, if another is given one, be it of the function around.
    """
    function = found.function
    if any(inner is draw.node for inner in ast.walk(function.node)):
        return None
    names = {name for name in function.passed_names() if KEYS.search(name)}
    makes: list[ast.Call] = []
    others: list[ast.Call] = []
    for call in calls_of(function.node):
        given = [*call.args, *(keyword.value for keyword in call.keywords)]
        keys = {one.id for one in given if isinstance(one, ast.Name) and KEYS.search(one.id)}
        callee = facts.resolver.value(call.func, function.module) if keys else None
        if isinstance(callee, External) and callee.name.startswith("jax.random."):
            makes += [call] if keys & names else []
        elif keys & names:
            return function.module, call
        elif keys:
            others.append(call)
    place = next(iter((*others, *makes)), None)
    return None if place is None else (function.module, place)


def _of_one_process(facts: Facts) -> Iterator[Finding]:
    """Draws by a key into which nothing but the index of the process was folded: its devices share it.

    Told where that index is read.
    """
    reported: set[ast.AST] = set()
    for found, reading in facts.readings:
        causes = {d.node: d.key.cause for d in reading.draws if d.key.cause.name in PROCESS_INDEX}
        for draw in _shared(found, facts.of_one_process(found), facts) if causes else ():
            cause = causes.get(draw.node)
            if cause is None or not isinstance(cause.node, ast.expr) or cause.node in reported:
                continue
            reported.add(cause.node)
            axis = shown(found.axes or frozenset())
            message = (
                f"all devices of a process draw the same random bits: they share this index; write axis_index of {axis}"
            )
            way = (Step(draw.module, draw.node, "drawn from here"),)
            yield from facts.finding(cause.module or draw.module, cause.node, CODE, message, way)


def _in_each_part(facts: Facts) -> Iterator[Finding]:
    """Draws by a key that is one for all, of which each device's are its own part of the result."""
    reported: set[ast.AST] = set()
    for ways in facts.readings_along:
        for found, reading in ways:
            if not _gives_copies(found, reading, facts):
                continue
            others = [facts.confirmed(*way) for way in ways if way[0] is not found]
            apart = {one.node for other in others for one in other.draws if one.key.level != Level.NO}
            for draw in facts.confirmed(found, reading).draws:
                own = draw.node in apart  # along another axis, perhaps of all that there is one device of along this
                module, node = _entered(found, draw, facts) or (draw.module, draw.node)
                if is_shared(draw) and not own and node not in reported and not draw.module.is_test:
                    reported.add(node)
                    axes = shown(found.axes or frozenset())
                    message = (
                        f"every device draws the same random bits, so the result repeats them along {axes}; fold "
                        f"axis_index over {axes} into the key"
                    )
                    way = (Step(draw.module, draw.node, "drawn from here"),) if node is not draw.node else ()
                    yield from facts.finding(module, node, CODE, message, way)


def _gives_copies(found: DeviceMap, reading: Reading, facts: Facts) -> bool:
    """Whether a shard_map puts together along an axis what is drawn and the same on all devices."""
    specs = found.keyword("out_specs", 3) if found.name in SHARD_MAPS else None
    if specs is None or specs.expression is None or reading.reductions or not any(map(is_shared, reading.draws)):
        return False
    if any(one.level != Level.NO for one in arguments(found, facts.resolver)):
        return False

    def is_split(node: ast.expr, module: Module) -> bool:
        return bool((spec_axes(node, module, facts.resolver) or frozenset()) & (found.axes or frozenset()))

    copies = out_vars(specs.expression, specs.module, reading.returned, is_split, facts.resolver, _is_drawn)
    return any(True for _ in copies)


def _is_drawn(value: AbstractValue) -> bool:
    """Whether something is made of random numbers, which are the same on all devices."""
    return value.level == Level.NO and not value.host and DRAWN in value.marks


def _shared(found: DeviceMap, reading: Reading, facts: Facts) -> Iterator[Draw]:
    """The draws of a map by a key that is one for all its devices."""
    if found.axes is None:
        return
    if not reading.reductions and reading.returned.level == Level.NO:
        return  # all devices do the same, and had better draw the same
    if _makes_replicated(found, reading, facts) or _is_for_each_alone(found, reading, facts):
        return
    for draw in reading.draws:
        if not is_shared(draw) or _is_of_parameters(draw):
            continue
        if not (_is_unused(draw, facts) or _folds_index(draw) or _is_idle(draw, facts)):
            yield draw


def _is_for_each_alone(found: DeviceMap, reading: Reading, facts: Facts) -> bool:
    """Whether a pmap is told by in_axes to give all devices one key, and each works on its own part of the data alone.

    A picture is rendered so, by the key of the step before. By a number for a seed, metrics may be averaged as well.
    """
    if found.name not in PMAPS or found.within is not None or reading.updates:
        return False
    names, shared = found.parameters(), broadcast(found, facts.resolver)
    keys = [number for number, name in enumerate(names) if KEYS.search(name)]
    shared |= {number for given, _, number in facts.given_to(found) if _is_written(given)}
    seeded = all("seed" in names[number] for number in keys)
    if any(one.operand.gradient or not seeded for one in reading.reductions):
        return False
    return bool(keys) and shared.issuperset(keys) and len(shared) < len(names)


def _is_written(given: ast.expr) -> bool:
    """Whether what all devices are given is a number that somebody wrote there: `replicate(2)`."""
    match given:
        case ast.Call(func=function, args=[ast.Constant(value=int())]):
            return last_name(function) == "replicate"
    return False


def _makes_replicated(found: DeviceMap, reading: Reading, facts: Facts) -> bool:
    """Whether a map takes nothing that is split, and gives as split only what differs: it makes parameters."""
    specs = found.keyword("out_specs", 3) if found.name in SHARD_MAPS else None
    if specs is None or specs.expression is None or reading.reductions:
        return False
    if any(one.level != Level.NO for one in arguments(found, facts.resolver)):
        return False
    listed = facts.resolver.container(specs.expression, specs.module)
    parts = reading.returned.parts
    if listed is None or not isinstance(listed[0], ast.Tuple) or parts is None or len(parts) != len(listed[0].elts):
        return False
    named = [spec_axes(element, listed[1], facts.resolver) for element in listed[0].elts]
    return all(
        axes is not None and (not axes or part.level != Level.NO) for axes, part in zip(named, parts, strict=True)
    )


def _is_unused(draw: Draw, facts: Facts) -> bool:
    """Whether `apply` is given a key that no network uses: of a test, of a program with its own, or by a flag."""
    if draw.name.rpartition("_")[2] != "apply":
        return False
    texts = [draw.module.text] if draw.module.is_test else _texts(facts.resolver.project)
    if draws_nothing(draw.node, draw.module, facts):
        return True
    makes = draw.module.is_test or any(MAKING in text for text in texts)
    return makes and not any(map(DRAWING.search, texts))


def _is_idle(draw: Draw, facts: Facts) -> bool:
    """Whether a network is given keys for streams that it draws nothing from, as the rate of each dropout is zero."""
    call = draw.node
    given = [one.value for one in call.keywords if one.arg == "rngs"] if isinstance(call, ast.Call) else []
    if not given or draw.module.is_test:
        return False
    keys = given[0].keys if isinstance(given[0], ast.Dict) else []
    named = [str(one.value) for one in keys if isinstance(one, ast.Constant)]
    own = draw.name.removeprefix("rngs ") if draw.name.startswith("rngs ") else ""
    streams = [f"rngs {own}"] if own.isidentifier() else [f"rngs {one}" for one in named] or ["rngs"]
    return not any(_may_draw((draw.module, one), facts.resolver) for one in streams)


@once_each
def _may_draw(asked: tuple[Module, str], resolver: Resolver) -> bool:
    """Whether a network that runs with a module may draw from a stream, or none is in sight that has a dropout."""
    module, stream = asked
    texts = texts_beside(module, resolver)
    return not any(map(DROPS.search, texts)) or is_drawn_from(stream, texts, settings(resolver))


def _folds_index(draw: Draw) -> bool:
    """Whether what is told is where the index of the device is folded into the keys."""
    inner = [one for one in ast.walk(draw.node) if isinstance(one, ast.Call) and last_name(one.func) == "fold_in"]
    given = [part for call in inner for one in call.args[1:] for part in ast.walk(one)]
    names = [one.id for one in given if isinstance(one, ast.Name)]
    direct = any(isinstance(one, ast.Call) and last_name(one.func) == INDEX for one in given)
    return direct or any(re.search(rf"\b{name} = .*\b{INDEX}\(", draw.module.text) for name in names)


def _is_of_parameters(draw: Draw) -> bool:
    """Whether what is drawn has the shape of parameters, which are to be the same everywhere, by their name."""
    given = [*draw.node.args[1:], *(k.value for k in draw.node.keywords)] if isinstance(draw.node, ast.Call) else []
    shapes = [one.value for one in given if isinstance(one, ast.Attribute) and one.attr == "shape"]
    return any(PARAMETERS.search(ast.unparse(one).lower()) for one in shapes)


def _texts(project: Project) -> list[str]:
    """The texts of a program: networks may stand in files that nothing else is asked about."""
    paths = {path for module in project.named for path in (module.path, *reached(module.path, module.text, project))}
    return [project.text(path) or "" for path in paths]


def is_shared(draw: Draw) -> bool:
    """Whether a key is equal on all devices for certain; one that the function makes itself is so on purpose."""
    return not draw.common and draw.key.level == Level.NO and GIVEN in draw.key.marks and not draw.key.host
