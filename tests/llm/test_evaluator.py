"""Step rewards: the score, a model behind a real server, and both."""

from __future__ import annotations

import dataclasses
import json
import re

import pytest

from engine import evaluator
from engine.evaluator import make_evaluator
from engine.llm.model_factory import open_remote
from engine.records import State, Step, Trajectory
from engine.settings import Settings
from tests.llm import server as fake
from tests.llm.server import Server

FINAL = State("[State: end]", ("end",))


def steps(*rows) -> list[Step]:
    """Rows of (action, env_reward, changed)."""
    score, result = 0.0, []
    for i, (action, reward, changed) in enumerate(rows):
        score += reward
        result.append(
            Step(State(f"[State: place {i}]", (str(i),)), action, 0.0, reward, score, changed=changed)
        )
    return result


EPISODE = steps(("go north", 0, True), ("wait", 0, False), ("take gold", 5, True), ("jump", 0, True))


def judge(episode, settings: Settings, model, outcome=""):
    return make_evaluator(settings, model).rewards(trajectory(episode, outcome))


def trajectory(episode, outcome="") -> Trajectory:
    texts = tuple(f"You are at place {t}.\n\nIt is dark." for t in range(len(episode) + 1))
    return Trajectory(tuple(episode), FINAL, texts, terminated=bool(outcome), truncated=not outcome, outcome=outcome)


def test_score_evaluator():
    settings = Settings()
    judged = judge(EPISODE, settings, None, outcome="lost")
    assert judged.rewards == (0, settings.idle_penalty, 5, settings.death_penalty)
    assert judge(EPISODE, settings, None).rewards == (0, settings.idle_penalty, 5, 0)
    assert judge([], settings, None, outcome="lost").rewards == ()


def wanted(body) -> list[int]:
    return [int(t) for t in re.findall(r"\d+", body["messages"][1]["content"].rpartition("once:")[2])]


def action_of(body, step: int) -> str:
    text = body["messages"][1]["content"]
    return re.search(
        rf"^Step {step}: [^>]*\n-> Action: (.*?)(?: \(nothing in the world changed\))?$", text, re.MULTILINE
    ).group(1)


def judge_well(score):
    """Behaviour: every step asked for is given score(step)."""

    def behave(handler, body):
        rows = [{"step": t, "action": action_of(body, t), "detailed_reasoning": "so", "score": score(t)}
                for t in wanted(body)]  # fmt: skip
        fake.reply(json.dumps({"step_analysis": rows, "overall_assessment": "x"}))(handler, body)

    return behave


@pytest.fixture
def model(server: Server):
    opened = open_remote("openai/test", Settings(), None, {"OPENAI_API_BASE": server.base})
    yield opened
    opened.close()


def test_llm_evaluator_takes_the_models_scores(server: Server, model):
    server.default = judge_well(lambda t: t + 0.5)
    judged = judge(EPISODE, Settings(rewards="llm"), model)
    assert judged.rewards == (0.5, 1.5, 2.5, 3.5)
    assert judged.note == ""
    assert len(judged.calls) == 1
    assert judged.calls[0].purpose == "rewards"
    assert "You are scoring game actions" in server.requests[0]["messages"][0]["content"]


def test_the_evaluator_is_shown_what_the_game_printed_and_how_it_ended(server: Server, model):
    server.default = judge_well(lambda t: 1.0)
    judge(EPISODE, Settings(rewards="llm"), model, outcome="lost")
    told = server.requests[0]["messages"][1]["content"]
    assert "Step 2: You are at place 2.\nIt is dark.\n-> Action: take gold\n-> Reward: +5 (score 5)" in told
    assert "-> Action: wait (nothing in the world changed)" in told
    assert "End (died): You are at place 4." in told
    assert told.index("BEGIN GAME TEXT") < told.index("Step 0") < told.index("END GAME TEXT")


