"""The JitRL agent: a frozen prior whose logits the memory adjusts."""

from __future__ import annotations

from collections.abc import Callable, Sized
from dataclasses import replace
from typing import TypeVar

import numpy as np

from engine import explain, jitrl, worked
from engine.agents.base import Prior, Turn
from engine.agents.static import NO_OPTION, StaticAgent, tally
from engine.errors import EstimatorError
from engine.records import (
    Candidate,
    Decision,
    Episode,
    Neighbour,
    Observation,
    Proposal,
    State,
    Step,
    Update,
    Valuation,
)
from engine.settings import Settings
from engine.values import ESTIMATORS
from engine.values.base import Estimator, Query, failure, outlook

_Answer = TypeVar("_Answer")


class JitrlAgent(StaticAgent):
    """Algorithm 1, steps 1 to 6, with any prior and any estimator. Nothing is added to the prompt.

    Args:
        estimator: Estimates V and Q.
        searched: The memory in which the estimator looks for neighbours, so that it is counted how often it finds
            some; None if it looks for none.
    """

    learns = True

    def __init__(
        self,
        prior: Prior,
        estimator: Estimator,
        settings: Settings,
        *,
        name: str = "jitrl",
        searched: Sized | None = None,
    ) -> None:
        super().__init__(prior, settings, name=name)
        self._searched = searched
        self._failure: EstimatorError | None = None
        """Why the estimator has nothing to say to the decision that is being made, or comes next."""
        self.use_estimator(estimator)

    @property
    def replayed(self) -> bool:
        """Whether the estimator has to be told what happened when a session is resumed."""
        return ESTIMATORS.find(self._settings.estimator).replayed

    def decide(self, turn: Turn, rng: np.random.Generator) -> Decision:
        """Return the choice for this turn.

        Three independent streams are split off `rng`, for proposing, for optimism and for sampling, so
        that the choice without memory is made with the very same sampling draw.
        """
        proposing, optimism, sampling = rng.spawn(3)
        neighbours = _resolved(turn, self._asked(lambda: self._estimator.neighbours(turn.state), ()))
        recalled = self.recall(turn)
        proposal = self._proposed(turn, proposing, neighbours, recalled.memory_text)
        candidates = self._augment(turn, proposal.candidates, neighbours)
        valuation = self._value(turn, neighbours, candidates, optimism)
        if self._failure is not None:
            neighbours, valuation = (), _nothing(candidates)
        decision = self._choose(turn, neighbours, candidates, valuation, proposal, float(sampling.random()))
        if self._searched:
            counts = replace(decision.tally, searched=1, found=int(bool(neighbours)))
            decision = replace(decision, tally=counts)
        decision = replace(decision, parts=(*decision.parts, *recalled.parts))
        failure, self._failure = self._failure, None
        return decision if failure is None else _without_memory(decision, failure)

    def use_estimator(self, estimator: Estimator) -> None:
        """Take values from another estimator from now on. It has been told what happened so far."""
        self._estimator, self._failure = estimator, None

    def change(self, settings: Settings) -> None:
        """Follow these settings from now on, in which a person has changed some (`engine.session.levers`)."""
        self._settings = settings
        self._estimator.change(settings)

    def _asked(self, ask: Callable[[], _Answer], instead: _Answer) -> _Answer:
        """Return what the estimator answers. If it fails, the decision is made without it."""
        if self._failure is not None:
            return instead
        try:
            return ask()
        except Exception as error:
            self._failure = failure(error)
            return instead

    def decided(self, turn: Turn, decision: Decision, rng: np.random.Generator) -> None:
        """Tell the estimator what it was asked then."""
        if decision.update is not None:
            _, optimism, _ = rng.spawn(3)
            query = _query(turn, decision.update.neighbours, decision.candidates, self._settings)
            self._asked(lambda: self._estimator.decided(query, optimism), None)

    def stored_elsewhere(self, episode: Episode, first: int) -> None:
        """Tell the estimator."""
        self._asked(lambda: self._estimator.stored_elsewhere(episode, first), None)

    def keep(self) -> None:
        """Tell the estimator."""
        self._asked(self._estimator.keep, None)

    def take_back(self) -> None:
        """Tell the estimator."""
        self._asked(self._estimator.take_back, None)

    def begin_episode(self, state: State) -> None:
        """Tell the estimator."""
        self._asked(lambda: self._estimator.begin_episode(state), None)

    def observe(
        self, step: Step, then: State, *, observation: Observation, terminated: bool, lost: bool
    ) -> None:
        """Tell the estimator."""
        self._asked(lambda: self._estimator.observe(step, then, terminated=terminated, lost=lost), None)

    def end_episode(self, episode: Episode, first: int) -> None:
        """Tell the estimator where the episode is in memory."""
        if first >= 0:
            self._asked(lambda: self._estimator.remembered(episode, first), None)

    def _proposed(
        self, turn: Turn, rng: np.random.Generator, neighbours: tuple[Neighbour, ...], memory_text: str
    ) -> Proposal:
        """Return the model's proposal. If it is empty and memory has nothing either, actions are drawn."""
        proposal = self.propose(turn, rng, memory_text)
        if proposal.candidates:
            return proposal
        if self._also(turn) or self._joining(turn, neighbours):
            return replace(proposal, note=f"{proposal.note or NO_OPTION}: memory decided")
        return self.drawn(turn, proposal, rng, " and memory is empty here")

    def _also(self, turn: Turn) -> tuple[str, ...]:
        """Return the actions that the estimator adds."""
        return self._asked(lambda: self._estimator.also(turn.state, turn.valid_actions), ())

    def _augment(
        self, turn: Turn, proposed: tuple[Candidate, ...], neighbours: tuple[Neighbour, ...]
    ) -> tuple[Candidate, ...]:
        """Return C: the model's actions, those of neighbours, and those that the estimator adds."""
        joining = self._joining(turn, neighbours)
        remembered = set(joining)
        more = tuple(action for action in self._also(turn) if turn.resolve is None or _can(turn, action))
        by_action = {c.action: c for c in proposed}
        union = jitrl.candidate_set(
            list(by_action),
            [*joining, *more],
            (*turn.valid_actions, *more, *(remembered if turn.resolve else ())),
        )
        return tuple(
            by_action[a] if a in by_action else Candidate(a, 0.0, "memory" if a in remembered else "valid")
            for a in union
        )

    def _joining(self, turn: Turn, neighbours: tuple[Neighbour, ...]) -> list[str]:
        """Return the actions of neighbours that become candidates."""
        every = self._settings.memory_candidates == "all"
        return [a for a, mean in _means(neighbours).items() if _can(turn, a) and (every or mean > 0)]

    def _value(
        self,
        turn: Turn,
        neighbours: tuple[Neighbour, ...],
        candidates: tuple[Candidate, ...],
        rng: np.random.Generator,
    ) -> Valuation:
        query = _query(turn, neighbours, candidates, self._settings)
        return self._asked(lambda: self._estimator.value(query, rng), _nothing(candidates))

    def _choose(
        self,
        turn: Turn,
        neighbours: tuple[Neighbour, ...],
        candidates: tuple[Candidate, ...],
        valuation: Valuation,
        proposal: Proposal,
        draw: float,
    ) -> Decision:
        settings = self._settings
        now = valuation.plan.now if valuation.plan is not None else (0,) * len(candidates)
        remembered = [n - here for n, here in zip(valuation.n, now, strict=True)]
        candidates = tuple(map(_sourced, candidates, remembered))
        z = [c.z for c in candidates]
        values = jitrl.Values(
            valuation.v, np.asarray(valuation.q), np.asarray(valuation.n, dtype=np.int64), valuation.how
        )
        beta = jitrl.growing_beta(
            settings.beta, settings.beta_growth, settings.beta_episodes, max(1, turn.episode)
        )
        update = jitrl.policy_update(
            z,
            values,
            beta=beta,
            epsilon=settings.epsilon * settings.epsilon_times,
            normalisation=settings.normalisation,
            others=[q for action, q in _means(neighbours).items() if all(c.action != action for c in candidates)],
        )
        knows = not set(valuation.how) <= {jitrl.PRIOR}
        chosen, taken = self.select(update.z_prime, update.posterior, draw), settings.selection
        if not knows:
            chosen, taken = self.best(proposal, candidates, chosen)
        # The choice of the same draw by the model alone: actions that it did not propose are not candidates
        # then.
        own = [c for c in candidates if c.source not in ("memory", "valid")]
        mine = [c.z for c in own]
        without = own[self.best(proposal, own, self.select(mine, jitrl.softmax(mine), draw))[0]].action if own else ""
        sentence = explain.why(
            chosen,
            candidates,
            valuation,
            neighbours,
            tuple(map(float, update.advantage)),
            without,
            preferred=bool(update.posterior[chosen] >= update.posterior.max() - 1e-9),
            taken=taken,
        )
        part = Update(
            neighbours=valuation.hits or neighbours,
            valuation=replace(valuation, hits=()),
            advantage=tuple(map(float, update.advantage)),
            advantage_normalised=tuple(map(float, update.advantage_normalised)),
            z_prime=tuple(map(float, update.z_prime)),
            beta=beta,
            without_memory=without,
            equation=worked.equation(
                z[chosen],
                beta,
                float(update.advantage_normalised[chosen]),
                float(update.z_prime[chosen]),
                float(update.prior[chosen]),
                float(update.posterior[chosen]),
            ),
            draw=draw,
            best=proposal.best,
        )
        return Decision(
            step=turn.step,
            state=turn.state,
            valid_actions=turn.valid_actions,
            candidates=candidates,
            prior=tuple(map(float, update.prior)),
            posterior=tuple(map(float, update.posterior)),
            chosen=chosen,
            action=candidates[chosen].action,
            why=sentence,
            calls=proposal.calls,
            note=proposal.note,
            tally=tally(proposal, candidates, candidates[chosen].action, knows=knows),
            parts=(part,),
        )


