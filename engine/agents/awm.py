"""AWM: workflows that the model extracts from what succeeded; those that bear on the situation are in the prompt."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from engine import texts
from engine.agents.base import AgentContext, Turn
from engine.agents.episode_learner import TEXT, LearningAgent, last_gain, origin, rows, schema, that_fit
from engine.agents.static import Recalled
from engine.errors import UsageError
from engine.llm.prompts import Folder
from engine.memory.exchange import read_export
from engine.records import Basis, BasisItem, Episode, Kept, State

NAME = "awm"
PROMPTS = Folder("engine.agents.prompts.awm")
WORKFLOW = schema(goal=TEXT, steps={"type": "array", "items": TEXT})
SCHEMA = schema(workflows={"type": "array", "items": WORKFLOW})
HEAD = (
    "WORKFLOWS THAT YOU EXTRACTED FROM EARLIER EPISODES, the most relevant first. Follow those that fit "
    "(what stands in brackets differs from case to case):"
)


class Workflow(NamedTuple):
    """One workflow, and the record that it is from."""

    goal: str
    steps: tuple[str, ...]
    record: Kept

    @property
    def text(self) -> str:
        """As it stands in a prompt."""
        return "\n".join([f"Goal: {self.goal}", *(f"{n}. {step}" for n, step in enumerate(self.steps, 1))])


class WorkflowAgent(LearningAgent):
    """Keeps the workflows of each episode that gained points.

    With the setting `workflow_file` it uses the workflows of an export and learns none (offline).

    Raises:
        UsageError: The file has no workflows for what is played.
        BadFile: It is no export.
    """

    kind = "workflow"

    def __init__(self, context: AgentContext) -> None:
        super().__init__(context, NAME)
        self._given = _given(self.settings.workflow_file, context.memory.name)
        self._workflows: list[Workflow] = []

    def begin_episode(self, state: State) -> None:
        """Load the workflows; of two with the same goal the newer one counts."""
        super().begin_episode(state)
        self._workflows = _workflows(self._given or self.known)

    def recall(self, turn: Turn) -> Recalled:
        """Return the workflows that share the largest part of their words with the situation."""
        here = set(texts.words(" ".join([turn.state.text, turn.present, *turn.valid_actions])))
        scored = [(_shared(workflow, here), workflow) for workflow in reversed(self._workflows)]
        best = sorted((each for each in scored if each[0] > 0), key=lambda each: -each[0])
        shown = that_fit(best[: self.settings.workflows], self.settings.memory_tokens, lambda each: each[1].text)
        if not shown:
            return Recalled()
        items = tuple(BasisItem(one.text, origin(one.record), share, one.record.uid) for share, one in shown)
        text = "\n\n".join([HEAD, *(one.text for _, one in shown)])
        return Recalled(text, (Basis(self.kind, "Workflows", items),))

    def learn(self, episode: Episode) -> None:
        """Ask for workflows in the steps up to the last gain; one call, none where nothing was gained, or offline."""
        steps = last_gain(episode)
        if self._given or not steps:
            return
        goals = that_fit((one.goal for one in self._workflows[::-1]), self.settings.learning_tokens // 4, str)
        found = self.ask(
            "workflow",
            PROMPTS,
            "workflows",
            self._read,
            SCHEMA,
            known="\n".join(goals) or "none",
            transcript="\n\n".join(self.paragraphs(episode, steps)),
            count=str(self.settings.lessons_an_episode),
        )
        text = "\n\n".join(Workflow(row["goal"], tuple(row["steps"]), NOBODY).text for row in found)
        self.context.kept.add(self.kind, text, {"workflows": found, "score": episode.score})

    def _read(self, answer: dict[str, Any]) -> list[dict[str, Any]] | None:
        """Return the workflows of an answer that have a goal and steps; None if there is none."""
        listed = answer.get("workflows")
        found = []
        for row in listed if isinstance(listed, list) else ():
            steps = row.get("steps") if isinstance(row, dict) else None
            lines = [line for line in map(self.short, steps) if line] if isinstance(steps, list) else []
            lines = that_fit(lines, self.settings.lesson_tokens, str)
            if lines and (goal := self.short(row.get("goal"))):
                found.append({"goal": goal, "steps": lines})
        return found[: self.settings.lessons_an_episode] or None


NOBODY = Kept("", "")


def _workflows(records: Iterable[Kept]) -> list[Workflow]:
    """Return the workflows of records, oldest first, without those that a newer one replaces."""
    by_goal: dict[str, Workflow] = {}
    for record in records:
        for row in rows(record, "workflows"):
            goal, steps = str(row.get("goal", "")), row.get("steps")
            if goal and isinstance(steps, (list, tuple)):
                by_goal.pop(goal.casefold(), None)
                by_goal[goal.casefold()] = Workflow(goal, tuple(map(str, steps)), record)
    return list(by_goal.values())


def _shared(workflow: Workflow, here: set[str]) -> float:
    """Return which part of a workflow's words the situation has."""
    own = set(texts.words(" ".join([workflow.goal, *workflow.steps])))
    return len(own & here) / len(own) if own else 0.0


def _given(file: str, scope: str) -> list[Kept]:
    """Return the records of an export that have workflows for a scope; none for no file."""
    if not file:
        return []
    found = [
        one
        for one in read_export(Path(file), lambda text: None)
        if isinstance(one, Kept) and (one.agent, one.kind, one.scope) == (NAME, WorkflowAgent.kind, scope)
    ]
    if not _workflows(found):
        raise UsageError(f"{file} has no workflows for {scope}; `jitrl memory export` writes those that awm has kept")
    return found
