"""What methods that learn from finished episodes share: transcripts, one question to the model, records kept once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from engine import texts
from engine.agents.base import AgentContext
from engine.agents.static import StaticAgent
from engine.errors import ModelError, TooLong
from engine.llm.model import Question
from engine.llm.prompts import CUT, Folder, without_marks
from engine.llm.reading import parse
from engine.records import Episode, Kept, Observation, State, Step

SHORTENINGS = 4
"""How often a prompt that is too long for the model is halved."""

T = TypeVar("T")


class LearningAgent(StaticAgent):
    """The model alone, with something from earlier episodes in its prompt.

    A method overrides `recall`, and `learn`, which is called once for each finished episode. It keeps one record for an
    episode, of the kind `kind`: with the record on the disk, the episode is never learnt from again.

    Attributes:
        kind: Of its records.
        known: Its records as they were when the episode began, oldest first.
    """

    kind = ""

    def __init__(self, context: AgentContext, name: str) -> None:
        super().__init__(context.model, context.settings, name=name)
        self.context = context
        self.settings = context.settings
        self.known: tuple[Kept, ...] = ()
        self._answers: list[str] = []

    def begin_episode(self, state: State) -> None:
        """Load what is kept. It stays the same for the whole episode."""
        self.known = self.context.kept.records(self.kind)
        self._answers = []

    def observe(
        self, step: Step, then: State, *, observation: Observation, terminated: bool, lost: bool
    ) -> None:
        """Note what the environment answered."""
        self._answers.append(observation.text)

    def end_episode(self, episode: Episode, first: int) -> None:
        """Learn from the episode, unless that was done before the session was left."""
        taught = (one.episode_uid for one in self.context.kept.records(self.kind))
        if episode.steps and episode.uid not in taught:
            self.learn(episode)

    def learn(self, episode: Episode) -> None:
        """Keep one record for the episode, or none; nothing here.

        Raises:
            ModelError: The model gave no usable answer; nothing was kept.
            MissingError: The network or a key is missing.
        """

    # ------------------------------------------------------------------------------------ for methods

    def paragraphs(self, episode: Episode, steps: int | None = None, most: int | None = None) -> list[str]:
        """Return the episode as paragraphs: where it began, each step with its points and its answer, how it ended.

        Args:
            steps: How many steps are told; the end is left out then. None for all of them.
            most: Largest number of characters of an answer; None for `told_characters`.
        """
        most = self.settings.told_characters if most is None else most
        shown = list(zip(episode.steps, self._answers, strict=False))[:steps]
        lines = [texts.clipped(episode.steps[0].state.text, most)]
        lines += [f"> {act(step)}\n{texts.clipped(texts.compact(answer), most)}" for step, answer in shown]
        return lines if steps is not None else [*lines, how_it_ended(episode)]

    def ask(
        self,
        purpose: str,
        folder: Folder,
        name: str,
        read: Callable[[dict[str, Any]], T | None],
        schema: Mapping[str, Any],
        /,
        **blanks: str,
    ) -> T:
        """Return what the model writes for the prompt `name`; one call.

        The oldest paragraphs of the blank `transcript` are left out where the prompt is longer than `learning_tokens`,
        or than the model takes.

        Args:
            read: Makes what is wanted of the answer's JSON object; None if it cannot be used.
            schema: Of the answer.

        Raises:
            ModelError: No usable answer.
            MissingError: The network or a key is missing.
        """

        def found(text: str) -> T | None:
            answer = parse.json_object(text)
            return None if answer is None else read(answer)

        blanks = {key: without_marks(value) for key, value in blanks.items()}
        budget = self.settings.learning_tokens
        for tries in range(SHORTENINGS):
            prompt = folder.fit(name, lambda one: texts.tokens(one.text()), budget, ("transcript",), **blanks)
            try:
                question = Question(
                    purpose,
                    prompt.chat(),
                    schema,
                    usable=lambda text: found(text) is not None,
                    temperature=self.settings.learning_temperature,
                )
                reply = self.context.write(question)
                break
            except TooLong:
                if tries == SHORTENINGS - 1:
                    raise
                budget //= 2
        result = found(reply.text)
        if result is None:
            raise ModelError(f"the {purpose} it wrote cannot be used, and what was kept before stays")
        return result

    def short(self, value: Any) -> str:
        """Return what a model wrote as one line of at most `lesson_tokens`; "" if it is no text."""
        return brief(value, self.settings.lesson_tokens)


# ------------------------------------------------------------------------------------------- episodes


def act(step: Step) -> str:
    """Return an action as a transcript has it: with the points it gained or lost, if any."""
    return f"{step.action} ({step.env_reward:+g})" if step.env_reward else step.action


def how_it_ended(episode: Episode) -> str:
    """Return how an episode ended, in a line."""
    most = "" if episode.max_score is None else f" of {episode.max_score:g}"
    how = {"won": "won", "lost": "lost"}.get(episode.outcome, "finished" if episode.terminated else "out of steps")
    return f"End: score {episode.score:g}{most}, {how} after {len(episode.steps)} steps."


def is_success(episode: Episode, scores: Sequence[float]) -> bool:
    """Return whether an episode counts as a success: won, all points reached, or better than the mean before it.

    Args:
        scores: Of the episodes before it; nothing counts as a mean of 0.
    """
    if episode.outcome == "won" or (episode.max_score is not None and episode.score >= episode.max_score > 0):
        return True
    return episode.outcome != "lost" and episode.score > mean(scores)


def mean(values: Sequence[float]) -> float:
    """Return the mean, 0 for no values."""
    return sum(values) / len(values) if values else 0.0


def last_gain(episode: Episode) -> int:
    """Return how many steps an episode has up to the last one that gained points; all if it was won."""
    if episode.outcome == "won":
        return len(episode.steps)
    return max((t + 1 for t, step in enumerate(episode.steps) if step.env_reward > 0), default=0)


def keys(episode: Episode, most: int) -> list[list[str]]:
    """Return the tokens of the states an episode is found by: its first one, then those where the score changed."""
    states = [episode.steps[0].state, *(step.state for step in episode.steps if step.env_reward)]
    return [list(tokens) for tokens in dict.fromkeys(state.tokens for state in states)][:most]


# --------------------------------------------------------------------------------------------- records


def number(record: Kept, name: str, usual: float = 0.0) -> float:
    """Return a number of a record's data; `usual` where there is none."""
    value = record.data.get(name)
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else usual


