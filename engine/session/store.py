"""The store of sessions: one folder each under `saves/sessions`."""

from __future__ import annotations

import contextlib
import os
import secrets
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import limits, trust
from engine.codec import from_plain, to_plain
from engine.disk import open_binary, printable, read_bytes, write_json
from engine.errors import BadFile, UsageError, did_you_mean
from engine.paths import ensure_folder
from engine.session import recording
from engine.settings import SessionConfig
from engine.settings.address import database, is_address
from engine.texts import clipped

if TYPE_CHECKING:
    from engine.memory import Memory

CONFIG = "session.json"
"""The file with the configuration of a session."""
_FORMAT = 2
"""2: episodes say terminated, truncated and outcome; decisions have parts."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a branch begins.

    Attributes:
        session: Name of the session that it branches from.
        episode: Episode of that session.
        step: Number of steps of the episode that it has in common with the branch.
    """

    session: str
    episode: int
    step: int


@dataclass(frozen=True, slots=True)
class SavedSession:
    """A session on disk.

    Attributes:
        kind: "watch" for sessions of the screen, "run" for headless ones.
        origin: Where it begins if it is a branch, None otherwise.
    """

    name: str
    folder: Path
    config: SessionConfig
    kind: str
    origin: Origin | None = None

    @property
    def recording(self) -> Path:
        """The file with its events."""
        return self.folder / recording.FILE_NAME

    def finished(self) -> bool:
        """Whether all its episodes were played."""
        try:
            with open_binary(self.recording) as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - 4096))
                lines = file.read().split(b"\n")
        except OSError:
            return False
        last = next((line for line in reversed(lines) if line.strip()), b"")
        return last.startswith(b'{"event":"SessionEnded"') and b'"finished":true' in last


def create(saves: Path, config: SessionConfig, kind: str, origin: Origin | None = None) -> SavedSession:
    """Create a session: make its folder and write its configuration.

    Args:
        origin: Where it begins if it is a branch.

    Raises:
        StorageError: It cannot be written.
    """
    return create_in(ensure_folder(saves / "sessions") / new_name(config.game), config, kind, origin)


def new_name(game: str) -> str:
    """Return a name for something new that is played: the time, the game, and four random digits."""
    stem = Path(game).stem.lower()
    readable = "".join(c if c.isalnum() else "-" for c in stem)[:24].strip("-") or "game"
    return f"{time.strftime('%Y%m%d-%H%M%S')}-{readable}-{secrets.token_hex(2)}"


def create_in(
    folder: Path, config: SessionConfig, kind: str, origin: Origin | None = None
) -> SavedSession:
    """Create a session in a given folder, whose name is the session's.

    Raises:
        StorageError: It cannot be written.
    """
    ensure_folder(folder)
    trust.trust_new(*named_places(config))
    data = {"format": _FORMAT, "kind": kind, "config": to_plain(config)}
    if origin is not None:
        data["origin"] = to_plain(origin)
    write_json(folder / CONFIG, data)
    return SavedSession(folder.name, folder, config, kind, origin)


def named_places(config: SessionConfig) -> list[str]:
    """Return the servers, files, folders and packages that a configuration names; see `engine.trust`."""
    named = trust.places_in([config.game], [config.model])
    return [place for place in (database(config.memory), *named, config.games, config.settings.replayed) if place]


def memory_folder(saves: Path, session: SavedSession) -> Path:
    """Return where a session's memory lies on disk: the shared one, its own, or that of another session beside it."""
    which = session.config.memory
    if which == "shared":
        return saves / "memory"
    owner = which.removeprefix("own:")
    return (session.folder.parent / owner if ":" in which else session.folder) / "memory"


def memory_sharing(config: SessionConfig) -> str:
    """Return who may use a session's memory, as `SessionStarted.memory` says it."""
    if is_address(config.memory):
        return "server"
    return "shared" if config.memory == "shared" else "own"


