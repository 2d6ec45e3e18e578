"""The Fossil site: up, healthy, reset, down, and nothing left behind however its starter ends."""

from __future__ import annotations

import os
import select
import shutil
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from engine import system
from engine.errors import UsageError
from engine.paths import saves_folder
from engine.web.sites import fossil_data, processes
from engine.web.sites.fossil import Fossil
from engine.web.sites.manager import Sites
from engine.web.tasks.suites import load
from engine.web.tasks.verdict import Scorer, verified_python
from tests.commands import Popen, run
from tests.web.site_client import SiteClient
from tests.web.solving import HOW, borrow, solutions, trial
from tests.web.write_code_tasks import files

pytestmark = pytest.mark.skipif(shutil.which("fossil") is None, reason="apt install fossil")


def test_a_site_comes_up_on_the_loopback_only_is_changed_put_back_and_ended(tmp_path: Path) -> None:
    with Sites(tmp_path) as sites:
        (status,) = sites.up(("fossil",), stay=False)
        assert status.state == "up", status.note
        listening = [line.split()[1] for line in Path("/proc/net/tcp").read_text().splitlines()[1:]
                     if line.split()[3] == "0A"]  # fmt: skip
        ours = [each for each in listening if each.endswith(f":{status.port:04X}")]
        assert ours == [f"0100007F:{status.port:04X}"]
        assert sites.up(("fossil",), stay=False)[0].pid == status.pid  # It runs already.
        client = SiteClient()
        client.login(status.url, Fossil.logins["gitlab"])
        client.get("/larder/tktnew")
        client.submit({"title": "Cold soup"}, form="tktnew", button="preview")
        client.submit({}, form="tktnew", button="submit")
        assert "Cold soup" in client.get("/larder/rptview?rn=1")
        sites.reset(("fossil",))
        assert "Cold soup" not in client.get("/larder/rptview?rn=1")
        assert "Crash on save" in client.text
        assert sites.down(("fossil",)) == ("fossil",)
        assert sites.status(("fossil",))[0].state == "down"
        assert system.start_time(status.pid) is None


def test_a_taken_port_is_left_to_its_owner(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other, Sites(tmp_path) as sites:
        monkeypatch.setattr(
            Fossil, "port", other.getsockname()[1]
        )  # a site that runs here may have the usual one
        (status,) = sites.up(("fossil",), stay=False)
        assert status.state == "up"
        assert status.port != Fossil.port
        assert sites.urls()["gitlab"] == f"http://127.0.0.1:{status.port}"


@pytest.mark.parametrize("sign", [signal.SIGKILL, signal.SIGINT])
def test_no_server_outlives_a_starter_that_dies(tmp_path: Path, sign: int) -> None:
    script = (
        "import signal, sys; from pathlib import Path; from engine.web.sites.manager import Sites\n"
        "signal.signal(signal.SIGINT, signal.default_int_handler)\n"  # a shell's background jobs ignore it
        "s = Sites(Path(sys.argv[1])); print(s.up(('fossil',), stay=False)[0].pid, flush=True); sys.stdin.read()"
    )
    with Popen(
        [sys.executable, "-c", script, str(tmp_path)],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
    ) as starter:  # fmt: skip
        assert starter.stdout is not None
        pid = int(starter.stdout.readline())
        handle = os.pidfd_open(pid)
        starter.send_signal(sign)
        assert select.select([handle], [], [], 20)[0], "the server is still there"
        os.close(handle)


def test_a_server_that_was_released_stays_until_down(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from engine.web.sites.manager import Sites\n"
        "print(Sites(Path(sys.argv[1])).up(('fossil',))[0].pid)"
    )
    done = run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=60, check=True
    )
    sites = Sites(tmp_path)
    (status,) = sites.status(("fossil",))
    assert (status.state, status.pid) == ("up", int(done.stdout))
    assert sites.down() == ("fossil",)
    assert system.start_time(status.pid) is None


def test_a_number_that_belongs_to_another_process_now_is_not_signalled(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as other:
        began = system.start_time(other.pid)
        assert began is not None
        stale = processes.RunningServer("fossil", other.pid, began - 1, processes.boot_id(), 7800)
        assert not processes.stop(stale)
        (tmp_path / "web" / "run").mkdir(parents=True)
        processes.write_record(tmp_path / "web" / "run" / "fossil.json", stale)
        assert Sites(tmp_path).down() == ()
        assert other.poll() is None
        assert other.stdin is not None
        other.stdin.write(b"\n")


def test_a_missing_program_is_said_and_stops_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    (status,) = Sites(tmp_path).up(("fossil",))
    assert status.state == "missing"
    assert "apt install fossil" in status.note


def test_an_unknown_site_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no local site 'casino'"):
        Sites(tmp_path).up(("casino",))


def test_the_data_is_always_the_same() -> None:
    first, second = list(fossil_data.artifacts()), list(fossil_data.artifacts())
    assert first == second
    assert len(set(fossil_data.ticket_id(i) for i in range(len(fossil_data.TICKETS)))) == len(
        fossil_data.TICKETS
    )


def test_the_tasks_are_those_that_the_data_give() -> None:
    """After a change of the data: python -m tests.web.write_code_tasks."""
    for path, text in files().items():
        assert path.read_text() == text
    assert sum("gitlab" in task.sites for task in load("local")) >= 40


@pytest.mark.skipif(verified_python(saves_folder()) is None, reason=HOW)
def test_right_solutions_score_one_and_wrong_ones_nothing(tmp_path: Path) -> None:
    """One task of each kind; `python -m tests.bench.soak_sites --sites fossil` plays all."""
    known, kinds = solutions(), set()
    with Sites(borrow(saves_folder(), tmp_path / "saves")) as sites:
        (status,) = sites.up(("fossil",), stay=False)
        assert status.state == "up", status.note
        with Scorer(sites.saves, sites.urls()) as scorer:
            for task in load("local"):
                if task.number >= 400 and task.sites == ("gitlab",) and task.kind not in kinds:
                    kinds.add(task.kind)
                    right, wrong = (trial(task, which, sites, scorer, known) for which in ("right", "wrong"))
                    assert right.score == 1.0, (task.id, right.why)
                    assert wrong.score == 0.0, task.id
    assert kinds == {"retrieve", "navigate", "mutate"}
