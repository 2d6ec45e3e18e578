"""Access to all models through litellm, which runs on an event loop in its own thread.

litellm is imported in that thread by the first call that needs it, because the import takes seconds and 160 MB. It is
kept from printing and from fetching its price list. Until it is imported, models in this process score directly, with
the same engine and the same results. So a session that only scores never imports it.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import functools
import gc
import logging
import os
import threading
import warnings
from collections.abc import Coroutine, Mapping
from typing import Any

from engine.errors import MissingError, ModelError
from engine.llm.calls import network
from engine.llm.calls.failures import UnreadableAnswer
from engine.llm.local.engine import LocalEngine, Scores

LOCAL = "local"
"""litellm's name for the provider of models in this process."""


class Gateway:
    """Blocking calls to litellm that can be cancelled from another thread.

    Args:
        engines: Models in this process, by the name after `local/`.
    """

    def __init__(self, engines: Mapping[str, LocalEngine] | None = None) -> None:
        self._engines = dict(engines or {})
        self._lock = threading.Lock()
        self._running: set[concurrent.futures.Future[Any]] = set()
        self._closed = False
        self._registered = False

    @property
    def library(self) -> Any:
        """The litellm module, None until it is imported."""
        return _shared().library

    def prepare(self) -> None:
        """Import litellm and wait for it.

        Raises:
            MissingError: The import fails.
            ModelError: Cancelled or closed.
        """
        if not self._registered:
            self._wait(self._import())

    def completion(self, deadline: float, /, **arguments: Any) -> Any:
        """Return litellm's ModelResponse.

        Args:
            deadline: Timeout in seconds; importing litellm does not count.
            arguments: Arguments of litellm's `acompletion`.

        Raises:
            TimeoutError: The deadline passed.
            ModelError: Cancelled or closed.
            Unreadable: The server's answer was not read to its end.
            Exception: Whatever litellm raises.
        """
        self.prepare()
        model = str(arguments["model"])
        if model.startswith(f"{LOCAL}/"):
            # Several open models may have the same name. litellm passes unknown arguments on to the provider.
            arguments["deadline"] = deadline
            arguments["engine"] = id(self._engines.get(model.removeprefix(f"{LOCAL}/")))
        return self._wait(self._bounded(deadline, arguments))

    async def _bounded(self, deadline: float, arguments: Mapping[str, Any]) -> Any:
        from engine.llm.calls import bounded

        reading = bounded.begin()
        try:
            return await asyncio.wait_for(_shared().library.acompletion(**arguments), deadline)
        except Exception:
            if reading.trouble:  # litellm reports it as a broken connection
                raise UnreadableAnswer(reading.trouble) from None
            raise

    def score(
        self, deadline: float, target: str, messages: Any, answer: str, candidates: tuple[str, ...]
    ) -> Scores:
        """Score how likely each candidate follows `answer`, with the model `local/NAME`.

        Raises:
            TimeoutError: `deadline` seconds passed.
            ModelError: The prompt is too long, or the call was cancelled or closed.
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
        """Make every running call raise ModelError soon. Models in this process accept no call until `resume`."""
        with self._lock:
            running = list(self._running)
        for engine in self._engines.values():
            engine.stop()
        for future in running:
            future.cancel()

    def resume(self) -> None:
        """Accept calls again after `cancel`."""
        for engine in self._engines.values():
            engine.go()

    def close(self) -> None:
        """Cancel running calls and accept no more; calling this twice is safe."""
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
    """The event loop of litellm, whose clients and logging are bound to one loop for the whole process."""

    def __init__(self) -> None:
        self.library: Any = None
        self.loop = asyncio.new_event_loop()
        # Errors are raised to the caller. Messages about tasks left over at exit are not useful.
        self.loop.set_exception_handler(lambda loop, context: None)
        threading.Thread(target=self._run, name="litellm", daemon=True).start()

    def _run(self) -> None:
        asyncio.set_event_loop(self.loop)
        self.loop.run_forever()


@functools.cache
def _shared() -> _Shared:
    return _Shared()


def import_litellm() -> Any:
    """Import litellm without output and without network access.

    Raises:
        MissingError: It is not installed, or the import fails.
    """
    network.bypass()
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ.setdefault("LITELLM_LOG", "CRITICAL")
    # Its type declarations cause dozens of pydantic warnings.
    warnings.filterwarnings("ignore", category=UserWarning, module="pydantic")
    # A call that its deadline ends before it has begun.
    warnings.filterwarnings("ignore", "coroutine .* was never awaited", RuntimeWarning)
    collecting = gc.isenabled()
    gc.disable()  # 300,000 objects are made and stay; neither now nor later does a collection look through them
    try:
        import litellm
    except ImportError as error:
        raise MissingError(f"litellm does not load ({error}); install jitrl anew") from None
    finally:
        gc.freeze()
        if collecting:
            gc.enable()
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    # litellm's own transport takes every proxy for one of HTTP; that of httpx knows SOCKS, but needs a package for it.
    litellm.disable_aiohttp_transport = network.wants_socks() and network.has_socks()
    for name in ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"):
        logging.getLogger(name).setLevel(logging.CRITICAL)
    return litellm
