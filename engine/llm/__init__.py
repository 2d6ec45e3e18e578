"""Language models: any of litellm's, files run in this process, or none at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import MissingError
from engine.settings import Settings

if TYPE_CHECKING:
    from engine.llm.model import Model

__all__ = ["open_model"]


def open_model(
    name: str,
    *,
    settings: Settings,
    cache: Path | None,
    on_progress: Callable[[str], None] | None = None,
) -> Model:
    """Open a model by name. Blocks while weights load (a second or two for the embedded model).

    Args:
        name: `local/smollm2`, another `local/NAME`, `local:/path/to/file.gguf`, `prior/uniform`, or any name
            of litellm's.
        cache: Folder in which replies are kept; None keeps none.
        on_progress: Told in short phrases what takes long.

    Raises:
        MissingError: The model, its runtime or a key is missing.
        UsageError: No such local model.
    """
    if name == "prior/uniform":
        from engine.llm.priors import UniformModel

        return UniformModel()
    if name.startswith(("local/", "local:")):
        from engine.llm import weights
        from engine.llm.cache import Cache
        from engine.llm.local import LocalEngine
        from engine.llm.scored import ScoredModel

        path = weights.find(name, cache)
        shown = -1

        def progress(share: float) -> bool:
            nonlocal shown
            if on_progress and int(share * 20) > shown:
                shown = int(share * 20)
                on_progress(f"loading {name} ({share:.0%})")
            return True

        engine = LocalEngine(path, on_progress=progress)
        replies = Cache(cache / "replies.sqlite" if cache else None)
        return ScoredModel(name, engine, weights.fingerprint(path), settings, replies)
    raise MissingError(f"{name} cannot be used yet")
