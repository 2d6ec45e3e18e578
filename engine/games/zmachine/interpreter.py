"""One story in Jericho: what it shows, what changed, what may be done. Lives in the worker process only.

Jericho runs C code that can crash, hang or end the process; nothing here guards against that. The
guarding is done by the process around it (`engine.games.zmachine.worker`) and its owner (`engine.games.env`).
"""

from __future__ import annotations

import dataclasses
import hashlib
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.games.actions.cache import ActionCache
from engine.games.actions.search import ActionFinder, ActionSearch
from engine.games.actions.templates import TemplateFinder
from engine.games.story import StoryPath, story_bytes
from engine.games.zmachine.analysis import SCHEME, Analysis, analyse, finder_of
from engine.games.zmachine.characters import Characters
from engine.games.zmachine.commands import Controls
from engine.games.zmachine.keys import keys_in, leave, turn_pages
from engine.games.zmachine.loader import open_quickly, print_all
from engine.games.zmachine.look import LookCommands, Seen, still_look
from engine.games.zmachine.machine import Machine, Snapshot, pack_save, unpack_save
from engine.games.zmachine.printed import clean, text_only, title_in
from engine.games.zmachine.prompt import COMMAND, KEY, QUESTION, StoryPrompt
from engine.games.zmachine.status import PlainStatus, PlayerStatus, known_status, place_of
from engine.games.zmachine.world import PlainWorld, SupportedWorld, World
from engine.records import Observation

if TYPE_CHECKING:
    from engine.games.generated import WorldKey

_SEEDS = 16

_NO_WAY = "The story waits for a key here: {}."
_NOT_USED = "jitrl keeps its own saves, and an episode ends with the game or the step limit, so this is not used."


