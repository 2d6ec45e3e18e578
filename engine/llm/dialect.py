"""The protocol of dialects: the prompt and the actions that a published checkpoint was trained with.

A kind of environment has the dialects that can be spoken in it (`engine.kinds.Kind.dialects`). An agent that plays such
a checkpoint uses one, and so knows no environment itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol


class Scene(Protocol):
    """A situation in a dialect. It is a protocol, as kinds of environments implement it, which models do not know.

    Attributes:
        stops: Texts at which an answer ends.
        nothing: The action that does nothing.
    """

    @property
    def stops(self) -> tuple[str, ...]:
        """See above."""
        ...

    @property
    def nothing(self) -> str:
        """See above."""
        ...

    def prompt(self, said: Sequence[str], most: int) -> str:
        """Return the whole prompt as one text.

        Args:
            said: The answers of this episode so far, oldest first.
            most: Most characters of history and situation together. The end of the situation is left out.
        """
        ...

    def actions(self, answer: str) -> tuple[str, ...]:
        """Return the actions that an answer stands for, at least one, as the environment takes them.

        Raises:
            UsageError: It stands for none. The sentence says why.
        """
        ...


Dialect = Callable[[str, str], Scene]
"""Makes a scene from the situation as text for prompts (`Turn.present`) and the page as a snapshot (`Turn.page`)."""
