"""Judges whether a task was done, with WebArena-Verified's evaluators or the classic checks that need no model.

task with `eval` as a list      -> WebArena-Verified (suites `local` and `webarena-verified`), and in `local` also
                                   the checks of `state.py`
task with `eval` as an object   -> the classic checks of `classic.py` (`webarena`, `webarena-lite`)
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import subprocess
import sys
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine import children, waits
from engine.errors import GameError, MissingError
from engine.wait import readable
from engine.web.sites.site import venv_python
from engine.web.tasks import state
from engine.web.tasks.classic import Judge, score_classic
from engine.web.tasks.suites import WebTask

TIMEOUT_S = waits.VERDICT.seconds


@dataclass(frozen=True, slots=True)
class Verdict:
    """The verdict on a task.

    Attributes:
        score: 1.0 if done, 0.0 if not, None if it cannot be decided.
        why: A sentence on why it was not done or cannot be decided, "" if it was done.
        parts: Score of each check by its name.
    """

    score: float | None
    why: str = ""
    parts: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EpisodeOutcome:
    """The results of an episode that a judge needs.

    Attributes:
        answer: The agent's last message, "" if none.
        url: URL of the page it ended on.
        entries: HAR entries of the episode in order, with posted data.
        texts: For the classic program checks: the text of each target of `classic.targets`.
        databases: For checks of a site's state: SQLite files by WebArena's site names.
    """

    answer: str
    url: str
    entries: Sequence[Mapping[str, Any]] = ()
    texts: Sequence[str] = ()
    databases: Mapping[str, Path] = field(default_factory=dict)


class Scorer:
    """Judges episodes. The first verdict of WebArena-Verified takes about a second, later ones some milliseconds.

    Args:
        saves: The saves folder, which contains the sites' environment.
        urls: Base URLs that the episode used, by WebArena's site names.
        judge: Compares texts by meaning (a model call). Without it, tasks that need this cannot be judged.

    Attributes:
        worker: The process that judges; None while there is none.
    """

    def __init__(self, saves: Path, urls: Mapping[str, str], judge: Judge | None = None) -> None:
        self._saves = saves
        self.urls = dict(urls)
        self._judge = judge
        self.worker: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def compare_by(self, judge: Judge) -> None:
        """Use `judge` to compare texts by meaning from now on."""
        self._judge = judge

    def score(self, task: WebTask, outcome: EpisodeOutcome) -> Verdict:
        """Judge one episode of `task`.

        Raises:
            MissingError: WebArena-Verified is needed and not installed.
            GameError: Its process ended or did not answer within TIMEOUT_S.
        """
        if isinstance(task.raw["eval"], Mapping):
            score, why, parts = score_classic(
                task.raw, outcome.answer, outcome.url, outcome.texts, self.urls, self._judge
            )
            return Verdict(score, why, parts)
        checks = task.raw["eval"]
        published = {**task.raw, "eval": [each for each in checks if each["evaluator"] != state.NAME]}
        reply = self._ask({
            "task": published, "urls": {site: self.urls[site] for site in task.sites if site in self.urls},
            "answer": agent_response(outcome.answer, task.kind), "entries": list(outcome.entries),
        })  # fmt: skip
        if reply["score"] is None or reply["error"]:
            return Verdict(None, f"WebArena-Verified could not judge {task.id}: {reply['error']}")
        if reply["score"] != 1.0:
            return Verdict(reply["score"], "; ".join(reply["notes"]) or "not done", reply["parts"])
        left = [each for each in checks if each["evaluator"] == state.NAME]
        score, why = state.check(left, outcome.databases)
        return Verdict(score, why, {**reply["parts"], **({state.NAME: score} if left and score is not None else {})})

    def close(self) -> None:
        """End the judging process; calling this twice is safe."""
        with self._lock:
            worker, self.worker = self.worker, None
        if worker is None:
            return
        assert worker.stdin is not None
        assert worker.stdout is not None
        with contextlib.suppress(OSError):
            worker.stdin.close()
        try:
            worker.wait(waits.SITE_STOP.seconds)
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
        worker.stdout.close()

    def __enter__(self) -> Scorer:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _ask(self, request: Mapping[str, Any]) -> dict[str, Any]:
        with self._lock:
            if self.worker is None or self.worker.poll() is not None:
                self.worker = self._start()
            worker = self.worker
            assert worker.stdin is not None
            assert worker.stdout is not None
            try:
                worker.stdin.write(json.dumps(request).encode() + b"\n")
                worker.stdin.flush()
                ready = readable(worker.stdout, TIMEOUT_S)
                line = worker.stdout.readline() if ready else b""
            except OSError:
                line = b""
            if not line:
                worker.kill()
                worker.wait()
                self.worker = None
                raise GameError(
                    f"WebArena-Verified gave no verdict within {TIMEOUT_S:.0f} s; the episode is kept"
                )
        reply: dict[str, Any] = json.loads(line)
        return {"error": "", "notes": [], "parts": {}, **reply}

    def _start(self) -> subprocess.Popen[bytes]:
        python = require_verified(self._saves)
        script = Path(__file__).with_name("verified_worker.py")
        return children.start(
            "WebArena-Verified", [str(python), "-I", str(script)], children.environment(), stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        )  # fmt: skip


def verified_python(saves: Path) -> Path | None:
    """Return a Python interpreter with WebArena-Verified: this one or the sites' own; None if neither has it."""
    if importlib.util.find_spec("webarena_verified") is not None:
        return Path(sys.executable)
    python = venv_python(saves)
    if any((python.parent.parent / "lib").glob("python3*/site-packages/webarena_verified")):
        return python
    return None


def require_verified(saves: Path) -> Path:
    """Return the interpreter of `verified_python`.

    Raises:
        MissingError: WebArena-Verified is not installed.
    """
    python = verified_python(saves)
    if python is None:
        raise MissingError(
            "scoring this task needs WebArena-Verified, which is not here; get it with: jitrl web up --install"
        )
    return python


def agent_response(message: str, kind: str) -> Any:
    """Return an agent's message in the form that WebArena-Verified needs.

    A JSON object is used as it is. Other text becomes a report of success; in tasks of the kind "retrieve" it is the
    retrieved data. So an agent must use the form itself to report an error.
    """
    try:
        given = json.loads(message)
    except ValueError:
        given = message.strip()
    if isinstance(given, dict):
        return given
    data = None
    if kind == "retrieve":
        data = given if isinstance(given, list) else [given] if given != "" else []
    return {"task_type": kind.upper(), "status": "SUCCESS", "retrieved_data": data, "error_details": None}
