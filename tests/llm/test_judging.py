"""`jitrl models judge`: a model judges recorded steps as the evaluator does, and is compared with the score."""

from __future__ import annotations

import json

import pytest

from engine.session.reward_agreement import JudgedEpisode, agreement
from jitrl_tui.cli import main
from tests.llm import server as fake
from tests.llm.scripted import answer


@pytest.fixture(scope="module")
def saves(tmp_path_factory):
    folder = tmp_path_factory.mktemp("saves")
    assert main(["--saves", str(folder), "run", "pantry", "--model", "prior/verbs", "--episodes", "3", "--steps", "20",
                 "--quiet"]) == 0  # fmt: skip
    return folder


@pytest.fixture
def judge(saves, server, monkeypatch, capsys):
    monkeypatch.setenv("JITRL_API_BASE", server.base)
    (session,) = (saves / "sessions").iterdir()

    def run(score, *more: str):
        """Judge with a model that gives each step `score(what the scripted player gives)`; None for no answer."""

        def behave(handler, body):
            said = json.loads(answer(body))
            for row in said.get("step_analysis", ()):
                row["score"] = score(row["score"])
            said["step_analysis"] = [row for row in said.get("step_analysis", ()) if row["score"] is not None]
            fake.reply(json.dumps(said))(handler, body)

        server.default = behave
        capsys.readouterr()
        code = main(["models", "judge", "openai/test", session.name, "--json", "--saves", str(saves), *more])
        return code, json.loads(capsys.readouterr().out)

    return run


def test_a_model_that_follows_the_score_agrees_and_one_that_turns_it_round_does_not(judge, saves):
    code, found = judge(lambda score: score)
    (recording,) = saves.rglob("events.jsonl")
    ended = [json.loads(line) for line in recording.read_text().splitlines() if '"EpisodeEnded"' in line[:30]]
    for episode in found["episodes"]:  # the points are those of the recording
        assert sum(episode["points"]) == next(e["score"] for e in ended if e["episode"] == episode["episode"])
    assert code == 0
    assert found["judged"] == found["steps"] == sum(e["steps"] for e in found["episodes"])
    assert found["right"] == 1.0
    assert found["rho"] > 0.9
    assert found["gained"] > found["others"]
    _, turned = judge(lambda score: -score, "--set", "judged_steps=7")  # another prompt, so no reply from the cache
    assert turned["right"] == 0.0
    assert turned["rho"] == pytest.approx(-found["rho"])
    assert turned["pairs"] == found["pairs"]


def test_a_model_that_says_the_same_of_every_step_is_at_chance_and_one_that_says_nothing_is_told(judge):
    code, same = judge(lambda score: 2.0, "--set", "judged_steps=6", "--episodes", "1")
    assert (code, same["right"], same["equal"], same["rho"]) == (0, 0.5, 1.0, None)
    assert len(same["episodes"]) == 1
    code, none = judge(lambda score: None, "--set", "judged_steps=5", "--episodes", "1")
    assert (code, none["judged"], none["right"]) == (1, 0, None)
    assert "no usable score" in none["episodes"][0]["note"]


def test_the_agreement_is_what_a_hand_computes():
    one = JudgedEpisode("a", 1, 4, (0.0, 1.0, 0.0, 2.0), (1.0, 3.0, 3.0, 2.0), 1, 10, "")
    whole = agreement([one])
    # Ranks of the points 1.5 3 1.5 4, of the scores 1 3.5 3.5 2.
    assert whole.rho == pytest.approx(0.25 / 4.5)
    # Above: 3>1, 2>1. Equal: 3=3. Below: 2<3.
    assert (whole.pairs, whole.right, whole.equal) == (4, 0.625, 0.25)
    assert (whole.gained, whole.others) == (2.5, 2.0)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("openai/test", "nothing"), "no session or run 'nothing'"),
        (("prior/verbs", "SESSION"), "writes nothing"),
        (("openai/test", "SESSION", "--episodes", "0"), "--episodes must be at least 1"),
        (("openai/test", "SESSION", "--set", "judged_steps=0"), "judged_steps"),
    ],
)
def test_what_cannot_be_judged_is_one_sentence(saves, capsys, arguments, says):
    (session,) = (saves / "sessions").iterdir()
    named = [session.name if word == "SESSION" else word for word in arguments]
    assert main(["models", "judge", *named, "--saves", str(saves)]) == 2
    said = capsys.readouterr().err
    assert says in said
    assert said.count("\n") == 1
