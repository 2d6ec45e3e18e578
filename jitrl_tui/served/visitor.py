"""A visitor's process: textual-serve's, started as all our children are, and ended with the visit."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
from asyncio.subprocess import PIPE, Process
from collections.abc import Sequence
from typing import Any

from textual_serve.app_service import AppService

from engine import children, waits

_QUIT_S = waits.VISITOR_QUIT.seconds
"""Seconds that the app has to keep what was played and end."""
_END_S = waits.VISITOR_END.seconds
"""Seconds that it has to end after SIGTERM."""


class Visitor(AppService):
    """The process of one visitor, in a process group of its own.

    Args:
        words: Its command.
        further: As for `AppService`.
    """

    def __init__(self, words: Sequence[str], **further: Any) -> None:
        super().__init__("", **further)
        self._words = list(words)
        self._left = asyncio.Event()

    async def run(self) -> None:
        """Show the app until it ends, however it ends."""
        await super().run()
        if not self._left.is_set():
            await self.remote_close()

    async def on_data(self, payload: bytes) -> None:
        """Show what the app draws, unless the visitor has left. A visitor who does not read holds nothing up then."""
        if self._left.is_set():
            return
        writing = asyncio.ensure_future(super().on_data(payload))
        leaving = asyncio.ensure_future(self._left.wait())
        try:
            await asyncio.wait((writing, leaving), return_when=asyncio.FIRST_COMPLETED)
        finally:
            leaving.cancel()
            writing.cancel()
            with contextlib.suppress(ConnectionError, RuntimeError, asyncio.CancelledError):
                await writing

    async def stop(self) -> None:
        """End the process: ask the app to quit, then signal it, then kill it and what it has begun."""
        process = self._process
        if process is None or self._left.is_set():
            return
        self._left.set()
        await self._download_manager.cancel_app_downloads(app_service_id=self.app_service_id)
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_QUIT_S):
                await self.send_meta({"type": "quit"})
                await process.wait()
        if process.returncode is None:
            process.terminate()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_END_S):
                    await process.wait()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _open_app_process(self, width: int = 80, height: int = 24) -> Process:
        """Start the process. The terminal of the server is not asked for pictures."""
        variables = children.environment_with_keys(
            {"JITRL_PICTURES": "blocks"}, variables=self._build_environment(width, height)
        )
        self._process = await children.start_async(
            "a visitor's process", self._words, variables, stdin=PIPE, stdout=PIPE, stderr=PIPE, start_new_session=True
        )
        self._stdin = self._process.stdin
        return self._process
