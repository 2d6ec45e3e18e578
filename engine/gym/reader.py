"""Reads the text and the possible actions of an environment. Runs in the worker process only.

How it is read is decided once, when the environment is opened, from its spaces and its first observation.
"""

from __future__ import annotations

import enum
import io
import itertools
import pickle
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol

from engine import limits
from engine.gym.unfit import Unfit

TEXT_KEYS = ("text", "obs", "observation", "description", "message", "prompt", "mission")
"""Usual keys of the text in observations that are dictionaries."""
LISTS = ("admissible_commands", "valid_actions", "available_actions", "validActions", "valid")
"""Usual keys of the possible actions in `info`."""
DESCRIPTIONS, INVENTORIES = ("description", "look"), ("inventory", "inv")
"""Usual keys of what is seen and carried in `info`."""
_NAMES = ("action_meanings", "ACTION_NAMES", "action_names", "ACTION_MEANINGS", "Actions", "actions", "ACTIONS")
"""Usual attributes with the names of numbered actions."""
LONGEST_TEXT = 20_000
LONGEST_ACTION = 200
MOST_ACTIONS = 2000
_SLOT = re.compile(r"\{(\w+)\}")


class ActionRefused(Exception):
    """An action cannot be taken. The message says why."""


class Actions(Protocol):
    """The actions of an environment."""

    open: bool
    """Whether any text may be typed, besides the listed actions."""

    def valid(self, info: Mapping[str, Any]) -> list[str]:
        """Return the actions that are possible now."""
        ...

    def take(self, name: str) -> Any:
        """Return an action in the form that the environment takes.

        Raises:
            Refused: There is no such action.
        """
        ...


# ------------------------------------------------------------------------------------------------ text


def text_reader(env: Any, observation: Any, keys: Sequence[str]) -> Callable[[Any], str]:
    """Return a function that returns the text of an observation.

    Args:
        observation: The first observation.
        keys: Keys of the observation that hold text, () for the usual ones.

    Raises:
        Unfit: There is no text.
    """
    if isinstance(observation, Mapping):
        missing = [key for key in keys if _text(observation.get(key)) is None]
        if missing:
            raise Unfit(f"its observation has no text under {missing[0]!r}; it has {_found(observation)}")
        for wanted in [keys] if keys else [(key,) for key in TEXT_KEYS]:
            if all(_text(observation.get(key)) is not None for key in wanted):
                return lambda seen: "\n".join(_text(seen[key]) or "" for key in wanted)
    elif keys:
        raise Unfit(f"text={','.join(keys)} names parts of an observation that has none: it is {_found(observation)}")
    if _text(observation) is not None:
        return lambda seen: _text(seen) or ""
    if getattr(env, "render_mode", None) == "ansi":
        return lambda seen: _rendered(env.render())
    raise Unfit(
        f"its observation is {_found(observation)}, and it does not render as text; needed is an observation that "
        'is or has a text (?text=KEY names its key), or the render mode "ansi"'
    )


def _text(value: Any) -> str | None:
    """Return a text, or the text in an array of bytes; None for anything else."""
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    if str(getattr(value, "dtype", "")) == "uint8" and getattr(value, "ndim", 0) in (1, 2):
        rows = [value] if value.ndim == 1 else list(value)
        return "\n".join(bytes(row).split(b"\0")[0].decode("latin-1").rstrip() for row in rows)
    return None


def place(observation: Any, info: Mapping[str, Any]) -> str:
    """Return the agent's place: from `info`, or the observation itself if it is the number of a state."""
    location = info.get("location")
    if isinstance(location, str):
        return location[:LONGEST_ACTION]
    number = _whole(observation)
    return "" if number is None else f"state {number}"


def _rendered(drawn: Any) -> str:
    if isinstance(drawn, (list, tuple)):
        drawn = drawn[-1] if drawn else ""
    return drawn.getvalue() if isinstance(drawn, io.StringIO) else str(drawn)


