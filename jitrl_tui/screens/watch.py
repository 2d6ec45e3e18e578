"""The watch screen: one run, live or recorded, with the keys that control it."""

from __future__ import annotations

import time
from bisect import bisect_right
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Static

from engine.records import EpisodeEnded, Paused, SessionEnded
from jitrl_tui import keymap, slash_commands
from jitrl_tui.panes.board import Panes
from jitrl_tui.panes.memory import MemoryPane
from jitrl_tui.panes.registry import kinds
from jitrl_tui.panes.tabs import TabLine
from jitrl_tui.places import RememberedMap
from jitrl_tui.preferences import used
from jitrl_tui.recent_events import Tape
from jitrl_tui.replay import ReplaySource
from jitrl_tui.screens import dialogs
from jitrl_tui.screens.curves import WithCurves
from jitrl_tui.screens.memory_actions import FAR_BACK, TrialScreen
from jitrl_tui.screens.overrule import Overruling
from jitrl_tui.screens.run_base import FRAME_S, HURRIED_S
from jitrl_tui.screens.steer_actions import AskingScreen
from jitrl_tui.screens.windows import WindowsScreen
from jitrl_tui.session_files import SessionFiles
from jitrl_tui.source import Item, Source
from jitrl_tui.view import DECISIONS, Choice, RunView, meant
from jitrl_tui.widgets.command import CommandLine
from jitrl_tui.widgets.keybar import KeyBar
from jitrl_tui.widgets.pane import ActionClicked, StepClicked
from jitrl_tui.widgets.scrubber import Scrubber
from jitrl_tui.widgets.status import Mode, StatusBar

if TYPE_CHECKING:
    from engine.session.branches import Keeper
    from engine.web.browser.pages import PageStore

