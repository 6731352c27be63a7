"""The command line: arguments in, an exit status out.

Only the parser lives here. Each command is a module of `jaxmigrate.commands` that is imported when it is asked for, so
that `lint` pays for neither LibCST nor JAX.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import importlib
import os
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import Any, NoReturn, TypeVar

from jaxmigrate import __version__
from jaxmigrate.commands import Failure
from jaxmigrate.config import LAYOUTS, ConfigError, parse_codes, parse_version
from jaxmigrate.sources import SourceError
from jaxmigrate.terminal import quiet_if

CLEAN, FINDINGS, UNABLE = 0, 1, 2
INTERRUPTED, PIPE_CLOSED, TERMINATED = 130, 141, 143

_EXIT_STATUS = """\
exit status:
  0  nothing is left to do
  1  findings remain, --check would change something, or a verification differs
  2  no result: wrong arguments, unreadable file or configuration, a failure
"""

_OVERVIEW = """\
Rewrites jax.pmap into jax.shard_map, finds mistakes in SPMD code, and verifies
a migration by running both programs.

  jaxmigrate lint src/                             find mistakes
  jaxmigrate fix src/ --diff                       show what would change
  jaxmigrate fix src/                              rewrite
  jaxmigrate fix src/ --verify -- python train.py  write only what verifies
  jaxmigrate verify src/ -- python train.py        compare both programs
  jaxmigrate status src/                           show what is left to do
  jaxmigrate rule JM101                            explain a rule
"""

_Converted = TypeVar("_Converted")


class _Parser(argparse.ArgumentParser):
    def __init__(self, **options: Any) -> None:
        # argparse asks for the width of the terminal with each option that it is told of, and loads much for it
        form = functools.partial(argparse.RawDescriptionHelpFormatter, width=80)
        super().__init__(**options, epilog=_EXIT_STATUS, formatter_class=form, allow_abbrev=False)

    def format_help(self) -> str:
        """The help, as wide as the terminal."""
        self.formatter_class = argparse.RawDescriptionHelpFormatter
        return super().format_help()

    def error(self, message: str) -> NoReturn:
        """One line instead of a usage block of ten; the usage is one --help away."""
        self.exit(UNABLE, f"{self.prog}: error: {message} (see {self.prog} --help)\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        """Nothing unknown is passed up: the subcommand that does not know an option is the one to say so."""
        parsed, unknown = super().parse_known_args(args, namespace)
        if unknown:
            self.error(f"unrecognized arguments: {' '.join(unknown)}{_behind_dashes(self.prog, unknown)}")
        return parsed, unknown


def _behind_dashes(prog: str, unknown: Sequence[str]) -> str:
    """What to write where unknown arguments look like the command of a program."""
    name = os.path.basename(unknown[0])
    program = name.startswith("python") or name.endswith((".py", ".sh")) or name in ("pytest", "torchrun", "env", "uv")
    if not program or not prog.endswith((" fix", " verify")):
        return ""
    before = f"{prog} --verify" if prog.endswith(" fix") else prog
    return f"; a program's command stands behind `--`: `{before} -- {' '.join(unknown)}`"


def main(argv: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit status: 0, 1 or 2, or 130 after an interrupt.

    Args:
        argv: The arguments without the program's name, by default those of the process.
    """
    arguments = list(sys.argv[1:] if argv is None else argv)
    sys.setrecursionlimit(max(sys.getrecursionlimit(), 10_000))  # for expressions nested as deeply as Python parses
    _make_streams_forgiving()
    try:
        with _termination_as_exit(), warnings.catch_warnings():
            # Python warns of the strings in the code that it parses, which is nothing that the user asked for.
            warnings.simplefilter("ignore", SyntaxWarning)
            warnings.filterwarnings("ignore", "invalid escape sequence", DeprecationWarning)
            status = _run(arguments)
            sys.stdout.flush()
            return status
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else UNABLE
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _discard_output()
        return PIPE_CLOSED
    except (Failure, ConfigError, SourceError) as error:
        return _fail(str(error), arguments)
    except ModuleNotFoundError as error:
        return _fail(f"needs the module {error.name}, which is not installed", arguments)
    except Exception as error:  # noqa: BLE001 - a user gets one line and a way to the rest, whatever went wrong
        return _fail(f"internal error: {_one_line(error)}", arguments)


def _run(arguments: list[str]) -> int:
    own, command = _split_command(arguments)
    options = _parser(*arguments[:1]).parse_args(own)
    if hasattr(options, "program"):
        options.program = command
    module = importlib.import_module(f"jaxmigrate.commands.{options.command}")
    run: Callable[[argparse.Namespace], int] = module.run
    with quiet_if(options.quiet):
        return run(options)


