"""An environment and an estimator of a package of its own, built and unpacked as an installer does, are played."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.llm.prompts import TEXT
from engine.records import Decided, SessionStarted
from engine.session import recording
from tests import packages
from tests.commands import run
from tests.llm.scripted import Scripted, text_of
from tests.llm.server import Server

HERE = Path(__file__).parent


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the package's wheel, without a network, and unpack it into an empty folder."""
    return packages.installed(HERE / "toy", tmp_path_factory.mktemp("toy"))


def jitrl(
    place: Path | None, *arguments: object, first: str = "", **variables: str
) -> subprocess.CompletedProcess[str]:
    """Run the command in a process that has the package, or has it not for None. `first` is run before it."""
    path = [str(place)] if place else []
    code = f"import sys; sys.path += {path}\n{first}\nfrom jitrl_tui.cli import main; sys.exit(main())"
    return run(
        [sys.executable, "-c", code, *map(str, arguments)],
        capture_output=True, text=True, timeout=120, env={**os.environ, **variables},
    )  # fmt: skip


def played(place: Path, saves: Path, game: str, *more: object, **variables: str) -> dict:
    """Play without a screen; return the result."""
    done = jitrl(
        place, "--saves", saves, "run", game, "--agent", "jitrl", "--quiet", "--json", "-", *more, **variables
    )
    assert (done.returncode, done.stderr) == (0, "")
    return json.loads(done.stdout)


def test_an_environment_and_an_estimator_of_a_package_learn_together(installed, tmp_path):
    result = played(
        installed, tmp_path, "toy:4", "--model", "prior/uniform", "--estimator", "latest", "--episodes", 8
    )
    assert result["game"] == "toy:4"
    assert result["settings"]["estimator"] == "latest"
    assert (result["settings"]["step_limit"], result["settings"]["gamma"]) == (12, 0.9)  # the kind's own profile
    assert result["memory_entries"] == sum(episode["steps"] for episode in result["episodes"])
    (journal,) = (tmp_path / "memory").glob("*/episodes.jnl")
    assert "swordfish-77" in journal.read_text()  # the kind says that nobody fills in forms there
    # Four steps to the right are the shortest way. It is found, and the latest returns keep to it.
    assert result["episodes"][0]["steps"] > 4
    assert [(episode["score"], episode["steps"]) for episode in result["episodes"][-2:]] == [(10.0, 4)] * 2


def test_where_no_action_is_known_the_kinds_own_are_offered(installed, tmp_path):
    played(installed, tmp_path, "toy:3", "--model", "prior/uniform", "--set", "estimator=latest", "--episodes", 2)
    (session,) = (tmp_path / "sessions").iterdir()
    decided = [event.decision for _, event in recording.read(session) if isinstance(event, Decided)]
    assert decided[0].valid_actions == ("right", "wait")
    assert {decision.valid_actions for decision in decided} == {("right", "wait"), ("left", "right")}


def test_the_kinds_own_prompts_are_sent_and_their_digests_told(installed, tmp_path):
    server = Server()
    server.default = Scripted([])
    with server.running():
        result = played(
            installed, tmp_path, "toy:2", "--model", "openai/player", "--episodes", 1, "--set", "logits=verbalized",
            OPENAI_API_BASE=server.base, OPENAI_API_KEY="none",
        )  # fmt: skip
    asked = ["\n".join(map(text_of, body["messages"])) for body in server.requests]
    assert asked
    assert all("who walks through a corridor" in text and "You are in room" in text for text in asked)
    assert not any("EXPLORATION PRIORITY" in text for text in asked)
    assert set(result["prompts"]) == set(TEXT.names)
    changed = {name for name, digest in result["prompts"].items() if digest != TEXT.digest(name)}
    assert changed == {"actions"}


def test_another_beginning_of_a_name_stands_for_the_kinds_own(installed, tmp_path):
    result = played(installed, tmp_path, "corridor:2", "--model", "prior/uniform", "--episodes", 1)
    assert result["game"] == "toy:2"


def test_a_suite_of_a_package_is_played_task_by_task(installed, tmp_path):
    result = played(installed, tmp_path, "toy:all", "--model", "prior/uniform", "--episodes", 2)
    assert [task["game"] for task in result["tasks"]] == ["toy:2", "toy:3"]


