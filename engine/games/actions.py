"""Valid actions for stories that Jericho has a grammar for: commands that would change the world now.

The names of things are words of the story's dictionary found in what the game shows and in its object
tree; each name that the parser recognises is put into the game's own command templates; a command counts
if trying it changes the world. Of several commands with one effect the most usual is kept.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
from collections.abc import Iterable, Sequence
from itertools import permutations
from pathlib import Path
from typing import Any

from engine.records import Observation

SCHEME = 1
"""Part of the cache's key; to be raised when the way actions are found changes."""

_WORD = re.compile(r"[a-z][a-z'-]*")
_STOP_WORDS = """
a an the this that these those some any all every each no not none nothing of in on at to from with into onto
by for as and or but if then than so very too also just only here there where which who whom what when how why
is are was were be been being am has have had having do does did can could will would shall should may might
must you your yours yourself i me my it its he him his she her they them their we us our one
north south east west northeast northwest southeast southwest up down
"""
_STOP = frozenset(_STOP_WORDS.split())
"""Words that name no thing."""
_CHUNK = 400


class ActionFinder:
    """Finds the valid actions of one loaded story."""

    def __init__(self, env: Any) -> None:
        self._env = env
        self._templates: list[tuple[str, int]] = []
        self._words: frozenset[str] = frozenset()
        self._word_length = 0
        if env.is_fully_supported and env.bindings and env.act_gen is not None:
            templates = dict.fromkeys(env.act_gen.templates)
            self._templates = [(template, template.count("OBJ")) for template in templates]
            self._words = frozenset(word.word for word in env.get_dictionary())
            self._word_length = max(map(len, self._words), default=0)

    @property
    def known(self) -> bool:
        """Whether there is a grammar to go by."""
        return bool(self._templates)

    def find(self, seen: Observation, saved: Any) -> tuple[str, ...]:
        """Return the valid actions in the situation `saved`, which is where the interpreter stands.

        The interpreter is left anywhere; the caller restores it.
        """
        if not self.known:
            return ()
        names, carried = self._names(seen, saved)
        self._env.set_state(saved)
        effects: dict[tuple[int, ...], list[str]] = {}
        for chunk in _chunks(self._candidates(names, carried), _CHUNK):
            for effect, commands in self._env._filter_candidate_actions(chunk, use_ctypes=True).items():
                effects.setdefault(effect, []).extend(commands)
        return tuple(sorted(self._most_usual(commands) for commands in effects.values()))

    def _candidates(self, names: Sequence[str], carried: frozenset[str]) -> Iterable[str]:
        """Yield commands, most promising first: no thing, one thing, then two of which one is carried."""
        for holes in (0, 1):
            for template, count in self._templates:
                if count == 0 == holes:
                    yield template
                elif count == 1 == holes:
                    for name in [*names, "all"]:
                        yield template.replace("OBJ", name)
        pairs = [(a, b) for a, b in permutations(names, 2) if a in carried or b in carried]
        pairs += [("all", b) for b in names]
        for template, count in self._templates:
            if count == 2:
                for a, b in pairs:
                    yield template.replace("OBJ", a, 1).replace("OBJ", b, 1)

    def _names(self, seen: Observation, saved: Any) -> tuple[list[str], frozenset[str]]:
        """Return one name for each thing at hand, and which of them are carried."""
        texts = {
            "tree": self._tree_words(),
            "inventory": seen.inventory,
            "look": seen.description,
            "text": seen.text,
        }
        words: dict[str, None] = {}
        carried_words = set(_words(seen.inventory))
        for text in texts.values():
            for word in _words(text):
                if word not in _STOP and word[: self._word_length] in self._words:
                    words[word] = None
        things: dict[str, list[str]] = {}
        for word in words:
            self._env.set_state(saved)
            answer = self._env.step("examine " + word)[0]
            if _recognised(answer):
                things.setdefault(answer, []).append(word)
        names, carried = [], set()
        tree = set(_words(texts["tree"]))
        for words_of_one in things.values():
            # The last word of a thing's own name is its noun; failing that, any word of the text.
            name = max(words_of_one, key=lambda w: (w in tree, words_of_one.index(w)))
            names.append(name)
            if carried_words & set(words_of_one):
                carried.add(name)
        return names, frozenset(carried)

    def _tree_words(self) -> str:
        from jericho import util

        place = self._env.get_player_location()
        if place is None:
            return ""
        player = self._env.player_obj_num
        around = util.get_subtree(place.child, self._env.get_world_objects())
        return ", ".join(thing.name for thing in around if thing.num != player)

    @staticmethod
    def _most_usual(commands: list[str]) -> str:
        from jericho.util import verb_usage_count

        return max(commands, key=lambda c: (verb_usage_count(c.split()[0]), -len(c), c))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


def _recognised(answer: str) -> bool:
    from jericho import defines

    return not any(pattern.match(answer) for pattern in defines.UNRECOGNIZED_REGEXPS)


def _chunks(commands: Iterable[str], size: int) -> Iterable[list[str]]:
    chunk: list[str] = []
    for command in commands:
        chunk.append(command)
        if len(chunk) == size:
            yield chunk
            chunk = []
    if chunk:
        yield chunk


class ActionCache:
    """Valid actions by world, in memory and (given a folder) on disk, shared by all processes.

    Losing it costs time and nothing else, so every failure of the disk is passed over.
    """

    _LIMIT = 400_000

    def __init__(self, folder: Path | None) -> None:
        self._memory: dict[str, tuple[str, ...]] = {}
        self._disk: sqlite3.Connection | None = None
        if folder is not None:
            with contextlib.suppress(sqlite3.Error, OSError):
                self._disk = sqlite3.connect(
                    folder / f"actions-{SCHEME}.sqlite", timeout=2, isolation_level=None
                )
                self._disk.execute("PRAGMA journal_mode=WAL")
                self._disk.execute("PRAGMA synchronous=OFF")
                self._disk.execute(
                    "CREATE TABLE IF NOT EXISTS actions (world TEXT PRIMARY KEY, found TEXT) STRICT"
                )

    def get(self, key: str) -> tuple[str, ...] | None:
        """Return the actions of a world, None if they are not known."""
        known = self._memory.get(key)
        if known is None and self._disk is not None:
            with contextlib.suppress(sqlite3.Error):
                row = self._disk.execute("SELECT found FROM actions WHERE world = ?", (key,)).fetchone()
                if row is not None:
                    known = self._memory[key] = tuple(row[0].split("\n")) if row[0] else ()
        return known

    def put(self, key: str, found: tuple[str, ...]) -> None:
        """Keep the actions of a world."""
        if len(self._memory) > 100_000:
            self._memory.clear()
        self._memory[key] = found
        if self._disk is not None:
            with contextlib.suppress(sqlite3.Error):
                self._disk.execute("INSERT OR REPLACE INTO actions VALUES (?, ?)", (key, "\n".join(found)))
                rows = self._disk.execute("SELECT max(rowid) - min(rowid) FROM actions").fetchone()[0] or 0
                if rows > self._LIMIT:
                    oldest = "SELECT rowid FROM actions ORDER BY rowid LIMIT ?"
                    self._disk.execute(f"DELETE FROM actions WHERE rowid IN ({oldest})", (self._LIMIT // 10,))
