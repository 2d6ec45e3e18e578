"""The prompts of one whole episode on a local site under the profile `paper`, against a golden file.

`python -m tests.web.test_golden_web` writes the file anew.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from pathlib import Path

import pytest

from engine.records import EpisodeEnded, SessionStarted
from engine.web.sites.manager import Sites
from tests.llm.scripted import golden
from tests.llm.test_golden import FOLDER, accounted, episode

NAME, TASK, STEPS = "web-local-3-paper.txt", "web:local-3", 4


def played(saves: Path):
    with Sites(saves) as sites:
        (status,) = sites.up(("fossil",), stay=False)
        assert status.state == "up", status.note
        scripted, events = episode(saves, TASK, "web", step_limit=STEPS)
        return scripted, events, status.port


def told(scripted, port: int) -> str:
    """Return the calls without what differs between runs: the port, times, ages, a countdown, the size of pictures."""
    text = golden(scripted.calls).replace(f"127.0.0.1:{port}", "127.0.0.1:PORT")
    text = re.sub(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d", "TIME", text)
    text = re.sub(r"[\d.]+ (years|days|hours|minutes)\b", "AGE", text)
    text = re.sub(r"in about [\d.]+s by Fossil .*", "in no time", text)
    text = re.sub(r"(losing edits\?) \[\d+\]", r"\1 [SECONDS]", text)
    return re.sub(r"\[picture, [\d,]+ characters\]", "[picture]", text)


@pytest.mark.skipif(shutil.which("fossil") is None, reason="apt install fossil")
def test_a_local_task_as_the_paper_has_it(tmp_path, browser_path, shared_browser):
    scripted, events, port = played(tmp_path)
    kinds = accounted(scripted, events)
    assert kinds["web_actions"] == STEPS
    assert kinds["web_rewards"] == 1 + 1  # one of the writing test
    assert kinds["web_history"] >= 1
    pictures = [body for kind, body, _ in scripted.calls if isinstance(body["messages"][-1]["content"], list)]
    assert len(pictures) == kinds["web_history"]  # shown to nobody else
    (started,) = [e for e in events if isinstance(e, SessionStarted)]
    assert started.settings["rewards"] == "llm"
    (ended,) = [e for e in events if isinstance(e, EpisodeEnded)]
    assert ended.rewards == (1.0,) * STEPS  # the model's word alone
    assert told(scripted, port) == (FOLDER / NAME).read_text(encoding="utf-8")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        made, _, at = played(Path(folder))
        (FOLDER / NAME).write_text(told(made, at), encoding="utf-8")
