"""The command line. Only argparse is imported here; the commands import the rest when they run.

Exit codes: 0 ok, 1 failed, 2 usage or configuration, 3 something outside is missing, 130 interrupted.
Data go to stdout, messages to stderr.
"""

from __future__ import annotations

import argparse
import errno
import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from itertools import chain
from typing import TYPE_CHECKING, Any

from jitrl_tui.arguments import EVERYWHERE, Parser
from jitrl_tui.system.output import guard, silence

if TYPE_CHECKING:
    from engine.trust import NotConfirmed

GROUPS: dict[str, Sequence[str]] = {
    "play and watch": ("watch", "play", "run", "race", "serve"),
    "look back": ("sessions", "replay", "compare", "curves", "whatif", "export"),
    "learn and compare": ("memory", "bench", "train"),
    "set up": ("games", "models", "web", "up", "config", "doctor", "completion"),
}
"""Commands as the help groups them. Each has a module in `jitrl_tui.commands` with `register(subparsers, common)`."""
_BESIDE = {"play": "watch", "replay": "watch", "compare": "sessions", "completion": "up"}
"""Short commands, each with the command in whose module it is, in a function `register_NAME`."""
COMMANDS = tuple(chain.from_iterable(GROUPS.values()))
_FLAGS = ("-h", "--help", "-v", "--verbose", "-q", "--quiet", "--version")
"""Options without a value that may stand before the command."""

SESSIONS = ("watch", "play", "run")
"""Commands that begin sessions. They refuse a config file with a mistake."""
TELL_THEMSELVES = (None, "", "config", "doctor")
"""Commands that go on without what is wrong in the config file, and say so. None and "" stand for the home screen."""
_GARBAGE = 100_000
"""Number of new objects after which Python's garbage collector runs. Memory holds a million small objects that are
never freed, and plans make many that need no collector, so frequent runs would only cost time."""

DESCRIPTION = """\
Watch a frozen language model get better at text adventures, episode after episode, \
with Just-In-Time Reinforcement Learning. Without a command, jitrl shows what can be \
resumed, played and looked at."""


class Version(argparse.Action):
    """Prints the version and its commit. Looking them up takes long, so it is done only for this."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Exit with 0."""
        from engine.commit import commit

        name = commit()
        print(f"jitrl {version()} (commit {name})" if name else f"jitrl {version()}")
        parser.exit()


def make_parser(commands: Sequence[str] = COMMANDS) -> Parser:
    """Return the parser with these subcommands."""
    common = argparse.ArgumentParser(add_help=False)
    where = common.add_argument_group(EVERYWHERE)

    def add(*names: str, **given: Any) -> None:
        # SUPPRESS, so that a place given before the subcommand is not overwritten by the subcommand's default.
        where.add_argument(*names, default=argparse.SUPPRESS, **given)

    add("--saves", metavar="DIR", help="folder of all that persists")
    add("--games", metavar="DIR", help="folder with more stories")
    add("--config", metavar="FILE", help="config file (default: that of `jitrl config path`)")
    add("--trust", metavar="PLACE", action="append",
        help="use a server or file that a session, run or suite of somebody else names")  # fmt: skip
    add("--theme", metavar="NAME", help="colours of the screen")
    add("-q", "--quiet", action="store_true", help="no progress and no hints, only results, warnings and errors")
    add("-v", "--verbose", action="store_true", help="also tell on stderr what goes to the log, with tracebacks")
    parser = Parser(prog="jitrl", description=DESCRIPTION, parents=[common])
    parser.add_argument("--version", action=Version, nargs=0, help="show the version and exit")
    parser.set_defaults(handler=None, name_of_command="", preferences=None)
    subparsers = parser.add_subparsers(metavar="COMMAND", parser_class=Parser, dest="name_of_command")
    for name in commands:
        module = import_module(f"jitrl_tui.commands.{_BESIDE.get(name, name)}")
        getattr(module, f"register_{name}" if name in _BESIDE else "register")(subparsers, common)
    help_parser = subparsers.add_parser("help", parents=[common], help="show the help of a command")
    help_parser.add_argument("words", nargs="*", metavar="COMMAND", help="a command, such as bench run")
    parser.group({**GROUPS, "set up": (*GROUPS["set up"], "help")})
    return parser


