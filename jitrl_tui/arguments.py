"""The parser of the command line: help for 80 columns with examples, and errors in a sentence with the nearest name."""

from __future__ import annotations

import argparse
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from typing import Any

from engine.errors import did_you_mean
from engine.pages import page
from engine.texts import clipped

EXAMPLES: dict[str, tuple[str, ...]] = {
    "": (
        "jitrl watch zork1",
        "jitrl watch pantry --model prior/verbs --speed 0",
        "jitrl run pantry --episodes 10 -o result.json",
        "jitrl help watch",
    ),
    "watch": (
        "jitrl watch zork1 --agent jitrl --model local/smollm2",
        "jitrl watch pantry --set beta=4 --break new-place",
        "jitrl watch --follow last",
    ),
    "play": ("jitrl play pantry", "jitrl play zork1 --plain"),
    "run": (
        "jitrl run pantry --model prior/verbs --episodes 10 -o result.json",
        "jitrl run pantry --json | jq .avg",
        "jitrl run pantry --resume last",
    ),
    "race": (
        "jitrl race pantry --arm static --arm jitrl --model prior/verbs",
        "jitrl race pantry --arm 'knn=jitrl:estimator=knn' --arm 'graph=jitrl'",
        "jitrl race --replay last",
    ),
    "serve": ("jitrl serve --port 8000", "jitrl serve watch pantry --model prior/verbs"),
    "sessions": (
        "jitrl sessions",
        "jitrl sessions last --branch 2:15",
        "jitrl sessions rename last first-win",
        "jitrl sessions export last -o transcript.md",
    ),
    "replay": ("jitrl replay last", "jitrl replay last --plain --speed 0"),
    "compare": ("jitrl compare last first-win", "jitrl compare last first-win --json"),
    "curves": ("jitrl curves", "jitrl curves last --with first-win -o curves.svg"),
    "whatif": ("jitrl whatif last --set beta=0.5",),
    "export": (
        "jitrl export last -o decisions.csv",
        "jitrl export last -o session.eval",
        "jitrl export last --to openinference -o spans.json",
        "jitrl export last --to datasets -o decisions",
    ),
    "memory": (
        "jitrl memory ls",
        "jitrl memory search brass lantern",
        "jitrl memory export -o memory.jsonl",
        "jitrl memory forget zork1 --episode 3 --dry-run",
    ),
    "bench": (
        "jitrl bench ls",
        "jitrl bench quick --dry-run",
        "jitrl bench resume last",
        "jitrl bench report last -o report",
    ),
    "train": ("jitrl train up --install", "jitrl train grpo pantry --updates 5", "jitrl train show last"),
    "games": ("jitrl games ls", "jitrl games fetch zork1 zork3", "jitrl games add ~/stories/curses.z5"),
    "models": ("jitrl models ls", "jitrl models test local/smollm2", "jitrl models info gemini/gemini-2.5-flash"),
    "web": ("jitrl web up shop", "jitrl web ls --suite local", "jitrl web down"),
    "up": ("jitrl up", "jitrl up report", "jitrl up semantic"),
    "config": ("jitrl config show", "jitrl config set theme jitrl-light", "jitrl config diff default paper"),
    "doctor": ("jitrl doctor", "jitrl doctor --model gemini/gemini-2.5-flash"),
    "completion": (
        'eval "$(jitrl completion bash)"',
        'eval "$(jitrl completion zsh)"',
        "jitrl completion fish | source",
    ),
    "help": ("jitrl help", "jitrl help bench run"),
}
"""By command; "" for jitrl itself."""
PAGES = {
    "": "index", "watch": "first-hour", "play": "first-hour", "run": "running", "race": "running", "serve": "running",
    "sessions": "branches", "compare": "compare", "export": "export", "memory": "memory-format", "bench": "bench",
    "train": "train", "games": "games", "models": "models", "web": "web", "up": "running", "config": "settings",
}  # fmt: skip
"""By command, the page of the documentation about it."""


def epilog(program: str) -> str:
    """Return what stands below the help of a command: its examples, and where to read more."""
    name = program.removeprefix("jitrl").strip()
    parts = ["examples:\n" + "\n".join(f"  {line}" for line in EXAMPLES[name])] if name in EXAMPLES else []
    if about := PAGES.get(name.partition(" ")[0]):
        parts.append(f"more: {page(about)}")
    return "\n\n".join(parts)


