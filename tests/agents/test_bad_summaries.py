"""A model that refuses summaries, writes them in another language, or rates all options alike: counted and told."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine.records import Decided, EpisodeEnded
from engine.session import recording
from engine.session.account import neighbours_found
from jitrl_tui.cli import main
from jitrl_tui.runs.view import RunView
from jitrl_tui.widgets.status import Mode, StatusBar
from tests.llm.scripted import Scripted, answer, kind_of
from tests.llm.server import Server
from tests.playing import only

EPISODES, STEPS = 2, 4
GERMAN = (
    "[SUMMARY]: Der Held sucht Schätze und läuft durchs Haus.\n"
    "[PROGRESS]: ✓ M1: Schlüssel genommen\n[LOCATION]: Ort: Küche→Höhle"
)


REFUSED = "I can't help with that."


class Contrary(Scripted):
    """Rates all options with 0 unless it is `fair`, and refuses every second text of these kinds."""

    def __init__(self, *kinds: str, fair: bool = False) -> None:
        super().__init__([])
        self._kinds, self._fair = kinds, fair

    def _answer(self, body) -> str:
        kind = kind_of(body)
        if kind == "actions" and not self._fair:
            return json.dumps({k: 0 if "confidence" in k else v for k, v in json.loads(answer(body)).items()})
        number = sum(asked == kind for asked, _, _ in self.calls)
        return REFUSED if kind in self._kinds and number % 2 else answer(body)

    def __call__(self, handler, body) -> None:
        with self._lock:
            said = self._answer(body)
            self.calls.append((kind_of(body), body, said))
        from tests.llm import server

        server.reply(said)(handler, body)


def played(model, saves: Path, monkeypatch: pytest.MonkeyPatch, capsys, profile: str = "reference"):
    """Play two episodes; return the result, what was printed, and the events."""
    with Server().running() as server:
        server.default = model
        monkeypatch.setenv("OPENAI_API_BASE", server.base)
        code = main(["--saves", str(saves), "run", "pantry", "--model", "openai/player", "--profile", profile,
                     "--episodes", str(EPISODES), "--steps", str(STEPS), "--json", "-"])  # fmt: skip
    assert code == 0
    out, err = capsys.readouterr()
    (folder,) = (saves / "sessions").iterdir()
    events = [event for _, event in recording.read(folder)]
    return json.loads(out), err, events


def test_a_model_that_refuses_half_of_the_summaries_and_rates_all_with_0(tmp_path, monkeypatch, capsys):
    result, err, events = played(Contrary("history"), tmp_path, monkeypatch, capsys)
    near = [bool(one.decision.update.neighbours) for one in only(events, Decided)]
    answers = result["answers"]
    assert answers["searched"] == len(near) - STEPS  # memory was empty in the first episode
    assert answers["found"] == sum(near) > 0
    assert answers["alike"] == answers["asked"] == len(near)
    assert answers["missing"] == 0
    assert answers["unwritten"] == len(near) // 2
    assert result["memory_entries"] == len(near)
    last = only(events, EpisodeEnded)[-1]
    first = f"neighbours in {last.tally.found} of {STEPS} decisions, all options rated alike in 4 of 4 decisions, 2"
    assert first in err
    # The screen and plain lines have the same numbers, after each event.
    view, asked = RunView(), 0
    for event in events:
        view.fold(event)
        asked += isinstance(event, Decided)
        assert view.tally.searched == max(0, asked - STEPS)
    assert "; all options rated alike in 4 of 4 decisions; 2 texts of the model" in view.paragraphs[-2].text
    assert neighbours_found(view.tally) == f"neighbours in {sum(near)} of {(EPISODES - 1) * STEPS} decisions"
    bar = StatusBar("status")
    bar.show(view, Mode())
    assert neighbours_found(view.tally) in [text for _, text, _ in bar._all_parts(view.started, "knn", provider=True)]


def test_the_papers_form_finds_as_many_neighbours_if_half_of_the_summaries_are_refused(tmp_path, monkeypatch, capsys):
    whole, _, _ = played(Contrary(fair=True), tmp_path / "whole", monkeypatch, capsys, "paper")
    contrary = Contrary("state", "history", fair=True)
    refused, err, _ = played(contrary, tmp_path / "refused", monkeypatch, capsys, "paper")
    assert refused["answers"]["unwritten"] == sum(said == REFUSED for _, _, said in contrary.calls) > EPISODES
    assert "of the model unusable and written by rules" in err
    assert refused["memory_entries"] == whole["memory_entries"] == EPISODES * STEPS
    assert refused["answers"]["searched"] == whole["answers"]["searched"]
    assert refused["answers"]["found"] >= whole["answers"]["found"] > 0


def test_summaries_in_another_language_are_compared_as_any_other(tmp_path, monkeypatch, capsys):
    model = Scripted([{"if": "expert at analyzing game", "reply": GERMAN}])
    answers = played(model, tmp_path, monkeypatch, capsys)[0]["answers"]
    assert answers["unwritten"] == 0
    assert 0 < answers["found"] <= answers["searched"] == (EPISODES - 1) * STEPS


def test_nothing_is_said_of_neighbours_where_none_are_looked_for(tmp_path, capsys):
    assert main(["--saves", str(tmp_path), "run", "pantry", "--model", "prior/verbs", "--episodes", "2",
                 "--steps", "3", "--json", "-"]) == 0  # fmt: skip
    out, err = capsys.readouterr()
    assert json.loads(out)["answers"]["searched"] == 0
    assert "neighbours" not in err
