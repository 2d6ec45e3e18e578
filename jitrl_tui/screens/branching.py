"""The dialog that begins a branch: where it begins, and which memory it uses."""

from __future__ import annotations

from textual.content import Content

from jitrl_tui.screens.dialogs import PickDialog
from jitrl_tui.widgets.lines import MUTED, STRONG

OWN, SHARED = "own memory", "shared memory"


class BranchDialog(PickDialog):
    """Asks which memory a branch uses. Answers are `OWN` and `SHARED`.

    Args:
        episode: Episode of the branch.
        step: Number of steps before it, which is the number of the step it begins with, from 0.
    """

    def __init__(self, episode: int, step: int) -> None:
        super().__init__(
            "branch",
            f"A new session goes on from before step {step + 1} of episode {episode}. It begins paused there; this "
            "session stays as it is. Which memory does it use?",
            "own or shared",
        )

    def options(self, typed: str) -> list[tuple[str, Content]]:
        """Return the two memories, the branch's own one first."""
        rows = [
            (OWN, "a copy as memory was at this step; nothing else learns from it"),
            (SHARED, "that of this session, as it is now; it learns from the branch"),
        ]
        return [
            (name, Content.assemble(("  " + name, STRONG), "\n", ("    " + about, MUTED)))
            for name, about in rows
            if typed.casefold() in name
        ]
