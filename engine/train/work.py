"""The training process: does one job, and tells of it in lines of JSON on stdout.

The first SIGINT or SIGTERM ends it after the running update, with a checkpoint. The second one ends it at once.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

from engine.codec import from_plain
from engine.disk import read_text
from engine.errors import JitrlError
from engine.texts import clipped
from engine.train.run_files import TrainingJob

Tell = Callable[[str, Any], None]
"""Tells one thing: its name ("process", "say", "update", "done", "failed") and its value."""


class StopRequest:
    """Whether the user wants training to end."""

    def __init__(self) -> None:
        self.stop = False

    def __call__(self) -> bool:
        """Return whether training should end."""
        return self.stop

    def signalled(self, number: int, frame: Any) -> None:
        """End after this update; at the second time, end now."""
        if self.stop:
            os._exit(130)
        self.stop = True


def work(path: str) -> int:
    """Do the job in a file; return the exit code, 0 if it was stopped."""
    for name, value in (
        ("HF_HUB_OFFLINE", "1"), ("TRANSFORMERS_OFFLINE", "1"), ("HF_HUB_DISABLE_TELEMETRY", "1"),
        ("TRL_EXPERIMENTAL_SILENCE", "1"), ("TOKENIZERS_PARALLELISM", "false"),
        ("ACCELERATE_MIXED_PRECISION", "no"),  # from a configuration of accelerate; the setting `precision` decides
    ):  # fmt: skip
        os.environ[name] = value
    os.environ.setdefault("WANDB_MODE", "disabled")
    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", buffering=1, encoding="ascii")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print must not get among the lines
    main_process = os.environ.get("RANK", "0") == "0"

    def tell(name: str, value: Any) -> None:
        if main_process or name in ("process", "failed"):
            out.write(json.dumps({name: value}) + "\n")

    wish = StopRequest()
    signal.signal(signal.SIGINT, wish.signalled)
    signal.signal(signal.SIGTERM, wish.signalled)
    tell("process", os.getpid())
    try:
        job = from_plain(TrainingJob, json.loads(read_text(Path(path))))
        tell("say", "loading the trainer")
        import_module(f"engine.train.run_{job.kind}").run(job, tell, wish)
    except JitrlError as error:
        tell("failed", {"message": str(error), "kind": type(error).__name__})
        return error.exit_code
    except Exception as error:  # of a library: its traceback is in the log
        traceback.print_exc()
        tell("failed", {"message": f"training failed: {type(error).__name__}: {clipped(str(error), 500)}", "kind": ""})
        return 1
    tell("done", {"stopped": wish.stop})
    return 0  # also if it was stopped: a launcher takes another code for a failure and ends the other processes
