"""A game as an environment: owns the worker process, guards it with deadlines, brings it back.

A worker that crashes, hangs or outgrows its memory is replaced, the episode is brought back from the last
save by taking the actions since again, and goes on. An action that broke it is answered with a sentence; one
that was only there when somebody killed the worker is taken again.
"""

from __future__ import annotations

import contextlib
import dataclasses
from pathlib import Path
from typing import Any

from engine import waits
from engine.codec import from_plain
from engine.confine import Confinement
from engine.disk import printable
from engine.environment import Abstractor, Environment
from engine.errors import GameError
from engine.games.story import Story, bare_file
from engine.games.zmachine.characters import LONGEST, as_typed
from engine.games.zmachine.machine import PROBE
from engine.games.zmachine.process import StoryWorkerLost, WorkerProcess
from engine.records import EnvironmentInfo, Observation

LOAD_SECONDS = waits.STORY_LOAD.seconds
STEP_SECONDS = waits.STORY_STEP.seconds
VALID_SECONDS = waits.STORY_ACTIONS.seconds
COMMAND_SECONDS = 3.0
"""Processor time for one command."""
LARGEST_SEED = 2**31
"""The generator only uses 31 bits, so this one draws what 0 would, which Jericho takes for "no seed given"."""
_SAVE_EVERY = 25
_MOST_POISON = 8
_MOST_KILLS = 3


