"""Starts training processes, and tells what they tell. jitrl's own side: nothing of torch is imported here."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sysconfig
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

from engine import children
from engine.errors import BadFile, GameError, JitrlError, MissingError, ModelError, StorageError, UsageError
from engine.texts import clipped
from engine.train import launch
from engine.train.run_files import JOB, TrainingJob

LOG = "log.txt"
"""File of a run with what the libraries print."""
_ERRORS = {
    kind.__name__: kind for kind in (UsageError, MissingError, GameError, BadFile, StorageError, ModelError)
}
_FURTHER = (
    "JITRL_", "CUDA_", "NVIDIA_", "NCCL_", "GLOO_", "HIP_", "HSA_", "ROCR_", "TORCH_", "PYTORCH_", "TRITON_", "OMP_",
    "MKL_", "OPENBLAS_", "HF_", "TRANSFORMERS_", "ACCELERATE_", "XDG_", "USER", "LOGNAME", "WANDB_MODE",
)  # fmt: skip
"""Variables of the libraries that train. It asks no model of others, so it gets no keys."""
STOPPED = 130
"""Exit code after Ctrl-C."""


def environment(
    variables: Mapping[str, str] = os.environ, accelerate: Path | None = None
) -> dict[str, str]:
    """Return the variables of a training process: it finds this project behind the packages of its environment.

    Without a configuration of accelerate it sees one GPU, the first one if the user names none: TRL refuses several in
    one process.
    """
    own = [
        str(Path(__file__).resolve().parents[2]),
        *(sysconfig.get_path(name) for name in ("purelib", "platlib")),
    ]
    given = {name: value for name, value in variables.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    ours = {
        launch.PATH: os.pathsep.join(dict.fromkeys(own)), launch.PYTHON: children.python()[0], "PYTHONUNBUFFERED": "1",
    }  # fmt: skip
    kept = children.environment(ours, _FURTHER, variables=given)
    return kept if accelerate else {"CUDA_VISIBLE_DEVICES": "0", **kept}


def command(python: Path, job: Path, accelerate: Path | None) -> list[str]:
    """Return the command of a training process.

    Args:
        python: Python of the training environment.
        job: File with the job.
        accelerate: Configuration file of accelerate for several processes or GPUs, None for one process.
    """
    script = [str(Path(launch.__file__)), str(job)]
    if accelerate is None:
        return [str(python), "-P", *script]
    return [str(python), "-P", "-m", "accelerate.commands.launch", "--config_file", str(accelerate), *script]


def configurations() -> dict[str, Path]:
    """Return the configuration files of accelerate that come with jitrl, by name."""
    folder = Path(str(files("engine.train"))) / "accelerate"
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def accelerate_file(name: str) -> Path | None:
    """Return the configuration file with this name or path; None for "".

    Raises:
        UsageError: There is none.
    """
    if not name:
        return None
    known = configurations()
    path = known.get(name, Path(name))
    if not path.is_file():
        raise UsageError(
            f"there is no configuration {name!r} of accelerate; choose {', '.join(known)}, or a file"
        )
    return path


def train(python: Path, job: TrainingJob, accelerate: Path | None, tell: Callable[[str, Any], None]) -> int:
    """Start the training process of a job and wait for its end.

    On Ctrl-C it ends after the running update, with a checkpoint; at the second Ctrl-C at once.

    Args:
        python: Python of the training environment.
        job: The job, which is in its folder already.
        accelerate: As in `command`.
        tell: Called with what it tells, see `engine.train.work`.

    Returns:
        0, or 130 if the user stopped it.

    Raises:
        JitrlError: It failed.
    """
    folder = Path(job.folder)
    with (folder / LOG).open("ab") as log:
        process = children.start(
            "training", command(python, folder / JOB, accelerate), environment(accelerate=accelerate),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
            start_new_session=True,  # Ctrl-C reaches us alone
        )  # fmt: skip
        last: tuple[str, Any] = ("", None)
        stopping = _Stopping(process, tell)
        try:
            with stopping:
                for name, value in _lines(process):
                    if name == "process":
                        stopping.add(int(value))
                        continue
                    last = (name, value)
                    if name in ("say", "update"):
                        tell(name, value)
                code = process.wait()
        finally:
            if process.poll() is None:
                stopping.kill()
                process.wait()
    if last[0] == "failed":
        raise _error(last[1])
    if last[0] == "done":
        return STOPPED if last[1].get("stopped") else 0
    if code in (STOPPED, -signal.SIGTERM) or stopping.asked > 1:  # a launcher has a code of its own
        return STOPPED
    raise GameError(_death(code, folder / LOG))


class _Stopping:
    """Passes SIGINT on as a wish to stop, to the processes that train. accelerate's launcher does not pass it on.

    Args:
        process: The process that was started: the one that trains, or a launcher.
        tell: As in `train`.

    Attributes:
        asked: How often the user asked.
    """

    def __init__(self, process: subprocess.Popen[bytes], tell: Callable[[str, Any], None]) -> None:
        self._process, self._tell = process, tell
        self._training: list[int] = []
        self.asked = 0

    def add(self, pid: int) -> None:
        """Add a process that trains. It hears of what was wished before."""
        self._training.append(pid)
        if self.asked:
            os.kill(pid, signal.SIGTERM)

    def kill(self) -> None:
        """End all at once."""
        self._send(signal.SIGKILL, (*self._training, self._process.pid))

    def __enter__(self) -> None:
        self._before = signal.signal(signal.SIGINT, self._ask)

    def __exit__(self, *_: object) -> None:
        signal.signal(signal.SIGINT, self._before)

    def _ask(self, number: int, frame: Any) -> None:
        self.asked += 1
        if self.asked == 1:
            self._tell(
                "say",
                "stopping after this update; Ctrl-C again stops at once and goes back to the last checkpoint",
            )
        self._send(signal.SIGTERM, self._training or (self._process.pid,))

    def _send(self, number: int, pids: Sequence[int]) -> None:
        if self._process.poll() is None:  # afterwards, the numbers may be those of other processes
            for pid in pids:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, number)


def _lines(process: subprocess.Popen[bytes]) -> Iterator[tuple[str, Any]]:
    assert process.stdout is not None
    for line in process.stdout:
        try:
            found = json.loads(line)
            yield next(iter(found.items()))
        except (ValueError, AttributeError, StopIteration):
            continue  # not one of ours


def _error(fields: Mapping[str, Any]) -> JitrlError:
    return _ERRORS.get(str(fields.get("kind")), ModelError)(str(fields.get("message")))


def _death(code: int, log: Path) -> str:
    """Return how a process ended that told no end."""
    how = f"was killed by signal {-code}" if code < 0 else f"ended with code {code}"
    more = "; the system may have had too little memory" if code == -signal.SIGKILL else ""
    try:
        lines = log.read_text(errors="replace").strip().splitlines()
    except OSError:
        lines = []
    last = f": {clipped(lines[-1], 300)}" if lines and code >= 0 else ""
    return f"the training process {how}{last}{more}; the whole log is {log}; the same command goes on"
