"""What each episode of a session scored and cost, from events or from the lines of a recording."""

from __future__ import annotations

import dataclasses
import re
from dataclasses import dataclass, field

from engine.codec import event_from_line
from engine.records import Decided, EpisodeEnded, Event, ModelCalled, Stepped

_LATENCY = re.compile(rb'[{,]"latency_s":([-+.\deE]+)')
"""A key of a JSON object. In a text, the quotes would have backslashes."""
_MARKS = {b'{"event":"%s"' % kind.__name__.encode(): kind for kind in (EpisodeEnded, Decided, ModelCalled, Stepped)}
"""By how its line begins, a kind of event that counts."""


@dataclass(frozen=True, slots=True)
class EpisodeCost:
    """One finished episode.

    Attributes:
        episode: Number within the session, from 1.
        score: Score at the end.
        max_score: Highest score there is, None if it is not known.
        steps: Number of actions taken.
        tokens: Tokens of the model, input plus output.
        cost_usd: Cost in US dollars, None if a price is not known.
        calls: Number of model calls.
        latency_s: Seconds that they took together.
        memory_entries: Number of steps remembered at the end.
        entries_added: Number of them that this episode added.
        retrievals: Number of retrievals from memory.
        retrieval_s: Seconds that they took together.
        wall_s: Duration in seconds.
    """

    episode: int
    score: float
    max_score: float | None
    steps: int
    tokens: int
    cost_usd: float | None
    calls: int
    latency_s: float
    memory_entries: int
    entries_added: int
    retrievals: int
    retrieval_s: float
    wall_s: float


@dataclass
class Ledger:
    """The finished episodes of a session, oldest first. A call counts for the episode that ends next."""

    rows: list[EpisodeCost] = field(default_factory=list)
    _latencies: list[float] = field(default_factory=list)
    _waiting: list[float] = field(default_factory=list)
    """Latencies of the decision that was not carried out yet. A person may decide otherwise; it is then told again."""

    def copy(self) -> Ledger:
        """Return an independent copy."""
        return Ledger(self.rows.copy(), self._latencies.copy(), self._waiting.copy())

    def fold(self, event: Event) -> None:
        """Take in an event."""
        calls = event.decision.calls if isinstance(event, Decided) else ()
        calls = (event.call,) if isinstance(event, ModelCalled) else calls
        self._count(type(event), [call.latency_s for call in calls])
        if isinstance(event, EpisodeEnded):
            self._ended(event)

    def fold_line(self, line: bytes) -> None:
        """Take in a line of a recording. Only the ends of episodes are decoded.

        Raises:
            BadFile: The end of an episode cannot be read.
        """
        kind = next((kind for mark, kind in _MARKS.items() if line.startswith(mark)), None)
        if kind is EpisodeEnded:
            event = event_from_line(line)[1]
            if event is not None:
                self.fold(event)
        elif kind is not None:
            self._count(kind, _latencies(line))

    def _count(self, kind: type, latencies: list[float]) -> None:
        """Count the calls of an event of this kind."""
        if kind is Decided:
            self._waiting = latencies
            return
        self._latencies += latencies
        if kind in (Stepped, EpisodeEnded):  # what was decided was carried out
            self._latencies += self._waiting
            self._waiting = []

    def _ended(self, event: EpisodeEnded) -> None:
        names = [spec.name for spec in dataclasses.fields(EpisodeCost)]
        same = {name: getattr(event, name) for name in names if hasattr(event, name)}
        self.rows.append(EpisodeCost(calls=len(self._latencies), latency_s=sum(self._latencies, 0.0), **same))
        self._latencies = []


def _latencies(line: bytes) -> list[float]:
    if b'"latency_s"' not in line:
        return []
    found = []
    for text in _LATENCY.findall(line):
        try:
            found.append(float(text))
        except ValueError:
            continue
    return found
