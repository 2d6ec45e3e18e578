"""The protocol of models, for models in this process, models behind an API, and priors without a model."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from engine.errors import ModelError
from engine.records import ActionRequest, ModelCall, Notice, Proposal, Waiting

Messages = Sequence[Mapping[str, str]]
"""Chat messages, each with `role` ("system", "user", "assistant") and `content`.

A model that continues text (`continues_text`) takes a single message with the role `engine.llm.prompts.TRANSCRIPT`.
"""


@dataclass(frozen=True, slots=True)
class Question:
    """What a model is asked in words.

    Attributes:
        purpose: One word that names the call for people, for instance "reflection".
        messages: The chat messages.
        schema: JSON schema of the answer, followed if the model supports it; None for free text.
        pictures: JPEGs that are sent with the last message.
        usable: Returns whether an answer is usable. Only usable answers are cached; unusable ones are returned too.
            None if every answer that is not empty is usable.
        fresh: Whether to ask even if an answer is cached.
        temperature: Temperature of sampling; 0 takes the likeliest words.
        stops: Texts at which the answer ends.
    """

    purpose: str
    messages: Messages
    schema: Mapping[str, Any] | None = None
    pictures: Sequence[bytes] = ()
    usable: Callable[[str], bool] | None = None
    fresh: bool = False
    temperature: float = 0.0
    stops: tuple[str, ...] = ()

    def accepts(self, text: str) -> bool:
        """Return whether an answer is usable."""
        return self.usable is None or self.usable(text)


class Reply(NamedTuple):
    """A model's answer in words, and the record of the call."""

    text: str
    call: ModelCall


class Unusable(ModelError):
    """The model's answer was empty or a refusal. `call` is the record of the call, which has its cost."""

    def __init__(self, message: str, call: ModelCall) -> None:
        super().__init__(message)
        self.call = call


@dataclass(frozen=True, slots=True)
class Usage:
    """Cost of a model since it was opened. Cached calls cost nothing and are counted separately.

    Attributes:
        tokens: Input plus output tokens.
        cost_usd: US dollars, None if no price is known.
        seconds: Wall time spent waiting for the model.
        dropped: Proposed options that were dropped because they were not valid actions.
        retries: Failed attempts of calls that were repeated.
        by_purpose: Input plus output tokens for each purpose.
    """

    calls: int = 0
    cached: int = 0
    tokens: int = 0
    cost_usd: float | None = 0.0
    seconds: float = 0.0
    dropped: int = 0
    retries: int = 0
    by_purpose: Mapping[str, int] | None = None


class Model(Protocol):
    """A frozen policy that can also be asked in words. Calls block; `cancel` ends them from any thread."""

    @property
    def name(self) -> str:
        """The name it was opened by."""
        ...

    @property
    def usage(self) -> Usage:
        """Cost so far."""
        ...

    @property
    def reading(self) -> str:
        """How logits are obtained from it: "string", "token" or "verbalized"; "" if it is not a language model."""
        ...

    def settle(self) -> None:
        """Find out which reading the model supports, if this is unknown. This makes two small calls, once.

        Raises:
            ModelError: Cancelled.
        """
        ...

    def on_event(self, callback: Callable[[Waiting | Notice], None]) -> None:
        """Call `callback` in the thread that makes a call: once a second while the call waits for its next attempt,
        and once with each thing that a person should know of the model's server.
        """
        ...

    def propose(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        """Return candidates with logits. All of them are valid actions.

        Raises:
            ModelError: No usable answer. It is `fatal` if further calls would fail too, or the call was
            cancelled.
            MissingError: The network, a key or a file is missing.
        """
        ...

    def complete(self, question: Question) -> Reply:
        """Return the model's answer to a question.

        Raises:
            ModelError: No usable answer, or the model takes no pictures.
            MissingError: The network, a key or a file is missing.
        """
        ...

    def cancel(self) -> None:
        """Make the running call and all further ones raise ModelError soon, until `resume` is called."""
        ...

    def resume(self) -> None:
        """Accept calls again after `cancel`."""
        ...

    def close(self) -> None:
        """Release all resources; calling this twice is safe."""
        ...


Write = Callable[[Question], Reply]
"""Asks a model in words, as `Model.complete` does, and charges the running episode. The call is shown and recorded."""


@runtime_checkable
class Preparing(Protocol):
    """A model that may be able to process a prompt before it is asked."""

    @property
    def prepares(self) -> bool:
        """Whether it can do so with its present reading."""
        ...

    def prepare(self, request: ActionRequest, stopped: Callable[[], bool]) -> None:
        """Compute what `propose` needs for `request`. Return early, soon after `stopped()` is True."""
        ...


def takes_pictures(model: object) -> bool:
    """Return whether pictures can be sent to `model`; False if it does not say."""
    return bool(getattr(model, "takes_pictures", False))


def continues_text(model: object) -> bool:
    """Return whether `model` continues a text as it is, outside any chat format; False if it does not say."""
    return bool(getattr(model, "continues_text", False))


def runs_in_process(model: object) -> bool:
    """Return whether `model` writes in this process; False if it does not say."""
    return bool(getattr(model, "runs_in_process", False))
