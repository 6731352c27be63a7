"""JM412: shard_map from jax.experimental, and its arguments given to the one that replaced it."""

from __future__ import annotations

from collections.abc import Iterator

from jaxmigrate.findings import Finding
from jaxmigrate.flow.facts import Facts
from jaxmigrate.flow.guards import is_tried
from jaxmigrate.flow.old_names import old_name_findings
from jaxmigrate.program.combined import PARTIALS
from jaxmigrate.program.library import named
from jaxmigrate.program.values import External

CODE = "JM412"
PUBLIC = named("checking") & named("shard-map")
OLD = {"check_rep": "it is check_vma now", "auto": "axis_names names the others"}


def check(facts: Facts) -> Iterator[Finding]:
    """Uses of the names that the table gives to this rule, and of arguments that went with them."""
    yield from old_name_findings(facts, CODE)
    for module in facts.modules:
        for call in module.table.calls if any(name in module.text for name in OLD) else ():
            for keyword in call.keywords:
                if keyword.arg not in OLD or is_tried(call, module):
                    continue
                callee = facts.resolver.value(call.func, module)
                if isinstance(callee, External) and callee.name in PARTIALS and call.args:
                    callee = facts.resolver.value(call.args[0], module)
                if isinstance(callee, External) and callee.name in PUBLIC:
                    message = f"{callee.name} has no argument {keyword.arg}: {OLD[keyword.arg]}"
                    yield from facts.finding(module, keyword.value, CODE, message)