def _split_command(arguments: list[str]) -> tuple[list[str], list[str] | None]:
    """Splits off the COMMAND behind `--` of the two subcommands that take one; None where there is no `--`."""
    subcommand = next((argument for argument in arguments if not argument.startswith("-")), "")
    if subcommand not in ("fix", "verify") or "--" not in arguments:
        return arguments, None
    cut = arguments.index("--")
    return arguments[:cut], arguments[cut + 1 :]


def _parser(subcommand: str = "") -> argparse.ArgumentParser:
    """Knows the subcommand given, or all where that is none: telling argparse of one takes longer than parsing."""
    parser = _Parser(prog="jaxmigrate", description=_OVERVIEW)
    parser.add_argument("--version", action="version", version=f"jaxmigrate {__version__}")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    known = {
        "lint": _add_lint,
        "fix": _add_fix,
        "verify": _add_verify,
        "status": _add_status,
        "merge": _add_merge,
        "rule": _add_rule,
        "server": _add_server,
        "completion": _add_completion,
    }
    for add in [known[subcommand]] if subcommand in known else known.values():
        add(commands)
    return parser


def _add_lint(commands: Any) -> None:
    lint = _subcommand(
        commands,
        "lint",
        "find mistakes in SPMD code, without importing JAX or running anything",
        usage="jaxmigrate lint [PATH...] [options]",
    )
    _add_paths(lint)
    _add_format(lint, "text")
    codes = _checked(parse_codes)
    lint.add_argument("--select", type=codes, metavar="CODES", help="only these rules, such as JM101,JM2")
    lint.add_argument("--ignore", type=codes, metavar="CODES", help="all but these rules")
    lint.add_argument("--fix", action="store_true", help="mend what has one right answer, marked [*]; print the rest")
    lint.add_argument("--diff", action="store_true", help="with --fix: print a unified diff and write nothing")
    lint.add_argument("--no-cache", action="store_true", help="neither use nor write .jaxmigrate_cache/")
    lint.add_argument("--baseline", metavar="FILE", help="report only findings that this file does not list")
    lint.add_argument("--write-baseline", action="store_true", help="write the current findings to the baseline")
    lint.add_argument("--stdin-filename", metavar="PATH", help="the path to show for standard input")
    _add_statistics(lint)
    lint.add_argument(
        "--shard",
        type=_checked(_shard),
        metavar="I/N",
        help="report on the I-th of N parts of the files only; `merge` joins the parts",
    )


def _add_format(command: argparse.ArgumentParser, default: str) -> None:
    command.add_argument(
        "--format",
        choices=("text", "json", "github", "gitlab", "sarif", "junit"),
        default=default,
        help="how findings are printed (default: %(default)s)",
    )


def _add_statistics(command: argparse.ArgumentParser) -> None:
    command.add_argument("--statistics", action="store_true", help="print how often each rule fired instead of where")


def _add_fix(commands: Any) -> None:
    fix = _subcommand(
        commands,
        "fix",
        "rewrite pmap into shard_map, and say why a map is not rewritten",
        usage="jaxmigrate fix [PATH...] [options] [--verify -- COMMAND...]",
    )
    _add_paths(fix)
    fix.add_argument(
        "--select",
        type=_checked(_fixed_codes),
        metavar="CODES",
        help="only replace the old names of these rules, such as JM410,JM412; JM4 selects all of them and pmap",
    )
    fix.add_argument("-i", "--interactive", action="store_true", help="ask about each map and each old name")
    mode = fix.add_mutually_exclusive_group()
    mode.add_argument("--diff", action="store_true", help="print a unified diff and write nothing")
    mode.add_argument("--check", action="store_true", help="write nothing; exit with 1 if something would change")
    fix.add_argument(
        "--layout",
        choices=LAYOUTS,
        help="which arrays become global, without a device axis. auto: those for which it is proven, or declared in "
        "pyproject.toml, that no number changes; likely: also those that need assumptions, which fix prints; "
        "stacked: none, so that callers stay as they are (default: auto)",
    )
    fix.add_argument(
        "--keep-requirements",
        action="store_true",
        help="leave requirements as they are; without it fix raises what a project that it is given asks of jax to the "
        "release which rewritten code needs, and what does not run beside that",
    )
    fix.add_argument(
        "--write-assumptions",
        action="store_true",
        help="add the assumptions that --layout likely makes to pyproject.toml, for review",
    )
    fix.add_argument(
        "--require",
        choices=("proven", "declared", "likely"),
        help="exit with 1 if a layout in the rewrite has weaker evidence than this; for CI",
    )
    fix.add_argument(
        "--explain",
        type=_checked(_place),
        metavar="FILE:LINE",
        help="write nothing; explain the pmap in this line: the layout of each array, why it stays stacked, what to do",
    )
    fix.add_argument(
        "--target-jax",
        type=_checked(parse_version),
        metavar="X.Y",
        help="oldest JAX release that the result must run on (default: what the project requires, else the newest)",
    )
    _add_report(fix)
    fix.add_argument("--verify", action="store_true", help="run COMMAND before and after; write only what agrees")
    fix.add_argument(
        "--observe",
        action="store_true",
        help="like --verify, but first run COMMAND to see which arrays are replicated or split where fix has no proof",
    )
    _add_run_options(fix)
    fix.set_defaults(program=None)


