"""The state of a project's migration, for a tracking issue."""

from __future__ import annotations

from jaxmigrate.reports.markdown import escaped, section, table
from jaxmigrate.reports.status import STATES, Cause, Status


def write(status: Status) -> str:
    """A page with a figure for each thing that should become less from week to week."""
    states = [(STATES[state], str(count)) for state, count in status.states.items() if count]
    names = [(one.name, one.replacement or "by hand", str(one.uses), str(one.left), one.code) for one in status.names]
    steps = [f"1. {f'`{command}`: ' if command else ''}{escaped(what)}" for command, what in status.next]
    parts = [
        "# jaxmigrate status\n",
        f"**{escaped(status.headline)}.**\n",
        *section("What fix makes of each pmap", table(("State", "Maps"), states)),
        *section("Files", table(("File", "Maps"), ((path, str(count)) for path, count in status.by_file.items()))),
        *section(
            "Why arrays stay stacked", table(("Cause", "Maps", "Only cause", "Example"), map(_stays, status.stays))
        ),
        *section("Why maps stay", table(("Cause", "Maps", "Rule", "Example"), map(_left, status.left))),
        *section("Old names", table(("Name", "Replacement", "Uses", "By hand", "Rule"), names)),
        *section("Next", steps),
        *section("Not read", [f"- {escaped(error)}" for error in status.errors]),
    ]
    return "\n".join(parts)


def _stays(cause: Cause) -> tuple[str, str, str, str]:
    return cause.told, str(cause.sites), str(cause.frees), cause.example


def _left(cause: Cause) -> tuple[str, str, str, str]:
    return cause.reason, str(cause.sites), cause.code, cause.example
