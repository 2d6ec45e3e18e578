"""Records of one decision: the model's proposal, values from memory, and the result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.records.episodes import State


def total_cost(costs: Iterable[float | None]) -> float | None:
    """Return the sum of costs, None if one of them is not known."""
    known = list(costs)
    return None if None in known else float(sum(filter(None, known)))


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call to a language model, as shown and recorded. Secrets are removed.

    Attributes:
        purpose: "actions", "rewards", "state", "history", or an agent's own word, for instance "reflection".
        model: Name of the model.
        prompt: The messages that were sent, as one text.
        reply: The raw reply, or a list of the scores if actions were scored directly.
        prompt_tokens: Tokens of the prompt.
        completion_tokens: Tokens of the reply.
        cost_usd: US dollars that were paid; 0 for local models and the cache.
        latency_s: Seconds of wall time.
        cached: Whether the reply came from the cache on disk, at no cost.
        retries: Failed attempts before the reply.
        price_usd: US dollars that the reply cost when it was bought.
        estimated: Whether the tokens are estimated, because the server does not count them.
    """

    purpose: str
    model: str
    prompt: str
    reply: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = 0.0
    latency_s: float = 0.0
    cached: bool = False
    retries: int = 0
    price_usd: float | None = 0.0
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class Tally:
    """Counts of model calls and of unusable answers.

    Attributes:
        asked: Decisions for which a model was asked.
        missing: Decisions for which it gave no usable answer.
        random: Those of them that were drawn from the valid actions, because memory had nothing either.
        dropped: Proposed options that were not valid actions.
        calls: Calls to the model for any purpose.
        cached: Those of them that were answered from the cache on disk.
        retries: Calls that were repeated, because the first one failed or its answer was unusable.
        unjudged: Steps without a usable score from the evaluator.
        unwritten: States and histories that rules wrote because the model's text was missing.
        unvalued: Decisions that were made without memory because the estimator of values failed.
        alike: Decisions for which the model rated all its options alike.
        searched: Decisions for which neighbours were looked for in a memory that was not empty.
        found: Those of them with a neighbour.
        own: Decisions that took the model's own first choice.
        other: Decisions that took another action although the model gave a usable answer.
    """

    asked: int = 0
    missing: int = 0
    random: int = 0
    dropped: int = 0
    calls: int = 0
    cached: int = 0
    retries: int = 0
    unjudged: int = 0
    unwritten: int = 0
    unvalued: int = 0
    alike: int = 0
    searched: int = 0
    found: int = 0
    own: int = 0
    other: int = 0


NO_TALLY = Tally()
"""The tally when no model was asked."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One action of the candidate set C with its prior logit.

    Attributes:
        action: The exact text that the environment takes.
        z: Logit z(s, a). It is 0.0 (neutral) for actions that only memory proposes (Algorithm 1, step 3).
        source: "llm", "memory", "both", "valid" (added by an estimator), or "random" (drawn because neither the model
            nor memory proposed anything).
        confidence: Verbalized confidence, 0 to 100.
        logprob: Log-likelihood that the logit was computed from, nats (setting `length_penalty`).
        reason: The model's reason.
    """

    action: str
    z: float
    source: str = "llm"
    confidence: float | None = None
    logprob: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """Input of a prior: the fields of the paper's action prompt (App. F).

    Attributes:
        summary: Hierarchical summary of the episode so far.
        memory_text: Text from earlier episodes, from agents that put memory into the prompt.
        recent_history: The last steps, oldest first. Each is a paragraph with the observation, action and reward.
        current_state: The output after the last action. Place and inventory are added if they are not in it.
        candidates: Number of actions to propose.
    """

    summary: str
    memory_text: str
    recent_history: str
    current_state: str
    valid_actions: tuple[str, ...]
    candidates: int


@dataclass(frozen=True, slots=True)
class Proposal:
    """A prior's candidates for one state: C_LLM with logits.

    Attributes:
        candidates: Distinct valid actions; may be empty.
        calls: The model calls made for it.
        note: A sentence for the screen if something unusual happened, otherwise "".
        dropped: Number of the model's options that were not valid actions.
        best: The candidate that the model called the best.
        again: Number of calls made because an earlier answer was unusable.
        missing: Whether the model gave no usable answer. Candidates then come from elsewhere.
    """

    candidates: tuple[Candidate, ...]
    calls: tuple[ModelCall, ...] = ()
    note: str = ""
    dropped: int = 0
    best: str = ""
    again: int = 0
    missing: bool = False


