"""Overruling: a person gives another action in place of a decision of the agent."""

from __future__ import annotations

from functools import partial

from engine.records import Decision
from jitrl_tui.runs.view import meant
from jitrl_tui.screens.dialogs import OverruleDialog
from jitrl_tui.screens.shown_run import Service, ShownRun, Surface


class Overruling(Service):
    """Opens the window that asks for an action, and sends the answer.

    The session is paused meanwhile. If no decision waits yet, the window shows the next one as soon as it is there.
    """

    def __init__(self, run: ShownRun, screen: Surface) -> None:
        super().__init__(run, screen)
        self._dialog: OverruleDialog | None = None

    def ask(self, typed: str = "") -> None:
        """Open the window with a typed text, if the run can be overruled."""
        run = self._run
        if not run.source.live:
            self._warn("This is a recording: what happened cannot be overruled.")
        elif run.over:
            self._warn("The session is over.")
        else:
            paused = run.view.activity == "paused"
            if not paused:
                run.source.pause()
            self.open(typed, goes_on=not paused and not run.person_plays)

    def renew(self) -> None:
        """Show the decision that waits now."""
        if self._dialog is not None:
            self._dialog.show(self._waiting)

    @property
    def _waiting(self) -> Decision | None:
        view = self._run.view
        return view.choice.decision if view.choice is not None and view.pending else None

    def open(self, typed: str, *, goes_on: bool) -> None:
        """Open the window; `goes_on` says whether the run goes on after it."""
        self._run.present()
        self._dialog = OverruleDialog(self._waiting, typed, self._meant if self._run.view.pages else None)
        self._screen.app.push_screen(self._dialog, partial(self._answered, goes_on))

    def _meant(self, typed: str) -> str:
        """Return an action, where the number of an element of the page stands for it."""
        return meant(typed, self._run.view, self._run.pages)

    def _answered(self, goes_on: bool, action: str | None) -> None:
        self._dialog = None
        run = self._run
        if action and run.over:
            self._warn(f"It is too late for '{action}': the session is over.")
        elif action:
            if not run.source.overrule(run.view.question, self._meant(action), go_on=goes_on):
                self._warn(f"It is too late for '{action}': the decision does not wait any more.")
        elif goes_on:
            run.source.resume()
