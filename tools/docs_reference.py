"""The pages of the documentation that are written from the code: the command line, the configuration, the reasons."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from jaxmigrate.cli import full_parser
from jaxmigrate.commands.parsers import actions, subcommands
from jaxmigrate.config_keys import KEYS, RUN, VERIFY, Key
from jaxmigrate.flow.layout.reasons import CAUSES

MADE = "<!-- Written by `python tools/docs.py`: change the code instead. -->\n"


def pages() -> dict[str, str]:
    """The pages by their names below docs/."""
    return {"command-line.md": command_line(), "configuration.md": configuration(), "stacked.md": stacked()}


def command_line() -> str:
    """Every command with its arguments and options, from the parser."""
    parser = full_parser()
    lines = [MADE, "# Command line", ""]
    for name, command in subcommands(parser).items():
        lines += [f"## {name}", "", f"{command.description}", ""]
        usage = command.format_usage().removeprefix("usage: ")
        lines += ["```text", " ".join(usage.split()), "```", "", "| argument | meaning |", "| --- | --- |"]
        lines += [f"| {_names(action)} | {_cell(_help(action))} |" for action in actions(command)]
        lines.append("")
    lines += ["## Exit status", "", "| status | means |", "| --- | --- |"]
    lines += [f"| {number} | {says} |" for number, says in _statuses(str(parser.epilog))]
    return "\n".join(lines) + "\n"


def _statuses(text: str) -> Iterator[tuple[str, str]]:
    for line in text.splitlines()[1:]:
        number, _, says = line.strip().partition("  ")
        yield number, says


def _names(action: argparse.Action) -> str:
    """An option's spellings with what it takes, or a positional's name."""
    takes = f"{{{','.join(map(str, action.choices))}}}" if action.choices else str(action.metavar or "")
    if not action.option_strings:
        return f"`{action.metavar or takes}`" if not action.choices else " ".join(f"`{one}`" for one in action.choices)
    shown = f"{', '.join(action.option_strings)} {takes if action.nargs != 0 else ''}".strip()
    return f"`{shown}`"


def _help(action: argparse.Action) -> str:
    text = str(action.help or "")
    return text.replace("%(default)s", str(action.default))


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def stacked() -> str:
    """Every cause for which arrays stay stacked, with what to do."""
    lines = [
        MADE,
        "# Why an array stays stacked",
        "",
        "A stacked array has a leading axis with one slice per device, as under `pmap`. That is always right, and",
        "often all you need. `fix` keeps an array stacked where it cannot prove that another layout keeps the",
        "numbers, and says why. `jaxmigrate status` counts the maps of each cause; `jaxmigrate rule random-key`",
        "prints a section of this page.",
        "",
        "| cause | in short |",
        "| --- | --- |",
        *(f"| [{one.anchor}](#{one.anchor}) | {one.title} |" for one in CAUSES),
        "",
    ]
    for one in CAUSES:
        lines += [f"## {one.anchor}", "", f"**{one.title}.** {one.means}", "", f"**What to do.** {one.advice}", ""]
    return "\n".join(lines)


def configuration() -> str:
    """Every key of `[tool.jaxmigrate]`, from the table that checks them."""
    example = [
        "[tool.jaxmigrate]",
        *(f"{name} = {key.example}" for name, key in KEYS.items() if key.example),
        "",
        "[tool.jaxmigrate.verify]",
        *(f"{name} = {key.example}" for name, key in VERIFY.items() if key.example),
        "",
        "[tool.jaxmigrate.verify.commands.tests]",
        'command = "pytest tests/test_step.py"',
    ]
    return "\n".join(
        [
            MADE,
            "# Configuration",
            "",
            "In the nearest `pyproject.toml` upward of each path that has a `[tool.jaxmigrate]` table. Options on the",
            "command line win. A key that jaxmigrate does not know is an error.",
            "",
            "```toml",
            *example,
            "```",
            "",
            *_keys("tool.jaxmigrate", KEYS),
            *_keys("tool.jaxmigrate.verify", VERIFY),
            *_keys("tool.jaxmigrate.verify.commands.NAME", RUN),
            "All commands are run, and together they have to reach every site. What they do not set, they take from",
            "`[tool.jaxmigrate.verify]`. `--run NAME` runs one of them.",
            "",
            "## Comments",
            "",
            "| comment, at the end of a line | effect |",
            "| --- | --- |",
            "| `# jaxmigrate: ignore` | `lint` reports nothing there, and `fix` keeps the map or the old name |",
            "| `# jaxmigrate: ignore[JM201]` | `lint` does not report JM201 there |",
            "| `# jaxmigrate: ignore[JM491]` | `fix` keeps the map ([JM491](rules/JM491.md)) |",
            "",
        ]
    )


def _keys(name: str, table: Mapping[str, Key]) -> Iterator[str]:
    yield from (f"## [{name}]", "", "| key | default | meaning |", "| --- | --- | --- |")
    for key, row in table.items():
        yield f"| `{key}` | {f'`{row.default}`' if row.default else ''} | {_cell(row.says)} |"
    yield ""
