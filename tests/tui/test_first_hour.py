"""The tutorial docs/first-hour.md: the commands on the page are run in order, and do what the page says."""

from __future__ import annotations

import os
import re
import subprocess
from pathlib import Path

import pytest

from tests import commands

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "first-hour.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def hour(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[str]]:
    """Run the commands of the page; return the folder they ran in, and what each block printed."""
    folder = tmp_path_factory.mktemp("hour")
    (folder / "bin").mkdir()
    program = commands.program(folder / "bin")
    env = {name: value for name, value in os.environ.items() if not name.startswith("JITRL_")}
    env |= {
        "PATH": f"{program.parent}{os.pathsep}{env['PATH']}",
        "PYTHONPATH": str(ROOT),
        "JITRL_SAVES": str(folder / "saves"),
    }
    printed = []
    for block in re.findall(r"^```sh\n(.*?)^```", PAGE, re.DOTALL | re.MULTILINE):
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", block], cwd=folder, env=env, stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=300, check=False,
        )  # fmt: skip
        assert done.returncode == 0, f"{block}\n{done.stderr}"
        printed.append(done.stdout + done.stderr)
    return folder, printed


def test_the_agent_learns_what_the_page_says(hour):
    _, (watched, run, stats, *_) = hour
    assert watched.count("\nEpisode ") == 6  # three begin, three end
    assert watched.count("\nWhy: ") == watched.count("\nAgent: > ")
    assert "episode 10/10: 14/14" in run
    assert re.search(r"episodes\W+13\b", stats) is not None, stats


def test_a_person_overrules_and_asks_about_the_waiting_decision(hour):
    _, (_, _, _, overruled, asked, mapped, hinted, _) = hour
    assert "You: > take pork chop" in overruled
    assert "Taken back: " in overruled
    assert "Why: " in asked
    assert ", chosen" in asked
    assert "You are here. Kitchen: " in mapped
    assert "[Kitchen]" in mapped
    assert "Hint 1 of " in hinted
    assert "Hint 2 of " in hinted
    assert "Note, episode 1, step 0: the stove is in the kitchen" in hinted


def test_the_story_is_written_with_the_notes(hour):
    folder, _ = hour
    assert "**Note:** the stove is in the kitchen" in (folder / "story.md").read_text(encoding="utf-8")
