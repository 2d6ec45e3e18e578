"""What never answers: each wait is in the table, and each program that waits says so and goes on."""

from __future__ import annotations

import ast
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from engine import waits
from engine.bench.on_ray import ray_cluster
from engine.errors import MissingError
from engine.session.control import Control, StopRequested
from engine.wait import signals_in_threads
from tests import commands
from tests.llm.server import Server
from tests.proxy import Proxy

ROOT = Path(__file__).parent.parent
LONG_S = 60.0
"""Nobody waits so long for what hangs, on the slowest machine."""


def test_every_wait_is_in_the_table():
    found = []
    apart = ROOT / "engine/web/browsergym/worker.py"  # It runs in another Python, without our modules.
    for path in {*(ROOT / "engine").rglob("*.py"), *(ROOT / "jitrl_tui").rglob("*.py")} - {apart}:
        text = path.read_text()
        given_so = re.search(r"(timeout *=|\b(join|wait|result)\()\s*[\d.]", text)
        for node in ast.walk(ast.parse(text)) if given_so else ():
            if not isinstance(node, ast.Call):
                continue
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name == "notify":  # how long it is shown
                continue
            given = [keyword.value for keyword in node.keywords if keyword.arg == "timeout"]
            given += node.args[:1] if name in {"join", "wait", "result"} else []
            found += [
                f"{path.relative_to(ROOT)}:{node.lineno}"
                for value in given
                if isinstance(value, ast.Constant) and isinstance(value.value, int | float) and value.value
            ]
    assert found == []
    rows = [row for row in vars(waits).values() if isinstance(row, waits.Wait)]
    assert len(rows) > 30
    assert all(row.what and row.then and 0 < row.seconds < waits.TRAIN_INSTALL.seconds + 1 for row in rows)


LEAST_S = 30.0
"""A test waits at least so long for what it needs: machines under load are slow."""
WAITS = {"acquire": 1, "communicate": 1, "join": 0, "result": 0, "timeout": 0, "wait": 0, "wait_for": 1}
"""What waits, and which of its arguments says how long."""

WORDS = "acquire|communicate|(?<![\"']\\.)join|result|wait|wait_for"
MAYBE = re.compile(rf"timeout|seconds|monotonic\(\)|\b({WORDS})\(\s*[^)]")
"""Where there is none of it, nothing waits for a time."""


def lines(node: ast.expr) -> range:
    """Return the numbers of the lines that an expression takes."""
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def test_no_test_waits_for_too_short_a_time():
    found = []
    for path in set((ROOT / "tests").rglob("*.py")) - set((ROOT / "tests/bench").rglob("*.py")):
        text = path.read_text()
        if not MAYBE.search(text):
            continue
        clock = {number for number, line in enumerate(text.splitlines(), 1) if "monotonic()" in line}
        for node in ast.walk(ast.parse(text)):
            given: list[ast.expr] = []
            if isinstance(node, ast.Call):
                place = WAITS.get(getattr(node.func, "attr", getattr(node.func, "id", "")))
                given = [keyword.value for keyword in node.keywords if keyword.arg == "timeout"]
                given += node.args[place : place + 1] if place is not None else []
            elif isinstance(node, ast.BinOp | ast.Compare) and clock.isdisjoint(lines(node)):
                continue
            elif isinstance(node, ast.BinOp) and ast.unparse(node.left) == "time.monotonic()":
                given = [node.right] if isinstance(node.op, ast.Add) else []
            elif isinstance(node, ast.Compare) and "time.monotonic() - " in ast.unparse(node.left):
                given = node.comparators[-1:]
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                named = zip(reversed(node.args.args), reversed(node.args.defaults), strict=False)
                given = [value for name, value in named if name.arg in ("seconds", "timeout")]
            found += [
                f"{path.relative_to(ROOT)}:{node.lineno}"
                for value in given
                if isinstance(value, ast.Constant) and type(value.value) in (int, float) and 1 <= value.value < LEAST_S
            ]
    assert found == []


