"""The watch screen of a session that another process plays: read-only, until it is taken in hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jitrl_tui import command_table, keymap
from jitrl_tui.preferences import current
from jitrl_tui.runs.follower import FollowSource, Reach
from jitrl_tui.screens import help
from jitrl_tui.screens.dialogs import ConfirmDialog
from jitrl_tui.screens.shown_run import ShownRun, Surface
from jitrl_tui.screens.steer import Overruling
from jitrl_tui.screens.watch import WatchScreen

READ_ONLY = "following, read-only"

_MARKED = (
    "This session is a cell of a benchmark. If you overrule it, its score is not the agent's alone any more: the cell "
    "is marked, and the report leaves it out."
)


class FollowScreen(WatchScreen):
    """A session of another process.

    Args:
        source: The session.
        cell: Whether it is a cell of a benchmark.
        over: Whether the screen lies over another one, to which leaving goes back.
        folder: Folder of the session, for the pictures of its pages; None if this machine does not see it.
    """

    CSS_PATH = "watch.tcss"

    def __init__(
        self, source: FollowSource, *, cell: bool = False, over: bool = False, folder: Path | None = None
    ) -> None:
        pages = None
        if folder is not None:
            from engine.web.browser.pages import PageStore

            pages = PageStore(folder)
        super().__init__(source, delay=0.0, pages=pages, over=over)
        self._held = HeldSession(source, self.run, self, self.overruling, cell=cell)
        self.commands |= {
            "toggle_pause": self._held.toggle_pause,
            "step_once": self._held.step_once,
            "stop_session": self._held.ask_to_stop,
        }
        source.changed = lambda: self.app.call_later(self.redraw)
        source.notify = lambda text, good: self.app.call_later(self._tell, text, good)

    def keys_of_screen(self) -> tuple[command_table.Key, ...]:
        """Return the keys."""
        return keymap.follow(self._kinds)

    def _tell(self, text: str, good: bool) -> None:
        """Show what was said to a command that is not obeyed; one that is obeyed shows itself."""
        if not good:
            self.notify(text, severity="warning", timeout=5)

    # -------------------------------------------------------------------------------------- drawing

    @property
    def following(self) -> str:  # type: ignore[override]
        """How the session is shown, in a few words."""
        return "in your hand" if self._held.source.held else READ_ONLY

    def banner(self) -> str:
        """Return where the session is played, whether it lives, and who holds it."""
        source, sign = self._held.source, self._held.source.sign
        if not source.loaded:
            return "Following, read-only."
        if sign is None or not source.lives:
            return f"Following, read-only. {self._not_played()}"
        where = f"Played on {sign.place.as_text()}"
        if source.held:
            keys = ". takes one step, o overrules, space hands it back"
            return f"The session is in your hand: {keys}. {where}."
        if sign.holder:
            return f"Following, read-only: {sign.holder} holds the session. {where}."
        how = "space takes it in hand" if sign.steerable else "it is steered at its own screen alone"
        return f"Following, read-only. {where}; {how}."

    def _not_played(self) -> str:
        sign, view = self._held.source.sign, self.view
        if view.ended is not None and view.activity == "ended":
            return "The session is over." if view.ended.finished else "It was stopped, and can be resumed."
        if sign is not None:
            gone = f"Its process is gone ({sign.place.as_text()})"
            return f"{gone}; what was played is kept, and it can be resumed."
        return "It was left in the middle, and can be resumed." if view.started else "It has not begun yet."

    def keys_now(self) -> Sequence[command_table.Key]:
        """Return the keys that do something now."""
        steers = ("toggle_pause", "step_once", "stop_session", "overrule")
        return [key for key in self.key_table if self._held.source.lives or key.action not in steers]

    def commands_now(self) -> Sequence[command_table.Key]:
        """Return the same: no two keys turn one setting here."""
        return self.keys_now()

    def footer_now(self) -> list[tuple[str, str, str, int]]:
        """Return what the footer names."""
        kind = self.panes.kind_with_focus()
        labels = {"toggle_pause": "hand back"} if self._held.source.held else {}
        keys = keymap.footer(self.keys_now(), self.focused, kind.name if kind else "", labels)
        if self.run.back is not None:
            keys.insert(0, ("esc", "present", "escape", 0))
        return keys

    def overrule(self, action: str = "") -> None:
        """Ask for another action in place of the decision that waits; the session is taken in hand for it."""
        self._held.overrule(action)

    # -------------------------------------------------------------------------------------- leaving

    def ask_leave(self) -> None:
        """Leave. The session goes on, so there is no question."""
        self.leave_properly()

    def leave_properly(self) -> None:
        """Hand the session back, and go to the screen below, or leave."""
        self.source.stop()
        if self._over:
            self.dismiss()
        else:
            self.ending.leave(self.app.leave_now)

    def show_help(self) -> None:
        """Show the help."""
        self.app.push_screen(
            help.of_watching("follow", (), self.keys_now(), self.panes.kind_with_focus(), self.focused, "")
        )


class HeldSession:
    """Takes a session of another process in hand, lets it take steps, and hands it back.

    Args:
        source: The session.
        run: The same, as it is displayed.
        screen: The screen.
        overruling: Asks for another action.
        cell: Whether the session is a cell of a benchmark. Then the person is asked first whether to overrule it.
    """

    def __init__(
        self, source: FollowSource, run: ShownRun, screen: Surface, overruling: Overruling, *, cell: bool
    ) -> None:
        self.source, self._run, self._screen, self._overruling = source, run, screen, overruling
        self._confirm = cell

    def _may(self) -> bool:
        """Return whether commands reach the session; say why not."""
        sign, why = self.source.sign, ""
        if sign is None or not self.source.lives:
            why = "Nobody plays this session now, so there is nothing to steer."
        elif not sign.steerable:
            why = "This session is steered at its own screen alone."
        if why:
            self._screen.notify(why, severity="warning")
        return not why

    def toggle_pause(self) -> None:
        """Take the session in hand, or hand it back."""
        if self._may():
            self._run.present()
            if self.source.held:
                self.source.resume()
            else:
                self.source.pause()

    def step_once(self) -> None:
        """Let a session that is held take one step; take another one in hand."""
        if self._may():
            self._run.present()
            if self.source.held:
                self.source.step_once()
            else:
                self.source.pause()

    def ask_to_stop(self) -> None:
        """Stop the session, after a question."""
        if self._may():
            text = "The session stops after its running step. What was played is kept, and it can be resumed."
            dialog = ConfirmDialog("stop the session?", text, "stop it")
            self._screen.app.push_screen(dialog, lambda yes: self.source.stop_session() if yes else None)

    def overrule(self, typed: str) -> None:
        """Open the window that asks for an action with a typed text, if the session can be steered."""
        if not self._may():
            return
        if self._confirm:
            dialog = ConfirmDialog("overrule a cell?", _MARKED, "overrule it")
            self._screen.app.push_screen(dialog, lambda yes: self._overrule(typed) if yes else None)
        else:
            self._overrule(typed)

    def _overrule(self, typed: str) -> None:
        self._confirm = False
        if not self.source.held:
            self.source.pause()
        self._overruling.open(typed, goes_on=False)


def follow_screen(reach: Reach, *, cell: bool = False, over: bool = False) -> FollowScreen:
    """Return the screen of a session.

    Args:
        reach: How it is reached.
        cell: Whether it is a cell of a benchmark.
        over: Whether the screen lies over another one.
    """
    source = FollowSource(reach.open, current().value("app.hold_s"))
    return FollowScreen(source, cell=cell, over=over, folder=reach.folder)
