"""jitrl as a library: the example of docs/library.md prints what the page says, and mistakes are one sentence."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

import engine
from engine.errors import JitrlError
from engine.records import Decided, Stepped
from tests.commands import run

PAGE = Path(__file__).parent.parent / "docs/library.md"


def test_the_example_prints_what_the_page_says(tmp_path: Path) -> None:
    blocks = dict(re.findall(r"```(python|text)\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL))
    done = run([sys.executable, "-c", blocks["python"]], cwd=tmp_path, capture_output=True, text=True)
    assert (done.stderr, done.stdout) == ("", blocks["text"])


def test_events_tell_what_happens(tmp_path: Path) -> None:
    told: list[object] = []
    (ended,) = engine.play_episodes(
        "pantry", engine.make_agent("random", step_limit=3), saves=tmp_path, on_event=told.append
    )
    assert ended.steps == sum(isinstance(event, Decided) for event in told) == 3
    assert sum(isinstance(event, Stepped) for event in told) == 3


def test_step_by_step_is_the_same_session(tmp_path: Path) -> None:
    agent, told = engine.make_agent("jitrl", model="prior/verbs", step_limit=6), []
    engine.play_episodes("pantry", agent, 2, saves=tmp_path / "whole", on_event=told.append)
    with engine.open_play("pantry", agent, 2, saves=tmp_path / "steps") as play:
        decisions = []
        while decision := play.choose():
            assert play.choose() is decision
            decisions.append(decision)
            play.step()
    assert decisions == [event.decision for event in told if isinstance(event, Decided)]
    assert len(play.results) == 2
    with pytest.raises(JitrlError, match="all episodes are played"):
        play.step()


def test_a_program_takes_other_actions_and_leaves(tmp_path: Path) -> None:
    told: list[object] = []
    agent = engine.make_agent("random", step_limit=4)
    with engine.open_play("pantry", agent, saves=tmp_path, on_event=told.append) as play:
        assert play.step("go north") == play.seen
    assert play.choose() is None
    steps = [event for event in told if isinstance(event, Stepped)]
    assert (steps[0].action, steps[0].provenance, play.results) == ("go north", "human", [])


def test_a_play_that_fails_is_one_sentence(tmp_path: Path) -> None:
    with engine.open_play("nowhere", engine.make_agent("random"), saves=tmp_path) as play:
        for call in (play.choose, play.step):
            with pytest.raises(JitrlError, match="nowhere"):
                call()


def test_the_page_names_all_there_is() -> None:
    listed = re.findall(r"(?:^\| |, )`(\w+)[`(]", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(listed) == sorted(engine.__all__)


@pytest.mark.parametrize(
    ("game", "method", "settings"),
    [("nowhere", "jitrl", {}), ("pantry", "nobody", {}), ("pantry", "jitrl", {"nothing": 1})],
)
def test_mistakes_are_one_sentence(game: str, method: str, settings: dict[str, int], tmp_path: Path) -> None:
    with pytest.raises(JitrlError) as raised:
        engine.play_episodes(game, engine.make_agent(method, **settings), saves=tmp_path)
    assert "\n" not in str(raised.value)
