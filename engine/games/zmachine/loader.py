"""Opens a story in Jericho. Runs in the worker process only."""

from __future__ import annotations

from typing import Any

from engine.games.zmachine.characters import Characters
from engine.games.zmachine.operations import Operations


def load_library() -> Any:
    """Return Jericho's interpreter, loaded for one story, with our operations as its attribute `operations`.

    Jericho does this whenever it opens a story, by way of a temporary folder. A confined process cannot do it.
    """
    from jericho import jericho

    library = jericho._load_frotz_lib()
    library.operations = Operations(library)
    return library


def open_quickly(story: str, library: Any) -> Any:
    """Open a story without Jericho's work on command templates, which takes longer than all the rest.

    Jericho does that work whenever a story is opened. Nothing here needs it, but for stories whose grammar
    cannot be read, and those have it done later. A `library` that is given is not loaded again.
    """
    from jericho import jericho

    library = library or load_library()
    generator, loader = jericho.TemplateActionGenerator, jericho._load_frotz_lib
    jericho.TemplateActionGenerator = lambda bindings: None
    jericho._load_frotz_lib = lambda: library
    try:
        return jericho.FrotzEnv(story, seed=1)
    finally:
        jericho.TemplateActionGenerator, jericho._load_frotz_lib = generator, loader


def print_all(env: Any, characters: Characters) -> None:
    """Let a story print every character and no status line, from the next time that it is started."""
    library = env.frotz_lib
    library.operations.put(characters)
    setup = library.setup
    data = characters.data
    library.setup = lambda path, seed, rom, size: setup(path, seed, data, len(data))
