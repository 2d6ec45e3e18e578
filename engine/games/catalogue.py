"""Which games there are, and whether a file is a story that can be played.

Shipped stories are listed in `stories/index.json`; the rest are found in folders: `--games DIR`,
`JITRL_GAMES`, and `games` in the saves folder. A story is known by its md5; Jericho fully supports some.
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import errno
import functools
import hashlib
import json
import os
import shlex
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine import extras
from engine.disk import printable, read_text
from engine.errors import GameError, StorageError, UsageError
from engine.games.fetch import LICENCE, ORIGIN, RELEASES
from engine.games.story import LARGEST, Story, StoryPath, bare_file, read_file, story_bytes
from engine.games.zmachine.printed import title_in

if TYPE_CHECKING:
    from engine.games.env import GameEnvironment

_STORIES = Path(__file__).parent / "stories"
_VERSIONS = range(1, 9)
_BLORBS = frozenset({".zblorb", ".zblb", ".zlb", ".blorb", ".blb"})
_SUFFIXES = frozenset({".z1", ".z2", ".z3", ".z4", ".z5", ".z6", ".z7", ".z8", ".dat", ".zip", *_BLORBS})
_GLULX = frozenset({".ulx", ".gblorb", ".glb"})
"""Of stories that are found by their names, to be told what they are, and never listed."""
_SMALLEST = 1024


def shipped_stories() -> tuple[Story, ...]:
    """Return the stories that come with jitrl."""
    try:
        items = json.loads((_STORIES / "index.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ()
    return tuple(_shipped(item) for item in (items["stories"] if isinstance(items, dict) else items))


def list_games(*, games: str | Path | None = None, saves: Path | None = None) -> tuple[Story, ...]:
    """Return every playable story: the shipped ones first, then those in the usual folders, by name."""
    found = {story.name: story for story in shipped_stories()}
    for folder in _folders(games, saves):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            name = _name(path)
            if not _may_be_story(path, {*_SUFFIXES, ""}) or name in found:
                continue
            try:
                found[name] = read_story(path)
            except GameError:
                continue
    return tuple(found.values())


def stories_in(games: str | Path | None) -> tuple[str, ...]:
    """Return a name, or a path where the name is another story's, for every story of a folder, those that are damaged
    included.

    Raises:
        UsageError: There is no folder, or no story in it.
    """
    folder = next(_folders(games, None), None)
    if folder is None:
        raise UsageError("this stands for every story of a folder; name one with --games FOLDER")
    found: dict[str, Path] = {}
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        if not path.is_file() or not (path.suffix.lower() in _SUFFIXES or _is_story(path)):
            continue
        name = _name(path)
        if name in found:
            raise UsageError(f"{printable(found[name])} and {printable(path)} have one name; rename one of them")
        found[name] = path
    if not found:
        raise UsageError(f"there is no story in {printable(folder)}")
    taken = {story.name for story in shipped_stories()}
    return tuple(str(path) if name in taken else name for name, path in found.items())


def _is_story(path: Path) -> bool:
    """Whether a file without an ending holds a story."""
    try:
        return not path.suffix and bool(read_story(path))
    except GameError:
        return False


@functools.cache
def with_facts(story: Story) -> Story:
    """Return `story` with the title that it prints, and the maximum score that Jericho knows for it.

    Only files whose md5 Jericho lists are opened here, so nothing can go wrong with what is in them. A file that is
    gone by now adds nothing.
    """
    if story.max_score is not None or not story.supported:
        return story
    import jericho

    with contextlib.suppress(GameError, OSError), bare_file(story.path) as path:
        env = jericho.FrotzEnv(StoryPath(path), seed=1)
        serial = story_bytes(path)[0x12:0x18].decode("ascii", "replace")
        title = ""
        if story.untitled:
            opening, answers = env.reset()[0], [env.step("version")[0] for _ in range(2)]  # the first may turn a page
            title = title_in(answers[1], opening, serial)
        return dataclasses.replace(story.called(title), max_score=float(env.get_max_score()) or None)
    return story


def find_game(name: str, *, games: str | Path | None = None, saves: Path | None = None) -> Story:
    """Return the story called `name`, or at the path `name`.

    Raises:
        UsageError: There is none; the nearest names are offered.
        GameError: The file there is no story that can be played.
    """
    path = Path(name).expanduser()
    if printable(name) != name:  # sessions are files of JSON in UTF-8
        raise UsageError(f"{printable(name)} is no UTF-8; name its folder with --games, and the story {_name(path)!r}")
    suffix, is_path = path.suffix.lower(), len(path.parts) > 1 or os.sep in name
    if is_path or suffix in _SUFFIXES | _GLULX:
        if path.is_dir():
            raise UsageError(
                f"{printable(name)} is a folder; name a story in it, or use --games {shlex.quote(printable(name))}"
            )
        if not path.exists() and is_path:
            raise UsageError(f"there is no story at {printable(name)}")
        if path.exists():
            return read_story(path)
    stem = path.stem.lower() if suffix in _SUFFIXES | _GLULX else name.lower()
    for story in shipped_stories():
        if story.name == stem:
            return story
    for suffixes in ({*_SUFFIXES, ""}, _GLULX):
        for folder in _folders(games, saves):
            for file in sorted(folder.iterdir()) if folder.is_dir() else ():
                if _may_be_story(file, suffixes) and stem in (file.stem.lower(), _name(file)):
                    return read_story(file)
    if path.is_file():
        return read_story(path)
    known = [story.name for story in list_games(games=games, saves=saves)]
    near = difflib.get_close_matches(stem, known, 3, 0.5)
    hint = f"did you mean {' or '.join(near)}?" if near else f"there are: {', '.join(known) or 'none'}"
    if stem in ("zork1", "zork3"):
        hint = f"get it with: jitrl games fetch {stem}"
    raise UsageError(f"there is no game {printable(name)!r}; {hint}")


def open_game(name: str, *, games: str | Path | None = None, saves: Path | None = None) -> GameEnvironment:
    """Open the story called `name` in a worker process of its own.

    Raises:
        UsageError: There is no such game.
        GameError: It cannot be loaded.
        MissingError: Jericho is not installed.
    """
    extras.require("play", "jericho")
    from engine.games.env import GameEnvironment
    from engine.paths import cache_folder, ensure_folder

    story = find_game(name, games=games, saves=saves)
    try:
        cache = ensure_folder(ensure_folder(cache_folder(saves)) / "games") if saves is not None else None
    except StorageError:
        cache = None
    return GameEnvironment(story, cache)


def read_story(path: Path) -> Story:
    """Return the story at `path` after looking at its size, version, header and md5.

    Raises:
        GameError: It is no story, or a damaged one.
    """
    try:
        data, title = read_file(path)
    except OSError as error:
        if error.errno == errno.EFBIG:
            raise GameError(
                f"{printable(path)} is no Z-machine story: over {LARGEST:,} bytes are more than any can have"
            ) from None
        raise GameError(f"cannot read the story {printable(path)}: {error.strerror}") from None
    digest = hashlib.md5(data, usedforsecurity=False).hexdigest()
    for story in shipped_stories():
        if story.digest == digest:
            return story
    known = _known_to_jericho().get(digest)
    if known is None:
        _check_header(printable(path), data)
    metadata = path.with_suffix(".json")
    made = known is None and path.name.lower().startswith("tw-")
    max_score = _max_score_of(metadata) if made else None
    generated = max_score is not None
    name = _name(path)
    fetched = next((key for key, release in RELEASES.items() if release.md5 == digest), None)
    story = Story(
        name=name,
        title=name.replace("-", " ").title() if generated else title or printable(path.stem),
        path=path.resolve(),
        digest=digest,
        supported=known is not None or generated,
        max_score=max_score,
        metadata=metadata.resolve() if generated else None,
    )
    if fetched is not None:
        title, origin = RELEASES[fetched].title, f"{ORIGIN}/{fetched}"
        return dataclasses.replace(story, title=title, licence=LICENCE, origin=origin)
    return dataclasses.replace(story, origin="made with TextWorld") if generated else story


def _may_be_story(path: Path, suffixes: Collection[str]) -> bool:
    """Return whether a name in a folder is that of a story. Without an ending it must be that of a file."""
    return path.suffix.lower() in suffixes and (bool(path.suffix) or path.is_file())


def kept_name(path: Path) -> str:
    """Return the name under which a story is kept in a folder of stories: with an ending by which it is found there."""
    return path.name if path.suffix.lower() in {*_SUFFIXES, ""} else f"{path.name}.z5"


def known_solution(story: Story) -> tuple[int, tuple[str, ...]] | None:
    """Return (seed, commands) of a known solution, for checking a story only; no agent ever sees it."""
    if story.shipped:
        data = json.loads((_STORIES / "walkthroughs.json").read_text(encoding="utf-8"))
        return (1, tuple(data[story.name])) if story.name in data else None
    beside = walkthrough_of(story.path)
    if story.metadata is not None or beside.is_file():
        try:
            commands = json.loads(read_text(beside))
        except (OSError, ValueError):
            return None
        return (1, tuple(map(str, commands))) if isinstance(commands, list) else None
    from jericho import defines

    from engine.games.env import LARGEST_SEED

    bindings = defines.BINDINGS_DICT.get(story.digest)
    if not bindings or not bindings.get("walkthrough"):
        return None
    return int(bindings.get("seed") or LARGEST_SEED), tuple(bindings["walkthrough"].split("/"))


def commands_in(file: Path) -> tuple[str, ...]:
    """Return the commands in a file: one a line, or a list in JSON.

    Raises:
        UsageError: It cannot be read, or holds none.
    """
    try:
        text = read_text(file)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"cannot read commands from {printable(file)}: {getattr(error, 'strerror', 0) or error}"
        ) from None
    try:
        listed = json.loads(text)
    except (ValueError, RecursionError):
        listed = [line.strip() for line in text.splitlines() if line.strip()]
    if not listed or not isinstance(listed, list) or not all(isinstance(command, str) for command in listed):
        raise UsageError(f"{printable(file)} holds no commands; write one a line, or a list of texts in JSON")
    return tuple(listed)


def walkthrough_of(path: Path) -> Path:
    """Return where a made story's walkthrough lies."""
    return path.with_name(f"{path.stem}.walkthrough.json")


