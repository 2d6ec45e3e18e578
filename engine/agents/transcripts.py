"""Memory: the transcripts of past episodes in the prompt, as many of the latest ones as there is room for."""

from __future__ import annotations

from engine.agents.base import AgentContext, Turn
from engine.agents.learning import LearningAgent, fitting, last_lines, origin
from engine.agents.static import Recalled
from engine.records import Basis, BasisItem, Episode, Kept, State

HEAD = "EARLIER EPISODES, the oldest first:"


class TranscriptAgent(LearningAgent):
    """Keeps the transcript of every episode. First in, first out: the oldest episode leaves the prompt first."""

    kind = "transcript"

    def __init__(self, context: AgentContext) -> None:
        super().__init__(context, "memory")
        self._recalled = Recalled()

    def begin_episode(self, state: State) -> None:
        """Choose the transcripts that fit into the budget."""
        super().begin_episode(state)
        shown = self._shown()
        items = tuple(BasisItem(text, origin(one), uid=one.uid) for one, text in shown)
        basis = (Basis(self.kind, "Transcripts", items),) if items else ()
        self._recalled = Recalled("\n\n".join([HEAD, *(text for _, text in shown)]) if items else "", basis)

    def recall(self, turn: Turn) -> Recalled:
        """Return the log, the same for each step of an episode."""
        return self._recalled

    def learn(self, episode: Episode) -> None:
        """Keep the whole transcript; no call."""
        self.context.kept.add(self.kind, "\n".join(self.told(episode)), {"score": episode.score})

    def _shown(self) -> list[tuple[Kept, str]]:
        """Return the latest transcripts that fit, oldest first; of the latest one at least its last lines."""
        budget = self.settings.memory_tokens
        named = [(one, f"Transcript of {origin(one)}:\n{one.text}") for one in self.known]
        fit = fitting(reversed(named), budget, lambda each: each[1])
        if named and not fit:
            fit = [(named[-1][0], last_lines(named[-1][1], budget))]
        return fit[::-1]
