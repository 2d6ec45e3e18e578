"""The JitRL agent: a frozen prior whose logits the memory adjusts. Without memory it is `static`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from engine import explain, jitrl
from engine.agents.base import Prior, Turn
from engine.errors import ModelError
from engine.records import (
    ActionRequest,
    Candidate,
    Decision,
    Episode,
    Neighbour,
    Observation,
    Proposal,
    State,
    Step,
    Valuation,
)
from engine.settings import Settings
from engine.values.base import Estimator, Query, outlook


class JitrlAgent:
    """Algorithm 1, steps 1 to 6, around any prior and any estimator.

    Args:
        estimator: Where V and Q come from; None makes the agent static (nothing is remembered).
    """

    def __init__(self, prior: Prior, estimator: Estimator | None, settings: Settings) -> None:
        self.name = "static" if estimator is None else "jitrl"
        self.learns = estimator is not None
        self._prior = prior
        self._estimator = estimator
        self._settings = settings

    def decide(self, turn: Turn, rng: np.random.Generator) -> Decision:
        """Return the choice for this turn.

        Three independent streams are split off `rng`, for proposing, for optimism and for sampling, so
        that the choice without memory is made with the very same sampling draw.
        """
        proposing, optimism, sampling = rng.spawn(3)
        neighbours = _resolved(turn, self._estimator.neighbours(turn.state) if self._estimator else ())
        proposal = self._propose(turn, proposing, neighbours)
        candidates = self._augment(turn, proposal.candidates, neighbours)
        valuation = self._value(turn, neighbours, candidates, optimism)
        return self._choose(turn, neighbours, candidates, valuation, proposal, float(sampling.random()))

    def begin_episode(self, state: State) -> None:
        """Tell the estimator."""
        if self._estimator is not None:
            self._estimator.begin_episode(state)

    def observe(self, step: Step, then: State, *, ended: bool, died: bool) -> None:
        """Tell the estimator."""
        if self._estimator is not None:
            self._estimator.observe(step, then, ended=ended, died=died)

    def end_episode(self, episode: Episode) -> None:
        """Nothing beyond what memory keeps."""

    def _propose(self, turn: Turn, rng: np.random.Generator, neighbours: tuple[Neighbour, ...]) -> Proposal:
        request = ActionRequest(
            summary=turn.state.history,
            memory_text="",
            recent_history=turn.recent,
            current_state=situation(turn.observation),
            valid_actions=turn.valid_actions,
            candidates=self._settings.candidates,
        )
        try:
            proposal = self._prior.propose(request, rng)
        except ModelError as error:
            if error.fatal:
                raise
            proposal = Proposal((), note=str(error))
        proposal = _possible(turn, proposal)
        if proposal.candidates:
            return proposal
        reason = proposal.note or "the model gave no usable option"
        if any(_can(turn, n.action) for n in neighbours):
            return Proposal((), proposal.calls, f"{reason}: memory decided")
        # Neither model nor memory knows anything here, so every valid action is as good as any other.
        drawn = rng.permutation(len(turn.valid_actions))[: self._settings.candidates]
        return Proposal(
            tuple(Candidate(turn.valid_actions[i], 0.0, "random") for i in drawn),
            proposal.calls,
            f"{reason} and memory is empty here: drew from the valid actions",
        )

    def _augment(
        self, turn: Turn, proposed: tuple[Candidate, ...], neighbours: tuple[Neighbour, ...]
    ) -> tuple[Candidate, ...]:
        """Return C: what the model proposed, what neighbours did, what the estimator wants to consider."""
        remembered = {n.action for n in neighbours}
        more = self._estimator.also(turn.state, turn.valid_actions) if self._estimator else ()
        by_action = {c.action: c for c in proposed}
        union = jitrl.candidate_set(
            list(by_action),
            [*(n.action for n in neighbours if _can(turn, n.action)), *more],
            (*turn.valid_actions, *more, *(remembered if turn.resolve else ())),
        )
        return tuple(
            _both(by_action[a], a in remembered)
            if a in by_action
            else Candidate(a, 0.0, "memory" if a in remembered else "valid")
            for a in union
        )

    def _value(
        self,
        turn: Turn,
        neighbours: tuple[Neighbour, ...],
        candidates: tuple[Candidate, ...],
        rng: np.random.Generator,
    ) -> Valuation:
        if self._estimator is None:
            c = len(candidates)
            return Valuation(0.0, (0.0,) * c, (0,) * c, (jitrl.PRIOR,) * c)
        seen = turn.observation
        to_gain = None if seen.max_score is None else seen.max_score - seen.score
        query = Query(
            turn.state,
            neighbours,
            candidates,
            turn.valid_actions,
            turn.steps_left,
            to_gain,
            outlook(turn.episode, turn.episodes, self._settings.settling),
        )
        return self._estimator.value(query, rng)

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
        z = [c.z for c in candidates]
        values = jitrl.Values(
            valuation.v, np.asarray(valuation.q), np.asarray(valuation.n, dtype=np.int64), valuation.how
        )
        update = jitrl.policy_update(z, values, beta=settings.beta, epsilon=settings.epsilon)
        chosen = self._select(update.z_prime, update.posterior, draw)
        # What the same draw picks when only the model speaks: what it did not propose is no candidate then.
        own = [i for i, c in enumerate(candidates) if c.source not in ("memory", "valid")]
        mine = [z[i] for i in own]
        without = candidates[own[self._select(mine, jitrl.softmax(mine), draw)]].action if own else ""
        sentence = explain.why(
            chosen, candidates, valuation, neighbours, tuple(map(float, update.advantage)), without
        )
        return Decision(
            step=turn.step,
            state=turn.state,
            valid_actions=turn.valid_actions,
            neighbours=neighbours,
            candidates=candidates,
            valuation=valuation,
            advantage=tuple(map(float, update.advantage)),
            advantage_normalised=tuple(map(float, update.advantage_normalised)),
            z_prime=tuple(map(float, update.z_prime)),
            prior=tuple(map(float, update.prior)),
            posterior=tuple(map(float, update.posterior)),
            chosen=chosen,
            action=candidates[chosen].action,
            beta=settings.beta,
            without_memory=without,
            why=sentence,
            equation=explain.equation(
                z[chosen],
                settings.beta,
                float(update.advantage_normalised[chosen]),
                float(update.z_prime[chosen]),
                float(update.prior[chosen]),
                float(update.posterior[chosen]),
            ),
            calls=proposal.calls,
            note=proposal.note,
        )

    def _select(self, logits: ArrayLike, policy: ArrayLike, draw: float) -> int:
        """Return which candidate is taken: a sample of the policy, or its most probable one."""
        if self._settings.selection == "greedy":
            best = np.flatnonzero(np.asarray(logits) >= np.max(logits) - 1e-12)
            return int(best[min(int(draw * len(best)), len(best) - 1)])
        return jitrl.sample(policy, draw)


def situation(seen: Observation) -> str:
    """Return what the prompt calls the current state: where one is, what one carries."""
    parts = [seen.description or seen.text, seen.inventory]
    return "\n".join(part.strip() for part in parts if part.strip())


def _can(turn: Turn, action: str) -> bool:
    return action in turn.valid_actions or (turn.resolve is not None and turn.resolve(action) is not None)


def _resolved(turn: Turn, neighbours: tuple[Neighbour, ...]) -> tuple[Neighbour, ...]:
    """Return the neighbours with actions as they are called here; one that cannot be taken keeps its own."""
    if turn.resolve is None:
        return neighbours
    here = {n.action: turn.resolve(n.action) or n.action for n in neighbours}
    return tuple(n if here[n.action] == n.action else replace(n, action=here[n.action]) for n in neighbours)


def _possible(turn: Turn, proposal: Proposal) -> Proposal:
    """Return the proposal without what cannot be done here, the rest as it is remembered."""
    if turn.resolve is None:
        return proposal
    kept: dict[str, Candidate] = {}
    for candidate in proposal.candidates:
        known = candidate.action in turn.valid_actions
        action = candidate.action if known else turn.resolve(candidate.action)
        if action is not None and action not in kept:
            kept[action] = replace(candidate, action=action)
    dropped = len(proposal.candidates) - len(kept)
    note = f"dropped {dropped} options of the model that cannot be done here" if dropped else ""
    return replace(
        proposal, candidates=tuple(kept.values()), note="; ".join(filter(None, [proposal.note, note]))
    )


def _both(candidate: Candidate, remembered: bool) -> Candidate:
    if not remembered:
        return candidate
    return Candidate(
        candidate.action, candidate.z, "both", candidate.confidence, candidate.logprob, candidate.reason
    )
