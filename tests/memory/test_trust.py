"""Servers and files that a session, a run or a suite of somebody else names: none is used before it is confirmed."""

from __future__ import annotations

import json
import os
import pty
import socket
import struct
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engine import trust
from engine.bench.manifest import read_manifest, write_manifest
from engine.games.catalogue import find_game
from engine.session import store as sessions
from engine.session.loop import Session
from engine.settings import SessionConfig
from jitrl_tui import cli
from tests.arena.running import SMALL, play

PASSWORD = "swordfish-swordfish"
CLEARTEXT = b"R" + struct.pack(">II", 8, 3)


class Thief:
    """A server that asks whoever comes for the password in clear."""

    def __init__(self) -> None:
        self.got: list[bytes] = []
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.address = f"postgresql://127.0.0.1:{self._socket.getsockname()[1]}/jitrl"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                one, _ = self._socket.accept()
            except OSError:
                return
            with one:
                one.settimeout(10)
                while data := one.recv(4096):
                    self.got.append(data)
                    encryption = data[4:8] in (b"\x04\xd2\x16\x2f", b"\x04\xd2\x16\x30")
                    one.sendall(b"N" if encryption else CLEARTEXT)
                    if data.startswith(b"p"):
                        break

    def close(self) -> None:
        self._socket.close()


@pytest.fixture
def thief(monkeypatch: pytest.MonkeyPatch) -> Iterator[Thief]:
    pytest.importorskip("psycopg", reason="psycopg is not installed: jitrl up postgres")
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    monkeypatch.setattr(trust, "_named", {})
    monkeypatch.setattr(trust, "_confirmed", set())
    one = Thief()
    yield one
    one.close()


def given(saves: Path, address: str = "own", **changes: object) -> str:
    """Put a session of somebody else into a saves folder; return its name."""
    made = sessions.create(saves, SessionConfig(game="pantry", model="prior/verbs", episodes=1), "run")
    file = made.folder / sessions.CONFIG
    data = json.loads(file.read_text())
    data["config"] |= {"memory": address, **changes}
    file.write_text(json.dumps(data))
    return made.name


