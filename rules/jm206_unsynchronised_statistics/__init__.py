"""JM206: batch statistics that are never averaged over the devices."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import cache

from jaxmigrate.findings import Finding
from jaxmigrate.flow.axes import Step, shown
from jaxmigrate.flow.facts import AXES, AXES_ARGUMENT, Facts, Place
from jaxmigrate.flow.halves import around_common_means, own_means_beside_common
from jaxmigrate.flow.mapped_blocks import bodies
from jaxmigrate.flow.norm_layers import unlike_layers
from jaxmigrate.flow.readings import DeviceMap
from jaxmigrate.flow.synchronised import averages_statistics, unsynchronised
from jaxmigrate.flow.variance import AbstractValue, Level, Reading
from jaxmigrate.flow.variance.lattice import STATISTICS
from jaxmigrate.program.modules import Module
from jaxmigrate.program.once import once_each
from jaxmigrate.program.process_texts import texts_beside
from jaxmigrate.program.resolve import Resolver

CODE = "JM206"
# Whatever averages statistics or a whole state: a reduction of one, or a function that says that it does.
AVERAGED = re.compile(
    r"(pmean|psum|cross_replica_mean|all_reduce\w*|all_gather)\([^()]*stat|sync\w*_(batch|model|bn|norm|state|stats)"
    r"|(axis_name|cross_replica_axis|bn_axis_name)\s*=\s*(?!None)[^,()]*[^()]*\)?.{0,80}BatchNorm"
    r"|BatchNorm\w*[^\n]{0,40}[,(\s]+[^()]*(axis_name|cross_replica_axis)\s*=\s*(?!None)",
    re.DOTALL,
)
AVERAGES = ("pmean", "psum", "cross_replica_", "all_reduce", "all_gather", "sync", "axis_name")  # what it takes to
KEEPS = ("unreplicate", "get_first", "unshard", "first_replica", "[0]")
ONE_DEVICE = re.compile(r"\b(unreplicate|get_first|unshard|first_replica)\w*\(|lambda (\w+): \2\[0\]")


def check(facts: Facts) -> Iterator[Finding]:
    """Statistics that are one device's, where all are meant."""
    yield from _of_layers(facts)
    yield from _of_states(facts)
    yield from _never_averaged(facts)
    yield from _halves(facts)


def _halves(facts: Facts) -> Iterator[Finding]:
    """Statistics of a device's own beside others, of the same values, that are those of all devices.

    Those of features that are split are told by JM114.
    """

    @cache
    def of_blocks() -> set[ast.AST | None]:
        return {part.module.table.function_of(part.node) for _, _, _, body in bodies(facts) for part in body.parts}

    def find(_: DeviceMap, reading: Reading) -> Iterator[Place]:
        for module, node in around_common_means(reading):
            if module.table.function_of(node) in of_blocks():
                continue
            message = (
                f"the mean is that of all devices along {AXES}, and these squares are averaged on each device alone: "
                f"write jax.lax.pmean(..., {AXES_ARGUMENT}) around them, too, or psum where sums are divided later"
            )
            yield Place(module, node, message)
        for module, node in own_means_beside_common(reading):
            message = f"this is each device's own mean, while that beside it is averaged over {AXES}: average both"
            yield Place(module, node, message)

    return facts.along_axes(CODE, find, unmapped=True)


def _of_layers(facts: Facts) -> Iterator[Finding]:
    for module, layer, other in unlike_layers(facts.modules, facts.resolver):
        told = ast.unparse(other.axis) if other.axis is not None else ""
        message = (
            f"this layer normalises by each device's own batch, while others here do by all devices' over {told}: "
            "give it that axis, too"
        )
        yield from facts.finding(module, layer.call, CODE, message, (Step(module, other.call, "with the axis"),))


def _of_states(facts: Facts) -> Iterator[Finding]:
    for one in unsynchronised(facts.modules, facts.resolver):
        message = (
            f"{one.state} has batch statistics of each device's own here: {one.averaging} averages them elsewhere; "
            f"call it before"
        )
        way = (Step(*one.averaged_at, "averaged here"),) if one.averaged_at is not None else ()
        yield from facts.finding(one.module, one.call, CODE, message, way)


def _never_averaged(facts: Facts) -> Iterator[Finding]:
    """Networks whose statistics come back unreduced, in programs that average none and keep those of one device."""
    if not any(reading.statistics for _, reading in facts.readings):
        return iter(())

    def find(found: DeviceMap, reading: Reading) -> Iterator[Place]:
        if not reading.reductions or not holds_statistics(reading.returned):
            return
        if not _keeps_one_devices(found.application.module, facts.resolver):
            return
        for module, node in reading.statistics:
            message = (
                f"the batch statistics returned here are never averaged over {shown(found.axes)}: "
                "each device has its own, and one device's are kept"
            )
            yield Place(module, node, message)

    return facts.in_maps(CODE, find)


@once_each
def _keeps_one_devices(module: Module, resolver: Resolver) -> bool:
    """Whether a program with a module has such networks, averages no statistics and keeps those of one device."""
    texts = texts_beside(module, resolver)
    linen, haiku = (any(word in text for text in texts) for word in ("batch_stats", "transform_with_state"))
    if not (linen or haiku) or not any("BatchNorm" in text for text in texts):
        return False
    if not linen and any("cross_replica_axis" in text for text in texts):
        return False
    if not any(ONE_DEVICE.search(text) for text in texts if any(word in text for word in KEEPS)):
        return False
    if any(_averages(text, texts) for text in texts if any(word in text for word in AVERAGES)):
        return False
    return not averages_statistics([one for one in resolver.project.named if one.text in texts])


def _averages(text: str, texts: list[str]) -> bool:
    """Whether a text says that it averages statistics, or puts all devices' together otherwise."""
    return any(not _spreads_one(found.group(), texts) for found in AVERAGED.finditer(text))


def _spreads_one(found: str, texts: list[str]) -> bool:
    """Whether a `sync_state` that is in sight gives all devices what one of them has."""
    if not found.startswith("sync"):
        return False
    made = [one for text in texts for one in re.findall(rf"def {found}[\s\S]*?(?=\ndef |\nclass |\n@|$)", text)]
    return bool(made) and all("axis_index" in one and "where(" in one for one in made)


def holds_statistics(value: AbstractValue) -> bool:
    """Whether something in a value is a device's own statistics."""
    held = [*(value.parts or ()), *(value.fields or {}).values()]
    if held:
        return any(holds_statistics(one) for one in held)
    return STATISTICS in value.marks and value.level != Level.NO
