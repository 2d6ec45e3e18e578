"""What the user has set, from all the places where something can be set.

A flag comes before an environment variable, that before the config file, that before what the app remembers, that
before a profile, and that before the default.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.disk import printable
from engine.errors import UsageError
from jitrl_tui.preferences import schema
from jitrl_tui.preferences.config import Config, RememberedValues, config_file, read, state_file
from jitrl_tui.preferences.schema import BY_KEY, OPTIONS, Preference

TEXTUAL_THEME = "TEXTUAL_THEME"
_NOT_HERE = "no config file"


@dataclass(frozen=True, slots=True)
class FoundValue:
    """A value, and where it comes from.

    Attributes:
        source: "flag", "environment", "file", "remembered", "profile" or "default".
        where: The flag, the variable, the file, or the profile; "" if there is nothing to add.
    """

    value: Any
    source: str = "default"
    where: str = ""

    @property
    def source_text(self) -> str:
        """The source in words."""
        return f"{self.source} {self.where}".strip()


@dataclass(slots=True)
class Preferences:
    """What the user has set.

    Attributes:
        config: What the config file says.
        environment: Values of environment variables, by key, with the name of the variable.
        flags: Values of flags that were typed, by key.
        remembered: What the app remembers.
        problems: A sentence for each mistake in the config file or a variable. What is wrong does not count.
    """

    config: Config = field(default_factory=lambda: Config(Path(_NOT_HERE)))
    environment: Mapping[str, tuple[Any, str]] = field(default_factory=dict)
    flags: Mapping[str, Any] = field(default_factory=dict)
    remembered: RememberedValues = field(default_factory=RememberedValues)
    problems: tuple[str, ...] = ()

    def found(self, key: str, *, last: bool = False, profile: Mapping[str, Any] | None = None) -> FoundValue:
        """Return the value that holds for a setting, and where it comes from.

        Args:
            key: Name with its section.
            last: Whether the last choices on the home screen count. The look of the screen is always remembered.
            profile: Values of the profile, by name, for settings of a session.
        """
        option = BY_KEY[key]
        if key in self.flags:
            return FoundValue(self.flags[key], "flag", option.flag)
        if key in self.environment:
            value, variable = self.environment[key]
            return FoundValue(value, "environment", variable)
        if key in self.config.values:
            return FoundValue(self.config.values[key], "file", printable(self.config.file))
        if (last or option.section == "app") and key in self.remembered.values:
            return FoundValue(self.remembered.values[key], "remembered")
        if option.section == "settings" and profile is not None and profile[option.name] != option.default:
            return FoundValue(profile[option.name], "profile", self.value("session.profile"))
        return FoundValue(option.default)

    def value(self, key: str, *, last: bool = False) -> Any:
        """Return the value that holds for a setting. Profiles do not count."""
        return self.found(key, last=last).value

    def fixed(self, key: str) -> FoundValue | None:
        """Return what sets a value before the app's memory is asked, None if nothing does."""
        found = self.found(key)
        return found if found.source in ("flag", "environment", "file") else None

    def settings(self) -> dict[str, Any]:
        """Return the settings of a session that the config file or the environment sets, by name."""
        return {
            option.name: found.value
            for option in OPTIONS
            if option.section == "settings" and (found := self.fixed(option.key)) is not None
        }

    def refuse_mistakes(self) -> None:
        """Raise UsageError if something that was set cannot be followed."""
        if self.problems:
            more = len(self.problems) - 1
            others = f" ({more} more: jitrl config show)" if more else ""
            raise UsageError(self.problems[0] + others)

    def renewed(self) -> Preferences:
        """Return what is set now, after the config file was changed."""
        config = read(self.config.file)
        kept = [problem for problem in self.problems if problem not in self.config.problems]
        return Preferences(
            config, self.environment, self.flags, self.remembered, (*config.problems, *kept)
        )


def load(
    given: str | None = None, environment: Mapping[str, str] | None = None, flags: Mapping[str, Any] | None = None
) -> Preferences:
    """Return what the user has set. Mistakes become `problems`.

    Args:
        given: Path of the config file, None for the usual one.
        environment: Environment variables, None for those of this process.
        flags: Values of typed flags, by key.
    """
    env = os.environ if environment is None else environment
    config = read(config_file(given), must_exist=given is not None)
    values, problems = variables(env)
    return Preferences(
        config, values, dict(flags or {}), RememberedValues(state_file()), (*config.problems, *problems)
    )


def variables(environment: Mapping[str, str]) -> tuple[dict[str, tuple[Any, str]], list[str]]:
    """Return the values of environment variables by key, with the variable's name, and a sentence for each mistake."""
    found: dict[str, tuple[Any, str]] = {}
    problems: list[str] = []
    for option in OPTIONS:
        text = environment.get(option.variable, "")
        if not text:
            continue
        try:
            found[option.key] = option.parsed(text), option.variable
        except UsageError as error:
            problems.append(f"in the variable {option.variable}, {error}")
    if environment.get(TEXTUAL_THEME) and "app.theme" not in found:
        found["app.theme"] = environment[TEXTUAL_THEME], TEXTUAL_THEME
    return found, problems


_used = Preferences()


def use(made: Preferences) -> None:
    """Let this process follow these preferences."""
    global _used
    _used = made


def current() -> Preferences:
    """Return the preferences of this process: those that the command line has read, or none."""
    return _used


__all__ = ["FoundValue", "Preference", "Preferences", "load", "schema", "use", "used"]


def usual_delay() -> float:
    """Return the seconds between two steps that the user has set."""
    speed = current().value("app.speed")
    return 1.0 / speed if speed > 0 else 0.0
