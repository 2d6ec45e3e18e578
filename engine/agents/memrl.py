"""MemRL: experiences with a learnt value. Similarity chooses a pool of them, and their Q chooses from the pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engine.agents.base import AgentContext, Turn
from engine.agents.learning import (
    TEXT,
    LearningAgent,
    act,
    brief,
    ended,
    fitting,
    keys,
    last_gain,
    likeness,
    mean,
    number,
    origin,
    schema,
    succeeded,
)
from engine.agents.static import Recalled
from engine.llm.prompts import Folder
from engine.records import Basis, BasisItem, Episode, Kept, Observation, State, Step

PROMPTS = Folder("engine.agents.prompts.memrl")
SCHEMA = schema(lesson=TEXT)
HEAD = "EXPERIENCES FROM EARLIER EPISODES (follow the successes, learn from the failures):"


class Found(NamedTuple):
    """An experience that was retrieved, with its similarity and its Q."""

    record: Kept
    similarity: float
    q: float


class MemrlAgent(LearningAgent):
    """Keeps an experience for each episode: a script of a success or a reflection on a failure, and what was done.

    What an episode was worth changes the Q of all experiences that were retrieved in it.
    """

    kind = "experience"

    def __init__(self, context: AgentContext) -> None:
        super().__init__(context, "memrl")
        self._q: dict[str, float] = {}
        self._used: dict[str, None] = {}
        self._retrieved: dict[tuple[str, ...], list[Found]] = {}

    def begin_episode(self, state: State) -> None:
        """Load the experiences and their values."""
        super().begin_episode(state)
        self._q = values(self.known, self.settings.q_start)
        self._used, self._retrieved = {}, {}

    def observe(
        self, step: Step, then: State, *, observation: Observation, terminated: bool, lost: bool
    ) -> None:
        """Note what is retrieved in the state of the step, whoever decided in it."""
        super().observe(step, then, observation=observation, terminated=terminated, lost=lost)
        self._used |= {one.record.uid: None for one in self._retrieve(step.state)}

    def recall(self, turn: Turn) -> Recalled:
        """Return the experiences that are retrieved for this state."""
        found = self._retrieve(turn.state)
        if not found:
            return Recalled()
        items = tuple(
            BasisItem(one.record.text, f"{origin(one.record)}, similarity {one.similarity:.2f}", one.q, one.record.uid)
            for one in found
        )
        return Recalled("\n\n".join([HEAD, *map(_told, found)]), (Basis(self.kind, "Experiences", items),))

    def learn(self, episode: Episode) -> None:
        """Ask for a script or a reflection, and keep it with the new Q of what was retrieved; one call."""
        scores = [number(one, "score") for one in self.known]
        success = succeeded(episode, scores)
        r, a = worth(episode, scores), self.settings.q_rate
        lesson = self.ask(
            "experience",
            PROMPTS,
            "success" if success else "failure",
            lambda answer: self.short(answer.get("lesson")) or None,
            SCHEMA,
            ended=ended(episode),
            transcript="\n\n".join(self.told(episode)),
        )
        taken = episode.steps[: last_gain(episode)] if success else episode.steps
        done = brief("; ".join(map(act, taken)), self.settings.lesson_tokens)
        self.context.kept.add(
            self.kind,
            f"{'Success' if success else 'Failure'} (score {episode.score:g}): {lesson}\nDone: {done}",
            {
                "score": episode.score,
                "success": success,
                "keys": keys(episode, self.settings.key_states),
                "q": {uid: (1 - a) * self._q[uid] + a * r for uid in self._used},
            },
        )

    def _retrieve(self, state: State) -> list[Found]:
        """Return the experiences for a state: a pool by similarity, of which the best by similarity and Q are taken."""
        if state.tokens not in self._retrieved:
            s = self.settings
            near = [(likeness(record, state), record) for record in reversed(self.known)]
            near = [each for each in near if each[0] >= s.experience_similarity]
            pool = [
                Found(record, similarity, self._q[record.uid])
                for similarity, record in sorted(near, key=lambda each: -each[0])[: s.experience_pool]
            ]
            pool.sort(key=lambda one: -((1 - s.q_weight) * one.similarity + s.q_weight * one.q))
            self._retrieved[state.tokens] = fitting(pool[: s.experiences], s.memory_tokens, _told)
        return self._retrieved[state.tokens]


def values(records: Sequence[Kept], start: float) -> dict[str, float]:
    """Return Q of each experience: what the latest record says of it, `start` where none does."""
    q = {record.uid: start for record in records}
    for record in records:
        learnt = record.data.get("q")
        if isinstance(learnt, Mapping):
            q |= {uid: float(value) for uid, value in learnt.items() if uid in q and isinstance(value, (int, float))}
    return q


def worth(episode: Episode, scores: Sequence[float]) -> float:
    """Return r of an episode, in [-1, 1]: 1 for a win, else how far its score is from the mean before it.

    Args:
        scores: Of the episodes before it.
    """
    if episode.outcome == "won":
        return 1.0
    usual = mean(scores)
    largest = max(abs(episode.score), abs(usual))
    return max(-1.0, min(1.0, (episode.score - usual) / largest)) if largest else 0.0


def _told(found: Found) -> str:
    return f"{origin(found.record)} (value {found.q:+.2f}):\n{found.record.text}"
