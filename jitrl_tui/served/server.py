"""The web server: textual-serve's page, with a token in the address, local fonts only, and a limit of visitors.

A visitor gets an app in a process of its own. Requests that are not finished soon are dropped at the door.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import json
import os
import signal
import socket
import sys
from asyncio.subprocess import PIPE, Process
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from aiohttp import WSCloseCode, WSMsgType, web
from textual_serve.app_service import AppService
from textual_serve.server import Server

from engine import children, waits
from engine.children import NotStarted

HEAD_S = waits.VISITOR_HEAD.seconds
"""Seconds that a connection has to send the head of its first request."""
MOST = 64
"""Most connections from one address."""


class ConnectionProtocols:
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


_FOLDER = Path(__file__).parent
_SHUTDOWN_S = waits.VISITORS_END.seconds
"""Seconds that the visitors' processes have to end."""
_IDLE_S = waits.VISITOR_IDLE.seconds
"""Seconds that a connection is kept for another request, and between two signs of life of a visitor."""
_CLOSE_S = waits.VISITOR_CLOSE.seconds
"""Seconds that a browser has to answer that a visit is over."""
_LONGEST = 2**16
"""Most characters of one input; the rest of what is pasted is left out."""
_LARGEST = 2**25
"""Most bytes of a message of a visitor."""
_SIZES = {"width": (20, 1000), "height": (5, 500)}
"""Fewest and most cells of a terminal."""
_PASTED = "\x1b[200~", "\x1b[201~"
"""What a terminal puts around pasted text."""
_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; font-src 'self'; "
        "img-src 'self' data:; connect-src 'self' ws://{host} wss://{host}; base-uri 'none'; frame-ancestors 'none'"
    ),
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-store",
}
"""Nothing of the page may reach another host, and the address with the token is told to nobody."""


