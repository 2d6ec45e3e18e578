"""A recorded run told to its agent again: what it would decide at each step with other settings or another memory.

The agent is the same as in a session (`engine.agents.jitrl`), with the same draws. What the model proposed is taken
from the recording, so no model is asked, and the environment is not played: the agent is told the recorded steps.
Numbers are therefore those of a run with these settings, up to the first step that such a run would take differently.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import cast

import numpy as np

from engine.agents.base import Turn
from engine.errors import UsageError
from engine.memory.disk.document import FORGOTTEN
from engine.memory.scope import Scope
from engine.memory.search import CLEAR, Lens
from engine.memory.view import View, corrected
from engine.records import (
    Decided,
    Decision,
    Episode,
    Event,
    Observation,
    SessionStarted,
    State,
)
from engine.session.live import taken
from engine.session.past import Past, Take, episodes
from engine.session.reliving import draws
from engine.session.retold_agent import RecordedEstimator, RetoldAgent
from engine.session.sharing import TakingUp, place
from engine.settings import Settings
from engine.values import ESTIMATORS
from engine.values.base import Estimator
from engine.values.failing import failure

_POLICY = frozenset(
    {
        "beta",
        "beta_growth",
        "beta_episodes",
        "normalisation",
        "epsilon",
        "epsilon_times",
        "selection",
        "unremembered",
    }
)
"""Settings that count after V and Q are known."""
_VALUES = frozenset({"lam", "alpha", "baseline", "optimism", "memory_candidates"})
"""Settings that count after the neighbours are known, for the estimator knn."""
_MEMORY = frozenset(
    {
        "k", "r", "relax", "relax_steps", "history_weight", "keep_above", "ties", "task_threshold", "gamma",
        "zero_rewards", "retrieval", "embedder", "recall_pool", "recall_times", "other_tasks", "estimator",
        "curiosity", "prior_weight", "settling",
    }
)  # fmt: skip
"""Settings for which memory is asked anew."""
CHANGEABLE = _POLICY | _VALUES | _MEMORY
"""Settings whose effect needs no model and no environment."""


@dataclass(frozen=True, slots=True)
class Again:
    """One recorded decision, made again.

    Attributes:
        episode: Number of the episode within the session, from 1.
        recorded: What the agent decided.
        now: What it decides with the other settings or memory.
        carried_out: Whether the recorded step was taken.
    """

    episode: int
    recorded: Decision
    now: Decision
    carried_out: bool = True

    @property
    def differs(self) -> bool:
        """Whether another action is chosen."""
        return self.now.action != self.recorded.action

    @property
    def same(self) -> bool:
        """Whether all is as recorded: the candidates, their values, both policies and the choice."""
        one, other = self.recorded, self.now
        return (
            one.action == other.action
            and [c.action for c in one.candidates] == [c.action for c in other.candidates]
            and np.allclose(one.posterior, other.posterior, rtol=0.0, atol=1e-9)
            and _numbers(one) == _numbers(other)
        )


class RecordedRun:
    """A recording whose decisions can be made again.

    Args:
        events: (Unix time, event) pairs of a recording, oldest first.
        scope: The memory it was played with; None if that is not at hand.
        live: Whether the run goes on, so that its last episode sees all that is remembered now.

    Raises:
        UsageError: The agent of the recording has no update of the logits, or nothing was decided.
    """

    def __init__(
        self, events: Iterable[tuple[float, Event]], scope: Scope | None = None, *, live: bool = False
    ) -> None:
        told = list(events)
        started = [event for _, event in told if isinstance(event, SessionStarted)]
        if not started:
            raise UsageError("the recording does not begin with a session")
        self.started = started[-1]
        if self.started.agent != "jitrl":
            raise UsageError(
                f"the agent {self.started.agent} adjusts no logits, so there are no settings of Algorithm 1 to change"
            )
        self.settings = recorded_settings(self.started)
        self.scope = scope
        self._live = live
        self.episodes = list(episodes(event for _, event in told))
        # By the identity of a decision, which is not hashable: when it was made.
        self._times = {id(event.decision): at for at, event in told if isinstance(event, Decided)}
        if next(self._decisions(), None) is None:
            raise UsageError("nothing was decided in this recording")

    def __len__(self) -> int:
        """Return the number of decisions of the agent, those that were not carried out included."""
        return sum(1 for _ in self._decisions())

    def _decisions(self) -> Iterator[Decision]:
        for past in self.episodes:
            for take in past.takes:
                yield from (step.decided for step in take.steps if step.decided is not None)
                if take.decided is not None:
                    yield take.decided

    @property
    def plans(self) -> bool:
        """Whether the estimator follows a plan through the run, so that all earlier decisions have to be made again."""
        return ESTIMATORS.find(self.settings.estimator).resume is not None

    def needs_memory(self, settings: Settings) -> bool:
        """Return whether memory has to be asked anew for these settings."""
        changed = self.changed(settings) - _POLICY
        if self.settings.estimator != "knn" or settings.estimator != "knn":
            return bool(changed)
        now, then = settings, self.settings
        if now.k <= then.k and now.r >= then.r and not then.keep_above:
            changed -= {"k", "r"}  # the neighbours are among the recorded ones
        return bool(changed - _VALUES)

    def changed(self, settings: Settings) -> set[str]:
        """Return the names of the settings that differ from the recorded ones.

        Raises:
            UsageError: The effect of one of them cannot be computed from a recording.
        """
        names = {
            spec.name for spec in dataclasses.fields(Settings)
            if getattr(settings, spec.name) != getattr(self.settings, spec.name)
        }  # fmt: skip
        if out := sorted(names - CHANGEABLE):
            raise UsageError(
                f"{out[0]} cannot be changed after the run: its effect needs the model or the environment. "
                f"These can be: {', '.join(sorted(CHANGEABLE))}"
            )
        return names

    def again(
        self,
        settings: Settings,
        *,
        lens: Lens | None = None,
        at: tuple[int, int] | None = None,
        from_memory: bool | None = None,
        check: Callable[[], None] = lambda: None,
    ) -> Iterator[Again]:
        """Make the decisions again, oldest first.

        Args:
            settings: The settings to decide with.
            lens: Changes of memory: what it lacks, and corrections. None for memory as it was at each step.
            at: Episode and step of the only decision to yield; None for all.
            from_memory: Whether memory is asked anew; None for only if the settings or the lens demand it.
            check: Called before each decision. What it raises ends the work.

        Raises:
            UsageError: Memory has to be asked and is not at hand, or a setting cannot be changed.
        """
        for _, one in self._made(settings, lens, at, from_memory, check):
            yield one

    def told(
        self, at: tuple[int, int], *, check: Callable[[], None] = lambda: None
    ) -> tuple[Estimator, Again] | None:
        """Return an estimator that knows memory as it is now and the run up to a decision, and that decision.

        Args:
            at: Number of its episode, and its step.

        Returns:
            None if the decision is not in the recording.
        """
        found = next(self._made(self.settings, CLEAR, at, True, check), None)
        return None if found is None else (found[0].estimator, found[1])

    def _made(
        self,
        settings: Settings,
        lens: Lens | None,
        at: tuple[int, int] | None,
        from_memory: bool | None,
        check: Callable[[], None],
    ) -> Iterator[tuple[RetoldAgent, Again]]:
        """Yield the decisions that are made again, each with the agent that has just made it."""
        asks = from_memory
        if asks is None:
            asks = self.needs_memory(settings) or (
                lens is not None and not (self.scope is None and not self.plans)
            )
        if asks and self.scope is None:
            raise UsageError(
                "the memory of this recording is not at hand, so only settings that count after retrieval can be "
                f"changed: {', '.join(sorted(_POLICY | _VALUES))}"
            )
        if self.scope is not None:
            self.scope.refresh()
        view = View(self.scope) if asks and self.scope is not None else None
        agent = self.agent(settings, view, lens)
        uids = {past.started.uid for past in self.episodes}
        taking_up = TakingUp(agent, view, self._begin(), uids) if view is not None else None
        whole = at is None or (asks and ESTIMATORS.find(settings.estimator).resume is not None)
        for past in self.episodes:
            if at is not None and past.started.episode > at[0]:
                return
            if not whole and at is not None and past.started.episode != at[0]:
                continue
            if taking_up is not None:
                taking_up.until(past.started.next_entry)
            for done in self._episode(agent, past, view, lens, at, whole, check):
                yield agent, done
                if at is not None:
                    return

    def agent(self, settings: Settings, view: View | None, lens: Lens | None) -> RetoldAgent:
        """Return an agent that decides again; with a view, from memory as it was when the session began."""
        if view is None:
            lens = lens or CLEAR
            anew = not self.plans and bool(self.changed(settings) - _POLICY or lens is not CLEAR)
            return RetoldAgent(RecordedEstimator(settings, lens, anew), settings)
        begin = self._begin()
        first = next(iter(self._times.values()), CLEAR.until)
        view.lens = Lens(begin, first) if lens is None else dataclasses.replace(lens, before=begin, partly=True)
        kind, memory = ESTIMATORS.find(settings.estimator), cast("Scope", view)
        try:
            made = kind.resume(memory, settings, begin) if kind.resume is not None else kind.make(memory, settings)
        except Exception as error:
            raise failure(error) from error
        return RetoldAgent(made, settings)

    # ------------------------------------------------------------------------------------- details

    def _episode(
        self,
        agent: RetoldAgent,
        past: Past,
        view: View | None,
        lens: Lens | None,
        at: tuple[int, int] | None,
        whole: bool,
        check: Callable[[], None],
    ) -> Iterator[Again]:
        """Tell the agent an episode, and yield what it decides.

        Args:
            whole: Whether decisions before the one asked for have to be made, too.
        """
        stored = self.scope.episode(past.started.uid) if self.scope is not None and past.started.uid else None
        first = -1
        if stored is not None and self.scope is not None:
            stored, first = self.scope.kept(stored)
            if lens is not None and past.ended and _lacks(stored, first, lens):
                return
        elif lens is not None and past.ended and self._learns():
            return  # it was forgotten, and is not learnt again
        last = past.takes[-1]
        for take in past.takes:
            if not take.steps and take.decided is None:
                continue
            final = stored.final if stored is not None and take is last else None
            yield from self._take(agent, past, take, final, view, lens, first, at, whole, check)
        if past.ended and stored is not None:
            agent.end_episode(view.seen(stored, first) if view is not None else stored, first)

    def _take(
        self,
        agent: RetoldAgent,
        past: Past,
        take: Take,
        final: State | None,
        view: View | None,
        lens: Lens | None,
        first: int,
        at: tuple[int, int] | None,
        whole: bool,
        check: Callable[[], None],
    ) -> Iterator[Again]:
        number, is_last = past.started.episode, take is past.takes[-1]
        states = [step.decision.state for step in take.steps]
        end = take.decided.state if take.decided is not None else final
        states += [end] if end is not None else []
        agent.begin_episode(states[0])
        corrections = view.corrections(view.lens) if view is not None and first >= 0 else {}

        def decide(decision: Decision, seen: Observation, carried_out: bool) -> Iterator[Again]:
            here = (number, decision.step)
            wanted = is_last and (at is None or here == at)
            if not (wanted or whole):
                return
            check()
            if view is not None:
                view.lens = self._lens(past, first, decision, lens)
            turn = self._turn(number, decision, seen)
            now = agent.again(turn, decision, draws(self.started.seed, turn.episode, decision.step))
            if wanted:
                yield Again(number, decision, now, carried_out)

        for n, step in enumerate(take.steps):
            if step.decided is not None:
                yield from decide(step.decided, step.before, True)
            if n + 1 < len(states):
                lived = taken(step.decision, step.decision.state, step.before, step.after)
                lived = corrected(lived, corrections.get(first + n))
                agent.observe(
                    lived, states[n + 1], observation=step.after, terminated=step.after.terminated,
                    lost=step.after.outcome == "lost",
                )  # fmt: skip
        if take.decided is not None:
            yield from decide(
                take.decided, take.steps[-1].after if take.steps else past.started.observation, False
            )

    def _turn(self, episode: int, decision: Decision, seen: Observation) -> Turn:
        known = {*decision.valid_actions, *(c.action for c in decision.candidates)}
        planned = decision.update is not None and bool(decision.update.valuation.terms)
        added = ("valid", "memory") if planned else ("valid",)
        proposed = {c.action for c in decision.candidates if c.source not in added}
        is_open = not proposed <= set(decision.valid_actions)
        place_in_all, of_all = place(self.started, episode)
        return Turn(
            step=decision.step,
            steps_left=self.started.steps - decision.step,
            observation=seen,
            state=decision.state,
            valid_actions=decision.valid_actions,
            resolve=(lambda action: action if action in known else None) if is_open else None,
            episode=place_in_all,
            episodes=of_all,
        )

    def _begin(self) -> int:
        """Return the number of the first entry that was remembered after the session began."""
        if self.started.next_entry is not None:
            return self.started.next_entry
        firsts = (self._first(past) for past in self.episodes)
        return next((first for first in firsts if first is not None), self.started.memory_entries)

    def _first(self, past: Past) -> int | None:
        return self.scope.first_entry(past.started.uid) if self.scope is not None else None

    def _learns(self) -> bool:
        """Return whether any episode of the run is in memory."""
        return any(self._first(past) is not None for past in self.episodes)

    def _lens(self, past: Past, first: int, decision: Decision, changes: Lens | None) -> Lens:
        """Return the lens for a decision: memory as it was then, with changes."""
        if first >= 0:
            before: int | None = first
        elif self._live and past is self.episodes[-1]:
            before = None
        else:
            before = self._begin()
            for earlier in self.episodes[: self.episodes.index(past)]:
                if (
                    self.scope is not None
                    and (episode := self.scope.episode(earlier.started.uid)) is not None
                ):
                    before = self.scope.kept(episode)[1] + len(episode.steps)
        if changes is None:
            return Lens(before=before, until=self._times.get(id(decision), CLEAR.until))
        return dataclasses.replace(changes, before=before)


def recorded_settings(started: SessionStarted) -> Settings:
    """Return the settings of a recording. Settings that it does not name have their defaults.

    Raises:
        UsageError: A value is out of range.
    """
    known = {spec.name for spec in dataclasses.fields(Settings)}
    return Settings(**{name: value for name, value in started.settings.items() if name in known})


def _lacks(episode: Episode, first: int, lens: Lens) -> bool:
    """Return whether a step of an episode was forgotten or is hidden."""
    return any(
        step.provenance == FORGOTTEN or first + n in lens.without for n, step in enumerate(episode.steps)
    )


def _numbers(decision: Decision) -> tuple[object, ...]:
    """Return what a decision rests on, rounded so that the order of sums does not count."""
    update = decision.update
    if update is None:
        return ()
    value = update.valuation
    return (
        round(value.v, 9),
        tuple(round(q, 9) for q in value.q),
        value.n,
        value.how,
        tuple(one.entry for one in update.neighbours),
    )
