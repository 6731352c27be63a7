"""What a reader presumes of arrays that come to mapped functions from out of sight: batches, and states.

A mapped argument has a slice for each device, whatever made it. That a batch is cut up for them changes nothing in what
each device gets: its slices are put one after the other, and split again. That a state is the same on all devices is
what its name says; if it is not, the first device's is taken for all. So each is an assumption that the report lists,
and nothing of it counts that costs another array its global layout.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

from jaxmigrate.flow.layout import classes, mapped_bodies, objects, own_draws, phased_attributes, transient_attributes
from jaxmigrate.flow.layout.choices import Layouts, SiteChoice
from jaxmigrate.flow.layout.counts import may_be_given_fewer
from jaxmigrate.flow.layout.interpreter import Interpreter
from jaxmigrate.flow.layout.listed_devices import ListedDevices
from jaxmigrate.flow.layout.model import Place, SiteCall
from jaxmigrate.flow.layout.observing import site_of, spot_of
from jaxmigrate.flow.layout.one_row import has_one_row
from jaxmigrate.flow.layout.ranks import rank_of
from jaxmigrate.flow.layout.site_facts import SiteFacts
from jaxmigrate.flow.layout.values import is_tracked
from jaxmigrate.program.functions import returned_by
from jaxmigrate.program.library import named
from jaxmigrate.program.modules import Module
from jaxmigrate.program.observed import Making, Observed, Site, Spot
from jaxmigrate.program.once import once
from jaxmigrate.program.scopes import Binding, all_parameters
from jaxmigrate.program.syntax import said_name
from jaxmigrate.program.values import Class, External, Function, Member, Unknown

BATCH = re.compile(
    r"(?:^|_)(?:anchors?|answers?|atoms|audio|batch|batches|batched|captions?|chunks?|completions?|coordinates|coords|crops|data|dataset|docs|documents?|electrons?|"
    r"exs?|examples?|features?|frames?|games?|graphs?|images?|imgs?|inputs?|instances?|ids|labels?|latents?|masks?|"
    r"minibatch|molecules?|negatives?|noise|obs|observations?|patches|pixels?|points|pairs|positions|positives?|problems?|"
    r"prompts?|quer(?:y|ies)|questions?|rays|"
    r"responses?|samples?|seqs?|sentences|sequences?|shards?|spectrograms?|targets?|tasks?|texts?|tgts?|tokens?|trajector(?:y|ies)|transitions?|"
    r"triplets?|videos?|views|walkers?|waveforms?|windows?|xb|yb|xs?|ys?|src|dst)(?:_|\d*$)"
)
STATE = re.compile(
    r"(?:^|_)p?(?:emas?|models?|opts?|optimizers?|params?|parameters|states?|variables|vars|weights|theta)(?:_|\d*$)"
)
OWN = re.compile(
    r"(?:^|_)(?:envs?|keys?|prng|rngs?|seeds?|timesteps?|buffers?|carry|carries|stats|statistics)(?:_|\d*$)"
)
OWN_FIELD = re.compile(r"(?:^|_)(?:envs?|keys?|prng|rngs?|seeds?|timesteps?|buffers?|carry|carries)(?:_|\d*$)")
REPLICATED = re.compile(r"(?:^|_)(?:bcast|broadcast(?:ed)?|repl|replicated?)(?:_|\d*$)")
SHARDED = re.compile(r"(?:^|_)(?:sharded|shards?)(?:_|\d*$)")
PUTS = re.compile(r"(?:^|_)(?:bcast|broadcast|replicate|shard)(?:_|\d*$)")  # the same of a function
NUMBER = re.compile(  # what is one number by the last word of its name: `label_smoothing`, `latents_scale`
    r"(?:^|_)(?:alpha|beta|coefficient|coeffs?|coefs?|count|decay|dim|dims|dropout|eps|epsilon|epoch|factor|frac|fraction|gamma|"
    r"iter|iteration|len|length|lr|max|min|num|prob|probability|rate|ratio|scale|size|smoothing|std|step|steps|"
    r"temp|temperature|threshold)\d*$"
)
FROZEN = named("frozen")
COMPUTING = ("numpy", "jax.numpy", "jax.random", "numpy.random")
REPEATING = ("broadcast_to", "repeat", "tile")
DEEPEST = 4  # callers of callers
LEAST_AXES = 2  # of a batch: the devices, and the rows of each


def presumed(it: Interpreter, found: Layouts, *, flowing: bool = False) -> Observed:
    """What a reader presumes of the arguments that stay stacked because nothing in sight made them.

    With `flowing` also of what other maps gave and that differs between devices, where its names say a batch.
    """
    facts = SiteFacts(it, "")
    given: dict[tuple[Site, int], Making] = {}
    made: dict[Spot, Making] = {}
    for call in it.maps.calls.values():
        if _may_be_over_others(it, call):
            continue
        choice = found.sites[call.site]
        axes = facts.in_axes(call.site) or ()
        mapped = [place for axis, place in zip(axes, call.places, strict=False) if axis == 0]
        if any(has_one_row(place, call.module, it.resolver) for place in mapped):
            continue  # on one device, then, and on no more
        for index, place in enumerate(call.places):
            if index >= len(axes) or axes[index] is None or index >= len(choice.arguments):
                continue
            if choice.arguments[index].layout != "stacked":
                continue
            way = _way(it, call, index, place)
            if call.is_spread(place) and not _is_batch(it, call, place, choice):
                continue
            unmade = ("plain", call.site, index) in it.variables or _is_of_unmade(it, call, index)
            flows = flowing and not unmade and ("argument", call.site, index) in it.groups
            parts = _parts_of(it, place, call.module) if unmade else []
            if any(_is_no_batch(it, part, call.module) for part in parts):
                continue
            if way == "split" and (unmade or flows) and not _is_row(it, place, call.module):
                given[site_of(call.site, it.sites[call.site].module), index] = Making("split", 0)
            elif way == "replicate" and not _holds_own(it, call, index, place):
                spots = [spot for spot in makers(it, place, call.module, DEEPEST) if spot not in _computed(it)]
                made |= {spot: Making("replicate", 0) for spot in spots}
                known = it.trust.presumed.made.keys() >= {*spots}  # what makes it is not all, then
                if unmade and known and _is_unseen(it, call.site, index):
                    given[site_of(call.site, it.sites[call.site].module), index] = Making("replicate", 0)
    return Observed(made, given)


def _holds_own(it: Interpreter, call: SiteCall, index: int, place: ast.expr) -> bool:
    """Whether a state has fields that are each device's own by their names: its class says, or what is mapped reads."""
    function = mapped_bodies.mapped_function(it, call.site)
    names = mapped_bodies.parameters(it, call.site, function, len(call.arguments)) if function is not None else {}
    fields: set[str] = set()
    notes: list[tuple[ast.expr | None, Module]] = []
    if function is not None and index in names:
        name = names[index]
        fields |= {
            node.attr
            for node in ast.walk(function.node)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name
        }
        notes += [(one.annotation, function.module) for one in all_parameters(function.node.args) if one.arg == name]
    bound = it.resolver.bindings_at(place, call.module) if isinstance(place, ast.Name) else []
    notes += [(one.node.annotation, call.module) for one in bound if isinstance(one.node, ast.arg)]
    for note, module in notes:
        value = it.resolver.value(note, module) if isinstance(note, ast.Name | ast.Attribute) else None
        fields |= set(it.resolver.declared_fields(value)) if isinstance(value, Class) else set()
    return any(OWN_FIELD.search(field.lower()) for field in fields)


