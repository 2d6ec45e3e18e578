"""Named things of one kind: those of this project, and those that installed packages bring as entry points."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.metadata import EntryPoint, entry_points
from typing import Generic, Protocol, TypeVar

from engine.errors import UsageError


class Named(Protocol):
    """A thing with a name."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...


T = TypeVar("T", bound=Named)


@dataclass(frozen=True, slots=True)
class Registry(Generic[T]):
    """All things of one kind by name.

    Attributes:
        what: What one of them is called in messages, for instance "agent".
        kind: Their class.
        group: Group of the entry points that installed packages declare.
        built_in: Those of this project, in the order in which they are shown. They win over packages with the same
            name.
    """

    what: str
    kind: type[T]
    group: str
    built_in: tuple[T, ...]

    def all(self) -> Mapping[str, T]:
        """Return all of them by name; a package that does not load is left out (`find` says why)."""
        known = {thing.name: thing for thing in self.built_in}
        for entry in self._entries():
            with contextlib.suppress(UsageError):
                known.setdefault(entry.name, self._loaded(entry))
        return known

    def find(self, name: str) -> T:
        """Return the one called `name`.

        Raises:
            UsageError: There is none of that name, or its package does not load.
        """
        for thing in self.built_in:
            if thing.name == name:
                return thing
        for entry in self._entries():
            if entry.name == name:
                return self._loaded(entry)
        raise UsageError(f"there is no {self.what} {name!r}; choose one of: {', '.join(self.all())}")

    def broken(self) -> Mapping[str, str]:
        """Return what is wrong with each package that does not load, by name."""
        wrong: dict[str, str] = {}
        for entry in self._entries():
            try:
                self._loaded(entry)
            except UsageError as error:
                wrong.setdefault(entry.name, str(error))
        return wrong

    def _entries(self) -> Iterator[EntryPoint]:
        """Yield the entry points of the group, without those whose name is taken by this project."""
        taken = {thing.name for thing in self.built_in}
        for entry in entry_points(group=self.group):
            if entry.name not in taken:
                yield entry

    def _loaded(self, entry: EntryPoint) -> T:
        """Return the thing of an entry point.

        Raises:
            UsageError: It does not load, or is none of this kind and name.
        """
        try:
            thing = entry.load()
        except Exception as error:  # whatever a package of somebody else raises
            raise UsageError(f"the {self.what} {entry.name!r} of {entry.value} does not load: {error}") from None
        if not isinstance(thing, self.kind) or thing.name != entry.name:
            raise UsageError(
                f"the {self.what} {entry.name!r} of {entry.value} is no {self.kind.__name__} of that name"
            )
        return thing