class Interpreter:
    """A loaded story.

    Args:
        story: Path of a story that was validated before.
        metadata: Path of a generated story's metadata, None for all others.
        cache: Folder of what is kept between sessions, None for nowhere.
        poison: Commands that hung or crashed the interpreter before, never to be tried.
        guard: Told each command before it is run.
        library: What `load_library` returned, for no other story; None to load it here.

    Attributes:
        machine: Runs the commands of the story.
        analysis: What is known of the story before it is played.
        finder: Makes the commands that are tried as actions; None before it is needed.
    """

    def __init__(
        self,
        story: str,
        metadata: str | None,
        digest: str,
        cache: str | None,
        poison: frozenset[str] = frozenset(),
        guard: Callable[[bytes], None] | None = None,
        library: Any = None,
    ) -> None:
        self._story = story
        self._library = library
        self._guard = guard
        self._digest = digest
        self._generated: Any = None
        if metadata:
            from engine.games.generated import GeneratedStory

            self._generated = GeneratedStory.load(metadata)
        folder = Path(cache) if cache else None
        self._cache = ActionCache(folder)
        self._kept = folder / f"story-{digest}-{SCHEME}.json" if folder else None
        self._poison = poison
        self._begun: dict[int, tuple[Snapshot, str]] = {}
        self._unfinished: tuple[str, ActionSearch] | None = None
        self._seen_before: Seen = {}
        self.finder: ActionFinder | TemplateFinder | None = None
        self._last: Observation | None = None
        self._turns = 0
        self._screens = 0
        """Steps in a row that ended on a screen that waits for a key."""
        self._open()

    # ------------------------------------------------------------------------------------- playing

    def reset(self, seed: int) -> Observation:
        """Begin an episode with an explicit seed."""
        begun = self._begun.get(seed)
        if begun is None:
            begun = self._begin(seed)
        else:
            self.machine.put(begun[0])
        self._turns, self._screens = 0, int(self.machine.wants_key)
        self._last = self._observe(self._only(begun[1]), self._world_key(), changed=True, before=None)
        return self._last

    def step(self, command: str) -> Observation:
        """Take one command; at the end of a game everything stays as it is."""
        last = self._last
        if last is None:
            raise RuntimeError("no episode has begun")
        if last.over:
            return dataclasses.replace(last, text="The game is over.", changed=False)
        kind = self._prompt.kind()
        if kind == COMMAND:
            ours = self._controls.intercepted(command)
            text = self._take(command) if ours is None else ""
        else:
            text, ours = self._given(command, kind)
        if ours is not None:
            return dataclasses.replace(last, text=ours, changed=False)
        self._turns += 1
        self._screens = self._screens + 1 if self.machine.wants_key else 0
        self._last = self._observe(text, self._world_key(), changed=False, before=last)
        return self._last

    def _given(self, line: str, kind: str) -> tuple[str, str | None]:
        """Give the story the keys or the answer that a line is, or leave a screen and take the line as a command.

        Returns:
            What the story tells, and our answer if it was not given to the story.
        """
        machine, begun = self.machine, self.machine.take()
        printed, ours = "", None
        if kind == QUESTION or keys_in(line):
            printed = self._prompt.give(line)
            ours = _NOT_USED if machine.halted else None
        else:
            ours = self._controls.intercepted(line)
            if ours is None:
                printed = self._only(leave(machine, ""))
                if machine.wants_key:
                    ours = _NO_WAY.format(", ".join(self._prompt.key_commands()))
                else:
                    printed += f"\n{machine.step(line)}"
        if ours is not None:
            machine.put(begun)
            return "", ours
        if self._plainly:
            printed = self._only(turn_pages(machine, printed), line)
        return printed, None

    @property
    def fallback(self) -> tuple[str, ...]:
        """Return the directions and what looks and waits, as far as the story has words for them."""
        story, wording = self.analysis.story, self.analysis.wording
        words = dict.fromkeys((*wording.ways, wording.look, *wording.idle[:1]))
        return tuple(word for word in words if story is None or story.cut(word) in story.dictionary)

    def _title(self) -> str:
        """Return the title that the story prints, "" if none."""
        story = self.analysis.story
        if story is None or self._generated is not None:
            return ""
        with self.machine.probing("title"):
            opening = leave(self.machine, self.machine.text)
            return title_in(self._take("version"), opening, story.serial)

    @property
    def scored(self) -> bool:
        """Whether score and moves are known, or can be read from the story."""
        return self._plain is None or self._plain.known

    def valid_actions(
        self, commands: int | None = None, *, limit: int | None = None
    ) -> tuple[tuple[str, ...], bool]:
        """Return the commands that would change the world now, in a fixed order, and whether the search is over.

        Args:
            commands: How many commands to try at most now, None for all that can matter. If that is too few, the next
                call goes on with them.
            limit: How many to try in this situation in all, None for no limit.
        """
        last = self._last
        if last is None or last.over:
            return (), True
        kind = self._prompt.kind()
        if kind == QUESTION:
            return self._key_commands(), True
        key = self._situation(last) + (f"~{limit}" if limit else "")
        known = self._cache.get(key)
        if known is not None:
            return known, True
        begun = saved = self.machine.take()
        try:
            if kind == KEY:
                turn_pages(self.machine, "")
                if self._prompt.kind() != COMMAND:
                    return self._key_commands(), True
                saved = self.machine.take()
            if self._generated is not None:
                found, done = self._filter_generated(saved, last), True
            else:
                found, done = self._search(key, saved, last, commands, limit)
        finally:
            self.machine.put(begun)
        if done:
            self._cache.put(key, found)
        return found, done

    def _key_commands(self) -> tuple[str, ...]:
        """Return what can be given to a story that waits for a key or an answer."""
        finder = self._action_finder()
        further = [line for line in finder.bare if line not in self._poison] if finder is not None else ()
        return self._prompt.key_commands(world=self._achieved if self._screens > 1 else None, further=further)

    # ------------------------------------------------------------------------------ save and restore

    def save(self) -> bytes:
        """Return the whole situation as bytes: interpreter, random generator and what was seen last."""
        return pack_save(self._digest, self._turns, self._screens, self._last, self.machine.take())

    def restore(self, saved: bytes) -> Observation:
        """Go back to what `save` returned for this story.

        Raises:
            ValueError: It is damaged, or belongs to another story.
        """
        turns, screens, last, situation = unpack_save(saved, self._digest)
        self.machine.put(situation)
        self._turns, self._last, self._screens = turns, last, screens
        return last

    # ------------------------------------------------------------------------------------- beginning

    def _open(self) -> None:
        """Load the story and find out about it."""
        self._note(b"(loading the story)")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            self._env = open_quickly(StoryPath(self._story), self._library)
        self._known = bool(self._env.is_fully_supported)
        self._plainly = not self._known and self._generated is None
        self._data = story_bytes(self._story)
        self._characters = Characters(self._data)
        if self._plainly:
            print_all(self._env, self._characters)
        self.analysis = Analysis(None)
        self._begin(1, anew=self._plainly)
        player = int(self._env.player_obj_num) if self._known else 0
        if self._generated is None:
            self.analysis = analyse(self.machine, self._data, player=player, kept=self._kept)
            self._take_hold()
        self._controls = Controls(self.analysis.story, self.analysis.grammar)
        asked = self._plain_status() if self._plainly or not self._env.get_max_score() else None
        self._plain = asked if self._plainly else None
        self._asked_maximum = asked.maximum if asked is not None else None
        self.title = self._title()

    def _plain_status(self) -> PlainStatus:
        """Return what reads the status, found out behind the questions that the story begins with."""
        begun = self.machine.take()
        try:
            leave(self.machine, "")
            for answer in self.analysis.answers:
                leave(self.machine, self.machine.answer(answer))
            return PlainStatus(self.machine, self.analysis.story, self.analysis.counts)
        finally:
            self.machine.put(begun)

    def _begin(self, seed: int, anew: bool = True) -> tuple[Snapshot, str]:
        """Remember the beginning of the story; if `anew` is true, start it with this seed first, as loading it does."""
        self._note(b"(starting the story)")
        if anew:
            self._env.seed(seed)
            self._env.reset()
        self._take_hold()
        text = self.machine.text
        if self._plainly:
            text = turn_pages(self.machine, text)
        if len(self._begun) >= _SEEDS:
            self._begun.clear()
        self._begun[seed] = begun = (self.machine.take(), text)
        return begun

    def _take(self, command: str) -> str:
        """Take a command and return what the story tells."""
        text = self.machine.step(command)
        return self._only(turn_pages(self.machine, text), command) if self._plainly else text

    def _only(self, printed: str, command: str = "") -> str:
        """Return what the story tells in what was printed."""
        return text_only(printed, command, self.analysis.wording.prompt) if self._plainly else printed

    def _note(self, what: bytes) -> None:
        if self._guard is not None:
            self._guard(what)

    def _take_hold(self) -> None:
        """Point at the interpreter's memory, which every start allocates anew."""
        self._unfinished = None  # it holds on to the old one
        self.machine = Machine(self._env, self._characters, self._guard, self._poison)
        self._key: WorldKey | None = None
        self._world: World | None = None
        analysis = self.analysis
        self._prompt = StoryPrompt(self.machine, analysis.story, analysis.parser_globals)
        self._look_commands = LookCommands(self.machine, analysis.wording, self._take, self._seen_before)
        if self._generated is not None:
            from engine.games.generated import WorldKey

            self._key = WorldKey(bytes(self.machine.memory))
            self._look_commands.remember(self._key.order)
        elif analysis.story is not None:
            if self._known:
                self._world = SupportedWorld(
                    self.machine, analysis.story, analysis.facts, analysis.noisy, analysis.settings
                )
            else:
                self._world = PlainWorld(
                    self.machine, analysis.story, analysis.facts, analysis.noisy, analysis.counts, analysis.settings
                )

    # ------------------------------------------------------------------------------------- looking

    def _world_key(self) -> str:
        """Return a hash that is equal for equal worlds, noisy things (a wandering thief) left out."""
        if self._key is not None:
            return self._key(bytes(self.machine.memory), self.machine.score)
        if self._world is not None:
            return self._world.digest()
        return hashlib.md5(self.machine.memory, usedforsecurity=False).hexdigest()

    def _achieved(self) -> str:
        """Return what tells worlds apart, and states of one world with other scores."""
        return f"{self._world_key()} {self._world.score() if self._world is not None else 0}"

    def _situation(self, last: Observation) -> str:
        """Return the key of all that valid actions depend on."""
        seen = f"{last.description}\n{last.inventory}".encode()
        if self.analysis.counts.score is not None:  # a command may change the score and nothing else, once
            seen += f"\n{last.score:g}".encode()
        return f"{self._digest}:{last.world_hash}:{hashlib.md5(seen, usedforsecurity=False).hexdigest()[:12]}"

    def _observe(self, text: str, key: str, *, changed: bool, before: Observation | None) -> Observation:
        shown = clean(text)
        kind = self._prompt.kind()
        status, maximum = self._status(shown, asks=kind == COMMAND), self._max_score()
        if not status.over and kind != COMMAND:  # a world in which the story asks is another one than that behind it
            asked = f"{key} {self.machine.stand} {self.machine.text}"
            key = hashlib.md5(asked.encode(), usedforsecurity=False).hexdigest()
        changed = changed or before is None or key != before.world_hash
        look = before.description if before else ""
        inventory = before.inventory if before else ""
        place = before.place if before else ""
        scene, room = "", 0 if status.over else self._room()
        if not status.over and kind == KEY:
            with self.machine.probing(key):
                turn_pages(self.machine, "")
                kind = self._prompt.kind()
                if kind == COMMAND:  # seen behind a page
                    look, inventory, place, scene = self._seen(key)
            if kind == KEY:
                shown += f"\n\n[{_NO_WAY.format(', '.join(self._prompt.key_commands()))}]"
        elif not status.over and kind == COMMAND:
            look, inventory, place, scene = self._seen(key)
        if not status.over and kind != COMMAND:
            look = ""
            if before is None or room != before.room:
                place = self._room_name() or place
        score_changed = before is not None and status.score != before.score
        return Observation(
            text=shown,
            description=look,
            inventory=inventory,
            place=place,
            score=status.score,
            max_score=maximum,
            moves=status.moves,
            terminated=status.over,
            outcome=status.outcome(maximum),
            world_hash=key,
            changed=changed or status.over or score_changed,
            scene=scene,
            room=room,
            marks=() if status.over else self._marks(),
        )

    def _seen(self, key: str) -> tuple[str, str, str, str]:
        """Return what LOOK and INVENTORY print, the place, and the scene as in `Observation`."""
        look, inventory = self._look_commands.look(key)
        scene = ""
        if isinstance(self._world, SupportedWorld):
            with self.machine.probing(f"{key} still"):
                scene = clean(still_look(self.machine, self._world, self.analysis.player) or "")
        return look, inventory, self._place(look), scene

    def _place(self, look: str) -> str:
        """Return the name of the place.

        It is what `look` prints first, or the name of the object that the player is in: a story that Jericho does not
        know may have no such command.
        """
        name = self._room_name()
        analysis = self.analysis
        readable = not self._plainly or analysis.parser_globals is None or self._prompt.understands(
            analysis.wording.look
        )
        return (place_of(look, name) if readable else "") or name

    def _room_name(self) -> str:
        """Return the name of the object that the player is in, "" if unknown or not meant for players."""
        story, room = self.analysis.story, self._room()
        name = story.name(room) if story is not None and room else ""
        return "" if name.startswith("(") else name

    def _room(self) -> int:
        """Return the number of the object that the player is in, 0 if unknown."""
        story, player = self.analysis.story, self.analysis.player
        return story.parent(self.machine.memory, player) if story is not None and player else 0

    def _marks(self) -> tuple[str, ...]:
        """Return what is carried and no longer as it was when the story began, with the changed attributes."""
        story, player = self.analysis.story, self.analysis.player
        if story is None or not player or self._generated is not None:
            return ()
        return story.changed(self.machine.memory, player)

    def _status(self, text: str, *, asks: bool) -> PlayerStatus:
        if self._plain is None:
            return known_status(self.machine, text)
        return self._plain.read(self.machine, text, self._turns, asks=asks)

    def _max_score(self) -> float | None:
        if self._generated is not None:
            return float(self._generated.max_score)
        if self._plain is not None:
            return self._plain.maximum
        return float(self._env.get_max_score()) or self._asked_maximum

    # ------------------------------------------------------------------------------- valid actions

    def _search(
        self,
        key: str,
        saved: Snapshot,
        last: Observation,
        commands: int | None,
        limit: int | None,
    ) -> tuple[tuple[str, ...], bool]:
        finder = self._action_finder()
        if finder is None or self._world is None:
            return (), True
        if self._unfinished is not None and self._unfinished[0] == key:
            search = self._unfinished[1]
        else:
            shown = f"{last.description} {last.inventory}"
            search = finder.search(self.machine, self._world, shown, saved)
        if limit is not None:
            left = limit - search.tried
            commands = left if commands is None else min(commands, left)
        done = search.run(commands) or (limit is not None and search.tried >= limit)
        self._unfinished = None if done else (key, search)
        return search.found(), done

    def _action_finder(self) -> ActionFinder | TemplateFinder | None:
        """Return what finds actions in this story, None if nothing can."""
        if self.finder is None:
            self.finder = finder_of(self.analysis, self._env.bindings if self._known else None, self._poison)
        return self.finder

    def _filter_generated(self, saved: Snapshot, last: Observation) -> tuple[str, ...]:
        found = []
        machine = self.machine
        score = machine.score
        for command in self._generated.candidates(last.description, last.inventory):
            if command in self._poison:
                continue
            machine.rewind(saved)
            machine.run(command)
            if machine.ended or machine.score != score or self._world_key() != last.world_hash:
                found.append(command)
        return tuple(found)