def rows(record: Kept, name: str) -> list[Mapping[str, Any]]:
    """Return the objects in a list of a record's data."""
    value = record.data.get(name)
    return [row for row in value if isinstance(row, Mapping)] if isinstance(value, (list, tuple)) else []


def origin(record: Kept) -> str:
    """Return where a record comes from, for people."""
    return f"episode {record.episode}" if record.provenance == "agent" else record.provenance


def likeness(record: Kept, state: State) -> float:
    """Return the largest Jaccard similarity of a state to the states that a record is found by (`keys` of its data)."""
    here = set(state.tokens)
    found = record.data.get("keys")
    kept = [set(map(str, one)) for one in found if isinstance(one, (list, tuple))] if isinstance(found, list) else []
    return max((jaccard(here, one) for one in kept), default=0.0)


def jaccard(one: set[str], other: set[str]) -> float:
    """Return the Jaccard similarity of two sets; 1 for two empty ones."""
    return len(one & other) / len(one | other) if one or other else 1.0


# ----------------------------------------------------------------------------------------------- texts


def brief(value: Any, tokens: int) -> str:
    """Return a text as one line of at most about `tokens` tokens; "" if it is none."""
    if not isinstance(value, str):
        return ""
    line = " ".join(value.split())
    return line if texts.tokens(line) <= tokens else line[: int(tokens * 3.5) - 2].rstrip() + " …"


def that_fit(parts: Iterable[T], budget: int, text: Callable[[T], str]) -> list[T]:
    """Return the first of the parts, as many as have at most `budget` tokens together."""
    kept: list[T] = []
    for part in parts:
        budget -= texts.tokens(text(part)) + 1
        if budget < 0:
            break
        kept.append(part)
    return kept


def last_lines(text: str, budget: int) -> str:
    """Return a text of at most `budget` tokens: lines at its beginning are left out."""
    if texts.tokens(text) <= budget:
        return text
    lines = that_fit(reversed(text.splitlines()), budget - texts.tokens(CUT) - 1, str)
    return "\n".join([CUT, *reversed(lines)])


def schema(**fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return the JSON schema of an object with these fields, all of them required."""
    return {"type": "object", "properties": fields, "required": list(fields), "additionalProperties": False}


TEXT = {"type": "string"}
"""JSON schema of a text."""