def _found(value: Any) -> str:
    """Return a short description of a value's type, for messages."""
    if isinstance(value, Mapping):
        return f"a dictionary of {', '.join(f'{key} ({_kind(part)})' for key, part in value.items())}"[:300]
    return _kind(value)


def _kind(value: Any) -> str:
    shape = getattr(value, "shape", ())
    return f"{type(value).__name__} of shape {tuple(shape)}" if shape else type(value).__name__


def fingerprint(observation: Any, info: Mapping[str, Any]) -> bytes:
    """Return bytes that are equal for equal beginnings of an episode."""
    return pickle.dumps((observation, {key: info[key] for key in sorted(info, key=str)}))


# ------------------------------------------------------------------------------------------------ actions


def actions_of(
    env: Any,
    info: Mapping[str, Any],
    names: Sequence[str],
    templates: Sequence[str],
    slots: Mapping[str, Sequence[str]],
) -> Actions:
    """Return the actions of an environment.

    Args:
        info: The `info` of the first observation.
        names: Names given by the user, () for the environment's own.
        templates: Commands with slots in braces.
        slots: The values of each slot. Missing ones are read from `info`.

    Raises:
        Unfit: The actions cannot be found out.
    """
    space = getattr(env, "action_space", None)
    size = getattr(space, "n", None)
    if size is not None and _whole(size) is not None:
        if templates:
            raise Unfit("its actions are numbers; ?actions=... names them, and there is no use for ?templates=...")
        return NumberedActions(int(size), int(getattr(space, "start", 0)), names or _own_names(env, int(size)))
    if any(_texts(info.get(key)) is not None for key in LISTS):
        if names or templates:
            raise Unfit("it lists its actions itself; there is no use for ?actions=... and ?templates=...")
        return ListedActions(space)
    if names or templates:
        return Templates(space, [*names, *templates], slots)
    raise Unfit(
        f"its actions are {space!s:.100}, and nothing lists them; needed is a list of texts in info under "
        f"{', '.join(LISTS[:2])} or {LISTS[2]}, a Discrete action space, or ?actions=... or ?templates=..."
    )


class NumberedActions:
    """Numbered actions with names."""

    open = False

    def __init__(self, size: int, start: int, names: Sequence[str]) -> None:
        if names and len(names) != size:
            raise Unfit(f"it has {size} actions, and {len(names)} names are given for them")
        if size > MOST_ACTIONS:
            raise Unfit(f"it has {size} actions; {MOST_ACTIONS} are the most that can be read")
        shown = list(names) or [f"action {number}" for number in range(size)]
        if len(set(shown)) != size:
            raise Unfit("two of its actions have the same name")
        self._numbers = {name: start + place for place, name in enumerate(shown)}

    def valid(self, info: Mapping[str, Any]) -> list[str]:
        """Return the actions that a mask or a list in `info` allows."""
        names = list(self._numbers)
        mask = info.get("action_mask")
        if mask is not None and len(mask) == len(names):
            names = [name for name, possible in zip(names, mask, strict=True) if possible]
        for key in LISTS:
            listed = info.get(key)
            if isinstance(listed, Iterable) and not isinstance(listed, (str, Mapping)):
                allowed = {_whole(one) if _whole(one) is not None else one for one in listed}
                return [name for name in names if name in allowed or self._numbers[name] in allowed]
        return names

    def take(self, name: str) -> int:
        """Return an action's number."""
        if name not in self._numbers:
            raise ActionRefused(f"there is no action {name!r}; there are: {', '.join(self._numbers)}"[:500])
        return self._numbers[name]


class _Typed:
    """Actions that are texts. Listed actions are taken even if the declared action space does not contain them."""

    open = False

    def __init__(self, space: Any) -> None:
        self._space = space
        self._valid: frozenset[str] = frozenset()

    def valid(self, info: Mapping[str, Any]) -> list[str]:
        """Return the actions that are listed now."""
        found = self._list(info)
        self._valid = frozenset(found)
        return found

    def take(self, name: str) -> str:
        """Return the text, if it is listed or in the action space."""
        if name not in self._valid and self._space is not None and not self._space.contains(name):
            raise ActionRefused(f"{name!r} is not in the action space {self._space!s:.100}")
        return name

    def _list(self, info: Mapping[str, Any]) -> list[str]:
        raise NotImplementedError


