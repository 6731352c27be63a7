"""What a command line's parser knows, which argparse has no public way to tell."""

from __future__ import annotations

import argparse


def actions(parser: argparse.ArgumentParser) -> list[argparse.Action]:
    """The options and arguments of a parser."""
    return list(parser._actions)  # noqa: SLF001


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The parsers of its commands, by their names."""
    (commands,) = (one for one in actions(parser) if isinstance(one, argparse._SubParsersAction))  # noqa: SLF001
    return dict(commands.choices)
