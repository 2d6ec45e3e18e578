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
    Proposal,
    State,
    Step,
    Tally,
    Valuation,
)
from engine.settings import Settings
from engine.values.base import Estimator, Query, outlook


class JitrlAgent:
    """Algorithm 1, steps 1 to 6, around any prior and any estimator.

    Args:
        estimator: Where V and Q come from; None makes the agent static (nothing is remembered).
        name: What it is called where it is not one of these two.
    """

    def __init__(
        self, prior: Prior, estimator: Estimator | None, settings: Settings, *, name: str = ""
    ) -> None:
        self.name = name or ("static" if estimator is None else "jitrl")
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

    def observe(self, step: Step, then: State, *, terminated: bool, lost: bool) -> None:
        """Tell the estimator."""
        if self._estimator is not None:
            self._estimator.observe(step, then, terminated=terminated, lost=lost)

    def end_episode(self, episode: Episode, first: int) -> None:
        """Tell the estimator where the episode is in memory."""
        if self._estimator is not None and first >= 0:
            self._estimator.remembered(episode, first)

    def _propose(self, turn: Turn, rng: np.random.Generator, neighbours: tuple[Neighbour, ...]) -> Proposal:
        request = ActionRequest(
            summary=turn.state.history,
            memory_text="",
            recent_history=turn.recent,
            current_state=turn.present,
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
        more = self._estimator.also(turn.state, turn.valid_actions) if self._estimator else ()
        if more or any(_can(turn, n.action) for n in neighbours):
            return replace(proposal, note=f"{reason}: memory decided")
        # Neither model nor memory knows anything here, so every valid action is as good as any other.
        drawn = rng.permutation(len(turn.valid_actions))[: self._settings.candidates]
        return replace(
            proposal,
            candidates=tuple(Candidate(turn.valid_actions[i], 0.0, "random") for i in drawn),
            note=f"{reason} and memory is empty here: drew from the valid actions",
        )

    def _augment(
        self, turn: Turn, proposed: tuple[Candidate, ...], neighbours: tuple[Neighbour, ...]
    ) -> tuple[Candidate, ...]:
        """Return C: what the model proposed, what neighbours did, what the estimator wants to consider."""
        if self._settings.memory_candidates == "positive":
            neighbours = tuple(n for n in neighbours if _mean_return(n.action, neighbours) > 0)
        remembered = {n.action for n in neighbours}
        more = self._estimator.also(turn.state, turn.valid_actions) if self._estimator else ()
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
        candidates = tuple(map(_sourced, candidates, valuation.n))
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
        chosen = self._select(update.z_prime, update.posterior, draw)
        named = [c.action for c in candidates]
        if (
            settings.unremembered == "best_action"
            and proposal.best in named
            and set(valuation.how) <= {jitrl.PRIOR}
        ):
            chosen = named.index(proposal.best)
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
            neighbours=valuation.hits or neighbours,
            candidates=candidates,
            valuation=replace(valuation, hits=()),
            advantage=tuple(map(float, update.advantage)),
            advantage_normalised=tuple(map(float, update.advantage_normalised)),
            z_prime=tuple(map(float, update.z_prime)),
            prior=tuple(map(float, update.prior)),
            posterior=tuple(map(float, update.posterior)),
            chosen=chosen,
            action=candidates[chosen].action,
            beta=beta,
            without_memory=without,
            why=sentence,
            equation=explain.equation(
                z[chosen],
                beta,
                float(update.advantage_normalised[chosen]),
                float(update.z_prime[chosen]),
                float(update.prior[chosen]),
                float(update.posterior[chosen]),
            ),
            calls=proposal.calls,
            note=proposal.note,
            tally=_tally(proposal, candidates, knows=not set(valuation.how) <= {jitrl.PRIOR}),
        )

    def _select(self, logits: ArrayLike, policy: ArrayLike, draw: float) -> int:
        """Return which candidate is taken: a sample of the policy, or its most probable one."""
        if self._settings.selection == "greedy":
            best = np.flatnonzero(np.asarray(logits) >= np.max(logits) - 1e-12)
            return int(best[min(int(draw * len(best)), len(best) - 1)])
        return jitrl.sample(policy, draw)


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
        proposal,
        candidates=tuple(kept.values()),
        note="; ".join(filter(None, [proposal.note, note])),
        dropped=proposal.dropped + dropped,
        best=(turn.resolve(proposal.best) or "") if proposal.best else "",
    )


def _sourced(candidate: Candidate, n: int) -> Candidate:
    """Return the candidate with "both" as its source if the model proposed what memory knows."""
    return replace(candidate, source="both") if candidate.source == "llm" and n > 0 else candidate


def _mean_return(action: str, neighbours: tuple[Neighbour, ...]) -> float:
    returns = [n.g for n in neighbours if n.action == action]
    return sum(returns) / len(returns)


def _tally(proposal: Proposal, candidates: tuple[Candidate, ...], *, knows: bool) -> Tally:
    """Return what became of the model's answer; nothing where no model was asked.

    Args:
        knows: Whether memory had anything to say about the candidates.
    """
    calls = proposal.calls
    if not calls and not proposal.note:
        return Tally()
    missing = proposal.missing or not any(c.source in ("llm", "both") for c in candidates)
    return Tally(
        asked=1,
        missing=int(missing),
        random=int(missing and not knows),
        dropped=proposal.dropped,
        calls=len(calls),
        cached=sum(call.cached for call in calls),
        retries=proposal.again + sum(call.retries for call in calls),
    )
