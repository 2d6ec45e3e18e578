"""Episodes for training: played by real sessions with a policy that needs no torch."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from engine.environments import kind_of
from engine.errors import UsageError
from engine.llm.local.trie import choices
from engine.llm.questions import TEXT_ASKING
from engine.records import EpisodeEnded, Stepped
from engine.session import recording
from engine.settings import SessionConfig
from engine.train.prompts import Prompts
from engine.train.rollouts import RolloutPlayer
from engine.train.trained import TrainedModel


class Letters:
    """A tokenizer whose tokens are letters."""

    chat_template = "yes"

    def apply_chat_template(self, chat, tokenize, add_generation_prompt):
        return "\n".join(message["content"] for message in chat)

    def __call__(self, text, add_special_tokens):
        if isinstance(text, str):
            return {"input_ids": [ord(letter) for letter in text]}
        return {"input_ids": [[ord(letter) for letter in one] for one in text]}


class Even:
    """A policy that draws each token evenly from the allowed ones."""

    def __init__(self):
        self.scored = self.renewed = 0

    def score(self, prompt, tails):
        self.scored += 1
        return [[-math.log(len(tokens)) for tokens in allowed] for allowed in choices(tails)]

    def renew(self):
        self.renewed += 1


def player(saves: Path, policy: Even, trained: int = 0, **settings) -> RolloutPlayer:
    made = kind_of("pantry").profile("default", selection="sample", candidates=1000, step_limit=4, **settings)
    config = SessionConfig("pantry", "static", "tiny", 6, 1, settings=made, memory="own")
    model = TrainedModel("tiny", policy, Prompts(Letters(), TEXT_ASKING, "actions_brief", 10_000))
    return RolloutPlayer(config, saves / "rollouts", saves, model, trained)


def actions(saves: Path) -> list[list[str]]:
    events = [event for _, event in recording.read(saves / "rollouts")]
    ends = sum(isinstance(event, EpisodeEnded) for event in events)
    return [
        [event.action for event in events if isinstance(event, Stepped) and event.episode == number]
        for number in range(1, ends + 1)
    ]


def test_episodes_are_played_when_they_are_asked_for(tmp_path):
    policy = Even()
    one = player(tmp_path, policy)
    try:
        first = one.play(2)
        assert [played.number for played in first] == [1, 2]
        assert len(actions(tmp_path)) == 2
        assert policy.renewed == 1
        assert [played.number for played in one.play(1)] == [3]
    finally:
        one.close()
    for played, recorded in zip(first, actions(tmp_path), strict=False):
        assert sum(played.gains) == played.score
        assert len(played.gains) == len(recorded) == 4
        assert played.prompt_tokens > 0
        for row in played.rows:
            text = "".join(map(chr, row.action))
            assert text.strip() in recorded
            assert f"Actions: {text.strip()}" in "".join(map(chr, row.prompt)) or f", {text.strip()}" in "".join(
                map(chr, row.prompt)
            )
            assert all(token in tokens for token, tokens in zip(row.action, row.allowed, strict=True))
            assert sum(row.logprobs) == pytest.approx(-sum(math.log(len(tokens)) for tokens in row.allowed))


def test_the_same_situation_is_scored_once_for_the_same_weights(tmp_path):
    policy = Even()
    one = player(tmp_path, policy)
    try:
        decisions = sum(len(played.rows) for played in one.play(4))
    finally:
        one.close()
    assert policy.scored < decisions


def test_a_run_goes_on_where_its_weights_are(tmp_path):
    """Three episodes were played, and the last checkpoint was made after two. The third is played again, alike."""
    one = player(tmp_path, Even())
    try:
        one.play(3)
    finally:
        one.close()
    before = actions(tmp_path)
    again = player(tmp_path, Even(), trained=2)
    try:
        assert len(actions(tmp_path)) == 2
        (played,) = again.play(1)
    finally:
        again.close()
    assert played.number == 3
    assert actions(tmp_path)[:3] == before


def test_the_evaluator_can_judge_the_steps(tmp_path):
    kind = kind_of("pantry")
    one = player(tmp_path, Even())
    one._evaluator = kind.evaluator(kind.profile("default"), None)
    try:
        (played,) = one.play(1)
    finally:
        one.close()
    judged = json.loads((tmp_path / "rollouts" / "events.jsonl").read_text().splitlines()[-1])
    recorded = next(event for _, event in recording.read(tmp_path / "rollouts") if isinstance(event, EpisodeEnded))
    assert judged["event"] in ("EpisodeEnded", "SessionEnded")
    assert played.rewards == recorded.rewards  # the session's own evaluator, by the score and what changed


def test_a_game_that_begins_differently_is_refused(tmp_path):
    one = player(tmp_path, Even())
    one._beginning = "Another beginning."
    try:
        with pytest.raises(UsageError, match="pantry cannot be reset alike: its episodes begin differently"):
            one.play(1)
    finally:
        one.close()
