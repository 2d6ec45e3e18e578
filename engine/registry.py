"""Registries of named objects: those of this project, and those that installed packages add as entry points."""

from __future__ import annotations

import contextlib
import functools
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import metadata
from importlib.metadata import EntryPoint, EntryPoints
from typing import Generic, Protocol, TypeVar

from engine.errors import UsageError, did_you_mean


class Named(Protocol):
    """An object with a name."""

    @property
    def name(self) -> str:
        """Its name."""
        ...


T = TypeVar("T", bound=Named)


@dataclass(frozen=True, slots=True)
class Registry(Generic[T]):
    """All objects of one class by name.

    Attributes:
        what: The word for one of them in messages, for instance "agent".
        kind: Their class.
        group: Group of the entry points that installed packages declare.
        built_in: Those of this project, in the order of display. They take precedence over packages with the same
            name.
    """

    what: str
    kind: type[T]
    group: str
    built_in: tuple[T, ...]

    def all(self) -> Mapping[str, T]:
        """Return all objects by name. Packages that do not load are left out; `find` says why."""
        known = {thing.name: thing for thing in self.built_in}
        for entry in self._entries():
            with contextlib.suppress(UsageError):
                known.setdefault(entry.name, self._loaded(entry))
        return known

    def find(self, name: str) -> T:
        """Return the object called `name`.

        Raises:
            UsageError: There is none with that name, or its package does not load.
        """
        for thing in self.built_in:
            if thing.name == name:
                return thing
        for entry in self._entries():
            if entry.name == name:
                return self._loaded(entry)
        known = self.all()
        raise UsageError(
            f"there is no {self.what} {name!r}{did_you_mean(name, known)}; choose one of: {', '.join(known)}"
        )

    def broken(self) -> Mapping[str, str]:
        """Return the error of each package that does not load, by name."""
        wrong: dict[str, str] = {}
        for entry in self._entries():
            try:
                self._loaded(entry)
            except UsageError as error:
                wrong.setdefault(entry.name, str(error))
        return wrong

    def _entries(self) -> Iterator[EntryPoint]:
        """Yield the entry points of the group, except those with a name of this project."""
        taken = {thing.name for thing in self.built_in}
        for entry in entry_points(group=self.group):
            if entry.name not in taken:
                yield entry

    def _loaded(self, entry: EntryPoint) -> T:
        """Return the object of an entry point.

        Raises:
            UsageError: It does not load, or has another class or name.
        """
        try:
            thing = entry.load()
        except Exception as error:  # another package may raise anything
            raise UsageError(f"the {self.what} {entry.name!r} of {entry.value} does not load: {error}") from None
        if not isinstance(thing, self.kind) or thing.name != entry.name:
            raise UsageError(
                f"the {self.what} {entry.name!r} of {entry.value} is no {self.kind.__name__} of that name"
            )
        return thing


def entry_points(*, group: str) -> EntryPoints:
    """Return the entry points of a group. All packages are read for it once, as that takes long.

    They are read again when a place where Python looks for packages has changed.
    """
    return _installed(group, tuple((place, _changed(place)) for place in sys.path))


@functools.lru_cache(maxsize=32)
def _installed(group: str, places: tuple[tuple[str, int], ...]) -> EntryPoints:
    return metadata.entry_points(group=group)


def _changed(place: str) -> int:
    """Return when a folder or file was last changed, 0 if it is not there."""
    try:
        return os.stat(place or os.curdir).st_mtime_ns
    except OSError:
        return 0
