"""ReasoningBank: strategies that the model distils from successes and failures; those of the most similar episode."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engine.agents.base import AgentContext, Turn
from engine.agents.episode_learner import (
    TEXT,
    LearningAgent,
    how_it_ended,
    is_success,
    keys,
    likeness,
    number,
    origin,
    rows,
    schema,
    that_fit,
)
from engine.agents.static import Recalled
from engine.llm.prompts import Folder
from engine.records import Basis, BasisItem, Episode

PROMPTS = Folder("engine.agents.prompts.reasoningbank")
SCHEMA = schema(strategies={"type": "array", "items": schema(title=TEXT, description=TEXT, content=TEXT)})
HEAD = "YOUR STRATEGIES FROM EARLIER EPISODES (say for each whether it applies now):"
FIELDS = ("title", "description", "content")


class ReasoningBankAgent(LearningAgent):
    """Keeps up to `lessons_an_episode` strategies of each episode."""

    kind = "strategies"

    def __init__(self, context: AgentContext) -> None:
        super().__init__(context, "reasoningbank")

    def recall(self, turn: Turn) -> Recalled:
        """Return the strategies of the episodes with the most similar states, the newest of equally similar ones."""
        scored = [(likeness(record, turn.state), record) for record in reversed(self.known)]
        best = sorted(scored, key=lambda each: -each[0])
        found = [
            BasisItem(_item_text(item), f"{origin(record)}, {_how(record.data)}", similarity, record.uid)
            for similarity, record in best[: self.settings.strategy_records]
            for item in rows(record, "items")
        ]
        items = tuple(that_fit(found, self.settings.memory_tokens, lambda item: item.text))
        if not items:
            return Recalled()
        text = "\n\n".join([HEAD, *(item.text for item in items)])
        return Recalled(text, (Basis(self.kind, "Strategies", items),))

    def learn(self, episode: Episode) -> None:
        """Ask for strategies, with one prompt for successes and one for failures; one call."""
        success = is_success(episode, [number(one, "score") for one in self.known])
        items = self.ask(
            "strategies",
            PROMPTS,
            "success" if success else "failure",
            self._read,
            SCHEMA,
            ended=how_it_ended(episode),
            transcript="\n\n".join(self.paragraphs(episode)),
            count=str(self.settings.lessons_an_episode),
        )
        self.context.kept.add(
            self.kind,
            "\n\n".join(map(_item_text, items)),
            {
                "items": items,
                "success": success,
                "score": episode.score,
                "keys": keys(episode, self.settings.key_states),
            },
        )

    def _read(self, answer: dict[str, Any]) -> list[dict[str, str]] | None:
        """Return the strategies of an answer that say what to do; None if there is none."""
        listed = answer.get("strategies")
        found = [
            {name: self.short(row.get(name)) for name in FIELDS}
            for row in (listed if isinstance(listed, list) else ())
            if isinstance(row, dict)
        ]
        return [item for item in found if item["title"] and item["content"]][: self.settings.lessons_an_episode] or None


def _item_text(item: Mapping[str, Any]) -> str:
    title, description, content = (str(item.get(name, "")) for name in FIELDS)
    return "\n".join(filter(None, [title, description, content]))


def _how(data: Mapping[str, Any]) -> str:
    return "a success" if data.get("success") else "a failure"
