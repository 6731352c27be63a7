"""JM207: a sum over devices that is too large by their number."""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import shown
from jaxmigrate.flow.enclosing import counts_devices, text_around
from jaxmigrate.flow.facts import AXES, AXES_ARGUMENT, Facts, Place
from jaxmigrate.flow.mapped_blocks import bodies
from jaxmigrate.flow.readings import DeviceMap, is_checked, is_unchecked
from jaxmigrate.flow.specs import spec_calls
from jaxmigrate.flow.variance import AbstractValue, Level, Reading, Reduction
from jaxmigrate.flow.variance.lattice import BESIDE, GIVEN, MEAN, OF_EQUAL, OPAQUE, TOTAL, UNREDUCED, leaves_of
from jaxmigrate.flow.variance.means import is_scaled, sum_of_means
from jaxmigrate.flow.variance.summary import Mismatch
from jaxmigrate.program.collectives import PMAPS, SHARD_MAPS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.scopes import is_docstring
from jaxmigrate.program.values import External

CODE = "JM207"
RATES = re.compile(r"^(lr|learning_rate|loss_scale|lr_schedule|lr_fn|learning_rate_fn|schedule_fn|cur_lr|current_lr)$")

AVERAGES = re.compile("(^|_)p?(mean|average|avg)s?(_|$)")
NAMED = r"(batch_stats?|moving_(mean|avg|average|var)|running_(mean|var))s?"
STATISTICS = re.compile(rf"""^[\w.]*{NAMED}$|\[['"]{NAMED}['"]\]$""")
ALL_DEVICES = re.compile(r"^(jax\.)?(local_)?devices\(")
LOOPS = re.compile("scan|fori_loop|accum|micro")
LOSS = re.compile(r"(^|_)loss(es)?$")
SUMS = re.compile("sum|total")
STEPS = re.compile(r"^(step|global_step|step_count|num_steps)$")
SCHEDULES = re.compile(r"(schedule|ema|lr|rate|decay)\w*$")
TIMES = re.compile(r"perf_counter|timeit|time\.time\(|monotonic\(")
COUNTS = re.compile(r"count|num|size|ones|len|\bn_|denom|total|weight")


def check(facts: Facts) -> Iterator[Finding]:
    """Sums of the gradients of means, and sums over an axis along which nothing differs; but for what is divided."""
    along = _along_equal(facts)
    misnamed = {one.application.node for one in facts.all_maps if _names_other_axes(one, facts)}

    def find(found: DeviceMap, reading: Reading) -> Iterator[Place]:
        by_node: dict[ast.expr, list[Reduction]] = defaultdict(list)
        for reduction in _sums(reading):
            by_node[reduction.node] += [] if is_scaled(reduction, reading) else [reduction]
            message = _of_means(found, reduction, reading, facts)
            if message:
                yield Place(reduction.module, reduction.node, message)
        yield from _of_unlike_counts(found, reading, facts)
        yield from _of_scattered(reading)
        for node, same in by_node.items():
            if not same or _is_conditional(node, same[0].module):
                continue
            if _has_equal_and_others([leaf for one in same for leaf in leaves_of(one.operand)]):
                message = (
                    f"psum over {AXES} of several values, some of them replicated over it: those become too large by "
                    "the number of devices; leave them out"
                )
                yield Place(same[0].module, node, message)
            elif (
                all(_is_equal(one.operand) for one in same)
                and not any(map(_is_count, same))
                and node not in along
                and found.application.node not in misnamed
                and not _is_of_some_devices(found)
                and not _is_timed(node, found)
                and not _is_divided_by_callers(found, facts)
            ):
                message = (
                    f"psum over {AXES} of a value that is the same on all devices along it: too large by their number; "
                    "leave psum out"
                )
                yield Place(same[0].module, node, message)

    yield from facts.along_axes(CODE, find, unmapped=True)
    yield from _of_statistics(facts)
    for module, node, axes in along.values():
        message = (
            f"psum over {shown(frozenset(axes))} of a value that is replicated over it: too large by the number of "
            "devices along it; leave that axis out"
        )
        yield from facts.finding(module, node, CODE, message)
    yield from _by_names(facts)


def _is_of_some_devices(found: DeviceMap) -> bool:
    """Whether a map is given devices, such as one of each process, whose values the host of each has put there."""
    given = found.keyword("devices") if found.name in PMAPS else None
    text = ast.unparse(given.expression) if given is not None and given.expression is not None else ""
    return bool(text) and ALL_DEVICES.search(text) is None and text != "None"


