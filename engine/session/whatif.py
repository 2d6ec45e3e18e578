"""What a recorded run would have chosen with other settings, or with something else in memory. No model is asked."""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine import explain
from engine.agents.jitrl import JitrlAgent
from engine.disk import printable
from engine.errors import BadFile, JitrlError, MissingError, UsageError
from engine.memory import Memory, upkeep
from engine.memory.scope import Scope
from engine.memory.search import EVERYTHING, MemoryFilter
from engine.memory.table import UseCounts
from engine.memory.upkeep import correct
from engine.records import Decided, Decision, Event, Neighbour, SessionStarted, TakenBack
from engine.session import recording
from engine.session import store as sessions
from engine.session.live import SessionParts
from engine.session.recorded import DecisionAgain, RecordedRun
from engine.session.recording import EventReader
from engine.session.remote.lines import GrowingLines
from engine.settings.address import is_address
from engine.values.knn import least_similarity


@dataclass(frozen=True, slots=True)
class WhatIfOutcome:
    """What a whole recorded run would have chosen with other settings.

    Attributes:
        changed: The changed settings by name, each with the value that was in force last and its new one.
        decisions: Number of decisions that were made again.
        differing: Those whose choice would be another, oldest first.
        moving: Those whose choice is the same and whose policy is another, the one that changes most first.
        without_memory: Number of decisions whose choice is another without memory, by the same draw.
        ties: Number of others in which memory decided between actions that the prior rates alike.
        unlike: Number of decisions that cannot be made again as they were recorded, because memory has changed since;
            None if memory was not asked.
    """

    changed: Mapping[str, tuple[Any, Any]]
    decisions: int
    differing: tuple[DecisionAgain, ...]
    moving: tuple[DecisionAgain, ...]
    without_memory: int
    ties: int = 0
    unlike: int | None = None

    @property
    def sentence(self) -> str:
        """The result in one sentence."""
        count = len(self.differing)
        return f"{count:,} of {self.decisions:,} choices would differ"

    @property
    def moved(self) -> int:
        """Number of decisions whose choice is the same and whose policy is another."""
        return len(self.moving)

    @property
    def without(self) -> str:
        """How many choices would differ without memory, in one sentence."""
        tied = f"; in {self.ties:,} more it broke a tie" if self.ties else ""
        return f"without memory, {self.without_memory:,} of {self.decisions:,} would differ{tied}"


@dataclass(frozen=True, slots=True)
class Nearest:
    """What comes nearest to a state that has no neighbours.

    Attributes:
        step: The most similar remembered step; None if nothing is remembered that could be compared.
        needs: The similarity that a neighbour needs.
    """

    step: Neighbour | None
    needs: float


@dataclass(frozen=True, slots=True)
class Influence:
    """What one remembered step does to a decision: how it would be without the step.

    Attributes:
        entry: Entry number of the step.
        v: Change of V(s), as `engine.explain.shown` shows it, that the step makes: with it minus without it.
        q: The same of Q of the chosen action, 0.0 if the action is no candidate without the step.
        p: Change of the probability of the chosen action.
        decides: Whether another action would be chosen without it.
        instead: The action that would be chosen without it.
    """

    entry: int
    v: float
    q: float
    p: float
    decides: bool
    instead: str