def test_where_the_model_says_nothing_the_score_does(server: Server, model):
    server.default = judge_well(lambda t: 0.0 if t != 1 else 2.0)
    settings = Settings(rewards="llm_or_score")
    assert judge(EPISODE, settings, model).rewards == (0, 2, 5, settings.death_penalty)
    for outcome in ("won", ""):
        ended = dataclasses.replace(trajectory(EPISODE), terminated=True, truncated=False, outcome=outcome)
        assert make_evaluator(settings, model).rewards(ended).rewards == (0, 2, 5, 0)


def test_a_step_is_asked_for_again_with_another_prompt_and_never_from_the_cache(
    server: Server, tmp_path
):
    model = open_remote("openai/test", Settings(), tmp_path, {"OPENAI_API_BASE": server.base})
    server.script = [fake.reply("no")]
    server.default = judge_well(lambda t: 2.0)
    assert judge(EPISODE, Settings(rewards="llm"), model).rewards == (2, 2, 2, 2)
    assert len(server.requests) == 2
    assert "cannot be used" in server.requests[1]["messages"][-1]["content"]
    # The unusable answer was not kept: the same question is asked anew.
    assert judge(EPISODE, Settings(rewards="llm"), model).rewards == (2, 2, 2, 2)
    assert len(server.requests) == 3
    assert judge(EPISODE, Settings(rewards="llm"), model).rewards == (2, 2, 2, 2)
    assert len(server.requests) == 3  # this one was kept
    model.close()


def test_hybrid_lets_the_game_have_the_last_word(server: Server, model):
    server.default = judge_well(lambda t: 3.0)
    settings = Settings(rewards="hybrid")
    judged = judge(EPISODE, settings, model, outcome="lost")
    assert judged.rewards == (3.0, settings.idle_penalty, 5, settings.death_penalty)


def test_long_episodes_are_judged_in_batches_each_step_once(server: Server, model):
    server.default = judge_well(lambda t: t / 10)
    episode = steps(*[(f"push {i}", 0, True) for i in range(3 * Settings().judged_steps + 2)])
    judged = judge(episode, Settings(rewards="llm"), model)
    assert judged.rewards == tuple(t / 10 for t in range(len(episode)))
    assert len(server.requests) == 4


