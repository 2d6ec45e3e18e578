"""Whole runs of `jitrl train` with a tiny random model: killed in the middle, in two processes, and a dry run."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest

from engine.records import EpisodeEnded, SessionStarted
from engine.session import recording
from engine.session.shared import place
from engine.train import run_files, runs, trainers
from engine.train.run_files import JOB, TrainingJob, WeightUpdate
from jitrl_tui.cli import main

UPDATES = 3


def train(saves: Path, *words: str) -> int:
    return main(["--saves", str(saves), "train", *words])


def grpo(saves: Path, tiny: Path, *more: str) -> int:
    """Train by groups of two episodes of three steps."""
    return train(
        saves, "grpo", "pantry", "--model", str(tiny), "--name", "run", "--steps", "3", "--group", "2", "--updates",
        str(UPDATES), "--train-threads", "1", *more,
    )  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory, training_python: Path, tiny: Path) -> Path:
    """A saves folder with a run that nothing disturbed."""
    saves = tmp_path_factory.mktemp("whole")
    before = os.environ.get(run_files.PYTHON)
    os.environ[run_files.PYTHON] = str(training_python)
    try:
        assert grpo(saves, tiny) == 0
    finally:
        os.environ.pop(run_files.PYTHON)
        if before is not None:
            os.environ[run_files.PYTHON] = before
    return saves


@pytest.fixture(autouse=True)
def environment(training_python: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(run_files.PYTHON, str(training_python))


def learnt(saves: Path) -> list[WeightUpdate]:
    """Return the curve, without what depends on the clock."""
    found = run_files.read_curve(run_files.runs_folder(saves) / "run")
    return [dataclasses.replace(update, processor_s=0.0, wall_s=0.0) for update in found]


def same(one: list[WeightUpdate], other: list[WeightUpdate]) -> bool:
    """Whether two curves are those of the same updates, but for the last digits."""
    if [(a.update, a.returns, a.evaluation, a.prompt_tokens) for a in one] != [
        (b.update, b.returns, b.evaluation, b.prompt_tokens) for b in other
    ]:
        return False
    pairs = [(a.gradient_norm or 0.0, b.gradient_norm or 0.0) for a, b in zip(one, other, strict=True)]
    return all(a == pytest.approx(b, rel=1e-3, abs=1e-5) for a, b in pairs)


def scores(saves: Path, process: int = 0, which: str = "rollouts") -> list[float]:
    (folder,) = (run_files.runs_folder(saves) / "run" / which).glob(f"*-{process}")
    return [event.score for _, event in recording.read(folder) if isinstance(event, EpisodeEnded)]


def numbers(saves: Path, which: str) -> set[int]:
    """Return what the draws of the finished episodes go by."""
    (folder,) = (run_files.runs_folder(saves) / "run" / which).glob("*-0")
    events = [event for _, event in recording.read(folder)]
    started = next(event for event in events if isinstance(event, SessionStarted))
    return {place(started, event.episode)[0] for event in events if isinstance(event, EpisodeEnded)}


def episodes(saves: Path, process: int = 0) -> int:
    return len(scores(saves, process))


def wait_for(updates: int, saves: Path) -> None:
    """Wait until so many updates are in the curve."""
    file = run_files.runs_folder(saves) / "run" / run_files.CURVE
    until = time.monotonic() + 600
    while time.monotonic() < until and (not file.is_file() or len(file.read_text().splitlines()) < updates):
        time.sleep(0.05)


def interrupt_after(updates: int, saves: Path) -> None:
    """Press Ctrl-C when so many updates are in the curve."""
    wait_for(updates, saves)
    os.kill(os.getpid(), signal.SIGINT)


def kill_after(updates: int, saves: Path) -> None:
    """Kill the training process of this process when so many updates are in the curve."""
    wait_for(updates, saves)
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            words = (stat.parent / "cmdline").read_bytes().split(b"\0")
            mine = int(stat.read_text().rpartition(")")[2].split()[1]) == os.getpid()
        except (OSError, IndexError):
            continue
        if mine and any(word.endswith(b"train/launch.py") for word in words):
            os.kill(int(stat.parent.name), signal.SIGKILL)


def test_a_run_has_its_results(whole):
    run = runs.load(whole, "run")
    assert run.written
    assert len(run.updates) == UPDATES
    assert episodes(whole) == 2 * UPDATES
    assert [update.evaluation for update in run.updates] == [(score,) for score in scores(whole, which="evaluation")]
    assert not numbers(whole, "rollouts") & numbers(whole, "evaluation")  # so their draws are others
    assert (run.folder / "adapter" / "adapter_model.safetensors").is_file()
    assert (run.folder / "model" / "model.safetensors").is_file()
    written = json.loads((run.folder / "manifest.json").read_text())
    assert written["samples"]["episodes"] == 2 * UPDATES
    assert written["versions"]["trl"] == "1.16.0"
    assert written["settings"]["group"] == 2


def test_a_run_that_is_killed_goes_on_from_its_last_checkpoint(whole, tiny, tmp_path, capsys):
    threading.Thread(target=kill_after, args=(2, tmp_path), daemon=True).start()
    assert grpo(tmp_path, tiny) == 1
    assert "the training process was killed by signal 9; the system may have had too little memory" in (
        capsys.readouterr().err
    )
    assert grpo(tmp_path, tiny) == 0  # the same command
    assert same(learnt(tmp_path), learnt(whole))
    assert episodes(tmp_path) == 2 * UPDATES
    assert scores(tmp_path, which="evaluation") == scores(whole, which="evaluation")


@pytest.mark.parametrize("by", [[], ["--accelerate", "1-gpu"]])
def test_ctrl_c_ends_a_run_after_its_update(by, whole, tiny, tmp_path, capsys):
    threading.Thread(target=interrupt_after, args=(1, tmp_path), daemon=True).start()
    assert grpo(tmp_path, tiny, *by) == trainers.STOPPED
    assert "stopping after this update; Ctrl-C again stops at once" in capsys.readouterr().err
    assert not runs.load(tmp_path, "run").written
    assert grpo(tmp_path, tiny) == 0
    assert same(learnt(tmp_path), learnt(whole))  # so accelerate's configuration does not change the precision either


def by_two(job: TrainingJob, python: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Begin a run; return the command that trains it with two processes on a CPU."""
    runs.begin(job)
    monkeypatch.setenv("ACCELERATE_USE_CPU", "true")
    monkeypatch.setenv("OMP_NUM_THREADS", "1")
    script = Path(trainers.__file__).with_name("launch.py")
    launcher = [str(python), "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    return [*launcher, str(script), str(Path(job.folder) / JOB)]


def test_two_processes_end_after_the_same_update(whole, training_python, tmp_path, monkeypatch):
    folder = run_files.runs_folder(tmp_path) / "run"
    job = dataclasses.replace(runs.load(whole, "run").job, folder=str(folder), saves=str(tmp_path))
    command = by_two(job, training_python, monkeypatch)
    monkeypatch.setattr(trainers, "command", lambda *_: command)
    threading.Thread(target=interrupt_after, args=(1, tmp_path), daemon=True).start()
    assert trainers.train(training_python, job, None, lambda *_: None) == trainers.STOPPED
    stopped = len(learnt(tmp_path))
    assert (folder / "checkpoints" / f"checkpoint-{stopped}" / "episodes-1.json").is_file()
    assert trainers.train(training_python, job, None, lambda *_: None) == 0
    assert same(learnt(tmp_path), learnt(whole))


def test_two_processes_learn_what_one_does(whole, training_python, tmp_path, monkeypatch):
    folder = run_files.runs_folder(tmp_path) / "run"
    job = dataclasses.replace(runs.load(whole, "run").job, folder=str(folder), saves=str(tmp_path))
    done = subprocess.run(
        by_two(job, training_python, monkeypatch),
        env=trainers.environment(), capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    assert same(learnt(tmp_path), learnt(whole))
    assert [episodes(tmp_path, process) for process in (0, 1)] == [UPDATES, UPDATES]


def test_one_process_sees_one_gpu(tmp_path):
    assert trainers.environment({})["CUDA_VISIBLE_DEVICES"] == "0"
    assert trainers.environment({"CUDA_VISIBLE_DEVICES": "3"})["CUDA_VISIBLE_DEVICES"] == "3"
    assert "CUDA_VISIBLE_DEVICES" not in trainers.environment({}, tmp_path / "4-gpus.yaml")


def test_a_dry_run_builds_the_trainer_and_one_batch(tiny, tmp_path, capsys):
    assert grpo(tmp_path, tiny, "--dry-run", "--accelerate", "1-gpu") == 0
    assert "built the trainer and one batch; its loss is" in capsys.readouterr().err
    assert not run_files.runs_folder(tmp_path).exists()


def test_a_dry_run_of_sft_stores_nothing(tiny, tmp_path, capsys):
    assert train(tmp_path, "sft", "pantry", "--model", str(tiny), "--walkthrough", "--dry-run") == 0
    assert "built the trainer and one batch; its loss is" in capsys.readouterr().err
    assert not run_files.runs_folder(tmp_path).exists()


def test_sft_learns_from_a_solution_and_says_so(tiny, tmp_path):
    assert train(tmp_path, "sft", "pantry", "--model", str(tiny), "--walkthrough", "--epochs", "1", "--sft-batch", "16",
                 "--train-threads", "1", "--name", "run") == 0  # fmt: skip
    run = runs.load(tmp_path, "run")
    data = json.loads((run.folder / "manifest.json").read_text())["data"]
    assert data["walkthroughs"] is True
    assert data["provenance"] == {"walkthrough": data["decisions"]}
    assert run.updates[0].loss is not None
