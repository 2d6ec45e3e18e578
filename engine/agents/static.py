"""The model alone: it proposes, and one of its candidates is drawn. Base of methods that add something to that."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

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
    Observation,
    Part,
    Proposal,
    State,
    Step,
    Tally,
)
from engine.settings import Settings


class Recalled(NamedTuple):
    """What earlier episodes add to a turn.

    Attributes:
        text: Put into the prompt that candidates are proposed for.
        parts: What it consists of, for the decision's record: usually a Basis.
        temperature: Divides the logits before the draw; 1 leaves them. JitRL's update has no use for it.
    """

    text: str = ""
    parts: tuple[Part, ...] = ()
    temperature: float = 1.0


class StaticAgent:
    """Proposes and draws; nothing is learnt.

    A method that puts text into the prompt overrides `recall`, and `end_episode` to keep something for it.

    Args:
        prior: Proposes candidates.
    """

    learns = False

    def __init__(self, prior: Prior, settings: Settings, *, name: str = "static") -> None:
        self.name = name
        self._prior = prior
        self._settings = settings

    def decide(self, turn: Turn, rng: np.random.Generator) -> Decision:
        """Return the choice for this turn.

        Three independent streams are split off `rng`; the second one is for methods that draw something of their own,
        so that all of them propose and sample with the very same draws.
        """
        proposing, _, sampling = rng.spawn(3)
        recalled = self.recall(turn)
        proposal = self.propose(turn, proposing, recalled.text)
        if not proposal.candidates:
            proposal = self.drawn(turn, proposal, proposing, "")
        candidates = tuple({c.action: c for c in proposal.candidates}.values())
        z = [c.z for c in candidates]
        policy = jitrl.softmax(np.asarray(z) / recalled.temperature)
        chosen = self.select(z, policy, float(sampling.random()))
        chosen = self.best(proposal, candidates, chosen)
        return Decision(
            step=turn.step,
            state=turn.state,
            valid_actions=turn.valid_actions,
            candidates=candidates,
            prior=tuple(map(float, jitrl.softmax(z))),
            posterior=tuple(map(float, policy)),
            chosen=chosen,
            action=candidates[chosen].action,
            why=explain.by_the_model(chosen, candidates),
            calls=proposal.calls,
            note=proposal.note,
            tally=tally(proposal, candidates, knows=False),
            parts=recalled.parts,
        )

    def recall(self, turn: Turn) -> Recalled:
        """Return what of earlier episodes goes into the prompt of this turn; nothing here."""
        return Recalled()

    def begin_episode(self, state: State) -> None:
        """Nothing to prepare."""

    def observe(
        self, step: Step, then: State, *, observation: Observation, terminated: bool, lost: bool
    ) -> None:
        """Nothing to note."""

    def end_episode(self, episode: Episode, first: int) -> None:
        """Nothing to learn."""

    # ------------------------------------------------------------------------- the steps of a decision

    def propose(self, turn: Turn, rng: np.random.Generator, memory_text: str = "") -> Proposal:
        """Return what the model proposes and can be done here; an empty proposal with a note where it fails.

        Args:
            memory_text: Text from earlier episodes that is put into the prompt.

        Raises:
            ModelError: Going on is pointless until a person acts.
            MissingError: The network, a key or a file is missing.
        """
        request = ActionRequest(
            summary=turn.state.history,
            memory_text=memory_text,
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
        return possible(turn, proposal)

    def drawn(self, turn: Turn, proposal: Proposal, rng: np.random.Generator, also: str) -> Proposal:
        """Return a proposal that has none with candidates drawn from the valid actions: each is as good as any other.

        Args:
            also: What else is missing besides an answer of the model, for the note.
        """
        picked = rng.permutation(len(turn.valid_actions))[: self._settings.candidates]
        reason = proposal.note or NO_OPTION
        return replace(
            proposal,
            candidates=tuple(Candidate(turn.valid_actions[i], 0.0, "random") for i in picked),
            note=f"{reason}{also}: drew from the valid actions",
        )

    def select(self, logits: ArrayLike, policy: ArrayLike, draw: float) -> int:
        """Return which candidate is taken: a sample of the policy, or its most probable one.

        Args:
            draw: In [0, 1).
        """
        if self._settings.selection == "greedy":
            best = np.flatnonzero(np.asarray(logits) >= np.max(logits) - 1e-12)
            return int(best[min(int(draw * len(best)), len(best) - 1)])
        return jitrl.sample(policy, draw)

    def best(self, proposal: Proposal, candidates: Sequence[Candidate], chosen: int) -> int:
        """Return `chosen`, or what the model called the best where the settings say so.

        For choices that the model makes alone.
        """
        named = [c.action for c in candidates]
        if self._settings.unremembered == "best_action" and proposal.best in named:
            return named.index(proposal.best)
        return chosen


NO_OPTION = "the model gave no usable option"


def possible(turn: Turn, proposal: Proposal) -> Proposal:
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


def tally(proposal: Proposal, candidates: Sequence[Candidate], *, knows: bool) -> Tally:
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
