"""All commands of the screens: by their keys, and by their names where they are typed.

Bindings, footer, help and command palette come from these tables, and so do the typed commands of the screen and of
plain lines. `do` runs a command by the name of its action. Keys that move in a list or a text are its widget's own, and
those that answer a question its window's, as is usual in Textual.
"""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_NAMED = {
    "look(-1)": "look_back", "look(1)": "look_on", "episode(-1)": "episode_before", "episode(1)": "episode_after",
    "difference(-1)": "difference_before", "difference(1)": "difference_after",
    "scope(-1)": "scope_before", "scope(1)": "scope_after",
    "candidate(-1)": "candidate_before", "candidate(1)": "candidate_after",
    "measure(-1)": "measure_before", "measure(1)": "measure_after",
}  # fmt: skip
"""Names of actions whose own names would not tell what they do."""

SHEET = 9
"""Rank of keys that the help shows and the footer does not."""


@dataclass(frozen=True, slots=True)
class Key:
    """One key.

    Attributes:
        keys: Textual's names, separated by commas. A click in the footer presses the first one.
        written: The key as people write it.
        action: What it does: the name of one of the screen's commands, or of an action of Textual without the prefix
            `action_`.
        label: What it does in one to three words, for the footer and the first page of the help.
        meaning: Text in the help.
        rank: Keys with the highest rank are left out first if the footer is too short. Those of rank `SHEET` are not
            in the footer at all.
        panes: Names of the panes in whose footer the key stands first.
        live: Whether it needs a run that goes on, not a recording.
    """

    keys: str
    written: str
    action: str
    label: str
    meaning: str
    rank: int = 1
    panes: tuple[str, ...] = ()
    live: bool = False

    @property
    def name(self) -> str:
        """The name of the action in the config file."""
        plain = self.action.removeprefix("app.")
        return _NAMED.get(plain) or re.sub(r"\W+", "_", plain).strip("_")

    @property
    def first(self) -> str:
        """The key that a click in the footer presses."""
        return self.keys.split(",")[0]


SETTINGS = Key("comma", ",", "app.settings", "settings",
    "settings: every value, where it comes from, and what it means", SHEET)
ALL = Key("ctrl+p", "ctrl+p", "app.command_palette", "commands",
    "everything that can be done here, found by its words", 3)