@dataclass(frozen=True, slots=True)
class Neighbour:
    """One remembered step that values are computed from: a neighbour of N(s), or a step of a plan.

    Attributes:
        entry: Entry number of the step in its scope; -1 for a step of the running episode, which is not in memory yet.
        similarity: Similarity to the query state, 0 to 1. For a step of a plan: 1 if it was taken in the same state.
        action: The action that was taken.
        g: Discounted return G of the remembered step.
        episode: Number of its episode, from 1 within its scope; 0 for the running episode.
        step: Step within that episode, from 0.
        state: The state in words.
        provenance: "agent", "human" or "imported:NAME".
        taken: The action as it was taken, if `action` was translated to another task; "" if it is the same.
        ahead: For a step of a plan: how many steps from now the plan repeats it. -1 for a neighbour.
        gain: Points that the environment gave for it.
        expected: For a step of a plan: the points that the plan expects of it.
    """

    entry: int
    similarity: float
    action: str
    g: float
    episode: int
    step: int
    state: str
    provenance: str = "agent"
    taken: str = ""
    ahead: int = -1
    gain: float = 0.0
    expected: float = 0.0


@dataclass(frozen=True, slots=True)
class PlanAccount:
    """What the value of a plan rests on besides the steps that it repeats.

    Attributes:
        steps: Steps of the plan up to the first thing never done, or to its last gain; 0 if there is no plan.
        tries: The actions never done that the plan hopes for, each with its place if it is another one.
        spare: Points that steps left over are counted with. They are part of the term "discovery".
        left: Points between the present score and the maximum.
        now: How often each candidate was tried in the running episode; part of N.
        remembered: Number of remembered steps that plans could be made of.
    """

    steps: int = 0
    tries: tuple[str, ...] = ()
    spare: float = 0.0
    left: float | None = None
    now: tuple[int, ...] = ()
    remembered: int = 0


@dataclass(frozen=True, slots=True)
class Valuation:
    """Values of a candidate set. Each tuple has one item per candidate.

    Attributes:
        v: V(s), the baseline.
        q: Q(s, a) for each candidate.
        n: |N(s, a)|, the number of neighbours that took each candidate.
        how: "known", "optimistic", "neutral" (not explored in this draw) or "prior" (nothing remembered).
        terms: Named terms whose sum is Q, if the estimator has any.
        hits: The remembered steps behind V and Q.
        plan: For values from plans: what they rest on besides the hits.
    """

    v: float
    q: tuple[float, ...]
    n: tuple[int, ...]
    how: tuple[str, ...]
    terms: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    hits: tuple[Neighbour, ...] = ()
    plan: PlanAccount | None = None


@dataclass(frozen=True, slots=True)
class Update:
    """JitRL's update of the logits (Algorithm 1, steps 2 to 6). Each tuple has one item per candidate.

    Attributes:
        neighbours: The remembered steps behind the values: N(s), most similar first, or the steps of a plan.
        valuation: V and Q.
        advantage: A = Q - V.
        advantage_normalised: A divided by the largest |A|, within [-1, 1].
        z_prime: z + beta * normalised A.
        beta: The beta that was used.
        without_memory: The action that the model alone would have taken (setting `unremembered`).
        equation: The update of the chosen action, written out with its numbers.
        draw: The random number in [0, 1) that the action was chosen with.
        best: The candidate that the model called the best.
    """

    neighbours: tuple[Neighbour, ...]
    valuation: Valuation
    advantage: tuple[float, ...]
    advantage_normalised: tuple[float, ...]
    z_prime: tuple[float, ...]
    beta: float = 1.0
    without_memory: str = ""
    equation: str = ""
    draw: float | None = None
    best: str = ""


