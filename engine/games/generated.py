"""Stories made with TextWorld: commands that may be valid now, and whether the world changed.

Jericho has no grammar for generated stories, and its world hash does not work for them: it includes attributes that
printing routines set, and does not notice how food was cut. Two classes replace grammar and hash. Neither keeps state
about the game in progress, so they work with saves, restores and undo.

* `GeneratedStory.candidates` matches the rules in the story's metadata with the text (place, what is open, closed or
  locked, what is carried) and returns the commands that may apply.
* `WorldKey` reads the interpreter's memory and returns a text that is equal for equal worlds.

A worker tries each candidate from a saved state. A candidate is valid if the key or the score changes, or the story
ends. Jericho keeps the score of a generated story outside its saved state: after `set_state` it still reports the
score of the last command.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.disk import read_text
from engine.errors import BadFile

_FORMAT = 1
_PLACE = re.compile(r"-= (.+?) =-")
_LOCKING = ("open", "closed", "locked")
_SPELLINGS = {"opened": "open", "shut": "closed"}
_WORD = re.compile(r"[a-z']+")

Binding = dict[str, str]


@dataclass(frozen=True, slots=True)
class TextView:
    """What the text shows.

    Attributes:
        room: Id of the room, "" if the text names none.
        carried: Ids of the things in the inventory.
        visible: Ids of the things that the description mentions and that are not carried.
        shown: (predicate, id) pairs that the text states: open, closed, locked, and how food was prepared.
    """

    room: str
    carried: tuple[str, ...]
    visible: tuple[str, ...]
    shown: frozenset[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class _Rule:
    template: str
    conditions: tuple[tuple[str, tuple[str, ...]], ...]
    kinds: Mapping[str, str]


class GeneratedStory:
    """The metadata of one generated story.

    Raises:
        BadFile: The metadata is damaged or of another version.
    """

    def __init__(self, metadata: Mapping[str, Any]) -> None:
        if metadata.get("format") != _FORMAT:
            raise BadFile("the metadata of this generated story is of another version; make the story again")
        try:
            self.objective = str(metadata["objective"])
            self.max_score = int(metadata["max_score"])
            self._parents: dict[str, str] = dict(metadata["types"])
            self._kind = {key: kind for key, kind, _ in metadata["entities"]}
            self._name = {key: str(name) for key, _, name in metadata["entities"]}
            # Dictionaries keep the order of the file; the order of a set would differ between processes.
            self._facts: dict[str, dict[tuple[str, ...], None]] = {}
            for predicate, *arguments in metadata["facts"]:
                self._facts.setdefault(predicate, {})[tuple(arguments)] = None
            rules = metadata["rules"]
            self._rules = [_rule(template, conditions) for _, template, conditions, _ in rules]
            self._read_effects(rules)
        except (KeyError, TypeError, ValueError) as error:
            raise BadFile(f"the metadata of this generated story is damaged ({error!r})") from None
        self._doors = {(a, b): door for a, door, b in self._facts.get("link", ())}
        self._rooms = {name.lower(): key for key, name in self._name.items() if self._kind[key] == "r"}
        self._by_name: dict[str, str] = {}
        for key, name in self._name.items():
            if self._kind[key] != "r":
                self._by_name.setdefault(name.lower(), key)
        names = sorted(self._by_name, key=len, reverse=True)
        self._mention = re.compile(rf"\b(?:{'|'.join(map(re.escape, names))})\b", re.IGNORECASE)

    @classmethod
    def load(cls, path: str | Path) -> GeneratedStory:
        """Read the metadata file that was made with the story.

        Raises:
            BadFile: The file cannot be read, is damaged, or is of another version.
        """
        try:
            data = json.loads(read_text(path))
        except (OSError, ValueError) as error:
            raise BadFile(f"the metadata {path} cannot be read ({error}); make the story again") from None
        if not isinstance(data, dict):
            raise BadFile(f"the metadata {path} is no JSON object; make the story again")
        return cls(data)

    def candidates(self, description: str, inventory: str) -> list[str]:
        """Return the commands that may change the world, without duplicates, in a fixed order.

        Conditions that the text says nothing about (such as whether food is edible) are assumed to hold. So some
        commands may have no effect and must be tried. Commands that only look are not included.

        Args:
            description: What `look` prints.
            inventory: What `inventory` prints.
        """
        view = self.view(description, inventory)
        found: dict[str, None] = {}
        if view.room:
            for rule in self._rules:
                for binding in self._solve(rule, 0, {"P": "P", "I": "I"}, view):
                    names = {slot: self._name.get(key, key) for slot, key in binding.items()}
                    found[rule.template.format(**names)] = None
        return list(found)

    def view(self, description: str, inventory: str) -> TextView:
        """Return what the texts of `look` and `inventory` show."""
        place = _PLACE.search(description)
        room = self._rooms.get(place.group(1).lower(), "") if place else ""
        carried, shown = self._read(inventory)
        visible, more = self._read(description)
        here = {thing for thing, where in self._facts.get("at", ()) if where == room}
        doors = {door for (a, _), door in self._doors.items() if a == room}
        seen = [
            key
            for key in dict.fromkeys(visible)
            if key not in carried and (self._portable(key) or key in here or key in doors)
        ]
        return TextView(room, tuple(dict.fromkeys(carried)), tuple(seen), frozenset(shown | more))

    # ------------------------------------------------------------------------------ reading the metadata

    def _read_effects(self, rules: list[Any]) -> None:
        """Derive from the rules which predicates change in play, and which ones a shown predicate excludes."""
        self._fluent: set[str] = set()
        self._made: set[tuple[str, str]] = set()
        self._ends: dict[str, set[str]] = {}
        for _, _, conditions, effects in rules:
            used = [condition[1] for condition in conditions if condition[0] != "$" and len(condition) == 3]
            made = [effect[0] for effect in effects if len(effect) == 2]
            self._fluent |= {condition[1] for condition in conditions if condition[0] != "$"}
            for effect in effects:
                self._fluent.add(effect[0])
                if len(effect) == 2:
                    self._made.add((effect[0], effect[1].split(":")[1]))
            for predicate in made:
                self._ends.setdefault(predicate, set()).update(used)
        self._adjectives = {name for name in self._fluent if name.isalpha()} | set(_LOCKING)

    def _read(self, text: str) -> tuple[list[str], set[tuple[str, str]]]:
        """Return the ids that `text` mentions, in order, and the predicates of the adjectives before them."""
        found: list[str] = []
        shown: set[tuple[str, str]] = set()
        end = 0
        for match in self._mention.finditer(text):
            key = self._by_name[match.group().lower()]
            found.append(key)
            between = text[max(end, match.start() - 40) : match.start()].lower()
            end = match.end()
            for word in _WORD.findall(re.split(r"[.,:;]|\band\b", between)[-1])[-4:]:
                predicate = _SPELLINGS.get(word, word)
                if predicate in self._adjectives:
                    shown.add((predicate, key))
        return found, shown

    # ----------------------------------------------------------------------------------- matching the rules

    def _solve(self, rule: _Rule, at: int, binding: Binding, view: TextView) -> Iterator[Binding]:
        """Yield every binding of the rule's placeholders that does not contradict the text or the metadata."""
        if at == len(rule.conditions):
            yield binding
            return
        predicate, slots = rule.conditions[at]
        free = [slot for slot in slots if slot not in binding]
        if not free:
            if self._may_hold(predicate, tuple(binding[slot] for slot in slots), view):
                yield from self._solve(rule, at + 1, binding, view)
            return
        for values in self._choices(predicate, slots, binding, view):
            if all(self._is(values[slot], rule.kinds[slot]) for slot in free):
                yield from self._solve(rule, at + 1, {**binding, **values}, view)

    def _choices(
        self, predicate: str, slots: tuple[str, ...], binding: Binding, view: TextView
    ) -> Iterator[Binding]:
        """Yield bindings of the free slots of one condition."""
        if predicate == "at" and slots[0] == "P":
            yield {slots[1]: view.room}
        elif predicate in ("at", "in", "on") and slots[0] not in binding:
            if slots[1] == "I":
                yield from ({slots[0]: key} for key in view.carried)
            elif slots[1] in binding:
                yield from ({slots[0]: key} for key in view.visible)
        elif predicate in self._fluent:
            for key in (*view.visible, *view.carried):
                values = {slot: key for slot in slots if slot not in binding}
                if self._may_hold(predicate, tuple((binding | values)[slot] for slot in slots), view):
                    yield values
        else:
            for fact in self._facts.get(predicate, ()):
                values = dict(zip(slots, fact, strict=False))
                if all(binding.get(slot, value) == value for slot, value in values.items()):
                    yield {slot: value for slot, value in values.items() if slot not in binding}

    def _may_hold(self, predicate: str, keys: tuple[str, ...], view: TextView) -> bool:
        """Whether the fact may hold; False only if the text or the metadata excludes it."""
        if predicate in ("at", "in", "on"):
            return self._placed(predicate, keys, view)
        if predicate == "free" and len(keys) == 2:
            door = self._doors.get((keys[0], keys[1]))
            if door is None:
                return keys in self._facts.get("free", ())
            return self._may_hold("open", (door,), view)
        if predicate not in self._fluent:
            return keys in self._facts.get(predicate, ())
        if len(keys) != 1:
            return True
        key = keys[0]
        if predicate in _LOCKING:
            states = [state for state in _LOCKING if (state, key) in view.shown]
            return not states or predicate in states
        if any(predicate in self._ends.get(state, ()) for state, other in view.shown if other == key):
            return False
        initially = keys in self._facts.get(predicate, ())
        return initially or any(name == predicate and self._is(key, kind) for name, kind in self._made)

    def _placed(self, predicate: str, keys: tuple[str, ...], view: TextView) -> bool:
        thing, where = keys
        if thing == "P":
            return where == view.room
        if where == "I":
            return thing in view.carried
        if self._portable(thing):
            return thing in view.visible
        return keys in self._facts.get(predicate, ())

    def _portable(self, key: str) -> bool:
        return self._is(key, "o")

    def _is(self, key: str, kind: str) -> bool:
        """Whether an entity is of a type or of a subtype."""
        if kind == "object":
            return True
        mine: str = self._kind.get(key, key)
        while mine and mine != kind:
            mine = self._parents.get(mine, "")
        return mine == kind


