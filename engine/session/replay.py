"""Tells an agent what happens in its session, and replays a recorded session to it: its episodes go in, and an agent
that knows what happened comes out.

In play, the loop tells the agent through this. A session that is resumed, a step that is taken back, a branch, what-if
and a decision that is made again use it, too; nothing is played for the last three, and no model is asked.
"""

from __future__ import annotations

import zlib
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from engine.agents.base import Agent, Replayed, Turn
from engine.errors import BadFile
from engine.memory.disk.document import FORGOTTEN
from engine.memory.view import ScopeView, corrected
from engine.records import Decision, Episode, Observation, SessionStarted, State, Step
from engine.session import levers
from engine.session.live import step_of
from engine.session.recorded_steps import RecordedEpisode, Take, TakenStep
from engine.session.shared import place
from engine.settings import Settings


def draws(seed: int, task: str, episode: int, step: int) -> np.random.Generator:
    """Return the generator of a decision. Its seed is the place in the run, so it needs no state of earlier draws.

    Args:
        task: `EnvironmentInfo.task` as it was when the session began. "" adds nothing to the seed.
    """
    return np.random.default_rng([seed, episode, step, *([zlib.crc32(task.encode())] if task else [])])


@dataclass(frozen=True, slots=True)
class ReplayedDecision:
    """A decision of a recording, when it comes up in the replay.

    Attributes:
        turn: What the agent was asked, without texts for prompts and `page`.
        recorded: What it decided.
        rng: What it decided with.
        carried_out: Whether its step was taken.
        stands: Whether neither its step nor one before it was taken back later.
        at: Unix time at which it was made.
        changed: What a person had changed of the settings by then, by name.
        again: Whether it came up before, and its step is taken again, as a later one was taken back.
    """

    turn: Turn
    recorded: Decision
    rng: np.random.Generator
    carried_out: bool = True
    stands: bool = True
    at: float = 0.0
    changed: Mapping[str, Any] = field(default_factory=dict)
    again: bool = False