def _may_be_over_others(it: Interpreter, call: SiteCall) -> bool:
    """Whether a map may be over other devices than those that arrays are presumed to lie on."""
    if isinstance(it.idioms.some, ListedDevices):
        return it.idioms.some.of_maps and it.idioms.some.given_to(it.sites[call.site]) is None
    return it.idioms.some is None and any(may_be_given_fewer(m, it.resolver) for m in _homes(it, call))


def _homes(it: Interpreter, call: SiteCall) -> set[Module]:
    """The files that a map and its call stand in."""
    return {it.sites[call.site].module, call.module}


def _is_of_unmade(it: Interpreter, call: SiteCall, index: int) -> bool:
    """Whether an argument is a tuple, at every call, of parts none of which anything in sight made."""
    parts = [(call.site, index, part) for part in range(it.maps.sizes.get((call.site, index), 0))]
    return bool(parts) and all(("plain", *at) in it.variables and ("argument", *at) not in it.groups for at in parts)


def _parts_of(it: Interpreter, place: ast.expr, module: Module) -> list[ast.expr]:
    """The parts of a tuple or list that is given as it is written, there or above."""
    values = [place]
    if isinstance(place, ast.Name):
        values = [b.value for b in it.resolver.bindings_at(place, module) if b.value is not None and not b.path]
    return [part for value in values if isinstance(value, ast.Tuple | ast.List) for part in value.elts]


