"""Overruling: a person gives another action in place of a decision of the agent."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from engine.records import Decision
from jitrl_tui.screens.dialogs import OverruleDialog
from jitrl_tui.view import meant

if TYPE_CHECKING:
    from jitrl_tui.screens.run_actions import KeepingScreen


class Overruling:
    """Opens the window that asks for an action, and sends the answer.

    The session is paused meanwhile. If no decision waits yet, the window shows the next one as soon as it is there.

    Args:
        screen: The screen of the run.
    """

    def __init__(self, screen: KeepingScreen) -> None:
        self._screen = screen
        self._dialog: OverruleDialog | None = None

    def ask(self, typed: str = "") -> None:
        """Open the window with a typed text, if the run can be overruled."""
        screen = self._screen
        if not screen.source.live:
            screen.notify("This is a recording: what happened cannot be overruled.", severity="warning")
        elif screen.view.activity == "ended":
            screen.notify("The session is over.", severity="warning")
        else:
            paused = screen.view.activity == "paused"
            if not paused:
                screen.source.pause()
            self._open(typed, goes_on=not paused and not screen.person_plays)

    def renew(self) -> None:
        """Show the decision that waits now."""
        if self._dialog is not None:
            self._dialog.show(self._waiting)

    @property
    def _waiting(self) -> Decision | None:
        view = self._screen.view
        return view.choice.decision if view.choice is not None and view.pending else None

    def _open(self, typed: str, *, goes_on: bool) -> None:
        screen = self._screen
        screen.present()
        meaning: Callable[[str], str] | None = self._meant if screen.view.pages else None
        self._dialog = OverruleDialog(self._waiting, typed, meaning)
        screen.app.push_screen(self._dialog, partial(self._answered, goes_on))

    def _meant(self, typed: str) -> str:
        """Return an action, where the number of an element of the page stands for it."""
        return meant(typed, self._screen.view, self._screen.stored_pages)

    def _answered(self, goes_on: bool, action: str | None) -> None:
        self._dialog = None
        screen = self._screen
        late = ""
        if action and screen.view.activity == "ended":
            late = "the session is over"
        elif action and not screen.source.overrule(screen.view.question, self._meant(action)):
            late, goes_on = "the decision does not wait any more", False
        if late:
            screen.notify(f"It is too late for '{action}': {late}.", severity="warning")
        if goes_on:
            screen.source.resume()
