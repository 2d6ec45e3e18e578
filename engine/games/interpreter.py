"""One story in Jericho: what it shows, what changed, what may be done. Lives in the worker process only.

Jericho runs C code that can crash, hang or end the process; nothing here guards against that. The
guarding is done by the process around it (`engine.games.worker`) and its owner (`engine.games.env`).
"""

from __future__ import annotations

import hashlib
import re
import struct
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

from engine.games.actions import ActionCache, ActionFinder
from engine.games.scene import still_look
from engine.records import Observation

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_ROOM_BANNER = re.compile(r"-= (.+?) =-")
_OURS = {
    "save": "jitrl keeps its own saves, so the game's SAVE is not used.",
    "restore": "jitrl keeps its own saves, so the game's RESTORE is not used.",
    "script": "jitrl records every session, so the game's SCRIPT is not used.",
    "unscript": "jitrl records every session, so the game's UNSCRIPT is not used.",
    "restart": "An episode begins anew only when it has ended, so the game's RESTART is not used.",
    "quit": "An episode ends with the game or the step limit; leave with jitrl's own keys.",
    "q": "An episode ends with the game or the step limit; leave with jitrl's own keys.",
    "undo": "What is done is done: within an episode the game's UNDO is not used.",
}
"""Commands that would leak state between episodes or end the interpreter, and the answer to each."""

_STATE_NUMBERS = struct.Struct("<iiiiiqii")
_FORMAT = b"JZS1"


def intercepted(command: str) -> str | None:
    """Return our answer if any part of `command` is one that the game must not see."""
    for part in re.split(r"[.;,]|\bthen\b", command.lower()):
        words = part.split()
        if words and words[0] in _OURS:
            return _OURS[words[0]]
    return None


def clean(text: str) -> str:
    """Return `text` without control characters (newlines stay), trimmed."""
    return _CONTROL.sub("", text.replace("\r", "\n").replace("\t", " ")).strip()


