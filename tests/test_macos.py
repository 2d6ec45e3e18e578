"""On a system without what only Linux has, games, pages and sites run, and `jitrl doctor` says what is missing."""

from __future__ import annotations

import asyncio
import importlib.util
import json
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from engine import system
from engine.web.browser import chromium
from engine.web.sites.miniwob import pages_folder

AS_MACOS = [sys.executable, "-P", str(Path(__file__).with_name("as_macos.py"))]


COMMANDS = """
import contextlib, io, json, sys
from jitrl_tui.cli import main
answers = {}
for name, words in json.load(sys.stdin).items():
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(["--saves", sys.argv[1], *words])
    answers[name] = code, out.getvalue(), err.getvalue()
print(json.dumps(answers))
"""


def jitrl(saves: Path, **commands: str) -> dict[str, tuple[int, str, str]]:
    """Run commands in one process; return the exit code of each, and what it wrote."""
    words = json.dumps({name: command.split() for name, command in commands.items()})
    done = subprocess.run(
        [*AS_MACOS, "-c", COMMANDS, str(saves)], input=words, capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return {name: tuple(answer) for name, answer in json.loads(done.stdout).items()}


def test_episodes_are_played_and_the_doctor_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saves, python = tmp_path / "saves", tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec {shlex.join(AS_MACOS)} "$@"\n')
    python.chmod(0o700)
    monkeypatch.setenv("JITRL_GYM", str(python))
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).with_name("gym")))
    commands = {
        "game": "run pantry --model prior/verbs --episodes 1 --steps 6",
        "gym": "run gym:tinyworlds/tiny/Corridor-v0 --model prior/verbs --episodes 1 --steps 4",
        "doctor": "doctor --json",
    }
    if importlib.util.find_spec("gymnasium") is None:
        del commands["gym"]
    told = jitrl(saves, **commands)
    for name in set(told) - {"doctor"}:
        code, _, err = told[name]
        assert (code, "Traceback" in err) == (0, False), err
    (recording,) = (saves / "sessions").glob("*pantry*/events.jsonl")
    assert len(recording.read_text().splitlines()) > 6

    checks = {check["name"]: check for check in json.loads(told["doctor"][1])["checks"]}
    assert checks["system"]["state"] == "warn"
    for said in ("no limit on memory", "no limit on the browser's memory", "no /proc"):
        assert said in checks["system"]["found"]
    assert "no Landlock" in checks["story process"]["found"]
    assert not [name for name, check in checks.items() if "Error" in check["found"]]


def test_this_system_lacks_nothing() -> None:
    assert system.missing() == []


def test_a_site_is_started_and_stopped(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from engine import system\n"
        "from engine.web.sites import processes as p; from engine.web.sites.site import ServerCommand\n"
        "port, folder = p.free_port(0), Path(sys.argv[1])\n"
        "argv = (sys.executable, '-m', 'http.server', '--bind', '127.0.0.1', str(port))\n"
        "begin = lambda: p.start('test', ServerCommand(argv), port, '/', folder / 'log', folder)\n"
        "first = begin(); first.stop(); print(p.alive(first.server))\n"
        "second = begin(); second.release(); print(p.alive(second.server), system.HAS_PROC)\n"
        "print(p.stop(second.server), p.alive(second.server), p.stop(second.server))\n"
    )
    done = subprocess.run(
        [*AS_MACOS, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=120, check=False
    )
    assert done.stdout.splitlines() == ["False", "True False", "True False False"], done.stderr


def test_processes_are_known_by_ps_as_by_proc(monkeypatch: pytest.MonkeyPatch) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()", "--a-mark"], stdin=subprocess.PIPE) as child:
        found = []
        for has in (True, False):
            monkeypatch.setattr(system, "HAS_PROC", has)
            (pid, parent) = next((pid, parent) for pid, parent, words in system.processes() if b"--a-mark" in words)
            found.append((pid, parent))
            assert system.start_time(child.pid) == system.start_time(child.pid) is not None
        assert found[0] == found[1]
        child.kill()
        child.wait()
        assert system.start_time(child.pid) is None


def test_a_page_is_read_and_a_button_pressed() -> None:
    if why := chromium.missing():
        pytest.skip(why)
    script = (
        "import sys; from tests.web import hostile_pages as h\n"
        "with h.serving() as base:\n"
        "    page = h.opened(sys.argv[1], base, 'plain')\n"
        "    page.reset(1); (press,) = [a for a in page.valid_actions() if 'Press' in a]\n"
        "    print('pressed' in page.step(press).description); page.close()\n"
    )
    done = subprocess.run(
        [*AS_MACOS, "-c", script, chromium.require_browser()], capture_output=True, text=True, timeout=300, check=False
    )
    assert done.stdout == "True\n", done.stderr


def test_a_task_of_miniwob_is_done(tmp_path: Path) -> None:
    if why := chromium.missing():
        pytest.skip(why)
    if pages_folder(None) is None:
        pytest.skip("the miniwob package is not here")
    command = "run web:miniwob-click-test --model prior/uniform --episodes 1 --json -"
    code, out, err = jitrl(tmp_path, played=command)["played"]
    assert (code, "Traceback" in err) == (0, False), err
    assert json.loads(out)["episodes"][0]["score"] > 0


def test_a_visitor_of_serve_gets_the_app(tmp_path: Path) -> None:
    pytest.importorskip("textual_serve")
    import aiohttp

    async def visit(address: str) -> bytes:
        seen = b""
        async with aiohttp.ClientSession() as client, client.ws_connect(f"{address}ws?width=80&height=24") as socket:
            while b"jitrl" not in seen:
                message = await socket.receive(timeout=120)
                seen += message.data if isinstance(message.data, bytes) else str(message.data).encode()
        return seen

    words = ["-m", "jitrl_tui.cli", "--saves", str(tmp_path), "serve"]
    with subprocess.Popen([*AS_MACOS, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            assert b"jitrl" in asyncio.run(visit(process.stdout.readline().strip()))
        finally:
            process.terminate()
