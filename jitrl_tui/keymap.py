"""The keys of the screens, in one table each for bindings, footer, help and command palette.

Users give actions other keys by their names, in the table [keys] of the config file.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from textual.binding import Binding, BindingsMap
from textual.keys import KEY_NAME_REPLACEMENTS, Keys, _character_to_key
from textual.widget import Widget

from engine.errors import UsageError, did_you_mean
from jitrl_tui.command_table import (
    ALL,
    BENCH,
    COMPARE,
    CURVES,
    EXPLAIN,
    FOLLOW,
    FOLLOW_MEANS,
    FOLLOW_TOO,
    HIT,
    HOME,
    MEMORY,
    MEMORY_PANE,
    RACE,
    SETTING_LIST,
    SETTINGS,
    SHEET,
    SLIDERS,
    WATCH,
    WATCH_REST,
    WHAT_IF,
    Key,
    help_list,
)  # fmt: skip
from jitrl_tui.preferences import current
from jitrl_tui.widgets.pane import Pane, PaneKind

_SHORT = {"esc": "escape", "del": "delete", "return": "enter"}
_MODIFIERS = ("ctrl+", "shift+", "alt+", "super+")
_OTHERS: Mapping[str, tuple[Key, ...]] = {
    "home": HOME, "bench": BENCH, "compare": (*COMPARE, ALL, SETTINGS), "race": (*RACE, ALL, SETTINGS),
    "memory": (*MEMORY, ALL, SETTINGS), "follow": FOLLOW, "settings": SETTING_LIST, "explain": EXPLAIN,
    "curves": CURVES, "whatif": WHAT_IF, "sliders": SLIDERS, "memory_pane": MEMORY_PANE, "hit": HIT,
}  # fmt: skip
"""Usual keys by the name of the screen, window or widget; those of the watch screen depend on its panes."""


def watch(kinds: Sequence[PaneKind]) -> tuple[Key, ...]:
    """Return the keys of a watch screen with these panes."""
    return remap(_usual_watch(kinds), "watch")


def session_keys(keys: Sequence[Key], symbol: str, *, apart: bool = False) -> list[Key]:
    """Return the keys of a running session: those of episodes change a setting there.

    Args:
        symbol: Of the setting, "" if there is none; then the keys do nothing.
        apart: Whether a lower and a higher value are two entries, in place of one for both keys.
    """
    ways = {"episode(-1)": "lower", "episode(1)": "higher"}
    both = " ".join(key.written for key in keys if key.action in ways)
    found = []
    for key in keys:
        way = ways.get(key.action)
        if way is not None and apart:
            key = dataclasses.replace(key, meaning=f"a {way} {symbol} from the next decision on")
        elif way == "lower":
            meaning = f"a lower and a higher {symbol} from the next decision on"
            key = dataclasses.replace(key, written=both, label=symbol, meaning=meaning, rank=4, panes=("candidates",))
        if (apart or way != "higher") and (symbol or (way is None and key.action != "lever")):
            found.append(key)
    return found


def follow(kinds: Sequence[PaneKind]) -> tuple[Key, ...]:
    """Return the keys of the screen of a session that is followed. Keys that users chose for the watch screen hold."""
    found = []
    for key in watch(kinds):
        if key.action in FOLLOW_MEANS:
            label, meaning = FOLLOW_MEANS[key.action]
            found.append(dataclasses.replace(key, label=label, meaning=meaning))
        elif key.action in FOLLOW_TOO or key.action.startswith("pane("):
            found.append(key)
    return (*found, *of("follow"))


def _usual_watch(kinds: Sequence[PaneKind]) -> tuple[Key, ...]:
    taken = {name for key in (*WATCH, *WATCH_REST) for name in key.keys.split(",")}
    panes = []
    for kind in kinds:
        names = [name for name in (kind.number, kind.letter) if name and name not in taken]
        taken.update(names)
        meaning = kind.about or f"go to the {kind.title}"
        panes.append(Key(",".join(names), " ".join(names), f"pane({kind.name!r})", kind.title, meaning, SHEET))
    return (*WATCH, *(key for key in panes if key.keys), *WATCH_REST)


def tables(kinds: Sequence[PaneKind]) -> dict[str, tuple[Key, ...]]:
    """Return the usual keys of all screens, by the name of the screen."""
    return {"watch": _usual_watch(kinds), **_OTHERS}


def of(screen: str) -> tuple[Key, ...]:
    """Return the keys of a screen other than the watch screen, of a window or a widget, by its name."""
    return remap(_OTHERS[screen], screen)


def remap(keys: Sequence[Key], screen: str, chosen: Mapping[str, str] | None = None) -> tuple[Key, ...]:
    """Return keys with those that the user has chosen. A choice that cannot be followed leaves an action its usual key.

    Args:
        chosen: Keys by SCREEN.ACTION, None for those of the config file.
    """
    chosen = current().config.keys if chosen is None else chosen
    wrong = {name for name, _ in _mistakes(keys, screen, chosen)}
    found = []
    for key in keys:
        name = f"{screen}.{key.name}"
        if name in chosen and name not in wrong:
            key = dataclasses.replace(key, keys=textual_names(chosen[name]), written=chosen[name])
        found.append(key)
    return tuple(found)


def mistakes(tables: Mapping[str, Sequence[Key]], chosen: Mapping[str, str]) -> list[str]:
    """Return a sentence for each key of the user that cannot be followed.

    Args:
        tables: Usual keys by the name of the screen.
        chosen: Keys by SCREEN.ACTION.
    """
    names = [f"{screen}.{key.name}" for screen, keys in tables.items() for key in keys]
    unknown = [f"there is no action {name!r}{did_you_mean(name, names)}" for name in chosen if name not in names]
    return unknown + [text for screen, keys in tables.items() for _, text in _mistakes(keys, screen, chosen)]


def _mistakes(keys: Sequence[Key], screen: str, chosen: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield the names of one screen's actions whose chosen keys cannot be followed, each with a sentence."""
    taken: dict[str, str] = {}
    names = {key: f"{screen}.{key.name}" for key in keys}
    for key, name in names.items():
        if name not in chosen:
            taken |= dict.fromkeys(key.keys.split(","), name)
    for name in names.values():
        if name not in chosen:
            continue
        try:
            wanted = textual_names(chosen[name]).split(",")
        except UsageError as error:
            yield name, f"{name}: {error}"
            continue
        other = next((taken[one] for one in wanted if one in taken), None)
        if other is not None:
            yield name, f"{name} cannot be {chosen[name]!r}: that is the key of {other}; give that another key, too"
        else:
            taken |= dict.fromkeys(wanted, name)


