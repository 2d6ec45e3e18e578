"""What every model offers, whether it runs here, behind an API, or is no model at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np

from engine.errors import ModelError
from engine.records import ActionRequest, ModelCall, Proposal, Waiting

Messages = Sequence[Mapping[str, str]]
"""Chat messages: each with `role` ("system", "user", "assistant") and `content`."""


class Reply(NamedTuple):
    """What a model wrote, and the record of the call."""

    text: str
    call: ModelCall


class Unusable(ModelError):
    """The model answered, and its answer is none: empty, or a refusal. `call` is what was paid for it."""

    def __init__(self, message: str, call: ModelCall) -> None:
        super().__init__(message)
        self.call = call


@dataclass(frozen=True, slots=True)
class Usage:
    """What a model has cost since it was opened. Cached calls cost nothing and are counted apart.

    Attributes:
        tokens: In plus out.
        cost_usd: US dollars, 0.0 where no price is known.
        seconds: Wall time spent waiting for it.
        dropped: Options that were no valid action and were dropped.
        retries: Failed tries of calls that were made again.
        by_purpose: Tokens in plus out for each purpose.
    """

    calls: int = 0
    cached: int = 0
    tokens: int = 0
    cost_usd: float = 0.0
    seconds: float = 0.0
    dropped: int = 0
    retries: int = 0
    by_purpose: Mapping[str, int] | None = None


class Model(Protocol):
    """A frozen policy that can also be asked in words. Calls block; `cancel` ends them, from any thread."""

    @property
    def name(self) -> str:
        """The name it was opened by."""
        ...

    @property
    def usage(self) -> Usage:
        """What it has cost so far."""
        ...

    @property
    def reading(self) -> str:
        """How its opinion of actions is read: "string", "token" or "verbalized"; "" for what is no language model."""
        ...

    def settle(self) -> None:
        """Find out how it is to be read, where nobody knows yet; two small calls, made once.

        Raises:
            ModelError: Cancelled.
        """
        ...

    def on_wait(self, callback: Callable[[Waiting], None]) -> None:
        """Let `callback` be told once a second while a call waits for its next try, by the thread that made it."""
        ...

    def propose(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        """Return candidates with logits, all of them valid.

        Raises:
            ModelError: No usable answer; `fatal` if going on is pointless, or the call was cancelled.
            MissingError: The network, a key or a file is missing.
        """
        ...

    def complete(
        self,
        purpose: str,
        messages: Messages,
        schema: Mapping[str, Any] | None = None,
        pictures: Sequence[bytes] = (),
        *,
        usable: Callable[[str], bool] | None = None,
        fresh: bool = False,
        temperature: float = 0.0,
    ) -> Reply:
        """Return what the model writes to `messages`, as JSON of `schema` if one is given and it can.

        Args:
            pictures: JPEGs that are shown with the last message.
            usable: Says whether an answer can be used; only then it is kept, to be given again to the same question.
                None if every answer that is not empty can. What it refuses is returned all the same.
            fresh: Ask even if an answer was kept.
            temperature: Of sampling; 0 takes the likeliest words.

        Raises:
            ModelError: No usable answer, or it takes no pictures.
            MissingError: The network, a key or a file is missing.
        """
        ...

    def cancel(self) -> None:
        """Make the running call, and all further ones until `resume`, raise ModelError soon."""
        ...

    def resume(self) -> None:
        """Take calls again after `cancel`."""
        ...

    def close(self) -> None:
        """Give everything back; safe to call twice."""
        ...


class Write(Protocol):
    """Asks a model in words, as `Model.complete` does, on the account of the running episode.

    Tokens, cost and tally go there, and the call is shown among the others.
    """

    def __call__(
        self,
        purpose: str,
        messages: Messages,
        schema: Mapping[str, Any] | None = None,
        pictures: Sequence[bytes] = (),
        *,
        usable: Callable[[str], bool] | None = None,
        fresh: bool = False,
        temperature: float = 0.0,
    ) -> Reply:
        """Return what the model writes to `messages`, as JSON of `schema` if one is given and it can.

        Args:
            purpose: One word that names the call where calls are shown: "reflection".
            pictures: JPEGs that are shown with the last message.
            usable: Says whether an answer can be used; only then it is kept, to be given again to the same question.
                None if every answer that is not empty can. What it refuses is returned all the same.
            fresh: Ask even if an answer was kept.
            temperature: Of sampling; 0 takes the likeliest words.

        Raises:
            ModelError: No usable answer, or it takes no pictures.
            MissingError: The network, a key or a file is missing.
        """
        ...


@runtime_checkable
class Preparing(Protocol):
    """A model that may be able to take in a prompt before it is asked."""

    @property
    def prepares(self) -> bool:
        """Whether it is able to, as it is read now."""
        ...

    def prepare(self, request: ActionRequest, stopped: Callable[[], bool]) -> None:
        """Compute what `propose` will need for `request`; soon after `stopped()` return, whatever is left to do."""
        ...


def takes_pictures(model: object) -> bool:
    """Return whether pictures can be sent to `model`, as LanguageModel tells."""
    return bool(getattr(model, "takes_pictures", False))


def writes_here(model: object) -> bool:
    """Return whether `model` writes in this process, as LanguageModel tells."""
    return bool(getattr(model, "writes_here", False))
