"""Environments of `tinyworlds`, in the real child process."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import pytest

from engine.gym import environment, open_gym
from engine.gym.worker import GymServer
from engine.workers import WorkerFailed


@pytest.fixture(scope="session")
def with_gymnasium() -> dict[str, str]:
    """Environment variables with which `tinyworlds` can be imported."""
    if importlib.util.find_spec("gymnasium") is None:
        pytest.skip("gymnasium is not installed: pip install 'gymnasium>=1.0'")
    return {**os.environ, "PYTHONPATH": str(Path(__file__).parent)}


class WorkerHere:
    """Answers as the process does, without one: each costs a third of a second."""

    def __init__(self, name, command, variables, grace):
        self._server = GymServer()

    def ask(self, seconds, /, **request):
        try:
            reply = self._server.answer(json.loads(json.dumps(request)))
        except Exception as error:
            raise WorkerFailed(f"{type(error).__name__}: {error}") from None
        return json.loads(json.dumps(reply))

    def end(self):
        self._server.close()


@pytest.fixture
def without_process(with_gymnasium, monkeypatch):
    monkeypatch.setattr(environment, "LineWorker", WorkerHere)
    monkeypatch.syspath_prepend(with_gymnasium["PYTHONPATH"])


@pytest.fixture
def opened_here(opened, without_process):
    """The same as `opened` without a process, for what environments say and how it is read."""
    return opened


@pytest.fixture
def opened(with_gymnasium, tmp_path):
    """A function from an id in `tinyworlds` to its environment; all are closed at the end."""
    made = []

    def open_one(env_id: str):
        made.append(open_gym(f"gym:tinyworlds/tiny/{env_id}", tmp_path, with_gymnasium))
        return made[-1]

    yield open_one
    for one in made:
        one.close()