def _is_no_batch(it: Interpreter, part: ast.expr, module: Module) -> bool:
    """Whether a part of a tuple is a state or a device's own by its name, or one number a device."""
    name = said_name(part)
    return bool(STATE.search(name) or OWN.search(name)) or _is_row(it, part, module)


def _is_batch(it: Interpreter, call: SiteCall, place: ast.expr, choice: SiteChoice) -> bool:
    """Whether all that a star spreads is a batch that comes from out of sight."""
    found = [i for i, one in enumerate(call.places) if one is place]
    return all(
        i < len(choice.arguments)
        and choice.arguments[i].layout == "stacked"
        and ("plain", call.site, i) in it.variables
        and _way(it, call, i, place) == "split"
        for i in found
    )


def batches(it: Interpreter, site: ast.expr) -> set[int]:
    """The arguments of a site that a reader takes for batches, by position."""
    calls = [call for call in it.maps.calls.values() if call.site is site]
    return {i for call in calls for i, place in enumerate(call.places) if _way(it, call, i, place) == "split"}


def states(it: Interpreter, site: ast.expr) -> dict[tuple[int, ...], bool]:
    """The arguments of a site that a reader takes for states, by position: whether all in them is learned.

    Of a tuple that is given as one argument, the position of a part follows that of the tuple.
    """
    found: dict[tuple[int, ...], bool] = {}
    for call in (one for one in it.maps.calls.values() if one.site is site):
        for i, place in enumerate(call.places):
            said: list[tuple[tuple[int, ...], list[str]]] = [((i,), _said(it, call, i, place))]
            if isinstance(place, ast.Tuple) and it.maps.sizes.get((site, i)):
                said = [((i, part), [said_name(element)]) for part, element in enumerate(place.elts)]
            found |= {at: any(map(objects.is_learned, names)) for at, names in said if _way_of(names) == "replicate"}
    return found


def steps_unseen(it: Interpreter, function: Function, place: Place) -> bool:
    """Whether a function gives, at a place of its result, what a method out of sight makes of a training state."""
    values = [_part(one, place) for one in returned_by(function.node)]
    return bool(values) and all(one is not None and _is_step(it, one, function.module) for one in values)


def _part(returned: ast.expr | None, place: Place) -> ast.expr | None:
    """What stands at a place of what is returned, where that is written as a tuple."""
    if not isinstance(returned, ast.Tuple) or len(place) != 1 or not isinstance(place[0], int):
        return returned if place in ((), (0,)) else None
    return returned.elts[place[0]] if place[0] < len(returned.elts) else None


