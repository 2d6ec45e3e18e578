"""Writes sessions as logs of Inspect (inspect_ai): a `.eval` file, or the same as JSON.

A session is one evaluation with one sample, the game. Each finished episode is an epoch of it: what was shown are the
messages of the user, what was done those of the assistant, and the score is that of the environment.
"""

from __future__ import annotations

import dataclasses
import io
import json
import zipfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from engine.disk import replace_file, shown
from engine.errors import UsageError
from engine.records import EpisodeEnded, EpisodeStarted, Event, SessionEnded, SessionStarted, SettingsChanged
from engine.session import recording
from engine.session.recorded_steps import Past, episodes

FORMS = (".eval", ".json")
_VERSION = 2
"""Number of the format of Inspect's logs."""
_SCORER = "environment"


@dataclasses.dataclass(slots=True)
class _Read:
    """What the events of a recording told besides its episodes."""

    started: SessionStarted | None = None
    first: float = 0.0
    last: float = 0.0
    finished: bool = False
    ends: dict[int, tuple[EpisodeEnded, float]] = dataclasses.field(default_factory=dict)
    begins: dict[int, float] = dataclasses.field(default_factory=dict)
    changes: dict[int, list[dict[str, Any]]] = dataclasses.field(default_factory=dict)
    """By episode: the settings that a person changed in it, each with the steps taken before."""


def save(source: Path, target: Path) -> int:
    """Write the log of a recording; return the number of its episodes.

    Raises:
        UsageError: No episode has ended, or the name of the file ends otherwise.
        BadFile: The recording is damaged.
        StorageError: The file cannot be written; an existing one is unchanged.
    """
    if target.suffix not in FORMS:
        raise UsageError(f"a log of Inspect ends with {' or '.join(FORMS)}, not {shown(target)}")
    read = _Read()
    samples = [_sample(read, past, *read.ends[past.started.episode]) for past in episodes(_session_events(source, read))
               if past.ended]  # fmt: skip
    if read.started is None or not samples:
        raise UsageError(f"no episode of {shown(source)} has ended, so there is nothing to write")
    log = _header(read, read.started, samples)
    content = _packed(log, samples) if target.suffix == ".eval" else _text({**log, "samples": samples}).encode()
    replace_file(target, content)
    return len(samples)


def _session_events(source: Path, read: _Read) -> Iterator[Event]:
    """Yield the events, and keep what is not in the episodes."""
    for at, event in recording.read(source):
        read.first, read.last = read.first or at, at
        if isinstance(event, SessionStarted):
            read.started = read.started or event
        elif isinstance(event, EpisodeStarted):
            read.begins[event.episode] = at
        elif isinstance(event, EpisodeEnded):
            read.ends[event.episode] = event, at
        elif isinstance(event, SettingsChanged):
            told = {"step": event.step, "settings": dict(event.settings)}
            read.changes.setdefault(max(1, event.episode), []).append(told)
        elif isinstance(event, SessionEnded):
            read.finished = event.finished
        yield event


def _sample(read: _Read, past: Past, end: EpisodeEnded, at: float) -> dict[str, Any]:
    """Return an episode as Inspect writes a sample."""
    assert read.started is not None
    name, beginning = f"{read.started.session}-{end.episode}", past.started.observation.text
    messages, changes = [_message(name, 0, "user", beginning)], read.changes.get(end.episode)
    for step in past.takes[-1].steps:
        messages.append(_message(name, len(messages), "assistant", step.decision.action, read.started.model))
        messages.append(_message(name, len(messages), "user", step.after.text))
    last = messages[-2] if len(messages) > 1 else _message(name, 1, "assistant", "", read.started.model)
    reason = "stop" if end.terminated else "max_tokens" if end.truncated else "unknown"
    return {
        "id": read.started.environment.name,
        "epoch": end.episode,
        "input": beginning,
        "target": "" if end.max_score is None else f"{end.max_score:g}",
        "messages": messages,
        "output": {
            "model": read.started.model, "choices": [{"message": last, "stop_reason": reason}],
            "completion": last["content"],
        },
        "scores": {_SCORER: {
            "value": end.score, "answer": last["content"], "explanation": end.outcome or None,
            "metadata": {"max_score": end.max_score}, "history": [],
        }},
        "metadata": {
            "seed": past.started.seed, "steps": end.steps, "outcome": end.outcome, "terminated": end.terminated,
            "truncated": end.truncated, "rewards": list(end.rewards), "returns": list(end.returns),
            "cost_usd": end.cost_usd, **({"settings_changed": changes} if changes else {}),
        },
        "store": {},
        "events": [],
        "model_usage": _usage(read.started.model, past),
        "role_usage": {},
        "started_at": _time(read.begins[end.episode]),
        "completed_at": _time(at),
        "total_time": end.wall_s,
        "uuid": _id(name),
        "attachments": {},
    }  # fmt: skip


