"""What all methods have in common: they begin as `static` does, teach once, count each call, and stay bounded."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from engine import texts
from engine.agents import AGENTS
from engine.agents.base import Turn
from engine.memory import Memory
from engine.memory.kept import KeptRecords
from engine.records import (
    Episode,
    EpisodeEnded,
    ModelCalled,
    Notice,
    Observation,
    State,
    Step,
    Stepped,
    TakenBack,
)
from engine.session import store as sessions
from engine.settings import Settings
from jitrl_tui.cli import main
from tests.agents.context import context
from tests.agents.methods import GAIN, PRICE, Lesson, Played, asked, play, prompts, records, serve
from tests.llm.scripted import Scripted
from tests.llm.server import Server
from tests.playing import taking_back

LESSONS = {
    "memory": Lesson("transcript", "Transcripts", shows=("Transcript of episode 1:", "Transcript of episode 2:")),
    "reflexion": Lesson(
        "reflection", "Reflections", "Write the reflection",
        tuple({"diagnosis": f"Dawdled {n}.", "plan": f"Take key {n}."} for n in (1, 2, 3)),
        ("Next time: Take key 1.", "Next time: Take key 2."),
    ),
}  # fmt: skip
LESSONS["awm"] = Lesson(
    "workflow", "Workflows", "Extract at most 3 workflows",
    tuple({"workflows": [{"goal": f"Open the door number {n}", "steps": ["go to the door", f"open it {n} times"]}]}
          for n in (1, 2, 3)),
    ("Goal: Open the door number 1\n1. go to the door\n2. open it 1 times", "Goal: Open the door number 2"),
)  # fmt: skip
LESSONS["reasoningbank"] = Lesson(
    "strategies", "Strategies", "Write at most 3 strategies",
    tuple({"strategies": [{"title": f"Look first {n}", "description": "In new rooms.", "content": f"See it all {n}."}]}
          for n in (1, 2, 3)),
    ("Look first 1\nIn new rooms.\nSee it all 1.", "Look first 2\nIn new rooms.\nSee it all 2."),
)  # fmt: skip
LESSONS["memrl"] = Lesson(
    "experience", "Experiences", "It counts as a",
    tuple({"lesson": f"Lesson number {n}."} for n in (1, 2, 3)), (": Lesson number 1.", ": Lesson number 2."),
)  # fmt: skip
LESSONS["evotest"] = Lesson(
    "configuration", "Guide", "Write the new configuration",
    tuple({"guide": f"Guide number {n}.", "routines": [{"when": "you", "do": f"Hint {n}."}], "temperature": 1,
           "examples": 0} for n in (1, 2, 3)),
    ("- Guide number 1.\n\nFOR THIS SITUATION:\n- Hint 1.", "- Guide number 2.\n\nFOR THIS SITUATION:\n- Hint 2."),
)  # fmt: skip
WRITING = [name for name, lesson in LESSONS.items() if lesson.asks]


@pytest.fixture
def server(monkeypatch) -> Iterator[Server]:
    yield from serve(monkeypatch)


@dataclass
class Taught:
    """A session of three episodes, each of which taught something, and what was asked meanwhile."""

    played: Played
    saves: Path
    server: Server
    ends: list[int]


@pytest.fixture(scope="module")
def taught(tmp_path_factory) -> Callable[[str], Taught]:
    """The session of an agent, which is played once for all tests."""
    found: dict[str, Taught] = {}

    def of(agent: str) -> Taught:
        if agent not in found:
            saves, ends = tmp_path_factory.mktemp("taught"), []
            with pytest.MonkeyPatch.context() as patch:
                serving = serve(patch)
                server = next(serving)
                server.default = Scripted(LESSONS[agent].rules())
                played = play(
                    saves, agent, episodes=3, steps=3, learning_temperature=0.3,
                    on_event=lambda _, event: isinstance(event, EpisodeEnded) and ends.append(len(server.requests)),
                )  # fmt: skip
                serving.close()
            assert played.session.error is None
            found[agent] = Taught(played, saves, server, ends)
        return found[agent]

    return of


@pytest.fixture(scope="module")
def static(tmp_path_factory):
    """The decisions of the agent that learns nothing."""
    with pytest.MonkeyPatch.context() as patch:
        serving = serve(patch)
        server = next(serving)
        server.default = Scripted([GAIN])
        played = play(tmp_path_factory.mktemp("static"), "static", episodes=1, steps=3)
        serving.close()
    assert played.session.error is None
    return decided(played)


def decided(played: Played) -> list[tuple]:
    return [(d.candidates, d.prior, d.posterior, d.chosen, d.action, d.note, d.parts) for d in played.decisions(1)]


@pytest.mark.parametrize("agent", [*LESSONS, "jitrl-prompt"])
def test_the_first_episode_is_that_of_static(request, server, tmp_path, static, agent):
    server.default = Scripted([GAIN])
    learns = agent in LESSONS
    played = request.getfixturevalue("taught")(agent).played if learns else play(tmp_path, agent, episodes=1, steps=3)
    assert played.session.error is None
    assert len(static) == 3
    assert decided(played) == static


@pytest.mark.parametrize("agent", LESSONS)
def test_what_was_learnt_is_in_the_next_prompts_and_in_the_basis(taught, agent):
    lesson, done = LESSONS[agent], taught(agent)
    played, server = done.played, done.server
    kept = records(done.saves, lesson.kind)
    assert [record.episode for record in kept] == [1, 2, 3]
    for episode, since in ((2, done.ends[0]), (3, done.ends[1])):
        for text in prompts(server, since)[:3]:
            assert lesson.shows[episode - 2] in text
            # What the model wrote is advice; only what the environment printed is said to be no instruction.
            advice = re.sub(r"-+ BEGIN (GAME TEXT|EPISODES).*?-+ END \1 -+", "", text, flags=re.DOTALL)
            assert (lesson.shows[episode - 2] in advice) == (agent in WRITING)
        for decision in played.decisions(episode):
            (basis,) = decision.bases
            assert (basis.kind, basis.title) == (lesson.kind, lesson.title)
            assert {item.uid for item in basis.items} <= {record.uid for record in kept[: episode - 1]}
            assert f"episode {episode - 1}" in [item.origin.partition(",")[0] for item in basis.items]
    assert not any(lesson.shows[1] in text for text in prompts(server)[:3])


@pytest.mark.parametrize("agent", LESSONS)
def test_every_call_is_counted_in_the_episode_that_it_was_made_for(taught, agent):
    lesson, played, server = LESSONS[agent], taught(agent).played, taught(agent).server
    for ended in played.only(EpisodeEnded):
        written = [event for event in played.only(ModelCalled) if event.episode == ended.episode]
        assert len(written) == (1 if lesson.asks else 0)
        calls = sum(len(d.calls) for d in played.decisions(ended.episode)) + len(written)
        assert ended.tally.calls == calls
        assert ended.tokens == PRICE * (calls - ended.tally.cached)
    tests = sum("expert at analyzing game" in str(body) for body in server.requests)
    assert tests == (1 if lesson.asks else 0)
    assert sum(e.tokens for e in played.only(EpisodeEnded)) == PRICE * (len(server.requests) - tests)


@pytest.mark.parametrize("agent", WRITING)
def test_an_answer_that_cannot_be_used_keeps_the_old_state_and_is_told(server, tmp_path, agent):
    lesson = LESSONS[agent]
    useless = ("I would rather not.", "{}", '{"plan": 3, "guide": [], "workflows": 7}')
    answers = [{"if": lesson.asks, "times": 1, "reply": reply} for reply in useless]
    server.default = Scripted([lesson.rules()[0], *answers, GAIN])
    played = play(tmp_path, agent, episodes=4, steps=1)
    assert played.session.error is None
    told = [n.message for n in played.only(Notice) if n.level == "warning"]
    assert len(told) == 3
    assert all(text.startswith("the agent could not learn from this episode: the ") for text in told)
    assert all("cannot be used, and what was kept before stays" in text for text in told)
    assert [record.episode for record in records(tmp_path, lesson.kind)] == [1]
    assert lesson.shows[0] in prompts(server)[-1]
    # It was paid for all the same.
    assert [e.tally.calls for e in played.only(EpisodeEnded)] == [2, 2, 2, 2]


@pytest.mark.parametrize("agent", LESSONS)
def test_an_episode_that_ends_twice_teaches_once(server, tmp_path, monkeypatch, agent):
    lesson = LESSONS[agent]
    server.default = Scripted(lesson.rules())
    add = KeptRecords.add

    def crashing(self, record):
        add(self, record)
        raise RuntimeError("the power is gone")

    monkeypatch.setattr(KeptRecords, "add", crashing)
    with pytest.raises(RuntimeError, match="the power is gone"):
        play(tmp_path, agent, episodes=1, steps=1)
    monkeypatch.setattr(KeptRecords, "add", add)
    (before,) = records(tmp_path, lesson.kind)
    calls = len(asked(server, lesson.asks)) if lesson.asks else 0
    (folder,) = (tmp_path / "sessions").iterdir()
    played = play(tmp_path, agent, saved=sessions.load(folder))
    assert played.session.error is None
    assert len(played.only(EpisodeEnded)) == 1
    assert records(tmp_path, lesson.kind) == [before]
    assert (len(asked(server, lesson.asks)) if lesson.asks else 0) == calls


@pytest.mark.parametrize("agent", LESSONS)
def test_texts_without_end_are_kept_and_shown_within_bounds(server, tmp_path, agent):
    lesson = LESSONS[agent]
    long = _longer(lesson.replies[0]) if lesson.replies else {}
    server.default = Scripted([{"if": lesson.asks or "no such text", "reply": json.dumps(long)}, GAIN])
    bounds = {"memory_tokens": 300, "prompt_tokens": 2300, "present_tokens": 2000, "lesson_tokens": 40,
              "learning_tokens": 2000}  # fmt: skip
    played = play(tmp_path, agent, episodes=2, steps=2, **bounds)
    assert played.session.error is None
    for record in records(tmp_path, lesson.kind):
        if lesson.asks:
            assert texts.tokens(record.text) < 12 * 40
            # Besides texts of the model there are tokens of states, and in one method the transcript.
            assert texts.tokens(str(record.data)) < 20 * 40 + 1500 + bounds["learning_tokens"]
    sent, usual = prompts(server), prompts(server)[:2]
    most = max(map(texts.tokens, usual)) + 300 + 800  # the history and recent steps grow a little, too
    assert all(texts.tokens(text) < most for text in sent)
    assert all(texts.tokens(text) < 2600 for text in (asked(server, lesson.asks) if lesson.asks else []))


def _longer(value):
    """Return JSON values with long texts and many items."""
    if isinstance(value, dict):
        return {key: _longer(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_longer(one) for one in value] * 20
    return value + " and so on" * 500 if isinstance(value, str) else value


@pytest.mark.parametrize("agent", LESSONS)
def test_what_was_learnt_can_be_exported_imported_and_forgotten(server, tmp_path, capsys, agent):
    lesson, saves, other = LESSONS[agent], tmp_path / "saves", tmp_path / "other"
    server.default = Scripted(lesson.rules())
    play(saves, agent, episodes=1, steps=1)
    (record,) = records(saves, lesson.kind)
    file = tmp_path / "export.jsonl"
    assert main(["--saves", str(saves), "memory", "export", str(file)]) == 0
    assert main(["--saves", str(other), "memory", "import", str(file), "--as", "friend"]) == 0
    (taken,) = records(other, lesson.kind)
    assert (taken.text, taken.data, taken.provenance) == (record.text, record.data, "imported:friend")

    server.default = Scripted([])
    played = play(other, agent, episodes=1, steps=1)
    (basis,) = played.decisions(1)[0].bases
    assert {item.origin.partition(",")[0] for item in basis.items} == {"imported:friend"}
    assert lesson.shows[0].replace("episode 1", "imported:friend") in prompts(server)[-1]

    assert main(["--saves", str(saves), "memory", "forget", "pantry", "--kept", "all"]) == 0
    capsys.readouterr()
    played = play(saves, agent, episodes=1, steps=1)
    assert all(d.bases == () for d in played.decisions(1))


@pytest.mark.parametrize("agent", WRITING)
def test_a_model_that_cannot_write_is_refused_in_a_sentence(tmp_path, capsys, agent):
    command = ["--saves", str(tmp_path), "run", "pantry", "--agent", agent, "--model", "prior/verbs", "--quiet"]
    assert main([*command, "--episodes", "1"]) == 2
    assert f"{agent} learns by what its model writes: prior/verbs writes nothing" in capsys.readouterr().err


def test_the_methods_that_write_bring_prompts_of_their_own():
    for name in LESSONS:
        method = AGENTS.find(name)
        assert (method.writes, bool(method.prompts)) == (name in WRITING, name in WRITING)
        for folder in method.prompts:
            assert folder.names
            assert all(len(folder.digest(one)) == 12 for one in folder.names)


def test_a_transcript_tells_the_steps_that_were_not_taken_back(server, tmp_path):
    played = play(tmp_path, "memory", episodes=1, on_event=taking_back(2))
    assert len(played.only(TakenBack)) == 1
    steps = played.only(Stepped)
    left = [*steps[:1], *steps[2:]]
    (record,) = records(tmp_path)
    assert [line[2:] for line in record.text.splitlines() if line.startswith("> ")] == [s.action for s in left]
    for step in left:
        assert step.observation.text.splitlines()[0] in record.text


def test_a_session_that_is_resumed_keeps_the_whole_transcript(server, tmp_path):
    def stop(session, event):
        if isinstance(event, Stepped) and event.step == 2:
            session.control.stop()

    first = play(tmp_path, "memory", episodes=1, on_event=stop)
    second = play(tmp_path, "memory", saved=sessions.load(first.saved.folder))
    (record,) = records(tmp_path)
    steps = [e for e in second.events if isinstance(e, Stepped)]
    assert [line[2:] for line in record.text.splitlines() if line.startswith("> ")] == [s.action for s in steps]


def test_the_oldest_transcript_leaves_the_prompt_first(server, tmp_path):
    play(tmp_path, "memory", episodes=3, steps=4)
    kept = records(tmp_path)
    room = sum(texts.tokens(one.text) + 20 for one in kept[1:])
    played = play(tmp_path, "memory", episodes=1, steps=1, prompt_tokens=4000 + room, present_tokens=4000)
    (basis,) = played.decisions(1)[0].bases
    assert [item.uid for item in basis.items] == [one.uid for one in kept[1:]]
    tiny = play(tmp_path, "memory", episodes=1, steps=1, prompt_tokens=4060, present_tokens=4000)
    (item,) = tiny.decisions(1)[0].bases[0].items
    assert item.text.startswith("(earlier steps left out)")
    assert "End: score" in item.text


def test_transcripts_are_whole_and_fill_what_the_present_leaves_of_the_prompt(server, tmp_path):
    played = play(tmp_path, "memory", episodes=4, steps=4, told_characters=20, prompt_tokens=100_000)
    shown = played.decisions(4)[-1].bases[0].items
    assert [item.origin.partition(",")[0] for item in shown] == [f"episode {n}" for n in range(1, 4)]
    answers = [step.observation.text for step in played.only(Stepped) if step.episode == 1]
    assert max(map(len, answers)) > 80
    assert all(texts.compact(answer) in shown[0].text for answer in answers)
    assert all(texts.compact(answer) in prompts(server)[-1] for answer in answers)


@pytest.mark.parametrize("agent", WRITING)
def test_what_is_learnt_is_written_with_the_temperature_of_learning(taught, agent):
    lesson, server = LESSONS[agent], taught(agent).server
    sent = [body["temperature"] for body in server.requests if lesson.asks in str(body)]
    assert sent == [0.3] * 3
    (tested,) = [body for body in server.requests if "expert at analyzing game" in str(body)]
    assert tested["temperature"] == 0.0


def test_no_reflection_is_written_after_a_win():
    state = State("[hall]", ("hall",))
    for outcome, written in (("won", 0), ("lost", 1), ("", 1)):
        given = context(None, None, Settings(), '{"diagnosis": "Slow.", "plan": "Run."}')
        made = AGENTS.find("reflexion").make(given)
        made.begin_episode(state)
        made.end_episode(Episode("u", "game/x", (Step(state, "wait", 0.0),), state, outcome=outcome), -1)
        assert [one.text for one in given.kept.records()] == ["What went wrong: Slow.\nNext time: Run."] * written


def test_reflections_are_a_window(server, tmp_path):
    replies = [{"diagnosis": "", "plan": f"Plan {n}."} for n in range(1, 6)]
    rules = [{"if": "Write the reflection", "times": 1, "reply": json.dumps(reply)} for reply in replies]
    server.default = Scripted(rules)
    played = play(tmp_path, "reflexion", episodes=5, steps=2, reflections=2)
    (basis,) = played.decisions(5)[0].bases
    assert [item.text for item in basis.items] == ["Next time: Plan 3.", "Next time: Plan 4."]
    last = asked(server, "Write the reflection")[-1]
    assert ("Plan 3." in last, "Plan 4." in last, "Plan 2." in last) == (True, True, False)
    assert "> " in last


def test_prompt_update_tells_what_can_be_done_here_the_best_first(tmp_path):
    state = State("[hall]", ("hall",))
    taken = [("wait", 1.0), ("open door", 5.0), ("wait", 2.0), ("fly", 9.0), ("go north", -1.0)]
    steps = tuple(Step(state, action, reward, valid_actions=("wait",)) for action, reward in taken)
    with Memory(tmp_path) as memory:
        scope = memory.scope("game/x")
        scope.append(Episode("u", "game/x", steps, state))
        made = AGENTS.find("jitrl-prompt").make(context(None, scope, Settings(gamma=0.0)))
        made.begin_episode(state)
        turn = Turn(0, 9, Observation("x"), state, ("go north", "open door", "wait"))
        recalled = made.recall(turn)
    told = ["open door: mean +5.00, n 1", "wait: mean +1.50, n 2", "go north: mean -1.00, n 1"]
    assert recalled.record.splitlines() == told
    assert [(item.text, item.origin) for item in recalled.parts[0].items] == [(one, "episode 1") for one in told]


def test_prompt_update_shows_the_neighbourhood_of_jitrl_and_leaves_the_logits(server, tmp_path):
    play(tmp_path, "jitrl", episodes=2, steps=5, estimator="knn")
    shutil.copytree(tmp_path / "memory", tmp_path / "copy" / "memory")
    before = len(server.requests)
    played = play(tmp_path, "jitrl-prompt", episodes=1, steps=3)
    decision = played.decisions(1)[0]
    (sent, *_) = prompts(server, before)
    (basis,) = decision.bases
    assert (basis.title, decision.update, decision.prior) == ("Retrieved actions", None, decision.posterior)
    assert played.only(EpisodeEnded)[0].entries_added == 3

    compared = play(tmp_path / "copy", "jitrl", episodes=1, steps=1, estimator="knn")
    returns = {}
    for neighbour in compared.decisions(1)[0].update.neighbours:
        returns.setdefault(neighbour.action, []).append(neighbour.g)
    expected = {action: sum(found) / len(found) for action, found in returns.items()}
    assert expected == {item.text.partition(":")[0]: item.weight for item in basis.items}
    weights = [item.weight for item in basis.items]
    assert weights == sorted(weights, reverse=True)
    for item in basis.items:
        action = item.text.partition(":")[0]
        assert item.text == f"{action}: mean {expected[action]:+.2f}, n {len(returns[action])}"
        assert item.text in sent
