"""The command line. Only argparse is imported here; the commands import the rest when they run.

Exit codes: 0 ok, 1 failed, 2 usage or configuration, 3 something outside is missing, 130 interrupted.
Data go to stdout, messages to stderr.
"""

from __future__ import annotations

import argparse
import errno
import gc
import io
import os
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module

from jitrl_tui.output import guard

COMMANDS = (
    "watch", "play", "run", "race", "bench", "replay", "sessions", "compare", "memory", "games", "models", "web",
    "config", "doctor",
)  # fmt: skip
"""In the order of the help. Each has a module in `jitrl_tui.commands` with `register(subparsers, common)`."""

_GARBAGE = 100_000
"""Number of new objects after which Python's garbage collector runs. Memory holds a million small objects that are
never freed, and plans make many that need no collector, so frequent runs would only cost time."""

DESCRIPTION = """\
Watch a frozen language model get better at text adventures, episode after episode,
with Just-In-Time Reinforcement Learning. Without a command, jitrl takes up the last
session where it stood, or shows what can be played."""


class Parser(argparse.ArgumentParser):
    """An argument parser that reports errors in one sentence, without the usage."""

    def error(self, message: str) -> None:  # type: ignore[override]
        """Exit with 2."""
        self.exit(2, f"{self.prog}: {message}. See {self.prog} --help.\n")


def make_parser() -> Parser:
    """Return the parser with every subcommand."""
    common = argparse.ArgumentParser(add_help=False)
    where = common.add_argument_group("places")
    # SUPPRESS, so that a place given before the subcommand is not overwritten by the subcommand's default.
    where.add_argument(
        "--saves", metavar="DIR", default=argparse.SUPPRESS, help="folder of all that persists"
    )
    where.add_argument("--games", metavar="DIR", default=argparse.SUPPRESS, help="folder with more stories")
    parser = Parser(prog="jitrl", description=DESCRIPTION, formatter_class=argparse.RawDescriptionHelpFormatter,
                    parents=[common])  # fmt: skip
    parser.add_argument("--version", action="version", version=f"jitrl {version()}")
    parser.set_defaults(handler=None)
    subparsers = parser.add_subparsers(metavar="COMMAND", parser_class=Parser, title="commands")
    for name in COMMANDS:
        import_module(f"jitrl_tui.commands.{name}").register(subparsers, common)
    return parser


def _expanded(argv: Sequence[str]) -> list[str]:
    """Return the arguments with `bench SUITE` written as `bench run SUITE`."""
    words, at = list(argv), 0
    while at < len(words) and words[at].startswith("-"):  # the places, which may stand before the command
        at += 1 if "=" in words[at] else 2
    if words[at : at + 1] == ["bench"] and at + 1 < len(words):
        actions = import_module("jitrl_tui.commands.bench").ACTIONS
        if not words[at + 1].startswith("-") and words[at + 1] not in actions:
            words.insert(at + 1, "run")
    return words


def version() -> str:
    """Return the installed version."""
    from importlib.metadata import PackageNotFoundError
    from importlib.metadata import version as installed

    try:
        return installed("jitrl")
    except PackageNotFoundError:
        return "from source"


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return the exit code."""
    guard()
    gc.set_threshold(_GARBAGE, 20, 10)
    parser = make_parser()
    args = parser.parse_args(_expanded(sys.argv[1:] if argv is None else argv))
    args.saves = getattr(args, "saves", None) or os.environ.get("JITRL_SAVES") or None
    args.games = getattr(args, "games", None) or os.environ.get("JITRL_GAMES") or None
    from engine.disk import shown
    from engine.errors import JitrlError
    from engine.hiding import without_credentials

    if isinstance(sys.stdout, io.TextIOWrapper):  # A name of a file may have bytes that are no text.
        sys.stdout.reconfigure(errors="backslashreplace")
    handler: Callable[[argparse.Namespace], int] = args.handler or _home
    try:
        return handler(args)
    except JitrlError as error:
        print(f"jitrl: {shown(without_credentials(str(error)))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # The reader of our stdout left (`| head`). Python would complain again while it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:  # what no command foresaw: a name too long, a folder without permission
        print(f"jitrl: {_refused(error)}", file=sys.stderr)
        return 2 if error.errno == errno.ENAMETOOLONG else 1


def _refused(error: OSError) -> str:
    """Return what the system refused, and of which file."""
    from engine.texts import clipped

    named = "" if error.filename is None else f": {clipped(str(error.filename), 200)}"
    return f"{error.strerror or error}{named}"


def _home(args: argparse.Namespace) -> int:
    from engine.paths import saves_folder
    from jitrl_tui.app import run_home

    return run_home(saves_folder(args.saves), args.games)


if __name__ == "__main__":
    sys.exit(main())
