"""Sessions that are killed again and again and resumed, beside the same session that nobody killed.

    python -m tests.killed SAVES SESSION MOMENT [SCRIPT]

plays a session in a process of its own, and kills it with SIGKILL at the moment of this number, 0 for never. Moments
are before, in the middle of and after each line of the recording, and after an episode went to memory. The number of
moments is printed where it lives on.
"""

from __future__ import annotations

import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

from engine.codec import event_to_line, to_plain
from engine.environments import profile
from engine.memory.scope import Scope
from engine.records import Decided, EpisodeEnded, Event, TakenBack
from engine.session import recording
from engine.session import store as sessions
from engine.session.control import Answer, Control, PersonSaid, TakeBack
from engine.session.loop import Session
from engine.settings import SessionConfig

Moment = tuple[int, int]
"""An episode and a step in it."""


class Person(Control):
    """Overrules and takes back at given moments, each once in an episode however often that is resumed.

    Args:
        overrules: Where the last valid action is done in place of what was decided.
        backs: Where the last step is taken back when this one was decided.
    """

    def __init__(self, overrules: set[Moment], backs: set[Moment]) -> None:
        super().__init__()
        self._overrules, self._backs = overrules, backs
        self._shown: Decided | None = None

    def see(self, event: Event) -> None:
        """Look at the session."""
        if isinstance(event, Decided):
            self._shown = event
        elif isinstance(event, TakenBack):
            self._backs.discard((event.episode, event.step + 1))

    def gate(self, episode: int, tell: Any, hold: str = "") -> Answer:
        assert self._shown is not None
        decision = self._shown.decision
        if (episode, decision.step) in self._backs:
            raise TakeBack
        if (episode, decision.step) in self._overrules:
            return Answer(PersonSaid.INSTEAD, decision.valid_actions[-1])
        return Answer()


class Fate:
    """Counts moments, and ends this process at one of them."""

    def __init__(self, fatal: int) -> None:
        self.passed = 0
        self._fatal = fatal

    def next(self) -> bool:
        """Return whether the next moment is the last one."""
        self.passed += 1
        return self.passed == self._fatal

    def pass_on(self) -> None:
        """Live on, or not."""
        if self.next():
            os.kill(os.getpid(), signal.SIGKILL)


def play(saves: Path, name: str, fatal: int, script: dict[str, list[Moment]]) -> int:
    """Play a session to its end, or to the fatal moment; return the number of moments."""
    fate, write, append = Fate(fatal), recording.Recorder.write, Scope.append

    def written(recorder: recording.Recorder, event: Event, at: float) -> None:
        fate.pass_on()
        if fate.next():
            line = event_to_line(event, at).encode()
            os.write(recorder._fd, line[: len(line) // 2])
            os.kill(os.getpid(), signal.SIGKILL)
        write(recorder, event, at)
        fate.pass_on()

    def appended(scope: Scope, episode: Any) -> int:
        added = append(scope, episode)
        fate.pass_on()
        return added

    person = Person(*({tuple(at) for at in script.get(what, ())} for what in ("overrules", "backs")))
    session = Session(sessions.load(saves / "sessions" / name), saves, person.see, control=person)
    with patch.object(recording.Recorder, "write", written), patch.object(Scope, "append", appended):
        ended = session.run()
    assert session.error is None, session.error
    assert ended.finished
    return fate.passed


@dataclasses.dataclass(frozen=True)
class Trial:
    """A session to be played twice: at one go, and with kills."""

    game: str = "pantry"
    settings: str = "default"
    changes: dict[str, Any] = dataclasses.field(default_factory=dict)
    seed: int = 1
    episodes: int = 6
    steps: int = 20
    agent: str = "jitrl"
    script: dict[str, list[Moment]] = dataclasses.field(default_factory=dict)
    before: int = 1
    """Episodes of another session that memory has at the start."""

    def start(self, saves: Path) -> sessions.SavedSession:
        """Return the session, not begun, with something in memory."""
        settings = profile(self.settings, step_limit=self.steps, **self.changes)
        plan = SessionConfig(
            game=self.game, agent=self.agent, model="prior/verbs", seed=self.seed, episodes=self.episodes,
            settings=settings, profile=self.settings,
        )  # fmt: skip
        if self.before:
            earlier = dataclasses.replace(plan, seed=self.seed + 1000, episodes=self.before)
            Session(sessions.create(saves, earlier, "run"), saves, lambda event: None).run()
        return sessions.create(saves, plan, "run")

    def whole(self, saves: Path) -> tuple[dict[Any, Any], int]:
        """Play at one go in this process; return what was decided, and the number of moments."""
        saved = self.start(saves)
        number = play(saves, saved.name, 0, self.script)
        return decided(saved), number

    def killed(self, saves: Path, moments: Iterator[int]) -> tuple[dict[Any, Any], int]:
        """Play with kills at these moments of one process after another; return what was decided, and how many came.

        The last process lives on, and so does one that ends before its moment.
        """
        saved, kills = self.start(saves), 0
        for moment in moments:
            done = self._play(saves, saved, moment)
            if done.returncode == 0:
                return decided(saved), kills
            assert done.returncode == -signal.SIGKILL, done.stderr
            kills += 1
        done = self._play(saves, saved, 0)
        assert done.returncode == 0, done.stderr
        return decided(saved), kills

    def _play(
        self, saves: Path, saved: sessions.SavedSession, moment: int
    ) -> subprocess.CompletedProcess[str]:
        from tests import commands  # not in the process that is killed

        # In tests it is a fork. The process from which it comes has other hashes of texts than that of the tests.
        command = [sys.executable, "-m", "tests.killed", str(saves), saved.name, str(moment)]
        return commands.run([*command, json.dumps(self.script)], capture_output=True, text=True)


def decided(saved: sessions.SavedSession) -> dict[Any, Any]:
    """Return all decisions of a session as plain values, and how its episodes ended.

    What was decided again because a process was killed before the step should be the same again.
    """
    found: dict[Any, Any] = {}
    backs = 0
    for _, event in recording.read(saved.recording):
        if isinstance(event, Decided):
            at = event.episode, backs, event.decision.step, event.decision.provenance
            decision = to_plain(event.decision)
            if found.setdefault(at, decision) != decision:
                found[*at, "again"] = decision
        elif isinstance(event, TakenBack):
            backs += 1
        elif isinstance(event, EpisodeEnded):
            timeless = dataclasses.replace(event, wall_s=0.0, retrievals=0, retrieval_s=0.0, processor_s=0.0)
            found[event.episode, "end"] = to_plain(timeless)
    return found


def differences(one: dict[Any, Any], other: dict[Any, Any]) -> list[Any]:
    """Return where two sessions differ, first difference first; [] if they are the same."""
    return [key for key in [*one, *(key for key in other if key not in one)] if one.get(key) != other.get(key)]


def moments(rng: random.Random, kills: int, whole: int) -> Iterator[int]:
    """Yield moments for several kills of a session that has so many in all: most of them come to pass."""
    for _ in range(kills):
        yield rng.randrange(1, max(2, 2 * whole // (kills + 1)))


def main() -> None:
    """Play one session."""
    saves, name, fatal, *script = sys.argv[1:]
    print(play(Path(saves), name, int(fatal), json.loads(script[0]) if script else {}))


if __name__ == "__main__":
    main()