class GameEnvironment(Environment):
    """A story in a process of its own.

    Args:
        story: A validated story.
        cache: Folder for valid actions, None for no cache on disk.
        limit: As in `Environment`.

    Attributes:
        worker: The process of the story; None once it is closed.

    Raises:
        GameError: The story cannot be loaded.
    """

    def __init__(self, story: Story, cache: Path | None = None, *, limit: int | None = None) -> None:
        self._story = story
        self._cache = cache
        self.limit = limit
        self._poison: list[str] = []
        self.worker: WorkerProcess | None = None
        self._closed = False
        self._seed = 1
        self._saved: bytes | None = None
        self._since: list[str] = []
        self._last: Observation | None = None
        self.fallback: tuple[str, ...] = ()
        """Actions that the story has words for, to offer where no valid one is found."""
        self.scored = False
        """Whether score and moves are known, or read from the story; if not, the score stays 0."""
        self.confined: Confinement | None = None
        """How the worker is cut off from the rest of the machine; None before it has told."""
        self._files = contextlib.ExitStack()
        try:
            self._file = self._files.enter_context(bare_file(story.path))
            self._start()
        except OSError as error:
            raise GameError(f"cannot read the story {printable(story.path)}: {error.strerror}") from None
        except StoryWorkerLost as lost:
            self.close()
            raise GameError(_why_not(story, lost)) from None
        except GameError:
            self.close()
            raise

    def reset(self, seed: int) -> Observation:
        """Begin an episode.

        Args:
            seed: From 0 to `LARGEST_SEED`.
        """
        if not isinstance(seed, int) or not 0 <= seed <= LARGEST_SEED:
            raise GameError(f"the seed of a game must be a whole number from 0 to {LARGEST_SEED}, not {seed}")
        seed = seed or LARGEST_SEED  # to Jericho 0 would mean the seed of its walkthrough
        self._seed, self._saved, self._since, self._last = seed, None, [], None
        request = {"do": "reset", "seed": seed}
        try:
            self._last = self._seen(request, LOAD_SECONDS)
        except StoryWorkerLost as first:
            self._was_probing(first)
            try:  # it may have died of something earlier
                self._start()
                self._last = self._seen(request, LOAD_SECONDS)
            except StoryWorkerLost as lost:
                raise GameError(_why_not(self._story, lost)) from None
        return self._last

    def step(self, action: str) -> Observation:
        """Take one action."""
        if self._last is None and not self._closed:
            raise GameError("no episode has begun; reset the game first")
        command = sanitise(action)
        request, killed = {"do": "step", "command": command}, False
        try:
            for _ in range(_MOST_POISON):
                try:
                    self._last = self._seen(request, STEP_SECONDS)
                    break
                except StoryWorkerLost as lost:
                    innocent = lost.by == "killed" and not killed
                    killed = lost.by == "killed"
                    if not self._was_probing(lost) and not innocent:
                        raise
                    self._revive()  # the command had no part in it, so nobody need know
            else:
                self._last = self._seen(request, STEP_SECONDS)
        except StoryWorkerLost as lost:
            before = self._revive()
            self._last = dataclasses.replace(
                before, text=f"[{lost}; it was brought back to before that]", changed=False, failed=True
            )
            return self._last
        self._since.append(command)
        if len(self._since) >= _SAVE_EVERY and not self._last.over:
            self._saved, self._since = self.save(), []
        return self._last

    def valid_actions(self) -> tuple[str, ...]:
        """Return the actions that would change the world now; () if they cannot be had.

        A command that hangs or crashes the interpreter while it is tried is left out from then on.
        """
        killed = 0
        while True:
            try:
                reply, _ = self._ask({"do": "valid", "limit": self.limit}, VALID_SECONDS)
            except StoryWorkerLost as lost:
                killed += lost.by == "killed"
                if lost.by == "killed" and killed < _MOST_KILLS:
                    self._revive()
                    continue
                shunned = self._shun(lost.command)
                self._revive()
                if not shunned:
                    return ()
                continue
            if reply["done"]:
                return tuple(reply["actions"])

    def _was_probing(self, lost: StoryWorkerLost) -> bool:
        """Whether the worker broke on what it only ran to look. Then that is left out from now on."""
        return lost.by in ("hung", "crash", "silence") and lost.command.startswith(PROBE) and self._shun(lost.command)

    def _shun(self, command: str) -> bool:
        """Leave a command out of all that is tried from now on; return False if that is no help."""
        if not command or command in self._poison or len(self._poison) >= _MOST_POISON:
            return False
        self._poison.append(command)
        return True

    def save(self) -> bytes:
        """Return the whole situation.

        Raises:
            GameError: The worker is gone and could not be brought back.
        """
        for _ in range(2):
            try:
                return self._ask({"do": "save"}, STEP_SECONDS)[1]
            except StoryWorkerLost:
                self._revive()
        raise GameError(f"{self._story.title} could not be saved: the game crashed again and again")

    def restore(self, saved: bytes) -> Observation:
        """Go back to a saved situation of this story.

        Raises:
            GameError: The save is damaged or belongs to another story; the game stays where it was.
        """
        request = {"do": "restore"}
        try:
            try:
                self._last = self._seen(request, LOAD_SECONDS, saved)
            except StoryWorkerLost:  # perhaps of something earlier
                self._revive()
                self._last = self._seen(request, LOAD_SECONDS, saved)
        except StoryWorkerLost as lost:
            self._revive()
            raise GameError(f"this save cannot be restored: {lost}") from None
        self._saved, self._since = saved, []
        return self._last

    def abstractor(self) -> Abstractor:
        """Return a new abstractor for games."""
        from engine.games.states.state import GameAbstractor

        return GameAbstractor()

    def close(self) -> None:
        """End the worker; safe to call twice."""
        self._closed = True
        self._files.close()
        if self.worker is not None:
            self.worker.end()
            self.worker = None

    # --------------------------------------------------------------------------------------- worker

    def _start(self) -> None:
        if self.worker is not None:
            self.worker.end()
        self.worker = WorkerProcess()
        story = self._story
        begun, _ = self._ask(
            {
                "story": self._file,
                "metadata": str(story.metadata) if story.metadata else None,
                "digest": story.digest,
                "cache": str(self._cache) if self._cache is not None else None,
                "poison": self._poison,
                "command_s": COMMAND_SECONDS,
            },
            LOAD_SECONDS,
        )
        self.scored, self.confined = bool(begun["scored"]), Confinement(**begun["confined"])
        self.fallback = tuple(begun["fallback"])
        self._story = story = story.called(begun["title"])
        self.info = EnvironmentInfo(
            story.name, story.title, story.scope, story.max_score, printable(story.path), story.digest
        )

    def _revive(self) -> Observation:
        """Start a new worker and bring the episode back to where it last was."""
        for _ in range(2):
            try:
                self._start()
                if self._saved is not None:
                    seen = self._seen({"do": "restore"}, LOAD_SECONDS, self._saved)
                else:
                    seen = self._seen({"do": "reset", "seed": self._seed}, LOAD_SECONDS)
                for command in self._since:
                    seen = self._seen({"do": "step", "command": command}, STEP_SECONDS)
                return seen
            except StoryWorkerLost as lost:
                self._was_probing(lost)
        raise GameError(f"{self._story.title} crashed and could not be brought back; begin a new episode")

    def _seen(self, request: dict[str, Any], seconds: float, blob: bytes = b"") -> Observation:
        return from_plain(Observation, self._ask(request, seconds, blob)[0]["seen"])

    def _ask(
        self, request: dict[str, Any], seconds: float, blob: bytes = b""
    ) -> tuple[dict[str, Any], bytes]:
        if self.worker is None:
            raise GameError("this game is closed")
        reply, answer = self.worker.ask(request, seconds, blob)
        if "refused" in reply:
            raise GameError(f"{self._story.title}: {reply['refused']}")
        if reply.get("error", "").startswith("MemoryError"):
            raise GameError(f"{self._story.title} wants more than the 1 GiB of memory that a game may use")
        if "error" in reply:
            raise GameError(f"{self._story.title} failed inside its interpreter ({reply['error']})")
        return reply, answer


def _why_not(story: Story, lost: StoryWorkerLost) -> str:
    """Return a sentence about a story that does not start, and whose fault that is."""
    match lost.by:
        case "start":
            return f"{lost}; close something or raise the limits of this account, and try again"
        case "killed":
            return (
                f"the process of {story.title} was killed from outside, most likely because memory ran out; "
                "free some and try again"
            )
        case "silence":
            return (
                f"{story.title} did not start within {LOAD_SECONDS:g} s; try again when the machine is less "
                f"busy, and if it happens again, {printable(story.path)} is damaged"
            )
        case "hung":
            return f"{printable(story.path)} runs for ever when it starts: it is damaged"
    if not lost.command:
        return "the game's process ended before it came to the story; `jitrl doctor` looks for the cause"
    return f"{printable(story.path)} crashes the interpreter: it is damaged or no story for it"


def sanitise(action: str) -> str:
    """Return `action` as the interpreter can take it: one line of at most 190 printable characters, in any script.

    More lines would stay in its buffer and shift every later command; a backslash begins commands to the interpreter
    itself.
    """
    return as_typed(action).replace("\\", "")[:LONGEST].strip()
