"""The limits of what is stored. Whatever is written keeps to them, and whatever is read is held to them.

A record within these limits comes back from disk as it was. Everything that a file holds beyond them is refused with
one sentence. `engine.codec` checks the records of recordings and exports, `engine.memory.disk.document` those of
journals.
"""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Mapping
from typing import Any, NoReturn

from engine.errors import BadFile

LARGEST = 1e150
"""Largest number of a record, either sign. Its square is still a finite float."""
LARGEST_REWARD = 1e100
"""Largest reward or score that memory takes. Returns of a whole episode, discounted or not, stay below `LARGEST`."""
WHOLE = 1 << 63
"""Whole numbers lie from -WHOLE to WHOLE - 1: 64 bits with a sign."""
COUNT = 1 << 62
"""Largest number of an episode, an entry or a document. The numbers that follow it have room in 64 bits, too."""

LONGEST_TEXT = 16 << 20
"""Longest text of a recording, in characters: a prompt, a page, a reply."""
TEXT = 1 << 16
"""Longest text of a state or a kept record in memory, in characters; longer ones are clipped."""
NAME = 1000
"""Longest action, token or name in memory, in characters; the name of a scope is not clipped but refused."""
TOKENS = 4096
"""Most tokens of a state in memory."""
ACTIONS = 4096
"""Most valid actions of a step in memory."""
DATA = 1 << 20
"""Most that the data of a kept record take as JSON, in bytes."""
DATA_DEPTH = 32
"""How deep the data of a kept record may be nested."""
STEPS = 100_000
"""Most steps of an episode."""
ITEMS = 1_000_000
"""Most items of any list or object."""
DEPTH = 64
"""How deep lists and objects may lie in one another where a record takes any JSON."""

LINE = 64 << 20
"""Longest line of a journal, an export or a recording, in bytes."""
HEADER = 1 << 16
"""Longest first line of a journal, in bytes."""


def is_number(value: Any, most: float = LARGEST) -> bool:
    """Return whether a value is a number from -most to most; NaN, infinity and truth values are none.

    A whole number must also have at most 64 bits, because records are written with it as it is.
    """
    if isinstance(value, float):
        return -most <= value <= most
    return is_whole(value) and -most <= value <= most


def are_numbers(values: Collection[Any], most: float = LARGEST) -> bool:
    """Return whether all values are numbers as `is_number` takes them. For many floats it takes few calls."""
    if set(map(type, values)) == {float}:
        # Their sum is NaN if one of them is. The largest of them would not say so.
        return not math.isnan(sum(values)) and max(map(abs, values)) <= most
    return all(is_number(value, most) for value in values)


def is_whole(value: Any) -> bool:
    """Return whether a value is a whole number of 64 bits."""
    return isinstance(value, int) and not isinstance(value, bool) and -WHOLE <= value < WHOLE


def is_count(value: Any, least: int = 0) -> bool:
    """Return whether a value is a whole number from `least` to `COUNT`."""
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= COUNT


def is_text(value: Any, most: int = LONGEST_TEXT) -> bool:
    """Return whether a value is a text of at most `most` characters that has a UTF-8."""
    return isinstance(value, str) and len(value) <= most and (value.isascii() or _encodes(value))


def is_name(value: Any) -> bool:
    """Whether a value is a printable text that can be a name."""
    return is_text(value, NAME) and bool(value) and value.isprintable()


def check_json(value: Any, where: str, depth: int = DEPTH) -> None:
    """Make sure that a value is one of JSON within the limits.

    Args:
        value: Texts, numbers, truth values, None, lists and dictionaries of these.
        where: What holds it, for the message.
        depth: How deep it may be nested.

    Raises:
        BadFile: It is none, or beyond a limit.
    """
    if value is None or isinstance(value, bool):
        return
    if isinstance(value, str):
        good = is_text(value)
    elif isinstance(value, int):
        good = is_whole(value)
    elif isinstance(value, float):
        good = is_number(value)
    elif isinstance(value, (list, tuple, Mapping)):
        if depth <= 0:
            raise BadFile(f"{where} is nested too deep")
        good = len(value) <= ITEMS
        if isinstance(value, Mapping):
            good = good and all(map(is_text, value))
            value = value.values()
        for item in value if good else ():
            check_json(item, where, depth - 1)
    else:
        good = False
    if not good:
        raise BadFile(f"{where} cannot hold {short_text(value)}")


def parse_json(text: bytes | str) -> Any:
    """Return the value of a text of JSON.

    Raises:
        BadFile: It is no JSON, no UTF-8, nested too deep, or holds NaN, infinity or a number of thousands of digits.
    """
    try:
        return _DECODER.decode(text if isinstance(text, str) else text.decode())
    except json.JSONDecodeError as error:
        raise BadFile(f"no JSON: {error.msg} at character {error.pos}") from None
    except UnicodeDecodeError:
        raise BadFile("no UTF-8") from None
    except RecursionError:
        raise BadFile("nested too deep") from None
    except ValueError:  # Python converts no more than some thousand digits
        raise BadFile("a number with too many digits") from None


def short_text(value: Any) -> str:
    """Return a value as a message shows it: short, whatever it is."""
    if isinstance(value, str):
        return ascii(value[:40]) + (" ..." if len(value) > 40 else "")
    if isinstance(value, bool) or value is None or isinstance(value, float):
        return repr(value)
    if isinstance(value, int):
        return str(value) if abs(value) < 10**20 else "a whole number of more than 20 digits"
    return f"a {type(value).__name__}"


def _encodes(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:  # half a surrogate pair
        return False
    return True


def _refuse(name: str) -> NoReturn:
    raise BadFile(f"{name} is no finite number")


_DECODER = json.JSONDecoder(parse_constant=_refuse)
