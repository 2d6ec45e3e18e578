"""What one choice is made of: what models offer, what memory knows, what came of both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.records.lived import State


@dataclass(frozen=True, slots=True)
class ModelCall:
    """One call to a language model, as it is shown and recorded (secrets already redacted).

    Attributes:
        purpose: "actions", "rewards", "state", "history", or what an agent writes: "reflection".
        prompt: The messages as sent, rendered as text.
        reply: The raw reply, or a summary of the scores when actions were scored directly.
        cost_usd: US dollars; 0.0 for local models.
        latency_s: Seconds of wall time.
        cached: The reply came from the cache on disk; it cost nothing now.
        retries: How often the same call had failed before it was answered.
    """

    purpose: str
    model: str
    prompt: str
    reply: str
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float = 0.0
    latency_s: float = 0.0
    cached: bool = False
    retries: int = 0


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of a model's answers, counted over decisions and over what else was asked.

    Attributes:
        asked: Decisions that a model was asked for.
        missing: Decisions for which it gave no usable answer.
        random: Of those, the ones that were drawn from the valid actions because memory knew nothing either.
        dropped: Options that were no valid action.
        calls: Calls to the model, for whatever purpose.
        cached: Of those, the ones answered from the cache on disk.
        retries: Calls made once more because the first one failed or its answer could not be used.
        unjudged: Steps that the evaluator gave no usable score.
        unwritten: States and histories that rules wrote in the model's place.
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


NO_TALLY = Tally()
"""Nothing was asked."""


@dataclass(frozen=True, slots=True)
class Candidate:
    """One action of the candidate set C with its prior logit.

    Attributes:
        action: Exactly as the environment takes it.
        z: Logit z(s, a); 0.0 is neutral, the value of memory-only actions (Algorithm 1, step 3).
        source: "llm", "memory", "both", "valid" (neither: an estimator wants it considered) or "random" (drawn
            because neither had anything to offer).
        confidence: Verbalized confidence, 0 to 100; None where the model did not give one.
        logprob: Log-likelihood the logit was made of, nats per token; None where there is none.
        reason: The model's reason, "" if none.
    """

    action: str
    z: float
    source: str = "llm"
    confidence: float | None = None
    logprob: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class ActionRequest:
    """What a prior is asked: the blanks of the paper's action prompt (App. F).

    Attributes:
        summary: Hierarchical summary of the episode so far.
        memory_text: Text from earlier episodes, for agents that put memory into the prompt.
        recent_history: The last steps, oldest first, each a paragraph: what was seen, done and gained.
        current_state: What the last action was answered with; place and inventory where they add something.
        candidates: How many actions to propose.
    """

    summary: str
    memory_text: str
    recent_history: str
    current_state: str
    valid_actions: tuple[str, ...]
    candidates: int


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a prior offers for one state: C_LLM with logits, and how it came about.

    Attributes:
        candidates: Distinct actions, all of them valid now; may be empty.
        calls: The model calls made for it.
        note: A sentence for the screen when something was out of the ordinary, else "".
        dropped: Options of the model that were no valid action.
        best: The candidate that the model called the best, "" if it named none.
        again: Calls made because the answer to an earlier one could not be used.
        missing: The model gave no usable answer; candidates, if any, come from elsewhere.
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
    """One remembered step that values are made of: of N(s), the retrieved neighbourhood, or of a plan.

    Attributes:
        similarity: Similarity to the query state, 0 to 1; for a step of a plan, 1 if it was lived in this very state.
        g: Discounted return G of the remembered step, for the discount asked.
        episode: Number of the episode it was lived in, counted from 1 within its scope.
        step: Step within that episode, from 0.
        provenance: "agent", "human" or "imported:NAME".
        taken: The action as it was taken, where `action` tells it in the words of another task; "" if it is the same.
        ahead: For a step of a plan: how many steps from now the plan repeats it; -1 for a neighbour.
        gain: Points that the environment gave for it.
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


