"""The keys of the watch screen and of the bench screen, in one table each for bindings, footer and help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from textual.binding import Binding, BindingsMap

from jitrl_tui.widgets.pane import PaneKind


@dataclass(frozen=True, slots=True)
class Key:
    """One key.

    Attributes:
        keys: Textual's names, separated by commas. A click in the footer presses the first one.
        written: The key as people write it.
        action: Name of its action, without the prefix `action_`.
        label: Text in the footer, "" for keys that only the help shows.
        meaning: Text in the help.
        rank: Keys with the highest rank are left out first if the footer is too short.
    """

    keys: str
    written: str
    action: str
    label: str
    meaning: str
    rank: int = 1


_RUN = (
    Key("space", "space", "toggle_pause", "pause", "pause before the next action, and go on"),
    Key("n", "n", "step_once", "step", "one step, then pause; with `→` you only look"),
    Key(
        "o", "o", "overrule", "overrule", "overrule: pick a candidate or any valid action, or type a command"
    ),
    Key("f", "f", "forward", "forward", "fast-forward to the end of the episode, N episodes or steps, or a breakpoint"),
    Key("a", "a", "ask", "ask", "ask before each step; again: only where a breakpoint matches; again: not at all", 3),
    Key("enter", "Enter", "approve", "", "approve the step that it asks about, as do space and `n`"),
    Key("X", "X", "veto", "", "veto the action that waits: the agent chooses another one in this state"),
    Key("x", "x", "breakpoints", "", "breakpoints: where the run stops"),
    Key("E", "E", "end_episode", "", "end this episode here"),
    Key("plus,equals_sign", "+", "faster", "faster", "less time between steps, down to none", 4),
    Key("minus,underscore", "-", "slower", "slower", "more time between steps", 4),
    Key("p", "p", "calls", "prompt", "the raw prompt and reply of the model behind this choice", 2),
    Key("e", "e", "explain", "", "explain each number of this choice: equation, code, calculation"),
    Key("question_mark", "?", "help", "help", "this page"),
    Key("q", "q", "leave", "leave", "leave; the session goes on from here next time", 0),
    Key("h", "h", "home", "", "end this session in good order and choose another game"),
    Key("u", "u", "take_back", "", "undo: take the last step of this episode back, then pause"),
    Key("U", "U", "redo", "", "redo: take the step again that was taken back last"),
    Key("s", "s", "save", "", "save under a name (every session also saves itself, step by step)"),
    Key("g", "g", "load", "", "go on from a save, in a session of its own"),
    Key(
        "b",
        "b",
        "branch",
        "",
        "branch: go on from before the step on show (`←` looks back), in a new session that begins paused",
    ),
    Key("V", "V", "compare", "", "compare this session with another, side by side: its branches first"),
    Key("left", "←", "look(-1)", "", "look back at the step before (in a recording: go there)"),
    Key("right", "→", "look(1)", "", "look at the step after"),
    Key("f1", "F1", "pane_help", "", "help of the pane with the focus"),
    Key("escape", "esc", "present", "", "back to the present; end the zoom"),
    Key("slash", "/", "find", "", "find something in the transcript"),
    Key("z", "z", "zoom", "", "give the whole window to the pane with the focus, and back"),
)
_REST = (
    Key("y", "y", "copy", "", "copy the marked text, or the pane with the focus"),
    Key("d", "d", "theme", "", "dark, light, or the terminal's own colours"),
    Key("left_square_bracket", "[", "episode(-1)", "", "in a recording: the episode before"),
    Key("right_square_bracket", "]", "episode(1)", "", "in a recording: the episode after"),
)

BENCH = (
    Key("enter", "Enter", "open", "recording", "open the recording of the cell: its sessions, step by step", 2),
    Key("slash", "/", "filter", "filter", "show only cells that have these words: a task, an arm, a state, `seed 2`"),
    Key("s", "s", "finish", "stop after these", "begin no more cells; those that are played are finished", 2),
    Key("escape", "esc", "present", "", "show all cells again; the cursor goes to the first row and stays there"),
    Key("question_mark", "?", "help", "help", "this page"),
    Key("d", "d", "theme", "", "dark, light, or the terminal's own colours"),
    Key("q", "q", "leave", "leave", "leave; a run that goes on is stopped, and can be taken up again", 0),
)
"""The keys of the bench screen."""

COMPARE = (
    Key("n", "n", "difference(1)", "next difference", "the next step at which the sessions differ"),
    Key("N", "N", "difference(-1)", "one before", "the difference before", 2),
    Key("f", "f", "first", "first", "the first difference"),
    Key("right_square_bracket", "]", "episode(1)", "episode", "the first difference of the next episode", 2),
    Key("left_square_bracket", "[", "episode(-1)", "", "the first difference of the episode before"),
    Key("y", "y", "copy", "", "copy the marked text, or the step under the cursor"),
    Key("question_mark", "?", "help", "help", "this page"),
    Key("d", "d", "theme", "", "dark, light, or the terminal's own colours"),
    Key("q,escape", "q", "leave", "leave", "go back", 0),
)
"""The keys of the compare screen."""

RACE = (
    Key("space", "space", "toggle_pause", "pause", "pause before the next step, and go on"),
    Key("n,right", "n", "step_once", "step", "one step of all racers, then pause"),
    Key("left", "←", "step_back", "", "in a recording: the step before"),
    Key("plus,equals_sign", "+", "faster", "faster", "less time between steps, down to none", 2),
    Key("minus,underscore", "-", "slower", "slower", "more time between steps", 2),
    Key("V", "V", "compare", "compare", "two of the racers side by side, step by step", 1),
    Key("tab", "tab", "app.focus_next", "", "the next racer"),
    Key("z", "z", "zoom", "", "give the whole width to the racer with the focus, and back"),
    Key("question_mark", "?", "help", "help", "this page"),
    Key("d", "d", "theme", "", "dark, light, or the terminal's own colours"),
    Key("q", "q", "leave", "leave", "leave; a race that is being run can be taken up again", 0),
)
"""The keys of the race screen."""


def watch(kinds: Sequence[PaneKind]) -> tuple[Key, ...]:
    """Return the keys of a watch screen with these panes."""
    taken = {name for key in (*_RUN, *_REST) for name in key.keys.split(",")}
    panes = []
    for kind in kinds:
        names = [name for name in (kind.number, kind.letter) if name and name not in taken]
        taken.update(names)
        meaning = kind.about or f"go to the {kind.title}"
        panes.append(Key(",".join(names), " ".join(names), f"pane({kind.name!r})", "", meaning))
    return (*_RUN, *(key for key in panes if key.keys), *_REST)


def bound(before: BindingsMap, keys: Sequence[Key], screen: str = "watch") -> BindingsMap:
    """Return `before` with bindings for a table of keys added. Their ids, with the name of the screen, allow users to
    remap them.
    """
    ours = [
        Binding(key.keys, key.action, key.label or key.meaning, show=False, id=f"{screen}.{key.action}")
        for key in keys
    ]
    return BindingsMap.from_keys({**before.key_to_bindings, **BindingsMap(ours).key_to_bindings})


def help_table(keys: Sequence[Key]) -> str:
    """Return the keys as a Markdown table."""
    rows = [f"| `{key.written}` | {key.meaning.replace('|', '/')} |" for key in keys]
    return "\n".join(["| key | what it does |", "|---|---|", *rows])
