"""Episodes for training, played as every agent plays: a session of the agent `static`, with a recording.

The model of the session is the one that is being trained. A session waits after each episode until the trainer asks
for more, so that one recording holds all episodes of a run in their order.
"""

from __future__ import annotations

import dataclasses
import os
import threading
from pathlib import Path
from queue import SimpleQueue

from engine.disk import read_bytes, write_private
from engine.errors import FailingAs, GameError, JitrlError, StorageError, UsageError
from engine.evaluator import Evaluator
from engine.records import (
    Decided,
    Decision,
    EpisodeEnded,
    EpisodeStarted,
    Event,
    Observation,
    State,
    Step,
    Stepped,
    Trajectory,
)
from engine.session import store as sessions
from engine.session.control import Control
from engine.session.live import step_of
from engine.session.loop import Session
from engine.settings import SessionConfig
from engine.train.checks import UNLIKE
from engine.train.trained import TrainedModel, TrainingRow


@dataclasses.dataclass(frozen=True, slots=True)
class PlayedEpisode:
    """One episode.

    Attributes:
        number: Its number in its session, from 1.
        rewards: Step rewards of the evaluator.
        gains: Changes of the environment's score.
        rows: Its decisions between several actions.
        prompt_tokens: Tokens of the prompts of its decisions.
        completion_tokens: Tokens of the answers that were scored.
    """

    task: str
    number: int
    score: float
    rewards: tuple[float, ...]
    gains: tuple[float, ...]
    rows: tuple[TrainingRow, ...]
    prompt_tokens: int = 0
    completion_tokens: int = 0

    @property
    def trained_tokens(self) -> int:
        """Tokens of all its rows, which gradients are computed for."""
        return sum(len(row.prompt) + len(row.action) for row in self.rows)


class RolloutStory:
    """What the evaluator needs of an episode, collected while it is played.

    Args:
        first: Its first observation.

    Attributes:
        decision: The decision that is carried out next.
    """

    def __init__(self, first: Observation | None = None) -> None:
        self.decision: Decision | None = None
        self._seen = first
        self._steps: list[Step] = []
        self._texts: list[str] = []

    def step(self, after: Observation) -> None:
        """Add the step that led to an observation."""
        if self._seen is not None and self.decision is not None:
            self._steps.append(step_of(self.decision, self.decision.state, self._seen, after))
            self._texts.append(self._seen.text)
        self._seen = after

    def trajectory(self, end: EpisodeEnded) -> Trajectory:
        """Return the episode as input of an evaluator."""
        last = self._seen.text if self._seen is not None else ""
        final = self._steps[-1].state if self._steps else State("", ())
        return Trajectory(
            tuple(self._steps), final, (*self._texts, last),
            terminated=end.terminated, truncated=end.truncated, outcome=end.outcome,
        )  # fmt: skip


