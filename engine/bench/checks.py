"""Reads a table of a suite's file and checks each key. Messages name the file, the key and the nearest valid name."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from engine.agents import AGENTS
from engine.errors import UsageError, did_you_mean
from engine.settings import PROFILES, Settings

_MISSING: Any = object()
_MOST_SEEDS = 1000
_SETTINGS = {spec.name: spec for spec in dataclasses.fields(Settings)}


class TomlTable:
    """A TOML table that is read key by key. At the end, `done` refuses the keys that were not read.

    Args:
        data: The table.
        where: The file's name, and the table's name in it.
    """

    def __init__(self, data: Any, where: str) -> None:
        self._where = where
        if not isinstance(data, Mapping):
            raise UsageError(f"{where}: this must be a table, not {_kind(data)}")
        self._data = data
        self._read: list[str] = []

    def done(self) -> None:
        """Refuse keys that were not read.

        Raises:
            UsageError: There is one.
        """
        for key in self._data:
            if key not in self._read:
                raise UsageError(f"{self._where}: there is no key {key!r}{did_you_mean(str(key), self._read)}")

    def text(self, key: str, default: str = _MISSING) -> str:
        """Return a text. Without a default, it must be there and not be empty."""
        value = self._get(key, default)
        if not isinstance(value, str):
            self._refuse(key, f"must be a text, not {_kind(value)}")
        if default is _MISSING and not value.strip():
            self._refuse(key, "is empty")
        return str(value)

    def flag(self, key: str) -> bool:
        """Return true or false; false if it is missing."""
        value = self._get(key, False)
        if not isinstance(value, bool):
            self._refuse(key, f"must be true or false, not {_kind(value)}")
        return bool(value)

    def count(self, key: str, default: int) -> int:
        """Return a whole number of at least 1, or the default."""
        value = self._get(key, default)
        if value != default and (not isinstance(value, int) or isinstance(value, bool) or not 1 <= value < 2**31):
            self._refuse(key, f"must be a whole number of at least 1, not {value!r}")
        return int(value)

    def choice(self, key: str, options: tuple[str, ...]) -> str:
        """Return one of the options; the first one if the key is missing."""
        return self._one_of(key, self.text(key, options[0]), options)

    def some(self, key: str, known: Collection[str], default: tuple[str, ...]) -> tuple[str, ...]:
        """Return a list of known names."""
        return tuple(self._one_of(key, name, known) for name in self.names(key, default))

    def names(self, key: str, default: tuple[str, ...] = _MISSING) -> tuple[str, ...]:
        """Return a list of texts without repetitions."""
        value = self._get(key, default)
        if not isinstance(value, (list, tuple)) or not all(isinstance(each, str) and each for each in value):
            self._refuse(key, "must be a list of names")
        if default is _MISSING and not value:
            self._refuse(key, "is empty")
        return tuple(dict.fromkeys(value))

    def items(self, key: str) -> tuple[Any, ...]:
        """Return a list that is not empty."""
        value = self._get(key, _MISSING)
        if not isinstance(value, (list, tuple)) or not value:
            self._refuse(key, "must be a list of values")
        return tuple(value)

    def seeds(self, key: str) -> tuple[int, ...]:
        """Return a list of seeds. A number N stands for 1 to N."""
        value = self._get(key, (1,))
        if isinstance(value, int) and not isinstance(value, bool):
            if not 1 <= value <= _MOST_SEEDS:
                self._refuse(key, f"must be 1 to {_MOST_SEEDS} seeds, not {value}")
            value = range(1, value + 1)
        whole = isinstance(value, (list, tuple, range)) and all(type(each) is int for each in value)
        if not whole or not value or not all(0 <= each < 2**31 for each in value):
            self._refuse(key, f"must be a list of whole numbers from 0 to {2**31 - 1}, or how many")
        return tuple(dict.fromkeys(value))

    def agent(self, key: str, default: str = _MISSING) -> str:
        """Return the name of a method."""
        return self._one_of(key, self.text(key, default), AGENTS.all())

    def profile(self, key: str, default: str) -> str:
        """Return the name of a profile, or the default."""
        value = self.text(key, default)
        return value if value == default else self._one_of(key, value, PROFILES)

    def setting(self, key: str) -> str:
        """Return the name of a setting."""
        return self._one_of(key, self.text(key), _SETTINGS)

    def settings(self, key: str) -> dict[str, Any]:
        """Return a table of settings with values of the right type; {} if it is missing."""
        value = self._get(key, {})
        if not isinstance(value, Mapping):
            self._refuse(key, f"must be a table of settings, not {_kind(value)}")
        return {name: self._value(f"{key}.{name}", name, each) for name, each in value.items()}

    def value(self, setting: str, value: Any) -> dict[str, Any]:
        """Return a table with one setting."""
        return {setting: self._value(setting, setting, value)}

    def table(self, key: str) -> TomlTable:
        """Return a table inside; an empty one if it is missing."""
        return TomlTable(self._get(key, {}), f"{self._where}: {key}")

    def tables(self, key: str) -> list[TomlTable]:
        """Return a list of tables inside; [] if it is missing."""
        value = self._get(key, ())
        if not isinstance(value, (list, tuple)):
            self._refuse(key, f"must be a list of tables: [[{key}]]")
        return [TomlTable(each, f"{self._where}: {key}[{number}]") for number, each in enumerate(value, 1)]

    def _value(self, key: str, name: str, value: Any) -> Any:
        """Return a setting's value as the setting's type. Its range is checked with the profile."""
        if name not in _SETTINGS:
            self._refuse(key, f"there is no setting {name!r}{did_you_mean(name, _SETTINGS)}")
        kind = type(_SETTINGS[name].default)
        if kind is float and type(value) is int:
            return float(value)
        if type(value) is not kind:
            wanted = {int: "a whole number", float: "a number", str: "a text", bool: "true or false"}[kind]
            self._refuse(key, f"must be {wanted}, not {value!r}")
        return value

    def _one_of(self, key: str, value: str, known: Iterable[str]) -> str:
        names = tuple(known)
        if value not in names:
            listed = f"; it can be {', '.join(names)}" if len(names) <= 12 else ""
            self._refuse(key, f"there is no {value!r}{did_you_mean(value, names)}{listed}")
        return value

    def _get(self, key: str, default: Any) -> Any:
        self._read.append(key)
        value = self._data.get(key, default)
        if value is _MISSING:
            raise UsageError(f"{self._where}: the key {key!r} is missing")
        return value

    def _refuse(self, key: str, why: str) -> None:
        raise UsageError(f"{self._where}: {key}: {why}")


def _kind(value: Any) -> str:
    names = {str: "a text", bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "a table"}
    return names.get(type(value), type(value).__name__)