def _is_step(it: Interpreter, node: ast.expr, module: Module) -> bool:
    """Whether a value is what such a call gives: `agent.train(state, batch)`, or the state that it gives first."""
    if isinstance(node, ast.Name):
        bindings = it.resolver.bindings_at(node, module)
        made = [(one.value, one.path) for one in bindings if one.kind != "param"]  # as it was given, it is equal
        named = STATE.search(said_name(node)) is not None and not OWN.search(said_name(node))
        return (
            named
            and bool(made)
            and all(value is not None and path in ((), (0,)) and _is_step(it, value, module) for value, path in made)
        )
    if not isinstance(node, ast.Call) or not isinstance(it.resolver.value(node.func, module), Member | Unknown):
        return False
    given = [said_name(one) for one in (*node.args, *(keyword.value for keyword in node.keywords))]
    return any(STATE.search(name) and not OWN.search(name) for name in given)


def _way(it: Interpreter, call: SiteCall, index: int, place: ast.expr) -> str:
    """Whether an argument's names say that it is a batch or a state; empty where they say neither."""
    return _way_of(_said(it, call, index, place))


def _way_of(said: Sequence[str]) -> str:
    """The same by the names."""
    if any(map(OWN.search, said)) or any(map(NUMBER.search, said)):
        return ""
    if any(map(REPLICATED.search, said)):
        return "" if any(map(SHARDED.search, said)) else "replicate"
    for name in said:
        if STATE.search(name):
            return "" if any(map(SHARDED.search, said)) else "replicate"
        if BATCH.search(name) or SHARDED.search(name):
            return "split"
    return ""


def _said(it: Interpreter, call: SiteCall, index: int, place: ast.expr) -> list[str]:
    """The names of an argument, where it is taken and where it is given."""
    function = mapped_bodies.mapped_function(it, call.site)
    count = len(call.arguments)
    names = mapped_bodies.parameters(it, call.site, function, count) if function is not None else {}
    return [name for name in (names.get(index, "").lower(), said_name(place), _maker(it, call, place)) if name]


def _maker(it: Interpreter, call: SiteCall, place: ast.expr) -> str:
    """The name of the function that makes an argument, where it says what becomes of that on the devices."""
    values = [place]
    if isinstance(place, ast.Name):
        values = [b.value for b in it.resolver.bindings_at(place, call.module) if b.value is not None and not b.path]
    made = {said_name(one.func) for one in values if isinstance(one, ast.Call)}
    name = next(iter(made)) if len(made) == 1 and len(values) == 1 else ""
    return name if PUTS.search(name) else ""


def _is_row(it: Interpreter, place: ast.expr, module: Module) -> bool:
    """Whether an argument is evidently one number a device, as `jnp.ones(n)` or `jnp.arange(n)` is."""
    if rank_of(place, module, it.resolver) in (0, 1):
        return True
    values = [place]
    if isinstance(place, ast.Name):
        values = [b.value for b in it.resolver.bindings_at(place, module) if b.value is not None and not b.path]
    return any(isinstance(one, ast.Call) and _makes_row(one) for one in values)


def _makes_row(call: ast.Call) -> bool:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
    if name in ("arange", "linspace"):
        return True
    if name in ("array", "asarray"):
        return bool(call.args) and _lists_numbers(call.args[0])
    shape = next((k.value for k in call.keywords if k.arg == "shape"), call.args[0] if call.args else None)
    sizes = shape.elts if isinstance(shape, ast.Tuple | ast.List) else None
    return name in ("empty", "full", "ones", "zeros") and (sizes is None or len(sizes) < LEAST_AXES)


def _lists_numbers(node: ast.expr) -> bool:
    """Whether numbers are listed, perhaps some times over: `[1.0]`, `[0] * n`."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return _lists_numbers(node.left) or _lists_numbers(node.right)
    elements = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    numbers = [one.operand if isinstance(one, ast.UnaryOp) else one for one in elements]
    return bool(numbers) and all(isinstance(one, ast.Constant) for one in numbers)


# What made a state


def makers(it: Interpreter, place: ast.expr, module: Module, depth: int) -> Iterator[Spot]:
    """The calls that an argument's first value comes from."""
    match place:
        case ast.Call() if (held := _held(it, place, module)) and depth:
            for one in held:
                yield from makers(it, one, module, depth - 1)
        case ast.Call() if place not in it.sites:
            yield spot_of(place, module)
        case ast.Name():
            for binding in _firsts(it, place, module) if depth else ():
                yield from _bound(it, binding, module, depth - 1)
        case ast.Attribute(attr=name) if depth:
            for value, where in _assigned(it, name):
                yield from makers(it, value, where, depth - 1)
            for target, where in _parts(it, name):
                yield spot_of(target, where)


