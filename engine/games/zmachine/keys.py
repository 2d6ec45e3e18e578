"""Screens that wait for one key: which keys do something there, and which lead back to where a line is typed.

The interpreter tells that a story waits for a key. What a key does is tried, and the situation is put back: keys that
leave the story in the same state do the same. Where all keys do the same, the screen is a page to be turned. Where they
differ, it is a menu or a question.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from engine.games.zmachine.machine import KEYS, Machine, Snapshot

_USUAL = ("enter", "space", *"0123nyqpx", "escape")
"""Keys that screens with a choice most often know. Where these and those that the text names do the same, all do."""
_NAMES = (*_USUAL, *"456789abcdefghijklmorstuvwz", "down", "up", "right", "left", "delete")
"""The keys that are tried. Of several that do the same, the first is named."""
_SPELT = {"return": "enter", "esc": "escape", "backspace": "delete"}
_BARE = frozenset({"enter", "space", "escape", *_SPELT})
"""Keys that may be typed without "press". Others, such as "up", can also be commands."""
_NAMED = re.compile(r"(?<![\w'])[b-hj-z0-9](?![\w'])|(?<!\S)[-+*/=<>?#](?!\S)", re.IGNORECASE)
"""A letter, digit or sign that a text names. "A" and "I" are words."""
_LEAVING = ("q", "escape", "x", "0", "enter", "space")
_CODES = {"enter": 13, "space": 32, "escape": 27, "up": 129, "down": 130, "left": 131, "right": 132, "delete": 8}
_MOST_PAGES = 12
_MOST_SCREENS = 12
"""Screens on which a way out is looked for."""
_MOST_KEPT = 32
"""Screens whose keys are kept."""


@dataclass(frozen=True, slots=True)
class StoryKey:
    """A key that does something.

    Attributes:
        name: Its name.
        after: The situation after it.
    """

    name: str
    after: Snapshot


def keys_in(command: str) -> tuple[str, ...]:
    """Return the keys that a typed line means: "press q", "press 1 enter", "q", or nothing for Enter; () if none."""
    words = command.lower().split()
    if not words:
        return ("enter",)
    has_verb = words[0] == "press" and len(words) > 1
    if not has_verb and (len(words) > 1 or (len(words[0]) > 1 and words[0] not in _BARE)):
        return ()
    keys = tuple(_SPELT.get(word, word) for word in words[has_verb:])
    return keys if all(len(key) == 1 or key in KEYS for key in keys) else ()


def choices(machine: Machine) -> tuple[StoryKey, ...]:
    """Return the keys that do different things now, without those that do nothing; the situation stays."""
    saved = machine.take()
    found: tuple[StoryKey, ...] | None = machine.screens.get(saved)
    if found is None:
        if len(machine.screens) >= _MOST_KEPT:
            machine.screens.clear()
        found = machine.screens[saved] = _choices(machine, saved)
    return found


def _choices(machine: Machine, saved: Snapshot) -> tuple[StoryKey, ...]:
    groups = list[list[StoryKey]]()
    before = StoryKey("", saved)
    named = {name.lower() for name in _NAMED.findall(machine.text)}
    usual = (*_USUAL, *sorted(named.difference(_USUAL)))
    try:
        for at, name in enumerate(dict.fromkeys((*usual, *_NAMES))):
            if at == len(usual) and len(groups) == 1 and not _alike(groups[0][0], before):
                return (groups[0][0],)
            machine.rewind(saved)
            machine.press(name)
            if machine.halted:
                continue
            key = StoryKey(name, machine.take())
            stays = _alike(key, before)  # then only what it prints can tell it from others; a space may be left over
            for group in groups:
                if _alike(group[0], key) and not (stays and group[0].after.text.strip() != key.after.text.strip()):
                    group.append(key)
                    break
            else:
                groups.append([key])
    finally:
        machine.put(saved)
    idle = [group for group in groups if _alike(group[0], before)]
    if idle:
        groups.remove(max(idle, key=len))
    return tuple(min(group, key=lambda key: key.name not in named) for group in groups)


def turn_pages(machine: Machine, printed: str) -> str:
    """Turn pages on which every key does the same; return all that was printed."""
    pages = [printed]
    while machine.wants_key and not machine.halted and len(pages) <= _MOST_PAGES:
        found = choices(machine)
        if len(found) != 1:
            break
        pages.append(machine.press(found[0].name))
    return "\n".join(pages)


def leave(machine: Machine, printed: str) -> str:
    """Turn pages, and leave menus by the shortest way; return all that was printed."""
    printed = turn_pages(machine, printed)
    for key in way_out(machine) if machine.wants_key and not machine.halted else ():
        printed += f"\n{machine.press(key)}"
    return printed


def way_out(machine: Machine) -> tuple[str, ...]:
    """Return the fewest keys that lead to where a line is typed, () if none were found; the situation stays."""
    saved = machine.take()
    try:
        return next((pressed for pressed in _walk(machine) if not machine.wants_key), ())
    finally:
        machine.put(saved)


def ways_through(machine: Machine) -> Iterator[tuple[str, ...]]:
    """Yield the keys of ways to where a line is typed: out at once, and by each further screen, the nearest first.

    The machine is where each way ends, and where it was after the last one.
    """
    saved = machine.take()
    for pressed in _walk(machine):
        if not machine.wants_key:
            yield pressed
        elif way := way_out(machine):
            for key in way:
                machine.press(key)
            yield (*pressed, *way)
    machine.put(saved)


def _walk(machine: Machine) -> Iterator[tuple[str, ...]]:
    """Yield the keys that lead to each further screen and to each way out, the nearest first; go to where they lead."""
    here = machine.take()
    screens: list[tuple[Snapshot, tuple[str, ...]]] = [(here, ())]
    met = {_place(here)}
    for screen, pressed in screens:  # which grow
        machine.put(screen)
        for key in sorted(choices(machine), key=lambda key: key.name not in _LEAVING):
            machine.put(key.after)
            way = (*pressed, key.name)
            if machine.wants_key:
                if _place(key.after) in met or len(screens) == _MOST_SCREENS:
                    continue
                met.add(_place(key.after))
                screens.append((key.after, way))
            yield way


def _place(situation: Snapshot) -> tuple[int, int, bytes, bytes]:
    return situation.pc, situation.sp, situation.memory, situation.text


def _alike(one: StoryKey, other: StoryKey) -> bool:
    """Whether two situations differ at most where they keep the key that was pressed."""
    a, b = one.after, other.after
    if (a.pc, a.sp, a.fp, a.frames, a.opcode) != (b.pc, b.sp, b.fp, b.frames, b.opcode):
        return False
    codes = _code(one.name), _code(other.name)
    return _same(a.memory, b.memory, *codes) and _same(a.stack[2 * a.sp :], b.stack[2 * b.sp :], *codes)


def _same(one: bytes, other: bytes, code: int, code_of_other: int) -> bool:
    """Whether bytes differ only where both have the code of their key. What was there before a key can be anything."""
    import numpy as np

    if one == other:
        return True
    a, b = np.frombuffer(one, np.uint8), np.frombuffer(other, np.uint8)
    changed = a != b
    return bool(np.all(a[changed] == code) and (code_of_other == 0 or np.all(b[changed] == code_of_other)))


def _code(name: str) -> int:
    return _CODES.get(name) or (ord(name) if name else 0)