_HELP = Key("question_mark", "?", "help", "help", "these keys; again: what the screen shows", 0)
_THEME = Key("d", "d", "app.theme", "theme", "dark, light, or the terminal's own colours", SHEET)
WATCH = (
    Key("space", "space", "toggle_pause", "pause", "pause before the next action, and go on", 0),
    Key("full_stop", ".", "step_once", "step", "one step, then pause; with `→` you only look", 0),
    Key(
        "o", "o", "overrule", "overrule", "overrule: pick a candidate or any valid action, or type a command", 0,
        live=True,
    ),
    Key("f", "f", "forward", "forward",
        "fast-forward to the end of the episode, N episodes or steps, or a breakpoint", 2),
    Key("a", "a", "ask", "ask",
        "ask before each step; again: only where a breakpoint matches; again: not at all", 3, live=True),
    Key("enter", "Enter", "approve", "approve",
        "approve the step that it asks about, as do space and `.`", SHEET, live=True),
    Key("X", "X", "veto", "veto",
        "veto the action that waits: the agent chooses another one in this state", SHEET, live=True),
    Key("x", "x", "breakpoints", "breakpoints", "breakpoints: where the run stops", SHEET),
    Key("E", "E", "end_episode", "end the episode", "end this episode here, after a question", SHEET, live=True),
    Key("plus,equals_sign", "+", "faster", "faster", "less time between steps, down to none", 4),
    Key("minus,underscore", "-", "slower", "slower", "more time between steps", 4),
    Key("p", "p", "calls", "prompt", "the raw prompt and reply of the model behind this choice", 2),
    Key("e", "e", "explain", "explain", "explain each number of this choice: equation, code, calculation", 2,
        panes=("candidates", "why")),
    _HELP,
    Key("q", "q", "leave", "leave", "leave, after a question; the session goes on from here next time", 0),
    Key("h", "h", "home", "another game",
        "choose another game, after a question; this session ends in good order", SHEET),
    Key("u", "u", "take_back", "undo",
        "undo: take the last step of this episode back, then pause", 1, live=True),
    Key("U", "U", "redo", "redo", "redo: take the step again that was taken back last", SHEET, live=True),
    Key("s", "s", "save", "save",
        "save under a name (every session also saves itself, step by step)", SHEET, live=True),
    Key("g", "g", "load", "load", "go on from a save, in a session of its own", SHEET, live=True),
    Key("b", "b", "branch", "branch",
        "branch: go on from before the step on show (`←` looks back), in a new session that begins paused", 3,
        panes=("transcript", "curve")),
    Key("V", "V", "compare", "compare",
        "compare this session with another, side by side: its branches first", 5, panes=("curve",)),
    Key("left", "←", "look(-1)", "look back", "look back at the step before (in a recording: go there)", SHEET),
    Key("right", "→", "look(1)", "look on", "look at the step after", SHEET),
    Key("f1", "F1", "pane_help", "this pane", "help of the pane with the focus", SHEET),
    Key("escape", "esc", "present", "the present", "back to the present; end the zoom", SHEET),
    Key("H", "H", "hint", "hint", "a hint at the best-known action: its first word; again: all of it", SHEET),
    Key("N", "N", "notes", "notes", "the notes of this session; a new one", SHEET),
    Key("T", "T", "export", "export",
        "write the transcript to a file: text, Markdown, a page to share or JSON", SHEET),
    Key("K", "K", "what_if", "what if",
        "what if: this choice and the whole run with other settings, without the model",
        3, panes=("candidates", "why")),
    Key("r", "r", "memories", "all memory",
        "the memory screen: search, sort, forget, edit, merge, compare, export", 5, panes=("memory",)),
    Key("backspace", "backspace", "undo_trial", "undo trial", "in a trial of memory: undo its last change", SHEET),
    Key("S", "S", "keep_trial", "keep trial", "in a trial of memory: keep its changes; only now memory changes", SHEET),
    Key("f2", "F2", "leave_line", "keys", "where you play: leave the command line, so that letters are keys", SHEET),
    Key("f3", "F3", "advise", "agent's view", "where you play: show what the agent would do, or hide it", SHEET),
    Key("slash", "/", "find", "find", "find something in the transcript", 5, panes=("transcript",)),
    Key("n", "n", "find_next", "find earlier", "the place before, of those that were found last", SHEET),
    Key("z", "z", "zoom", "zoom", "give the whole window to the pane with the focus, and back", 4),
)
WATCH_REST = (
    Key("L", "L", "curves", "curves",
        "learning curves: scores, tokens, cost, times and memory of every episode", 4, panes=("curve",)),
    Key("y", "y", "copy", "copy", "copy the marked text, or the pane with the focus", 6),
    _THEME,
    Key("left_square_bracket", "[", "episode(-1)", "episode before",
        "in a recording: the episode before; in a session: a lower β from the next decision on", SHEET),
    Key("right_square_bracket", "]", "episode(1)", "episode after",
        "in a recording: the episode after; in a session: a higher β from the next decision on", SHEET),
    Key("backslash", "\\", "lever", "other setting", "let [ and ] change another setting than β: k, λ, α, r", SHEET,
        live=True),
    ALL,
    SETTINGS,
)

BENCH = (
    Key("enter", "Enter", "open", "open", "open the cell: follow its session while it is played, or its recordings", 2),
    Key("slash", "/", "filter", "filter", "show only cells that have these words: a task, an arm, a state, `seed 2`"),
    Key("s", "s", "finish", "stop after these", "begin no more cells, after a question; those that are played are "
        "finished", 2),
    Key("escape", "esc", "present", "all cells",
        "show all cells again; the cursor goes to the first row and stays there", SHEET),
    _HELP,
    _THEME,
    Key("q", "q", "leave", "leave", "leave, after a question if a run is stopped by it; it can be taken up again", 0),
    ALL,
    SETTINGS,
)
"""The keys of the bench screen, before users change them."""

