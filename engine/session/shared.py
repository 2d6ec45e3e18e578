"""Sessions that play at the same time with one memory: numbers of episodes, turns, and what each sees of the others.

An episode sees what was committed when each of its decisions is made. Methods that ask memory at every step need
nothing for that. Those that read it once are told before each episode what others have stored since.

Workers that are equally fast take their steps in turn: only one session works at a time, so the same seeds give the
same run. A turn is a decision, its step, and if that ends the episode, all that comes between two episodes.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext

from engine.records import SessionStarted
from engine.session.control import Control, StopRequested
from engine.settings import SessionConfig

SEQUENTIAL = "sequential"
"""An episode sees all episodes before it: the paper's protocol."""


def place(session: SessionConfig | SessionStarted, episode: int) -> tuple[int, int]:
    """Return the number of an episode among those of all workers, and how many these have.

    Worker w of N plays the episodes w, w + N, w + 2 N, … of the whole. Draws, and settings that change with the number
    of the episode, go by this number. A session that plays alone has its own numbers.
    """
    return (episode - 1) * session.workers + session.worker, session.episodes * session.workers


def experience(workers: int, others: int) -> str:
    """Return which experiment a session was, as manifests say it.

    Args:
        workers: Number of sessions that took their steps in turn.
        others: Number of episodes that other sessions stored in its memory while it ran.
    """
    if workers > 1:
        return f"asynchronous, {workers} workers, step-locked"
    return "asynchronous, workers as they come" if others else SEQUENTIAL


def manifest_of_shared(started: SessionStarted, others: int) -> dict[str, object]:
    """Return what a manifest says of the experience of a session.

    Args:
        started: Its beginning.
        others: Number of episodes that other sessions stored in its memory while it ran.
    """
    return {
        "kind": experience(started.workers, others),
        "workers": started.workers,
        "memory": started.memory,
        "episodes_before": started.episodes_before,
        "episodes_of_others": others,
    }


class Turns:
    """Says whose turn it is. Thread-safe.

    The sessions open one after the other, in their order. Then the one with the fewest turns is next, the first among
    equals. So sessions that were interrupted go on in the order in which they would have played.

    Args:
        taken: How many turns each session has taken before.
    """

    def __init__(self, taken: Sequence[int]) -> None:
        self._changed = threading.Condition()
        self._taken = list(taken)
        self._left = [False] * len(taken)
        self._opened = 0
        """Number of sessions that have opened, or are gone."""
        self._at: int | None = None
        """The session whose turn it is, None while one opens."""

    def open(self, who: int, check: Callable[[], None]) -> None:
        """Wait until all sessions before this one have opened.

        Args:
            who: Number of the session, from 0.
            check: Raises if the session was stopped.
        """
        with self._changed:
            while self._opened < who:
                check()
                self._changed.wait()
            check()

    def wait(self, who: int, check: Callable[[], None]) -> None:
        """End the turn of a session, and wait for its next one. The first time, it says that the session has opened."""
        with self._changed:
            self._pass_on(who)
            while self._at != who:
                check()
                self._changed.wait()
            check()
            self._taken[who] += 1

    def leave(self, who: int) -> None:
        """Note that a session has ended: nobody waits for it any more."""
        with self._changed:
            self._left[who] = True
            self._pass_on(who)

    def wake(self) -> None:
        """Let all waiting sessions look whether they were stopped."""
        with self._changed:
            self._changed.notify_all()

    def _pass_on(self, who: int) -> None:
        self._opened = max(self._opened, who + 1)
        playing = [n for n, left in enumerate(self._left) if not left]
        if self._opened == len(self._taken) and playing:
            self._at = min(playing, key=lambda n: self._taken[n])
        self._changed.notify_all()


class TurnControl(Control):
    """The commands of one session among several that play in turn.

    Args:
        turns: Says whose turn it is.
        who: Number of the session, from 0.
    """

    def __init__(self, turns: Turns, who: int) -> None:
        super().__init__()
        self._turns, self._who = turns, who

    def turn(self, waiting: Callable[[], AbstractContextManager[None]] = nullcontext) -> None:
        """Wait for the others."""
        with waiting():
            self._turns.wait(self._who, self.check)

    def waits(self, episode: int, hold: str = "") -> bool:
        """Return False: nothing is prepared while the others play."""
        return False

    def stop(self) -> None:
        """End the session after the running step."""
        super().stop()
        self._turns.wake()


def play_in_turn(taken: Sequence[int], play: Callable[[int, Control], bool], control: Control) -> bool:
    """Play sessions in turn, each in a thread; if one of them fails, the others stop.

    Args:
        taken: How many steps each session has taken before.
        play: Takes the number of a session and its commands, plays it, and returns whether it is finished.
        control: Its `stop` ends all sessions after the running step.

    Returns:
        Whether all are finished.

    Raises:
        Exception: What `play` of one of them raised.
    """
    turns = Turns(taken)
    controls = [TurnControl(turns, who) for who in range(len(taken))]
    finished = [False] * len(taken)
    errors: list[Exception] = []

    def stop() -> None:
        for one in controls:
            one.stop()

    def run(who: int) -> None:
        try:
            turns.open(who, controls[who].check)
            finished[who] = play(who, controls[who])
        except StopRequested:
            pass
        except Exception as error:  # raised again when all have ended
            errors.append(error)
            stop()
        finally:
            turns.leave(who)

    control.on_stop(stop)
    control.check()
    threads = [
        threading.Thread(target=run, args=(who,), name=f"worker {who + 1}", daemon=True) for who in range(len(taken))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return all(finished)
