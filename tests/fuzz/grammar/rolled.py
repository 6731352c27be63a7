"""Steps in Anakin's style: the body is scanned, or mapped over a second axis, and builds its state anew each time."""

from __future__ import annotations

from collections.abc import Sequence

from tests.fuzz.grammar.choices import Choices

INNER = 2  # the length of the second axis


def rolled(choices: Choices, head: str, names: Sequence[str], body: list[str], codes: Sequence[str]) -> list[str]:
    """The lines of a step whose body runs several times; the first of what it returns is its first argument anew."""
    state, others = names[0], codes[1:]
    name = "once"
    rest = f"({', '.join(others)}{',' if len(others) == 1 else ''})"
    inner = [f"    def {name}({state}, _):", *(f"        {line}" for line in body)]
    inner.append(f"        return {codes[0]}, {rest}")
    given = f"{name}, {state}, {choices.pick(('None', 'jnp.arange(2)'))}"
    inner.append(f"    {state}, rest = jax.lax.scan({given}{', length=2' if 'None' in given else ''})")
    return [head, *inner, _returned(state, others, choices.pick(("{}[-1]", "{}.mean(0)")))]


def batched(choices: Choices, head: str, names: Sequence[str], body: list[str], codes: Sequence[str]) -> list[str]:
    """The lines of a step whose state has a second axis, over which its body is mapped."""
    state, others = names[0], codes[1:]
    rest = f"({', '.join(others)}{',' if len(others) == 1 else ''})"
    inner = [f"    def once({state}):", *(f"        {line}" for line in body), f"        return {codes[0]}, {rest}"]
    call = choices.pick(("jax.vmap(once)({})", 'jax.vmap(once, axis_name="inner")({})'))
    inner.append(f"    {state}, rest = {call.format(state)}")
    return [head, *inner, _returned(state, others, "{}.mean(0)")]


def _returned(state: str, others: Sequence[str], how: str) -> str:
    one = f"jax.tree.map(lambda r: {how.format('r')}, rest[{{}}])"
    return "    return " + ", ".join([state, *(one.format(i) for i in range(len(others)))])