class TokenServer(Server):
    """Serves a command of jitrl under /TOKEN/. Every other address, that of the websocket included, gets 403.

    Args:
        words: The command that a visitor gets.
        listening: The bound socket.
        token: The first part of every path.
        names: Names of this host, besides its numbers, by which visitors may come. A page of another host whose name
            leads here is refused.
        visitors: Most visitors at a time.
        ready: Called when the server answers.
    """

    def __init__(
        self, words: Sequence[str], listening: socket.socket, token: str, names: Collection[str], visitors: int,
        ready: Callable[[], None],
    ) -> None:  # fmt: skip
        super().__init__("", title="jitrl", templates_path=_FOLDER)
        self._words, self._listening, self._token, self._ready = words, listening, token, ready
        self._names = frozenset(name.casefold() for name in names)
        self._sockets: set[web.WebSocketResponse] = set()
        self._most, self._visiting = visitors, 0

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM."""
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        runner = web.AppRunner(
            await self._outer(), access_log=None, keepalive_timeout=_IDLE_S, shutdown_timeout=_SHUTDOWN_S
        )
        await runner.setup()
        assert runner.server is not None
        loop, ended = asyncio.get_running_loop(), asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, ended.set)
        server = await loop.create_server(ConnectionProtocols(runner.server), sock=self._listening)
        self._ready()
        try:
            await ended.wait()
        finally:
            server.close()
            await runner.cleanup()

    async def _outer(self) -> web.Application:
        outer = web.Application(middlewares=[self._careful])
        outer.router.add_get(f"/{self._token}", _with_slash)
        outer.add_subapp(f"/{self._token}", await self._make_app())
        outer.router.add_route("*", "/{path:.*}", _refuse)
        return outer

    async def _make_app(self) -> web.Application:
        app: web.Application = await super()._make_app()
        app.router.add_get("/page.js", _script)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Print nothing."""

    async def on_shutdown(self, app: web.Application) -> None:
        """End the visitors' processes."""
        closing = (one.close(code=WSCloseCode.GOING_AWAY) for one in self._sockets)
        await asyncio.gather(*closing, return_exceptions=True)

    async def handle_index(self, request: web.Request) -> Any:
        """Return the page, with addresses of the host by which the visitor came."""
        self.public_url = f"{request.scheme}://{request.host}"
        return await super().handle_index(request)

    async def handle_websocket(  # type: ignore[override]  # aiohttp takes any response
        self, request: web.Request
    ) -> web.StreamResponse:
        """Run a process for a visitor, if there are not too many."""
        websocket = web.WebSocketResponse(timeout=_CLOSE_S, heartbeat=_IDLE_S, max_msg_size=_LARGEST)
        if not websocket.can_prepare(request):
            return web.Response(status=400, text="This is the address of a websocket.\n")
        if self._visiting >= self._most:
            return web.Response(status=503, text=f"There are {self._most} visitors already.\n")
        self._visiting += 1
        visitor = Visitor(
            self._words, write_bytes=websocket.send_bytes, write_str=websocket.send_str, close=websocket.close,
            download_manager=self.download_manager,
        )  # fmt: skip
        try:
            await websocket.prepare(request)
            self._sockets.add(websocket)
            await visitor.start(**(_size(request.query) or {"width": 80, "height": 24}))
            async for message in websocket:
                if message.type == WSMsgType.TEXT:
                    await _obey(message.data, websocket, visitor)
        except NotStarted as error:
            print(f"jitrl: {error}", file=sys.stderr, flush=True)  # noqa: T201
        except ConnectionError:
            pass  # the visitor has left
        finally:
            self._sockets.discard(websocket)
            try:
                await visitor.stop()
            finally:
                self._visiting -= 1
                if request.transport is not None:
                    request.transport.abort()  # what a visitor never reads is not kept
        return websocket

    @web.middleware
    async def _careful(
        self, request: web.Request, handler: Callable[[web.Request], Any]
    ) -> web.StreamResponse:
        """Refuse visitors who were sent here by another page, and add the headers that keep the page to this host."""
        origin = request.headers.get("Origin")
        foreign = origin is not None and origin.partition("://")[2] != request.host
        if foreign or not self._named(request.host):
            return web.Response(status=403, text="jitrl is not served under this name.\n")
        answer: web.StreamResponse = await handler(request)
        if not answer.prepared:
            for name, value in _HEADERS.items():
                answer.headers[name] = value.format(host=request.host)
        return answer

    def _named(self, host: str) -> bool:
        """Whether a host is this one: a number, which no other page can take for its name, or one of our names."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
            ipaddress.ip_address(name)
        except ValueError:
            return name.casefold() in self._names
        return True


async def _obey(text: str, websocket: web.WebSocketResponse, visitor: Visitor) -> None:
    """Do what a message of a visitor says. What cannot be understood is ignored."""
    try:
        kind, *rest = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        return
    if kind == "stdin" and rest and isinstance(rest[0], str):
        await visitor.send_bytes(_cut(rest[0]).encode("utf-8", "replace"))
    elif kind == "resize" and rest and (size := _size(rest[0])):
        await visitor.set_terminal_size(**size)
    elif kind == "ping" and rest:
        await websocket.send_json(["pong", rest[0]])
    elif kind == "blur":
        await visitor.blur()
    elif kind == "focus":
        await visitor.focus()


def _cut(typed: str) -> str:
    """Return what was typed or pasted without what is too much. The mark at the end of a paste stays."""
    if len(typed) <= _LONGEST:
        return typed
    begin, end = _PASTED
    return typed[:_LONGEST] + (end if typed.startswith(begin) else "")


def _size(given: Any) -> dict[str, int] | None:
    """Return the size of a terminal as far as it can be one, None if something else is given."""
    try:
        return {name: min(max(int(given[name]), least), most) for name, (least, most) in _SIZES.items()}
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


async def _with_slash(request: web.Request) -> web.Response:
    """Send a visitor who left out the last slash of the address to the page."""
    raise web.HTTPPermanentRedirect(request.rel_url.with_path(f"{request.path}/", keep_query=True))


async def _script(request: web.Request) -> web.FileResponse:
    return web.FileResponse(_FOLDER / "page.js")


async def _refuse(request: web.Request) -> web.Response:
    return web.Response(status=403, text="This address lacks the token that `jitrl serve` printed.\n")


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
        with contextlib.suppress(asyncio.CancelledError):  # of its reader of errors, if that had not begun
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