def _is_unseen(it: Interpreter, site: ast.expr, index: int) -> bool:
    """Whether nothing in sight computes what calls give a map that nothing in sight made."""
    calls = [one for one in it.maps.calls.values() if one.site is site and not is_tracked(one.arguments[index])]
    return all(index < len(one.places) and is_unseen(it, one.places[index], one.module) for one in calls)


def is_unseen(it: Interpreter, place: ast.expr, module: Module, depth: int = DEEPEST) -> bool:
    """Whether nothing in sight computes what an expression gives, so that its name is all that there is to go by."""
    match place:
        case ast.Attribute(attr=name):
            return all(is_unseen(it, one, where, depth - 1) for one, where in _assigned(it, name) if depth)
        case ast.Subscript(value=value):
            return is_unseen(it, value, module, depth)
        case ast.Call() if (held := _held(it, place, module)) and depth:
            return all(is_unseen(it, one, module, depth - 1) for one in held)
        case ast.Call():
            return not _is_computed(it, place, module)
        case ast.Name() if depth:
            given = [
                pair
                for binding in _firsts(it, place, module)
                for pair in (_passed(it, binding) if binding.kind == "param" else [(binding.value, module)])
            ]
            return all(one is None or is_unseen(it, one, where, depth - 1) for one, where in given)
    return False


def _held(it: Interpreter, call: ast.Call, module: Module) -> list[ast.expr]:
    """What a call only puts together: `dict(w=w, b=b)`, a record of the project; empty for other calls."""
    value = it.resolver.value(call.func, module) if call.func in module.table.scope_of else None
    holds = isinstance(value, Class) and classes.is_pytree(it, value)
    if holds or (isinstance(value, External) and value.name in {"builtins.dict", "builtins.zip", *FROZEN}):
        return [*call.args, *(one.value for one in call.keywords)]
    return []


@once
def _computed(it: Interpreter) -> set[Spot]:
    """The calls that compute arrays where all can see it, and the names that get parts of what these give."""
    found = [(call, module) for module in it.modules for call in module.table.calls]
    computed = [(call, module) for call, module in found if _is_computed(it, call, module)]
    parts = ((one, module) for call, module in computed for one in _unpacked(module.table.parents[call]))
    return {spot_of(one, module) for one, module in (*computed, *parts)}


def _is_computed(it: Interpreter, call: ast.Call, module: Module) -> bool:
    """Whether a call computes an array where all can see it, and gives devices no equal slices."""
    if own_draws.is_one(it.idioms, call, module):
        return True
    value = it.resolver.value(call.func, module) if call.func in module.table.scope_of else None
    home, _, name = value.name.rpartition(".") if isinstance(value, External) else ("", "", "")
    if home not in COMPUTING or name in REPEATING:
        return False
    first = call.args[0] if call.args else None
    return not (isinstance(first, ast.BinOp) and isinstance(first.left, ast.List) and isinstance(first.op, ast.Mult))


def _bound(it: Interpreter, binding: Binding, module: Module, depth: int) -> Iterator[Spot]:
    """The calls, parameters and names of parts that give a name its value."""
    if binding.kind == "param":
        passed = [*_passed(it, binding)]
        for one, where in passed:
            yield from makers(it, one, where, depth)
        if not passed and isinstance(binding.node, ast.arg) and _is_def(binding.scope.node):
            yield spot_of(binding.node, module)
    elif binding.path and isinstance(binding.value, ast.Call):
        target = _target(binding)
        if target is not None and binding.value not in it.sites:
            yield spot_of(target, module)
    elif binding.value is not None and not binding.path:
        yield from makers(it, binding.value, module, depth)


def _is_def(node: ast.AST) -> bool:
    return isinstance(node, ast.FunctionDef)