EVERYWHERE = "options of every command"
"""Title of the group of options that each command has. The help shows it last."""
_OPTIONS = argparse.Action([], "options", metavar="[OPTIONS]")
"""Stands for all options in the usage line. They are listed below it."""


class Formatter(argparse.HelpFormatter):
    """Writes a usage without options, and keeps the lines of examples as they are."""

    def __init__(self, prog: str) -> None:
        width = max(60, min(100, shutil.get_terminal_size().columns)) - 2
        super().__init__(prog, max_help_position=26, width=width)

    def add_usage(
        self, usage: str | None, actions: Iterable[argparse.Action], groups: Any, prefix: str | None = None
    ) -> None:
        """Add the usage."""
        needed = [action for action in actions if not action.option_strings or action.required]
        super().add_usage(usage, [_OPTIONS, *needed], [], prefix)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Wrap paragraphs; indented lines stay."""
        parts = text.split("\n\n")
        return "\n\n".join(part if "\n  " in part else textwrap.fill(part, width) for part in parts)


def racers(agent: str = "jitrl") -> tuple[str, str]:
    """Return the agents of the usual race, of `jitrl race` and of the home screen: the model alone, and an agent."""
    return "static", agent if agent != "static" else "jitrl"


class Parser(argparse.ArgumentParser):
    """An argument parser that takes no abbreviations and reports errors in one sentence, without the usage."""

    def __init__(self, **given: Any) -> None:
        super().__init__(**{"allow_abbrev": False, "formatter_class": Formatter, **given})
        self._words: Sequence[str] = ()

    def add_subparsers(self, **given: Any) -> Any:
        """Add commands below this one."""
        return super().add_subparsers(**{"prog": self.prog, **given})

    def error(self, message: str) -> None:  # type: ignore[override]
        """Exit with 2."""
        self.exit(2, f"{self.prog}: {self._unknown() or message}. See {self.prog} --help.\n")

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse the arguments, and refuse those that this parser does not know."""
        self._words = sys.argv[1:] if args is None else list(args)
        namespace, left = super().parse_known_args(args, namespace)
        if left:
            self.error(f"this is one argument too many: {_short(left[0])}")
        return namespace, left

    def format_help(self) -> str:
        """Return the help: options of every command last, then examples and the page about the command."""
        from jitrl_tui.arguments import epilog

        if self._positionals._group_actions and self._below():
            self.group({"actions": self.names()})
        self._action_groups.sort(key=lambda group: group.title == EVERYWHERE)
        self.epilog = epilog(self.prog)
        return super().format_help()

    def names(self) -> list[str]:
        """Return the names of the commands below this one that the help shows."""
        return [shown.dest for action in self._below() for shown in action._choices_actions]

    def group(self, groups: dict[str, Sequence[str]]) -> None:
        """List the commands in groups in the help: each title with its names."""
        for action in self._below():
            listed = {shown.dest: shown for shown in action._choices_actions}
            for group in self._action_groups:
                group._group_actions = [one for one in group._group_actions if one is not action]
            for title, names in groups.items():
                self.add_argument_group(title)._group_actions += [listed[name] for name in names if name in listed]

    def _below(self) -> list[argparse._SubParsersAction[Any]]:
        return [action for action in self._actions if isinstance(action, argparse._SubParsersAction)]

    def _unknown(self) -> str:
        """Return a sentence about the first option that there is not, "" if all are known."""
        known = self._option_string_actions
        if self._below() or any(action.nargs == argparse.REMAINDER for action in self._actions):
            return ""  # what follows the command is for another parser
        for word in self._words:
            if word == "--":
                break
            name = word.partition("=")[0]
            if name.startswith("--") and name not in known:
                shown = [option for option, action in known.items() if action.help != argparse.SUPPRESS]
                return f"there is no option {_short(name)}{did_you_mean(name, shown)}"
        return ""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        """Refuse a value that is none of the choices, with the nearest one."""
        if action.choices is None or value in action.choices:
            return
        if action in self._below():
            what = "command" if self.prog == "jitrl" else f"{self.prog.removeprefix('jitrl ')} command"
            raise argparse.ArgumentError(None, f"there is no {what} {_short(value)}{did_you_mean(value, self.names())}")
        choices = [str(choice) for choice in action.choices]
        raise argparse.ArgumentError(
            action, f"{_short(value)} is none of: {', '.join(choices)}{did_you_mean(str(value), choices)}"
        )


def _short(value: Any) -> str:
    return clipped(repr(value), 80)
