"""Manages all local sites: start, reset, stop, status, and lends them to sessions.

A session has the sites of its task for itself. The first session gets those that `jitrl web up` has started. Each
further one at the same time gets others, which start with their original data and end with it.
"""

from __future__ import annotations

import contextlib
import fcntl
import itertools
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from engine.errors import GameError, JitrlError, MissingError, UsageError
from engine.paths import ensure_folder
from engine.web.sites import processes
from engine.web.sites.django_sites import Forum, Shop
from engine.web.sites.encyclopedia import Encyclopedia
from engine.web.sites.fossil import Fossil
from engine.web.sites.map import Map
from engine.web.sites.miniwob import MiniWob
from engine.web.sites.site import VERSION, Site, restore, web_folder

SITES: Mapping[str, Site] = {
    site.name: site for site in (Shop(), Fossil(), Encyclopedia(), Forum(), Map(), MiniWob())
}


@dataclass(frozen=True, slots=True)
class SiteStatus:
    """The status of a site.

    Attributes:
        name: Its name, such as "shop".
        title: Its title for people.
        state: "up", "down", "failing" (it runs but does not answer) or "missing" (it cannot be started).
        url: Base URL without a trailing slash, "" unless it runs.
        note: What is missing or failed, "" if nothing.
        urls: Base URLs by WebArena's names of the site's parts.
    """

    name: str
    title: str
    state: str
    url: str = ""
    pid: int = 0
    port: int = 0
    note: str = ""
    urls: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Copy:
    """One copy of a site: number 1 is the one of `jitrl web up`, the others belong to sessions."""

    site: Site
    number: int

    @property
    def name(self) -> str:
        return self.site.name + self.ending

    @property
    def ending(self) -> str:
        return "" if self.number == 1 else f"-{self.number}"


class BorrowedSites:
    """Sites that a session has for itself until `close`.

    Attributes:
        moved: Where a browser that asks for the `host:port` of a site must connect to. So all sessions see the same
            addresses.
    """

    def __init__(self, sites: Sites) -> None:
        self.moved: dict[str, str] = {}
        self._sites = sites
        self._copies: dict[_Copy, contextlib.ExitStack] = {}

    @property
    def databases(self) -> dict[str, Path]:
        """SQLite files with the state of the sites, by WebArena's names of the sites' parts."""
        return {key: file for copy in self._copies for key, file in self._sites.databases(copy).items()}

    def add(self, copy: _Copy, held: contextlib.ExitStack) -> None:
        """Keep a copy of a site for the session, and what is closed when the site is given back."""
        self._copies[copy] = held

    def reset(self) -> None:
        """Restore the original data; all users are logged out.

        Raises:
            GameError: A file cannot be restored.
        """
        for copy in self._copies:
            self._sites.restore(copy)

    def close(self) -> None:
        """Give the sites back; calling this twice is safe."""
        while self._copies:
            self._copies.popitem()[1].close()