def open_memory(
    saves: Path,
    session: SavedSession,
    notice: Callable[[str], None] = lambda text: None,
    *,
    follow: bool = True,
) -> Memory:
    """Return a session's memory, opened: that of a folder, or a shared one.

    Args:
        follow: Whether a shared one shows what others store while it is open.
        notice: Called with a sentence when something was recovered or left out.

    Raises:
        MissingError, BadFile: A shared one cannot be used.
    """
    from engine.environments import scope_rules
    from engine.memory.memory_factory import open_memory as opened

    which = session.config.memory
    place = which if is_address(which) else memory_folder(saves, session)
    return opened(place, saves, follow=follow, notice=notice, rules=scope_rules)


def uses(saves: Path, session: SavedSession, memory: Memory) -> bool:
    """Whether this is the memory of a session."""
    which = session.config.memory
    return which == memory.address if is_address(which) else memory_folder(saves, session) == memory.folder


def load(folder: Path) -> SavedSession:
    """Return the session in `folder`.

    Raises:
        BadFile: Its configuration is missing, damaged, or of a newer version.
    """
    with reading(f"the session in {folder}", folder / CONFIG, _FORMAT) as data:
        kind, config = data["kind"], from_plain(SessionConfig, data["config"])
        if not limits.is_text(kind):
            raise BadFile("it says no kind")
        trust.named_by(f"the session {folder.name}", *named_places(config))
        origin = from_plain(Origin, data["origin"]) if "origin" in data else None
        return SavedSession(folder.name, folder, config, kind, origin)


@contextlib.contextmanager
def reading(what: str, file: Path, newest: int) -> Iterator[Any]:
    """Yield the JSON of the small file of a session, a suite or a race.

    Args:
        what: What it is, for messages.
        newest: Number of the newest format that is known.

    Raises:
        BadFile: It cannot be read, is of a newer format, or what is made of it in the block fails.
    """
    try:
        data = limits.parse_json(read_bytes(file))
        number = data["format"]
        if not limits.is_count(number):
            raise BadFile("it says no format")
        if number <= newest:
            yield data
            return
    except (OSError, LookupError, TypeError, BadFile, UsageError) as error:
        raise BadFile(f"{what} cannot be read ({clipped(str(error), 300)})") from None
    raise BadFile(f"{what} was made by a newer jitrl (format {number}); update jitrl")


def find(saves: Path, name: str) -> SavedSession:
    """Return the session of this name; the one that was played last for "last".

    Raises:
        UsageError: There is none.
        BadFile: It is damaged, or of a newer version.
    """
    folder = saves / "sessions" / name
    if name == "last" and not folder.is_dir():
        newest = next(saved_sessions(saves), None)
        if newest is None:
            raise UsageError("there is no session yet; jitrl watch and jitrl run make one")
        return newest
    if not name or "/" in name or not folder.is_dir():
        raise UsageError(
            f"there is no session {name!r}{did_you_mean(name, _names(saves))}; `jitrl sessions` lists them"
        )
    return load(folder)


def recording_path(saves: Path, name: str) -> Path:
    """Return the place of a recording that a person names: a path, or a session by its name or as "last".

    Raises:
        UsageError: There is none.
    """
    path, folder = Path(name), saves / "sessions" / name
    if path.exists():
        return path
    if name == "last":
        return find(saves, name).folder
    if name and path.name == name and folder.is_dir():
        return folder
    near = did_you_mean(name, _names(saves))
    raise UsageError(f"there is no recording at {printable(path)} and no session of that name{near}")


def _names(saves: Path) -> list[str]:
    root = saves / "sessions"
    return [folder.name for folder in root.iterdir()] if root.is_dir() else []


def saved_sessions(saves: Path) -> Iterator[SavedSession]:
    """Yield the readable sessions, the one that was played last first."""
    root = saves / "sessions"
    if not root.is_dir():
        return

    def played(folder: Path) -> float:
        file = folder / recording.FILE_NAME
        return file.stat().st_mtime if file.is_file() else 0.0

    for folder in sorted((f for f in root.iterdir() if f.is_dir() and f.name[0] != "."), key=played, reverse=True):
        try:
            yield load(folder)
        except BadFile:
            continue