def _is_timed(node: ast.expr, found: DeviceMap) -> bool:
    """Whether a map does nothing but a collective, in a module that takes the time: a benchmark of that collective."""
    body = found.function.node.body
    last = body if isinstance(body, ast.expr) else body[-1].value if isinstance(body[-1], ast.Return) else None
    alone = node is last and (isinstance(body, ast.expr) or all(is_docstring(one) for one in body[:-1]))
    return alone and TIMES.search(found.application.module.text) is not None


def _is_divided_by_callers(found: DeviceMap, facts: Facts) -> bool:
    """Whether each call's result is divided where it is called: `f(x)[0] / len(x)`."""
    calls = [*facts.calls_of(found)]
    return bool(calls) and all(_is_divided(call, module) for call, module in calls)


def _is_divided(node: ast.AST, module: Module) -> bool:
    above = module.table.parents.get(node)
    while isinstance(above, ast.expr):
        if isinstance(above, ast.BinOp) and isinstance(above.op, ast.Div | ast.FloorDiv) and above.left is node:
            return True
        node, above = above, module.table.parents.get(above)
    return False


def _of_means(found: DeviceMap, reduction: Reduction, reading: Reading, facts: Facts) -> str:
    """What is wrong with a sum of means, or of the gradients of one; empty for nothing."""
    operand = reduction.operand
    of_gradients = sum_of_means(reduction.node, gradients=True)
    applied = of_gradients in reading.applied and of_gradients not in reading.scaled
    of_mean = any(_is_of_mean(one) for one in leaves_of(operand))
    if not (OF_EQUAL in operand.marks and is_checked(found, facts.resolver)):  # JM204
        of_loss = of_mean and not operand.gradient
        if applied and of_loss and is_unchecked(found, facts.resolver):
            return (
                f"psum over {AXES} of a mean in the loss whose gradient is taken: the gradient is too large by the "
                "number of devices; write pmean"
            )
        if applied and of_mean and not of_loss:
            return (
                f"psum over {AXES} of the gradient of a mean: the sum of the devices' means is too large "
                "by the number of devices; write pmean"
            )
        if applied and _is_of_averaged_loss(reduction, reading):
            return (
                f"psum over {AXES} of the gradients of a loss that is averaged over it: too large by the number "
                "of devices; write pmean"
            )
        if of_mean and _is_misdivided(reduction, reading):
            return (
                f"psum over {AXES} of a mean, divided by the size of a batch, by which each device's mean is "
                "divided already; write pmean"
            )
    if _is_odd(found, reduction, reading):
        return (
            f"psum over {AXES} of a loss and what comes with it, while the gradients are averaged over it: too large "
            "by the number of devices for a mean; write pmean"
        )
    differentiated = sum_of_means(reduction.node) in reading.differentiated - reading.scaled
    if MEAN in operand.marks and differentiated and of_gradients not in reading.scaled - reading.applied:
        return (
            f"psum over {AXES} of a mean, of which the gradient is taken: the loss and its gradient are too large by "
            "the number of devices; write pmean"
        )
    is_own = found.name in SHARD_MAPS and MEAN in operand.marks and not operand.gradient and operand.kind == "array"
    if is_own and not is_scaled(reduction, reading):
        return (
            f"psum over {AXES} of a mean: the sum of the devices' means is too large by the number of "
            "devices; write pmean"
        )
    return ""


def _of_scattered(reading: Reading) -> Iterator[Place]:
    """Sums of gradients of means of which each device keeps its part, as for parameters in shards."""
    for one in reading.scattered:
        mark = sum_of_means(one.node, gradients=True)
        of_mean = any(leaf.gradient and MEAN in leaf.marks and not leaf.inner for leaf in leaves_of(one.operand))
        if of_mean and mark in reading.applied and mark not in reading.scaled:
            message = (
                f"psum_scatter over {AXES} of the gradient of a mean: the sum of the devices' means is too large by "
                f"their number; divide by jax.lax.axis_size({AXES_ARGUMENT})"
            )
            yield Place(one.module, one.node, message)


def _is_odd(found: DeviceMap, reduction: Reduction, reading: Reading) -> bool:
    """Whether a loss, or what comes with it, is summed where its gradients, or other metrics, are averaged."""
    if found.name not in PMAPS or is_scaled(reduction, reading) or not isinstance(reduction.node, ast.Call):
        return False
    given = reduction.node.args[0] if reduction.node.args else None
    if not isinstance(given, ast.Name) or COUNTS.search(given.id.lower()) or SUMS.search(given.id.lower()):
        return False
    means = [one for one in reading.reductions if one.name == "jax.lax.pmean"]
    if not any(one.operand.gradient for one in means):
        return False
    sums = [one for one in _sums(reading) if one.node is not reduction.node]
    if any(_is_count(one) for one in sums):
        return False  # by which the other is divided
    operand = reduction.operand
    of_mean = BESIDE in operand.marks and MEAN in operand.marks and TOTAL not in operand.marks
    return of_mean or (LOSS.search(given.id.lower()) is not None and TOTAL not in operand.marks and not sums)


