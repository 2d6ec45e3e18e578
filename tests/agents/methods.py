"""Sessions of methods that learn between episodes, with a scripted model behind a real server."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from engine.llm.calls.client import CallLimits
from engine.memory import Memory
from engine.records import Decided, Event, Kept
from engine.session import store as sessions
from engine.session.loop import Session
from engine.settings import SessionConfig, Settings
from tests.llm.scripted import Scripted, text_of
from tests.llm.server import Server
from tests.playing import run

PRICE = 120
"""Tokens that the server counts for each call."""


GAIN = {
    "if": r"REFERENCE ACTIONS:\*\*.*take pork chop",
    "reply": json.dumps({"option1": "take pork chop", "confidence1": 99, "option2": "go east", "confidence2": 1}),
}
"""A rule that takes the first point of The Pantry."""


@dataclass
class Lesson:
    """What a method writes after an episode, and where that is seen.

    Attributes:
        kind: Of the records.
        title: Of the basis.
        asks: Text that only its question to the model has; "" for a method that asks nothing.
        replies: Usable answers, one for each episode.
        shows: Texts of those answers that the next episode's prompts have.
    """

    kind: str
    title: str
    asks: str = ""
    replies: tuple[dict[str, Any], ...] = ()
    shows: tuple[str, ...] = ()

    def rules(self) -> list[dict[str, Any]]:
        return [*({"if": self.asks, "times": 1, "reply": json.dumps(reply)} for reply in self.replies), GAIN]


@dataclass
class Played:
    """A session that was played, and what was told of it."""

    session: Session
    saved: sessions.SavedSession
    events: list[Event] = field(default_factory=list)

    def only(self, kind: type) -> list[Any]:
        return [event for event in self.events if isinstance(event, kind)]

    def decisions(self, episode: int) -> list[Any]:
        return [event.decision for event in self.only(Decided) if event.episode == episode]


def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    """Yield a server that plays, and fails at once instead of trying again."""
    monkeypatch.setattr(
        "engine.llm.model_factory.limits_of",
        lambda settings: CallLimits(settings.deadline_s, attempts=1, first_wait_s=0.001),
    )
    running = Server()
    running.default = Scripted([])
    monkeypatch.setenv("OPENAI_API_BASE", running.base)
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with running.running():
        yield running


def play(
    saves: Path, agent: str, *, episodes: int = 2, steps: int = 5, saved: Any = None, on_event: Any = None,
    game: str = "pantry", **settings: Any,
) -> Played:  # fmt: skip
    """Play a session, or take one up again."""
    config = SessionConfig(
        game, agent, "openai/player", episodes, memory="shared",
        settings=Settings(step_limit=steps, logits="verbalized", **settings),
    )  # fmt: skip
    saved = saved or sessions.create(saves, config, "run")
    session, events = run(saved, saves, on_event)
    return Played(session, saved, events)


def prompts(server: Server, since: int = 0) -> list[str]:
    """Return the prompts for actions that were sent, as text."""
    texts = ["\n".join(map(text_of, body["messages"])) for body in server.requests[since:]]
    return [text for text in texts if "REFERENCE ACTIONS" in text]


def asked(server: Server, asks: str, since: int = 0) -> list[str]:
    """Return the prompts that have a text, other than those for actions."""
    texts = ["\n".join(map(text_of, body["messages"])) for body in server.requests[since:]]
    return [text for text in texts if asks in text and "REFERENCE ACTIONS" not in text]


def records(saves: Path, kind: str = "") -> list[Kept]:
    with Memory(saves / "memory") as memory:
        found = [record for name in memory.scopes() for record in memory.scope(name).records.all()]
    return [record for record in found if kind in ("", record.kind)]