class ListedActions(_Typed):
    """Texts that the environment lists."""

    def _list(self, info: Mapping[str, Any]) -> list[str]:
        return next((found for key in LISTS if (found := _texts(info.get(key))) is not None), [])


class Templates(_Typed):
    """Texts made from templates. Any other text in the action space may be typed, too."""

    open = True

    def __init__(self, space: Any, templates: Sequence[str], slots: Mapping[str, Sequence[str]]) -> None:
        super().__init__(space)
        self._templates = templates
        self._slots = slots

    def _list(self, info: Mapping[str, Any]) -> list[str]:
        """Return each template with all combinations of values in its slots."""
        made: dict[str, None] = {}
        for template in self._templates:
            slots = list(dict.fromkeys(_SLOT.findall(template)))
            values = [self._slots.get(slot) or _texts(info.get(slot)) or [] for slot in slots]
            for chosen in itertools.islice(itertools.product(*values), MOST_ACTIONS):
                made[_filled(template, dict(zip(slots, chosen, strict=True)))] = None
        return list(made)[:MOST_ACTIONS]


def _filled(template: str, filling: Mapping[str, str]) -> str:
    return _SLOT.sub(lambda slot: filling[slot.group(1)], template)


def _own_names(env: Any, size: int) -> list[str]:
    """Return the environment's names of its numbered actions, [] if it has none."""
    base = env.unwrapped
    meanings = getattr(base, "get_action_meanings", None)
    if callable(meanings) and (found := _names_in(meanings(), size)):
        return found
    for attribute in _NAMES:
        if found := _names_in(getattr(base, attribute, None), size):
            return found
    return []


def _names_in(value: Any, size: int) -> list[str]:
    """Return the names in a list, an enumeration, or a dictionary of numbers and names; [] if there are none."""
    if isinstance(value, Mapping):
        if all(isinstance(key, str) for key in value):
            value = {number: name for name, number in value.items()}
        value = [value[number] for number in range(size)] if set(value) == set(range(size)) else None
    elif isinstance(value, type) and issubclass(value, enum.Enum):
        value = list(value)
    if not isinstance(value, (list, tuple)) or len(value) != size:
        return []
    if not all(isinstance(one, (str, enum.Enum)) for one in value):
        return []
    names: list[str] = []
    for one in value:
        name = _spaced(one.name) if isinstance(one, enum.Enum) else one
        names.append(f"{_spaced(type(one).__name__)} {name}" if name in names else name)
    return names


def _spaced(name: str) -> str:
    """Return an identifier as words: FarAway and FAR_AWAY are "far away"."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|_", " ", name).lower()


def _texts(value: Any) -> list[str] | None:
    """Return a list of texts, None for anything else. Texts that are too long for a command are left out."""
    if isinstance(value, (str, Mapping)) or not isinstance(value, Iterable):
        return None
    found = list(itertools.islice(value, MOST_ACTIONS))
    if not all(isinstance(one, str) for one in found):
        return None
    return [one for one in found if one.strip() and len(one) <= LONGEST_ACTION]


# ------------------------------------------------------------------------------------------------ numbers


def number(value: Any, most: float = limits.LARGEST_REWARD) -> float | None:
    """Return a number from -most to most, None for anything else."""
    try:
        found = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return found if limits.is_number(found, most) else None


def _whole(value: Any) -> int | None:
    """Return an integer, also for numpy's types; None for anything else."""
    if isinstance(value, bool) or getattr(value, "ndim", None):
        return None
    try:
        return int(value.__index__())
    except (AttributeError, TypeError):
        return None