@dataclass(frozen=True, slots=True)
class BasisItem:
    """One text that a decision is based on.

    Attributes:
        text: The text.
        origin: Its origin, for people: "episode 3", "imported:NAME".
        weight: Its weight.
        uid: Uid of the kept record that it was taken from.
    """

    text: str
    origin: str = ""
    weight: float | None = None
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Basis:
    """The texts that a decision is based on, for any method: reflections, workflows, strategies, retrieved texts.

    Attributes:
        kind: One word for programs, for instance "reflection".
        title: Title for people, for instance "Reflections".
        items: The texts, the most important first.
        columns: Numbers by name, one for each candidate.
    """

    kind: str
    title: str
    items: tuple[BasisItem, ...] = ()
    columns: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UnknownPart:
    """A part of a decision that this version does not know. It is written back as it was read.

    Attributes:
        part: Its name in the recording.
        fields: Plain JSON values.
    """

    part: str
    fields: Mapping[str, Any]


TIE = 1.1
"""Probabilities whose ratio is at most this are a tie, as 33 % and 32 % are."""

Part = Update | Basis | UnknownPart
"""An addition to a decision that only some methods make."""

PARTS: dict[str, type[Any]] = {cls.__name__: cls for cls in (Update, Basis)}
"""The known parts, by their name in a recording."""


@dataclass(frozen=True, slots=True)
class Decision:
    """The record of one choice. Each tuple of numbers has one item per candidate.

    Attributes:
        step: Step within the episode, from 0.
        state: The abstracted state.
        valid_actions: The actions that were possible.
        candidates: C, first the model's candidates, then those of memory.
        prior: Softmax of z.
        posterior: The distribution that the choice was drawn from.
        chosen: Index into candidates, -1 if a person typed another action.
        action: The action to take.
        provenance: "agent" or "human".
        why: The reason, one sentence.
        calls: The model calls that gave the candidates.
        note: The rule that was applied because something was missing.
        tally: Counts of model calls and of unusable answers.
        parts: Additions of the method.
        by: Who let it be carried out: "agent" (nobody was asked), "person", or "rule" (what a person ordered before).
        reason: How: "approved", "chosen instead", "typed", "vetoed", "taken again", "handed over ..."; "" if the agent
            acted by itself. "... at breakpoint RULE" if a breakpoint held it.
        vetoed: Actions that a person has forbidden in this state.
        found_later: Valid actions that were found only after the choice, in recordings of older versions.
    """

    step: int
    state: State
    valid_actions: tuple[str, ...]
    candidates: tuple[Candidate, ...]
    prior: tuple[float, ...]
    posterior: tuple[float, ...]
    chosen: int
    action: str
    provenance: str = "agent"
    why: str = ""
    calls: tuple[ModelCall, ...] = ()
    note: str = ""
    tally: Tally = NO_TALLY
    parts: tuple[Part, ...] = ()
    by: str = "agent"
    reason: str = ""
    vetoed: tuple[str, ...] = ()
    found_later: tuple[str, ...] = ()

    @property
    def possible(self) -> tuple[str, ...]:
        """All actions that are known to be possible."""
        return (*self.valid_actions, *self.found_later)

    @property
    def update(self) -> Update | None:
        """JitRL's update of the logits, None for a method without one."""
        return next((part for part in self.parts if isinstance(part, Update)), None)

    @property
    def tie_broken(self) -> bool:
        """Whether JitRL's update only decided between two actions that the prior rates alike."""
        mine, other = self._pair()
        return mine >= 0 and other >= 0 and mine != other and self._alike(mine, other)

    @property
    def bases(self) -> tuple[Basis, ...]:
        """The texts that the choice is based on, by kind."""
        return tuple(part for part in self.parts if isinstance(part, Basis))

    @property
    def changed(self) -> bool:
        """Whether JitRL's update changed the action: with the same draw, the prior alone takes another one, and rates
        the two differently. Where it rates them alike (`TIE`), the update has only broken a tie.
        """
        update = self.update
        if update is None or update.without_memory in ("", self.action):
            return False
        return not self.tie_broken

    def _pair(self) -> tuple[int, int]:
        """Return the indices of the chosen action and of the one that the prior alone takes; -1 for none."""
        without = self.update.without_memory if self.update is not None else ""
        actions = [candidate.action for candidate in self.candidates]
        return self.chosen, actions.index(without) if without in actions else -1

    def _alike(self, one: int, other: int) -> bool:
        low, high = sorted((self.prior[one], self.prior[other]))
        return high <= TIE * low
