"""An agent of a package of its own, built and unpacked as an installer does, that writes and keeps reflections."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.records import Decided, EpisodeEnded, ModelCalled
from engine.session import recording
from tests import packages
from tests.commands import run
from tests.llm.scripted import Scripted, text_of
from tests.llm.server import Server

FIRST, SECOND, THIRD = "Take the key before the door.", "The icebox holds food.", "Eat at last."
PRICE = 120  # tokens that the server counts for each call
STEPS = 5


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the package's wheel, without a network, and unpack it into an empty folder."""
    return packages.installed(Path(__file__).parent / "reflecting", tmp_path_factory.mktemp("package"))


@pytest.fixture
def server() -> Iterator[Server]:
    reflections = [{"if": "Reflect on this", "times": 1, "reply": said} for said in (FIRST, SECOND, THIRD)]
    running = Server()
    running.default = Scripted(reflections)
    with running.running():
        yield running


CODE = """
import json, sys
place, *commands = json.loads(sys.argv[1])
sys.path.append(place)
from jitrl_tui.cli import main
for command in commands:
    assert main(command) == 0, command
    print(flush=True, end=sys.argv[2])
"""
END = "\n-- end of a command --\n"


def jitrl(place: Path, server: Server, *commands: list[object]) -> list[str]:
    """Run commands in a process that has the package; return what each wrote to stdout."""
    words = [str(place), *([str(word) for word in command] for command in commands)]
    done = run(
        [sys.executable, "-c", CODE, json.dumps(words), END], capture_output=True, text=True, timeout=120,
        env={**os.environ, "OPENAI_API_BASE": server.base, "OPENAI_API_KEY": "none"},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.split(END)[:-1]


def playing(saves: Path, episodes: int) -> list[object]:
    return ["--saves", saves, "run", "pantry", "--agent", "reflecting", "--model", "openai/player", "--episodes",
            episodes, "--steps", STEPS, "--set", "logits=verbalized", "--quiet", "--json", "-"]  # fmt: skip


def prompts(server: Server, since: int = 0) -> list[str]:
    """Return the action prompts that were sent, as text."""
    texts = ["\n".join(map(text_of, body["messages"])) for body in server.requests[since:]]
    return [text for text in texts if "REFERENCE ACTIONS" in text]


def test_a_package_writes_keeps_and_rests_on_reflections_and_replays_without_it(installed, server, tmp_path):
    memory = ["--saves", tmp_path, "memory"]
    outputs = jitrl(
        installed, server, playing(tmp_path, 2), [*memory, "show", "pantry", "--kept", "--json"],
        [*memory, "ls", "--json"],
    )  # fmt: skip
    result, shown, (listed,) = map(json.loads, outputs)
    (first,) = (tmp_path / "sessions").iterdir()
    events = [event for _, event in recording.read(first)]
    ended = [event for event in events if isinstance(event, EpisodeEnded)]
    asked = len(server.requests)

    # The account has every call that the server got, in the episode that it was made in, and no other.
    assert [one["tokens"] for one in result["episodes"]] == [event.tokens for event in ended]
    assert sum(event.tokens for event in ended) == PRICE * asked
    told = [event for event in events if isinstance(event, ModelCalled)]
    assert [(event.episode, event.step, event.call.purpose) for event in told] == [
        (1, STEPS, "reflection"), (2, STEPS, "reflection")]  # fmt: skip
    for event in ended:
        decided = [d.decision for d in events if isinstance(d, Decided) and d.episode == event.episode]
        calls = sum(len(decision.calls) for decision in decided)
        assert event.tally.calls == calls + 1
        assert event.tokens == PRICE * (calls + 1 - event.tally.cached)
    assert [one["answers"]["calls"] for one in result["episodes"]] == [event.tally.calls for event in ended]

    # What is kept says where it comes from.
    assert [(one["text"], one["episode"], one["data"]) for one in shown] == [
        (FIRST, 1, {"score": ended[0].score}), (SECOND, 2, {"score": ended[1].score})]  # fmt: skip
    begun = [event.uid for event in events if type(event).__name__ == "EpisodeStarted"]
    for one, uid in zip(shown, begun, strict=True):
        assert (one["kind"], one["agent"], one["model"]) == ("reflection", "reflecting", "openai/player")
        assert (one["session"], one["episode_uid"], one["provenance"]) == (first.name, uid, "agent")
    assert (listed["episodes"], listed["entries"], listed["kept"]) == (0, 0, 2)

    # The second episode rests on the first one's reflection, and its prompts show it.
    rests = {d.episode: d.decision.bases for d in events if isinstance(d, Decided)}
    assert rests[1] == ()
    (basis,) = rests[2]
    assert [(item.text, item.origin, item.uid) for item in basis.items] == [(FIRST, "episode 1", shown[0]["uid"])]
    assert [FIRST in text for text in prompts(server)].count(True) > 0
    assert not any(SECOND in text for text in prompts(server))

    # A new process reads both of them back, and replays in plain lines without knowing the method.
    replay = ["--saves", tmp_path, "replay", first]
    _, replayed = jitrl(installed, server, playing(tmp_path, 1), replay)
    (second,) = set((tmp_path / "sessions").iterdir()) - {first}
    decided = [event.decision for _, event in recording.read(second) if isinstance(event, Decided)]
    assert [item.text for item in decided[0].bases[0].items] == [FIRST, SECOND]
    assert all(FIRST in text and SECOND in text for text in prompts(server, since=asked))

    lines = replayed.splitlines()
    assert lines.count("Rests on: Reflections (episode 1).") == sum(
        isinstance(event, Decided) and event.episode == 2 for event in events
    )

    # So does a replay where the package is missing.
    nowhere = tmp_path / "empty"
    nowhere.mkdir()
    assert jitrl(nowhere, server, replay)[0].splitlines() == lines
