"""Opens a story in Jericho. Runs in the worker process only."""

from __future__ import annotations

from typing import Any


def load_library() -> Any:
    """Return Jericho's interpreter, loaded for one story.

    Jericho does this whenever it opens a story, by way of a temporary folder. A confined process cannot do it.
    """
    from jericho import jericho

    return jericho._load_frotz_lib()


def open_quickly(story: str, library: Any) -> Any:
    """Open a story without Jericho's work on command templates, which takes longer than all the rest.

    Jericho does that work whenever a story is opened. Nothing here needs it, but for stories whose grammar
    cannot be read, and those have it done later. A `library` that is given is not loaded again.
    """
    from jericho import jericho

    generator, loader = jericho.TemplateActionGenerator, jericho._load_frotz_lib
    jericho.TemplateActionGenerator = lambda bindings: None
    if library is not None:
        jericho._load_frotz_lib = lambda: library
    try:
        return jericho.FrotzEnv(story, seed=1)
    finally:
        jericho.TemplateActionGenerator, jericho._load_frotz_lib = generator, loader
