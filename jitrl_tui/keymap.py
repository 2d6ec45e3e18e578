"""Every key of the watch screen: one table for bindings, footer and help."""

from __future__ import annotations

from dataclasses import dataclass

from textual.binding import Binding


@dataclass(frozen=True, slots=True)
class Key:
    """One key.

    Attributes:
        keys: Textual's names, comma-separated; the first is pressed by a click in the footer.
        written: As people write it.
        action: What it does, without the `action_` prefix.
        label: In the footer; "" for keys that only the help shows.
        meaning: In the help.
        rank: Where the footer is short, keys with the highest rank go first.
    """

    keys: str
    written: str
    action: str
    label: str
    meaning: str
    rank: int = 1


WATCH = (
    Key("space", "space", "toggle_pause", "pause", "pause before the next action, and go on"),
    Key("n", "n", "step_once", "step", "one step, then pause; with `→` you only look"),
    Key(
        "o", "o", "overrule", "overrule", "overrule: pick a candidate or any valid action, or type a command"
    ),
    Key("f", "f", "forward", "forward", "fast-forward to the end of the episode, or through N episodes"),
    Key("plus,equals_sign", "+", "faster", "faster", "less time between steps, down to none", 4),
    Key("minus,underscore", "-", "slower", "slower", "more time between steps", 4),
    Key("p", "p", "calls", "prompt", "the raw prompt and reply of the model behind this choice", 2),
    Key("question_mark", "?", "help", "help", "this page"),
    Key("q", "q", "leave", "leave", "leave; the session goes on from here next time", 0),
    Key("h", "h", "home", "", "end this session in good order and choose another game"),
    Key("u", "u", "take_back", "", "undo: take the last step of this episode back, then pause"),
    Key("s", "s", "save", "", "save under a name (every session also saves itself, step by step)"),
    Key("g", "g", "load", "", "go on from a save, in a session of its own"),
    Key(
        "b",
        "b",
        "branch",
        "",
        "branch: go on from before the step on show (`←` looks back), in a new session",
    ),
    Key("left", "←", "look(-1)", "", "look back at the step before (in a recording: go there)"),
    Key("right", "→", "look(1)", "", "look at the step after"),
    Key("escape", "esc", "present", "", "back to the present; end the zoom"),
    Key("slash", "/", "find", "", "find something in the transcript"),
    Key("z", "z", "zoom", "", "give the whole window to the pane with the focus, and back"),
    Key("1,t", "1 t", "pane('transcript')", "", "go to the transcript"),
    Key("2,c", "2 c", "pane('candidates')", "", "go to the candidates"),
    Key("3,w", "3 w", "pane('why')", "", "go to the reasons"),
    Key("4,m", "4 m", "pane('memory')", "", "go to the memory hits"),
    Key("5,l", "5 l", "pane('curve')", "", "go to the learning curve"),
    Key(
        "6,v",
        "6 v",
        "pane('page')",
        "",
        "on the web: the page drawn in text; a click on an element overrules with it",
    ),
    Key("7,a", "7 a", "pane('tree')", "", "on the web: the page's elements as a tree"),
    Key("8,i", "8 i", "pane('picture')", "", "on the web: the page as the browser drew it"),
    Key("y", "y", "copy", "", "copy the marked text, or the pane with the focus"),
    Key("d", "d", "theme", "", "dark, light, or the terminal's own colours"),
    Key("left_square_bracket", "[", "episode(-1)", "", "in a recording: the episode before"),
    Key("right_square_bracket", "]", "episode(1)", "", "in a recording: the episode after"),
)


def bindings(keys: tuple[Key, ...]) -> list[Binding]:
    """Return Textual's bindings for a table of keys; ids allow remapping."""
    return [
        Binding(key.keys, key.action, key.label or key.meaning, show=False, id=f"watch.{key.action}")
        for key in keys
    ]


def help_table(keys: tuple[Key, ...]) -> str:
    """Return the keys as a Markdown table."""
    rows = [f"| `{key.written}` | {key.meaning} |" for key in keys]
    return "\n".join(["| key | what it does |", "|---|---|", *rows])
