"""Plays one session without a screen, with its progress on stderr, and makes its result."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engine.errors import FailingAs, StorageError
from jitrl_tui.runs.amounts import before_paying
from jitrl_tui.system import shutdown
from jitrl_tui.system.output import rewrite

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engine.records import EpisodeEnded, SessionStarted, Waiting
    from engine.session.loop import Session
    from engine.session.store import SavedSession
    from engine.settings import SessionConfig

FORMAT = 2
"""Number of the format of results, see docs/json.md."""


def play(saved: SavedSession, saves: Path, *, quiet: bool) -> tuple[Session, RunProgress, bool]:
    """Play a session until it ends or is interrupted. The last value is whether it was interrupted.

    What interrupts it is in `shutdown.interruptible`.
    """
    from engine.session.loop import Session

    if not quiet and (sentence := before_paying(saved, saves)):
        print(f"jitrl: {sentence}", file=sys.stderr)
    progress = RunProgress(saved.config.episodes, saved.config.settings.step_limit, quiet=quiet)
    session = Session(saved, saves, progress.show, takes_back=False)
    try:
        with shutdown.interruptible(session.control.stop, sys.stderr) as interrupt:
            session.run()
    finally:
        progress.close()
    return session, progress, interrupt.called


def verdict(played: Sequence[EpisodeEnded], config: SessionConfig, progress: RunProgress) -> int:
    """Return the exit code of a finished run: 1 if the model or the environment failed too often."""
    from engine.session.manifest import sum_tallies, too_many_failed, too_many_missing

    settings = progress.started.settings if progress.started is not None else {}
    reasons = [
        too_many_missing(sum_tallies(played), settings, config.model),
        too_many_failed(played, settings, config.game),
    ]
    for why in filter(None, reasons):
        print(f"jitrl: {why}", file=sys.stderr)
    return int(any(reasons))


def write(result: dict[str, Any], target: Path | None, *, show: bool) -> None:
    """Write a result to a file, or print it.

    Raises:
        StorageError: It cannot be written.
    """
    text = json.dumps(result, indent=1)
    if target is not None:
        with FailingAs(StorageError, f"cannot write {target}"):
            target.write_text(text + "\n", encoding="utf-8")
    elif show:
        print(text)


def track_episodes(tool: str | None, saves: Path, saved: SavedSession, session: Session, progress: RunProgress) -> None:
    """Write the finished episodes of a session for the tool of `--track`, None for none. A failure is told."""
    from jitrl_tui.runs.trackers import of_episode, track

    if tool is None or progress.started is None or not session.results:
        return
    config = saved.config
    params = {"game": config.game, "agent": config.agent, "model": config.model, "seed": config.seed,
              "profile": config.profile, **progress.started.settings}  # fmt: skip
    try:
        track(tool, saves, saved.name, params, [of_episode(event) for event in session.results])
    except StorageError as error:
        print(f"jitrl: {error}", file=sys.stderr)


def result_of(played: Sequence[EpisodeEnded], config: SessionConfig, progress: RunProgress) -> dict[str, Any]:
    """Return the result of one session for `--json`."""
    from engine.session.manifest import counts, manifest, sum_tallies

    episodes = [
        {
            "score": e.score, "max_score": e.max_score, "steps": e.steps,
            "terminated": e.terminated, "truncated": e.truncated, "outcome": e.outcome,
            "tokens": e.tokens, "cost_usd": e.cost_usd, "wall_s": round(e.wall_s, 3), "flips": e.flips,
            "failed": e.failed, "answers": counts(e.tally),
        }
        for e in played
    ]  # fmt: skip
    scores = [e.score for e in played]
    return {
        "format": FORMAT,
        "game": progress.game or config.game,
        "agent": config.agent,
        "model": config.model,
        "seed": config.seed,
        "profile": config.profile,
        "episodes": episodes,
        "avg": sum(scores) / len(scores) if scores else None,
        "final": scores[-1] if scores else None,
        "memory_entries": progress.memory_entries,
        "overruled": progress.overruled,
        "answers": counts(sum_tallies(played)),
        **(manifest(progress.started, progress.others) if progress.started is not None else {}),
    }


class RunProgress:
    """Progress on stderr: a bar on a terminal, otherwise a line per episode."""

    def __init__(self, episodes: int, steps: int, *, quiet: bool) -> None:
        self.game = ""
        self.started: SessionStarted | None = None
        self.memory_entries = self.others = self.overruled = 0
        self._episodes, self._steps = episodes, steps
        self._quiet = quiet
        self._live = not quiet and sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
        self._scores: list[float] = []
        self._waited = 0.0

    def show(self, event: Any) -> None:
        """Update the progress by an event of the session."""
        from engine import records
        from engine.session.account import remarks

        match event:
            case records.SessionStarted():
                self.game, self.memory_entries = event.environment.name, event.memory_entries
                self.started = event
            case records.Thinking():
                if event.what != "thinking":
                    self._draw(0, event.what)
            case records.Waiting():
                self._wait(event)
            case records.Stepped():
                self.overruled += event.provenance == "human"
                self._draw(event.step + 1, f"score {event.observation.score:g}")
            case records.EpisodeEnded():
                self.memory_entries = event.memory_entries
                self._scores.append(event.score)
                self._draw(0, f"score {event.score:g}")
                if not self._live and not self._quiet:
                    top = "" if event.max_score is None else f"/{event.max_score:g}"
                    extra = "".join(f", {remark}" for remark in remarks(event.tally))
                    print(f"episode {event.episode}/{self._episodes}: {event.score:g}{top} in {event.steps} steps, "
                          f"{event.wall_s:.1f} s{extra}", file=sys.stderr)  # fmt: skip
            case records.SessionEnded():
                self.others = event.others
            case records.Notice() if event.level != "error":
                self._clear()
                print(f"jitrl: {event.message}", file=sys.stderr)
            case _:
                pass

    def close(self) -> None:
        """Clear the line."""
        self._clear()

    def _wait(self, event: Waiting) -> None:
        """Show a countdown on a terminal, otherwise one line for each pause."""
        text = f"{event.reason}: next try in {event.seconds:.0f} s"
        self._draw(0, text)
        if not self._live and not self._quiet and event.seconds > self._waited:
            end = f" (gives up in {event.left_s / 60:.0f} min)" if event.left_s > 0 else ""
            print(f"jitrl: {text}{end}", file=sys.stderr)
        self._waited = event.seconds if event.seconds > 1 else 0.0

    def _draw(self, step: int, text: str) -> None:
        if not self._live:
            return
        done = len(self._scores) + step / max(1, self._steps)
        width = 24
        filled = min(width, int(width * done / self._episodes))
        mean = f"  avg {sum(self._scores) / len(self._scores):.1f}" if self._scores else ""
        line = f"[{'#' * filled}{'.' * (width - filled)}] episode {len(self._scores)}/{self._episodes}{mean}  {text}"
        rewrite(line[:118])

    def _clear(self) -> None:
        if self._live:
            rewrite("")
