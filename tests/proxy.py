"""A proxy between a client and its server that can stop forwarding, as a hung server or a broken network does."""

from __future__ import annotations

import contextlib
import socket
import threading
from types import TracebackType


class Proxy:
    """Listens on a port of this machine, and forwards each connection to a server.

    with Proxy(("127.0.0.1", 5432)) as proxy:
        ... proxy.port ...
        proxy.hold()

    Args:
        target: The server: host and port, or the path of a socket.

    Attributes:
        port: Where it listens.
    """

    def __init__(self, target: tuple[str, int] | str) -> None:
        self._target = target
        self._flows = threading.Event()
        self._flows.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listener.getsockname()[1]
        self._open: list[socket.socket] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def __enter__(self) -> Proxy:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.close()
        for each in list(self._open):
            each.close()
        self._flows.set()

    def hold(self) -> None:
        """Forward nothing from now on. All connections stay open, and new ones are taken."""
        self._flows.clear()

    def release(self) -> None:
        """Forward again, also what was held."""
        self._flows.set()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                self._open.append(near)
                threading.Thread(target=self._join, args=(near,), daemon=True).start()

    def _join(self, near: socket.socket) -> None:
        self._flows.wait()
        far = socket.socket(socket.AF_UNIX if isinstance(self._target, str) else socket.AF_INET)
        self._open.append(far)
        with contextlib.suppress(OSError):
            far.connect(self._target)
            threading.Thread(target=self._pump, args=(far, near), daemon=True).start()
        self._pump(near, far)

    def _pump(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self._flows.wait()
                sink.sendall(data)
        for each in (source, sink):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