@dataclass(frozen=True, slots=True)
class Valuation:
    """Values of a candidate set; every tuple runs parallel to the candidates.

    Attributes:
        v: V(s), the baseline.
        q: Q(s, a) for each candidate.
        n: |N(s, a)|, how many neighbours took each candidate.
        how: "known", "optimistic", "neutral" (drawn not to explore) or "prior" (nothing remembered).
        terms: Named parts that Q is the sum of, for estimators that have any.
        hits: The remembered steps that V and Q were made of; for plans, those that the plan repeats.
    """

    v: float
    q: tuple[float, ...]
    n: tuple[int, ...]
    how: tuple[str, ...]
    terms: Mapping[str, tuple[float, ...]] = field(default_factory=dict)
    hits: tuple[Neighbour, ...] = ()


@dataclass(frozen=True, slots=True)
class Update:
    """JitRL's update of the logits (Algorithm 1, steps 2 to 6); each tuple runs parallel to the candidates.

    Attributes:
        neighbours: The remembered steps that the values rest on: N(s), most similar first, or the steps of a plan.
        valuation: V and Q.
        advantage: A = Q - V.
        advantage_normalised: A divided by the largest |A|, within [-1, 1].
        z_prime: z + beta * normalised A.
        beta: The beta that was used.
        without_memory: What the same draw would have chosen from the prior alone.
        equation: The update of the chosen action with its numbers.
    """

    neighbours: tuple[Neighbour, ...]
    valuation: Valuation
    advantage: tuple[float, ...]
    advantage_normalised: tuple[float, ...]
    z_prime: tuple[float, ...]
    beta: float = 1.0
    without_memory: str = ""
    equation: str = ""


@dataclass(frozen=True, slots=True)
class BasisItem:
    """One text that a decision rests on.

    Attributes:
        origin: Where it comes from, for people: "episode 3", "imported:NAME".
        weight: How much it counts, None where nobody says.
        uid: Of the kept record it was taken from, "" if it is none.
    """

    text: str
    origin: str = ""
    weight: float | None = None
    uid: str = ""


@dataclass(frozen=True, slots=True)
class Basis:
    """What a decision rests on besides the model, for any method: reflections, workflows, strategies, retrieved texts.

    Attributes:
        kind: One word, for programs: "reflection".
        title: For people: "Reflections".
        columns: Numbers by name, one for each candidate.
    """

    kind: str
    title: str
    items: tuple[BasisItem, ...] = ()
    columns: Mapping[str, tuple[float, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class UnknownPart:
    """A part of a decision that this version does not know; it is carried along as it was read.

    Attributes:
        part: Its name in the recording.
        fields: Plain JSON values.
    """

    part: str
    fields: Mapping[str, Any]


Part = Update | Basis | UnknownPart
"""What a decision has beyond what every decision has."""

PARTS: dict[str, type[Any]] = {cls.__name__: cls for cls in (Update, Basis)}
"""The parts by their name in a recording."""


@dataclass(frozen=True, slots=True)
class Decision:
    """Everything about one choice; each tuple of numbers runs parallel to `candidates`.

    Attributes:
        step: Step within the episode, from 0.
        state: The abstracted state.
        valid_actions: The actions that were possible.
        candidates: C, the model's first, then memory's.
        prior: Softmax of z.
        posterior: The distribution that was drawn from; equal to the prior where nothing adjusts it.
        chosen: Index into candidates; -1 when a person typed something else.
        action: What is to be done.
        provenance: "agent" or "human".
        why: One sentence.
        calls: Model calls that the candidates were made from.
        note: A rule that was applied because something was missing, "" if all was ordinary.
        tally: What became of the model's answer.
        parts: What the method adds: JitRL's update of the logits, texts that the choice rests on.
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

    @property
    def update(self) -> Update | None:
        """JitRL's update of the logits, None for a method without one."""
        return next((part for part in self.parts if isinstance(part, Update)), None)

    @property
    def bases(self) -> tuple[Basis, ...]:
        """The texts that the choice rests on, by kind."""
        return tuple(part for part in self.parts if isinstance(part, Basis))

    @property
    def changed(self) -> bool:
        """Whether JitRL's update made it another action than the prior alone would have taken."""
        update = self.update
        return update is not None and update.without_memory not in ("", self.action)
