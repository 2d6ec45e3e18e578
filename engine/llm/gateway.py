"""The one seam to every model: litellm, on an event loop in a thread of its own.

litellm is imported in that thread when the first call is made or `warm` is called, because it takes
seconds. It is kept from printing and from fetching its price list. Until it is there, models of this process
answer directly: the same engine, the same numbers, without the wait.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import logging
import os
import threading
from collections.abc import Mapping
from typing import Any

from engine.errors import MissingError, ModelError
from engine.llm.local import LocalEngine, Scores

LOCAL = "local"
"""litellm's name for the provider of models that run in this process."""

RETIRED = 5.0
"""Seconds to wait for the thread when closing."""


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
        self._loop = asyncio.new_event_loop()
        self._litellm: Any = None
        self._importing = False
        self._thread = threading.Thread(target=self._run, name="litellm", daemon=True)
        self._thread.start()

    def warm(self) -> None:
        """Begin to import litellm, without waiting for it."""
        self._loop.call_soon_threadsafe(self._library)

    def completion(self, timeout: float, **arguments: Any) -> Any:
        """Return litellm's ModelResponse.

        Raises:
            TimeoutError: Not done within `timeout` seconds.
            ModelError: Cancelled or closed.
            Exception: Whatever litellm raises.
        """
        with self._lock:
            if self._closed:
                raise ModelError("the model is closed", fatal=True)
            future = asyncio.run_coroutine_threadsafe(self._call(timeout, arguments), self._loop)
            self._running.add(future)
        try:
            return future.result()
        except concurrent.futures.CancelledError:
            raise ModelError("cancelled", fatal=True) from None
        finally:
            with self._lock:
                self._running.discard(future)

    def score(
        self, timeout: float, name: str, messages: Any, answer: str, candidates: tuple[str, ...]
    ) -> Scores:
        """Return how likely each candidate is to follow `answer`, from a model of this process.

        Raises:
            TimeoutError: Not done within `timeout` seconds.
            ModelError: Too long, cancelled or closed.
        """
        engine = self._engines[name]
        if self._litellm is None:
            self.warm()
            return engine.score(messages, answer, candidates)
        response = self.completion(
            timeout, model=f"{LOCAL}/{name}", messages=messages, answer=answer, candidates=list(candidates)
        )
        top = response.choices[0].logprobs.content[0].top_logprobs
        return Scores(
            tuple(item.logprob for item in top),
            response.usage.prompt_tokens,
            response.usage.completion_tokens,
        )

    async def _call(self, timeout: float, arguments: dict[str, Any]) -> Any:
        litellm = self._library()
        # The deadline starts after the import: that is our time, not the model's.
        return await asyncio.wait_for(litellm.acompletion(**arguments), timeout)

    @property
    def library(self) -> Any:
        """The litellm module, or None as long as it has not been needed."""
        return self._litellm

    def cancel(self) -> None:
        """Make every running call raise ModelError soon."""
        with self._lock:
            running = list(self._running)
        for engine in self._engines.values() if running else ():
            engine.stop()
        for future in running:
            future.cancel()

    def close(self) -> None:
        """Cancel what runs and end the thread; safe to call twice."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self.cancel()
        self._loop.call_soon_threadsafe(self._loop.stop)
        if not self._importing:  # an import can't be hurried; the thread ends by itself afterwards
            self._thread.join(RETIRED)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()
        with contextlib.suppress(Exception):
            pending = asyncio.all_tasks(self._loop)
            for task in pending:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
            if self._litellm is not None:
                self._loop.run_until_complete(self._litellm.close_litellm_async_clients())
        self._loop.close()

    def _library(self) -> Any:
        if self._litellm is None and not self._closed:
            self._importing = True
            litellm = import_litellm()
            self._importing = False
            if self._engines:
                from engine.llm.provider import register

                register(litellm, self._engines)
            self._litellm = litellm
        return self._litellm


def import_litellm() -> Any:
    """Import litellm without a word and without the network.

    Raises:
        MissingError: It is not installed or does not load.
    """
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ.setdefault("LITELLM_LOG", "CRITICAL")
    try:
        import litellm
    except ImportError as error:
        raise MissingError(f"litellm does not load ({error}); try: pip install 'litellm<1.107'") from None
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return litellm
