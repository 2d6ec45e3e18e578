"""JitRL's retrieval in the prompt: what the neighbours did and what it returned, as text; the logits stay as they are.

This is the paper's ablation "Prompt Update". Only the last step differs from `jitrl` with nearest neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from engine.agents.base import AgentContext, Turn
from engine.agents.episode_learner import mean, that_fit
from engine.agents.static import Recalled, StaticAgent
from engine.records import Basis, BasisItem, Episode, Neighbour, Observation, State, Step
from engine.values import ESTIMATORS

HEAD = (
    "WHAT YOU DID IN SIMILAR SITUATIONS OF EARLIER EPISODES, the best first. Prefer actions with a high mean, and "
    "avoid those with a low one\n(action: mean of the discounted rewards that followed, how often it was taken):"
)


class PromptedAgent(StaticAgent):
    """Remembers episodes as `jitrl` does and puts N(s) into the prompt. No calls of its own."""

    learns = True

    def __init__(self, context: AgentContext) -> None:
        super().__init__(context.model, context.settings, name="jitrl-prompt")
        self._budget = context.settings.memory_tokens
        self._memory = context.memory
        self._neighbours = ESTIMATORS.find("knn").make(context.memory, context.settings)

    def recall(self, turn: Turn) -> Recalled:
        """Return what the neighbours did that can be done here, a line for each action."""
        by_action: dict[str, list[Neighbour]] = {}
        neighbours = self._neighbours.neighbours(turn.state)
        for neighbour in neighbours:
            action = (turn.resolve(neighbour.action) if turn.resolve else None) or neighbour.action
            if action in turn.valid_actions or (turn.resolve and turn.resolve(action) is not None):
                by_action.setdefault(action, []).append(replace(neighbour, action=action))
        worth = {action: mean([one.g for one in found]) for action, found in by_action.items()}
        best = sorted(by_action, key=lambda action: -worth[action])  # of equal ones the most similar stays first
        items = [
            BasisItem(
                f"{action}: mean {worth[action]:+.2f}, n {len(by_action[action])}",
                _episodes(by_action[action]),
                worth[action],
            )
            for action in best
        ]
        items = that_fit(items, self._budget, lambda item: item.text)
        searched = int(len(self._memory) > 0)
        found = int(bool(searched and neighbours))
        if not items:
            return Recalled(searched=searched, found=found)
        lines = "\n".join(item.text for item in items)
        return Recalled(HEAD, (Basis("retrieved", "Retrieved actions", tuple(items)),), 1.0, lines, searched, found)

    def begin_episode(self, state: State) -> None:
        """Tell the retrieval."""
        self._neighbours.begin_episode(state)

    def observe(
        self, step: Step, then: State, *, observation: Observation, terminated: bool, lost: bool
    ) -> None:
        """Tell the retrieval."""
        self._neighbours.observe(step, then, terminated=terminated, lost=lost)

    def end_episode(self, episode: Episode, first: int) -> None:
        """Tell the retrieval where the episode is in memory."""
        if first >= 0:
            self._neighbours.remembered(episode, first)


def _episodes(neighbours: Sequence[Neighbour]) -> str:
    """Return the episodes that neighbours are from, for people."""
    found = sorted({one.episode for one in neighbours})
    return f"episode{'s' if len(found) > 1 else ''} {', '.join(map(str, found))}"
