"""The declaration of everything that can be set: its name, meaning, default, range, and the ways to set it.

The config file, environment variables, the settings screen, `jitrl config` and docs/settings.md follow from it.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from engine.errors import UsageError, did_you_mean
from engine.settings import GROUPS, PROFILES

THEMES = (
    "jitrl-dark", "jitrl-light", "jitrl-contrast", "jitrl-paper", "jitrl-forest", "jitrl-mist", "jitrl-dusk",
    "jitrl-ember", "ansi-dark", "ansi-light",
)  # fmt: skip
"""Names of the themes, in the order in which the theme key changes them."""
LAYOUTS = ("auto", "narrow", "side", "normal", "wide")


@dataclass(frozen=True, slots=True)
class Preference:
    """One thing that can be set.

    Attributes:
        section: Table of the config file: "app", "places", "session" or "settings".
        name: Name within all sections, and in the config file.
        default: Value if nothing sets it. Its type is the type of all values.
        meaning: What it is, in a phrase.
        low: Least number.
        high: Largest number.
        choices: The values there are; () for any.
        flag: How it is written on the command line.
        group: Heading on the settings screen.
    """

    section: str
    name: str
    default: Any
    meaning: str
    low: float | None = None
    high: float | None = None
    choices: tuple[str, ...] = ()
    flag: str = ""
    group: str = ""

    @property
    def key(self) -> str:
        """The name with its section."""
        return f"{self.section}.{self.name}"

    @property
    def variable(self) -> str:
        """The environment variable that sets it."""
        return f"JITRL_{self.name.upper()}"

    @property
    def allowed(self) -> str:
        """The allowed values, in a phrase."""
        if self.choices:
            return ", ".join(self.choices)
        if isinstance(self.default, bool):
            return "true or false"
        if isinstance(self.default, (int, float)):
            kind = "whole number" if isinstance(self.default, int) else "number"
            return f"{kind} from {self.low:g} to {self.high:g}"
        return "text"

    def checked(self, value: Any) -> Any:
        """Return a value of a config file, with its type and range checked.

        Raises:
            UsageError: It is not allowed. The message begins with the name.
        """
        kind = type(self.default)
        if kind is float and isinstance(value, int) and not isinstance(value, bool):
            value = float(value)
        if type(value) is not kind:
            named = {bool: "true or false", int: "a whole number", float: "a number", str: "a text in quotes"}[kind]
            raise UsageError(f"{self.name} must be {named}, not {value!r}")
        if kind is str and not value.isprintable():
            raise UsageError(f"{self.name} must be a text without control characters, not {value!r}")
        if self.choices and value not in self.choices:
            raise UsageError(f"{self.name} cannot be {value!r}; choose one of: {self.allowed}")
        if kind in (int, float) and (not math.isfinite(value) or not self.low <= value <= self.high):
            raise UsageError(f"{self.name} must lie between {self.low:g} and {self.high:g}, not {value:g}")
        return value

    def parsed(self, text: str) -> Any:
        """Return the value that a text stands for, as it is typed or in an environment variable.

        Raises:
            UsageError: It is not allowed. The message begins with the name.
        """
        kind, words = type(self.default), text.strip()
        if kind is bool:
            value: Any = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False, "": False}.get(
                words.casefold(), words
            )
        elif kind in (int, float):
            try:
                value = kind(words)
            except ValueError:
                value = words
        else:
            value = words
        return self.checked(value)


def _app() -> Iterable[Preference]:
    group = "Screen"
    yield Preference("app", "theme", "jitrl-dark", "colours of the screen", choices=THEMES, flag="--theme", group=group)
    yield Preference(
        "app", "speed", 1.0, "steps per second while an agent is watched; 0 for no pause between steps", 0.0, 1000.0,
        flag="--speed", group=group,
    )  # fmt: skip
    yield Preference(
        "app", "layout", "auto",
        "arrangement of the panes: by the size of the window, or always this one if there is room",
        choices=LAYOUTS, flag="--layout", group=group,
    )  # fmt: skip
    yield Preference(
        "app", "pictures", "", "how a terminal shows pictures; nothing: it is asked",
        choices=("", "blocks", "kitty", "sixel", "iterm"), group=group,
    )  # fmt: skip
    yield Preference(
        "app", "hold_s", 60.0,
        "seconds that a session you took in hand from another process waits for a sign of life of yours",
        2.0, 3600.0, group=group,
    )  # fmt: skip
    yield Preference(
        "app", "live", True,
        "sessions with a memory in a database can be followed through it", group=group,
    )  # fmt: skip
    yield Preference("app", "plain", False, "plain lines in place of the screen", flag="--plain", group=group)


def _places() -> Iterable[Preference]:
    group = "Places"
    yield Preference(
        "places", "saves", "", "folder of all that persists; nothing: the usual one", flag="--saves", group=group
    )
    yield Preference("places", "games", "", "folder with more stories", flag="--games", group=group)


def _session() -> Iterable[Preference]:
    group = "Sessions"
    yield Preference("session", "agent", "jitrl", "method that plays, such as jitrl", flag="--agent", group=group)
    yield Preference(
        "session", "model", "local/smollm2", "language model: local/smollm2, prior/verbs, or any litellm name",
        flag="--model", group=group,
    )  # fmt: skip
    yield Preference(
        "session", "episodes", 50, "episodes of a session in which an agent plays", 1, 1_000_000, flag="--episodes",
        group=group,
    )  # fmt: skip
    yield Preference("session", "seed", 1, "seed of game and choices", 0, 2**31 - 1, flag="--seed", group=group)
    yield Preference(
        "session", "profile", "default", "profile that the settings below begin with", choices=tuple(PROFILES),
        flag="--profile", group=group,
    )  # fmt: skip
    yield Preference(
        "session", "memory", "shared", "one memory per game, or one of the session's own that is empty at first",
        choices=("shared", "own"), flag="--fresh", group=group,
    )  # fmt: skip


def _settings() -> Iterable[Preference]:
    for group in GROUPS:
        heading = " ".join((group.__doc__ or "").split("\n\n")[0].split()).rstrip(".")
        for spec in dataclasses.fields(group):
            if spec.name in group.__annotations__:
                meta = spec.metadata
                yield Preference(
                    "settings", spec.name, spec.default, meta["meaning"], meta["low"], meta["high"], meta["choices"],
                    meta["flag"] or f"--set {spec.name}=…", heading,
                )  # fmt: skip


OPTIONS: tuple[Preference, ...] = (*_app(), *_places(), *_session(), *_settings())
"""Everything that can be set, in the order of display."""
BY_NAME = {option.name: option for option in OPTIONS}
BY_KEY = {option.key: option for option in OPTIONS}
SECTIONS = tuple(dict.fromkeys(option.section for option in OPTIONS))


def find(name: str) -> Preference:
    """Return an option by its name, with or without its section.

    Raises:
        UsageError: There is none. The message has the nearest name.
    """
    option = BY_KEY.get(name) or BY_NAME.get(name)
    if option is None:
        raise UsageError(f"there is no setting {name!r}{did_you_mean(name, [*BY_NAME, *BY_KEY])}")
    return option