def test_a_head_node_that_takes_connections_only_is_named(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(ray_cluster, "_ANSWER_S", 0.3)
    with Proxy(("127.0.0.1", 9)) as proxy:
        proxy.hold()
        joining = ray_cluster._joined(None, f"127.0.0.1:{proxy.port}")
        with pytest.raises(MissingError, match="did not answer within"), joining:
            pass


RUN = ("run", "pantry", "--model", "openai/test", "--quiet", "--episodes", "50", "--set", "deadline_s=5")


@pytest.fixture
def silent(monkeypatch: pytest.MonkeyPatch):
    """The server of a model behind a proxy, which can be told to forward nothing any more."""
    with Server().running() as server, Proxy(("127.0.0.1", int(server.base.split(":")[2].split("/")[0]))) as proxy:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_API_BASE", f"http://127.0.0.1:{proxy.port}/v1")
        yield server, proxy


def test_a_model_that_never_answers_ends_the_run_with_a_sentence(silent, tmp_path):
    server, proxy = silent

    def hold() -> None:
        while len(server.requests) < 5 and not ended.wait(0.02):
            pass
        proxy.hold()

    ended = threading.Event()
    holding = threading.Thread(target=hold)
    holding.start()
    code, _, told = commands.jitrl(*RUN, "--saves", tmp_path)
    ended.set()
    holding.join()
    assert code == 1
    assert "did not answer in time" in told


def test_a_run_whose_model_never_answers_is_interrupted(silent, tmp_path):
    server, proxy = silent
    with commands.Popen(
        [commands.JITRL, *RUN, "--saves", str(tmp_path)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as run:
        try:
            while len(server.requests) < 5 and run.poll() is None:
                time.sleep(0.02)
            proxy.hold()
            run.send_signal(signal.SIGINT)
            told, _ = run.communicate(timeout=LONG_S)
        finally:
            run.kill()
    assert run.returncode == 130
    assert "go on with: jitrl run" in told


def test_the_second_ctrl_c_ends_at_once():
    code = (
        "import signal, time\n"
        "from engine.wait import signals_in_threads\n"
        "from jitrl_tui.system import shutdown\n"
        "shutdown.ANSWER_S = 0.1\n"
        "with signals_in_threads({signal.SIGINT: shutdown.Interrupt(lambda: None)}):\n"
        "    print('ready', flush=True)\n"
        "    while True: time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as waiting:
        assert waiting.stdout.readline() == "ready\n"
        waiting.send_signal(signal.SIGINT)
        assert "Ctrl-C again ends at once" in waiting.stderr.readline()
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(LONG_S) == 130


def test_a_process_that_is_to_end_within_a_time_ends_whatever_still_runs():
    code = (
        "import threading\n"
        "from jitrl_tui.system import shutdown\n"
        "shutdown.end_within(0.1, lambda: print('the last', flush=True))\n"
        "threading.Event().wait()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) as waiting:
        try:
            assert waiting.wait(LONG_S) == 128 + signal.SIGHUP
        finally:
            waiting.kill()
        assert waiting.stdout.read() == "the last\n"


def test_a_signal_in_the_moment_before_a_wait_ends_it():
    passed = threading.Event()

    control = Control(paused=True)
    wait = control._changed.wait

    def late(seconds=None):
        signal.raise_signal(signal.SIGUSR1)  # nothing has been seen of it when the wait is decided on
        return wait(seconds)

    control._changed.wait = late
    rescue = threading.Timer(LONG_S, lambda: (passed.set(), control.resume()))
    rescue.daemon = True
    rescue.start()
    with signals_in_threads({signal.SIGUSR1: control.stop}), pytest.raises(StopRequested):
        control.gate(1, lambda event: None)
    rescue.cancel()
    assert not passed.is_set()


def test_handlers_are_put_back_and_each_call_has_a_thread_of_its_own():
    before, calls, both = signal.getsignal(signal.SIGUSR1), [], threading.Barrier(3)

    def called() -> None:
        calls.append(threading.current_thread())
        both.wait(LONG_S)  # the first call does not end before the second one begins

    with signals_in_threads({signal.SIGUSR1: called}):
        signal.raise_signal(signal.SIGUSR1)
        while not calls:
            time.sleep(0.01)
        signal.raise_signal(signal.SIGUSR1)
        both.wait(LONG_S)
    assert len(set(calls)) == 2
    assert threading.main_thread() not in calls
    assert signal.getsignal(signal.SIGUSR1) is before
    assert signal.set_wakeup_fd(-1) == -1