class Replay:
    """Tells an agent what happens in its session, and what happened in it before, in the same order.

    Args:
        agent: What is told.
        started: The beginning of the session, with `next_entry`.
        view: The memory as the agent sees it; None if that is not at hand.
        own: Uids of the session's own episodes. The session adds new ones.
        settings: Those that the session began with. Each decision is told with what a person had changed of them by
            then. None for those that the agent has.
        takes_back: Whether a step of the running episode may be taken back.
    """

    def __init__(
        self, agent: Agent, started: SessionStarted, view: ScopeView | None, own: Collection[str],
        settings: Settings | None = None, *, takes_back: bool = True,
    ) -> None:  # fmt: skip
        self._settings, self._takes_back = settings, takes_back
        self._agent, self._started, self._view, self._own = agent, started, view, own
        self._replayed = agent if isinstance(agent, Replayed) and agent.replayed else None
        self._begin = self._since = started.next_entry or 0

    def replay_episode(self, past: RecordedEpisode) -> None:
        """Tell the agent an episode with its own decisions, if it has to know of it.

        What memory has lost steps of is not learnt again. What memory had when the session began was read there. Steps
        that were taken back are not told.
        """
        if self._replayed is None:
            return
        first = self._view.scope.first_entry(past.started.uid) if self._view is not None else None
        if past.ended is None or first is None or first >= self._begin:
            for asked in self.episode(replace(past, takes=past.takes[-1:]), forgotten=False):
                self._decided(self._replayed, asked)

    def taken_back(self) -> None:
        """Have the agent forget the running episode. Its beginning and the steps that are left are told next."""
        if self._replayed is not None:
            self._replayed.take_back()

    def begun(self, state: State, *, for_good: bool = False) -> None:
        """Tell the agent that an episode begins, or that its steps are taken again.

        Args:
            for_good: Whether it is known that none of its steps will be taken back.
        """
        self._agent.begin_episode(state)
        if self._replayed is not None and self._takes_back and not for_good:
            self._replayed.keep()

    def decided(self, episode: int, step: TakenStep, seen: Observation) -> None:
        """Tell the agent what it decided, when its step is taken again."""
        if self._replayed is not None and step.decided is not None:
            self._decided(self._replayed, self._asked(episode, step.decided, seen, changed=step.changed))

    def _decided(self, agent: Replayed, asked: ReplayedDecision) -> None:
        if self._settings is not None:
            agent.change(levers.with_changes(self._settings, asked.changed))
        agent.decided(asked.turn, asked.recorded, asked.rng)

    def stepped(self, step: Step, then: State, seen: Observation) -> None:
        """Tell the agent of a step.

        Args:
            then: The state after it.
            seen: What the environment showed for it.
        """
        self._agent.observe(
            step, then, observation=seen, terminated=seen.terminated, lost=seen.outcome == "lost"
        )

    def others(self, before: int | None) -> None:
        """Tell the agent what other sessions stored below an entry number, and was not told yet; nothing for None."""
        if before is None or before <= self._since:
            return
        since, self._since = self._since, before
        if self._view is None or self._replayed is None:
            return
        scope = self._view.scope
        for first, uid in scope.stored_since(since):
            if first >= before:
                break
            if uid in self._own:
                continue
            try:
                episode = scope.episode(uid)
            except BadFile:
                continue  # damaged since it was stored
            if episode is not None and not _lacks(seen := self._view.seen(episode, first)):
                self._replayed.stored_elsewhere(seen, first)

    def episode(self, past: RecordedEpisode, *, forgotten: bool = True) -> Iterator[ReplayedDecision]:
        """Tell the agent an episode, and yield each decision in it when it comes up.

        The agent is not told of decisions here. Who calls this tells it what it decided, or has it decide again.

        Args:
            forgotten: Whether to tell an episode that memory has lost steps of.
        """
        self.others(past.started.next_entry)
        stored, first = self._stored(past)
        if past.ended is not None and not forgotten and self._view is not None:
            lost = _lacks(self._view.seen(stored, first)) if stored is not None else past.ended.entries_added > 0
            if lost:
                return
        for at, take in enumerate(past.takes):
            if at:
                self.taken_back()
            final = None
            if take is past.takes[-1] and stored is not None:
                final = stored.final
            elif take is past.takes[-1] and past.ended is not None:
                final = past.ended.state
            stand = min((len(one.steps) - 1 for one in past.takes[at:-1]), default=None)
            yield from self._take(past, take, first, final, stand)
        if past.ended is not None and stored is not None and self._view is not None:
            self._agent.end_episode(self._view.seen(stored, first), first)

    def _stored(self, past: RecordedEpisode) -> tuple[Episode | None, int]:
        """Return an episode as it is stored, and the entry number of its step 0; None and -1 if it is not."""
        scope = self._view.scope if self._view is not None else None
        stored = scope.episode(past.started.uid) if scope is not None and past.started.uid else None
        return scope.kept(stored) if scope is not None and stored is not None else (None, -1)

    def _take(
        self, past: RecordedEpisode, take: Take, first: int, final: State | None, stand: int | None
    ) -> Iterator[ReplayedDecision]:
        """Tell the agent the steps of an episode, with the points that a person gave them in place of the game's.

        Args:
            first: Entry number of its step 0 in memory, -1 if it is not there.
            final: The state after the last one, if nothing was decided there.
            stand: Number of its steps that were never taken back later; None for all.
        """
        number = past.started.episode
        states = [step.decision.state for step in take.steps]
        end = take.decided.state if take.decided is not None else final
        states += [end] if end is not None else []
        if not states:
            return
        self.begun(states[0], for_good=past.ended is not None and take is past.takes[-1])
        view = self._view if first >= 0 else None
        corrections = view.scope.corrections(view.memory_filter) if view is not None else {}
        for n, step in enumerate(take.steps):
            if step.decided is not None:
                stands = stand is None or n < stand
                yield self._asked(
                    number, step.decided, step.before, stands=stands, at=step.at, changed=step.changed, again=step.again
                )
            if n + 1 < len(states):
                played = step_of(step.decision, step.decision.state, step.before, step.after)
                self.stepped(corrected(played, corrections.get(first + n)), states[n + 1], step.after)
        if take.decided is not None:
            seen = take.steps[-1].after if take.steps else past.started.observation
            yield self._asked(
                number, take.decided, seen, carried_out=False, stands=stand is None, at=take.at, changed=take.changed
            )

    def _asked(
        self, episode: int, decision: Decision, seen: Observation, **how: Any
    ) -> ReplayedDecision:
        """Return what the agent was asked when it decided; `how` has the further fields."""
        known = {*decision.valid_actions, *(c.action for c in decision.candidates)}
        planned = decision.update is not None and bool(decision.update.valuation.terms)
        added = ("valid", "memory") if planned else ("valid",)
        proposed = {c.action for c in decision.candidates if c.source not in added}
        is_open = not proposed <= set(decision.valid_actions)
        number, episodes = place(self._started, episode)
        turn = Turn(
            step=decision.step,
            steps_left=self._started.steps - decision.step,
            observation=seen,
            state=decision.state,
            valid_actions=decision.valid_actions,
            resolve=(lambda action: action if action in known else None) if is_open else None,
            episode=number,
            episodes=episodes,
        )
        rng = draws(self._started.seed, self._started.environment.task, number, decision.step)
        return ReplayedDecision(turn, decision, rng, **how)


def _lacks(episode: Episode) -> bool:
    """Return whether a step of an episode was forgotten."""
    return any(step.provenance == FORGOTTEN for step in episode.steps)
