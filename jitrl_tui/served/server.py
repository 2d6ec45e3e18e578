"""The web server: textual-serve's, with a token in the address, local fonts only, and a limit of visitors."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aiohttp import WSCloseCode, web
from textual_serve.server import Server

_FOLDER = Path(__file__).parent
_SHUTDOWN_S = 5.0
"""Seconds that the visitors' processes have to end."""
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
        command: The command that a visitor gets, as a line of a shell.
        listening: The bound socket.
        token: The first part of every path.
        visitors: Most visitors at a time.
        ready: Called when the server answers.
    """

    def __init__(
        self, command: str, listening: socket.socket, token: str, visitors: int, ready: Callable[[], None]
    ) -> None:
        super().__init__(command, title="jitrl", templates_path=_FOLDER)
        self._listening, self._token, self._most, self._ready = listening, token, visitors, ready
        self._sockets: set[web.WebSocketResponse] = set()
        self._visiting = 0

    def run(self) -> None:
        """Serve until SIGINT or SIGTERM."""
        web.run_app(
            self._outer(), sock=self._listening, access_log=None, print=None, shutdown_timeout=_SHUTDOWN_S
        )

    async def _outer(self) -> web.Application:
        outer = web.Application(middlewares=[_careful])
        outer.add_subapp(f"/{self._token}", await self._make_app())
        outer.router.add_route("*", "/{path:.*}", _refuse)
        return outer

    async def _make_app(self) -> web.Application:
        app: web.Application = await super()._make_app()
        app.router.add_get("/page.js", _script)
        return app

    async def on_startup(self, app: web.Application) -> None:
        """Say that the server answers."""
        self._ready()

    async def on_shutdown(self, app: web.Application) -> None:
        """End the visitors' processes."""
        for one in list(self._sockets):
            with contextlib.suppress(ConnectionError):
                await one.close(code=WSCloseCode.GOING_AWAY)

    async def handle_index(self, request: web.Request) -> Any:
        """Return the page, with addresses of the host by which the visitor came."""
        self.public_url = f"{request.scheme}://{request.host}"
        return await super().handle_index(request)

    async def handle_websocket(self, request: web.Request) -> web.StreamResponse:
        """Run a process for a visitor, if there are not too many."""
        if not web.WebSocketResponse().can_prepare(request):
            return web.Response(status=400, text="This is the address of a websocket.\n")
        if self._visiting >= self._most:
            return web.Response(status=503, text=f"There are {self._most} visitors already.\n")
        self._visiting += 1
        try:
            return await super().handle_websocket(request)
        finally:
            self._visiting -= 1

    async def _process_messages(self, websocket: web.WebSocketResponse, app_service: Any) -> None:
        self._sockets.add(websocket)
        try:
            await super()._process_messages(websocket, app_service)
        finally:
            self._sockets.discard(websocket)


@web.middleware
async def _careful(request: web.Request, handler: Callable[[web.Request], Any]) -> web.StreamResponse:
    """Add the headers that keep the page to this host."""
    answer: web.StreamResponse = await handler(request)
    if not answer.prepared:
        for name, value in _HEADERS.items():
            answer.headers[name] = value.format(host=request.host)
    return answer


async def _script(request: web.Request) -> web.FileResponse:
    return web.FileResponse(_FOLDER / "page.js")


async def _refuse(request: web.Request) -> web.Response:
    return web.Response(status=403, text="This address lacks the token that `jitrl serve` printed.\n")
