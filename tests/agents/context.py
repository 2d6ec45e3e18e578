"""What an agent is made with, without a session: a model that writes what it is told to, records in a list.

And methods that exist for a test alone.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from engine.agents.base import AgentContext
from engine.llm.model import Question, Reply
from engine.records import Kept, ModelCall
from engine.settings import Settings


class Notes:
    """A notebook in memory."""

    def __init__(self) -> None:
        self.kept: list[Kept] = []

    def add(self, kind: str, text: str, data: Any = None) -> Kept:
        record = Kept(kind, text, data or {}, uid=str(len(self.kept)))
        self.kept.append(record)
        return record

    def records(self, kind: str = "") -> tuple[Kept, ...]:
        return tuple(one for one in self.kept if kind in ("", one.kind))


def context(prior: Any, memory: Any, settings: Settings, reply: str = "") -> AgentContext:
    """Return a context in which every call is answered with `reply`."""

    def write(question: Question) -> Reply:
        return Reply(reply, ModelCall(question.purpose, "m", str(question.messages), reply))

    return AgentContext(prior, memory, settings, write, Notes())


def registered(monkeypatch: Any, *methods: Any) -> None:
    """Let these methods be found, as if an installed package declared them as entry points."""
    found = [SimpleNamespace(name=one.name, value="tests", load=lambda one=one: one) for one in methods]
    monkeypatch.setattr("engine.registry.entry_points", lambda *, group: found if group == "jitrl.agents" else ())
