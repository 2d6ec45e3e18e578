"""Other folders called `engine` and `jitrl_tui` come first on the path; jitrl and its processes use their own."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

JITRL = str(Path(sys.executable).with_name("jitrl"))
RUN = ("run", "pantry", "--model", "prior/verbs", "--episodes", "1", "--steps", "3", "--quiet")
BENCH = ("bench", "quick", "--tasks", "pantry", "--arms", "Random", "--seeds", "1", "--episodes", "1",
         "--steps", "2")  # fmt: skip


def played(folder: Path, names: tuple[str, ...], *command: str) -> subprocess.CompletedProcess[str]:
    """Run a command in a folder, and with it on PYTHONPATH, that has other packages of these names."""
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text("raise SystemExit('the wrong folder was imported')\n")
    return subprocess.run(
        [command[0], *command[1:], "--saves", str(folder / "saves")], cwd=folder, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": str(folder)}, stdin=subprocess.DEVNULL, timeout=300, check=False,
    )  # fmt: skip


def test_the_command_and_its_processes_use_their_own(tmp_path: Path) -> None:
    done = played(tmp_path, ("engine", "jitrl_tui"), JITRL, *BENCH)
    assert (done.returncode, "wrong folder" in done.stderr) == (0, False), done.stderr


def test_so_does_the_module_that_starts_it(tmp_path: Path) -> None:
    done = played(tmp_path, ("engine",), sys.executable, "-m", "jitrl_tui.cli", *RUN)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("below", ["", "lib/python3.8/site-packages"])
def test_packages_of_another_python_are_one_sentence(tmp_path: Path, below: str) -> None:
    folder = tmp_path / below
    (folder / "numpy").mkdir(parents=True)
    (folder / "numpy" / "__init__.py").write_text("raise ImportError('of another Python\\nand more')\n")
    done = played(folder, (), JITRL, *RUN)
    assert (done.returncode, done.stderr.count("\n"), done.stderr.count("PYTHONPATH")) == (3, 1, 1), done.stderr
    assert (f"{folder} is on the path" in done.stderr) == bool(below)
