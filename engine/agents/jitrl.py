"""The JitRL agent: a frozen prior whose logits the memory adjusts."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from engine import explain, jitrl, worked
from engine.agents.base import Prior, Turn
from engine.agents.static import NO_OPTION, StaticAgent, tally
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
from engine.values.base import Estimator, Growing, Query, Sharing, outlook


class JitrlAgent(StaticAgent):
    """Algorithm 1, steps 1 to 6, with any prior and any estimator. Nothing is added to the prompt.

    Args:
        estimator: Estimates V and Q.
    """

    learns = True

    def __init__(self, prior: Prior, estimator: Estimator, settings: Settings, *, name: str = "jitrl") -> None:
        super().__init__(prior, settings, name=name)
        self._estimator = estimator
        self.learner = EstimatorLearner(estimator, settings) if isinstance(estimator, Growing) else None

    def decide(self, turn: Turn, rng: np.random.Generator) -> Decision:
        """Return the choice for this turn.

        Three independent streams are split off `rng`, for proposing, for optimism and for sampling, so
        that the choice without memory is made with the very same sampling draw.
        """
        proposing, optimism, sampling = rng.spawn(3)
        neighbours = _resolved(turn, self._estimator.neighbours(turn.state))
        recalled = self.recall(turn)
        proposal = self._proposed(turn, proposing, neighbours, recalled.text)
        candidates = self._augment(turn, proposal.candidates, neighbours)
        valuation = self._value(turn, neighbours, candidates, optimism)
        decision = self._choose(turn, neighbours, candidates, valuation, proposal, float(sampling.random()))
        return replace(decision, parts=(*decision.parts, *recalled.parts))

    def rest_on(self, estimator: Estimator) -> None:
        """Take values from another estimator from now on. It has been told what happened so far."""
        self._estimator = estimator
        self.learner = EstimatorLearner(estimator, self._settings) if isinstance(estimator, Growing) else None

    def begin_episode(self, state: State) -> None:
        """Tell the estimator."""
        self._estimator.begin_episode(state)

    def observe(
        self, step: Step, then: State, *, observation: Observation, terminated: bool, lost: bool
    ) -> None:
        """Tell the estimator."""
        self._estimator.observe(step, then, terminated=terminated, lost=lost)

    def end_episode(self, episode: Episode, first: int) -> None:
        """Tell the estimator where the episode is in memory."""
        if first >= 0:
            self._estimator.remembered(episode, first)

    def _proposed(
        self, turn: Turn, rng: np.random.Generator, neighbours: tuple[Neighbour, ...], memory_text: str
    ) -> Proposal:
        """Return the model's proposal. If it is empty and memory has nothing either, actions are drawn."""
        proposal = self.propose(turn, rng, memory_text)
        if proposal.candidates:
            return proposal
        if self._estimator.also(turn.state, turn.valid_actions) or any(_can(turn, n.action) for n in neighbours):
            return replace(proposal, note=f"{proposal.note or NO_OPTION}: memory decided")
        return self.drawn(turn, proposal, rng, " and memory is empty here")

    def _augment(
        self, turn: Turn, proposed: tuple[Candidate, ...], neighbours: tuple[Neighbour, ...]
    ) -> tuple[Candidate, ...]:
        """Return C: the model's actions, those of neighbours, and those that the estimator adds."""
        if self._settings.memory_candidates == "positive":
            neighbours = tuple(n for n in neighbours if _mean_return(n.action, neighbours) > 0)
        remembered = {n.action for n in neighbours}
        also = self._estimator.also(turn.state, turn.valid_actions)
        more = tuple(action for action in also if turn.resolve is None or _can(turn, action))
        by_action = {c.action: c for c in proposed}
        union = jitrl.candidate_set(
            list(by_action),
            [*(n.action for n in neighbours if _can(turn, n.action)), *more],
            (*turn.valid_actions, *more, *(remembered if turn.resolve else ())),
        )
        return tuple(
            by_action[a] if a in by_action else Candidate(a, 0.0, "memory" if a in remembered else "valid")
            for a in union
        )

    def _value(
        self,
        turn: Turn,
        neighbours: tuple[Neighbour, ...],
        candidates: tuple[Candidate, ...],
        rng: np.random.Generator,
    ) -> Valuation:
        return self._estimator.value(_query(turn, neighbours, candidates, self._settings), rng)

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
        )
        knows = not set(valuation.how) <= {jitrl.PRIOR}
        chosen, taken = self.select(update.z_prime, update.posterior, draw), settings.selection
        if not knows:
            chosen, taken = self.best(proposal, candidates, chosen)
        # The choice of the same draw by the model alone: actions that it did not propose are not candidates
        # then.
        own = [i for i, c in enumerate(candidates) if c.source not in ("memory", "valid")]
        mine = [z[i] for i in own]
        without = candidates[own[self.select(mine, jitrl.softmax(mine), draw)]].action if own else ""
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
            tally=tally(proposal, candidates, knows=knows),
            parts=(part,),
        )


class EstimatorLearner:
    """Tells an estimator again what happened in a session. Implements `engine.agents.base.Learner`."""

    def __init__(self, estimator: Growing, settings: Settings) -> None:
        self._estimator = estimator
        self._settings = settings

    def begin_episode(self, state: State) -> None:
        """Tell the estimator."""
        self._estimator.begin_episode(state)

    def decided(self, turn: Turn, decision: Decision, rng: np.random.Generator) -> None:
        """Ask the estimator what it was asked then."""
        if decision.update is not None:
            _, optimism, _ = rng.spawn(3)
            query = _query(turn, decision.update.neighbours, decision.candidates, self._settings)
            self._estimator.again(query, optimism)

    def observe(self, step: Step, then: State, *, terminated: bool, lost: bool) -> None:
        """Tell the estimator."""
        self._estimator.observe(step, then, terminated=terminated, lost=lost)

    def remembered(self, episode: Episode, first: int) -> None:
        """Tell the estimator where the episode is in memory."""
        self._estimator.remembered(episode, first)

    def lived_elsewhere(self, episode: Episode, first: int) -> None:
        """Tell the estimator, if it wants to know."""
        if isinstance(self._estimator, Sharing):
            self._estimator.lived_elsewhere(episode, first)


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


def _mean_return(action: str, neighbours: tuple[Neighbour, ...]) -> float:
    returns = [n.g for n in neighbours if n.action == action]
    return sum(returns) / len(returns)