def _rule(template: str, conditions: list[list[str]]) -> _Rule:
    """Parse one rule. "take X from Y" becomes "take X": the game finds Y by itself."""
    if template.startswith("take "):
        template = template.split(" from ")[0]
    kinds: dict[str, str] = {}
    parsed = []
    for _, predicate, *slots in conditions:
        pairs = [slot.partition(":") for slot in slots]
        kinds.update({name: kind for name, _, kind in pairs})
        parsed.append((predicate, tuple(name for name, _, _ in pairs)))
    return _Rule(template, tuple(parsed), kinds)


class WorldKey:
    """Computes a key for worlds of one generated story from the object table in the interpreter's memory.

    The key depends on each object's parent, attributes and individual properties. It ignores what printing and moving
    change (attributes 11, 21, 30, 31, 35 and 36, and the individual property 76), and where floating objects (doors)
    are.
    """

    _NOISY_ATTRIBUTES = (11, 21, 30, 31, 35, 36)
    _INDIVIDUAL, _FOUND_IN = 3, 13

    def __init__(self, memory: bytes) -> None:
        """Find the relevant addresses in the dynamic memory at the start; objects and properties never move."""
        import numpy as np

        table = _word(memory, 0x0A) + 126
        count = (_word(memory, table + 12) - table) // 14
        quiet = bytearray(b"\xff" * 6)
        for attribute in self._NOISY_ATTRIBUTES:
            quiet[attribute // 8] &= ~(0x80 >> attribute % 8)
        addresses: list[int] = []
        masks: list[int] = []
        for number in range(count):
            start = table + 14 * number
            addresses += range(start, start + 6)
            masks += quiet
            floats, fields = _properties(memory, _word(memory, start + 12), self._INDIVIDUAL, self._FOUND_IN)
            if not floats:
                addresses += (start + 6, start + 7)
                masks += (0xFF, 0xFF)
            addresses += fields
            masks += b"\xff" * len(fields)
        self._addresses = np.array(addresses, dtype=np.intp)
        self._masks = np.array(masks, dtype=np.uint8)
        # Behind the attributes: parent, next in the same place, and first thing inside, two bytes each.
        places = [range(table + 14 * number + 6, table + 14 * number + 12) for number in range(count)]
        self._places = np.array(places, dtype=np.intp)

    def __call__(self, memory: Any, score: float = 0) -> str:
        """Return the key for dynamic memory (bytes or an array of bytes) and score."""
        import numpy as np

        cells = np.frombuffer(memory, dtype=np.uint8) if isinstance(memory, bytes) else memory
        digest = hashlib.md5((cells[self._addresses] & self._masks).tobytes(), usedforsecurity=False)
        digest.update(str(float(score)).encode())
        return digest.hexdigest()

    def order(self, memory: bytes) -> bytes:
        """Return a key of the order in which things lie in places and in hand: they are listed in it."""
        import numpy as np

        cells = np.frombuffer(memory, dtype=np.uint8)
        return hashlib.md5(cells[self._places].tobytes(), usedforsecurity=False).digest()


def _word(memory: bytes, address: int) -> int:
    return memory[address] << 8 | memory[address + 1]


def _properties(memory: bytes, address: int, individual: int, found_in: int) -> tuple[bool, list[int]]:
    """Return whether the object floats between rooms, and the addresses of its individual properties."""
    at = address + 1 + 2 * memory[address]
    floats, fields = False, []
    while memory[at]:
        size_byte = memory[at]
        number = size_byte & 0x3F
        if size_byte & 0x80:
            size, at = memory[at + 1] & 0x3F or 64, at + 2
        else:
            size, at = 2 if size_byte & 0x40 else 1, at + 1
        if number == found_in:
            floats = True
        elif number == individual:
            fields = _individual(memory, _word(memory, at))
        at += size
    return floats, fields


def _individual(memory: bytes, at: int) -> list[int]:
    """Return the addresses of the values in an individual property table, without property 76."""
    fields: list[int] = []
    while _word(memory, at):
        number, size = _word(memory, at) & 0x7FFF, memory[at + 2]
        if number != 76:
            fields += range(at + 3, at + 3 + size)
        at += 3 + size
    return fields
