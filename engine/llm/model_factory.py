"""Builds models from their parts."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path

from engine.errors import BadFile, MissingError, UsageError
from engine.llm.calls import probes
from engine.llm.calls.client import ModelClient
from engine.llm.calls.client_factory import continues, limits_of, remote_client, reply_cache
from engine.llm.calls.gateway import Gateway
from engine.llm.calls.pace import Pace
from engine.llm.calls.server_models import look_up
from engine.llm.language import LanguageModel
from engine.llm.local import gguf, metadata, weights
from engine.llm.local.engine import LocalEngine
from engine.llm.questions import TEXT_ASKING, Asking
from engine.llm.reading.capability import best_reading
from engine.settings import Settings

SMALL = 700 * 2**20
"""Size in bytes of a model file. Smaller models continue a transcript better than they follow instructions."""


def open_local(
    name: str,
    settings: Settings,
    cache: Path | None,
    on_progress: Callable[[str], None],
    *,
    keep: bool = True,
    asking: Asking = TEXT_ASKING,
) -> LanguageModel:
    """Return a model that runs in this process.

    Raises:
        MissingError: Its file or the runtime is missing, or damaged.
        UsageError: No such local model.
    """
    path = weights.find(name, cache, on_progress)
    shown = -1

    def progress(share: float) -> bool:
        nonlocal shown
        if (step := int(share * 10)) > shown:
            shown = step
            on_progress(f"loading {name} ({step * 10} %)")
        return True

    known = weights.KNOWN.get(name)
    about = metadata.ModelMetadata()
    with contextlib.suppress(BadFile):  # the runtime tells better what is wrong with the file
        about = about if known else metadata.read(path)
    trained = about.values.get(metadata.SAMPLING) == metadata.CONSTRAINED
    small = path.stat().st_size < SMALL
    engine = _engine(path, cache if small else None, settings.threads or None, progress, constrained=trained)
    key = name.removeprefix("local/") if name.startswith("local/") else path.stem
    gateway = Gateway({key: engine})
    replies = reply_cache(cache if keep else None)
    client = ModelClient(
        name, f"local/{key}", engine.identity, gateway, replies, Pace(None, 0.0), limits_of(settings)
    )
    reading = settings.logits
    if reading == "auto":
        reading = best_reading(cache, name) or (known.reading if known else "string")
    after = known.scored_after if known else "actions_transcript" if small else "actions_listed"
    if trained and (prompt := str(about.values.get(metadata.PROMPT))) in asking.prompts.names:
        after = prompt
    model = LanguageModel(
        client, gateway, replies, settings, reading, engine, after, asking=asking, constrained=trained
    )
    on_progress(f"preparing {name}")
    model.warm(cache / "prefixes" if cache else None)
    return model


def _engine(
    path: Path, cache: Path | None, threads: int | None, progress: Callable[[float], bool], *, constrained: bool
) -> LocalEngine:
    """Load a model file, or the faster version of it that `gguf` makes in `cache`.

    Raises:
        MissingError: Missing, damaged, or there is no runtime for it.
    """
    if cache is not None:
        faster = for_speed(path, cache)
        if faster != path:
            try:
                return LocalEngine(faster, threads=threads, constrained=constrained, on_progress=progress)
            except MissingError:
                faster.unlink(missing_ok=True)  # damaged: it is made anew next time
    return LocalEngine(path, threads=threads, constrained=constrained, on_progress=progress)


def for_speed(path: Path, cache: Path) -> Path:
    """Return the path of the faster version of a model file in `cache`, or of the file itself."""
    return gguf.for_speed(path, cache / "models", f"{path.stem}-{weights.fingerprint(path)[:8]}")


def open_remote(
    name: str,
    settings: Settings,
    cache: Path | None,
    environment: Mapping[str, str] | None = None,
    *,
    keep: bool = True,
    asking: Asking = TEXT_ASKING,
) -> LanguageModel:
    """Return a model behind an API. Nothing is called yet, not even to find out its reading.

    Raises:
        UsageError: It does not support the reading that the settings demand.
    """
    if settings.logits == "string":
        raise UsageError(
            f"only local models can be read by string; {name} needs --logits token or verbalized"
        )
    gateway = Gateway()
    replies = reply_cache(cache if keep else None)
    client = remote_client(name, settings, cache, environment, gateway, replies, limits_of(settings))
    known = settings.logits if settings.logits != "auto" else best_reading(cache, name)
    if not known and continues(name):
        known = "verbalized"  # A probe in the form of a chat tells nothing of it.

    def probe(client: ModelClient) -> str:
        look_up(client, environment)
        return known or probes.reading(client, cache, settings.reply_tokens)

    return LanguageModel(
        client,
        gateway,
        replies,
        settings,
        known or "verbalized",
        probe=probe,
        asking=asking,
    )