def _name(path: Path) -> str:
    """Return what a story file is called. Files that TextWorld made begin with `tw-`, or have no score."""
    name = printable(path.stem.lower().removeprefix("tw-"))
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in name)


def _check_header(path: str, data: bytes) -> None:
    """Refuse what would end the interpreter (and any process it is in) or keep it busy for ever."""
    size = len(data)

    def word(at: int) -> int:
        return data[at] << 8 | data[at + 1]

    if size < _SMALLEST:
        raise GameError(f"{path} is no Z-machine story: {size} bytes are too few")
    version = data[0]
    if version not in _VERSIONS:
        what = "a saved game" if data[8:12] == b"IFZS" else f"its version would be {version}"
        raise GameError(f"{path} is no Z-machine story ({what})")
    if version in (1, 2, 6):
        raise GameError(f"{path} is a version {version} story, which jitrl cannot play; Frotz plays it")
    high, start, static = word(0x04), word(0x06), word(0x0E)
    tables = (word(0x08), word(0x0A), word(0x0C))
    if not 64 <= static <= size or not all(64 <= at < size for at in (*tables, high)) or start == 0:
        raise GameError(f"{path} is damaged: its header points outside the file")
    unit = 2 if version <= 3 else 4 if version <= 5 else 8
    length = word(0x1A) * unit
    if length > size:
        raise GameError(f"{path} is cut short: {size:,} bytes of {length:,}; get the whole file")
    if length and word(0x1C) and sum(data[0x40:length]) & 0xFFFF != word(0x1C):
        raise GameError(f"{path} is damaged: its checksum is wrong; get the file again")


@functools.cache
def _known_to_jericho() -> dict[str, str]:
    """Return name by md5 of the stories that Jericho fully supports."""
    defines = extras.load("play", "jericho.defines")
    return {digest: bindings["name"] for digest, bindings in defines.BINDINGS_DICT.items()}


def _folders(games: str | Path | None, saves: Path | None) -> Iterator[Path]:
    for given in (games, os.environ.get("JITRL_GAMES")):
        if given:
            yield Path(given).expanduser()
    if saves is not None:
        yield saves / "games"


def _shipped(item: dict[str, Any]) -> Story:
    return Story(
        name=item["name"],
        title=item["title"],
        path=_STORIES / item["file"],
        digest=item["md5"],
        shipped=True,
        supported=True,
        max_score=float(item["max_score"]),
        metadata=_STORIES / item["metadata"],
        description=item.get("description", ""),
        licence=item.get("licence", "MIT"),
        origin="comes with jitrl",
    )


def _max_score_of(metadata: Path) -> float | None:
    try:
        return float(json.loads(read_text(metadata))["max_score"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
