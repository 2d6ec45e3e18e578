"""Data of SFT from recordings that are played here."""

from __future__ import annotations

from pathlib import Path

import pytest

from engine.environments import kind_of
from engine.errors import UsageError
from engine.kinds import EnvironmentContext
from engine.records import Decided
from engine.session import recording
from engine.settings.train import SftSettings
from engine.train import data
from jitrl_tui.cli import main


@pytest.fixture(scope="module")
def saves(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saves folder with a session of three episodes."""
    saves = tmp_path_factory.mktemp("saves")
    words = "run pantry --model prior/verbs --agent static --episodes 3 --steps 5 --fresh --quiet"
    assert main(["--saves", str(saves), *words.split()]) == 0
    return saves


def session(saves: Path) -> Path:
    return next((saves / "sessions").iterdir())


def found(saves: Path) -> list[data.Demonstration]:
    (path,) = data.recordings(session(saves))
    return data.demonstrations(path, "pantry", EnvironmentContext(saves), 5)


def test_each_choice_of_a_recording_becomes_an_example(saves):
    decided = [event for _, event in recording.read(session(saves)) if isinstance(event, Decided)]
    choices = [event for event in decided if len(event.decision.valid_actions) > 1]
    examples = [(one.number, example) for one in found(saves) for example in one.examples]
    assert [(number, example.action) for number, example in examples] == [
        (event.episode, event.decision.action) for event in choices
    ]
    for event, (_, example) in zip(choices, examples, strict=True):
        assert example.request.valid_actions == event.decision.valid_actions
        assert example.provenance == "agent"


def test_what_the_model_is_shown_is_what_the_game_showed(saves):
    environment = kind_of("pantry").open("pantry", EnvironmentContext(saves))
    try:
        first = environment.reset(1)
        shown = found(saves)[0].examples[0].request.current_state
        assert shown == environment.abstractor().situation(first)
        assert first.description.strip() in shown
    finally:
        environment.close()


def test_the_best_episodes_are_learnt_from(saves):
    def one(number: int, score: float) -> data.Demonstration:
        return data.Demonstration("s", number, "jitrl", "m", score, 3, 0, 0, found(saves)[0].examples)

    many = [one(number, score) for number, score in enumerate((1, 3, 2, 3, 0), 1)]
    assert [each.number for each in data.best_demonstrations(many, SftSettings(best=0.4))] == [2, 4]
    assert [each.number for each in data.best_demonstrations(many, SftSettings(best=1.0, least_score=2.0))] == [2, 4, 3]
    with pytest.raises(UsageError, match="no recorded episode has 9 points"):
        data.best_demonstrations(many, SftSettings(least_score=9.0))


def test_a_recording_of_another_game_is_refused(saves):
    (path,) = data.recordings(session(saves))
    with pytest.raises(UsageError, match="was played in pantry, not in manor"):
        data.demonstrations(path, "manor", EnvironmentContext(saves), 5)


def test_a_folder_without_recordings_is_refused(tmp_path):
    with pytest.raises(UsageError, match="there is no recording in"):
        data.recordings(tmp_path)


def test_a_known_solution_is_played_to_its_end(saves):
    solved = data.walkthrough("pantry", EnvironmentContext(saves), 5)
    assert (solved.source, solved.score) == ("walkthrough", 14)
    assert {example.provenance for example in solved.examples} == {"walkthrough"}
    assert solved.examples[0].action == "take pork chop"
