"""Why the engine and check_vma disagree over what the check calls invariant, told by the statement that makes it.

A cause is accepted only with what must follow from it: where the check is too kind, the devices hold different values
when run without it; where the engine is too careful, it said no more than that they may; where it is wrong to call a
value different, the devices hold the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import NamedTuple

from jaxmigrate.flow.variance import Level

UNEXPLAINED = "unexplained"
INHERITED = "made of an output over which they disagree already"


_GIVEN = r"|\b(SCALER\.value_and_grad|optax\.value_and_grad_from_state)\b"  # libraries that take gradients


class Cause(NamedTuple):
    """What a statement has in it, the cause that this is, and whether devices do differ then; None: as it happens."""

    pattern: str
    told: str
    differ: bool | None


CAUSES = (
    Cause(
        r"\b(ndim > 5|len\(seen\) <)",
        "Python tested a shape or a length: the check saw the one way that was taken, the engine keeps both",
        False,
    ),
    Cause(
        r"\bjax\.(grad|value_and_grad|vjp|linear_transpose)\b" + _GIVEN,
        "gradient with respect to an invariant value: the check makes JAX sum it (JM204); without it devices differ",
        True,
    ),
    Cause(
        r"\blax\.(cond|switch|while_loop)\b",
        "branch on a varying predicate: the check asks only what the branches give; devices may go unlike ways",
        None,
    ),
    Cause(
        r"\bjax\.(grad|value_and_grad|vjp|linear_transpose)\b" + _GIVEN,
        "gradient of what may differ with respect to an invariant value: the check makes JAX sum it (JM204)",
        False,
    ),
    Cause(r"\bjax\.(jvp|linearize)\b", "tangent of an invariant value: the check gives it the value's type", True),
    Cause(
        r"\bcollect\(|\bnonlocal\b|\.append\(|_[ledm]\[",
        "an object was changed in place: the engine no longer tells apart what it holds",
        False,
    ),
)

# Where the engine is sure that devices differ, and they do not
MISTAKES = (
    Cause(
        r"\bjax\.(grad|value_and_grad)\(lambda w[^:]*: (lax\.\w+\()?jnp\.sum\(w \*\* 3 \+ ",
        "what varies is only added to what is differentiated, and falls out of the derivative",
        False,
    ),
    Cause(
        r"\+ b\.sum\(\)[^;]*" + _GIVEN[1:],
        "what varies is only added to what is differentiated, and falls out of the derivative",
        False,
    ),
    Cause(
        r"_s = jax\.grad\(lambda w, b: [^;]*argnums=\(0, 1\)\)",
        "gradients with respect to two arguments: the engine takes both to depend on what one of them depends on",
        False,
    ),
    Cause(
        r"seen=\[\]",
        "a list that is a default keeps what calls before put there: the engine reads each by itself",
        False,
    ),
)
CHANGED = "another name of it was changed by +=, which changes a list in place: the engine cannot tell that it is none"
_ALIASED = re.compile(r"\b(v\d+) = (v\d+|p)\n +\1 \+= ")
HANDED = (
    "made of what a class gives that is made in the body, or of what it, or a library with a function, was given and "
    "could change: the engine looks into neither"
)
_MADE_UNSEEN = re.compile(r"\(nn\.Module\)|lambda m, v: v\d+_l\.append\(")
_GIVEN_AWAY = re.compile(r"\+ b\.sum\(\), (v\d+|p|x)\)|, b=(v\d+|p|x)\)|_M\(\)\.apply\(\{\}, (v\d+|p|x)\)")


def cause_of(text: str, index: int, level: Level, differs: bool, disagreeing: Collection[int]) -> str:
    """The cause of a disagreement over one output of a body, where the outputs in `disagreeing` are others of them."""
    statement = statements(text).get(index, "")
    made_of = {int(number) for number in re.findall(r"\bv(\d+)", statement)} - {index}
    if made_of & set(disagreeing):
        return INHERITED
    for cause in CAUSES:
        fits = differs if cause.differ else level == Level.MAY or (cause.differ is None and differs)
        if fits and re.search(cause.pattern, statement):
            return cause.told
    if level == Level.MAY and not differs and _is_changed(text, index):
        return CHANGED
    if level == Level.MAY and not differs and _is_handed(text, index):
        return HANDED
    for cause in MISTAKES if level == Level.YES and not differs else ():
        if re.search(cause.pattern, statement):
            return cause.told
    return UNEXPLAINED


def _is_changed(text: str, index: int) -> bool:
    """Whether a value, one that it is made of or one made of it has another name that `+=` changes."""
    made_by, own = statements(text), f"v{index}"
    for _, name in _ALIASED.findall(text):
        changed = made_by.get(int(name[1:]), "") if name != "p" else ""
        if name == own or re.search(rf"\b{name}\b", made_by.get(index, "")) or re.search(rf"\b{own}\b", changed):
            return True
    return False


def _is_handed(text: str, index: int) -> bool:
    """Whether a value is made of one that comes from where the engine does not look, or that was given there."""
    made_by = statements(text)
    doubtful = {f"v{n}" for n, statement in made_by.items() if _MADE_UNSEEN.search(statement)}
    doubtful |= {name for pair in _GIVEN_AWAY.findall(text) for name in pair if name}
    made_of, pending = set[str](), [f"v{index}"]
    while pending:
        name = pending.pop()
        if name not in made_of:
            made_of.add(name)
            pending += re.findall(r"\b(?:v\d+|p|x)\b", made_by.get(int(name[1:]), "")) if name not in "px" else []
    return not doubtful.isdisjoint(made_of)


def statements(text: str) -> dict[int, str]:
    """The lines of a body that make each of its values, by its number."""
    found: dict[int, str] = {}
    current = 0
    for line in text.splitlines()[1:-1]:
        first = re.search(r"\bv(\d+)", line)
        if first is not None and not line.startswith("        "):
            current = max(current, int(first[1]))
        found[current] = f"{found.get(current, '')}{line}\n"
    return found
