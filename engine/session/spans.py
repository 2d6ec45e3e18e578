"""Writes sessions as spans of OpenTelemetry (OTLP as JSON) with the attributes of OpenInference.

Each episode is a trace: the agent's span holds one for each step, and that has the calls of the model and the action.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

from engine.disk import printable, replace_file
from engine.errors import UsageError
from engine.records import (
    Decided,
    EpisodeEnded,
    EpisodeStarted,
    ModelCall,
    ModelCalled,
    SessionStarted,
    Stepped,
    TakenBack,
)
from engine.session import recording


def save(source: Path, target: Path) -> int:
    """Write the spans of a recording; return their number.

    Raises:
        UsageError: No episode has begun.
        BadFile: The recording is damaged.
        StorageError: The file cannot be written; an existing one is unchanged.
    """
    spans = list(_spans(source))
    if not spans:
        raise UsageError(f"no episode of {printable(source)} has begun, so there is nothing to write")
    resource = {"attributes": _attributes({"service.name": "jitrl"})}
    content = {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "jitrl"}, "spans": spans}]}]}
    replace_file(target, json.dumps(content, indent=1).encode())
    return len(spans)


def _spans(source: Path) -> Iterator[dict[str, Any]]:
    """Yield the spans. What happened in an episode comes before the span of the episode."""
    started: SessionStarted | None = None
    episode: _Trace | None = None
    for at, event in recording.read(source):
        if isinstance(event, SessionStarted):
            started = started or event
        elif isinstance(event, EpisodeStarted) and started is not None:
            if episode is not None:
                yield episode.episode_span()
            episode = _Trace(started, event, at)
        elif episode is not None:
            yield from episode.spans_of(at, event)
    if episode is not None:
        yield episode.episode_span()


class _Trace:
    """The spans of one episode."""

    def __init__(self, session: SessionStarted, started: EpisodeStarted, at: float) -> None:
        self._session, self._started, self._uid = session, started, started.uid or f"{session.session} {at}"
        self._began = self._last = at
        self._root, self._count = self._id("episode"), 0
        self._decided: tuple[float, Decided] | None = None
        self._shown = started.observation.text
        self._ended: EpisodeEnded | None = None

    def spans_of(self, at: float, event: object) -> Iterator[dict[str, Any]]:
        """Yield the spans that end with an event."""
        if isinstance(event, ModelCalled):
            yield self._call(event.call, at, self._root)
        elif isinstance(event, Decided) and self._decided is None:
            self._decided = at, event
        elif isinstance(event, Stepped):
            step = self._id(f"step {self._count}")
            chosen, calls = at, tuple[ModelCall, ...]()
            if self._decided is not None:
                chosen, calls = self._decided[0], self._decided[1].decision.calls
            end = chosen
            for call in reversed(calls):
                yield self._call(call, end, step)
                end -= call.latency_s
            took = {"tool.name": "action", "input.value": event.action, "output.value": event.observation.text}
            yield self._span("action", "TOOL", chosen, at, took, step)
            whole = {
                "input.value": self._shown, "output.value": event.action, "jitrl.reward": event.reward,
                "jitrl.score": event.observation.score, "jitrl.provenance": event.provenance,
            }  # fmt: skip
            began = min(self._last, end)
            yield self._span(f"step {event.step}", "CHAIN", began, at, whole, self._root, step)
            self._decided, self._shown = None, event.observation.text
        elif isinstance(event, EpisodeEnded):
            self._ended = event
        elif isinstance(event, TakenBack):
            self._decided, self._shown = None, event.observation.text
        if not isinstance(event, (Decided, ModelCalled)):
            self._last = at

    def episode_span(self) -> dict[str, Any]:
        """Return the span of the episode."""
        session, ended = self._session, self._ended
        said: dict[str, Any] = {
            "session.id": session.session, "agent.name": session.agent, "input.value": self._started.observation.text,
            "output.value": self._shown, "jitrl.episode": self._started.episode, "jitrl.seed": self._started.seed,
        }  # fmt: skip
        if ended is not None:
            said |= {"jitrl.score": ended.score, "jitrl.outcome": ended.outcome}
        name = f"{session.environment.name} {self._started.episode}"
        return self._span(name, "AGENT", self._began, self._last, said, "", self._root)

    def _call(self, call: ModelCall, end: float, parent: str) -> dict[str, Any]:
        said = {
            "llm.model_name": call.model, "input.value": call.prompt, "output.value": call.reply,
            "llm.token_count.prompt": call.prompt_tokens, "llm.token_count.completion": call.completion_tokens,
            "llm.token_count.total": call.prompt_tokens + call.completion_tokens, "jitrl.cached": call.cached,
        }  # fmt: skip
        if call.cost_usd is not None:
            said["llm.cost.total"] = call.cost_usd
        return self._span(call.purpose, "LLM", end - call.latency_s, end, said, parent)

    def _span(
        self, name: str, kind: str, start: float, end: float, said: dict[str, Any], parent: str, made: str = ""
    ) -> dict[str, Any]:
        self._count += 1
        return {
            "traceId": sha256(self._uid.encode()).hexdigest()[:32], "spanId": made or self._id(f"span {self._count}"),
            **({"parentSpanId": parent} if parent else {}), "name": name, "kind": 1,
            "startTimeUnixNano": str(int(start * 1e9)), "endTimeUnixNano": str(int(end * 1e9)),
            "attributes": _attributes({"openinference.span.kind": kind, **said}), "status": {"code": 1},
        }  # fmt: skip

    def _id(self, name: str) -> str:
        return sha256(f"{self._uid} {name}".encode()).hexdigest()[:16]


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: object) -> dict[str, Any]:
    if isinstance(value, bool):
        return {"boolValue": value}
    if isinstance(value, int):
        return {"intValue": str(value)}
    return {"doubleValue": value} if isinstance(value, float) else {"stringValue": str(value)}
