"""Manages all local sites: start, reset, stop, status."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from engine.errors import JitrlError, MissingError, UsageError
from engine.paths import ensure_folder
from engine.web.sites import processes
from engine.web.sites.encyclopedia import Encyclopedia
from engine.web.sites.fossil import Fossil
from engine.web.sites.miniwob import MiniWob
from engine.web.sites.shop import Shop
from engine.web.sites.site import VERSION, Site, web_folder

SITES: Mapping[str, Site] = {site.name: site for site in (Shop(), Fossil(), Encyclopedia(), MiniWob())}


@dataclass(frozen=True, slots=True)
class Status:
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


class Sites:
    """The local sites of one saves folder.

    Several processes may use it at once. A lock on the folder lets only one at a time change something.

    Args:
        saves: The saves folder.
        progress: Called with a short phrase when something slow begins.
    """

    def __init__(self, saves: Path, progress: Callable[[str], None] | None = None) -> None:
        self.saves = saves
        self._web = web_folder(saves)
        self._run = ensure_folder(self._web / "run")
        self._say = progress or (lambda text: None)
        self._held: dict[str, processes.Started] = {}

    def status(self, names: Sequence[str] = ()) -> tuple[Status, ...]:
        """Return the status of the named sites, of all if none is named. Each that runs is asked for a page."""
        return tuple(self._status(site) for site in _chosen(names))

    def up(self, names: Sequence[str] = (), *, stay: bool = True) -> tuple[Status, ...]:
        """Start the sites that are not running; build their data if there is none.

        If a site cannot be started, its status says why, and the other sites are still started.

        Args:
            names: Sites to start; all if none is named.
            stay: Whether they keep running after this process; otherwise they end with it, or with `close`.
        """
        found = []
        with self._lock():
            for site in _chosen(names):
                try:
                    found.append(self._start(site, stay))
                except JitrlError as error:
                    state = "missing" if isinstance(error, MissingError) else "failing"
                    found.append(Status(site.name, site.title, state, note=str(error)))
        return tuple(found)

    def reset(self, names: Sequence[str] = ()) -> tuple[Status, ...]:
        """Restore the original data. Running sites keep running; all users are logged out."""
        with self._lock():
            for site in _chosen(names):
                if site.missing(self.saves):
                    continue
                site.reset(self._pristine(site), self._live(site))
        return self.status(names)

    def down(self, names: Sequence[str] = ()) -> tuple[str, ...]:
        """Stop the sites of this folder by their process ids; return the names of those that were running."""
        ended = []
        with self._lock():
            for site in _chosen(names):
                record = self._run / f"{site.name}.json"
                server = processes.read_record(record)
                held = self._held.pop(site.name, None)
                ran = server is not None and processes.stop(server)
                if held is not None:
                    held.stop()
                record.unlink(missing_ok=True)
                if ran or held is not None:
                    ended.append(site.name)
        return tuple(ended)

    def urls(self) -> dict[str, str]:
        """Return base URLs by WebArena's site names (such as `shopping_admin`), for the sites that answer."""
        found: dict[str, str] = {}
        for status in self.status():
            if status.state == "up":
                found.update(status.urls)
        return found

    def close(self) -> None:
        """Stop the sites that this object started with `stay=False`; calling this twice is safe."""
        for name in list(self._held):
            self.down((name,))

    def __enter__(self) -> Sites:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def _status(self, site: Site) -> Status:
        missing = site.missing(self.saves)
        server = processes.read_record(self._run / f"{site.name}.json")
        if server is None or not processes.alive(server):
            return Status(site.name, site.title, "missing" if missing else "down", note=missing)
        urls = {key: server.url + path for key, path in site.keys.items()}
        up = processes.healthy(server.url + site.health)
        return Status(
            site.name, site.title, "up" if up else "failing", server.url, server.pid, server.port, urls=urls,
            note="" if up else "it runs but does not answer; try: jitrl web down, then jitrl web up",
        )  # fmt: skip

    def _start(self, site: Site, stay: bool) -> Status:
        now = self._status(site)
        if now.state == "up":
            return now
        missing = site.missing(self.saves)
        if missing:
            raise MissingError(missing)
        record = self._run / f"{site.name}.json"
        server = processes.read_record(record)
        if server is not None:
            processes.stop(server)  # It did not answer.
        pristine, live = self._pristine(site), self._live(site)
        if not live.exists():
            site.reset(pristine, live)
        started = self._serve(site, pristine, live)
        processes.write_record(record, started.server)
        if stay:
            started.release()
        else:
            self._held[site.name] = started
        return self._status(site)

    def _serve(self, site: Site, pristine: Path, live: Path) -> processes.Started:
        wanted = site.port
        for attempt in (1, 2, 3):
            port = processes.free_port(wanted)
            self._say(f"starting {site.title}")
            command = site.command(pristine, live, port, self.saves)
            try:
                return processes.start(
                    site.name, command, port, site.health, self._run / f"{site.name}.log"
                )
            except JitrlError:
                # Another process may have taken the port meanwhile; the next attempt uses any free port.
                if attempt == 3:
                    raise
                wanted = 0
        raise AssertionError("unreachable")

    def _live(self, site: Site) -> Path:
        return self._web / "sites" / site.name / "live"

    def _pristine(self, site: Site) -> Path:
        folder = self._web / "sites" / site.name / f"pristine-{VERSION}"
        if folder.is_dir():
            return folder
        self._say(f"building {site.title}")
        part = folder.with_name(f".building-{os.getpid()}")
        shutil.rmtree(part, ignore_errors=True)
        ensure_folder(part)
        try:
            site.build(part, self.saves)
            os.replace(part, folder)
        finally:
            shutil.rmtree(part, ignore_errors=True)
        # Live data of another version does not fit the data that was just built.
        shutil.rmtree(self._live(site), ignore_errors=True)
        return folder

    @contextlib.contextmanager
    def _lock(self) -> Iterator[None]:
        with (self._run / "lock").open("w") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield


def _chosen(names: Sequence[str]) -> list[Site]:
    unknown = [name for name in names if name not in SITES]
    if unknown:
        raise UsageError(f"there is no local site {unknown[0]!r}; there are: {', '.join(SITES)}")
    return [site for site in SITES.values() if not names or site.name in names]


def as_json(status: Status) -> dict[str, object]:
    """Return a status as plain JSON values."""
    return asdict(replace(status, urls=dict(status.urls)))