def _header(read: _Read, started: SessionStarted, samples: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the log without its samples."""
    scores = [sample["scores"][_SCORER]["value"] for sample in samples]
    task, mean = _id(started.environment.name), sum(scores) / len(scores)
    try:
        packages = {"jitrl": version("jitrl")}
    except PackageNotFoundError:
        packages = {}
    usage: dict[str, int] = {}
    for sample in samples:
        for name, count in sample["model_usage"].get(started.model, {}).items():
            usage[name] = usage.get(name, 0) + count
    return {
        "version": _VERSION,
        "status": "success" if read.finished else "cancelled", "invalidated": False, "tags": [], "metadata": {},
        "eval": {
            "eval_id": _id(f"{started.session} eval"), "run_id": _id(f"{started.session} run"),
            "created": _time(read.first), "task": started.environment.name, "task_id": task, "task_version": 0,
            "task_attribs": {}, "task_args": {}, "task_args_passed": {},
            "solver": started.agent, "solver_args": {"profile": started.profile, "settings": dict(started.settings)},
            "dataset": {
                "name": started.environment.name, "samples": 1, "sample_ids": [started.environment.name],
                "shuffled": False,
            },
            "model": started.model, "model_generate_config": {}, "model_args": {},
            "config": {"epochs": len(samples), "message_limit": 2 * started.steps + 1},
            "packages": packages, "metadata": {"session": started.session, "seed": started.seed},
        },
        "plan": {"name": "plan", "steps": [{"solver": started.agent, "params": {}, "params_passed": {}}], "config": {}},
        "results": {
            "total_samples": len(samples), "completed_samples": len(samples),
            "scores": [{
                "name": _SCORER, "scorer": _SCORER, "params": {},
                "metrics": {
                    "mean": {"name": "mean", "value": mean, "params": {}},
                    "final": {"name": "final", "value": scores[-1], "params": {}},
                },
            }],
        },
        "stats": {
            "started_at": _time(read.first), "completed_at": _time(read.last),
            "model_usage": {started.model: usage} if usage else {}, "role_usage": {}, "connection_limit_history": [],
        },
    }  # fmt: skip


def _packed(log: Mapping[str, Any], samples: list[dict[str, Any]]) -> bytes:
    """Return the log as the archive that a `.eval` file is."""
    packed = io.BytesIO()
    summaries = [
        {name: sample[name] for name in ("id", "epoch", "input", "target", "scores", "uuid", "model_usage")}
        | {"completed": True, "message_count": len(sample["messages"])}
        for sample in samples
    ]
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        start = {name: log[name] for name in ("version", "eval", "plan")}
        archive.writestr("_journal/start.json", _text(start))
        for sample in samples:
            inner = str(sample["id"]).replace("/", "_")
            archive.writestr(f"samples/{inner}_epoch_{sample['epoch']}.json", _text(sample))
        archive.writestr("summaries.json", _text(summaries))
        archive.writestr("header.json", _text(log))
    return packed.getvalue()


def _message(sample: str, number: int, role: str, content: str, model: str = "") -> dict[str, Any]:
    made = {"id": _id(f"{sample} {number}"), "role": role, "content": content}
    return {**made, "source": "generate", "model": model} if role == "assistant" else made


def _usage(model: str, past: Past) -> dict[str, dict[str, int]]:
    """Return the tokens of an episode by model; nothing where no model was asked."""
    calls = [call for step in past.takes[-1].steps for call in step.decision.calls]
    if not calls:
        return {}
    sent, got = sum(call.prompt_tokens for call in calls), sum(call.completion_tokens for call in calls)
    return {model: {"input_tokens": sent, "output_tokens": got, "total_tokens": sent + got}}


def _text(plain: Any) -> str:
    return json.dumps(plain, indent=1)


def _time(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def _id(text: str) -> str:
    """Return an id of 22 digits that is the same whenever the same is exported."""
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:22]
