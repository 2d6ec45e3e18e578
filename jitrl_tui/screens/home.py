"""The home screen: sessions to resume, games and web tasks to start, recordings and benchmarks to look at.

Nothing is started or resumed unasked. Pressing Enter does what the line below the lists says.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

from textual.app import ComposeResult
from textual.containers import Container
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from engine.errors import JitrlError
from jitrl_tui import keymap
from jitrl_tui.arguments import racers
from jitrl_tui.command_table import Key
from jitrl_tui.preferences import current
from jitrl_tui.preferences.config import GAME
from jitrl_tui.runs.home_contents import HomeContents, SessionRow
from jitrl_tui.screens import dialogs, home_rows
from jitrl_tui.screens.command_screen import CommandScreen
from jitrl_tui.screens.home_actions import StoredHome
from jitrl_tui.screens.home_form import ChangeDialog, HowForm
from jitrl_tui.screens.home_preview import NOTHING, KnownPane, MemoryPreviews, Preview
from jitrl_tui.system.background import Background
from jitrl_tui.widgets.clickable import KeyBar, Sections
from jitrl_tui.widgets.lines import ACCENT, MUTED
from jitrl_tui.widgets.options import Entry, Options

SECTIONS = {
    "resume": "resume", "start": "watch", "web": "web", "recordings": "recordings", "benches": "benches",
    "play": "play", "race": "race", "memories": "memory",
}  # fmt: skip
"""Titles by name."""
_TITLES = {
    "start": "watch an agent learn a game", "web": "web tasks", "benches": "runs of benchmarks",
    "play": "play yourself; the agent advises you",
    "race": "race: an agent against the model alone, both with empty memories", "memories": "memories",
}  # fmt: skip
"""Longer titles, over the list."""
_DOES = {
    "start": ("watch", "watch it learn {}"), "web": ("watch", "watch it learn {}"),
    "play": ("play", "play {} yourself"), "race": ("race", "race {1} on {0}"),
}  # fmt: skip
"""What Enter does in a section where something is started: in a word, and as a sentence with the game."""
_FORM = tuple(_DOES)
"""Sections with the form."""
_SESSIONS = ("resume", "recordings")
_LATE = ("web", "benches", "memories")
"""Sections that are filled after the first list is shown."""
_SEEN = (*_SESSIONS, "memories")
"""Sections whose rows are always shown beside the list."""
_LEARNT = {"start": False, "play": True}
"""Sections in which what is known of the marked game stands below the form, and whether its actions are kept secret."""
_PREVIEW = 100
"""Columns from which the marked session, or the last one of the marked game, is shown beside the list."""
_TALL = 34
"""Rows from which the form has room below the list, so that such a session can stand beside both."""
_OTHER_ROWS = 36
"""Rows that are needed, besides those of the list, to show what is known of a game."""
_EMPTY = {
    "resume": "There is nothing to resume. 2 starts a game.",
    "start": "No games were found; see --games DIR.",
    "web": "There are no web tasks.",
    "recordings": "Nothing was played yet. 2 starts a game.",
    "benches": "There are no runs of benchmarks. `jitrl bench quick` makes one in a minute or two.",
    "play": "No games were found; see --games DIR.",
    "race": "No games were found; see --games DIR.",
    "memories": NOTHING,
}


class HomeScreen(CommandScreen[int]):
    """Chooses what is to be resumed, started or looked at.

    Args:
        actions: The saves folder.
        games: Folder with more stories.
    """

    CSS_PATH = "home.tcss"
    screen_name = "home"

    def __init__(self, actions: StoredHome, games: str | None = None) -> None:
        super().__init__()
        self.commands = {
            "section": self.open_section, "filter": self._ask_filter, "sort": self._sort_next, "begin": self._begin,
            "play": self._play, "memory": self._open_memory, "change": self._ask_change, "rename": self._ask_name,
            "delete": self._ask_delete, "to_list": self._to_list, "help": self.show_help,
        }  # fmt: skip
        self._actions, self._games = actions, games
        self._contents: HomeContents | None = None
        self._section = self._marked = self._said = self._suggested = ""
        self._sort = next(iter(home_rows.SORTS))
        self._work = Background(self)
        self._previews = MemoryPreviews(self, lambda folder: self._actions.known(folder), self._look)

    def compose(self) -> ComposeResult:
        """Lay out the sections, the list and the form."""
        yield Static(
            Content.assemble(
                ("jitrl", ACCENT),
                ("  watch a frozen language model learn to play text adventures", ""),
            ),
            id="head",
        )
        yield Sections("sections")
        with Container(id="home"):
            with Container(id="left"):
                yield Options(id="games", markup=False)
                form = HowForm("form")
                form.border_title = Content("how it is played")
                yield form
                yield KnownPane("known")
            yield Preview("preview")
        yield Entry(id="filter", placeholder="words of a row; Enter keeps the filter, esc ends it")
        yield Static(id="message", markup=False)
        yield KeyBar("homekeys")

    def on_mount(self) -> None:
        """Load the contents while the screen is already visible."""
        self.query_one("#filter").display = False
        self._open("start")
        self.listing.focus()
        self._section = ""  # The contents decide, unless a section is chosen before they are here.
        self.call_after_refresh(self.reload)  # it takes the time of the first drawing otherwise

    def on_resize(self) -> None:
        """Leave out lines if the window is low."""
        self.set_class(self.app.size.height < 28, "-short")
        self._arrange()
        self.call_after_refresh(self._fill)
        self.call_after_refresh(self.query_one(HowForm).tell)

    def reload(self) -> None:
        """Load the contents anew."""
        self._previews.forget()
        self._work.begin(
            lambda _: self._actions.load(), self._found, lambda said: self._loaded(HomeContents((), message=said)),
            what="Looking for games and sessions",
        )  # fmt: skip

    def _found(self, contents: HomeContents) -> None:
        """Show games and sessions, and look for the rest."""
        self._loaded(contents)
        self._work.begin(lambda _: self._actions.scores(contents), self._scored, self._say, what="Reading scores")

    def _scored(self, contents: HomeContents) -> None:
        self._renew(contents)
        self._work.begin(lambda _: self._actions.complete(contents), self._renew, self._say, what="Looking for runs")

    def _renew(self, contents: HomeContents) -> None:
        """Show more; what is open and marked stays."""
        self._contents = contents
        self._arrange()
        self._fill()
        self._look()

    def on_unmount(self) -> None:
        """Take no contents any more."""
        self._work.close()
        self._previews.close()

    @property
    def listing(self) -> OptionList:
        """The list of the open section."""
        return self.query_one("#games", OptionList)

    def _loaded(self, contents: HomeContents) -> None:
        """Show the contents: the sessions to resume if there are some, else the games."""
        self._contents = contents
        self._open(self._section or ("resume" if contents.unfinished else "start"))
        if contents.message:
            self._say(contents.message)

    # --------------------------------------------------------------------------------------- sections

    def open_section(self, name: str) -> None:
        """Open a section."""
        self._open(name)
        self.listing.focus()

    def on_sections_chosen(self, event: Sections.Chosen) -> None:
        """Open the clicked section."""
        self.open_section(event.section)

    def _open(self, name: str) -> None:
        self._section = name
        form = self.query_one(HowForm)
        form.display = name in _FORM
        form.turn_to("web" if name == "web" else "game")
        form.query_one("#memory").display = name != "race"  # each racer has a memory of its own
        form.describe("")
        self._arrange()
        self.listing.border_title = Content(_TITLES.get(name, SECTIONS[name]))
        self._fill()
        self.call_after_refresh(self._fill)  # the list has its width only now

    def _arrange(self) -> None:
        """Give the room beside the list to a session, to the form, or to the list."""
        width, height = self.app.size
        name = self._section or "start"
        form = name in _FORM
        fits = height >= _TALL and self._contents is not None and bool(self._contents.sessions) if form else True
        preview = width >= _PREVIEW and fits and (form or name in _SEEN)
        games = len(self._contents.games) if self._contents is not None else 0
        learnt = preview and name in _LEARNT and height >= games + _OTHER_ROWS
        self.query_one(KnownPane).display = learnt
        self.query_one(Preview).display = preview
        classes = {"-learnt": learnt, "-beside": preview, "-whole": not preview and not form}
        self.update_classes(classes, update=self.is_mounted)  # all is styled when the screen comes to the front

    def _fill(self) -> None:
        """Fill the list with the rows of the open section. The highlight stays where it was in this section."""
        listing, name = self.listing, self._section or "start"
        counts = self._counts()
        keys = {key.action: key.first for key in self.key_table}
        self.query_one(Sections).show(
            [(one, keys[f"section({one!r})"], title + counts.get(one, "")) for one, title in SECTIONS.items()], name
        )
        before = listing.highlighted_option
        at = before.id if before is not None else None
        width = max(24, listing.scrollable_content_region.width)
        rows = self._rows(name, width)
        listing.clear_options()
        listing.add_options(rows)
        enabled = [number for number, row in enumerate(rows) if not row.disabled]
        if enabled:
            same = [number for number in enabled if rows[number].id == at]
            listing.highlighted = (same or [self._preferred(rows, enabled)])[0]
        elif self._contents is not None and not self._waits(name):
            self.query_one(Preview).show(None)
            none = "No row has these words." if self.query_one("#filter", Input).value else _EMPTY[name]
            self._say(self._contents.message or none)
        self._show_keys()

    def _waits(self, name: str) -> bool:
        """Return whether the contents of a section are still looked for."""
        return self._contents is None or (name in _LATE and not self._contents.complete)

    def _preferred(self, rows: Sequence[Option], enabled: Sequence[int]) -> int:
        """Return the row to begin with: the game that was started last, else the first one."""
        last = current().remembered.values.get(GAME)
        return next((number for number in enabled if rows[number].id == f"start:{last}"), enabled[0])

    def _counts(self) -> dict[str, str]:
        contents = self._contents
        if contents is None:
            return {}
        numbers = {
            "resume": len(contents.unfinished),
            "recordings": len(contents.sessions),
            "benches": len(contents.benches),
        }
        return {name: f" {count}" for name, count in numbers.items() if count}

    def _rows(self, name: str, width: int) -> list[Option]:
        """Return the rows of a section. Ids are the section and what the row is."""
        contents = self._contents
        if contents is None or self._waits(name):
            return [Option(Content.styled("looking for games, sessions, tasks and runs …", MUTED), disabled=True)]
        above, rows, below = home_rows.of_section(contents, name, width, self._sort)
        words = self.query_one("#filter", Input).value.lower().split()
        kept = [row for row in rows if all(word in f"{row.id} {row.prompt}".lower() for word in words)]
        return [*above, *kept, *below] if kept else []

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Say what Enter does with the highlighted row, and show it beside the list."""
        self._look()

    def _look(self) -> None:
        contents, marked = self._contents, self.listing.highlighted_option
        option = marked.id or "" if marked is not None else ""
        if contents is None:
            return
        session = self._session()
        game = next((game for game in contents.games if option == f"start:{game.name}"), None)
        task = next((row for row in contents.web if option == row.name), None)
        if game is not None:
            self.query_one(HowForm).describe(game.about)
            played = home_rows.sessions_of(contents.sessions, game.name)
            self.query_one(Preview).show_game(game.title or game.name, played)
            against = " against ".join(racers(self.query_one(HowForm).agent))
            self._suggest(f"Press Enter to {_DOES[self._section][1].format(game.title or game.name, against)}.")
            if self.query_one(KnownPane).display:
                known, nothing = self._previews.game(game.name)
                secret = _LEARNT[self._section]
                self.query_one(KnownPane).show(game.title or game.name, known, nothing, secret=secret)
        elif task is not None:
            self.query_one(HowForm).describe(task.intent)
            self.query_one(Preview).show_game(task.name, home_rows.sessions_of(contents.sessions, task.name))
            self._suggest(f"Press Enter to watch it learn {task.name}.")
        elif session is not None:
            does = "go on where this session stood" if self._section == "resume" else "look at this recording"
            self.query_one(Preview).show(session)
            name, *facts = home_rows.session_facts(session)
            about = "" if self.query_one(Preview).display else f"\n{name}: {'; '.join(facts)}."
            self._suggest(f"Press Enter to {does}.{about}")
        elif option.startswith("memory:"):
            if self.query_one(Preview).display:
                self.query_one(Preview).show_known(*self._previews.of(Path(option[7:])))
            self._suggest("Press Enter to search, edit, forget, merge and compare what it has.")
        elif option:
            race = next((row for row in contents.races if option == f"race:{row.name}"), None)
            if race is not None:
                self.query_one(Preview).show_race(race)
            self._suggest(f"Press Enter to {self._looks(option)} this {'race' if self._section == 'race' else 'run'}.")

    def _looks(self, option: str) -> str:
        unfinished = self._contents is not None and any(
            option == f"race:{row.name}" and not row.finished for row in self._contents.races
        )
        return "go on with" if unfinished else "look at"

    def _show_keys(self) -> None:
        keys = keymap.footer(self.keys_now())
        does = "resume" if self._section == "resume" else _DOES.get(self._section, ("look", ""))[0]
        first = next(key for key in self.key_table if key.action == "begin")
        form = [("tab", "how it is played", "tab", 1)] if self._section in _FORM else []
        self.query_one(KeyBar).show([(first.written, does, first.first, 0), ("↑↓", "choose", "down", 4), *form, *keys])

    def keys_now(self) -> Sequence[Key]:
        """Return the keys that do something in the open section."""
        return [key for key in self.key_table if self._fits(key)]

    def _fits(self, key: Key) -> bool:
        if key.action == "change":
            return self._section == "resume"
        if key.action == "play":
            return self._section in ("start", "web")
        return key.action not in ("rename", "delete", "sort") or self._section in _SESSIONS

    # ----------------------------------------------------------------------------------------- actions

    def _session(self) -> SessionRow | None:
        """Return the highlighted session, None if there is none."""
        option = self.listing.highlighted_option
        if option is None or self._contents is None or self._section not in _SESSIONS:
            return None
        name = (option.id or "").partition(":")[2]
        return next((row for row in self._contents.sessions if row.saved.name == name), None)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Do what Enter does."""
        self._begin()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Start, because Enter was pressed in a field; in the filter, go back to the list."""
        if event.input.id == "filter":
            self.listing.focus()
            event.input.display = bool(event.value)
        else:
            self._begin()

    def on_picker_changed(self) -> None:
        """Show a description of the choice, and what Enter does with it."""
        self.query_one(HowForm).tell()
        self._look()

    def on_input_changed(self, event: Input.Changed) -> None:
        """Filter the list, or check again whether the model can do what the method needs."""
        if event.input.id == "filter":
            self._fill()
        else:
            self.query_one(HowForm).tell()

    def _ask_filter(self) -> None:
        """Show only rows that have the words that are typed now."""
        field = self.query_one("#filter", Input)
        field.display = True
        field.focus()

    def _sort_next(self) -> None:
        """Sort the sessions in the next order."""
        orders = list(home_rows.SORTS)
        self._sort = orders[(orders.index(self._sort) + 1) % len(orders)]
        self._fill()

    def _begin(self) -> None:
        """Start, resume or look at what is highlighted."""
        option, session = self.listing.highlighted_option, self._session()
        if option is None or not option.id or self._contents is None:
            return
        if session is not None:
            if self._section == "resume":
                self._guarded(lambda: self._actions.go_on(session.saved), self.app.switch_screen)
            else:
                self._guarded(lambda: self._actions.recording(session.saved), self.app.push_screen)
        elif self._section == "benches":
            row = next(row for row in self._contents.benches if option.id == f"bench:{row.folder.name}")
            self._guarded(lambda: self._actions.bench(row), self.app.push_screen)
        elif option.id.startswith("memory:"):
            folder = Path(option.id[7:])
            self._guarded(lambda: self._actions.memory(folder), self.app.push_screen)
        elif option.id.startswith("race:"):
            race = next(row for row in self._contents.races if option.id == f"race:{row.name}")
            self._guarded(lambda: self._actions.raced(race), self.app.switch_screen)
        else:
            self._start(option.id.removeprefix("start:"), play=self._section == "play")

    def _play(self) -> None:
        """Play one episode of the highlighted game or web task by hand."""
        option = self.listing.highlighted_option
        if option is not None and option.id and self._section in _FORM:
            self._start(option.id.removeprefix("start:"), play=True)

    def _open_memory(self) -> None:
        """Look at what is remembered."""
        self._guarded(self._actions.memory, self.app.push_screen)

    def _start(self, game: str, *, play: bool = False) -> None:
        def make() -> Screen[int]:
            screen: Screen[int]
            config = self.query_one(HowForm).config(game, self._games)
            if play:
                config = dataclasses.replace(config, episodes=1)
            race = self._section == "race"
            screen = self._actions.race(config) if race else self._actions.begin(config, play=play)
            current().remembered.keep({GAME: game, "session.model": config.model, "session.profile": config.profile})
            return screen

        self._guarded(make, self.app.switch_screen)

    def _guarded(self, make: Callable[[], Screen[int]], show: Callable[[Screen[int]], object]) -> None:
        try:
            screen = make()
        except JitrlError as error:
            self._say(str(error))
        else:
            show(screen)

    def _ask_change(self) -> None:
        """Ask for another model or profile, and go on with it in a new session."""
        row = self._session()
        if row is None or self._section != "resume":
            return
        config = row.saved.config

        def changed(answer: tuple[str, str] | None) -> None:
            if answer is not None:
                self._guarded(lambda: self._actions.change(row.saved, *answer), self.app.switch_screen)

        left = config.episodes - len(row.facts.scores)
        self.app.push_screen(ChangeDialog(config.model, config.profile, left), changed)

    def _ask_name(self) -> None:
        """Ask for another name of the highlighted session."""
        row = self._session()
        if row is not None:
            hint = "Its recording and its memory stay as they are."
            dialog = dialogs.FieldDialog("rename", hint, row.saved.name, lambda to: (to.strip(), ""), selected=False)
            self.app.push_screen(dialog, lambda to: self._change(self._actions.rename, row.saved, to) if to else None)

    def _ask_delete(self) -> None:
        """Delete the highlighted session, after a question."""
        row = self._session()
        if row is None:
            return
        memory = "the game's memory keeps what it learnt" if row.saved.config.memory == "shared" else (
            "with a memory of its own"
        )
        played = f"{len(row.facts.scores)} episode{'' if len(row.facts.scores) == 1 else 's'}"
        question = f"{row.saved.name} ({row.saved.config.game}, {played}) will be gone for ever; {memory}."
        self.app.push_screen(
            dialogs.ConfirmDialog("delete?", question, "delete"),
            lambda yes: self._change(self._actions.delete, row.saved) if yes else None,
        )

    def _change(self, do: Callable[..., None], *what: object) -> None:
        """Change the stored sessions, and load the lists anew."""
        try:
            do(*what)
        except JitrlError as error:
            self.notify(str(error), severity="error")
        self.reload()

    def _to_list(self) -> None:
        """Move the focus to the list; from there, end the filter."""
        field = self.query_one("#filter", Input)
        if self.focused is field or self.focused is self.listing:
            field.value, field.display = "", False
        self.listing.focus()

    def _suggest(self, text: str) -> None:
        """Say what Enter does with the marked row, unless something else was said since it was marked."""
        option = self.listing.highlighted_option
        row = f"{self._section} {option.id if option is not None else ''}"
        if row != self._marked or self._said == self._suggested:
            self._marked, self._suggested = row, text
            self._say(text)

    def _say(self, text: str) -> None:
        self._said = text
        self.query_one("#message", Static).update(Content(text))