class Interpreter:
    """A loaded story.

    Args:
        story: Path of a story that was validated before.
        metadata: Path of a generated story's metadata, None for all others.
        cache: Where valid actions are kept between sessions, None for nowhere.
    """

    def __init__(self, story: str, metadata: str | None, digest: str, cache: str | None) -> None:
        import jericho

        self._story = story
        self._digest = digest
        self._jericho = jericho
        self._generated: Any = None
        self._key: Callable[..., str] | None = None
        if metadata:
            from engine.games.generated import GeneratedStory

            self._generated = GeneratedStory.load(metadata)
        self._cache = ActionCache(Path(cache) if cache else None)
        self._seed = 0
        self._env: Any = None
        self._finder: ActionFinder | None = None
        self._looks: dict[str, tuple[str, str]] = {}
        self._last: Observation | None = None

    # ------------------------------------------------------------------------------------- playing

    def reset(self, seed: int) -> Observation:
        """Begin an episode with an explicit seed."""
        if self._env is None or seed != self._seed:
            self._open(seed)
        text, info = self._env.reset()
        del info
        self._last = self._observe(text, self._hash(), changed=True, before=None)
        return self._last

    def step(self, command: str) -> Observation:
        """Take one command; at the end of a game everything stays as it is."""
        last = self._last
        if last is None:
            raise RuntimeError("no episode has begun")
        if last.done:
            return _with(last, text="The game is over.", changed=False)
        ours = intercepted(command)
        if ours is not None:
            return _with(last, text=ours, changed=False)
        text = self._env.step(command)[0]
        reported = bool(self._env._world_changed()) if self._generated is None else None
        digest = self._hash()
        changed = digest != last.world_hash if reported is None else reported or digest != last.world_hash
        self._last = self._observe(text, digest, changed=changed, before=last)
        return self._last

    def valid_actions(self) -> tuple[str, ...]:
        """Return the commands that would change the world now, in a fixed order."""
        last = self._last
        if last is None or last.done:
            return ()
        key = f"{self._digest}:{last.world_hash}"
        known = self._cache.get(key)
        if known is not None:
            return known
        assert self._finder is not None
        saved = self._env.get_state()
        try:
            if self._generated is not None:
                found = self._filter_generated(saved, last)
            else:
                found = self._finder.find(last, saved)
        finally:
            self._env.set_state(saved)
        self._cache.put(key, found)
        return found

    # ------------------------------------------------------------------------------ save and restore

    def save(self) -> bytes:
        """Return the whole situation as bytes: interpreter, random generator and what was seen last."""
        from engine.codec import to_plain
        import json  # isort: skip

        ram, stack, pc, sp, fp, frames, opcode, rng, narrative = self._env.get_state()
        last = json.dumps(to_plain(self._last)).encode()
        head = _STATE_NUMBERS.pack(pc, sp, fp, frames, opcode, int(rng[0]), rng[1], rng[2])
        parts = [ram.tobytes(), stack.tobytes(), bytes(narrative), last]
        return b"".join([_FORMAT, bytes.fromhex(self._digest), struct.pack("<i", self._seed), head,
                         *(struct.pack("<I", len(part)) + part for part in parts)])  # fmt: skip

    def restore(self, saved: bytes) -> Observation:
        """Go back to what `save` returned for this story.

        Raises:
            ValueError: It is damaged, or belongs to another story.
        """
        import json

        import numpy as np

        from engine.codec import from_plain

        if saved[:4] != _FORMAT or saved[4:20] != bytes.fromhex(self._digest):
            raise ValueError("this save belongs to another story or version")
        (seed,) = struct.unpack_from("<i", saved, 20)
        if self._env is None or seed != self._seed:
            self._open(seed)
        pc, sp, fp, frames, opcode, a, interval, counter = _STATE_NUMBERS.unpack_from(saved, 24)
        at = 24 + _STATE_NUMBERS.size
        parts = []
        for _ in range(4):
            (size,) = struct.unpack_from("<I", saved, at)
            parts.append(saved[at + 4 : at + 4 + size])
            at += 4 + size
        now = self._env.get_state()
        if len(parts[0]) != len(now[0]) or len(parts[1]) != len(now[1]):
            raise ValueError("this save is damaged")
        ram, stack = (np.frombuffer(part, dtype=np.uint8).copy() for part in parts[:2])
        self._env.set_state((ram, stack, pc, sp, fp, frames, opcode, (a, interval, counter), parts[2]))
        self._last = from_plain(Observation, json.loads(parts[3]))
        return self._last

    # ------------------------------------------------------------------------------------- looking

    def _open(self, seed: int) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._env = self._jericho.FrotzEnv(self._story, seed=seed)
        self._seed = seed
        self._env.reset()
        if self._generated is not None:
            from engine.games.generated import WorldKey

            self._key = WorldKey(self._env.get_state()[0].tobytes())
        self._finder = ActionFinder(self._env)
        self._max_score = self._find_max_score()

    def _find_max_score(self) -> float | None:
        if self._generated is not None:
            return float(self._generated.max_score)
        if not self._env.is_fully_supported:
            return None
        return float(self._env.get_max_score()) or None

    def _hash(self) -> str:
        """Return a hash that is equal for equal worlds, noisy things (a wandering thief) left out."""
        import numpy as np

        if self._key is not None:
            return self._key(self._env.get_state()[0], self._env.get_score())
        objects = np.frombuffer(self._env.get_world_objects(clean=True), dtype=_OBJECT)
        digest = hashlib.md5(usedforsecurity=False)
        for field in ("num", "parent", "attr", "properties"):
            digest.update(objects[field].tobytes())
        digest.update(str(self._env._get_special_ram()).encode())
        return digest.hexdigest()

    def _look(self, digest: str) -> tuple[str, str]:
        """Return what `look` and `inventory` print; the situation, random generator included, stays.

        Only generated stories are slow enough, and hashed finely enough, to remember the answer.
        """
        known = self._looks.get(digest) if self._generated is not None else None
        if known is None:
            saved = self._env.get_state()
            look = clean(self._env.step("look")[0])
            self._env.set_state(saved)
            inventory = clean(self._env.step("inventory")[0])
            self._env.set_state(saved)
            known = (look, inventory)
            if self._generated is not None:
                if len(self._looks) > 20_000:
                    self._looks.clear()
                self._looks[digest] = known
        return known

    def _observe(self, text: str, digest: str, *, changed: bool, before: Observation | None) -> Observation:
        env = self._env
        halted = bool(env._emulator_halted())
        won = bool(env.victory())
        over = bool(env.game_over())
        done = won or over or halted
        score = float(env.get_score())
        moves = int(env.get_moves())
        scene = ""
        if done:
            look = before.description if before else ""
            inventory = before.inventory if before else ""
            place = before.place if before else ""
        else:
            look, inventory = self._look(digest)
            place = self._place(look)
            if self._generated is None and env.is_fully_supported:
                scene = clean(still_look(env, env.get_state()) or "")
        return Observation(
            text=clean(text),
            description=look,
            inventory=inventory,
            place=place,
            score=score,
            max_score=self._max_score,
            moves=moves,
            done=done,
            won=won,
            died=done and not won,
            world_hash=digest,
            changed=changed or done,
            scene=scene,
        )

    def _place(self, look: str) -> str:
        banner = _ROOM_BANNER.search(look)
        if banner:
            return banner.group(1)
        # A room's name is the first line of its description. In the dark there is none, and the interpreter's
        # own name of the room would tell more than the player knows.
        first = next((line.strip() for line in look.splitlines() if line.strip()), "")
        return first.split(". ")[0].rstrip(".!")[:60]

    def _filter_generated(self, saved: Any, last: Observation) -> tuple[str, ...]:
        found = []
        env = self._env
        score = env.get_score()
        for command in self._generated.candidates(last.description, last.inventory):
            env.set_state(saved)
            env.step(command)
            if (
                env.get_score() != score
                or env.victory()
                or env.game_over()
                or self._hash() != last.world_hash
            ):
                found.append(command)
        return tuple(sorted(found))


def _object_dtype() -> Any:
    import numpy as np

    return np.dtype(
        [("num", "<i4"), ("name", "S64"), ("parent", "<i4"), ("sibling", "<i4"), ("child", "<i4"),
         ("attr", "V4"), ("properties", "V16")]
    )  # fmt: skip


_OBJECT = _object_dtype()
"""Jericho's ZObject as it lies in memory."""


def _with(last: Observation, *, text: str, changed: bool) -> Observation:
    import dataclasses

    return dataclasses.replace(last, text=text, changed=changed)