def _target(binding: Binding) -> ast.expr | None:
    """The name that gets a part of what a statement with lines of its own unpacks: `params, state = load()`."""
    parts = _unpacked(binding.node)
    names = [one for one in parts if isinstance(one, ast.Name) and one.id == binding.name]
    return names[0] if len(names) == 1 else None


def _unpacked(statement: ast.AST) -> list[ast.expr]:
    """What gets the parts of what a statement unpacks, where it does nothing else."""
    if not isinstance(statement, ast.Assign) or len(statement.targets) != 1:
        return []
    whole = statement.targets[0]
    return [*whole.elts] if isinstance(whole, ast.Tuple | ast.List) and isinstance(statement.value, ast.Call) else []


def _firsts(it: Interpreter, place: ast.Name, module: Module) -> Iterator[Binding]:
    """What gives a name its value before the maps do: no map's result, but the last above, and those it may leave."""
    calls = {call.node for call in it.maps.calls.values()}
    bindings = [b for b in it.resolver.bindings_at(place, module) if b.value is None or b.value not in calls]
    above = [b for b in bindings if getattr(b.node, "lineno", 0) <= place.lineno]
    around = {*_around(place, module)}
    for binding in sorted(above, key=lambda b: getattr(b.node, "lineno", 0), reverse=True):
        yield binding
        names = ast.walk(binding.value) if binding.value is not None else ()
        renewed = any(isinstance(n, ast.Name) and n.id == place.id for n in names)
        apart = {one for one in _around(binding.node, module) if one not in around}
        if renewed or not any(isinstance(one, ast.If | ast.Try | ast.For | ast.While) for one in apart):
            return


def _around(node: ast.AST, module: Module) -> Iterator[ast.AST]:
    """What a node stands in."""
    above = module.table.parents.get(node)
    while above is not None:
        yield above
        above = module.table.parents.get(above)


def _passed(it: Interpreter, binding: Binding) -> Iterator[tuple[ast.expr, Module]]:
    """What calls give a parameter."""
    node = binding.scope.node
    name = getattr(node, "name", "")
    for caller in it.modules if name else ():
        for call in caller.table.calls:
            called = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")
            if called != name:
                continue
            for value in it.resolver.values(call.func, caller):
                if isinstance(value, Function) and value.node is node:
                    given = {k.arg: k.value for k in call.keywords}
                    names = value.passed_names()
                    if binding.name in given:
                        yield given[binding.name], caller
                    elif binding.name in names and names.index(binding.name) < len(call.args):
                        yield call.args[names.index(binding.name)], caller


def _assigned(it: Interpreter, name: str) -> Iterator[tuple[ast.expr, Module]]:
    """What the program assigns to attributes of a name, but for what these hold only until they are replicated."""
    for module in it.modules:
        for one in module.table.attributes:
            statement = one.node
            if one.attr != name or not isinstance(statement, ast.Assign) or statement.value is not one.value:
                continue
            targets = [target for target in statement.targets if isinstance(target, ast.Attribute)]
            if any(not _is_before(it, target, module) for target in targets):
                yield one.value, module


def _parts(it: Interpreter, name: str) -> Iterator[tuple[ast.Attribute, Module]]:
    """The attributes of a name that get parts of what a call gives which is no map's."""
    mapped = {call.node for call in it.maps.calls.values()}
    for module in it.modules:
        if name in module.text:
            for statement in (one for one in module.nodes if isinstance(one, ast.Assign) and one.value not in mapped):
                found = (one for one in _unpacked(statement) if isinstance(one, ast.Attribute) and one.attr == name)
                yield from ((target, module) for target in found)


def _is_before(it: Interpreter, target: ast.Attribute, module: Module) -> bool:
    """Whether an attribute is given what is replicated later on."""
    cls = transient_attributes.class_of_receiver(target, module)
    phased = cls is not None and phased_attributes.is_phased(it, cls, target.attr)
    return phased or transient_attributes.is_passing(it, target, module)
