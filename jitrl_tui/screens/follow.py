"""The watch screen of a session that another process plays: read-only, until it is taken in hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from jitrl_tui import keymap
from jitrl_tui.follower import FollowSource, Reach
from jitrl_tui.preferences import used
from jitrl_tui.screens import dialogs, help
from jitrl_tui.screens.overrule import Overruling
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
    source: FollowSource

    def __init__(
        self, source: FollowSource, *, cell: bool = False, over: bool = False, folder: Path | None = None
    ) -> None:
        pages = None
        if folder is not None:
            from engine.web.browser.pages import PageStore

            pages = PageStore(folder)
        super().__init__(source, delay=0.0, pages=pages)
        self._over = over
        self.overruling = FollowOverruling(self, cell)
        source.changed = lambda: self.app.call_later(self._draw)
        source.told = lambda text, good: self.app.call_later(self._tell, text, good)

    def keys_of_screen(self) -> tuple[keymap.Key, ...]:
        """Return the keys."""
        return keymap.follow(self._kinds)

    def on_mount(self) -> None:
        """Leave the run below as the one that the app waits for when it ends."""
        below = self.app.last_source
        if self._over and below is not None:
            self.call_next(lambda: setattr(self.app, "last_source", below))

    def on_unmount(self) -> None:
        """Hand the session back, however the screen ends."""
        self.source.stop()

    def _tell(self, text: str, good: bool) -> None:
        """Show what was said to a command that is not obeyed; one that is obeyed shows itself."""
        if not good:
            self.notify(text, severity="warning", timeout=5)

    # -------------------------------------------------------------------------------------- drawing

    @property
    def following(self) -> str:  # type: ignore[override]
        """How the session is shown, in a few words."""
        return "in your hand" if self.source.held else READ_ONLY

    def banner(self) -> str:
        """Return where the session is played, whether it lives, and who holds it."""
        source, sign = self.source, self.source.sign
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
        sign, view = self.source.sign, self.view
        if view.ended is not None and view.activity == "ended":
            return "The session is over." if view.ended.finished else "It was stopped, and can be taken up again."
        if sign is not None:
            gone = f"Its process is gone ({sign.place.as_text()})"
            return f"{gone}; what was played is kept, and it can be taken up again."
        return "It was left in the middle, and can be taken up again." if view.started else "It has not begun yet."

    def keys_now(self) -> Sequence[keymap.Key]:
        """Return the keys that do something now."""
        steers = ("toggle_pause", "step_once", "stop_session", "overrule")
        return [key for key in self.key_table if self.source.lives or key.action not in steers]

    def _keys(self) -> list[tuple[str, str, str, int]]:
        kind = self.panes.kind_with_focus()
        labels = {"toggle_pause": "hand back"} if self.source.held else {}
        keys = keymap.footer(self.keys_now(), self.focused, kind.name if kind else "", labels)
        if self._looking is not None:
            keys.insert(0, ("esc", "present", "escape", 0))
        return keys

    # ------------------------------------------------------------------------------------- steering

    def may_steer(self) -> bool:
        """Return whether commands reach the session; say why not."""
        sign = self.source.sign
        if sign is None or not self.source.lives:
            self.notify("Nobody plays this session now, so there is nothing to steer.", severity="warning")
        elif not sign.steerable:
            self.notify("This session is steered at its own screen alone.", severity="warning")
        else:
            return True
        return False

    def action_toggle_pause(self) -> None:
        """Take the session in hand, or hand it back."""
        if self.may_steer():
            self.present()
            if self.source.held:
                self.source.resume()
            else:
                self.source.pause()

    def action_step_once(self) -> None:
        """Let a session that is held take one step; take another one in hand."""
        if self.may_steer():
            self.present()
            if self.source.held:
                self.source.step_once()
            else:
                self.source.pause()

    def action_stop_session(self) -> None:
        """Stop the session, after a question."""
        if not self.may_steer():
            return
        text = "The session stops after its running step. What was played is kept, and it can be taken up again."
        dialog = dialogs.ConfirmDialog("stop the session?", text, "stop it")
        self.app.push_screen(dialog, lambda yes: yes and self.source.stop_session())

    # -------------------------------------------------------------------------------------- leaving

    def action_leave(self) -> None:
        """Leave. The session goes on, so there is no question."""
        self.leave_properly()

    def leave_properly(self) -> None:
        """Hand the session back, and go to the screen below, or leave."""
        self.source.stop()
        if self._over:
            self.dismiss()
        else:
            self.leave(self.app.leave_now)

    def action_help(self) -> None:
        """Show the help."""
        self.app.push_screen(
            help.of_watching("follow", (), self.keys_now(), self.panes.kind_with_focus(), self.focused, "")
        )


class FollowOverruling(Overruling):
    """Does the same for a session of another process, which is taken in hand for it.

    Args:
        screen: The screen.
        cell: Whether the session is a cell of a benchmark. Then the person is asked first whether to overrule it.
    """

    _screen: FollowScreen

    def __init__(self, screen: FollowScreen, cell: bool) -> None:
        super().__init__(screen)
        self._confirm = cell

    def ask(self, typed: str = "") -> None:
        """Open the window with a typed text, if the session can be steered."""
        if not self._screen.may_steer():
            return
        if self._confirm:
            dialog = dialogs.ConfirmDialog("overrule a cell?", _MARKED, "overrule it")
            self._screen.app.push_screen(dialog, lambda yes: yes and self._hold(typed))
        else:
            self._hold(typed)

    def _hold(self, typed: str) -> None:
        self._confirm = False
        if not self._screen.source.held:
            self._screen.source.pause()
        self._open(typed, goes_on=False)


def followed(reach: Reach, *, cell: bool = False, over: bool = False) -> FollowScreen:
    """Return the screen of a session.

    Args:
        reach: How it is reached.
        cell: Whether it is a cell of a benchmark.
        over: Whether the screen lies over another one.
    """
    source = FollowSource(reach.open, used().value("app.hold_s"))
    return FollowScreen(source, cell=cell, over=over, folder=reach.folder)
