"""The side of the follower: the events of a session as they are written, its signs of life, and commands to it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from engine.disk import printable
from engine.errors import JitrlError
from engine.records import Event
from engine.session import recording
from engine.session.recording import EventReader
from engine.session.remote import commands, presence
from engine.session.remote.commands import RemoteCommand
from engine.session.remote.lines import GrowingLines
from engine.session.remote.presence import Liveness, Presence


class Followed(ABC):
    """A session that is followed, wherever it is played.

    Args:
        name: What its recording is called in messages.

    Attributes:
        restarted: Whether the last call of `new` began at the beginning of the recording again.
        more: Whether there are more events that can be read at once.
    """

    def __init__(self, name: str) -> None:
        self.restarted = self.more = False
        self._name = name
        self._reader = EventReader(name)
        self._liveness = Liveness()

    def new(self) -> Sequence[Event]:
        """Return the events that were not returned yet, oldest first.

        Raises:
            BadFile: The recording is damaged, or none, or of a newer version.
        """
        self.restarted = self.more = False
        lines = self._further()
        if self.restarted:
            self._reader = EventReader(self._name)
        return [event for _, event in map(self._reader.read, lines) if event is not None]

    def lives(self) -> bool:
        """Return whether the session is being played."""
        sign = self.sign()
        return self._liveness.lives(sign.place if sign else None, sign.at if sign else 0.0)

    @abstractmethod
    def sign(self) -> Presence | None:
        """Return the latest sign of life, None if there is none."""

    @abstractmethod
    def send(self, command: RemoteCommand) -> None:
        """Give a command.

        Raises:
            UsageError: The session takes no commands.
            StorageError: It cannot be given; the sentence says why.
        """

    @abstractmethod
    def _further(self) -> Sequence[bytes]:
        """Return further lines of the recording, and set `restarted` and `more`."""

    def close(self) -> None:  # noqa: B027 -- a folder has nothing open
        """Free what is open."""


class FolderSession(Followed):
    """A session whose folder this machine sees.

    Args:
        folder: Its folder.
    """

    def __init__(self, folder: Path) -> None:
        file = folder / recording.FILE_NAME
        super().__init__(printable(file))
        self._folder = folder
        self._lines = GrowingLines(file)

    def sign(self) -> Presence | None:
        """Return the latest sign of life, None if there is none."""
        return presence.read(self._folder)

    def send(self, command: RemoteCommand) -> None:
        """Give a command."""
        commands.send(self._folder, command)

    def _further(self) -> list[bytes]:
        lines = self._lines.new()
        self.restarted, self.more = self._lines.restarted, self._lines.more
        return lines


class RemoteControl:
    """What a follower does to a session: it takes it in hand, steers it, and hands it back.

    Args:
        session: The session.
        by: Who the follower is; see `commands.who`.
        lease_s: Seconds for which the session waits for a sign of life of the follower.
    """

    def __init__(self, session: Followed, by: str, lease_s: float) -> None:
        self.by = by
        self._session = session
        self._lease_s = lease_s
        self._sent: dict[str, str] = {}

    def hold(self) -> None:
        """Take the session in hand: it waits at the next decision. Raises as `Followed.send` does."""
        self._give(RemoteCommand(commands.HOLD, self.by, lease_s=self._lease_s))

    def renew(self) -> None:
        """Show that the follower lives. Where that does not reach the session, it goes on by itself."""
        self._session.send(RemoteCommand(commands.RENEW, self.by, lease_s=self._lease_s))

    def step(self) -> None:
        """Let one step be taken. Raises as `Followed.send` does."""
        self._give(RemoteCommand(commands.STEP, self.by))

    def overrule(self, question: int, action: str, *, go_on: bool = False) -> None:
        """Take an action in place of the decision that waits; hand the session back with it if `go_on` is true.

        Raises as `Followed.send` does.
        """
        self._give(RemoteCommand(commands.OVERRULE, self.by, question, action, go_on))

    def hand_back(self) -> None:
        """Let the session go on by itself. Raises as `Followed.send` does."""
        self._give(RemoteCommand(commands.HAND_BACK, self.by))

    def stop(self) -> None:
        """Stop the session. Raises as `Followed.send` does."""
        self._give(RemoteCommand(commands.STOP, self.by))

    def answered(self, sign: Presence) -> list[presence.CommandReply]:
        """Return what the session said to commands of this hand, each once."""
        return [reply for reply in sign.replies if self._sent.pop(reply.id, None) is not None]

    def _give(self, command: RemoteCommand) -> None:
        commands.parse_command(command.line())
        self._session.send(command)
        self._sent[command.id] = command.kind


def refusal(error: JitrlError) -> str:
    """Return why a command could not be given, for the screen."""
    return f"{str(error)[:1].upper()}{str(error)[1:]}."
