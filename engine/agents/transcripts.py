"""Memory: the transcripts of past episodes in the prompt, as many of the latest ones as there is room for."""

from __future__ import annotations

from engine.agents.base import AgentContext, Turn
from engine.agents.episode_learner import LearningAgent, last_lines, number, origin, that_fit
from engine.agents.static import Recalled
from engine.limits import TEXT
from engine.records import Basis, BasisItem, Episode, Kept, State

HEAD = "YOUR EARLIER EPISODES, the oldest first. Repeat what gained points, and do not repeat what did not help:"


class TranscriptAgent(LearningAgent):
    """Keeps the transcript of every episode. First in, first out: the oldest episode leaves the prompt first."""

    kind = "transcript"

    def __init__(self, context: AgentContext) -> None:
        super().__init__(context, "memory")
        self._recalled = Recalled()

    def begin_episode(self, state: State) -> None:
        """Choose the transcripts that fit into the budget."""
        super().begin_episode(state)
        self._recalled = Recalled()
        if shown := self._shown():
            items = tuple(
                BasisItem(text, f"{origin(one)}, score {number(one, 'score'):g}", uid=one.uid) for one, text in shown
            )
            named = [_named(one, text) for one, text in shown]
            basis = Basis(self.kind, "Transcripts", items)
            self._recalled = Recalled(HEAD, (basis,), record="\n\n".join(named))

    def recall(self, turn: Turn) -> Recalled:
        """Return the log, the same for each step of an episode."""
        return self._recalled

    def learn(self, episode: Episode) -> None:
        """Keep the whole transcript; no call."""
        self.context.kept.add(self.kind, "\n".join(self.paragraphs(episode, most=TEXT)), {"score": episode.score})

    def _shown(self) -> list[tuple[Kept, str]]:
        """Return the latest transcripts that fit, oldest first; of the latest one at least its last lines."""
        budget = max(0, self.settings.prompt_tokens - self.settings.present_tokens)
        fit = [(one, one.text) for one in that_fit(reversed(self.known), budget, lambda one: _named(one, one.text))]
        if self.known and not fit:
            fit = [(self.known[-1], last_lines(self.known[-1].text, budget))]
        return fit[::-1]


def _named(record: Kept, text: str) -> str:
    return f"Transcript of {origin(record)}:\n{text}"
