"""On a system without what only Linux has, games and local sites run, and `jitrl doctor` says what is missing."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from engine import system

AS_MACOS = [sys.executable, "-P", str(Path(__file__).with_name("as_macos.py"))]


def jitrl(*words: object) -> subprocess.CompletedProcess[str]:
    command = [*AS_MACOS, "-m", "jitrl_tui.cli", *map(str, words)]
    return subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)


def test_an_episode_is_played(tmp_path: Path) -> None:
    done = jitrl("--saves", tmp_path, "run", "pantry", "--model", "prior/verbs", "--episodes", "1", "--steps", "6")
    assert (done.returncode, "Traceback" in done.stderr) == (0, False), done.stderr
    (recording,) = (tmp_path / "sessions").glob("*/events.jsonl")
    assert len(recording.read_text().splitlines()) > 6


def test_the_doctor_says_what_is_missing(tmp_path: Path) -> None:
    done = jitrl("--saves", tmp_path, "doctor", "--json")
    checks = {check["name"]: check for check in json.loads(done.stdout)["checks"]}
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
        "from engine.web.sites import processes as p; from engine.web.sites.site import Command\n"
        "port, folder = p.free_port(0), Path(sys.argv[1])\n"
        "argv = (sys.executable, '-m', 'http.server', '--bind', '127.0.0.1', str(port))\n"
        "begin = lambda: p.start('test', Command(argv), port, '/', folder / 'log', folder)\n"
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
