"""Follows a trainer: tells each update, and ends training when it is asked to or when a gradient is not finite."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

from accelerate.utils import gather_object
from transformers import TrainerCallback

from engine.train.curve import check_finite


class Following(TrainerCallback):  # type: ignore[misc]
    """Tells each update, and ends training when it is asked to, or when time is up.

    Args:
        told: Called with the number of the step and its numbers.
        stopped: Whether the user wants to stop.
        minutes: Minutes after which no update begins, 0 for no limit.
    """

    def __init__(
        self, told: Callable[[int, Mapping[str, float]], None], stopped: Callable[[], bool], minutes: float
    ) -> None:
        self._told, self._stopped = told, stopped
        self._until = time.monotonic() + 60 * minutes if minutes else None

    def on_log(self, args: Any, state: Any, control: Any, logs: Any = None, **_: Any) -> None:
        """Tell the numbers of an update.

        Raises:
            ModelError: They are not finite.
        """
        if logs and "grad_norm" in logs:
            check_finite(int(state.global_step), logs)
            self._told(int(state.global_step), logs)

    def on_step_end(self, args: Any, state: Any, control: Any, **_: Any) -> Any:
        """End training, with a checkpoint, in all processes after the same update."""
        wanted = self._stopped() or (self._until is not None and time.monotonic() > self._until)
        if any(gather_object([wanted])):
            control.should_training_stop = control.should_save = True
        return control