def _add_verify(commands: Any) -> None:
    verify = _subcommand(
        commands,
        "verify",
        "run a program before and after and compare every mapped call",
        usage="jaxmigrate verify [PATH] [options] [-- COMMAND...]",
    )
    verify.add_argument(
        "path",
        nargs="?",
        default=".",
        metavar="PATH",
        help="the program's file or folder, or a notebook (default: the current folder)",
    )
    verify.add_argument(
        "--original",
        metavar="DIR|GITREF",
        help="the program before its migration: a folder or git revision (default: PATH, and fix migrates a copy)",
    )
    verify.add_argument(
        "--processes",
        type=_checked(_positive),
        metavar="N",
        help="JAX processes to run (default: 1, then 2 if the program asks which process it is)",
    )
    verify.add_argument(
        "--run",
        action="append",
        metavar="NAME",
        help="only this command of tool.jaxmigrate.verify.commands; may be repeated",
    )
    verify.add_argument(
        "--twice", action="store_true", help="run the original twice first, to detect one that is not deterministic"
    )
    _add_run_options(verify)
    _add_report(verify)
    verify.set_defaults(program=None)


def _add_status(commands: Any) -> None:
    status = _subcommand(
        commands,
        "status",
        "show how far a migration is: what stays and why, and what to do next",
        usage="jaxmigrate status [PATH...] [options]",
    )
    _add_paths(status, docs=False)
    status.add_argument(
        "--format",
        choices=("text", "json", "markdown", "html"),
        default="text",
        help="how the page is printed (default: %(default)s)",
    )
    status.add_argument(
        "--report",
        action="append",
        default=[],
        type=_checked(_page),
        metavar="FILE",
        help="also write the page; its ending (.json, .md, .html) decides the format; may be repeated",
    )


def _add_merge(commands: Any) -> None:
    merge = _subcommand(commands, "merge", "merge the outputs of `lint --shard` into one")
    merge.add_argument("files", nargs="+", metavar="FILE", help="outputs of `lint --shard I/N --format json`")
    _add_format(merge, "json")
    _add_statistics(merge)


def _add_rule(commands: Any) -> None:
    rule = _subcommand(commands, "rule", "list the rules, or explain one")
    rule.add_argument(
        "code",
        metavar="CODE",
        nargs="?",
        help="a rule (JM101), an old name of JAX (jax.tree_map), or a cause for which arrays stay stacked (random-key)",
    )


def _add_server(commands: Any) -> None:
    _subcommand(commands, "server", "show findings and offer fixes in an editor, as a language server")


def _add_completion(commands: Any) -> None:
    completion = _subcommand(commands, "completion", "print a completion script for a shell")
    completion.add_argument("shell", choices=("bash", "zsh", "fish"), help="which shell")


def full_parser() -> argparse.ArgumentParser:
    """The parser that knows every command."""
    return _parser()


def _subcommand(commands: Any, name: str, summary: str, usage: str | None = None) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = commands.add_parser(
        name,
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        usage=usage,
    )
    parser.add_argument("--verbose", action="store_true", help="show the traceback of an internal error")
    quiet = "print only findings, what fix does not rewrite, and errors"
    parser.add_argument("-q", "--quiet", action="store_true", help=quiet)
    return parser


def _add_paths(parser: argparse.ArgumentParser, docs: bool = True) -> None:
    parser.add_argument(
        "paths",
        nargs="*",
        default=["."],
        metavar="PATH",
        help="a file, notebook or folder, or - for standard input (default: the current folder)",
    )
    if docs:
        parser.add_argument(
            "--docs",
            action="store_true",
            help="read the Python in Markdown, in reStructuredText and in docstrings (doctests), instead of code",
        )
    parser.add_argument(
        "--force-exclude",
        action="store_true",
        help="skip files that the project excludes, even those named (for hooks)",
    )


def _add_report(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--report",
        action="append",
        default=[],
        type=_checked(_report),
        metavar="FILE",
        help="write a report; its ending (.json, .xml, .md, .html) decides the format; may be repeated",
    )