HOME = (
    Key("enter", "Enter", "begin", "begin", "do what the line below the list says", SHEET),
    Key("1", "1", "section('resume')", "resume", "sessions to resume", SHEET),
    Key("2", "2", "section('start')", "watch", "games to watch an agent play", SHEET),
    Key("3", "3", "section('web')", "web tasks", "web tasks to start, and what is missing for others", SHEET),
    Key("4", "4", "section('recordings')", "recordings", "recordings, to look at", SHEET),
    Key("5", "5", "section('benches')", "benchmarks", "runs of benchmarks, to look at", SHEET),
    Key("6", "6", "section('play')", "play yourself", "games to play yourself, with the agent's advice", SHEET),
    Key("7", "7", "section('race')", "race", "the agent and the model alone on one game, side by side; earlier races",
        SHEET),
    Key("8", "8", "section('memories')", "memories", "all memories: the shared one, and those of sessions", SHEET),
    Key("slash", "/", "filter", "filter", "show only rows that have the words that are typed; esc ends it", 2),
    Key("p", "p", "play", "play", "games, web tasks: play yourself; the agent learns from it and says what it "
        "would do", 1),
    Key("m", "m", "memory", "memory", "what the agent remembers of each game: search, edit, forget, merge, compare", 5),
    Key("s", "s", "sort", "sort", "resume, recordings: sort by the next column", 2),
    Key("c", "c", "change", "other model", "resume: go on with another model or profile, in a new session", 1),
    Key("r", "r", "rename", "rename", "resume, recordings: give the session another name", 2),
    Key("delete,x", "del", "delete", "delete", "resume, recordings: delete the session, after a question", 1),
    _HELP,
    Key("d", "d", "app.theme", "theme", "the next theme", 1),
    Key("q", "q", "app.leave", "leave", "leave", 0),
    Key("escape", "esc", "to_list", "to the list", "go to the list", SHEET),
    ALL,
    dataclasses.replace(SETTINGS, rank=1),
)
"""The keys of the home screen, before users change them."""

COMPARE = (
    Key("n", "n", "difference(1)", "next difference", "the next step at which the sessions differ"),
    Key("N", "N", "difference(-1)", "one before", "the difference before", 2),
    Key("f", "f", "first", "first", "the first difference"),
    Key("right_square_bracket", "]", "episode(1)", "episode", "the first difference of the next episode", 2),
    Key("left_square_bracket", "[", "episode(-1)", "episode before",
        "the first difference of the episode before", SHEET),
    Key("y", "y", "copy", "copy", "copy the marked text, or the step under the cursor", SHEET),
    _HELP,
    _THEME,
    Key("q,escape", "q", "leave", "leave", "go back", 0),
)
"""The keys of the compare screen."""

RACE = (
    Key("space", "space", "toggle_pause", "pause", "pause before the next step, and go on"),
    Key("full_stop,right", ".", "step_once", "step", "one step of all racers, then pause"),
    Key("left", "←", "step_back", "step back", "in a recording: the step before", SHEET),
    Key("plus,equals_sign", "+", "faster", "faster", "less time between steps, down to none", 2),
    Key("minus,underscore", "-", "slower", "slower", "more time between steps", 2),
    Key("V", "V", "compare", "compare", "two of the racers side by side, step by step", 1),
    Key("tab", "tab", "app.focus_next", "next racer", "the next racer", SHEET),
    Key("z", "z", "zoom", "zoom", "give the whole width to the racer with the focus, and back", SHEET),
    _HELP,
    _THEME,
    Key("q", "q", "leave", "leave", "leave, after a question while it is being run; it can be taken up again", 0),
)
"""The keys of the race screen."""


MEMORY = (
    Key("slash", "/", "filter", "filter", "words that must be in a step, and conditions: `ep:5`, `by:human`, `G>1`, "
        "`points>0`, `hits>3`, `decided>0`, `edited`, `pinned`"),
    Key("s", "s", "sort", "sort", "sort by the next column"),
    Key("v", "v", "reverse", "reverse", "reverse the order", 3),
    Key("delete,x", "del", "forget", "forget", "mark the step to be forgotten; again takes the mark away", 2),
    Key("equals_sign", "=", "edit", "edit", "give the step another return G", 2),
    Key("plus", "+", "points", "points", "give the step other points, for plans", SHEET),
    Key("p", "p", "pin", "pin", "pin the step, or take the pin away", 3),
    Key("backspace", "backspace", "undo", "undo", "undo the last change that is not kept, or the last merge", 2),
    Key("S", "S", "keep", "keep", "keep the changes: only now memory changes", 1),
    Key("U", "U", "put_back", "put back", "put back what was forgotten last", SHEET),
    Key("I", "I", "count", "count uses",
        "count in the recordings how often steps were behind decisions, and decided them", SHEET),
    Key("M", "M", "merge", "merge", "take what another memory knows and this one does not", 4),
    Key("D", "D", "diff", "compare", "compare with another memory, episode by episode", 4),
    Key("X", "X", "export", "export", "write this game's memory to a file", 4),
    Key("left_square_bracket", "[", "scope(-1)", "game before", "the game before", SHEET),
    Key("right_square_bracket", "]", "scope(1)", "game after", "the game after", SHEET),
    Key("escape", "esc", "present", "cancel", "cancel the work; show all steps again; leave", SHEET),
    _HELP,
    _THEME,
    Key("q", "q", "leave", "leave", "leave; changes that are not kept are dropped, after a question", 0),
)
"""The keys of the memory screen, besides those of the list."""

