"""Actions with which a person steers: answers to questions, breakpoints, hand-over, redo, end of the episode."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from engine.session.orders import ALWAYS, BREAKPOINTS, NEVER, Orders
from jitrl_tui.screens import dialogs
from jitrl_tui.screens.run_actions import KeepingScreen
from jitrl_tui.screens.run_dialogs import BreakpointsDialog

if TYPE_CHECKING:
    from engine.session.control import Control

KEYS = "Enter yes   o another   X veto it here   f hand over   a ask no more"
UNTIL_BREAKPOINT, STEPS = "breakpoint", "steps "
"""Answers of the dialog that hands over: until a breakpoint, or for a number of steps."""
_TELLS = {
    ALWAYS: "It asks before each step now.",
    BREAKPOINTS: "It asks where a breakpoint matches now.",
    NEVER: "It asks no more.",
}


class AskingScreen(KeepingScreen):
    """A screen for one run that asks a person about decisions."""

    _hurry = _hurry_from = 0

    def _control(self) -> Control | None:
        """Return what takes the person's commands; None, with a message, for a recording or a session that is over."""
        if self.source.control is None:
            self.notify("This is a recording: what happened cannot be changed.", severity="warning")
        elif self.view.activity == "ended":
            self.notify("The session is over.", severity="warning")
        else:
            return self.source.control
        return None

    def steering(self) -> str:
        """Return for the status line when the session asks, "" if it does not."""
        asks = self.source.control.orders.ask if self.source.control is not None else NEVER
        return {ALWAYS: "asks each step", BREAKPOINTS: "asks at breakpoints"}.get(asks, "")

    def banner(self) -> str:
        """Return why the session waits, and the keys that answer a question; "" if there is nothing to say."""
        view = self.view
        if view.activity != "paused" or not self.source.live:
            return ""
        if self.shown_view is not view:  # what it waits for is no part of an earlier step
            return "The session asks about a later step: Esc goes there." if view.asks else ""
        if view.asks and view.choice is not None:
            decision = view.choice.decision
            chance = f" ({decision.posterior[decision.chosen]:.0%})" if decision.chosen >= 0 else ""
            return "\n".join(filter(None, [view.doing, f"Shall the agent do this: {decision.action}{chance}", KEYS]))
        if view.doing and not view.pending:
            return f"{view.doing}  (space tries again, q leaves)"
        return view.doing

    # ------------------------------------------------------------------------------------- questions

    def approved(self) -> bool:
        """Approve the decision that the session asks about; return whether it asks."""
        from engine.session.control import PersonSaid

        if not self.view.asks or self.source.control is None:
            return False
        self.present()
        self.source.control.answer(self.view.question, PersonSaid.APPROVED)
        return True

    def action_approve(self) -> None:
        """Approve the decision that the session asks about."""
        self.approved()

    def action_veto(self) -> None:
        """Let the agent choose another action in this state."""
        from engine.session.control import PersonSaid

        control = self._control()
        if control is None:
            return
        self.present()
        if self.view.question and self.view.choice is not None:
            control.answer(self.view.question, PersonSaid.VETOED, self.view.choice.decision.action)
        else:
            self.notify("No decision waits for you: pause first, with space.", timeout=3)

    def action_ask(self) -> None:
        """Ask before each step; where a breakpoint matches, if there are any; or not at all."""
        control = self._control()
        if control is None:
            return
        if self.person_plays:
            self.notify("Where you play, each step waits for you already.", timeout=3)
            return
        orders = control.orders
        following = {NEVER: ALWAYS, ALWAYS: BREAKPOINTS if orders.rules else NEVER, BREAKPOINTS: NEVER}
        ask = following[orders.ask]
        control.order(dataclasses.replace(orders, ask=ask))
        waits = " The decision that waits still does." if self.view.asks and ask == NEVER else ""
        self.notify(f"{_TELLS[ask]}{waits}", timeout=3)
        self._draw()

    def action_breakpoints(self) -> None:
        """Open the editor of breakpoints."""
        control = self._control()
        if control is None:
            return

        def change(orders: Orders) -> None:
            control.order(orders)
            self._draw()

        self.app.push_screen(BreakpointsDialog(control.orders, change))

    # -------------------------------------------------------------------------------- steps and episodes

    def action_forward(self) -> None:
        """Ask how far to fast-forward, or how much to hand over."""
        if self.view.activity == "ended":
            return
        self.present()
        control = self.source.control
        total = self.view.started.episodes if self.view.started else 0
        stops = control is not None and bool(control.orders.rules)
        dialog = dialogs.ForwardDialog(total - self.view.episode, live=control is not None, stops=stops)
        self.app.push_screen(dialog, self._forwarded)

    def _forwarded(self, answer: str | None) -> None:
        from engine.session.control import FOREVER

        if answer is None:
            return
        if answer.isdigit():
            if self.source.live:
                self._hurry_from = max(1, self.view.episode)
                self._hurry = self._hurry_from + int(answer)
            self.source.fast_forward(int(answer))
        elif self.source.control is not None:
            if answer == UNTIL_BREAKPOINT:
                self.source.control.fast_forward(FOREVER)
            else:
                self.source.control.hand_over(int(answer.removeprefix(STEPS)))
        self._draw()

    def action_redo(self) -> None:
        """Take the step again that was taken back last."""
        control = self._control()
        if control is not None:
            self.present()
            control.redo()

    def action_end_episode(self) -> None:
        """End the episode after the person has confirmed it."""
        control, number = self._control(), self.view.episode
        if control is None or not number:
            return

        def confirmed(yes: bool | None) -> None:
            if yes:
                control.end_episode(number)

        steps = f"{self.view.step} step{'s' if self.view.step != 1 else ''}"
        text = f"Episode {number} ends here, after {steps}. It is cut off, judged and remembered like any other."
        self.app.push_screen(dialogs.ConfirmDialog("end the episode", text, "end it"), confirmed)

    def hand_over_typed(self, steps: str) -> None:
        """Hand a number of steps over."""
        if steps.isascii() and steps.isdigit() and int(steps[:7]) > 0:
            self._forwarded(STEPS + steps[:7])
        else:
            self.notify("/auto takes a number of steps: /auto 3", severity="warning")
