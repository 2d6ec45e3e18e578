"""Data of SFT: the decisions of recorded episodes, or of a game's known solution."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.environment import Abstractor, Environment
from engine.environments import kind_of
from engine.errors import UsageError
from engine.kinds import EnvironmentContext
from engine.records import ActionRequest, Decided, Event, ModelCall, ModelCalled, SessionStarted
from engine.session import recording
from engine.session.recorded_steps import RecordedEpisode, episodes
from engine.settings.train import SftSettings


@dataclass(frozen=True, slots=True)
class Example:
    """One decision to learn.

    Attributes:
        request: What the model is asked.
        action: The action that was taken.
        provenance: "agent", "human" or "walkthrough".
    """

    request: ActionRequest
    action: str
    provenance: str


@dataclass(frozen=True, slots=True)
class Demonstration:
    """One finished episode.

    Attributes:
        source: Name of its session, or "walkthrough".
        number: Its number there.
        agent: Name of the method that played it.
        model: Name of its model.
        score: Score at the end.
        steps: Number of its steps.
        prompt_tokens: Tokens of all prompts to its model.
        completion_tokens: Tokens of all answers.
        examples: Its decisions between several actions.
    """

    source: str
    number: int
    agent: str
    model: str
    score: float
    steps: int
    prompt_tokens: int
    completion_tokens: int
    examples: tuple[Example, ...]


def recordings(folder: Path) -> list[Path]:
    """Return the recordings in a folder: that of a session, or those of all sessions in it.

    Raises:
        UsageError: There is none.
    """
    found = recording.below(folder)
    if not found:
        raise UsageError(f"there is no recording in {folder}; name a session, or a folder with sessions")
    return found


def demonstrations(path: Path, game: str, context: EnvironmentContext, recent: int) -> list[Demonstration]:
    """Return the finished episodes of a recording.

    Args:
        path: The recording.
        game: What is trained for; a recording of another environment is refused.
        context: Where environments are found.
        recent: Number of last steps in a prompt.

    Raises:
        UsageError: It was played in another environment.
        BadFile: It is damaged.
    """
    events = list(recording.read(path))
    started = events[0][1]
    assert isinstance(started, SessionStarted)
    environment = kind_of(game).open(game, context)
    try:
        if started.environment.scope != environment.info.scope:
            raise UsageError(f"{path.parent} was played in {started.environment.name}, not in {game}")
        found: list[Demonstration] = []
        for past in episodes(events):
            if (end := past.ended) is not None:
                examples = tuple(_examples(past, environment.abstractor(), recent))
                tokens = _tokens(past)
                who = (path.parent.name, end.episode, started.agent, started.model)
                found.append(Demonstration(*who, end.score, end.steps, *tokens, examples))
        return found
    finally:
        environment.close()


def _examples(past: RecordedEpisode, abstractor: Abstractor, recent: int) -> Iterator[Example]:
    state = abstractor.begin(past.started.observation)
    for step in past.steps:
        valid = step.decision.valid_actions
        if len(valid) > 1 and step.decision.action in valid:
            request = ActionRequest(
                state.history,
                "",
                abstractor.recent(recent),
                abstractor.situation(step.before),
                valid,
                len(valid),
            )
            yield Example(request, step.decision.action, step.decision.provenance)
        state = abstractor.advance(step.decision.action, step.after)


def _tokens(past: RecordedEpisode) -> tuple[int, int]:
    """Return the tokens of prompts and of answers that an episode took."""
    calls = [call for event in past.events for call in _calls(event)]
    return sum(call.prompt_tokens for call in calls), sum(call.completion_tokens for call in calls)


def _calls(event: Event) -> Iterable[ModelCall]:
    if isinstance(event, Decided):
        return event.decision.calls if event.decision.by == "agent" else ()
    return (event.call,) if isinstance(event, ModelCalled) else ()


def best_demonstrations(found: Sequence[Demonstration], settings: SftSettings) -> list[Demonstration]:
    """Return the episodes to learn from: the best share of them, the earliest of equal ones first.

    Raises:
        UsageError: None is good enough.
    """
    good = [one for one in found if one.score >= settings.least_score and one.examples]
    good.sort(key=lambda one: -one.score)
    count = max(1, round(settings.best * len(found)))
    if not good:
        best = max((one.score for one in found), default=0.0)
        raise UsageError(
            f"no recorded episode has {settings.least_score:g} points and a choice to learn from; the best of "
            f"{len(found)} has {best:g}"
        )
    return good[:count]


def walkthrough(game: str, context: EnvironmentContext, recent: int) -> Demonstration:
    """Return a game's known solution as an episode. It is played to see what is seen.

    Raises:
        UsageError: No solution of it is known.
    """
    from engine.games.catalogue import find_game, known_solution

    kind = kind_of(game)
    if kind.name != "game":
        raise UsageError(f"no solution of {game} is known: only games have one")
    solution = known_solution(find_game(game, games=context.games, saves=context.saves))
    if solution is None:
        raise UsageError(f"no solution of {game} is known")
    environment = kind.open(game, context)
    try:
        return _played(environment, *solution, recent)
    finally:
        environment.close()


def _played(environment: Environment, seed: int, solution: Sequence[str], recent: int) -> Demonstration:
    seen = environment.reset(seed)
    abstractor = environment.abstractor()
    state = abstractor.begin(seen)
    examples: list[Example] = []
    steps = 0
    for action in solution:
        valid = environment.valid_actions()
        if len(valid) > 1 and action in valid:
            request = ActionRequest(
                state.history, "", abstractor.recent(recent), abstractor.situation(seen), valid, len(valid)
            )
            examples.append(Example(request, action, "walkthrough"))
        seen = environment.step(action)
        state = abstractor.advance(action, seen)
        steps += 1
        if seen.over:
            break
    return Demonstration("walkthrough", 1, "walkthrough", "", seen.score, steps, 0, 0, tuple(examples))
