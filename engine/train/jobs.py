"""What a training process is to do, and what it tells while it works."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.settings import SessionConfig

JOB = "job.json"
"""File of a run with its job."""


@dataclass(frozen=True, slots=True)
class TrainingJob:
    """What a training process is to do.

    Attributes:
        kind: "sft" or "grpo".
        name: Name of the run, and of the row in tables.
        folder: Folder of the run.
        saves: The saves folder.
        cache: Folder of what can be made anew.
        model: Name of the model.
        tasks: Full names of the environments.
        session: Configuration of the sessions that play; its `game` is the first task.
        settings: Values of the training settings, by name.
        recordings: Folders of sessions to learn from (SFT).
        walkthroughs: Whether solutions of the games are learnt from (SFT).
        dry: Whether only the trainer and one batch are built.
        write: Whether only the results of the last checkpoint are written.
    """

    kind: str
    name: str
    folder: str
    saves: str
    cache: str
    model: str
    tasks: tuple[str, ...]
    session: SessionConfig
    settings: Mapping[str, Any] = field(default_factory=dict)
    recordings: tuple[str, ...] = ()
    walkthroughs: bool = False
    dry: bool = False
    write: bool = False


@dataclass(frozen=True, slots=True)
class WeightUpdate:
    """One update of the weights, a line of the curve.

    Attributes:
        update: Its number, from 1.
        episodes: Episodes played so far. All counts are sums up to this update.
        environment_steps: Actions taken in them.
        prompt_tokens: Tokens of the prompts of their decisions.
        completion_tokens: Tokens of the answers that were scored.
        trained_tokens: Tokens that gradients were computed for.
        processor_s: Processor seconds of the training process and its children.
        wall_s: Seconds, without pauses between two calls.
        returns: Returns of this update's episodes; () for SFT.
        scores: Scores of this update's episodes.
        loss: Loss of the update.
        kl: Divergence from the weights at the start, nats a token; None where it is not computed.
        gradient_norm: Norm of the gradient before it was scaled down.
        entropy: Entropy of the choices, nats a token.
        idle: Share of groups with equal returns, which teach nothing.
        evaluation: Scores of the episodes that were played with the weights of this update and not trained with.
    """

    update: int
    episodes: int = 0
    environment_steps: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    trained_tokens: int = 0
    processor_s: float = 0.0
    wall_s: float = 0.0
    returns: tuple[float, ...] = ()
    scores: tuple[float, ...] = ()
    loss: float | None = None
    kl: float | None = None
    gradient_norm: float | None = None
    entropy: float | None = None
    idle: float | None = None
    evaluation: tuple[float, ...] = ()