def _add_run_options(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--devices",
        type=_checked(_positive),
        metavar="N",
        help="simulated devices in a process (default: 8), or GPUs (default: all)",
    )
    parser.add_argument(
        "--platform", choices=("cpu", "gpu"), help="cpu: devices are simulated; gpu: they are real (default: cpu)"
    )
    parser.add_argument("--original-python", metavar="EXE", help="the interpreter that runs the original")
    parser.add_argument(
        "--timeout", type=_checked(_seconds), metavar="SECONDS", help="stop a run that takes longer (default: 600)"
    )
    parser.add_argument(
        "--as-compiled",
        action="store_true",
        help="let XLA optimise, as in a normal run (default: no, so that a correct migration gives the same bits)",
    )
    for name, what in (("--rtol", "relative"), ("--atol", "absolute")):
        parser.add_argument(
            name,
            action="append",
            type=_checked(_bound),
            metavar="[DTYPE=]X",
            help=f"{what} tolerance to use in place of the bound that verify measures; may be repeated",
        )


def _checked(convert: Callable[[str], _Converted]) -> Callable[[str], _Converted]:
    """Lets argparse print a converter's own message, which it hides for a plain ValueError."""

    def converted(text: str) -> _Converted:
        try:
            return convert(text)
        except ValueError as error:
            raise argparse.ArgumentTypeError(str(error)) from None

    return converted


def _place(text: str) -> tuple[str, int]:
    path, _, line = text.rpartition(":")
    if not path or not line.isdecimal():
        raise ValueError(f"{text!r} is not of the form FILE:LINE, such as train.py:88")
    return path, int(line)


def _shard(text: str) -> Any:
    from jaxmigrate.lint.shards import parse_shard

    return parse_shard(text)


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or int(text) < 1:
        raise ValueError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 < seconds < float("inf"):
        raise ValueError(f"{text!r} is not a number of seconds above 0")
    return seconds


def _bound(text: str) -> tuple[str, float]:
    """A tolerance for all dtypes, which have no name here, or for one."""
    dtype, _, number = text.rpartition("=")
    try:
        bound = float(number)
    except ValueError:
        bound = -1.0
    if not 0 <= bound < float("inf"):
        raise ValueError(f"{text!r} is not a tolerance: give a number from 0 on, or one for a dtype: bfloat16=0.01")
    return dtype, bound


def _report(text: str) -> str:
    if not text.endswith((".json", ".xml", ".md", ".html")):
        raise ValueError(f"{text!r} must end in .json, .xml, .md or .html: the ending decides the report's format")
    return text


def _fixed_codes(text: str) -> tuple[str, ...]:
    """Codes of what `fix` changes."""
    codes = parse_codes(text)
    wrong = [code for code in codes if not ("JM4".startswith(code) or code.startswith("JM41") or code == "JM420")]
    if wrong:
        raise ValueError(f"{wrong[0]} is not a rule about old names; those are JM410 to JM420")
    return codes


def _page(text: str) -> str:
    if not text.endswith((".json", ".md", ".html")):
        raise ValueError(f"{text!r} must end in .json, .md or .html: the ending decides the page's format")
    return text


def _fail(message: str, arguments: list[str]) -> int:
    wants_all = bool(os.environ.get("JAXMIGRATE_DEBUG")) or "--verbose" in _split_command(arguments)[0]
    with contextlib.suppress(BrokenPipeError):
        if wants_all:
            import traceback

            traceback.print_exc()
        hint = "" if wants_all or not message.startswith("internal error") else " (--verbose shows where)"
        print(f"jaxmigrate: error: {message}{hint}", file=sys.stderr)
    return UNABLE


def _one_line(error: BaseException) -> str:
    told = ", ".join([f"{type(error).__name__}: {error}", *getattr(error, "__notes__", [])])
    return " ".join(told.split())


def _make_streams_forgiving() -> None:
    """A file name or a source line that the terminal cannot show is no reason to stop."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")


@contextlib.contextmanager
def _termination_as_exit() -> Iterator[None]:
    """Turns SIGTERM into an exception, so that temporary files and child processes are cleaned up."""

    def stop(_number: int, _frame: FrameType | None) -> None:
        raise SystemExit(TERMINATED)

    try:
        before = signal.signal(signal.SIGTERM, stop)
    except ValueError:  # not the main thread
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _discard_output() -> None:
    """Points standard output at nothing, or the interpreter would complain when it flushes at exit."""
    with contextlib.suppress(OSError, ValueError):
        nothing = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nothing, sys.stdout.fileno())
        os.close(nothing)