def _of_unlike_counts(found: DeviceMap, reading: Reading, facts: Facts) -> Iterator[Place]:
    """What all devices have together, divided by what one has; a block's length may be of what is not split."""
    for one in reading.mismatched:
        if not one.by_length or found.name in PMAPS or _is_split_length(found, one, facts):
            what = "the length of one device's own part" if one.by_length else "what one device has"
            message = f"a sum over {AXES} is divided by {what}: too large by a factor, the number of devices; sum both"
            yield Place(one.module, one.node, message)


def _is_split_length(found: DeviceMap, one: Mismatch, facts: Facts) -> bool:
    """Whether a length is of what a shard_map splits, for it splits the first dimension of what it splits, no other.

    Not where JM114 knows it from the very array, nor where something around may be the number of devices.
    """
    body = next((each for each in bodies(facts) if each.map.application.node is found.application.node), None)
    if body is None or counts_devices(one.node, one.module) or any(part.node is one.node for part in body.inside.parts):
        return False
    blocks = [given.block for given in body.given]
    axes = found.axes or frozenset()
    first = [block.dims[0] for block in blocks if block is not None and block.dims]
    others = [each for block in blocks if block is not None for each in block.dims[1:]]
    known = None not in blocks and None not in first and None not in others
    return known and axes in first and not any(others)


def _by_names(facts: Facts) -> Iterator[Finding]:
    """Sums of what is the same on all devices, and sums that are called means, by their names."""
    for module, call in facts.calls("psum"):
        if facts.resolver.value(call.func, module) == External("jax.lax.psum") and call.args:
            mean = _mean_of_own(call, module)
            if mean:
                message = f"{mean} sums over devices: too large by their number for a mean; write pmean"
                yield from facts.finding(module, call, CODE, message)
            name = _rate(call.args[0])
            if name:
                message = f"psum of {name}, which is the same on all devices: too large by their number; leave psum out"
                yield from facts.finding(module, call, CODE, message)


def _mean_of_own(call: ast.Call, module: Module) -> str:
    """The name of a function that is called a mean and does nothing but sum what it is given; else empty."""
    returned = module.table.parents.get(call)
    function = module.table.parents.get(returned) if isinstance(returned, ast.Return) else None
    if not isinstance(function, ast.FunctionDef) or not AVERAGES.search(function.name):
        return ""
    body = [one for one in function.body if not is_docstring(one)]
    names = {one.arg for one in (*function.args.posonlyargs, *function.args.args)}
    given = call.args[0]
    return function.name if len(body) == 1 and isinstance(given, ast.Name) and given.id in names else ""


def _is_count(reduction: Reduction) -> bool:
    """Whether what is summed is, by its name, the number of something that each device has, or one each."""
    given = reduction.node.args[0] if isinstance(reduction.node, ast.Call) and reduction.node.args else None
    return given is None or COUNTS.search(ast.unparse(given)) is not None


def _rate(node: ast.expr) -> str:
    """What is the same on all devices by its name: a learning rate, the scale of a loss, a schedule at a step."""
    match node:
        case ast.Subscript(slice=ast.Constant(value=str(key))) if RATES.search(key):
            return key
        case ast.Call(func=function, args=[ast.Name(id=step) | ast.Attribute(attr=step)], keywords=[]):
            if STEPS.search(step) and isinstance(function, ast.Name) and SCHEDULES.search(function.id):
                return ast.unparse(node)
    inner = node.func if isinstance(node, ast.Call) else node
    name = inner.attr if isinstance(inner, ast.Attribute) else inner.id if isinstance(inner, ast.Name) else ""
    return name if RATES.search(name) else ""


def _is_of_mean(value: AbstractValue) -> bool:
    return MEAN in value.marks and not value.inner and (value.gradient or value.kind == "array")


def _is_of_gradients(value: AbstractValue) -> bool:
    return any(leaf.gradient and not leaf.inner and leaf.level != Level.NO for leaf in leaves_of(value))