class Sites:
    """The local sites of one saves folder.

    Several processes may use it at once. A lock on the folder lets only one at a time change something.

    Args:
        saves: The saves folder.
        progress: Called with a short phrase when something slow begins.
    """

    def __init__(self, saves: Path, progress: Callable[[str], None] | None = None) -> None:
        self.saves = saves.absolute()
        self._web = web_folder(self.saves)
        self._run = ensure_folder(self._web / "run")
        self._say = progress or (lambda text: None)
        self._held: dict[str, processes.Started] = {}

    def status(self, names: Sequence[str] = ()) -> tuple[SiteStatus, ...]:
        """Return the status of the named sites, of all if none is named. Each that runs is asked for a page."""
        return tuple(self._status(site) for site in choose_sites(names))

    def up(self, names: Sequence[str] = (), *, stay: bool = True) -> tuple[SiteStatus, ...]:
        """Start the sites that are not running; build their data if there is none.

        If a site cannot be started, its status says why, and the other sites are still started.

        Args:
            names: Sites to start; all if none is named.
            stay: Whether they keep running after this process; otherwise they end with it, or with `close`.
        """
        found = []
        with self._lock():
            for site in choose_sites(names):
                try:
                    found.append(self._start(site, stay))
                except JitrlError as error:
                    state = "missing" if isinstance(error, MissingError) else "failing"
                    found.append(SiteStatus(site.name, site.title, state, note=str(error)))
        return tuple(found)

    def reset(self, names: Sequence[str] = ()) -> tuple[SiteStatus, ...]:
        """Restore the original data. Running sites keep running; all users are logged out.

        Raises:
            UsageError: A session has one of them.
            GameError: A file cannot be restored.
        """
        with self._lock(), contextlib.ExitStack() as held:
            copies = [_Copy(site, 1) for site in choose_sites(names) if not site.missing(self.saves)]
            for copy in copies:
                self._take(copy, held)
            for copy in copies:
                self.restore(copy)
        return self.status(names)

    def lend(self, names: Sequence[str], who: str) -> BorrowedSites:
        """Return the named sites for one session, which run already. It has them for itself until it closes them.

        Args:
            names: Their names.
            who: The session, for messages to those who want them, too.

        Raises:
            JitrlError: A further copy of a site does not start.
        """
        lent = BorrowedSites(self)
        try:
            for site in choose_sites(names):
                copy, held = self._free(site, who)
                lent.add(copy, held)
                if copy.number > 1:
                    self.restore(copy)
                    started = self._serve(copy)
                    held.callback(shutil.rmtree, self._live(copy), ignore_errors=True)
                    held.callback(started.stop)
                    lent.moved[self._address(_Copy(site, 1))] = self._address(copy)
        except BaseException:
            lent.close()
            raise
        return lent

    def restore(self, copy: _Copy) -> None:
        """Restore the original data of a copy of a site.

        Raises:
            GameError: A file cannot be restored.
        """
        try:
            restore(self._pristine(copy.site), self._live(copy))
        except OSError as error:
            raise GameError(
                f"the site {copy.site.name} cannot be reset ({error.strerror}: {error.filename})"
            ) from None

    def databases(self, copy: _Copy) -> dict[str, Path]:
        """Return the SQLite file of a copy of a site by each of WebArena's names of its parts; {} if it has none."""
        file = copy.site.database
        return dict.fromkeys(copy.site.keys, self._live(copy) / file) if file else {}

    def state(self) -> dict[str, Path]:
        """Return the SQLite files of the sites of `jitrl web up`, by WebArena's names of the sites' parts."""
        return {k: f for site in SITES.values() for k, f in self.databases(_Copy(site, 1)).items()}

    def down(self, names: Sequence[str] = ()) -> tuple[str, ...]:
        """Stop the sites of this folder by their process ids; return the names of those that were running.

        Raises:
            UsageError: A session has one of them. None was stopped.
        """
        with self._lock(), contextlib.ExitStack() as free:
            for site in choose_sites(names):
                self._take(_Copy(site, 1), free)
            ended = [site.name for site in choose_sites(names) if self._stop(site)]
        return tuple(ended)

    def urls(self) -> dict[str, str]:
        """Return base URLs by WebArena's site names (such as `shopping_admin`), for the sites that answer."""
        found: dict[str, str] = {}
        for status in self.status():
            if status.state == "up":
                found.update(status.urls)
        return found

    def folder(self, name: str) -> Path:
        """Return the folder with the data of a site, original and live; it may not exist."""
        return self._web / "sites" / name

    def close(self) -> None:
        """Stop the sites that this object started with `stay=False`; calling this twice is safe."""
        with self._lock():
            for name in list(self._held):
                self._stop(SITES[name])

    def __enter__(self) -> Sites:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _status(self, site: Site) -> SiteStatus:
        missing = site.missing(self.saves)
        server = processes.read_record(self._record(_Copy(site, 1)))
        if server is None or not processes.alive(server):
            return SiteStatus(site.name, site.title, "missing" if missing else "down", note=missing)
        urls = {key: server.url + path for key, path in site.keys.items()}
        note = ""
        if server.version != VERSION:
            note = "another version of jitrl has started it; try: jitrl web up"
        elif not processes.healthy(server.url + site.health):
            note = "it runs but does not answer; try: jitrl web down, then jitrl web up"
        state = "failing" if note else "up"
        return SiteStatus(site.name, site.title, state, server.url, server.pid, server.port, note, urls)

    def _start(self, site: Site, stay: bool) -> SiteStatus:
        now = self._status(site)
        if now.state == "up":
            return now
        missing = site.missing(self.saves)
        if missing:
            raise MissingError(missing)
        copy = _Copy(site, 1)
        self._pristine(site)
        if not self._live(copy).exists():
            self.restore(copy)
        started = self._serve(copy)
        if stay:
            started.release()
        else:
            self._held[site.name] = started
        return self._status(site)

    def _stop(self, site: Site) -> bool:
        """Stop a site; return whether it was running."""
        record = self._record(_Copy(site, 1))
        server = processes.read_record(record)
        held = self._held.pop(site.name, None)
        ran = server is not None and processes.stop(server)
        if held is not None:
            held.stop()
        record.unlink(missing_ok=True)
        return ran or held is not None

    def _serve(self, copy: _Copy) -> processes.Started:
        site, live = copy.site, self._live(copy)
        server = processes.read_record(self._record(copy))
        if server is not None:
            processes.stop(server)  # It does not answer, or its session was killed.
        wanted = site.port
        for attempt in (1, 2, 3):
            port = processes.free_port(wanted)
            self._say(f"starting {site.title}")
            command = site.command(live, port, self.saves)
            try:
                log = self._run / f"{copy.name}.log"
                started = processes.start(site.name, command, port, site.health, log, live)
                processes.write_record(self._record(copy), started.server)
                return started
            except JitrlError:
                # Another process may have taken the port meanwhile; the next attempt uses any free port.
                if attempt == 3:
                    raise
                wanted = 0
        raise AssertionError("unreachable")

    def _free(self, site: Site, who: str) -> tuple[_Copy, contextlib.ExitStack]:
        """Return the first copy of a site that no session has, and what keeps it from the others while it is open."""
        for number in itertools.count(1):
            copy, held = _Copy(site, number), contextlib.ExitStack()
            with contextlib.suppress(UsageError):
                self._take(copy, held, f"{who} in process {os.getpid()}")
                return copy, held
        raise AssertionError("unreachable")

    def _take(self, copy: _Copy, held: contextlib.ExitStack, who: str = "") -> None:
        """Keep a copy of a site from all others while `held` is open.

        Raises:
            UsageError: Somebody has it.
        """
        file = held.enter_context((self._run / f"{copy.name}.lent").open("a+"))
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.seek(0)
            owner = file.read(200) or "another command"
            raise UsageError(
                f"the site {copy.site.name} belongs to {owner} now; end that first, or wait for it"
            ) from None
        file.truncate(0)
        file.write(who)
        file.flush()

    def _record(self, copy: _Copy) -> Path:
        return self._run / f"{copy.name}.json"

    def _address(self, copy: _Copy) -> str:
        server = processes.read_record(self._record(copy))
        assert server is not None
        return f"127.0.0.1:{server.port}"

    def _live(self, copy: _Copy) -> Path:
        return self.folder(copy.site.name) / f"live{copy.ending}"

    def _pristine(self, site: Site) -> Path:
        folder = self.folder(site.name) / f"pristine-{VERSION}"
        if folder.is_dir():
            return folder
        self._say(f"making the data of {site.title}, once, about {site.build_s} s")
        part = folder.with_name(f".building-{os.getpid()}")
        shutil.rmtree(part, ignore_errors=True)
        ensure_folder(part)
        try:
            site.build(part, self.saves)
            os.replace(part, folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        # Live data of another version does not fit the data that was just built.
        shutil.rmtree(self._live(_Copy(site, 1)), ignore_errors=True)
        return folder

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        with (self._run / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def choose_sites(names: Sequence[str]) -> list[Site]:
    """Return the named sites, all if none is named.

    Raises:
        UsageError: There is no such site.
    """
    unknown = [name for name in names if name not in SITES]
    if unknown:
        raise UsageError(f"there is no local site {unknown[0]!r}; there are: {', '.join(SITES)}")
    return [site for site in SITES.values() if not names or site.name in names]


def as_json(status: SiteStatus) -> dict[str, object]:
    """Return a status as plain JSON values."""
    return asdict(replace(status, urls=dict(status.urls)))
