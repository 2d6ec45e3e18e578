"""The home screen, on which a game is chosen and started. Pressing Enter starts the first game with the defaults."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, ClassVar

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import Binding
from textual.containers import Container, Horizontal, Vertical
from textual.content import Content
from textual.message import Message
from textual.screen import Screen
from textual.validation import Integer
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from engine.errors import JitrlError
from jitrl_tui.help import page
from jitrl_tui.host import Host
from jitrl_tui.offer import GameRow, Offer
from jitrl_tui.screens import dialogs
from jitrl_tui.view import points
from jitrl_tui.widgets.keybar import KeyBar
from jitrl_tui.widgets.lines import ACCENT, MUTED, STRONG, fit
from jitrl_tui.widgets.options import Options
from jitrl_tui.widgets.picker import Picker

if TYPE_CHECKING:
    from engine.session.store import SavedSession
    from engine.settings import SessionConfig

DEFAULT_MODEL = "local/smollm2"
_CAPABLE = "gemini/gemini-2.5-flash"
_SMALL = (DEFAULT_MODEL, "prior/")
"""Beginnings of the names of models that write no usable texts."""
_MEMORIES = (("shared", "goes on with what it knows"), ("own", "begins with an empty one"))
_METHODS = (
    ("default", "plans through memory; learns best with small models"),
    ("paper", "the paper's JitRL: neighbours, LLM evaluator and summaries"),
    ("reference", "the authors' code, where it differs from the paper"),
    ("unified", "one pipeline for games and the web, after the paper"),
)
"""Profiles (`engine.settings.PROFILES`) with a description for people."""

_NUMBERS = (("episodes", "50", 1_000_000), ("steps", "60", 100_000), ("seed", "1", 2**31 - 1))


class HomeScreen(Screen[int]):
    """Chooses game, method, agent, model and episodes, or a session to resume.

    Args:
        load: Returns the contents of the screen. It is called in another thread.
        begin: Opens a new session on the screen.
        go_on: Opens a saved session on the screen.
    """

    CSS_PATH = "home.tcss"
    BINDINGS: ClassVar = [
        Binding("enter", "begin", show=False),
        Binding("q", "app.leave", show=False),
        Binding("question_mark", "help", show=False),
        Binding("d", "theme", show=False),
        Binding("escape", "to_games", show=False),
    ]

    app: Host

    class Loaded(Message):
        """The contents of the screen were loaded."""

        def __init__(self, offer: Offer) -> None:
            super().__init__()
            self.offer = offer

    def __init__(
        self,
        load: Callable[[], Offer],
        begin: Callable[[SessionConfig], Screen[int]],
        go_on: Callable[[SavedSession], Screen[int]],
        games: str | None = None,
    ) -> None:
        super().__init__()
        self._load, self._begin, self._go_on, self._games = load, begin, go_on, games
        self._offer = Offer(())
        self._about = ""

    def compose(self) -> ComposeResult:
        """Lay out the list and the form."""
        from engine.agents import AGENTS

        yield Static(
            Content.assemble(
                ("jitrl", ACCENT),
                ("  watch a frozen language model learn to play text adventures", ""),
            ),
            id="head",
        )
        yield Static(id="message", markup=False)
        with Container(id="home"):
            listing = Options(id="games", markup=False)
            listing.border_title = Content("games")
            yield listing
            form = Vertical(id="form")
            form.border_title = Content("how it is played")
            with form:
                yield Static(id="methodlabel", classes="label", markup=False)
                yield Picker("method", list(_METHODS))
                yield Picker(
                    "agent", [(m.name, m.about.split(";")[0]) for m in AGENTS.all().values()], label="agent"
                )
                yield Static("model, any litellm name", classes="label")
                yield Input(DEFAULT_MODEL, id="model", select_on_focus=False)
                with Horizontal(classes="row"):
                    for name, default, most in _NUMBERS:
                        with Vertical():
                            yield Static(name, classes="label")
                            check = [Integer(0 if name == "seed" else 1, most)]
                            yield Input(default, id=name, validators=check, select_on_focus=False)
                yield Picker("memory", list(_MEMORIES), label="memory")
                yield Static(id="about", markup=False)
        yield KeyBar("homekeys")

    def on_mount(self) -> None:
        """Load the contents while the screen is already visible."""
        for field in self.query(Input):
            field.cursor_blink = False
        listing = self.query_one("#games", OptionList)
        listing.add_option(Option(Content.styled("looking for games …", MUTED), disabled=True))
        listing.focus()
        self.query_one(KeyBar).show(
            [
                ("Enter", "watch", "enter", 1),
                ("↑↓", "choose", "down", 1),
                ("tab", "settings", "tab", 1),
                ("?", "help", "question_mark", 1),
                ("d", "theme", "d", 1),
                ("q", "leave", "q", 1),
            ]
        )
        self.run_worker(self._find, thread=True, exit_on_error=False)

    def on_resize(self) -> None:
        """Leave out lines if the window is low."""
        self.set_class(self.app.size.height < 28, "-short")
        self.call_after_refresh(self._tell_method)

    def on_picker_changed(self) -> None:
        """Show a description of the choice."""
        self._tell_method()

    def on_input_changed(self) -> None:
        """Check again whether the model can do what the method needs."""
        self._tell_method()

    def _find(self) -> None:
        try:
            offer = self._load()
        except JitrlError as error:
            offer = Offer((), message=str(error))
        except Exception as error:
            offer = Offer((), message=f"The games could not be listed ({type(error).__name__}: {error}).")
        self.post_message(self.Loaded(offer))

    def on_home_screen_loaded(self, event: Loaded) -> None:
        """Show the contents, with the first game highlighted, so that Enter starts it."""
        self._offer = event.offer
        listing = self.query_one("#games", OptionList)
        listing.clear_options()
        width = max(24, listing.scrollable_content_region.width)
        for game in event.offer.games:
            listing.add_option(Option(_game_line(game, width), id=f"game:{game.name}"))
        if event.offer.sessions:
            listing.add_option(Option(Content.styled("── go on with ──", MUTED), disabled=True))
            for saved in event.offer.sessions:
                listing.add_option(Option(_session_line(saved, width), id=f"session:{saved.name}"))
        if event.offer.games or event.offer.sessions:
            listing.highlighted = 0
        self._say(
            event.offer.message or ("" if event.offer.games else "No games were found; see --games DIR.")
        )

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        """Say more about the highlighted game."""
        row = next((g for g in self._offer.games if f"game:{g.name}" == event.option.id), None)
        self._about = row.about if row else ""
        self._tell_method()
        what = f"watch it learn {row.title or row.name}" if row else "go on where this session stood"
        self._say(f"Press Enter to {what}.")

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Start the game, or resume the session."""
        self._open(event.option.id or "")

    def on_input_submitted(self) -> None:
        """Start, because Enter was pressed in a field."""
        self.action_begin()

    def action_begin(self) -> None:
        """Start the highlighted game or resume the highlighted session."""
        listing = self.query_one("#games", OptionList)
        if listing.highlighted is not None:
            self._open(listing.get_option_at_index(listing.highlighted).id or "")

    def action_to_games(self) -> None:
        """Move the focus to the list."""
        self.query_one("#games").focus()

    def action_help(self) -> None:
        """Show the help."""
        self.app.push_screen(dialogs.HelpDialog("help", page("home") + "\n\n" + page("terminal")))

    def action_theme(self) -> None:
        """Go to the next theme."""
        self.app.next_theme()

    def _tell_method(self) -> None:
        """Show the source of values, and what the method needs but the model cannot do."""
        from engine import explain
        from engine.environments import profile

        name, agent = self.query_one("#method", Picker).value, self.query_one("#agent", Picker).value
        label = self.query_one("#methodlabel", Static)
        made = profile(name)
        settings = {"estimator": made.estimator}
        for named in (explain.method, explain.method_in_short):
            text = f"method · {named(settings, agent)}"
            if cell_len(text) <= label.size.width:
                break
        label.update(Content(text))
        asks = agent == "jitrl" and "llm" in (made.state, made.history)
        model = self.query_one("#model", Input).value.strip() or DEFAULT_MODEL
        small = all(part.startswith(_SMALL) for part in model.split("+"))
        needs = (
            f"Needs a capable model, such as {_CAPABLE}. What this one cannot do is replaced by rules and said at "
            "the start."
        )
        about = "\n".join(filter(None, [needs if asks and small else "", self._about]))
        self.query_one("#about", Static).update(Content(about))

    def _open(self, option: str) -> None:
        kind, _, name = option.partition(":")
        if kind == "session":
            saved = next(s for s in self._offer.sessions if s.name == name)
            self._guarded(lambda: self._go_on(saved))
        elif kind == "game":
            self._guarded(lambda: self._begin(self._config(name)))

    def _guarded(self, make: Callable[[], Screen[int]]) -> None:
        try:
            screen = make()
        except JitrlError as error:
            self._say(str(error))
            return
        self.app.switch_screen(screen)

    def _config(self, game: str) -> SessionConfig:
        from engine.environments import profile
        from engine.errors import UsageError
        from engine.settings import SessionConfig

        numbers = {}
        for name, _, _ in _NUMBERS:
            text = self.query_one(f"#{name}", Input).value.strip()
            if not text.isascii() or not text.isdigit():
                raise UsageError(f"{name} must be a whole number, not {text!r}")
            numbers[name] = int(text)
        method = self.query_one("#method", Picker).value
        return SessionConfig(
            game=game,
            agent=self.query_one("#agent", Picker).value,
            model=self.query_one("#model", Input).value.strip() or DEFAULT_MODEL,
            episodes=numbers["episodes"],
            seed=numbers["seed"],
            profile=method,
            settings=profile(method, step_limit=numbers["steps"]),
            games=self._games,
            memory=self.query_one("#memory", Picker).value,
        )

    def _say(self, text: str) -> None:
        self.query_one("#message", Static).update(Content(text))


def _game_line(game: GameRow, width: int) -> Content:
    note = f"{points(game.max_score)} points" if game.max_score else ""
    mark = "shipped" if game.shipped else "yours"
    room = max(8, width - 24)
    return Content.assemble(
        (fit(game.title or game.name, room), STRONG),
        (f"{note:>12}", ""),
        (f"  {mark:<8}", ""),
    )


def _session_line(saved: SavedSession, width: int) -> Content:
    config = saved.config
    when = saved.name[:15]
    stamp = f"{when[4:6]}-{when[6:8]} {when[9:11]}:{when[11:13]}" if when[:8].isdigit() else when
    detail = f"{config.agent}, {config.model}"
    room = max(8, width - 16 - 26)
    return Content.assemble(
        (fit(config.game.rsplit("/", 1)[-1], room), STRONG),
        ("  " + fit(detail, 26), MUTED),
        f"  {stamp}",
    )
