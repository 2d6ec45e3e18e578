"""Reflexion: after an episode that was not won, the model writes what to do better; the latest are in the prompt."""

from __future__ import annotations

from typing import Any

from engine.agents.base import AgentContext, Turn
from engine.agents.episode_learner import TEXT, LearningAgent, how_it_ended, number, origin, schema, that_fit
from engine.agents.static import Recalled
from engine.llm.prompts import Folder
from engine.records import Basis, BasisItem, Episode, Kept

PROMPTS = Folder("engine.agents.prompts.reflexion")
SCHEMA = schema(diagnosis=TEXT, plan=TEXT)
HEAD = "YOUR REFLECTIONS ON EARLIER EPISODES, the oldest first. Follow what they advise:"


class ReflexionAgent(LearningAgent):
    """Keeps a reflection for each episode that was not won."""

    kind = "reflection"

    def __init__(self, context: AgentContext) -> None:
        super().__init__(context, "reflexion")

    def recall(self, turn: Turn) -> Recalled:
        """Return the latest reflections."""
        shown = self._latest(self.settings.memory_tokens)
        if not shown:
            return Recalled()
        items = tuple(
            BasisItem(one.text, f"{origin(one)}, score {number(one, 'score'):g}", uid=one.uid) for one in shown
        )
        return Recalled("\n\n".join([HEAD, *map(_reflection_text, shown)]), (Basis(self.kind, "Reflections", items),))

    def learn(self, episode: Episode) -> None:
        """Ask for a reflection, with the earlier ones that the prompt had; one call, none after a win."""
        if episode.outcome == "won":
            return
        reflection = self.ask(
            "reflection",
            PROMPTS,
            "reflection",
            self._read,
            SCHEMA,
            earlier="\n\n".join(map(_reflection_text, self._latest(self.settings.learning_tokens // 2))) or "none",
            ended=how_it_ended(episode),
            transcript="\n\n".join(self.paragraphs(episode)),
        )
        self.context.kept.add(self.kind, reflection, {"score": episode.score, "outcome": episode.outcome})

    def _latest(self, budget: int) -> list[Kept]:
        """Return the reflections of the window that fit into a budget of tokens, oldest first."""
        return that_fit(self.known[::-1][: self.settings.reflections], budget, _reflection_text)[::-1]

    def _read(self, answer: dict[str, Any]) -> str | None:
        diagnosis, plan = self.short(answer.get("diagnosis")), self.short(answer.get("plan"))
        if not plan:
            return None
        return "\n".join(filter(None, [diagnosis and f"What went wrong: {diagnosis}", f"Next time: {plan}"]))


def _reflection_text(record: Kept) -> str:
    return f"After {origin(record)} (score {number(record, 'score'):g}):\n{record.text}"
