"""Plays a run on a watch screen: pause, step, speed, fast-forward, and the way back and forth."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable

from engine.records import EpisodeEnded, Event, Paused, SessionEnded
from jitrl_tui.preferences import current, usual_delay
from jitrl_tui.runs.replay import ReplaySource
from jitrl_tui.screens.dialogs import STEPS, UNTIL_BREAKPOINT, forward_dialog
from jitrl_tui.screens.shown_run import Service, ShownRun, Surface

SPEEDS = (0.0, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0)
"""Delays between which + and - switch, in seconds per step."""
FAR_BACK = "That step is too far back for the screen: open the recording with jitrl replay."


class RunPlayer(Service):
    """Plays a run.

    Args:
        run: The run.
        screen: Its screen.
        delay: Delay at the start, in seconds per step.
        prompt: Puts the cursor into the command line of a person who plays.

    Attributes:
        delay: Delay in seconds per step.
        hurry: Number of the episode at whose end a fast-forward ends, 0 without one.
        hurry_from: Number of the episode in which it began.
    """

    def __init__(
        self, run: ShownRun, screen: Surface, delay: float = 0.0, prompt: Callable[[], object] = lambda: None
    ) -> None:
        super().__init__(run, screen)
        self._prompt, self.delay = prompt, delay
        self.hurry = self.hurry_from = 0
        self._speed = current().value("app.speed")
        """The speed of the settings when another screen was opened."""

    # -------------------------------------------------------------------------------- pause and step

    def approve(self) -> bool:
        """Approve the decision that the session asks about; return whether it asks."""
        from engine.session.control import PersonSaid

        view, control = self._run.view, self._run.source.control
        if not view.asks or control is None:
            return False
        self._run.present()
        control.answer(view.question, PersonSaid.APPROVED)
        return True

    def toggle_pause(self) -> None:
        """Pause or continue; where the session asks, approve."""
        if self.approve():
            return
        run = self._run
        run.present()
        if run.person_plays and run.view.activity == "paused":
            self._prompt()
            if run.view.pending:
                self._screen.notify("It is your turn. Key . lets the agent take one step, f more of them.", timeout=3)
            else:
                run.source.step_once()  # try again what failed, and wait for the person then
        elif run.view.activity == "paused":
            run.source.resume()
        else:
            self.hurry = 0
            run.source.pause()
            if run.view.activity == "thinking":
                self._screen.notify("Pausing at the next decision.", timeout=2)
        self._screen.redraw()

    def step_once(self) -> None:
        """Carry out one step; where the session asks, approve."""
        if self.approve():
            return
        self._run.present()
        self.hurry = 0
        self._run.source.step_once()

    # ------------------------------------------------------------------------------------------ speed

    def faster(self) -> None:
        """Reduce the time between steps."""
        self._change_speed(-1)

    def slower(self) -> None:
        """Increase the time between steps."""
        self._change_speed(1)

    def _change_speed(self, by: int) -> None:
        self._take_delay(next_stop(SPEEDS, self.delay, by))
        self._screen.app.remember("app.speed", 1 / self.delay if self.delay else 0.0)

    def _take_delay(self, seconds: float) -> None:
        self.delay = seconds
        self._run.source.set_delay(seconds)
        self._screen.redraw()

    def note_speed(self) -> None:
        """Remember the speed of the settings, because another screen is opened."""
        self._speed = current().value("app.speed")

    def follow_speed(self) -> None:
        """Take the speed of the settings, if it was changed on another screen."""
        if current().value("app.speed") != self._speed:
            self._take_delay(usual_delay())

    # ----------------------------------------------------------------------------------- fast-forward

    def forward(self) -> None:
        """Ask how far to fast-forward, or how much to hand over."""
        view, control = self._run.view, self._run.source.control
        if self._run.over:
            return
        self._run.present()
        left = (view.started.episodes if view.started else 0) - view.episode
        stops = control is not None and bool(control.orders.rules)
        self._screen.app.push_screen(forward_dialog(left, live=control is not None, stops=stops), self._forwarded)

    def _forwarded(self, answer: str | None) -> None:
        from engine.session.control import FOREVER

        source = self._run.source
        if answer is None:
            return
        if answer.isdigit():
            if source.live:
                self.hurry_from = max(1, self._run.view.episode)
                self.hurry = self.hurry_from + int(answer)
            source.fast_forward(int(answer))
        elif source.control is not None:
            if answer == UNTIL_BREAKPOINT:
                source.control.fast_forward(FOREVER)
            else:
                source.control.hand_over(int(answer.removeprefix(STEPS)))
        self._screen.redraw()

    def hand_over(self, steps: str = "") -> None:
        """Hand a number of steps over."""
        if steps.isascii() and steps.isdigit() and int(steps[:7]) > 0:
            self._forwarded(STEPS + steps[:7])
        else:
            self._warn("/auto takes a number of steps: /auto 3")

    def note(self, event: Event) -> None:
        """End the fast-forward at an event that ends it."""
        if isinstance(event, (SessionEnded, Paused)) or (
            isinstance(event, EpisodeEnded) and event.episode >= self.hurry
        ):
            self.hurry = 0

    # ------------------------------------------------------------------------------- back and forth

    def look(self, by: int) -> None:
        """Show an earlier or later decision. In a recording, go there."""
        run = self._run
        if isinstance(run.source, ReplaySource):
            run.source.pause()
            run.source.seek(by)
            return
        choices, shown = list(run.view.choices), run.choice
        if shown is None:
            return
        places = [(one.episode, one.decision.step) for one in choices]
        at = max(0, bisect_right(places, (shown.episode, shown.decision.step)) - 1 + by)
        if at >= len(choices) - 1:
            run.present()
        elif not run.look_at(choices[at]):
            self._screen.notify(FAR_BACK)

    def go_to_step(self, episode: int, step: int) -> None:
        """Show the decision of a step."""
        run = self._run
        if isinstance(run.source, ReplaySource):
            run.source.pause()
            run.source.seek_step(episode, step)
            return
        at = next((one for one in run.view.choices if (one.episode, one.decision.step) == (episode, step)), None)
        if at is None or not run.look_at(at):
            self._screen.notify(FAR_BACK)


def next_stop(stops: tuple[float, ...], now: float, by: int) -> float:
    """Return the stop that is `by` places from the one nearest to `now`, the first or last one at most."""
    at = min(range(len(stops)), key=lambda i: abs(stops[i] - now))
    return stops[min(max(at + by, 0), len(stops) - 1)]