SPEEDS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Delays between which + and - switch, in seconds per step."""


class WatchScreen(TrialScreen, WithCurves, AskingScreen, WindowsScreen):
    """One run on the screen.

    Args:
        source: The run: it gives events and takes commands.
        delay: Delay at the start, in seconds per step.
        play: Whether a person plays. Then the session waits at each decision, and there is a command line.
        paused: Whether the session waits at its first decision.
        keeper: Saves and branches; None for a recording.
        recorded: For a recording: the saves folder, and its file or folder; None if it is not among sessions.
        pages: Stored pages; None if there are none.
        files: What lies beside the session on disk; None if there is nothing.
    """

    CSS_PATH = "watch.tcss"
    watches = True

    def __init__(
        self,
        source: Source,
        *,
        delay: float = 1.0,
        play: bool = False,
        paused: bool = False,
        keeper: Keeper | None = None,
        recorded: tuple[Path, Path] | None = None,
        pages: PageStore | None = None,
        files: SessionFiles | None = None,
    ) -> None:
        super().__init__(source)
        self._kinds = kinds()
        self.key_table = self.keys_of_screen()
        self._bindings = keymap.bound(self._bindings, self.key_table)
        self.source = source
        self.keeper = keeper
        self.files = files
        self.recorded = recorded
        self.view = RunView(tape=Tape(DECISIONS) if source.live else None)
        self.stored_pages = pages
        self._delay = delay
        self.person_plays = play
        self._paused = paused or play
        self._thinking_since = 0.0
        self._hurry = self._hurry_from = 0
        self._looking: RunView | None = None
        self.overruling = Overruling(self)
        self._told_error = ""
        self._speed = used().value("app.speed")
        """The speed of the settings when another screen was opened."""

    following = ""
    """How a session of another process is shown, in a few words; "" for one of this process."""

    def keys_of_screen(self) -> tuple[keymap.Key, ...]:
        """Return the keys."""
        return keymap.watch(self._kinds)

    # ------------------------------------------------------------------------------------ composing

    def compose(self) -> ComposeResult:
        """Make all widgets once. Arrangements only hide and show them."""
        yield Static(id="tiny", markup=False)
        yield StatusBar("status")
        yield Static(id="banner", markup=False)
        yield Panes("body", self._kinds)
        yield Scrubber("scrubber")
        yield CommandLine("command", self.files.typed if self.files is not None else None)
        yield KeyBar("keybar")

    def on_mount(self) -> None:
        """Start the run."""
        self.query_one(Scrubber).display = not self.source.live
        self.query_one(CommandLine).display = self.person_plays
        self._thinking_since = time.monotonic()
        self.source.set_delay(self._delay)
        if self._paused:
            self.source.pause()
        if self.person_plays:
            self.panes.front("map")
            self.query_one(CommandLine).focus()
        else:
            self.panes.transcript.focus()
        self.set_interval(1.0, self._tick)
        self._arrange()
        self._draw()
        self.app.last_source = self.source
        if self._remembered is not None:
            self._remembered.loaded = lambda: self.app.call_later(self._draw)
        self.source.start(self._inbox)

    def on_resize(self) -> None:
        """Choose the arrangement for the new size."""
        self._arrange()
        self._draw()

    @property
    def _remembered(self) -> RememberedMap | None:
        return self.files.remembered if self.files is not None else None

    @property
    def panes(self) -> Panes:
        """The panes between the status line and the keys."""
        return self.query_one(Panes)

    def _arrange(self) -> None:
        """Arrange the widgets for the window's size."""
        now = self.panes.fit_to(self.app.size)
        for name in ("narrow", "side", "normal", "wide"):
            self.set_class(name == now, f"-{name}")
        self.set_class(self.panes.zoomed, "-zoom")
        self.set_class(bool(self.view.pages), "-web")
        tiny = now == "tiny"
        for name in ("#status", "#body", "#keybar"):
            self.query_one(name).display = not tiny
        self.show_too_small(tiny)
        self.query_one(Scrubber).display = not tiny and not self.source.live
        self.query_one(CommandLine).display = not tiny and self.person_plays

    # --------------------------------------------------------------------------------------- events

    def take_in(self, items: list[Item]) -> None:
        """Fold events into the view, and draw it."""
        restart = False
        for item in items:
            if isinstance(item, RunView):
                self.view = item
                self.view.previous = self.earlier_scores
                restart = True
                continue
            before = self.view.doing if self.view.activity in ("thinking", "starting") else ""
            self.view.fold(item)
            if self.view.activity in ("thinking", "starting") and self.view.doing != before:
                self._thinking_since = time.monotonic()
            over = isinstance(item, (SessionEnded, Paused)) or (
                isinstance(item, EpisodeEnded) and item.episode >= self._hurry
            )
            if over:
                self._hurry = 0
        if restart:
            self._looking = None
            self.panes.transcript.restart(self.view)
        self._draw()
        self._after_events()

    def _after_events(self) -> None:
        view = self.view
        self.look_for_earlier()
        if view.error and view.error != self._told_error:
            self._told_error = view.error
            self.app.push_screen(dialogs.ErrorDialog(view.error, view.error_kind), self._after_error)
        self.overruling.renew()

    def _after_error(self, answer: str | None) -> None:
        if answer == "leave":
            self.action_leave()

    def _tick(self) -> None:
        if self.view.activity in ("thinking", "starting"):
            self._draw_status()
        if self.hands.work.busy:
            self._draw()

    # -------------------------------------------------------------------------------------- drawing

    @property
    def choice(self) -> Choice | None:
        """The displayed choice, as it would be if what is tried out were in memory."""
        return self.hands.shown(self.shown_choice)

    @property
    def shown_choice(self) -> Choice | None:
        """The displayed choice as it was made: an earlier one that was selected, or the latest."""
        return self.shown_view.choice

    @property
    def shown_view(self) -> RunView:
        """The run as it is displayed: as it was at an earlier choice that was selected, or as it is."""
        return self.view if self._looking is None else self._looking

    def _draw(self) -> None:
        if not self.children or not self.is_mounted or self not in self.app.screen_stack:
            return  # others may ask for it after it was left, or while the app ends
        self.drawn()
        self.frame_s = HURRIED_S if self._hurry else FRAME_S
        view, choice = self.view, self.choice
        self._draw_status()
        if view.pages:
            self.panes.turn_to_web(self.app.size)
            if not self.has_class("-web"):
                self._arrange()
        self.query_one(MemoryPane).note(self.hands.notes())
        self.panes.show(
            self.shown_view, choice, present=view, pages=self.stored_pages, remembered=self._remembered
        )
        if isinstance(self.source, ReplaySource):
            self.query_one(Scrubber).show(*self.source.progress)
        if self.person_plays and view.choice is not None:
            line = self.query_one(CommandLine)
            line.offer(view.choice.decision)
            line.private = bool(view.pages)
        banner = self.query_one("#banner", Static)
        reason = self.hands.banner or self.banner()
        if str(banner.content) != reason:
            banner.display = bool(reason)
            banner.update(Content(reason))
        self.query_one(KeyBar).show(self._keys())

    def _draw_status(self) -> None:
        self.query_one(StatusBar).show(
            self.shown_view,
            Mode(
                waited=int(time.monotonic() - self._thinking_since),
                delay=self._delay,
                hurry=self._hurry,
                hurry_from=self._hurry_from,
                looking_back=self._looking is not None,
                recording=not self.source.live,
                leaving=self.leaving,
                asks=self.steering(),
                lever=self.levers.shown(self.view),
                following=self.following,
                yours=self.person_plays and self.view.pending,
            ),
        )

    def show_leaving(self) -> None:
        """Show what is waited for."""
        self._draw_status()

    def keys_now(self) -> Sequence[keymap.Key]:
        """Return the keys that do something now."""
        useless = {"toggle_pause"} if self.person_plays else set()
        over = self.view.activity == "ended"
        if over and self.app.has_home:
            useless = {"toggle_pause", "step_once", "forward"}
        live = self.source.live and not over
        keys = [key for key in self.key_table if (live or not key.live) and key.action not in useless]
        return keymap.turning(keys, self.levers.symbol(self.view)) if live else keys

    def _keys(self) -> list[tuple[str, str, str, int]]:
        over = self.view.activity == "ended"
        labels = {"toggle_pause": "yes" if self.view.asks else "go on"} if self.view.activity == "paused" else {}
        kind = self.panes.kind_with_focus()
        keys = keymap.footer(self.keys_now(), self.focused, kind.name if kind else "", labels)
        if over and self.app.has_home:
            keys.insert(0, ("h", "another game", "h", 0))
        if self._looking is not None:
            keys.insert(0, ("esc", "present", "escape", 0))
        if self.person_plays and isinstance(self.focused, CommandLine):
            keys = [("Enter", "do it; empty: let the agent", "enter", 0),
                    ("tab", "complete", "tab", 2), ("/", "hint, undo, map …", "slash", 1), ("F2", "keys", "f2", 0)]
        elif self.person_plays:
            keys.insert(0, ("esc", "command line", "escape", 0))
        return keys

    def on_descendant_focus(self) -> None:
        """Update the footer, because the pane with the focus and the command line have their own keys."""
        self.query_one(KeyBar).show(self._keys())

    def on_screen_suspend(self) -> None:
        """Remember the speed, to know whether it is changed on the other screen."""
        self._speed = used().value("app.speed")

    def on_screen_resume(self) -> None:
        """Follow settings that were changed on another screen."""
        speed = used().value("app.speed")
        if speed != self._speed:
            self._take_delay(1 / speed if speed else 0.0)
        if self.panes.follow(used().value("app.layout")):
            self._arrange()
            self._draw()

    # ------------------------------------------------------------------------------------- steering

    def action_toggle_pause(self) -> None:
        """Pause or continue; where the session asks, approve."""
        if self.approved():
            return
        self.present()
        if self.person_plays and self.view.activity == "paused":
            self.query_one(CommandLine).focus()
            if self.view.pending:
                self.notify("It is your turn. The key . lets the agent take one step, f more of them.", timeout=3)
            else:
                self.source.step_once()  # try again what failed, and wait for the person then
        elif self.view.activity == "paused":
            self.source.resume()
        else:
            self._hurry = 0
            self.source.pause()
            if self.view.activity == "thinking":
                self.notify("Pausing at the next decision.", timeout=2)
        self._draw()

    def action_step_once(self) -> None:
        """Carry out one step; where the session asks, approve."""
        if self.approved():
            return
        self.present()
        self._hurry = 0
        self.source.step_once()

    def on_action_clicked(self, event: ActionClicked) -> None:
        """Overrule the decision with the clicked action; explain the choice where nothing can be overruled."""
        if self.source.live and self.view.activity != "ended" and self._looking is None:
            self._hurry = 0
            self.overruling.ask(event.action)
        else:
            self.action_explain()

    def action_overrule(self) -> None:
        """Ask for another action in place of the decision that waits, or of the next one."""
        self._hurry = 0
        self.overruling.ask()

    def action_faster(self) -> None:
        """Reduce the time between steps."""
        self._set_speed(-1)

    def action_slower(self) -> None:
        """Increase the time between steps."""
        self._set_speed(1)

    def _set_speed(self, by: int) -> None:
        at = min(range(len(SPEEDS)), key=lambda i: abs(SPEEDS[i] - self._delay))
        self._take_delay(SPEEDS[min(max(at + by, 0), len(SPEEDS) - 1)])
        self.app.remember("app.speed", 1 / self._delay if self._delay else 0.0)

    def _take_delay(self, seconds: float) -> None:
        self._delay = seconds
        self.source.set_delay(seconds)
        self._draw_status()

    # -------------------------------------------------------------------------------------- looking

    def action_look(self, by: int) -> None:
        """Show an earlier or later decision. In a recording, go there."""
        if isinstance(self.source, ReplaySource):
            self.source.pause()
            self.source.seek(by)
            return
        choices, shown = list(self.view.choices), self.shown_choice
        if shown is None:
            return
        places = [(one.episode, one.decision.step) for one in choices]
        at = max(0, bisect_right(places, (shown.episode, shown.decision.step)) - 1 + by)
        if at >= len(choices) - 1:
            self.present()
        else:
            self._look_at(choices[at])

    def on_step_clicked(self, event: StepClicked) -> None:
        """Show the clicked decision."""
        self.go_to_step(event.episode, event.step)

    def on_scrubber_sought(self, event: Scrubber.Sought) -> None:
        """Go to a position in the recording."""
        if isinstance(self.source, ReplaySource):
            self.source.seek_to(event.share)

    def _look_at(self, choice: Choice) -> None:
        then = self.view.at(choice)
        if then is None:
            self.notify(FAR_BACK)
            return
        self._looking = then
        self.panes.transcript.mark_step((choice.episode, choice.decision.step))
        self._draw()

    def present(self) -> None:
        """Show the present again."""
        if self._looking is not None:
            self._looking = None
            self.panes.transcript.mark_step(None)
            self._draw()

    def action_present(self) -> None:
        """Return to the present and leave the zoom. Where a person plays, go to the command line."""
        if self.hands.trying:
            self.hands.drop()
        if self.panes.zoomed:
            self._zoom(False)
        if self.person_plays:
            self.query_one(CommandLine).focus()
        self.present()
        self._draw()

    def key_f2(self) -> None:
        """Leave the command line, so that letters are keys."""
        if self.person_plays:
            self.panes.stage.focus()

    def action_pane(self, name: str) -> None:
        """Bring a pane to the front and give it the focus."""
        self.panes.go_to(name, self.app.size)
        self._arrange()
        self.call_after_refresh(self._draw)

    def on_tab_line_chosen(self, event: TabLine.Chosen) -> None:
        """Bring the pane of a clicked tab to the front."""
        self.action_pane(event.pane)

    def action_zoom(self) -> None:
        """Give the whole window to one pane, or share it again."""
        self._zoom(not self.panes.zoomed)

    def _zoom(self, on: bool) -> None:
        self.panes.zoom(on, self.app.size)
        self._arrange()
        self.call_after_refresh(self._draw)

    def on_command_line_given(self, event: CommandLine.Given) -> None:
        """Take the person's command, or the agent's action if the command is empty."""
        if event.text.startswith("/"):
            self.command(event.text[1:])
        elif self.view.activity == "ended":
            self.notify("The session is over; q leaves.", severity="warning")
        elif (word := event.text.casefold()) in slash_commands.OURS:
            self.one_of_ours(word, lambda: self.source.overrule(0, event.text))
        elif event.text:
            self.source.overrule(0, meant(event.text, self.view, self.stored_pages))
        else:
            self.source.step_once()
