"""Sessions played by tests, with commands given when certain events come."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.records import Decided, Notice, TakenBack
from engine.session.loop import Session
from engine.session.store import SavedSession


def run(saved: SavedSession, saves: Path, on_event: Callable[[Session, Any], None] | None = None, **options: Any):
    """Run a session to its end and return it with its events; `on_event(session, event)` may command."""
    events: list[Any] = []

    def emit(event: Any) -> None:
        events.append(event)
        if on_event is not None:
            on_event(session, event)

    session = Session(saved, saves, emit, **options)
    session.run()
    return session, events


def only(events: list[Any], kind: type) -> list[Any]:
    """Return the events of one kind."""
    return [event for event in events if isinstance(event, kind)]


def taking_back(step: int) -> Callable[[Session, Any], None]:
    """Return an `on_event` that takes back what came before the decision of a step, once, and goes on."""
    done: list[Any] = []

    def command(session: Session, event: Any) -> None:
        if isinstance(event, Decided) and event.decision.step == step and not done:
            done.append(event)
            session.control.take_back()
        if isinstance(event, (TakenBack, Notice)):
            session.control.resume()

    return command