def test_missing_scores_are_asked_for_once_more(server: Server, model):
    def half(handler, body):
        todo = wanted(body)
        rows = [{"step": t, "action": action_of(body, t), "score": 1} for t in todo[: (len(todo) + 1) // 2]]
        fake.reply(json.dumps({"step_analysis": rows}))(handler, body)

    server.script = [half]
    server.default = judge_well(lambda t: 2.0)
    judged = judge(EPISODE, Settings(rewards="llm"), model)
    assert judged.rewards == (1, 1, 2, 2)
    assert judged.scored == (0, 1, 2, 3)
    assert wanted(server.requests[1]) == [2, 3]


def test_an_answer_that_was_cut_off_counts_as_far_as_it_goes_and_the_rest_is_asked_for(server: Server, model):
    def cut(handler, body):
        rows = [{"step": t, "action": action_of(body, t), "score": 10 + t} for t in wanted(body)]
        text = json.dumps({"step_analysis": rows})
        fake.reply(text[: text.index('"score": 12') + len('"score": 1')], finish="length")(handler, body)

    server.script = [cut]
    server.default = judge_well(lambda t: 2.0)
    judged = judge(EPISODE, Settings(rewards="llm"), model)
    assert judged.rewards == (10, 11, 2, 2)  # the third score read "1" where 12 was meant


def test_what_does_not_fit_into_the_context_is_asked_for_in_smaller_pieces(server: Server, model):
    def narrow(handler, body):
        if len(body["messages"][1]["content"]) > 1500:
            return fake.status(400, "maximum context length is 2000 tokens", "context_length_exceeded")(
                handler, body
            )
        return judge_well(lambda t: t / 10)(handler, body)

    server.default = narrow
    episode = steps(*[(f"push {i}", 0, True) for i in range(40)])
    judged = judge(episode, Settings(rewards="llm"), model)
    assert judged.rewards == tuple(t / 10 for t in range(40))
    assert judged.note == ""


def test_what_never_fits_is_judged_by_the_score(server: Server, model):
    server.default = fake.status(400, "maximum context length is 5 tokens", "context_length_exceeded")
    judged = judge(EPISODE, Settings(rewards="llm"), model)
    assert judged.rewards == judge(EPISODE, Settings(), None).rewards
    assert "too long" in judged.note


@pytest.mark.parametrize(
    "row",
    [
        {"step": 0, "action": "go south", "score": 1},
        {"step": 9, "action": "go north", "score": 1},
        {"step": 0, "action": "go north", "score": 1000},
        {"step": 0, "action": "go north", "score": "lots"},
        {"step": 0, "action": "go north"},
    ],
)
def test_scores_that_do_not_fit_never_count(server: Server, model, row):
    server.default = fake.reply(json.dumps({"step_analysis": [row]}))
    judged = judge(EPISODE, Settings(rewards="llm"), model)
    assert judged.rewards == judge(EPISODE, Settings(), None).rewards
    assert "every step by the game's score" in judged.note
    assert len(judged.calls) == 2


@pytest.mark.parametrize(
    ("behaviour", "text"),
    [(fake.status(401), "check OPENAI_API_KEY"), (fake.reply("no"), "no usable score"),
     (fake.reply(None, message={"refusal": "no"}), "refused")],
)  # fmt: skip
def test_a_model_that_fails_costs_no_episode(server: Server, model, behaviour, text):
    server.default = behaviour
    judged = judge(EPISODE, Settings(rewards="llm"), model)
    assert judged.rewards == judge(EPISODE, Settings(), None).rewards
    assert text in judged.note


def test_a_model_that_cannot_write_is_no_judge():
    from engine.llm.priors.wordless import UniformModel

    judged = judge(EPISODE, Settings(rewards="llm"), UniformModel())
    assert judged.rewards == judge(EPISODE, Settings(), None).rewards
    assert "no language model" in judged.note


@pytest.mark.model
def test_the_embedded_model_scores_every_step_asked_for_in_few_words(prefixes, monkeypatch):
    from engine.llm import open_model

    monkeypatch.setattr(evaluator, "REASONING_HERE", 4)
    model = open_model("local/smollm2", settings=Settings(threads=1), cache=prefixes, keep=False)
    episode = steps(('take the "odd" lamp', 0, True), ("go", 5, True))
    judged = judge(episode, Settings(rewards="llm"), model)
    model.close()
    assert judged.scored == (0, 1), judged.note
    assert all(abs(score) <= 20 for score in judged.rewards)
    (call,) = judged.calls
    rows = json.loads(call.reply)["step_analysis"]
    assert [row["action"] for row in rows] == [step.action for step in episode]
    assert all(len(row["detailed_reasoning"]) <= 4 for row in rows)
    assert all(isinstance(row["score"], int) for row in rows)  # decimals may have no end


def test_a_trajectory_above_the_token_budget_is_told_in_parts_the_oldest_left_out_first(server: Server):
    settings = Settings(rewards="llm", prompt_tokens=1200, logits="verbalized")
    model = open_remote("openai/test", settings, None, {"OPENAI_API_BASE": server.base})
    server.default = judge_well(lambda t: t / 10)
    episode = steps(*[(f"push {i}", 0, True) for i in range(60)])
    judged = judge(episode, settings, model)
    model.close()
    assert judged.rewards == tuple(t / 10 for t in range(60))
    lengths = [sum(len(m["content"]) for m in body["messages"]) for body in server.requests]
    assert max(lengths) <= 1200 * 3.6
    last = server.requests[-1]["messages"][1]["content"]
    assert "Step 59:" in last
    assert "Step 0:" not in last


def test_scores_beyond_the_scale_that_is_set_do_not_count(server: Server, model):
    server.default = judge_well(lambda t: 15.0)
    assert judge(EPISODE, Settings(rewards="llm"), model).rewards == (15, 15, 15, 15)
    assert judge(EPISODE, Settings(rewards="llm", reward_scale=10.0), model).scored == ()