def _command_at(words: Sequence[str]) -> int:
    """Return the index of the command in the arguments, behind the places that may stand before it."""
    at = 0
    while at < len(words) and words[at].startswith("-"):
        at += 1 if "=" in words[at] or words[at] in _FLAGS else 2
    return at


def _needed(words: Sequence[str]) -> Sequence[str]:
    """Return the commands whose parsers the arguments need: a known one alone, all for the help and for mistakes."""
    at = _command_at(words)
    if at < len(words):
        name = words[at].partition("-")[0]  # an action on sessions is one word with its command
        return [name] if name in COMMANDS else COMMANDS
    return () if not set(words) & {"-h", "--help"} else COMMANDS


def _expanded(argv: Sequence[str]) -> list[str]:
    """Return the arguments as the parsers know them.

    `help COMMAND` becomes `COMMAND --help`, `bench SUITE` becomes `bench run SUITE`, and actions on sessions one word.
    """
    words = list(argv)
    at = _command_at(words)
    if words[at : at + 1] == ["help"]:
        words = [*words[:at], *words[at + 1 :], "--help"]
    if words[at : at + 1] == ["bench"] and at + 1 < len(words):
        actions = import_module("jitrl_tui.commands.bench").ACTIONS
        if not words[at + 1].startswith("-") and words[at + 1] not in actions:
            words.insert(at + 1, "run")
    if words[at : at + 1] == ["sessions"] and words[at + 1 : at + 2] in (["rm"], ["rename"], ["export"]):
        words[at : at + 2] = [f"sessions-{words[at + 1]}"]
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
    if "_ARGCOMPLETE" in os.environ:  # the shell asks how a line can go on
        from jitrl_tui.command_completion import complete

        complete(make_parser())
    words = _expanded(sys.argv[1:] if argv is None else argv)
    args = make_parser(_needed(words)).parse_args(words)
    args.quiet, args.verbose = getattr(args, "quiet", False), getattr(args, "verbose", False)
    silence(args.quiet)
    import logging

    from engine import trust
    from engine.disk import printable
    from engine.errors import JitrlError, UsageError
    from engine.paths import saves_place, settle_home
    from engine.redaction import without_credentials

    settle_home()
    handler: Callable[[argparse.Namespace], int] = args.handler or _home
    from jitrl_tui.system import logs

    try:
        _follow_preferences(args)
        logs.start(saves_place(args.saves), sys.argv[1:] if argv is None else argv, version(), verbose=args.verbose)
        trust.confirm(*getattr(args, "trust", ()))
        trust.confirm(*filter(None, [args.games]), keep=False)
        while True:
            try:
                return handler(args)
            except trust.NotConfirmed as error:  # before anything was begun
                if not _confirmed(error):
                    raise
                trust.confirm(error.place)
    except JitrlError as error:
        if not isinstance(error, UsageError):
            logging.getLogger("jitrl").error("the command failed", exc_info=error)
        print(f"jitrl: {printable(without_credentials(str(error)))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except (MemoryError, ImportError) as error:
        if isinstance(error, ImportError) and "failed to map segment" not in str(error):
            return _not_loaded(error)
        print(f"jitrl: {_too_little_memory()}; what was stored is kept", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # The reader of our stdout left (`| head`). Python would complain again while it exits.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 128 + signal.SIGPIPE
    except OSError as error:  # what no command foresaw: a name too long, a folder without permission
        logging.getLogger("jitrl").error("the command failed", exc_info=error)
        print(f"jitrl: {_refused(error)}", file=sys.stderr)
        return 2 if error.errno == errno.ENAMETOOLONG else 1
    except Exception as error:  # a fault of ours, or of a package
        print(f"jitrl: {_failed(error, args)}", file=sys.stderr)
        return 1
    finally:
        logs.stop()


def _failed(error: Exception, args: argparse.Namespace) -> str:
    """Return what is said of an exception that no command foresaw. Its traceback is written to a file."""
    if isinstance(error, RuntimeError) and "can't start new thread" in str(error):
        return "the system lets this process start no more threads (ulimit -u, ulimit -v)"
    from engine.paths import saves_place
    from jitrl_tui.system import crash

    written = crash.written_down(error, saves_place(getattr(args, "saves", None)))
    return f"something went wrong that should not have ({crash.error_text(error)}); what was stored is kept. {written}"


def _confirmed(error: NotConfirmed) -> bool:
    """Ask on the terminal whether a place may be used; without one, nobody can be asked."""
    from engine.disk import printable

    if not sys.stdin.isatty() or not sys.stderr.isatty():
        return False
    print(f"{printable(error.question)}.", file=sys.stderr)
    print("Use it? [y/N] ", end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _follow_preferences(args: argparse.Namespace) -> None:
    """Read what the user has set, and set what all commands need of it.

    Raises:
        UsageError: The config file cannot be read, and the command would go on in the wrong places.
    """
    from engine.disk import printable
    from jitrl_tui import preferences

    # Flags of the screen; those of a session are read by its command, because each has its own.
    flags = {
        option.key: option.parsed(str(value))
        for option in preferences.schema.OPTIONS
        if option.section == "app" and option.default is not False
        and (value := getattr(args, option.name, None)) is not None
    }  # fmt: skip
    made = args.preferences = preferences.load(getattr(args, "config", None), flags=flags)
    preferences.use(made)
    if made.problems and args.name_of_command not in TELL_THEMSELVES:
        if made.config.lost:
            made.refuse_mistakes()
        for problem in made.problems if args.name_of_command not in SESSIONS else ():
            print(f"jitrl: {printable(problem)}", file=sys.stderr)
    args.saves = getattr(args, "saves", None) or made.value("places.saves") or None
    args.games = getattr(args, "games", None) or made.value("places.games") or None
    for key, variable in (("app.pictures", "JITRL_PICTURES"), ("app.plain", "JITRL_PLAIN")):
        value = made.value(key)
        if value and not os.environ.get(variable):
            os.environ[variable] = str(value)
    if not made.value("app.live"):
        os.environ["JITRL_LIVE"] = "false"


def _too_little_memory() -> str:
    import resource

    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    limit = "" if most == resource.RLIM_INFINITY else f": this process may use {most // 2**20} MB (ulimit -v)"
    return f"there is not enough memory{limit}"


def _not_loaded(error: ImportError) -> int:
    """Say that a package is missing or broken, or belongs to another Python; return the exit code."""
    if (error.name or "").partition(".")[0] in ("engine", "jitrl_tui"):
        raise error
    import logging

    logging.getLogger("jitrl").error("a package does not load", exc_info=error)
    others = ", of which PYTHONPATH may name a wrong one" if os.environ.get("PYTHONPATH") else ""
    said = " ".join(str(error).split())[:200]
    message = f"a package does not load{others} ({said}); install jitrl anew"
    if wrong := _of_another_python():
        message = f"a package does not load: {wrong} is on the path (PYTHONPATH?) and is for another Python than this, "
        message += f"{sys.version_info.major}.{sys.version_info.minor}; take it off the path"
    print(f"jitrl: {message}", file=sys.stderr)
    return 3


def _of_another_python() -> str:
    """Return a folder on the path that has the packages of another version of Python, "" if there is none."""
    import re

    own = f"python{sys.version_info.major}.{sys.version_info.minor}"
    found = (re.search(r"(python\d+\.\d+)/(?:site|dist)-packages", folder) for folder in sys.path)
    return next((one.string for one in found if one and one[1] != own), "")


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
