"""Draws the pictures of the guide to layouts, and that of the code's rooms, which it reads from the code itself.

`python tools/docs_pictures.py` writes docs/pictures/*.svg.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import arrows

FOLDER = Path(__file__).resolve().parent.parent / "docs" / "pictures"
DEVICES = 4
CELL, GAP, LEFT, TOP = 54, 8, 150, 46
PITCH = CELL + GAP
INK, FAINT, SAME = "#5b6470", "#9aa4b1", "#3f7fbf"
OWN = ("#c0563b", "#d08b2c", "#5d9a4b", "#7d5fb0")
# Where each room of the code stands, by column and row, with what it does
ROOMS = {
    "commands": (1.25, 0, "cli; one file a command"),
    "lint": (0.5, 1, "asks the rules, file by file"),
    "reports": (2, 1, "one writer a format"),
    "rules": (0, 2, "one folder a rule"),
    "migrate": (2, 2, "decides: typed operations"),
    "verify": (3, 2, "runs both programs; JAX"),
    "flow": (0, 3, "axes, variance, layouts"),
    "codemod": (2, 3, "applies operations; LibCST"),
    "config": (1, 2, "pyproject.toml"),
    "program": (1, 4, "what the code says; ast"),
    "findings": (1, 5, "findings, what silences them"),
    "sources": (1, 6, "files in and out"),
    "base": (1, 7, "records, terminal"),
}
WIDE, HIGH, STEP_X, STEP_Y = 186, 44, 204, 72


def box(x: float, y: float, colour: str, text: str = "", height: float = CELL) -> Iterator[str]:
    """An array, or one device's part of one."""
    yield f'<rect x="{x}" y="{y}" width="{CELL}" height="{height}" rx="5" fill="{colour}" fill-opacity=".82"/>'
    yield from said(x + CELL / 2, y + height / 2 + 4, text, "#fff", "middle")


def said(x: float, y: float, text: str, colour: str = INK, anchor: str = "start", bold: bool = False) -> Iterator[str]:
    """A piece of text."""
    weight = ' font-weight="600"' if bold else ""
    if text:
        yield f'<text x="{x}" y="{y}" fill="{colour}" text-anchor="{anchor}"{weight}>{text}</text>'


def devices(y: float) -> Iterator[str]:
    """The heads of the columns."""
    for n in range(DEVICES):
        x = LEFT + n * PITCH
        yield from said(x + CELL / 2, y, f"device {n}", FAINT, "middle")


def row(y: float, title: str, below: str, cells: Sequence[tuple[str, str]]) -> Iterator[str]:
    """What each device holds of one array, under its name and its shape."""
    yield from said(LEFT - 14, y + CELL / 2 - 3, title, INK, "end", bold=True)
    yield from said(LEFT - 14, y + CELL / 2 + 14, below, FAINT, "end")
    for n, (colour, text) in enumerate(cells):
        yield from box(LEFT + n * PITCH, y, colour, text)


def arrow(y: float, text: str) -> Iterator[str]:
    """What leads from the upper row to the lower one."""
    x = LEFT + DEVICES * PITCH / 2 - GAP / 2
    yield f'<path d="M{x} {y} v22 m-5 -6 l5 6 l5 -6" fill="none" stroke="{FAINT}" stroke-width="1.6"/>'
    yield from said(x + 14, y + 16, text, INK)


def pair(
    before: tuple[str, str],
    after: tuple[str, str],
    cells: Sequence[tuple[str, str]],
    becomes: Sequence[tuple[str, str]],
    way: str,
) -> str:
    """A picture of one array with pmap and with shard_map."""
    lower = TOP + CELL + 40
    lines = [*devices(TOP - 12), *row(TOP, *before, cells), *arrow(TOP + CELL + 9, way), *row(lower, *after, becomes)]
    return svg(LEFT + DEVICES * PITCH + 130, lower + CELL + 14, lines)


