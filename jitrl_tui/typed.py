"""The commands that can be typed with a slash, on the screen and in plain lines: one table for both and their help."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Typed:
    """One typed command.

    Attributes:
        name: Its name, without the slash.
        meaning: What it does, for the help.
        takes: What follows the name, "" for nothing.
        also: Other names.
        lines: It is only there in plain lines; the screen has a key for it.
    """

    name: str
    meaning: str
    takes: str = ""
    also: tuple[str, ...] = ()
    lines: bool = False

    @property
    def usage(self) -> str:
        """How it is typed."""
        return f"/{self.name} {self.takes}".rstrip()


COMMANDS = (
    Typed("why", "why the agent would choose what it proposes"),
    Typed("options", "the candidates with their probabilities before and after memory", also=("candidates",)),
    Typed("memory", "the remembered steps and texts behind them", also=("mem",)),
    Typed("map", "the places of the game, with what memory expects there"),
    Typed("hint", "a hint at the best-known action: its first word; again: the whole action"),
    Typed("note", "keep a note with this session", "TEXT"),
    Typed("notes", "the notes of this session"),
    Typed(
        "export",
        "write what was read and typed to a file: .txt, .md, .html or .json; `--thoughts FILE` adds reasons",
        "FILE",
    ),
    Typed("actions", "the actions that are possible here"),
    Typed("page", "on the web: the page drawn in text; the number of an element is an action, too", lines=True),
    Typed("score", "score, step, episode"),
    Typed("undo", "take the last step of this episode back"),
    Typed("redo", "take the step again that was taken back last"),
    Typed("end", "end this episode now; it is cut off, judged and remembered like any other"),
    Typed(
        "break", "the breakpoints, at which the run stops; in plain lines, RULE adds one and `off` removes all", "RULE"
    ),
    Typed("save", "save the game as it stands; every session also saves itself, step by step", "NAME"),
    Typed("load", "go on from a save, in a session of its own", "NAME"),
    Typed("saves", "the saves there are"),
    Typed(
        "branch",
        "go on from after step N of this episode, in a session with a memory of its own, as it was then; "
        "`N shared`: with the memory of this session, as it is now",
        "N",
    ),
    Typed("pause", "wait before the next action", lines=True),
    Typed("go", "go on", lines=True),
    Typed("step", "one step, then wait", lines=True),
    Typed("speed", "seconds between steps", "S", lines=True),
    Typed("auto", "let the agent play N steps by itself", "N"),
    Typed("forward", "let the agent play to the end of the episode", lines=True),
    Typed("help", "this list"),
    Typed("quit", "leave; the session goes on from here next time", also=("q", "exit")),
)
"""All of them, in the order of the help."""


OURS = ("hint", "help", "undo", "map")
"""Words that people type without the slash although they mean the command."""


def found(name: str) -> str:
    """Return the first name of the command that is called `name`; "" if there is none."""
    return next((command.name for command in COMMANDS if name in (command.name, *command.also)), "")


def help_lines(*, lines: bool) -> list[str]:
    """Return a line for each command.

    Args:
        lines: For plain lines; otherwise for the command line of the screen.
    """
    shown = [command for command in COMMANDS if lines or not command.lines]
    width = max(len(command.usage) for command in shown)
    return [f"{command.usage:<{width}}  {command.meaning}" for command in shown]


def words() -> list[str]:
    """Return what can be typed on the screen, for completion."""
    return [f"/{command.name}{' ' if command.takes else ''}" for command in COMMANDS if not command.lines]


def help_list() -> str:
    """Return what can be typed on the screen as a list in Markdown."""
    rows = [f"- `{command.usage}`: {command.meaning}" for command in COMMANDS if not command.lines]
    return "\n".join(["Where you play, these can be typed:", "", *rows])
