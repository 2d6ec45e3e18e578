"""Memories to and from plain files, into one another, and against each other.

An export is JSON lines: the first says what it is, each further one is an episode with the fields of
`engine.records.Episode`, or `{"kept": ...}` with those of `engine.records.Kept`. `docs/memory-format.md` describes it.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path
from typing import IO, Any

from engine import limits
from engine.codec import from_plain, to_plain
from engine.disk import new_version_of, open_binary, printable
from engine.errors import BadFile, FailingAs, UsageError
from engine.memory.disk.database import JournalDB
from engine.memory.disk.document import FORGOTTEN
from engine.memory.disk.files import JOURNAL
from engine.memory.disk.frame import read_header
from engine.memory.disk.journal import Journal
from engine.memory.scope import Scope
from engine.memory.store import Memory
from engine.memory.upkeep import read_stored
from engine.records import Episode, Kept

FORMAT = "jitrl-episodes"
VERSION = 2
_BATCH = 50


@dataclass(slots=True)
class ImportResult:
    """What an import or a merge did.

    Attributes:
        kept: Kept records that were taken.
        known: Episodes and kept records that were there already.
        problems: A sentence for each line, episode or record that was refused.
    """

    episodes: int = 0
    entries: int = 0
    kept: int = 0
    known: int = 0
    scopes: set[str] = field(default_factory=set)
    problems: list[str] = field(default_factory=list)


Carried = Episode | Kept
"""What exports and merges carry."""


def export_episodes(file: IO[str], scopes: Iterable[Scope]) -> tuple[int, int]:
    """Write all episodes and kept records of the scopes; return how many of each."""
    episodes = records = 0

    def line(data: Any) -> str:
        return json.dumps(data, ensure_ascii=False, separators=(",", ":")) + "\n"

    file.write(json.dumps({"format": FORMAT, "version": VERSION}) + "\n")
    for scope in scopes:
        for episode in scope.episodes():
            file.write(line(to_plain(episode)))
            episodes += 1
        for record in scope.records.all():
            file.write(line({"kept": to_plain(record)}))
            records += 1
    return episodes, records


def export_to(path: Path, scopes: Iterable[Scope]) -> tuple[int, int]:
    """Write an export to a file, which is there only when it is whole; return how many episodes and kept records.

    Raises:
        UsageError: The path is no name of a file.
        StorageError: It cannot be written.
    """
    if not path.name or path.is_dir():
        raise UsageError(f"{str(path)!r} is no name of a file")
    # A file that the user asked for has the usual rights of their files. A link is not followed.
    with new_version_of(path) as new, new.open("x", encoding="utf-8") as file:
        return export_episodes(file, scopes)


def import_episodes(memory: Memory, path: Path, name: str, *, into: str | None = None) -> ImportResult:
    """Take what an exported file holds; each step and each kept record gets the provenance `imported:NAME`.

    Args:
        into: Scope for all of it, instead of the scopes it comes from.

    Raises:
        BadFile: The file is no export of ours.
        UsageError: It cannot be opened.
    """
    taken = ImportResult()
    found = read_export(path, taken.problems.append)
    _take(memory, (_marked(one, name) for one in found), taken, into)
    return taken


def merge(memory: Memory, source: EpisodeSource, *, name: str | None = None) -> ImportResult:
    """Take what another memory holds and this one does not; with a name it is marked as imported."""
    taken = ImportResult()
    for contents in source.scopes.values():
        found = contents(taken.problems.append)
        _take(memory, (_marked(one, name) if name else one for one in found), taken, None)
    return taken


def merge_from(memory: Memory, path: Path, *, name: str | None = None) -> ImportResult:
    """Merge what is at a path, as `merge` does.

    Raises:
        UsageError: There is nothing, or it is this memory itself.
        BadFile: It is foreign or damaged.
    """
    if path.exists() and memory.folder.resolve() in (path.resolve(), (path / "memory").resolve()):
        raise UsageError("that is this memory itself; name another one")
    return merge(memory, open_source(path), name=name)


def _take(memory: Memory, found: Iterator[Carried], taken: ImportResult, into: str | None) -> None:
    """Store what is found in groups: one write, and one wait for the disk, for many episodes."""
    waiting: dict[str, list[Carried]] = {}
    for one in found:
        name = into or one.scope
        waiting.setdefault(name, []).append(one)
        if len(waiting[name]) >= _BATCH:
            _store(memory, name, waiting.pop(name), taken)
    for name, rest in waiting.items():
        _store(memory, name, rest, taken)


def _store(memory: Memory, name: str, found: list[Carried], taken: ImportResult) -> None:
    """Store episodes and kept records in a scope, and count them."""
    try:
        scope = memory.scope(name)
    except (UsageError, BadFile) as error:
        taken.problems.append(str(error))
        return
    entries, episodes, records, refused = len(scope), scope.episode_count, len(scope.records), len(taken.problems)
    unnumbered = [dataclasses.replace(one, number=0) for one in found if isinstance(one, Episode)]
    _add("episode", scope.append_all, unnumbered, taken)
    _add("kept record", scope.records.add_all, [one for one in found if isinstance(one, Kept)], taken)
    episodes, records = scope.episode_count - episodes, len(scope.records) - records
    refused = len(taken.problems) - refused
    taken.entries += len(scope) - entries
    taken.episodes += episodes
    taken.kept += records
    taken.known += len(found) - refused - episodes - records
    taken.scopes.add(name)


def _add(what: str, add: Callable[[list[Any]], object], found: list[Any], taken: ImportResult) -> None:
    """Store all that was found with one write; if one of them cannot be stored, each by itself."""
    try:
        add(found)
    except BadFile as error:
        if len(found) == 1:
            taken.problems.append(f"{what} {found[0].uid[:40]!r} was refused: {error}")
        else:
            for one in found:
                _add(what, add, [one], taken)


def _marked(one: Carried, name: str) -> Carried:
    mark = f"imported:{name}"
    if isinstance(one, Kept):
        return dataclasses.replace(one, provenance=mark)
    steps = (
        step if step.provenance == FORGOTTEN else dataclasses.replace(step, provenance=mark)
        for step in one.steps
    )
    return dataclasses.replace(one, steps=tuple(steps))


# ------------------------------------------------------------------------------------------ reading

Notify = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class EpisodeSource:
    """Something with episodes in it: a memory, a journal, an exported file. Reading changes nothing.

    Attributes:
        scopes: By name: a function that yields the scope's episodes, then its kept records, and tells of what it
            leaves out.
    """

    name: str
    scopes: Mapping[str, Callable[[Notify], Iterator[Carried]]]


def open_source(path: Path) -> EpisodeSource:
    """Return what is at `path`: a saves folder, a memory folder, a scope's folder or journal, or an export.

    Raises:
        UsageError: There is nothing, or nothing with episodes in it.
        BadFile: The file is foreign or damaged.
    """
    if path.is_dir():
        if (path / JOURNAL).is_file():
            return _journals(path, [path / JOURNAL])
        inner = path / "memory" if (path / "memory").is_dir() else path
        found = sorted(inner.glob(f"*/{JOURNAL}"))
        if not found:
            raise UsageError(f"there is no memory in {path}")
        return _journals(path, found)
    try:
        with open_binary(path) as file:
            start = file.read(200)
    except FileNotFoundError:
        raise UsageError(f"there is nothing at {printable(path)}") from None
    except OSError as error:
        raise UsageError(f"cannot read {printable(path)}: {error.strerror}") from None
    if FORMAT.encode() in start:
        scopes: dict[str, list[Carried]] = {}
        for one in read_export(path, lambda text: None):
            scopes.setdefault(one.scope, []).append(one)
        return EpisodeSource(str(path), {name: partial(_listed, found) for name, found in scopes.items()})
    return _journals(path, [path])


def source_of(memory: Memory, names: Iterable[str] | None = None) -> EpisodeSource:
    """Return scopes of an open memory as a source; all of them without names."""
    names = memory.scopes() if names is None else names
    return EpisodeSource(memory.place, {name: partial(_stored, memory, name) for name in names})


def _journals(path: Path, journals: list[Path]) -> EpisodeSource:
    scopes = {}
    for journal in journals:
        about = read_header(journal)["about"]
        scopes[str(about.get("scope", journal.parent.name))] = partial(_in_journal, journal)
    return EpisodeSource(str(path), scopes)


def _listed(found: list[Carried], tell: Notify) -> Iterator[Carried]:
    return iter(found)


def _stored(memory: Memory, name: str, tell: Notify) -> Iterator[Carried]:
    return chain(memory.scope(name).episodes(), memory.scope(name).records.all())


def _in_journal(path: Path, tell: Notify) -> Iterator[Carried]:
    with JournalDB(Journal(path, notice=tell, read_only=True)) as db:
        yield from read_stored(db, tell)


def read_export(path: Path, tell: Notify) -> Iterator[Carried]:
    """Yield the episodes and kept records of an exported file; lines that are neither are told and left out.

    Raises:
        BadFile: The first line is not that of an export, or of a newer version.
        UsageError: It cannot be opened.
    """
    with FailingAs(UsageError, f"cannot read {printable(path)}"):
        file = open_binary(path)
    with file:
        _check_first(path, file.readline(4096))
        for number, line in enumerate(iter(lambda: file.readline(limits.LINE), b""), start=2):
            if not line.strip():
                continue
            try:
                data = limits.parse_json(line)
                record = isinstance(data, dict) and "kept" in data
                yield from_plain(Kept, data["kept"]) if record else from_plain(Episode, data)
            except BadFile as error:
                tell(f"line {number} of {path} was refused: {error}")


def _check_first(path: Path, line: bytes) -> None:
    try:
        head = limits.parse_json(line)
    except BadFile:
        head = None
    if not isinstance(head, dict) or head.get("format") != FORMAT:
        raise BadFile(f"{path} is no export of jitrl: its first line does not say {FORMAT!r}")
    if not limits.is_count(head.get("version")):
        raise BadFile(f"{path} is no export of jitrl: it has no version")
    if head["version"] > VERSION:
        raise BadFile(f"{path} was exported by a newer jitrl (version {head['version']}); update jitrl to read it")


# ---------------------------------------------------------------------------------------- comparing


@dataclass(frozen=True, slots=True)
class ValueDifference:
    """What two memories say of an action at a place: the mean of the points that followed it, and from how many steps.

    Attributes:
        place: Name of the place, "" if unknown.
        a, b: The means, in points of the episode's final score; None for a memory without such a step.
        count_a, count_b: Numbers of steps.
    """

    place: str
    action: str
    a: float | None
    b: float | None
    count_a: int
    count_b: int


@dataclass(frozen=True, slots=True)
class Difference:
    """How one scope differs between two sources.

    Attributes:
        only_a: Episodes that only the first has, as (uid, number, steps, score).
        only_b: Episodes that only the second has.
        changed: Uids of episodes that both have, with different steps.
        same: How many both have alike.
        values: Actions whose means differ, the largest difference first, then those that only one has.
    """

    scope: str
    only_a: tuple[tuple[str, int, int, float], ...]
    only_b: tuple[tuple[str, int, int, float], ...]
    changed: tuple[str, ...]
    same: int
    values: tuple[ValueDifference, ...] = ()


def compare(a: EpisodeSource, b: EpisodeSource, tell: Notify) -> list[Difference]:
    """Return the differences between the episodes, scope by scope. Numbers and provenance do not count."""
    found = []
    for scope in sorted(a.scopes.keys() | b.scopes.keys()):
        (one, known), (other, known_there) = _digests(a, scope, tell), _digests(b, scope, tell)
        both = one.keys() & other.keys()
        changed = tuple(sorted(uid for uid in both if one[uid][0] != other[uid][0]))
        found.append(
            Difference(
                scope,
                tuple(one[uid][1] for uid in one if uid not in both),
                tuple(other[uid][1] for uid in other if uid not in both),
                changed,
                len(both) - len(changed),
                _differing(known, known_there),
            )
        )
    return found


_Episodes = dict[str, tuple[bytes, tuple[str, int, int, float]]]
_Points = dict[tuple[str, str], list[float]]


def _digests(source: EpisodeSource, scope: str, tell: Notify) -> tuple[_Episodes, _Points]:
    """Return the episodes of a scope by uid, and the points that followed each action by place and action."""
    episodes: _Episodes = {}
    points: _Points = {}
    for episode in source.scopes[scope](tell) if scope in source.scopes else ():
        if not isinstance(episode, Episode):
            continue
        episodes[episode.uid] = (_digest(episode), (episode.uid, episode.number, len(episode.steps), episode.score))
        for step in episode.steps:
            if step.provenance != FORGOTTEN:
                followed = episode.score - (step.score - step.env_reward)
                points.setdefault((step.state.place, step.action), []).append(followed)
    return episodes, points


def _differing(a: _Points, b: _Points) -> tuple[ValueDifference, ...]:
    def mean(points: list[float] | None) -> float | None:
        return None if not points else sum(points) / len(points)

    found = [
        ValueDifference(*key, mean(a.get(key)), mean(b.get(key)), len(a.get(key, ())), len(b.get(key, ())))
        for key in sorted(a.keys() | b.keys())
    ]
    differing = [one for one in found if one.a != one.b]
    # The points themselves tell how much depends on an action that only one of them knows.
    return tuple(sorted(
        differing,
        key=lambda one: (one.a is None or one.b is None, -abs((one.a or 0.0) - (one.b or 0.0))),
    ))  # fmt: skip


def _digest(episode: Episode) -> bytes:
    steps = (dataclasses.replace(step, provenance="") for step in episode.steps)
    same: Any = to_plain(dataclasses.replace(episode, steps=tuple(steps), number=0))
    return hashlib.blake2b(json.dumps(same, sort_keys=True).encode(), digest_size=16).digest()