SETTING_LIST = (
    Key("enter", "Enter", "edit", "change", "give the setting another value: it is checked and written to the file"),
    Key("slash", "/", "search", "search", "search names, meanings, values and where they come from"),
    Key("delete,x", "del", "take_out", "take out of the file", "take the value out of the config file, after a "
        "question"),
    _HELP,
    _THEME,
    Key("escape,q,comma", "esc", "leave", "back", "leave the search, or the screen", 0),
    ALL,
)
"""The keys of the settings screen."""
EXPLAIN = (
    Key("left", "←", "candidate(-1)", "candidate before", "the candidate before"),
    Key("right", "→", "candidate(1)", "next candidate", "the next candidate"),
    Key("s", "s", "save", "save for a test", "write the decision to a file from which a test can compute it "
        "again", 2),
    dataclasses.replace(_HELP, keys="question_mark,f1"),
    Key("escape,e,q", "esc", "leave", "close", "close the window", 0),
    ALL,
)
"""The keys of the window that explains a decision."""
CURVES = (
    Key("left", "←", "measure(-1)", "measure before", "the measure before, in the whole window", 2),
    Key("right", "→", "measure(1)", "next measure", "the next measure, in the whole window"),
    Key("z", "z", "whole", "one or all", "one measure or all of them, if the window has room"),
    Key("a", "a", "add", "add a session", "add another session of this game"),
    Key("c", "c", "clear", "clear", "take the added sessions away", 2),
    Key("e", "e", "export", "export", "write the curves to a file: SVG or PNG (both need `jitrl up report`) or CSV"),
    _HELP,
    Key("escape,L,q", "esc", "leave", "close", "close the window", 0),
    ALL,
)
"""The keys of the window with learning curves."""
WHAT_IF = (
    Key("enter", "Enter", "go", "go there", "in the list: go to the step under the cursor"),
    Key("a", "a", "apply", "apply", "go on with these settings in the running session, from its next decision on", 0),
    Key("b", "b", "branch", "branch", "go on from this choice with these settings, in a new session", 0),
    Key("tab", "tab", "app.focus_next", "list, sliders", "to the list of choices, and back to the sliders", 2),
    _HELP,
    Key("escape,q", "esc", "leave", "close", "cancel the work; close the window", 0),
    ALL,
)
"""The keys of the what-if window, besides those of its sliders."""
SLIDERS = (
    Key("enter", "Enter", "type", "type", "type a value for the chosen setting", 1),
    Key("backspace,delete", "backspace", "reset", "reset", "give the chosen setting its first value", 1),
    Key("0", "0", "reset_all", "reset all", "give all settings their first values", 1),
)
"""The keys of the sliders of the what-if window. Those that move in them are the widget's own."""
MEMORY_PANE = (
    Key("v", "v", "open", "view", "open the remembered step under the cursor, with its episode"),
    Key("delete,x", "del", "forget", "forget", "forget the step under the cursor, on trial"),
    Key("equals_sign", "=", "edit", "edit", "give the step under the cursor another return G, on trial"),
    Key("p", "p", "pin", "pin", "pin the step under the cursor, or take the pin away"),
    Key("i", "i", "influence", "influence", "what the choice would be without each of the steps"),
    Key("escape", "esc", "drop", "drop", "drop what is tried out", SHEET),
)
"""The keys of the memory pane. Those that move its cursor are the widget's own."""
HIT = (
    Key("equals_sign", "=", "edit", "edit", "give the step another return G"),
    Key("p", "p", "pin", "pin", "pin the step, or take the pin away"),
    Key("delete,x", "del", "forget", "forget", "forget the step"),
    Key("R", "R", "replay", "replay", "replay its episode from the recording, if there is one"),
    Key("escape,q,v", "esc", "leave", "close", "close the window", 0),
    ALL,
)
"""The keys of the window of a remembered step."""

