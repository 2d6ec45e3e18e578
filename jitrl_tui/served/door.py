"""Lets connections in: not too many from one address, and none that is silent."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable

from engine import waits

HEAD_S = waits.VISITOR_HEAD.seconds
"""Seconds that a connection has to send the head of its first request."""
MOST = 64
"""Most connections from one address."""


class Door:
    """Makes the protocol of each connection.

    Args:
        make: Makes the protocol that answers requests.
    """

    def __init__(self, make: Callable[[], asyncio.Protocol]) -> None:
        self._make = make
        self._open: Counter[str] = Counter()

    def __call__(self) -> asyncio.Protocol:
        """Return the protocol for a new connection."""
        return _Watched(self._make(), self._open)


class _Watched(asyncio.Protocol):
    """Passes all on to another protocol, and closes a connection that is one too many or sends no request."""

    def __init__(self, inner: asyncio.Protocol, count: Counter[str]) -> None:
        self._inner, self._open = inner, count
        self._head = b""
        self._waiting: asyncio.TimerHandle | None = None
        self._address = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._address = str((transport.get_extra_info("peername") or ("",))[0])
        self._open[self._address] += 1
        assert isinstance(transport, asyncio.Transport)
        self._waiting = asyncio.get_running_loop().call_later(HEAD_S, transport.abort)
        self._inner.connection_made(transport)
        if self._open[self._address] > MOST:
            transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._waiting is not None:
            self._head = self._head[-3:] + data
            if b"\r\n\r\n" in self._head:
                self._spoken()
        self._inner.data_received(data)

    def connection_lost(self, error: Exception | None) -> None:
        self._spoken()
        self._open[self._address] -= 1
        if not self._open[self._address]:
            del self._open[self._address]
        self._inner.connection_lost(error)

    def eof_received(self) -> bool | None:
        return self._inner.eof_received()

    def pause_writing(self) -> None:
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        self._inner.resume_writing()

    def _spoken(self) -> None:
        if self._waiting is not None:
            self._waiting.cancel()
            self._waiting = None