def textual_names(text: str) -> str:
    """Return keys as Textual names them, separated by commas.

    Args:
        text: Keys as people write them, separated by commas: "x", "?", "ctrl+n", "f5", "space", "comma".

    Raises:
        UsageError: One is no key.
    """
    known = {key.value for key in Keys} | set(KEY_NAME_REPLACEMENTS.values())
    found = []
    for word in (part.strip() for part in text.split(",")):
        plain = word
        while plain.startswith(_MODIFIERS):
            plain = plain.partition("+")[2]
        name = _character_to_key(plain) if len(plain) == 1 else _SHORT.get(plain, plain)
        if not plain.isprintable() or not plain or (len(plain) > 1 and name not in known and not _is_character(name)):
            raise UsageError(f"{word!r} is no key; a key is for instance x, ?, ctrl+n, f5, space or comma")
        found.append(word[: len(word) - len(plain)] + name)
    return ",".join(found)


def _is_character(name: str) -> bool:
    """Return whether a name is Textual's for a character, such as "question_mark"."""
    import unicodedata

    try:
        unicodedata.lookup(name.replace("_", " ").upper())
    except (KeyError, ValueError):  # no name, or no text
        return False
    return True


Shown = tuple[str, str, str, int]
"""An entry of the footer: the key as written, its label, Textual's name of it, its rank."""


def footer(
    keys: Sequence[Key], focused: Widget | None = None, pane: str = "", labels: Mapping[str, str] | None = None
) -> list[Shown]:
    """Return the entries of a footer: what the pane with the focus does, what matters there, then the other keys.

    A key of the screen is left out where the pane uses it for something else.

    Args:
        keys: Those of the screen that do something now.
        focused: The widget with the focus.
        pane: The name of its kind of pane, "" if it is none.
        labels: Other labels by the names of actions.
    """
    own = own_keys(focused)
    taken = {one for name, *_ in own for one in name.split(",")}
    free = [key for key in keys if key.first not in taken]
    shown = [key for key in free if pane in key.panes] + [
        key for key in free if pane not in key.panes and key.rank < SHEET
    ]
    labels = labels or {}
    return [
        *((written, label, name.split(",")[0], 1) for name, written, label in own),
        *(
            (key.written, labels.get(key.action, key.label), key.first, 1 if pane in key.panes else key.rank)
            for key in shown
        ),
    ]


def own_keys(focused: Widget | None) -> list[tuple[str, str, str]]:
    """Return what keys do in the pane with the focus alone: Textual's names, the key as written, a label."""
    if not isinstance(focused, Pane):
        return []
    bindings = [Binding(*one) if isinstance(one, tuple) else one for one in type(focused).__dict__.get("BINDINGS", ())]
    own = [(one.key, one.key_display or one.key.split(",")[0], one.description) for one in bindings if one.description]
    return own + [(key.keys, key.written, key.label) for key in table_of(focused) if key.rank < SHEET]


def table_of(widget: Widget | None) -> tuple[Key, ...]:
    """Return the keys of the command table that a widget has, () for none."""
    return getattr(widget, "key_table", ())


def bound(before: BindingsMap, keys: Sequence[Key], screen: str = "watch") -> BindingsMap:
    """Return `before` with bindings for a table of keys added. Their ids, with the name of the screen, allow users to
    remap them.
    """
    ours = [
        Binding(key.keys, key.action, key.label, show=False, id=f"{screen}.{key.name}")
        for key in keys
    ]
    return BindingsMap.from_keys({**before.key_to_bindings, **BindingsMap(ours).key_to_bindings})


def give_keys(widget: Widget, name: str) -> tuple[Key, ...]:
    """Bind a widget's part of the table, as the user has chosen the keys, and return it.

    Args:
        name: Of its part. What its keys do is in its attribute `commands`, by the names of the actions.
    """
    table = of(name)
    widget._bindings = bound(widget._bindings, table, name)
    return table


def help_table(keys: Sequence[Key]) -> str:
    """Return the keys as a Markdown table."""
    rows = [f"| `{key.written}` | {key.meaning.replace('|', '/')} |" for key in keys]
    return "\n".join(["| key | what it does |", "|---|---|", *rows])


def page(tables: Mapping[str, Sequence[Key]]) -> str:
    """Return the page of the docs with the keys of all screens, by the names of the screens, in Markdown."""
    parts = ["# Keys", "`[keys]` in the config file gives actions other keys, by the names in the last column."]
    for screen, keys in tables.items():
        rows = [f"| `{key.written}` | {key.meaning.replace('|', '/')} | `{screen}.{key.name}` |" for key in keys]
        parts += [f"## {screen}", "\n".join(["| key | what it does | name |", "|---|---|---|", *rows])]
    return "\n\n".join((*parts, help_list()))
