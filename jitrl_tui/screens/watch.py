"""The watch screen: one run, live or recorded, with the keys that control it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from textual.app import ComposeResult
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from jitrl_tui import keymap
from jitrl_tui.command_table import Key, help_list
from jitrl_tui.panes.board import Panes
from jitrl_tui.panes.memory import MemoryPane
from jitrl_tui.panes.registry import kinds
from jitrl_tui.panes.tabs import TabLine
from jitrl_tui.preferences import used
from jitrl_tui.runs.places import RememberedMap
from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.runs.session_files import SessionFiles
from jitrl_tui.runs.source import Item, Source
from jitrl_tui.runs.view import Choice, RunView
from jitrl_tui.screens import dialogs, explain, help
from jitrl_tui.screens.curves import EarlierSessions
from jitrl_tui.screens.find import Find
from jitrl_tui.screens.levers import Levers
from jitrl_tui.screens.memory_trials import MemoryTrial
from jitrl_tui.screens.play import PlayHelp, TypedCommands
from jitrl_tui.screens.player import Player
from jitrl_tui.screens.run_base import FRAME_S, HURRIED_S, KEPT, Ending, Feed, RunningScreen, TooSmall
from jitrl_tui.screens.saves import Saves
from jitrl_tui.screens.shown_run import ShownRun
from jitrl_tui.screens.steer import Overruling, Steering
from jitrl_tui.screens.useful_keys import UsefulKeys
from jitrl_tui.widgets.clickable import KeyBar, Scrubber
from jitrl_tui.widgets.command import CommandLine
from jitrl_tui.widgets.pane import ActionClicked, StepClicked
from jitrl_tui.widgets.status import Mode, StatusBar

if TYPE_CHECKING:
    from engine.session.branches import Keeper
    from engine.web.browser.pages import PageStore
    from jitrl_tui.screens.whatif import GoOn


class WatchScreen(RunningScreen):
    """One run on the screen. What can be done with it is done by services, each for one thing.

    Args:
        source: The run: it gives events and takes commands.
        delay: Delay at the start, in seconds per step.
        play: Whether a person plays. Then the session waits at each decision, and there is a command line.
        paused: Whether the session waits at its first decision.
        keeper: Saves and branches; None for a recording.
        recorded: For a recording: the saves folder, and its file or folder; None if it is not among sessions.
        pages: Stored pages; None if there are none.
        files: What lies beside the session on disk; None if there is nothing.
        over: Whether it lies over another screen. Then leaving goes back, and the app waits for the run below.

    Attributes:
        run: The run as it is, and as it is displayed.
    """

    CSS_PATH = "watch.tcss"
    screen_name = "watch"
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
        over: bool = False,
    ) -> None:
        self._kinds = kinds()
        super().__init__()
        self._over = over
        run = self.run = ShownRun(
            source, self.redraw, keeper=keeper, recorded=recorded, pages=pages, files=files, person_plays=play
        )
        self.player = Player(run, self, delay, lambda: self.query_one(CommandLine).focus())
        self.steering = Steering(run, self)
        self.overruling = Overruling(run, self)
        self.saves = Saves(run, self)
        self.levers = Levers(run, self)
        self.hands = MemoryTrial(run, self)
        self.earlier = EarlierSessions(run, self)
        self.play_help = PlayHelp(run, self)
        self.find = Find(self, lambda: self.panes.transcript, lambda: self.show_pane("transcript"))
        self.feed = Feed(self, self.take_in)
        self.ending = Ending(
            source, self, self._draw_status, lambda: not run.over, "finishing the last thought; q again leaves at once"
        )
        self.commands = self.all_commands()
        self.typed = TypedCommands(run, self, self.commands)
        self.useful_keys = UsefulKeys(
            run, self, self._kinds, panes=lambda: self.panes, hands=self.hands, find=self.find, levers=self.levers
        )
        self._paused = paused or play
        self._thinking_since = 0.0
        self._told_error = ""
        self._covered = True
        """Whether another screen, and no mere window, was over this one."""

    def all_commands(self) -> dict[str, Callable[..., object]]:
        """Return what the keys and the typed commands do, by the names in their tables."""
        player, steering, saves, hands = self.player, self.steering, self.saves, self.hands
        return {
            "toggle_pause": player.toggle_pause, "step_once": player.step_once, "approve": player.approve,
            "forward": player.forward, "hand_over": player.hand_over, "look": player.look,
            "faster": player.faster, "slower": player.slower, "overrule": self.overrule,
            "veto": steering.veto, "ask": steering.ask, "breakpoints": steering.breakpoints,
            "redo": steering.redo, "end_episode": steering.end_episode, "take_back": saves.take_back,
            "save": saves.save, "load": saves.load, "branch": saves.branch, "compare": saves.compare,
            "undo_trial": hands.undo, "keep_trial": hands.keep, "memories": hands.open_memory,
            "what_if": lambda: hands.what_if(player.go_to_step, self._go_on_with),
            "episode": self._change_episode, "lever": self.levers.choose, "curves": self.earlier.open_curves,
            "hint": self.play_help.hint, "notes": self.play_help.notes, "export": self.play_help.export,
            "all_actions": self.play_help.all_actions, "score": self.play_help.score,
            "find": self.find.ask, "find_next": self.find.next, "calls": self.show_calls, "explain": self.explain,
            "leave_line": self.leave_line, "advise": self.advise,
            "help": self.show_help, "pane_help": self.show_pane_help, "copy": self.copy,
            "pane": self.show_pane, "zoom": self.toggle_zoom, "present": self.show_present,
            "leave": self.ask_leave, "leave_at_once": self.leave_properly, "home": self.ask_home,
        }  # fmt: skip

    @property
    def source(self) -> Source:
        """The run's source."""
        return self.run.source

    @property
    def view(self) -> RunView:
        """The run as it is."""
        return self.run.view

    @property
    def choice(self) -> Choice | None:
        """The displayed choice, as it would be if what is tried out were in memory."""
        return self.hands.shown(self.run.choice)

    following = ""
    """How a session of another process is shown, in a few words; "" for one of this process."""

    def keys_of_screen(self) -> tuple[Key, ...]:
        """Return the keys."""
        return keymap.watch(self._kinds)

    # ------------------------------------------------------------------------------------ composing

    def compose(self) -> ComposeResult:
        """Make all widgets once. Arrangements only hide and show them."""
        files = self.run.files
        yield TooSmall()
        yield StatusBar("status")
        yield Static(id="banner", markup=False)
        yield Panes("body", self._kinds)
        yield Scrubber("scrubber")
        yield CommandLine("command", files.typed if files is not None else None)
        yield KeyBar("keybar")

    def on_mount(self) -> None:
        """Start the run."""
        self.query_one(Scrubber).display = not self.source.live
        self.query_one(CommandLine).display = self.run.person_plays
        self._thinking_since = time.monotonic()
        self.source.set_delay(self.player.delay)
        if self._paused:
            self.source.pause()
        if self.run.person_plays:
            self.panes.front("map")
            self.panes.discreet = True
            self.query_one(CommandLine).focus()
        else:
            self.panes.transcript.focus()
        self.set_interval(1.0, self._tick)
        self._arrange()
        self.redraw()
        if not self._over or self.app.last_source is None:
            self.app.last_source = self.source
        if self._remembered is not None:
            self._remembered.loaded = lambda: self.app.call_later(self.redraw)
        self.source.start(self.feed.inbox)

    def on_unmount(self) -> None:
        """Close the memory that was opened."""
        self.hands.close()

    def on_resize(self) -> None:
        """Choose the arrangement for the new size."""
        self._arrange()
        self.redraw()
        self.call_after_refresh(self.redraw)

    @property
    def _remembered(self) -> RememberedMap | None:
        return self.run.files.remembered if self.run.files is not None else None

    @property
    def panes(self) -> Panes:
        """The panes between the status line and the keys."""
        return self.query_one(Panes)

    def _arrange(self) -> None:
        """Arrange the widgets for the window's size."""
        now = self.panes.fit_to(self.app.size)
        classes = {f"-{name}": name == now for name in ("narrow", "side", "normal", "wide")}
        classes |= {"-zoom": self.panes.zoomed, "-web": bool(self.view.pages)}
        self.update_classes(classes, update=self.is_mounted)  # all is styled when the screen comes to the front
        tiny = now == "tiny"
        for name in ("#status", "#body", "#keybar"):
            self.query_one(name).display = not tiny
        self.query_one(TooSmall).show(tiny)
        self.query_one(Scrubber).display = not tiny and not self.source.live
        self.query_one(CommandLine).display = not tiny and self.run.person_plays

    # --------------------------------------------------------------------------------------- events

    def take_in(self, items: list[Item]) -> None:
        """Fold events into the view, and draw it."""
        run, thinking = self.run, ("thinking", "starting")
        for item in items:
            if isinstance(item, RunView):
                run.view, run.back = item, None
                run.view.previous = self.earlier.scores
                self.panes.transcript.restart(item)
                continue
            before = run.view.doing if run.view.activity in thinking else ""
            run.view.fold(item)
            if run.view.activity in thinking and run.view.doing != before:
                self._thinking_since = time.monotonic()
            self.player.note(item)
        self.redraw()
        self._after_events()

    def _after_events(self) -> None:
        view = self.view
        self.earlier.look()
        if view.error and view.error != self._told_error:
            self._told_error = view.error
            self.app.push_screen(dialogs.ErrorDialog(view.error, view.error_kind), self._after_error)
        self.overruling.renew()

    def _after_error(self, answer: str | None) -> None:
        if answer == "leave":
            self.ask_leave()

    def _tick(self) -> None:
        if self.view.activity in ("thinking", "starting"):
            self._draw_status()
        if self.hands.work.busy:
            self.redraw()
        elif not self.player.hurry:
            self.hands.look_near()

    # -------------------------------------------------------------------------------------- drawing

    def redraw(self) -> None:
        """Draw everything."""
        if not self.children or not self.is_mounted or self not in self.app.screen_stack:
            return  # others may ask for it after it was left, or while the app ends
        self.feed.drawn()
        self.feed.frame_s = HURRIED_S if self.player.hurry else FRAME_S
        view, choice = self.view, self.choice
        self._draw_status()
        if view.pages:
            self.panes.turn_to_web(self.app.size)
            if not self.has_class("-web"):
                self._arrange()
        self.query_one(MemoryPane).note(self.hands.notes())
        back = self.run.back.choice if self.run.back is not None else None
        self.panes.transcript.mark_step((back.episode, back.decision.step) if back is not None else None)
        self.panes.show(
            self.run.shown, choice, present=view, pages=self.run.pages, remembered=self._remembered
        )
        if isinstance(self.source, ReplaySource):
            self.query_one(Scrubber).show(*self.source.progress)
        if self.run.person_plays and view.choice is not None:
            line = self.query_one(CommandLine)
            line.offer(view.choice.decision)
            line.private = bool(view.pages)
        banner = self.query_one("#banner", Static)
        reason = self.hands.banner or self.banner()
        if str(banner.content) != reason:
            banner.display = bool(reason)
            banner.update(Content(reason))
        self.query_one(KeyBar).show(self.footer_now())

    def banner(self) -> str:
        """Return a line about what the run waits for, "" for nothing."""
        return self.steering.banner()

    def _draw_status(self) -> None:
        self.query_one(StatusBar).show(
            self.run.shown,
            Mode(
                waited=int(time.monotonic() - self._thinking_since),
                delay=self.player.delay,
                hurry=self.player.hurry,
                hurry_from=self.player.hurry_from,
                looking_back=self.run.back is not None,
                recording=not self.source.live,
                leaving=self.ending.told,
                asks=self.steering.asks(),
                lever=self.levers.shown(),
                following=self.following,
                yours=self.run.person_plays and self.view.pending,
            ),
        )

    def keys_now(self) -> Sequence[Key]:
        """Return the keys that do something now."""
        return self.useful_keys.now()

    def commands_now(self) -> Sequence[Key]:
        """Return the same for the command palette, where a command is one key."""
        return self.useful_keys.now(apart=True)

    def footer_now(self) -> list[tuple[str, str, str, int]]:
        """Return what the footer names."""
        return self.useful_keys.footer()

    def on_descendant_focus(self) -> None:
        """Update the footer, because the pane with the focus and the command line have their own keys."""
        self.query_one(KeyBar).show(self.footer_now())

    def on_screen_suspend(self) -> None:
        """Remember the speed, to know whether it is changed on the other screen. Windows change no settings."""
        if not isinstance(self.app.screen, ModalScreen):
            self._covered = True
            self.player.note_speed()

    def on_screen_resume(self) -> None:
        """Follow settings that were changed on another screen."""
        if not self._covered:
            return
        self._covered = False
        self.player.follow_speed()
        if self.panes.follow(used().value("app.layout")):
            self._arrange()
            self.redraw()

    # -------------------------------------------------------------------------- commands on services

    def overrule(self, action: str = "") -> None:
        """Ask for another action in place of the decision that waits, or of the next one."""
        self.player.hurry = 0
        self.overruling.ask(action)

    def _go_on_with(self, answer: GoOn) -> None:
        """Go on with other settings: in a branch, or in the running session."""
        if answer.branch:
            self.saves.branch_with(answer.settings)
        else:
            self.levers.apply(answer.changes)

    def _change_episode(self, by: int) -> None:
        """Go to another episode of a recording; in a running session, change the chosen setting."""
        if isinstance(self.source, ReplaySource):
            self.source.seek_episode(by)
        else:
            self.levers.turn(by)

    def ask_leave(self) -> None:
        """Leave, after a question if the session goes on. The second call while it ends leaves at once."""
        if self._over:
            self.source.stop()
            self.dismiss()
        else:
            self.ending.ask(f"The session stops here. {KEPT}", "leave", self.app.leave_now)

    def ask_home(self) -> None:
        """Show the home screen, after a question if the session goes on."""
        if self._over:
            self.ask_leave()
        elif self.app.has_home and not self.ending.told:
            self.ending.ask(f"The session stops here. {KEPT}", "choose another game", self.app.go_home, "h")

    # ----------------------------------------------------------------------------- panes and windows

    def show_pane(self, name: str) -> None:
        """Bring a pane to the front and give it the focus."""
        self.panes.go_to(name, self.app.size)
        self._arrange()
        self.redraw()

    def toggle_zoom(self) -> None:
        """Give the whole window to one pane, or share it again."""
        self.panes.zoom(not self.panes.zoomed, self.app.size)
        self._arrange()
        self.call_after_refresh(self.redraw)

    def advise(self) -> None:
        """Where a person plays, show what the agent would do, or hide it."""
        if self.run.person_plays:
            self.panes.advise(self.panes.discreet, self.app.size)
            self._arrange()
            self.call_after_refresh(self.redraw)

    def leave_line(self) -> None:
        """Leave the command line, so that letters are keys."""
        if self.run.person_plays:
            self.panes.stage.focus()

    def show_present(self) -> None:
        """Return to the present and leave the zoom. Where a person plays, go to the command line."""
        if self.hands.trying:
            self.hands.drop()
        if self.panes.zoomed:
            self.toggle_zoom()
        if self.run.person_plays:
            self.query_one(CommandLine).focus()
        self.run.present()
        self.redraw()

    def show_calls(self) -> None:
        """Show the raw prompts and replies."""
        if self.choice is None:
            self.notify("No decision yet.", timeout=2)
        else:
            self.app.push_screen(dialogs.calls_dialog(self.choice, self.view.calls_of(self.choice)))

    def explain(self, action: str = "") -> None:
        """Show how the numbers of the displayed choice come about, those of a candidate first."""
        if self.choice is None or not self.choice.decision.candidates:
            self.notify("No decision yet.", timeout=2)
        else:
            self.app.push_screen(explain.ExplainDialog(self.choice, action))

    def show_help(self) -> None:
        """Show the help."""
        typed = help_list() if self.run.person_plays else ""
        kind = self.panes.kind_with_focus()
        self.app.push_screen(help.of_watching("watch", self._kinds, self.keys_now(), kind, self.focused, typed))

    def show_pane_help(self) -> None:
        """Show the help of the pane with the focus, or the whole help if no pane has it."""
        kind = self.panes.kind_with_focus()
        if kind is None:
            self.show_help()
        else:
            self.app.push_screen(help.of_pane(kind))

    def copy(self) -> None:
        """Copy the marked text, or the text of the pane with the focus."""
        text = self.get_selected_text() or self.panes.text_with_focus()
        if text:
            self.app.copy_to_clipboard(text)
            self.notify(f"Copied {len(text):,} characters.", timeout=2)

    # -------------------------------------------------------------------------- messages of widgets

    def on_action_clicked(self, event: ActionClicked) -> None:
        """Overrule the decision with the clicked action; explain the choice where nothing can be overruled."""
        if self.run.plays and self.run.back is None:
            self.overrule(event.action)
        else:
            self.explain(event.action)

    def on_step_clicked(self, event: StepClicked) -> None:
        """Show the clicked decision."""
        self.player.go_to_step(event.episode, event.step)

    def on_scrubber_sought(self, event: Scrubber.Sought) -> None:
        """Go to a position in the recording."""
        if isinstance(self.source, ReplaySource):
            self.source.seek_to(event.share)

    def on_memory_pane_asked(self, event: MemoryPane.Asked) -> None:
        """Try out what a person does to a remembered step."""
        self.hands.asked(event)

    def on_tab_line_chosen(self, event: TabLine.Chosen) -> None:
        """Bring the pane of a clicked tab to the front."""
        self.show_pane(event.pane)

    def on_command_line_given(self, event: CommandLine.Given) -> None:
        """Take the person's command, or the agent's action if the command is empty."""
        self.typed.take(event.text)
