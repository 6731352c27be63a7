"""The state of a project's migration as one HTML page that needs nothing beside it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from jaxmigrate.reports.html_text import code, prose, section, table
from jaxmigrate.reports.page import document
from jaxmigrate.reports.status import STATES, Status

_TONES = {"done": "equal", "global": "within", "mixed": "chance", "stacked": "failed", "left": "different"}


def write(status: Status) -> str:
    """The whole document."""
    parts = [
        f'<header>\n<div class="brand">jaxmigrate status</div>\n<h1>{escape(status.headline)}</h1>\n</header>',
        _figures(status),
        _shares(status),
        section("Next", [_steps(status)]),
        section(
            "Why arrays stay stacked",
            [
                table(
                    ("Cause", "Reason", "Maps", "Only cause", "Example"),
                    [(code(c.code), prose(c.told), str(c.sites), str(c.frees), code(c.example)) for c in status.stays],
                    numbers=(2, 3),
                )
            ],
        ),
        section(
            "Why maps stay",
            [
                table(
                    ("Cause", "Maps", "Rule", "Example"),
                    [(prose(c.reason), str(c.sites), code(c.code), code(c.example)) for c in status.left],
                    numbers=(1,),
                )
            ],
        ),
        section(
            "Old names",
            [
                table(
                    ("Name", "Replacement", "Uses", "By hand", "Rule"),
                    [(code(n.name), code(n.replacement), str(n.uses), str(n.left), code(n.code)) for n in status.names],
                    numbers=(2, 3),
                )
            ],
        ),
        section(
            "Files",
            [table(("File", "Maps"), [(code(p), str(count)) for p, count in status.by_file.items()], numbers=(1,))],
        ),
        section("Not read", [f"<p>{escape(error)}</p>" for error in status.errors]),
    ]
    return document(f"jaxmigrate status: {status.headline}", parts)


def _figures(status: Status) -> str:
    counted = [*((status.states[key], what) for key, what in STATES.items())]
    counted.append((sum(one.uses for one in status.names), "old names"))
    figures = [(status.done, "already use shard_map"), *(one for one in counted if one[0])]
    cells = "\n".join(f"<div><b>{number}</b><span>{escape(what)}</span></div>" for number, what in figures)
    return f'<div class="figures">\n{cells}\n</div>'


def _shares(status: Status) -> str:
    """A bar in which every map of the project has the same share."""
    counts = [("done", status.done, "shard_map"), *((s, status.states[s], what) for s, what in STATES.items())]
    shown = [(_TONES.get(key, "unseen"), count, what) for key, count, what in counts if count]
    bar = "".join(f'<i class="{tone}" style="flex:{count}"></i>' for tone, count, _ in shown)
    names = "".join(f'<span class="{tone}"><i></i>{count} {escape(what)}</span>' for tone, count, what in shown)
    return f'<div class="cover">{bar}</div>\n<div class="legend">{names}</div>' if shown else ""


def _steps(status: Status) -> str:
    lines: Sequence[str] = list(_items(status))
    return f"<ol>{''.join(lines)}</ol>" if lines else ""


def _items(status: Status) -> Iterator[str]:
    for command, what in status.next:
        yield f"<li>{f'{code(command)} ' if command else ''}{prose(what)}</li>"
