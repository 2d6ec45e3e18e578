"""The declaration of settings, and the base class of their groups."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.errors import UsageError


def setting(
    default: Any,
    meaning: str,
    low: float | None = None,
    high: float | None = None,
    choices: tuple[str, ...] = (),
    *,
    part: str = "",
    symbol: str = "",
    stops: tuple[float | str, ...] = (),
    estimator: str = "",
    followed: int = 0,
    unwritten: Mapping[str, str] | None = None,
    flag: str = "",
) -> Any:
    """Declare one setting, with all that is to be known of it.

    Args:
        default: Its default.
        meaning: What it is, in a phrase.
        low: Its least value.
        high: Its largest value.
        choices: The values there are, () for any.
        part: The part of a decision in which it first counts: "retrieval", "values" (V and Q) or "policy". A recorded
            decision can be made again with another value of it. "" if that needs the model or the environment.
        symbol: How it is called where there is little room, "" for by its name.
        stops: The values that keys and sliders stop at; () if it has none.
        estimator: The estimator that reads it, "" for any.
        followed: Its place among the settings that a running session follows, from 1; 0 if it does not.
        unwritten: The value in place of each one for which a model has to write, where the model cannot.
        flag: Its flag on the command line, "" for `--set NAME=...`.
    """
    return field(
        default=default,
        metadata={
            "meaning": meaning, "low": low, "high": high, "choices": choices, "part": part, "symbol": symbol,
            "stops": stops, "estimator": estimator, "followed": followed, "unwritten": unwritten or {},
            "flag": flag,
        },
    )  # fmt: skip


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
