"""The prompts of one whole episode under the profile `paper`, as a scripted model gets them, against a golden file.

A change of any prompt shows here, to be read. `python -m tests.llm.test_golden` writes the files anew.
"""

from __future__ import annotations

import os
import tempfile
from collections import Counter
from pathlib import Path

from engine.environments import profile
from engine.records import EpisodeEnded, SessionStarted
from engine.session import store as sessions
from engine.session.loop import Session
from engine.settings import SessionConfig
from tests.conftest import _games_folder
from tests.llm.scripted import Scripted, golden, text_of
from tests.llm.server import Server

FOLDER = Path(__file__).parent / "golden"
STEPS = 12


def episode(saves: Path, game: str, kind: str, games: Path | None = None, **changes) -> tuple[Scripted, list]:
    """Play one episode with the scripted player; return what it was asked, and the events."""
    scripted = Scripted([])
    server = Server()
    server.default = scripted
    events: list = []
    config = SessionConfig(
        game, "jitrl", "openai/player", 1, 1, "paper", profile("paper", kind, **changes),
        games=str(games) if games else None,
    )  # fmt: skip
    before = os.environ.get("OPENAI_API_BASE")
    with server.running():
        os.environ["OPENAI_API_BASE"] = server.base
        try:
            session = Session(sessions.create(saves, config, "run"), saves, events.append)
            session.run()
        finally:
            os.environ.pop("OPENAI_API_BASE")
            if before is not None:
                os.environ["OPENAI_API_BASE"] = before
    assert session.error is None
    return scripted, events


def compare(name: str, scripted: Scripted) -> None:
    written = (FOLDER / name).read_text(encoding="utf-8")
    assert golden(scripted.calls) == written, f"read what changed, then: python -m {__spec__.name}"


def accounted(scripted: Scripted, events: list) -> Counter[str]:
    """Return the calls by kind, after checking that the episode's account has all but those of the test before it."""
    (started,) = [e for e in events if isinstance(e, SessionStarted)]
    (ended,) = [e for e in events if isinstance(e, EpisodeEnded)]
    assert started.replaced == ()
    assert (ended.tally.missing, ended.tally.unjudged, ended.tally.unwritten) == (0, 0, 0)
    kinds = Counter(kind for kind, _, _ in scripted.calls)
    asked = [text_of(body["messages"][-1]) for _, body, _ in scripted.calls]
    tests = sum("Cellar\n" in text or "blue kettle" in text for text in asked)
    assert ended.tally.calls == len(scripted.calls) - tests + ended.tally.cached
    return kinds


def test_zork_as_the_paper_has_it(tmp_path, games_folder):
    scripted, events = episode(tmp_path, "zork1", "game", games_folder, step_limit=STEPS)
    kinds = accounted(scripted, events)
    assert kinds["actions"] == STEPS
    assert kinds["history"] == STEPS + 1  # one a step, and one of the writing test
    assert kinds["state"] <= STEPS + 2  # a situation seen before is not summarized again
    assert kinds["rewards"] == 1 + 1
    compare("zork1-paper.txt", scripted)


def test_a_shipped_game_as_the_paper_has_it(tmp_path):
    scripted, events = episode(tmp_path, "pantry", "game", step_limit=STEPS)
    kinds = accounted(scripted, events)
    assert kinds["actions"] <= STEPS  # with one valid action no model is asked
    compare("pantry-paper.txt", scripted)


def write() -> None:
    """Write the golden files of the games anew; the one of the web is written by tests/web/test_golden_web.py."""
    FOLDER.mkdir(exist_ok=True)
    for name, game in (("zork1-paper.txt", "zork1"), ("pantry-paper.txt", "pantry")):
        with tempfile.TemporaryDirectory() as folder:
            scripted, _ = episode(Path(folder), game, "game", _games_folder(), step_limit=STEPS)
            (FOLDER / name).write_text(golden(scripted.calls), encoding="utf-8")


if __name__ == "__main__":
    write()
