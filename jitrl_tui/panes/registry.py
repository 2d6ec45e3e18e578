"""All panes of the watch screen: those of this project, and those of installed packages.

A package of your own adds a pane with an entry point in the group `jitrl.panes` that names a `PaneKind`:

    [project.entry-points."jitrl.panes"]
    repeats = "repeats_pane:KIND"
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from textual.content import Content

from engine.registry import Registry
from jitrl_tui.panes import candidates, curve, map, memory, page, picture, transcript, why
from jitrl_tui.widgets.lines import BAD, LinePane, wrap
from jitrl_tui.widgets.pane import PaneKind

PANES = Registry(
    "pane",
    PaneKind,
    "jitrl.panes",
    (
        transcript.KIND, candidates.KIND, why.KIND, memory.KIND, curve.KIND, page.PAGE, page.TREE, picture.KIND,
        map.KIND,
    ),
)
_NUMBERS = "1234567890"
"""Number keys of panes, in the order of the panes."""


class SentencePane(LinePane):
    """A pane with the reason why another pane could not be opened."""

    def __init__(self, sentence: str) -> None:
        super().__init__()
        self.sentence = sentence

    def build(self, width: int, height: int) -> Sequence[Content]:
        """Return the wrapped sentence."""
        return [Content.styled(line, BAD) for line in wrap(self.sentence, width)]


def kinds() -> tuple[PaneKind, ...]:
    """Return all panes with their numbers: those of this project, then those of packages, by name.

    If a package does not load, its pane shows the reason.
    """
    found = dict(PANES.all())
    for name, why_not in PANES.broken().items():
        found.setdefault(name, PaneKind(name, name, partial(SentencePane, why_not)))
    own = [kind.name for kind in PANES.built_in]
    names = [*own, *sorted(found.keys() - set(own))]
    return tuple(replace(found[name], number=_NUMBERS[at : at + 1]) for at, name in enumerate(names))
