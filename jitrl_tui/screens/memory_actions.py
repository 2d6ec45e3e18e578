"""Actions of the watch screen on what is remembered, and the window of what would be."""

from __future__ import annotations

from typing import TYPE_CHECKING

from jitrl_tui.levers import Levers
from jitrl_tui.panes.memory import MemoryPane
from jitrl_tui.replay import ReplaySource
from jitrl_tui.screens.memory_trials import MemoryTrial
from jitrl_tui.screens.run_actions import KeepingScreen
from jitrl_tui.view import Choice

if TYPE_CHECKING:
    from jitrl_tui.screens.whatif import GoOn
    from jitrl_tui.source import Source


FAR_BACK = "That step is too far back for the screen: open the recording with jitrl replay."


class TrialScreen(KeepingScreen):
    """A screen of a run whose memory a person can try out changes on."""

    def __init__(self, source: Source) -> None:
        super().__init__(source)
        self.hands = MemoryTrial(self)
        self.levers = Levers(source)

    @property
    def shown_choice(self) -> Choice | None:
        """The displayed choice as it was made."""
        raise NotImplementedError

    def _look_at(self, choice: Choice) -> None:
        """Show an earlier choice."""
        raise NotImplementedError

    def redraw(self) -> None:
        """Draw everything, because something is tried out."""
        self._draw()

    def on_memory_pane_asked(self, event: MemoryPane.Asked) -> None:
        """Try out what a person does to a remembered step."""
        self.hands.asked(event)

    def action_undo_trial(self) -> None:
        """Take the last change out of the trial."""
        self.hands.undo()

    def action_keep_trial(self) -> None:
        """Store the changes of the trial."""
        self.hands.keep()

    def action_what_if(self) -> None:
        """Open the what-if window."""
        self.hands.what_if(self.go_to_step, self.go_on_with)

    def go_on_with(self, answer: GoOn) -> None:
        """Go on with other settings: in a branch, or in the running session."""
        if answer.branch:
            self.branch_with(answer.settings)
        else:
            self._turned(self.levers.apply(self.view, answer.changes))

    def action_episode(self, by: int) -> None:
        """Go to another episode of a recording; in a running session, change the chosen setting."""
        if isinstance(self.source, ReplaySource):
            self.source.seek_episode(by)
        else:
            self._turned(self.levers.turn(self.view, by))

    def action_lever(self) -> None:
        """Choose another setting for these keys."""
        self._turned(self.levers.choose(self.view))

    def _turned(self, sentence: str) -> None:
        if sentence:
            self.notify(sentence, timeout=4)
        self._draw()

    def action_memories(self) -> None:
        """Open the memory screen on the memory of the run."""
        from jitrl_tui.screens.memory import MemoryScreen

        recorded, choice = self.hands.recorded, self.shown_choice
        scope, opened, where = recorded.scope(), recorded.opened(), recorded.path()
        if scope is None or opened is None or opened.memory is None or where is None:
            return
        settings = choice.settings if choice is not None else {}

        def changed() -> None:
            self.hands.drop()
            if self.source.live and self.view.activity != "ended":
                self.source.reread()

        self.app.push_screen(
            MemoryScreen(
                opened.memory,
                scope.name,
                where[1],
                gamma=float(settings.get("gamma", 0.5)),
                zero_rewards=str(settings.get("zero_rewards", "zero")),
                changed=changed,
            )
        )

    def go_to_step(self, episode: int, step: int) -> None:
        """Show the decision of a step."""
        if isinstance(self.source, ReplaySource):
            self.source.pause()
            self.source.seek_step(episode, step)
            return
        for choice in self.view.choices:
            if (choice.episode, choice.decision.step) == (episode, step):
                self._look_at(choice)
                return
        self.notify(FAR_BACK)

    def on_unmount(self) -> None:
        """Close the memory that the hands have opened."""
        self.hands.close()