FOLLOW_MEANS = {
    "toggle_pause": ("take in hand", "take the session in hand: it waits at its next decision; again: hand it back"),
    "step_once": ("step", "one step of a session that you hold; the first time, take it in hand"),
    "overrule": ("overrule", "overrule the decision that waits; a session that you do not hold is taken in hand first"),
    "leave": ("leave", "leave; a session that you hold is handed back, and goes on"),
}
"""Labels and meanings of keys of the watch screen that mean something else for a session that is followed."""
FOLLOW_TOO = (
    "calls", "explain", "help", "look(-1)", "look(1)", "pane_help", "present", "find", "find_next", "zoom", "curves",
    "copy", "app.theme", "app.settings", "app.command_palette", "undo_trial", "keep_trial",
)  # fmt: skip
"""Keys of the watch screen that mean the same there."""
FOLLOW = (
    Key("E", "E", "stop_session", "stop it", "stop the session, after a question; what was played is kept", 3),
)
"""The keys that only the screen of a session that is followed has."""


Commands = Mapping[str, Callable[..., object]]
"""What a screen can do, by the names of actions in the tables."""


def do(commands: Commands, action: str, *typed: str) -> bool:
    """Do what an action such as `look(-1)` names; return whether it is among the commands.

    Args:
        typed: What a person typed after it.
    """
    name, _, given = action.partition("(")
    if name not in commands:
        return False
    commands[name](*ast.literal_eval(f"({given.removesuffix(')')},)") if given else (), *typed)
    return True


@dataclass(frozen=True, slots=True)
class Typed:
    """One command that can be typed with a slash.

    Attributes:
        name: Its name, without the slash.
        own: What it does, for the help; "" for the meaning of the key with the same action.
        takes: What follows the name, "" for nothing.
        also: Other names.
        action: The command of the watch screen that it is, as keys name it, too; "" if it is only there in plain lines,
            because the screen has a key for it. Where something follows the name, the command takes it.
    """

    name: str
    own: str = ""
    takes: str = ""
    also: tuple[str, ...] = ()
    action: str = ""

    @property
    def meaning(self) -> str:
        """What it does."""
        return self.own or next(key.meaning for key in WATCH if key.action == self.action)

    @property
    def usage(self) -> str:
        """How it is typed."""
        return f"/{self.name} {self.takes}".rstrip()


TYPED = (
    Typed("why", "why the agent would choose what it proposes", action="pane('why')"),
    Typed("options", "the candidates with their probabilities before and after memory", also=("candidates",),
        action="pane('candidates')"),
    Typed("memory", "the remembered steps and texts behind them", also=("mem",), action="pane('memory')"),
    Typed("map", "the places of the game, with what memory expects there", action="pane('map')"),
    Typed("hint", action="hint"),
    Typed("note", "keep a note with this session", "TEXT", action="notes"),
    Typed("notes", "the notes of this session", action="notes"),
    Typed("export",
        "write what was read and typed to a file: .txt, .md, .html or .json; `--thoughts FILE` adds reasons", "FILE",
        action="export"),
    Typed("actions", "the actions that are possible here", action="all_actions"),
    Typed("page", "on the web: the page drawn in text; the number of an element is an action, too"),
    Typed("score", "score, step, episode", action="score"),
    Typed("undo", "take the last step of this episode back", action="take_back"),
    Typed("redo", action="redo"),
    Typed("end", "end this episode now; it is cut off, judged and remembered like any other", action="end_episode"),
    Typed("break", "the breakpoints, at which the run stops; in plain lines, RULE adds one and `off` removes all",
        "RULE", action="breakpoints"),
    Typed("save", "save the game as it stands; every session also saves itself, step by step", "NAME", action="save"),
    Typed("load", takes="NAME", action="load"),
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
"""The commands that can be typed, on the screen and in plain lines, in the order of the help."""


OURS = ("hint", "help", "undo", "map")
"""Words that people type without the slash although they mean the command."""


def command(name: str) -> Typed | None:
    """Return the command that is called `name`, None if there is none."""
    return next((one for one in TYPED if name in (one.name, *one.also)), None)


def found(name: str) -> str:
    """Return the first name of the command that is called `name`; "" if there is none."""
    one = command(name)
    return one.name if one is not None else ""


def help_lines(*, lines: bool) -> list[str]:
    """Return a line for each command.

    Args:
        lines: For plain lines; otherwise for the command line of the screen.
    """
    shown = [command for command in TYPED if lines or command.action]
    width = max(len(command.usage) for command in shown)
    return [f"{command.usage:<{width}}  {command.meaning}" for command in shown]


def words() -> list[str]:
    """Return what can be typed on the screen, for completion."""
    return [f"/{command.name}{' ' if command.takes else ''}" for command in TYPED if command.action]


def help_list() -> str:
    """Return what can be typed on the screen as a list in Markdown."""
    rows = [f"- `{command.usage}`: {command.meaning}" for command in TYPED if command.action]
    return "\n".join(["Where you play, these can be typed:", "", *rows])
