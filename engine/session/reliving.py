"""Telling an agent again what happened in its session, so that it goes on as if the session had not been left.

All of it is read from the recording and from memory: nothing is played, and no model is asked.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from engine.agents.base import Turn
from engine.memory.disk.document import FORGOTTEN
from engine.memory.view import corrected
from engine.session.live import taken
from engine.session.sharing import place

if TYPE_CHECKING:
    from engine.agents.base import Learner
    from engine.memory.scope import Scope
    from engine.records import Decision, Observation, State
    from engine.session.past import Past, Take
    from engine.session.sharing import TakingUp
    from engine.settings import SessionConfig


def draws(seed: int, episode: int, step: int) -> np.random.Generator:
    """Return the generator of a decision. Its seed is the place in the run, so it needs no state of earlier draws."""
    return np.random.default_rng([seed, episode, step])


@dataclass(frozen=True, slots=True)
class Relived:
    """Tells a learner what happened in a session.

    Attributes:
        step_limit: Of an episode.
        before: Number of the first entry that was remembered after the session began.
        taking_up: Tells it what other sessions stored.
    """

    learner: Learner
    scope: Scope
    config: SessionConfig
    step_limit: int
    before: int
    taking_up: TakingUp

    def episode(self, past: Past) -> None:
        """Tell of an episode; of one that was left, only of its takes before the last one.

        An episode that lacks anything in memory is left out: what was forgotten is not learnt again. So is one that
        was in memory when the session began, because the agent has read it there.
        """
        self.taking_up.until(past.started.next_entry)
        if not past.ended:
            for take in past.takes[:-1]:
                self._take(past.started.episode, take)
            return
        episode = self.scope.episode(past.started.uid)
        if episode is None or any(step.provenance == FORGOTTEN for step in episode.steps):
            return
        _, first = self.scope.kept(episode)
        if first < self.before:
            return
        for take in past.takes:
            self._take(past.started.episode, take, episode.final, first)
        self.learner.remembered(episode, first)

    def decided(self, episode: int, decision: Decision, seen: Observation) -> None:
        """Tell of a decision of the agent.

        Args:
            episode: Number of its episode.
            seen: What was seen when it was made.
        """
        number, episodes = place(self.config, episode)
        turn = Turn(
            step=decision.step,
            steps_left=self.step_limit - decision.step,
            observation=seen,
            state=decision.state,
            valid_actions=decision.valid_actions,
            episode=number,
            episodes=episodes,
        )
        self.learner.decided(turn, decision, draws(self.config.seed, number, decision.step))

    def _take(self, episode: int, take: Take, final: State | None = None, first: int = -1) -> None:
        """Tell of the steps of an episode, with the points that a person gave them in place of the game's.

        Args:
            final: The state after the last one, if nothing was decided there.
            first: Entry number of its step 0 in memory, -1 if it is not there.
        """
        corrections = self.scope.corrections() if first >= 0 else {}
        states = [step.decision.state for step in take.steps]
        last = take.decided.state if take.decided is not None else final
        states += [last] if last is not None else []
        self.learner.begin_episode(states[0])
        for at, (step, then) in enumerate(zip(take.steps, states[1:], strict=False)):
            if step.decided is not None:
                self.decided(episode, step.decided, step.before)
            lived = taken(step.decision, step.decision.state, step.before, step.after)
            lived = corrected(lived, corrections.get(first + at))
            lost = step.after.outcome == "lost"
            self.learner.observe(lived, then, terminated=step.after.terminated, lost=lost)
        if take.decided is not None and take.steps:
            self.decided(episode, take.decided, take.steps[-1].after)
