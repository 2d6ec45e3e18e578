"""What the app remembers from one start to the next: theme, speed, layout, and the last choices on the home screen.

It is a file of its own, apart from the config file. If it is damaged or cannot be written, nothing is remembered.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engine import limits
from engine.disk import cache_json, cached_json
from engine.errors import UsageError
from jitrl_tui.preferences.schema import BY_KEY

GAME = "game"
"""The key of the game that was started last."""
_KEPT = ("app.theme", "app.speed", "app.layout", "session.model", "session.profile")


def state_file() -> Path:
    """Return the path of the file, in the platform's folder for the state of programs."""
    from platformdirs import user_state_path

    return user_state_path("jitrl") / "state.json"


class RememberedValues:
    """Values that are remembered, by the keys of `preferences.schema`, and "game".

    Args:
        file: The file; None to remember nothing beyond this process.
    """

    def __init__(self, file: Path | None = None) -> None:
        self.file = file
        self.values: dict[str, Any] = _read(file) if file is not None else {}

    def keep(self, changes: Mapping[str, Any]) -> None:
        """Remember values, in addition to those of other processes."""
        before = _read(self.file) if self.file is not None else self.values
        self.values = {**before, **changes}
        if self.file is None or before == self.values:
            return
        cache_json(self.file, self.values)


def _read(file: Path) -> dict[str, Any]:
    """Return the values in a file that are allowed."""
    found: dict[str, Any] = {}
    for key, value in cached_json(file).items():
        if key == GAME and limits.is_text(value):
            found[key] = value
        elif key in _KEPT:
            with contextlib.suppress(UsageError):
                found[key] = BY_KEY[key].checked(value)
    return found
