"""The tour of docs/compare.md: the package on the page is built, and the commands on the page compare it."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from tests import packages
from tests.commands import run

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "compare.md").read_text(encoding="utf-8")
FEW = ("--seeds", "1", "--episodes", "2", "--steps", "20")
RUN = Path("bench") / "mine"


@pytest.fixture(scope="module")
def tour(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Write the files of the page, install the package into a folder, and give the commands with few episodes.

    Returns:
        The saves folder, and what each command printed.
    """
    folder = tmp_path_factory.mktemp("tour")
    files = re.findall(r"^`([\w./]+)`\n\n```\w+\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
    assert [name for name, _ in files] == ["my_method/gains.py", "pyproject.toml", "mine.toml"]
    (folder / "my_method").mkdir()
    (folder / "my_method" / "__init__.py").touch()
    for name, text in files:
        (folder / name).write_text(text, encoding="utf-8")
    lines = [line for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE)
             for line in block.splitlines()]  # fmt: skip
    assert lines[0] == "pip install --no-deps ."
    packages.installed(folder, folder)
    saves = folder / "saves"
    return saves, [given(line, folder, saves) for line in lines[1:]]


def given(line: str, folder: Path, saves: Path) -> str:
    """Give a command of the page with the installed package; return what it prints."""
    program, *words = shlex.split(line)
    assert program == "jitrl"
    path = os.pathsep.join(filter(None, (str(folder / "site"), str(ROOT), os.environ.get("PYTHONPATH"))))
    done = run(
        [sys.executable, "-m", "jitrl_tui.cli", *words, "--saves", str(saves), *(FEW if "run" in words else ())],
        cwd=folder, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout + done.stderr


def episodes(saves: Path, arm: str) -> list[dict[str, Any]]:
    """Return the episodes of an arm."""
    lines = (saves / RUN / "episodes.jsonl").read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["arm"] == arm]


def test_the_commands_check_play_and_report_the_new_agent(tour):
    saves, (checked, played, reported) = tour
    assert "3 cells, 6 episodes" in checked
    for printed in (played, reported):
        for heading in ("Results", "Differences to Static"):
            assert re.search(rf"^#+ {heading}$[^#]*^\| Gains \| \S*\d", printed, re.MULTILINE)
    assert (saves / RUN / "report" / "report.html").is_file()


def test_the_report_has_the_mean_of_the_new_agents_scores(tour):
    saves, (_, _, reported) = tour
    scores = [row["score"] for row in episodes(saves, "Gains")]
    assert len(scores) == 2
    row = re.search(r"^\| Gains \| \**(-?[\d.]+)", reported, re.MULTILINE)
    assert row is not None
    assert float(row[1]) == pytest.approx(sum(scores) / len(scores), abs=0.051)


def test_the_new_agent_differs_from_static_only_after_it_learnt(tour):
    saves, _ = tour
    ours, static = (
        {(row["seed"], row["episode"]): row["scores"] for row in episodes(saves, arm)} for arm in ("Gains", "Static")
    )
    assert ours.keys() == static.keys()
    assert all(ours[at] == static[at] for at in ours if at[1] == 1)
    assert any(ours[at] != static[at] for at in ours if at[1] > 1)
