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
        action: The command of the watch screen that it is, as keys name it, too; "" if it is only there in plain lines,
            because the screen has a key for it. Where something follows the name, the command takes it.
    """

    name: str
    meaning: str
    takes: str = ""
    also: tuple[str, ...] = ()
    action: str = ""

    @property
    def usage(self) -> str:
        """How it is typed."""
        return f"/{self.name} {self.takes}".rstrip()


COMMANDS = (
    Typed("why", "why the agent would choose what it proposes", action="pane('why')"),
    Typed("options", "the candidates with their probabilities before and after memory", also=("candidates",),
        action="pane('candidates')"),
    Typed("memory", "the remembered steps and texts behind them", also=("mem",), action="pane('memory')"),
    Typed("map", "the places of the game, with what memory expects there", action="pane('map')"),
    Typed("hint", "a hint at the best-known action: its first word; again: the whole action", action="hint"),
    Typed("note", "keep a note with this session", "TEXT", action="notes"),
    Typed("notes", "the notes of this session", action="notes"),
    Typed("export",
        "write what was read and typed to a file: .txt, .md, .html or .json; `--thoughts FILE` adds reasons", "FILE",
        action="export"),
    Typed("actions", "the actions that are possible here", action="all_actions"),
    Typed("page", "on the web: the page drawn in text; the number of an element is an action, too"),
    Typed("score", "score, step, episode", action="score"),
    Typed("undo", "take the last step of this episode back", action="take_back"),
    Typed("redo", "take the step again that was taken back last", action="redo"),
    Typed("end", "end this episode now; it is cut off, judged and remembered like any other", action="end_episode"),
    Typed("break", "the breakpoints, at which the run stops; in plain lines, RULE adds one and `off` removes all",
        "RULE", action="breakpoints"),
    Typed("save", "save the game as it stands; every session also saves itself, step by step", "NAME", action="save"),
    Typed("load", "go on from a save, in a session of its own", "NAME", action="load"),
    Typed("saves", "the saves there are", action="load"),
    Typed("branch",
        "go on from after step N of this episode, in a session with a memory of its own, as it was then; "
        "`N shared`: with the memory of this session, as it is now", "N", action="branch"),
    Typed("pause", "wait before the next action"),
    Typed("go", "go on"),
    Typed("step", "one step, then wait"),
    Typed("speed", "seconds between steps", "S"),
    Typed("auto", "let the agent play N steps by itself", "N", action="hand_over"),
    Typed("forward", "let the agent play to the end of the episode"),
    Typed("help", "this list", action="help"),
    Typed("quit", "leave; the session goes on from here next time", also=("q", "exit"), action="leave_at_once"),
)  # fmt: skip
"""All of them, in the order of the help."""


OURS = ("hint", "help", "undo", "map")
"""Words that people type without the slash although they mean the command."""


def command(name: str) -> Typed | None:
    """Return the command that is called `name`, None if there is none."""
    return next((one for one in COMMANDS if name in (one.name, *one.also)), None)


def found(name: str) -> str:
    """Return the first name of the command that is called `name`; "" if there is none."""
    one = command(name)
    return one.name if one is not None else ""


def help_lines(*, lines: bool) -> list[str]:
    """Return a line for each command.

    Args:
        lines: For plain lines; otherwise for the command line of the screen.
    """
    shown = [command for command in COMMANDS if lines or command.action]
    width = max(len(command.usage) for command in shown)
    return [f"{command.usage:<{width}}  {command.meaning}" for command in shown]


def words() -> list[str]:
    """Return what can be typed on the screen, for completion."""
    return [f"/{command.name}{' ' if command.takes else ''}" for command in COMMANDS if command.action]


def help_list() -> str:
    """Return what can be typed on the screen as a list in Markdown."""
    rows = [f"- `{command.usage}`: {command.meaning}" for command in COMMANDS if command.action]
    return "\n".join(["Where you play, these can be typed:", "", *rows])