def svg(width: float, height: float, lines: Sequence[str]) -> str:
    """A picture on no ground, for light and dark pages alike."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}"'
    return "\n".join([f'{head} font-family="system-ui, sans-serif" font-size="12">', *lines, "</svg>", ""])


def pictures() -> dict[str, str]:
    """Every picture by its file's name."""
    same = [(SAME, "w")] * DEVICES
    parts = [(OWN[n], f"{2 * n}, {2 * n + 1}") for n in range(DEVICES)]
    keys = [(OWN[n], f"key {n}") for n in range(DEVICES)]
    return {
        "replicated.svg": pair(
            ("pmap", f"({DEVICES}, 3)"), ("P()", "(3,)"), same, same, "one array, whole on each device"
        ),
        "split.svg": pair(
            ("pmap", f"({DEVICES}, 2, 3)"),
            ("P('batch')", "(8, 3)"),
            parts,
            parts,
            "one array of all rows, two to a device",
        ),
        "stacked.svg": pair(
            ("pmap", f"({DEVICES}, 2)"),
            ("P('batch')", f"({DEVICES}, 2)"),
            keys,
            keys,
            "as it was; squeezed in the body",
        ),
        "step.svg": step(),
        "rooms.svg": rooms(),
    }


def step() -> str:
    """A training step before and after: what goes in, what comes out, and which parts of the host's code are gone."""
    lines: list[str] = []
    for x, title, words in (
        (
            20,
            "before: jax.pmap",
            (
                "params = replicate(params)",
                "keys = split(key, n)",
                "step(params, shard(batch), keys)",
                "loss[0], unreplicate(params)",
            ),
        ),
        (
            330,
            "after: jax.shard_map",
            ("params = device_put(params, P())", "keys = split(key, n)", "step(params, batch, keys)", "loss, params"),
        ),
    ):
        lines += said(x, 24, title, INK, bold=True)
        for place, (text, colour) in enumerate(zip(words, (SAME, OWN[3], OWN[1], OWN[2]), strict=True)):
            y = 38 + place * 40
            lines.append(f'<rect x="{x}" y="{y}" width="250" height="30" rx="5" fill="{colour}" fill-opacity=".16"/>')
            lines.append(f'<rect x="{x}" y="{y}" width="4" height="30" rx="2" fill="{colour}"/>')
            lines += said(x + 14, y + 20, text)
    lines.append(f'<path d="M284 112 h32 m-7 -5 l7 5 l-7 5" fill="none" stroke="{FAINT}" stroke-width="1.6"/>')
    return svg(600, 204, lines)


def rooms() -> str:
    """The rooms of the code and the arrows between them, without those that others lead to as well."""
    lines: list[str] = []
    for source, target in arrows.needed(arrows.imports(arrows.modules())):
        (x, y, _), (to_x, to_y, _) = ROOMS[source], ROOMS[target]
        start, end = STEP_X * x + WIDE / 2 + 10, STEP_X * to_x + WIDE / 2 + 10
        top, bottom = STEP_Y * y + HIGH + 10, STEP_Y * to_y + 6
        curve = f"M{start} {top} C{start} {(top + bottom) / 2} {end} {(top + bottom) / 2} {end} {bottom - 3}"
        lines.append(f'<path d="{curve}" fill="none" stroke="{FAINT}" stroke-width="1.4"/>')
        lines.append(f'<path d="M{end - 5} {bottom - 5} l5 6 l5 -6" fill="none" stroke="{FAINT}" stroke-width="1.6"/>')
    for name, (x, y, words) in ROOMS.items():
        left, top = STEP_X * x + 10, STEP_Y * y + 10
        size = f'width="{WIDE}" height="{HIGH}" rx="6"'
        lines.append(f'<rect x="{left}" y="{top}" {size} fill="{SAME}" fill-opacity=".16"/>')
        lines += said(left + WIDE / 2, top + 18, name, INK, "middle", bold=True)
        lines += said(left + WIDE / 2, top + 34, words, INK, "middle")
    return svg(STEP_X * 3 + WIDE + 20, STEP_Y * 7 + HIGH + 20, lines)


def main() -> None:
    """Writes them."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, text in pictures().items():
        (FOLDER / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