class RolloutPlayer:
    """Plays the episodes of one task, some at a time.

    Args:
        config: Configuration of the session.
        folder: Folder of the session; it is made if it is missing.
        saves: The saves folder.
        model: The model that is being trained.
        trained: Number of its episodes that the weights have been trained with. Later ones in the recording are removed
            and played again.
        evaluator: Judges the steps; None if their rewards are not needed.
    """

    def __init__(
        self,
        config: SessionConfig,
        folder: Path,
        saves: Path,
        model: TrainedModel,
        trained: int,
        evaluator: Evaluator | None = None,
    ) -> None:
        self.task = config.game
        self._model = model
        self._evaluator = evaluator
        self._known = trained
        if (folder / sessions.CONFIG).is_file():
            saved = sessions.load(folder)
            keep_episodes(saved.recording, trained)
        else:
            saved = sessions.create_in(folder, config, "run")
        self._control = Control()
        self._session = Session(
            saved, saves, self._see, control=self._control, model=model, takes_back=False
        )
        self._thread: threading.Thread | None = None
        self._permits = threading.Semaphore(0)
        self._done: SimpleQueue[PlayedEpisode | JitrlError | None] = SimpleQueue()
        self._beginning = ""
        self._rows: list[TrainingRow] = []
        self._gains: list[float] = []
        self._story = RolloutStory()
        self._tokens = [0, 0]

    def play(self, count: int) -> list[PlayedEpisode]:
        """Play so many episodes with the weights as they are now.

        Raises:
            JitrlError: The session failed, or was stopped.
        """
        self._model.renew()
        self._permits.release(count)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name=f"episodes of {self.task}", daemon=True)
            self._thread.start()
        played: list[PlayedEpisode] = []
        while len(played) < count:
            one = self._done.get()
            if isinstance(one, JitrlError):
                raise one from one.__cause__
            if one is None:
                raise GameError(f"the episodes of {self.task} ended early")
            played.append(one)
        return played

    def close(self) -> None:
        """End the session. Its finished episodes stay recorded."""
        self._control.stop()
        self._permits.release(1 << 20)
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        self._permits.acquire()
        error: JitrlError | None = None
        try:
            self._session.run()
            error = self._session.error
        except Exception as unforeseen:
            error = GameError(
                f"the episodes of {self.task} failed: {type(unforeseen).__name__}: {unforeseen}"
            )
            error.__cause__ = unforeseen
        finally:
            self._done.put(error)

    def _see(self, event: Event) -> None:
        """Follow the session, in its thread."""
        if isinstance(event, EpisodeStarted):
            self._alike(event)
            self._rows, self._gains, self._tokens = [], [], [0, 0]
            self._story = RolloutStory(event.observation)
        elif isinstance(event, Decided) and event.episode > self._known:
            self._story.decision = event.decision
        elif isinstance(event, Stepped) and event.episode > self._known:
            self._gains.append(event.reward)
            self._story.step(event.observation)
            if (made := self._model.last) is not None:
                self._tokens[0] += len(made.prompt)
                self._tokens[1] += made.tokens
            if (row := self._model.row(event.action)) is not None:
                self._rows.append(row)
        elif isinstance(event, EpisodeEnded) and event.episode > self._known:
            rewards = self._judged(event)
            self._done.put(
                PlayedEpisode(
                    self.task, event.episode, event.score, rewards, tuple(self._gains), tuple(self._rows),
                    self._tokens[0], self._tokens[1],
                )
            )  # fmt: skip
            self._permits.acquire()

    def _judged(self, event: EpisodeEnded) -> tuple[float, ...]:
        """Return the step rewards of the evaluator; what it asks a model is counted."""
        if self._evaluator is None:
            return event.rewards
        judged = self._evaluator.rewards(self._story.trajectory(event))
        for call in judged.calls:
            self._tokens[0] += call.prompt_tokens
            self._tokens[1] += call.completion_tokens
        return judged.rewards

    def _alike(self, event: EpisodeStarted) -> None:
        """Check that all episodes begin alike."""
        if self._beginning and event.observation.text != self._beginning:
            self._done.put(UsageError(UNLIKE.format(self.task)))
            self._control.stop()
        self._beginning = event.observation.text


def keep_episodes(path: Path, episodes: int) -> None:
    """Remove from a recording all that comes after its first finished episodes.

    Args:
        path: The file; nothing happens if it is not there.
        episodes: Number of finished episodes that stay.

    Raises:
        StorageError: It cannot be written.
    """
    if not path.is_file():
        return
    kept = at = ended = 0
    data = read_bytes(path, limit=os.stat(path).st_size + 1)
    for line in data.splitlines(keepends=True):
        at += len(line)
        if line.startswith(b'{"event":"SessionStarted"') and kept == 0:
            kept = at
        if line.startswith(b'{"event":"EpisodeEnded"') and line.endswith(b"\n"):
            ended += 1
            if ended <= episodes:
                kept = at
    if kept == len(data):
        return
    with FailingAs(StorageError, f"cannot write {path}"):
        write_private(path, data[:kept])
