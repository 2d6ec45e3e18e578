"""A language model as a prior. Chooses its reading, and changes to another one if the model does not support it."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from engine import texts
from engine.errors import ModelError, TooLong
from engine.llm.calls import failures
from engine.llm.calls.cache import Cache
from engine.llm.calls.client import CallFailed, ModelClient, TextAnswer
from engine.llm.calls.client_factory import continues
from engine.llm.calls.endpoint import LEAST_ROOM
from engine.llm.calls.gateway import Gateway
from engine.llm.local.engine import LocalEngine
from engine.llm.local.runtime import TOO_LONG
from engine.llm.model import Question, Reply, Unusable, Usage
from engine.llm.prompts import Prompt
from engine.llm.questions import TEXT_ASKING, Asking
from engine.llm.reading.readers import ReplyReader
from engine.records import ActionRequest, Candidate, Notice, Proposal, Waiting
from engine.settings import ModelSettings

SHORTENINGS = 3


class LanguageModel:
    """A model that is called through litellm, including models in this process.

    Args:
        reading: "string", "token" or "verbalized".
        engine: The engine of a model in this process. It is closed together with the model.
        scored_after: Name of the prompt for the reading "string".
        probe: Finds out what the server can do, and returns which reading to use. It is called once, before the
            first question.
        asking: How it is asked for actions in this kind of environment.
        constrained: Whether its scores are those of a choice among the valid actions.

    Attributes:
        client: Makes the calls.
        gateway: The access to litellm that it has.
    """

    def __init__(
        self,
        client: ModelClient,
        gateway: Gateway,
        cache: Cache,
        settings: ModelSettings,
        reading: str,
        engine: LocalEngine | None = None,
        scored_after: str = "actions_transcript",
        probe: Callable[[ModelClient], str] | None = None,
        asking: Asking = TEXT_ASKING,
        constrained: bool = False,
    ) -> None:
        self.name = client.name
        self.reading = reading
        self.client = client
        self.gateway = gateway
        self._cache = cache
        self._reply_tokens = settings.reply_tokens
        self._engine = engine
        self._lock = threading.Lock()
        self._probe = probe
        self._probing = threading.Lock()
        self._reader = ReplyReader(
            client,
            settings,
            engine.context - settings.reply_tokens // 4 if engine else settings.prompt_tokens,
            self._count(engine),
            scored_after=scored_after,
            asking=asking,
            constrained=constrained,
        )

    @staticmethod
    def _count(engine: LocalEngine | None) -> Callable[[Prompt], int]:
        if engine is not None:
            return lambda prompt: engine.count(prompt.chat(), prompt.answer)
        return lambda prompt: texts.tokens(prompt.text())

    @property
    def usage(self) -> Usage:
        """Cost so far."""
        return self.client.usage

    def settle(self) -> None:
        """Find out once how large its context is, and by two small calls which reading it supports, if this is unknown.

        Raises:
            ModelError: Cancelled.
        """
        with self._probing:
            if self._probe is not None:
                self.reading = self._probe(self.client)
                self._probe = None

    def on_event(self, callback: Callable[[Waiting | Notice], None]) -> None:
        """Call `callback` with waits and notices, in the thread that made the call; see `Model.on_event`."""
        self.client.on_event(callback)

    def warm(self, folder: Path | None) -> None:
        """Process the common beginning of all prompts, or load the result from `folder`.

        Does nothing except for local models with the reading "string".
        """
        if self._engine is not None and self.reading == "string":
            states = (ActionRequest("", "", "", text, (text,), 1) for text in ("A", "You"))
            made = [self._reader.string_prompt(request) for request in states]
            self._engine.warm([(prompt.chat(), prompt.answer) for prompt in made], folder)

    @property
    def runs_in_process(self) -> bool:
        """Whether it writes in this process. Then it follows any JSON schema, and is slow, so ask for few words."""
        return self._engine is not None

    @property
    def continues_text(self) -> bool:
        """Whether a text is sent to it as it is, outside any chat format."""
        return continues(self.name)

    @property
    def takes_pictures(self) -> bool:
        """Whether pictures can be sent to it. True for models on a server, which may still refuse them when asked."""
        return self._engine is None

    @property
    def prepares(self) -> bool:
        """Whether prompts can be processed ahead. True for local models with the reading "string"."""
        return self._engine is not None and self.reading == "string"

    def prepare(self, request: ActionRequest, stopped: Callable[[], bool]) -> None:
        """Process the prompt for `request` ahead, if the model can.

        Args:
            stopped: Called regularly. The work ends early if it returns True.

        Raises:
            ModelError: The prompt is too long, or the model is closed.
        """
        if self._engine is None or not self.prepares or len(request.valid_actions) <= 1:
            return
        prompt = self._reader.string_prompt(request)
        if not self.client.has_scores(prompt, request.valid_actions):
            self._engine.prepare(prompt.chat(), prompt.answer, stopped)

    def propose(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        """Return candidates with logits. All calls for them share the time limit `deadline_s`.

        If the answer is unusable, the proposal has no candidates, and a note.

        Raises:
            ModelError: Further calls would fail too, or the call was cancelled.
            MissingError: The network or a key is missing.
        """
        if len(request.valid_actions) <= 1:
            return Proposal(tuple(Candidate(a, 0.0) for a in request.valid_actions))
        self.settle()
        with self.client.decision():
            return self._propose(request, rng)

    def _propose(self, request: ActionRequest, rng: np.random.Generator) -> Proposal:
        notes: list[str] = []
        for _ in range(2 + SHORTENINGS):
            reader = self._reader
            try:
                proposal: Proposal = getattr(reader, self.reading)(request, rng)
                notes.append(proposal.note)
                return dataclasses.replace(proposal, note="; ".join(n for n in notes if n))
            except CallFailed as failed:
                if (note := self._give_way(failed)) is None:
                    return Proposal((), note="; ".join([*filter(None, notes), failed.failure.message]))
                notes.append(note)
        return Proposal((), note=f"the prompt is too long for {self.name}")

    def _give_way(self, failed: CallFailed) -> str | None:
        """Change how the model is asked after a failure, and return a note; None if only this answer is lost.

        Raises:
            ModelError: No change helps, and further calls would fail too.
            MissingError: The network or a key is missing.
        """
        failure = failed.failure
        with self._lock:
            if failure.kind == failures.LOGPROBS and self.reading == "token":
                self.reading = "verbalized"
                return f"{failure.message}: confidences in words instead"
            if failure.kind == failures.CONTEXT and self._reader.budget > 500:
                half, most = self._reader.budget // 2, self.client.endpoint.longest(LEAST_ROOM)
                self._reader = dataclasses.replace(self._reader, budget=most if half < most < 2 * half else half)
                return "the oldest history was left out of the prompt"
        if failure.kind in (failures.CONTENT, failures.CONTEXT):
            return None
        raise failure.error()

    def complete(self, question: Question) -> Reply:
        """Return the model's answer to a question.

        Raises:
            TooLong: The prompt leaves no room for an answer.
            ModelError: No usable answer, or the model takes no pictures.
            MissingError: The network or a key is missing.
        """
        if question.pictures and not self.takes_pictures:
            raise ModelError(f"{self.name} takes no pictures")
        messages = question.messages
        prompt = Prompt(tuple((m["role"], m["content"]) for m in messages), pictures=tuple(question.pictures))
        reader, engine = self._reader, self._engine
        most = engine.context - LEAST_ROOM if engine is not None else reader.budget
        if (tokens := engine.count(messages) if engine is not None else reader.count(prompt)) > most:
            raise TooLong(TOO_LONG.format(tokens, self.name, most))
        with self.client.decision():
            answer = self._written(question, prompt, fresh=question.fresh)
            good = question.accepts(answer.text)
            if not good and answer.call.cached:  # cached by a question without `usable`
                answer = self._written(question, prompt, fresh=True)
                good = question.accepts(answer.text)
        if good:
            self.client.keep(answer)
        return Reply(answer.text, answer.call)

    def _written(self, question: Question, prompt: Prompt, *, fresh: bool) -> TextAnswer:
        """Return an answer that is neither empty nor refused.

        Raises:
            ModelError: There is none.
            MissingError: The network or a key is missing.
        """
        words = self._reply_tokens if self._engine is None else self._reply_tokens // 4
        options: dict[str, Any] = {"temperature": question.temperature, "max_tokens": words}
        if question.stops:
            options["stop"] = list(question.stops)
        if question.schema is not None:
            options["response_format"] = {
                "type": "json_schema",
                "json_schema": {"name": "answer", "schema": dict(question.schema)},
            }
        try:
            answer = self.client.ask(question.purpose, prompt, fresh=fresh, **options)
        except CallFailed as failed:
            raise failed.failure.error() from None
        if answer.lacking or not answer.text.strip():
            raise Unusable(answer.lacking or f"{self.name} sent an empty answer", answer.call)
        return answer

    def cancel(self) -> None:
        """Make the running call and all further ones raise ModelError soon, until `resume` is called."""
        self.client.cancel()

    def resume(self) -> None:
        """Accept calls again after `cancel`."""
        self.client.resume()

    def close(self) -> None:
        """Release all resources; calling this twice is safe."""
        self.client.cancel()
        self.gateway.close()
        if self._engine is not None:
            self._engine.close()
        self._cache.close()
