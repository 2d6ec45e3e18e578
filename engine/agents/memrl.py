"""MemRL: experiences with a learnt value. Similarity chooses a pool of them, and their Q chooses from the pool."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engine.agents.base import AgentContext, Turn
from engine.agents.episode_learner import (
    TEXT,
    LearningAgent,
    act,
    brief,
    how_it_ended,
    is_success,
    keys,
    last_gain,
    likeness,
    mean,
    number,
    origin,
    schema,
    that_fit,
)
from engine.agents.static import Recalled
from engine.llm.prompts import Folder
from engine.records import Basis, BasisItem, Episode, Kept, State

PROMPTS = Folder("engine.agents.prompts.memrl")
SCHEMA = schema(lesson=TEXT)
HEAD = "YOUR EXPERIENCES FROM EARLIER EPISODES (follow the successes, learn from the failures):"


class RetrievedExperience(NamedTuple):
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
        self._found: list[RetrievedExperience] = []

    def begin_episode(self, state: State) -> None:
        """Retrieve what the whole episode is played with."""
        super().begin_episode(state)
        self._found = self._retrieve(state)

    def recall(self, turn: Turn) -> Recalled:
        """Return the experiences of this episode."""
        if not self._found:
            return Recalled()
        items = tuple(
            BasisItem(one.record.text, f"{origin(one.record)}, similarity {one.similarity:.2f}", one.q, one.record.uid)
            for one in self._found
        )
        text = "\n\n".join([HEAD, *map(_experience_text, self._found)])
        return Recalled(text, (Basis(self.kind, "Experiences", items),))

    def learn(self, episode: Episode) -> None:
        """Ask for a script or a reflection, and keep it with the new Q of what was retrieved; one call."""
        scores = [number(one, "score") for one in self.known]
        success = is_success(episode, scores)
        r, a = scaled_return(episode, scores), self.settings.q_rate
        lesson = self.ask(
            "experience",
            PROMPTS,
            "success" if success else "failure",
            lambda answer: self.short(answer.get("lesson")) or None,
            SCHEMA,
            ended=how_it_ended(episode),
            transcript="\n\n".join(self.paragraphs(episode)),
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
                "q": {one.record.uid: (1 - a) * one.q + a * r for one in self._found},
            },
        )

    def _retrieve(self, state: State) -> list[RetrievedExperience]:
        """Return the experiences for a state: a pool by similarity, of which the best by similarity and Q are taken.

        Of equally similar ones those with the higher Q are in the pool, then the newest.
        """
        s, q = self.settings, values(self.known, self.settings.q_start)
        near = [RetrievedExperience(record, likeness(record, state), q[record.uid]) for record in reversed(self.known)]
        near = [one for one in near if one.similarity >= s.experience_similarity]
        pool = sorted(near, key=lambda one: (-one.similarity, -one.q))[: s.experience_pool]
        pool.sort(key=lambda one: -((1 - s.q_weight) * one.similarity + s.q_weight * one.q))
        return that_fit(pool[: s.experiences], s.memory_tokens, _experience_text)


def values(records: Sequence[Kept], start: float) -> dict[str, float]:
    """Return Q of each experience: what the latest record says of it, `start` where none does."""
    q = {record.uid: start for record in records}
    for record in records:
        learnt = record.data.get("q")
        if isinstance(learnt, Mapping):
            q |= {uid: float(value) for uid, value in learnt.items() if uid in q and isinstance(value, (int, float))}
    return q


def scaled_return(episode: Episode, scores: Sequence[float]) -> float:
    """Return r of an episode, in [-1, 1]: 1 for a win, else how far its score is from the mean before it.

    Args:
        scores: Of the episodes before it.
    """
    if episode.outcome == "won":
        return 1.0
    usual = mean(scores)
    largest = max(abs(episode.score), abs(usual))
    return max(-1.0, min(1.0, (episode.score - usual) / largest)) if largest else 0.0


def _experience_text(found: RetrievedExperience) -> str:
    return f"{origin(found.record)} (value {found.q:+.2f}):\n{found.record.text}"
