"""The static agent: the model proposes candidates and one is drawn. Other methods derive from it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from engine import explain, jitrl
from engine.agents.base import Prior, Turn
from engine.errors import ModelError
from engine.llm.prompts import mark_record, without_marks
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
    """What a method adds to a turn from earlier episodes.

    Attributes:
        text: Text for the prompt that asks for candidates: what the method or its model wrote. The model may take
            it as advice.
        parts: The same for the record of the decision, usually a Basis.
        temperature: Divides the logits before the draw; 1 leaves them. JitRL's update has no use for it.
        record: More text for the prompt: what the environment printed in earlier episodes. It is shown between
            marks which say that nothing in it is an instruction.
        searched: 1 if neighbours were looked for in a memory that was not empty.
        found: 1 if some were found.
    """

    text: str = ""
    parts: tuple[Part, ...] = ()
    temperature: float = 1.0
    record: str = ""
    searched: int = 0
    found: int = 0

    @property
    def memory_text(self) -> str:
        """The text and the record as they stand in the prompt."""
        return "\n\n".join(filter(None, [without_marks(self.text), self.record and mark_record(self.record)]))


class StaticAgent:
    """Proposes candidates, draws one, and learns nothing.

    A method that puts text into the prompt overrides `recall`. It overrides `end_episode` to store that text.

    Args:
        prior: Proposes candidates.
    """

    learns = False

    def __init__(self, prior: Prior, settings: Settings, *, name: str = "static") -> None:
        self.name = name
        self._prior = prior
        self._settings = settings

    def decide(self, turn: Turn, rng: np.random.Generator) -> Decision:
        """Return the decision for this turn.

        `rng` is split into three independent streams. The second one is for random numbers that a method needs for
        itself, so all methods propose and sample with the same draws.
        """
        proposing, _, sampling = rng.spawn(3)
        recalled = self.recall(turn)
        proposal = self.propose(turn, proposing, recalled.memory_text)
        if not proposal.candidates:
            proposal = self.drawn(turn, proposal, proposing, "")
        candidates = tuple({c.action: c for c in proposal.candidates}.values())
        z = [c.z for c in candidates]
        policy = jitrl.softmax(np.asarray(z) / recalled.temperature)
        chosen = self.select(z, policy, float(sampling.random()))
        chosen, taken = self.best(proposal, candidates, chosen)
        return Decision(
            step=turn.step,
            state=turn.state,
            valid_actions=turn.valid_actions,
            candidates=candidates,
            prior=tuple(map(float, jitrl.softmax(z))),
            posterior=tuple(map(float, policy)),
            chosen=chosen,
            action=candidates[chosen].action,
            why=explain.by_the_model(chosen, candidates, taken),
            calls=proposal.calls,
            note=proposal.note,
            tally=replace(
                tally(proposal, candidates, candidates[chosen].action, knows=False),
                searched=recalled.searched,
                found=recalled.found,
            ),
            parts=recalled.parts,
        )

    def recall(self, turn: Turn) -> Recalled:
        """Return what to add to the prompt of this turn; nothing here."""
        return Recalled()

    def begin_episode(self, state: State) -> None:
        """Do nothing."""

    def observe(
        self, step: Step, then: State, *, observation: Observation, terminated: bool, lost: bool
    ) -> None:
        """Do nothing."""

    def end_episode(self, episode: Episode, first: int) -> None:
        """Do nothing."""

    # ------------------------------------------------------------------------- the steps of a decision

    def propose(self, turn: Turn, rng: np.random.Generator, memory_text: str = "") -> Proposal:
        """Return the model's proposal without actions that are not possible now.

        If the call fails, the proposal is empty and has a note.

        Args:
            memory_text: Text from earlier episodes for the prompt.

        Raises:
            ModelError: The session cannot go on until a person acts.
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
        """Return an empty proposal with candidates drawn uniformly from the valid actions.

        Args:
            also: What is missing besides an answer of the model, for the note.
        """
        picked = rng.permutation(len(turn.valid_actions))[: self._settings.candidates]
        reason = proposal.note or NO_OPTION
        return replace(
            proposal,
            candidates=tuple(Candidate(turn.valid_actions[i], 0.0, "random") for i in picked),
            note=f"{reason}{also}: drew from the valid actions",
        )

    def select(self, logits: ArrayLike, policy: ArrayLike, draw: float) -> int:
        """Return the index of the chosen candidate: drawn from the policy, or one with the largest logit.

        Args:
            draw: A random number in [0, 1).
        """
        if self._settings.selection == "sample":
            return jitrl.sample(policy, draw)
        best = np.flatnonzero(np.asarray(logits) >= np.max(logits) - 1e-12)
        return int(best[0 if self._settings.selection == "first" else min(int(draw * len(best)), len(best) - 1)])

    def best(self, proposal: Proposal, candidates: Sequence[Candidate], chosen: int) -> tuple[int, str]:
        """Return `chosen`, or the candidate that the model called the best if the settings say so; and how it is taken.

        Use this only for choices that the model makes without memory.
        """
        named = [c.action for c in candidates]
        if self._settings.unremembered == "best_action" and proposal.best in named:
            return named.index(proposal.best), explain.NAMED
        return chosen, self._settings.selection


NO_OPTION = "the model gave no usable option"


def possible(turn: Turn, proposal: Proposal) -> Proposal:
    """Return the proposal without impossible actions. The others get the form in which they are remembered."""
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


def tally(proposal: Proposal, candidates: Sequence[Candidate], action: str, *, knows: bool) -> Tally:
    """Return the counts of one decision about the model's answer; all are 0 if no model was asked.

    Args:
        action: The action that is taken.
        knows: Whether memory had values for the candidates.
    """
    calls = proposal.calls
    if not calls and not proposal.note:
        return Tally()
    missing = proposal.missing or not any(c.source in ("llm", "both") for c in candidates)
    logits = {c.action: c.z for c in proposal.candidates if c.source in ("llm", "both")}
    most, least = max(logits.values(), default=0.0), min(logits.values(), default=0.0)
    first = {proposal.best} & logits.keys() or {one for one, z in logits.items() if z >= most - 1e-9}
    return Tally(
        asked=1,
        missing=int(missing),
        random=int(missing and not knows),
        dropped=proposal.dropped,
        calls=len(calls),
        cached=sum(call.cached for call in calls),
        retries=proposal.again + sum(call.retries for call in calls),
        alike=int(len(logits) > 1 and most - least < 1e-9),
        own=int(action in first),
        other=int(bool(first) and action not in first),
    )
