"""The settings screen: every setting with its value, where the value comes from, and what it means."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from engine.environments import profile
from engine.errors import JitrlError, UsageError
from engine.session.levers import LEVERS
from jitrl_tui import keymap
from jitrl_tui.panes.registry import kinds
from jitrl_tui.preferences import FoundValue, config, current, schema, use
from jitrl_tui.screens import dialogs
from jitrl_tui.screens.command_screen import CommandScreen
from jitrl_tui.screens.levers import STOPS, Levers
from jitrl_tui.widgets.clickable import KeyBar
from jitrl_tui.widgets.lines import ACCENT, HUMAN, MUTED, STRONG, fit
from jitrl_tui.widgets.options import Entry, Options

AT_ONCE = ("app.theme", "app.speed", "app.layout")
"""What the screens behind this one follow when it closes, or before."""


@dataclass(frozen=True, slots=True)
class SettingRow:
    """A setting, or the key of an action.

    Attributes:
        key: Name with its section.
        group: Heading.
        name: Name on the screen.
        value: Its value, as text.
        found: Where it comes from.
        usual: Its default, as text.
        meaning: What it is.
        allowed: The allowed values, in a phrase.
        set_by: How else it can be set.
        choices: The values there are, () for any.
    """

    key: str
    group: str
    name: str
    value: str
    found: FoundValue
    usual: str
    meaning: str
    allowed: str
    set_by: str
    choices: tuple[str, ...] = ()

    def has(self, words: str) -> bool:
        """Return whether it has all words of a search."""
        text = f"{self.key} {self.group} {self.meaning} {self.value} {self.found.source}".casefold()
        return all(word in text for word in words.casefold().split())


def typed_form(value: object) -> str:
    """Return a value as it is typed."""
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else str(value)


def rows() -> Iterator[SettingRow]:
    """Yield everything that can be set, in the order of display."""
    made = current()
    named = made.value("session.profile")
    usual = profile(named)
    values = {name: getattr(usual, name) for name in schema.BY_NAME if hasattr(usual, name)}
    for option in schema.OPTIONS:
        found = made.found(option.key, profile=values)
        yield SettingRow(
            option.key, option.group, option.name, typed_form(found.value), found, typed_form(option.default),
            option.meaning, option.allowed,
            f"{option.flag}, {option.variable}" if option.flag else option.variable, option.choices,
        )  # fmt: skip
    chosen = made.config.keys
    for screen, keys in keymap.tables(kinds()).items():
        for key in keys:
            name = f"{screen}.{key.name}"
            found = FoundValue(chosen[name], "file", str(made.config.file)) if name in chosen else FoundValue(key.keys)
            yield SettingRow(
                f"keys.{name}", f"Keys of the screen {screen}", key.name, chosen.get(name, key.written), found,
                key.written, key.meaning, "one or more keys, such as x, ctrl+n, f5", "the config file alone",
            )  # fmt: skip


def ask(row: SettingRow) -> dialogs.Dialog[str]:
    """Return a window that asks for another value of a setting."""
    if not row.choices:
        hint = f"{row.meaning} ({row.allowed})"
        return dialogs.FieldDialog(row.key, hint, row.value, lambda text: (text, mistake(row.key, text)))
    marks = {row.value: "now", row.usual: "default"}
    rows = [
        (one, Content.assemble(f"  {one or 'nothing':<16}", (marks.get(one, ""), MUTED))) for one in row.choices
    ]
    return dialogs.PickDialog(row.key, row.meaning, "type to filter", rows=rows)


def reach_text(key: str, running: Levers | None = None) -> str:
    """Return what a change of a setting reaches, in a phrase.

    Args:
        running: The settings of the session on the screen; None if there is none.
    """
    section, _, name = key.partition(".")
    if key in AT_ONCE:
        return "what is on the screen, at once"
    if section == "keys":
        return "screens that are opened from now on"
    if section in ("session", "settings"):
        by_hand = ""
        if section == "settings" and running is not None and running.follows(name):
            by_hand = ", and the one on the screen from its next decision on"
        elif section == "settings" and name in LEVERS:
            by_hand = "; a running one by [ and ] from its next decision on, or by K"
        elif section == "settings" and name in STOPS:
            by_hand = "; a running one with K, then b, in a branch"
        return f"sessions that begin from now on{by_hand}"
    return "jitrl when it is started the next time"


def mistake(key: str, text: str) -> str:
    """Return why a typed value cannot be set, "" if it can."""
    try:
        name, value = config.check_setting(key, text)
        if name.startswith("keys."):
            chosen = {**current().config.keys, name.removeprefix("keys."): value}
            return next(iter(keymap.mistakes(keymap.tables(kinds()), chosen)), "") if value else "a key is needed"
    except UsageError as error:
        return str(error)
    return ""


class SettingsScreen(CommandScreen[None]):
    """A list of everything that can be set. What is changed is written to the config file, and followed at once.

    Args:
        running: The settings of the session on the screen, which follows some of them; None if there is none.
    """

    CSS_PATH = "settings.tcss"
    screen_name = "settings"
    help_pages = ()

    def __init__(self, running: Levers | None = None) -> None:
        super().__init__()
        self.commands = {
            "edit": self._edit, "search": self._search, "take_out": self._take_out, "leave": self._leave,
            "help": self.show_help,
        }  # fmt: skip
        self._levers = running
        self._rows: list[SettingRow] = []

    def compose(self) -> ComposeResult:
        """Lay out search, list and details."""
        yield Static(id="settingshead", markup=False)
        hint = "type to search: a name, a word of the meaning, or where it comes from"
        yield Entry(id="search", placeholder=hint, select_on_focus=True)
        yield Options(id="settings", markup=False)
        yield Static(id="about", markup=False)
        yield KeyBar("settingskeys")

    def on_mount(self) -> None:
        """Show all."""
        self.query_one(KeyBar).show(keymap.footer(self.keys_now()))
        self.app.theme_changed_signal.subscribe(self, lambda theme: self._load())
        self.listing.focus()
        self._load()

    def on_resize(self) -> None:
        """Fit the rows to the width."""
        self.call_after_refresh(self._fill)

    @property
    def listing(self) -> OptionList:
        """The list."""
        return self.query_one("#settings", OptionList)

    @property
    def row(self) -> SettingRow | None:
        """The highlighted setting."""
        option = self.listing.highlighted_option
        return next((row for row in self._rows if option is not None and row.key == option.id), None)

    def _load(self) -> None:
        self._rows = list(rows())
        made = current()
        wrong = (*made.problems, *keymap.mistakes(keymap.tables(kinds()), made.config.keys))
        text = Content.assemble(("settings", ACCENT), (f"  {made.config.file}", MUTED))
        if wrong:
            text = Content("\n").join([text, *(Content.styled(problem, HUMAN) for problem in wrong[:3])])
        self.query_one("#settingshead", Static).update(text)
        self._fill()

    def _fill(self) -> None:
        listing, words = self.listing, self.query_one("#search", Input).value
        at = listing.highlighted_option.id if listing.highlighted_option is not None else None
        width = max(40, listing.scrollable_content_region.width)
        options, group = list[Option](), ""
        for row in self._rows:
            if not row.has(words):
                continue
            if row.group != group:
                group = row.group
                options.append(Option(Content.styled(fit(f"── {group} ", width).rstrip(), MUTED), disabled=True))
            options.append(Option(_line(row, width), id=row.key))
        listing.clear_options()
        listing.add_options(options)
        enabled = [number for number, option in enumerate(options) if not option.disabled]
        if enabled:
            listing.highlighted = next((number for number in enabled if options[number].id == at), enabled[0])
        else:
            self.query_one("#about", Static).update(Content("No setting has these words."))

    def on_option_list_option_highlighted(self) -> None:
        """Show the details of the highlighted setting."""
        row = self.row
        if row is not None:
            self.query_one("#about", Static).update(
                Content.assemble(
                    (row.key, STRONG), f": {row.meaning}\n",
                    (f"allowed: {row.allowed}\ndefault: {row.usual or 'nothing'}   from: {row.found.source_text}   "
                     f"also set by: {row.set_by}\na change reaches: {reach_text(row.key, self._levers)}", MUTED),
                )
            )  # fmt: skip

    def on_input_changed(self) -> None:
        """Search."""
        self._fill()

    def on_input_submitted(self) -> None:
        """Go to the list."""
        self.listing.focus()

    def _search(self) -> None:
        """Go to the search."""
        self.query_one("#search", Input).focus()

    def _leave(self) -> None:
        """Leave the search, or the screen."""
        field = self.query_one("#search", Input)
        if self.focused is field or field.value:
            field.value = ""
            self.listing.focus()
        else:
            self.dismiss()

    def on_option_list_option_selected(self) -> None:
        """Change the setting."""
        self._edit()

    def _edit(self) -> None:
        """Ask for another value."""
        row = self.row
        if row is not None:
            self.app.push_screen(ask(row), lambda text: self._set(row, text))

    def _set(self, row: SettingRow, text: str | None) -> None:
        if text is None:
            return
        try:
            key, value = config.check_setting(row.key, text)
            self._write(row, key, value)
        except JitrlError as error:
            self.notify(str(error), severity="error")

    def _take_out(self) -> None:
        """Take the setting out of the config file, after a question."""
        row = self.row
        if row is None:
            return
        if row.found.source != "file":
            self.notify(f"{row.name} is not set by the config file; it comes from: {row.found.source_text}.", timeout=4)
            return

        def take_out(yes: bool | None) -> None:
            try:
                if yes:
                    self._write(row, row.key, None)
            except JitrlError as error:
                self.notify(str(error), severity="error")

        text = f"{row.name} = {row.value} is taken out of the config file."
        self.app.push_screen(dialogs.ConfirmDialog("take out?", text, "take it out", "delete"), take_out)

    def _write(self, row: SettingRow, key: str, value: object) -> None:
        """Write a value to the config file, and follow it."""
        made = current()
        config.set_value(made.config.file, key, value)
        use(made.renewed())
        if key == "app.theme":
            self.app.theme = current().value(key)
        found = current().found(key) if key in schema.BY_KEY else FoundValue(value, "file")
        if value is not None and found.source in ("flag", "environment"):
            self.notify(f"Written, but the {found.source_text} comes first.", severity="warning", timeout=6)
        elif isinstance(value, (int, float)) and key.startswith("settings.") and self._levers is not None:
            self._levers.follow(row.name, value)
        elif key.startswith("keys."):
            self.notify("Written; screens that are opened from now on have it.", timeout=4)
        self._load()


def _line(row: SettingRow, width: int) -> Content:
    """Return the line of a setting: name, value, source, and the beginning of its meaning."""
    changed = row.found.source != "default"
    rest = width - 22 - 20 - 11 - 3
    return Content.assemble(
        (fit(("* " if changed else "  ") + row.name, 22), STRONG if changed else ""), " ",
        (fit(row.value or "–", 20), STRONG if changed else ""), " ",
        fit(row.found.source, 11) + (" " + fit(row.meaning, rest) if rest > 12 else ""),
    )  # fmt: skip
