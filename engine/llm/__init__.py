"""Language models: any of litellm's, files run in this process, or none at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import UsageError
from engine.llm.asking import TEXT_ASKING, Asking
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
    keep: bool = True,
    asking: Asking = TEXT_ASKING,
) -> Model:
    """Open a model by name. Blocks while weights load (a second or two for the embedded model).

    Args:
        name: `local/smollm2`, another `local/NAME`, `local:/path/to/file.gguf`, `prior/uniform`, `prior/verbs`, any
            name of litellm's, or two of them joined by `+`: their mixture.
        cache: Folder in which replies and joined weights are kept; None keeps none.
        on_progress: Told in short phrases what takes long.
        keep: Whether replies are kept in `cache` and taken from there.
        asking: How it is asked for actions in the kind of environment that is played.

    Raises:
        MissingError: The model, its runtime or a key is missing.
        UsageError: No such local model.
    """
    if "+" in name:
        from engine.llm.priors.mixture import Mixture

        parts = name.split("+")
        if len(parts) != 2 or not all(parts):
            raise UsageError(f"a mixture has two parts, for instance local/smollm2+prior/verbs, not {name!r}")
        first, second = (
            open_model(p, settings=settings, cache=cache, on_progress=on_progress, keep=keep, asking=asking)
            for p in parts
        )
        return Mixture(first, second, settings.mixture)
    if name.startswith("prior/"):
        from engine.llm.priors.wordless import open_prior

        return open_prior(name, asking)
    from engine.llm.opening import open_local, open_remote

    if name.startswith(("local/", "local:")):
        return open_local(name, settings, cache, on_progress or (lambda text: None), keep=keep, asking=asking)
    return open_remote(name, settings, cache, keep=keep, asking=asking)
