"""The one seam to every model: litellm, on an event loop in a thread of its own.

litellm is imported in that thread when the first call needs it, because it takes seconds and 160 MB. It is kept from
printing and from fetching its price list. As long as it is not there, models of this process score directly: the
same engine, the same numbers, so that a session with nothing but scores never loads it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import logging
import os
import threading
import warnings
from collections.abc import Coroutine, Mapping
from typing import Any

from engine.errors import MissingError, ModelError
from engine.llm.calls.failures import Unreadable
from engine.llm.local.engine import LocalEngine, Scores

LOCAL = "local"
"""litellm's name for the provider of models that run in this process."""


class Gateway:
    """Calls to litellm that block their thread and can be cancelled from another.

    Args:
        engines: Models in this process, by the name behind `local/`.
    """

    def __init__(self, engines: Mapping[str, LocalEngine] | None = None) -> None:
        self._engines = dict(engines or {})
        self._lock = threading.Lock()
        self._running: set[concurrent.futures.Future[Any]] = set()
        self._closed = False
        self._registered = False

    @property
    def library(self) -> Any:
        """The litellm module, or None as long as it has not been needed."""
        return _shared().library

    def prepare(self) -> None:
        """Wait until litellm is there.

        Raises:
            MissingError: It does not load.
            ModelError: Cancelled or closed.
        """
        if not self._registered:
            self._wait(self._import())

    def completion(self, deadline: float, /, **arguments: Any) -> Any:
        """Return litellm's ModelResponse.

        Raises:
            TimeoutError: Not done within `deadline` seconds (importing litellm is not counted).
            ModelError: Cancelled or closed.
            Unreadable: The server's answer was not read to its end.
            Exception: Whatever litellm raises.
        """
        self.prepare()
        model = str(arguments["model"])
        if model.startswith(f"{LOCAL}/"):
            # Two models of one name may be open; litellm passes unknown arguments on to the provider.
            arguments["deadline"] = deadline
            arguments["engine"] = id(self._engines.get(model.removeprefix(f"{LOCAL}/")))
        return self._wait(self._bounded(deadline, arguments))

    async def _bounded(self, deadline: float, arguments: Mapping[str, Any]) -> Any:
        from engine.llm.calls import bounded

        reading = bounded.begin()
        try:
            return await asyncio.wait_for(_shared().library.acompletion(**arguments), deadline)
        except Exception:
            if reading.trouble:  # litellm calls it a broken connection
                raise Unreadable(reading.trouble) from None
            raise

    def score(
        self, deadline: float, target: str, messages: Any, answer: str, candidates: tuple[str, ...]
    ) -> Scores:
        """Return how likely each candidate is to follow `answer`, from the model `local/NAME`.

        Raises:
            TimeoutError: Not done within `deadline` seconds.
            ModelError: Too long, cancelled or closed.
        """
        if not self._registered:
            engine = self._engines[target.removeprefix(f"{LOCAL}/")]
            return engine.score(messages, answer, candidates, deadline=deadline)
        response = self.completion(
            deadline, model=target, messages=messages, answer=answer, candidates=list(candidates)
        )
        top = response.choices[0].logprobs.content[0].top_logprobs
        return Scores(
            tuple(item.logprob for item in top),
            tuple(response.answer_lengths),
            response.usage.prompt_tokens,
            response.usage.completion_tokens,
        )

    def cancel(self) -> None:
        """Make every running call raise ModelError soon; models of this process take none until `resume`."""
        with self._lock:
            running = list(self._running)
        for engine in self._engines.values():
            engine.stop()
        for future in running:
            future.cancel()

    def resume(self) -> None:
        """Take calls again after `cancel`."""
        for engine in self._engines.values():
            engine.go()

    def close(self) -> None:
        """Cancel what runs and take no more; safe to call twice."""
        with self._lock:
            self._closed = True
        self.cancel()

    def _wait(self, work: Coroutine[Any, Any, Any]) -> Any:
        with self._lock:
            if self._closed:
                work.close()
                raise ModelError("the model is closed", fatal=True)
            future = asyncio.run_coroutine_threadsafe(work, _shared().loop)
            self._running.add(future)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise ModelError("cancelled", fatal=True) from None
        finally:
            with self._lock:
                self._running.discard(future)

    async def _import(self) -> None:
        if self._registered:
            return
        shared = _shared()
        if shared.library is None:
            shared.library = import_litellm()
            from engine.llm.calls import bounded

            bounded.install()
        if self._engines:
            from engine.llm.local.provider import register

            register(shared.library, self._engines)
        self._registered = True


class _Shared:
    """The event loop that litellm lives on: its clients and its logging are bound to one for the process."""

    def __init__(self) -> None:
        self.library: Any = None
        self.loop = asyncio.new_event_loop()
        # What goes wrong is told to the caller; what litellm leaves behind at exit is no news.
        self.loop.set_exception_handler(lambda loop, context: None)
        threading.Thread(target=self._run, name="litellm", daemon=True).start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()


@functools.cache
def _shared() -> _Shared:
    return _Shared()


def import_litellm() -> Any:
    """Import litellm without a word and without the network.

    Raises:
        MissingError: It is not installed or does not load.
    """
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ.setdefault("LITELLM_LOG", "CRITICAL")
    # Its type declarations make pydantic complain by the dozen.
    warnings.filterwarnings("ignore", category=UserWarning, module="pydantic")
    try:
        import litellm
    except ImportError as error:
        raise MissingError(f"litellm does not load ({error}); try: pip install 'litellm<1.107'") from None
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return litellm