def what_if(
    run: RecordedRun,
    changes: Mapping[str, Any] | None = None,
    *,
    from_memory: bool | None = None,
    checks: bool = True,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> WhatIfOutcome:
    """Make all decisions of a run again with other settings.

    Args:
        changes: The other settings, by name.
        from_memory: Whether memory is asked anew; None for only if the settings demand it.
        checks: Whether to make them with the recorded settings, too, where memory is asked, and count those that are
            not as recorded.
        progress: Called with the number of decisions done and of all. It may raise to end the work.

    Raises:
        UsageError: A setting cannot be changed after the run, or the memory of the run is not at hand.
    """
    last, changes = run.settings_at(), changes or {}
    changed = {name: (getattr(last, name), value) for name, value in sorted(run.changed(changes).items())}
    asks = run.needs_memory(changes) if from_memory is None else from_memory
    total, done = len(run) * (2 if asks and changed and checks else 1), 0

    def check() -> None:
        nonlocal done
        progress(done, total)
        done += 1

    made = list(run.again(changes, from_memory=asks, check=check))
    unlike = None
    if asks and (checks or not changed):
        base = list(run.again(from_memory=True, check=check)) if changed else made
        unlike = sum(not one.same for one in base)
    return WhatIfOutcome(
        changed=changed,
        decisions=len(made),
        differing=tuple(one for one in made if one.differs),
        moving=tuple(sorted((one for one in made if not one.differs and not one.same), key=shift, reverse=True)),
        without_memory=sum(one.recorded.changed for one in made),
        ties=sum(one.recorded.tie_broken for one in made),
        unlike=unlike,
    )


def shift(one: DecisionAgain) -> float:
    """Return by how much the probability of the chosen action changes, without its sign."""
    was, now = one.recorded, one.now
    before = next((p for c, p in zip(was.candidates, was.posterior, strict=True) if c.action == now.action), 0.0)
    return float(abs(now.posterior[now.chosen] - before))


def by_value(
    run: RecordedRun, at: tuple[int, int], name: str, values: Sequence[Any], changes: Mapping[str, Any],
    check: Callable[[], None] = lambda: None,
) -> list[tuple[Any, DecisionAgain]]:  # fmt: skip
    """Return one decision as it would be with each of some values of a setting; nothing where that takes long.

    Args:
        at: Number of its episode, and its step.
        name: The setting.
        changes: Other settings to make it with, by name.
        check: Called before each decision. It may raise to end the work.

    Raises:
        UsageError: The memory of the run is not at hand.
    """
    if run.plans and any(run.needs_memory({name: value}) for value in values):
        return []  # all decisions before it would be made again for each value
    made = ((value, trial(run, at, changes={**changes, name: value}, check=check)) for value in values)
    return [(value, one) for value, one in made if one is not None]


def keep(scope: Scope, memory: Memory, memory_filter: MemoryFilter, *, session: str = "") -> str:
    """Make the changes of a filter in memory: store its corrections, then forget what it lacks.

    Forgetting can be undone (`upkeep.undo_last`), a correction can be corrected.

    Args:
        session: The session in which it was decided.

    Returns:
        What was done, in a sentence.

    Raises:
        UsageError: A step is no longer there. Nothing is changed.
        StorageError: It could not be written. What was stored before is intact.
    """
    changed = {entry: one for entry, one in memory_filter.corrections.items() if entry not in memory_filter.without}
    plan = upkeep.plan_forget(scope, entries=memory_filter.without)
    if missing := memory_filter.without - set(plan.entries):
        raise UsageError(f"entry {min(missing)} is no longer in memory; nothing was changed")
    if changed:
        correct(scope, changed, session=session)
    if plan.entries:
        upkeep.forget_all(memory, [(scope, plan)])
    return f"Kept: {len(plan.entries)} forgotten, {len(changed)} edited."


def trial(
    run: RecordedRun,
    at: tuple[int, int],
    *,
    changes: Mapping[str, Any] | None = None,
    memory_filter: MemoryFilter | None = None,
    check: Callable[[], None] = lambda: None,
) -> DecisionAgain | None:
    """Make one decision again, with other settings or with a changed memory; None if it is not in the recording.

    Args:
        at: Number of its episode, and its step.
        changes: Settings to make it with, by name. All others are those that were in force.
        memory_filter: Changes of memory; None for memory as it was then.
    """
    return next(run.again(changes, memory_filter=memory_filter, at=at, check=check), None)


def nearest(
    run: RecordedRun,
    at: tuple[int, int],
    *,
    memory_filter: MemoryFilter | None = None,
    check: Callable[[], None] = lambda: None,
) -> Nearest:
    """Return the remembered step that is the most similar to the state of a decision, and what a neighbour needs."""
    settings = run.settings_at(at)
    alone: dict[str, Any] = {"k": 1, "r": 0.0, "relax": 0.0}
    if settings.retrieval == "hybrid":  # there, r is the least Jaccard similarity of the states, whatever ranks them
        alone |= {"retrieval": "jaccard", "history_weight": 0.0}
    made = trial(run, at, changes=alone, memory_filter=memory_filter, check=check)
    found = made.now.update.neighbours if made is not None and made.now.update is not None else ()
    return Nearest(found[0] if found else None, least_similarity(settings, at[1]))


def influence(
    run: RecordedRun,
    at: tuple[int, int],
    *,
    memory_filter: MemoryFilter | None = None,
    check: Callable[[], None] = lambda: None,
) -> list[Influence]:
    """Return what each remembered step behind a decision does to it, the most decisive first.

    The decision is made again without each of them in turn; a step that was less similar then takes its place.
    """
    memory_filter = MemoryFilter() if memory_filter is None else memory_filter
    base = trial(run, at, memory_filter=memory_filter, check=check)
    if base is None or base.now.update is None:
        return []
    found = []
    for hit in dict.fromkeys(one.entry for one in base.now.update.neighbours if one.entry >= 0):
        without = dataclasses.replace(memory_filter, without=memory_filter.without | {hit})
        other = trial(run, at, memory_filter=without, check=check)
        if other is not None:
            found.append(_influence(hit, base, other))
    return sorted(found, key=lambda one: (not one.decides, -abs(one.p), -abs(one.q), -abs(one.v)))


def _influence(entry: int, base: DecisionAgain, other: DecisionAgain) -> Influence:
    one, two = base.now, other.now
    assert one.update is not None
    assert two.update is not None
    index = next((i for i, candidate in enumerate(two.candidates) if candidate.action == one.action), -1)
    seen, without = explain.shown_values(one.update), explain.shown_values(two.update)
    return Influence(
        entry,
        seen.v - without.v,
        seen.q[one.chosen] - without.q[index] if index >= 0 else 0.0,
        one.posterior[one.chosen] - (two.posterior[index] if index >= 0 else 0.0),
        one.action != two.action,
        two.action,
    )


def decide_again(
    parts: SessionParts, recorded: OpenRun, at: tuple[int, int], decision: Decision, changed: str, *,
    warn: Callable[[str], None], check: Callable[[], None],
) -> Decision:  # fmt: skip
    """Make a decision again that waits to be carried out, after a person changed memory or settings.

    Args:
        parts: Of the running session. Its agent goes on with what is remembered now.
        recorded: The recording of the session, with the memory of `parts`.
        at: Number of the running episode, and the step.
        decision: Returned if it could not be made again, or the agent does not decide from memory.
        changed: "memory" or "settings".
        warn: Called with a sentence if it could not be made again.
        check: Raises if the person has stopped the session.
    """
    if not isinstance(parts.agent, JitrlAgent):
        return decision
    try:
        run = recorded.run()
        asks = changed == "memory" or not run.plans
        memory_filter = EVERYTHING if asks else None
        found = next(run.with_agent({}, memory_filter=memory_filter, at=at, from_memory=asks, check=check), None)
    except JitrlError as error:
        warn(f"the decision could not be made again with the changed {changed}: {error}; {error.remedy}")
        return decision
    if found is None:
        return decision
    agent, again = found
    if parts.agent.replayed and asks:  # others ask memory at every step
        parts.agent.use_estimator(agent.estimator)
    return dataclasses.replace(again.now, why=f"{again.now.why} You changed {changed} before this step.")


class OpenRun:
    """A recording with the memory that it was played with. What is added to it is read. Not thread-safe.

    Args:
        path: A recording, or the folder of a session.
        saves: The saves folder, for recordings that do not lie in one.
        live: Whether the run goes on.
        scope: Its memory, which stays open; None to open it.
    """

    def __init__(self, path: Path, saves: Path, *, live: bool = False, scope: Scope | None = None) -> None:
        self._path = path / recording.FILE_NAME if path.is_dir() else path
        self._live = live
        self._given = scope
        self._run: RecordedRun | None
        self._unread: list[tuple[float, Event]]
        """Events that are not in `_run`."""
        self._begin()
        self.memory = memory_of(path, saves) if scope is None else None

    def run(self) -> RecordedRun:
        """Return the run as far as it is recorded.

        Raises:
            UsageError: There is no recording, or its agent adjusts no logits.
            BadFile: It is damaged.
        """
        try:
            self._read()
        except BadFile:
            self._begin()
            raise
        if self._run is None and not self._unread:
            raise UsageError(f"there is no recording at {printable(self._path)}")
        if self._run is None:
            self._run = RecordedRun(self._unread, self._scope(self._unread[0][1]), live=self._live)
        elif self._unread:
            self._run = self._run.further(self._unread)
            if self._run.scope is None:
                self._run.scope = self._scope(self._run.started)
        self._unread = []
        return self._run

    def _begin(self) -> None:
        """Forget what was read."""
        self._lines, self._reader = GrowingLines(self._path), EventReader(str(self._path))
        self._run, self._unread = None, []

    def _read(self) -> None:
        more = True
        while more:
            lines, more = self._lines.new(), self._lines.more
            if self._lines.restarted:
                self._reader, self._run, self._unread = EventReader(str(self._path)), None, []
            self._unread += [(at, event) for at, event in map(self._reader.read, lines) if event is not None]

    def _scope(self, started: Event) -> Scope | None:
        if self._given is not None or self.memory is None or not isinstance(started, SessionStarted):
            return self._given
        name = started.environment.scope
        return self.memory.scope(name) if name in self.memory.scopes() else None

    def close(self) -> None:
        """Close the memory; calling this twice is safe."""
        if self.memory is not None:
            self.memory.close()


@contextlib.contextmanager
def open_recording(path: Path, saves: Path) -> Iterator[RecordedRun]:
    """Open a recording with the memory that it was played with, as `OpenRun` does."""
    found = OpenRun(path, saves)
    try:
        yield found.run()
    finally:
        found.close()


def hit_counts(
    saves: Path, memory: Memory, scope: str, *, progress: Callable[[int, int], None] = lambda done, total: None
) -> UseCounts:
    """Count in the recordings how often each step of a memory was behind a decision.

    Args:
        saves: The saves folder with the sessions.
        memory: The memory. Only sessions that were played with it count.
        scope: Name of the scope.
        progress: Called with the number of sessions that were read, and of all. It may raise to end the work.
    """
    found = [one for one in sessions.saved_sessions(saves) if sessions.uses(saves, one, memory)]
    hits: Counter[int] = Counter()
    decided: Counter[int] = Counter()
    for number, session in enumerate(found):
        progress(number, len(found))
        last: dict[tuple[int, int], Decision] = {}
        with contextlib.suppress(JitrlError):
            for _, event in recording.read(session.folder):
                if isinstance(event, SessionStarted) and event.environment.scope != scope:
                    break
                if isinstance(event, Decided) and event.decision.provenance == "agent":
                    last[event.episode, event.decision.step] = event.decision
                elif isinstance(event, TakenBack):
                    last = {at: one for at, one in last.items() if at < (event.episode, event.step)}
        for decision in last.values():
            behind = {n.entry for n in decision.update.neighbours if n.entry >= 0} if decision.update else set()
            hits.update(behind)
            if decision.changed:
                decided.update(behind)
    return UseCounts(hits, decided)


def memory_of(path: Path, saves: Path) -> Memory | None:
    """Return the memory that a recording was played with; None if it is not at hand."""
    folder = path if path.is_dir() else path.parent
    if folder.parent.name == "sessions":
        saves = folder.parent.parent
    try:
        session = sessions.load(folder)
        if not is_address(session.config.memory) and not sessions.memory_folder(saves, session).is_dir():
            return None
        return sessions.open_memory(saves, session, follow=False)
    except (BadFile, MissingError):
        return None
