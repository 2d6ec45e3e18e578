"""Limits the size of servers' answers, so that none can fill the memory.

litellm has no such limit. All its chat providers use httpx with one of three transports: litellm's own (aiohttp) or
the two of httpx. This module patches the transports to count what is read for calls made here. Other uses of httpx
in this process are not affected. Import it only when litellm has been imported.
"""

from __future__ import annotations

import functools
import zlib
from collections.abc import AsyncIterator, Iterator
from contextvars import ContextVar
from typing import Any

import httpx

from engine.llm.calls.failures import UnreadableAnswer

LIMIT = 4 * 2**20
"""Most bytes of an answer. The longest useful ones have some thousand."""

LIMIT_OF_ERRORS = 64 * 2**10
"""Most bytes of an error's text; the rest is dropped. litellm takes minutes to process a long one."""


class ReadingState:
    """State of reading the answers to one call.

    Attributes:
        trouble: Why an answer was not read to its end, "" if all were.
    """

    def __init__(self) -> None:
        self.trouble = ""

    def stop(self, trouble: str) -> UnreadableAnswer:
        """Record the reason and return it as an exception."""
        self.trouble = trouble
        return UnreadableAnswer(trouble)


_reading: ContextVar[ReadingState | None] = ContextVar("reading", default=None)


def begin() -> ReadingState:
    """Limit what is read from now on in this context, and in contexts copied from it."""
    reading = ReadingState()
    _reading.set(reading)
    return reading


@functools.cache
def install() -> None:
    """Patch the transports, once per process."""
    from litellm.llms.custom_httpx.aiohttp_transport import LiteLLMAiohttpTransport

    for transport in (httpx.AsyncHTTPTransport, LiteLLMAiohttpTransport):
        _count_async(transport)
    _count(httpx.HTTPTransport)


def _count_async(transport: Any) -> None:
    original = transport.handle_async_request

    @functools.wraps(original)
    async def handle(self: Any, request: httpx.Request) -> httpx.Response:
        if (reading := _reading.get()) is None:
            return await original(self, request)  # type: ignore[no-any-return]
        request.headers["accept-encoding"] = "identity"
        response = await original(self, request)
        try:
            _bound(response, reading)
        except UnreadableAnswer:
            await response.stream.aclose()
            raise
        return response  # type: ignore[no-any-return]

    transport.handle_async_request = handle


def _count(transport: Any) -> None:
    original = transport.handle_request

    @functools.wraps(original)
    def handle(self: Any, request: httpx.Request) -> httpx.Response:
        if (reading := _reading.get()) is None:
            return original(self, request)  # type: ignore[no-any-return]
        request.headers["accept-encoding"] = "identity"
        response = original(self, request)
        try:
            _bound(response, reading)
        except UnreadableAnswer:
            response.stream.close()
            raise
        return response  # type: ignore[no-any-return]

    transport.handle_request = handle


def _bound(response: httpx.Response, reading: ReadingState) -> None:
    """Limit how much of `response` can be read.

    Raises:
        Unreadable: Its header announces too much, or its encoding is unknown.
    """
    good = response.status_code < 300
    encoding = response.headers.pop("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "", "gzip", "x-gzip", "deflate"):
        raise reading.stop(f"compressed its answer in a way that was not asked for ({encoding[:20]})")
    length = response.headers.get("content-length", "")
    if good and length.isdecimal() and len(length) < 20 and int(length) > LIMIT:
        raise reading.stop(_too_long())
    limit = LIMIT if good else LIMIT_OF_ERRORS
    response.stream = _Bounded(response.stream, reading, limit, good, encoding not in ("identity", ""))


def _too_long() -> str:
    return f"sent an answer of more than {LIMIT // 2**20} MB; it was not read further"


class _Bounded(httpx.AsyncByteStream, httpx.SyncByteStream):
    """A stream with a limit. At the limit it raises an exception if `must` is set; otherwise it ends."""

    def __init__(self, inner: Any, reading: ReadingState, limit: int, must: bool, packed: bool) -> None:
        self._inner = inner
        self._reading = reading
        self._left = limit
        self._must = must
        # Decompressed here, where the limit applies: a few compressed bytes can expand to millions.
        self._unpack = zlib.decompressobj(47) if packed else None

    async def __aiter__(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._inner:
                yield self._take(chunk)
                if self._left <= 0 and not self._must:
                    break
        finally:
            await self.aclose()

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._inner:
                yield self._take(chunk)
                if self._left <= 0 and not self._must:
                    break
        finally:
            self.close()

    def _take(self, chunk: bytes) -> bytes:
        if self._unpack is not None:
            try:
                chunk = self._unpack.decompress(chunk, self._left + 1)
            except zlib.error:
                raise self._reading.stop("sent an answer that cannot be unpacked") from None
        if len(chunk) > self._left:
            if self._must:
                raise self._reading.stop(_too_long())
            chunk = chunk[: self._left]
        self._left -= len(chunk)
        return chunk

    async def aclose(self) -> None:
        await self._inner.aclose()

    def close(self) -> None:
        self._inner.close()
