"""The training environment: what it must have, what is missing in it, and how it is made when the user asks for it.

It is apart from jitrl's own environment: torch and its companions are large, and jitrl itself imports none of them.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from engine import children, waits
from engine.errors import GameError, MissingError
from engine.installer import run_logged
from engine.paths import ensure_folder
from engine.train.run_files import PYTHON, python_of, train_folder

PACKAGES = {
    "torch": "2.13.0",
    "transformers": "5.24.0",
    "trl": "1.16.0",
    "peft": "0.21.2",
    "accelerate": "1.15.0",
    "gguf": "0.19.0",
}
"""The packages and their exact versions; the extra `train`. Parts of TRL's trainer that we replace are not public."""
SIZE = "1.5 GB with torch for CPUs, several GB more with torch for GPUs"
INSTALL = f"jitrl train up --install ({SIZE})"
TIMEOUT_S = waits.TRAIN_INSTALL.seconds

_ASK = """
import importlib.metadata as m, json, sys
found = {}
for name in sys.argv[1:]:
    try:
        found[name] = m.version(name)
    except m.PackageNotFoundError:
        pass
print(json.dumps([list(sys.version_info[:2]), found]))
"""


@dataclass(frozen=True, slots=True)
class TrainingEnvironment:
    """What was found of a training environment.

    Attributes:
        python: Its Python.
        found: Versions by package.
        problem: Why it cannot be used, "" if it can.
    """

    python: Path
    found: dict[str, str]
    problem: str


def look(saves: Path) -> TrainingEnvironment:
    """Look at the training environment."""
    python = python_of(saves)
    if not python.is_file():
        return TrainingEnvironment(python, {}, f"there is no training environment; make it with: {INSTALL}")
    try:
        done = children.run(
            "the training environment", [str(python), "-I", "-c", _ASK, *PACKAGES], children.environment(),
            capture_output=True, text=True, timeout=waits.TRAIN_ASK.seconds,
        )  # fmt: skip
        version, found = json.loads(done.stdout)
    except (GameError, ValueError):
        return TrainingEnvironment(python, {}, f"{python} does not run; make the environment anew with: {INSTALL}")
    ours = list(sys.version_info[:2])
    if version != ours:
        return TrainingEnvironment(
            python,
            found,
            f"{python} is Python {version[0]}.{version[1]}, and jitrl runs on {ours[0]}.{ours[1]}; {PYTHON} must name "
            "an environment of the same version",
        )
    wrong = [
        f"{name} {wanted}"
        for name, wanted in PACKAGES.items()
        if found.get(name, "").partition("+")[0] != wanted
    ]
    problem = (
        f"the training environment lacks {', '.join(wrong)}; complete it with: {INSTALL}" if wrong else ""
    )
    return TrainingEnvironment(python, found, problem)


def ready(saves: Path) -> Path:
    """Return the Python of the training environment.

    Raises:
        MissingError: It cannot be used.
    """
    environment = look(saves)
    if environment.problem:
        raise MissingError(environment.problem)
    return environment.python


def install(saves: Path, say: Callable[[str], None]) -> Path:
    """Make or complete the environment with pip; return its Python.

    Args:
        saves: The saves folder.
        say: Called with short sentences about the progress.

    Raises:
        MissingError: The package index cannot be reached, or a package cannot be installed.
    """
    python = python_of(saves)
    log = ensure_folder(train_folder(saves)) / "install.log"
    say(f"the training environment takes {SIZE}")
    with log.open("w") as output:
        if not python.is_file():
            say(f"making {python.parent.parent}")
            run_logged(children.python("-m", "venv", str(python.parent.parent)), output, log, TIMEOUT_S)
        base = [str(python), "-P", "-m", "pip", "install", "--disable-pip-version-check"]
        # Torch first and by name: otherwise pip takes the newest one. With pip, because uv does not look for a build
        # without CUDA where one is offered.
        say(f"installing torch {PACKAGES['torch']}")
        run_logged([*base, f"torch=={PACKAGES['torch']}"], output, log, TIMEOUT_S)
        rest = [f"{name}=={version}" for name, version in PACKAGES.items() if name != "torch"]
        say(f"installing {', '.join(rest)}")
        run_logged([*base, *rest], output, log, TIMEOUT_S)
    return python
