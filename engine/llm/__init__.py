"""Language models: models that litellm can call, model files that run in this process, and priors without a model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from engine.errors import UsageError
from engine.llm.listed import check_name
from engine.llm.questions import TEXT_ASKING, Asking
from engine.settings import Settings

if TYPE_CHECKING:
    from engine.llm.model import Model

__all__ = ["check_name", "open_model"]


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
        name: `local/smollm2`, another `local/NAME`, `local:/path/to/file.gguf`, `prior/uniform`,
            `prior/verbs`, any name that litellm knows, or two names joined by `+` for their mixture.
        cache: Folder for replies and joined weights; None to store nothing.
        on_progress: Called with a short phrase when something slow begins.
        keep: Whether replies are stored in `cache` and read from there.
        asking: How it is asked for actions in this kind of environment.

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
    from engine.llm.model_factory import open_local, open_remote

    if name.startswith(("local/", "local:")):
        return open_local(name, settings, cache, on_progress or (lambda text: None), keep=keep, asking=asking)
    return open_remote(name, settings, cache, keep=keep, asking=asking)
