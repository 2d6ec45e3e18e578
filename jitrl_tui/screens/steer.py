"""Steers a session: another action in place of its own, answers to its questions, breakpoints, redo, an end."""

from __future__ import annotations

import dataclasses
from functools import partial
from typing import TYPE_CHECKING

from engine.records import Decision
from engine.session.orders import ALWAYS, BREAKPOINTS, NEVER, Orders
from jitrl_tui.runs.view import meant
from jitrl_tui.screens.dialogs import ConfirmDialog, OverruleDialog
from jitrl_tui.screens.run_dialogs import BreakpointsDialog
from jitrl_tui.screens.shown_run import Service, ShownRun, Surface

if TYPE_CHECKING:
    from engine.session.control import Control

KEYS = "Enter yes   o another   X veto it here   f hand over   a ask no more"
_TELLS = {
    ALWAYS: "It asks before each step now.",
    BREAKPOINTS: "It asks where a breakpoint matches now.",
    NEVER: "It asks no more.",
}


class Steering(Service):
    """Steers a session by its control."""

    def _control(self) -> Control | None:
        """Return what takes the person's commands; None, with a message, for a recording or a session that is over."""
        if self._run.source.control is None:
            self._warn("This is a recording: what happened cannot be changed.")
        elif self._run.over:
            self._warn("The session is over.")
        else:
            return self._run.source.control
        return None

    def asks(self) -> str:
        """Return for the status line when the session asks, "" if it does not."""
        control = self._run.source.control
        asks = control.orders.ask if control is not None else NEVER
        return {ALWAYS: "asks each step", BREAKPOINTS: "asks at breakpoints"}.get(asks, "")

    def banner(self) -> str:
        """Return why the session waits, and the keys that answer a question; "" if there is nothing to say."""
        view = self._run.view
        if view.activity != "paused" or not self._run.source.live:
            return ""
        if self._run.back is not None:  # what it waits for is no part of an earlier step
            return "The session asks about a later step: Esc goes there." if view.asks else ""
        if view.asks and view.choice is not None:
            decision = view.choice.decision
            chance = f" ({decision.posterior[decision.chosen]:.0%})" if decision.chosen >= 0 else ""
            return "\n".join(filter(None, [view.doing, f"Shall the agent do this: {decision.action}{chance}", KEYS]))
        if view.doing and not view.pending:
            return f"{view.doing}  (space tries again, q leaves)"
        return view.doing

    def veto(self) -> None:
        """Let the agent choose another action in this state."""
        from engine.session.control import PersonSaid

        control, view = self._control(), self._run.view
        if control is None:
            return
        self._run.present()
        if view.question and view.choice is not None:
            control.answer(view.question, PersonSaid.VETOED, view.choice.decision.action)
        else:
            self._screen.notify("No decision waits for you: pause first, with space.", timeout=3)

    def ask(self) -> None:
        """Ask before each step; where a breakpoint matches, if there are any; or not at all."""
        control = self._control()
        if control is None:
            return
        if self._run.person_plays:
            self._screen.notify("Where you play, each step waits for you already.", timeout=3)
            return
        orders = control.orders
        following = {NEVER: ALWAYS, ALWAYS: BREAKPOINTS if orders.rules else NEVER, BREAKPOINTS: NEVER}
        ask = following[orders.ask]
        control.order(dataclasses.replace(orders, ask=ask))
        waits = " The decision that waits still does." if self._run.view.asks and ask == NEVER else ""
        self._screen.notify(f"{_TELLS[ask]}{waits}", timeout=3)
        self._screen.redraw()

    def breakpoints(self, typed: str = "") -> None:
        """Open the editor of breakpoints, with a typed text."""
        control = self._control()
        if control is None:
            return

        def change(orders: Orders) -> None:
            control.order(orders)
            self._screen.redraw()

        self._screen.app.push_screen(BreakpointsDialog(control.orders, change, typed))

    def redo(self) -> None:
        """Take the step again that was taken back last."""
        control = self._control()
        if control is not None:
            self._run.present()
            control.redo()

    def end_episode(self) -> None:
        """End the episode after the person has confirmed it."""
        control, number, step = self._control(), self._run.view.episode, self._run.view.step
        if control is None or not number:
            return
        steps = f"{step} step{'s' if step != 1 else ''}"
        text = f"Episode {number} ends here, after {steps}. It is cut off, judged and remembered like any other."
        self._screen.app.push_screen(
            ConfirmDialog("end the episode", text, "end it"),
            lambda yes: control.end_episode(number) if yes else None,
        )


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
