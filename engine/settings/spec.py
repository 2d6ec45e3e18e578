"""The declaration of settings, and the base class of their groups."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from typing import Any

from engine.errors import UsageError


def setting(
    default: Any,
    meaning: str,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
) -> Any:
    """Declare one setting with its default, meaning, and range (both ends included) or choices."""
    return field(default=default, metadata={"meaning": meaning, "low": low, "high": high, "choices": choices})


@dataclass(frozen=True)
class SettingsGroup:
    """A group of settings. Invalid values are refused when a group is made."""

    def __post_init__(self) -> None:
        """Check every value.

        Raises:
            UsageError: A value is out of range, or of another type.
        """
        for spec in dataclasses.fields(self):
            value, meta = getattr(self, spec.name), spec.metadata
            if meta["choices"]:
                if value not in meta["choices"]:
                    raise UsageError(
                        f"{spec.name} cannot be {value!r}; choose one of: {', '.join(meta['choices'])}"
                    )
            elif isinstance(spec.default, str):
                if not isinstance(value, str):
                    raise UsageError(f"{spec.name} must be a name, not {value!r}")
            elif isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
                raise UsageError(f"{spec.name} must be a number, not {value!r}")
            elif isinstance(spec.default, int) and not isinstance(value, int):
                raise UsageError(f"{spec.name} must be a whole number, not {value!r}")
            elif not meta["low"] <= value <= meta["high"]:
                raise UsageError(
                    f"{spec.name} must lie between {meta['low']} and {meta['high']}, not {value}"
                )