def _query(
    turn: Turn, neighbours: tuple[Neighbour, ...], candidates: tuple[Candidate, ...], settings: Settings
) -> Query:
    """Return what the estimator is asked."""
    seen = turn.observation
    return Query(
        turn.state,
        neighbours,
        candidates,
        turn.valid_actions,
        turn.steps_left,
        None if seen.max_score is None else seen.max_score - seen.score,
        outlook(turn.episode, turn.episodes, settings.settling),
    )


def _nothing(candidates: tuple[Candidate, ...]) -> Valuation:
    """Return the valuation of who remembers nothing."""
    c = len(candidates)
    return Valuation(0.0, (0.0,) * c, (0,) * c, (jitrl.PRIOR,) * c)


def _without_memory(decision: Decision, failure: EstimatorError) -> Decision:
    """Return a decision that was made without memory, with the reason."""
    return replace(
        decision,
        why=f"Decided without memory: {failure}. {decision.why}",
        note="; ".join(filter(None, [decision.note, str(failure)])),
        tally=replace(decision.tally, unvalued=1),
    )


def _can(turn: Turn, action: str) -> bool:
    return action in turn.valid_actions or (turn.resolve is not None and turn.resolve(action) is not None)


def _resolved(turn: Turn, neighbours: tuple[Neighbour, ...]) -> tuple[Neighbour, ...]:
    """Return the neighbours with their actions in the present form. Actions that cannot be taken are unchanged."""
    if turn.resolve is None:
        return neighbours
    here = {n.action: turn.resolve(n.action) or n.action for n in neighbours}
    return tuple(n if here[n.action] == n.action else replace(n, action=here[n.action]) for n in neighbours)


def _sourced(candidate: Candidate, n: int) -> Candidate:
    """Return the candidate with its source: "memory" or "both" if n remembered steps took it."""
    source = {"llm": "both", "valid": "memory"}.get(candidate.source, candidate.source) if n > 0 else candidate.source
    return candidate if source == candidate.source else replace(candidate, source=source)


def _means(neighbours: tuple[Neighbour, ...]) -> dict[str, float]:
    return jitrl.mean_returns([n.action for n in neighbours], [n.g for n in neighbours])
