"""Writes sessions as logs of Inspect (inspect_ai): a `.eval` file, or the same as JSON.

A session is one evaluation with one sample, the game. Each finished episode is an epoch of it: what was shown are the
messages of the user, what was done those of the assistant, and the score is that of the environment.
"""

from __future__ import annotations

import io
import json
import zipfile
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from engine.disk import printable, replace_file
from engine.errors import UsageError
from engine.records import EpisodeEnded, SessionStarted
from engine.session import recording
from engine.session.recorded_steps import RecordedEpisode, SessionReader

FORMS = (".eval", ".json")
_VERSION = 2
"""Number of the format of Inspect's logs."""
_SCORER = "environment"


def save(source: Path, target: Path) -> int:
    """Write the log of a recording; return the number of its episodes.

    Raises:
        UsageError: No episode has ended, or the name of the file ends otherwise.
        BadFile: The recording is damaged.
        StorageError: The file cannot be written; an existing one is unchanged.
    """
    if target.suffix not in FORMS:
        raise UsageError(f"a log of Inspect ends with {' or '.join(FORMS)}, not {printable(target)}")
    read = SessionReader()
    samples = [_sample(read, past, past.ended) for past in read.episodes(recording.read(source)) if past.ended]
    if read.started is None or not samples:
        raise UsageError(f"no episode of {printable(source)} has ended, so there is nothing to write")
    log = _header(read, read.started, samples)
    content = _packed(log, samples) if target.suffix == ".eval" else _text({**log, "samples": samples}).encode()
    replace_file(target, content)
    return len(samples)


def _sample(read: SessionReader, past: RecordedEpisode, end: EpisodeEnded) -> dict[str, Any]:
    """Return an episode as Inspect writes a sample."""
    assert read.started is not None
    name, beginning = f"{read.started.session}-{end.episode}", past.started.observation.text
    messages = [_message(name, 0, "user", beginning)]
    changes = [
        {"step": one.step if one.episode == end.episode else 0, "settings": dict(one.settings)}
        for one in past.changes
    ]
    for step in past.steps:
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
        "started_at": _time(past.began_at),
        "completed_at": _time(past.ended_at),
        "total_time": end.wall_s,
        "uuid": _id(name),
        "attachments": {},
    }  # fmt: skip


def _header(read: SessionReader, started: SessionStarted, samples: list[dict[str, Any]]) -> dict[str, Any]:
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


def _usage(model: str, past: RecordedEpisode) -> dict[str, dict[str, int]]:
    """Return the tokens of an episode by model; nothing where no model was asked."""
    calls = [call for step in past.steps for call in step.decision.calls]
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