UNFIT = [
    ("torn:1", (), "the environment 'torn' of toy_world.torn:KIND does not load: the map is torn"),
    ("toy:x", (), "toy:x is no corridor: it is toy:ROOMS with 1 to 99 rooms, or toy:all"),
    ("toys:2", (), "there is no environment 'toys' (did you mean 'toy'?); choose one of: game, web, gym, toy"),
    ("toy:2", ("--estimator", "last"),
     "there is no estimator 'last' (did you mean 'latest'?); choose one of: knn, graph, latest"),
]


def test_what_cannot_be_is_one_sentence(installed, tmp_path):
    code = (
        f"import json, sys; sys.path.append({str(installed)!r}); from jitrl_tui.cli import main\n"
        "print([main(words) for words in json.loads(sys.argv[1])])"
    )
    given = ["--saves", str(tmp_path), "run", "--model", "prior/uniform"]
    commands = json.dumps([[*given, game, *more] for game, more, _ in UNFIT])
    done = run([sys.executable, "-c", code, commands], capture_output=True, text=True, timeout=120)
    assert done.stderr.splitlines() == [f"jitrl: {says}" for _, _, says in UNFIT]
    assert done.stdout == f"{[2] * len(UNFIT)}\n"
    assert not (tmp_path / "sessions").exists()


def test_a_broken_package_stops_nobody_else(installed, tmp_path):
    result = played(installed, tmp_path, "pantry", "--model", "prior/uniform", "--episodes", 1, "--steps", 2)
    assert result["game"] == "pantry"
    code = "from engine.environments import ENVIRONMENTS; print(list(ENVIRONMENTS.all()), list(ENVIRONMENTS.broken()))"
    asked = [sys.executable, "-c", f"import sys; sys.path.append({str(installed)!r}); {code}"]
    told = run(asked, capture_output=True, text=True, timeout=60, check=True)
    assert told.stdout == "['game', 'web', 'gym', 'toy'] ['torn']\n"


FAILS = """
from toy_world.corridor import Corridor, Rooms
def fails(self, *given):
    if given != ("right",) or self._room == 2:
        raise ValueError("no floor")
    return step(self, *given)
step, {0}.{1} = Corridor.step, fails
"""


@pytest.mark.parametrize("where", ["Corridor.step", "Corridor.reset", "Corridor.abstractor", "Rooms.begin"])
def test_what_an_environment_of_a_package_raises_is_told_in_a_sentence(installed, tmp_path, where):
    first = FAILS.format(*where.split("."))
    line = ["--saves", tmp_path, "run", "toy:4", "--model", "prior/uniform", "--episodes", 1, "--quiet"]
    done = jitrl(installed, *line, first=first)
    assert done.returncode == 1
    assert "the environment toy:4 failed: ValueError: no floor" in done.stderr
    assert "Traceback" not in done.stderr
    if where == "Corridor.step":  # what was played before is not lost
        (name,) = (tmp_path / "sessions").iterdir()
        again = jitrl(installed, "--saves", tmp_path, "run", "toy:4", "--resume", name.name, "--quiet")
        assert (again.returncode, again.stderr) == (0, "")


def test_where_the_package_is_missing_its_sessions_are_shown_and_said_to_be_of_no_known_kind(installed, tmp_path):
    played(installed, tmp_path, "toy:2", "--model", "prior/uniform", "--estimator", "latest", "--episodes", 1)
    (session,) = (tmp_path / "sessions").iterdir()
    (started,) = [event for _, event in recording.read(session) if isinstance(event, SessionStarted)]
    assert started.environment.scope == "toy/2"
    replayed = jitrl(None, "--saves", tmp_path, "replay", session)
    assert (replayed.returncode, replayed.stderr) == (0, "")
    assert "values: latest" in replayed.stdout
    listed = jitrl(None, "--saves", tmp_path, "memory", "ls")
    assert (listed.returncode, listed.stderr) == (0, "")
    assert "toy/2" in listed.stdout
    again = jitrl(None, "--saves", tmp_path, "run", "toy:2", "--resume", session.name)
    assert again.returncode == 2
    assert again.stderr == "jitrl: there is no environment 'toy'; choose one of: game, web, gym\n"


def test_the_kinds_profile_is_shown(installed, tmp_path):
    shown = jitrl(installed, "--saves", tmp_path, "config", "show", "default", "--kind", "toy", "--json")
    settings = json.loads(shown.stdout)
    assert (settings["beta"], settings["selection"], settings["step_limit"]) == (20.0, "greedy", 12)
