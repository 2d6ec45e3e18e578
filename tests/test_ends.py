"""Episodes of a shipped game that are won, lost, or out of steps, in all that is told and kept of them."""

from __future__ import annotations

import json

import pytest

from engine.agents import Method
from engine.agents.static import StaticAgent
from engine.games.catalogue import find_game, known_solution
from engine.memory import Memory
from engine.records import Candidate, EpisodeEnded, Proposal, Stepped
from jitrl_tui.cli import main
from tests.agents.context import registered

LOSES = ("take knife", "take bell pepper", "slice bell pepper with knife")  # the recipe says to chop it
LOOKS_ON = ("go south", "go north")


class Walker(StaticAgent):
    """Takes given commands, is told what comes of them, and remembers."""

    learns = True

    def __init__(self, commands, settings):
        self.commands, self.events = list(commands), []
        super().__init__(self, settings, name="walker")

    def propose(self, turn, rng, memory_text=""):
        return Proposal((Candidate(self.commands.pop(0), 0.0),))

    def observe(self, step, then, *, observation, terminated, lost):
        self.events.append((terminated, lost))


@pytest.fixture
def walk(monkeypatch, tmp_path, capsys):
    """Play one episode of Feast with given commands; return the agent, the result and the replay."""

    def play(commands, steps):
        made = []

        def make(context):
            made.append(Walker(commands, context.settings))
            return made[-1]

        method = Method("walker", "walks", make, learns=True, asks_model=False)
        registered(monkeypatch, method)
        arguments = ["--saves", str(tmp_path), "run", "feast", "--agent", "walker", "--model", "prior/uniform"]
        assert main([*arguments, "--episodes", "1", "--steps", str(steps), "--json", "-"]) == 0
        printed = capsys.readouterr()
        result = json.loads(printed.out)
        assert main(["--saves", str(tmp_path), "replay", str(next((tmp_path / "sessions").iterdir()))]) == 0
        return made[0], result["episodes"][0], capsys.readouterr().out

    return play


def solution():
    return known_solution(find_game("feast"))[1]


@pytest.mark.parametrize(
    ("commands", "steps", "ends", "said", "last"),
    [
        (solution(), 60, (True, False, "won"), "won", 1.0),
        (LOSES, 60, (True, False, "lost"), "lost", -10.0),
        (LOSES, 3, (True, False, "lost"), "lost", -10.0),  # lost with the last step there was
        (LOOKS_ON, 2, (False, True, ""), "out of steps", 0.0),
    ],
)
def test_how_an_episode_ended_is_told_alike_everywhere(walk, tmp_path, commands, steps, ends, said, last):
    from engine.session import recording

    agent, result, replayed = walk(commands, steps)
    assert (result["terminated"], result["truncated"], result["outcome"]) == ends
    assert not result.keys() & {"done", "won", "died"}
    assert result["steps"] == len(commands)
    events = [event for _, event in recording.read(next((tmp_path / "sessions").iterdir()))]
    (ended,) = [event for event in events if isinstance(event, EpisodeEnded)]
    assert (ended.terminated, ended.truncated, ended.outcome) == ends
    assert ended.rewards[-1] == last  # a loss costs ten points, and only that
    seen = [event.observation for event in events if isinstance(event, Stepped)]
    assert not any(one.over or one.outcome for one in seen[:-1])
    # The environment knows of no step limit.
    assert (seen[-1].terminated, seen[-1].truncated, seen[-1].outcome) == (ends[0], False, ends[2])
    assert agent.events == [(False, False)] * (len(commands) - 1) + [(ends[0], ends[2] == "lost")]
    with Memory(tmp_path / "memory") as memory:
        ((episode,),) = [list(memory.scope(name).episodes()) for name in memory.scopes()]
    assert (episode.terminated, episode.truncated, episode.outcome) == ends
    assert f"after {len(commands)} steps ({said})" in replayed
