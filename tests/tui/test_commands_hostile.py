"""Every command with hostile arguments on hostile files: no raw control character, no traceback, JSON that is JSON."""

from __future__ import annotations

import argparse
import dataclasses
import functools
import json
import random
from collections.abc import Iterator
from pathlib import Path

import pytest

import engine.games
from engine.codec import event_to_line
from engine.llm.reading.capability import FILE, Capability
from engine.memory import Memory
from engine.records import Kept
from engine.session import store as sessions
from engine.settings import SessionConfig
from jitrl_tui import cli
from jitrl_tui.cli import main, make_parser
from tests.llm import server as fake
from tests.memory.lives import make_episode
from tests.tui import hostile
from tests.tui.hostile import HOSTILE, Nasty, dangers

FILED = HOSTILE.replace("\udcff", "")
"""As it can be stored in UTF-8."""
NAMED = HOSTILE.replace("\x00", "").replace("/", "")
"""As a file can be called."""
STORY = NAMED.replace("\udcff", "")
"""As a story that is played can be called."""
TYPED = HOSTILE.replace("\x00", "")
"""As it can be typed."""
SCOPE = "game/only"
PARSER = functools.cache(make_parser)


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Saves and a folder of games in which everything has a hostile name and hostile content."""
    saves, games = tmp_path_factory.mktemp("saves"), tmp_path_factory.mktemp("games")
    rng, nasty = random.Random(1), Nasty(FILED)
    with Memory(saves / "memory") as memory:
        scope = memory.scope(SCOPE)
        for number in range(2):
            episode = nasty(make_episode(rng, "uid", steps=3))
            taken = tuple(dataclasses.replace(step, provenance=f"imported:{FILED}") for step in episode.steps)
            scope.append(dataclasses.replace(episode, uid=f"uid{number}", steps=taken, outcome="won"))
        kept = nasty(Kept("kind", "a lesson", data={"a": ["b"]}, agent="agent", model="model", session="s"))
        scope.records.add(dataclasses.replace(kept, kind="reflection", uid="", provenance="agent"))
    config = SessionConfig(game="pantry", model=f"openai/{FILED}", profile="default")
    saved = sessions.create(saves, config, "run")
    lines = [event_to_line(nasty(event), 1.0) for event in hostile.events()]
    saved.recording.write_text("\n".join(json.dumps(json.loads(line)) for line in lines) + "\n")
    named = saves / "named" / "x-1"
    named.mkdir(parents=True)
    (named / "name.txt").write_text(FILED, encoding="utf-8")
    for file in saved.folder.iterdir():
        (named / file.name).write_bytes(file.read_bytes())
    (saves / "cache").mkdir()
    measured = Capability(**{**_capability(), "model": FILED, "reading": FILED})
    (saves / "cache" / FILE).write_text(json.dumps([{name: getattr(measured, name) for name in _capability()}]))
    (shipped,) = (Path(engine.games.__file__).parent / "stories").glob("tw-pantry.z8")
    story = bytearray(shipped.read_bytes())
    story[18:24] = b"991231"  # another serial number: a story nobody knows
    (games / f"x{STORY}.z8").write_bytes(story)
    (games / f"bad{NAMED}.z5").write_bytes(b"no story" * 200)
    (games / "file").write_text(f'{{"event": "x"}}\n{FILED}\n')
    return {
        "saves": str(saves),
        "games": str(games),
        "session": saved.name,
        "recording": str(saved.recording),
        "story": str(games / f"x{STORY}.z8"),
        "bad": str(games / f"bad{NAMED}.z5"),
        "file": str(games / "file"),
    }


def _capability() -> dict[str, object]:
    usual = {"str": "", "int": 24, "float": 1.0, "float | None": None}
    return {spec.name: usual[str(spec.type)] for spec in dataclasses.fields(Capability)}


COMMANDS = [
    "", "{typed}",
    "watch {typed}", "watch {bad}", "watch pantry --set {typed}", "watch pantry --agent {typed}",
    "play {typed}", "play pantry --estimator {typed}",
    "run {typed}", "run {bad}", "run pantry --profile {typed}", "run pantry --episodes 1 --steps 2 --model {typed}",
    "run pantry --model local:{typed}", "run pantry --model prior/verbs --episodes 1 --steps 2 --resume {typed}",
    "run pantry --json {typed}/{typed}",
    "run {story} --model prior/verbs --episodes 1 --steps 2 --json -", "run pantry --set beta={typed}",
    "run {story} --model prior/verbs --episodes 1 --steps 2",
    "bench", "bench ls", "bench ls --json", "bench {typed}", "bench run {file}", "bench show quick",
    "bench show {typed}",
    "bench run quick --arms {typed}", "bench run quick --tasks {typed}", "bench run quick --models {typed} --dry-run",
    "bench resume {typed}", "bench report {typed}",
    "train", "train ls", "train up", "train sweep {typed}", "train grpo {typed}", "train grpo pantry --model {typed}",
    "train grpo pantry --model {file}", "train grpo pantry --name {typed}", "train grpo pantry --set {typed}",
    "train grpo pantry --accelerate {typed}", "train sft pantry --from {typed}", "train sft pantry --from {saves}",
    "train resume {typed}", "train write {typed}", "train show {typed}", "train suite {typed}", "train suite",
    "replay {typed}", "replay {file}", "replay {recording}",
    "whatif {typed}", "whatif {file}", "whatif {recording}", "whatif {recording} --json",
    "whatif {recording} --set beta={typed}",
    "sessions", "sessions --json", "sessions {typed}", "sessions {session} --branch {typed}",
    "sessions-rm {typed} --yes", "sessions-rm {typed}", "sessions-rename {session} {typed}{typed}/",
    "sessions-rename {typed} x", "sessions-export {typed}", "sessions-export {session} -o {typed}/x",
    "help", "help {typed}", "help bench {typed}", "completion {typed}", "completion bash",
    "serve {typed}", "serve --token {typed}", "serve --host {typed}",
    "export {session}", "export {session} --to jsonl", "export {recording}", "export {typed}",
    "export {session} --to inspect -o {typed}/x.json", "export {session} --to datasets -o {typed}/x",
    "curves", "curves {session}", "curves {session} --json", "curves {recording}", "curves {typed}",
    "curves {session} --with {typed}", "curves {session} -o {typed}", "curves last", "export last", "replay last",
    "compare {recording} {recording}", "compare {recording} {recording} --json", "compare {recording} {typed}",
    "race {typed} --arm static --arm random", "race pantry --arm {typed} --arm static", "race --replay {typed}",
    "memory", "memory ls", "memory ls --json", "memory stats", "memory stats --json", "memory stats {typed}",
    "memory show only", "memory show only --json", "memory show only --episode 1", "memory show only --entry 1",
    "memory show only --entry 1 --json", "memory show only --kept", "memory show only --kept --json",
    "memory show only --episode {typed}", "memory show only --kept {typed}", "memory show {typed}",
    "memory search PWNED", "memory search PWNED --json", "memory search {typed}", "memory search a --scope {typed}",
    "memory browse", "memory browse {typed}", "memory correct only --entry 1 --pin",
    "memory correct {typed} --entry 1 --pin", "memory correct only --entry {typed}",
    "memory verify", "memory verify --json", "memory verify {typed}",
    "memory recover {typed}", "memory recover {file}", "memory recover only",
    "memory diff only only",
    "memory diff only only --json",
    "memory diff {typed} only", "memory export -", "memory export {typed}/{typed}", "memory import {typed}",
    "memory import {file}", "memory merge {typed}", "memory merge {file}", "memory forget only --episode 1 --dry-run",
    "memory forget {typed} --entry 1", "memory forget --provenance {typed}", "memory compact --dry-run",
    "memory compact", "memory compact {typed}", "memory push {typed}", "memory pull {typed}",
    "games", "games ls", "games ls --json", "games info {story}", "games info {story} --json", "games info {bad}",
    "games info {typed}", "games fetch {typed}", "games fetch zork1 --from http://127.0.0.1:9/{typed}",
    "games add {story}", "games add {bad}", "games add {typed}", "games make --kind {typed}", "games map {typed}",
    "games map pantry --here {typed}", "games verify {typed}", "games verify {story}",
    "models", "models ls", "models ls --json", "models ls --table", "models info {typed}", "models info {typed} --json",
    "models info local:{typed}", "models test {typed}", "models test local:{typed}", "models add {typed}",
    "models add local:{typed}", "models judge {typed} only", "models judge constant {typed}",
    "web", "web up {typed}", "web down {typed}", "web down {typed} --json", "web reset {typed}", "web status",
    "web status --json", "web status {typed}", "web doctor", "web doctor --json",
    "web ls --suite {typed}", "web ls --site {typed}", "web ls --suite local --json",
    "config", "config show", "config show --json", "config show {typed}", "config diff default {typed}",
    "config diff default paper --json", "config schema", "config show --kind {typed}",
    "config set {typed} x", "config set theme {typed}", "config set model {typed}",
    "config set keys.watch.help {typed}",
    "config unset {typed}",
    "config path", "config path --config {typed}", "config show --config {file}", "sessions --config {file}",
    "sessions --config {typed}", "sessions --theme {typed}",
    "up", "up {typed}", "up train",
    "doctor", "doctor --json", "doctor --model {typed}", "doctor --model {typed} --json",
    "doctor --model local:{typed}",
]  # fmt: skip

LISTS = ("sessions", "memory stats", "memory show only", "games ls", "models ls")


@pytest.fixture(autouse=True)
def one_parser(monkeypatch: pytest.MonkeyPatch) -> None:
    """Build each parser once."""
    monkeypatch.setattr(cli, "make_parser", lambda commands=cli.COMMANDS: PARSER(tuple(commands)))


def run(command: str, places: dict[str, str], typed: str) -> tuple[list[str], object]:
    """Run a command; return its words and its exit code."""
    words = [word.format(**places, typed=typed) for word in command.split(" ") if word]
    words += ["--saves", places["saves"], "--games", places["games"]]
    try:
        return words, main(words)
    except SystemExit as end:
        return words, end.code


@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_writes_nothing_raw(command, places, capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "300")
    words, code = run(command, places, f"ty{TYPED}ped")
    said = capsys.readouterr()
    assert dangers(said.out, "\n\t") == []
    assert dangers(said.err, "\n\t") == []
    assert "Traceback" not in said.out + said.err
    assert code in (0, 1, 2, 3)
    if code == 0 and ("--json" in words or words[:2] == ["memory", "export"]):
        for line in said.out.splitlines() if "export" in words else [said.out]:
            json.loads(line)
    if "{typed}" in command and code != 0:
        assert said.err + said.out
    assert command.removesuffix(" --json") not in LISTS or "PWNED" in said.out


@pytest.mark.parametrize("command", [command for command in COMMANDS if "{typed}" in command])
def test_an_argument_of_any_length_is_refused_in_a_sentence(command, places, capsys):
    for typed in ("x" * 100_000, "x/" + "y" * 5000, ""):
        _, code = run(command, places, typed)
        said = capsys.readouterr()
        assert "Traceback" not in said.out + said.err
        assert code in (0, 1, 2, 3)
        assert code in (0, 1) or said.err + said.out


def test_every_command_is_tried():
    def leaves(parser: argparse.ArgumentParser, before: tuple[str, ...] = ()):
        found = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
        if not found:
            yield before
        for action in found:
            for name, inner in action.choices.items():
                yield from leaves(inner, (*before, name))

    tried = [tuple(command.split()) for command in COMMANDS]
    assert [leaf for leaf in leaves(make_parser()) if not any(t[: len(leaf)] == leaf for t in tried)] == []


@pytest.fixture
def server() -> Iterator[fake.Server]:
    with fake.Server().running() as running:
        yield running


@pytest.mark.parametrize("behaviour", ["refusal", "answer"])
def test_what_a_server_answers_is_not_obeyed(behaviour, places, server, capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("JITRL_API_BASE", server.base)
    monkeypatch.setenv("OPENAI_API_KEY", "no-key-at-all-123")
    server.default = (
        fake.status(400, f"this cannot be {FILED}", FILED)
        if behaviour == "refusal"
        else fake.reply(json.dumps({"option1": FILED, "confidence1": 50, "reasoning1": FILED}))
    )
    main(["run", "pantry", "--model", "openai/test", "--episodes", "1", "--steps", "2", "--saves", str(tmp_path)])
    main(["doctor", "--model", "openai/test", "--saves", str(tmp_path)])
    said = capsys.readouterr()
    assert behaviour == "answer" or "PWNED" in said.err
    assert dangers(said.out + said.err, "\n\t") == []
    assert "Traceback" not in said.out + said.err


def test_what_is_exported_to_stdout_can_be_imported_again_unchanged(places, capsys, tmp_path):
    assert main(["memory", "export", "-", "--saves", places["saves"]]) == 0
    file = tmp_path / "exported.jsonl"
    file.write_text(capsys.readouterr().out, encoding="utf-8")
    assert main(["memory", "import", str(file), "--saves", str(tmp_path / "other")]) == 0
    with Memory(Path(places["saves"]) / "memory") as one, Memory(tmp_path / "other" / "memory") as other:
        before, after = (list(memory.scope(SCOPE).episodes()) for memory in (one, other))
    for one, other in zip(before, after, strict=True):
        assert [(s.state, s.action, s.valid_actions) for s in one.steps] == [
            (s.state, s.action, s.valid_actions) for s in other.steps
        ]
