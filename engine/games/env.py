"""A game as an environment: owns the worker process, guards it with deadlines, brings it back.

A worker that crashes, hangs or outgrows its memory is replaced, the episode is brought back from the last
save by taking the actions since again, and goes on. The action that broke it is answered with a sentence.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.codec import from_plain
from engine.environment import Abstractor
from engine.errors import GameError
from engine.games.worker import receive, send
from engine.records import EnvironmentInfo, Observation

if TYPE_CHECKING:
    from engine.games.catalogue import Story

LOAD_SECONDS = 20.0
STEP_SECONDS = 10.0
VALID_SECONDS = 120.0
MAX_COMMAND = 190
_SAVE_EVERY = 25


class WorkerLost(Exception):
    """The worker crashed or did not answer in time."""


class GameEnvironment:
    """A story in a process of its own. Implements `engine.environment.Environment`.

    Args:
        story: A validated story.
        cache: Folder for valid actions, None for no cache on disk.

    Raises:
        GameError: The story cannot be loaded.
    """

    def __init__(self, story: Story, cache: Path | None = None) -> None:
        self._story = story
        self._cache = cache
        self._folder = tempfile.mkdtemp(prefix="jitrl-game-")
        self._worker: _Worker | None = None
        self._closer = weakref.finalize(self, shutil.rmtree, self._folder, True)
        self._seed = 1
        self._saved: bytes | None = None
        self._since: list[str] = []
        self._last: Observation | None = None
        try:
            self._start()
        except WorkerLost:
            self.close()
            raise GameError(
                f"{story.path} crashes the interpreter: it is damaged or no story for it"
            ) from None
        except GameError:
            self.close()
            raise

    @property
    def info(self) -> EnvironmentInfo:
        """What stays the same while the environment is open."""
        s = self._story
        return EnvironmentInfo(s.name, s.title, s.scope, s.max_score, str(s.path), s.digest)

    def reset(self, seed: int) -> Observation:
        """Begin an episode; `seed` must be positive (Jericho takes 0 for its walkthrough's seed)."""
        if seed < 1:
            raise GameError(f"the seed of a game must be positive, not {seed}")
        self._seed, self._saved, self._since, self._last = seed, None, [], None
        try:
            self._last = self._seen({"do": "reset", "seed": seed}, LOAD_SECONDS)
        except WorkerLost:
            raise GameError(f"{self._story.path} crashes or hangs when it starts: it is damaged") from None
        return self._last

    def step(self, action: str) -> Observation:
        """Take one action."""
        command = sanitise(action)
        try:
            self._last = self._seen({"do": "step", "command": command}, STEP_SECONDS)
        except WorkerLost as lost:
            before = self._revive()
            self._last = dataclasses.replace(
                before, text=f"[{lost}; the game was brought back to before it]", changed=False
            )
            return self._last
        self._since.append(command)
        if len(self._since) >= _SAVE_EVERY and not self._last.done:
            self._saved, self._since = self.save(), []
        return self._last

    def valid_actions(self) -> tuple[str, ...]:
        """Return the actions that would change the world now; () if they cannot be had."""
        try:
            reply, _ = self._ask({"do": "valid"}, VALID_SECONDS)
        except WorkerLost:
            self._revive()
            return ()
        return tuple(reply["actions"])

    def save(self) -> bytes:
        """Return the whole situation."""
        try:
            return self._ask({"do": "save"}, STEP_SECONDS)[1]
        except WorkerLost as lost:
            raise GameError(f"the game could not be saved: {lost}") from None

    def restore(self, saved: bytes) -> Observation:
        """Go back to a saved situation of this story."""
        try:
            self._last = self._seen({"do": "restore"}, LOAD_SECONDS, saved)
        except WorkerLost as lost:
            self._revive()
            raise GameError(f"this save cannot be restored: {lost}") from None
        self._saved, self._since = saved, []
        return self._last

    def abstractor(self) -> Abstractor:
        """Return a new abstractor for games."""
        from engine.games.state import GameAbstractor

        return GameAbstractor()

    def close(self) -> None:
        """End the worker and remove its folder; safe to call twice."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None
        self._closer()

    # --------------------------------------------------------------------------------------- worker

    def _start(self) -> None:
        self._worker = _Worker(self._folder)
        cache = str(self._cache) if self._cache is not None else None
        metadata = str(self._story.metadata) if self._story.metadata else None
        self._ask(
            {
                "story": str(self._story.path),
                "metadata": metadata,
                "digest": self._story.digest,
                "cache": cache,
            },
            LOAD_SECONDS,
        )

    def _revive(self) -> Observation:
        """Start a new worker and bring the episode back to where it last was."""
        for attempt in range(2):
            try:
                if self._worker is not None:
                    self._worker.end()
                self._start()
                if self._saved is not None:
                    seen = self._seen({"do": "restore"}, LOAD_SECONDS, self._saved)
                else:
                    seen = self._seen({"do": "reset", "seed": self._seed}, LOAD_SECONDS)
                for command in self._since:
                    seen = self._seen({"do": "step", "command": command}, STEP_SECONDS)
                return seen
            except WorkerLost:
                if attempt:
                    break
        raise GameError(f"{self._story.title} crashed and could not be brought back; begin a new episode")

    def _seen(self, request: dict[str, Any], seconds: float, blob: bytes = b"") -> Observation:
        return from_plain(Observation, self._ask(request, seconds, blob)[0]["seen"])

    def _ask(
        self, request: dict[str, Any], seconds: float, blob: bytes = b""
    ) -> tuple[dict[str, Any], bytes]:
        if self._worker is None:
            raise GameError("this game is closed")
        reply, answer = self._worker.ask(request, seconds, blob)
        if "error" in reply:
            raise GameError(f"{self._story.title}: {reply['error']}")
        return reply, answer


class _Worker:
    """One worker process and the socket to it."""

    def __init__(self, folder: str) -> None:
        ours, theirs = socket.socketpair()
        root = Path(__file__).resolve().parents[2]
        # The project's own root on the path, and nothing from the working folder, which is the worker's own.
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(root), *filter(None, [
            os.environ.get("PYTHONPATH")])])}  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, "-m", "engine.games.worker", str(theirs.fileno())],
            pass_fds=[theirs.fileno()],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            cwd=folder,
            env=environment,
        )
        theirs.close()
        self._channel = ours

    def ask(self, request: dict[str, Any], seconds: float, blob: bytes) -> tuple[dict[str, Any], bytes]:
        try:
            self._channel.settimeout(seconds)
            send(self._channel, request, blob)
            return receive(self._channel)
        except TimeoutError:
            self.end()
            raise WorkerLost(f"the game did not answer within {seconds:g} s") from None
        except (EOFError, OSError):
            self.end()
            raise WorkerLost("the game crashed") from None

    def end(self) -> None:
        self._channel.close()
        if self._process.poll() is None:
            self._process.send_signal(signal.SIGKILL)
        self._process.wait()


def sanitise(action: str) -> str:
    """Return `action` as the interpreter can take it: one line, printable ASCII, at most 190 bytes.

    More lines would stay in its buffer and shift every later command; longer ones are cut in mid-character.
    """
    line = " ".join(action.split())
    plain = "".join(c for c in line if " " <= c <= "~")
    return plain[:MAX_COMMAND].strip()
