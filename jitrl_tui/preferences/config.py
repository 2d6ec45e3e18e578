"""The config file, a TOML file that the user writes, or `jitrl config set`; and the file of what is remembered.

What the app remembers from one start to the next are theme, speed, layout, and the last choices on the home screen. It
is a file of its own. If it is damaged or cannot be written, nothing is remembered.
"""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine import limits
from engine.disk import cache_json, cached_json, printable, read_text, write_private
from engine.errors import FailingAs, StorageError, UsageError, did_you_mean
from jitrl_tui.preferences.schema import BY_KEY, BY_NAME, OPTIONS, SECTIONS, find

VARIABLE = "JITRL_CONFIG"
KEYS = "keys"
"""The table with names of actions and their keys."""
_HEAD = "# Settings of jitrl. `jitrl config show` lists all of them, with their meaning.\n"


@dataclass(frozen=True, slots=True)
class Config:
    """What a config file says.

    Attributes:
        file: Its path.
        values: Values by key, all of them allowed.
        keys: Keys of the keyboard by the name of the action.
        problems: A sentence for each mistake in it.
        lost: Whether nothing of it can be read.
    """

    file: Path
    values: Mapping[str, Any] = field(default_factory=dict)
    keys: Mapping[str, str] = field(default_factory=dict)
    problems: tuple[str, ...] = ()
    lost: bool = False


def config_file(given: str | None = None) -> Path:
    """Return the path of the config file: the given one, `JITRL_CONFIG`, or the one in the platform's folder."""
    chosen = given or os.environ.get(VARIABLE)
    if chosen:
        return Path(chosen).expanduser().absolute()
    from platformdirs import user_config_path

    return user_config_path("jitrl") / "config.toml"


def read(file: Path, *, must_exist: bool = False) -> Config:
    """Return what a config file says. Mistakes become sentences; what is right beside them counts.

    Args:
        must_exist: Whether a missing file is a mistake, because the user named it.
    """
    import tomllib

    try:
        text = read_text(file)
    except FileNotFoundError:
        problem = (f"there is no config file {printable(file)}",) if must_exist else ()
        return Config(file, problems=problem, lost=must_exist)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or "it is no text in UTF-8"
        return Config(file, problems=(f"the config file {printable(file)} cannot be read: {why}",), lost=True)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        return Config(file, problems=(f"the config file {printable(file)} is no TOML: {error}",), lost=True)
    values: dict[str, Any] = {}
    problems: list[str] = []
    for section, table in data.items():
        if section == KEYS and isinstance(table, dict):
            continue
        if section not in SECTIONS or not isinstance(table, dict):
            problems.append(_unknown(section, table))
            continue
        for name, value in table.items():
            option = BY_KEY.get(f"{section}.{name}")
            if option is None:
                elsewhere = BY_NAME.get(name)
                names = [one.name for one in OPTIONS if one.section == section]
                hint = f"; it belongs into [{elsewhere.section}]" if elsewhere else did_you_mean(name, names)
                problems.append(f"there is no setting {name!r} in [{section}]{hint}")
                continue
            try:
                values[option.key] = option.checked(value)
            except UsageError as error:
                problems.append(f"in [{section}], {error}")
    keys = dict(_flat(data.get(KEYS, {}), problems))
    messages = tuple(f"{printable(file)}: {problem}" for problem in problems)
    return Config(file, values, keys, messages)


def _unknown(section: str, table: Any) -> str:
    option = BY_NAME.get(section)
    if option is not None and not isinstance(table, dict):
        return f"{section} belongs into the table [{option.section}]"
    return f"there is no table [{section}]{did_you_mean(section, [*SECTIONS, KEYS])}"


def _flat(table: Any, problems: list[str], before: str = "") -> Iterator[tuple[str, str]]:
    """Yield names of actions with their keys, from a table of tables, or names with dots."""
    if not isinstance(table, dict):
        problems.append(f"{KEYS} must be a table")
        return
    for name, value in table.items():
        if isinstance(value, dict):
            yield from _flat(value, problems, f"{before}{name}.")
        elif isinstance(value, str) and value.strip():
            yield before + name, value.strip()
        else:
            problems.append(f'in [{KEYS}], {before}{name} must be a key in quotes, such as "ctrl+n", not {value!r}')


def set_value(file: Path, key: str, value: Any) -> None:
    """Write one value into a config file; comments and the order of its lines stay. None takes the value out.

    The file is replaced as a whole, so that it is never half written.

    Args:
        key: Name with its section, or `keys.` with the name of an action.

    Raises:
        UsageError: The present file is no TOML.
        StorageError: It cannot be written.
    """
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        text = read_text(file) if file.exists() else _HEAD
        document = tomlkit.parse(text)
    except (TOMLKitError, ValueError) as error:
        raise UsageError(f"the config file {printable(file)} is no TOML: {error}") from None
    except OSError as error:
        raise StorageError(f"cannot read {printable(file)}: {error.strerror}") from None
    section, _, name = key.partition(".")
    table = document.get(section)
    if value is None:
        if not _removed(table, name):
            return
    elif isinstance(table, dict):
        if name not in table:
            _removed(table, name)  # written with dots
        table[name] = value
    else:
        table = tomlkit.table()
        table[name] = value
        document[section] = table
    with FailingAs(StorageError, f"cannot write {printable(file)}"):
        file.parent.mkdir(parents=True, exist_ok=True)
        target = file.resolve()  # a link in a folder of dotfiles stays a link
        write_private(target, tomlkit.dumps(document))


def _removed(table: Any, name: str) -> bool:
    """Take a name out of a table, also one that is written with dots; return whether it was there."""
    if not isinstance(table, dict):
        return False
    if name in table and not isinstance(table[name], dict):
        del table[name]
        return True
    first, _, rest = name.partition(".")
    return bool(rest) and _removed(table.get(first), rest)


def check_setting(key: str, text: str) -> tuple[str, Any]:
    """Return the key with its section, and the value, of a setting that is typed.

    Raises:
        UsageError: There is no such setting, or the value is not allowed.
    """
    if re.match(rf"{KEYS}\.\w", key):
        return key, text.strip()
    option = find(key)
    return option.key, option.parsed(text)


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