def _is_of_averaged_loss(reduction: Reduction, reading: Reading) -> bool:
    """Whether gradients are summed of a loss that, with what comes with it, is averaged over the devices.

    Only where the loss is out of sight: one in sight is a mean or none. What counts examples, to divide by their
    number, would be summed as well under such a name, or tell by a name that it counts devices.
    """
    leaves = leaves_of(reduction.operand)
    seen = any(leaf.gradient and leaf.level == Level.YES and OPAQUE not in leaf.marks for leaf in leaves)
    if seen or not _is_of_gradients(reduction.operand) or counts_devices(reduction.node, reduction.module):
        return False
    if any(_is_count(one) and not _is_of_gradients(one.operand) for one in _sums(reading)):
        return False
    means = (one.operand for one in reading.reductions if one.name == "jax.lax.pmean")
    averaged = (leaf for one in means for leaf in leaves_of(one))
    return any(BESIDE in leaf.marks and TOTAL not in leaf.marks and leaf.level != Level.NO for leaf in averaged)


def _is_misdivided(reduction: Reduction, reading: Reading) -> bool:
    """Whether a batch's size divides a sum of means; of batches that are summed in a loop it may be their number."""
    marks = {sum_of_means(reduction.node, gradients=one) for one in (False, True)}
    return bool(marks & reading.misdivided) and not LOOPS.search(text_around(reduction.node, reduction.module))


def _of_statistics(facts: Facts) -> Iterator[Finding]:
    """Sums of what is, by its name, the running statistics of a normalisation: their mean is meant."""

    def find(_: DeviceMap, reading: Reading) -> Iterator[Place]:
        for reduction in _undivided(reading):
            given = reduction.node.args if isinstance(reduction.node, ast.Call) else []
            if given and STATISTICS.search(ast.unparse(given[0])):
                message = (
                    f"psum over {AXES} of batch statistics: as many times too large as there are devices; write pmean"
                )
                yield Place(reduction.module, reduction.node, message)

    return facts.along_axes(CODE, find)


def _has_equal_and_others(leaves: Sequence[AbstractValue]) -> bool:
    """Whether some of what is summed is replicated, and other parts differ."""
    differs = any(leaf.level == Level.YES or UNREDUCED in leaf.marks for leaf in leaves)
    return differs and any(map(_is_equal, leaves))


def _is_conditional(node: ast.AST, module: Module) -> bool:
    """Whether something is done in some cases only, which may tell apart what it is done to."""
    while node in module.table.parents and not isinstance(node, ast.FunctionDef | ast.Lambda):
        if isinstance(node, ast.If | ast.IfExp):
            return True
        node = module.table.parents[node]
    return False


def _undivided(reading: Reading) -> Iterator[Reduction]:
    """The sums over devices that nothing divides, as far as can be seen."""
    return (one for one in _sums(reading) if not is_scaled(one, reading))


def _sums(reading: Reading) -> Iterator[Reduction]:
    return (one for one in reading.reductions if one.name == "jax.lax.psum")


def _names_other_axes(found: DeviceMap, facts: Facts) -> bool:
    """Whether a spec names an axis that the mesh does not have: then what it is for is not what it seems."""
    given = found.keyword("in_specs", 2) if found.name in SHARD_MAPS else None
    if given is None or given.expression is None:
        return False
    calls = spec_calls(given.expression, given.module, facts.resolver)
    return any(not named <= (found.axes or frozenset()) for _, _, named in calls)


def _along_equal(facts: Facts) -> dict[ast.expr, tuple[Module, ast.expr, set[str]]]:
    """`psum(x, ("data", "model"))` of what differs along one of the two axes alone."""
    found: dict[ast.expr, tuple[Module, ast.expr, set[str]]] = {}
    for ways in facts.readings_along:
        if len(ways) < 2 or not _unequal(ways):
            continue
        confirmed = [(one, facts.confirmed(one, reading)) for one, reading in ways]  # dear, and rarely asked for
        for node, (module, axes) in _unequal(confirmed).items():
            found.setdefault(node, (module, node, axes))
    return found


def _unequal(ways: Sequence[tuple[DeviceMap, Reading]]) -> dict[ast.expr, tuple[Module, set[str]]]:
    """The sums of what differs along one axis and is replicated along others, with these."""
    places: dict[ast.expr, Module] = {}
    equal: dict[ast.expr, set[str]] = defaultdict(set)
    apart: set[ast.expr] = set()
    for found, reading in ways:
        for reduction in _undivided(reading):
            places[reduction.node] = reduction.module
            if reduction.operand.level == Level.YES:
                apart.add(reduction.node)
            elif _is_equal(reduction.operand):
                equal[reduction.node] |= found.axes or frozenset()
    return {node: (places[node], axes) for node, axes in equal.items() if node in apart}


def _is_equal(operand: AbstractValue) -> bool:
    return operand.level == Level.NO and GIVEN in operand.marks and not operand.host and not operand.reduced