def test_a_session_of_somebody_else_sends_nothing_to_its_database(
    thief: Thief, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = given(tmp_path, thief.address)
    for command in (["run", "pantry", "--resume", name], ["whatif", name, "--set", "beta=2"],
                    ["sessions", name, "--branch", "1:1", "--yes"]):  # fmt: skip
        assert cli.main(["--saves", str(tmp_path), *command]) in (1, 2)
        err = capsys.readouterr().err
        assert "Traceback" not in err
    assert thief.got == []
    assert cli.main(["--saves", str(tmp_path), "run", "pantry", "--resume", name]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert f"--trust {thief.address}" in err
    assert thief.got == []


def test_a_confirmed_server_gets_no_password_in_clear_either(
    thief: Thief, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    name = given(tmp_path, thief.address)
    command = ["--saves", str(tmp_path), "run", "pantry", "--resume", name]
    assert cli.main([*command, "--trust", thief.address]) == 3
    assert "scram-sha-256" in capsys.readouterr().err
    assert thief.got
    assert PASSWORD.encode() not in b"".join(thief.got)
    monkeypatch.setattr(trust, "_confirmed", set())  # as in another process
    assert cli.main(command) == 3
    monkeypatch.setenv("PGREQUIREAUTH", "password")
    cli.main(command)
    assert PASSWORD.encode() in b"".join(thief.got)


@pytest.mark.parametrize("changes", [
    {"game": "HERE/theirs.z5"}, {"game": "theirs", "games": "HERE"}, {"game": "gym:theirs/Env-v0"},
    {"model": "local:HERE/theirs.gguf"}, {"model": "prior/verbs+local:HERE/theirs.gguf"},
    {"model": "huggingface/http://127.0.0.1:PORT/theirs", "settings": {"attempts": 1}},
    {"agent": "human", "settings": {"replayed": "HERE/theirs"}},
])  # fmt: skip
def test_files_and_servers_that_a_session_of_somebody_else_names_are_not_opened(
    changes: dict[str, object], thief: Thief, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    port = thief.address.partition("127.0.0.1:")[2].partition("/")[0]
    theirs = json.loads(json.dumps(changes).replace("HERE", str(tmp_path)).replace("PORT", port))
    (tmp_path / "theirs.z5").write_bytes(bytes(2000))
    (tmp_path / "theirs.gguf").write_bytes(bytes(2000))
    name = given(tmp_path, **theirs)
    session = Session(sessions.load(tmp_path / "sessions" / name), tmp_path, lambda event: None)  # as screens do
    session.run()
    assert isinstance(session.error, trust.NotConfirmed)
    command = ["--saves", str(tmp_path), "run", "pantry", "--resume", name]
    assert cli.main(command) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "which was never used here" in err
    place = err.split("--trust ")[1].strip()
    assert thief.got == []
    cli.main([*command, "--trust", place])
    assert "never used here" not in capsys.readouterr().err


def test_the_users_own_files_are_used_without_a_question(
    thief: Thief, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    story = tmp_path / "mine.z5"
    story.write_bytes(find_game("pantry").path.read_bytes())
    words = ["--saves", str(tmp_path / "saves"), "run", "--model", "prior/verbs", "--steps", "1", "--episodes"]
    assert cli.main([*words, "1", "--quiet", str(story)]) in (0, 1)
    name = next(sessions.saved_sessions(tmp_path / "saves")).name
    trust._confirmed.clear()  # as in another process
    cli.main([*words[:2], "run", str(story), "--resume", name])
    assert "never used here" not in capsys.readouterr().err


@pytest.mark.parametrize("answer", ["n", "y"])
def test_on_a_terminal_the_user_is_asked(
    answer: str, thief: Thief, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name = given(tmp_path, thief.address)
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "w+b", buffering=0) as terminal:
        monkeypatch.setattr(sys, "stdin", open(terminal.fileno(), closefd=False))  # noqa: SIM115
        monkeypatch.setattr(sys, "stderr", open(terminal.fileno(), "w", closefd=False))  # noqa: SIM115
        os.write(ours, f"{answer}\n".encode())
        code = cli.main(["--saves", str(tmp_path), "run", "pantry", "--resume", name])
        sys.stderr.flush()
        shown = ""
        while thief.address not in shown:
            shown += os.read(ours, 10_000).decode()
    os.close(ours)
    assert (code, bool(thief.got)) == ((3, True) if answer == "y" else (2, False))


def test_what_was_made_here_is_used_without_a_question(thief: Thief, tmp_path: Path) -> None:
    made = sessions.create(tmp_path, SessionConfig(game="pantry", memory=f"{thief.address}#mine"), "run")
    trust._confirmed.clear()  # as in another process
    sessions.load(made.folder)
    trust.require(thief.address)
    trust.named_by("the session x", "postgresql://elsewhere/jitrl")
    with pytest.raises(trust.NotConfirmed):
        trust.require("postgresql://elsewhere/jitrl")
    sessions.create(tmp_path, SessionConfig(game="pantry", memory="postgresql://elsewhere/jitrl"), "run")
    with pytest.raises(trust.NotConfirmed):  # a copy of it is no better
        trust.require("postgresql://elsewhere/jitrl")


def test_a_run_of_somebody_else_names_no_files_unasked(
    thief: Thief, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, folder = play(SMALL.replace("seeds = 2", "seeds = 1").replace("steps = 12", "steps = 1"), tmp_path)
    manifest = read_manifest(folder)
    story = str(tmp_path / "theirs.z5")
    theirs = {**manifest["plan"], "tasks": [story]}
    trust._confirmed.clear()
    write_manifest(folder, {**manifest, "plan": theirs, "tasks": {story: "theirs"}})
    assert cli.main(["--saves", str(tmp_path), "bench", "resume", folder.name]) == 2
    assert f"--trust {story}\n" in capsys.readouterr().err
    suite = tmp_path / "theirs.toml"
    suite.write_text(SMALL.replace("prior/verbs", f"local:{story}"))
    assert cli.main(["--saves", str(tmp_path), "bench", "run", str(suite)]) == 2
    assert f"--trust local:{story}\n" in capsys.readouterr().err


def test_a_run_and_a_suite_of_somebody_else_are_asked_about(
    thief: Thief, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    saves = tmp_path / "saves"
    suite = tmp_path / "small.toml"
    suite.write_text(SMALL.replace('"pantry"', '"browsergym:openended http://Evil.example:8080/x Log in"'))
    _, folder = play(SMALL.replace("seeds = 2", "seeds = 1").replace("steps = 12", "steps = 1"), saves)
    manifest = read_manifest(folder)
    write_manifest(folder, {**manifest, "memory": thief.address})
    for words, place in (
        (["bench", "run", str(suite)], "http://evil.example:8080"),
        (["bench", "resume", folder.name], thief.address),
    ):
        assert cli.main(["--saves", str(saves), *words]) == 2
        assert f"--trust {place}\n" in capsys.readouterr().err
    assert thief.got == []
